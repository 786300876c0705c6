"""Shards of an evaluation: the queries of each, and the folder that its finished blocks are in."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.collection.dataset import DataLike, Dataset
from cuihop.errors import InputError
from cuihop.resources.optional_packages import versions
from cuihop.resources.progress import Progress
from cuihop.resources.resources import Resources
from cuihop.resources.shard import Shard, ShardRecord, recorded_shard

__all__ = ["OpenShard", "open_shard", "queries_of_shard"]


@dataclass(frozen=True, eq=False)
class OpenShard:
    """A shard that is being computed.

    Attributes:
        folder: its own. places: int64: the positions of its queries. of_queries: number of all queries.
        limits: threads, memory and more, for each job.
    """

    folder: Path
    places: npt.NDArray[np.int64]
    of_queries: int
    limits: Resources

    def resources(self, name: str, progress: Progress | None = None) -> Resources:
        """The resources of a job, for the queries of the shard.

        Args:
            name: of its file of finished blocks, the same as in the checkpoint of all queries: ``evaluation.blocks``.
            progress: of the job.
        """
        return dataclasses.replace(
            self.limits, progress=progress, checkpoint=self.folder / name, keep_checkpoint=True, places=self.places
        )


@contextmanager
def open_shard(
    shard: Shard | str,
    folder: str | os.PathLike[str],
    data: DataLike,
    *,
    by_position: bool = False,
    resources: Resources = Resources(),
) -> Iterator[OpenShard]:
    """Open a shard; at the end of the block it is finished. If it was interrupted, it resumes.

    Args:
        shard: I/N. folder: of the job; the shard's own is ``I-of-N`` in it.
        data: as in `cuihop.evaluate`.
        by_position: deal out the queries by their position, as rankings by vectors need them; otherwise by their
            concepts, so that equal concept sets are computed once. The same for every shard.
        resources: threads, memory and more.

    Raises:
        InputError: not a shard, another process works on it, or its folder is of another job.
        OutputError: the folder cannot be written.

    >>> from tempfile import TemporaryDirectory
    >>> from cuihop import evaluate
    >>> from cuihop.evaluation import evaluate_shard
    >>> images, ranking = {"x": "C0042449", "y": "C0042449", "z": "C0018670"}, {"x": ["y"], "y": ["z"], "z": ["x"]}
    >>> with TemporaryDirectory() as folder:
    ...     for number in (1, 2):
    ...         with open_shard(f"{number}/2", folder, images) as part:
    ...             blocks = part.resources("evaluation.blocks")
    ...             evaluate_shard(images, {"mine": ranking}, measures="CUI@1", resources=blocks)
    ...     whole = Resources(checkpoint=f"{folder}/evaluation.blocks")
    ...     evaluate(images, ranking, measures="CUI@1", resources=whole).means
    {'CUI@1': 0.3333333333333333}
    """
    shard = shard if isinstance(shard, Shard) else Shard.parse(shard)
    indices, total = queries_of_shard(shard, Dataset.of(data), by_position=by_position)
    with open_places(shard, folder, indices, total, resources) as opened:
        yield opened


@contextmanager
def open_places(
    shard: Shard,
    folder: str | os.PathLike[str],
    indices: npt.NDArray[np.int64],
    total: int,
    resources: Resources,
    command: str = "",
    arguments: Mapping[str, Any] | None = None,
) -> Iterator[OpenShard]:
    """Open a shard of these queries: see `open_shard`. Command and arguments are for ``cuihop shards merge``."""
    record = ShardRecord(
        str(shard), "running", len(indices), total, command, dict(arguments or {}), str(Path.cwd()),
        versions("cuihop", "numpy", "numba"),
    )  # fmt: skip
    with recorded_shard(Path(folder), record) as own:
        yield OpenShard(own, indices, total, resources)


def queries_of_shard(shard: Shard, data: Dataset, *, by_position: bool) -> tuple[npt.NDArray[np.int64], int]:
    """The positions of the queries of a shard, int64, ascending; and the number of all queries.

    Raises:
        InputError: nothing names the queries.
    """
    if data.queries is not None and not by_position:
        groups = data.queries.distinct.of
        return shard.of_groups(groups), len(groups)
    sources = (data.queries, data.qrels, None if data.labels is None else data.labels.images)
    names = next((source for source in sources if source is not None), None)
    if names is None:
        raise InputError("no queries", column="data", found="none", expected="concepts, judgements or labels")
    return shard.of_positions(len(names)), len(names)
