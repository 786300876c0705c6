"""``cuihop study``: the folder it writes, what it refuses, and the real job on ROCOv2."""

from __future__ import annotations

import csv
import gzip
import json
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure

from cuihop import SnapshotGraph
from cuihop.comparison.score_card import ScoreCard
from cuihop.errors import InputError, OutputError
from cuihop.study.tables import comparable
from cuihop.study.writing import MARK, replaced_study
from example_graph import EDGES, UNKNOWN, example_graph
from program_run import Run
from real_graphs import isa_edges
from shared_data import shared

CONCEPTS = sorted({concept for edge in EDGES for concept in edge} | {UNKNOWN})
IMAGES = 45
TIMES = {MARK, "cost.csv", "cost.md", "cost.png", "cost.svg", "cost.pdf", "cost.tex"}


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("study") / "example.cuihop"
    example_graph().save(path)
    return path


GIVEN = ("study", "images.csv", "--unknown", "isolated", "--threads", "1", "--timed-queries", "2")
WHOLE = (*GIVEN, "--labels", "labels.csv", "--embeddings", "model=vectors.npy")


def write_inputs(folder: Path) -> None:
    """Concepts, labels and embeddings."""
    draw = np.random.default_rng(1)
    lines, labels = ["ID,CUIs"], ["ID,modality,organ"]
    for place in range(IMAGES):
        found = draw.choice(CONCEPTS, draw.integers(0, 5), replace=False).tolist()
        lines.append(f"i{place:02},{';'.join(found)}")
        labels.append(f"i{place:02},{draw.choice(['CT', 'MRI'])},{draw.choice(['head', 'chest', ''])}")
    folder.joinpath("images.csv").write_text("\n".join(lines) + "\n")
    folder.joinpath("labels.csv").write_text("\n".join(labels) + "\n")
    np.save(folder / "vectors.npy", draw.normal(size=(IMAGES, 8)))


