"""Options of a long run: threads, memory, progress bars, and a folder of finished blocks to resume from."""

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

__all__ = ["EVALUATION", "RANKING", "RESOURCES_PANEL", "CheckpointOption", "MemoryOption", "Work"]

RESOURCES_PANEL = "Resources"
RANKING, EVALUATION = "ranking.blocks", "evaluation.blocks"

MemoryOption = Annotated[
    str,
    typer.Option(
        "--memory",
        rich_help_panel=RESOURCES_PANEL,
        help="Memory beside the inputs, such as 500MB. Results do not depend on it.",
    ),
]

CheckpointOption = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        rich_help_panel=RESOURCES_PANEL,
        help="Folder for finished blocks: after an interrupt, the same command resumes from there.",
    ),
    FileUse.WRITES_FOLDER,
]


@dataclass(frozen=True)
class Work:
    """Threads, memory and checkpoints of a run; no result depends on them.

    Attributes:
        threads: their maximum; ``None`` for all cores. memory: allowance beside the inputs. checkpoint: folder.
    """

    threads: int | None
    memory: str
    checkpoint: Path | None

    def resources(self, file: str, progress: Progress | None = None) -> Resources:
        """The resources of a piece of work whose finished blocks go into a file of this name."""
        path = None if self.checkpoint is None else self.checkpoint / file
        return Resources(self.threads, self.memory, progress, path, keep_checkpoint=True)

    def prepare(self) -> None:
        """Create the folder.

        Raises:
            OutputError: it cannot be created.
        """
        if self.checkpoint is None:
            return
        try:
            self.checkpoint.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{self.checkpoint}: not a folder for checkpoints: {error.strerror or error}") from error

    @contextlib.contextmanager
    def progress_bars(self) -> Iterator[Callable[[str], Progress]]:
        """Create the folder, and open progress bars: the value maps the label of a bar to its progress callback.

        Raises:
            OutputError: as `prepare`.
        """
        self.prepare()
        try:
            with progress() as bar:

                def bar_of(label: str) -> Progress:
                    task = bar.add_task(label, total=None)
                    return lambda done, total: bar.update(task, completed=done, total=total)

                yield bar_of
        except KeyboardInterrupt:
            if self.checkpoint is not None:
                note(f"finished blocks are in {self.checkpoint}; the same command resumes from there")
            raise

    def finish(self) -> None:
        """Remove the finished blocks, and the folder if it is empty then."""
        if self.checkpoint is None:
            return
        for name in (RANKING, EVALUATION):
            for file in self.checkpoint.glob(f"{name}*"):  # judged blocks are beside those of gains
                file.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.checkpoint.rmdir()
