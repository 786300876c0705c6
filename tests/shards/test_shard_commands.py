"""Shards and their merge give what one process gives, byte for byte, whatever was killed on the way."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from example_graph import EDGES, UNKNOWN, example_graph
from program_run import Done, Run

CONCEPTS = sorted({concept for edge in EDGES for concept in edge} | {UNKNOWN})
IMAGES = [f"i{place:03}" for place in range(150)]
SHARDS = range(1, 5)

COLLECTION = ("--concepts", "concepts.csv", "--graph", "g.cuihop", "--unknown", "isolated")
FILES = ("--output", "values.csv", "--card", "card.json", "--json")
COMMANDS = {
    "nn-IoU of two n": ("evaluate", *COLLECTION, "a.run", "-m", "nn-CUI@5,10", "-m", "nn-CUI@5(n=2)",
                        "-m", "CUI@10", "--plot", "plot.svg", "--worst", "3", *FILES[:-1]),
    "by hops": ("evaluate", *COLLECTION, "a.run", "--weight", "hops", "-n", "2", *FILES),
    "by Lin": ("evaluate", *COLLECTION, "a.run", "--weight", "Lin", "-n", "2", *FILES),
    "labels beside concepts": ("evaluate", *COLLECTION, "a.run", "--labels", "labels.csv", "-m",
                               "P@5(modality)", "-m", "nn-CUI@5", "--by", "modality", *FILES),
    "a corpus of its own": ("evaluate", *COLLECTION, "--corpus", "corpus.csv", "--baseline", "nn-iou", *FILES),
    "judgements": ("evaluate", "a.run", "--qrels", "qrels.txt", "-m", "AP", "-m", "nDCG@10", *FILES),
    "vectors": ("evaluate", *COLLECTION, "v.npy", "--labels", "labels.csv", "-m", "nn-CUI@5", "-m",
                "P@5(modality)", *FILES),
    "vectors and labels alone": ("evaluate", "v.npy", "--labels", "labels.csv", "-m", "P@5(modality)",
                                 "-m", "AP(modality)", *FILES),
    **{f"ranked by {by}": ("evaluate", *COLLECTION, "--baseline", by, *FILES)
       for by in ("iou", "nn-iou", "bm", "tf-idf", "random:3")},
    "two systems": ("compare", "A=a.run", "V=v.npy", *COLLECTION, "--labels", "labels.csv", "-m", "nn-CUI@5", "-m",
                    "P@5(modality)", "--resamples", "200", "--cards", "cards", "--output",
                    "values.csv", "--report", "report.md", "--json"),
    "two runs, also by rank": ("compare", "A=a.run", "B=b.run", *COLLECTION, "-m", "nn-CUI@5", "--measure-by-rank",
                               "CUI@5", "--resamples", "200", "--output", "values.csv"),
    "captions": ("score", "captions", "ref.csv", "A=a.csv", "B=b.csv", "-m", "ROUGE-1", "-m", "ROUGE-L", "-m", "BLEU@2",
                 "--resamples", "200", "--cards", "cards", "--output", "values.csv", "--json"),
}  # fmt: skip
STUDY = ("study", "concepts.csv", "--graph", "g.cuihop", "--unknown", "isolated", "--labels", "labels.csv",
         "--embeddings", "V=v.npy", "--only", "tables", "--only", "ablation", "--output", "study",
         "--score-cards", "--no-plots")  # fmt: skip


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection of many distinct concept sets, judged in every way."""
    folder = tmp_path_factory.mktemp("inputs")
    draw = np.random.default_rng(11)

    def sets(names: list[str]) -> str:
        rows = (draw.choice(CONCEPTS, draw.integers(1, 6), replace=False) for _ in names)
        return "ID,CUIs\n" + "".join(f"{name},{';'.join(row)}\n" for name, row in zip(names, rows, strict=True))

    def captions() -> str:
        words = ["vein", "head", "of", "aorta", "left", "mass"]
        return "ID,Caption\n" + "".join(f"{name},{' '.join(draw.choice(words, 6))}\n" for name in IMAGES)

    def run(column: Callable[[str, str, int], str]) -> str:
        lists = ((query, draw.choice(IMAGES, 12, replace=False)) for query in IMAGES)
        return "".join(column(query, image, place) for query, images in lists for place, image in enumerate(images))

    example_graph().save(folder / "g.cuihop")
    np.save(folder / "v.npy", draw.normal(size=(len(IMAGES), 4)).astype(np.float32))
    texts = {
        "concepts.csv": sets(IMAGES), "corpus.csv": sets([f"c{place}" for place in range(80)]),
        "labels.csv": "ID,modality\n" + "".join(f"{name},{draw.choice(['CT', 'MRI'])}\n" for name in IMAGES),
        "a.run": run(lambda query, image, place: f"{query} Q0 {image} {place + 1} {20 - place} a\n"),
        "b.run": run(lambda query, image, place: f"{query} Q0 {image} {place + 1} {30 - place} b\n"),
        "qrels.txt": run(lambda query, image, place: f"{query} 0 {image} {place % 3}\n"),
        "ref.csv": captions(), "a.csv": captions(), "b.csv": captions(),
    }  # fmt: skip
    for name, text in texts.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def one_process(inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Run) -> Callable[..., Done]:
    """Run a command in one process, and go to another folder of the same inputs."""
    monkeypatch.delenv("CUIHOP_GRAPH", raising=False)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    for name in ("one", "many"):
        shutil.copytree(inputs, tmp_path / name)

    def run(*command: str) -> Done:
        monkeypatch.chdir(tmp_path / "one")
        done = program(*command)
        assert done.code == 0, done.err
        monkeypatch.chdir(tmp_path / "many")
        return done

    return run


