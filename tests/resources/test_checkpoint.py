"""Interrupted evaluations go on where they were, and give the same numbers to the last bit."""

from __future__ import annotations

import errno
import json
import os
import random
import resource
import signal
import struct
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xxhash

from cuihop import SnapshotGraph
from cuihop.errors import FileNotRemoved, InputError, OutputError
from cuihop.evaluation.evaluate import evaluate
from cuihop.evaluation.result import Evaluation
from cuihop.measures.nearness import Nearness
from cuihop.relevance.baselines import top_k
from cuihop.resources.checkpoint import MAGIC, Checkpoint, FinishedBlock
from cuihop.resources.resources import Resources
from cuihop.snapshot.index_builder import build_index
from flat_options import evaluate_flat
from waiting import wait_for

CUIS = [f"C{i:07d}" for i in range(400)]
MEASURES = ["nn-CUI@5,10", "nn-CUI@5(n=2)", "CUI@10", "nn-CUI@3(λ=0.2)"]

MADE = """
import random
from cuihop import SnapshotGraph
rng = random.Random(8)
cuis = [f"C{i:07d}" for i in range(400)]
edges = [(rng.choice(cuis), rng.choice(cuis)) for _ in range(600)]
graph = SnapshotGraph.of(edges, concepts=cuis)
images = {f"i{i:04}": frozenset(rng.sample(cuis, rng.randrange(5))) for i in range(1500)}
ranking = {i: rng.sample(sorted(images), 12) for i in images}
"""


@pytest.fixture(scope="module")
def job() -> dict[str, Any]:
    values: dict[str, Any] = {}
    exec(MADE, values)  # noqa: S102 (the same program as in the other processes)
    return values


@pytest.fixture(scope="module")
def whole(job: dict[str, Any]) -> Evaluation:
    return evaluate(job["images"], job["ranking"], job["graph"], measures=MEASURES)


def same(found: Evaluation, expected: Evaluation) -> bool:
    gains = all(column.tobytes() == expected.best_gains[gain].tobytes() for gain, column in found.best_gains.items())
    return gains and found.values.tobytes() == expected.values.tobytes() and found.counts == expected.counts


def stopping(after: int) -> Callable[[int, int], None]:
    calls = []

    def progress(done: int, total: int) -> None:
        calls.append(done)
        if len(calls) == after:
            raise KeyboardInterrupt

    return progress


