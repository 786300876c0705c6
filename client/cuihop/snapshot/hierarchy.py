"""The hierarchy of a snapshot: built once in memory, and searched by compiled code."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from threading import Lock

import numpy as np

from cuihop.errors import InputError
from cuihop.resources.arrays import Float64, Int32
from cuihop.resources.cores import in_threads
from cuihop.resources.progress import check_interruption, timed_slices
from cuihop.similarity.hierarchy import (
    CommonSubsumer,
    Hierarchy,
    HierarchyFacts,
    PairSimilarity,
    Placement,
    Similarities,
    SimilarityScale,
)
from cuihop.similarity.options import (
    BY_INFORMATION_CONTENT,
    DISTANCES,
    SIMILARITY_MEASURES,
    InformationContent,
    SimilarityMeasure,
    SimilarityOptions,
)
from cuihop.snapshot.file import Sections
from cuihop.snapshot.hierarchy_tables import HierarchyTables
from cuihop.snapshot.scratch import HierarchyScratch, ScratchPool
from cuihop.snapshot.set_similarity import SetPairs, ancestor_overlaps, best_match_averages
from cuihop.snapshot.string_table import IdentifierTable

_PAIRS_A_CALL = 4096  # of a thread
_CORPORA = 4
_RANDOM_PAIRS = 2000
_SEED = 20250101
_NUMBERS = {measure: number for number, measure in enumerate(SIMILARITY_MEASURES)}


class BuiltHierarchy:
    """The hierarchy of a snapshot with its working memory, shared by all its users."""

    def __init__(self, sections: Sections) -> None:
        self.tables = HierarchyTables.of(sections)
        self.first = self.tables.first
        self.zeros = np.zeros(self.tables.facts.nodes, dtype=np.float64)
        self._contents: dict[object, Float64] = {}
        self.scales: dict[object, SimilarityScale] = {}
        self._lock = Lock()
        nodes = self.tables.facts.nodes
        self.scratch = ScratchPool(lambda: HierarchyScratch(nodes))

    def information_content(self, options: SimilarityOptions, positions: Callable[[Sequence[str]], Int32]) -> Float64:
        """Information content of each node, float64; infinite where it does not occur."""
        key = (options.ic, frozenset(options.counts.items()))
        content = self._contents.get(key)
        if content is not None:
            return content
        with self._lock:
            if key not in self._contents:
                occurrences = np.bincount(
                    self.tables.node_of[positions(list(options.counts))],
                    weights=np.array(list(options.counts.values()), dtype=np.float64),
                    minlength=self.tables.facts.nodes,
                ).astype(np.float64)
                while len(self._contents) >= _CORPORA:
                    self._contents.pop(next(iter(self._contents)))
                self._contents[key] = self.tables.information_content(options.ic, occurrences)
            return self._contents[key]


class SnapshotHierarchy(Hierarchy):
    """The hierarchy of a snapshot.

    Args:
        positions: the number of each concept, and successors of retired ones; raises as the graph does.
        hops: hops in either direction of concepts listed as start, end, start, end, …; -1 without a path.
    """

    def __init__(
        self,
        built: BuiltHierarchy,
        cuis: IdentifierTable,
        positions: Callable[[Sequence[str]], tuple[Int32, dict[str, str]]],
        hops: Callable[[Int32], Int32],
    ) -> None:
        self._built = built
        self._cuis = cuis
        self.positions = positions
        self._hops = hops

    @property
    def tables(self) -> HierarchyTables:
        """The hierarchy as arrays."""
        return self._built.tables

    def identifiers(self) -> list[str]:
        """All concepts, in the order of their identifiers."""
        return self._cuis.at(np.arange(len(self._cuis)))

    def facts(self) -> HierarchyFacts:
        """See `Hierarchy.facts`."""
        return self.tables.facts

    def information_content(self, options: SimilarityOptions) -> Float64:
        """Information content of each node, float64; infinite where it does not occur.

        Raises:
            InputError: the information content of a corpus without counts.
            InvalidCui, ConceptNotFound, ConceptRetired: a counted concept cannot be used.
        """
        if options.ic == "corpus" and not any(options.counts.values()):
            raise InputError(
                "no occurrences are counted", column="counts", expected="concepts with their occurrences",
                advice="Give a file of counts: --counts FILE, or counts in Python.",
            )  # fmt: skip
        return self._built.information_content(options, lambda cuis: self.positions(cuis)[0])

    def _needed_content(self, options: SimilarityOptions) -> Float64:
        """Information content where the measure depends on it; zeros elsewhere, since counting relatives takes time."""
        return self.information_content(options) if options.measure in BY_INFORMATION_CONTENT else self._built.zeros

    def _placements(self, cuis: Sequence[str], options: SimilarityOptions) -> list[Placement]:
        positions = self.positions(cuis)[0]
        content = self.information_content(options)
        return [self._placement(position, content) for position in positions.tolist()]

    def _placement(self, position: int, content: Float64) -> Placement:
        tables = self.tables
        node = int(tables.node_of[position])
        ancestors, descendants, leaves = (int(counts[node]) for counts in tables.relatives)
        cycle = tables.members[tables.member_indptr[node] : tables.member_indptr[node + 1]]
        return Placement(
            cui=self._cuis[position],
            depth=int(tables.depth[node]),
            shortest_depth=int(tables.shortest_depth[node]),
            height=int(tables.height[node]),
            ancestors=ancestors - 1,
            descendants=descendants - 1,
            leaves=leaves,
            ic=_finite(content[node]),
            cycle=tuple(self._cuis.at(cycle)) if len(cycle) > 1 else (),
        )

    def _similarities(self, ends: Sequence[str], options: SimilarityOptions) -> Similarities:
        positions, merged = self.positions(ends)
        values = self.of_positions(positions, options)
        return Similarities(values, ~np.isnan(values), options, merged)

    def similarity(self, a: str, b: str, options: SimilarityOptions | None = None) -> float | None:
        """See `Hierarchy.similarity`. One pair skips the preparation of a batch; the answer is the same."""
        options = options or SimilarityOptions()
        positions = None if options.measure == "path" else self._cuis.two_positions(a, b)
        if positions is None:
            return super().similarity(a, b, options)
        from cuihop._kernels import hierarchy as kernel

        tables, scratch, node_of = (
            self._kernel_tables(self._needed_content(options)),
            self._built.scratch.acquire(),
            self.tables.node_of,
        )
        value = kernel.similarity(
            _NUMBERS[options.measure], tables, int(node_of[positions[0]]), int(node_of[positions[1]]),
            (scratch.marks, scratch.hops, scratch.queue), scratch.stamps(1),
        )  # fmt: skip
        self._built.scratch.release(scratch)
        return None if math.isnan(value) else value

    def of_positions(self, positions: Int32, options: SimilarityOptions) -> Float64:
        """Similarities of numbered concepts listed as start, end, start, end, …; NaN for no value."""
        if options.measure == "path":
            hops = self._hops(positions)
            return np.where(hops >= 0, 1.0 / (1.0 + np.maximum(hops, 0)), 0.0)
        from cuihop._kernels import hierarchy as kernel

        nodes = self.tables.node_of[positions]
        starts, ends = np.ascontiguousarray(nodes[::2]), np.ascontiguousarray(nodes[1::2])
        tables = self._kernel_tables(self._needed_content(options))
        values = np.empty(len(starts), dtype=np.float64)

        def answer(begin: int) -> None:
            with self._built.scratch.leased() as scratch:
                arrays = scratch.marks, scratch.hops, scratch.queue
                for pairs in timed_slices(begin, min(begin + _PAIRS_A_CALL, len(starts))):
                    stamp = scratch.stamps(len(starts[pairs]))
                    kernel.similarities(
                        _NUMBERS[options.measure], tables, starts[pairs], ends[pairs], arrays, stamp, values[pairs]
                    )

        in_threads(answer, range(0, len(starts), _PAIRS_A_CALL))
        return values

    def scale(self, options: SimilarityOptions) -> SimilarityScale:
        """The distribution of each measure over random pairs; computed once for an information content.

        The pairs are the same for the same graph: two different concepts of those that have an is_a edge, drawn with a
        fixed seed. A graph with fewer than two of these has no pair.
        """
        key = (options.ic, frozenset(options.counts.items()))
        if key not in self._built.scales:
            ancestors, descendants, _ = self.tables.relatives
            linked = np.flatnonzero((ancestors + descendants > 2)[self.tables.node_of]).astype(np.int32)
            pairs = np.random.default_rng(_SEED).integers(0, max(len(linked), 1), (_RANDOM_PAIRS, 2))
            pairs = pairs[pairs[:, 0] != pairs[:, 1]]
            ends = linked[pairs.reshape(-1)]
            scale = {}
            for measure in SIMILARITY_MEASURES:
                values = self.of_positions(ends, replace(options, measure=measure))
                values = values[~np.isnan(values)]
                levels = np.quantile(values, np.linspace(0, 1, 101), method="inverted_cdf") if len(values) else values
                scale[measure] = tuple(levels.tolist())
            if len(self._built.scales) >= _CORPORA:
                self._built.scales.clear()
            self._built.scales[key] = SimilarityScale(len(pairs), options.ic, scale)
        return self._built.scales[key]

    def _pairs(self, ends: Sequence[str], options: SimilarityOptions) -> list[PairSimilarity]:
        positions, merged = self.positions(ends)
        content, hops = self.information_content(options), self._hops(positions)
        similarities = []
        for i, (a, b) in enumerate(zip(ends[::2], ends[1::2], strict=True)):
            check_interruption()
            retired = {cui: merged[cui] for cui in (a, b) if cui in merged}
            similarities.append(self._pair(positions[2 * i : 2 * i + 2], int(hops[i]), content, options.ic, retired))
        return similarities

    def _pair(
        self, positions: Int32, hops: int, content: Float64, ic: InformationContent, merged: Mapping[str, str]
    ) -> PairSimilarity:
        from cuihop._kernels import hierarchy as kernel

        tables = self.tables
        x, y = (int(node) for node in tables.node_of[positions])
        kernel_tables = self._kernel_tables(content)
        ancestors, sums = np.empty(9, dtype=np.int64), np.empty(4, dtype=np.float64)
        with self._built.scratch.leased() as scratch:
            stamp = scratch.stamps(1)
            arrays = scratch.marks, scratch.hops, scratch.queue
            kernel.common(kernel_tables, x, y, arrays, stamp, ancestors, sums)
            most = int(tables.relatives[0][max(x, y)])
            room = np.empty(most, dtype=np.int32)
            count = kernel.lowest(tables.up_indptr, tables.up_indices, most, scratch.marks, scratch.queue, stamp, room)
            far = scratch.hops[:, room[:count]].T.tolist()
        if x > y:
            far = [[to_a, to_b] for to_b, to_a in far]
        lowest = [self._subsumer([node, *hops], content) for node, hops in zip(room[:count].tolist(), far, strict=True)]
        deepest, nearest, informative = (self._subsumer(triple, content) for triple in ancestors.reshape(3, 3).tolist())
        values: dict[SimilarityMeasure, float | None] = {"path": 1.0 / (1.0 + hops) if hops >= 0 else 0.0}
        for measure, number in _NUMBERS.items():
            if measure != "path":
                value = kernel.value_of(number, kernel_tables, ancestors, sums, x, y)
                values[measure] = _finite(value)
        return PairSimilarity(
            a=self._placement(int(positions[0]), content),
            b=self._placement(int(positions[1]), content),
            hops=None if hops < 0 else hops,
            lowest=tuple(sorted(lowest, key=lambda each: (-each.depth, each.hops_a + each.hops_b, each.cui)))
            or ((deepest,) if deepest.cui is None and tables.facts.virtual_root else ()),
            deepest=deepest,
            nearest=nearest,
            most_informative=informative,
            values=values,
            ic=ic,
            merged=merged,
        )

    def _kernel_tables(self, content: Float64) -> tuple[Int32, Int32, Int32, Float64, Int32, bool, int]:
        """See `cuihop._kernels.hierarchy.Tables`."""
        tables, facts = self.tables, self.tables.facts
        return (
            tables.up_indptr, tables.up_indices, tables.depth, content, self._built.first, facts.virtual_root,
            facts.depth,
        )  # fmt: skip

    def _subsumer(self, ancestor: Sequence[int], content: Float64) -> CommonSubsumer:
        node, hops_a, hops_b = ancestor
        if node < 0:
            return CommonSubsumer(None, 1, 0.0, hops_a, hops_b)
        cui = self._cuis[int(self._built.first[node])]
        return CommonSubsumer(cui, int(self.tables.depth[node]), _finite(content[node]), hops_a, hops_b)

    def _set_similarities(self, sets: Sequence[Collection[str]], options: SimilarityOptions) -> Similarities:
        numbered, merged = SetPairs.of(sets, self.positions)
        if options.measure in ("simUI", "simGIC"):
            tables = self.tables
            weight = self.information_content(options) if options.measure == "simGIC" else np.ones(tables.facts.nodes)
            values = ancestor_overlaps(numbered, tables.node_of, tables.up_indptr, tables.up_indices, weight)
        else:
            values = best_match_averages(
                numbered, lambda positions: self.of_positions(positions, options), distance=options.measure in DISTANCES
            )
        return Similarities(values, ~np.isnan(values), options, merged)


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