def written(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and "parts" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def of_one_process(tmp_path: Path) -> dict[str, bytes]:
    return written(tmp_path / "one")


def shards(program: Run, command: tuple[str, ...], numbers: object = SHARDS, count: int = 4) -> None:
    for number in numbers:  # type: ignore[attr-defined]
        done = program(*command, "--shard", f"{number}/{count}", "--checkpoint", "parts")
        assert done.code == 0, done.err
        if "--json" in command:
            assert json.loads(done.out)["folder"] == f"parts/{number}-of-{count}"
        else:
            assert done.out.startswith(f"shard {number}/{count}: ")
            assert done.out.rstrip().endswith(f"in parts/{number}-of-{count}; cuihop shards merge parts")


@pytest.mark.parametrize("case", COMMANDS)
def test_four_shards_are_one_process(
    case: str, one_process: Callable[..., Done], tmp_path: Path, program: Run
) -> None:  # fmt: skip
    command = COMMANDS[case]
    expected = one_process(*command)
    shards(program, command)
    assert written(tmp_path / "many").keys() == {path.name for path in (tmp_path / "many").iterdir() if path.is_file()}
    for _ in range(2):
        merged = program("shards", "merge", "parts")
        assert (merged.code, merged.out) == (0, expected.out)
        assert written(tmp_path / "many") == of_one_process(tmp_path)


def test_a_study_of_four_shards_is_that_of_one_process(
    one_process: Callable[..., Done], tmp_path: Path, program: Run
) -> None:  # fmt: skip
    one_process(*STUDY)
    shards(program, STUDY)
    assert not Path("study").exists()
    assert program("shards", "merge", "parts").code == 0
    run, expected = ("study/cuihop-study.json", written(tmp_path / "many")), of_one_process(tmp_path)
    timed = [json.loads(each.pop(run[0])) for each in (run[1], expected)]
    assert run[1] == expected
    assert all(timed[0][name] == timed[1][name] for name in ("inputs", "files", "versions"))


def test_the_command_without_a_shard_uses_those_that_are_finished(
    one_process: Callable[..., Done], tmp_path: Path, program: Run
) -> None:  # fmt: skip
    command = COMMANDS["ranked by nn-iou"]
    expected = one_process(*command)
    shards(program, command, (2, 4))
    assert program(*command, "--checkpoint", "parts").out == expected.out
    assert written(tmp_path / "many") == of_one_process(tmp_path)
    assert {path.name for path in Path("parts").iterdir()} == {"2-of-4", "4-of-4"}


KILLED_AFTER = """
import os, signal, sys
from cuihop.cli import main
from cuihop.resources.checkpoint import Checkpoint
add, left = Checkpoint.add, [int(sys.argv.pop(1))]
def added(self, block):
    add(self, block)
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
Checkpoint.add = added
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("case", ["ranked by nn-iou", "vectors", "two systems", "captions"])
def test_a_shard_that_was_killed_and_run_again_is_whole(
    case: str, one_process: Callable[..., Done], tmp_path: Path, program: Run
) -> None:  # fmt: skip
    command = COMMANDS[case]
    expected = one_process(*command)
    shards(program, command, (1, 2, 4))
    again = [*command, "--shard", "3/4", "--checkpoint", "parts"]
    killed = subprocess.run([sys.executable, "-c", KILLED_AFTER, "2", *again], check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL
    refused = program("shards", "merge", "parts")
    assert refused.code == 3
    assert "1 of 4 shards are not finished" in refused.err
    assert "3 not finished" in refused.err
    assert "--array=3 " in refused.err
    shards(program, command, (3,))
    assert program("shards", "merge", "parts").out == expected.out
    assert written(tmp_path / "many") == of_one_process(tmp_path)


@pytest.fixture
def here(inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("CUIHOP_GRAPH", raising=False)
    shutil.copytree(inputs, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


SHORT = ("evaluate", *COLLECTION, "a.run", "-m", "CUI@5", "--json")


def test_shards_that_do_not_fit_are_refused_by_name(here: Path, program: Run) -> None:
    shards(program, SHORT)
    shutil.rmtree("parts/2-of-4")
    missing = program("shards", "merge", "parts")
    assert (missing.code, "2 missing" in missing.err, "--array=2 " in missing.err) == (3, True, True)
    shards(program, SHORT, (2,))
    Path("parts/1-of-3").mkdir()
    divisions = program("shards", "merge", "parts")
    assert (divisions.code, "3 shards, 4 shards" in divisions.err) == (3, True)
    shutil.rmtree("parts/1-of-3")
    record = Path("parts/4-of-4/shard.json")
    content = json.loads(record.read_text())
    record.write_text(json.dumps({**content, "versions": {**content["versions"], "cuihop": "9.9"}}))
    version = program("shards", "merge", "parts")
    assert (version.code, "field version of cuihop" in version.err) == (3, True)
    record.write_text(json.dumps(content))
    assert program("shards", "merge", "parts").code == 0


REFUSED = {
    "another division": ("2/3", SHORT, "parts: shards of several divisions; found 3 shards, 4 shards"),
    "another option": ("2/4", (*SHORT, "--hops", "2"), "parts/1-of-4/shard.json, field argument hops"),
    "another command": ("2/4", COMMANDS["captions"], "parts/1-of-4/shard.json, field command"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_shard_that_does_not_fit_the_others_is_refused_at_its_start(case: str, here: Path, program: Run) -> None:
    shards(program, SHORT, (1,))
    shard, command, message = REFUSED[case]
    before = written_shards()
    done = program(*command, "--shard", shard, "--checkpoint", "parts")
    assert (done.code, message in done.err) == (3, True), done.err
    assert written_shards() == before
    shards(program, SHORT, (2, 3, 4))
    assert program("shards", "merge", "parts").code == 0


def written_shards() -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in Path("parts").rglob("*") if path.is_file()}


def test_a_shard_of_other_inputs_is_refused_before_it_computes(here: Path, program: Run) -> None:
    shards(program, SHORT, (1,))
    content = Path("concepts.csv").read_text()
    Path("concepts.csv").write_text(re.sub("i000,.*", "i000,C9000004;C9000005", content))
    done = program(*SHORT, "--shard", "2/4", "--checkpoint", "parts")
    assert (done.code, "parts/1-of-4/evaluation.blocks, field content of queries" in done.err) == (3, True), done.err
    assert not Path("parts/2-of-4/evaluation.blocks").read_bytes()
    Path("concepts.csv").write_text(content)
    shards(program, SHORT, (2, 3, 4))
    assert program("shards", "merge", "parts").code == 0


def test_inputs_that_changed_since_are_refused(here: Path, program: Run) -> None:
    shards(program, SHORT)
    lines = Path("concepts.csv").read_text().splitlines(keepends=True)
    Path("concepts.csv").write_text("".join([lines[0], lines[1].partition(";")[0].strip() + ";C0018670\n", *lines[2:]]))
    changed = program("shards", "merge", "parts")
    assert changed.code == 3
    assert "parts/1-of-4/evaluation.blocks" in changed.err
    assert "field content of queries" in changed.err


def test_a_cut_file_makes_its_shard_unfinished(here: Path, program: Run) -> None:
    shards(program, SHORT)
    whole = program("shards", "merge", "parts").out
    path = Path("parts/3-of-4/evaluation.blocks")
    os.truncate(path, path.stat().st_size - 1)
    cut = program("shards", "merge", "parts")
    assert (cut.code, f"3 cut off or damaged: {path}" in cut.err, "--array=3 " in cut.err) == (3, True, True)
    shards(program, SHORT, (3,))
    assert program("shards", "merge", "parts").out == whole
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    damaged = program("shards", "merge", "parts")
    assert (damaged.code, str(path) in damaged.err, "Run shard 3/4 again" in damaged.err) == (3, True, True)


def test_a_folder_from_another_machine_is_merged_beside_the_same_inputs(
    here: Path, tmp_path: Path, program: Run, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    expected = program(*SHORT).out
    shards(program, SHORT)
    here.rename(tmp_path / "elsewhere")
    monkeypatch.chdir(tmp_path / "elsewhere")
    merged = program("shards", "merge", "parts")
    assert merged.out == expected
    assert f"the shards ran in {here}" in merged.err


def test_a_shard_in_two_processes_at_once_is_refused(here: Path, program: Run) -> None:
    import fcntl

    shards(program, SHORT, (1,))
    before = Path("parts/1-of-4/shard.json").read_bytes()
    with Path("parts/1-of-4/shard.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = program(*SHORT, "--shard", "1/4", "--checkpoint", "parts")
    assert (done.code, "another process works on this shard" in done.err) == (3, True)
    assert Path("parts/1-of-4/shard.json").read_bytes() == before


def test_one_shard_and_more_shards_than_queries(here: Path, program: Run) -> None:
    Path("concepts.csv").write_text("ID,CUIs\ni000,C0018670\ni001,C0018670\n")
    Path("a.run").write_text("i000 Q0 i001 1 1 a\ni001 Q0 i000 1 1 a\n")
    one = program(*SHORT)
    for count in (1, 3):
        shards(program, SHORT, range(1, count + 1), count)
        assert program("shards", "merge", "parts").out == one.out
        shutil.rmtree("parts")


def test_a_shard_with_json_prints_an_object_and_so_does_its_merge(here: Path, program: Run) -> None:
    command = (*COMMANDS["ranked by nn-iou"], "--json")
    done = program(*command, "--shard", "1/1", "--checkpoint", "parts")
    assert json.loads(done.out) == {
        "shard": "1/1", "queries": len(IMAGES), "of_queries": len(IMAGES), "folder": "parts/1-of-1",
        "then": "cuihop shards merge parts",
    }  # fmt: skip
    assert json.loads(program("shards", "merge", "parts").out) == json.loads(program(*command).out)


def test_options_of_the_merge_are_added_to_the_command(here: Path, program: Run) -> None:
    shards(program, SHORT, (1,), 1)
    merged = program("shards", "merge", "parts", "--output", "late.csv", "--threads", "1")
    assert merged.code == 0
    assert "cuihop evaluate a.run --concepts concepts.csv" in merged.err
    assert Path("late.csv").read_text().startswith("query,")
    assert program("shards", "merge", "parts", "--shard", "1/2").code == 2
    other = program("shards", "merge", "parts", "--hops", "2", "-m", "nn-CUI@5")
    assert (other.code, "field measures" in other.err) == (3, True)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("{", "not the record of a shard"),
        ("[]", "field format"),
        ('{"format": 2}', "field format"),
        ('{"format": 1, "shard": 3}', "field shard"),
        (None, "field command"),
        ("arguments", "no such argument"),
        ("files", "cut off or damaged"),
    ],
)  # fmt: skip
def test_records_that_are_none(content: str | None, part: str, here: Path, program: Run) -> None:
    shards(program, SHORT, (1,), 1)
    record = Path("parts/1-of-1/shard.json")
    held = json.loads(record.read_text())
    changes: dict[str | None, dict[str, object]] = {
        None: {"command": "serve"},
        "arguments": {"arguments": {"strange": 1}},
        "files": {"files": {"../../a.run": 1}},
    }
    record.write_text(json.dumps({**held, **changes[content]}) if content in changes else str(content))
    done = program("shards", "merge", "parts")
    assert (done.code, part in done.err) == (3, True), done.err


def test_shards_need_a_folder_and_a_number(here: Path, program: Run) -> None:
    assert "--shard needs --checkpoint" in program(*SHORT, "--shard", "1/2").err
    for wrong in ("0/2", "3/2", "1", "1/2/3", "-1/2"):
        assert program(*SHORT, "--shard", wrong, "--checkpoint", "parts").code in (2, 3)
    assert not Path("parts").exists()
    assert "no shards" in program("shards", "merge", "nowhere").err
