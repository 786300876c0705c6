"""The numbers of a study, against `evaluate` called by hand and against plain loops."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cuihop.collection.dataset import Dataset
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.collection.labels import Labels
from cuihop.errors import InputError
from cuihop.evaluation.evaluate import evaluate
from cuihop.measures.nearness import Nearness
from cuihop.relevance.baselines import random_ranking, top_k
from cuihop.resources.progress import Progress
from cuihop.resources.resources import Resources
from cuihop.study.ablation import HOPS, LAMBDAS, ablation
from cuihop.study.checkpoint import StudyCheckpoint
from cuihop.study.cost import costs
from cuihop.study.cross_evaluation import RANDOM, SHUFFLED, CrossEvaluation, cross_evaluation, shuffled
from cuihop.study.inputs import LongRow, StudyInputs
from cuihop.study.tables import ablation_tables, gain_table, precision_table
from example_graph import EDGES, UNKNOWN, example_graph

CONCEPTS = sorted({concept for edge in EDGES for concept in edge} | {UNKNOWN})
IMAGES = 90


def quiet(what: str) -> Progress:
    return lambda done, total: None


def random_images() -> tuple[ImageConcepts, Labels]:
    """More images than the deepest K, so that rankings leave some out; some without concepts or labels."""
    draw = np.random.default_rng(7)
    names = [f"image {place:02}" for place in range(IMAGES)]
    sets = {name: frozenset(draw.choice(CONCEPTS, draw.integers(0, 5), replace=False).tolist()) for name in names}
    modality = {name: str(draw.choice(["CT", "MRI", ""], p=[0.5, 0.4, 0.1])) for name in names}
    organ = {name: str(draw.choice(["head", "chest", ""])) for name in names}
    modality[names[0]] = "PET"  # the only one: nothing is relevant to it
    return ImageConcepts(sets), Labels({"modality": modality, "organ": organ}, "made")


@pytest.fixture(scope="module")
def inputs() -> StudyInputs:
    images, labels = random_images()
    return StudyInputs(
        images, example_graph(), labels, seed=3, nearness=Nearness(unknown="isolated"), resources=Resources(threads=1)
    )


def crossed(inputs: StudyInputs) -> CrossEvaluation:
    return cross_evaluation(inputs, quiet, StudyCheckpoint(None, inputs))


def ablation_of(inputs: StudyInputs) -> list[LongRow]:
    return list(ablation(inputs, quiet, StudyCheckpoint(None, inputs)))


@pytest.fixture(scope="module")
def cross(inputs: StudyInputs) -> CrossEvaluation:
    return crossed(inputs)


@pytest.fixture(scope="module")
def tables(cross: CrossEvaluation, inputs: StudyInputs) -> dict[tuple[str, str], LongRow]:
    return {(number.ranking, number.measure): number for number in cross.long_rows(inputs)}


@pytest.fixture(scope="module")
def ablated(inputs: StudyInputs) -> list[LongRow]:
    return ablation_of(inputs)


def literal_precision(rows: list[str], query: str, labels: tuple[str, ...], inputs: StudyInputs) -> float | None:
    """P@30 by the definition; nothing where the query lacks one of the labels."""
    assert inputs.labels is not None

    def values(image: str) -> tuple[str, ...]:
        assert inputs.labels is not None
        return tuple(inputs.labels.columns[label][image] for label in labels)

    mine = values(query)
    if not all(mine):
        return None
    return sum(values(image) == mine for image in rows[:30]) / 30


def test_every_ranking_meets_every_measure(tables: dict[tuple[str, str], LongRow]) -> None:
    rankings, measures = {ranking for ranking, _ in tables}, {measure for _, measure in tables}
    assert rankings == {"IoU", "nn-IoU", "BM", "TF-IDF", SHUFFLED, RANDOM}
    assert measures == {
        f"{family}@{k}{by}"
        for k in (5, 10, 30)
        for family, by in (
            ("CUI", ""), ("nn-CUI", ""), ("P", "(modality)"), ("P", "(organ)"), ("P", "(modality, organ)")
        )
    }  # fmt: skip
    assert len(tables) == len(rankings) * len(measures)


@pytest.mark.parametrize("measure", ["CUI@10", "nn-CUI@30", "P@5(modality)", "P@30(modality, organ)"])
def test_cells_are_what_evaluate_gives_by_hand(
    inputs: StudyInputs, tables: dict[tuple[str, str], LongRow], measure: str
) -> None:
    by_hand = {
        "IoU": top_k(inputs.images, inputs.graph, 30, by="iou", nearness=Nearness(unknown="isolated")),
        "nn-IoU": top_k(inputs.images, inputs.graph, 30, nearness=Nearness(unknown="isolated")),
        RANDOM: random_ranking(inputs.images, 30, seed=3),
    }
    for name, ranking in by_hand.items():
        evaluation = evaluate(
            Dataset(dict(inputs.images), labels=inputs.labels),
            dict(ranking),
            inputs.graph,
            measures=measure,
            nearness=Nearness(unknown="isolated"),
        )
        cell = tables[name, measure]
        assert cell.value == evaluation.means[measure]
        assert cell.queries == int((~np.isnan(evaluation.values)).sum())


def test_precision_is_that_of_the_definition(inputs: StudyInputs, tables: dict[tuple[str, str], LongRow]) -> None:
    ranking = top_k(inputs.images, inputs.graph, 30, by="bm", nearness=Nearness(unknown="isolated"))
    for labels in (("modality",), ("organ",), ("modality", "organ")):
        found = [literal_precision(list(ranking[q]), q, labels, inputs) for q in inputs.images]
        scored = [value for value in found if value is not None]
        cell = tables["BM", f"P@30({', '.join(labels)})"]
        assert cell.value == pytest.approx(sum(scored) / len(scored))
        assert cell.queries == len(scored)
        assert len(scored) < IMAGES


def test_the_ablation_is_that_of_the_definition(inputs: StudyInputs, ablated: list[LongRow]) -> None:
    tops = {
        (n, lam): dict(top_k(inputs.images, inputs.graph, 30, nearness=Nearness(n=n, lam=lam, unknown="isolated")))
        for n, lam in itertools.product(HOPS, LAMBDAS)
    }
    iou, nn_iou = tops[0, 0.0], tops[1, 0.5]
    other_images = [q for q in inputs.images if set(iou[q]) != set(nn_iou[q])]
    assert 0 < len(other_images) < IMAGES
    for labels in inputs.label_sets:
        other_precision = [
            q
            for q in inputs.images
            if literal_precision(list(iou[q]), q, labels, inputs)
            != literal_precision(list(nn_iou[q]), q, labels, inputs)
        ]
        assert 0 < len(other_precision) < len(other_images)
        for subset, queries in (("other images", other_images), ("other precision", other_precision)):
            for n, lam in itertools.product(HOPS, LAMBDAS):
                found = [literal_precision(list(tops[n, lam][q]), q, labels, inputs) for q in queries]
                scored = [value for value in found if value is not None]
                measure = f"P@30({', '.join(labels)})"
                (number,) = [x for x in ablated if (x.subset, x.measure, x.n, x.lam) == (subset, measure, n, lam)]
                assert number.value == pytest.approx(math.fsum(scored) / len(scored))
                assert number.queries == len(scored)


def test_without_neighbours_or_weight_the_ablation_is_iou_to_the_last_bit(ablated: list[LongRow]) -> None:
    cells: dict[tuple[str, str], set[float | None]] = {}
    for number in ablated:
        if number.n == 0 or number.lam == 0.0:
            cells.setdefault((number.subset, number.measure), set()).add(number.value)
    assert len(cells) == 6
    assert all(len(values) == 1 for values in cells.values())
    assert len({number.value for number in ablated}) > len(cells)  # elsewhere it is not


def test_skip_instead_of_zero_leaves_out_queries_for_which_nothing_is_relevant(
    inputs: StudyInputs, ablated: list[LongRow]
) -> None:
    skipping = ablation_of(replace(inputs, empty_ideal="skip"))
    lonely = 0
    for zero, skip in zip(ablated, skipping, strict=True):
        assert (zero.nothing_relevant, zero.unjudged) == (skip.nothing_relevant, skip.unjudged)
        assert zero.queries - (zero.nothing_relevant or 0) == skip.queries
        assert zero.value is not None
        assert skip.value is not None
        assert zero.value * zero.queries == pytest.approx(skip.value * skip.queries)
        lonely += zero.nothing_relevant or 0
    assert lonely > 0


def test_the_ablation_needs_labels(inputs: StudyInputs) -> None:
    with pytest.raises(InputError, match="the ablation needs labels"):
        ablation_of(replace(inputs, labels=None))


def test_shuffling_deals_the_same_sets_to_other_images_whatever_the_order_of_the_file(inputs: StudyInputs) -> None:
    dealt = shuffled(inputs.images, 3)
    assert sorted(map(sorted, dealt.values())) == sorted(map(sorted, inputs.images.values()))
    assert list(dealt) == list(inputs.images)
    assert dict(dealt) != dict(inputs.images)
    turned = ImageConcepts({name: inputs.images[name] for name in reversed(list(inputs.images))})
    assert dict(shuffled(turned, 3)) == dict(dealt) != dict(shuffled(inputs.images, 4))


def test_chance_and_shuffled_sets_are_far_below_the_relevance_itself(tables: dict[tuple[str, str], LongRow]) -> None:
    for name in (SHUFFLED, RANDOM):
        low, best = tables[name, "nn-CUI@10"].value, tables["nn-IoU", "nn-CUI@10"]
        assert low is not None
        assert best.value == pytest.approx(1 - (best.nothing_relevant or 0) / best.queries)
        assert low < 0.6


def test_plain_python_agrees_with_the_compiled_measures(inputs: StudyInputs) -> None:
    found = costs(inputs, 8, quiet)
    assert [(cost.measure, cost.queries) for cost in found] == [
        ("CUI@30", IMAGES), ("nn-CUI@30", IMAGES), ("CUI@30", 8), ("nn-CUI@30", 8), ("nn-CUI@30", 8)
    ]  # fmt: skip
    assert all(cost.seconds > 0 for cost in found)
    assert all(cost.difference < 1e-12 for cost in found)


def test_fewer_images_than_ranks_are_no_trouble() -> None:
    images = ImageConcepts({"a": frozenset({CONCEPTS[0]}), "b": frozenset({CONCEPTS[1]}), "c": frozenset()})
    labels = Labels({"modality": dict.fromkeys(images, "CT"), "organ": dict.fromkeys(images, "")})
    inputs = StudyInputs(images, example_graph(), labels, resources=Resources(threads=1))
    evaluations = crossed(inputs).evaluations
    assert evaluations["IoU"].means["P@30(modality)"] == pytest.approx(2 / 30)
    assert evaluations["IoU"].means["P@30(organ)"] is None
    numbers = ablation_of(inputs)
    assert {number.value for number in numbers if "organ" in number.measure} == {None}
    texts = [precision_table(evaluations, inputs).markdown(), *(t.latex() for t in ablation_tables(numbers, inputs))]
    assert all("nan" not in text for text in texts)


def test_latex_tables_have_as_many_cells_in_each_row_as_columns(
    inputs: StudyInputs, ablated: list[LongRow], tmp_path: Path
) -> None:
    np.save(tmp_path / "e.npy", np.random.default_rng(0).random((IMAGES, 4)))
    named = replace(inputs, embeddings={"my_model & 50%": tmp_path / "e.npy"})
    evaluations = crossed(named).evaluations
    for table in (
        precision_table(evaluations, named),
        gain_table(evaluations, named),
        *ablation_tables(ablated, inputs),
    ):
        text = table.latex()
        assert text.count(r"\begin{") == text.count(r"\end{") == 2
        assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")
        assert all(rule in text for rule in (r"\toprule", r"\midrule", r"\bottomrule"))
        assert "_" not in text.replace(r"\_", "").replace(rf"\label{{tab:{table.name}}}", "")
        rows = [line for line in text.splitlines() if line.endswith(r"\\")]
        body = rows[1:]
        assert len(body) == len(table.rows) + 1
        assert {line.replace(r"\&", "").count("&") for line in body} == {len(table.columns) - 1}
        spans = sum(int(part.split("}")[0]) for part in rows[0].split(r"\multicolumn{")[1:])
        assert spans == len(table.columns) - 1
    assert r"my\_model \& 50\%" in precision_table(evaluations, named).latex()
