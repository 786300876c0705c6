"""Relevance between the images of a collection: concept sets, gains, and rankings computed from them."""

from cuihop.relevance.baselines import random_ranking, top_k

__all__ = ["random_ranking", "top_k"]
