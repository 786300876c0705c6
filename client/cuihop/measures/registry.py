"""Every measure by its name. A new one is a module with a ``FAMILY``, and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from cuihop.errors import InputError
from cuihop.measures.average_precision import FAMILY as AVERAGE_PRECISION
from cuihop.measures.bipartite_matching import FAMILY as BM
from cuihop.measures.bpref import FAMILY as BPREF
from cuihop.measures.caption_measures import BLEU, COMPOSITES, CONCEPT_FAMILIES, EXTERNAL, MODEL_FAMILIES
from cuihop.measures.code_error_rate import FAMILY as ERROR_RATE
from cuihop.measures.concept_f1 import FAMILY as F1
from cuihop.measures.concept_f1 import PRECISION as PRECISION_OF_CONCEPTS
from cuihop.measures.concept_f1 import RECALL as RECALL_OF_CONCEPTS
from cuihop.measures.cui_at_k import CUI, NN_CUI
from cuihop.measures.family import Family
from cuihop.measures.graded_ndcg import FAMILY as GRADED_NDCG
from cuihop.measures.hashing_average_precision import FAMILY as MAP_AT_P
from cuihop.measures.iou import FAMILY as IOU
from cuihop.measures.irma_error import FAMILY as IRMA
from cuihop.measures.nn_f1 import DOCUMENT_F1
from cuihop.measures.nn_f1 import FAMILY as NN_F1
from cuihop.measures.nn_iou import FAMILY as NN_IOU
from cuihop.measures.precision import FAMILY as PRECISION
from cuihop.measures.r_precision import FAMILY as R_PRECISION
from cuihop.measures.recall import FAMILY as RECALL
from cuihop.measures.reciprocal_rank import FAMILY as RECIPROCAL_RANK
from cuihop.measures.rouge import ROUGE_FAMILIES
from cuihop.measures.span_f1 import FAMILY as SPAN_F1

FAMILIES: Mapping[str, Family] = {
    family.name: family
    for family in (
        NN_CUI,
        CUI,
        PRECISION,
        RECALL,
        AVERAGE_PRECISION,
        MAP_AT_P,
        R_PRECISION,
        BPREF,
        RECIPROCAL_RANK,
        GRADED_NDCG,
        NN_IOU,
        IOU,
        BM,
        F1,
        PRECISION_OF_CONCEPTS,
        RECALL_OF_CONCEPTS,
        IRMA,
        ERROR_RATE,
        NN_F1,
        DOCUMENT_F1,
        SPAN_F1,
        *ROUGE_FAMILIES,
        BLEU,
        *CONCEPT_FAMILIES,
        *MODEL_FAMILIES,
        *COMPOSITES,
        EXTERNAL,
    )
}

_SPELLINGS = {spelling: family for family in FAMILIES.values() for spelling in (family.name, *family.spellings)}
_IN_LOWER_CASE = {spelling.lower(): family.name for spelling, family in _SPELLINGS.items()}


def family_named(name: str) -> Family:
    """The family with this name or spelling.

    Raises:
        InputError: there is none; the message lists the families.
    """
    if name not in _SPELLINGS:
        alike = get_close_matches(name.lower(), _IN_LOWER_CASE, 1)
        raise InputError(
            "not a measure",
            column="measures",
            found=repr(name),
            expected=f"one of {', '.join(FAMILIES)}, such as nn-CUI@5,10,30 or P@5(modality)",
            advice=f"Did you mean {_IN_LOWER_CASE[alike[0]]}?" if alike else None,
        )
    return _SPELLINGS[name]
