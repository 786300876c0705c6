"""Options of an annotation: which matches, which names, and which mentions are left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal, TypeAlias

from cuihop.errors import InputError, checked_choice

__all__ = ["CONTEXTS", "DISAMBIGUATIONS", "AnnotationOptions", "Context", "Disambiguation"]

Context: TypeAlias = Literal["negated", "uncertain", "family"]
"""Context of a mention: see `CONTEXTS`."""

CONTEXTS: Mapping[Context, str] = {
    "negated": "the text says that it is absent",
    "uncertain": "the text says that it is possible",
    "family": "it concerns a relative and not the patient",
}
"""Contexts of a mention and their meaning, after ConText (Harkema et al. 2009)."""

Disambiguation: TypeAlias = Literal["rank", "context"]

DISAMBIGUATIONS: Mapping[Disambiguation, str] = {
    "rank": "the best name by the ranks of the release, then the name of fewest concepts, then by identifier",
    "context": "the smallest sum of hops to the other concepts of the text, then by rank",
}
"""Ways to choose among the concepts of an ambiguous mention."""


@dataclass(frozen=True, kw_only=True)
class AnnotationOptions:
    """Options of `ConceptGraph.annotate`.

    Attributes:
        longest: only the longest match from the left; otherwise every match, overlapping ones included.
        candidates: keep all concepts of each mention, best first.
        disambiguate: see `DISAMBIGUATIONS`.
        semantic_types: types and groups by code or name, and ``MEDCON``; empty for all.
        sabs: vocabularies whose names match; empty for all.
        leave_out: contexts whose mentions are left out.
        stop: identifiers and names that never match.
        general: match also names that are too general: see `docs/annotation.md`.
        correct_spelling: match a word that no name has as the nearest word that some name has.

    Raises:
        InputError: an option is unknown or of another type.
    """

    longest: bool = True
    candidates: bool = False
    disambiguate: Disambiguation = "rank"
    semantic_types: tuple[str, ...] = ()
    sabs: tuple[str, ...] = ()
    leave_out: tuple[Context, ...] = ()
    stop: tuple[str, ...] = ()
    general: bool = False
    correct_spelling: bool = False

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type == "bool":
                if not isinstance(value, bool):
                    raise InputError(
                        "not true or false", column=field.name, found=repr(value), expected="true or false"
                    )
            elif field.name != "disambiguate":
                if isinstance(value, str) or not all(isinstance(item, str) and item.strip() for item in value):
                    raise InputError("not a list of texts", column=field.name, found=repr(value), expected="['…', …]")
                object.__setattr__(self, field.name, tuple(value))
        checked_choice("disambiguate", self.disambiguate, Disambiguation, "unknown way to choose a concept")
        for context in self.leave_out:
            checked_choice("leave_out", context, Context, "unknown context")
