"""How long work is done: threads, memory, and a folder of finished blocks from which it goes on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from cuihop.cli.command_files import FileUse
from cuihop.cli.output import note, progress
from cuihop.errors import OutputError
from cuihop.resources.progress import Progress
from cuihop.resources.resources import Resources

__all__ = ["EVALUATION", "RANKING", "WORK_PANEL", "CheckpointOption", "MemoryOption", "Work"]

WORK_PANEL = "The work"
RANKING, EVALUATION = "ranking.blocks", "evaluation.blocks"

MemoryOption = Annotated[
    str,
    typer.Option(
        "--memory",
        rich_help_panel=WORK_PANEL,
        help="What the work may take beside the files read, such as 500MB. The numbers do not depend on it.",
    ),
]

CheckpointOption = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        rich_help_panel=WORK_PANEL,
        help="A folder for finished blocks: after an interrupt, the same command goes on from there.",
    ),
    FileUse.WRITES_FOLDER,
]


@dataclass(frozen=True)
class Work:
    """How the work is done; no number depends on it.

    Attributes:
        threads: how many at most; ``None`` for all cores. memory: what it may take. checkpoint: the folder.
    """

    threads: int | None
    memory: str
    checkpoint: Path | None

    def resources(self, file: str, progress: Progress | None = None) -> Resources:
        """The resources of a piece of work whose finished blocks go into a file of this name."""
        path = None if self.checkpoint is None else self.checkpoint / file
        return Resources(self.threads, self.memory, progress, path, keep_checkpoint=True)

    def prepare(self) -> None:
        """Make the folder.

        Raises:
            OutputError: it cannot be made.
        """
        if self.checkpoint is None:
            return
        try:
            self.checkpoint.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{self.checkpoint}: not a folder for checkpoints: {error.strerror or error}") from error

    @contextlib.contextmanager
    def told(self) -> Iterator[Callable[[str], Progress]]:
        """The folder is made, and bars tell how far the work is: from what is being done to who is told of it.

        Raises:
            OutputError: as `prepare`.
        """
        self.prepare()
        try:
            with progress() as bar:

                def telling(what: str) -> Progress:
                    task = bar.add_task(what, total=None)
                    return lambda done, total: bar.update(task, completed=done, total=total)

                yield telling
        except KeyboardInterrupt:
            if self.checkpoint is not None:
                note(f"finished blocks are in {self.checkpoint}; the same command goes on from there")
            raise

    def finish(self) -> None:
        """Everything is written: no block is needed any more. The folder goes too, if nothing else is in it."""
        if self.checkpoint is None:
            return
        for name in (RANKING, EVALUATION):
            for file in self.checkpoint.glob(f"{name}*"):  # judged blocks are beside those of gains
                file.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.checkpoint.rmdir()