@pytest.fixture(scope="module")
def finished(snapshot: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a whole study, by the program in a process of its own, and what it printed."""
    folder: Path = tmp_path_factory.mktemp("finished")
    write_inputs(folder)
    done = subprocess.run(
        [sys.executable, "-m", "cuihop", *WHOLE, "--graph", snapshot, "--output", "study", "--score-cards"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "study", done.stdout


@pytest.fixture
def run(snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Run) -> Run:
    """Run the program in this process on the example graph, in a folder with the inputs."""
    monkeypatch.setenv("CUIHOP_GRAPH", str(snapshot))
    monkeypatch.chdir(tmp_path)
    write_inputs(tmp_path)

    return program


@pytest.fixture
def svg_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures in one form: all three take seconds."""
    whole = Figure.savefig

    def drawn(figure: Figure, path: Path, **options: Any) -> None:
        if path.suffix == ".svg":
            whole(figure, path, **options)
        else:
            path.write_bytes(b"")

    monkeypatch.setattr(Figure, "savefig", drawn)


@pytest.mark.slow
def test_the_folder_of_a_study(finished: tuple[Path, str]) -> None:
    folder, printed = finished
    assert "Report, tables, figures and numbers: study" in printed
    tables = {"precision", "difference", "gain", "ablation_other_images", "ablation_other_precision", "cost"}
    assert {path.name for path in folder.iterdir()} == {
        "report.md", "numbers.csv", MARK, "cost.csv", "cost.md", "cards", "difference.csv", "near.tex",
        *(f"{table}.{kind}" for table in tables for kind in ("tex", "png", "svg", "pdf")),
    }  # fmt: skip
    with (folder / "numbers.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [
        "part", "ranking", "measure", "n", "lambda", "subset", "value", "queries", "nothing_relevant", "unjudged",
        "low", "high",
    ]  # fmt: skip
    assert {row["part"] for row in rows} == {"tables", "near", "ablation"}
    assert len(rows) == 7 * 15 + 3 * (1 + 2 * 2) + 3 * 11 * 3 * 2
    assert {row["ranking"] for row in rows if row["part"] == "tables"} >= {"model", "BM", "random"}
    run = json.loads((folder / MARK).read_text())
    assert run["command"].startswith("cuihop study images.csv")
    assert set(run["seconds"]) == {"tables", "ablation", "cost", "writing"}
    cards = sorted((folder / "cards").iterdir())
    assert [ScoreCard.read(card).system for card in cards] == [
        "IoU", "nn-IoU", "BM", "model", "TF-IDF", "nn-IoU, shuffled", "random"
    ]  # fmt: skip


def test_the_report_says_what_its_numbers_depend_on(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    report = (folder / "report.md").read_text()
    for part in (
        example_graph().release.digest, "release | example", "images.csv, content SHA-256",
        "labels.csv, content SHA-256", "| seed | 0 |", "| n, λ | 1, 0.5 |", "cuihop 0", "numba", "relations",
        "The graph holds 15 of 16 (93.8%) distinct",
        "93 of 96 (96.9%) of their occurrences", "1 of 16 identifiers (6.2%)",
        "images of the corpus have no concept", "not comparable with these", "![P@30",
    ):  # fmt: skip
        assert part in report, part
    for link in re.findall(r"\]\((.*?)\)", report + (folder / "cost.md").read_text()):
        assert (folder / link).exists()


def test_numbers_are_those_that_evaluate_prints(run: Run) -> None:
    assert run(*WHOLE, "--output", "study", "--only", "tables", "--no-plots").code == 0
    with Path("study/numbers.csv").open(newline="") as file:
        found = {(row["ranking"], row["measure"]): row for row in csv.DictReader(file)}
    for name, source in (
        ("IoU", ("--baseline", "iou")), ("BM", ("--baseline", "bm")), ("TF-IDF", ("--baseline", "tf-idf")),
        ("random", ("--baseline", "random:0")), ("model", ("vectors.npy",)),
    ):  # fmt: skip
        done = run(
            "evaluate", "--concepts", "images.csv", *source, "--labels", "labels.csv", "--unknown", "isolated",
            "--measure", "nn-CUI@5,30", "--measure", "P@10,30(modality, organ)", "--json",
        )  # fmt: skip
        means = json.loads(done.out)["means"]
        assert len(means) == 4
        for measure, mean in means.items():
            assert float(found[name, measure]["value"]) == mean


def test_the_seed_is_that_of_the_random_rankings(run: Run, finished: tuple[Path, str]) -> None:
    first, _ = finished
    assert run(*WHOLE, "--output", "other", "--seed", "6", "--only", "tables", "--no-plots").code == 0
    of_first, of_other = (_values(folder / "numbers.csv") for folder in (first, Path("other")))
    differ = {ranking for ranking, measure in of_other if of_first[ranking, measure] != of_other[ranking, measure]}
    assert {"random"} <= differ <= {"random", "nn-IoU, shuffled"}


def _values(numbers: Path) -> dict[tuple[str, str], str]:
    """(ranking, measure) → the mean. The intervals are resampled, and depend on the seed."""
    with numbers.open(newline="") as file:
        return {(x["ranking"], x["measure"]): x["value"] for x in csv.DictReader(file) if x["part"] != "ablation"}


def test_figures_are_pictures_with_labelled_axes(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    labels = {"precision": "precision@K (%)", "gain": "mean NDCG@K", "ablation_other_images": "P@30 (%)",
              "cost": "seconds per query image (logarithmic)"}  # fmt: skip
    for name, label in labels.items():
        png = (folder / f"{name}.png").read_bytes()
        width, height = struct.unpack(">II", png[16:24])
        assert png.startswith(b"\x89PNG")
        assert (width, height) > (1000, 500)
        texts = {e.text for e in ElementTree.parse(folder / f"{name}.svg").iter() if e.tag.endswith("text")}  # noqa: S314
        assert label in texts


def test_any_name_stands_in_the_figures_as_it_is(run: Run, svg_only: None) -> None:
    names = ("_hidden", "a $b$ & c_d", "an encoder of images with a long name, v2.1", "日本")
    given = [option for name in names for option in ("--embeddings", f"{name}=vectors.npy")]
    done = run(*GIVEN, "--labels", "labels.csv", *given, "--output", "study", "--only", "tables")
    assert (done.code, done.err) == (0, "")
    for figure in ("precision", "gain"):
        texts = {e.text for e in ElementTree.parse(f"study/{figure}.svg").iter() if e.tag.endswith("text")}  # noqa: S314
        assert set(names) <= {(text or "").strip() for text in texts}


def test_without_labels_there_is_no_precision_and_it_is_said(run: Run) -> None:
    done = run(*GIVEN, "--output", "study", "--no-plots")
    assert done.code == 0
    assert "no precision, and no ablation" in done.err
    assert {path.name for path in Path("study").iterdir()} == {
        "report.md", "numbers.csv", "gain.tex", "near.tex", MARK, "cost.csv", "cost.md", "cost.tex"
    }  # fmt: skip
    assert "P@" not in Path("study/numbers.csv").read_text()


def test_json_holds_every_number(run: Run) -> None:
    done = run(*WHOLE, "--output", "study", "--only", "ablation", "--no-plots", "--json")
    answer = json.loads(done.out)
    assert (answer["out"], len(answer["numbers"])) == ("study", 198)
    assert answer["numbers"][0]["lambda"] == 0.0
    assert set(answer["seconds"]) == {"ablation", "writing"}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--labels", "labels.csv", "--label-concepts", "images.csv"), 2, "give one of --labels"),
        (("--only", "figures"), 2, "--only takes tables, ablation, cost"),
        (("--only", "ablation"), 2, "--only ablation needs --labels"),
        (("--embeddings", "vectors.npy"), 2, "takes NAME=FILE"),
        (("--embeddings", "m=vectors.npy", "--embeddings", "m=vectors.npy"), 2, "names 'm' twice"),
        (("--embeddings", "BM=vectors.npy"), 2, "BM is a ranking of the study itself"),
        (("--embeddings", "nn-iou=vectors.npy"), 2, "nn-iou is a ranking of the study itself"),
        (("--embeddings", "two\nlines=vectors.npy"), 2, "takes NAME=FILE"),
        (("--embeddings", "m=absent.npy"), 3, "absent.npy: no such file"),
        (("--embeddings", "m=holes.npy"), 3, "row 7 (from 0): an embedding without a direction"),
        (("--embeddings", "m=objects.npy"), 3, "not a whole NumPy array"),
        (("--labels", "others.csv"), 3, "images without a row of labels; found 45"),
        (("--labels", "comma.csv"), 3, "no such label"),
        (("--memory", "1kB"), 7, "not enough memory is allowed"),
        (("--memory", "much"), 3, "not an amount of memory"),
        (("--output", "study", "--checkpoint", "study/blocks"), 2, "--checkpoint must lie outside --output"),
        (("--checkpoint", "images.csv"), 6, "not written: not a folder"),
        (("--output", "images.csv/study"), 6, "not written: not a folder"),
        (("--embeddings", "m=short.npy"), 3, "wrong number of rows"),
        (("--labels", "few.csv"), 3, "images without a row of labels"),
        (("--unknown", "error"), 4, "(--unknown isolated) accepts them"),
        (("--graph", "absent.cuihop"), 5, "absent.cuihop"),
    ],
)
def test_what_is_wrong_is_told_and_nothing_is_left(
    run: Run, arguments: tuple[str, ...], code: int, message: str
) -> None:
    np.save("short.npy", np.ones((3, 2)))
    np.save("holes.npy", np.where(np.arange(IMAGES)[:, np.newaxis] == 7, np.nan, np.ones((IMAGES, 2))))
    np.save("objects.npy", np.array([{}]), allow_pickle=True)
    Path("few.csv").write_text("ID,modality\ni00,CT\n")
    Path("others.csv").write_text("ID,modality\n" + "".join(f"x{place:02},CT\n" for place in range(IMAGES)))
    Path("comma.csv").write_text('ID,"a,b"\n' + "".join(f"i{place:02},CT\n" for place in range(IMAGES)))
    before = set(Path().iterdir())
    done = run(*GIVEN, "--output", "study", *arguments)
    assert done.code == code
    assert message in " ".join(done.err.split())
    assert set(Path().iterdir()) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("images", "labels", "options"),
    [
        ("ID,CUIs\ni00,C0042449\n", "CT", ()),
        ("ID,CUIs\ni00,C0042449\ni01,C0005847\n", "CT", ()),
        ("ID,CUIs\ni00,\ni01,\ni02,\n", "CT", ()),
        ("ID,CUIs\ni00,C0042449\ni01,C0005847\ni02,C0042449\n", "", ()),
        (None, "CT", ("--lambda", "0")),
        (None, "CT", ("--hops", "0")),
        (None, "CT", ("--hops", "3", "--lambda", "0.35")),
    ],
    ids=["one image", "two images", "no concept", "no label", "λ of 0", "n of 0", "n and λ that the ablation has not"],
)
def test_small_and_empty_collections_give_a_report_without_holes(
    run: Run, images: str | None, labels: str, options: tuple[str, ...], svg_only: None
) -> None:
    if images is not None:
        Path("images.csv").write_text(images)
    Path("one.csv").write_text("ID,modality\n" + "".join(f"i{place:02},{labels}\n" for place in range(IMAGES)))
    done = run(*GIVEN, "--labels", "one.csv", "--output", "study", *options)
    assert (done.code, done.err) == (0, "")
    for path in (*Path("study").glob("*.md"), *Path("study").glob("*.tex"), *Path("study").glob("*.csv")):
        assert not re.search(r"\b(nan|None|inf)\b", path.read_text()), path


