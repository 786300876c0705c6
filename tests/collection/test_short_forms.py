"""Output of a notebook or a prompt for large inputs and results: one line each."""

from __future__ import annotations

from cuihop import Judgements, Labels, ScoreCard, SnapshotGraph, compare, evaluate, explain_query
from cuihop.collection.dataset import Dataset
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.rankings.ranking import Ranking

NAMES = [f"image-{place:05d}" for place in range(2_000)]
CONCEPTS = {name: f"C{place % 7:07d}" for place, name in enumerate(NAMES)}


def test_inputs_and_results_are_printed_in_one_short_line() -> None:
    graph = SnapshotGraph.of([(f"C{place:07d}", f"C{place + 1:07d}") for place in range(7)])
    ranking = Ranking.of(dict.fromkeys(NAMES, NAMES[:5]), NAMES)
    qrels = Judgements.of({name: {NAMES[0]: 1} for name in NAMES})
    labels = Labels({"organ": dict.fromkeys(NAMES, "lung")})
    images = ImageConcepts.of(CONCEPTS)
    found = evaluate(Dataset(images, qrels=qrels, labels=labels), ranking, graph, measures="nn-CUI@5")
    cards = {name: ScoreCard.of(found, name) for name in ("one", "other")}
    results = [
        images, ranking, qrels, labels, Dataset(images, qrels=qrels, labels=labels), found, cards["one"],
        compare(cards, resamples=10), explain_query(images, NAMES[1], graph),
        graph, graph.neighbours(["C0000003"], hops=None)[0], graph.pack(sorted(set(CONCEPTS.values())), hops=2),
        graph.distances([("C0000001", "C0000003")] * 1_000),
    ]  # fmt: skip
    for result in results:
        assert len(repr(result)) <= 250, repr(result)[:300]
        assert "\n" not in repr(result)
    assert repr(results[-1]) == "Distances([2, 2, 2, 2, 2, 2, 2, 2, 2, 2, … 990 more])"
    assert repr(images) == "<ImageConcepts memory: 2,000 images, 2,000 concepts, 0 malformed>"
