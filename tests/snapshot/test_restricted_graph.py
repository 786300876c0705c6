"""A snapshot within vocabularies: the same as loading only their edges, without touching the file."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop import SnapshotGraph, connect
from cuihop.errors import SnapshotError
from cuihop.graph import DIRECTIONS
from cuihop.snapshot.index_builder import build_index
from cuihop_loader.loading import load
from cuihop_loader.options import LoadOptions
from example_graph import asserted_graph, sourced_edges_graph
from neo4j_server import open_release
from real_graphs import published_distances
from shared_data import shared

SOURCES = {("DOID",): 12_111, ("MONDO",): 36_112, ("MSH",): 10_444, ("UBERON",): 12_274, ("DOID", "MSH"): None}


@pytest.mark.parametrize("sabs", list(SOURCES))
def test_distances_are_those_of_a_graph_loaded_with_these_vocabularies(sabs: tuple[str, ...]) -> None:
    files = [shared("rrf_open/MRREL.RRF.gz"), shared("rrf_open/MRCONSO.RRF.gz")]
    loaded = SnapshotGraph(load(files, LoadOptions(release="rrf_open", include_sabs=sabs)).sections)
    within = open_release().within(sabs)
    assert (within.release.sabs, within.release.digest) == (loaded.release.sabs, loaded.release.digest)
    if (edges := SOURCES[sabs]) is not None:
        assert within.release.edges == edges
    pairs = [(a, b) for a, b, _, _ in published_distances()][::5]
    for direction in DIRECTIONS:
        assert within.distances(pairs, direction=direction) == loaded.distances(pairs, direction=direction)
    for a, b in pairs[:20]:
        assert within.path(a, b) == loaded.path(a, b)
    assert within.hierarchy.facts() == loaded.hierarchy.facts()


def test_no_published_distance_is_smaller_within_a_vocabulary() -> None:
    published = published_distances()
    pairs = [(a, b) for a, b, _, _ in published]
    within = open_release().within(["MONDO"]).distances(pairs)
    longer = [(hops, merged) for hops, (_, _, merged, _) in zip(within, published, strict=True) if hops != merged]
    assert longer
    assert all(hops is None or (merged is not None and hops > merged) for hops, merged in longer)


def test_the_digest_is_that_of_the_remaining_edges(tmp_path: Path) -> None:
    within = asserted_graph().within(["MSH", "NCI"])
    assert within.release.digest == asserted_graph().release.digest  # every edge remains
    one = asserted_graph().within(["MSH"])
    assert one.release.digest != asserted_graph().release.digest
    assert one.verify() > 0  # the edges are those of the digest
    one.save(tmp_path / "one.cuihop")
    assert SnapshotGraph.open(tmp_path / "one.cuihop").release == one.release


def test_the_file_is_shared_its_index_is_not_used_and_its_faults_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "asserted.cuihop"
    asserted_graph().save(path)
    build_index(asserted_graph()).save(path.with_name(path.name + ".index"))
    graph = SnapshotGraph.open(path)
    assert graph.index is not None
    within = graph.within(["MSH"])
    assert within.index is None
    assert within.sections["cuis"] is graph.sections["cuis"]
    assert within.sections["name_blob"] is graph.sections["name_blob"]
    with path.open("r+b") as file:
        file.truncate(1000)
    with pytest.raises(SnapshotError, match="written over, or cut"):
        within.distances([("C0000001", "C0000002")])


def test_a_restricted_graph_may_have_an_index_of_its_own() -> None:
    within = open_release().within(["UBERON"])
    indexed = open_release().within(["UBERON"])
    indexed.use_index(build_index(within))
    pairs = [(a, b) for a, b, _, _ in published_distances()][::7]
    assert indexed.distances(pairs) == within.distances(pairs)


def test_a_restricted_graph_of_a_file_can_be_sent_to_another_process(tmp_path: Path) -> None:
    asserted_graph().save(tmp_path / "asserted.cuihop")
    with connect(str(tmp_path / "asserted.cuihop")) as graph:
        sent = pickle.loads(pickle.dumps(graph.within(["NCI"])))  # noqa: S301 - its own pickle
        assert sent.release == graph.within(["NCI"]).release
        assert sent.distance("C0000003", "C0000002") == 1


cuis = st.integers(1, 9).map("C{:07d}".format)
asserted = st.dictionaries(st.tuples(cuis, cuis), st.sets(st.sampled_from("ABCD"), min_size=1), min_size=1)


@given(asserted, st.data())
def test_more_vocabularies_never_lengthen_a_distance(
    edges: dict[tuple[str, str], set[str]], data: st.DataObject
) -> None:
    whole = sourced_edges_graph(edges)
    if not (held := whole.release.sabs):
        return
    more = data.draw(st.sets(st.sampled_from(held), min_size=1))
    fewer = data.draw(st.sets(st.sampled_from(sorted(more)), min_size=1))
    nodes = sorted({cui for pair in edges for cui in pair})
    pairs = [(a, b) for a in nodes for b in nodes]
    for direction in DIRECTIONS:
        all_hops, more_hops, fewer_hops = (
            graph.distances(pairs, direction=direction).to_list()
            for graph in (whole, whole.within(sorted(more)), whole.within(sorted(fewer)))
        )
        for least, middle, most in zip(all_hops, more_hops, fewer_hops, strict=True):
            assert middle is None or (least is not None and least <= middle)
            assert most is None or (middle is not None and middle <= most)
    assert whole.within(held).release.digest == whole.release.digest
