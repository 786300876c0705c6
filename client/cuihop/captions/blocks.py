"""Long parts of a scoring of captions in blocks, resumed from a checkpoint and divided among shards: ROUGE and BLEU."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cuihop.files.content_digest import content_digest
from cuihop.measures.caption_measures import rouge_counts, rouge_tokens
from cuihop.measures.measure import Measure
from cuihop.resources.arrays import Float64, Int64
from cuihop.resources.block_work import BlockStore, BlockWork, Cluster
from cuihop.resources.checkpoint import open_checkpoint
from cuihop.resources.optional_packages import installed_by
from cuihop.resources.resources import Resources
from cuihop.resources.shard import Shard

_TEXTS_A_BLOCK = 256


@dataclass(frozen=True)
class CaptionBlocks:
    """Threads, progress, and files of finished blocks, one for each task.

    Attributes:
        resources: their checkpoint is the beginning of the names of the files.
        shard: only its blocks are computed, and the rest of what is returned has no meaning.
    """

    resources: Resources = Resources()
    shard: Shard | None = None

    def rows(
        self, depends: Mapping[str, Any], rows: int, columns: int, blocks_of: Callable[[Int64], BlockWork]
    ) -> Float64:  # fmt: skip
        """Values of captions, float64, shape (rows, columns); a shard computes some of the rows.

        Args:
            depends: everything that the values depend on, for a checkpoint; its key ``work`` names the file.
            blocks_of: makes the blocks of the rows that are left, int64.
        """
        row_numbers = None if self.shard is None else self.shard.of_positions(rows)
        return self._filled(
            depends, (rows, columns), row_numbers, lambda left: blocks_of(np.arange(rows) if left is None else left),
            self.resources.cluster,
        )  # fmt: skip

    def batches(self, depends: Mapping[str, Any], rows: int, columns: int, batches: BlockWork) -> Float64:
        """As `rows`, of blocks that may not be cut otherwise, as batches of a model; a shard computes each N-th.

        They are computed in this process, which holds the model, and not in a cluster.
        """
        row_numbers = None
        if self.shard is not None:
            own = range(self.shard.number - 1, len(batches), self.shard.count)
            row_numbers = np.concatenate([np.empty(0, dtype=np.int64), *map(batches.places, own)])
        return self._filled(depends, (rows, columns), row_numbers, lambda left: batches)

    def _filled(
        self, depends: Mapping[str, Any], shape: tuple[int, int], row_numbers: Int64 | None,
        blocks_of: Callable[[Int64 | None], BlockWork], cluster: Cluster | None = None,
    ) -> Float64:  # fmt: skip
        table = np.full(shape, np.nan, dtype=np.float64)
        path, resources = None, self.resources
        if resources.checkpoint is not None:
            readable = re.sub(r"[^A-Za-z0-9]", "-", str(depends["work"]))
            path = f"{resources.checkpoint}-{readable[:40]}-{content_digest(depends['work'])[:12]}.blocks"
        with open_checkpoint(path, depends, keep=resources.keep_checkpoint) as saved:
            blocks = BlockStore(table.__setitem__, shape[0], positions=row_numbers, saved=saved)
            if not blocks.complete:
                blocks.fill(blocks_of(blocks.left), progress=resources.progress, cluster=cluster)
        return table


@dataclass(frozen=True, eq=False)
class TextBlocks:
    """Values of pairs of texts, one function for each, in blocks: a `cuihop.resources.block_work.BlockWork`.

    ``value``: of references and predictions, float64, shape (texts,). ``rows``: int64: indices of the texts.
    """

    value: Callable[[Sequence[str], Sequence[str]], Float64]
    texts: tuple[Sequence[str], Sequence[str]]
    rows: Int64
    threads: int

    def __len__(self) -> int:
        return math.ceil(len(self.rows) / _TEXTS_A_BLOCK)

    def places(self, number: int) -> Int64:
        """Indices of the texts of a block."""
        return self.rows[number * _TEXTS_A_BLOCK : (number + 1) * _TEXTS_A_BLOCK]

    def values(self, number: int) -> Float64:
        """The value of each text, shape (texts, 1)."""
        sides = ([side[row] for row in self.places(number).tolist()] for side in self.texts)
        return self.value(*sides)[:, np.newaxis]


def rouge_values(measure: Measure, references: Sequence[str], candidates: Sequence[str]) -> Float64:
    """ROUGE of each caption, float64, shape (captions,); 0 if a side has no token."""
    value = measure.values["value"]
    scores = np.zeros(len(references))
    for index, pair in enumerate(zip(references, candidates, strict=True)):
        counts = rouge_counts(measure.family, *map(rouge_tokens, pair))
        if counts.true and counts.predicted:
            methods = {"F1": counts.f1, "precision": counts.precision, "recall": counts.recall}
            scores[index] = methods[str(value)]()
    return scores


def bleu_values(measure: Measure, references: Sequence[str], candidates: Sequence[str]) -> Float64:
    """BLEU of each caption by sacrebleu, float64, shape (captions,), from 0 to 1.

    Tokens are those of ``13a``; an n-gram order without a match is smoothed exponentially; of a caption of fewer than K
    tokens the orders that it has count (``effective_order``).
    """
    bleu = _sacrebleu(measure, effective_order=True)
    return np.array(
        [
            bleu.sentence_score(candidate, [reference]).score / 100
            for reference, candidate in zip(references, candidates, strict=True)
        ]
    )


def corpus_bleu(measure: Measure, references: Sequence[str], candidates: Sequence[str]) -> tuple[float, str]:
    """BLEU of all captions together, from 0 to 1, by the summed counts of their n-grams; and sacrebleu's signature."""
    bleu = _sacrebleu(measure, effective_order=False)
    value = bleu.corpus_score(list(candidates), [list(references)]).score / 100
    return value, str(bleu.get_signature())


def _sacrebleu(measure: Measure, *, effective_order: bool) -> Any:
    with installed_by("cuihop[captions]"):
        from sacrebleu.metrics.bleu import BLEU

    return BLEU(max_ngram_order=measure.k or 0, tokenize="13a", smooth_method="exp", effective_order=effective_order)
