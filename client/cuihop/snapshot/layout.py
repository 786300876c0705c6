"""The sections of each kind of file: their types, the lengths that must agree, and the values that may stand in them.

Types and lengths are checked when a file is opened, values when a section is first used, with its checksum: compiled
code follows them without a look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.errors import SnapshotError
from cuihop.identifiers import EXPECTED
from cuihop.snapshot.header import fits

__all__ = ["DISTANCE_INDEX", "NAME_INDEX", "SNAPSHOT", "UNFINISHED_INDEX", "Layout"]

Array = npt.NDArray[Any]

NAME_INDEX = ("merit_rows", "name_order", "word_offsets", "word_blob", "word_indptr", "word_names")
"""The sections of the index of names: see `cuihop.snapshot.name_index`."""

_AT_A_TIME = 1 << 22  # values compared together, for the sake of memory


class Layout:
    """One kind of file.

    Args:
        kind: what messages call it.
        table: a line for each section: its name, its types, its shape in named lengths, and a rule for its values:
            ``ascending``; ``below LENGTH``; or ``rows of LENGTH``, from 0 up to it without a step back.
        meta: the form of the JSON part: see `cuihop.snapshot.header.fits`.
        lengths: those that the JSON part tells.
        optional: groups of sections that may be missing together.
        spare: sections that no answer needs: what is wrong with them is told when they are used, and not before.
    """

    def __init__(
        self,
        kind: str,
        table: str,
        meta: Mapping[str, Any],
        lengths: Callable[[Mapping[str, Any]], Mapping[str, int]],
        *,
        optional: tuple[tuple[str, ...], ...] = (),
        spare: tuple[str, ...] = (),
    ) -> None:
        self.kind = kind
        lines = ([part.strip() for part in line.split("|")] for line in table.splitlines() if line.strip())
        self._rows = {name: (types.split(), shape.split(), rule) for name, types, shape, rule in lines}
        self._meta = meta
        self._lengths = lengths
        self._optional = optional
        self._spare = frozenset(spare)

    def lengths(self, meta: Mapping[str, Any], arrays: Mapping[str, Array], origin: str) -> dict[str, int]:
        """The named lengths of a file. Its types and shapes agree with them, but perhaps those of spare sections.

        Raises:
            SnapshotError: they do not, or the JSON part is not as it must be.
        """
        if not fits(meta, self._meta):
            raise SnapshotError(
                f"{origin}: not a {self.kind}; a field of its description is missing or of another type"
            )
        try:
            known = dict(self._lengths(meta))
        except ValueError as error:
            raise SnapshotError(f"{origin}: {error}") from None
        groups = [group for group in self._optional if not any(name in arrays for name in group)]
        missing = self._spare.union(*groups)
        self._check_shapes([name for name in self._rows if name not in missing], arrays, known, origin)
        return known

    def _check_shapes(
        self, names: Iterable[str], arrays: Mapping[str, Array], known: dict[str, int], origin: str
    ) -> None:
        for name in names:
            if name not in arrays:
                raise SnapshotError(f"{origin}: section {name!r} is missing; the file is damaged")
            array, (types, shape, _) = arrays[name], self._rows[name]
            kind = "S" if array.dtype.kind == "S" else array.dtype.str[1:]
            agrees = kind in types and array.ndim == len(shape)
            for length, named in zip(array.shape, shape, strict=False):
                base, one_more, _ = named.partition("+")
                value = int(base) if base.isdecimal() else known.setdefault(base, length - bool(one_more))
                agrees = agrees and length == value + bool(one_more) and value >= 0
            if not agrees:
                raise SnapshotError(
                    f"{origin}: section {name!r} does not fit the others; found {array.dtype.str} of shape "
                    f"{array.shape}, expected {' or '.join(types)} of {', '.join(shape)}; the file is damaged"
                )

    def check(self, name: str, arrays: Mapping[str, Array], known: dict[str, int], origin: str) -> None:
        """Check the values of a section.

        Args:
            name: of the section.
            arrays: all sections.
            known: what `lengths` gave.
            origin: what messages call the file.

        Raises:
            SnapshotError: a value that must not be there; or a spare section that does not fit the others.
        """
        if name not in self._rows:
            return
        if name in self._spare:
            self._check_shapes(sorted(self._spare), arrays, known, origin)
        array, (rule, _, of) = arrays[name], self._rows[name][2].partition(" ")
        right = True
        if rule == "ascending":
            right = bool((array[1:] > array[:-1]).all())
        elif rule == "below":
            factor, _, length = of.rpartition("*")
            right = _all_below(array, int(factor or 1) * (int(length) if length.isdecimal() else known[length]))
        elif rule == "rows":
            right = int(array[0]) == 0 and int(array[-1]) == known[of.removeprefix("of ")]
            right = right and bool((array[1:] >= array[:-1]).all())
        elif rule == "labels":
            right = _are_labels(array, arrays["indptr"])
        if not right:
            raise SnapshotError(f"{origin}: section {name!r} holds values that it must not; the file is damaged")


def _all_below(array: Array, bound: int) -> bool:
    return not len(array) or (int(array.min()) >= 0 and int(array.max()) < bound)


def _are_labels(entries: Array, indptr: Array) -> bool:
    """Each label ends with the greatest number, which stands nowhere else; hubs are ranks."""
    ranks, last = len(indptr) - 1, np.uint32(2**32 - 1)
    ends = indptr[1:] - 1
    if ranks and (int(ends.min()) < 0 or int(ends.max()) >= len(entries) or not (entries[ends] == last).all()):
        return False
    beyond = sum(
        int(np.count_nonzero(entries[begin : begin + _AT_A_TIME] >= ranks << 8))
        for begin in range(0, len(entries), _AT_A_TIME)
    )
    return beyond == ranks


_RELEASE = {
    "name": str, "digest": str, "relations": [str], "sabs": [str], "identifiers": str, "concepts": int, "edges": int,
    "source": str,
}  # fmt: skip
_DEFINITIONS = ("definition_indptr", "definition_offsets", "definition_blob")


def _snapshot_lengths(meta: Mapping[str, Any]) -> Mapping[str, int]:
    release = meta["release"]
    if set(release) != set(_RELEASE) or release["identifiers"] not in EXPECTED or len(release["digest"]) != 64:
        raise ValueError("the release is not described as this cuihop describes one")
    return {
        "concepts": release["concepts"], "edges": release["edges"], "sab_sets": len(meta["sab_sets"]),
        "types": len(meta["semantic_types"]),
    }  # fmt: skip


SNAPSHOT = Layout(
    "snapshot",
    """
    cuis               | u8 S     | concepts   | ascending
    up_indptr          | i4       | concepts+1 | rows of edges
    up_indices         | i4       | edges      | below concepts
    up_sab_sets        | u2 u4 i4 i8 | edges   | below sab_sets
    down_indptr        | i4       | concepts+1 | rows of edges
    down_indices       | i4       | edges      | below concepts
    any_indptr         | i4       | concepts+1 | rows of neighbours
    any_indices        | i4       | neighbours | below concepts
    name_indptr        | i4       | concepts+1 | rows of names
    name_offsets       | i8       | names+1    | rows of letters
    name_blob          | u1       | letters    |
    folded_rows        | i4       | folded     | below names
    folded_offsets     | i8       | folded+1   | rows of folds
    folded_blob        | u1       | folds      |
    type_indptr        | i4       | concepts+1 | rows of typed
    type_indices       | i4       | typed      | below types
    retired_cuis       | u8 S     | retired    | ascending
    retired_indptr     | i4       | retired+1  | rows of statements
    retired_relations  | u1       | statements | below 5
    retired_successors | S        | statements |
    definition_indptr  | i4       | concepts+1 | rows of defined
    definition_offsets | i8       | defined+1  | rows of texts
    definition_blob    | u1       | texts      |
    merit_rows         | i4       | names      | below names
    name_order         | i4       | names      | below names
    word_offsets       | i8       | words+1    | rows of spelt
    word_blob          | u1       | spelt      |
    word_indptr        | i8       | words+1    | rows of postings
    word_names         | i4       | postings   | below names
    """,
    {"release": _RELEASE, "sab_sets": [[str]], "semantic_types": [(str, str)], "report": {}},
    _snapshot_lengths,
    optional=(_DEFINITIONS,),
    spare=NAME_INDEX,
)

DISTANCE_INDEX = Layout(
    "distance index",
    """
    place     | i4 | concepts      | below 2*ranks
    indptr    | i8 | ranks+1       | rows of all
    entries   | u4 | all           | labels
    root_hops | u1 | ranks roots   |
    root_sets | u8 | ranks roots 2 |
    """,
    {"holds": str, "version": int, "digest": str, "labels": int, "entries": int, "roots": int, "levels": object,
     "bytes": int},
    lambda meta: {"ranks": meta["labels"], "roots": meta["roots"], "all": meta["labels"] + meta["entries"]},
)  # fmt: skip

UNFINISHED_INDEX = Layout(
    "unfinished distance index",
    """
    indptr | i8 | ranks+1 | rows of all
    label  | u4 | all     | below 256*ranks
    newest | i4 | ranks   |
    """,
    {"holds": str, "version": int, "digest": str, "roots": int, "level": int},
    lambda meta: {},
)
