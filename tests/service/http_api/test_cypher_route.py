"""``/v1/cypher`` on a real Neo4j server: what only reads is answered, what does not is refused and written down."""

from __future__ import annotations

import json
import re
import secrets
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import BaseRoute

from cuihop.neo4j_graph.connection import Neo4jConnection
from cuihop_loader.neo4j_online import load_online
from cuihop_server import RunningService, running_service
from cuihop_service.admission import Admission
from cuihop_service.core import ConceptService
from cuihop_service.guard.audit import AuditLog
from cuihop_service.guard.configured_guard import ConfiguredGuard
from cuihop_service.guard.key_file import KeyFile
from cuihop_service.http_api.cypher_route import cypher_routes
from cuihop_service.http_api.responder import Responder
from cuihop_service.settings import read_settings
from cuihop_service.worker import curators_connection
from cuihop_tools.neo4j_server import LocalServer
from example_graph import example_graph
from guarded_service import Reply, http, new_key_in
from neo4j_server import connected, settings_of
from waiting import wait_for


class Curators:
    """A service that takes queries, and keys for it."""

    def __init__(self, service: RunningService, keys: dict[str, str], audit: Path, store: Neo4jConnection) -> None:
        self.service = service
        self.keys = keys
        self.audit = audit
        self.store = store

    def ask(self, query: Any, *, key: str = "curator", **others: Any) -> Reply:
        return http(self.service, "/v1/cypher", {"query": query, **others}, key=self.keys[key])

    def concepts(self) -> int:
        found: int = self.store.run_alone("MATCH (n) RETURN count(n) AS n")[0]["n"]
        return found


Opened = Callable[..., AbstractContextManager[Curators]]


