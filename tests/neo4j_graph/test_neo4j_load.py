"""Loading into a real server: atomically, the same read back, once and only once."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from cuihop import SnapshotGraph
from cuihop.errors import InputError, ReleaseMismatch, SchemaMismatch
from cuihop.neo4j_graph.connection import Neo4jConnection
from cuihop.neo4j_graph.curator_query import curator_query
from cuihop.neo4j_graph.graph import Neo4jGraph
from cuihop.neo4j_graph.projection import snapshot_sections
from cuihop.neo4j_graph.releases import (
    database_state,
    remove,
    roll_back,
    stored_release,
    stored_releases,
    switch_to,
)
from cuihop.snapshot.layout import MARK_SHIFT
from cuihop.snapshot.release_difference import VocabularyDifference, release_difference
from cuihop.snapshot.source_codes import code_sections
from cuihop.snapshot.string_table import StringTable, identifier_array
from cuihop.snapshot.writer import GraphTables, sections_of, tables_of_edges
from cuihop_loader.neo4j_bulk import finish_bulk, write_bulk_files
from cuihop_loader.neo4j_online import load_online
from cuihop_tools.neo4j_server import LocalServer
from example_graph import EDGES, ISOLATED, NAMES, RETIRED, code_rows, example_graph
from neo4j_server import connected, open_release, typed_graph
from stored_releases import LABELLED, counts, labels, part_of_the_open_release, same_arrays, two_releases


@pytest.fixture
def connection(neo4j_server: LocalServer) -> Iterator[Neo4jConnection]:
    with connected(neo4j_server) as opened:
        yield opened


@pytest.mark.parametrize("make", [open_release, example_graph, typed_graph])
def test_a_release_is_read_back_array_by_array(connection: Neo4jConnection, make: Callable[[], SnapshotGraph]) -> None:
    sections = make().sections
    stored = load_online(sections, connection)
    read = snapshot_sections(connection, stored.number)
    assert read.meta["release"]["digest"] == sections.meta["release"]["digest"] == stored.release.digest
    assert sorted(map(tuple, read.meta["sab_sets"])) == sorted(map(tuple, sections.meta["sab_sets"]))
    assert read.meta["semantic_types"] == [list(pair) for pair in sections.meta["semantic_types"]]
    assert same_arrays(read, sections)
    assert counts(connection, stored.number) == (stored.release.concepts,) * 2 + (stored.release.edges, 0)


def test_loading_again_stores_nothing_more(connection: Neo4jConnection) -> None:
    first = load_online(example_graph().sections, connection)
    again = load_online(example_graph().sections, connection)
    assert again.number == first.number
    assert counts(connection, first.number) == (17, 17, 14, 0)


def test_other_names_are_another_content(connection: Neo4jConnection) -> None:
    first = load_online(example_graph().sections, connection, switch=False)
    renamed = SnapshotGraph.of(
        EDGES, concepts=[ISOLATED], names={**NAMES, "C0006104": ["Brain!"]}, retired=RETIRED, identifiers="cui",
        name="example",
    )  # fmt: skip
    second = load_online(renamed.sections, connection, switch=False)
    assert second.release.digest == first.release.digest
    assert second.number != first.number
    assert Neo4jGraph(connection, release=second.number).names(["C0006104"]) == ["Brain!"]


def test_readers_see_nothing_of_a_load_until_it_is_complete(neo4j_server: LocalServer) -> None:
    with connected(neo4j_server) as loading, connected(neo4j_server) as reading:
        old = load_online(example_graph().sections, loading)
        seen = []

        def look(what: str, done: int, total: int) -> None:
            found = stored_releases(reading)[-1]
            with pytest.raises(ReleaseMismatch, match="no complete release"):
                Neo4jGraph(reading, release=found.number)
            with pytest.raises(ReleaseMismatch, match="not complete"):
                switch_to(reading, found.number)
            graph = Neo4jGraph(reading)
            labels = reading.run_alone("MATCH (c:Concept) RETURN DISTINCT c.release AS release")
            seen.append((found.state, graph.number, [row["release"] for row in labels]))

        edges = [("C0000001", f"C{i:07d}") for i in range(2, 90)]
        new = load_online(
            SnapshotGraph.of(edges, name="watched").sections, loading,
            progress=look, concepts_a_batch=40, edges_a_batch=40,
        )  # fmt: skip
        assert seen == [("loading", old.number, [old.number])] * 6
        assert Neo4jGraph(reading).number == new.number
        labels = reading.run_alone("MATCH (c:Concept) RETURN DISTINCT c.release AS release")
        assert [row["release"] for row in labels] == [new.number]


def test_a_switch_is_seen_by_new_readers_and_not_by_old_ones(neo4j_server: LocalServer) -> None:
    with connected(neo4j_server) as connection:
        one = load_online(example_graph().sections, connection)
        before = Neo4jGraph(connection)
        two = load_online(SnapshotGraph.of([("C0006121", "C0018670")], name="two").sections, connection)
        after = Neo4jGraph(connection)
        assert (before.number, after.number) == (one.number, two.number)
        assert before.distance("C0006121", "C0018670") == 3
        assert after.distance("C0006121", "C0018670") == 1
        assert roll_back(connection) == (two.number, one.number)
        assert Neo4jGraph(connection).number == one.number


def test_going_back_twice_never_leads_forward_again(killable_neo4j: LocalServer) -> None:
    with connected(killable_neo4j) as connection:  # the session's server keeps its large releases
        going_back_twice(connection)


def going_back_twice(connection: Neo4jConnection) -> None:
    for stored in stored_releases(connection):
        if not stored.active:
            remove(connection, stored.number)
    first, second, third = (
        load_online(SnapshotGraph.of([("C0006121", f"C000000{n}")], name=f"back, {n}").sections, connection).number
        for n in (1, 2, 3)
    )
    assert roll_back(connection) == (third, second)
    assert roll_back(connection) == (second, first)
    switch_to(connection, third)  # a release that was left is no release to go back to, unless it is switched to again
    assert roll_back(connection) == (third, first)
    switch_to(connection, second)
    switch_to(connection, first)  # a switch back is a way back, too
    for stored in stored_releases(connection):
        if not stored.active:
            remove(connection, stored.number)
    with pytest.raises(InputError, match=f"no release to go back to; found release {first} is active"):
        roll_back(connection)
    assert Neo4jGraph(connection).number == first


def test_work_on_a_whole_release_may_take_longer_than_transactions_of_the_server(killable_neo4j: LocalServer) -> None:
    with connected(killable_neo4j) as connection:  # whose db.transaction.timeout is 8 s
        assert connection.run_alone("RETURN other.wait(9000) AS waited")[0]["waited"] == 9000


def test_a_removed_release_is_no_release_to_go_back_to(connection: Neo4jConnection) -> None:
    first, second, third = (
        load_online(SnapshotGraph.of([("C0006121", f"C000000{n}")], name=f"gap, {n}").sections, connection).number
        for n in (1, 2, 3)
    )
    remove(connection, second)
    assert roll_back(connection) == (third, first)


def test_a_database_of_an_earlier_version_is_rolled_back_once(connection: Neo4jConnection) -> None:
    first, second = (
        load_online(SnapshotGraph.of([("C0006121", f"C000000{n}")], name=f"early, {n}").sections, connection).number
        for n in (1, 2)
    )
    connection.run_alone("MATCH (s:CuihopStore) REMOVE s.history")
    assert roll_back(connection) == (second, first)
    with pytest.raises(InputError, match="no release to go back to"):
        roll_back(connection)


def test_an_interrupted_switch_is_finished_before_a_rollback(connection: Neo4jConnection) -> None:
    load_online(example_graph().sections, connection)
    connection.run_alone("MATCH (s:CuihopStore) SET s.labelled = null")
    with pytest.raises(ReleaseMismatch, match="cuihop neo4j releases switch"):
        roll_back(connection)


@pytest.mark.parametrize("killed_after", [0, 1, 2, 3, 5])
def test_a_switch_in_ranges_leads_each_identifier_to_one_whole_release(
    connection: Neo4jConnection, monkeypatch: pytest.MonkeyPatch, killed_after: int
) -> None:
    one, two = two_releases(connection, f"ranges {killed_after}")
    whole = connection.write
    calls = 0

    def interrupted(work: object, *, timeout: float | None = None) -> object:
        nonlocal calls
        calls += 1
        if calls > killed_after:
            raise KeyboardInterrupt
        return whole(work, timeout=timeout)  # type: ignore[arg-type]

    monkeypatch.setattr(connection, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        switch_to(connection, two.number, most_at_once=5)
    monkeypatch.setattr(connection, "write", whole)
    assert all(row["n"] == 1 for row in connection.run_alone(LABELLED))
    state = database_state(connection)
    assert state is not None
    assert (state.active, state.labelled) == ((one.number, one.number) if killed_after == 0 else (two.number, None))
    if killed_after:  # it is known to be half-way: what asks for the label is refused, what asks for a release is not
        with pytest.raises(ReleaseMismatch, match="being switched"):
            curator_query(connection, "MATCH (c:Concept) RETURN c LIMIT 1")
        assert Neo4jGraph(connection).distance("C8888888", "C9999999") == 1
    assert Neo4jGraph(connection, release=one.number).distance("C0000000", "C0000018") == 18
    if killed_after == 3:
        assert set(labels(connection)) == {one.number, two.number}
        with pytest.raises(InputError, match="active release cannot be removed"):
            remove(connection, two.number)
        remove(connection, one.number)  # with the label still on some of its concepts
        assert set(labels(connection)) == {two.number}
    switch_to(connection, two.number, most_at_once=5)
    assert labels(connection) == {two.number: 18}
    assert len(curator_query(connection, "MATCH (c:Concept) RETURN c LIMIT 1").rows) == 1


def test_of_two_switches_at_once_the_later_one_wins_whole(
    connection: Neo4jConnection, monkeypatch: pytest.MonkeyPatch, neo4j_server: LocalServer
) -> None:
    one, two = two_releases(connection, "two at once")
    whole = connection.write
    calls = 0

    def other_in_between(work: object, *, timeout: float | None = None) -> object:
        nonlocal calls
        calls += 1
        if calls == 3:
            with connected(neo4j_server) as other:
                switch_to(other, one.number, most_at_once=7)
        return whole(work, timeout=timeout)  # type: ignore[arg-type]

    monkeypatch.setattr(connection, "write", other_in_between)
    with pytest.raises(ReleaseMismatch, match="switched to another release"):
        switch_to(connection, two.number, most_at_once=5)
    state = database_state(connection)
    assert state is not None
    assert (state.active, state.labelled) == (one.number, one.number)
    assert labels(connection) == {one.number: 19}


def test_a_removed_release_is_gone_for_its_readers(connection: Neo4jConnection) -> None:
    remaining = load_online(example_graph().sections, connection)
    gone = load_online(SnapshotGraph.of([("C0000001", "C0000002")], name="gone").sections, connection, switch=False)
    reader = Neo4jGraph(connection, release=gone.number)
    assert reader.distance("C0000001", "C0000002") == 1
    with pytest.raises(InputError, match="active release cannot be removed"):
        remove(connection, remaining.number)
    remove(connection, gone.number)
    with pytest.raises(ReleaseMismatch, match="no longer in the database"):
        reader.distance("C0000001", "C0000002")
    with pytest.raises(InputError, match="no such release"):
        stored_release(connection, gone.number)
    left = connection.run_alone("MATCH (n) WHERE n.release = $release RETURN count(n) AS n", release=gone.number)
    assert left[0]["n"] == 0


def test_a_tampered_release_is_not_projected(connection: Neo4jConnection) -> None:
    edges = [("C0000001", "C0000002"), ("C0000002", "C0000003")]
    stored = load_online(SnapshotGraph.of(edges, name="tampered").sections, connection, switch=False)
    connection.run_alone(
        "MATCH (:StoredConcept {release: $release, cui: 'C0000001'})-[e:IS_A]->() DELETE e", release=stored.number
    )
    with pytest.raises(ReleaseMismatch, match="changed its concepts or edges"):
        snapshot_sections(connection, stored.number)
    remove(connection, stored.number)


def test_the_difference_of_two_releases_is_printed_and_written(tmp_path: Path) -> None:
    old = SnapshotGraph.of([("C0000001", "C0000002"), ("C0000003", "C0000002"), ("C0000004", "C0000002")], name="old")
    new = SnapshotGraph.of(
        [("C0000001", "C0000002"), ("C0000005", "C0000002"), ("C0000005", "C0000001")],
        retired=[("C0000003", "SY", "C0000001"), ("C0000004", "DEL", "")],
        name="new",
    )
    difference = release_difference(old.sections, new.sections)
    assert difference.concepts_added == ["C0000005"]
    assert difference.concepts_merged == [("C0000003", "C0000001")]
    assert difference.concepts_removed == ["C0000004"]
    assert difference.edges_added == [("C0000005", "C0000001"), ("C0000005", "C0000002")]
    assert difference.edges_removed == [("C0000003", "C0000002"), ("C0000004", "C0000002")]
    difference.write(tmp_path / "changes.tsv")
    lines = (tmp_path / "changes.tsv").read_text().splitlines()
    assert lines[0] == "change\tcui\tother"
    assert "concept merged\tC0000003\tC0000001" in lines
    assert len(lines) == 1 + sum(difference.counts().values())
    nothing = release_difference(old.sections, old.sections)
    assert set(nothing.counts().values()) == {0}


def test_the_difference_names_the_vocabularies_that_changed() -> None:
    def release(edges: dict[tuple[str, str], tuple[str, ...]]) -> SnapshotGraph:
        cuis = ["C0000001", "C0000002", "C0000003"]
        edges = dict(sorted(edges.items()))
        members = sorted(set(edges.values()))
        return SnapshotGraph(
            sections_of(
                GraphTables(
                    cuis=identifier_array(cuis),
                    children=np.array([cuis.index(child) for child, _ in edges], dtype=np.int32),
                    parents=np.array([cuis.index(parent) for _, parent in edges], dtype=np.int32),
                    sab_sets=np.array([members.index(sabs) for sabs in edges.values()], dtype=np.uint16),
                    sab_set_members=members,
                ),
                name="made", relations=["isa"], identifiers="cui",
            )
        )  # fmt: skip

    first, second, third = ("C0000001", "C0000002"), ("C0000002", "C0000003"), ("C0000001", "C0000003")
    old = release({first: ("MSH",), second: ("MSH", "NCI"), third: ("SAME",)})
    new = release({first: ("MSH", "NCI"), ("C0000003", "C0000001"): ("NEW",), third: ("SAME",)})
    difference = release_difference(old.sections, new.sections)
    assert difference.vocabularies == [
        VocabularyDifference("MSH", old=2, new=1, added=0, removed=1),
        VocabularyDifference("NCI", old=1, new=1, added=1, removed=1),
        VocabularyDifference("NEW", old=0, new=1, added=1, removed=0),
        VocabularyDifference("SAME", old=1, new=1, added=0, removed=0),
    ]


LOADER = """
import sys
from cuihop import SnapshotGraph
from cuihop.neo4j_graph.connection import Neo4jConnection
from cuihop_loader.neo4j_online import load_online
with Neo4jConnection.open(sys.argv[1]) as connection:
    load_online(
        SnapshotGraph.open(sys.argv[2]).sections, connection, concepts_a_batch=500, edges_a_batch=250,
        progress=lambda what, done, total: print(what, done, flush=True),
    )
