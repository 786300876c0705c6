"""What the core answers, before a transport puts it into its own words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from cuihop.graph import Concept

__all__ = ["Answer", "ConceptDescriptions", "RelevanceRow", "Tier"]

Tier: TypeAlias = Literal["cache", "index", "cypher"]
"""Which part of the service gave an answer: a cache, the index in memory, or the database by Cypher."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """An answer, and where it comes from.

    Attributes:
        value: the answer.
        digest: of the release.
        tier: which part of the service gave it; for a batch, the slowest that was asked.
        merged: retired identifiers of the question, and the successor that each was taken for.
        from_cache: of a batch of distances, how many came from a cache.
    """

    value: T
    digest: str
    tier: Tier
    merged: Mapping[str, str]
    from_cache: int = 0


@dataclass(frozen=True, slots=True)
class ConceptDescriptions:
    """What the release knows of concepts.

    Attributes:
        concepts: one for each identifier, in the order asked.
        names_hidden: whether names, synonyms and definitions were left out because the caller may not see them.
    """

    concepts: tuple[Concept, ...]
    names_hidden: bool


@dataclass(frozen=True, slots=True)
class RelevanceRow:
    """The relevance of one concept set to each of many.

    Attributes:
        iou, nn_iou: one value for each set.
        isolated: identifiers that were kept as isolated concepts, ascending.
    """

    iou: tuple[float, ...]
    nn_iou: tuple[float, ...]
    isolated: tuple[str, ...]
