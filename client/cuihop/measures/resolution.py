"""What the identifiers of an evaluation stand for: concepts of the graph, or isolated concepts outside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from cuihop.errors import InputError
from cuihop.graph import ConceptGraph, resolved

__all__ = ["ResolvedConcepts", "Unknown", "resolved_concepts"]

Unknown: TypeAlias = Literal["error", "isolated"]
"""What to do with identifiers that the graph cannot use: refuse, or keep each as a concept near nothing but itself."""


@dataclass(frozen=True, slots=True)
class ResolvedConcepts:
    """What each identifier was taken for.

    Attributes:
        concept: identifier → the concept it stands for. An isolated concept goes by its identifier.
        merged: those among them that are retired, and the successor each was taken for.
        unknown: well-formed identifiers that the graph does not hold, kept as isolated concepts; ascending.
        retired: retired without an exact successor in the graph, kept as isolated concepts; ascending.
        invalid: no identifiers of this graph by their form, kept as isolated concepts; ascending.
    """

    concept: Mapping[str, str]
    merged: Mapping[str, str] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()
    invalid: tuple[str, ...] = ()

    @property
    def isolated(self) -> frozenset[str]:
        """Every identifier that was kept as an isolated concept."""
        return frozenset((*self.unknown, *self.retired, *self.invalid))

    def concepts(self, identifiers: Iterable[str]) -> frozenset[str]:
        """The set of concepts that the identifiers stand for; two that were merged into one count once."""
        return frozenset(map(self.concept.__getitem__, identifiers))


def resolved_concepts(
    identifiers: Iterable[str], graph: ConceptGraph | None, unknown: Unknown = "error"
) -> ResolvedConcepts:
    """What each identifier is taken for.

    Args:
        identifiers: those of all images; repeats do not matter.
        graph: who knows them; without one, each stands for itself.
        unknown: what to do with those that the graph cannot use.

    Raises:
        InvalidCui, ConceptRetired, ConceptNotFound: some cannot be used, and ``unknown`` is ``error``.
        InputError: ``unknown`` is neither of its two values.
    """
    if unknown not in get_args(Unknown):
        raise InputError(
            "unknown way to treat unknown concepts",
            column="unknown",
            found=repr(unknown),
            expected=" or ".join(get_args(Unknown)),
        )
    distinct = sorted(set(identifiers))
    if graph is None:
        return ResolvedConcepts(dict(zip(distinct, distinct, strict=True)))
    answers = graph.resolve(distinct)
    if unknown == "error":
        resolved(answers, graph.release)
    return ResolvedConcepts(
        concept={r.asked: r.asked if r.cui is None else r.cui for r in answers},
        merged={r.asked: r.cui for r in answers if r.status == "merged" and r.cui is not None},
        unknown=tuple(r.asked for r in answers if r.status == "unknown"),
        retired=tuple(r.asked for r in answers if r.status == "retired"),
        invalid=tuple(r.asked for r in answers if r.status == "invalid"),
    )