@pytest.fixture(scope="module")
def opened(neo4j_server: LocalServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    folder = tmp_path_factory.mktemp("cypher")
    file = folder / "keys.json"
    keys = {
        "curator": new_key_in(file, "curator", "read", "names", "cypher"),
        "other": new_key_in(file, "other", "read", "names", "cypher"),
        "nameless": new_key_in(file, "nameless", "read", "cypher"),
        "reader": new_key_in(file, "reader", "read", "names"),
    }

    with connected(neo4j_server) as store:
        load_online(example_graph().sections, store)

        @contextmanager
        def open_it(*, names: bool = True, **changes: Any) -> Iterator[Curators]:
            settings = read_settings({"graph": "none.cuihop", "keys_file": file, "cypher": True, **changes})
            audit = folder / f"audit-{secrets.token_hex(4)}.jsonl"
            with curators_connection(settings, settings_of(neo4j_server)) as connection:

                def routes(core: ConceptService, admission: Admission) -> list[BaseRoute]:
                    return cypher_routes(
                        Responder(core, admission),
                        connection,
                        names=names,
                        seconds=settings.cypher_seconds,
                        rows=settings.cypher_rows,
                        running=settings.cypher_running,
                    )

                guard = ConfiguredGuard(KeyFile(file))
                with running_service(
                    example_graph(), guard=guard, observer=AuditLog(str(audit)), names=names, routes=routes
                ) as service:
                    yield Curators(service, keys, audit, store)

        yield open_it


@pytest.fixture(scope="module")
def curators(opened: Opened) -> Iterator[Curators]:
    with opened() as curators_service:
        yield curators_service


def test_a_query_is_answered_and_written_down(opened: Opened) -> None:
    query = "MATCH (c:Concept {cui: $cui})-[:IS_A]->(p) RETURN p.cui AS parent, p AS node"
    with opened() as curators:
        answer = curators.ask(query, parameters={"cui": "C0006121"})
        assert answer.status == 200, answer.body
        assert answer.json["columns"] == ["parent", "node"]
        assert answer.json["rows"][0][0] == "C0006104"
        assert answer.json["rows"][0][1]["name"] == "Brain"
        assert not answer.json["truncated"]
        line = json.loads(curators.audit.read_text().splitlines()[-1])
    assert (line["caller"], line["operation"], line["outcome"]) == ("curator", "cypher", "OK")
    assert line["request"] == {"query": query, "parameters": {"cui": "C0006121"}, "limit": None}


@pytest.mark.parametrize(
    "query",
    [
        "CREATE (:Concept {cui: 'X'})",
        "MATCH (c:Concept) SET c.name = 'x' RETURN c",
        "MATCH (c) DETACH DELETE c",
        "/* RETURN 1 */ CREATE (n) RETURN n",
        "RETURN 1 // harmless\nUNION CALL () { CREATE (n) RETURN 1 AS `1` } RETURN `1`",
        "C\\u0052EATE (n:X)",
        "\u200bCREATE (n)",
        "MATCH (c:Concept) CALL (c) { SET c.name = 'x' } IN TRANSACTIONS OF 1 ROWS",
        "MATCH (n) FOREACH (x IN [1] | SET n.x = x)",
        "LOAD CSV FROM 'file:///etc/passwd' AS line RETURN line",
        "LOAD CSV FROM 'http://127.0.0.1:1/' AS line RETURN line",
        "CALL dbms.listConfig() YIELD name RETURN name",
        "CALL dbms.components()",
        "CALL { CALL dbms.listConnections() YIELD connectionId RETURN connectionId } RETURN connectionId",
        "CALL db.clearQueryCaches()",
        "SHOW USERS",
        "SHOW TRANSACTIONS",
        "SHOW TRANSACTIONS YIELD currentQuery RETURN currentQuery",
        "SHOW SETTINGS",
        "SHOW PROCEDURES",
        "SHOW INDEXES",
        "TERMINATE TRANSACTION 'neo4j-transaction-1'",
        "SHOW TRANSACTIONS YIELD transactionId AS t TERMINATE TRANSACTIONS t YIELD message RETURN message",
        "CREATE USER eve SET PASSWORD 'abcdefgh'",
        "ALTER CURRENT USER SET PASSWORD FROM 'a' TO 'b'",
        "DROP CONSTRAINT concept_cui_unique",
        "USE system SHOW DATABASES",
        "PROFILE MATCH (n) RETURN n",
        "EXPLAIN CREATE (n)",
        "MATCH (c) RETURN c; MATCH (d) DETACH DELETE d",
        "RETURN 1; RETURN 2",
        "RETURN $absent",
        "not cypher",
        ";",
        " ",
        "\x00",
        "RETURN '\u0000'; CREATE (n)",
    ],
)
def test_hostile_queries_are_refused(curators: Curators, query: str) -> None:
    before = curators.concepts()
    answer = curators.ask(query)
    assert answer.status == 400, (query, answer.body)
    assert answer.json["reason"] == "INVALID_INPUT"
    assert curators.concepts() == before
    assert curators.store.run_alone("SHOW CONSTRAINTS YIELD name WHERE name = 'concept_cui_unique' RETURN name")
    assert [r["user"] for r in curators.store.run_alone("SHOW USERS YIELD user")] == ["neo4j"]
    line = json.loads(curators.audit.read_text().splitlines()[-1])
    assert line["outcome"] == "INVALID_INPUT"
    assert line["request"]["query"] == query


def test_a_parameter_is_a_value_and_never_cypher(opened: Opened) -> None:
    hostile = "'}) DETACH DELETE c //"
    with opened() as curators:
        before = curators.concepts()
        answer = curators.ask("MATCH (c:Concept {cui: $cui}) RETURN count(c) AS n", parameters={"cui": hostile})
        assert answer.json["rows"] == [[0]]
        assert curators.concepts() == before
        deep: list[Any] = []
        for _ in range(50):
            deep = [deep]
        for wrong in (2**70, deep, "\ud800", {"a": -(2**63) - 1}):
            answer = curators.ask("RETURN $x AS x", parameters={"x": wrong})
            assert answer.status == 400, (str(wrong)[:40], answer.body)
        answer = curators.ask("RETURN $x AS x", parameters={"x": {"a": [1, 2.5, None, True, "é"]}})
        assert answer.json["rows"] == [[{"a": [1, 2.5, None, True, "é"]}]]


def test_rows_are_capped(opened: Opened) -> None:
    with opened(cypher_rows=10) as curators:
        for limit, expected in ((None, 10), (3, 3), (10**6, 10)):
            answer = curators.ask("UNWIND range(1, 1000000) AS i RETURN i", limit=limit)
            assert len(answer.json["rows"]) == answer.json["limit"] == expected
            assert answer.json["truncated"]
        assert curators.ask("RETURN 1", limit=0).status == 400


def test_a_query_that_takes_too_long_ends_in_time(opened: Opened) -> None:
    product = "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b RETURN max(a * b) AS most"
    with opened(cypher_seconds=2.0) as curators:  # enough for the short query on a busy machine
        answer = curators.ask(product)
        assert (answer.status, answer.json["reason"]) == (504, "TIMED_OUT")
        assert curators.ask("RETURN 1 AS one").json["rows"] == [[1]]
        product = (
            "MATCH (a), (b), (c), (d), (e), (f), (g) RETURN max(a.cui + b.cui + c.cui + d.cui + e.cui + f.cui) AS n"
        )
        assert curators.ask(product).status == 504


ROWS = "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000) AS b RETURN sum(a * b) AS s"
EXPRESSION = "RETURN reduce(s = 0, x IN range(1, {count}) | s + reduce(t = 0, y IN range(1, 60) | t + y)) AS s"
"""What the database does not stop to look at its deadline."""


def running(curators: Curators) -> int:
    """Curators' queries that the database works on."""
    rows = curators.store.run_alone("SHOW TRANSACTIONS YIELD metaData AS d WHERE d.cuihop IS NOT NULL RETURN 1 AS one")
    return len(rows)


def test_one_caller_never_takes_all_the_room(opened: Opened) -> None:
    with opened(cypher_seconds=12.0, cypher_running=4) as curators, ThreadPoolExecutor(4) as pool:
        running_queries = [pool.submit(curators.ask, ROWS) for _ in range(2)]
        wait_for(lambda: running(curators) == 2)
        refused = curators.ask("RETURN 1 AS one")
        assert (refused.status, refused.json["reason"]) == (429, "RATE_LIMITED")
        assert re.search(r"2 queries of 'curator' are running, the most for one caller; try again in \d+ s",
                         refused.json["detail"])  # fmt: skip
        assert 1 <= int(refused.headers["retry-after"]) <= 12
        assert curators.ask("RETURN 1 AS one", key="other").json["rows"] == [[1]]
        running_queries += [pool.submit(curators.ask, ROWS, key="other") for _ in range(2)]
        wait_for(lambda: running(curators) == 4)
        for answer in running_queries:
            assert answer.result().status == 504
        wait_for(lambda: running(curators) == 0)
        assert curators.ask("RETURN 1 AS one").json["rows"] == [[1]]


def test_room_stays_taken_while_the_database_works_on_what_was_ended(opened: Opened) -> None:
    with opened(cypher_seconds=0.5, cypher_running=2) as curators:
        for count in (1_500_000, 5_000_000, 15_000_000):
            assert curators.ask(EXPRESSION.format(count=count)).status == 504
            busy = curators.ask("RETURN 1 AS one")
            if running(curators):  # else the database ended before it was asked, and shows nothing
                break
        assert busy.status == 429, busy.body
        assert curators.ask("RETURN 1 AS one", key="other").status == 200
        wait_for(lambda: running(curators) == 0)
        wait_for(lambda: curators.ask("RETURN 1 AS one").status == 200)


def test_a_query_whose_caller_hangs_up_is_ended(opened: Opened) -> None:
    with opened(cypher_seconds=60.0) as curators:
        body = json.dumps({"query": ROWS}).encode()
        head = (
            f"POST /v1/cypher HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {curators.keys['curator']}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", curators.service.http_port)) as line:
            line.sendall(head.encode() + body)
            wait_for(lambda: running(curators) == 1)
        wait_for(lambda: running(curators) == 0)
        assert curators.ask("RETURN 1 AS one").json["rows"] == [[1]]


