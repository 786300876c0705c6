"""Mappings that vocabularies have published, in a snapshot: found by what they map from, and shown as published.

The texts that are mapped from are stored in the order of their bytes, each once, and their mappings adjacent, in the
order of the file. A mapping has a number of a map set, and those of three texts: `FIELDS`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

from cuihop.adapter_rules import other_forms
from cuihop.errors import SnapshotError
from cuihop.graph import CodeLookup, CodeMap, MapLookup
from cuihop.snapshot.file import Sections
from cuihop.snapshot.layout import CODE_MAPS
from cuihop.snapshot.string_table import IdentifierTable, StringTable

FIELDS = (("MAPSUBSETID", "MAPRANK"), ("FROMTYPE", "RELA"), ("TOEXPR", "MAPATV"))
"""First and last column of each of the texts of a mapping; the columns between them are part of it, and the bars."""

TYPES = ("CODE", "SDUI", "SCUI", "CUI")
"""The kinds of what is mapped from (FROMTYPE) by which a mapping is found."""

_BAR = "&#x7C;"  # a bar within a column, as UMLS writes it
_COLUMNS = 16
_DIGITS = 18


class CodeMaps:
    """The published mappings of a snapshot, opened.

    Args:
        name: function of the position of a concept: its name.

    Raises:
        SnapshotError: a section is damaged.
    """

    def __init__(self, sections: Sections, cuis: IdentifierTable, name: Callable[[int], str | None]) -> None:
        _, _, self._indptr, self._numbers, self._fields, _, _ = (sections[name] for name in CODE_MAPS)
        self._origin = sections.origin
        self._sets = sections.meta["map_sets"]
        positions = cuis.positions([cui for cui, *_ in self._sets]).tolist()
        self._names = [None if position < 0 else name(position) for position in positions]
        self._from = StringTable.stored(sections, "map_from")
        self._texts = StringTable.stored(sections, "map_text")

    def lookups(self, codes: Sequence[CodeLookup]) -> list[MapLookup]:
        """The mappings of identifiers whose codes were looked up."""
        return [
            MapLookup(
                each.requested, each.status, each.cui,
                tuple(one for key in dict.fromkeys(_keys(each)) for one in self._of(*key)), each.alternatives,
            )
            for each in codes
        ]  # fmt: skip

    def _of(self, sab: str | None, text: str, types: tuple[str, ...]) -> list[CodeMap]:
        """The mappings from a code of a vocabulary, or from a concept, in their order."""
        key, bounds, blob = text.encode("utf-8", "surrogatepass"), self._from.offsets, self._from.blob
        at = bisect_left(range(len(self._from)), key, key=lambda row: blob[bounds[row] : bounds[row + 1]].tobytes())
        if at == len(self._from) or blob[bounds[at] : bounds[at + 1]].tobytes() != key:
            return []
        maps = []
        for row in range(self._indptr[at], self._indptr[at + 1]):
            number = int(self._numbers[row])
            cui, set_sab, from_sab, to_sab = self._sets[number]
            # A set whose source no attribute names is by its own vocabulary: a load says so.
            if sab is not None and sab != (from_sab or set_sab):
                continue
            texts = "|".join(self._texts[part] for part in self._fields[row].tolist()).split("|")
            if len(texts) != _COLUMNS:
                raise SnapshotError(f"{self._origin}: section 'map_fields' mixes up columns; the file is damaged")
            if texts[2] in types:
                subset, rank, *others = (each.replace(_BAR, "|") for each in texts)
                of_set = cui, set_sab, self._names[number], from_sab or None, to_sab or None
                maps.append(CodeMap(*of_set, subset, rank, text, *others))
        return sorted(maps, key=_place)


def _keys(lookup: CodeLookup) -> Iterator[tuple[str | None, str, tuple[str, ...]]]:
    """Vocabulary, text and kinds of what maps an identifier: the concept, its codes and their concepts."""
    if lookup.cui is not None:
        yield None, lookup.cui, ("CUI",)
    for each in lookup.codes:
        yield each.sab, each.code, ("CODE", "SDUI")
        yield each.sab, each.source_concept or each.code, ("SCUI",)
    for text in () if lookup.codes else (lookup.requested, *other_forms(lookup.requested)):
        sab, _, code = text.partition(":")
        yield sab, code, ("CODE", "SDUI", "SCUI")


def _place(one: CodeMap) -> tuple[object, ...]:
    """Map set, subset and rank; these as numbers where they are, before other texts."""
    return one.map_set, one.map_set_sab, *_number(one.subset), *_number(one.rank)


def _number(text: str) -> tuple[int, str]:
    return (int(text), "") if text.isdecimal() and len(text) <= _DIGITS else (10**_DIGITS, text)
