"""Long parts of a scoring of captions in blocks: resumed from a checkpoint, and divided among shards."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.files.content_digest import content_digest
from cuihop.resources.block_work import BlockStore, BlockWork, Cluster
from cuihop.resources.checkpoint import open_checkpoint
from cuihop.resources.resources import Resources
from cuihop.resources.shard import Shard

Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]

_TEXTS_A_BLOCK = 256


@dataclass(frozen=True)
class CaptionBlocks:
    """Threads, progress, and files of finished blocks, one for each part of the work.

    Attributes:
        resources: threads, progress and checkpoint: the beginning of the names of the files.
        shard: only its blocks are computed, and the rest of what is returned has no meaning.
    """

    resources: Resources = Resources()
    shard: Shard | None = None

    def rows(
        self, depends: Mapping[str, Any], rows: int, columns: int, work: Callable[[Int64], BlockWork]
    ) -> Float64:  # fmt: skip
        """Values of captions, float64, shape (rows, columns); a shard computes some of the rows.

        Args:
            depends: everything that the values depend on, for a checkpoint; ``work`` names it, and its file.
            work: makes the blocks of the rows that are left, int64.
        """
        places = None if self.shard is None else self.shard.of_positions(rows)
        return self._filled(
            depends, (rows, columns), places, lambda left: work(np.arange(rows) if left is None else left),
            self.resources.cluster,
        )  # fmt: skip

    def batches(self, depends: Mapping[str, Any], rows: int, columns: int, work: BlockWork) -> Float64:
        """As `rows`, of blocks that may not be cut otherwise, as batches of a model; a shard computes each N-th.

        They are computed in this process, which holds the model, and not in a cluster.
        """
        places = None
        if self.shard is not None:
            own = range(self.shard.number - 1, len(work), self.shard.count)
            places = np.concatenate([np.empty(0, dtype=np.int64), *map(work.places, own)])
        return self._filled(depends, (rows, columns), places, lambda left: work)

    def _filled(
        self, depends: Mapping[str, Any], shape: tuple[int, int], places: Int64 | None,
        work: Callable[[Int64 | None], BlockWork], cluster: Cluster | None = None,
    ) -> Float64:  # fmt: skip
        found = np.full(shape, np.nan, dtype=np.float64)

        def store(some: Int64, values: Float64) -> None:
            found[some] = values

        path, resources = None, self.resources
        if resources.checkpoint is not None:
            readable = re.sub(r"[^A-Za-z0-9]", "-", str(depends["work"]))
            path = f"{resources.checkpoint}-{readable[:40]}-{content_digest(depends['work'])[:12]}.blocks"
        with open_checkpoint(path, depends, keep=resources.keep_checkpoint) as saved:
            blocks = BlockStore(store, shape[0], places=places, saved=saved)
            if not blocks.complete:
                blocks.fill(work(blocks.left), progress=resources.progress, cluster=cluster)
        return found


@dataclass(frozen=True, eq=False)
class TextBlocks:
    """Values of pairs of texts, one function for each, in blocks: a `cuihop.resources.block_work.BlockWork`.

    Attributes:
        value: of references and predictions, float64, shape (texts,). texts: of both sides. rows: int64: their places.
        threads: number of blocks computed at once.
    """

    value: Callable[[Sequence[str], Sequence[str]], Float64]
    texts: tuple[Sequence[str], Sequence[str]]
    rows: Int64
    threads: int

    def __len__(self) -> int:
        return math.ceil(len(self.rows) / _TEXTS_A_BLOCK)

    def places(self, number: int) -> Int64:
        """Places of the texts of a block."""
        return self.rows[number * _TEXTS_A_BLOCK : (number + 1) * _TEXTS_A_BLOCK]

    def values(self, number: int) -> Float64:
        """The value of each text, shape (texts, 1)."""
        sides = ([side[place] for place in self.places(number).tolist()] for side in self.texts)
        return self.value(*sides)[:, np.newaxis]
