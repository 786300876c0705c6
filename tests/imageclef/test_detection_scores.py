"""Averages, concepts, frequencies and near misses of detected concepts: scikit-learn and nn-F1 of pairs as oracles."""

from __future__ import annotations

import csv
import gzip
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuihop.annotated_texts import near_misses, type_scores
from cuihop.errors import ConceptNotFound, InputError, InvalidCui
from cuihop.evaluation.resampling import mean_interval
from cuihop.graph import Concept
from cuihop.graph_wrapper import GraphWithNames
from cuihop.imageclef.concept_detection import (
    NEAR,
    DetectionEvaluation,
    TrueConcepts,
    evaluate_detection,
)
from cuihop.imageclef.detection_scores import (
    Average,
    average_scores,
    average_table,
    concept_scores,
)
from cuihop.imageclef.training_frequency import TrainingFrequencies, frequency_scores, frequency_table
from cuihop.measures import Measure, measures_named, nn_f1
from cuihop.measures.f1 import MANUAL_CONCEPTS
from cuihop.measures.nearness import Nearness
from example_graph import EDGES, example_graph
from examples import examples
from program_run import Run
from shared_data import shared

CONCEPTS = ["C0040405", "C0024485", "C0000726", "C1111111", "C2222222", "C3333333"]
NODES = sorted({cui for edge in EDGES for cui in edge})
VEINS, VESSELS, ARTERIES, HEAD, STEM = "C0042449", "C0005847", "C0003842", "C0018670", "C0006121"
Rows = Sequence[tuple[frozenset[str], frozenset[str]]]

small = settings(max_examples=examples(60))


def rows_of(concepts: Sequence[str]) -> st.SearchStrategy[Rows]:
    sets = st.frozensets(st.sampled_from(concepts), max_size=4)
    return st.lists(st.tuples(sets, sets), min_size=1, max_size=6)


def written(path: Path, rows: Mapping[str, Sequence[str]] | Sequence[Sequence[str]]) -> Path:
    named = rows if isinstance(rows, Mapping) else {f"image{i}": concepts for i, concepts in enumerate(rows)}
    path.write_text("ID,CUIs\n" + "".join(f"{image},{';'.join(c)}\n" for image, c in named.items()))
    return path


def scored(folder: Path, rows: Rows, **options: Any) -> DetectionEvaluation:
    truth, predictions = (
        written(folder / f"{name}.csv", [sorted(row[side]) for row in rows])
        for side, name in enumerate(("truth", "predictions"))
    )
    return evaluate_detection(truth, predictions, **options)


