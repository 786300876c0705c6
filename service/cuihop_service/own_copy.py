"""The service's own copy of a snapshot, safe from any change of the original file.

A snapshot that is written over while it is mapped changes under its readers, and ends the process where it is cut. So a
service maps a copy, which its workers share: the first one makes it, in a folder of the service. If the file system
can, the copy shares the blocks of the original and takes no room.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import logging
import os
import shutil
import weakref
from pathlib import Path
from typing import BinaryIO

from cuihop.errors import OutputError, SnapshotError, reason_of
from cuihop.files.written_files import replaced_file
from cuihop.snapshot.distance_index import index_path
from cuihop.snapshot.graph import SnapshotGraph

_log = logging.getLogger("cuihop.service")

LOCK = "copies.lock"
"""Name of the file in the folder that is locked while copies are made or removed."""

_END = ".copy.cuihop"


def state_of(path: Path) -> tuple[int, ...]:
    """State of a file, to compare with a later one: device, inode, size, and the times of writing and of change.

    Raises:
        SnapshotError: there is no such file.
    """
    try:
        state = path.stat()
    except OSError as error:
        raise SnapshotError(f"{path}: {reason_of(error)}") from None
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


def written_at(state: tuple[int, ...]) -> int:
    """The time of writing in a file's state, in nanoseconds since 1970."""
    return state[3]


def opened_copy(path: Path, folder: Path) -> SnapshotGraph:
    """A snapshot, with its index, opened from a copy in the folder and checked completely.

    Unused copies are removed. If none can be made, the file itself is opened, with a warning in the log.

    Raises:
        SnapshotError: no such file, or it is no snapshot; or it is being written while it is read.
    """
    state_of(path)
    if not path.is_file():
        return SnapshotGraph.open(path)  # its error names the cause
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (folder / LOCK).open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            _remove_unused(folder)
            copy = folder / f"{_name(path)}{_END}"
            if not copy.exists():
                if index_path(path).exists():
                    _copy(index_path(path), index_path(copy))
                _copy(path, copy)  # last: its presence means that all is there
            number = os.open(copy, os.O_RDONLY)
            fcntl.flock(number, fcntl.LOCK_SH)  # protects it from removal
    except (OSError, OutputError) as error:
        _log.warning(
            "%s: served as it lies there, since no copy can be made in %s (%s): it must not be written over, only "
            "replaced by renaming", path, folder, reason_of(error),
        )  # fmt: skip
        graph = SnapshotGraph.open(path)
        graph.set_aside_damage()
        return graph
    try:
        try:
            graph = SnapshotGraph.open(copy)
        except BaseException:
            os.close(number)  # or each look at a damaged snapshot would keep one more file open
            raise
        weakref.finalize(graph, os.close, number)
        graph.set_aside_damage()
    except SnapshotError as error:
        raise SnapshotError(f"{path}: its copy {error}") from None
    return graph


def bytes_to_copy(path: Path, folder: Path) -> int:
    """The bytes that a copy of a snapshot in the folder still takes; `SnapshotError` without such a file."""
    if (folder / f"{_name(path)}{_END}").exists():
        return 0
    return sum(file.stat().st_size for file in (path, index_path(path)) if file.exists())


def _name(path: Path) -> str:
    scratch = index_path(path)
    states = (state_of(path), state_of(scratch) if scratch.exists() else None)
    return hashlib.sha256(repr(states).encode()).hexdigest()[:32]


def _copy(path: Path, copy: Path) -> None:
    """Copy a file as it is at one moment; its checksums show a change meanwhile."""
    before = state_of(path)
    with path.open("rb") as source, replaced_file(copy, expected_bytes=before[2], mode=0o600, durable=False) as target:
        _copy_bytes(source, target)
    if state_of(path) != before:
        copy.unlink(missing_ok=True)
        raise SnapshotError(f"{path}: it is being written over; put a new snapshot in its place by renaming")


def _copy_bytes(source: BinaryIO, target: BinaryIO) -> None:
    with contextlib.suppress(OSError):  # not supported there: then in user space, from where it stopped
        while os.copy_file_range(source.fileno(), target.fileno(), 1 << 30):
            pass
    shutil.copyfileobj(source, target, 1 << 20)


def _remove_unused(folder: Path) -> None:
    for copy in folder.glob(f"*{_END}"):
        with contextlib.suppress(OSError), copy.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            index_path(copy).unlink(missing_ok=True)
            copy.unlink()
