"""Search by name in a snapshot: with its index of names, or by reading every name where it has none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from cuihop.errors import SnapshotError
from cuihop.resources.cores import in_threads
from cuihop.snapshot.file import Sections
from cuihop.snapshot.layout import NAME_INDEX
from cuihop.snapshot.name_index import NameIndex, check_name_index

__all__ = ["EveryName", "NameSearch", "name_search"]

_CONCEPTS_A_CALL = 1 << 18


class NameSearch(Protocol):
    """Finds the best names of a text."""

    def best(self, text: str, most: int) -> list[tuple[int, int]]:
        """The best concepts, at most so many, each with the row of the name that matches best.

        Args:
            text: folded, not empty.
            most: the most concepts wanted.
        """

    def warm_up(self) -> None:
        """Have what is compiled made ready."""


def name_search(
    sections: Sections, set_aside: Callable[[SnapshotError], None], *, thoroughly: bool = False
) -> NameSearch:
    """The search of a snapshot. Those that were made before there was an index of names have none.

    Args:
        sections: of the snapshot.
        set_aside: called with the reason where the index is damaged: every name is read then, with the same answers.
        thoroughly: check more of it than the checksums tell.
    """
    if not any(name in sections for name in NAME_INDEX):
        return EveryName(sections)
    try:
        for name in NAME_INDEX:
            sections[name]
        if thoroughly:
            check_name_index(sections)
    except SnapshotError as error:
        set_aside(error)
        return EveryName(sections)
    return NameIndex(sections)


class EveryName:
    """Reads every name, about a tenth of a second for a million of them; compiled.

    Args:
        sections: of a snapshot.
    """

    def __init__(self, sections: Sections) -> None:
        self._sections = sections

    def warm_up(self) -> None:
        """See `NameSearch.warm_up`."""
        self.best("a", 1)

    def best(self, text: str, most: int) -> list[tuple[int, int]]:
        """See `NameSearch.best`."""
        from cuihop._kernels import names

        section = self._sections
        letters = text.encode()
        spaces = [-1, *(i for i, byte in enumerate(letters) if byte == ord(" ")), len(letters)]
        word_starts = np.array(spaces[:-1], dtype=np.int32) + 1
        word_ends = np.array(spaces[1:], dtype=np.int32)
        concepts = len(section["name_indptr"]) - 1
        scores = np.empty(concepts, dtype=np.uint8)
        rows = np.empty(concepts, dtype=np.int32)

        def answer(first: int) -> None:
            part = slice(first, first + _CONCEPTS_A_CALL)
            names.search(
                section["name_indptr"], section["name_offsets"], section["name_blob"],
                section["folded_rows"], section["folded_offsets"], section["folded_blob"],
                np.frombuffer(letters, dtype=np.uint8), word_starts, word_ends, first, scores[part], rows[part],
            )  # fmt: skip

        in_threads(answer, range(0, concepts, _CONCEPTS_A_CALL))
        found = np.flatnonzero(rows >= 0)
        lengths = np.diff(section["name_offsets"])[rows[found]]
        best = found[np.lexsort((found, lengths, scores[found]))[:most]]
        return list(zip(best.tolist(), rows[best].tolist(), strict=True))
