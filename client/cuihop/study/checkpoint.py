"""What a study has finished so far, in a folder from which the same study goes on."""

from __future__ import annotations

import contextlib
import hashlib
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from cuihop.errors import OutputError
from cuihop.files.input_file import opened_input
from cuihop.files.written_files import clear_abandoned, replaced_file
from cuihop.rankings.ranking import Ranking, checked_ties
from cuihop.relevance.image_collection import ImageCollection
from cuihop.resources.checkpoint import Checkpoint
from cuihop.study.inputs import Setup

__all__ = ["Unfinished"]

_HEADER = "study.blocks"
_SUFFIXES = (".blocks", ".npz")


class Unfinished:
    """Finished rankings, and finished blocks of those under way and of evaluations; a context manager.

    The folder belongs to one study: what its numbers depend on stands in a file of its own, which is locked while a
    process works on it. With no folder, nothing is kept.

    Args:
        folder: made where there is none.
        setup: of the study.

    Raises:
        InputError: the folder is of another study, or another process works on it.
        OutputError: it cannot be written.
    """

    def __init__(self, folder: Path | None, setup: Setup) -> None:
        self.folder = folder
        self._setup = setup
        self._header: Checkpoint | None = None
        if folder is None:
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{folder}: not a folder for checkpoints: {error.strerror or error}") from error
        self._header = Checkpoint(folder / _HEADER, _depends(setup))

    def __enter__(self) -> Unfinished:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._header is not None:
            self._header.__exit__(kind, error, at)

    def options(self, what: str, *, keep: bool = True) -> dict[str, Any]:
        """How a piece of work is done: threads, memory, and the file of its finished blocks, kept when it is whole."""
        return {
            "threads": self._setup.threads,
            "memory": self._setup.memory,
            "checkpoint": self._path(what, ".blocks"),
            "keep_checkpoint": keep,
        }

    def ranking(self, name: str, make: Callable[[], Ranking]) -> Ranking:
        """A ranking of the study's images: the one that was finished earlier, or a new one, which is kept."""
        path = self._path(name, ".npz")
        if path is None:
            return make()
        earlier = _read(path, tuple(self._setup.images))
        if earlier is not None:
            return earlier
        made = make()
        _write(path, made)
        return made

    def finish(self) -> None:
        """The study is written: nothing of this is needed any more. The folder goes too, if nothing else is in it."""
        if self.folder is None:
            return
        for path in self.folder.iterdir():
            if path.suffix in _SUFFIXES and path.name.partition("-")[0] in ("work", _HEADER):
                path.unlink()
        clear_abandoned(self.folder)
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def _path(self, what: str, suffix: str) -> Path | None:
        if self.folder is None:
            return None
        readable = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in what)[:40]
        return self.folder / f"work-{readable}-{hashlib.sha256(what.encode()).hexdigest()[:12]}{suffix}"


def _depends(setup: Setup) -> Mapping[str, Any]:
    """Everything that the numbers of a study depend on."""
    images = ImageCollection.of(setup.images, None, setup.graph, setup.unknown)
    return {
        "work": "study",
        **images.depends(setup.graph),
        "content of labels": None if setup.labels is None else setup.labels.digest,
        **{f"embeddings {name}": opened_input(file).digest() for name, file in setup.embeddings.items()},
        "n": setup.n,
        "lambda": setup.lam,
        "direction": setup.direction,
        "unknown": setup.unknown,
        "empty_ideal": setup.empty_ideal,
        "seed": setup.seed,
    }


def _write(path: Path, ranking: Ranking) -> None:
    """Whole or not at all."""
    with replaced_file(path) as file:
        np.savez(
            file, indptr=ranking.indptr, rows=ranking.rows, listed=ranking.listed,
            self_retrieved=ranking.self_retrieved, source=np.array(ranking.source),
            ties=np.array(ranking.ties or ""), unasked=np.array(ranking.other_queries, dtype=np.str_),
            form=np.array(ranking.form),
        )  # fmt: skip


def _read(path: Path, images: tuple[str, ...]) -> Ranking | None:
    """What was written; nothing where it was not, or is damaged."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
            ties = str(held["ties"])
            return Ranking(
                images, images, held["indptr"], held["rows"], held["listed"], held["self_retrieved"],
                str(held["source"]), tuple(held["unasked"].tolist()), checked_ties(ties) if ties else None,
                str(held["form"]),
            )  # fmt: skip
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
