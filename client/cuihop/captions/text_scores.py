"""ROUGE and BLEU of many captions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.measures.measure import Measure
from cuihop.measures.rouge import rouge_counts, rouge_tokens
from cuihop.resources.optional_packages import installed_by

Float64 = npt.NDArray[np.float64]


def rouge_values(measure: Measure, references: Sequence[str], candidates: Sequence[str]) -> Float64:
    """ROUGE of each caption, float64, shape (captions,); 0 where a side has no token."""
    value = measure.values["value"]
    found = np.zeros(len(references))
    for place, pair in enumerate(zip(references, candidates, strict=True)):
        counts = rouge_counts(measure.family, *map(rouge_tokens, pair))
        if counts.true and counts.predicted:
            methods = {"F1": counts.f1, "precision": counts.precision, "recall": counts.recall}
            found[place] = methods[str(value)]()
    return found


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
