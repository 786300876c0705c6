"""The files in which processes count: allocated before they are mapped, and skipped where they cannot be read.

`prometheus_client` maps sparse files. On a full file system a write to one ends the process by SIGBUS.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import mmap
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar

import prometheus_client.values
from prometheus_client.mmap_dict import MmapedDict, mmap_key
from prometheus_client.multiprocess import MultiProcessCollector

from cuihop.errors import reason_of
from cuihop_service.observe.metrics_folder import FOLDER_VARIABLE

if TYPE_CHECKING:
    from prometheus_client import Metric

_log = logging.getLogger("cuihop.service")

_SIZE = 1 << 16  # of a new file
_MOST_BESIDE_KEY = 32  # bytes of an entry: its length, padding, and two numbers
_NOT_SUPPORTED = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)

_problems: dict[str, str] = {}
"""Files with a problem that has been logged."""


class _AllocatedFile(MmapedDict):
    """Numbers by their keys, in a mapped file all of whose blocks are there.

    Raises:
        OSError: the file system has no room.
    """

    def __init__(self, filename: str, read_mode: bool = False) -> None:
        with Path(filename).open("ab") as file:
            size = os.fstat(file.fileno()).st_size
            try:
                _allocate(file.fileno(), max(size, _SIZE))
            except OSError:
                if not size:
                    Path(filename).unlink()
                raise
        super().__init__(filename)  # type: ignore[no-untyped-call]

    def _init_value(self, key: str) -> None:
        while self._used + len(key.encode()) + _MOST_BESIDE_KEY > self._capacity:
            self._grow(2 * self._capacity)
        super()._init_value(key)  # type: ignore[no-untyped-call]

    def _grow(self, capacity: int) -> None:
        _allocate(self._f.fileno(), capacity)
        self._m, self._capacity = mmap.mmap(self._f.fileno(), capacity), capacity


class _WorkerFile(_AllocatedFile):
    """A file of a worker, which continues in the memory of this process alone if the file fails."""

    def __init__(self, filename: str, read_mode: bool = False) -> None:
        try:
            super().__init__(filename)
        except Exception as error:
            self._f: Any = None
            self._fname = filename
            self._positions: dict[str, int] = {}
            self._used = 8  # after the number of bytes in use
            self._count_alone(error, _SIZE)
        self.cells = memoryview(self._m).cast("d")

    def cell(self, key: str) -> int:
        """Index in ``cells`` of the number with this key, and of nothing else."""
        self.read_value(key)  # type: ignore[no-untyped-call]
        return int(self._positions[key]) // self.cells.itemsize

    def _grow(self, capacity: int) -> None:
        if self._f is not None:
            try:
                super()._grow(capacity)
                self.cells = memoryview(self._m).cast("d")
            except OSError as error:
                self._count_alone(error, capacity)
        else:
            self._move(capacity)

    def _count_alone(self, error: Exception, capacity: int) -> None:
        if not counts_alone():
            _log.warning(
                "%s: %s; this worker counts in its own memory, and reports nothing of the others at /metrics",
                self._fname, reason_of(error),
            )  # fmt: skip
        _problems[self._fname] = reason_of(error)
        self._move(capacity)

    def _move(self, capacity: int) -> None:
        """Move the numbers to memory without a file."""
        moved = mmap.mmap(-1, capacity)
        if hasattr(self, "_m"):
            moved[: self._used] = self._m[: self._used]
        if self._f is not None:
            self._f.close()
        self._f, self._m, self._capacity = None, moved, capacity
        self.cells = memoryview(moved).cast("d")


class _Cell:
    """A number in a file of this process, as the package's own, which packs two numbers and asks for the process.

    It is stored by one instruction: who reads the file finds it as it was, or as it is.
    """

    _multiprocess = True
    _files: ClassVar[dict[Path, _WorkerFile]] = {}
    _lock = Lock()

    def __init__(
        self, kind: str, metric: str, name: str, labels: Any, values: Any, text: str, multiprocess_mode: str = ""
    ) -> None:
        prefix = f"{kind}_{multiprocess_mode}" if kind == "gauge" else kind
        path = Path(os.environ[FOLDER_VARIABLE]) / f"{prefix}_{os.getpid()}.db"
        with self._lock:
            if path not in self._files:
                self._files[path] = _WorkerFile(str(path))
            self._file = self._files[path]
            self._index = self._file.cell(mmap_key(metric, name, labels, values, text))  # type: ignore[no-untyped-call,unused-ignore]

    def inc(self, amount: float) -> None:
        with self._lock:
            self._file.cells[self._index] += amount

    def set(self, value: float, timestamp: float | None = None) -> None:
        with self._lock:
            self._file.cells[self._index] = value

    def get(self) -> float:
        return self._file.cells[self._index]

    def get_exemplar(self) -> None:
        """Return no example: the files have none."""


def use_allocated_files() -> None:
    """Count in files that are allocated, from now on. For a worker, before its first metric."""
    if prometheus_client.values.ValueClass._multiprocess:
        prometheus_client.values.ValueClass = _Cell


def counts_alone() -> bool:
    """True where a file of this process failed, so that its numbers are in its memory alone."""
    return any(name.endswith(f"_{os.getpid()}.db") for name in _problems)


class ReadableFiles:
    """A collector of the numbers of all processes. Files that cannot be read are left out."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def collect(self) -> Iterator[Metric]:
        """The metrics."""
        files = [str(file) for file in self._folder.glob("*.db") if _entries(file)]
        yield from MultiProcessCollector.merge(files)


def merge_files(folder: Path, kind: str, ended: int, total: str) -> None:
    """Add the numbers of a process that has ended to those of all that have ended, and remove its file.

    Args:
        kind: ``counter`` or ``histogram``.
        total: stands for a process number.

    Raises:
        OSError: the file system has no room. Nothing has changed then.
    """
    file, sums_file = folder / f"{kind}_{ended}.db", folder / f"{kind}_{total}.db"
    if not file.exists():
        return
    sums: Counter[str] = Counter()
    for source in (sums_file, file):
        sums.update(_entries(source))
    fresh = sums_file.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    try:
        merged = _AllocatedFile(str(fresh))
        with contextlib.closing(merged):
            for key, value in sums.items():
                merged.write_value(key, value, 0.0)  # type: ignore[no-untyped-call]
        fresh.replace(sums_file)
    finally:
        fresh.unlink(missing_ok=True)
    file.unlink()
    _problems.pop(str(file), None)


def _entries(file: Path) -> dict[str, Any]:
    """The numbers of a file by their keys; empty for a file that is new, gone or damaged."""
    try:
        if not file.stat().st_size:
            return {}
        entries = {key: value for key, value, *_ in MmapedDict.read_all_values_from_file(str(file))}
        for key in entries:
            json.loads(key)
    except FileNotFoundError:
        return {}
    except Exception as error:  # a process may have died while it wrote, or another program has written there
        if str(file) not in _problems:
            _problems[str(file)] = reason_of(error)
            _log.warning("%s: cannot be read (%s); its numbers are left out", file, reason_of(error))
        return {}
    return entries


def _allocate(number: int, size: int) -> None:
    """Allocate the first bytes of a file; its size is as before where there is no room."""
    before = os.fstat(number).st_size
    try:
        os.posix_fallocate(number, 0, size)
    except OSError as error:
        os.ftruncate(number, before)
        if error.errno not in _NOT_SUPPORTED:
            raise
