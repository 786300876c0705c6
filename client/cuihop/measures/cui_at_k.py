"""CUI@K and nn-CUI@K: mean NDCG@K with the gain IoU or nn-IoU (Wei, Kurtz, Cloppet 2025, Algorithm 2)."""

from __future__ import annotations

from cuihop.measures.family import Family
from cuihop.measures.nn_iou import HOPS, IC, LAMBDA, WEIGHT

CUI = Family("CUI", "mean NDCG@K with the gain IoU", "concepts", "needed")
NN_CUI = Family(
    "nn-CUI",
    "mean NDCG@K with the gain nn-IoU",
    "concepts",
    "needed",
    (HOPS, LAMBDA, WEIGHT, IC),
    spellings=("nnCUI",),
)
