"""The folder through which the workers of one service share their metrics: one for each start of the service."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["FOLDER_VARIABLE", "MetricsFolder", "hold_folder", "reading"]

FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""Variable in which `prometheus_client` finds the folder. It must be set before a worker starts."""

_ENDED = "0"  # in the place of a process number: the counts of all processes that have ended
_PREFIX = "cuihop-metrics-"
_HELD = "held"  # a file that is locked as long as any process writes to the folder


class MetricsFolder:
    """Folder created by the supervisor before the first worker. Folders left by killed services are removed then.

    Args:
        parent: of the folder; None for the folder for temporary files.
    """

    def __init__(self, parent: Path | None = None) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        making = self.path / f"{_HELD}.new"
        self._held = making.open("a")
        fcntl.flock(self._held, fcntl.LOCK_SH)
        making.rename(self.path / _HELD)  # never there without its lock
        _remove_abandoned(self.path.parent)
        os.environ[FOLDER_VARIABLE] = str(self.path)

    def forget(self, process: int) -> None:
        """Merge the files of a process that has ended.

        Its gauges go. Its counts stay, or the totals would fall; but they are added to one file for all ended
        processes, or a service that runs for years would have ever more files.
        """
        from prometheus_client.mmap_dict import MmapedDict

        with _locked(self.path, fcntl.LOCK_EX):
            for file in self.path.glob(f"gauge_*_{process}.db"):
                file.unlink()
            for kind in ("counter", "histogram"):
                file = self.path / f"{kind}_{process}.db"
                if not file.exists():
                    continue
                total = MmapedDict(str(self.path / f"{kind}_{_ENDED}.db"))
                for key, value, *_ in MmapedDict.read_all_values_from_file(str(file)):
                    total.write_value(key, total.read_value(key)[0] + value, 0.0)
                total.close()
                file.unlink()

    def remove(self) -> None:
        """Remove the folder."""
        os.environ.pop(FOLDER_VARIABLE, None)
        shutil.rmtree(self.path, ignore_errors=True)
        self._held.close()


def hold_folder() -> None:
    """Protect the folder from removal while this process lives, perhaps longer than the supervisor."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder is not None:
        fcntl.flock(os.open(Path(folder) / _HELD, os.O_RDONLY), fcntl.LOCK_SH)  # and never closed


def _remove_abandoned(parent: Path) -> None:
    """Remove the folders of killed services; those of other users stay, as they cannot be opened."""
    for held in parent.glob(f"{_PREFIX}*/{_HELD}"):
        with contextlib.suppress(OSError), held.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(held.parent, ignore_errors=True)


@contextmanager
def reading(folder: str) -> Iterator[None]:
    """Hold off merges while metrics are read: no count is read twice, or missed."""
    with _locked(Path(folder), fcntl.LOCK_SH):
        yield


@contextmanager
def _locked(folder: Path, how: int) -> Iterator[None]:
    with (folder / "lock").open("a") as file:
        fcntl.flock(file, how)
        yield
