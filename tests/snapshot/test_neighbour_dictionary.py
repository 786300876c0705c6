"""The neighbour dictionary: the graph's own answers for the concepts that it holds, and an error for anything else."""

from __future__ import annotations

import json
import pickle
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

import cuihop
from collections_made import STRANGERS, Case, cases
from concept_graph_contract import small_graphs
from cuihop import NeighbourDictionary, SnapshotGraph
from cuihop.errors import ConceptNotFound, ConceptRetired, InputError, InvalidCui, SnapshotError, SnapshotTooNew
from cuihop.graph import DIRECTIONS, Direction
from cuihop.snapshot.file import Sections, write_sections
from cuihop.snapshot.layout import FORMAT_VERSION, NEIGHBOUR_DICTIONARY
from example_graph import UNKNOWN, example_graph
from examples import examples

STEM, BRAIN, HEAD, VEINS, VESSELS, AORTA = "C0006121", "C0006104", "C0018670", "C0042449", "C0005847", "C0003483"
MERGED, DELETED, BROADER, MERGED_OUTSIDE = "C9000901", "C9000902", "C9000903", "C9000906"
IDENTIFIERS = [STEM, BRAIN, HEAD, VEINS, VESSELS, "C9000904", MERGED, DELETED, BROADER, MERGED_OUTSIDE, UNKNOWN]


@pytest.fixture
def dictionary(tmp_path: Path) -> Path:
    path = tmp_path / "nb"
    NeighbourDictionary.of(example_graph(), IDENTIFIERS, hops=2, files=["images.csv"]).save(path)
    return path


# The same as the graph


@given(small_graphs(), st.integers(0, 4), st.sampled_from(DIRECTIONS), st.data())
def test_distances_and_packs_are_those_of_any_graph(
    drawn: tuple[list[str], list[tuple[str, str]]], hops: int, direction: Direction, data: st.DataObject
) -> None:
    nodes, edges = drawn
    graph = SnapshotGraph.of(edges, concepts=nodes, retired=[("C9999981", "SY", nodes[0])], identifiers="cui")
    some = data.draw(st.lists(st.sampled_from([*nodes, "C9999981"]), min_size=1, unique=True))
    found = NeighbourDictionary.of(graph, [*some, *STRANGERS], hops=hops, direction=direction)
    pairs = [(a, b) for a in some for b in some]
    for bound in range(hops + 1):
        expected = graph.distances(pairs, direction=direction, max_hops=bound)
        answer = found.distances(pairs, direction=direction, max_hops=bound)
        assert (list(answer), answer.merged, answer.max_hops) == (list(expected), expected.merged, bound)
        distinct = data.draw(st.permutations(sorted({graph.resolve([cui])[0].cui or "" for cui in some})))
        packs = [each.pack(distinct, hops=bound, direction=direction) for each in (graph, found)]
        assert [packs[0].cuis, packs[0].digest] == [packs[1].cuis, packs[1].digest]
        for part in ("indptr", "indices", "hops"):
            np.testing.assert_array_equal(getattr(packs[0], part), getattr(packs[1], part), strict=True)
    assert found.resolve([*some, *STRANGERS]) == graph.resolve([*some, *STRANGERS])


@settings(max_examples=examples(60))
@given(cases())
def test_an_evaluation_has_the_same_bits(case: Case) -> None:
    graph = case.graph
    concepts = frozenset[str]().union(*case.queries.values(), *case.held.values())
    if not concepts - set(STRANGERS):
        return
    found = NeighbourDictionary.of(graph, concepts, hops=case.n, direction=case.direction)
    nearness = cuihop.Nearness(case.n, case.lam, case.direction, "isolated")
    data = cuihop.Dataset(case.queries, case.corpus)
    by_graph, by_dictionary = (
        cuihop.evaluate(data, case.ranking, each, measures="nn-CUI@3", nearness=nearness, missing="zero")
        for each in (graph, found)
    )
    np.testing.assert_array_equal(by_graph.values, by_dictionary.values, strict=True)
    assert by_graph.summary() == by_dictionary.summary()


