"""Codes of source vocabularies in a snapshot: those of each concept, and the concepts of each code.

The codes of a concept are in an order that is stored with them: see `CodeRows`. A code is found by its hash: codes
with the same highest bits form a bucket, and the lowest are stored. Only texts that are equal are the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from itertools import pairwise
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from cuihop.adapter_rules import other_forms
from cuihop.errors import InputError, LimitExceeded, SnapshotError, first_few
from cuihop.files.text_lines import quoted
from cuihop.graph import CODE_MARKS, CodeLookup, CodeStatus, Resolution, SourceCode
from cuihop.resources.arrays import Int32, Int64, UInt8, UInt16, UInt32, UInt64, bounds_of, read_only
from cuihop.resources.progress import check_interruption
from cuihop.snapshot.file import Sections
from cuihop.snapshot.layout import LARGEST_POSITION, MARK_SHIFT, SOURCE_CODES
from cuihop.snapshot.string_table import IdentifierTable, StringTable

_LONGEST_SAB = 64
_NEAR = 3
_CODES_A_BLOCK = 1 << 20

MOST_ALIKE = 100
"""Most unknown codes in one request for which codes that are written alike are looked for."""


@dataclass(frozen=True, eq=False)
class CodeRows:
    """Codes of concepts in any order, a row for each atom or fewer.

    Attributes:
        owners: int32, the number of the concept; -1 for a row that is left out.
        grades: uint32, by which the codes of a concept are sorted: its mark from the bit `MARK_SHIFT` on, whether its
            atom is the preferred one (TS, STT, ISPREF), and its rank (MRRANK). Codes of one grade are by vocabulary,
            then by code.
        sabs: uint16, positions in ``sab_names``, which are in any order.
        codes: the code of each row.
        source_concepts: SCUI of each row; empty for none, and where it is the code.
    """

    owners: Int32
    grades: UInt32
    sabs: UInt16
    sab_names: Sequence[str]
    codes: StringTable
    source_concepts: StringTable


def code_sections(rows: CodeRows, concepts: int) -> tuple[dict[str, npt.NDArray[Any]], list[str]]:
    """The sections of the codes of a graph, in the order of `SOURCE_CODES`, and their vocabularies, sorted.

    Raises:
        LimitExceeded: more codes than a snapshot can number.
    """
    from cuihop._kernels import codes as kernels

    if (total := len(rows.codes)) > LARGEST_POSITION:
        most = f"a snapshot holds at most {LARGEST_POSITION:,}"
        raise LimitExceeded(f"{total:,} codes, and {most}. Leave them out: --no-codes")
    named = sorted((rows.sab_names[number], number) for number in np.flatnonzero(np.bincount(rows.sabs)).tolist())
    vocabularies, used = [name for name, _ in named], [number for _, number in named]
    positions = np.zeros(len(rows.sab_names), dtype=np.uint16)
    positions[used] = np.arange(len(used))
    sabs = positions[rows.sabs]
    texts = rows.codes.offsets, read_only(rows.codes.blob)
    others = rows.source_concepts.offsets, read_only(rows.source_concepts.blob)
    owners, row_grades = rows.owners, rows.grades
    del rows  # each array is released as soon as it is used
    hashes = kernels.hashes(sabs, *texts)
    numbers, firsts = np.empty(len(sabs), dtype=np.int32), np.empty(len(sabs), dtype=np.int32)
    bits = max(0, len(hashes).bit_length() - 1)
    count = kernels.numbered(kernels.in_buckets(hashes, bits), hashes, bits, sabs, *texts, numbers, firsts)
    firsts, hashes = firsts[:count].copy(), hashes[:count].copy()
    check_interruption()
    selected, counts = np.empty(len(sabs), dtype=np.int32), np.zeros(concepts, dtype=np.int32)
    in_order = (np.diff(owners[owners >= 0]) >= 0).all()  # as in MRCONSO; rows of other concepts stand between
    order = np.arange(len(sabs), dtype=np.int32) if in_order else np.argsort(owners, kind="stable").astype(np.int32)
    size = kernels.arranged(order, owners, row_grades, numbers, sabs, *texts, *others, selected, counts)
    check_interruption()
    selected = selected[:size].copy()
    keys, grades = numbers[selected], row_grades[selected]
    del order, owners, numbers, row_grades
    with_concept = np.flatnonzero(np.diff(others[0])[selected]).astype(np.int32)
    arrays = (
        bounds_of(counts, np.int32), keys, (grades >> MARK_SHIFT).astype(np.uint8), hashes.astype(np.uint32),
        _buckets(hashes), sabs[firsts], *kernels.gathered(firsts, *texts),
        *kernels.holders(keys, grades, count), with_concept, *kernels.gathered(selected[with_concept], *others),
    )  # fmt: skip
    return dict(zip(SOURCE_CODES, arrays, strict=True)), vocabularies


def _buckets(hashes: UInt64) -> Int32:
    """Bounds of the codes with the same highest bits, by which the hashes are in order."""
    bits = max(0, len(hashes).bit_length() - 1)
    highest = hashes >> np.uint64(64 - bits) if bits else np.zeros(len(hashes), dtype=np.uint64)
    in_buckets = np.bincount(highest.astype(np.int64))
    buckets: Int32 = bounds_of(np.pad(in_buckets, (0, (1 << bits) - len(in_buckets))), np.int32)
    return buckets


@dataclass(frozen=True, eq=False)
class CodeHolders:
    """Distinct codes, and the concepts that have them, as a database stores them.

    Attributes:
        sabs: uint16, the position of each code's vocabulary among those of the graph.
        codes: their texts.
        counts: int64, the concepts of each code. The rest has a row for each of these, best first.
        concepts: int32, the number of the concept.
        positions: int64, the position of the code among the codes of the concept.
        marks: uint8, positions in `CODE_MARKS`.
        source_concepts: SCUI; empty for none, and where it is the code.
    """

    sabs: UInt16
    codes: StringTable
    counts: Int64
    concepts: Int32
    positions: Int64
    marks: UInt8
    source_concepts: StringTable

    @classmethod
    def joined(cls, blocks: Sequence[CodeHolders]) -> CodeHolders:
        """The codes of one block and more."""

        def column(name: str) -> Any:
            values = [getattr(block, name) for block in blocks]
            if not isinstance(values[0], StringTable):
                return np.concatenate(values)
            lengths = np.concatenate([np.diff(table.offsets) for table in values])
            return StringTable(bounds_of(lengths), np.concatenate([table.blob for table in values]))

        return cls(*(column(each.name) for each in fields(cls)))


def held_sections(holders: CodeHolders, concepts: int) -> dict[str, npt.NDArray[Any]]:
    """The sections of these codes, as `code_sections` makes them of rows; codes may have other numbers."""
    from cuihop._kernels import codes as kernels

    texts = holders.codes.offsets, read_only(holders.codes.blob)
    others = holders.source_concepts.offsets, read_only(holders.source_concepts.blob)
    hashes = kernels.hashes(holders.sabs, *texts)
    order = np.argsort(hashes, kind="stable").astype(np.int32)
    hashes, bounds = hashes[order], bounds_of(holders.counts)
    in_order, counts = _united(bounds[:-1][order], bounds[1:][order])
    held = bounds_of(counts, np.int32)
    of_concepts = np.argsort(holders.concepts.astype(np.int64) << 32 | holders.positions).astype(np.int32)
    rows = np.empty(len(of_concepts), dtype=np.int32)
    rows[of_concepts] = np.arange(len(of_concepts), dtype=np.int32)
    rows_in_order = rows[in_order]
    keys = np.empty(len(rows), dtype=np.int32)
    keys[rows_in_order] = np.repeat(np.arange(len(order), dtype=np.int32), counts)
    with_concept = np.flatnonzero(np.diff(holders.source_concepts.offsets)[of_concepts]).astype(np.int32)
    arrays = (
        bounds_of(np.bincount(holders.concepts, minlength=concepts), np.int32), keys, holders.marks[of_concepts],
        hashes.astype(np.uint32), _buckets(hashes), holders.sabs[order], *kernels.gathered(order, *texts),
        held, rows_in_order, with_concept, *kernels.gathered(of_concepts[with_concept], *others),
    )  # fmt: skip
    return dict(zip(SOURCE_CODES, arrays, strict=True))


def alike_forms(sabs: Iterable[str], written: str) -> list[str]:
    """Codes of these vocabularies that differ from one in the case of letters, or in the point of ICD."""
    sab, _, code = written.partition(":")
    plain = code.replace(".", "")
    point = f"{plain[:3]}.{plain[3:]}"
    forms = (code, code.upper(), code.lower(), code.capitalize(), plain, point, plain.upper(), point.upper())
    return list(dict.fromkeys(f"{s}:{form}" for s in sabs if s.casefold() == sab.casefold() for form in forms))


class SourceCodes:
    """The codes of a snapshot, opened.

    Raises:
        SnapshotError: a section is damaged.
    """

    def __init__(self, sections: Sections, cuis: IdentifierTable) -> None:
        (
            self._indptr, self._keys, self._marks, self._hashes, self._buckets, self._sab_of, _, _,
            self._held, self._holders, self._with_concept, _, _,
        ) = (sections[name] for name in SOURCE_CODES)  # fmt: skip
        self.sabs = tuple(sections.meta["code_sabs"])
        self._giving = frozenset(self.sabs)
        self._sab_names = StringTable.of(self.sabs)
        self._codes = StringTable.stored(sections, "code")
        self._source_concepts = StringTable.stored(sections, "code_concept")
        self._cuis = cuis
        buckets = len(self._buckets) - 1
        if buckets & (buckets - 1):
            raise SnapshotError(f"{sections.origin}: section 'code_buckets' has {buckets:,} values, no power of two")
        self._shift = 64 - (buckets.bit_length() - 1)

    def __len__(self) -> int:
        """The number of distinct codes."""
        return len(self._codes)

    def content(self) -> Iterator[npt.NDArray[Any]]:
        """All codes of all concepts, and the order of the concepts of each code, whatever the numbers of the codes."""
        from cuihop._kernels import codes as kernels

        ranks = np.empty(len(self._keys), dtype=np.int32)
        ranks[self._holders] = np.arange(len(ranks), dtype=np.int32) - self._held[self._keys[self._holders]]
        yield from (self._indptr, self._marks, self._sab_of[self._keys], ranks)
        yield from (self._with_concept, self._source_concepts.offsets, self._source_concepts.blob)
        for first in range(0, len(self._keys), _CODES_A_BLOCK):
            rows = self._keys[first : first + _CODES_A_BLOCK].copy()
            yield from kernels.gathered(rows, self._codes.offsets, self._codes.blob)

    def of_concepts(self, first: int, last: int) -> list[list[str]]:
        """The distinct codes of each concept from ``first`` up to ``last``, as ``SAB:CODE``."""
        bounds = self._indptr[first : last + 1].tolist()
        written = [f"{code.sab}:{code.code}" for code in self._records(np.arange(bounds[0], bounds[-1]))]
        extents = pairwise(bound - bounds[0] for bound in bounds)
        return [list(dict.fromkeys(written[begin:end])) for begin, end in extents]

    def holders(self, first: int, last: int) -> list[tuple[list[SourceCode], list[int]]]:
        """Each code from ``first`` up to ``last``, for each of its concepts, and its position among the codes of it."""
        bounds = self._held[first : last + 1].tolist()
        rows = self._holders[bounds[0] : bounds[-1]].astype(np.int64)
        concepts = np.searchsorted(self._indptr, rows, side="right") - 1
        positions, records = (rows - self._indptr[concepts]).tolist(), self._records(rows)
        extents = pairwise(bound - bounds[0] for bound in bounds)
        return [(records[begin:end], positions[begin:end]) for begin, end in extents]

    def numbers(self, codes: Sequence[str]) -> Int32:
        """The number of each code, written ``SAB:CODE``; below 0 as in `cuihop._kernels.codes` for an unknown one."""
        from cuihop._kernels import codes as kernels

        joined = "".join(codes)
        if joined.isascii():
            text, lengths = joined.encode(), [*map(len, codes)]
        else:
            encoded = [code.encode("utf-8", "surrogatepass") for code in codes]
            text, lengths = b"".join(encoded), [*map(len, encoded)]
        sabs = self._sab_names
        return kernels.found(
            bounds_of(lengths), np.frombuffer(text, dtype=np.uint8), sabs.offsets, sabs.blob, self._hashes,
            self._buckets, self._shift, self._sab_of, self._codes.offsets, self._codes.blob,
        )  # fmt: skip

    def resolutions(self, codes: Sequence[str]) -> dict[str, Resolution]:
        """The resolution of each code whose vocabulary gives codes, by the concepts of its active atoms."""
        texts = [code for code in codes if code.partition(":")[0] in self._giving]
        numbers = self.numbers(texts)
        held = np.flatnonzero(numbers >= 0)
        rows, counts = _united(self._held[numbers[held]], self._held[numbers[held] + 1])
        holders = self._holders[rows]
        marks = self._marks[holders].tolist()
        cuis = self._cuis.at(np.searchsorted(self._indptr, holders, side="right") - 1)
        bounds = bounds_of(counts).tolist()
        resolutions: dict[str, Resolution] = {}
        for row, begin, end in zip(held.tolist(), bounds[:-1], bounds[1:], strict=True):
            if end == begin + 1 and not marks[begin]:  # most of them
                resolutions[texts[row]] = Resolution(texts[row], "code", cuis[begin])
                continue
            best = CODE_MARKS[marks[begin]]
            concepts = dict.fromkeys(cuis[i] for i in range(begin, end) if CODE_MARKS[marks[i]] == best)
            code = texts[row]
            if best != "active":
                resolutions[code] = Resolution(code, "retired", candidates=tuple((best, cui) for cui in concepts))
            elif len(concepts) > 1:
                resolutions[code] = Resolution(code, "several", candidates=tuple(("code", cui) for cui in concepts))
            else:
                resolutions[code] = Resolution(code, "code", next(iter(concepts)))
        for count, row in enumerate(np.flatnonzero(numbers < 0).tolist()):
            code = texts[row].partition(":")[2]
            alike = self._alternatives(texts[row]) if count < MOST_ALIKE else ()
            if not alike and self._cuis.positions([code])[0] >= 0:
                alike = (code,)
            resolutions[texts[row]] = Resolution(texts[row], "unknown", candidates=tuple(("alike", c) for c in alike))
        return resolutions

    def checked_sabs(self, sabs: Sequence[str], release: str) -> UInt16:
        """The positions of vocabularies.

        Raises:
            InputError: one is not among those that give codes.
        """
        if isinstance(sabs, str):
            raise InputError("one text, not a list of vocabularies", column="sabs", found=quoted(sabs))
        positions = {sab: position for position, sab in enumerate(self.sabs)}
        if unknown := [sab for sab in dict.fromkeys(sabs) if sab not in positions]:
            near = self._near(unknown[0])
            raise InputError(
                f"no such vocabulary gives codes to release {release}", column="sabs",
                found=first_few([quoted(sab) for sab in unknown]), expected=f"some of {', '.join(self.sabs)}",
                advice=f"Did you mean {near[0]}?" if near else None,
            )  # fmt: skip
        return np.array([positions[sab] for sab in sabs], dtype=np.uint16)

    def lookups(
        self,
        identifiers: Sequence[str],
        resolve: Callable[[list[str]], Sequence[Resolution]],
        sabs: UInt16,
    ) -> list[CodeLookup]:
        """The codes of each concept, and of the concepts of each code: see `ConceptGraph.codes`."""
        positions = self._cuis.positions(identifiers)
        numbers = np.full(len(identifiers), -1, dtype=np.int32)
        statuses: list[CodeStatus] = ["current"] * len(identifiers)
        alternatives: dict[int, tuple[str, ...]] = {}
        written = [i for i in np.flatnonzero(positions < 0).tolist() if ":" in identifiers[i]]
        unknown = [i for i in np.flatnonzero(positions < 0).tolist() if ":" not in identifiers[i]]
        for i, number in zip(written, self.numbers([identifiers[i] for i in written]).tolist(), strict=True):
            numbers[i] = number
            if number < 0:
                sab = identifiers[i].partition(":")[0]
                statuses[i] = "unknown" if sab in self._giving else "unknown_vocabulary"
                alternatives[i] = self._alternatives(identifiers[i]) or (() if sab in self._giving else self._near(sab))
        resolved = resolve([identifiers[i] for i in unknown])
        cuis = [None if position < 0 else cui for cui, position in zip(identifiers, positions.tolist(), strict=True)]
        for i, resolution in zip(unknown, resolved, strict=True):
            statuses[i], cuis[i] = cast("CodeStatus", resolution.status), resolution.cui
            alternatives[i] = tuple(cui for _, cui in resolution.candidates)
        positions[unknown] = self._cuis.positions([resolution.cui or "" for resolution in resolved])
        first = np.zeros(len(identifiers), dtype=np.int64)
        last = np.zeros(len(identifiers), dtype=np.int64)
        here = np.flatnonzero(positions >= 0)
        first[here], last[here] = self._indptr[positions[here]], self._indptr[positions[here] + 1]
        of_codes = np.flatnonzero(numbers >= 0)
        first[of_codes], last[of_codes] = self._held[numbers[of_codes]], self._held[numbers[of_codes] + 1]
        rows, counts = _united(first, last)
        by_code = np.repeat(numbers >= 0, counts)
        rows[by_code] = self._holders[rows[by_code]]
        best = self._marks[self._holders[first[of_codes]]]
        for i in of_codes[best > 0].tolist():
            statuses[i] = "suppressed"
        if len(sabs):
            rows, counts = self._of_sabs(rows, counts, by_code, sabs)
        bounds = bounds_of(counts).tolist()
        records = self._records(rows)
        answers = [
            CodeLookup(requested, status, cui, tuple(records[begin:end]), alternatives.get(i, ()))
            for i, (requested, status, cui, begin, end) in enumerate(
                zip(identifiers, statuses, cuis, bounds[:-1], bounds[1:], strict=True)
            )
        ]
        strange = [i for i in written if statuses[i] == "unknown_vocabulary"]
        if read := {i: forms[0] for i in strange if (forms := other_forms(identifiers[i]))}:
            for i, answer in zip(read, self.lookups([*read.values()], resolve, sabs), strict=True):
                answers[i] = replace(answer, requested=identifiers[i])
        return answers

    def _of_sabs(self, rows: Int64, counts: Int64, by_code: npt.NDArray[np.bool_], sabs: UInt16) -> tuple[Int64, Int64]:
        """The codes of some vocabularies: of the concepts themselves, and of those that have the codes."""
        owner = np.repeat(np.arange(len(counts)), counts)
        concepts = np.searchsorted(self._indptr, rows, side="right") - 1
        _, once = np.unique(np.stack([owner, concepts])[:, by_code], axis=1, return_index=True)
        once = np.flatnonzero(by_code)[np.sort(once)]
        of_concepts, sizes = _united(self._indptr[concepts[once]], self._indptr[concepts[once] + 1])
        rows = np.concatenate([rows[~by_code], of_concepts])
        owner = np.concatenate([owner[~by_code], np.repeat(owner[once], sizes)])
        requested = np.flatnonzero(np.isin(self._sab_of[self._keys[rows]], sabs))
        order = requested[np.argsort(owner[requested], kind="stable")]
        return rows[order], np.bincount(owner[order], minlength=len(counts))

    def _records(self, rows: Int64) -> list[SourceCode]:
        keys, marks = self._keys[rows], self._marks[rows]
        cuis = self._cuis.at(np.searchsorted(self._indptr, rows, side="right") - 1)
        positions = np.searchsorted(self._with_concept, rows)
        has = np.r_[self._with_concept, -1][np.minimum(positions, len(self._with_concept))] == rows
        columns = (cuis, self._sab_of[keys].tolist(), keys.tolist(), positions.tolist(), has.tolist(), marks.tolist())
        return [
            SourceCode(
                cui,
                self.sabs[sab],
                self._codes[key],
                self._source_concepts[position] if own else None,
                CODE_MARKS[mark],
            )
            for cui, sab, key, position, own, mark in zip(*columns, strict=True)
        ]

    def _near(self, sab: str) -> tuple[str, ...]:
        """The vocabularies whose name is spelt most alike."""
        folded = {each.casefold(): each for each in self.sabs}
        return tuple(folded[each] for each in get_close_matches(sab[:_LONGEST_SAB].casefold(), folded, n=_NEAR))

    def _alternatives(self, written: str) -> tuple[str, ...]:
        """Codes of the release that are written alike."""
        forms = alike_forms(self.sabs, written)
        return tuple(form for form, number in zip(forms, self.numbers(forms).tolist(), strict=True) if number >= 0)


def _united(first: npt.NDArray[np.integer], last: npt.NDArray[np.integer]) -> tuple[Int64, Int64]:
    """The numbers from each first up to each last, one after the other, and how many there are of each."""
    counts = (last - first).astype(np.int64)
    starts = bounds_of(counts)
    rows: Int64 = np.repeat(first - starts[:-1], counts) + np.arange(starts[-1], dtype=np.int64)
    return rows, counts
