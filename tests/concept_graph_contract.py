"""Contract of every `ConceptGraph`, as a class of tests that each adapter's test module subclasses.

An adapter says how it serves the content of a snapshot; everything else is the same for all. Oracles are NetworkX,
distances published by others, and graphs that can be checked by eye.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import opaque_identifiers
from cuihop import ConceptGraph, Direction, SnapshotGraph
from cuihop.annotation.mentions import Annotation
from cuihop.annotation.options import CONTEXTS, DISAMBIGUATIONS, AnnotationOptions
from cuihop.errors import ConceptNotFound, ConceptRetired, InputError, InvalidCui
from cuihop.graph import DIRECTIONS, Definition, ShortestPaths
from example_graph import ISOLATED, NAMES, UNKNOWN, asserted_graph, example_graph, sourced_edges_graph
from examples import examples
from hierarchy_contract import HierarchyContract
from neo4j_server import typed_graph
from opaque_identifiers import IDENTIFIERS, opaque_graph
from real_graphs import edges_of_rrf_open, isa_edges, parent_child_edges, published_distances, semantic_network

Adapt = Callable[[SnapshotGraph], ConceptGraph]


def oracle(edges: Iterable[tuple[str, str]], direction: Direction, nodes: Iterable[str] = ()) -> nx.DiGraph[str]:
    """The graph whose forward edges are the hops of that direction, any, up or down."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(nodes)
    if direction in {"any", "up"}:
        graph.add_edges_from(edges)
    if direction in {"any", "down"}:
        graph.add_edges_from((parent, child) for child, parent in edges)
    return graph


def distances_by_networkx(
    edges: Sequence[tuple[str, str]], nodes: Sequence[str], direction: Direction
) -> dict[str, dict[str, int]]:
    if direction == "vertical":
        up, down = (distances_by_networkx(edges, nodes, way) for way in ("up", "down"))
        return {
            source: {end: min(up[source].get(end, hops), hops) for end, hops in (up[source] | down[source]).items()}
            for source in up
        }
    graph = oracle(edges, direction, nodes)
    return {source: dict(lengths) for source, lengths in nx.all_pairs_shortest_path_length(graph)}


Edges = tuple[tuple[str, str], ...]

distances_of_small_graphs = lru_cache(4_000)(distances_by_networkx)
"""Every adapter gets the same random graphs; their distances take longer than an adapter's answers."""


@lru_cache(20_000)
def all_paths_by_networkx(
    edges: Edges, nodes: tuple[str, ...], direction: Direction, a: str, b: str
) -> list[list[str]]:
    return sorted(nx.all_shortest_paths(oracle(edges, direction, nodes), a, b))


@cache
def distances_of_the_nci_sample(
    read: Callable[[str], frozenset[tuple[str, str]]],
) -> tuple[list[tuple[str, str]], dict[Direction, list[int | None]]]:
    """Random pairs, and the distances of each direction."""
    edges = sorted(read("rrf/nci_sample_level0"))
    nodes = sorted({cui for edge in edges for cui in edge})
    rng = random.Random(2)
    pairs = [(rng.choice(nodes), rng.choice(nodes)) for _ in range(1500)]
    expected: dict[Direction, list[int | None]] = {}
    for direction in DIRECTIONS:
        lengths = distances_by_networkx(edges, nodes, direction)
        expected[direction] = [lengths[a].get(b) for a, b in pairs]
    return pairs, expected


@cache
def distances_of_air() -> tuple[list[tuple[str, str]], list[int | None], tuple[int, str, str]]:
    """Random pairs, their undirected distances, and the largest distance of all with its pair."""
    edges = parent_child_edges("rrf/air")
    nodes = sorted({cui for edge in edges for cui in edge})
    undirected = distances_by_networkx(sorted(edges), nodes, "any")
    rng = random.Random(1)
    pairs = [(rng.choice(nodes), rng.choice(nodes)) for _ in range(2000)]
    farthest = max((d, a, b) for a, row in undirected.items() for b, d in row.items())
    return pairs, [undirected[a].get(b) for a, b in pairs], farthest


@st.composite
def small_graphs(draw: st.DrawFn) -> tuple[list[str], list[tuple[str, str]]]:
    """Up to 14 concepts with any edges at all: cycles, self-loops, several components, concepts without an edge."""
    count = draw(st.integers(1, 14))
    nodes = [
        f"C{i:07d}" for i in draw(st.lists(st.integers(0, 9_999_999), min_size=count, max_size=count, unique=True))
    ]
    node = st.sampled_from(nodes)
    least = draw(st.sampled_from([2 * count, count, 0]))
    return nodes, draw(st.lists(st.tuples(node, node), min_size=least, max_size=3 * count))


TEXTS = [
    "Lesion of the brain stem near the AORTA; veins spared.",
    "",
    "  \n",
    "nothing of the kind",
    "\N{MATHEMATICAL DOUBLE-STRUCK CAPITAL A} brain \N{BRAIN}\N{ZERO WIDTH JOINER}\N{BRAIN} head, "
    "Me\N{COMBINING ACUTE ACCENT}nie\N{COMBINING GRAVE ACCENT}re's brain-like thing\N{VARIATION SELECTOR-16} caput",
    "half a character \ud83e, then arteries",
    "No brain, no blood vessels; possible vein. Mother: head.",
]
"""Texts with mentions of `example_graph`, also behind characters that other programs count as two."""


@st.composite
def texts_of_names(draw: st.DrawFn) -> str:
    """Words of names in any order, among characters of any kind."""
    words = sorted({word for names in NAMES.values() for name in names for word in (*name.split(), name)})
    part = st.one_of(
        st.sampled_from(words), st.text(max_size=3), st.sampled_from(["\U0001d538", "e\u0301", "no", "\n"])
    )
    return draw(st.sampled_from(["", " ", ", "])).join(draw(st.lists(part, max_size=12)))


