"""Resolution of an evaluation's identifiers to concepts of the graph, to isolated concepts outside it, or to none."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from cuihop.errors import InputError, InvalidCui, ManyUnknownConcepts, checked_choice
from cuihop.files.text_lines import counted
from cuihop.graph import ConceptGraph, expected_identifiers, resolved
from cuihop.identifiers import EXPECTED, IdentifierFault, identifier_fault, in_upper_case, written_as_code

Unknown: TypeAlias = Literal["error", "isolated", "drop"]
"""Treatment of well-formed identifiers that the graph does not hold: refuse them; keep each as an isolated concept, a
concept that matches only itself; or drop them, as if the sets had not held them. A malformed identifier is an error in
any case."""

MANY_UNKNOWN = 0.2
"""The share of unknown occurrences above which there is a warning."""


@dataclass(frozen=True, slots=True)
class ResolvedConcepts:
    """The concept of each identifier.

    Attributes:
        concept: identifier → its concept; the first, of a code of several. An isolated concept is represented by its
            identifier; a dropped identifier has none.
        merged: retired identifier → the successor used in its place.
        codes: code → its concepts: one, or all of several if the graph resolves codes so.
        unknown: well-formed identifiers that the graph does not hold; ascending. unknown_codes: those that are codes.
        retired: retired without an exact successor in the graph, or codes without an active atom; ascending.
        upper_case: identifier in lower case → the same in upper case.
    """

    concept: Mapping[str, str]
    merged: Mapping[str, str] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()
    upper_case: Mapping[str, str] = field(default_factory=dict)
    treatment: Unknown = "error"
    codes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unknown_codes: tuple[str, ...] = ()

    @property
    def replaced(self) -> dict[str, str]:
        """Retired identifier → its successor; code → its concepts, separated by semicolons."""
        return {**self.merged, **{code: ";".join(concepts) for code, concepts in self.codes.items()}}

    @property
    def all_concepts(self) -> frozenset[str]:
        """The concepts of all identifiers."""
        return frozenset(self.concept.values()).union(*self.codes.values())

    @property
    def outside(self) -> frozenset[str]:
        """All identifiers that are no concepts of the graph."""
        return frozenset((*self.unknown, *self.retired))

    @property
    def isolated(self) -> frozenset[str]:
        """All identifiers kept as isolated concepts."""
        return frozenset() if self.treatment == "drop" else self.outside

    @property
    def dropped(self) -> frozenset[str]:
        """All identifiers left out of the sets."""
        return self.outside if self.treatment == "drop" else frozenset()

    def concepts(self, identifiers: Iterable[str]) -> frozenset[str]:
        """The set of the identifiers' concepts; two that were merged into one count once, dropped ones do not."""
        if self.treatment == "drop":
            identifiers = [identifier for identifier in identifiers if identifier in self.concept]
        if self.codes:
            identifiers = tuple(identifiers)
            of_codes = (self.codes[identifier] for identifier in identifiers if identifier in self.codes)
            return frozenset(map(self.concept.__getitem__, identifiers)).union(*of_codes)
        return frozenset(map(self.concept.__getitem__, identifiers))


def treated_text(treatment: Unknown) -> str:
    """The treatment of identifiers that the graph does not hold, as the predicate of a sentence about them."""
    return "are left out" if treatment == "drop" else "match only themselves"


def checked_unknown(unknown: Unknown) -> Unknown:
    """A treatment of identifiers that the graph does not hold, or an `InputError`."""
    return checked_choice("unknown", unknown, Unknown, "unknown way to treat unknown concepts")


