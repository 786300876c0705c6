"""Many texts: the same bytes in blocks, on any number of threads, and after an interrupt at any point."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

import pytest

import cuihop
from cuihop import SnapshotGraph
from cuihop.annotated_texts import documents
from cuihop.annotated_texts.bulk import AnnotationSummary, annotate_texts, unfinished_path
from cuihop.annotated_texts.documents import AnnotatedDocument, DocumentRows
from cuihop.annotated_texts.reading import open_texts
from cuihop.annotated_texts.writing import SpansFormat
from cuihop.annotation.options import AnnotationOptions
from cuihop.errors import InputError, OutputError
from cuihop.files.records import RowErrors
from cuihop.resources.resources import Resources
from cuihop_server import running_service
from example_graph import example_graph
from waiting import wait_for

A_BLOCK, A_BLOCK_OF_THE_PROGRAM = 512, documents._TEXTS_A_BLOCK
LINES = 2_500
UNFINISHED = ("concepts.csv.unfinished-part", "spans.csv.unfinished-part", "concepts.csv.unfinished")
FORMS: list[SpansFormat] = ["csv", "jsonl", "pubtator", "brat"]


@pytest.fixture(scope="module")
def graph() -> SnapshotGraph:
    return example_graph()


@pytest.fixture(scope="module", autouse=True)
def short_blocks() -> Iterator[None]:
    """Blocks of fewer texts: how many blocks there are matters here, and not how long they are."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(documents, "_TEXTS_A_BLOCK", A_BLOCK)
        yield


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lines of text in five blocks."""
    path: Path = tmp_path_factory.mktemp("texts") / "texts.txt"
    chosen = random.Random(17)
    words = ["brain stem", "Head", "vein", "arteries", "and", "of", "", "\U0001f9e0", "no aorta"]
    path.write_text("".join(" ".join(chosen.choices(words, k=3)) + "\n" for _ in range(LINES)), encoding="utf-8")
    return path


class Interrupted(BaseException):
    """The end of a run in these tests."""


def run(
    texts: Path,
    graph: SnapshotGraph,
    folder: Path,
    *,
    blocks: int | None = None,
    spans: SpansFormat | None = "csv",
    threads: int | None = None,
    options: AnnotationOptions | None = None,
) -> AnnotationSummary:
    """Annotate into a folder; ``blocks`` interrupts after as many."""
    done = 0

    def report(*_: int) -> None:
        nonlocal done
        done += 1
        if done == blocks:
            raise Interrupted

    return annotate_texts(
        open_texts(texts), graph, folder / "concepts.csv", spans=None if spans is None else folder / f"spans.{spans}",
        spans_form=spans or "csv", options=options, resources=Resources(threads, progress=report),
    )  # fmt: skip


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def whole(texts: Path, graph: SnapshotGraph, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("whole")
    run(texts, graph, folder, threads=1)
    return contents(folder)


def test_the_order_is_that_of_the_input(whole: dict[str, bytes], texts: Path, graph: SnapshotGraph) -> None:
    found = graph.annotate_many(texts.read_text(encoding="utf-8").splitlines())
    rows = [f"{n},{';'.join(cuis)}\n" for n, cuis in enumerate(found.concept_lists(), start=1)]
    assert whole["concepts.csv"].decode() == "ID,CUIs\n" + "".join(rows)
    assert set(whole) == {"concepts.csv", "spans.csv"}
    assert whole["spans.csv"].count(b"\n") == len(found.terms) + 1


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_nothing(
    threads: int, whole: dict[str, bytes], texts: Path, graph: SnapshotGraph, tmp_path: Path
) -> None:
    run(texts, graph, tmp_path, threads=threads)
    assert contents(tmp_path) == whole


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_a_run_goes_on_from_any_point(
    seed: int, whole: dict[str, bytes], texts: Path, graph: SnapshotGraph, tmp_path: Path
) -> None:
    chosen = random.Random(seed)
    for blocks in chosen.sample([1, 2], k=chosen.choice([1, 2])):
        with pytest.raises(Interrupted):
            run(texts, graph, tmp_path, blocks=blocks)
        assert set(contents(tmp_path)) == set(UNFINISHED)
        # A kill may leave a part of a block in each file.
        for name in UNFINISHED:
            if chosen.random() < 0.7:
                with (tmp_path / name).open("ab") as file:
                    file.write(chosen.randbytes(chosen.randrange(1, 2000)))
    account = run(texts, graph, tmp_path)
    assert contents(tmp_path) == whole
    assert 0 < account.resumed < LINES
    expected = run(texts, graph, tmp_path)
    assert dataclasses.replace(account, resumed=0) == expected
    assert expected.texts == LINES


def has_finished_a_block(checkpoint: Path) -> bool:
    """True where a record follows that of the inputs: a block whose text is written may not be recorded yet."""
    content = checkpoint.read_bytes()
    return len(content) > 32 + int.from_bytes(content[16:24], "little")


@pytest.mark.slow
def test_a_killed_program_goes_on(
    texts: Path, graph: SnapshotGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "_TEXTS_A_BLOCK", A_BLOCK_OF_THE_PROGRAM)
    content = texts.read_bytes() * 2
    long = tmp_path / "long.txt"
    long.write_bytes(content)
    once = tmp_path / "once"
    once.mkdir()
    run(long, graph, once)
    graph.save(tmp_path / "graph.cuihop")
    pipe = tmp_path / "texts.txt"
    os.mkfifo(pipe)
    folder = tmp_path / "out"
    folder.mkdir()
    arguments = [
        sys.executable, "-m", "cuihop", "annotate", str(pipe), "--graph", str(tmp_path / "graph.cuihop"),
        "--output", str(folder / "concepts.csv"), "--spans", str(folder / "spans.csv"), "--threads", "1",
    ]  # fmt: skip
    program = subprocess.Popen(arguments, stderr=subprocess.PIPE)
    state = folder / "concepts.csv.unfinished"
    with pipe.open("wb") as end:
        end.write(content[:-10])  # the last block never comes
        end.flush()
        wait_for(lambda: program.poll() is not None or (state.exists() and has_finished_a_block(state)))
        program.send_signal(signal.SIGKILL)
        program.communicate()
    assert program.returncode == -signal.SIGKILL
    account = run(long, graph, folder)
    assert contents(folder) == contents(once)
    assert account.resumed > 0


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_every_format_goes_on_to_the_same_bytes(
    form: SpansFormat, texts: Path, graph: SnapshotGraph, tmp_path: Path
) -> None:
    short = tmp_path / "texts.txt"
    short.write_bytes(b"".join(texts.read_bytes().splitlines(keepends=True)[: A_BLOCK + 4]))
    once, twice = tmp_path / "once", tmp_path / "twice"
    once.mkdir()
    twice.mkdir()
    run(short, graph, once, spans=form)
    with pytest.raises(Interrupted):
        run(short, graph, twice, spans=form, blocks=1)
    run(short, graph, twice, spans=form)
    assert contents(once) == contents(twice)


def test_what_an_unfinished_run_depends_on_may_not_change(texts: Path, graph: SnapshotGraph, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    with pytest.raises(Interrupted):
        run(texts, graph, folder, blocks=2)
    other = tmp_path / "other.txt"
    other.write_text("Head\n" + texts.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(
        InputError, match=r"other.txt: the texts are not those of the unfinished run.*delete .*unfinished"
    ):
        run(other, graph, folder)
    other.write_text("Head\n", encoding="utf-8")
    with pytest.raises(InputError, match="the texts are not those of the unfinished run"):
        run(other, graph, folder)
    with pytest.raises(InputError, match="field options: the checkpoint belongs to a job of other inputs"):
        run(texts, graph, folder, options=AnnotationOptions(longest=False))
    with pytest.raises(InputError, match="field spans"):
        run(texts, graph, folder, spans=None)
    part = folder / "concepts.csv.unfinished-part"
    part.write_bytes(part.read_bytes()[:-100])
    with pytest.raises(InputError, match=r"concepts.csv.unfinished-part: not what the unfinished run wrote"):
        run(texts, graph, folder)
    unfinished_path(folder / "concepts.csv").unlink()
    assert run(texts, graph, folder).resumed == 0
    assert set(contents(folder)) == {"concepts.csv", "spans.csv"}


def test_a_fault_in_the_first_block_leaves_nothing(graph: SnapshotGraph, tmp_path: Path) -> None:
    texts = tmp_path / "texts.csv"
    texts.write_text("ID,Caption\n1,Head\n,Head\n")
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "concepts.csv").write_text("as before")
    with pytest.raises(InputError, match="line 3, column 1: the identifier is missing"):
        run(texts, graph, folder)
    assert contents(folder) == {"concepts.csv": b"as before"}


def test_an_option_that_the_graph_lacks_is_refused_before_anything(
    texts: Path, graph: SnapshotGraph, tmp_path: Path
) -> None:
    (tmp_path / "spans.brat").mkdir()
    with pytest.raises(OutputError, match="it exists already, and BRAT needs a new folder"):
        run(texts, graph, tmp_path, spans="brat")
    assert not contents(tmp_path)


def test_an_input_without_texts_is_refused(graph: SnapshotGraph, tmp_path: Path) -> None:
    texts = tmp_path / "texts.csv"
    texts.write_text("ID,Caption\n")
    with pytest.raises(InputError, match="the input holds no text; found header 'ID,Caption'"):
        run(texts, graph, tmp_path)
    assert set(contents(tmp_path)) == {"texts.csv"}


def test_the_account(graph: SnapshotGraph, tmp_path: Path) -> None:
    texts = tmp_path / "texts.jsonl"
    rows = [
        ("a", "Head of the brain stem"),
        ("b", " "),
        ("c", "nothing"),
        ("a", "Head of the brain stem"),
        ("d", "heads"),
    ]
    texts.write_text("".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in rows))
    account = run(texts, graph, tmp_path, options=AnnotationOptions(candidates=True))
    assert account == AnnotationSummary(
        source=str(texts), form="JSON Lines", texts=4, repeated=1, empty=1, without_concepts=2, mentions=3, concepts=2,
        left_out_by_context=0, ambiguous=0, text_column="text",
    )  # fmt: skip
    assert account.of_input == f"{texts}: 4 texts, 1 empty, 1 repeated and left out, JSON Lines"


def test_a_stream_gets_the_same_bytes(texts: Path, graph: SnapshotGraph, whole: dict[str, bytes]) -> None:
    stream = io.BytesIO()
    annotate_texts(open_texts(texts), graph, stream)
    assert stream.getvalue() == whole["concepts.csv"]


def test_a_service_gives_the_same_bytes(
    texts: Path, graph: SnapshotGraph, whole: dict[str, bytes], tmp_path: Path
) -> None:
    with running_service(graph) as service, cuihop.connect(service.grpc) as remote:
        account = annotate_texts(
            open_texts(texts), remote, tmp_path / "concepts.csv", spans=tmp_path / "spans.csv", spans_form="csv"
        )
    assert contents(tmp_path) == whole
    assert account.texts == LINES


@pytest.mark.slow
def test_memory_does_not_grow_with_the_texts(graph: SnapshotGraph) -> None:
    """Texts come from a generator, go to a stream that forgets them, and never wait in large numbers."""
    texts = 50 * A_BLOCK
    taken = written = 0
    most = 0

    class Forgetful:
        def write(self, content: bytes) -> int:
            nonlocal written, most
            written += content.count(b"\n")
            most = max(most, taken - written)
            return len(content)

    def rows() -> Iterator[tuple[int, AnnotatedDocument]]:
        nonlocal taken
        for number in range(1, texts + 1):
            taken = number
            yield number, AnnotatedDocument(str(number), "Head")

    source = DocumentRows("memory", "", rows(), RowErrors("memory"))
    account = annotate_texts(source, graph, cast(BinaryIO, Forgetful()), resources=Resources(2))
    assert account.texts == texts
    assert most < texts // 4