@pytest.mark.slow
def test_an_interrupted_command_goes_on_to_the_same_files(
    run: Run, finished: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("cuihop.cli.study.costs", interrupted)
        done = run(*WHOLE, "--output", "study", "--checkpoint", "blocks")
    assert done.code == 130
    assert "finished parts are in blocks; the same command resumes from there" in done.err
    assert not Path("study").exists()
    refused = run(*WHOLE, "--output", "study", "--checkpoint", "blocks", "--lambda", "0.4")
    assert (refused.code, "field lambda" in refused.err) == (3, True)
    assert run(*WHOLE, "--output", "study", "--checkpoint", "blocks", "--threads", "2", "--memory", "500MB").code == 0
    assert not Path("blocks").exists()
    assert not list(Path().glob(".study*"))
    first, _ = finished
    assert {path.name for path in Path("study").iterdir()} == {path.name for path in first.iterdir()} - {"cards"}
    for path in Path("study").iterdir():
        if path.name not in TIMES:
            assert path.read_bytes() == (first / path.name).read_bytes(), path


def test_tables_in_markdown_have_as_many_cells_in_each_row(run: Run) -> None:
    done = run(*GIVEN, "--labels", "labels.csv", "--embeddings", "50% |a*b_c<d>=vectors.npy", "--output", "study",
               "--only", "tables", "--only", "cost", "--no-plots")  # fmt: skip
    assert done.code == 0, done.err
    report = Path("study/report.md").read_text() + Path("study/cost.md").read_text()
    tables = [block.splitlines() for block in report.split("\n\n") if block.startswith("|")]
    assert len(tables) >= 5
    for lines in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1, lines
    assert r"| 50% \|a\*b\_c\<d\> |" in report


def test_a_folder_that_holds_something_is_kept(run: Run) -> None:
    notes = Path("study/notes.txt")
    notes.parent.mkdir()
    notes.write_text("mine")
    for extra, message in (((), "the folder is not empty"), (("--overwrite",), "something else than a study")):
        done = run(*GIVEN, "--output", "study", *extra)
        assert done.code == 3
        assert message in done.err
        assert notes.read_text() == "mine"
    done = run(*GIVEN, "--output", "images.csv")
    assert (done.code, "not a folder" in done.err) == (6, True)


def test_an_earlier_study_is_replaced_when_asked(run: Run) -> None:
    given = (*GIVEN, "--output", "deep/study", "--no-plots")
    assert run(*given).code == 0
    assert run(*given).code == 3
    assert run(*given, "--overwrite", "--only", "cost").code == 0
    assert not Path("deep/study/gain.tex").exists()
    assert [path.name for path in Path("deep").iterdir()] == ["study"]
    Path("deep/study/notes.txt").write_text("mine")
    done = run(*given, "--overwrite")
    assert (done.code, "found notes.txt" in done.err) == (3, True)
    assert Path("deep/study/notes.txt").read_text() == "mine"


def test_the_current_folder_is_not_replaced(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("empty").mkdir()
    monkeypatch.chdir("empty")
    done = run("study", "../images.csv", *GIVEN[2:], "--output", ".", "--no-plots")
    assert (done.code, "the current folder cannot be replaced" in done.err) == (3, True)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, InputError])
