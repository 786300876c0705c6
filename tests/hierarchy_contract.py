"""Contract of the hierarchy of every `ConceptGraph`: a part of `concept_graph_contract.ConceptGraphContract`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuihop import ConceptGraph, SnapshotGraph
from cuihop.errors import ConceptNotFound, ConceptRetired, InputError, InvalidCui
from cuihop.similarity.options import DISTANCES, SIMILARITY_MEASURES, InformationContent, SimilarityOptions
from example_graph import EDGES, ISOLATED, UNKNOWN, asserted_graph, example_graph
from examples import examples
from literal_similarity import LiteralHierarchy

CONTENTS: tuple[InformationContent, ...] = ("Sanchez", "Seco")
CONCEPTS = sorted({cui for edge in EDGES for cui in edge} | {ISOLATED})
PAIRS = [(a, b) for a in CONCEPTS for b in CONCEPTS]
SETS = [(CONCEPTS[i : i + 3], CONCEPTS[i + 2 : i + 6]) for i in range(10)]
COUNTS = {"C0042449": 3.0, "C0003483": 2.0, "C9000001": 1.0}

EDGE = st.tuples(st.sampled_from(CONCEPTS[:7]), st.sampled_from(CONCEPTS[:7])).filter(lambda edge: edge[0] != edge[1])


@cache
def literal_example() -> LiteralHierarchy:
    """The example graph's hierarchy, made once for all adapters: its values take longer than theirs."""
    edges = [(child, parent) for child, parent in EDGES if child != parent]
    return LiteralHierarchy(CONCEPTS, edges, {"C0042449": 1.0})


def assert_as_defined(graph: ConceptGraph, literal: LiteralHierarchy, pairs: list[tuple[str, str]]) -> None:
    for ic in CONTENTS:
        for measure in SIMILARITY_MEASURES:
            found = graph.hierarchy.similarities(pairs, SimilarityOptions(measure, ic))
            expected = [literal.value(a, b, measure, ic) for a, b in pairs]
            assert [value is None for value in found] == [value is None for value in expected]
            assert [v or 0.0 for v in found] == pytest.approx([v or 0.0 for v in expected], rel=1e-12, abs=1e-12)


