"""The concepts of two sets and what each of them earns."""
# ruff: noqa: N802 - A and B are the paper's symbols

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from cuihop.graph import Direction, Release
from cuihop.measures.nn_iou import nn_iou_of_counts
from cuihop.measures.resolution import ResolvedConcepts

__all__ = ["MATCHES", "ExplainedConcept", "ExplainedPair", "Match", "Partner", "PathConcept", "Side"]

Side: TypeAlias = Literal["A", "B", "both"]
"""Which set holds a concept."""

Match: TypeAlias = Literal["exact", "near", "none"]
"""What a concept earns: 1 where both sets hold it, λ where the other set has a concept within n hops, or nothing."""

MATCHES: tuple[Match, ...] = ("exact", "near", "none")


@dataclass(frozen=True, slots=True)
class Partner:
    """A concept of the other set, and how many hops lie between."""

    cui: str
    name: str | None
    hops: int


@dataclass(frozen=True, slots=True)
class PathConcept:
    """A concept on a path.

    Attributes:
        cui, name: which.
        relation: what it is of the concept before it: its ``parent`` or its ``child``; ``None`` for the first.
        sabs: the source vocabularies that assert the is_a edge from the concept before; empty for the first.
    """

    cui: str
    name: str | None
    relation: Literal["parent", "child"] | None
    sabs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExplainedConcept:
    """What one concept earned, and through whom.

    Attributes:
        cui, name: which; the name is ``None`` where the release gives none.
        side: which set holds it.
        match: why it earns what it earns.
        earned: 1, λ or 0.
        partners: for ``near``, every concept of the other set within n hops; for ``none``, those at the smallest
            distance beyond n, empty where none is within ``n + look`` hops. Nearest first, then by identifier. The
            first is the one shown; those as near as the first are ties, and it makes no difference which is shown.
        path: for ``near``, a shortest path between the concept and its first partner, from the concept of A to the
            one of B, both ends included; of several, the first in the order of their identifiers.
        outside: why the graph cannot be asked about it (an isolated concept): ``unknown`` or
            ``retired``. It matches only itself.
        given: the retired identifiers that were taken for it, as they stood in the sets.
    """

    cui: str
    name: str | None
    side: Side
    match: Match
    earned: float
    partners: tuple[Partner, ...]
    path: tuple[PathConcept, ...]
    outside: Literal["unknown", "retired"] | None
    given: tuple[str, ...]

    @property
    def nearest(self) -> tuple[Partner, ...]:
        """The partners at the smallest distance: more than one is a tie."""
        return tuple(partner for partner in self.partners if partner.hops == self.partners[0].hops)


@dataclass(frozen=True, eq=False)
class ExplainedPair:
    """Two concept sets, what each concept earned, and the sum.

    Attributes:
        concepts: of the union: those of both sets, then those of A, then those of B; within a set ``near`` before
            ``none``, then by identifier.
        titles: what A and B are called, such as the names of two images.
        n, lam, direction: what was asked. Hops go from a concept of A to one of B.
        look: how many hops beyond n the nearest partner of a concept that earned nothing was looked for.
        resolved: what became of the identifiers.
        release: the graph's.
    """

    concepts: tuple[ExplainedConcept, ...]
    titles: tuple[str, str]
    n: int
    lam: float
    direction: Direction
    look: int
    resolved: ResolvedConcepts
    release: Release

    @property
    def A(self) -> tuple[str, ...]:
        """The concepts of A, ascending."""
        return tuple(sorted(concept.cui for concept in self.concepts if concept.side != "B"))

    @property
    def B(self) -> tuple[str, ...]:
        """The concepts of B, ascending."""
        return tuple(sorted(concept.cui for concept in self.concepts if concept.side != "A"))

    def count(self, match: Match) -> int:
        """How many concepts earned their part in this way."""
        return sum(concept.match == match for concept in self.concepts)

    @property
    def shared(self) -> int:
        """|A ∩ B|."""
        return self.count("exact")

    @property
    def near(self) -> int:
        """|rel_n(A, B)|."""
        return self.count("near")

    @property
    def union(self) -> int:
        """|A ∪ B|."""
        return len(self.concepts)

    @property
    def iou(self) -> float:
        """|A ∩ B| / |A ∪ B|."""
        return nn_iou_of_counts(self.shared, 0, self.union, 0.0)

    @property
    def nn_iou(self) -> float:
        """(|A ∩ B| + λ |rel_n(A, B)|) / |A ∪ B|: what `cuihop.nn_iou` gives, to the last bit."""
        return nn_iou_of_counts(self.shared, self.near, self.union, self.lam)

    @property
    def arithmetic(self) -> str:
        """The sum spelled out, as in ``(1 + 0.5 · 2) / 3``."""
        return f"({self.shared} + {self.lam:g} · {self.near}) / {self.union}"

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values: the keys are documented in docs/explain.md and stable."""
        return {
            "release": {"name": self.release.name, "digest": self.release.digest},
            "titles": {"A": self.titles[0], "B": self.titles[1]},
            "n": self.n,
            "lambda": self.lam,
            "direction": self.direction,
            "look": self.look,
            "A": list(self.A),
            "B": list(self.B),
            "shared": self.shared,
            "near": self.near,
            "union": self.union,
            "iou": self.iou,
            "nn_iou": self.nn_iou,
            "arithmetic": self.arithmetic,
            "concepts": [_plain(asdict(concept)) for concept in self.concepts],
            "merged": dict(self.resolved.merged),
            "unknown": list(self.resolved.unknown),
            "retired": list(self.resolved.retired),
            "upper_case": dict(self.resolved.upper_case),
        }


def _plain(value: Any) -> Any:
    """Tuples as lists, all the way down: what reading the JSON gives back."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
