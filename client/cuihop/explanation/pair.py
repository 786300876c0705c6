"""Why two concept sets have the nn-IoU they have, concept by concept."""
# ruff: noqa: N802, N803 - A and B are the paper's symbols

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from cuihop.errors import InputError
from cuihop.graph import ConceptGraph, Direction, Release, checked_hops
from cuihop.measures.nn_iou import (
    ConceptOverlap,
    RelatedConcept,
    checked_lam,
    checked_n,
    concept_overlap,
    nn_iou_of_counts,
)
from cuihop.measures.resolution import ResolvedConcepts, Unknown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ExplainedConcept", "Explanation", "Match", "Partner", "PathConcept", "Side", "explain_pair"]

Side: TypeAlias = Literal["A", "B", "both"]
"""Which set holds a concept."""

Match: TypeAlias = Literal["exact", "near", "none"]
"""What a concept earns: 1 where both sets hold it, λ where the other set has a concept within n hops, or nothing."""

_MATCHES: tuple[Match, ...] = ("exact", "near", "none")


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
class Explanation:
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

    def to_json(self) -> str:
        """`as_dict` as JSON."""
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def figure(self) -> Figure:
        """The picture, as a matplotlib figure: needs the extra ``plots``.

        Raises:
            ModuleNotFoundError: matplotlib is not installed; the message says what to install.
        """
        from cuihop.explanation.picture import figure_of_pair

        return figure_of_pair(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture, whole or not at all; the suffix says how: ``.svg``, ``.png`` or ``.pdf``.

        Raises:
            InputError: another suffix.
            OutputError: the file cannot be written.
            ModuleNotFoundError: matplotlib is not installed; the message says what to install.
        """
        from cuihop.picture_file import save_picture

        save_picture(self.figure, path)

    def _repr_svg_(self) -> str | None:
        """The picture in a notebook; the notebook shows the `repr` where matplotlib is not installed."""
        from cuihop.picture_file import notebook_svg

        return notebook_svg(self.figure)

    def __repr__(self) -> str:
        return f"<Explanation of {self.titles[0]} and {self.titles[1]}: nn-IoU {self.nn_iou:.4f} = {self.arithmetic}>"


def explain_pair(
    A: str | Iterable[str],
    B: str | Iterable[str],
    graph: ConceptGraph,
    n: int = 1,
    lam: float = 0.5,
    direction: Direction = "any",
    *,
    unknown: Unknown = "error",
    look: int = 3,
    titles: tuple[str, str] = ("A", "B"),
) -> Explanation:
    """Why two concept sets have the nn-IoU they have: which concepts earn 1, λ or nothing, through whom, by what path.

    The graph is asked once for identifiers, once for all distances, once for all names, and for one path for each pair
    of concepts that is shown.

    Args:
        A, B, graph, n, lam, direction, unknown: as in `cuihop.nn_iou`.
        look: how many hops beyond n to look for the nearest partner of a concept that earned nothing.
        titles: what A and B are called.

    Raises:
        InvalidCui, ConceptRetired, ConceptNotFound: an identifier cannot be used.
        InputError: a parameter is out of its range.
        LimitExceeded: a service does not look so far.

    >>> from cuihop import SnapshotGraph
    >>> graph = SnapshotGraph.of([("C0042449", "C0005847")])
    >>> explanation = explain_pair("C0042449", "C0005847", graph)
    >>> explanation.nn_iou, explanation.arithmetic
    (0.5, '(0 + 0.5 · 2) / 2')
    >>> [(c.cui, c.match, c.partners[0].cui, c.path[-1].relation) for c in explanation.concepts]
    [('C0042449', 'near', 'C0005847', 'parent'), ('C0005847', 'near', 'C0042449', 'parent')]
    """
    n, lam, look = checked_n(n), checked_lam(lam), _checked_look(look)
    overlap = concept_overlap(A, B, graph, n + look, lam, direction, unknown=unknown)
    paths = {
        ends: [(path.start, None, ()), *((step.cui, step.relation, step.sabs) for step in path.steps)]
        for ends in sorted({_ends(r) for r in overlap.related if r.witnesses[0].hops <= n})
        if (path := graph.path(*ends, direction=overlap.direction, max_hops=n)) is not None
    }
    isolated = overlap.resolved.isolated
    held = sorted(((overlap.A | overlap.B) - isolated).union(*({cui for cui, _, _ in path} for path in paths.values())))
    names = dict(zip(held, graph.names(held), strict=True)) if held else {}
    return Explanation(
        concepts=_concepts(overlap, n, lam, paths, names),
        titles=titles,
        n=n,
        lam=lam,
        direction=overlap.direction,
        look=look,
        resolved=overlap.resolved,
        release=graph.release,
    )


_Ends: TypeAlias = tuple[str, str]
_Steps: TypeAlias = list[tuple[str, Literal["parent", "child"] | None, tuple[str, ...]]]


def _checked_look(look: int) -> int:
    checked = checked_hops(look, "look")
    if checked is None:
        raise InputError("not a number of hops", column="look", found="None", expected="a whole number, 0 or more")
    return checked


def _ends(related: RelatedConcept) -> _Ends:
    """A concept and its first partner, the one of A first."""
    partner = related.witnesses[0].cui
    return (related.cui, partner) if related.side == "A" else (partner, related.cui)


def _concepts(
    overlap: ConceptOverlap,
    n: int,
    lam: float,
    paths: Mapping[_Ends, _Steps],
    names: Mapping[str, str | None],
) -> tuple[ExplainedConcept, ...]:
    """Every concept of the union, in the order in which they are told. ``overlap`` looks beyond n."""
    resolved = overlap.resolved
    outside: dict[str, Literal["unknown", "retired"]] = {}
    outside.update(dict.fromkeys(resolved.unknown, "unknown"))
    outside.update(dict.fromkeys(resolved.retired, "retired"))
    given: dict[str, list[str]] = defaultdict(list)
    for asked, successor in sorted(resolved.merged.items()):
        given[successor].append(asked)
    related = {r.cui: r for r in overlap.related}

    def explained(cui: str, side: Side) -> ExplainedConcept:
        witnesses = related[cui].witnesses if cui in related else ()
        nearest = witnesses[0].hops if witnesses else None
        match: Match = "exact" if side == "both" else "near" if nearest is not None and nearest <= n else "none"
        steps = paths[_ends(related[cui])] if match == "near" else ()
        return ExplainedConcept(
            cui=cui,
            name=names.get(cui),
            side=side,
            match=match,
            earned={"exact": 1.0, "near": lam, "none": 0.0}[match],
            partners=tuple(
                Partner(w.cui, names.get(w.cui), w.hops)
                for w in witnesses
                if w.hops <= n or (match == "none" and w.hops == nearest)
            ),
            path=tuple(PathConcept(at, names.get(at), relation, sabs) for at, relation, sabs in steps),
            outside=outside.get(cui),
            given=tuple(given.get(cui, ())),
        )

    sides: tuple[tuple[Side, frozenset[str]], ...] = (
        ("both", overlap.shared), ("A", overlap.A - overlap.B), ("B", overlap.B - overlap.A),
    )  # fmt: skip
    told: list[ExplainedConcept] = []
    for side, cuis in sides:
        here = [explained(cui, side) for cui in sorted(cuis)]
        told += sorted(here, key=lambda concept: _MATCHES.index(concept.match))
    return tuple(told)


def _plain(value: Any) -> Any:
    """Tuples as lists, all the way down: what reading the JSON gives back."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