def interrupted(job: dict[str, Any], path: Path, after: int = 4, **options: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        evaluate_flat(
            job["images"], job["ranking"], job["graph"], measures=MEASURES, **options, checkpoint=path,
            progress=stopping(after),
        )  # fmt: skip


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("after", [1, 4, 13])
def test_an_interrupted_evaluation_goes_on(
    job: dict[str, Any], whole: Evaluation, tmp_path: Path, threads: int, after: int
) -> None:
    path = tmp_path / "blocks"
    interrupted(job, path, after, threads=threads)
    left = path.stat().st_size
    found = evaluate(
        job["images"],
        job["ranking"],
        job["graph"],
        measures=MEASURES,
        resources=Resources(checkpoint=path, keep_checkpoint=True, threads=3 - threads, memory="50MB"),
    )
    assert same(found, whole)
    assert path.stat().st_size >= left


def test_a_finished_checkpoint_needs_no_work(job: dict[str, Any], whole: Evaluation, tmp_path: Path) -> None:
    path = tmp_path / "blocks"
    options: dict[str, Any] = {"measures": MEASURES, "checkpoint": path, "keep_checkpoint": True}
    evaluate_flat(job["images"], job["ranking"], job["graph"], **options)
    before = path.read_bytes()
    assert same(evaluate_flat(job["images"], job["ranking"], job["graph"], **options), whole)
    assert path.read_bytes() == before


def test_after_success_the_file_is_gone(job: dict[str, Any], whole: Evaluation, tmp_path: Path) -> None:
    path = tmp_path / "blocks"
    interrupted(job, path)
    assert path.exists()
    assert same(
        evaluate(job["images"], job["ranking"], job["graph"], measures=MEASURES, resources=Resources(checkpoint=path)),
        whole,
    )
    assert not path.exists()


def test_a_ranking_goes_on(job: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "blocks"
    expected = top_k(job["images"], job["graph"], 12, nearness=Nearness(n=2))
    with pytest.raises(KeyboardInterrupt):
        top_k(
            job["images"],
            job["graph"],
            12,
            nearness=Nearness(n=2),
            resources=Resources(checkpoint=path, progress=stopping(3)),
        )
    assert (
        top_k(
            job["images"], job["graph"], 12, nearness=Nearness(n=2), resources=Resources(checkpoint=path)
        ).rows.tobytes()
        == expected.rows.tobytes()
    )
    assert not path.exists()


OTHERS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "content of queries": lambda job: {"queries": {**job["images"], "i0000": frozenset(CUIS[:4])}},
    "content of corpus": lambda job: {"corpus": {**job["images"], "i0000": frozenset(CUIS[:4])}},
    "order of images": lambda job: {"queries": dict(reversed(job["images"].items()))},
    "content of ranking": lambda job: {"ranking": {**job["ranking"], "i0000": ["i0003"]}},
    "release digest": lambda job: {"graph": SnapshotGraph.of([("C0000001", "C0000002")], concepts=CUIS)},
    "measures": lambda job: {"measures": ["nn-CUI@5"]},
    "n": lambda job: {"n": 2},
    "lambda": lambda job: {"lam": 0.25},
    "direction": lambda job: {"direction": "up"},
    "unknown": lambda job: {"unknown": "isolated"},
    "empty_ideal": lambda job: {"empty_ideal": "skip"},
}


@pytest.mark.parametrize("field", OTHERS)
def test_a_checkpoint_of_other_inputs_is_refused_and_left_alone(
    job: dict[str, Any], tmp_path: Path, field: str
) -> None:
    path = tmp_path / "blocks"
    interrupted(job, path)
    before = path.read_bytes()
    given: dict[str, Any] = {
        "queries": job["images"],
        "ranking": job["ranking"],
        "graph": job["graph"],
        "measures": MEASURES,
    }
    given |= OTHERS[field](job)
    with pytest.raises(InputError, match="other inputs") as refused:
        evaluate_flat(given.pop("queries"), given.pop("ranking"), given.pop("graph"), **given, checkpoint=path)
    assert refused.value.column == field
    assert path.read_bytes() == before


def test_a_checkpoint_of_another_version_is_refused(
    job: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "blocks"
    interrupted(job, path)
    monkeypatch.setattr("cuihop.relevance.image_collection.versions", lambda *names: dict.fromkeys(names, "99.0"))
    with pytest.raises(InputError, match="version of cuihop"):
        evaluate(job["images"], job["ranking"], job["graph"], measures=MEASURES, resources=Resources(checkpoint=path))


@pytest.mark.slow
def test_what_is_torn_at_the_end_is_computed_again(job: dict[str, Any], whole: Evaluation, tmp_path: Path) -> None:
    path = tmp_path / "blocks"
    interrupted(job, path, after=3)
    good = path.read_bytes()
    rng = random.Random(1)
    cuts = [0, 1, 7, 16, 17, 31, 60, *(rng.randrange(len(good)) for _ in range(6)), len(good) - 1]
    for cut in cuts:
        path.write_bytes(good[:cut])
        found = evaluate(
            job["images"], job["ranking"], job["graph"], measures=MEASURES, resources=Resources(checkpoint=path)
        )
        assert same(found, whole), cut


def test_a_damaged_block_and_all_after_it_are_computed_again(
    job: dict[str, Any], whole: Evaluation, tmp_path: Path
) -> None:
    path = tmp_path / "blocks"
    interrupted(job, path, after=5)
    good = path.read_bytes()
    begin = good.index(b"}") + 1
    for place in (begin + 3, begin + 9, begin + 40, len(good) - 5):
        path.write_bytes(good[:place] + bytes([good[place] ^ 0x10]) + good[place + 1 :])
        found = evaluate(
            job["images"], job["ranking"], job["graph"], measures=MEASURES, resources=Resources(checkpoint=path)
        )
        assert same(found, whole), place


@pytest.mark.parametrize("content", [b"image,CUIs\nx,C0000001\n", b"\0" * 40, b"cuihop blocks 2\n"])
def test_another_file_is_never_overwritten(job: dict[str, Any], tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "blocks"
    path.write_bytes(content)
    with pytest.raises(InputError, match="not a checkpoint"):
        evaluate(job["images"], job["ranking"], job["graph"], resources=Resources(checkpoint=path))
    assert path.read_bytes() == content


def test_a_folder_in_its_place_is_an_error(job: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        evaluate(job["images"], job["ranking"], job["graph"], resources=Resources(checkpoint=tmp_path))


def test_records_that_are_none_are_refused_whatever_their_checksum(tmp_path: Path) -> None:
    path = tmp_path / "x.blocks"
    with Checkpoint(path, {"a": 1}) as saved:
        saved.add(FinishedBlock(0, 0, np.arange(2), np.ones((2, 3))))
    good = path.read_bytes()
    head = good[: good.index(b'{"a": 1}') + 8]

    def record(content: bytes) -> bytes:
        return struct.pack("<QQ", len(content), xxhash.xxh3_64_intdigest(content)) + content

    def block(queries: int, places: list[int], values: int) -> bytes:
        return record(struct.pack(f"<qqq{len(places)}q{values}d", 0, 0, queries, *places, *[1.0] * values))

    for forged in (
        MAGIC + record(b"no JSON"), MAGIC + record(b"[]"), MAGIC + record(b"[" * 100_000), MAGIC + record(b""),
        head + record(b""), head + record(b"x" * 23), head + block(-1, [], 0), head + block(2**62, [], 0),
        head + block(2, [0], 0), head + block(2, [0, 1], 3), head + block(0, [], 3), head + block(2, [0, -1], 6),
        head + block(2, [1, 1], 6),
    ):  # fmt: skip
        path.write_bytes(forged)
        with pytest.raises(InputError, match="not a checkpoint"):
            Checkpoint(path, {"a": 1})
        assert path.read_bytes() == forged
    path.write_bytes(head + block(2, [0, 1], 6))
    with Checkpoint(path, {"a": 1}) as saved:
        assert saved.finished[0].values.shape == (2, 3)


def test_a_pipe_in_its_place_is_an_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OutputError, match="a device or a pipe"):
        Checkpoint(tmp_path / "pipe", {})


def test_two_jobs_do_not_share_a_file(tmp_path: Path) -> None:
    with (
        Checkpoint(tmp_path / "blocks", {"n": 1}),
        pytest.raises(InputError, match="another process"),
    ):
        Checkpoint(tmp_path / "blocks", {"n": 1})


def test_values_come_back_as_they_were(tmp_path: Path) -> None:
    values = np.array([[0.1, np.nan], [5e-324, -0.0]])
    with Checkpoint(tmp_path / "blocks", {"n": 1}) as first:
        first.add(FinishedBlock(2, 7, np.array([4, 1], dtype=np.int64), values))
    with Checkpoint(tmp_path / "blocks", {"n": 1}) as second:
        assert list(second.taken(1)) == []
        (block,) = second.taken(2)
        assert list(second.taken(2)) == []
    assert (block.number, block.queries.tolist(), block.values.tobytes()) == (7, [4, 1], values.tobytes())


# Real processes

PROGRAM = MADE + textwrap.dedent("""
    import json, sys
    from cuihop.evaluation.evaluate import evaluate
    from cuihop.resources.resources import Resources
    def tell(done, total):
        print(done, flush=True)
        if len(sys.argv) > 2:
            sys.stdin.readline()  # the other process decides when to go on
    measures = ["nn-CUI@5,10", "nn-CUI@5(n=2)", "CUI@10", "nn-CUI@3(λ=0.2)"]
    result = evaluate(images, ranking, graph, measures=measures,
                      resources=Resources(checkpoint=sys.argv[1], progress=tell, threads=2))
    print("finished", result.values.tobytes().hex())
""")


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_process_loses_no_finished_block(whole: Evaluation, tmp_path: Path, sent: signal.Signals) -> None:
    path = tmp_path / "blocks"
    command = [sys.executable, "-c", PROGRAM, str(path)]
    process = subprocess.Popen(
        [*command, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdin is not None
    for _ in range(3):
        assert process.stdout.readline().strip().isdecimal()
        process.stdin.write("\n")
        process.stdin.flush()
    process.send_signal(sent)
    process.communicate(timeout=300)
    assert process.returncode != 0
    with Checkpoint(path, json.loads(_header(path))) as left:
        assert len(left.finished) >= 3
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == f"finished {whole.values.tobytes().hex()}"
    assert not path.exists()


def _header(path: Path) -> bytes:
    raw = path.read_bytes()
    return raw[32 : 32 + int.from_bytes(raw[16:24], "little")]


@pytest.mark.slow
def test_a_full_disk_is_told_and_what_was_finished_stays_good(whole: Evaluation, tmp_path: Path) -> None:
    path = tmp_path / "blocks"
    program = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n" + PROGRAM
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "OutputError" in done.stderr
    assert "File too large" in done.stderr
    assert 0 < path.stat().st_size <= 20_000
    again = subprocess.run([sys.executable, "-c", PROGRAM, str(path)], capture_output=True, text=True, check=True)
    assert again.stdout.splitlines()[-1] == f"finished {whole.values.tobytes().hex()}"


def test_every_writer_is_told_why_the_disk_took_no_more(tmp_path: Path) -> None:
    block = FinishedBlock(0, 0, np.arange(200), np.zeros((200, 1)))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Checkpoint(tmp_path / "blocks", {"n": 1}) as checkpoint:
        checkpoint.add(block)
        resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, limits[1]))
        try:
            for _ in range(2):
                with pytest.raises(OutputError, match="File too large"):
                    checkpoint.add(block)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        with pytest.raises(OutputError, match="File too large"):  # there is room again, but after a torn block
            checkpoint.add(block)
    with Checkpoint(tmp_path / "blocks", {"n": 1}) as left:
        assert len(left.finished) == 1


@pytest.mark.slow
def test_the_command_goes_on_after_ctrl_c(tmp_path: Path) -> None:
    rng = random.Random(5)
    cuis = [f"C{i:07d}" for i in range(3000)]
    SnapshotGraph.of([(rng.choice(cuis), rng.choice(cuis)) for _ in range(5000)], concepts=cuis).save(
        tmp_path / "graph.cuihop"
    )
    lines = [f"i{i},{';'.join(rng.sample(cuis, 4))}\n" for i in range(6_000)]
    (tmp_path / "images.csv").write_text("ID,CUIs\n" + "".join(lines))
    command = [
        sys.executable, "-m", "cuihop", "evaluate", "--concepts", "images.csv", "--graph", "graph.cuihop",
        "--baseline", "nn-iou", "--hops", "2", "-m", "nn-CUI@10", "-m", "CUI@10", "--threads", "2",
    ]  # fmt: skip
    resumed = [*command, "--checkpoint", "folder", "--output", "resumed.csv"]
    blocks = tmp_path / "folder" / "evaluation.blocks"
    process = subprocess.Popen(resumed, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: process.poll() is not None or (blocks.exists() and blocks.stat().st_size > 1000))
    assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "the same command resumes from there" in err
    subprocess.run(resumed, cwd=tmp_path, check=True, capture_output=True)
    subprocess.run([*command, "--output", "whole.csv"], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "resumed.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert not (tmp_path / "folder").exists()


def test_work_is_not_lost_because_its_checkpoint_cannot_be_removed(
    job: dict[str, Any], whole: Evaluation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path, missing_ok: bool = False) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    pairs = [(a, b) for (a, _), (_, b) in zip(job["edges"], job["edges"][::-1], strict=True)]
    resources, levels = Resources(checkpoint=tmp_path / "blocks"), tmp_path / "levels"
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refused)
        with pytest.warns(FileNotRemoved, match=r"blocks: no longer needed, but .* Read-only file system"):
            found = evaluate(job["images"], job["ranking"], job["graph"], measures=MEASURES, resources=resources)
        with pytest.warns(FileNotRemoved, match="levels: no longer needed"):
            index = build_index(graph := SnapshotGraph.of(job["edges"]), checkpoint=levels)
    assert same(found, whole)
    graph.use_index(index)
    assert graph.distances(pairs) == job["graph"].distances(pairs)
    again = evaluate(job["images"], job["ranking"], job["graph"], measures=MEASURES, resources=resources)
    assert same(again, whole)
    assert not resources.checkpoint.exists()  # type: ignore[union-attr]
