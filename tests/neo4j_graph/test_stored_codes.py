"""Codes of vocabularies in a real database: the answers, and read back the arrays, of the snapshot that was stored."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given

from cuihop import ConceptGraph, SnapshotGraph
from cuihop.cli.application import application
from cuihop.errors import InputError, InvalidCui, ReleaseMismatch
from cuihop.neo4j_graph.connection import Neo4jConnection
from cuihop.neo4j_graph.curator_query import curator_query
from cuihop.neo4j_graph.graph import Neo4jGraph
from cuihop.neo4j_graph.projection import snapshot_sections
from cuihop.neo4j_graph.releases import check_schema, install_schema, remove, stored_releases
from cuihop.neo4j_graph.stored_codes import release_codes
from cuihop.snapshot.file import Sections
from cuihop.snapshot.layout import MARK_SHIFT, SOURCE_CODES
from cuihop_loader.neo4j_online import load_online
from cuihop_loader.neo4j_rows import ReleaseRows
from cuihop_tools.neo4j_server import LocalServer
from example_graph import coded_graph
from loader.rrf_made import isa, written
from loader.test_source_codes import coded
from neo4j_server import connected, stored_graph
from remote.test_codes_as_identifiers import (  # noqa: F401 - run here on the graph of a database
    ROWS,
    test_a_code_that_cannot_be_used_says_why,
    test_a_retired_concept_in_another_form_is_its_successor,
    test_codes_of_several_concepts_are_taken_as_asked,
    test_each_form_is_its_concept_in_every_operation,
    test_unknown_codes_are_counted_apart_and_invalid_ones_never_match,
)
from stored_releases import codes_of, same_arrays

SABS = ["LOCAL", "MSH", "SNOMEDCT_US"]
CODES = ["I21.9", "i219", "I219", "x", "X", "é", 'a "b", c', "D001933", "C0006121"]


def many_codes(name: str = "one") -> SnapshotGraph:
    """Brain stem, brain and head with codes in all orders: of several, twice of one, suppressed and obsolete."""
    at_random = random.Random(7)
    rows = [
        (
            at_random.randrange(3), at_random.choice([0, 1, 2, 1 << MARK_SHIFT, 2 << MARK_SHIFT]),
            at_random.choice(SABS), at_random.choice(CODES), at_random.choice(["", "", "M1", "M2"]),
        )
        for _ in range(60)
    ]  # fmt: skip
    return coded_graph(*rows, (0, 1, "MSH", name, ""), *((2, 1, "MSH", f"D{i:06d}", "") for i in range(130)))


TEXTS = [
    *("C0006121", "C0006104", "C0018670", "C9000901", "C9000903", "C9999999", "D001933", "", ":", "MSH:", "c0006121"),
    *(f"{sab}:{code}" for sab in (*SABS, "msh", "MESH") for code in CODES),
    *("umls:C0006121", "mesh:D001921", "umls:C9000901", "http://snomed.info/id/15926001"),
    *("MSH:\ud800", "MSH:" + "x" * 30_000, "x:" * 9_000),
    *(f"MSH:d{i:06d}" for i in range(20)),
]  # fmt: skip


@pytest.fixture(scope="module")
def snapshot() -> SnapshotGraph:
    return coded_graph((0, 5, "LOCAL", "both", ""), (1, 5, "LOCAL", "both", ""))


@pytest.fixture(scope="module")
def graph(neo4j_server: LocalServer, snapshot: SnapshotGraph) -> Iterator[ConceptGraph]:
    with stored_graph(neo4j_server, snapshot) as opened:
        yield opened


@pytest.fixture
def connection(neo4j_server: LocalServer) -> Iterator[Neo4jConnection]:
    with connected(neo4j_server) as opened:
        yield opened


def nodes_of(connection: Neo4jConnection, release: int) -> int:
    rows = connection.run_alone("MATCH (s:SourceCode {release: $release}) RETURN count(s) AS n", release=release)
    return int(rows[0]["n"])


@pytest.mark.core
def test_every_answer_is_that_of_the_snapshot(neo4j_server: LocalServer) -> None:
    snapshot = many_codes()
    with stored_graph(neo4j_server, snapshot) as stored:
        assert stored.code_sabs == snapshot.code_sabs == tuple(SABS)
        for sabs in ([], ["MSH"], ["SNOMEDCT_US", "LOCAL"]):
            assert stored.codes(TEXTS, sabs=sabs) == snapshot.codes(TEXTS, sabs=sabs)
            assert stored.codes([], sabs=sabs) == []
        concepts = ["C0006121", "MSH:D000007", "C0006104", "C0006121"]
        assert stored.concepts(concepts) == snapshot.concepts(concepts)
        assert stored.concepts(concepts, codes=False) == snapshot.concepts(concepts, codes=False)
        for texts in (TEXTS, TEXTS[::-1], TEXTS[:1], [], [f"MSH:d{i:06d}" for i in range(130)]):
            assert stored.resolve(texts) == snapshot.resolve(texts)
        for text in TEXTS[:20]:
            assert stored.codes([text]) == snapshot.codes([text])
        for wrong in (["MESH"], "MSH"):
            with pytest.raises(InputError) as refused:
                stored.codes(["C0006121"], sabs=wrong)
            with pytest.raises(InputError) as expected:
                snapshot.codes(["C0006121"], sabs=wrong)
            assert str(refused.value) == str(expected.value)


@given(ROWS)
def test_stored_rows_have_the_sections_of_the_snapshot(rows: list[tuple[int, int, str, str, str]]) -> None:
    sections = coded_graph(*rows, (1, 1, "MSH", "a", "M1")).sections
    stored = ReleaseRows(sections)
    assert stored.codes is not None
    nodes = sorted(stored.code_rows(0, 3) + stored.code_rows(3, len(stored.codes)), key=lambda row: row[0])
    read = release_codes({**stored.properties(), "number": 1}, stored.cuis, iter([nodes[:2], nodes[2:]]))
    assert read is not None
    arrays, sabs = read()
    assert list(sabs) == sections.meta["code_sabs"]
    again = Sections(sections.meta, {**{name: sections[name] for name in sections}, **arrays})
    assert codes_of(again) == codes_of(sections)
    assert ReleaseRows(again).content == stored.content
    of_concepts = stored.codes.of_concepts(0, 3)
    assert of_concepts == [row[10] or [] for row in stored.concept_rows(0, 3)]
    for cui, codes in zip(stored.cuis, of_concepts, strict=True):
        assert codes == list(dict.fromkeys(f"{c.sab}:{c.code}" for c in SnapshotGraph(sections).codes([cui])[0].codes))


@pytest.mark.parametrize("make", [coded_graph, partial(many_codes, "another")])
def test_codes_are_read_back_and_removed_with_their_release(
    connection: Neo4jConnection, make: Callable[[], SnapshotGraph]
) -> None:
    sections = make().sections

    def interrupt(kind: str, done: int, total: int) -> None:
        if kind == "codes" and done < total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load_online(sections, connection, switch=False, edges_a_batch=2, progress=interrupt)
    half = stored_releases(connection)[-1]
    assert (half.state, nodes_of(connection, half.number)) == ("loading", 2)
    number = load_online(sections, connection, switch=False, edges_a_batch=40).number
    assert number == half.number
    assert same_arrays(snapshot_sections(connection, number), sections)
    assert load_online(sections, connection, switch=False).number == number
    opened = Neo4jGraph(connection, release=number)
    opened.check_counts()
    assert nodes_of(connection, number) == len(sections["code_sab_numbers"])
    connection.run_alone("MATCH (s:SourceCode {release: $release, code: 'LOCAL:x'}) DELETE s", release=number)
    with pytest.raises(ReleaseMismatch, match=r"concepts and 1 edges and \d+ codes where it was read"):
        opened.check_counts()
    with pytest.raises(ReleaseMismatch, match="codes in the database"):
        snapshot_sections(connection, number)
    load_online(SnapshotGraph.of([("C0000001", "C0000002")], name="active").sections, connection)
    remove(connection, number)
    assert nodes_of(connection, number) == 0


def test_the_same_release_without_codes_is_another_one(connection: Neo4jConnection) -> None:
    sections = coded_graph().sections
    plain = SnapshotGraph.of(
        [("C0006121", "C0006104")], concepts=["C0018670"], names={"C0006121": "Brain stem"}, identifiers="cui",
        retired=[("C9000901", "SY", "C0006121"), ("C9000903", "RB", "C0006104")], name="coded",
    )  # fmt: skip
    one, other = (load_online(each, connection, switch=False) for each in (sections, plain.sections))
    assert one.release == other.release
    assert one.number != other.number
    with pytest.raises(InputError, match=r"the database holds no codes of vocabularies.*cuihop load"):
        Neo4jGraph(connection, release=other.number).codes(["C0006121"])


def test_a_release_of_an_earlier_version_has_no_codes(connection: Neo4jConnection) -> None:
    number = load_online(coded_graph((0, 9, "MSH", "older", "")).sections, connection, switch=False).number
    for text in (
        "MATCH (s:SourceCode {release: $release}) DELETE s",
        "MATCH (c:StoredConcept {release: $release}) REMOVE c.codes",
        "MATCH (r:Release {number: $release}) REMOVE r.codes, r.code_sabs, r.codes_loaded",
    ):
        connection.run_alone(text, release=number)
    connection.run_alone("DROP INDEX source_code")
    check_schema(connection)
    older = Neo4jGraph(connection, release=number)
    older.check_counts()
    assert older.code_sabs is None
    with pytest.raises(InputError, match="no codes of vocabularies"):
        older.codes(["C0006121"])
    with pytest.raises(InvalidCui):
        older.distance("MSH:D001933", "C0006104")
    assert SOURCE_CODES[0] not in older.sections
    install_schema(connection)
    indexes = connection.run_alone("SHOW INDEXES YIELD name WHERE name = 'source_code' RETURN count(*) AS n")
    assert indexes[0]["n"] == 1


def test_a_load_stores_codes_that_curators_find(
    neo4j_server: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: str | Path) -> str:
        texts = list(map(str, arguments))
        application(texts)(texts, standalone_mode=False)
        captured = capsys.readouterr()
        assert "no codes" not in captured.err
        return captured.out

    monkeypatch.setenv("NEO4J_PASSWORD", neo4j_server.password)
    server = neo4j_server.address
    rows = [coded("C0000001", "D1", sab="MSH", scui="M1"), coded("C0000002", "v", sab="LOCAL")]
    rows.append(coded("C0000001", "v", sab="LOCAL", suppress="O"))
    folder = written(tmp_path / "umls", {"MRREL": [isa("C0000001", "C0000002")], "MRCONSO": rows})
    run("load", folder, "--output", tmp_path / "g.cuihop", "--graph", server, "--release", "with codes")
    assert json.loads(run("info", server, "--json"))["code_sabs"] == ["LOCAL", "MSH"]
    assert "vocabularies of codes LOCAL, MSH" in " ".join(run("info", server).split())
    assert run("codes", "LOCAL:v", "C0000001", "-g", server) == run(
        "codes", "LOCAL:v", "C0000001", "-g", tmp_path / "g.cuihop"
    )
    run("neo4j", "pull", "-o", tmp_path / "back.cuihop", "-g", server)
    assert SnapshotGraph.open(tmp_path / "back.cuihop").codes(["MSH:D1"])[0].codes[0].source_concept == "M1"
    with connected(neo4j_server) as connection:
        asked = "MATCH (c:Concept {cui: 'C0000001'}) RETURN c.codes"
        assert curator_query(connection, asked).rows == ((["MSH:D1", "LOCAL:v"],),)
        asked = """
        MATCH (t:CuihopStore) MATCH (s:SourceCode {release: t.active, code: 'LOCAL:v'})
        UNWIND range(0, size(s.cuis) - 1) AS i RETURN s.cuis[i], s.marks[i], s.source_concepts[i]
        """
        assert curator_query(connection, asked).rows == (("C0000002", "active", None), ("C0000001", "obsolete", None))
    run("load", folder, "--graph", server, "--release", "without codes", "--no-codes")
    assert json.loads(run("info", server, "--json"))["code_sabs"] is None


def test_a_code_with_the_character_between_elements_of_lists_is_refused(tmp_path: Path) -> None:
    from cuihop_loader.neo4j_bulk import write_bulk_files

    with pytest.raises(InputError, match=r"code holds the control character U\+001F"):
        write_bulk_files(coded_graph((0, 1, "MSH", "a\x1fb", "")).sections, tmp_path)


def test_arrays_are_those_of_the_types_that_a_file_has(neo4j_server: LocalServer, tmp_path: Path) -> None:
    with stored_graph(neo4j_server, many_codes()) as stored:
        SnapshotGraph(stored.sections).save(tmp_path / "back.cuihop")
    back = SnapshotGraph.open(tmp_path / "back.cuihop")
    assert back.verify()
    assert back.codes(TEXTS) == many_codes().codes(TEXTS)
    assert codes_of(back.sections) == codes_of(many_codes().sections)
