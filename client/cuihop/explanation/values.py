"""Concepts of two sets, with the share of the nn-IoU that each earns."""
# ruff: noqa: N802 - A and B are the paper's symbols

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from cuihop._kernels.shared import nn_iou_of_counts
from cuihop.graph import Direction, Release
from cuihop.measures.nearness import IntrinsicContent, Weight, arithmetic_text, credit_of_near
from cuihop.measures.resolution import ResolvedConcepts

__all__ = ["MATCHES", "ExplainedConcept", "ExplainedPair", "Match", "Partner", "PathStep", "Side", "plain"]

Side: TypeAlias = Literal["A", "B", "both"]
"""The set that holds a concept, or both."""

Match: TypeAlias = Literal["exact", "near", "none"]
"""``exact``: both sets hold the concept, it earns 1; ``near``: the other has one within n hops, it earns its weight;
``none``: 0."""

MATCHES: tuple[Match, ...] = ("exact", "near", "none")


@dataclass(frozen=True, slots=True)
class Partner:
    """A concept of the other set, and its distance in hops."""

    cui: str
    name: str | None
    hops: int


@dataclass(frozen=True, slots=True)
class PathStep:
    """A concept on a path.

    Attributes:
        cui, name: of the concept.
        relation: ``parent`` or ``child`` of the concept before it; ``None`` for the first.
        sabs: the source vocabularies that assert the is_a edge from the concept before; empty for the first.
    """

    cui: str
    name: str | None
    relation: Literal["parent", "child"] | None
    sabs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExplainedConcept:
    """One concept of the union, its match, and the concepts of the other set behind it.

    Attributes:
        cui, name: of the concept; the name is ``None`` if the release has none.
        side: the set that holds it.
        match: the reason for its share.
        earned: 1, the weight of the near concept, or 0.
        partners: for ``near``, every concept of the other set within n hops; for ``none``, those at the smallest
            distance beyond n, empty if none is within ``n + look`` hops. Nearest first, then by identifier; for a
            weight by similarity, most similar first. The first is printed and drawn; those as near as the first are
            ties of a weight by hops.
        path: for ``near``, a shortest path between the concept and its first partner, from the concept of A to the
            one of B, both ends included; of several, the first in the order of their identifiers. Empty if none was
            sought.
        outside: ``unknown`` or ``retired`` for a concept outside the graph, which matches only itself.
        given: the retired identifiers in the sets that were replaced by it.
        similarity: for ``near`` and a weight by similarity, to the first partner.
    """

    cui: str
    name: str | None
    side: Side
    match: Match
    earned: float
    partners: tuple[Partner, ...]
    path: tuple[PathStep, ...]
    outside: Literal["unknown", "retired"] | None
    given: tuple[str, ...]
    similarity: float | None = None

    @property
    def strength(self) -> float:
        """Hops or similarity behind the weight of a near concept: see `credit_of_near`."""
        return self.partners[0].hops if self.similarity is None else self.similarity

    @property
    def nearest(self) -> tuple[Partner, ...]:
        """The partners at the smallest distance: more than one is a tie. Of a weight by similarity, the first."""
        if self.similarity is not None:
            return self.partners[:1]
        return tuple(partner for partner in self.partners if partner.hops == self.partners[0].hops)


@dataclass(frozen=True, eq=False)
class ExplainedPair:
    """Two concept sets, the share that each concept earns, and the sum.

    Attributes:
        concepts: of the union: those of both sets, then those of A, then those of B; within a set ``near`` before
            ``none``, then by identifier.
        titles: names of A and B, such as those of two images.
        n, lam, direction, weight, ic: the parameters; ``ic`` is ``None`` for a weight that has none. Hops go from a
            concept of A to one of B.
        look: hops beyond n within which the nearest partner of a concept that earned nothing was sought.
        resolved: the resolved identifiers.
        release: of the graph.
    """

    concepts: tuple[ExplainedConcept, ...]
    titles: tuple[str, str]
    n: int
    lam: float
    direction: Direction
    look: int
    resolved: ResolvedConcepts
    release: Release
    weight: Weight = "constant"
    ic: IntrinsicContent | None = None

    @property
    def A(self) -> tuple[str, ...]:
        """The concepts of A, ascending."""
        return tuple(sorted(concept.cui for concept in self.concepts if concept.side != "B"))

    @property
    def B(self) -> tuple[str, ...]:
        """The concepts of B, ascending."""
        return tuple(sorted(concept.cui for concept in self.concepts if concept.side != "A"))

    def count(self, match: Match) -> int:
        """Number of concepts with this match."""
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
    def near_strengths(self) -> tuple[list[float], list[float]]:
        """Hops or similarities of the near concepts of A and of B, for `credit_of_near`."""
        near = [concept for concept in self.concepts if concept.match == "near"]
        of_a, of_b = ([concept.strength for concept in near if concept.side == side] for side in ("A", "B"))
        return of_a, of_b

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
        """(|A ∩ B| + the weights of rel_n(A, B)) / |A ∪ B|: equal to `cuihop.nn_iou` to the last bit."""
        return nn_iou_of_counts(
            self.shared, credit_of_near(*self.near_strengths, self.lam, self.weight), self.union, 1.0
        )

    @property
    def arithmetic(self) -> str:
        """The sum spelled out, as in ``(1 + 0.5 · 2) / 3``."""
        return arithmetic_text(self.shared, self.near_strengths, self.union, self.lam, self.weight)

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain values; the keys are documented in docs/explain.md and stable."""
        return {
            "release": {"name": self.release.name, "digest": self.release.digest},
            "titles": {"A": self.titles[0], "B": self.titles[1]},
            "n": self.n,
            "lambda": self.lam,
            "weight": self.weight,
            "ic": self.ic,
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
            "concepts": [plain(asdict(concept)) for concept in self.concepts],
            "merged": dict(self.resolved.replaced),
            "unknown": list(self.resolved.unknown),
            "retired": list(self.resolved.retired),
            "upper_case": dict(self.resolved.upper_case),
        }


def plain(value: Any) -> Any:
    """Tuples as lists at every level, as in parsed JSON."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
