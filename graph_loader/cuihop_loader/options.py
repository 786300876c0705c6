"""Options of a load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from cuihop.errors import InputError, checked_choice
from cuihop.identifiers import Identifiers

RelationFilter: TypeAlias = Literal["isa", "par-chd", "rb-rn"]
"""MRREL rows that count as is_a: RELA isa and inverse_isa; REL PAR and CHD; REL RB and RN."""

RELATIONS: tuple[RelationFilter, ...] = get_args(RelationFilter)

OnBadRow: TypeAlias = Literal["error", "skip"]
"""Treatment of a row that breaks the layout: end the load, or count the row and leave it out."""

_MOST_LANGUAGES = 16
_UNKNOWN = "unknown value"


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """Options of a load.

    Attributes:
        relations: the relation filters; a row counts if it passes one of them.
        include_sabs: only edges asserted by one of these vocabularies (SAB); empty for all.
        exclude_sabs: no edge asserted by these vocabularies alone.
        identifiers: ``cui`` leaves rows with other identifiers out and counts them; ``any`` keeps them. ``None`` is
            ``cui`` for RRF files and ``any`` for all others.
        include_suppressed: rows with SUPPRESS other than N count too.
        languages: names and definitions in these languages (LAT; for OWL and RDF also a tag such as ``en``), the
            preferred name from the first that has one.
        synonyms: keep all names, not only the preferred one.
        definitions: keep definitions, where there is an MRDEF.
        codes: keep the codes of vocabularies in MRCONSO, or in CONCEPT of OMOP, and the published mappings in MRMAP.
        release: name of the release; ``None`` for the one in the files.
        on_bad_row: treatment of a row that breaks the layout.
        rejects: file for the bad rows; only with ``on_bad_row="skip"``.
        file_format: the format of the files, as in `cuihop_loader.sources.TermFormat.option`; ``None`` to recognise it.

    Raises:
        InputError: an option has an invalid value.
    """

    relations: Sequence[RelationFilter] = ("isa",)
    include_sabs: Sequence[str] = ()
    exclude_sabs: Sequence[str] = ()
    identifiers: Identifiers | None = None
    include_suppressed: bool = False
    languages: Sequence[str] = ("ENG",)
    synonyms: bool = True
    definitions: bool = True
    codes: bool = True
    release: str | None = None
    on_bad_row: OnBadRow = "error"
    rejects: Path | None = None
    file_format: str | None = None

    def __post_init__(self) -> None:
        if not self.relations:
            raise InputError("no relation filter", column="relations", expected=" or ".join(RELATIONS))
        for relation in self.relations:
            checked_choice("relations", relation, RelationFilter, _UNKNOWN)
        if self.identifiers is not None:
            checked_choice("identifiers", self.identifiers, Identifiers, _UNKNOWN)
        checked_choice("on_bad_row", self.on_bad_row, OnBadRow, _UNKNOWN)
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

    @property
    def chooses_sabs(self) -> bool:
        """True where some vocabularies are left out."""
        return bool(self.include_sabs or self.exclude_sabs)

    def includes(self, sab: str) -> bool:
        """True for a vocabulary whose edges count."""
        return sab not in self.exclude_sabs and (not self.include_sabs or sab in self.include_sabs)
