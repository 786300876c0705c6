"""Finished work of a study, in a folder from which the same study resumes."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from cuihop.errors import output_errors
from cuihop.files.written_files import clear_abandoned, replaced_file
from cuihop.rankings.ranking import QueryImage, Ranking, checked_ties
from cuihop.resources.checkpoint import Checkpoint, remove_finished
from cuihop.resources.progress import Progress
from cuihop.resources.resources import Resources
from cuihop.study.inputs import StudyInputs

_HEADER = "study.blocks"
_SUFFIXES = (".blocks", ".npz")


class StudyCheckpoint:
    """Finished rankings, and finished blocks of those under way and of evaluations; a context manager.

    The folder belongs to one study: everything that its numbers depend on stands in a file of its own, which is locked
    while a process works on it. Without a folder, nothing is stored.

    Raises:
        InputError: the folder is of another study, or another process works on it. OutputError: it cannot be written.
    """

    def __init__(self, folder: Path | None, inputs: StudyInputs) -> None:
        self.folder = folder
        self._inputs = inputs
        self._header: Checkpoint | None = None
        if folder is None:
            return
        with output_errors(f"{folder}: not a folder for checkpoints"):
            folder.mkdir(parents=True, exist_ok=True)
        self._header = Checkpoint(folder / _HEADER, _depends(inputs))

    def __enter__(self) -> StudyCheckpoint:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._header is not None:
            self._header.__exit__(kind, error, at)

    def resources(self, work: str, progress: Progress | None = None, *, keep: bool = True) -> Resources:
        """The resources of a piece of work: those of the study, and a file of finished blocks, to keep or not."""
        resources = self._inputs.resources
        keep = keep or resources.places is not None
        return dataclasses.replace(
            resources, progress=progress, checkpoint=self._path(work, ".blocks"), keep_checkpoint=keep
        )

    def ranking(self, name: str, make: Callable[[], Ranking]) -> Ranking:
        """A ranking of the study's images: the one that was finished and stored earlier, or a new one."""
        path = self._path(name, ".npz")
        if path is None or self._inputs.resources.places is not None:
            return make()
        earlier = _read(path, tuple(self._inputs.images), self._inputs.query_image)
        if earlier is not None:
            return earlier
        ranking = make()
        _write(path, ranking)
        return ranking

    def finish(self) -> None:
        """Remove the finished work; and the folder, if nothing else is in it."""
        if self.folder is None:
            return
        for path in self.folder.iterdir():
            if path.suffix in _SUFFIXES and path.name.partition("-")[0] in ("work", _HEADER):
                remove_finished(path)
        clear_abandoned(self.folder)
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def _path(self, work: str, suffix: str) -> Path | None:
        if self.folder is None:
            return None
        readable = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in work)[:40]
        return self.folder / f"work-{readable}-{hashlib.sha256(work.encode()).hexdigest()[:12]}{suffix}"


def _depends(inputs: StudyInputs) -> Mapping[str, Any]:
    """Everything that the numbers of a study depend on."""
    images = inputs.collection
    return {
        "work": "study",
        **images.depends(inputs.graph),
        "content of labels": None if inputs.labels is None else inputs.labels.digest,
        "agreement of labels": None if inputs.labels is None else inputs.labels.agreement,
        **{f"embeddings {name}": digest for name, (_, digest) in inputs.embedding_files.items()},
        **inputs.nearness.fields(),
        "empty_ideal": inputs.empty_ideal,
        "order": inputs.order,
        "seed": inputs.seed,
    }


def _write(path: Path, ranking: Ranking) -> None:
    """Write the file atomically."""
    with replaced_file(path) as file:
        np.savez(
            file, indptr=ranking.indptr, rows=ranking.rows, listed=ranking.listed,
            self_retrieved=ranking.self_retrieved, source=np.array(ranking.source),
            ties=np.array(ranking.ties or ""), other_queries=np.array(ranking.other_queries, dtype=np.str_),
            form=np.array(ranking.form), recipe=np.array(ranking.recipe),
        )  # fmt: skip


def _read(path: Path, images: tuple[str, ...], query_image: QueryImage) -> Ranking | None:
    """The stored ranking; ``None`` where there is none, or it is damaged."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
            ties = str(held["ties"])
            return Ranking(
                images, images, held["indptr"], held["rows"], held["listed"], held["self_retrieved"],
                str(held["source"]), tuple(held["other_queries"].tolist()), checked_ties(ties) if ties else None,
                str(held["form"]), query_image, str(held["recipe"]),
            )  # fmt: skip
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
