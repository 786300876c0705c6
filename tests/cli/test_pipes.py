"""Inputs from pipes and standard input: the numbers are those of the same files, at every command that reads them."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from collection.wrong_inputs import CLEAN, IMAGES, json_lines, zstd
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.errors import InputError
from cuihop.files import input_file
from cuihop.files.input_file import InputFile
from example_graph import example_graph
from program_run import Run

COMMANDS = [
    "evaluate {run} --graph {graph} --unknown isolated --concepts {concepts} --qrels {qrels} "
    "--labels {labels} -m nn-CUI@3 -m AP -m 'P@3(modality)'",
    "evaluate {CSV_run} --graph {graph} --unknown isolated --concepts {concepts} --corpus {concepts}",
    "evaluate {array} --concepts {concepts} -m CUI@3",
    "evaluate {run} --qrels {qrels} -m AP",
    "evaluate {CSV_run} --label-concepts {labelling_concepts} -m 'P@3(organ)'",
    "compare a={run} b={CSV_run} c={array} --concepts {concepts} -m CUI@3 --resamples 10",
    "compare --labels {labels} a={run} b={CSV_run} -m 'P@3(modality)' --resamples 10",
    "study {concepts} --graph {graph} --unknown isolated --labels {labels} --embeddings mine={run} --only tables "
    "--no-plots --overwrite --output {out}",
    "score concepts {detected} a={detected} --manual-truth {detected} --training {detected} --resamples 10",
    "score irma {codes} {codes} --codes {code_book}",
    "score annotations {concepts} {concepts} --graph {graph} --resamples 10",
    "score captions {labels} {labels} --caption-column modality --reference-concepts {concepts} "
    "--predicted-concepts {concepts} --resamples 10",
    "distance --pairs {pairs} --graph {graph} --output {out}",
    "explain pair {concepts} img1 img2 --corpus {concepts} --graph {graph} --unknown isolated",
    "explain query {concepts} img1 --above img2 --below img3 --ranking {run} --graph {graph} --unknown isolated",
]
FOLDERS = ("graph", "out")


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("pipes") / "graph.cuihop"
    example_graph().save(path)
    return path


@pytest.fixture
def pipe() -> Iterator[Callable[[bytes], str]]:
    """Gives a pipe of some bytes the name that a shell gives it: ``/dev/fd/63``."""
    opened: list[int] = []

    def piped(content: bytes) -> str:
        read, write = os.pipe()
        opened.append(read)
        assert os.write(write, content) == len(content)
        os.close(write)
        return f"/dev/fd/{read}"

    yield piped
    for end in opened:
        os.close(end)


def line_of(command: str, graph: Path, folder: Path, give: Callable[[str], str]) -> list[str]:
    """The arguments; ``give`` makes an input of a kind, again wherever it is named."""

    def name(found: re.Match[str]) -> str:
        return {"graph": str(graph), "out": str(folder / "out")}.get(found[1]) or give(found[1].replace("_", " "))

    return [*shlex.split(re.sub(r"\{(\w+)\}", name, command)), "--json"]


def numbers(text: str) -> object:
    """The numbers that a command prints, without names of files and times."""
    found = json.loads(text)
    names = ("means", "differences", "numbers", "nn_iou", "counts", "above", "below", "shares", "pairs", "reached")
    systems = [system["means"] for system in found.get("systems", ())]
    return {**{name: found[name] for name in names if name in found}, "systems": systems}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_reads_pipes_as_files(
    command: str, graph: Path, tmp_path: Path, pipe: Callable[[bytes], str], program: Run
) -> None:
    def file(kind: str) -> str:
        path = tmp_path / f"{kind.replace(' ', '_')}{'.npy' if kind == 'array' else '.txt'}"
        path.write_bytes(CLEAN[kind])
        return str(path)

    expected = program(*line_of(command, graph, tmp_path, file))
    assert expected.code == 0, expected.err
    found = program(*line_of(command, graph, tmp_path, lambda kind: pipe(CLEAN[kind])))
    assert found.code == 0, found.err
    assert numbers(found.out) == numbers(expected.out)
    assert numbers(found.out)
    assert "/dev/fd/" in found.out


@pytest.mark.slow
def test_a_shell_gives_the_pipes(graph: Path, tmp_path: Path) -> None:
    (tmp_path / "images.csv.gz").write_bytes(gzip.compress(CLEAN["concepts"]))
    (tmp_path / "run.gz").write_bytes(gzip.compress(CLEAN["run"]))
    program = "from cuihop.cli import main; main()"
    line = (
        f"zcat images.csv.gz | {shlex.quote(sys.executable)} -c {shlex.quote(program)} evaluate --graph {graph} "
        "--unknown isolated --concepts - <(zcat run.gz) -m nn-CUI@3 --json"
    )
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    inputs = json.loads(done.stdout)["inputs"]
    assert inputs["concepts"].startswith("standard input: 6 images")
    assert inputs["ranking"].startswith("/dev/fd/")


@pytest.mark.parametrize(
    "line",
    [
        "evaluate - --concepts - -m CUI@3",
        "evaluate - --label-concepts - -m 'P@3(organ)'",
        "compare a=- b=- --concepts images.csv",
        "compare a=- - --concepts images.csv",
        "explain pair - a b --corpus - --graph graph",
        "score concepts - -",
        "score irma - codes --codes -",
        "score concepts truth - --manual-truth -",
    ],
)
def test_standard_input_is_read_once(line: str, program: Run) -> None:
    done = program(*shlex.split(line))
    assert done.code == 3
    assert "standard input is named twice; found -; expected - once" in done.err


def table(images: dict[str, str]) -> pa.Table:
    return pa.table({"ID": list(images), "CUIs": list(images.values())})


def parquet(images: dict[str, str]) -> bytes:
    raw = io.BytesIO()
    pyarrow.parquet.write_table(table(images), raw)
    return raw.getvalue()


def arrow(images: dict[str, str], *, stream: bool) -> bytes:
    raw = io.BytesIO()
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    with make(raw, table(images).schema) as writer:
        writer.write_table(table(images))
    return raw.getvalue()


FORMS = {
    "gzip": gzip.compress(CLEAN["concepts"]),
    "zstd": zstd(CLEAN["concepts"]),
    "JSON Lines": json_lines(CLEAN["concepts"].decode()),
    "Parquet": parquet(IMAGES),
    "Arrow file": arrow(IMAGES, stream=False),
    "Arrow stream": arrow(IMAGES, stream=True),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_pipe_may_hold_any_form(form: str, pipe: Callable[[bytes], str]) -> None:
    found = ImageConcepts.read(pipe(FORMS[form]))
    assert found.digest == ImageConcepts.of(IMAGES).digest
    assert form.split(maxsplit=1)[0] in found.account


def test_a_table_from_a_pipe_is_bounded(pipe: Callable[[bytes], str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_file, "LARGEST_PIPE", 500)
    with pytest.raises(InputError, match=r"more than is read from a pipe; expected 500 bytes at most.*Write it"):
        ImageConcepts.read(pipe(parquet(IMAGES)))
    assert len(ImageConcepts.read(pipe(CLEAN["concepts"]))) == 6


def test_the_digest_of_a_pipe_is_that_of_its_bytes(pipe: Callable[[bytes], str], tmp_path: Path) -> None:
    (tmp_path / "run").write_bytes(CLEAN["concepts"])
    expected = InputFile(tmp_path / "run").digest()
    before = InputFile(pipe(CLEAN["concepts"]))
    assert before.digest() == expected
    assert len(ImageConcepts.read(before)) == 6
    after = InputFile(pipe(CLEAN["concepts"]))
    ImageConcepts.read(after)
    assert after.digest() == expected
    with pytest.raises(InputError, match="can be read only once"):
        ImageConcepts.read(after)


def test_pipes_give_their_first_bytes_piecemeal(tmp_path: Path) -> None:
    raw = io.BytesIO()
    np.save(raw, np.arange(3))
    program = (
        "import sys, time\nfor b in sys.stdin.buffer.read(): sys.stdout.buffer.write(bytes([b])); sys.stdout.flush()"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as slow:
        assert slow.stdin is not None
        assert slow.stdout is not None
        slow.stdin.write(raw.getvalue())
        slow.stdin.close()
        file = InputFile(f"/dev/fd/{slow.stdout.fileno()}")
        assert file.form == "array"
        assert file.content() == raw.getvalue()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--concept-column", "terms"), None),
        (("--image-column", "file", "--concept-column", "TERMS"), None),
        (("--image-column", "picture", "--concept-column", "terms"), "no such column; found 'file, text, terms'"),
        (("--image-column", "terms", "--concept-column", "terms"), "one column for images and concepts"),
        ((), "wrong number of columns.*--image-column, --concept-column"),
    ],
)
def test_columns_are_chosen_by_name(
    options: tuple[str, ...], message: str | None, graph: Path, tmp_path: Path, program: Run
) -> None:
    header = "id" if "--image-column" not in options and options else "file"
    rows = "".join(f"{image},seen,{concepts}\n" for image, concepts in IMAGES.items())
    (tmp_path / "images.csv").write_text(f"{header},text,terms\n{rows}")
    done = program("explain", "pair", tmp_path / "images.csv", "img1", "img2", "-g", graph, "--json", *options)
    if message is None:
        assert done.code == 0, done.err
        assert json.loads(done.out)["inputs"]["concepts"].endswith(f"columns {header} and terms, without text")
    else:
        assert done.code == 3
        assert re.search(message, " ".join(done.err.split()))
