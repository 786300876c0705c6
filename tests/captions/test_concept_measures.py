"""F1 of the concepts of captions: the organisers' rule, near misses, MEDCON, and what has no concept."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import literal_algorithms
from captions.organisers_rules import concept_score
from collections_made import networkx_distance
from cuihop import ImageConcepts, Nearness, SnapshotGraph
from cuihop.annotated_texts import near_misses
from cuihop.captions import CaptionConcepts, Captions, caption_concepts, score_captions
from cuihop.errors import InputError
from cuihop.graph import Concept
from example_graph import EDGES, ISOLATED, UNKNOWN, example_graph
from examples import examples

VEINS, VESSELS, ARTERIES, AORTA, HEAD = "C0042449", "C0005847", "C0003842", "C0003483", "C0018670"
NODES = sorted({concept for edge in EDGES for concept in edge} | {ISOLATED})


def sides(true: dict[str, frozenset[str]], predicted: dict[str, frozenset[str]]) -> CaptionConcepts:
    return CaptionConcepts(ImageConcepts.of(true), ImageConcepts.of(predicted))


def captions(images: Iterable[str]) -> dict[str, str]:
    return dict.fromkeys(images, "a caption")


@pytest.mark.slow
def test_concept_f1_is_that_of_the_organisers_on_ten_thousand_captions() -> None:
    rng = random.Random(2025)
    names = {f"C{number:07}": f"name {number // 2}" for number in range(1, 13)}  # two concepts share a name
    cases = [[rng.choices(sorted(names), k=rng.choice([0, 0, 1, 2, 4, 8])) for _ in (0, 1)] for _ in range(10_000)]
    expected = [concept_score(*([(names[cui], cui) for cui in side] for side in case)) for case in cases]
    images = [str(place) for place in range(len(cases))]
    true, predicted = (
        {image: frozenset(case[side]) for image, case in zip(images, cases, strict=True)} for side in (0, 1)
    )
    found = score_captions(
        captions(images), captions(images), measures="concept-F1", concepts=sides(true, predicted)
    )  # fmt: skip
    np.testing.assert_allclose(found.values[:, 0], expected, rtol=0, atol=1e-12)
    assert 0 in expected
    assert 1 in expected
    assert found.counts.without_concepts == sum(not case[0] and not case[1] for case in cases) > 0


sets = st.frozensets(st.sampled_from([*NODES, UNKNOWN]), max_size=5)


@settings(max_examples=examples(40))
@given(st.lists(st.tuples(sets, sets), min_size=1, max_size=5), st.integers(0, 7), st.sampled_from([0.0, 0.3, 1.0]))
@pytest.mark.filterwarnings("ignore::cuihop.errors.ManyUnknownConcepts")
def test_near_misses_by_the_definition_and_none_with_n_0(
    pairs: list[tuple[frozenset[str], frozenset[str]]], n: int, lam: float
) -> None:
    pairs = [*pairs, (frozenset({HEAD}), frozenset({HEAD}))]  # the graph has one of them
    true, predicted = ({str(place): pair[side] for place, pair in enumerate(pairs)} for side in (0, 1))
    found = score_captions(
        captions(true), captions(true), example_graph(),
        measures=[f"nn-concept-F1(n={n}, λ={lam})", "concept-F1", "nn-concept-F1(n=0)"],
        concepts=sides(true, predicted),
    )  # fmt: skip
    distance = networkx_distance(NODES, EDGES, "any")
    expected = [
        literal_algorithms.nn_f1(*pair, distance, n, lam)[2] if pair[0] or pair[1] else 0.0 for pair in pairs
    ]  # fmt: skip
    np.testing.assert_allclose(found.values[:, 0], expected, rtol=0, atol=1e-12)
    assert found.values[:, 1].tolist() == found.values[:, 2].tolist()


def test_concepts_by_the_names_of_the_graph_and_their_near_misses() -> None:
    references = {"a": "Veins of the head", "b": "", "c": "Nothing known"}
    predicted = {"a": "Blood vessels", "b": "", "c": "Nor this"}
    graph = example_graph()
    assert dict(caption_concepts(Captions.of(references), graph)) == {
        "a": frozenset({VEINS, HEAD}), "b": frozenset(), "c": frozenset(),
    }  # fmt: skip
    found = score_captions(references, predicted, graph, measures=["concept-F1", "nn-concept-F1"])
    assert found.values.tolist() == [[0.0, 2 * 0.5 * 0.25 / 0.75], [1.0, 1.0], [0.0, 0.0]]
    assert (found.counts.both_empty, found.counts.without_concepts) == (1, 1)
    assert found.concepts is not None
    (miss,) = near_misses(found.concepts, graph)
    assert (miss.predicted, miss.true, miss.hops) == (VESSELS, VEINS, 1)
    assert "1 image without a concept on either side: 0 by concepts" in found.account()


class Typed(SnapshotGraph):
    """The example graph with semantic types: vessels are anatomy, the head is an idea."""

    def concepts(self, cuis: Sequence[str], *, codes: bool = True) -> list[Concept]:
        types = dict.fromkeys((VEINS, VESSELS, ARTERIES), (("T023", "Body Part, Organ, or Organ Component"),))
        types[HEAD] = (("T078", "Idea or Concept"),)
        return [
            dataclasses.replace(c, semantic_types=types.get(c.cui, ())) for c in super().concepts(cuis, codes=codes)
        ]


def test_medcon_counts_concepts_of_its_semantic_groups_only() -> None:
    true = {"a": frozenset({VEINS, HEAD}), "b": frozenset({HEAD}), "c": frozenset({VEINS, VESSELS})}
    predicted = {"a": frozenset({VEINS}), "b": frozenset({HEAD}), "c": frozenset({VEINS, AORTA})}
    found = score_captions(
        captions(true),
        captions(true),
        Typed.of(EDGES, identifiers="cui"),
        measures=["concept-F1", "MEDCON"],
        concepts=sides(true, predicted),
    )
    assert found.values[:, 0].tolist() == pytest.approx([2 / 3, 1.0, 0.5])
    assert found.values[:, 1].tolist() == pytest.approx([1.0, 0.0, 2 / 3])  # b: no such concept on either side


def test_medcon_without_semantic_types_is_refused() -> None:
    true = {"a": frozenset({VEINS})}
    for graph, words in ((example_graph(), "semantic types"), (None, "a graph")):
        with pytest.raises(InputError, match=words):
            score_captions(captions(true), captions(true), graph, measures="MEDCON", concepts=sides(true, true))


def test_hops_beyond_five_are_searched_where_a_measure_asks_for_them() -> None:
    chain = [(f"C{number:07}", f"C{number + 1:07}") for number in range(1, 9)]
    far = SnapshotGraph.of(chain)
    true, predicted = {"a": frozenset({"C0000001"})}, {"a": frozenset({"C0000008"})}
    found = score_captions(
        captions(true), captions(true), far, measures=["nn-concept-F1(n=7, λ=1)", "nn-concept-F1(n=6)"],
        concepts=sides(true, predicted), nearness=Nearness(unknown="isolated"),
    )  # fmt: skip
    assert found.values.tolist() == [[1.0, 0.0]]
