"""Distinct concept sets of a collection, and the sets that hold a concept or a near one, for the evaluation kernel."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuihop.snapshot.string_table import bounds_of

__all__ = ["ConceptSets", "SetRows", "bytes_of", "grouped", "rows_and_lines", "transposed"]

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
UInt8 = npt.NDArray[np.uint8]

_SETS_OF_A_ROW = 16  # from every sixteenth set on, a line of bytes is faster to add than a row of numbers
_BYTES_AN_IMAGE = 1000  # its name, concept set and places in Python's own objects: as measured, and a half
_BYTES_A_CONCEPT = 64  # of one concept of one image, in these objects and in the arrays made from them


@dataclass(frozen=True, eq=False)
class ConceptSets:
    """Distinct concept sets, and the set of each image.

    Attributes:
        indptr: int64, concepts: int32: the sets in compressed rows. of: int32, shape (images,).
    """

    indptr: Int64
    concepts: Int32
    of: Int32

    @classmethod
    def numbered(cls, images: Sequence[Collection[str]], numbers: dict[str, int]) -> ConceptSets:
        """The sets of these images, each concept by its number."""
        found: dict[frozenset[int], int] = {}
        of = np.array(
            [found.setdefault(frozenset(map(numbers.__getitem__, image)), len(found)) for image in images],
            dtype=np.int32,
        )
        flat = [number for concepts in found for number in sorted(concepts)]
        return cls(bounds_of([len(concepts) for concepts in found]), np.array(flat, dtype=np.int32), of)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def sizes(self) -> Int64:
        """Concepts of each set."""
        return np.diff(self.indptr)

    @property
    def largest(self) -> int:
        """Concepts of the largest set."""
        return int(np.diff(self.indptr).max(initial=0))


@dataclass(frozen=True, eq=False)
class SetRows:
    """Concept → sets: some as compressed rows, some as lines; see `cuihop._kernels.relevance`.

    Attributes:
        indptr: int64, sets: int32: the rows. line: int32, shape (concepts,): the line of each, or a code of the kernel.
    """

    indptr: Int64
    sets: Int32
    line: Int32


def rows_and_lines(
    queries: ConceptSets, corpus: ConceptSets, near: tuple[Int64, Int32], holders: tuple[Int64, Int32], room: int
) -> tuple[SetRows, SetRows, UInt8]:
    """Sets that hold a concept, sets that hold a near one, and the lines of both: uint8, shape (lines, corpus sets).

    Args:
        queries, corpus: the sets.
        near: concept → near concepts; holders: concept → the sets of the corpus that hold it. Compressed rows.
        room: bytes. Rows that do not fit are left out; concepts that many queries have come first.
    """
    from cuihop._kernels import relevance

    sets, concepts = len(corpus), len(holders[0]) - 1
    nothing = np.empty((0, sets), dtype=np.uint8)
    lengths = np.diff(holders[0])
    uses = np.bincount(queries.concepts, minlength=concepts)
    near_lengths = np.zeros(concepts, dtype=np.int64)

    def sets_near(kinds: Int32, indptr: Int64, found: Int32, lines: UInt8) -> None:
        seen = np.zeros(sets, dtype=np.int32)
        relevance.near_holders(*near, *holders, kinds, seen, near_lengths, indptr, found, lines)

    no_rows = np.full(concepts, relevance.NOT_KEPT, dtype=np.int32)
    sets_near(no_rows, np.zeros(concepts + 1, dtype=np.int64), np.empty(0, dtype=np.int32), nothing)
    wide = np.flatnonzero(lengths * _SETS_OF_A_ROW > sets)
    wide = wide[np.argsort(-lengths[wide], kind="stable")][: room // sets]
    line = np.full(concepts, relevance.ROW, dtype=np.int32)
    line[wide] = np.arange(len(wide))
    room -= len(wide) * sets
    sizes = np.where(near_lengths * _SETS_OF_A_ROW > sets, sets, near_lengths * 4)
    first = np.argsort(-uses, kind="stable")
    fitting = np.zeros(concepts, dtype=np.bool_)
    fitting[first] = np.cumsum(sizes[first]) <= room
    fitting |= near_lengths == 0
    near_line = np.where(fitting, np.int32(relevance.ROW), np.int32(relevance.NOT_KEPT))
    near_wide = np.flatnonzero(fitting & (near_lengths * _SETS_OF_A_ROW > sets))
    near_line[near_wide] = len(wide) + np.arange(len(near_wide))
    lines = np.zeros((len(wide) + len(near_wide), sets), dtype=np.uint8)
    for number, concept in enumerate(wide.tolist()):
        lines[number, holders[1][holders[0][concept] : holders[0][concept + 1]]] = 1
    indptr = bounds_of(np.where(near_line == relevance.ROW, near_lengths, 0))
    found = np.empty(int(indptr[-1]), dtype=np.int32)
    sets_near(near_line, indptr, found, lines)
    return SetRows(*holders, line), SetRows(indptr, found, near_line), lines


def bytes_of(images: Sequence[Collection[str]]) -> int:
    """Memory of images and their concepts, about."""
    return len(images) * _BYTES_AN_IMAGE + sum(map(len, images)) * _BYTES_A_CONCEPT


def grouped(group: Int32, groups: int) -> tuple[Int64, Int64]:
    """Group → its members, ascending, in compressed rows."""
    return bounds_of(np.bincount(group, minlength=groups)), np.argsort(group, kind="stable")


def transposed(sets: ConceptSets, concepts: int) -> tuple[Int64, Int32]:
    """Concept → the sets that hold it, ascending, in compressed rows."""
    owners = np.repeat(np.arange(len(sets), dtype=np.int32), np.diff(sets.indptr))
    indptr, order = grouped(sets.concepts, concepts)
    return indptr, owners[order]
