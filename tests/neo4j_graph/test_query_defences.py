"""Curators' Cypher reads the graph and nothing else: text, plan and server settings, each alone, on a real server."""

from __future__ import annotations

import contextlib
import re
import socketserver
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cuihop.errors import CuihopError, InputError, LimitExceeded
from cuihop.neo4j_graph.connection import Neo4jConnection
from cuihop.neo4j_graph.curator_query import check_plan, curator_query
from cuihop.neo4j_graph.query_text import check_text
from cuihop_loader.neo4j_online import load_online
from cuihop_tools.neo4j_server import LocalServer
from cypher_forms import FORMS, SPELLINGS, WRITES
from example_graph import example_graph
from neo4j_plugin import PLUGIN_ANSWER
from neo4j_server import connected, emptied

MARK = "written-in-no-graph"


@dataclass
class Listener:
    """A port on this machine that counts who connects."""

    port: int = 0
    requests: list[bytes] = field(default_factory=list)


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    heard = Listener()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            heard.requests.append(b"connected")
            self.request.settimeout(2)
            self.request.recv(4096)
            body = MARK.encode()
            self.request.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body
            )

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        heard.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield heard
        server.shutdown()


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("host") / "secret.csv"
    file.write_text(MARK, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def open_server(killable_neo4j: LocalServer) -> Iterator[Neo4jConnection]:
    """A server whose settings allow everything, so that only the defence under test stands in the way."""
    with connected(emptied(killable_neo4j), retry_time=0.0) as store:
        load_online(example_graph().sections, store)
        yield store


@pytest.fixture(scope="module")
def closed_server(neo4j_server: LocalServer) -> Iterator[Neo4jConnection]:
    """The session's server, set up as `LocalServer` and docker-compose.yml do. The plugin lies in its folder, too."""
    with connected(neo4j_server, retry_time=0.0) as store:
        load_online(example_graph().sections, store)
        yield store


def hidden(*payloads: str) -> list[str]:
    """Every payload in every form, and spelt in every way."""
    return [form.replace("%s", text) for form in FORMS for text in payloads] + [
        spelt(text) for spelt in SPELLINGS for text in payloads
    ]


@pytest.fixture(scope="module")
def effects(listener: Listener, secret: Path) -> dict[str, list[str]]:
    """Queries by what they would do."""
    return {
        "read a file": hidden(f"LOAD CSV FROM 'file://{secret}' AS row RETURN row"),
        "reach the network": [
            *hidden(f"LOAD CSV WITH HEADERS FROM 'http://127.0.0.1:{listener.port}/' AS row RETURN row"),
            *(
                f"RETURN [x IN [1] | COLLECT {{ LOAD CSV FROM '{scheme}:{listener.port}/a' AS row RETURN row }}] AS x"
                for scheme in ("ftp://127.0.0.1", "http://localhost", "http://[::ffff:127.0.0.1]", "http://2130706433",
                               "jar:http://127.0.0.1", "file://127.0.0.1")
            ),
        ],
        "call what is not listed": hidden(
            "CALL dbms.components() YIELD edition AS row RETURN row",
            "CALL `other` . `read` ( ) YIELD value AS row RETURN row",
        ),
        "call a function of others": hidden("RETURN other.fetch() AS row"),
        "write": [*WRITES, *hidden(WRITES[0], "CALL db.createLabel('Written') RETURN 1 AS row")],
    }  # fmt: skip


EFFECTS = ["read a file", "reach the network", "call what is not listed", "write"]
PLANNED = {"read a file": 1, "call what is not listed": 2, "write": 2}
"""Effects with plans of their own, and a step to plan each form once. Plans that reach the network read files, too."""


def run(store: Neo4jConnection, text: str) -> list[list[Any]]:
    """The rows, of a read transaction, or of one that could write where the server is to be no defence."""
    return store.read(lambda tx: [record.values() for record in tx.run(text)], timeout=5.0)


def count(store: Neo4jConnection) -> tuple[int, ...]:
    """Counts that any write would change."""
    rows = store.run_alone(
        "MATCH (n) OPTIONAL MATCH (n)-[e]->() RETURN count(DISTINCT n), count(e), count(n.written), count(n.name)"
    )
    tokens = store.run_alone("CALL db.labels() YIELD label RETURN collect(label) AS labels")[0]["labels"]
    return (*rows[0].values(), int("Written" in tokens))


@pytest.mark.parametrize("effect", [*EFFECTS, "call a function of others"])
def test_the_text_alone_refuses_every_form(effects: dict[str, list[str]], effect: str) -> None:
    for text in effects[effect]:
        with pytest.raises((InputError, LimitExceeded)):
            check_text(text)


def explained(store: Neo4jConnection, text: str) -> Any:
    return store.read(lambda tx: tx.run("EXPLAIN " + text).consume(), timeout=60.0)


@pytest.mark.slow
@pytest.mark.parametrize("effect", PLANNED)
def test_the_plan_alone_refuses_every_form(
    open_server: Neo4jConnection, effects: dict[str, list[str]], effect: str, listener: Listener
) -> None:
    planned = refused = 0
    before = count(open_server)
    texts = effects[effect][:: PLANNED[effect]]
    for text in texts:
        try:
            summary = explained(open_server, text)
        except CuihopError:
            continue  # no Cypher at all: there is nothing to run
        planned += 1
        try:
            check_plan(summary)
        except InputError:
            refused += 1
            continue
        # The server has folded the subquery away, or the comment does not end where it seems to: it must be harmless,
        # and that in a transaction that could write.
        rows = [record.values() for record in open_server.run_alone(text)]
        assert not re.search(f"{MARK}|{PLUGIN_ANSWER}|community", repr(rows)), text
    assert not listener.requests
    assert count(open_server) == before
    assert planned >= len(texts) // 4  # many forms are Cypher, or this test would show nothing
    assert refused >= planned - 10


def test_the_settings_alone_keep_queries_from_files_and_the_network(
    closed_server: Neo4jConnection, effects: dict[str, list[str]], listener: Listener
) -> None:
    for text in effects["read a file"][::2] + effects["reach the network"]:
        try:
            rows = run(closed_server, text)
        except CuihopError:
            continue
        assert MARK not in repr(rows), text
    assert not listener.requests


def test_the_read_transaction_alone_keeps_queries_from_writing(
    closed_server: Neo4jConnection, effects: dict[str, list[str]]
) -> None:
    before = count(closed_server)
    for text in effects["write"]:
        with contextlib.suppress(CuihopError):
            run(closed_server, text)
    assert count(closed_server) == before


def test_the_settings_alone_keep_plugins_away_but_not_the_procedures_of_the_server(
    closed_server: Neo4jConnection, open_server: Neo4jConnection
) -> None:
    for text in ("CALL other.read() YIELD value RETURN value", "RETURN other.fetch() AS value"):
        assert run(open_server, text) == [[PLUGIN_ANSWER]]
        with pytest.raises(InputError, match=r"other\.(read|fetch)"):
            run(closed_server, text)
    assert run(closed_server, "CALL dbms.components() YIELD edition RETURN edition") == [["community"]]


@pytest.mark.slow
def test_without_any_defence_most_forms_do_harm(
    open_server: Neo4jConnection, effects: dict[str, list[str]], listener: Listener
) -> None:
    harmed = 0
    for text in effects["reach the network"]:
        before = len(listener.requests)
        with contextlib.suppress(CuihopError):
            run(open_server, text)
        harmed += len(listener.requests) > before
    listener.requests.clear()
    assert harmed >= 60


def test_with_all_defences_every_form_is_an_error_of_the_caller(
    open_server: Neo4jConnection, effects: dict[str, list[str]], listener: Listener
) -> None:
    for text in (text for texts in effects.values() for text in texts):
        with pytest.raises((InputError, LimitExceeded)):
            curator_query(open_server, text, timeout=5.0)
    assert not listener.requests
