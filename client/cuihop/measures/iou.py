"""Concept overlap by identity alone: intersection over union."""
# ruff: noqa: N803, N806 - A and B are the paper's symbols

from __future__ import annotations

from collections.abc import Iterable

from cuihop.identifiers import concept_set
from cuihop.measures.family import Family
from cuihop.measures.resolution import resolved_concepts


def iou(A: str | Iterable[str], B: str | Iterable[str]) -> float:
    """IoU(A, B) = |A ∩ B| / |A ∪ B|, between 0 and 1; 0 where both sets are empty.

    A CUI in lower case is read in upper case. `nn_iou` with ``lam=0`` is the same value, once retired
    identifiers are replaced by their successors. Source: Serieys et al., as cited by Wei, Kurtz and Cloppet (2025).

    Args:
        A, B: concepts of two images, as ``"C1;C2"`` or as a collection of identifiers.

    Raises:
        InputError: an identifier is missing between two semicolons. InvalidCui: one is malformed.

    >>> iou("C0042449;C0005847", "C0005847")
    0.5
    """
    A, B = concept_set(A), concept_set(B)
    resolution = resolved_concepts(A | B, None)
    A, B = resolution.concepts(A), resolution.concepts(B)
    union = len(A | B)
    return len(A & B) / union if union else 0.0


FAMILY = Family("IoU", "intersection over union of two concept sets", "pair")