def resolved_concepts(
    identifiers: Iterable[str],
    graph: ConceptGraph | None,
    unknown: Unknown = "error",
    where: Callable[[str], str | None] = lambda _: None,
) -> ResolvedConcepts:
    """Resolve each identifier. A CUI in lower case is read in upper case.

    Args:
        graph: resolves them; without one, each identifier is its own concept.
        where: location of an identifier, for the error about a malformed one.

    Raises:
        InvalidCui: some are malformed. ConceptRetired, ConceptNotFound: some cannot be used, and ``unknown`` is
            ``error``. AmbiguousCode: some are codes of several concepts, and `ConceptGraph.many` does not say ``all``.
    """
    checked_unknown(unknown)
    distinct = sorted(set(identifiers))
    kind = "any" if graph is None else graph.release.identifiers
    for identifier in distinct:
        empty = None if identifier else IdentifierFault("not an identifier", EXPECTED[kind])
        if problem := empty or identifier_fault(identifier, kind):
            alike = [other for other in distinct if other == identifier or identifier_fault(other, kind) == problem]
            raise InvalidCui(alike, expected=problem.expected, problem=problem.problem, where=where(identifier))
    upper = {identifier: in_upper_case(identifier) for identifier in distinct}
    folded = {identifier: cui for identifier, cui in upper.items() if identifier != cui}
    if graph is None:
        return ResolvedConcepts(upper, upper_case=folded)
    answers = graph.resolve(sorted(set(upper.values())) if folded else distinct)
    if invalid := [r.requested for r in answers if r.status == "invalid"]:
        raise InvalidCui(invalid, expected=expected_identifiers(graph.release, invalid), where=where(invalid[0]))
    if graph.many == "all":
        answers = [replace(r, cui=r.candidates[0][1]) if r.status == "several" else r for r in answers]
    usable = answers if unknown == "error" else [r for r in answers if r.status == "several"]
    resolved(usable, graph.release)
    taken_for = {
        r.requested: r.requested if r.cui is None else r.cui
        for r in answers
        if r.cui is not None or unknown == "isolated"
    }
    outside = tuple(r.requested for r in answers if r.status == "unknown")
    return ResolvedConcepts(
        concept={identifier: taken_for[cui] for identifier, cui in upper.items() if cui in taken_for}
        if folded
        else taken_for,
        merged={r.requested: r.cui for r in answers if r.status == "merged" and r.cui is not None},
        unknown=outside,
        unknown_codes=tuple(filter(written_as_code, outside)) if kind == "cui" else (),
        retired=tuple(r.requested for r in answers if r.status == "retired"),
        upper_case=folded,
        treatment=unknown,
        codes={
            r.requested: tuple(cui for _, cui in r.candidates) if r.status == "several" else (r.cui,)
            for r in answers
            if r.status in ("code", "several") and r.cui is not None
        },
    )


def check_some_known(
    resolution: ResolvedConcepts, occurrences: Mapping[str, int], graph: ConceptGraph, source: str | None = None,
    things: str = "images",
) -> None:  # fmt: skip
    """Warn where many occurrences of identifiers are unknown to the graph, and refuse where all are.

    ``occurrences``: identifier → number of its occurrences in the collection, which is the ``source`` of ``things``.
    """
    unusable, upper, total = resolution.outside, resolution.upper_case, sum(occurrences.values())
    outside = sum(times for cui, times in occurrences.items() if upper.get(cui, cui) in unusable)
    if not total or outside <= MANY_UNKNOWN * total:
        return
    hint = f"Are these {things} annotated with the vocabulary that was loaded?"
    file = None if source == "memory" else source
    if outside == total:
        listed = sorted(cui for cui in occurrences if upper.get(cui, cui) in unusable)
        raise InputError(
            f"no concept of the {things} is in the graph", file=file,
            found=f"{counted(total, 'occurrence')} of {counted(len(listed), 'identifier')}, such as {listed[0]}",
            expected=f"concepts of release {graph.release.name}", advice=hint,
        )  # fmt: skip
    share = (
        f"{outside / total:.1%} of the concepts ({outside:,} of {total:,} occurrences) are unknown in release "
        f"{graph.release.name}, and {treated_text(resolution.treatment)}"
    )
    warnings.warn(ManyUnknownConcepts(f"{'' if file is None else f'{file}: '}{share}. {hint}"), stacklevel=3)