def annotated(
    graph: ConceptGraph, texts: list[str], options: AnnotationOptions | None = None
) -> list[Annotation] | tuple[type[InputError], str]:
    """The annotations, or the error's type and message."""
    try:
        return list(graph.annotate_many(texts, options))
    except InputError as error:
        return type(error), str(error)


class ConceptGraphContract(HierarchyContract):
    """Subclass it, and give the fixture `adapt`."""

    @pytest.fixture(scope="class")
    @classmethod
    def adapt(cls) -> Adapt:
        """The adapter for the content of a snapshot."""
        raise NotImplementedError

    @pytest.fixture(scope="class")
    @classmethod
    def example(cls, adapt: Adapt) -> Iterator[ConceptGraph]:
        with adapt(example_graph()) as graph:
            yield graph

    # Identifiers of any form

    def test_identifiers_of_any_form_stay_as_they_are(self, adapt: Adapt) -> None:
        with adapt(opaque_graph()) as graph:
            assert graph.release.identifiers == "any"
            for n, cui in enumerate(IDENTIFIERS):
                assert graph.distance(cui, IDENTIFIERS[0]) == n
                assert cui in graph
                assert [hit.cui for hit in graph.search(f"name {n}")][:1] == [cui]
                if any(map(str.isalnum, cui)):  # a search needs a letter or a digit
                    assert graph.search(cui)[0].cui == cui
            assert [found.cui for found in graph.concepts(IDENTIFIERS)] == list(IDENTIFIERS)
            assert graph.names(IDENTIFIERS) == [opaque_identifiers.NAMES[cui][0] for cui in IDENTIFIERS]
            path = graph.path(IDENTIFIERS[-1], IDENTIFIERS[0])
            assert path is not None
            assert [path.start, *[step.cui for step in path.steps]] == list(reversed(IDENTIFIERS))
            middle = IDENTIFIERS[5]
            near = [neighbour.cui for neighbour in graph.neighbours([middle], hops=2)[0].neighbours]
            assert sorted(near) == sorted([*IDENTIFIERS[3:5], *IDENTIFIERS[6:8]])
            pack = graph.pack(IDENTIFIERS, hops=1)
            assert pack.cuis == IDENTIFIERS
            assert len(pack.indices) == 3 * len(IDENTIFIERS) - 2
            (old, _, new), *_ = opaque_identifiers.RETIRED
            assert graph.distances([(old, IDENTIFIERS[0])]).merged == {old: new}
            for text in ("", "a b", "a;b", "a|b", "é", "x" * 129):
                with pytest.raises(InvalidCui, match="printable ASCII characters"):
                    graph.distance(text, IDENTIFIERS[0])
            with pytest.raises(ConceptNotFound, match=r"a/b\?c#d%42"):
                graph.distance("a/b?c#d%42", IDENTIFIERS[0])

    # Release

    def test_release_is_the_one_that_was_loaded(self, example: ConceptGraph) -> None:
        assert example.release == example_graph().release
        assert (example.release.concepts, example.release.edges) == (17, 14)

    def test_it_has_a_length_members_and_names(self, example: ConceptGraph) -> None:
        assert len(example) == 17
        assert example
        assert ("C0006121" in example, "C9999999" in example, "no CUI" in example, 6121 in example) == (
            True,
            *[False] * 3,
        )
        assert example.name("C0006121") == "Brain stem"

    def test_one_text_is_not_a_list_of_identifiers(self, example: ConceptGraph) -> None:
        for method in (example.resolve, example.neighbours, example.concepts, example.names):
            with pytest.raises(
                InputError, match=r"^parameter cuis: one text, .*found 'C0006121'; expected \['C0006121'\]"
            ):
                method("C0006121")
        with pytest.raises(InputError, match=r"^parameter cuis: one text"):
            example.pack("C0006121", hops=1)

    @pytest.mark.parametrize("pairs", [["C0006121", "C0018670"], [("C0006121",)], [None], 7])
    def test_what_are_no_pairs_is_refused(self, example: ConceptGraph, pairs: Any) -> None:
        with pytest.raises(InputError, match=r"^parameter pairs: not a pair of identifiers; found .*expected"):
            example.distances(pairs)

    # Distances that anyone can check

    def test_distances_of_the_paper(self, example: ConceptGraph) -> None:
        assert example.distance("C0042449", "C0005847") == 1
        assert example.distance("C0006121", "C0018670") == 3

    @pytest.mark.parametrize("direction", DIRECTIONS)
    @pytest.mark.parametrize("cui", ["C0006121", ISOLATED, "C9000001", "C9000005"])
    def test_a_concept_is_no_hop_from_itself(self, example: ConceptGraph, cui: str, direction: Direction) -> None:
        assert example.distance(cui, cui, direction=direction) == 0
        assert example.distance(cui, cui, direction=direction, max_hops=0) == 0

    @pytest.mark.parametrize(
        ("a", "b", "expected"),
        [
            ("C0003483", "C0007226", [3, 3, None, 3]),
            ("C0007226", "C0003483", [3, None, 3, 3]),
            ("C0042449", "C0003483", [3, None, None, None]),
            ("C9000001", "C9000002", [1, 1, 1, 1]),
            ("C9000005", "C9000001", [2, 2, None, 2]),
            ("C9000011", "C9000014", [2, 2, None, 2]),
            ("C0006121", "C0003483", [None, None, None, None]),
            ("C0006121", ISOLATED, [None, None, None, None]),
        ],
    )
    def test_directions(self, example: ConceptGraph, a: str, b: str, expected: list[int | None]) -> None:
        assert DIRECTIONS == ("any", "up", "down", "vertical")
        assert [example.distance(a, b, direction=direction) for direction in DIRECTIONS] == expected

    def test_vertical_hops_are_bounded_symmetric_and_know_successors(self, example: ConceptGraph) -> None:
        pairs = [("C0003483", "C0007226"), ("C0007226", "C0003483"), ("C9000901", "C0007226")]
        for bound, expected in [(3, [3, 3, 2]), (2, [None, None, 2]), (1, [None] * 3)]:
            answer = example.distances(pairs, direction="vertical", max_hops=bound)
            assert answer == expected
            assert (answer.direction, answer.max_hops, answer.merged) == (
                "vertical", bound, {"C9000901": "C0042449"},
            )  # fmt: skip
        with pytest.raises(ConceptNotFound, match=UNKNOWN):
            example.distance(UNKNOWN, "C0007226", direction="vertical")

    def test_the_bound_is_inclusive(self, example: ConceptGraph) -> None:
        found = [example.distance("C0003483", "C0007226", max_hops=hops) for hops in range(6)]
        assert found == [None, None, None, 3, 3, 3]

    def test_a_batch_keeps_order_and_repeats(self, example: ConceptGraph) -> None:
        pairs = [("C0006121", "C0018670"), ("C0006121", "C0003483"), ("C0006121", "C0018670"), (ISOLATED, ISOLATED)]
        answer = example.distances(pairs)
        assert answer == [3, None, 3, 0]
        assert (answer.direction, answer.max_hops, len(answer), answer[-1], answer[1:3]) == (
            "any",
            None,
            4,
            0,
            [None, 3],
        )

    def test_an_empty_batch_has_an_empty_answer(self, example: ConceptGraph) -> None:
        assert list(example.distances([])) == []
        assert example.neighbours([]) == []
        assert example.resolve([]) == []

    # Unknown, retired, invalid and unreachable are four answers

    def test_unknown_concepts_are_not_found_and_all_named(self, example: ConceptGraph) -> None:
        with pytest.raises(ConceptNotFound) as caught:
            example.distances([("C0006121", UNKNOWN), ("C9999997", "C0018670"), (UNKNOWN, UNKNOWN)])
        assert caught.value.cuis == (UNKNOWN, "C9999997")
        assert UNKNOWN in str(caught.value)

    def test_an_unknown_concept_is_not_near_itself(self, example: ConceptGraph) -> None:
        with pytest.raises(ConceptNotFound):
            example.distance(UNKNOWN, UNKNOWN)

    @pytest.mark.parametrize(
        "text",
        [
            "",
            " ",
            "c0006121",
            "C000612",
            "C00061211",
            "C0006121 ",
            "brain",
            "C0006121\n",
            "C0006121\0",
            "Ç0006121",
            "C" * 5000,
            "' OR 1=1",
        ],
    )
    def test_text_that_is_no_identifier_is_invalid(self, example: ConceptGraph, text: str) -> None:
        with pytest.raises(InvalidCui):
            example.distance("C0006121", text)
        assert example.resolve([text])[0].status == "invalid"

    def test_a_merged_concept_is_taken_for_its_successor_and_the_answer_says_so(self, example: ConceptGraph) -> None:
        answer = example.distances([("C9000901", "C0005847"), ("C9000904", "C0042449")])
        assert answer == [1, 1]
        assert answer.merged == {"C9000901": "C0042449", "C9000904": "C0005847"}
        path = example.path("C9000901", "C0005847")
        assert path is not None
        assert (path.cuis, path.merged) == (("C0042449", "C0005847"), {"C9000901": "C0042449"})
        hood = example.neighbours(["C9000901"])[0]
        assert (hood.cui, hood.merged) == ("C0042449", {"C9000901": "C0042449"})
        assert example.names(["C9000901"]) == ["Veins"]

    @pytest.mark.parametrize("cui", ["C9000902", "C9000903"])
    def test_a_retired_concept_without_a_successor_is_retired(self, example: ConceptGraph, cui: str) -> None:
        with pytest.raises(ConceptRetired, match=cui):
            example.distance("C0006121", cui)

    @pytest.mark.parametrize("cui", ["C9000906", "C9000907"])
    def test_a_concept_merged_into_one_that_the_graph_lacks_is_not_found(self, example: ConceptGraph, cui: str) -> None:
        with pytest.raises(ConceptNotFound, match=f"{cui} .merged into"):
            example.distance("C0006121", cui)

    def test_resolutions(self, example: ConceptGraph) -> None:
        requested = ["C0006121", "C9000901", "C9000902", "C9000903", "C9000906", UNKNOWN, "x"]
        answers = example.resolve(requested)
        assert [r.requested for r in answers] == requested
        assert [r.status for r in answers] == [
            "current", "merged", "retired", "retired", "unknown", "unknown", "invalid",
        ]  # fmt: skip
        assert [r.cui for r in answers] == ["C0006121", "C0042449", None, None, None, None, None]
        assert answers[3].candidates == (("RB", "C0005847"),)
        assert answers[4].candidates == (("SY", "C9999998"),)

    # Paths

    def test_a_path_tells_each_hop(self, example: ConceptGraph) -> None:
        path = example.path("C0006121", "C0018670")
        assert path is not None
        assert path.cuis == ("C0006121", "C0006104", "C0926510", "C0018670")
        assert [step.relation for step in path.steps] == ["parent", "parent", "child"]
        assert (path.hops, path.direction) == (3, "any")

    def test_of_several_paths_the_first_by_identifier(self, example: ConceptGraph) -> None:
        for a, b in [("C9000011", "C9000014"), ("C9000014", "C9000011")]:
            path = example.path(a, b)
            assert path is not None
            assert path.cuis == (a, "C9000012", b)
            assert (path.which, path.total) == (1, 2)
            second = example.path(a, b, which=2)
            assert second is not None
            assert (second.cuis, second.which, second.total) == ((a, "C9000013", b), 2, 2)

    def test_a_rank_beyond_the_number_of_paths_is_an_error(self, example: ConceptGraph) -> None:
        for a, b, total in [("C9000011", "C9000014", 2), ("C9000011", "C9000011", 1)]:
            with pytest.raises(InputError, match=f"which.*found 3; expected 1 to {total}"):
                example.path(a, b, which=3)
        assert example.path("C0006121", "C0003483", which=3) is None

    @pytest.mark.parametrize("which", [0, -1, 1.5, True, "1", 10**15 + 1])
    def test_a_rank_that_is_none(self, example: ConceptGraph, which: int) -> None:
        with pytest.raises(InputError, match="which"):
            example.path("C0006121", "C0018670", which=which)

    def test_a_cycle_of_two_is_told_as_parent_unless_only_down_is_allowed(self, example: ConceptGraph) -> None:
        found = [example.path("C9000001", "C9000002", direction=direction) for direction in DIRECTIONS]
        assert [path.steps[0].relation for path in found if path is not None] == ["parent", "parent", "child", "parent"]

    def test_no_path(self, example: ConceptGraph) -> None:
        assert example.path("C0006121", "C0003483") is None
        assert example.path("C0006121", "C0018670", max_hops=2) is None
        assert example.path("C0006121", "C0018670", direction="up") is None

    def test_the_path_to_itself_has_no_hop(self, example: ConceptGraph) -> None:
        path = example.path(ISOLATED, ISOLATED, max_hops=0)
        assert path is not None
        assert (path.cuis, path.hops) == ((ISOLATED,), 0)

    # Neighbourhoods

    def test_neighbours_are_nearest_first_then_by_identifier(self, example: ConceptGraph) -> None:
        hood = example.neighbours(["C0005847"], hops=2)[0]
        assert [(n.cui, n.hops) for n in hood] == [
            ("C0003842", 1), ("C0007226", 1), ("C0042449", 1), ("C0003483", 2),
        ]  # fmt: skip
        assert (hood.total, hood.truncated, hood.hops, hood.direction) == (4, False, 2, "any")

    def test_a_limit_cuts_the_list_and_the_total_tells(self, example: ConceptGraph) -> None:
        for limit in range(6):
            hood = example.neighbours(["C0005847"], hops=2, limit=limit)[0]
            assert [n.cui for n in hood] == ["C0003842", "C0007226", "C0042449", "C0003483"][:limit]
            assert (hood.total, hood.truncated) == (4, limit < 4)

    def test_within_no_hop_there_is_nobody(self, example: ConceptGraph) -> None:
        assert list(example.neighbours(["C0005847"], hops=0)[0]) == []
        assert list(example.neighbours([ISOLATED], hops=None)[0]) == []

    def test_ancestors_and_descendants(self, example: ConceptGraph) -> None:
        assert [(n.cui, n.hops) for n in example.ancestors("C0003483")] == [
            ("C0003842", 1), ("C0005847", 2), ("C0007226", 3),
        ]  # fmt: skip
        assert [(n.cui, n.hops) for n in example.descendants("C0007226", hops=2)] == [
            ("C0005847", 1), ("C0003842", 2), ("C0042449", 2),
        ]  # fmt: skip
        assert [(n.cui, n.hops) for n in example.ancestors("C9000001")] == [("C9000002", 1)]

    def test_common_ancestors_are_nearest_first_and_a_concept_counts_as_its_own(self, example: ConceptGraph) -> None:
        found = [(c.cui, c.hops_a, c.hops_b) for c in example.common_ancestors("C0042449", "C0003483")]
        assert found == [("C0005847", 1, 2), ("C0007226", 2, 3)]
        assert example.common_ancestors("C0003483", "C0005847")[0].cui == "C0005847"
        assert example.common_ancestors("C0003483", "C0006121") == []

    # Packs

    def test_a_pack_holds_every_distance_within_the_bound(self, example: ConceptGraph) -> None:
        cuis = ["C0042449", "C0003483", ISOLATED, "C0005847", "C0006121"]
        for direction in DIRECTIONS:
            for hops in range(4):
                pack = example.pack(cuis, hops=hops, direction=direction)
                held = {
                    (cuis[row], cuis[column]): int(distance)
                    for row in range(len(cuis))
                    for column, distance in zip(
                        pack.indices[pack.indptr[row] : pack.indptr[row + 1]],
                        pack.hops[pack.indptr[row] : pack.indptr[row + 1]],
                        strict=True,
                    )
                }
                expected = {
                    (a, b): d
                    for a in cuis
                    for b in cuis
                    if (d := example.distance(a, b, direction=direction, max_hops=hops)) is not None
                }
                assert held == expected
                assert (pack.bound, pack.direction, pack.digest) == (hops, direction, example.release.digest)
                rows = [pack.indices[pack.indptr[r] : pack.indptr[r + 1]].tolist() for r in range(len(cuis))]
                assert all(row == sorted(row) for row in rows)

    def test_a_pack_takes_each_concept_once(self, example: ConceptGraph) -> None:
        with pytest.raises(InputError, match="twice"):
            example.pack(["C0042449", "C0005847", "C9000901"], hops=1)
        assert example.pack([], hops=1).indptr.tolist() == [0]

    # Names

    def test_names_and_concepts(self, example: ConceptGraph) -> None:
        assert example.names(["C0006121", "C0926510"]) == ["Brain stem", None]
        concept = example.concepts(["C0005847"])[0]
        assert (concept.name, concept.synonyms) == ("Blood vessels", ("Vessel, blood",))
        assert (concept.parents, concept.children) == (1, 2)

    def test_definitions_are_told_with_their_vocabularies(self, adapt: Adapt) -> None:
        with adapt(typed_graph()) as graph:
            first, second, third = graph.concepts(["C0000001", "C0000002", "C0000003"])
        assert first.definitions == (
            Definition("MSH", 'The "first" of Ménière, 1861.'),
            Definition("NCI", "The first."),
        )
        assert (second.definitions, third.definitions) == ((), (Definition("MSH", "The third."),))
        assert first.semantic_types == (("T047", "Disease or Syndrome"),)

    def test_search_ranks_whole_names_before_beginnings_before_words(self, example: ConceptGraph) -> None:
        assert [hit.cui for hit in example.search("brain")] == ["C0006104", "C0006121", "C9000011"]
        assert [hit.cui for hit in example.search("BRAIN-STEM")] == ["C0006121"]
        assert [hit.matched for hit in example.search("blood vessel")] == ["Blood vessels"]
        assert [hit.cui for hit in example.search("meniere")] == ["C9000011"]
        assert [(hit.cui, hit.name, hit.matched) for hit in example.search("caput")] == [("C0018670", "Head", "Caput")]
        assert example.search("spleen") == []

    @pytest.mark.parametrize(
        ("text", "cui", "kind"),
        [
            ("brain", "C0006104", "exact"), ("stem brain", "C0006121", "form"), ("vessel", "C0005847", "words"),
            ("bra th", "C9000011", "prefix"), ("the head", "C0018670", "form"), ("aortas", "C0003483", "form"),
            ("blood of the vessels", "C0005847", "form"), ("brainstems", "C0006121", "form"),
            ("encephalno", "C0006104", "spelling"), ("artreies", "C0003842", "spelling"),
            ("aorta xyzzy", "C0003483", "part"), ("c0006121", "C0006121", "identifier"),
        ],
    )  # fmt: skip
    def test_a_hit_says_how_its_name_matches(self, example: ConceptGraph, text: str, cui: str, kind: str) -> None:
        best = example.search(text, limit=1)[0]
        assert (best.cui, best.kind) == (cui, kind)

    def test_a_concept_tells_the_vocabularies_of_its_edges(self, adapt: Adapt) -> None:
        with adapt(asserted_graph()) as graph:
            found = graph.concepts(["C0000001", "C0000002", "C0000003", "C0000004"])
        msh, others = ("MSH",), ("NCI", "SNOMEDCT_US")
        assert [concept.sabs for concept in found] == [msh, (*msh, *others), others, ()]

    def test_search_finds_identifiers_retired_ones_too(self, example: ConceptGraph) -> None:
        assert [hit.cui for hit in example.search("C0006121")] == ["C0006121"]
        assert [hit.matched for hit in example.search("c0006121")] == ["C0006121"]
        assert [(hit.cui, hit.matched) for hit in example.search("C9000901")] == [("C0042449", "C9000901")]

    def test_search_finds_identifiers_in_lower_case_among_other_ones(self, adapt: Adapt) -> None:
        mixed = SnapshotGraph.of([("C0000002", "HP:0000118")], names={"HP:0000118": ["root"]}, name="mixed")
        with adapt(mixed) as graph:
            hits = [*graph.search("c0000002"), *graph.search(" hp:0000118 "), *graph.search("HP:0000118")]
        assert [(hit.cui, hit.matched, hit.kind) for hit in hits] == [
            ("C0000002", "C0000002", "identifier"), *[("HP:0000118", "HP:0000118", "identifier")] * 2
        ]  # fmt: skip

    def test_search_keeps_its_limit(self, example: ConceptGraph) -> None:
        assert len(example.search("b", limit=2)) == 2
        assert len({hit.cui for hit in example.search("b", limit=100)}) == 4

    # Annotation of texts: the snapshot itself is tested elsewhere, against an oracle

    def test_mentions_are_parts_of_the_text_that_names_match(self, example: ConceptGraph) -> None:
        found = example.annotate_many(TEXTS)
        assert [annotation.text for annotation in found] == TEXTS
        assert found[0].cuis == ("C0003483", "C0006121", "C0042449")
        assert [len(annotation) for annotation in found[1:4]] == [0, 0, 0]
        for annotation in found:
            assert [mention.start for mention in annotation] == sorted(mention.start for mention in annotation)
            for mention in annotation:
                assert annotation.text[mention.start : mention.end] == mention.text
                assert mention.matched in NAMES[mention.cui]
                assert mention.name == NAMES[mention.cui][0]

    def test_characters_are_counted_as_code_points(self, example: ConceptGraph) -> None:
        found = example.annotate(TEXTS[4])
        assert [mention.text for mention in found][:2] == ["brain", "head"]
        assert (found[0].start, found[0].end) == (2, 7)
        assert found[-1].text == "caput"
        assert found[-1].end == len(TEXTS[4])
        assert example.annotate(TEXTS[5])[-1].text == "arteries"

    def test_no_text_and_an_empty_one_have_no_mentions(self, example: ConceptGraph) -> None:
        assert list(example.annotate_many([])) == []
        assert example.annotate_many([]).concept_lists() == []
        assert example.annotate("") == Annotation("", ())

    @pytest.mark.parametrize(
        "options",
        [
            AnnotationOptions(),
            AnnotationOptions(longest=False),
            AnnotationOptions(candidates=True),
            AnnotationOptions(disambiguate="context", candidates=True),
            AnnotationOptions(leave_out=tuple(CONTEXTS)),
            AnnotationOptions(stop=("C0006121", "veins", "not there")),
            AnnotationOptions(general=True, correct_spelling=True),
            AnnotationOptions(semantic_types=("no such type",)),
            AnnotationOptions(sabs=("NO_SUCH_VOCABULARY",)),
        ],
        ids=repr,
    )
    def test_options_mean_the_same_to_every_graph(self, example: ConceptGraph, options: AnnotationOptions) -> None:
        for texts in (TEXTS, []):
            assert annotated(example, texts, options) == annotated(example_graph(), texts, options)

    def test_an_ambiguous_mention_has_its_candidates_on_request(self, adapt: Adapt) -> None:
        names = {"C0000001": "cold", "C0000002": "cold", "C0000003": "hot"}
        edges = [("C0000001", "C0000003"), ("C0000002", "C0000004")]
        snapshot = SnapshotGraph.of(edges, names=names, identifiers="cui")
        with adapt(snapshot) as graph:
            for way in DISAMBIGUATIONS:
                options = AnnotationOptions(candidates=True, disambiguate=way)
                found = graph.annotate("hot and cold", options)
                assert found == snapshot.annotate("hot and cold", options)
                assert [term.cui for term in found[1].candidates] == ["C0000001", "C0000002"]

    def test_stopped_concepts_and_names_do_not_match(self, example: ConceptGraph) -> None:
        found = example.annotate(TEXTS[0], AnnotationOptions(stop=("C0006121", "veins")))
        assert found.cuis == ("C0003483", "C0006104")  # the brain, of the brain stem

    def test_semantic_types_and_groups_are_selected_or_unknown(self, adapt: Adapt) -> None:
        text, snapshot = "One and two, not uno.", typed_graph()
        with adapt(snapshot) as graph:
            for types in ((), ("T047",), ("disease or syndrome", "T023"), ("DISO",), ("MEDCON",), ("T999",), ("x",)):
                options = AnnotationOptions(semantic_types=types, general=True)
                assert annotated(graph, [text], options) == annotated(snapshot, [text], options)
            found = graph.annotate(text, AnnotationOptions(semantic_types=("T047",), general=True))
            assert found.cuis == ("C0000001",)
            with pytest.raises(InputError, match=r"^parameter semantic_types: .*'?T999'?"):
                graph.annotate(text, AnnotationOptions(semantic_types=("T999",)))

    @pytest.mark.parametrize("texts", ["my name is Brain", [None], ["brain", 7], [b"brain"]])
    def test_what_are_no_texts_is_refused_and_not_repeated(self, example: ConceptGraph, texts: Any) -> None:
        with pytest.raises(InputError, match=r"^parameter texts") as caught:
            example.annotate_many(texts)
        assert "rain" not in str(caught.value)

    def test_a_release_without_names_annotates_no_text(self, adapt: Adapt) -> None:
        with adapt(SnapshotGraph.of([("C0000001", "C0000002")], identifiers="cui", name="bare")) as graph:
            with pytest.raises(InputError, match=r"the graph has no names; found bare; expected a release"):
                graph.annotate("brain")
            with pytest.raises(InputError, match="has no names"):
                graph.annotate_many([])

    @pytest.mark.slow
    def test_any_texts_are_annotated_as_by_the_snapshot(self, example: ConceptGraph) -> None:
        offline = example_graph()

        @settings(max_examples=examples(self.random_graphs))
        @given(st.lists(texts_of_names(), max_size=5), st.booleans(), st.booleans())
        def check(texts: list[str], longest: bool, candidates: bool) -> None:
            options = AnnotationOptions(longest=longest, candidates=candidates)
            assert list(example.annotate_many(texts, options)) == list(offline.annotate_many(texts, options))

        check()

    # Arguments that are no arguments

    @pytest.mark.parametrize("hops", [-1, 1.5, True, "1"])
    def test_hops_that_are_no_number_of_hops(self, example: ConceptGraph, hops: int) -> None:
        for call in (
            lambda: example.distance("C0006121", "C0018670", max_hops=hops),
            lambda: example.path("C0006121", "C0018670", max_hops=hops),
            lambda: example.neighbours(["C0006121"], hops=hops),
            lambda: example.neighbours(["C0006121"], limit=hops),
            lambda: example.pack(["C0006121"], hops=hops),
        ):
            with pytest.raises(InputError, match=r"hops|limit"):
                call()

    def test_a_direction_that_is_none(self, example: ConceptGraph) -> None:
        sideways: Direction = "sideways"  # type: ignore[assignment]
        with pytest.raises(InputError, match="any or up or down or vertical"):
            example.distance("C0006121", "C0018670", direction=sideways)

    @pytest.mark.parametrize("text", ["", "  ", "!?", "…"])
    def test_a_search_needs_a_letter_or_a_digit(self, example: ConceptGraph, text: str) -> None:
        with pytest.raises(InputError, match="nothing to search for"):
            example.search(text)

    # Any graph at all, against NetworkX

    random_graphs = 150

    def test_random_graphs_against_networkx(self, adapt: Adapt) -> None:
        @settings(
            max_examples=examples(self.random_graphs),
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        )
        @given(small_graphs(), st.integers(0, 5))
        def check(drawn: tuple[list[str], list[tuple[str, str]]], bound: int) -> None:
            nodes, edges = drawn
            with adapt(SnapshotGraph.of(edges, concepts=nodes, identifiers="cui")) as graph:
                for direction in DIRECTIONS:
                    check_against_networkx(graph, nodes, edges, direction, bound)

        check()

    # Within vocabularies

    def test_a_restricted_graph_has_all_concepts_and_some_edges(self, adapt: Adapt) -> None:
        one, two, three, alone = (f"C000000{i}" for i in range(1, 5))
        with adapt(asserted_graph()) as whole:
            graph = whole.within(["NCI", "MSH", "NCI"]).within(["NCI"])
            assert graph.release == whole.within(["NCI"]).release
            assert (graph.release.name, graph.release.sabs) == ("asserted within NCI", ("NCI",))
            assert (graph.release.concepts, graph.release.edges) == (4, 1)
            assert graph.release.digest == SnapshotGraph.of(
                [(three, two)], concepts=[one, alone], identifiers="cui"
            ).release.digest  # fmt: skip
            assert graph.distances([(one, two), (three, two), (one, one), (one, three)]) == [None, 1, 0, None]
            path = graph.path(two, three)
            assert path is not None
            assert [(step.cui, step.relation, step.sabs) for step in path.steps] == [(three, "child", ("NCI",))]
            assert [resolution.status for resolution in graph.resolve([one, alone, UNKNOWN])] == [
                "current", "current", "unknown",
            ]  # fmt: skip
            records = [(c.parents, c.children, c.sabs) for c in graph.concepts([one, two, three])]
            assert records == [(0, 0, ()), (0, 1, ("NCI",)), (1, 0, ("NCI",))]
            with pytest.raises(ConceptNotFound, match=UNKNOWN):
                graph.distance(one, UNKNOWN)
            assert whole.distances([(one, two), (one, three)]) == [1, 2]

    def test_names_of_a_restricted_graph_are_those_of_the_whole(self, adapt: Adapt) -> None:
        with adapt(typed_graph()) as whole:
            graph = whole.within(["NCI"])
            assert graph.names(["C0000001", "C0000003"]) == whole.names(["C0000001", "C0000003"])
            assert graph.search("uno") == whole.search("uno")
            assert list(graph.annotate_many(["One and two."])) == list(whole.annotate_many(["One and two."]))

    def test_vocabularies_that_the_release_lacks(self, adapt: Adapt) -> None:
        with adapt(asserted_graph()) as graph:
            with pytest.raises(InputError, match=r"within_sabs: .*found 'snomedct'; expected some of MSH, NCI, SNO"):
                graph.within(["MSH", "snomedct"])
            with pytest.raises(InputError, match=r"Did you mean SNOMEDCT_US\?"):
                graph.within(["snomedct"])
            for none in ([], [f"SAB{i}" for i in range(17)]):
                with pytest.raises(InputError, match=f"found {len(none)} vocabularies; expected 1 to 16"):
                    graph.within(none)
            with pytest.raises(InputError, match="one text, not a list"):
                graph.within("MSH")
        bare = SnapshotGraph.of([("C0000001", "C0000002")], identifiers="cui", name="bare")
        not_recorded = "the vocabularies of the edges are not recorded; found release bare"
        with adapt(bare) as graph, pytest.raises(InputError, match=not_recorded):
            graph.within(["MSH"])

    def test_random_restrictions_against_networkx(self, adapt: Adapt) -> None:
        @settings(
            max_examples=examples(self.random_graphs // 5),
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        )
        @given(small_graphs(), st.data(), st.integers(0, 5))
        def check(drawn: tuple[list[str], list[tuple[str, str]]], data: st.DataObject, bound: int) -> None:
            nodes, edges = drawn
            vocabularies = st.sets(st.sampled_from("ABC"), min_size=1)
            asserted = {pair: data.draw(vocabularies) for pair in sorted(set(edges))}
            with adapt(sourced_edges_graph(asserted, concepts=nodes)) as whole:
                if not (held := whole.release.sabs):
                    return
                wanted = data.draw(st.sets(st.sampled_from(held), min_size=1))
                graph = whole.within(sorted(wanted))
                remaining = [pair for pair, sabs in asserted.items() if sabs & wanted]
                pairs = [(a, b) for a in nodes for b in nodes]
                for direction in DIRECTIONS:
                    check_against_networkx(graph, nodes, remaining, direction, bound)
                    merged = whole.distances(pairs, direction=direction)
                    for in_all, in_some in zip(merged, graph.distances(pairs, direction=direction), strict=True):
                        assert in_some is None or (in_all is not None and in_all <= in_some)

        check()

    # Real graphs

    def test_air_upward_and_undirected(self, adapt: Adapt) -> None:
        edges = parent_child_edges("rrf/air")
        with adapt(SnapshotGraph.of(edges, relations=["par-chd"], identifiers="cui")) as graph:
            assert (graph.release.concepts, graph.release.edges) == (623, 1176)
            pairs, undirected, farthest = distances_of_air()
            assert graph.distances(pairs) == undirected
            assert farthest[0] == 6
            assert graph.distance(farthest[1], farthest[2]) == 6
            assert graph.distance(farthest[1], farthest[2], max_hops=5) is None

    @pytest.mark.parametrize("read", [isa_edges, parent_child_edges])
    def test_nci_sample_with_its_cycles(self, adapt: Adapt, read: Callable[[str], frozenset[tuple[str, str]]]) -> None:
        pairs, expected = distances_of_the_nci_sample(read)
        with adapt(SnapshotGraph.of(read("rrf/nci_sample_level0"))) as graph:
            for direction in DIRECTIONS:
                assert graph.distances(pairs, direction=direction) == expected[direction]

    every_published = 1
    """Step through the published distances: all, unless each takes a query of a database."""

    def test_published_distances(self, adapt: Adapt) -> None:
        published = published_distances()[:: self.every_published]
        pairs = [(a, b) for a, b, _, _ in published]
        with adapt(edges_of_rrf_open()) as graph:
            assert (graph.release.concepts, graph.release.edges) == (26_693, 64_583)
            assert graph.distances(pairs) == [undirected for _, _, undirected, _ in published]
            assert graph.distances(pairs, direction="up") == [up for _, _, _, up in published]
            assert graph.distances([(b, a) for a, b in pairs], direction="down") == [up for _, _, _, up in published]
            for bound in (0, 1, 2, 3, 5):
                bounded = [d if d is not None and d <= bound else None for _, _, d, _ in published]
                assert graph.distances(pairs, max_hops=bound) == bounded

    def test_closure_of_the_semantic_network(self, adapt: Adapt) -> None:
        direct, closure = semantic_network()
        assert (len(direct), len(closure)) == (125, 464)
        types = sorted({code for edge in direct for code in edge})
        with adapt(SnapshotGraph.of(direct, concepts=types)) as graph:
            found = {(code, above.cui) for code in types for above in graph.ancestors(code)}
        assert found == closure

    @pytest.mark.slow
    def test_many_threads_get_the_same_answers(self, adapt: Adapt) -> None:
        published = published_distances()
        parts = [published[i::16] for i in range(16)] * 4
        with adapt(edges_of_rrf_open()) as graph:

            def ask(part: Sequence[tuple[str, str, int | None, int | None]]) -> int:
                wrong = 0
                for a, b, undirected, up in part[: self.pairs_a_thread]:
                    wrong += graph.distance(a, b) != undirected
                    wrong += graph.distance(a, b, direction="up") != up
                    path = graph.path(a, b)
                    wrong += (None if path is None else path.hops) != undirected
                return wrong

            with ThreadPoolExecutor(16) as pool:
                assert list(pool.map(ask, parts)) == [0] * len(parts)

    pairs_a_thread = 15


def check_all_paths(
    paths: ShortestPaths | None, ranked: list[list[str]], edges: list[tuple[str, str]], direction: Direction
) -> None:
    """The graph of all shortest paths has the concepts and the hops of these, and no others."""
    assert paths is not None
    assert (paths.hops, paths.total, paths.truncated) == (len(ranked[0]) - 1, len(ranked), False)
    layers = {(hops, cui) for each in ranked for hops, cui in enumerate(each)}
    assert [(concept.hops, concept.cui) for concept in paths.concepts] == sorted(layers)
    assert {(edge.child, edge.parent) for edge in paths.edges} <= set(edges)
    hops = {frozenset(hop) for each in ranked for hop in pairwise(each)}
    assert sorted(map(sorted, hops)) == sorted(sorted((edge.child, edge.parent)) for edge in paths.edges)
    assert paths.direction == direction


def check_against_networkx(
    graph: ConceptGraph, nodes: list[str], edges: list[tuple[str, str]], direction: Direction, bound: int
) -> None:
    """Everything a graph answers about distances, for all pairs of a small graph."""
    drawn = tuple(edges), tuple(nodes)
    expected = distances_of_small_graphs(*drawn, direction)
    pairs = [(a, b) for a in nodes for b in nodes]
    true = [expected[a].get(b) for a, b in pairs]
    assert graph.distances(pairs, direction=direction) == true
    bounded = [d if d is not None and d <= bound else None for d in true]
    assert graph.distances(pairs, direction=direction, max_hops=bound) == bounded
    hoods = graph.neighbours(nodes, hops=bound, direction=direction)
    for node, hood in zip(nodes, hoods, strict=True):
        within = sorted((d, cui) for cui, d in expected[node].items() if 0 < d <= bound)
        assert [(n.hops, n.cui) for n in hood] == within
        assert hood.total == len(within)
    pack = graph.pack(nodes, hops=bound, direction=direction)
    for row, node in enumerate(nodes):
        part = slice(int(pack.indptr[row]), int(pack.indptr[row + 1]))
        held = {nodes[c]: int(d) for c, d in zip(pack.indices[part], pack.hops[part], strict=True)}
        assert held == {cui: d for cui, d in expected[node].items() if d <= bound}
    upwards = distances_of_small_graphs(*drawn, "up")
    for number, (a, b) in enumerate(pairs[:: max(1, len(pairs) // 12)]):
        path = graph.path(a, b, direction=direction)
        if expected[a].get(b) is None:
            assert path is None
            assert graph.paths(a, b, direction=direction) is None
            continue
        assert path is not None
        assert path.direction == direction
        searched = direction
        if direction == "vertical":
            searched = "up" if upwards[a].get(b) == expected[a][b] else "down"
        ranked = all_paths_by_networkx(*drawn, searched, a, b)
        assert (list(path.cuis), path.which, path.total) == (ranked[0], 1, len(ranked))
        if number % 3 == 0:
            check_all_paths(graph.paths(a, b, direction=direction), ranked, edges, direction)
            some = graph.paths(a, b, direction=direction, limit=0)
            assert some is not None
            assert ([concept.cui for concept in some.concepts], some.total) == (ranked[0], len(ranked))
            assert some.truncated == ({cui for ways in ranked for cui in ways} > set(ranked[0]))
        for which in {2, (len(ranked) + 1) // 2, len(ranked)} & set(range(2, len(ranked) + 1)):
            other = graph.path(a, b, direction=direction, which=which)
            assert other is not None
            assert (list(other.cuis), other.which, other.total) == (ranked[which - 1], which, len(ranked))
        here = a
        for step in path.steps:
            edge = (here, step.cui) if step.relation == "parent" else (step.cui, here)
            assert edge in edges
            here = step.cui
    above = {node: upwards[node] for node in nodes[:2]}
    if len(above) == 2:
        a, b = above
        shared = sorted((above[a][c] + above[b][c], c) for c in above[a] if c in above[b])
        assert [(c.hops_a + c.hops_b, c.cui) for c in graph.common_ancestors(a, b)] == shared
