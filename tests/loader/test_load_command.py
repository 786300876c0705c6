"""``cuihop load``: what it prints and writes, and that it writes everything or nothing."""

from __future__ import annotations

import json
import os
import pty
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cuihop import SnapshotGraph
from cuihop.cli import main
from cuihop.resources.progress import check_interruption
from cuihop.snapshot.name_index_builder import name_index_sections
from cuihop_loader import LoadOptions
from cuihop_loader.loading import load_to
from cuihop_tools.synthetic_release import SyntheticRelease, write
from loader.rrf_made import isa, name, written

PROGRAM = [sys.executable, "-m", "cuihop", "load"]
GOOD = [isa(f"C{i:07d}", f"C{i + 1:07d}") for i in range(1, 30)]


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Done]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run the program in this process."""

    def run_program(*arguments: str | Path) -> Done:
        monkeypatch.setattr(sys, "argv", ["cuihop", "load", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capfd.readouterr()
        code = stop.value.code
        return Done(code if isinstance(code, int) else 0, captured.out, captured.err)

    return run_program


@pytest.fixture
def umls(tmp_path: Path) -> Path:
    folder: Path = tmp_path / "umls"
    return written(folder, {"MRREL": GOOD, "MRCONSO": [name("C0000001", "Héart [D] :smile:")]})


def test_a_snapshot_and_a_report_for_people(run: Run, umls: Path, tmp_path: Path) -> None:
    done = run(umls, "--output", tmp_path / "g.cuihop", "--verbose")
    assert done.returncode == 0
    assert SnapshotGraph.open(tmp_path / "g.cuihop").distance("C0000001", "C0000030") == 29
    for fact in ("29 isa rows", "is_a edges 29", "longest upward path 29 hops", "C0000001 Héart [D] :smile: 1"):
        assert fact in " ".join(done.stdout.split()) or fact == "29 isa rows"
    assert "warning: no MRCUI" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


def test_the_report_as_json_is_the_snapshots_own(run: Run, umls: Path, tmp_path: Path) -> None:
    done = run(umls, "-o", tmp_path / "g.cuihop", "--json", "--report-json", tmp_path / "report.json")
    printed = json.loads(done.stdout)
    assert json.loads((tmp_path / "report.json").read_text()) == printed
    stored = dict(SnapshotGraph.open(tmp_path / "g.cuihop").report)
    assert printed.pop("seconds") > 0
    assert json.loads(json.dumps(stored)) == printed
    assert printed["edges"] == 29


def test_the_same_files_give_the_same_bytes(run: Run, umls: Path, tmp_path: Path) -> None:
    for snapshot in ("a.cuihop", "b.cuihop"):
        assert run(umls, "-o", tmp_path / snapshot).returncode == 0
    assert (tmp_path / "a.cuihop").read_bytes() == (tmp_path / "b.cuihop").read_bytes()


def test_every_option_reaches_the_load(run: Run, tmp_path: Path) -> None:
    rows = [*GOOD, isa("C0000001", "CL1", suppress="O", sab="B"), isa("C0000001", "C0000009", sab="X"), "bad|"]
    names = [name("C0000001", "coeur", lat="FRE"), name("C0000001", "heart")]
    umls = written(tmp_path / "umls", {"MRREL": rows, "MRCONSO": names})
    done = run(
        umls, "-o", tmp_path / "g.cuihop", "--relations", "isa", "--relations", "par-chd", "--sab", "SRC", "--sab", "B",
        "--identifiers", "any", "--include-suppressed", "--language", "FRE", "--no-synonyms", "--release", "ours",
        "--on-bad-row", "skip", "--rejects", tmp_path / "rejects.tsv", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["edges"], report["release"], report["relations"]) == (30, "ours", ["isa", "par-chd"])
    assert (report["identifiers"], report["names"], report["sabs"]["B"]["edges"]) == ("any", 1, 1)
    assert "bad|" in (tmp_path / "rejects.tsv").read_text()
    assert run(umls, "-o", tmp_path / "g.cuihop", "--exclude-sab", "SRC", "--on-bad-row", "skip").returncode == 0


def test_the_format_of_a_file_can_be_stated(run: Run, tmp_path: Path) -> None:
    (tmp_path / "pairs.txt").write_text("child,parent\na,b\n")
    done = run(tmp_path / "pairs.txt", "-o", tmp_path / "g.cuihop", "--format", "edge-list", "--json")
    assert (done.returncode, json.loads(done.stdout)["files"][0]["role"]) == (0, "edge list")
    refused = run(tmp_path / "pairs.txt", "-o", tmp_path / "h.cuihop")
    assert (refused.returncode, "--format" in refused.stderr) == (3, True)


def test_an_error_is_one_line_with_its_exit_code(run: Run, tmp_path: Path) -> None:
    done = run(written(tmp_path / "umls", {"MRREL": [*GOOD, "bad|"]}), "-o", tmp_path / "g.cuihop")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.count("\n") == 1
    assert "MRREL.RRF, line 30, column AUI1: too few columns; found 1 columns; expected 16" in done.stderr
    assert "--on-bad-row skip" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["umls"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["-o", "nowhere/g.cuihop"], 6),
        (["-o", "umls"], 3),
        (["-o", "."], 6),
        (["-o", "umls/MRREL.RRF", "umls/MRREL.RRF"], 3),
        (["-o", "g.cuihop", "--report-json", "g.cuihop"], 3),
        (["-o", "g.cuihop", "--rejects", "r.tsv"], 3),
        (["-o", "g.cuihop", "--relations", "is_a"], 2),
        ([], 2),
    ],
)
def test_what_cannot_work_is_refused_at_once(
    run: Run, umls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int
) -> None:
    monkeypatch.chdir(tmp_path)
    before = (umls / "MRREL.RRF").read_bytes()
    done = run("umls", *arguments)
    assert done.returncode == code, done.stderr
    assert (umls / "MRREL.RRF").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["umls"]


@pytest.mark.slow
@pytest.mark.parametrize("room", [0, 100, 4000])
def test_a_full_disk_leaves_what_was_there_before(umls: Path, tmp_path: Path, room: int) -> None:
    (tmp_path / "g.cuihop").write_text("from before")
    rejects = tmp_path / "rejects.tsv"
    (umls / "MRREL.RRF").write_bytes((umls / "MRREL.RRF").read_bytes() + b"bad|\n")

    def no_room() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writing past the limit is then EFBIG, as ENOSPC would be
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    done = subprocess.run(
        [*PROGRAM, umls, "-o", tmp_path / "g.cuihop", "--on-bad-row", "skip", "--rejects", rejects],
        capture_output=True, text=True, check=False, timeout=300, preexec_fn=no_room,
    )  # fmt: skip
    assert done.returncode == 6, done.stderr
    assert "not written" in done.stderr
    assert (tmp_path / "g.cuihop").read_text() == "from before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.cuihop", "umls"]


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a file system takes root")
def test_a_full_file_system_leaves_what_was_there_before(run: Run, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.decode().strip()}")
    try:
        umls = tmp_path / "umls"
        umls.mkdir()
        write(umls, SyntheticRelease(concepts=2_000, rows=20_000))
        done = run(umls, "-o", small / "g.cuihop")
        assert done.returncode == 6, done.stderr
        assert "No space left on device" in done.stderr
        assert list(small.iterdir()) == []
    finally:
        subprocess.run(["umount", small], check=True)


@pytest.mark.parametrize("moment", ["MRREL.RRF", "MRCONSO.RRF", "looking at the graph"])
def test_an_interrupt_leaves_nothing_behind(umls: Path, tmp_path: Path, moment: str) -> None:
    written(umls, {"MRREL": [*GOOD, "bad|"]})
    partial: list[Path] = []

    def interrupt(step: str, done: int, total: int) -> None:
        if step.endswith(moment):
            partial.extend(tmp_path.glob(".*.partial"))
            signal.raise_signal(signal.SIGINT)

    options = LoadOptions(on_bad_row="skip", rejects=tmp_path / "rejects.tsv")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores the signal
    try:
        with pytest.raises(KeyboardInterrupt):
            load_to(tmp_path / "g.cuihop", [umls], options, interrupt)
    finally:
        signal.signal(signal.SIGINT, before)
    assert partial
    assert [path.name for path in tmp_path.iterdir()] == ["umls"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_what_stops_the_making_of_codes_leaves_nothing_behind(
    umls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    threads, indexing = [], threading.Event()

    def index(*arguments: Any) -> Any:
        indexing.set()
        return name_index_sections(*arguments)

    def stop(*arguments: object) -> None:
        threads.append(threading.current_thread())
        indexing.wait(60)  # an interrupt before it may end the load before the thread is waited for
        if error is MemoryError:
            raise error
        signal.raise_signal(signal.SIGINT)  # which the main thread gets
        while True:
            check_interruption()

    monkeypatch.setattr("cuihop.snapshot.writer.name_index_sections", index)
    monkeypatch.setattr("cuihop._kernels.codes.hashes", stop)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(error):
            load_to(tmp_path / "g.cuihop", [umls])
    finally:
        signal.signal(signal.SIGINT, before)
    assert [thread.is_alive() for thread in threads] == [False]
    assert [path.name for path in tmp_path.iterdir()] == ["umls"]


@pytest.mark.slow
def test_a_terminal_sees_a_progress_bar(umls: Path, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*PROGRAM, umls, "-o", tmp_path / "g.cuihop"],
        stdout=subprocess.PIPE, stderr=theirs, text=True, env=os.environ | {"TERM": "xterm", "COLUMNS": "100"},
    )  # fmt: skip
    os.close(theirs)
    output = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:
            break
        if not piece:
            break
        output += piece
    out, _ = process.communicate(timeout=300)
    os.close(ours)
    assert process.returncode == 0
    assert b"bytes" in output or b"kB" in output
    assert "kB" not in out