def test_a_file_answers_as_the_dictionary_that_was_written(dictionary: Path) -> None:
    graph = example_graph()
    with cuihop.connect(str(dictionary)) as found:
        assert isinstance(found, NeighbourDictionary)
        assert found.release == graph.release
        assert found.resolve([*IDENTIFIERS, "no CUI"]) == graph.resolve([*IDENTIFIERS, "no CUI"])
        assert found.names([STEM, MERGED]) == [None, None]
        assert cuihop.nn_iou([STEM, VEINS], [VESSELS, HEAD], found, 2) == cuihop.nn_iou(
            [STEM, VEINS], [VESSELS, HEAD], graph, 2
        )
        assert len(found) == 17
        again = pickle.loads(pickle.dumps(found))  # noqa: S301 - its own pickle
        assert again.distance(MERGED, VESSELS, max_hops=1) == found.distance(VEINS, "C9000904", max_hops=2) == 1
    assert (found.hops, found.direction, found.pairs) == (2, "any", 6)
    counts = found.facts["neighbour_dictionary"]
    assert [counts[name] for name in ("concepts", "merged", "retired", "unknown")] == [5, 2, 2, 2]


def test_concepts_that_cannot_be_used_have_the_errors_of_the_graph(dictionary: Path) -> None:
    found = NeighbourDictionary.open(dictionary)
    for cui, error in ((UNKNOWN, ConceptNotFound), (DELETED, ConceptRetired), ("C", InvalidCui)):
        messages = []
        for graph in (example_graph(), found):
            with pytest.raises(error) as caught:
                graph.distances([(STEM, cui), (cui, cui)], max_hops=1)
            messages.append(str(caught.value))
        assert messages[0] == messages[1]


