"""The header of a snapshot file, and the sections of each kind of file: their types, lengths and permitted values.

The distance index, its checkpoint and the neighbour dictionary have the same form. Every field of a header is checked
against the size of the file and the rest of the header before it is used: a checksum reveals accidents, not a header
that is wrong or forged. Types and lengths are checked when a file is opened; values when a section is first used, with
its checksum, because compiled code follows them unchecked.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from cuihop.errors import SnapshotError, SnapshotTooNew
from cuihop.files.text_lines import is_encodable
from cuihop.graph import DIRECTIONS
from cuihop.identifiers import EXPECTED

FORMAT_VERSION = 2
LARGEST_POSITION = (1 << 31) - 1
"""Most concepts, neighbours or names of a snapshot: their positions are int32."""

ALIGNMENT = 64
HEAD_BYTES = 32

_MAGIC = b"\x89CUIHOP\n"
_HEAD = struct.Struct("<8sIIQQ")
_LARGEST_HEADER = 1 << 26
_MOST_DIMENSIONS = 3
_DTYPES = re.compile(r"[<|][iu][1248]|\|S[1-9][0-9]{0,2}")
_SECTION = {"name": str, "dtype": str, "shape": [int], "offset": int, "bytes": int, "xxh3": int}


@dataclass(frozen=True)
class StoredSection:
    """Position of an array in the file, and its checksum."""

    name: str
    dtype: npt.DTypeLike
    shape: tuple[int, ...]
    offset: int
    bytes: int
    xxh3: int


def packed_head(header: bytes, length: int) -> bytes:
    """Prefix of a header: see `cuihop.snapshot.file`.

    Raises:
        ValueError: it is longer than readers accept.
    """
    if len(header) > _LARGEST_HEADER:
        raise ValueError("the header is too long")
    return _HEAD.pack(_MAGIC, FORMAT_VERSION, len(header), xxhash.xxh3_64_intdigest(header), length)


def read_header(view: Any, size: int, origin: str) -> tuple[dict[str, Any], list[StoredSection]]:
    """The JSON part of the header of a file, sliced as bytes, and its sections.

    Raises:
        SnapshotError: another kind of file, truncated, damaged, or with an inconsistent header.
        SnapshotTooNew: a later format.
    """
    if size < HEAD_BYTES:
        raise SnapshotError(f"{origin}: not a cuihop snapshot; found {size} bytes, expected a header")
    magic, version, header_bytes, checksum, length = _HEAD.unpack(view[:HEAD_BYTES])
    if magic != _MAGIC:
        raise SnapshotError(f"{origin}: not a cuihop snapshot; found {magic!r} at its start, expected {_MAGIC!r}")
    if version > FORMAT_VERSION:
        raise SnapshotTooNew(
            f"{origin}: made by a newer cuihop: snapshot format {version}, and this one reads {FORMAT_VERSION}. "
            "Upgrade cuihop, or build the snapshot again with this version."
        )
    if 0 < version < FORMAT_VERSION:
        raise SnapshotError(
            f"{origin}: made by an older cuihop: snapshot format {version}, and this one reads {FORMAT_VERSION}. "
            "Build it again with this version."
        )
    if version != FORMAT_VERSION:
        raise _damaged(origin, f"format {version}")
    if length != size:
        raise SnapshotError(f"{origin}: truncated or grown; found {size:,} bytes, expected {length:,}")
    if header_bytes > min(size - HEAD_BYTES, _LARGEST_HEADER):
        raise _damaged(origin, f"a header of {header_bytes:,} bytes in a file of {size:,}")
    raw = bytes(view[HEAD_BYTES : HEAD_BYTES + header_bytes])
    if xxhash.xxh3_64_intdigest(raw) != checksum:
        raise SnapshotError(f"{origin}: the header fails its checksum; the file is damaged")
    try:
        header = json.loads(raw)
        is_text = (raw.isascii() and b"\\u" not in raw) or is_encodable(header)
    except (ValueError, RecursionError):
        raise _damaged(origin, "no JSON") from None
    if not is_text:
        raise _damaged(origin, "half of a surrogate pair")
    if not fits(header, {"meta": {}, "sections": [_SECTION]}):
        raise _damaged(origin, "other fields than meta and sections")
    sections = [_section(fields, size, origin) for fields in header["sections"]]
    _check_positions(sections, HEAD_BYTES + header_bytes, origin)
    return header["meta"], sections


def fits(value: object, form: Any) -> bool:
    """Match a JSON value against a form.

    A form is ``str``; ``int``, a non-negative number; ``[form]``, a list of such values; ``(form, form)``, a list of
    that length; or ``{name: form}``, an object with at least these fields.

    >>> fits({"a": [1, 2], "b": 0}, {"a": [int]}), fits([True], [int]), fits(-1, int)
    (True, False, False)
    """
    if form is int:
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if isinstance(form, type):
        return isinstance(value, form)
    if isinstance(form, list):
        return isinstance(value, list) and all(fits(item, form[0]) for item in value)
    if isinstance(form, tuple):
        return (
            isinstance(value, list)
            and len(value) == len(form)
            and all(fits(item, kind) for item, kind in zip(value, form, strict=True))
        )
    fields: Mapping[str, Any] = form
    return isinstance(value, dict) and all(name in value and fits(value[name], kind) for name, kind in fields.items())


def _section(fields: Mapping[str, Any], size: int, origin: str) -> StoredSection:
    name, shape = fields["name"], tuple(fields["shape"])
    if not _DTYPES.fullmatch(fields["dtype"]):
        raise _damaged(origin, f"type {fields['dtype']!r} of section {name!r}")
    dtype = np.dtype(fields["dtype"])
    if len(shape) not in range(1, _MOST_DIMENSIONS + 1) or max(shape) > size:
        raise _damaged(origin, f"shape {shape} of section {name!r}")
    if fields["bytes"] != math.prod(shape) * dtype.itemsize:
        raise _damaged(origin, f"{fields['bytes']:,} bytes for shape {shape} of section {name!r}")
    if fields["offset"] % ALIGNMENT:
        raise _damaged(origin, f"offset {fields['offset']:,} of section {name!r}")
    if fields["offset"] + fields["bytes"] > size:
        raise _damaged(origin, f"section {name!r} up to byte {fields['offset'] + fields['bytes']:,} of {size:,}")
    return StoredSection(name, dtype, shape, fields["offset"], fields["bytes"], fields["xxh3"])


def _check_positions(sections: Sequence[StoredSection], begin: int, origin: str) -> None:
    if len({section.name for section in sections}) < len(sections):
        raise _damaged(origin, "two sections of one name")
    ordered = sorted((section for section in sections if section.bytes), key=lambda section: section.offset)
    for section in ordered[:1]:
        if section.offset < begin:
            raise _damaged(origin, f"section {section.name!r} in the header")
    for before, after in pairwise(ordered):
        if before.offset + before.bytes > after.offset:
            raise _damaged(origin, f"sections {before.name!r} and {after.name!r} in one place")


def _damaged(origin: str, value: str) -> SnapshotError:
    return SnapshotError(f"{origin}: the header is not that of a snapshot; found {value[:200]}; the file is damaged")


Array = npt.NDArray[Any]

NAME_INDEX = (
    "search_rows", "search_keys", "search_word_offsets", "search_word_blob", "search_forms", "search_indptr",
    "search_names", "spelling_words", "spelling_sets", "spelling_offsets", "spelling_blob",
)  # fmt: skip
"""Sections of the name index: see `cuihop.snapshot.name_index` and `cuihop.snapshot.spelling`."""

TERM_TABLE = ("term_hashes", "term_buckets", "term_rows", "term_rules", "term_filter")
"""Sections of the table of names for annotation: see `cuihop.snapshot.term_table`."""

NAME_SOURCES = ("name_grades", "name_sab_sets", "name_sab_set_indptr", "name_sab_set_members")
"""Sections of each name's grade and vocabularies: the number of their set; its members are positions in ``name_sabs``
of the JSON part. Not in older snapshots, exports of a database and graphs in memory: see `GraphTables`."""

SOURCE_CODES = (
    "code_indptr", "code_keys", "code_marks", "code_hashes", "code_buckets", "code_sab_numbers", "code_offsets",
    "code_blob", "code_holder_indptr", "code_holders", "code_concept_rows", "code_concept_offsets", "code_concept_blob",
)  # fmt: skip
"""Sections of the codes of vocabularies, whose numbers are positions in ``code_sabs`` of the JSON part: see
`cuihop.snapshot.source_codes`. Not in older snapshots, exports of a database and graphs in memory."""

CODE_MAPS = (
    "map_from_offsets", "map_from_blob", "map_indptr", "map_set_numbers", "map_fields", "map_text_offsets",
    "map_text_blob",
)  # fmt: skip
"""Sections of the published mappings, whose sets are in ``map_sets`` of the JSON part: see
`cuihop.snapshot.code_maps`. Only in snapshots of a release with MRMAP."""

MARK_SHIFT = 25
"""The bits of the grade of a code from this one on are the position of its mark in `cuihop.graph.CODE_MARKS`."""

SUPPRESSED_NAME = 1 << 29
"""Bit of the grade of a name that UMLS suppresses."""

_AT_A_TIME = 1 << 22  # values compared together, to bound memory


class Layout:
    """One kind of file.

    Args:
        table: a line for each section: its name, its types, its shape in named lengths, and a rule for its values:
            ``ASCII``; ``ascending``, and also ASCII; ``below LENGTH``; or ``rows of LENGTH``, from 0 to it, never
            descending.
        meta: the form of the JSON part: see `fits`.
        lengths: those given in the JSON part.
        optional: groups of sections that may be missing together.
        spare: groups of sections that no answer needs: their faults are reported when they are used, not at opening.
    """

    def __init__(
        self,
        kind: str,
        table: str,
        meta: Mapping[str, Any],
        lengths: Callable[[Mapping[str, Any]], Mapping[str, int]],
        *,
        optional: tuple[tuple[str, ...], ...] = (),
        spare: tuple[tuple[str, ...], ...] = (),
    ) -> None:
        self.kind = kind
        lines = ([cell.strip() for cell in line.split("|")] for line in table.splitlines() if line.strip())
        self._rows = {name: (types.split(), shape.split(), rule) for name, types, shape, rule in lines}
        self._meta = meta
        self._lengths = lengths
        self._optional = optional
        self._spare = {name: group for group in spare for name in group}

    def lengths(self, meta: Mapping[str, Any], arrays: Mapping[str, Array], origin: str) -> dict[str, int]:
        """The named lengths of a file, with which all types and shapes agree, except perhaps those of spare sections.

        Raises:
            SnapshotError: they do not, or the JSON part is malformed.
        """
        if not fits(meta, self._meta):
            raise SnapshotError(
                f"{origin}: not a {self.kind}; a field of its description is missing or of another type"
            )
        try:
            lengths = dict(self._lengths(meta))
        except ValueError as error:
            raise SnapshotError(f"{origin}: {error}") from None
        except SnapshotTooNew as error:
            raise SnapshotTooNew(f"{origin}: {error}") from None
        groups = [group for group in self._optional if not any(name in arrays for name in group)]
        missing = set(self._spare).union(*groups)
        self._check_shapes([name for name in self._rows if name not in missing], arrays, lengths, origin)
        return lengths

    def _check_shapes(
        self, names: Iterable[str], arrays: Mapping[str, Array], lengths: dict[str, int], origin: str
    ) -> None:
        for name in names:
            if name not in arrays:
                raise SnapshotError(f"{origin}: section {name!r} is missing; the file is damaged")
            array, (types, shape, _) = arrays[name], self._rows[name]
            kind = "S" if array.dtype.kind == "S" else array.dtype.str[1:]
            agrees = kind in types and array.ndim == len(shape)
            for length, named in zip(array.shape, shape, strict=False):
                base, one_more, _ = named.partition("+")
                value = int(base) if base.isdecimal() else lengths.setdefault(base, length - bool(one_more))
                agrees = agrees and length == value + bool(one_more) and value >= 0
            if not agrees:
                raise SnapshotError(
                    f"{origin}: section {name!r} does not fit the others; found {array.dtype.str} of shape "
                    f"{array.shape}, expected {' or '.join(types)} of {', '.join(shape)}; the file is damaged"
                )

    def check(self, name: str, arrays: Mapping[str, Array], lengths: dict[str, int], origin: str) -> None:
        """Check the values of a section, by the result of `lengths`, to which those of spare sections are added.

        Raises:
            SnapshotError: a forbidden value, or a spare section that does not fit the others.
        """
        if name not in self._rows:
            return
        if name in self._spare:
            self._check_shapes(self._spare[name], arrays, lengths, origin)
        array, (rule, _, of) = arrays[name], self._rows[name][2].partition(" ")
        right = True
        if rule in ("ASCII", "ascending"):
            right = int(array.view(np.int8).min(initial=0)) >= 0
        if rule == "ascending":
            right = right and bool((array[1:] > array[:-1]).all())
        elif rule == "below":
            factor, _, length = of.rpartition("*")
            right = _all_below(array, int(factor or 1) * (int(length) if length.isdecimal() else lengths[length]))
        elif rule == "rows":
            right = int(array[0]) == 0 and int(array[-1]) == lengths[of.removeprefix("of ")]
            right = right and bool((array[1:] >= array[:-1]).all())
        elif rule == "labels":
            right = _are_labels(array, len(arrays["words"]))
        if not right:
            raise SnapshotError(f"{origin}: section {name!r} holds values that it must not; the file is damaged")


def _all_below(array: Array, bound: int) -> bool:
    return not len(array) or (int(array.min()) >= 0 and int(array.max()) < bound)


def _are_labels(records: Array, words: int) -> bool:
    """Check that the labels of a distance index lie within this number of words: see `cuihop._kernels.labels`."""
    for begin in range(0, len(records), _AT_A_TIME // 32):
        block = records[begin : begin + _AT_A_TIME // 32]
        labels = block[:, 19:22].astype(np.int64) @ np.array([1, 1 << 16, 1 << 32])
        ends = block[:, 22:].astype(np.int64)
        ascending = bool((ends[:, 1:] >= ends[:, :-1]).all()) and not ((ends[:, -1] - ends[:, -2]) % 2).any()
        if not ascending or int((labels + ends[:, -1]).max()) > words - 32:
            return False
    return True


_RELEASE = {
    "name": str, "digest": str, "relations": [str], "sabs": [str], "identifiers": str, "concepts": int, "edges": int,
    "source": str,
}  # fmt: skip
_DEFINITIONS = ("definition_indptr", "definition_offsets", "definition_blob")


def _check_release(release: Mapping[str, Any]) -> None:
    if set(release) != set(_RELEASE) or release["identifiers"] not in EXPECTED or len(release["digest"]) != 64:
        raise ValueError("the release is not described as this cuihop describes one")


def _snapshot_lengths(meta: Mapping[str, Any]) -> Mapping[str, int]:
    release = meta["release"]
    _check_release(release)
    name_sabs, code_sabs = meta.get("name_sabs", []), meta.get("code_sabs", [])
    for what, sabs in (("names", name_sabs), ("codes", code_sabs)):
        if not fits(sabs, [str]):
            raise ValueError(f"the vocabularies of the {what} are not a list of names")
    if not fits(meta.get("map_sets", []), [(str, str, str, str)]):
        raise ValueError("the sets of mappings are not described as this cuihop describes them")
    return {
        "concepts": release["concepts"], "edges": release["edges"], "sab_sets": len(meta["sab_sets"]),
        "types": len(meta["semantic_types"]), "name_sabs": len(name_sabs),
        "code_sabs": len(code_sabs), "map_sets": len(meta.get("map_sets", [])),
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
    name_grades        | u4       | names      |
    name_sab_sets      | u2 u4    | names      | below name_sets
    name_sab_set_indptr | i4      | name_sets+1 | rows of name_set_sabs
    name_sab_set_members | u2     | name_set_sabs | below name_sabs
    folded_rows        | i4       | folded     | below names
    folded_offsets     | i8       | folded+1   | rows of folds
    folded_blob        | u1       | folds      |
    type_indptr        | i4       | concepts+1 | rows of typed
    type_indices       | i4       | typed      | below types
    retired_cuis       | u8 S     | retired    | ascending
    retired_indptr     | i4       | retired+1  | rows of statements
    retired_relations  | u1       | statements | below 5
    retired_successors | S        | statements | ASCII
    definition_indptr  | i4       | concepts+1 | rows of defined
    definition_offsets | i8       | defined+1  | rows of texts
    definition_blob    | u1       | texts      |
    search_rows        | i4       | names      | below names
    search_keys        | i4       | names      | below names
    search_word_offsets | i8      | words+1    | rows of spelt
    search_word_blob   | u1       | spelt      |
    search_forms       | i4       | words      | below words
    search_indptr      | i8       | cells+1    | rows of postings
    search_names       | i4       | postings   | below names
    spelling_words     | i4       | spellings  | below words
    spelling_sets      | u8       | spellings  |
    spelling_offsets   | i8       | spellings+1 | rows of spelling
    spelling_blob      | u1       | spelling   |
    term_hashes        | u8       | candidates |
    term_buckets       | i4       | buckets+1  | rows of candidates
    term_rows          | i4       | candidates | below names
    term_rules         | u1       | candidates |
    term_filter        | u8       | filter     |
    code_indptr        | i4       | concepts+1 | rows of coded
    code_keys          | i4       | coded      | below codes
    code_marks         | u1       | coded      | below 3
    code_hashes        | u4       | codes      |
    code_buckets       | i4       | code_buckets+1 | rows of codes
    code_sab_numbers   | u2       | codes      | below code_sabs
    code_offsets       | i8       | codes+1    | rows of code_letters
    code_blob          | u1       | code_letters |
    code_holder_indptr | i4       | codes+1    | rows of coded
    code_holders       | i4       | coded      | below coded
    code_concept_rows  | i4       | source_concepts | below coded
    code_concept_offsets | i8     | source_concepts+1 | rows of source_concept_letters
    code_concept_blob  | u1       | source_concept_letters |
    map_from_offsets   | i8       | mapped+1   | rows of mapped_letters
    map_from_blob      | u1       | mapped_letters |
    map_indptr         | i4       | mapped+1   | rows of maps
    map_set_numbers    | u2       | maps       | below map_sets
    map_fields         | i4       | maps 3     | below map_texts
    map_text_offsets   | i8       | map_texts+1 | rows of map_letters
    map_text_blob      | u1       | map_letters |
    """,
    {"release": _RELEASE, "sab_sets": [[str]], "semantic_types": [(str, str)], "report": {}},
    _snapshot_lengths,
    optional=(_DEFINITIONS, NAME_SOURCES, SOURCE_CODES, CODE_MAPS),
    spare=(NAME_INDEX, TERM_TABLE),
)

