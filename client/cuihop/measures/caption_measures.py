"""Families of measures of captions that are not computed from their words alone.

The definitions of ImageCLEFmedical caption 2025: Damm et al. Overview of ImageCLEFmedical 2025 - medical concept
detection and interpretable caption generation. CLEF 2025 Working Notes, CEUR-WS 4038, section 4.
"""

from __future__ import annotations

import math

from cuihop.measures.family import Family, Option
from cuihop.measures.nn_iou import HOPS, LAMBDA

BLEU = Family(
    "BLEU", "geometric mean of the precision of 1 to K neighbouring words, with a penalty for brevity", "caption",
    "needed", largest_k=4,
)  # fmt: skip

CONCEPT_FAMILIES = (
    Family("concept-F1", "F1 of the concepts of captions", "caption"),
    Family("MEDCON", "concept-F1 of the concepts in the semantic groups of MEDCON", "caption"),
    Family("nn-concept-F1", "concept-F1 that counts near misses", "caption", options=(HOPS, LAMBDA)),
)

_VALUE = Option.of_words("value", "recall", "precision", "F1")

MODEL_FAMILIES = (
    Family("BERTScore", "cosine of the best matching tokens of captions in a language model", "caption",
           options=(_VALUE,), limits=(-math.inf, 1.0)),
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
