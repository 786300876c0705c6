"""ROUGE-1, ROUGE-2 and ROUGE-L of a caption: shared words, pairs of words, and the longest common subsequence.

Lin CY. ROUGE: a package for automatic evaluation of summaries. In: Text Summarization Branches Out. ACL 2004:74-81,
sections 2 and 3, with one reference and without stemming. Tokens are those of the package ``rouge-score``.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from cuihop.measures.family import Family, Option
from cuihop.measures.match_counts import MatchCounts

_TOKEN = re.compile("[a-z0-9]+")


def rouge_tokens(text: str) -> list[str]:
    """The runs of the letters a to z and the digits 0 to 9, in lower case.

    >>> rouge_tokens("T2-weighted MRI, 3.5 mm")
    ['t2', 'weighted', 'mri', '3', '5', 'mm']
    """
    return _TOKEN.findall(text.lower())


def rouge_counts(family: str, reference: Sequence[str], candidate: Sequence[str]) -> MatchCounts:
    """Counts of units of both texts and of those that match; their `MatchCounts.f1` is the F of ROUGE.

    Args:
        family: ``ROUGE-1``, ``ROUGE-2`` or ``ROUGE-L``.
        reference, candidate: tokens, as `rouge_tokens` gives them.

    >>> rouge_counts("ROUGE-1", ["ct", "of", "the", "head"], ["ct", "head", "head"]).f1()
    0.5714285714285715
    >>> rouge_counts("ROUGE-L", ["ct", "of", "the", "head"], ["head", "ct", "of"]).f1()
    0.5714285714285715
    """
    if family == "ROUGE-L":
        matched = _longest_common_subsequence(reference, candidate)
        return MatchCounts(len(reference), len(candidate), matched, matched)
    n = _SIZES[family]
    true, predicted = (Counter(zip(*(tokens[i:] for i in range(n)), strict=False)) for tokens in (reference, candidate))
    matched = (true & predicted).total()
    return MatchCounts(true.total(), predicted.total(), matched, matched)


def _longest_common_subsequence(first: Sequence[str], second: Sequence[str]) -> int:
    """Its length, by the bits of one number in place of a table (Hyyrö 2004): bit j is set where row j grows not."""
    everywhere = (1 << len(first)) - 1
    places = defaultdict[str, int](int)
    for place, token in enumerate(first):
        places[token] |= 1 << place
    rows = everywhere
    for token in second:
        matched = rows & places[token]
        rows = ((rows + matched) | (rows - matched)) & everywhere
    return len(first) - rows.bit_count()


_VALUE = Option.of_words("value", "F1", "precision", "recall")
_SIZES: Mapping[str, int] = {"ROUGE-1": 1, "ROUGE-2": 2}

ROUGE_FAMILIES = (
    Family("ROUGE-1", "F1 of the words of captions", "caption", options=(_VALUE,), spellings=("ROUGE1",)),
    Family("ROUGE-2", "F1 of the pairs of neighbouring words of captions", "caption", options=(_VALUE,),
           spellings=("ROUGE2",)),
    Family("ROUGE-L", "F1 by the longest common subsequence of words of captions", "caption", options=(_VALUE,),
           spellings=("ROUGEL",)),
)  # fmt: skip
