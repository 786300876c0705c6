"""Ways up through the hierarchy of OMOP concepts, and their comparison with CONCEPT_ANCESTOR."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from cuihop.resources.arrays import Bool, Int64, ascending, bounds_of
from cuihop_loader.identifier_codes import ReleaseReading
from cuihop_loader.omop_concepts import Concepts, refuse, whole_numbers
from cuihop_loader.row_scanner import Rows
from cuihop_loader.sources import SourceFile

LARGEST_SAMPLE = 20_000
"""Most descendants whose pairs are compared."""

END = (1 << 32) - 1
"""Mask of the second end of a pair; the first is in the upper half."""

_EXAMPLES = 3
_COLUMNS = ("ancestor_concept_id", "descendant_concept_id", "min_levels_of_separation")
_NOT_KEPT = "concept not kept"


def bridged(edges: Int64, standard: Bool) -> Int64:
    """The edges between kept concepts, and one for each way up from one to another through others alone.

    Pairs of child and parent, ascending and distinct. Others add no hop, as they add no level to CONCEPT_ANCESTOR.
    """
    from_kept, to_kept = standard[edges >> 32], standard[edges & END]
    ways = _ways_up(edges[from_kept & ~to_kept], edges[~from_kept], len(standard))
    joined = np.concatenate([edges[from_kept & to_kept], *(ends[standard[ends & END]] for ends in ways)])
    return ascending(joined[joined >> 32 != joined & END])


def _ways_up(pairs: Int64, edges: Int64, concepts: int) -> Iterator[Int64]:
    """The pairs that follow from these by one edge more, by two more, …, each pair once. All are ascending."""
    indptr = bounds_of(np.bincount(edges >> 32, minlength=concepts))
    seen = pairs
    while len(pairs):
        first, last = indptr[pairs & END], indptr[(pairs & END) + 1]
        counts = last - first
        rows = np.arange(counts.sum()) + np.repeat(last - np.cumsum(counts), counts)
        further = ascending(np.repeat(pairs >> 32, counts) << 32 | (edges[rows] & END))
        pairs = np.setdiff1d(further, seen, assume_unique=True)
        seen = np.concatenate([seen, pairs])
        yield pairs


def compare_levels(
    file: SourceFile, concepts: Concepts, edges: Int64, reading: ReleaseReading
) -> tuple[Mapping[str, int], Mapping[str, Sequence[str]]]:
    """Compare CONCEPT_ANCESTOR with the hops upwards over ``edges``, pairs of kept concepts by their numbers.

    Returns the last two fields of `cuihop_loader.report.OmopReport`.

    Raises:
        InputError: the file or a row of it is malformed.
    """
    total = len(concepts.numbers)
    sample = np.linspace(0, total - 1, min(total, LARGEST_SAMPLE)).astype(np.int64)
    in_sample = np.zeros(total + 1, dtype=np.bool_)  # the last is for -1
    in_sample[sample] = True

    def task(rows: Rows) -> tuple[Int64, Int64, int, int, list[str]]:
        columns = np.stack([whole_numbers(rows, column, rows.all) for column in range(3)])
        for column, name in enumerate(_COLUMNS):
            refuse(rows, np.flatnonzero(columns[column] < 0), column, (name, "not a number", "a whole number"))
        columns = columns[:, (columns >= 0).all(axis=0)]
        of_rows = concepts.rows_of(columns[:2])
        ancestors, descendants = np.where(of_rows < 0, -1, concepts.numbers.of(of_rows))
        unknown = (ancestors < 0) | (descendants < 0)
        usable = ~unknown & in_sample[descendants]
        pairs = descendants[usable].astype(np.int64) << 32 | ancestors[usable]
        examples = [f"{below} below {above}" for above, below in columns[:2, unknown][:, :_EXAMPLES].T.tolist()]
        others = int(np.count_nonzero(unknown))
        return pairs, columns[2, usable], others, len(unknown) - others - len(pairs), examples

    scanner = reading.scanner(file, _COLUMNS, task)
    stated, not_kept = [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))], 0
    examples: dict[str, list[str]] = {_NOT_KEPT: []}
    for of_block, levels_of_block, others, outside, named in scanner:
        stated.append((of_block, levels_of_block))
        scanner.skip(_NOT_KEPT, others)
        scanner.skip("descendant is not in the sample", outside)
        not_kept += others
        examples[_NOT_KEPT] = [*examples[_NOT_KEPT], *named][:_EXAMPLES]
    here = [sample << 32 | sample]
    here += _ways_up(here[0], edges, total)
    pairs = ascending(np.concatenate([*here, *(of_block for of_block, _ in stated)]))
    levels, hops = np.full((2, len(pairs)), -1, dtype=np.int64)
    for of_block, levels_of_block in stated:
        levels[np.searchsorted(pairs, of_block)] = levels_of_block
    for count, reached in enumerate(here):
        hops[np.searchsorted(pairs, reached)] = count
    counts = {"descendants compared": len(sample), "equal levels": int(np.count_nonzero(levels == hops))}
    for kind, mask in {
        "not reached here": hops < 0,
        "only here": levels < 0,
        "shorter here": (hops >= 0) & (hops < levels),
        "longer here": (levels >= 0) & (hops > levels),
    }.items():
        counts[kind] = int(np.count_nonzero(mask))
        at = np.flatnonzero(mask)[:_EXAMPLES]
        ends = concepts.numbers.identifiers[np.stack([pairs[at] >> 32, pairs[at] & END], axis=1)].tolist()
        examples[kind] = [
            f"{below.decode()} below {above.decode()}: "
            + ", ".join(f"{unit} {count}" for unit, count in (("levels", level), ("hops", hop)) if count >= 0)
            for (below, above), level, hop in zip(ends, levels[at].tolist(), hops[at].tolist(), strict=True)
        ]
    counts[_NOT_KEPT] = not_kept
    return {kind: n for kind, n in counts.items() if n}, {kind: texts for kind, texts in examples.items() if texts}
