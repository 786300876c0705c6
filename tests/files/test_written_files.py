"""Files that the program writes: atomically, through links, never over an input, with nothing left behind."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cuihop import SnapshotGraph
from cuihop.errors import CuihopError, InputError, OutputError
from cuihop.files.written_files import (
    check_output,
    check_output_folder,
    protected_inputs,
    replaced_file,
    replaced_folder,
)
from waiting import wait_for

ROOT = Path(__file__).parents[2]


def write(path: Path, content: bytes = b"new") -> None:
    with replaced_file(path) as file:
        file.write(content)


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A folder in which not even root may write."""
    folder = tmp_path / "read-only"
    folder.mkdir()
    if os.geteuid() != 0:
        folder.chmod(0o555)
        yield folder
        folder.chmod(0o755)
        return
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(folder)], check=False).returncode:
        pytest.skip("this machine does not let a process mount a tmpfs")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_symbolic_link_stays_and_its_target_is_written_there(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    target, link, second = elsewhere / "results.csv", tmp_path / "results.csv", tmp_path / "again.csv"
    link.symlink_to("elsewhere/results.csv")
    second.symlink_to(link)
    for content in (b"first: there was no target yet", b"second"):
        write(second, content)
        assert (link.is_symlink(), second.is_symlink(), target.is_symlink()) == (True, True, False)
        assert target.read_bytes() == content
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.csv", "elsewhere", "results.csv"]


def test_a_folder_that_is_a_link_stays_one(tmp_path: Path) -> None:
    from cuihop.study.writing import replaced_study

    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with replaced_study(tmp_path / "link") as folder:
        (folder / "report.md").write_text("x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "report.md").read_text() == "x"


@pytest.mark.parametrize("how", ["same", "relative", "symlink", "hard link", "through a linked folder", "open file"])
def test_an_input_is_not_written_over_under_any_name(tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = tmp_path / "pairs.tsv"
    given.write_text("mine")
    names = {"same": given, "relative": Path("pairs.tsv"), "symlink": tmp_path / "s", "hard link": tmp_path / "h"}
    (tmp_path / "s").symlink_to(given)
    (tmp_path / "h").hardlink_to(given)
    (tmp_path / "folder").symlink_to(".")
    names["through a linked folder"] = tmp_path / "folder" / "pairs.tsv"
    read: Path = given
    with given.open() as standard_input:
        if how == "open file":
            names[how], read = given, Path(f"/dev/fd/{standard_input.fileno()}")
        with protected_inputs([read]), pytest.raises(InputError, match="the file to write is one to read"):
            write(names[how])
    assert given.read_text() == "mine"
    write(names[how])  # and where it is not read, it may be


def test_what_is_no_file_is_never_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "null").symlink_to("/dev/null")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    before = sorted(path.name for path in tmp_path.iterdir())
    for name, message in (
        ("pipe", "a device or a pipe"),
        ("null", "a device or a pipe"),
        ("circle", "round in a circle"),
        ("folder", "there is a folder of that name"),
        ("nowhere/x", "no such folder"),
        ("file/x", "not a folder"),
        ("x\0y", "null"),
    ):
        for function in (check_output, write):
            with pytest.raises(OutputError, match=message):
                function(tmp_path / name)
    with (tmp_path / "file").open() as file, pytest.raises(OutputError, match="an open file of a process"):
        write(Path(f"/dev/fd/{file.fileno()}"))
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert Path("/dev/null").is_char_device()


def test_a_folder_without_the_right_to_write_is_refused_before_the_work(read_only: Path) -> None:
    for refuse in (check_output, check_output_folder, write):
        with pytest.raises(OutputError, match="read-only file system"):
            refuse(read_only / "x.csv")
    with pytest.raises(OutputError, match="read-only file system"):
        check_output_folder(read_only / "deep" / "folder")


def test_a_file_that_is_replaced_keeps_its_mode_and_a_private_one_is_private_from_the_start(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    with replaced_file(path, mode=0o600) as file:
        (partial,) = tmp_path.glob(".*.partial")
        assert partial.stat().st_mode & 0o777 == 0o600
        file.write(b"{}")
    path.chmod(0o640)
    write(path)
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("number", "message"), [(errno.ENOSPC, r"; 3,000 bytes are needed$"), (errno.EDQUOT, r"; 3,000 bytes are needed$"),
                         (errno.EIO, r"Input/output error$")],
)  # fmt: skip
def test_a_full_disk_and_nothing_else_says_how_much_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, message: str
) -> None:
    path = tmp_path / "x"
    path.write_text("old")

    def full(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match=message), replaced_file(path, expected_bytes=3000) as file:
        file.write(b"new")
    with pytest.raises(OutputError, match=rf"{os.strerror(number)}$"), replaced_file(path) as file:
        file.write(b"new")
    assert [p.name for p in tmp_path.iterdir()] == ["x"]
    assert path.read_text() == "old"


_WRITER = """
import sys
from pathlib import Path
from cuihop.files.written_files import {function}
with {function}(Path(sys.argv[1])) as made:
    print("under way", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("function", ["replaced_file", "replaced_folder"])
def test_what_a_killed_process_left_is_removed_by_the_next_and_what_a_live_one_writes_is_not(
    tmp_path: Path, function: str
) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", _WRITER.format(function=function), str(tmp_path / "graph.cuihop")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "under way\n"
        (partial,) = tmp_path.glob(".*.partial")
        write(tmp_path / "other")
        with replaced_folder(tmp_path / "study"):
            pass
        assert partial.exists()
    finally:
        writer.send_signal(signal.SIGKILL)
        writer.communicate(timeout=300)
    assert partial.exists()
    (tmp_path / ".mine.partial").write_text("a file of somebody's own")
    if function == "replaced_folder":
        (partial / "half").write_text("x")
    write(tmp_path / "other")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".mine.partial", "other", "study"]


@pytest.mark.slow
def test_a_killed_load_leaves_nothing_for_good(tmp_path: Path) -> None:
    """The program itself, stopped while it writes: the file of rejects is open from the first row on."""
    os.mkfifo(tmp_path / "MRREL.RRF.gz")
    source = tmp_path / "toy.obo"
    source.write_text("[Term]\nid: T:1\nname: organ\n\n[Term]\nid: T:2\nname: heart\nis_a: T:1\n")
    folder = tmp_path / "out"
    folder.mkdir()
    load = [sys.executable, "-m", "cuihop", "load"]
    slow = tmp_path / "slow.obo"
    slow.write_bytes(b"[Term]\nid: T:1\nname: organ\n\n" + b"".join(
        b"[Term]\nid: T:%d\nname: n%d\nis_a: T:%d\n\n" % (i, i, i // 2) for i in range(2, 300_000)
    ))  # fmt: skip
    running = subprocess.Popen(
        [*load, str(slow), "-o", str(folder / "g.cuihop"), "--on-bad-row", "skip", "--rejects", str(folder / "r.tsv")],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wait_for(lambda: list(folder.glob(".*.partial")))
    running.kill()
    running.wait(30)
    assert len(list(folder.iterdir())) == 1
    subprocess.run([*load, str(source), "-o", str(folder / "other.cuihop")], check=True, capture_output=True)
    assert [path.name for path in folder.iterdir()] == ["other.cuihop"]


def test_two_writers_of_one_file_leave_one_whole_file(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom cuihop.files.written_files import replaced_file\n"
        "for _ in range(100):\n"
        "    with replaced_file(Path(sys.argv[1])) as file: file.write(sys.argv[2].encode() * 10_000)\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "x"), letter]) for letter in "abc"]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    content = (tmp_path / "x").read_bytes()
    assert content in (b"a" * 10_000, b"b" * 10_000, b"c" * 10_000)
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_long_name_can_be_written(tmp_path: Path) -> None:
    for name in ("x" * 255, "é" * 127):
        write(tmp_path / name)
        assert (tmp_path / name).read_bytes() == b"new"


def test_the_doors_of_python_refuse_alike(tmp_path: Path) -> None:
    from cuihop.cli.command_files import checked_files  # noqa: F401
    from cuihop_loader import LoadOptions
    from cuihop_loader.loading import load_to

    source = tmp_path / "toy.obo"
    source.write_text("[Term]\nid: T:1\nname: organ\n")
    before = source.read_bytes()
    refused: list[tuple[Path, LoadOptions]] = [
        (source, LoadOptions()),
        (tmp_path / "g.cuihop", LoadOptions(on_bad_row="skip", rejects=source)),
    ]
    for path, options in refused:
        with pytest.raises(InputError, match="is one to read"):
            load_to(path, [source], options)
        with pytest.raises(InputError, match="is one to read"):
            load_to(path, [tmp_path / "toy.obo"], options)
    with pytest.raises(CuihopError, match="no such folder"):
        SnapshotGraph.of([]).save(tmp_path / "nowhere" / "g.cuihop")
    assert source.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["toy.obo"]


_WRITES = re.compile(
    r"write_text|write_bytes|\.open\(\"[wax]|\bopen\([^)]*\"[wax]b?\"|copyfile|O_CREAT|mkstemp|mkdtemp|tofile\("
)
_ALLOWED = {
    "client/cuihop/_kernels/jit.py": "a lock, in the folder of the compiled code",
    "client/cuihop/files/written_files.py": "the function itself",
    "client/cuihop/annotated_texts/unfinished.py": "beside its target, appended to, and checked before",
    "client/cuihop/annotated_texts/writing.py": "into the folder that becomes the output as a whole",
    "client/cuihop/cli/study.py": "into the folder that becomes the study's as a whole",
    "client/cuihop/study/writing.py": "the same",
    "client/cuihop/resources/checkpoint.py": "appended to, and checked before",
    "client/cuihop/resources/shard.py": "a lock, in the folder of the shard",
    "client/cuihop/neo4j_graph/login.py": "the record of refused passwords, in the folder of the metrics",
    "tools/cuihop_tools/neo4j_server.py": "the home of a server that it made",
    "tools/cuihop_tools/synthetic_files.py": "a folder made for tests",
    "tools/cuihop_tools/vendoring.py": "a tool of the developers",
    "service/cuihop_service/guard/audit.py": "a log that is appended to",
    "service/cuihop_service/observe/metrics_files.py": "mapped, in the folder of the metrics",
    "service/cuihop_service/observe/metrics_folder.py": "a folder of its own",
    "service/cuihop_service/own_copy.py": "a lock, in its own folder",
    "service/cuihop_service/folders.py": "what a service will write, tried in its folders",
    "service/cuihop_service/setup_command.py": "new files, and all or none of them",
    "service/cuihop_service/stores.py": "locks, and the name of a release, in its own folder",
}  # fmt: skip


def test_nothing_else_writes_files() -> None:
    found = {
        str(path.relative_to(ROOT))
        for folder in ("client", "graph_loader", "service")
        for path in (ROOT / folder).rglob("*.py")
        if _WRITES.search(path.read_text())
    }
    assert found <= set(_ALLOWED), "use cuihop.files.written_files.replaced_file"
