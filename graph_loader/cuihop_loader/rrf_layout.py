"""The columns of the RRF files that are read (UMLS Reference Manual, chapter 3)."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LAYOUTS", "Layout"]


@dataclass(frozen=True)
class Layout:
    """One kind of file.

    Attributes:
        role: its name without ``.RRF``.
        columns: their names, in order.
        may_be_empty: whether a release can have the file without any row in it.
    """

    role: str
    columns: tuple[str, ...]
    may_be_empty: bool = False

    @property
    def file_name(self) -> str:
        """As in a release."""
        return f"{self.role}.RRF"


def _columns(names: str) -> tuple[str, ...]:
    return tuple(names.split())


LAYOUTS = {
    layout.role: layout
    for layout in (
        Layout(
            "MRREL",
            _columns("CUI1 AUI1 STYPE1 REL CUI2 AUI2 STYPE2 RELA RUI SRUI SAB SL RG DIR SUPPRESS CVF"),
        ),
        Layout(
            "MRCONSO",
            _columns("CUI LAT TS LUI STT SUI ISPREF AUI SAUI SCUI SDUI SAB TTY CODE STR SRL SUPPRESS CVF"),
        ),
        Layout("MRSTY", _columns("CUI TUI STN STY ATUI CVF")),
        Layout("MRDEF", _columns("CUI AUI ATUI SATUI SAB DEF SUPPRESS CVF"), may_be_empty=True),
        Layout("MRRANK", _columns("RANK SAB TTY SUPPRESS")),
        Layout(
            "MRSAB",
            _columns(
                "VCUI RCUI VSAB RSAB SON SF SVER VSTART VEND IMETA RMETA SLC SCC SRL TFR CFR CXTY TTYL ATNL LAT CENC "
                "CURVER SABIN SSN SCIT"
            ),
        ),
        Layout("MRCUI", _columns("CUI1 VER REL RELA MAPREASON CUI2 MAPIN"), may_be_empty=True),
        Layout("MERGEDCUI", _columns("PCUI CUI"), may_be_empty=True),
        Layout("DELETEDCUI", _columns("PCUI PSTR"), may_be_empty=True),
    )
}
"""By role. The first is required, the others are used when they are there."""
