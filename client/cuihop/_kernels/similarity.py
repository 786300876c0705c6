"""Formulas of similarity: see `cuihop.similarity.options.SIMILARITY_MEASURES` for their sources."""

from __future__ import annotations

import math

import numpy as np

from cuihop._kernels.jit import compiled

PATH, PATH_LCS, LEACOCK_CHODOROW, WU_PALMER, RESNIK, LIN, JIANG_CONRATH, SIM_UI, SIM_GIC = range(9)
"""Numbers of the measures, in the order of `cuihop.similarity.options.SIMILARITY_MEASURES`."""


@compiled
def path_similarity(hops: int) -> float:
    """1 / (1 + d)."""
    return 1.0 / (1.0 + hops)


@compiled
def leacock_chodorow(hops: int, depth: int) -> float:
    """-log((d + 1) / (2 D)); no value (NaN) where D is 0."""
    return -math.log((hops + 1.0) / (2.0 * depth)) if depth > 0 else np.nan


@compiled
def wu_palmer(hops: int, depth: int) -> float:
    """2 depth(lcs) / (d + 2 depth(lcs)), d hops from both concepts to the lcs."""
    return 2.0 * depth / (hops + 2.0 * depth)


@compiled
def lin(ic_a: float, ic_b: float, ic_mica: float, related: bool) -> float:
    """2 IC(mica) / (IC(a) + IC(b)); where both are 0, 1 with a common ancestor, itself among them, and 0 without."""
    both = ic_a + ic_b
    return 2.0 * ic_mica / both if both != 0.0 else (1.0 if related else 0.0)


@compiled
def jiang_conrath(ic_a: float, ic_b: float, ic_mica: float) -> float:
    """IC(a) + IC(b) - 2 IC(mica), a distance."""
    return ic_a + ic_b - 2.0 * ic_mica


@compiled
def ratio(common: float, united: float, related: bool) -> float:
    """Common ancestors of united ones; where all these have information content 0, 1 with a common one, 0 without."""
    return common / united if united != 0.0 else (1.0 if related else 0.0)
