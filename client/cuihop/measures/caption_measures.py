"""Measures of captions: ROUGE, and the families of measures that are not computed from their words alone.

ROUGE-1, ROUGE-2 and ROUGE-L count shared words, pairs of words, and the longest common subsequence: Lin CY. ROUGE: a
package for automatic evaluation of summaries. In: Text Summarization Branches Out. ACL 2004:74-81, sections 2 and 3,
with one reference and without stemming. Tokens are those of the package ``rouge-score``.

The other definitions are those of ImageCLEFmedical caption 2025: Damm et al. Overview of ImageCLEFmedical 2025 -
medical concept detection and interpretable caption generation. CLEF 2025 Working Notes, CEUR-WS 4038, section 4.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from cuihop.measures.f1 import MatchCounts
from cuihop.measures.family import Family, Option
from cuihop.measures.nn_iou import HOPS, LAMBDA

_TOKEN = re.compile("[a-z0-9]+")
_SIZES: Mapping[str, int] = {"ROUGE-1": 1, "ROUGE-2": 2}


def rouge_tokens(text: str) -> list[str]:
    """The runs of the letters a to z and the digits 0 to 9, in lower case.

    >>> rouge_tokens("T2-weighted MRI, 3.5 mm")
    ['t2', 'weighted', 'mri', '3', '5', 'mm']
    """
    return _TOKEN.findall(text.lower())


def rouge_counts(family: str, reference: Sequence[str], candidate: Sequence[str]) -> MatchCounts:
    """Counts of units of both texts and of those that match; their `MatchCounts.f1` is the F of ROUGE.

    Tokens as `rouge_tokens` gives them.

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
    """Its length, by the bits of one number in place of a table (Hyyrö 2004): bit j is set if row j does not grow."""
    everywhere = (1 << len(first)) - 1
    positions = defaultdict[str, int](int)
    for position, token in enumerate(first):
        positions[token] |= 1 << position
    rows = everywhere
    for token in second:
        matched = rows & positions[token]
        rows = ((rows + matched) | (rows - matched)) & everywhere
    return len(first) - rows.bit_count()


_ROUGE_VALUE = (Option.of_words("value", "F1", "precision", "recall"),)

ROUGE_FAMILIES = (
    Family("ROUGE-1", "F1 of the words of captions", "caption", options=_ROUGE_VALUE, spellings=("ROUGE1",)),
    Family("ROUGE-2", "F1 of the pairs of neighbouring words of captions", "caption", options=_ROUGE_VALUE,
           spellings=("ROUGE2",)),
    Family("ROUGE-L", "F1 by the longest common subsequence of words of captions", "caption", options=_ROUGE_VALUE,
           spellings=("ROUGEL",)),
)  # fmt: skip

BLEU = Family(
    "BLEU", "geometric mean of the precision of 1 to K neighbouring words, with a penalty for brevity", "caption",
    "needed", largest_k=4,
)  # fmt: skip

CONCEPT_FAMILIES = (
    Family("concept-F1", "F1 of the concepts of captions", "caption"),
    Family("MEDCON", "concept-F1 of the concepts in the semantic groups of MEDCON", "caption"),
    Family("nn-concept-F1", "concept-F1 that counts near misses", "caption", options=(HOPS, LAMBDA)),
)

MODEL_FAMILIES = (
    Family("BERTScore", "cosine of the best matching tokens of captions in a language model", "caption",
           options=(Option.of_words("value", "recall", "precision", "F1"),), limits=(-math.inf, 1.0)),
    Family("BLEURT", "similarity of captions by a model trained on human judgements", "caption",
           limits=(-5.0, 5.0)),
    Family("AlignScore", "agreement of a caption with its reference by a model of entailment", "caption"),
    Family("similarity", "2.5 times the cosine of image and caption, 0 where it is negative", "caption",
           limits=(0.0, 2.5)),
)  # fmt: skip

EXTERNAL = Family(
    "external", "values that another program computed, under a name of your own", "caption",
    options=(Option("name", "a name", lambda text: text or None),), limits=(-math.inf, math.inf),
)  # fmt: skip

COMPOSITES = (
    Family("relevance", "mean of BERTScore, ROUGE-1, similarity and BLEURT", "caption", limits=(-math.inf, math.inf)),
    Family("factuality", "mean of concept-F1 and AlignScore", "caption"),
    Family("overall", "mean of relevance and factuality", "caption", limits=(-math.inf, math.inf)),
)

CAPTION_FAMILIES = (*ROUGE_FAMILIES, BLEU, *CONCEPT_FAMILIES, *MODEL_FAMILIES, *COMPOSITES, EXTERNAL)
