"""Answers of the core, before a transport renders them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from cuihop.graph import Concept

__all__ = ["Answer", "ConceptDescriptions", "RelevanceRow", "Tier"]

Tier: TypeAlias = Literal["cache", "index", "cypher"]
"""The part of the service that gave an answer: a cache, the index in memory, or the database by Cypher."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """An answer and its origin.

    Attributes:
        value: the answer.
        digest: of the release.
        tier: the part of the service that gave it; for a batch, the slowest one used.
        merged: retired identifiers of the request, and the successor that each was taken for.
        from_cache: number of distances of a batch that came from a cache.
    """

    value: T
    digest: str
    tier: Tier
    merged: Mapping[str, str]
    from_cache: int = 0


@dataclass(frozen=True, slots=True)
class ConceptDescriptions:
    """Concepts as the release describes them.

    Attributes:
        concepts: one for each identifier, in the order of the request.
        names_hidden: True where names, synonyms and definitions are left out, as the caller may not see them.
    """

    concepts: tuple[Concept, ...]
    names_hidden: bool


@dataclass(frozen=True, slots=True)
class RelevanceRow:
    """The relevance of one concept set to each of many.

    Attributes:
        iou, nn_iou: one value for each set.
        isolated: identifiers treated as isolated concepts, ascending.
    """

    iou: tuple[float, ...]
    nn_iou: tuple[float, ...]
    isolated: tuple[str, ...]