INDEX_VERSION = 2


def _index_lengths(meta: Mapping[str, Any]) -> Mapping[str, int]:
    reads = f"version {meta['version']} of the distance index, and this {{}} reads {INDEX_VERSION}. {{}}"
    if meta["version"] > INDEX_VERSION:
        advice = "Upgrade cuihop, or make it again with: cuihop index GRAPH"
        raise SnapshotTooNew(f"made by a newer cuihop: {reads.format('one', advice)}")
    if meta["version"] != INDEX_VERSION:
        raise ValueError(reads.format("cuihop", "Make it again with: cuihop index GRAPH"))
    return {"ranks": meta["labels"]}


DISTANCE_INDEX = Layout(
    "distance index",
    """
    place   | i4 | concepts | below 2*ranks
    records | u2 | ranks 32 | labels
    words   | u2 | all      |
    """,
    {"holds": str, "version": int, "digest": str, "labels": int, "entries": int, "roots": int, "levels": object,
     "bytes": int},
    _index_lengths,
)  # fmt: skip


def _dictionary_lengths(meta: Mapping[str, Any]) -> Mapping[str, int]:
    _check_release(meta["release"])
    if meta["direction"] not in DIRECTIONS or meta["hops"] > 255:
        raise ValueError("the hops of the dictionary are not described as this cuihop describes them")
    if any(status not in ("merged", "code", "several", "retired", "unknown") for _, status, _, _ in meta["others"]):
        raise ValueError("an identifier has a status that this cuihop does not know")
    return {"concepts": meta["concepts"], "entries": meta["entries"], "distances": meta["hops"] + 1}


NEIGHBOUR_DICTIONARY = Layout(
    "neighbour dictionary",
    """
    cuis    | u8 S | concepts   | ascending
    indptr  | i8   | concepts+1 | rows of entries
    indices | i4   | entries    | below concepts
    hops    | u1   | entries    | below distances
    """,
    {"holds": str, "version": int, "release": _RELEASE, "concepts": int, "entries": int, "hops": int, "direction": str,
     "others": [(str, str, str, [(str, str)])], "files": [str]},
    _dictionary_lengths,
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
