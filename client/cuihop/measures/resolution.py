"""What the identifiers of an evaluation stand for: concepts of the graph, or isolated concepts outside it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from cuihop.errors import InputError, InvalidCui, ManyUnknownConcepts
from cuihop.files.text_lines import counted
from cuihop.graph import ConceptGraph, resolved
from cuihop.identifiers import EXPECTED, Fault, identifier_fault, in_upper_case

__all__ = ["ResolvedConcepts", "Unknown", "check_some_known", "resolved_concepts"]

Unknown: TypeAlias = Literal["error", "isolated"]
"""What to do with well-formed identifiers that the graph does not hold: refuse, or keep each as a concept near nothing
but itself. A malformed identifier is an error either way."""

MANY_UNKNOWN = 0.2
"""The share of unknown occurrences from which on there is a warning."""


@dataclass(frozen=True, slots=True)
class ResolvedConcepts:
    """What each identifier was taken for.

    Attributes:
        concept: identifier → the concept it stands for. An isolated concept goes by its identifier.
        merged: those among them that are retired, and the successor each was taken for.
        unknown: well-formed identifiers that the graph does not hold, kept as isolated concepts; ascending.
        retired: retired without an exact successor in the graph, kept as isolated concepts; ascending.
        upper_case: identifiers in lower case, and each in upper case, as it was read.
    """

    concept: Mapping[str, str]
    merged: Mapping[str, str] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()
    upper_case: Mapping[str, str] = field(default_factory=dict)

    @property
    def isolated(self) -> frozenset[str]:
        """Every identifier that was kept as an isolated concept."""
        return frozenset((*self.unknown, *self.retired))

    def concepts(self, identifiers: Iterable[str]) -> frozenset[str]:
        """The set of concepts that the identifiers stand for; two that were merged into one count once."""
        return frozenset(map(self.concept.__getitem__, identifiers))


def resolved_concepts(
    identifiers: Iterable[str],
    graph: ConceptGraph | None,
    unknown: Unknown = "error",
    where: Callable[[str], str | None] = lambda _: None,
) -> ResolvedConcepts:
    """Resolve each identifier. A CUI in lower case is read in upper case.

    Args:
        identifiers: those of all images; repeats do not matter.
        graph: who knows them; without one, each stands for itself.
        unknown: what to do with those that the graph does not hold.
        where: the place of an identifier, for the error about a malformed one.

    Raises:
        InvalidCui: some are malformed. ConceptRetired, ConceptNotFound: some cannot be used, and ``unknown`` is
            ``error``.
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
    kind = "any" if graph is None else graph.release.identifiers
    for identifier in distinct:
        if fault := identifier_fault(identifier, kind) if identifier else Fault("not an identifier", EXPECTED[kind]):
            alike = [other for other in distinct if other == identifier or identifier_fault(other, kind) == fault]
            raise InvalidCui(alike, expected=fault.expected, problem=fault.problem, where=where(identifier))
    upper = {identifier: in_upper_case(identifier) for identifier in distinct}
    folded = {asked: taken for asked, taken in upper.items() if asked != taken}
    if graph is None:
        return ResolvedConcepts(upper, upper_case=folded)
    answers = graph.resolve(sorted(set(upper.values())) if folded else distinct)
    if unknown == "error":
        resolved(answers, graph.release)
    taken_for = {r.asked: r.asked if r.cui is None else r.cui for r in answers}
    return ResolvedConcepts(
        concept={asked: taken_for[taken] for asked, taken in upper.items()} if folded else taken_for,
        merged={r.asked: r.cui for r in answers if r.status == "merged" and r.cui is not None},
        unknown=tuple(r.asked for r in answers if r.status == "unknown"),
        retired=tuple(r.asked for r in answers if r.status == "retired"),
        upper_case=folded,
    )


def check_some_known(
    resolution: ResolvedConcepts, occurrences: Mapping[str, int], graph: ConceptGraph, source: str | None = None
) -> None:
    """Warn where many occurrences of identifiers are unknown to the graph, and refuse where all are.

    Args:
        resolution: of the identifiers of a collection.
        occurrences: identifier → how many times the collection has it.
        graph: who was asked. source: the collection, for messages.

    Raises:
        InputError: the graph knows none of them.
    """
    isolated, upper, total = resolution.isolated, resolution.upper_case, sum(occurrences.values())
    outside = sum(times for cui, times in occurrences.items() if upper.get(cui, cui) in isolated)
    if not total or outside <= MANY_UNKNOWN * total:
        return
    advice = "Are these images annotated with the vocabulary that was loaded?"
    file = None if source == "memory" else source
    if outside == total:
        listed = sorted(cui for cui in occurrences if upper.get(cui, cui) in isolated)
        raise InputError(
            "no concept of the images is in the graph", file=file,
            found=f"{counted(total, 'occurrence')} of {counted(len(listed), 'identifier')}, such as {listed[0]}",
            expected=f"concepts of release {graph.release.name}", advice=advice,
        )  # fmt: skip
    warnings.warn(
        f"{'' if file is None else f'{file}: '}{outside / total:.1%} of the concepts ({outside:,} of {total:,} "
        f"occurrences) are unknown in release {graph.release.name}, and match only themselves. {advice}",
        ManyUnknownConcepts,
        stacklevel=3,
    )
