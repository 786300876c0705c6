"""The folder through which the workers of one service share their metrics: one for each start of the service."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from cuihop.errors import reason_of

_log = logging.getLogger("cuihop.service")

FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""Variable in which `prometheus_client` finds the folder. It must be set before a worker starts."""

_ENDED = "0"  # in place of a process number: the counts of all processes that have ended
_PREFIX = "cuihop-metrics-"
_HELD = "held"  # a file that is locked as long as any process writes to the folder


class MetricsFolder:
    """Folder created by the supervisor before the first worker. Folders left by killed services are removed then.

    Nothing here raises: a service without the folder answers, and each of its workers reports its own metrics alone.
    """

    def __init__(self, parent: Path | None = None) -> None:
        self.path: Path | None = None
        self._held: IO[str] | None = None
        os.environ.pop(FOLDER_VARIABLE, None)
        try:
            path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
            making = path / f"{_HELD}.new"
            self._held = making.open("a")
            fcntl.flock(self._held, fcntl.LOCK_SH)
            making.rename(path / _HELD)  # never there without its lock
            _remove_abandoned(path.parent)
        except OSError as error:
            _log.warning("no folder for metrics (%s): each worker reports its own alone", error)
            return
        self.path = path
        os.environ[FOLDER_VARIABLE] = str(path)

    def forget(self, process: int) -> None:
        """Merge the files of a process that has ended.

        Its gauges go. Its counts stay, or the totals would fall; but they are added to one file for all ended
        processes, or a service that runs for years would have ever more files.
        """
        if self.path is None:
            return
        try:
            from cuihop_service.observe.metrics_files import merge_files

            with locked(self.path, fcntl.LOCK_EX):
                for file in self.path.glob(f"gauge_*_{process}.db"):
                    file.unlink()
                for kind in ("counter", "histogram"):
                    merge_files(self.path, kind, process, _ENDED)
        except Exception as error:
            _log.warning("the metrics of worker %d stay in files of their own: %s", process, reason_of(error))

    def remove(self) -> None:
        """Remove the folder."""
        os.environ.pop(FOLDER_VARIABLE, None)
        if self.path is not None:
            shutil.rmtree(self.path, ignore_errors=True)
        if self._held is not None:
            self._held.close()


def hold_folder() -> None:
    """Protect the folder from removal while this process lives, perhaps longer than the supervisor.

    A process that cannot, as the folder is gone, counts alone.
    """
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder is None:
        return
    try:
        fcntl.flock(os.open(Path(folder) / _HELD, os.O_RDONLY), fcntl.LOCK_SH)  # and never closed
    except OSError as error:
        del os.environ[FOLDER_VARIABLE]
        _log.warning("%s: %s; this worker reports its own metrics alone", folder, reason_of(error))


def _remove_abandoned(parent: Path) -> None:
    """Remove the folders of killed services; those of other users stay, as they cannot be opened."""
    for held in parent.glob(f"{_PREFIX}*/{_HELD}"):
        with contextlib.suppress(OSError), held.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(held.parent, ignore_errors=True)


@contextmanager
def locked(folder: Path, how: int) -> Iterator[None]:
    """Hold off merges while metrics are read, which is shared: no count is read twice, or missed."""
    with (folder / "lock").open("a") as file:
        fcntl.flock(file, how)
        yield