# Anything else


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda g: g.distance(STEM, AORTA, max_hops=1), f"nb: not in the neighbour dictionary; found {AORTA}. It hold"),
        (lambda g: g.resolve([STEM, AORTA]), f"found {AORTA}"),
        (lambda g: AORTA in g, f"found {AORTA}"),
        (lambda g: g.distance(STEM, HEAD), "max_hops: .*nb: .*found no bound; expected a bound of at most 2 hops"),
        (lambda g: g.distance(STEM, HEAD, max_hops=3), "max_hops: .*found 3 hops; expected a bound of at most 2 hops"),
        (lambda g: g.pack([STEM], hops=3), "hops: .*found 3 hops"),
        (lambda g: g.pack([VEINS, MERGED], hops=1), f"given twice; found {MERGED}"),
        (lambda g: g.distance(STEM, HEAD, direction="up", max_hops=1), "direction: .*found up; expected any"),
        (lambda g: g.distance(STEM, HEAD, direction="left", max_hops=1), "expected any or up or down or vertical"),
        (lambda g: g.path(STEM, HEAD), "holds no paths"),
        (lambda g: g.neighbours([STEM]), "holds no whole neighbourhoods"),
        (lambda g: g.ancestors(STEM), "holds no whole neighbourhoods"),
        (lambda g: g.concepts([STEM]), "holds no records of concepts"),
        (lambda g: g.search("brain"), "holds no names"),
        (lambda g: g.annotate("brain"), "holds no names"),
    ],
)  # fmt: skip
def test_what_it_cannot_answer_is_an_error_that_names_its_content(
    dictionary: Path, ask: Callable[[NeighbourDictionary], object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        ask(NeighbourDictionary.open(dictionary))


def test_the_way_on_is_named(dictionary: Path) -> None:
    with pytest.raises(InputError, match=r"within 2 hops .in both directions. in release example.*cuihop neighbours"):
        NeighbourDictionary.open(dictionary).distance(STEM, AORTA, max_hops=1)


def test_a_dictionary_without_a_concept_or_with_a_malformed_one_is_not_made() -> None:
    with pytest.raises(InputError, match="no concept is in the graph; found 1 identifier"):
        NeighbourDictionary.of(example_graph(), [UNKNOWN], hops=1)
    with pytest.raises(InvalidCui, match="'brain'"):
        NeighbourDictionary.of(example_graph(), [STEM, "brain"], hops=1)
    with pytest.raises(InputError, match="hops"):
        NeighbourDictionary.of(example_graph(), [STEM], hops=256)


# Damaged files


def test_every_truncation_and_every_flipped_byte_is_refused(dictionary: Path, tmp_path: Path) -> None:
    whole = dictionary.read_bytes()
    header = json.loads(whole[32 : 32 + struct.unpack_from("<I", whole, 12)[0]])
    used = {*range(32 + struct.unpack_from("<I", whole, 12)[0])}
    for section in header["sections"]:
        used |= set(range(section["offset"], section["offset"] + section["bytes"]))
    damaged = tmp_path / "damaged"
    for length in range(0, len(whole), 31):
        damaged.write_bytes(whole[:length])
        with pytest.raises(SnapshotError):
            NeighbourDictionary.open(damaged)
    for place in sorted(used)[::7]:
        damaged.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with pytest.raises(SnapshotError):
            NeighbourDictionary.open(damaged)


def forged(path: Path, change: Callable[[dict[str, object]], None]) -> None:
    """Write another JSON part with its checksum; sections stay where they are."""
    raw = path.read_bytes()
    end = 32 + struct.unpack_from("<I", raw, 12)[0]
    header = json.loads(raw[32:end])
    change(header["meta"])
    text = json.dumps(header).encode()
    first = min(section["offset"] for section in header["sections"])
    assert 32 + len(text) <= first
    head = struct.pack("<8sIIQQ", raw[:8], FORMAT_VERSION, len(text), xxhash.xxh3_64_intdigest(text), len(raw))
    path.write_bytes((head + text).ljust(first, b"\0") + raw[first:])


@pytest.mark.parametrize(
    ("field", "value"),
    [("hops", 0), ("hops", 256), ("direction", "left"), ("concepts", 4), ("entries", 1), ("release", {}),
     ("others", [1]), ("others", [["C1", "x", "", []]]), ("files", None), ("version", "1")],
)  # fmt: skip
def test_a_header_that_is_wrong_is_refused(dictionary: Path, field: str, value: object) -> None:
    forged(dictionary, lambda meta: meta.update({field: value}))
    with pytest.raises(SnapshotError):
        NeighbourDictionary.open(dictionary)


@pytest.mark.parametrize("fault", ["descending columns", "not at 0 hops from itself", "at 0 hops from another"])
def test_distances_that_no_graph_gives_are_refused(dictionary: Path, fault: str) -> None:
    sections = Sections.open(dictionary, NEIGHBOUR_DICTIONARY)
    arrays = {name: np.array(sections[name]) for name in sections}
    if fault == "descending columns":
        arrays["indices"][:2] = arrays["indices"][:2][::-1]
    else:
        at_zero = arrays["hops"] == 0
        arrays["hops"][np.flatnonzero(at_zero == (fault == "not at 0 hops from itself"))[0]] ^= 1
    assert {0, 1} <= set(arrays["hops"].tolist())
    write_sections(dictionary, sections.meta, arrays)
    with pytest.raises(SnapshotError, match=r"do not ascend|at 0 hops"):
        NeighbourDictionary.open(dictionary)


def test_a_later_version_is_refused_with_advice(dictionary: Path) -> None:
    forged(dictionary, lambda meta: meta.update(version=2))
    with pytest.raises(SnapshotTooNew, match=r"version 2 of the neighbour dictionary.*Upgrade cuihop"):
        NeighbourDictionary.open(dictionary)


def test_snapshots_and_dictionaries_are_told_apart(dictionary: Path, tmp_path: Path) -> None:
    example_graph().save(tmp_path / "graph.cuihop")
    with pytest.raises(SnapshotError, match="not a snapshot; found neighbour dictionary"):
        SnapshotGraph.open(dictionary)
    with pytest.raises(SnapshotError, match="not a neighbour dictionary; found snapshot"):
        NeighbourDictionary.open(tmp_path / "graph.cuihop")
    with pytest.raises(SnapshotError, match="no such"):
        cuihop.connect(str(tmp_path / "nothing"))
