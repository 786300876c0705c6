"""Columns of the RRF files that are read (UMLS Reference Manual, chapter 3)."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LAYOUTS", "RrfLayout"]


@dataclass(frozen=True)
class RrfLayout:
    """Layout of one kind of file.

    Attributes:
        role: its name without ``.RRF``.
        columns: their names, in order.
        may_be_empty: true where a release can have the file without any row.
    """

    role: str
    columns: tuple[str, ...]
    may_be_empty: bool = False

    @property
    def file_name(self) -> str:
        """Name of the file in a release."""
        return f"{self.role}.RRF"


def _columns(names: str) -> tuple[str, ...]:
    return tuple(names.split())


LAYOUTS = {
    layout.role: layout
    for layout in (
        RrfLayout(
            "MRREL",
            _columns("CUI1 AUI1 STYPE1 REL CUI2 AUI2 STYPE2 RELA RUI SRUI SAB SL RG DIR SUPPRESS CVF"),
        ),
        RrfLayout(
            "MRCONSO",
            _columns("CUI LAT TS LUI STT SUI ISPREF AUI SAUI SCUI SDUI SAB TTY CODE STR SRL SUPPRESS CVF"),
        ),
        RrfLayout("MRSTY", _columns("CUI TUI STN STY ATUI CVF")),
        RrfLayout("MRDEF", _columns("CUI AUI ATUI SATUI SAB DEF SUPPRESS CVF"), may_be_empty=True),
        RrfLayout("MRRANK", _columns("RANK SAB TTY SUPPRESS")),
        RrfLayout(
            "MRSAB",
            _columns(
                "VCUI RCUI VSAB RSAB SON SF SVER VSTART VEND IMETA RMETA SLC SCC SRL TFR CFR CXTY TTYL ATNL LAT CENC "
                "CURVER SABIN SSN SCIT"
            ),
        ),
        RrfLayout("MRCUI", _columns("CUI1 VER REL RELA MAPREASON CUI2 MAPIN"), may_be_empty=True),
        RrfLayout("MERGEDCUI", _columns("PCUI CUI"), may_be_empty=True),
        RrfLayout("DELETEDCUI", _columns("PCUI PSTR"), may_be_empty=True),
    )
}
"""Layouts by role. The first file is required, the others are optional."""
