"""``cuihop load … --graph``: from files straight into a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cuihop import SnapshotGraph, connect
from cuihop.cli.application import application
from cuihop.errors import GraphUnavailable, InputError, OutputError, SchemaMismatch
from cuihop.neo4j_graph.connection import Neo4jConnection
from cuihop.neo4j_graph.releases import stored_releases
from cuihop_tools.neo4j_server import LocalServer
from loader.rrf_made import isa, name, retired, written
from neo4j_server import connected

ROWS = [isa(f"C{i:07d}", f"C{i + 1:07d}") for i in range(1, 30)]
NEXT_ROWS = [*ROWS[:-1], isa("C0000099", "C0000001")]


@pytest.fixture
def connection(neo4j_server: LocalServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Neo4jConnection]:
    monkeypatch.setenv("NEO4J_PASSWORD", neo4j_server.password)
    monkeypatch.delenv("CUIHOP_NEO4J", raising=False)
    with connected(neo4j_server) as opened:
        yield opened


@pytest.fixture
def umls(tmp_path: Path) -> Path:
    return written(tmp_path / "umls", {"MRREL": ROWS, "MRCONSO": [name("C0000001", "Heart")]})


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    application()(["load", *map(str, arguments)], standalone_mode=False)
    return capsys.readouterr().out


def test_files_go_into_the_server_and_the_report_is_that_of_a_snapshot(
    connection: Neo4jConnection, umls: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = connection.settings.address
    printed = json.loads(run(capsys, umls, "--graph", address, "--report-json", tmp_path / "report.json", "--json"))
    beside = json.loads(run(capsys, umls, "--output", tmp_path / "g.cuihop", "--json"))
    stored, _ = printed.pop("stored"), printed.pop("changes")
    assert json.loads((tmp_path / "report.json").read_text()) == printed
    assert {**printed, "seconds": 0} == {**beside, "seconds": 0}
    assert (stored["state"], stored["active"]) == ("complete", True)
    snapshot = SnapshotGraph.open(tmp_path / "g.cuihop")
    with connect(address) as graph:
        assert graph.release == snapshot.release
        assert graph.distance("C0000001", "C0000030") == snapshot.distance("C0000001", "C0000030") == 29
        assert graph.names(["C0000001"]) == ["Heart"]


def test_a_second_release_prints_and_writes_its_changes(
    connection: Neo4jConnection, umls: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = connection.settings.address
    run(capsys, umls, "--graph", address, "--release", "first")
    written(umls, {"MRREL": NEXT_ROWS, "MRCUI": [retired("C0000030", "SY", "C0000029")]})
    changes, both = tmp_path / "changes.tsv", tmp_path / "both.cuihop"
    arguments = (umls, "--release", "second", "--graph", address, "--output", both, "--changes", changes)
    out = " ".join(run(capsys, *arguments).split())
    assert "From first to second" in out
    assert "concepts added 1 concepts merged 1 concepts removed 0 concepts moved 1 edges added 1 edges removed 1" in out
    assert changes.read_text().splitlines() == [
        "change\tcui\tother",
        "concept added\tC0000099\t",
        "concept merged\tC0000030\tC0000029",
        "concept moved\tC0000001\t",
        "edge added\tC0000001\tC0000099",
        "edge removed\tC0000030\tC0000029",
    ]
    assert SnapshotGraph.open(both).release.name == "second"
    again = json.loads(run(capsys, *arguments, "--json"))
    vocabularies = again["changes"].pop("vocabularies")
    assert set(again["changes"].values()) == {0}
    assert all((change["added"], change["removed"]) == (0, 0) for change in vocabularies)
    assert changes.read_text() == "change\tcui\tother\n"


def test_readers_keep_their_release_without_a_switch(
    connection: Neo4jConnection, umls: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = connection.settings.address
    run(capsys, umls, "--graph", address, "--release", "kept")
    printed = json.loads(run(capsys, umls, "--graph", address, "--release", "waiting", "--no-switch", "--json"))
    assert (printed["stored"]["state"], printed["stored"]["active"]) == ("complete", False)
    assert next(r.release.name for r in stored_releases(connection) if r.active) == "kept"


def test_a_bad_row_stores_nothing(
    connection: Neo4jConnection, umls: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = stored_releases(connection)
    written(umls, {"MRREL": [*ROWS, "bad|"]})
    with pytest.raises(InputError, match="line 30"):
        run(capsys, umls, "--graph", connection.settings.address, "--output", tmp_path / "g.cuihop")
    assert stored_releases(connection) == before
    assert [path.name for path in tmp_path.iterdir()] == ["umls"]


def test_an_unfit_server_is_an_error_before_any_file_is_read(
    connection: Neo4jConnection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere = tmp_path / "no-such-folder"
    with pytest.raises(GraphUnavailable, match="cannot be reached"):
        run(capsys, nowhere, "--graph", "bolt://127.0.0.1:1")
    with pytest.raises(InputError, match="not the address of a Neo4j server"):
        run(capsys, nowhere, "--graph", "http://127.0.0.1:1")
    connection.run_alone("MERGE (s:CuihopStore {id: 0}) SET s.schema = 99")
    try:
        with pytest.raises(SchemaMismatch, match="schema 99"):
            run(capsys, nowhere, "--graph", connection.settings.address)
    finally:
        connection.run_alone("MATCH (s:CuihopStore) SET s.schema = 1")


def test_options_that_do_not_go_together_are_refused(umls: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="for a Neo4j server"):
        run(capsys, umls, "--output", umls / "g.cuihop", "--no-switch")
    with pytest.raises(OutputError, match="no such folder"):
        run(capsys, umls, "--graph", "bolt://127.0.0.1:1", "--changes", umls / "nowhere" / "changes.tsv")
