"""Scored annotations: every text as its own nn-F1, values by hand, and everything out of the ordinary counted."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import literal_algorithms
from collections_made import networkx_distance
from cuihop import Nearness, ScoreCard, SnapshotGraph, compare
from cuihop.annotated_texts.documents import AnnotatedDocument, GoldMention
from cuihop.annotated_texts.mention_identifiers import IdentifierMap
from cuihop.annotated_texts.score_tables import (
    NearMiss,
    false_positives_by_hops,
    near_misses,
    scores_of,
    type_scores,
)
from cuihop.annotated_texts.scoring import TextCollection, score_annotations
from cuihop.comparison.paired_tests import paired_bootstraps
from cuihop.errors import ConceptNotFound, InputError, InvalidCui, ManyUnknownConcepts
from cuihop.graph import DIRECTIONS, Direction
from cuihop.measures import nn_f1
from example_graph import EDGES, ISOLATED, UNKNOWN, example_graph
from examples import examples

VEINS, VESSELS, ARTERIES, AORTA, HEAD = "C0042449", "C0005847", "C0003842", "C0003483", "C0018670"
NODES = sorted({concept for edge in EDGES for concept in edge} | {ISOLATED})


@pytest.fixture(scope="module")
def graph() -> SnapshotGraph:
    return example_graph()


def text(name: str, *mentions: tuple[int, int, str], content: str | None = None) -> AnnotatedDocument:
    """A text; concepts of a mention are separated by blanks."""
    return AnnotatedDocument(name, content, tuple(GoldMention(a, b, None, tuple(c.split())) for a, b, c in mentions))


def concepts(name: str, listed: str) -> AnnotatedDocument:
    return AnnotatedDocument(name, None, tuple(GoldMention(-1, -1, None, (c,)) for c in listed.split()))


sets = st.frozensets(st.sampled_from([*NODES, UNKNOWN, "C9999998"]), max_size=5)


@settings(max_examples=examples(40))
@given(
    st.lists(st.tuples(sets, sets), min_size=1, max_size=6), st.integers(0, 7), st.sampled_from([0.0, 0.2, 0.5, 1.0]),
    st.sampled_from(DIRECTIONS),
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::cuihop.errors.ManyUnknownConcepts")
def test_each_text_has_its_own_nn_f1_to_the_last_bit(
    pairs: list[tuple[frozenset[str], frozenset[str]]], n: int, lam: float, direction: Direction
) -> None:
    graph = example_graph()
    gold, predicted = (
        [concepts(str(place), " ".join([HEAD, *sorted(pair[side])])) for place, pair in enumerate(pairs)]
        for side in (0, 1)
    )
    found = score_annotations(gold, predicted, graph, nearness=Nearness(n, lam, direction, "isolated"))
    distance = networkx_distance(NODES, EDGES, direction)
    for place, (true, guess) in enumerate(pairs):
        true, guess = true | {HEAD}, guess | {HEAD}
        assert found.values[place, 1] == nn_f1(true, guess, graph, n, lam, direction, unknown="isolated")
        assert found.values[place, 0] == nn_f1(true, guess, graph, 0, unknown="isolated")
        assert found.values[place, 1] == literal_algorithms.nn_f1(true, guess, distance, n, lam)[2]
    hops = {
        min((d for g in true | {HEAD} if (d := distance(g, p)) is not None), default=None): None
        for true, guess in pairs
        for p in guess - true - {HEAD}
    }
    times_by_hops = false_positives_by_hops(found)
    assert {int(name) for name, times in times_by_hops.items() if name.isdigit() and times} == {
        d for d in hops if d is not None and d <= max(n, 5)
    }
    assert sum(times_by_hops.values()) == sum(len(guess - true - {HEAD}) for true, guess in pairs)


def test_mentions_concepts_and_near_misses_by_hand(graph: SnapshotGraph) -> None:
    gold = [text("1", (0, 5, VEINS), (10, 20, HEAD)), text("2", (0, 4, ARTERIES), (8, 12, ARTERIES))]
    predicted = [text("1", (0, 5, VESSELS), (12, 20, HEAD)), text("2", (0, 4, ARTERIES), (8, 12, AORTA))]
    found = score_annotations(gold, predicted, graph)
    assert [str(measure) for measure in found.measures] == [
        "span-F1", "span-F1(match=overlap)", "document-F1", "nn-F1",
    ]  # fmt: skip
    assert [tuple(found.micro(measure)) for measure in found.measures] == [
        (4, 4, 1, 1, 0, 0), (4, 4, 2, 2, 0, 0), (3, 4, 2, 2, 0, 0), (3, 4, 2, 2, 1, 2),
    ]  # fmt: skip
    strict, _, _, near = scores_of(found, resamples=100)
    assert (strict.precision, strict.macro_f1) == (0.25, 0.25)
    assert (near.precision, near.recall) == (3 / 4, 2.5 / 3)
    assert near_misses(found, graph) == [
        NearMiss(AORTA, "Aorta", ARTERIES, "Arteries", 1, 1), NearMiss(VESSELS, "Blood vessels", VEINS, "Veins", 1, 1),
    ]  # fmt: skip
    assert false_positives_by_hops(found) == {
        "1": 2, "2": 0, "3": 0, "4": 0, "5": 0, "farther": 0, "not in the graph": 0,
    }  # fmt: skip


def test_the_same_annotations_score_1(graph: SnapshotGraph) -> None:
    texts = [text("1", (0, 5, VEINS)), text("2", (0, 4, f"{ARTERIES} {HEAD}")), text("3")]
    found = score_annotations(texts, texts, graph)
    assert (found.values == 1.0).all()
    assert (found.counts.empty, found.counts.composite, found.counts.true_mentions) == (1, 1, 3)


def test_intervals_are_those_of_resampled_texts(graph: SnapshotGraph) -> None:
    draw = np.random.default_rng(4)
    gold, predicted = ([concepts(str(i), " ".join(draw.choice(NODES, 3))) for i in range(40)] for _ in range(2))
    found = score_annotations(gold, predicted, graph)
    one, two = (scores_of(found, resamples=500, seed=7, threads=threads) for threads in (1, 2))
    assert one == two
    for score, interval in zip(one, paired_bootstraps(found.values, resamples=500, seed=7), strict=True):
        assert (score.macro_low, score.macro_high) == pytest.approx((interval.low, interval.high), abs=1e-12)
        assert score.low < score.f1 < score.high
    true, guessed = ([concepts(str(i), concept) for i in range(9)] for concept in (VEINS, VESSELS))
    alike = score_annotations(true, guessed, graph)
    assert [(s.low, s.high, s.macro_low, s.macro_high) for s in scores_of(alike, resamples=50)] == [
        (0.0,) * 4, (0.5,) * 4,
    ]  # fmt: skip


def test_without_places_only_concepts_are_scored_and_without_a_graph_no_near_ones() -> None:
    found = score_annotations([text("1", (0, 5, VEINS))], [concepts("1", VEINS)])
    assert [str(measure) for measure in found.measures] == ["document-F1"]
    assert "mentions without places: only the concepts of each text are scored" in found.account()


def test_texts_of_one_side_only_are_counted(graph: SnapshotGraph) -> None:
    found = score_annotations(
        [concepts("1", VEINS), concepts("2", HEAD)], [concepts("1", VEINS), concepts("9", HEAD)], graph
    )
    assert found.values.tolist() == [[1.0, 1.0], [0.0, 0.0]]
    assert (found.counts.without_predictions, found.counts.not_in_gold) == (1, 1)
    assert found.account()[-2:] == [
        "1 text without a prediction: nothing is found there",
        "1 text of the predictions not in the gold annotations: left out",
    ]


def test_what_cannot_be_compared_is_refused(graph: SnapshotGraph) -> None:
    with pytest.raises(InputError, match="no text is in both"):
        score_annotations([concepts("a", VEINS)], [concepts("b", VEINS)], graph)
    with pytest.raises(InputError, match="not the text of") as caught:
        score_annotations([text("a", (0, 2, HEAD), content="Hip")], [text("a", (0, 2, HEAD), content="Hop")], graph)
    assert caught.value.column == "text a"
    with pytest.raises(InputError, match="two texts of one identifier"):
        TextCollection.of([concepts("a", VEINS), concepts("a", HEAD)])
    with pytest.raises(InputError, match="no texts"):
        score_annotations([], [], graph)
    with pytest.raises(InvalidCui, match=r"^memory, text b: not an identifier: 'D003110'"):
        score_annotations([concepts("a", VEINS), concepts("b", "D003110")], [concepts("a", VEINS)], graph)
    with pytest.raises(ConceptNotFound):
        score_annotations([concepts("a", UNKNOWN)], [concepts("a", VEINS)], graph, nearness=Nearness())
    with pytest.raises(InputError, match="no concept of the texts is in the graph"):
        score_annotations([concepts("a", UNKNOWN)], [concepts("a", VEINS)], graph)


def test_identifiers_outside_the_graph_match_themselves_and_are_counted(graph: SnapshotGraph) -> None:
    gold, predicted = [concepts("1", f"{UNKNOWN} {VEINS} {HEAD}")], [concepts("1", f"{UNKNOWN} {VEINS}")]
    with pytest.warns(ManyUnknownConcepts, match="texts"):
        found = score_annotations(gold, predicted, graph)
    assert found.values[0, 1] == pytest.approx(0.8)
    assert (found.counts.unknown.identifiers, found.counts.unknown.occurrences) == ((UNKNOWN,), 2)
    assert false_positives_by_hops(found)["not in the graph"] == 0


MESH = IdentifierMap({"MESH:D1": (VEINS, ARTERIES), "D2": (HEAD,)})


def test_any_concept_of_a_mapped_identifier_is_right(graph: SnapshotGraph) -> None:
    gold = [text("1", (0, 5, "D1"), (9, 12, "MESH:D2"))]
    for guess, counts in ((VEINS, (2, 1, 1, 1, 0, 0)), (ARTERIES, (2, 1, 1, 1, 0, 0)), (AORTA, (2, 1, 0, 0, 1, 1))):
        found = score_annotations(gold, [text("1", (0, 5, guess))], graph, identifiers=MESH)
        assert tuple(found.micro(found.measures[-1])) == counts
    both = score_annotations(gold, [text("1", (0, 5, VEINS), (0, 5, ARTERIES))], graph, identifiers=MESH)
    assert tuple(both.micro(both.measures[0])) == (2, 2, 1, 1, 0, 0)  # one to one
    assert tuple(both.micro(both.measures[2])) == (2, 2, 1, 2, 0, 0)  # both are right


@settings(max_examples=examples(40))
@given(
    st.lists(st.tuples(st.sets(st.frozensets(st.sampled_from(NODES), min_size=1, max_size=3), max_size=3), sets),
             min_size=1, max_size=4),
    st.integers(0, 3), st.sampled_from(DIRECTIONS),
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::cuihop.errors.ManyUnknownConcepts")
def test_alternatives_follow_the_definition_word_by_word(
    pairs: list[tuple[set[frozenset[str]], frozenset[str]]], n: int, direction: Direction
) -> None:
    groups = {f"D{'-'.join(sorted(group))}": group for true, _ in pairs for group in true} | {"D0": frozenset([HEAD])}
    mapping = IdentifierMap({name: tuple(sorted(group)) for name, group in groups.items()})
    names = {group: name for name, group in groups.items()}
    gold = [concepts(str(i), " ".join([names[g] for g in true] + ["D0"])) for i, (true, _) in enumerate(pairs)]
    predicted = [concepts(str(i), " ".join([*guess, HEAD])) for i, (_, guess) in enumerate(pairs)]
    found = score_annotations(
        gold, predicted, example_graph(), nearness=Nearness(n, direction=direction, unknown="isolated"),
        identifiers=mapping,
    )  # fmt: skip
    distance = networkx_distance(NODES, EDGES, direction)

    def near(true: str, guess: str) -> bool:
        hops = distance(true, guess)
        return hops is not None and hops <= n

    for (true, guess), counts in zip(pairs, found.matches[found.measures[-1]].tolist(), strict=True):
        true, guess = true | {frozenset([HEAD])}, guess | {HEAD}
        missed = [group for group in true if not group & guess]
        wrong = [p for p in guess if not any(p in group for group in true)]
        assert tuple(counts) == (
            len(true), len(guess), len(true) - len(missed), len(guess) - len(wrong),
            sum(any(near(t, p) for t in group for p in guess) for group in missed),
            sum(any(near(t, p) for group in true for t in group) for p in wrong),
        )  # fmt: skip


@pytest.mark.parametrize(("leave_out", "recall"), [(False, 2 / 3), (True, 1.0)])
def test_identifiers_that_the_map_lacks_are_counted(graph: SnapshotGraph, leave_out: bool, recall: float) -> None:
    gold, predicted = [concepts("1", "D2 D777"), concepts("2", "D2")], [concepts("1", HEAD), concepts("2", HEAD)]
    found = score_annotations(gold, predicted, graph, identifiers=MESH, leave_out_unmapped=leave_out)
    assert found.micro(found.measures[0]).recall() == recall
    assert found.counts.unmapped.identifiers == ("D777",)
    assert (found.counts.true_identifiers, found.counts.true_occurrences) == (2, 3)
    treated = "left out" if leave_out else "nothing finds them"
    of_gold = "1 of 2 identifiers, 1 of 3 occurrences, of the gold annotations neither in the map nor in the graph"
    assert f"{of_gold}: {treated} (D777)" in found.account()


def test_a_prefix_makes_no_other_identifier(graph: SnapshotGraph) -> None:
    found = score_annotations([concepts("1", f"UMLS:{VEINS} {HEAD}")], [concepts("1", f"{VEINS} UMLS:{HEAD}")], graph)
    assert found.values.tolist() == [[1.0, 1.0]]
    assert found.counts.without_prefix.identifiers == (f"UMLS:{HEAD}", f"UMLS:{VEINS}")
    plain = score_annotations([concepts("1", "MESH:D003110 OMIM:1")], [concepts("1", "D003110 HP:1")])
    assert tuple(plain.micro(plain.measures[0]))[:4] == (2, 2, 1, 1)  # OMIM:1 is not HP:1


def test_semantic_types() -> None:
    types = {
        VEINS: (("T023", "Body Part"),),
        HEAD: (("T029", "Region"), ("T023", "Body Part")),
        AORTA: (("T1", "Other"),),
    }

    class Typed(SnapshotGraph):
        def concepts(self, cuis, *, codes=True):  # type: ignore[no-untyped-def]
            found = super().concepts(cuis, codes=codes)
            return [dataclasses.replace(c, semantic_types=types.get(c.cui, ())) for c in found]

    typed = Typed.of(EDGES, concepts=[ISOLATED], identifiers="cui")
    gold, predicted = [concepts("1", f"{VEINS} {HEAD}")], [concepts("1", f"{HEAD} {AORTA} {ISOLATED} {VESSELS}")]
    rows = type_scores(score_annotations(gold, predicted, typed), typed)
    assert [(row.tui, row.type, row.true, row.predicted, row.right) for row in rows] == [
        ("T023", "Body Part", 2, 1, 1), ("T029", "Region", 1, 1, 1),
        ("", "types of no true concept", 0, 1, 0), ("", "without a type", 0, 2, 0),
    ]  # fmt: skip


def test_score_cards_compare_predictions(graph: SnapshotGraph, tmp_path: Path) -> None:
    gold = [concepts(str(i), f"{VEINS} {HEAD}") for i in range(8)]
    cards = {}
    for name, guess in (("broad", VESSELS), ("right", VEINS)):
        found = score_annotations(gold, [concepts(str(i), guess) for i in range(8)], graph)
        ScoreCard.of(found, name).write(tmp_path / f"{name}.json")
        cards[name] = ScoreCard.read(tmp_path / f"{name}.json")
        found.to_csv(tmp_path / f"{name}.csv")
    differences = {d.measure: d.difference for d in compare(cards).differences}
    assert differences == pytest.approx(
        {"document-F1": 2 / 3, "nn-F1": 2 / 3 - nn_f1(f"{VEINS};{HEAD}", VESSELS, graph)}
    )
    assert (tmp_path / "broad.csv").read_text().splitlines()[:2] == [
        "query,true,predicted,found,right,near_true,near_predicted,document-F1,nn-F1",
        f"0,2,1,0,0,1,1,0.0,{nn_f1(f'{VEINS};{HEAD}', VESSELS, graph)}",
    ]
    other = score_annotations(gold[1:], [concepts("1", VEINS)], graph)
    with pytest.raises(InputError, match="do not match"):
        compare({"right": cards["right"], "other": ScoreCard.of(other, "other")})


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("identifier,CUI\nD1,C0042449\nD1,C0003842\nD2,c0018670\n", {"D1": (VEINS, ARTERIES), "D2": (HEAD,)}),
        ("D1,C0042449;C0003842\nD2,C0018670\n", {"D1": (VEINS, ARTERIES), "D2": (HEAD,)}),
        ('{"id": "D1", "cui": "C0042449;C0003842"}\n{"id": "D2", "cui": "C0018670"}\n',
         {"D1": (VEINS, ARTERIES), "D2": (HEAD,)}),
    ],
)  # fmt: skip
def test_maps_of_identifiers_are_read(tmp_path: Path, content: str, expected: dict[str, tuple[str, ...]]) -> None:
    (tmp_path / "map.csv").write_text(content)
    found = IdentifierMap.read(tmp_path / "map.csv")
    assert found.concepts == expected
    assert "2 identifiers, 3 concepts" in found.account


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        ("identifier,CUI\nD1,\n", 2, "the concept is missing"),
        ("identifier,CUI\nD1,C1\n,C2\n", 3, "the identifier is missing"),
        ("identifier,CUI\nD1,C1 C2\n", 2, "not an identifier"),
        ("identifier,CUI\n", None, "the file holds no identifier"),
        ("identifier\n", 1, "wrong number of columns"),
    ],
)
def test_maps_with_faults_name_the_line(tmp_path: Path, content: str, line: int | None, problem: str) -> None:
    (tmp_path / "map.csv").write_text(content)
    with pytest.raises(InputError, match=problem) as caught:
        IdentifierMap.read(tmp_path / "map.csv")
    assert caught.value.line == line
