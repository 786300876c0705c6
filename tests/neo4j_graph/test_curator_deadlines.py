"""Curators' queries end in time: for the caller, and in the database by ``SHOW TRANSACTIONS``."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from unittest import mock

import pytest

from cuihop.errors import CuihopError, GraphUnavailable, InputError, LimitExceeded, QueryTimedOut
from cuihop.neo4j_graph import curator_query as module
from cuihop.neo4j_graph.connection import Neo4jConnection, Neo4jSettings
from cuihop.neo4j_graph.curator_query import curator_query
from cuihop.neo4j_graph.query_text import (
    DEEPEST_SUBQUERY,
    LARGEST_EXPRESSION,
    LONGEST,
    MOST_CLAUSES,
    MOST_XOR,
    check_text,
)
from cuihop_loader.neo4j_online import load_online
from cuihop_tools.neo4j_server import LocalServer
from example_graph import example_graph
from neo4j_server import connected
from waiting import wait_for

PATIENCE = 60.0
RUNNING = "SHOW TRANSACTIONS YIELD metaData AS data WHERE data.cuihop IS NOT NULL RETURN count(*) AS n"


@pytest.fixture(scope="module")
def connection(neo4j_server: LocalServer) -> Iterator[Neo4jConnection]:
    with connected(neo4j_server) as opened:
        load_online(example_graph().sections, opened)
        yield opened


def running(connection: Neo4jConnection) -> int:
    found: int = connection.run_alone(RUNNING)[0]["n"]
    return found


ROWS = [
    "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000) AS b RETURN sum(a * b) AS s",
    "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b RETURN max(a * b) AS s",
    "MATCH (a), (b), (c), (d), (e), (f), (g) RETURN count(a.cui + b.cui + c.cui + d.cui) AS s",
    "UNWIND range(1, 1000000) AS a UNWIND range(1, 100) AS b WITH collect(a + toString(b)) AS l RETURN size(l) AS s",
    "MATCH " + ", ".join(f"(a{i})--(a{i + 1})--(b{i})" for i in range(12)) + " RETURN count(*) AS s",
    "".join(f"OPTIONAL MATCH (a{i}:Nothing) " for i in range(MOST_CLAUSES - 1)) + "RETURN 1 AS s",
]
"""Work that the server looks up from between rows, or while it plans."""

EXPRESSIONS = [
    "RETURN reduce(s = 0, x IN range(1, 1500000) | s + reduce(t = 0, y IN range(1, 20) | t + y)) AS s",
    "RETURN all(x IN range(1, 3000) WHERE none(y IN range(1, 10000) WHERE y < 0)) AS s",
]
"""Work within one expression: the server notices the end after the expression."""


@pytest.mark.parametrize("text", ROWS)
def test_a_query_is_ended_in_the_database_when_its_time_is_over(connection: Neo4jConnection, text: str) -> None:
    released = threading.Event()
    begun = time.monotonic()
    with pytest.raises(QueryTimedOut, match="its time is 1 s"):
        curator_query(connection, text, timeout=1.0, released=released.set)
    assert time.monotonic() - begun < PATIENCE / 2  # 1.5 s on a machine with nothing else to do
    assert released.wait(PATIENCE)
    assert running(connection) == 0


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_the_slot_is_released_when_the_database_has_stopped_work(connection: Neo4jConnection, text: str) -> None:
    released = threading.Event()
    with pytest.raises(QueryTimedOut):
        curator_query(connection, text, timeout=0.1, released=released.set)
    wait_for(lambda: released.is_set() or running(connection) == 0)
    assert released.wait(PATIENCE)
    assert running(connection) == 0


def test_an_abandoned_query_is_ended(connection: Neo4jConnection) -> None:
    released = threading.Event()
    with pytest.raises(QueryTimedOut):
        curator_query(
            connection, ROWS[0], timeout=PATIENCE, abandoned=lambda: running(connection) > 0, released=released.set
        )
    assert released.wait(PATIENCE)
    assert running(connection) == 0


@pytest.mark.parametrize("text", ["RETURN 1", "nothing", "RETURN absent", "CALL dbms.components()", "RETURN 1/0"])
def test_the_slot_is_released_once_whatever_the_end(connection: Neo4jConnection, text: str) -> None:
    released: list[int] = []
    with contextlib.suppress(InputError):
        curator_query(connection, text, released=lambda: released.append(1))
    assert released == [1]


FAILING = {
    "a path to itself": "MATCH (a:Concept {cui: 'C0006121'}), (b:Concept {cui: 'C0006121'}) "
    "MATCH p = %s((a)-[*]-(b)) RETURN p",
    "a part of a text": "RETURN substring('abc', -1) AS s",
    "a unit": "RETURN localdatetime.truncate('x') AS s",
    "a division": "UNWIND [1, 0] AS n RETURN 1 / n AS s",
}


@pytest.mark.parametrize("kind", FAILING)
def test_an_error_of_a_query_while_it_runs_is_an_error_of_its_caller(connection: Neo4jConnection, kind: str) -> None:
    for function in ("allShortestPaths", "shortestPath"):
        released: list[int] = []
        with pytest.raises(InputError, match=r"; found \S+"):
            curator_query(connection, FAILING[kind].replace("%s", function), released=lambda: released.append(1))  # noqa: B023
        assert released == [1]


def test_a_server_that_runs_out_of_memory_ends(neo4j_server: LocalServer) -> None:
    command = Path(f"/proc/{neo4j_server.pid}/cmdline").read_bytes().split(b"\0")
    assert b"-XX:+ExitOnOutOfMemoryError" in command


def test_a_query_that_never_ends_in_the_database_is_reported(
    connection: Neo4jConnection, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "LONG_AFTER_SECONDS", 0.0)
    released = threading.Event()
    with pytest.raises(QueryTimedOut):
        curator_query(connection, EXPRESSIONS[0], timeout=0.1, released=released.set)
    assert released.wait(PATIENCE)
    assert len([line for line in caplog.messages if "still runs in the database" in line]) == 1


def test_a_server_that_is_gone_is_asked_with_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_GIVE_UP_SECONDS", 1.0)
    with Neo4jConnection(Neo4jSettings("bolt://127.0.0.1:1", password="x", retry_time=0.0)) as connection:  # noqa: S106
        asked = mock.Mock(side_effect=connection.end)
        monkeypatch.setattr(connection, "end", asked)
        lost: Future[None] = Future()
        lost.set_exception(GraphUnavailable("the server is gone"))
        module._TimedRead(connection, 1.0).end(lost)
    assert 1 < asked.call_count <= 6  # after 0, 0.1, 0.3, 0.7 and 1.5 s


@pytest.mark.parametrize("busy", [QueryTimedOut("a busy server"), LimitExceeded("a busy server")])
def test_a_server_too_busy_to_say_whether_it_still_works_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, busy: CuihopError
) -> None:
    with Neo4jConnection(Neo4jSettings("bolt://127.0.0.1:1", password="x")) as connection:  # noqa: S106
        asked = mock.Mock(side_effect=[busy, 1, busy, 0])
        monkeypatch.setattr(connection, "end", asked)
        ended: Future[None] = Future()
        ended.set_result(None)
        module._TimedRead(connection, 1.0).end(ended)
    assert asked.call_count == 4


TOO_LARGE = {
    "brackets": "RETURN " + "(" * 3000 + "1" + ")" * 3000 + " AS s",
    "lists": "RETURN " + "[" * 300 + "1" + "]" * 300 + " AS s",
    "not": "RETURN " + "NOT " * 400 + "true AS s",
    "case": "RETURN " + "CASE WHEN true THEN " * 100 + "1" + " END" * 100 + " AS s",
    "sum": "RETURN " + "+".join(f"$p{i}" for i in range(400)) + " AS s",
    "properties": "WITH {a: 1} AS x RETURN x" + ".a" * 300 + " AS s",
    "hidden in lists": "RETURN " + "[0, NOT NOT NOT NOT NOT NOT NOT NOT " * 40 + "true" + "]" * 40 + " AS s",
    "names like clauses": "WITH 1 AS limit RETURN " + "limit + " * 300 + "1 AS s",
    "properties like clauses": "WITH {limit: 1} AS x RETURN " + "x.limit + " * 300 + "1 AS s",
    "ends": "WITH {end: 1} AS x RETURN " + "toString(x.end + " * 100 + "1" + ")" * 100 + " AS s",
    "subqueries": "RETURN " + "COUNT { RETURN " * 12 + "1 AS x" + " }" * 12 + " AS s",
    "clauses": "WITH 1 AS x " * 100 + "RETURN x AS s",
    "optional clauses": "".join(f"OPTIONAL MATCH (x{i}) " for i in range(100)) + "RETURN 1 AS s",
    "subqueries in a row": "RETURN " + ", ".join(f"COUNT {{ (a{i}) }} AS s{i}" for i in range(100)),
    "labels": "MATCH (c:" + "!" * 60 + "Concept) RETURN 1 AS s",
    "xor": "RETURN " + "true XOR " * 30 + "true AS s",
    "long": "RETURN 1 AS s" + " " * LONGEST,
}


@pytest.mark.parametrize("kind", TOO_LARGE)
def test_a_query_beyond_the_bounds_never_reaches_the_server(kind: str) -> None:
    with pytest.raises(LimitExceeded, match=r"at most|more than"):
        curator_query(None, TOO_LARGE[kind])  # type: ignore[arg-type]


DEEP = LARGEST_EXPRESSION // 5 - 2
AT_THE_BOUND = [
    "RETURN " + "(" * DEEP + "1" + ")" * DEEP + " AS s",
    "RETURN " + "[" * DEEP + "1" + "]" * DEEP + " AS s",
    "RETURN " + "[x IN " * (DEEP // 2) + "[1]" + "]" * (DEEP // 2) + " AS s",
    "RETURN " + "toString(" * (DEEP - 10) + "1" + ")" * (DEEP - 10) + " AS s",
    "RETURN " + "NOT " * DEEP + "true AS s",
    "MATCH (c:" + "!" * (DEEP - 2) + "Concept) RETURN 1 AS s",
    "RETURN " + "CASE WHEN true THEN " * (DEEP // 2) + "1" + " END" * (DEEP // 2) + " AS s",
    "RETURN " + "+".join(f"$p{i}" for i in range(DEEP * 5 // 7)) + " AS s",
    "RETURN " + "||".join(f"'{i}'" for i in range(DEEP * 5 // 7)) + " AS s",
    "WITH {a: null} AS x RETURN x" + ".a" * (LARGEST_EXPRESSION // 6) + " AS s",
    "RETURN " + "COUNT { RETURN " * DEEPEST_SUBQUERY + "1 AS x" + " }" * DEEPEST_SUBQUERY + " AS s",
    "MATCH (c:Concept) WHERE " + " XOR ".join(f"c.cui = '{i}'" for i in range(MOST_XOR)) + " RETURN count(c) AS s",
    "MATCH (c:Concept) WHERE " + " OR ".join(f"c.cui = '{i}'" for i in range(40)) + " RETURN count(c) AS s",
    "RETURN 1 AS s" + " UNION RETURN 1 AS s" * (MOST_CLAUSES - 1),
    "WITH 1 AS x " * (MOST_CLAUSES - 1) + "RETURN x AS s",
]


def test_a_query_at_the_bounds_is_planned(connection: Neo4jConnection) -> None:
    parameters = {f"p{i}": i for i in range(LARGEST_EXPRESSION)}
    for text in AT_THE_BOUND:
        try:
            answer = curator_query(connection, text, parameters, timeout=4 * PATIENCE)
        except InputError:
            continue  # the server may not like a type; that it answers is the point
        except QueryTimedOut as error:
            pytest.fail(f"{error}: {text[:60]}…")
        assert answer.columns == ("s",)


@pytest.mark.parametrize(
    ("pattern", "parameters"),
    [
        ("'(a+)+b'", {}),
        ("'(a|aa)*b'", {}),
        ("'(?:a?){28}a{28}'", {}),
        ("'((a)*)*'", {}),
        ("'(?i)(?:(?:x+)y)+'", {}),
        ("'(a*)\\\\1b'", {}),
        ("'(?<n>a*)\\\\k<n>b'", {}),
        ("'a*a*a*a*b'", {}),
        ("$p", {"p": "a*a*a*a*b"}),
        ("'.*a.*a.*a.*b'", {}),
        ("'a?a?a?a?a?aaaaa'", {}),
        ("'[)]*(a+)+'", {}),
        ("'([a[b])]a+)+'", {}),
        ("'([])]a+)+'", {}),
        ("'(\\\\Q)\\\\Ea+)+'", {}),
        ("'(?x)( # )\\na+)+'", {}),
        ("$p", {"p": "(a+)+b"}),
        ("$p", {"p": ["(a+)+b"]}),
        ("$p.a", {"p": {"a": "(a+)+b"}}),
        ("$p[0]", {"p": ["(a+)+b"]}),
        ("'(a' + '+)+b'", {}),
        ("'(a'||'+)+b'", {}),
        ("('(a+)+b')", {}),
        ("toString('(a+)+b')", {}),
        ("c.name", {}),
        ("/* ' */ '(a+)+b'", {}),
    ],
)
def test_a_regular_expression_that_may_never_end_is_refused(pattern: str, parameters: dict[str, object]) -> None:
    with pytest.raises(InputError, match="line 2, column 14: a regular expression"):
        check_text(f"MATCH (c:Concept)\nWHERE c.name =~ {pattern} RETURN c.cui", parameters)


@pytest.mark.parametrize(
    "pattern",
    ["'(?i).*brain.*stem.*'", "'B(r|R)ain.*'", '"Brain[ (]?Stem"', "'(Brain)+ (St.m)?'", "$p", "'\\\\w+ Stem'"],
)
def test_a_regular_expression_that_ends_is_matched(connection: Neo4jConnection, pattern: str) -> None:
    text = f"RETURN 'Brain Stem' =~ {pattern} AS matches"
    assert curator_query(connection, text, {"p": "Brain St?em|Brain Stem"}).rows == ((True,),)


def test_a_result_is_bounded_in_size(connection: Neo4jConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST_RESULT", 100_000)
    assert len(curator_query(connection, "RETURN range(1, 5000) AS l").rows[0][0]) == 5_000
    with pytest.raises(LimitExceeded, match="larger than 100,000 bytes"):
        curator_query(connection, "UNWIND range(1, 1000) AS i RETURN range(1, 1000) AS l", limit=1_000)
    assert running(connection) == 0
