"""CUI@K: mean NDCG@K with the gain IoU."""

from __future__ import annotations

from cuihop.measures.family import Family

__all__ = ["FAMILY"]


FAMILY = Family("CUI", "mean NDCG@K with the gain IoU", "concepts", "needed")
