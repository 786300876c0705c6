"""What a user may ask of a load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, get_args

from cuihop.errors import InputError
from cuihop.identifiers import Identifiers

__all__ = ["RELATIONS", "LoadOptions", "OnBadRow", "Progress", "RelationFilter"]

RelationFilter: TypeAlias = Literal["isa", "par-chd", "rb-rn"]
"""Which MRREL rows count as is_a: RELA isa and inverse_isa; REL PAR and CHD; REL RB and RN."""

RELATIONS: tuple[RelationFilter, ...] = get_args(RelationFilter)

OnBadRow: TypeAlias = Literal["error", "skip"]
"""What a row that breaks the layout does: end the load, or be counted and left out."""

_MOST_LANGUAGES = 16


class Progress(Protocol):
    """Told now and then how far a load is. It runs in the caller's thread."""

    def __call__(self, step: str, done: int, total: int) -> None:
        """``step``: the file being read or the work being done; ``done`` of ``total`` bytes of all files are read."""


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """What to load, and how.

    Attributes:
        relations: the relation filters; a row counts if one of them takes it.
        include_sabs: only edges that one of these vocabularies (SAB) asserts; empty is all.
        exclude_sabs: no edge on the word of these vocabularies.
        identifiers: ``cui`` leaves rows with other identifiers out and counts them; ``any`` keeps them. ``None`` is
            ``cui`` for RRF files and ``any`` for OBO files.
        include_suppressed: rows with SUPPRESS other than N count too.
        languages: names and definitions in these languages (LAT), the preferred name from the first that has one.
        synonyms: keep all names, not only the preferred one.
        definitions: keep definitions, where there is an MRDEF.
        release: what to call the release; ``None`` asks the files.
        on_bad_row: what a row that breaks the layout does.
        rejects: where to write the rows that were left out as bad; only with ``on_bad_row="skip"``.

    Raises:
        InputError: an option has a value it cannot have.
    """

    relations: Sequence[RelationFilter] = ("isa",)
    include_sabs: Sequence[str] = ()
    exclude_sabs: Sequence[str] = ()
    identifiers: Identifiers | None = None
    include_suppressed: bool = False
    languages: Sequence[str] = ("ENG",)
    synonyms: bool = True
    definitions: bool = True
    release: str | None = None
    on_bad_row: OnBadRow = "error"
    rejects: Path | None = None

    def __post_init__(self) -> None:
        if not self.relations:
            raise InputError("no relation filter", column="relations", expected=" or ".join(RELATIONS))
        for relation in self.relations:
            _one_of(relation, RELATIONS, "relations")
        if self.identifiers is not None:
            _one_of(self.identifiers, get_args(Identifiers), "identifiers")
        _one_of(self.on_bad_row, get_args(OnBadRow), "on_bad_row")
        if self.rejects is not None and self.on_bad_row != "skip":
            raise InputError(
                "a file for rejects, but bad rows end the load", column="rejects", advice="Add --on-bad-row skip"
            )
        if not 1 <= len(self.languages) <= _MOST_LANGUAGES:
            raise InputError(
                "wrong number of languages",
                column="languages",
                found=str(len(self.languages)),
                expected=f"1 to {_MOST_LANGUAGES}",
            )
        if both := sorted(set(self.include_sabs) & set(self.exclude_sabs)):
            raise InputError("a vocabulary both included and excluded", column="sab", found=", ".join(both))


def _one_of(value: str, allowed: Sequence[str], option: str) -> None:
    if value not in allowed:
        raise InputError("unknown value", column=option, found=repr(value), expected=" or ".join(allowed))