class HierarchyContract:
    """Its fixtures ``adapt`` and ``example`` are those of `ConceptGraphContract`."""

    own_counts = True
    """True where the caller's counts make the information content of a corpus; False where a service has its own."""

    def test_similarity_is_as_defined(self, example: ConceptGraph) -> None:
        assert_as_defined(example, literal_example(), PAIRS[::5])

    def test_similarity_on_random_graphs_is_as_defined(self, adapt: Callable[[SnapshotGraph], ConceptGraph]) -> None:
        @settings(max_examples=examples(4))
        @given(st.lists(EDGE, max_size=12))
        def check(edges: list[tuple[str, str]]) -> None:
            concepts = CONCEPTS[:7]
            with adapt(SnapshotGraph.of(edges, concepts=concepts, identifiers="cui")) as graph:
                pairs = [(a, b) for a in concepts for b in concepts]
                assert_as_defined(graph, LiteralHierarchy(concepts, edges, {concepts[0]: 1.0}), pairs)

        check()

    def test_places_and_pairs_are_those_of_the_snapshot(self, example: ConceptGraph) -> None:
        hierarchy, snapshot = example.hierarchy, example_graph().hierarchy
        assert hierarchy.facts() == snapshot.facts()
        assert (hierarchy.facts().cycles, hierarchy.facts().roots) == (1, 5)
        for ic in CONTENTS:
            assert hierarchy.placements(CONCEPTS, ic=ic) == snapshot.placements(CONCEPTS, ic=ic)
            assert hierarchy.pairs(PAIRS, ic=ic) == snapshot.pairs(PAIRS, ic=ic)
        assert hierarchy.pair("C0042449", "C9000001").lowest[0].cui is None
        assert (hierarchy.placements([]), hierarchy.pairs([]), list(hierarchy.similarities([]))) == ([], [], [])

    def test_a_long_batch_is_answered_as_one(self, example: ConceptGraph) -> None:
        pairs = [*PAIRS * 32, ("C9000901", "C0005847")]
        found = example.hierarchy.similarities(pairs)
        assert list(found) == list(example_graph().hierarchy.similarities(pairs))
        assert (len(found), found.merged) == (len(PAIRS) * 32 + 1, {"C9000901": "C0042449"})

    def test_sets_are_those_of_the_snapshot(self, example: ConceptGraph) -> None:
        sets = [*SETS, ([], ["C0042449"]), ([], [])]
        for measure in SIMILARITY_MEASURES:
            options = SimilarityOptions(measure)
            found = example.hierarchy.set_similarities(sets, options)
            assert list(found) == list(example_graph().hierarchy.set_similarities(sets, options))
            assert (found[-2], found[-1]) == (None if measure in DISTANCES else 0.0, None)

    def test_a_retired_identifier_is_its_successor(self, example: ConceptGraph) -> None:
        pair = example.hierarchy.pair("C9000901", "C0003483")
        assert (pair.a.cui, pair.merged) == ("C0042449", {"C9000901": "C0042449"})
        found = example.hierarchy.set_similarities([(["C9000901"], ["C0003483"])])
        assert found.merged == {"C9000901": "C0042449"}

    def test_similarity_names_every_identifier_at_fault(self, example: ConceptGraph) -> None:
        hierarchy = example.hierarchy
        wrong: list[tuple[list[str], type[Exception]]] = [
            ([UNKNOWN, "C9999998"], ConceptNotFound), (["C9000902", "C9000903"], ConceptRetired),
            (["no identifier", "neither"], InvalidCui),
        ]  # fmt: skip
        for cuis, error in wrong:
            pairs = [("C0042449", cui) for cui in cuis]
            for call in (
                lambda pairs=pairs: hierarchy.similarities(pairs),
                lambda pairs=pairs: hierarchy.pairs(pairs),
                lambda cuis=cuis: hierarchy.placements(cuis),
                lambda cuis=cuis: hierarchy.set_similarities([(cuis, ["C0042449"])]),
            ):
                with pytest.raises(error) as raised:
                    call()
                assert set(getattr(raised.value, "cuis", ())) == set(cuis)

    def test_information_content_of_a_corpus(self, example: ConceptGraph) -> None:
        hierarchy = example.hierarchy
        with pytest.raises(InputError, match="counts"):
            hierarchy.similarity("C0042449", "C0003483", SimilarityOptions("Lin", "corpus"))
        options = SimilarityOptions("Lin", "corpus", COUNTS)
        if not self.own_counts:
            with pytest.raises(InputError, match=r"counts are not sent to a service.*Open a snapshot"):
                hierarchy.similarity("C0042449", "C0003483", options)
            return
        found = hierarchy.similarities([("C0042449", "C0003483"), ("C0042449", "C0018670")], options)
        assert found[0] == example_graph().hierarchy.similarity("C0042449", "C0003483", options)
        assert found[1] is None  # neither head nor what is below it occurs
        (place,) = hierarchy.placements(["C0018670"], ic="corpus", counts=COUNTS)
        assert place.ic is None

    def test_within_a_vocabulary_the_hierarchy_is_that_of_its_edges(
        self, adapt: Callable[[SnapshotGraph], ConceptGraph]
    ) -> None:
        pairs = [("C0000001", "C0000003"), ("C0000001", "C0000002")]
        with adapt(asserted_graph()) as graph:
            within, expected = graph.within(["MSH"]).hierarchy, asserted_graph().within(["MSH"]).hierarchy
            assert within.facts() == expected.facts() != graph.hierarchy.facts()
            assert within.placements(["C0000003"]) == expected.placements(["C0000003"])
            assert within.pairs(pairs) == expected.pairs(pairs)
            assert list(within.similarities(pairs)) == list(expected.similarities(pairs))
            assert list(graph.hierarchy.similarities(pairs)) == list(asserted_graph().hierarchy.similarities(pairs))