def test_an_interrupt_leaves_the_earlier_study_as_it_was(tmp_path: Path, stop: type[BaseException]) -> None:
    out = tmp_path / "study"
    with replaced_study(out) as folder:
        (folder / MARK).write_text('{"files": []}')

    def interrupted() -> None:
        with replaced_study(out, overwrite=True) as folder:
            (folder / MARK).write_text("second")
            raise stop("now")

    with pytest.raises(stop):
        interrupted()
    assert (out / MARK).read_text() == '{"files": []}'
    assert list(tmp_path.iterdir()) == [out]


def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"), replaced_study(tmp_path / "file" / "study"):
        pass


def test_without_matplotlib_it_is_said_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = run(*GIVEN, "--output", "study")
    assert done.code == 8
    assert "pip install '.[plots]'; --no-plots leaves them out" in " ".join(done.err.split())
    assert run(*GIVEN, "--output", "study", "--no-plots", "--only", "tables").code == 0


@pytest.mark.slow
def test_a_study_of_real_images(run: Run, tmp_path: Path) -> None:
    """The first 1,500 test images of ROCOv2; docs/study.md, whose commands are run too, has all of them."""
    manual = shared("rocov2/test_concepts_manual.csv.gz")
    with gzip.open(shared("rocov2/test_concepts.csv.gz"), "rt", encoding="utf-8") as file:
        Path("some.csv").write_text("".join(line for _, line in zip(range(1_501), file, strict=False)))
    SnapshotGraph.of(sorted(isa_edges("rrf_open")), identifiers="cui").save(tmp_path / "open.cuihop")
    given = ("--graph", "open.cuihop", "--unknown", "isolated", "--label-concepts", str(manual))
    done = run("study", "some.csv", *given, "--output", "study", "--timed-queries", "1", "--no-plots")
    assert done.code == 0, done.err
    with Path("study/numbers.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    found = {(row["ranking"], row["measure"]): row for row in rows if row["part"] == "tables"}
    answer = run(
        "evaluate", "--concepts", "some.csv", *given, "--baseline", "nn-iou", "--json",
        "--measure", "CUI@10", "--measure", "P@30(modality)", "--measure", "P@5(modality, organ)",
    )  # fmt: skip
    means = json.loads(answer.out)["means"]
    assert {measure: float(found["nn-IoU", measure]["value"]) for measure in means} == means
    for best in (found["IoU", "CUI@30"], found["nn-IoU", "nn-CUI@30"]):
        assert float(best["value"]) == 1 - int(best["nothing_relevant"]) / 1_500
    chance, iou = (float(found[name, "P@30(modality)"]["value"]) for name in ("random", "IoU"))
    assert chance < 0.3
    assert iou > 0.95
    assert "not comparable" in Path("study/report.md").read_text()  # with the figures of all images
    with Path("study/cost.csv").open(newline="") as file:
        assert all(float(row["largest_difference"]) < 1e-12 for row in csv.DictReader(file))


def test_published_figures_stand_beside_those_of_all_test_images_only() -> None:
    labels = [("modality",), ("organ",), ("modality", "organ")]
    images = [f"ROCOv2_2023_test_{number:06}" for number in range(9_927)]
    assert comparable(images, labels)
    assert not comparable(images[:5_000], labels)
    assert not comparable([*images[1:], "ROCOv2_2023_train_000001"], labels)
    assert not comparable(images, labels[:1])