def sklearn_averages(rows: Rows) -> dict[Average, list[float]]:
    """Precision, recall and F1 of each average; of images only those with a true concept."""
    from sklearn.metrics import precision_recall_fscore_support
    from sklearn.preprocessing import MultiLabelBinarizer

    used = sorted({cui for row in rows for side in row for cui in side})
    binarizer = MultiLabelBinarizer(classes=[*used, ""], sparse_output=True)  # one label more: one alone is binary

    def averaged(some: Rows, average: str) -> list[float]:
        sides = (binarizer.fit_transform([row[side] for row in some]) for side in (0, 1))
        labels = range(len(used))
        return list(precision_recall_fscore_support(*sides, labels=labels, average=average, zero_division=0)[:3])

    with_truth = [row for row in rows if row[0]]
    return {
        "images": averaged(with_truth, "samples") if with_truth else [],
        "micro": averaged(rows, "micro"),
        "concepts": averaged(rows, "macro"),
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found: Path = tmp_path_factory.mktemp("detection")
    return found


@small
@given(rows_of(CONCEPTS).filter(lambda rows: any(true | guess for true, guess in rows)))
def test_the_averages_are_those_of_scikit_learn(folder: Path, rows: Rows) -> None:
    found = {score.average: score for score in average_scores(scored(folder, rows), resamples=10)}
    for average, expected in sklearn_averages(rows).items():
        score = found[average]
        if expected and any(true or guess for true, guess in rows):
            assert [score.precision, score.recall, score.f1] == pytest.approx(expected, abs=1e-15)
        else:
            assert score.f1 is None


@small
@given(rows_of(CONCEPTS))
def test_the_scores_of_each_concept_are_those_of_scikit_learn(folder: Path, rows: Rows) -> None:
    from sklearn.metrics import precision_recall_fscore_support

    found = concept_scores(scored(folder, rows))
    assert {score.concept for score in found} == {cui for row in rows for side in row for cui in side}
    assert [score.true for score in found] == sorted((score.true for score in found), reverse=True)
    for score in found:
        sides = ([score.concept in row[side] for row in rows] for side in (0, 1))
        expected = precision_recall_fscore_support(*sides, average="binary", zero_division=0)[:3]
        assert [score.precision, score.recall, score.f1] == pytest.approx(list(expected), abs=1e-15)


@small
@given(rows_of(CONCEPTS), st.dictionaries(st.sampled_from(CONCEPTS), st.integers(0, 1_000_000)))
def test_frequencies_split_the_concepts_by_powers_of_ten(folder: Path, rows: Rows, training: dict[str, int]) -> None:
    from sklearn.metrics import precision_recall_fscore_support

    found = scored(folder, rows)
    concepts = {cui for row in rows for side in row for cui in side}
    if concepts and training and concepts.isdisjoint(training):
        with pytest.raises(InputError, match="no concept of the images is among those of the training images"):
            frequency_scores(found, training)
        return
    scores = frequency_scores(found, training)
    assert [(score.low, score.high) for score in scores[:4]] == [(0, 0), (1, 9), (10, 99), (100, 999)][: len(scores)]
    for score in scores:
        some = [cui for cui in found.matches[Measure("F1")].concepts if score.low <= training.get(cui, 0) <= score.high]
        assert score.concepts == len(some)
        if not some:
            assert score.f1 is None
            continue
        sides = ([[*(cui in row[side] for cui in some), False] for row in rows] for side in (0, 1))
        expected = precision_recall_fscore_support(*map(np.array, sides), average="micro", zero_division=0)[:3]
        assert [score.precision, score.recall, score.f1] == pytest.approx(list(expected), abs=1e-15)
    assert sum(score.true for score in scores) == found.counts.true


@small
@given(rows_of([*NODES, "C9999999"]).filter(lambda rows: any(set(true) & set(NODES) for true, _ in rows)),
       st.integers(0, 3), st.sampled_from([0.0, 0.3, 1.0]))  # fmt: skip
@pytest.mark.filterwarnings("ignore::cuihop.errors.ManyUnknownConcepts")
def test_nn_f1_of_each_image_is_that_of_the_pair(folder: Path, rows: Rows, n: int, lam: float) -> None:
    graph, nearness = example_graph(), Nearness(n, lam, unknown="isolated")
    found = scored(folder, rows, graph=graph, nearness=nearness)
    values = found.values[:, found.measures.index(NEAR)].tolist()
    for (true, guess), value in zip(rows, values, strict=True):
        if true:
            assert value == nn_f1(true, guess, graph, n, lam, unknown="isolated")
        else:
            assert np.isnan(value)
    if n == 0 or lam == 0.0:
        assert found.mean(NEAR) == pytest.approx(found.mean("F1"))


def test_values_by_hand(folder: Path) -> None:
    rows = [(frozenset([VEINS, HEAD]), frozenset([VESSELS, HEAD, STEM])), (frozenset([ARTERIES]), frozenset[str]())]
    found = scored(folder, rows, graph=example_graph())
    assert found.means == {"F1": 0.2, "precision": pytest.approx(1 / 6), "recall": 0.25, "nn-F1": pytest.approx(0.3)}
    nearest = near_misses(found.matches[NEAR], example_graph())
    assert [(miss.predicted, miss.true, miss.hops, miss.texts) for miss in nearest] == [(VESSELS, VEINS, 1, 1)]
    scores = {(score.measure, score.average): score for score in average_scores(found, resamples=10)}
    assert ("nn-F1", "concepts") not in scores
    assert scores["nn-F1", "micro"].precision == 1.5 / 3
    assert scores["nn-F1", "micro"].recall == 1.5 / 3
    assert scores["F1", "concepts"].number == 5
    assert {score.concept: score.name for score in concept_scores(found, example_graph())}[HEAD] == "Head"
    assert {score.concept: score.name for score in concept_scores(found, {HEAD: "caput"})}[HEAD] == "caput"


def test_an_image_without_a_true_concept_leaves_every_mean_and_counts_in_micro(folder: Path) -> None:
    found = scored(folder, [(frozenset(["C1"]), frozenset(["C1"])), (frozenset(), frozenset(["C2"]))])
    assert found.means == {"F1": 1.0, "precision": 1.0, "recall": 1.0}
    micro = average_scores(found, resamples=10)[1]
    assert (micro.precision, micro.recall, micro.number) == (0.5, 1.0, 2)


def test_the_interval_of_a_mean_is_the_same_with_and_without_images_that_leave_it(folder: Path) -> None:
    rows = [(frozenset(["C1", "C2"]), frozenset(["C1"][: i % 2])) for i in range(20)]
    options: dict[str, Any] = {"confidence": 0.9, "resamples": 200, "seed": 3, "threads": None}
    alone = average_scores(scored(folder, rows), **options)[0]
    beside = average_scores(scored(folder, [*rows, (frozenset(), frozenset(["C1"]))]), **options)[0]
    expected = mean_interval(scored(folder, rows).values[:, 0], **options)
    assert (alone.low, alone.high) == (beside.low, beside.high) == expected


def test_retired_and_unknown_identifiers(folder: Path) -> None:
    rows = [(frozenset([VEINS, "C9999999"]), frozenset(["C9000901"]))]  # C9000901 is now C0042449
    with pytest.warns(UserWarning, match="unknown in release"):
        found = scored(folder, rows, graph=example_graph())
    assert found.means["F1"] == 0.0
    assert found.means["nn-F1"] == pytest.approx(2 / 3)
    assert found.counts.unknown.identifiers == ("C9999999",)
    assert found.counts.merged.identifiers == ("C9000901",)
    assert any("1 of 3 identifiers, 1 of 3 occurrences, not in the graph" in line for line in found.account())
    with pytest.raises(ConceptNotFound, match="C9999999"):
        scored(folder, rows, graph=example_graph(), nearness=Nearness())
    with pytest.raises(InputError, match="no concept of the images is in the graph"):
        scored(folder, [(frozenset(["C9999999"]), frozenset([VEINS]))], graph=example_graph())


def test_a_concept_without_a_name_is_outside_the_graph(folder: Path) -> None:
    rows = [(frozenset([VEINS]), frozenset([VEINS])), (frozenset[str](), frozenset[str]())]
    found = scored(folder, rows, graph=example_graph(), official=True)
    assert found.means == {"F1": 1.0, "precision": 1.0, "recall": 1.0, "nn-F1": 1.0}
    assert found.counts.identifiers == 1
    assert [score.concept for score in concept_scores(found, example_graph())] == [VEINS, ""]
    with pytest.raises(InvalidCui, match=r"truth\.csv, line 2"):
        scored(folder, [(frozenset(["vein wall"]), frozenset([VEINS]))], graph=example_graph(), official=True)


def test_semantic_types_are_those_of_the_concepts(folder: Path) -> None:
    anatomy, finding = ("T023", "Body Part"), ("T033", "Finding")
    types = {VEINS: (anatomy,), VESSELS: (anatomy,), HEAD: (anatomy, finding)}

    class Typed(GraphWithNames):
        def concepts(self, cuis: Sequence[str], *, codes: bool = True) -> list[Concept]:
            found = super().concepts(cuis, codes=codes)
            return [replace(concept, semantic_types=types.get(concept.cui, ())) for concept in found]

    rows = [(frozenset([VEINS, HEAD]), frozenset([VESSELS, HEAD])), (frozenset([HEAD]), frozenset([STEM]))]
    graph = Typed(example_graph(), {})
    found = scored(folder, rows, graph=graph)
    scores = [(row.tui, row.true, row.predicted, row.right) for row in type_scores(found.matches[NEAR], graph)]
    assert scores == [("T023", 3, 2, 1), ("T033", 2, 1, 1), ("", 0, 1, 0)]


def test_submissions_share_one_ground_truth(folder: Path) -> None:
    truth = written(folder / "t.csv", [["C1", "C2"], ["C3"]])
    good, bad = written(folder / "g.csv", [["C1", "C2"], []]), written(folder / "b.csv", [["C9"], ["C9"]])
    collection = TrueConcepts.read(truth)
    found = {"bad": collection.evaluation(bad), "good": collection.evaluation(good)}
    assert list(found) == ["bad", "good"]
    assert found["good"].values.tolist() == evaluate_detection(truth, good).values.tolist()
    scores = {name: average_scores(each, resamples=10) for name, each in found.items()}
    assert [row[2] for row in average_table(scores, 0.95).rows[:2]] == ["good", "bad"]
    seen = TrainingFrequencies.of_concepts(truth)
    table = frequency_table({name: frequency_scores(each, seen.times) for name, each in found.items()})
    assert [row[:3] for row in table.rows] == [
        ("0", "bad", "1"), ("0", "good", "0"), ("1 to 9", "bad", "3"), ("1 to 9", "good", "3"),
    ]  # fmt: skip


def test_the_names_of_the_measures_do_not_clash() -> None:
    names = ["F1", "precision", "recall", "P@5", "R@5", "F1(of=manual)", "nn-F1(n=2)"]
    assert [str(measure) for measure in measures_named(names)] == names
    with pytest.raises(InputError, match="precision has no cut-off"):
        measures_named("precision@5")


@pytest.mark.slow
@pytest.mark.parametrize("of", ["all", "manual"])
def test_rocov2_against_scikit_learn(folder: Path, of: str) -> None:
    name = {"all": "test_concepts", "manual": "test_concepts_manual"}[of]
    with gzip.open(shared(f"rocov2/{name}.csv.gz"), "rt") as file:
        truth = {row["ID"]: row["CUIs"].split(";") if row["CUIs"] else [] for row in csv.DictReader(file)}
    draw = random.Random(1)
    pool = [cui for concepts in truth.values() for cui in concepts]
    predicted = {
        image: sorted({c for c in concepts if draw.random() < 0.6} | {draw.choice(pool)})
        for image, concepts in truth.items()
    }
    whole = shared("rocov2/test_concepts.csv.gz")
    found = evaluate_detection(whole, written(folder / "made.csv", predicted), shared(f"rocov2/{name}.csv.gz"))
    measure = {"all": "F1", "manual": "F1(of=manual)"}[of]
    scores = {s.average: s for s in average_scores(found, resamples=10) if s.measure == measure}
    allowed = MANUAL_CONCEPTS if of == "manual" else frozenset(pool)
    rows = [(frozenset(true) & allowed, frozenset(predicted[image]) & allowed) for image, true in truth.items()]
    for average, expected in sklearn_averages(rows).items():
        score = scores[average]
        assert [score.precision, score.recall, score.f1] == pytest.approx(expected, abs=1e-12)


# The command


FEW = ("--resamples", "100")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Run) -> Run:
    monkeypatch.delenv("CUIHOP_GRAPH", raising=False)
    monkeypatch.chdir(tmp_path)
    example_graph().save(Path("graph.cuihop"))
    written(Path("truth.csv"), [[VEINS, HEAD], [ARTERIES], [HEAD]])
    written(Path("good.csv"), [[VEINS], [VESSELS], [HEAD]])
    written(Path("bad.csv"), [[VESSELS], [], [STEM]])
    written(Path("training.csv"), [[HEAD]] * 12 + [[VEINS]])
    Path("groups.csv").write_text("ID,modality\nimage0,CT\nimage1,CT\nimage2,MR\n")
    return program


