"""Wrong inputs × commands and doors of Python: each cell is an error that names the cause, or the right number.

A command or a door more is one line in `DOORS`; a form more is one line in `collection.wrong_inputs`.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import cuihop
from collection.wrong_inputs import CLEAN, FORMS, IMAGES, IN_MEMORY, SETS, IfNamed, Right
from cuihop.cli import main
from cuihop.collection.dataset import Dataset
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.collection.judgements import Judgements
from cuihop.collection.labels import Labels
from cuihop.errors import CuihopError, InvalidCui, ManyUnknownConcepts
from cuihop.evaluation.evaluate import evaluate
from cuihop.evaluation.result import MeasuredQueries
from cuihop.imageclef.concept_detection import evaluate_detection
from cuihop.imageclef.irma_codes import evaluate_irma
from cuihop.measures import bipartite_matching
from cuihop.measures.nearness import Nearness
from cuihop.rankings.in_memory import embedding_ranking, neighbour_ranking
from cuihop.rankings.reading import read_ranking, read_ranking_in_blocks, read_run
from cuihop.relevance.baselines import top_k
from example_graph import example_graph
from program_run import built_once

NAMES = tuple(IMAGES)
SUFFIXES = {"array": ".npy", "run": ".run", "qrels": ".qrels", "codes": ".txt", "code book": ".txt", "pairs": ".tsv"}


def file_name(kind: str, name: str | None = None) -> str:
    """The name of a file of a kind."""
    return (name or kind.replace(" ", "_")) + SUFFIXES.get(kind, ".csv")


@dataclass
class Answer:
    """The output: numbers, and the account of the inputs."""

    numbers: Any
    account: str


Others: TypeAlias = Literal["none", "some", "all"]


class Refused(Exception):
    """An error that the user sees."""


@dataclass(frozen=True)
class Door:
    """A command, or a function of Python, that reads a file of a kind.

    Attributes:
        others: whether another input names some of the same images, needs all of them, or names none.
    """

    name: str
    kind: str
    read: Callable[[Path, Path], Answer]
    others: Others = "all"


def command(line: str, kind: str, others: Others = "all") -> Door:
    """A command; ``{file}`` is the file in question, any other name a clean file of that kind."""

    def read(file: Path, folder: Path) -> Answer:
        files = {kind.replace(" ", "_"): folder / file_name(kind) for kind in CLEAN}
        line_of_files = line.format(file=file, graph=folder / "graph.cuihop", out=folder / "out", **files)
        return run(*shlex.split(line_of_files))

    return Door(line, kind, read, others)


def run(*arguments: str) -> Answer:
    """A command of the program, in this process."""
    out, err = io.StringIO(), io.StringIO()
    given, sys.argv = sys.argv, ["cuihop", *arguments, "--json"]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as stop:
            main()
    finally:
        sys.argv = given
    if stop.value.code:
        assert stop.value.code in (3, 4), err.getvalue()  # an input, or a concept: never a fault
        raise Refused(err.getvalue())
    found = json.loads(out.getvalue())
    numbers = {
        name: found[name] for name in ("means", "differences", "numbers", "nn_iou", "difference") if name in found
    }
    numbers |= {name: found[name] for name in ("pairs", "reached") if name in found and "pairs" in found}
    numbers |= (
        {"systems": [[system["means"], system.get("frequencies")] for system in found["systems"]]}
        if "systems" in found
        else {}
    )
    inputs = [found.get("inputs", {}), *(system.get("inputs", {}) for system in found.get("systems", ()))]
    return Answer(numbers, " ".join(line for of in inputs for line in of.values()) + err.getvalue())


def python(name: str, kind: str, call: Callable[[Path], MeasuredQueries], others: Others = "all") -> Door:
    """A door of Python, which returns an evaluation."""

    def read(file: Path, folder: Path) -> Answer:
        try:
            found = call(file)
        except CuihopError as error:
            raise Refused(str(error)) from error
        return Answer(found.values.tolist(), " ".join(found.inputs.values()))

    return Door(name, kind, read, others)


def fits(door: Door, expected: str | Right | IfNamed) -> bool:
    """Recognise the forms that make a cell for this door."""
    return not isinstance(expected, IfNamed) or door.others in (("all",) if expected.all_of_them else ("all", "some"))


EVALUATE = "evaluate --graph {graph} --unknown isolated"
COMPARE = "compare --graph {graph} --unknown isolated --resamples 10"
BY_CONCEPTS: Mapping[str, Any] = {"measures": "nn-CUI@3", "nearness": Nearness(unknown="isolated")}


def ranked(ranking: Any) -> MeasuredQueries:
    return cuihop.evaluate(IMAGES, ranking, example_graph(), **BY_CONCEPTS)


def of_images(images: Any) -> MeasuredQueries:
    return cuihop.evaluate(
        images,
        top_k(images, example_graph(), 3, by="iou", nearness=Nearness(unknown="isolated")),
        example_graph(),
        **BY_CONCEPTS,
    )


@cache
def clean_ranking() -> Mapping[str, tuple[str, ...]]:
    return {query: tuple(image for image in NAMES if image != query)[:4] for query in NAMES}


DOORS = [
    # concepts
    command(EVALUATE + " --concepts {file} --baseline iou --measure nn-CUI@3", "concepts", "none"),
    command(EVALUATE + " --concepts {file} {run} --measure CUI@3", "concepts"),
    command(EVALUATE + " --concepts {file} {array} --measure nn-CUI@3", "concepts", "none"),
    command(EVALUATE + " --concepts {file} --corpus {concepts} {run} --measure nn-CUI@3", "concepts"),
    command(EVALUATE + " --concepts {concepts} --corpus {file} {run} --measure nn-CUI@3", "concepts"),
    command(EVALUATE + " --concepts {file} --labels {labels} --baseline iou --measure 'P@3(modality)'", "concepts",
            "some"),
    command(COMPARE + " a={run} b={CSV_run} --concepts {file} --measure nn-CUI@3", "concepts"),
    command("study {file} --graph {graph} --unknown isolated --labels {labels} --only tables --no-plots --overwrite "
            "--output {out}", "concepts", "some"),
    command("explain query {file} img1 --above img2 --below img3 --graph {graph} --unknown isolated", "concepts",
            "some"),
    command("explain query {concepts} img1 --above img2 --below img3 --corpus {file} --graph {graph} "
            "--unknown isolated", "concepts", "some"),
    command("explain pair {file} img1 img2 --graph {graph} --unknown isolated", "concepts", "some"),
    command("explain pair {concepts} img1 img2 --corpus {file} --graph {graph} --unknown isolated", "concepts", "some"),
    python("ImageConcepts.read, top_k", "concepts", lambda file: of_images(ImageConcepts.read(file)), "none"),
    python("ImageConcepts.read, evaluate", "concepts",
           lambda file: cuihop.evaluate(ImageConcepts.read(file), clean_ranking(), example_graph(), **BY_CONCEPTS)),
    # concepts that are labels
    command("evaluate {run} --label-concepts {file} --measure 'P@3(organ)'", "labelling concepts"),
    command("compare --label-concepts {file} a={run} b={CSV_run} --measure 'P@3(organ)' --resamples 10",
            "labelling concepts"),
    # rankings
    *(door for kind in ("run", "CSV run", "array") for door in (
        command(EVALUATE + " --concepts {concepts} {file} --measure nn-CUI@3", kind),
        command(COMPARE + " a={file} b={run} --concepts {concepts} --measure nn-CUI@3", kind),
        command("evaluate {file} --labels {labels} --measure 'P@3(modality)'", kind),
        command("study {concepts} --graph {graph} --unknown isolated --embeddings mine={file} --only tables "
                "--no-plots --overwrite --output {out}", kind),
        python("read_ranking", kind, lambda file: ranked(read_ranking(file, NAMES, depth=3))),
        python("read_ranking_in_blocks", kind, lambda file: ranked(read_ranking_in_blocks(file, NAMES))),
    )),
    *(door for kind in ("run", "CSV run") for door in (
        command("evaluate {file} --qrels {qrels} --measure AP", kind, "none"),
        command("compare --qrels {qrels} a={file} b={run} --measure AP --resamples 10", kind, "none"),
        python("read_run", kind, lambda file: evaluate(
            Dataset(qrels=Judgements.read(file.with_name("qrels.qrels"))), read_run(file, NAMES), measures="AP",
        ), "none"),
    )),
    # judgements
    command("evaluate {run} --qrels {file} --measure AP", "qrels"),
    command(EVALUATE + " --concepts {concepts} --qrels {file} {run} --measure AP", "qrels"),
    command("compare --qrels {file} a={run} b={CSV_run} --measure AP --resamples 10", "qrels"),
    python("Judgements.read", "qrels", lambda file: cuihop.evaluate(
        Dataset(IMAGES, qrels=Judgements.read(file)), clean_ranking(), None, measures="AP")),
    # labels
    command("evaluate {run} --labels {file} --measure 'P@3(modality)'", "labels"),
    command(EVALUATE + " --concepts {concepts} --labels {file} --baseline iou --measure 'P@3(modality)'", "labels"),
    command("compare --labels {file} a={run} b={CSV_run} --measure 'P@3(modality)' --resamples 10", "labels"),
    command("study {concepts} --graph {graph} --unknown isolated --labels {file} --only tables --no-plots --overwrite "
            "--output {out}", "labels"),
    python("Labels.read", "labels", lambda file: evaluate(
        Dataset(labels=Labels.read(file)), clean_ranking(), measures="P@3(modality)")),
    # campaigns
    command("score concepts {file} {detected} --resamples 10", "detected"),
    command("score concepts {detected} {file} --resamples 10", "detected"),
    command("score concepts {detected} {detected} --manual-truth {file} --resamples 10", "detected"),
    command("score concepts {detected} {detected} --training {file} --resamples 10", "detected", "none"),
    python("evaluate_detection", "detected", lambda file: evaluate_detection(file, file.with_name("detected.csv"))),
    command("score irma {file} {codes} --branching 2", "codes"),
    command("score irma {codes} {file} --codes {code_book}", "codes"),
    python("evaluate_irma", "codes", lambda file: evaluate_irma(file, file.with_name("codes.txt"), branching=2)),
    command("score irma {codes} {codes} --codes {file}", "code book"),
    # pairs
    command("distance --pairs {file} --graph {graph} --output {out}.tsv", "pairs"),
]  # fmt: skip

CELLS = {door: [name for name, form in FORMS[door.kind].items() if fits(door, form.expected)] for door in DOORS}


@pytest.fixture(scope="module", autouse=True)
def program_built_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        built_once(patched)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    inputs = tmp_path_factory.mktemp("inputs")
    example_graph().save(inputs / "graph.cuihop")
    for kind, content in CLEAN.items():
        inputs.joinpath(file_name(kind)).write_bytes(content)
    return inputs


def answer(door: Door, content: bytes | None, folder: Path) -> Answer:
    """The answer of a door to a file with this content, or to a folder."""
    path = folder / file_name(door.kind, "given")
    if path.is_dir():
        path.rmdir()
    path.unlink(missing_ok=True)
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    return door.read(path, folder)


def fault(expected: str | Right | IfNamed, read: Callable[[], Answer], right: Answer) -> str | None:
    """The fault of a cell; ``None`` for one that is as expected."""
    try:
        found = read()
    except Refused as refused:
        message = " ".join(str(refused).split())
        if isinstance(expected, Right):
            return f"refused: {message}"
        words = expected.words if isinstance(expected, IfNamed) else expected
        return None if re.search(words, message) else f"not {words!r}: {message}"
    if not isinstance(expected, Right):
        return f"accepted: {found}"
    if found.numbers != right.numbers or not right.numbers:
        return f"{found.numbers}, not {right.numbers}"
    return None if expected.words in found.account else f"not {expected.words!r}: {found.account}"


@pytest.mark.slow
@pytest.mark.parametrize("door", DOORS, ids=lambda door: f"{door.kind}: {door.name}")
def test_a_wrong_file_is_an_error_that_names_its_cause_or_gives_the_right_number(door: Door, folder: Path) -> None:
    right = answer(door, CLEAN[door.kind], folder)
    assert file_name(door.kind, "given") in right.account  # in one line, how the file was read
    faults = {}
    for name in CELLS[door]:
        form = FORMS[door.kind][name]
        faults[name] = fault(form.expected, partial(answer, door, form.content, folder), right)
    assert {name: found for name, found in faults.items() if found is not None} == {}


# Objects in memory

Rows = list[tuple[str, str]]


def parquet(rows: Rows, folder: Path) -> ImageConcepts:
    columns = {"ID": [image for image, _ in rows], "CUIs": [concepts for _, concepts in rows]}
    pyarrow.parquet.write_table(pa.table(columns, schema=pa.schema({"ID": pa.string(), "CUIs": pa.string()})),
                                folder / "images.parquet")  # fmt: skip
    return ImageConcepts.read(folder / "images.parquet")


HELD: dict[str, Callable[[Rows, Path], object]] = {
    "mapping": lambda rows, _: dict(rows),
    "mapping of lists": lambda rows, _: {image: concepts.split(";") for image, concepts in rows},
    "DataFrame": lambda rows, _: pd.DataFrame(rows, columns=["ID", "CUIs"] if rows else ["ID"]),
    "table of Arrow": lambda rows, _: pa.table(
        {"ID": pa.array([i for i, _ in rows], pa.string()), "CUIs": pa.array([c for _, c in rows], pa.string())}
    ),
    "Parquet": parquet,
}
HELD_CELLS = [
    (held, name)
    for held in HELD
    for name, (_, expected) in IN_MEMORY.items()
    if not (isinstance(expected, IfNamed) and held.startswith("mapping"))
]


@pytest.mark.parametrize(("held", "name"), HELD_CELLS)
def test_what_a_program_holds_is_read_as_a_file_is(held: str, name: str, tmp_path: Path) -> None:
    def read(rows: Rows) -> Answer:
        try:
            found = of_images(HELD[held](rows, tmp_path))
        except CuihopError as error:
            raise Refused(str(error)) from error
        return Answer(found.values.tolist(), " ".join(found.inputs.values()))

    rows, expected = IN_MEMORY[name]
    assert fault(expected, lambda: read(rows), read(list(IMAGES.items()))) is None


OF_SETS: dict[str, Callable[[str, Path], Any]] = {
    "explain concepts": lambda text, file: run(
        "explain", "concepts", text, "C0005847", "-g", str(file), "--unknown", "isolated").numbers,
    "nn_iou": lambda text, _: cuihop.nn_iou(text, "C0005847", example_graph(), unknown="isolated"),
    "nn_iou of a list": lambda text, _: cuihop.nn_iou(text.split(";"), "C0005847", example_graph(), unknown="isolated"),
    "iou": lambda text, _: [cuihop.iou(text, "C0042449")],
    "bipartite_matching": lambda text, _: bipartite_matching(text, "C0005847", example_graph(), unknown="isolated"),
    "explain_pair": lambda text, _: cuihop.explain_pair(
        text, "C0005847", example_graph(), cuihop.Nearness(unknown="isolated")
    ).nn_iou,
}  # fmt: skip
SET_CELLS = [
    (door, name)
    for door in OF_SETS
    for name in SETS
    if (door, name) != ("nn_iou of a list", "blanks around")  # a list is taken as it is
]


@pytest.mark.parametrize(("door", "name"), SET_CELLS)
def test_a_set_of_concepts_is_read_as_a_field_of_a_file_is(door: str, name: str, folder: Path) -> None:
    def read(text: str) -> Answer:
        try:
            return Answer(OF_SETS[door](text, folder / "graph.cuihop"), "")
        except CuihopError as error:
            raise Refused(str(error)) from error

    text, expected = SETS[name]
    assert fault(expected, lambda: read(text), read("C0042449;C0018670")) is None


def test_an_identifier_in_a_list_is_taken_as_it_is() -> None:
    for odd in (" C0042449", "C0042449\n", ""):
        with pytest.raises(InvalidCui, match=r"not an identifier.*the letter C and seven digits|printable ASCII"):
            cuihop.nn_iou([odd], "C0005847", example_graph(), unknown="isolated")


def test_the_table_is_large() -> None:
    cells = sum(map(len, CELLS.values())) + len(HELD_CELLS) + len(SET_CELLS)
    print(f"{cells} cells: {len(DOORS)} commands and doors that read files, {len(HELD)} kinds of objects, "
          f"{len(OF_SETS)} that take sets of concepts")  # fmt: skip
    assert cells > 1000


# Shares of unknown concepts


@pytest.mark.parametrize(("strangers", "warned"), [(1, False), (2, True), (4, True)])
def test_many_unknown_concepts_are_a_warning(strangers: int, warned: bool) -> None:
    present = ["C0042449", "C0018670", "C0005847", "C0006104"]
    images = {f"a{n}": cui for n, cui in enumerate(present)} | {f"b{n}": f"C980000{n}" for n in range(strangers)}
    with pytest.warns(ManyUnknownConcepts, match="match only themselves") if warned else contextlib.nullcontext():
        of_images(images)


def test_the_command_line_warns_once(folder: Path) -> None:
    path = folder / "warned.csv"
    path.write_text("ID,CUIs\na,C0042449\nb,C0005847;C9800001\n")
    for line in (f"evaluate --concepts {path} --baseline iou", f"explain pair {path} a b"):
        found = run(*shlex.split(line), "-g", str(folder / "graph.cuihop"), "--unknown", "isolated")
        assert found.account.count("Are these images annotated with") == 1
        assert found.account.count("33.3%") == 1


def test_an_index_column_is_no_image() -> None:
    labels = pd.DataFrame({"Unnamed: 0": [0, 1], "image": ["a", "b"], "modality": ["CT", "MR"]})
    with pytest.raises(CuihopError, match=r"Unnamed: 0, image, modality.*is an index"):
        Labels.of(labels)
    concepts = pd.DataFrame({"Unnamed: 0": [0, 1], "ID": ["a", "b"], "CUIs": ["C0042449", ""]})
    with pytest.raises(CuihopError, match=r"wrong number of columns.*is an index"):
        ImageConcepts.of(concepts)


# Arrays that a program holds


def test_arrays_in_memory_are_checked_as_files_are() -> None:
    distances = np.sort(np.random.default_rng(0).random((6, 4)), axis=1)
    with pytest.raises(CuihopError, match="the distances of a search"):
        embedding_ranking(IMAGES, distances, 3)
    assert len(embedding_ranking(IMAGES, distances, 3, similarity="cosine")) == 6
    with pytest.raises(CuihopError, match="the distances of a search"):
        neighbour_ranking(IMAGES, distances)
    rows = np.array([[row for row in range(6) if row != query] for query in range(6)])
    with pytest.raises(CuihopError, match="look counted from 1"):
        neighbour_ranking(IMAGES, rows + 1)
    assert neighbour_ranking(IMAGES, rows)["img1"] == NAMES[1:]


def test_queries_among_a_larger_corpus_counted_from_1() -> None:
    queries = {name: IMAGES[name] for name in NAMES[:4]}
    with pytest.raises(CuihopError, match=r"row numbers that count from 1.*first hit of 4 of 4 queries, and no 0"):
        neighbour_ranking(queries, [[1, 2], [2, 1], [3, 1], [4, 1]], corpus=IMAGES)
    assert neighbour_ranking(queries, [[0, 2], [1, 0], [2, 1], [3, 1]], corpus=IMAGES)["img1"] == ("img3",)


def test_missing_neighbours_are_counted(folder: Path) -> None:
    np.save(folder / "short.npy", [[1, 2, -1]] + [[0, -1, -1]] * 5)
    assert read_ranking(folder / "short.npy", NAMES).account.endswith(
        "short.npy: 6 rows of 3 row numbers, 6 of them filled up by -1"
    )


def test_true_embeddings_are_no_distances(folder: Path) -> None:
    generator = np.random.default_rng(1)
    for name, array in {
        "dense": generator.normal(size=(6, 8)), "one-hot": np.eye(6), "counts": generator.poisson(1.0, (6, 8)) + 1.0,
        "two columns": np.sort(generator.random((6, 2)), axis=1), "constant": np.ones((6, 4)),
    }.items():  # fmt: skip
        np.save(folder / "vectors.npy", array)
        found = ranked(read_ranking_in_blocks(folder / "vectors.npy", NAMES))
        assert f"embeddings, 6 rows of {array.shape[1]} numbers" in found.inputs["ranking"], name


# The organisers' reading


def test_the_official_reading_says_that_it_does_not_look(folder: Path) -> None:
    path = folder / "blanks.csv"
    path.write_text("ID,CUIs\nimg1,C0042449 C0018670\n")
    found = run("score", "concepts", str(path), str(path), "--official", "2025")
    assert found.numbers["systems"] == [[{"F1": 1.0, "precision": 1.0, "recall": 1.0}, []]]
    assert "the form of identifiers is not looked at" in found.account
