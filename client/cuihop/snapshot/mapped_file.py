"""A file mapped for reading, and whether it is still the one that was mapped."""

from __future__ import annotations

import errno
import mmap
import os
import stat
import weakref
from pathlib import Path

__all__ = ["MappedFile"]


class MappedFile:
    """A mapped file.

    A file that is replaced by renaming stays here as it was. One that is written over, or cut, changes under whoever
    reads it: `changed` compares its size and time.

    Args:
        path: the file.

    Raises:
        OSError: it cannot be opened or mapped.
        ValueError: it is empty.
    """

    def __init__(self, path: Path) -> None:
        self._number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe is not waited for
        weakref.finalize(self, os.close, self._number)
        mode = os.fstat(self._number).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "a device or a pipe, and not a file")
        self._seen = self.state()
        self.view = mmap.mmap(self._number, 0, access=mmap.ACCESS_READ)

    @property
    def size(self) -> int:
        """Bytes, when it was mapped."""
        return self._seen[0]

    def changed(self) -> bool:
        """Compare size and time of modification with those at opening; true where they differ."""
        return self.state() != self._seen

    def cut(self) -> bool:
        """Compare the size with that at opening; true where it is smaller: reading the map would end the process."""
        return self.state()[0] < self._seen[0]

    def accept(self, state: tuple[int, int]) -> None:
        """Take it as it was in this state."""
        self._seen = state

    def state(self) -> tuple[int, int]:
        """Size in bytes, and time of modification in nanoseconds."""
        found = os.fstat(self._number)
        return found.st_size, found.st_mtime_ns