"""


def test_a_loader_killed_again_and_again_finishes_in_the_end(neo4j_server: LocalServer, tmp_path: Path) -> None:
    graph = part_of_the_open_release("loader killed")
    graph.save(tmp_path / "graph.cuihop")
    environment = {**os.environ, "NEO4J_PASSWORD": neo4j_server.password}
    command = [sys.executable, "-c", LOADER, neo4j_server.address, str(tmp_path / "graph.cuihop")]
    for batches in (5, 20):
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for _ in range(batches):
                assert process.stdout.readline()
            process.send_signal(signal.SIGKILL)
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    with connected(neo4j_server) as connection:
        stored = stored_releases(connection)[-1]
        assert (stored.release.name, stored.state, stored.active) == ("loader killed", "complete", True)
        concepts, edges = graph.release.concepts, graph.release.edges
        assert counts(connection, stored.number) == (concepts, concepts, edges, 0)
        assert same_arrays(snapshot_sections(connection, stored.number), graph.sections)


def test_bulk_and_online_give_the_same_graph(killable_neo4j: LocalServer, tmp_path: Path) -> None:
    graph = odd_release()
    arguments = write_bulk_files(graph.sections, tmp_path / "files")
    killable_neo4j.stop()
    killable_neo4j.admin(*arguments)
    killable_neo4j.start()
    with connected(killable_neo4j) as connection:
        with pytest.raises(SchemaMismatch, match="lacks"):
            Neo4jGraph(connection)
        stored = finish_bulk(graph.sections, connection)
        assert (stored.number, stored.active, stored.state) == (1, True, "complete")
        bulk = nodes_and_edges(connection, stored.number)
        assert same_arrays(snapshot_sections(connection, 1), graph.sections)
        load_online(SnapshotGraph.of([("C0000001", "C0000002")]).sections, connection)
        remove(connection, stored.number)
        online = load_online(graph.sections, connection)
        for found, expected in zip(nodes_and_edges(connection, online.number), bulk, strict=True):
            assert len(found) == len(expected)
            assert [pair for pair in zip(found, expected, strict=True) if pair[0] != pair[1]] == []


def odd_release() -> SnapshotGraph:
    """A small graph with everything that a release may have: names that a file of columns could trip over, retired
    concepts, semantic types, definitions, vocabularies, and codes of these."""
    names = {**NAMES, "C9000012": ['a "quoted" name, with; all | that\nand more', "", "é\\"], "C9000013": ["'"]}
    tables = tables_of_edges(EDGES, concepts=[ISOLATED], names=names, retired=RETIRED, identifiers="cui")
    concepts, edges = len(tables.cuis), len(tables.children)
    every_other = np.cumsum(np.r_[0, np.arange(concepts) % 2]).astype(np.int32)
    some = int(every_other[-1])
    tables = dataclasses.replace(
        tables,
        sab_sets=np.arange(edges, dtype=np.uint16) % 2,
        sab_set_members=[("MSH",), ("MSH", "NCI")],
        semantic_types=[("T023", "Body Part, Organ, or Organ Component"), ("T047", "Disease or Syndrome")],
        type_indptr=2 * every_other,
        type_indices=np.tile(np.array([0, 1], dtype=np.int32), some),
        definitions=StringTable.of([f'MSH|The "first",\nof Ménière; {place}\\' for place in range(some)]),
        definition_indptr=every_other,
        codes=lambda: code_sections(
            code_rows([
                (0, 1, "MSH", 'D "1", one', "M1"), (0, 1, "MSH", 'D "1", one', ""), (3, 0, "MSH", 'D "1", one', ""),
                (2, 2 << MARK_SHIFT, "LOCAL", "é\\|'", ""), (5, 0, "LOCAL", "é\\|'", "a,b"), (5, 0, "LOCAL", "v", ""),
            ]),
            concepts,
        ),
    )  # fmt: skip
    return SnapshotGraph(sections_of(tables, name='odd "names", one\\', relations=["isa"], identifiers="cui"))


def nodes_and_edges(connection: Neo4jConnection, release: int) -> tuple[list[object], list[object]]:
    """Everything stored of a release, but for its number and when it was loaded."""
    nodes = connection.run_alone(
        """
        MATCH (n) WHERE n.release = $release OR (n:Release AND n.number = $release)
        RETURN labels(n) AS labels, properties(n) AS properties
        """,
        release=release,
    )
    left_out = {"release", "loaded_at", "claimed_at"}
    plain = []
    for row in nodes:
        labels = sorted(row["labels"])
        hidden = left_out | ({"number"} if "Release" in labels else set())
        plain.append((labels, sorted((k, v) for k, v in row["properties"].items() if k not in hidden)))
    edges = connection.run_alone(
        "MATCH (c:StoredConcept {release: $release})-[e:IS_A]->(p) RETURN c.cui AS c, p.cui AS p, properties(e) AS e",
        release=release,
    )
    return sorted(plain, key=repr), sorted(((row["c"], row["p"], row["e"]) for row in edges), key=repr)