def test_remarks_of_the_database_come_with_the_answer(curators: Curators) -> None:
    answer = curators.ask("MATCH (c:Conzept) RETURN c.cui AS cui")
    assert answer.json["rows"] == []
    (remark,) = answer.json["notifications"]
    assert (remark["severity"], remark["line"], remark["column"]) == ("warning", 1, 10)
    assert "`Conzept` does not exist" in remark["message"]
    schemas = http(curators.service, "/openapi.json").json["components"]["schemas"]
    assert schemas["CypherAnswer"]["properties"]["notifications"]["description"]
    assert set(schemas["CypherNotification"]["properties"]) == set(remark)


def test_an_unknown_procedure_or_function_is_an_error_of_the_caller(curators: Curators) -> None:
    for query in ("CALL no.such.thing()", "RETURN no.such.thing() AS x", "RETURN nosuchthing(1) AS x"):
        answer = curators.ask(query)
        assert (answer.status, answer.json["reason"]) == (400, "INVALID_INPUT"), answer.body


def test_who_may_not_send_queries_is_told_why(opened: Opened) -> None:
    with opened() as curators:
        for key, scope in (("reader", "cypher"), ("nameless", "names")):
            answer = curators.ask("RETURN 1", key=key)
            assert (answer.status, answer.json["reason"]) == (403, "NOT_ALLOWED")
            assert scope in answer.json["detail"]
        assert http(curators.service, "/v1/cypher", {"query": "RETURN 1"}).status == 401
        documented = http(curators.service, "/openapi.json").json["paths"]["/v1/cypher"]["post"]["responses"]
        kinds = {status: list(description["content"]) for status, description in documented.items()}
        assert kinds.pop("200") == ["application/json"]
        assert set(map(tuple, kinds.values())) == {("application/problem+json",)}
    with opened(names=False) as curators:
        answer = curators.ask("MATCH (c:Concept) RETURN c.name LIMIT 1")
        assert answer.status == 403
        assert "names" in answer.json["detail"]


def test_bodies_out_of_order(opened: Opened) -> None:
    with opened() as curators:
        key = curators.keys["curator"]
        for body in ({}, {"query": 1}, {"query": ""}, {"query": "RETURN 1", "user": "neo4j"}, {"query": "x" * 30_000},
                     {"query": "RETURN 1", "limit": "3"}, {"query": "RETURN 1", "parameters": [1]}):  # fmt: skip
            assert http(curators.service, "/v1/cypher", body, key=key).status == 400, body
        assert http(curators.service, "/v1/cypher", key=key).status == 405


def test_it_is_off_unless_asked_for() -> None:
    with running_service(example_graph()) as service:
        assert http(service, "/v1/cypher", {"query": "RETURN 1"}).status == 404


def test_a_user_of_its_own_is_used(neo4j_server: LocalServer) -> None:
    settings = read_settings({"graph": "none.cuihop", "cypher_user": "curator", "cypher_password": "wrong"})
    with curators_connection(settings, settings_of(neo4j_server)) as connection:
        assert connection.settings.user == "curator"
        assert connection.settings.connections == 2 * settings.cypher_running
        assert "wrong" not in repr(connection.settings)
