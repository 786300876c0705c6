"""nn-CUI@K: mean NDCG@K with the gain nn-IoU (Wei, Kurtz, Cloppet 2025, Algorithm 2)."""

from __future__ import annotations

from cuihop.measures.family import Family
from cuihop.measures.nn_iou import HOPS, LAMBDA

__all__ = ["FAMILY"]


FAMILY = Family(
    "nn-CUI", "mean NDCG@K with the gain nn-IoU", "concepts", "needed", (HOPS, LAMBDA), spellings=("nnCUI",)
)
