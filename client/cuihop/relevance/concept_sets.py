"""Distinct concept sets of a collection, and the sets that hold a concept or a near one, for the evaluation kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from cuihop.collection.distinct_sets import DistinctSets
from cuihop.resources.arrays import Int32, Int64, UInt8, bounds_of

_SETS_OF_A_ROW = 16  # from every sixteenth set on, a line of bytes is faster to add than a row of numbers
_BYTES_AN_IMAGE = 400  # its name and places in Python's own objects and in arrays: as measured, and a half
_BYTES_A_SET = 600  # its frozen set, once as read and once resolved
_BYTES_A_CONCEPT = 64  # of one concept of one set, in these objects and in the arrays computed from them


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
    def numbered(cls, sets: DistinctSets, numbers: dict[str, int]) -> ConceptSets:
        """The sets of these images, each concept by its number."""
        indptr = bounds_of([len(concepts) for concepts in sets.distinct])
        concepts = np.fromiter(
            (n for concepts in sets.distinct for n in sorted(map(numbers.__getitem__, concepts))), np.int32, indptr[-1]
        )
        return cls(indptr, concepts, sets.of)

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
        units: uint8, as long as ``sets``, for a weight by similarity only; see `cuihop._kernels.weighted_relevance`.
    """

    indptr: Int64
    sets: Int32
    line: Int32
    units: UInt8 = field(default_factory=lambda: np.empty(0, dtype=np.uint8))


def rows_and_lines(
    queries: ConceptSets,
    corpus: ConceptSets,
    near: Sequence[tuple[Int64, Int32]],
    holders: tuple[Int64, Int32],
    room: int,
    units: UInt8 | None = None,
) -> tuple[SetRows, list[SetRows], UInt8]:
    """Sets that hold a concept, sets that hold a near one, and the lines of all: uint8, shape (lines, corpus sets).

    Args:
        near: concept → near concepts, for one or several n. holders: concept → the sets of the corpus that hold it.
            Compressed rows.
        room: bytes. Rows that do not fit are left out; concepts that many queries have come first.
        units: uint8, as long as the values of ``near``, for a weight by similarity.
    """
    from cuihop._kernels import relevance, weighted_relevance

    sets, concepts = len(corpus), len(holders[0]) - 1
    lengths = np.diff(holders[0])
    wide = np.flatnonzero(lengths * _SETS_OF_A_ROW > sets)
    wide = wide[np.argsort(-lengths[wide], kind="stable")][: room // sets]
    line = np.full(concepts, relevance.ROW, dtype=np.int32)
    line[wide] = np.arange(len(wide))
    room -= len(wide) * sets
    first = np.argsort(-np.bincount(queries.concepts, minlength=concepts), kind="stable")
    kinds, lengths_near, stored = [], [], len(wide)
    for of_n in near:
        sizes_of_n = np.zeros(concepts, dtype=np.int64)
        no_rows = np.full(concepts, relevance.NOT_KEPT, dtype=np.int32)
        _sets_near(of_n, holders, sets, no_rows, sizes_of_n, np.zeros(concepts + 1, dtype=np.int64), _NO_ROW, _NO_LINE)
        kind, bytes_taken = _kinds(first, sizes_of_n, sets, room, 4 if units is None else 5)
        room -= bytes_taken
        kind[kind >= 0] += stored
        stored += int((kind >= 0).sum())
        kinds.append(kind)
        lengths_near.append(sizes_of_n)
    lines = np.zeros((stored, sets), dtype=np.uint8)
    for number, concept in enumerate(wide.tolist()):
        lines[number, holders[1][holders[0][concept] : holders[0][concept + 1]]] = 1
    rows = []
    for of_n, kind, sizes_of_n in zip(near, kinds, lengths_near, strict=True):
        indptr = bounds_of(np.where(kind == relevance.ROW, sizes_of_n, 0))
        row = np.empty(int(indptr[-1]), dtype=np.int32)
        if units is None:
            _sets_near(of_n, holders, sets, kind, sizes_of_n, indptr, row, lines)
            rows.append(SetRows(indptr, row, kind))
        else:
            of_row, seen = np.empty(len(row), dtype=np.uint8), np.zeros(sets, dtype=np.int32)
            weighted_relevance.near_holders_in_units(
                *of_n, units, *holders, kind, seen, np.empty(sets, dtype=np.uint8), indptr, row, of_row, lines
            )
            rows.append(SetRows(indptr, row, kind, of_row))
    return SetRows(*holders, line), rows, lines


_NO_ROW = np.empty(0, dtype=np.int32)
_NO_LINE = np.empty((0, 0), dtype=np.uint8)


def _sets_near(
    near: tuple[Int64, Int32], holders: tuple[Int64, Int32], sets: int, kinds: Int32, lengths: Int64, indptr: Int64,
    rows: Int32, lines: UInt8,
) -> None:  # fmt: skip
    """Fill lengths, rows and lines of the sets that hold a near concept; see `cuihop._kernels.relevance`."""
    from cuihop._kernels import relevance

    seen = np.zeros(sets, dtype=np.int32)
    relevance.near_holders(*near, *holders, kinds, seen, lengths, indptr, rows, lines)


def _kinds(first: Int64, lengths: Int64, sets: int, room: int, bytes_of_set: int) -> tuple[Int32, int]:
    """The line of each concept counted from 0, or a code of the kernel, by the lengths of the rows; and their bytes.

    The concepts in ``first`` are the most used first.
    """
    from cuihop._kernels import relevance

    wide = lengths * _SETS_OF_A_ROW > sets
    sizes = np.where(wide, sets, lengths * bytes_of_set)
    fitting = np.zeros(len(lengths), dtype=np.bool_)
    fitting[first] = np.cumsum(sizes[first]) <= room
    fitting |= lengths == 0
    kinds = np.where(fitting, np.int32(relevance.ROW), np.int32(relevance.NOT_KEPT))
    lined = np.flatnonzero(fitting & wide)
    kinds[lined] = np.arange(len(lined))
    return kinds, int(sizes[fitting].sum())


def bytes_of(sets: DistinctSets) -> int:
    """Memory of images and their concepts, about."""
    concepts = sum(map(len, sets.distinct))
    return len(sets) * _BYTES_AN_IMAGE + len(sets.distinct) * _BYTES_A_SET + concepts * _BYTES_A_CONCEPT


def grouped(group: Int32, groups: int) -> tuple[Int64, Int64]:
    """Group → its members, ascending, in compressed rows."""
    return bounds_of(np.bincount(group, minlength=groups)), np.argsort(group, kind="stable")


def transposed(sets: ConceptSets, concepts: int) -> tuple[Int64, Int32]:
    """Concept → the sets that hold it, ascending, in compressed rows."""
    owners = np.repeat(np.arange(len(sets), dtype=np.int32), np.diff(sets.indptr))
    indptr, order = grouped(sets.concepts, concepts)
    return indptr, owners[order]
