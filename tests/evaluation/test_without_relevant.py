"""Queries without anything relevant, and queries that nothing judges: one value through every door."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any, get_args

import ir_measures
import numpy as np
import pytest

from cuihop import ImageConcepts, SnapshotGraph, evaluate, read_ranking
from cuihop.adapters.ir_measures import CUI, ConceptProvider, nnCUI
from cuihop.collection.dataset import Dataset
from cuihop.collection.labels import Agreement, Labels
from cuihop.comparison.comparison import compare
from cuihop.comparison.score_card import ScoreCard
from cuihop.errors import InputError
from cuihop.evaluation.result import EmptyIdeal
from example_graph import EDGES, example_graph
from program_run import Run

CONCEPTS = sorted({concept for edge in EDGES for concept in edge})
IMAGES = 40
OF_CONCEPTS = ("nn-CUI@5", "CUI@5")
OF_LABELS = ("P@5(organ)", "AP(organ)", "nDCG@10(organ)", "Rprec(organ)", "bpref(organ)", "RR(organ)", "mAP@5(organ)")
IN_A_STUDY = ("nn-CUI@5", "nn-CUI@30", "CUI@5", "P@5(organ)", "P@30(organ)", "P@5(modality, organ)")
GIVEN = ("--concepts", "images.csv", "--labels", "labels.csv")

NO_CONCEPT, ONE_OF_ITS_KIND, UNLABELLED = ("i00", "i01"), ("i02", "i03", "i04"), ("i05", "i06", "i07", "i08")


@pytest.fixture(autouse=True)
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with images, labels, two rankings and a graph; of each kind of query some."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUIHOP_GRAPH", "graph.cuihop")
    example_graph().save(Path("graph.cuihop"))
    draw = np.random.default_rng(4)
    names = [f"i{place:02}" for place in range(IMAGES)]
    images, labels = ["ID,CUIs"], ["ID,modality,organ"]
    runs: dict[str, list[str]] = {"good": [], "bad": []}
    for name in names:
        concepts = [] if name in NO_CONCEPT else draw.choice(CONCEPTS, draw.integers(1, 5), replace=False).tolist()
        organ = name if name in ONE_OF_ITS_KIND else "" if name in UNLABELLED else draw.choice(["head", "chest"])
        images.append(f"{name},{';'.join(concepts)}")
        labels.append(f"{name},{draw.choice(['CT', 'MR'])},{organ}")
        for lines in runs.values():
            found = draw.permutation(names).tolist()  # the query itself is among them
            lines += [f"{name} Q0 {other} {rank} {-rank} x" for rank, other in enumerate(found, start=1)]
    for file, lines in {"images.csv": images, "labels.csv": labels, **{f"{n}.run": r for n, r in runs.items()}}.items():
        Path(file).write_text("\n".join(lines) + "\n")


def in_python(measures: tuple[str, ...], agreement: Agreement = "equal", **options: Any) -> Any:
    images, labels = ImageConcepts.read("images.csv"), Labels.read("labels.csv").with_agreement(agreement)
    query_image = options.get("query_image", "exclude")
    ranking, graph = (
        read_ranking("good.run", tuple(images), query_image=query_image),
        SnapshotGraph.open("graph.cuihop"),
    )
    return evaluate(Dataset(images, labels=labels), ranking, graph, measures=measures, **options)


def measured(measures: tuple[str, ...]) -> list[str]:
    return [part for measure in measures for part in ("--measure", measure)]


@pytest.mark.parametrize(
    "option",
    [
        (),
        *(("--empty-ideal", way) for way in get_args(EmptyIdeal)),
        ("--query-image", "include"),
        ("--label-agreement", "shared"),
    ],
)
def test_every_door_gives_the_same_number_to_the_last_bit(program: Run, option: tuple[str, ...]) -> None:
    measures = (*OF_CONCEPTS, *OF_LABELS, *IN_A_STUDY)
    keywords: dict[str, Any] = {option[0].lstrip("-").replace("-", "_"): option[1]} if option else {}
    agreement = keywords.pop("label_agreement", "equal")
    python = in_python(measures, agreement, **keywords)
    evaluated = json.loads(program("evaluate", *GIVEN, "good.run", *measured(measures), *option, "--json").out)
    compared = json.loads(
        program(
            "compare", "good.run", "bad.run", *GIVEN, *measured(measures), *option, "--resamples", "9", "--json"
        ).out
    )
    labels_alone = ("--labels", "labels.csv", "good.run", *measured(OF_LABELS))
    by_labels = json.loads(program("evaluate", *labels_alone, *option, "--json").out)
    studied = program("study", "images.csv", "--labels", "labels.csv", "--embeddings", "good=good.run",
                      "--output", "out", "--only", "tables", "--no-plots", *option, "--json")  # fmt: skip
    numbers = {row["measure"]: row for row in json.loads(studied.out)["numbers"] if row["ranking"] == "good"}
    labelled = Labels.read("labels.csv").with_agreement(agreement)
    ranking = read_ranking("good.run", labelled.images, query_image=keywords.get("query_image", "exclude"))
    judged = evaluate(Dataset(labels=labelled), ranking, measures=OF_LABELS, **keywords)
    assert compared["systems"][0]["means"] == evaluated["means"] == python.means
    assert compared["systems"][0]["mean_queries"] == evaluated["mean_queries"] == python.summary()["mean_queries"]
    assert evaluated["means_by_empty_ideal"] == python.means_by_empty_ideal
    assert ScoreCard.of(python).means == python.means
    if option in ((), ("--empty-ideal", "zero")):
        assert [python.means["nn-CUI@5"], python.means["CUI@5"]] == by_ir_measures()
    assert by_labels["means"] == judged.means == {name: python.means[name] for name in OF_LABELS}
    assert by_labels["mean_queries"] == {name: evaluated["mean_queries"][name] for name in OF_LABELS}
    for name in IN_A_STUDY:
        behind = evaluated["mean_queries"][name]
        assert numbers[name]["value"] == python.means[name], name
        assert [numbers[name][of] for of in ("queries", "nothing_relevant", "unjudged")] == [*behind.values()], name


def by_ir_measures() -> list[float]:
    """nn-CUI@5 and CUI@5 of the same files, by ir_measures."""
    images, graph = ImageConcepts.read("images.csv"), SnapshotGraph.open("graph.cuihop")
    run = list(ir_measures.read_trec_run("good.run"))
    no_grades: dict[str, dict[str, int]] = {query: {} for query in images}
    with ConceptProvider(images, graph):
        found = ir_measures.calc([nnCUI @ 5, CUI @ 5], no_grades, run).aggregated
    assert isinstance(found, dict)
    return [found[nnCUI @ 5], found[CUI @ 5]]


@pytest.mark.parametrize("used", get_args(EmptyIdeal))
def test_the_mean_under_the_other_treatment_is_that_of_evaluating_so(used: EmptyIdeal) -> None:
    measures = (*OF_CONCEPTS, *OF_LABELS)
    found = in_python(measures, empty_ideal=used)
    by_treatment = {way: in_python(measures, empty_ideal=way).means for way in get_args(EmptyIdeal)}
    assert found.means_by_empty_ideal == by_treatment
    other = by_treatment["skip" if used == "zero" else "zero"]
    line = next(line for line in found.account() if "nn-CUI@5 " in line)
    treated = "without the 2 queries" if used == "zero" else "with 0 for the 2 queries"
    assert line == f"{treated} without anything relevant by nn-IoU: nn-CUI@5 {other['nn-CUI@5']:.4f}"
    line = next(line for line in found.account() if "AP(organ) " in line)
    assert "the 3 queries without anything relevant by organ: P@5(organ) " in line
    assert len([name for name in OF_LABELS if f"{name} {other[name]:.4f}" in line]) == len(OF_LABELS)


def test_a_mean_that_the_other_treatment_leaves_as_it_is_printed_has_no_line() -> None:
    images = {f"i{place}": "C0042449" for place in range(20_000)} | {"alone": "C0018670"}
    ranking = {query: ["i1" if query == "i0" else "i0"] for query in images}
    found = evaluate(images, ranking, measures="CUI@1")
    assert not any("without anything relevant" in line for line in found.account())


def test_zero_is_the_default_and_both_kinds_are_counted_apart() -> None:
    default, zero, skip = in_python(OF_LABELS), *(in_python(OF_LABELS, empty_ideal=way) for way in ("zero", "skip"))
    assert default.means == zero.means
    assert all(skipped > zeroed > 0 for skipped, zeroed in zip(skip.means.values(), zero.means.values(), strict=True))
    for found, scored in ((zero, IMAGES - len(UNLABELLED)), (skip, IMAGES - len(UNLABELLED) - len(ONE_OF_ITS_KIND))):
        assert found.counts.nothing_relevant == {"organ": ONE_OF_ITS_KIND}
        assert found.counts.unjudged == {"organ": UNLABELLED}
        for behind in found.mean_queries.values():
            assert (behind.scored, behind.nothing_relevant, behind.unjudged) == (scored, 3, 4)


def test_a_query_without_the_label_has_no_value_and_one_with_a_label_of_its_own_has_zero() -> None:
    found = in_python(OF_LABELS)
    for query, values in zip(found.queries, found.values, strict=True):
        if query in UNLABELLED:
            assert np.isnan(values).all()
        elif query in ONE_OF_ITS_KIND:
            assert values.tolist() == [0.0] * len(OF_LABELS)
        else:
            assert not np.isnan(values).any()


def test_a_query_that_the_judgements_do_not_name_is_not_judged_with_concepts_either() -> None:
    images, ranking = {"a": "C0042449", "b": "C0005847", "c": ""}, {"a": ["b", "c"], "b": ["a"], "c": ["a"]}
    qrels = {"a": {"c": 1}, "b": {"a": 0}}
    beside = evaluate(Dataset(images, qrels=qrels), ranking, None, measures=["AP", "bpref"])
    alone = evaluate(Dataset(qrels=qrels), {name: ranking[name] for name in qrels}, measures=["AP", "bpref"])
    assert beside.means == alone.means == {"AP": 0.25, "bpref": 0.5}
    assert (beside.counts.nothing_relevant, beside.counts.unjudged) == ({"judgements": ("b",)}, {"judgements": ("c",)})
    assert math.isnan(beside.values[2, 0])


def test_queries_left_out_for_want_of_a_ranking_are_not_counted_twice() -> None:
    labels = {"m": {"x": "1", "y": "1", "z": "2", "u": ""}}
    ranking = {"x": ["y"], "y": ["z"]}
    for missing, expected in (("zero", (3, 1, 1)), ("skip", (2, 0, 0))):
        found = evaluate(Dataset(labels=labels), ranking, measures="P@1(m)", missing=missing)  # type: ignore[arg-type]
        (behind,) = found.mean_queries.values()
        assert (behind.scored, behind.nothing_relevant, behind.unjudged) == expected


def test_a_query_with_one_of_two_joined_labels_is_judged_by_it() -> None:
    labels = {"m": {"x": "1", "y": "1", "z": ""}, "o": {"x": "", "y": "9", "z": ""}}
    found = evaluate(Dataset(labels=labels), {"x": ["y"], "y": ["x"], "z": ["x"]}, measures="nDCG(m+o)")
    assert (found.means, found.counts.unjudged) == ({"nDCG(m+o)": 1.0}, {"m+o": ("z",)})


def test_the_counts_stand_beside_the_means_in_every_text(program: Run) -> None:
    printed = program("evaluate", *GIVEN, "good.run", *measured(("nn-CUI@5", "P@5(organ)")))
    lines = [line.split() for line in printed.out.splitlines()]
    assert ["measure", "mean", "queries", "nothing", "relevant", "unjudged"] in lines
    assert any(line[:1] == ["nn-CUI@5"] and line[2:] == ["40", "2", "scored", "0", "0"] for line in lines)
    assert any(
        line[:1] == ["P@5(organ)"] and line[2:] == ["36", "3", "scored", "0", "4", "left", "out"] for line in lines
    )
    assert "4 queries without organ: not judged, left out" in printed.out
    assert "3 queries without any relevant image by organ (scored 0)" in printed.out
    done = program("compare", "good.run", "bad.run", *GIVEN, *measured(("P@5(organ)",)), "--resamples", "9",
                   "--empty-ideal", "skip", "--report", "tables.tex")  # fmt: skip
    lines = [line.split() for line in done.out.splitlines()]
    for row in (["queries", "33"], ["nothing", "relevant", "3", "left", "out"], ["unjudged", "4", "left", "out"]):
        assert row in lines
    assert r"nothing relevant & 3 left out \\" in Path("tables.tex").read_text()
    program("study", "images.csv", "--labels", "labels.csv", "--output", "out", "--no-plots",
            "--only", "tables", "--only", "ablation")  # fmt: skip
    report = Path("out/report.md").read_text()
    assert "organ: 36 (nothing relevant: 3 scored 0, unjudged: 4 left out)" in report
    assert "CUI: 40 (nothing relevant: 2 scored 0)" in report
    with Path("out/numbers.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["measure"] == "P@30(organ)"]
    assert {row["part"] for row in rows} == {"tables", "ablation"}
    assert {(r["queries"], r["nothing_relevant"], r["unjudged"]) for r in rows if r["part"] == "tables"} == {
        ("36", "3", "4")
    }
    assert "<th>nothing relevant</th>" in in_python(OF_LABELS)._repr_html_()


def test_cards_of_the_two_ways_are_not_compared_and_hold_the_counts() -> None:
    zero, skip = (ScoreCard.of(in_python(OF_LABELS, empty_ideal=way), way) for way in ("zero", "skip"))
    with pytest.raises(InputError, match="do not match") as caught:
        compare([zero, skip], resamples=9)
    assert caught.value.column == "empty_ideal"
    zero.write("card.json")
    assert ScoreCard.read("card.json").mean_queries == zero.mean_queries == in_python(OF_LABELS).mean_queries
