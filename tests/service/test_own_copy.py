"""The copy that a service serves: whatever becomes of the file that was named, no answer is lost and none is wrong."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from itertools import pairwise
from pathlib import Path

import pytest
import urllib3

from cuihop import SnapshotGraph
from cuihop.errors import SnapshotError
from cuihop.snapshot.distance_index import index_path
from cuihop.snapshot.index_builder import build_index
from cuihop_service.own_copy import opened_copy
from example_graph import example_graph
from served_program import Program, program
from waiting import wait_for

PAIR = ("C0006121", "C0018670")


def large_graph(hops: int) -> SnapshotGraph:
    """Some megabytes, so that copying over it takes a while, and so that its pages are many."""
    edges = [(f"C{i:07d}", f"C{i + 1:07d}") for i in range(1_000_000, 1_060_000)]
    chain = [PAIR[0], *(f"C{i:07d}" for i in range(2_000_000, 2_000_000 + hops - 1)), PAIR[1]]
    return SnapshotGraph.of([*edges, *pairwise(chain)], name=f"{hops} hops", identifiers="cui")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "graph.cuihop"
    example_graph().save(path)
    return path


class Asking:
    """Asks without a pause until the block ends; notes whatever is no answer, or a wrong one."""

    def __init__(self, running: Program, true: set[int]) -> None:
        self._running = running
        self._true = true
        self.wrong: list[object] = []
        self.answers = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._ask)

    def _ask(self) -> None:
        pool = urllib3.PoolManager(retries=False, timeout=300)
        url = f"http://{self._running.http}/v1/distance?a={PAIR[0]}&b={PAIR[1]}"
        while not self._over.is_set():
            try:
                response = pool.request("GET", url)
                if response.status != 200 or response.json()["hops"] not in self._true:
                    self.wrong.append(response.data)
                self.answers += 1
            except (urllib3.exceptions.HTTPError, ValueError) as error:
                self.wrong.append(error)
            self._over.wait(0.002)

    def __enter__(self) -> Asking:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(60)


@pytest.mark.slow
def test_copying_over_a_served_snapshot_loses_no_answer_and_gives_no_wrong_one(tmp_path: Path) -> None:
    path, other = tmp_path / "graph.cuihop", tmp_path / "other.cuihop"
    large_graph(5).save(path)
    large_graph(7).save(other)
    with program(path, tmp_path, "--watch-seconds", "0.3", "--index-folder", str(tmp_path / "own")) as running:
        assert running.hops() == 5
        with Asking(running, {5, 7}) as asking:
            shutil.copyfile(path, tmp_path / "kept")
            for _ in range(3):
                subprocess.run(["cp", str(other), str(path)], check=True)
            wait_for(lambda: running.hops() == 7)
            with path.open("r+b") as file:  # cut, and left so: the release goes on, and the service says so
                file.truncate(1000)
            wait_for(lambda: running.get("/health/ready")["status"] == "degraded")
            assert running.hops() == 7
            shutil.copyfile(tmp_path / "kept", tmp_path / "new")
            (tmp_path / "new").replace(path)
            wait_for(lambda: running.get("/health/ready")["status"] == "ready")
        assert asking.wrong == []
        assert asking.answers > 20
        assert running.stop() == 0
    assert "a worker ended" not in running.log.read_text()


@pytest.mark.slow
def test_the_only_worker_is_started_again(store: Path, tmp_path: Path) -> None:
    with program(store, tmp_path, "--workers", "1", "--index-folder", str(tmp_path / "own")) as running:
        (first,) = running.workers()
        os.kill(first, signal.SIGBUS)
        wait_for(lambda: running.workers() not in ([], [first]))
        wait_for(lambda: running.ready_workers() == 1)
        assert running.hops() == 3
        assert "a worker ended with code -7" in running.log.read_text()
        assert running.stop() == 0


@pytest.mark.slow
def test_a_flipped_bit_in_what_no_answer_needs_stops_no_service(store: Path, tmp_path: Path) -> None:
    beside = index_path(store)
    build_index(example_graph()).save(beside)
    raw = bytearray(beside.read_bytes())
    raw[-1] ^= 1
    beside.write_bytes(raw)
    with program(store, tmp_path, "--index-folder", str(tmp_path / "own")) as running:
        assert running.hops() == 3
        assert running.get("/health/ready")["status"] == "ready"
        assert running.stop() == 0
    log = running.log.read_text()
    assert "fails its checksum; the file is damaged. It is not used; distances are searched" in log
    assert "Traceback" not in log


def test_looks_at_a_damaged_snapshot_leave_no_file_open(store: Path, tmp_path: Path) -> None:
    store.write_bytes(store.read_bytes()[:1000])
    before = set(os.listdir("/dev/fd"))  # noqa: PTH208
    for _ in range(3):
        with pytest.raises(SnapshotError):
            opened_copy(store, tmp_path / "own")
    assert set(os.listdir("/dev/fd")) == before  # noqa: PTH208


def test_where_no_copy_can_be_made_the_file_itself_is_served_and_the_log_says_so(
    store: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    graph = opened_copy(store, tmp_path / "file" / "own")
    assert graph.distance(*PAIR) == 3
    assert "served as it lies there, since no copy can be made in" in caplog.text
    assert "Not a directory" in caplog.text


def test_a_full_disk_keeps_nobody_from_being_served(
    store: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    size = "size=4k"
    if (
        os.geteuid() != 0
        or subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(folder)], check=False).returncode
    ):
        pytest.skip("mounting a small file system needs root")
    try:
        assert opened_copy(store, folder).distance(*PAIR) == 3
        assert "No space left on device" in caplog.text
        assert not list(folder.glob("*.copy.cuihop"))
        assert not list(folder.glob(".*.partial"))
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_one_copy_serves_all_and_goes_when_nobody_uses_it(store: Path, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    build_index(example_graph()).save(index_path(store))
    first, second = opened_copy(store, folder), opened_copy(store, folder)
    (copy,) = folder.glob("*.copy.cuihop")
    assert first.sections.origin == second.sections.origin == str(copy)
    assert first.index is not None
    assert copy.stat().st_mode & 0o077 == 0
    SnapshotGraph.of([PAIR], identifiers="cui").save(store)
    index_path(store).unlink()
    third = opened_copy(store, folder)
    assert len(list(folder.glob("*.copy.cuihop"))) == 2  # the older one is in use
    assert (first.distance(*PAIR), third.distance(*PAIR)) == (3, 1)
    del first, second
    opened_copy(store, folder)
    assert [path.name for path in folder.glob("*.copy.cuihop*")] == [Path(third.sections.origin).name]


def test_a_file_that_is_being_written_over_is_not_served(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cuihop_service import own_copy

    copy_bytes = own_copy._copy_bytes

    def and_meanwhile(*files: object) -> None:
        copy_bytes(*files)  # type: ignore[arg-type]
        os.utime(store, ns=(1, 1))

    monkeypatch.setattr(own_copy, "_copy_bytes", and_meanwhile)
    with pytest.raises(SnapshotError, match="is being written over"):
        opened_copy(store, tmp_path / "own")
    assert not list((tmp_path / "own").glob("*.copy.cuihop"))


def test_without_the_kernels_copying_the_copy_is_the_same(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "copy_file_range", refuse)
    graph = opened_copy(store, tmp_path / "own")
    assert Path(graph.sections.origin).read_bytes() == store.read_bytes()


def test_a_killed_service_leaves_no_metrics_for_good_and_a_live_worker_keeps_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    from cuihop_service.observe.metrics_folder import FOLDER_VARIABLE, MetricsFolder

    monkeypatch.setenv(FOLDER_VARIABLE, "")
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from cuihop_service.observe.metrics_folder import MetricsFolder, hold_folder\n"
        "if sys.argv[2] == 'supervisor': folder = MetricsFolder(Path(sys.argv[1])); print(folder.path, flush=True)\n"
        "else: hold_folder(); print('held', flush=True)\nsys.stdin.read()\n"
    )

    def started(what: str) -> tuple[subprocess.Popen[str], str]:
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path), what],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ},
        )
        assert process.stdout is not None
        return process, process.stdout.readline().strip()

    supervisor, folder = started("supervisor")
    monkeypatch.setenv(FOLDER_VARIABLE, folder)
    worker, _ = started("worker")
    supervisor.kill()
    supervisor.communicate(timeout=300)
    monkeypatch.setenv(FOLDER_VARIABLE, "")
    MetricsFolder(tmp_path).remove()
    assert Path(folder).is_dir()
    worker.kill()
    worker.communicate(timeout=300)
    MetricsFolder(tmp_path).remove()
    assert list(tmp_path.iterdir()) == []
