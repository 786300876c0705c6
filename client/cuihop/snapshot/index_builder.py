"""Construction of a distance index: level by level, on all cores, resumed where it was interrupted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from cuihop._kernels import bfs, labelling
from cuihop._kernels.labels import BASE, COMPONENT, LINE, NARROW, RECORD, ROOTS, UNREACHED
from cuihop._kernels.labels import distances as distances_of_labels
from cuihop.errors import GraphError, InputError, SnapshotError
from cuihop.resources.arrays import Bool, Int32, Int64, UInt16, UInt32, bounds_of
from cuihop.resources.checkpoint import remove_finished
from cuihop.resources.cores import in_order
from cuihop.resources.memory_budget import check_memory
from cuihop.snapshot.distance_index import INDEX_VERSION, DistanceIndex, Tables
from cuihop.snapshot.file import Sections, write_sections
from cuihop.snapshot.graph import SnapshotGraph
from cuihop.snapshot.layout import UNFINISHED_INDEX

__all__ = ["LevelProgress", "build_index", "check_index"]


LevelProgress: TypeAlias = Callable[[int, int, int], None]
"""Callback with the level (hops), the concepts finished on it, and all concepts; called in the calling thread."""

_RANKS_A_CALL = 2048  # a compiled call cannot be interrupted: some tenths of a second
_FOUND_A_CALL = 1 << 20
_SECONDS_BETWEEN_CHECKPOINTS = 15.0
_BYTES_OF_A_RANK = 64 + 32
_NO_INDEX = "Without an index, distances are searched."
_LARGEST = 1 << 24  # ranks have 24 bits


@dataclass
class _Growing:
    """Labels after a level: entries by ascending hops, those of this level last."""

    level: int
    indptr: Int64
    label: UInt32
    newest: Int32


def build_index(
    graph: SnapshotGraph,
    *,
    roots: int = 64,
    threads: int | None = None,
    checkpoint: Path | None = None,
    progress: LevelProgress | None = None,
) -> DistanceIndex:
    """Build the index of a graph. The result depends neither on the number of threads nor on interruptions.

    Args:
        graph: the graph.
        roots: number of concepts, those with most neighbours of each component, the hops to which are stored for all;
            at most 64. More roots shorten labels.
        threads: number of threads; by default the cores of the process.
        checkpoint: file for the finished levels, written every quarter of a minute. An existing file that belongs to
            this graph is resumed; it is removed at the end.
        progress: callback as levels grow.

    Raises:
        InputError: too many concepts, or distances beyond 250 hops.
        LimitExceeded: not enough memory. A checkpoint that was written remains.
        OutputError: the checkpoint cannot be written.
    """
    bearers, position = _bearers(graph)
    if len(bearers) > _LARGEST:
        raise InputError(
            "too many concepts for a distance index", found=f"{len(bearers):,}", expected=f"{_LARGEST:,}",
            advice=_NO_INDEX,
        )  # fmt: skip
    check_memory(len(bearers) * _BYTES_OF_A_RANK + graph.sections["any_indices"].nbytes, "a distance index", _NO_INDEX)
    section = graph.sections
    rows = labelling.ranked_rows(section["any_indptr"], section["any_indices"], bearers, position)
    digest = graph.release.digest
    is_root, records = _records(rows, roots, threads)
    labels = _resumed(checkpoint, digest, roots, len(bearers)) or _level_zero(is_root)
    saved = time.monotonic()
    while labels.newest.any():
        _grow(rows, is_root, records, labels, threads, progress or (lambda *_: None))
        if checkpoint is not None and time.monotonic() - saved > _SECONDS_BETWEEN_CHECKPOINTS:
            _save(checkpoint, digest, roots, labels)
            saved = time.monotonic()
    hubs = len(labels.label)
    tables: Tables = (position, records, _words(labels, records))
    if checkpoint is not None:
        remove_finished(checkpoint)
    return DistanceIndex.of(
        tables,
        {
            "digest": digest,
            "labels": len(bearers),
            "entries": hubs,
            "roots": min(roots, ROOTS),
            "levels": max(labels.level - 1, 0),
            "bytes": sum(table.nbytes for table in tables),
        },
    )


def check_index(graph: SnapshotGraph, index: DistanceIndex, pairs: int = 2000) -> int:
    """Compare the index with searches on ``pairs`` random pairs and as many within three hops; return the count.

    Raises:
        GraphError: they differ, so the index must not be used.
    """
    concepts = graph.release.concepts
    if concepts == 0:
        return 0
    section = graph.sections
    rows = section["any_indptr"], section["any_indices"]
    draw = np.random.default_rng(0)
    starts = draw.integers(0, concepts, 2 * pairs).astype(np.int32)
    ends = starts.copy()
    for _ in range(3):  # a walk of three hops
        low, high = rows[0][ends], rows[0][ends + 1]
        differing = high > low
        ends[differing] = rows[1][
            low[differing] + (draw.random(int(differing.sum())) * (high - low)[differing]).astype(np.int32)
        ]
    ends[:pairs] = draw.integers(0, concepts, pairs)
    searched, read = np.empty(2 * pairs, dtype=np.int32), np.empty(2 * pairs, dtype=np.int32)
    mark, queue = np.zeros(concepts, dtype=np.int32), np.empty(concepts, dtype=np.int32)
    most = np.iinfo(np.int32).max - 1
    bfs.distances(*rows, *rows, starts, ends, most, mark, queue, 1, searched)
    distances_of_labels(*index.tables, starts, ends, most, read)
    wrong = np.flatnonzero(searched != read)
    if len(wrong):
        a, b = (graph.sections["cuis"][int(which[wrong[0]])] for which in (starts, ends))
        raise GraphError(
            f"the distance index is wrong for {len(wrong):,} of {2 * pairs:,} pairs, first {a!r} and {b!r}: "
            f"found {read[wrong[0]]}, expected {searched[wrong[0]]}. It was not saved; please report this."
        )
    return 2 * pairs


def _bearers(graph: SnapshotGraph) -> tuple[Int32, Int32]:
    """The concepts with labels, by rank, those with most neighbours first; and the ``place`` of every concept."""
    indptr, indices = graph.sections["any_indptr"], graph.sections["any_indices"]
    degrees = np.diff(indptr)
    single = np.flatnonzero(degrees == 1)
    neighbour = indices[indptr[single]]
    # The first of two concepts that have only each other has the label.
    hangs = (degrees[neighbour] > 1) | (neighbour < single)
    single, neighbour = single[hangs], neighbour[hangs]
    bears = np.ones(len(degrees), dtype=bool)
    bears[single] = False
    bearing = np.flatnonzero(bears)
    bearers: Int32 = bearing[np.argsort(-degrees[bearing], kind="stable")].astype(np.int32)
    position: Int32 = np.empty(len(degrees), dtype=np.int32)
    position[bearers] = np.arange(len(bearers), dtype=np.int32) * 2
    position[single] = position[neighbour] + 1
    return bearers, position


def _records(rows: tuple[Int64, Int32], roots: int, threads: int | None) -> tuple[Bool, UInt16]:
    """Mask of the ranks that are roots, and the records, their labels left out."""
    ranks = len(rows[0]) - 1
    first, hops = np.full(ranks, -1, dtype=np.int32), np.empty(ranks, dtype=np.int32)
    labelling.from_first_ranks(*rows, first, hops, np.empty(ranks, dtype=np.int32))
    if ranks and int(hops.max()) > labelling.DEEPEST:
        raise _too_deep()
    records = np.zeros((ranks, RECORD), dtype=np.uint16)
    records[:, :COMPONENT] = 0xFFFF  # `NO_ROOT`
    records[:, COMPONENT], records[:, COMPONENT + 1], records[:, BASE] = first & 0xFFFF, first >> 16, hops
    is_root, newest = np.zeros(ranks, dtype=bool), np.zeros(ranks, dtype=np.uint64)
    labelling.select_roots(first, hops, min(roots, ROOTS), is_root, newest, records)
    seen, reached = newest.copy(), np.empty_like(newest)
    level, more = 0, True

    def spread(begin: int) -> bool:
        end = min(begin + _RANKS_A_CALL, ranks)
        return bool(labelling.spread_roots(*rows, begin, end, level, hops, seen, newest, reached, records))

    while more:
        level += 1
        more = any(list(in_order(spread, range(0, ranks, _RANKS_A_CALL), threads)))
        seen |= reached
        newest, reached = reached, newest
    return is_root, records


def _too_deep() -> InputError:
    return InputError(
        "a distance index holds distances up to a limit",
        found="a longer one",
        expected=f"at most {labelling.DEEPEST} hops",
        advice="Without an index, distances are searched, and may be of any length.",
    )


def _level_zero(is_root: Bool) -> _Growing:
    """Labels of level zero: every rank its own hub, except the roots."""
    label = (np.flatnonzero(~is_root) << 8).astype(np.uint32)
    return _Growing(0, bounds_of(~is_root), label, (~is_root).astype(np.int32))


def _grow(
    rows: tuple[Int64, Int32],
    is_root: Bool,
    records: UInt16,
    labels: _Growing,
    threads: int | None,
    progress: LevelProgress,
) -> None:
    """Add the next level to the labels."""
    level, ranks = labels.level + 1, len(is_root)
    if level > labelling.DEEPEST:
        raise _too_deep()
    local = threading.local()

    def block(first: int) -> tuple[list[Int32], Int32]:
        if not hasattr(local, "hops_to"):
            local.hops_to = np.full(ranks, UNREACHED, dtype=np.uint8)
            local.seen = np.empty(ranks, dtype=np.int32)
        last = min(first + _RANKS_A_CALL, ranks)
        counts = np.empty(last - first, dtype=np.int32)
        chunks, room, done = [], _FOUND_A_CALL, first
        while done < last:
            reached = np.empty(room, dtype=np.int32)
            stopped, filled = labelling.next_level(
                *rows, done, last, level, is_root, labels.indptr, labels.label, labels.newest, records,
                local.hops_to, local.seen, reached, counts[done - first :],
            )  # fmt: skip
            if stopped == done:
                room *= 4  # one concept may find more than the room
            chunks.append(reached[:filled].copy())
            done = stopped
        return chunks, counts

    firsts = range(0, ranks, _RANKS_A_CALL)
    blocks = []
    for number, result in enumerate(in_order(block, firsts, threads), start=1):
        blocks.append(result)
        progress(level, min(number * _RANKS_A_CALL, ranks), ranks)
    counts = np.concatenate([of_block for _, of_block in blocks])
    more = int(counts.sum(dtype=np.int64)) * labels.label.itemsize
    check_memory(more, f"the labels of {level} hops, beside {labels.label.nbytes:,} bytes of nearer ones", _NO_INDEX)
    indptr = labels.indptr.copy()
    indptr[1:] += np.cumsum(counts, dtype=np.int64)
    # In place where the operating system supports it: labels take most of the memory.
    labels.label.resize(int(indptr[-1]), refcheck=False)
    for first in reversed(firsts):
        chunks, of_block = blocks.pop()
        grown = chunks[0] if len(chunks) == 1 else np.concatenate(chunks)
        labelling.widen(labels.label, labels.indptr, indptr, first, first + len(of_block), grown, of_block, level)
    labels.level, labels.indptr, labels.newest = level, indptr, counts


def _words(labels: _Growing, records: UInt16) -> UInt16:
    """The labels as `cuihop._kernels.labels` reads them, in their own memory, and where they are into the records."""
    ends = np.empty(len(labels.indptr), dtype=np.int64)
    most = labelling.words_of_labels(labels.indptr, labels.label, ends)
    if most >= NARROW:
        raise InputError(
            "a distance index holds labels up to a limit", found=f"one of {most:,} words",
            expected=f"at most {NARROW - 1:,}", advice=_NO_INDEX,
        )  # fmt: skip
    size = int(ends[-1]) + LINE
    labels.label.resize(max(len(labels.label), size // 2 + 1), refcheck=False)
    labelling.write_words(labels.indptr, labels.label, ends, labels.label.view(np.uint16), records)
    labels.label.resize(size // 2 + 1, refcheck=False)
    words = labels.label.view(np.uint16)[:size]
    words[-LINE:] = 0
    return words


def _save(checkpoint: Path, digest: str, roots: int, labels: _Growing) -> None:
    meta = {**_identity(digest, roots), "level": labels.level}
    write_sections(checkpoint, meta, {"indptr": labels.indptr, "label": labels.label, "newest": labels.newest})


def _identity(digest: str, roots: int) -> dict[str, object]:
    """Description that a checkpoint must match to be resumed."""
    return {"holds": UNFINISHED_INDEX.kind, "version": INDEX_VERSION, "digest": digest, "roots": roots}


def _resumed(checkpoint: Path | None, digest: str, roots: int, ranks: int) -> _Growing | None:
    """State of an interrupted run for this graph; ``None`` where there is none, or none of use."""
    if checkpoint is None or not checkpoint.exists():
        return None
    try:
        sections = Sections.open(checkpoint, UNFINISHED_INDEX)
        if {**sections.meta, **_identity(digest, roots)} != sections.meta:
            return None
        indptr, label, newest = (sections[name].copy() for name in ("indptr", "label", "newest"))
    except SnapshotError:
        return None
    level = sections.meta["level"]
    fits = len(newest) == ranks and level <= labelling.DEEPEST and ((newest >= 0) & (newest <= np.diff(indptr))).all()
    return _Growing(level, indptr, label, newest) if fits else None
