"""``cuihop neo4j query`` and its relatives: what only reads is answered, what does not is refused before it runs."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cuihop import SnapshotGraph
from cuihop.cli.application import application
from cuihop.errors import CuihopError, InputError, QueryTimedOut, ReleaseMismatch
from cuihop.neo4j_graph.connection import Neo4jConnection
from cuihop.neo4j_graph.curator_query import curator_query
from cuihop_loader.neo4j_online import load_online
from cuihop_tools.neo4j_server import LocalServer
from example_graph import example_graph
from neo4j_server import connected


@pytest.fixture
def connection(neo4j_server: LocalServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Neo4jConnection]:
    monkeypatch.setenv("NEO4J_PASSWORD", neo4j_server.password)
    monkeypatch.setenv("CUIHOP_NEO4J", neo4j_server.address)
    with connected(neo4j_server) as opened:
        load_online(example_graph().sections, opened)
        yield opened


def test_rows_limit_and_parameters(connection: Neo4jConnection) -> None:
    text = "MATCH (c:Concept) WHERE c.cui STARTS WITH $start RETURN c.cui AS cui, c.name AS name ORDER BY cui"
    answer = curator_query(connection, text, {"start": "C00"}, limit=2)
    assert answer.columns == ("cui", "name")
    assert answer.rows == (("C0003483", "Aorta"), ("C0003842", "Arteries"))
    assert answer.truncated
    assert not curator_query(connection, text, {"start": "C00"}, limit=100).truncated


def test_nodes_edges_and_paths_become_plain_values(connection: Neo4jConnection) -> None:
    text = (
        "MATCH p = (c:Concept {cui: 'C0042449'})-[e:IS_A]->() RETURN c, e, p, date('2026-01-02') AS d, [1, null] AS l"
    )
    row = curator_query(connection, text).rows[0]
    assert row[0]["name"] == "Veins"
    assert "folded" not in row[0]
    assert row[1] == {"type": "IS_A"}
    assert [node["cui"] for node in row[2]] == ["C0042449", "C0005847"]
    assert row[3:] == ("2026-01-02", [1, None])
    json.dumps(row)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE (:Concept {cui: 'X'})",
        "MATCH (c:Concept) SET c.name = 'x'",
        "MATCH (c:Concept) DETACH DELETE c",
        "MATCH (c:Concept) CALL (c) { SET c.name = 'x' } IN TRANSACTIONS",
        "MERGE (n:Nothing) RETURN n",
        "DROP CONSTRAINT concept_cui_unique",
        "CREATE INDEX FOR (n:X) ON (n.y)",
        "LOAD CSV FROM 'file:///etc/passwd' AS line RETURN line",
        "LOAD CSV FROM 'http://127.0.0.1:1/' AS line RETURN line",
        "CALL dbms.listConfig() YIELD name RETURN name",
        "CALL db.clearQueryCaches()",
        "SHOW USERS",
        "SHOW TRANSACTIONS",
        "SHOW SETTINGS",
        "TERMINATE TRANSACTION 'neo4j-transaction-1'",
        "PROFILE CREATE (n) RETURN n",
        "MATCH (c) RETURN c; MATCH (d) DETACH DELETE d",
        "RETURN",
        "",
    ],
)
def test_a_query_that_does_more_than_read_is_refused(connection: Neo4jConnection, text: str) -> None:
    before = connection.run_alone("MATCH (n) RETURN count(n) AS n")[0]["n"]
    with pytest.raises(InputError):
        curator_query(connection, text)
    assert connection.run_alone("MATCH (n) RETURN count(n) AS n")[0]["n"] == before
    assert connection.run_alone("SHOW CONSTRAINTS YIELD name WHERE name = 'concept_cui_unique' RETURN name")


def test_the_server_itself_refuses_writes_of_a_reader(connection: Neo4jConnection) -> None:
    with pytest.raises(CuihopError, match=r"(?i)writ|read"):
        connection.read(lambda tx: tx.run("CREATE (:Nothing)").consume())


def test_a_slow_query_is_ended(connection: Neo4jConnection) -> None:
    with pytest.raises(QueryTimedOut):
        curator_query(
            connection,
            "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b RETURN max(a * b) AS most",
            timeout=0.5,
        )


def test_during_a_switch_a_query_waits_for_its_end(connection: Neo4jConnection) -> None:
    connection.run_alone("MATCH (s:CuihopStore) SET s.labelled = null")
    with pytest.raises(ReleaseMismatch, match="being switched"):
        curator_query(connection, "MATCH (c:Concept) RETURN c LIMIT 1")


TYPED_WRONGLY = "MATCH (c:Conzept)-[:ISA]->(p:Concept) WHERE c.nme = 'Heart' RETURN p.cui AS cui"


def test_notifications_of_the_server_come_with_the_result(connection: Neo4jConnection) -> None:
    remarks = curator_query(connection, TYPED_WRONGLY).notifications
    assert [(remark.severity, remark.line, remark.column) for remark in remarks] == [
        ("warning", 1, 10),
        ("warning", 1, 21),
        ("warning", 1, 47),
    ]
    for name, remark in zip(("label `Conzept`", "type `ISA`", "property `nme`"), remarks, strict=True):
        assert f"{name} does not exist" in remark.message
    remarks = curator_query(
        connection, "RETURN 1 AS n UNION\nMATCH (a:Concept), (b:Concept) RETURN 2 AS n"
    ).notifications
    assert [(remark.severity, remark.line, remark.column) for remark in remarks] == [("information", 2, 1)]
    assert "cartesian product" in remarks[0].message
    assert not curator_query(connection, "MATCH (c:Concept) RETURN c.cui LIMIT 1").notifications


def test_an_error_of_the_server_names_the_column_of_the_query(connection: Neo4jConnection) -> None:
    with pytest.raises(InputError, match=r"\(line 1, column 8\)"):
        curator_query(connection, "RETURN absent")


def test_an_unknown_procedure_is_an_error_of_the_caller(connection: Neo4jConnection) -> None:
    with pytest.raises(InputError, match=r"no\.such\.thing"):
        connection.read(lambda tx: tx.run("CALL no.such.thing()").consume())


@pytest.mark.parametrize(
    "text",
    [
        "RETURN 'LOAD CSV FROM' AS text, \"CALL dbms.listConfig()\" AS other",
        "RETURN 'it''s' AS x".replace("''", "\\'"),
        "MATCH (c:Concept) RETURN c.load AS load, c.csv AS csv, c.set, c.call LIMIT 1",
        "MATCH (c:Set {create: 1}) RETURN c",
        "WITH {load: 1, set: 2} AS x RETURN x.load, x.set",
        "// LOAD CSV\nRETURN 1 /* CREATE\n (n) */ AS `SET`",
        "RETURN date.truncate('month', date('2026-11-22')) AS d, duration.between(date(), date()) AS e",
        "CALL db . labels () YIELD label RETURN label;",
        "MATCH (c:Concept {cui: $set}) RETURN c.name",
        "RETURN '\\u00e9' AS e",
        "  \n\tmatch (c:Concept) return count(c)",
    ],
)
def test_a_harmless_query_with_dangerous_words_is_answered(connection: Neo4jConnection, text: str) -> None:
    assert curator_query(connection, text, {"set": "C0006121"}).columns


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    application()(list(arguments), standalone_mode=False)
    return capsys.readouterr().out


def test_the_commands(connection: Neo4jConnection, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "MATCH (c:Concept {cui: $cui}) RETURN c.cui AS cui, c.synonyms AS synonyms"
    out = run(capsys, "neo4j", "query", text, "--param", "cui=C0006121", "--csv")
    assert list(csv.reader(out.splitlines())) == [
        ["cui", "synonyms"],
        ["C0006121", '["Brainstem", "Truncus encephali"]'],
    ]
    out = run(capsys, "neo4j", "query", text, "-p", "cui=C0006121", "--json")
    assert json.loads(out)["rows"] == [{"cui": "C0006121", "synonyms": ["Brainstem", "Truncus encephali"]}]
    assert "Truncus encephali" in run(capsys, "neo4j", "query", text, "-p", "cui=C0006121")
    file = tmp_path / "query.cypher"
    file.write_text(f":param cui => 'C0006121';\n\n{text}")  # as the explorer shows it
    assert "Truncus encephali" in run(capsys, "neo4j", "query", "--file", str(file))
    assert "Truncus encephali" not in run(capsys, "neo4j", "query", "--file", str(file), "--param", "cui=C0006104")
    for wrong in ([], [text, "--file", str(file)]):
        with pytest.raises(InputError, match="expected Cypher, or --file FILE"):
            run(capsys, "neo4j", "query", *wrong)
    two = tmp_path / "two.cypher"
    two.write_text("RETURN 1 AS a;\nRETURN 2 AS a")
    with pytest.raises(InputError, match="one statement"):
        run(capsys, "neo4j", "query", "--file", str(two))
    application()(["neo4j", "query", TYPED_WRONGLY, "--csv"], standalone_mode=False)
    said = capsys.readouterr()
    assert said.out == "cui\n"
    assert "warning: line 1, column 10: " in said.err
    assert "`Conzept` does not exist" in said.err
    printed = json.loads(run(capsys, "neo4j", "query", TYPED_WRONGLY, "--json"))
    assert printed["rows"] == []
    assert printed["notifications"][0]["column"] == 10

    new = SnapshotGraph.of([("C0006121", "C0006104"), ("C7777777", "C0006104")], name="from the command line")
    new.save(tmp_path / "new.cuihop")
    printed = json.loads(
        run(capsys, "neo4j", "push", str(tmp_path / "new.cuihop"), "--changes", str(tmp_path / "changes.tsv"), "--json")
    )
    assert printed["stored"]["active"] is True
    assert printed["changes"]["concepts added"] == 1
    assert "concept added\tC7777777\t" in (tmp_path / "changes.tsv").read_text()
    number = printed["stored"]["number"]
    listed = json.loads(run(capsys, "neo4j", "releases", "list", "--json"))["releases"]
    assert [r["number"] for r in listed if r["active"]] == [number]
    run(capsys, "neo4j", "pull", "--output", str(tmp_path / "back.cuihop"))
    assert SnapshotGraph.open(tmp_path / "back.cuihop").release == new.release
    application()(["info", str(tmp_path / "back.cuihop")], standalone_mode=False)
    assert "not kept by Neo4j; cuihop load records them in a file" in " ".join(capsys.readouterr().out.split())
    application()(["neo4j", "releases", "rollback", "--json"], standalone_mode=False)
    said = capsys.readouterr()
    assert f" is active again, in place of release {number}" in said.err
    listed = json.loads(said.out)["releases"]
    old = next(r["number"] for r in listed if r["active"])
    assert old != number
    compared = json.loads(run(capsys, "neo4j", "releases", "compare", str(old), str(number), "--json"))
    assert compared["concepts added"] == 1
    assert all(one.keys() == {"sab", "old", "new", "added", "removed"} for one in compared["vocabularies"])
    run(capsys, "neo4j", "releases", "switch", str(number))
    run(capsys, "neo4j", "releases", "switch", str(old))
    assert "from the command line" not in run(capsys, "neo4j", "releases", "remove", str(number))
    out = run(capsys, "neo4j", "push", str(tmp_path / "new.cuihop"), "--import-files", str(tmp_path / "csv"))
    assert out.startswith("neo4j-admin database import full neo4j --overwrite-destination")