def lines_of(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_one_submission_with_everything(run: Run) -> None:
    done = run(
        "score", "concepts", "truth.csv", "good.csv", "--graph", "graph.cuihop", "--training", "training.csv",
        "--by", "modality", "--groups", "groups.csv", "--rows", "1", "--plot", "values.svg", *FEW,
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    lines = lines_of(done.out)
    assert any(line.startswith("nn-F1 images 0.8333 0.6667 0.7222 ") for line in lines)
    assert any(line.startswith("F1 CT 2 0.3333 ") for line in lines)
    assert "10 to 99 1 2 1 1 1.0000 0.5000 0.6667" in lines
    assert f"{HEAD} Head 2 1 1 1.0000 0.5000 0.6667" in lines
    assert "Each concept, over all images. The first 1 of 4 rows." in lines
    assert f"1 1 {VESSELS} Blood vessels {ARTERIES} Arteries" in lines
    assert "training: training.csv: 13 images, 13 concepts, header 'ID,CUIs', 0 malformed" in lines
    assert Path("values.svg").read_text().startswith("<?xml")


def test_several_submissions_are_ranked_and_compared(run: Run) -> None:
    arguments = ("score", "concepts", "truth.csv", "bad.csv", "best=good.csv", *FEW)
    done = run(*arguments, "--cards", "cards", "--report", "tables.md", "--output", "values.csv", "--training",
               "training.csv", "--by", "modality", "--groups", "groups.csv", "--plot", "differences.svg")  # fmt: skip
    assert (done.code, done.err) == (0, "")
    ranked = [line.split()[:3] for line in lines_of(done.out) if line.startswith("F1 images")]
    assert ranked == [["F1", "images", "best"], ["F1", "images", "bad"]]
    assert "best: Means by modality." in done.out
    assert "bad: bad.csv: 3 images, 2 concepts" in done.out
    assert "a letter:" not in done.out
    assert "| F1 | images | best |" in Path("tables.md").read_text()
    with Path("values.csv").open() as file:
        assert next(csv.reader(file))[:3] == ["query", "F1 bad", "F1 best"]
    found = json.loads(run(*arguments, "--json").out)
    assert [system["system"] for system in found["systems"]] == ["bad", "best"]
    assert found["holm"]["tests"] == len(found["differences"]) == 3
    compared = json.loads(run("compare", "cards/bad.json", "cards/best.json", "--json", *FEW).out)
    assert compared["differences"] == found["differences"]


def test_json_has_all_scores(run: Run) -> None:
    done = run("score", "concepts", "truth.csv", "good.csv", "--graph", "graph.cuihop", "--json", "--rows", "2", *FEW)
    (system,) = json.loads(done.out)["systems"]
    assert [score["measure"] for score in system["averages"]] == ["F1"] * 3 + ["nn-F1"] * 2
    assert system["averages"][0]["f1"] == system["means"]["F1"]
    assert [score["concept"] for score in system["concepts"]] == [HEAD, VEINS]
    (miss,) = system["near_misses"]
    assert (miss["images"], miss["predicted_name"]) == (1, "Blood vessels")
    assert system["false_positives_by_hops"]["1"] == 1
    assert (system["frequencies"], system["by"]) == ([], [])


def test_names_come_from_a_file(run: Run) -> None:
    Path("names.csv").write_text(f"CUI,name\n{HEAD},caput\n{STEM},truncus\nC9000099,far\n")
    written(Path("far.csv"), [["C9000099"], [], [HEAD]])
    arguments = ("score", "concepts", "truth.csv", "far.csv", "--names", "names.csv", *FEW)
    lines = lines_of(run(*arguments).out)
    assert f"{HEAD} caput 2 1 1 1.0000 0.5000 0.6667" in lines
    assert any(line.startswith("names.csv: 3 names") for line in lines)
    (system,) = json.loads(run(*arguments, "--graph", "graph.cuihop", "--json").out)["systems"]
    names = {score["concept"]: score["name"] for score in system["concepts"]}
    assert (names[HEAD], names["C9000099"]) == ("Head", "far")  # the graph's own name comes first


def test_a_neighbour_dictionary_gives_the_same_values(run: Run) -> None:
    made = run("neighbours", "--concepts", "truth.csv", "--concepts", "good.csv", "--hops", "5", "--output", "nb",
               "--graph", "graph.cuihop")  # fmt: skip
    assert made.code == 0, made.err
    scores = []
    for graph in ("graph.cuihop", "nb"):
        done = run("score", "concepts", "truth.csv", "good.csv", "--graph", graph, "--json", *FEW)
        assert done.code == 0, done.err
        (system,) = json.loads(done.out)["systems"]
        scores.append([system[name] for name in ("means", "averages", "false_positives_by_hops", "release")])
    assert scores[0] == scores[1]
    assert system["semantic_types"] == []


def test_concepts_of_another_vocabulary_are_refused(run: Run) -> None:
    written(Path("mesh.csv"), [["D006257"], ["D001158"], []])
    done = run("score", "concepts", "truth.csv", "mesh.csv")
    assert (done.code, "mesh.csv: no predicted concept is a true one" in done.err) == (3, True)
    done = run("score", "concepts", "truth.csv", "good.csv", "--training", "mesh.csv")
    assert (done.code, done.out) == (3, "")
    assert "no concept of the images is among those of the training images" in done.err
    written(Path("wrong.csv"), [[STEM], [], []])
    done = run("score", "concepts", "truth.csv", "wrong.csv", *FEW)
    assert (done.code, "are both of the same vocabulary?" in done.out) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("truth.csv", "good.csv", "good.csv"), "given twice"),
        (("truth.csv", "a=good.csv", "a=bad.csv"), "two predictions are called 'a'"),
        (("truth.csv", "good.csv", "--by", "modality"), "--by LABEL and --groups FILE go together"),
        (("truth.csv", "good.csv", "--groups", "groups.csv"), "--by LABEL and --groups FILE go together"),
        (("truth.csv", "good.csv", "--by", "organ", "--groups", "groups.csv"), "organ"),
        (("truth.csv", "good.csv", "--training", "none.csv"), "none.csv"),
        (("truth.csv", "good.csv", "--resamples", "2000000"), "1,000,000 at most"),
    ],
)
def test_wrong_arguments_are_refused(run: Run, arguments: tuple[str, ...], message: str) -> None:
    done = run("score", "concepts", *arguments)
    assert done.code != 0
    assert message in " ".join(done.err.replace("│", " ").split())
