"""The hierarchy of a snapshot: built once in memory, and searched by compiled code."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from threading import Lock

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.graph import ends_of_pairs
from cuihop.resources.cores import in_threads
from cuihop.resources.interruption import check_interruption
from cuihop.similarity.hierarchy import (
    CommonSubsumer,
    Hierarchy,
    HierarchyFacts,
    PairSimilarity,
    Placement,
    Similarities,
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
from cuihop.snapshot.identifier_table import IdentifierTable
from cuihop.snapshot.scratch import ScratchPool
from cuihop.snapshot.set_similarity import SetPairs, ancestor_overlaps, best_match_averages

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

_PAIRS_A_CALL = 4096  # a compiled call cannot be interrupted
_LAST_STAMP = 2**31 - 2
_CORPORA = 4
_NUMBERS = {measure: number for number, measure in enumerate(SIMILARITY_MEASURES)}


class _Scratch:
    """Working memory of one search."""

    def __init__(self, nodes: int) -> None:
        self.marks = np.zeros((2, nodes), dtype=np.int32)
        self.hops = np.empty((2, nodes), dtype=np.int32)
        self.queue = np.empty(nodes, dtype=np.int32)
        self._next = 2

    def stamps(self, count: int) -> int:
        """The first of ``count`` unused stamps, above an unused one."""
        if self._next + count > _LAST_STAMP:
            self.marks.fill(0)
            self._next = 2
        first = self._next
        self._next += count + 1
        return first


class BuiltHierarchy:
    """The hierarchy of a snapshot with its working memory, shared by all its users."""

    def __init__(self, sections: Sections) -> None:
        self.tables = HierarchyTables.of(sections)
        self.first = self.tables.first
        self.zeros = np.zeros(self.tables.facts.nodes, dtype=np.float64)
        self._contents: dict[object, Float64] = {}
        self._lock = Lock()
        nodes = self.tables.facts.nodes
        self.scratch = ScratchPool(lambda: _Scratch(nodes))

    def information_content(self, options: SimilarityOptions, places: Callable[[Sequence[str]], Int32]) -> Float64:
        """Information content of each node, float64; infinite where it does not occur.

        Args:
            options: which. places: the number of each concept counted.
        """
        key = (options.ic, frozenset(options.counts.items()))
        found = self._contents.get(key)
        if found is not None:
            return found
        with self._lock:
            if key not in self._contents:
                occurrences = np.bincount(
                    self.tables.node_of[places(list(options.counts))],
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
        built: its tables.
        cuis: its concepts.
        places: the number of each concept, and successors of retired ones; raises as the graph does.
        hops: hops either way of concepts listed as start, end, start, end, …; -1 without a path.
    """

    def __init__(
        self,
        built: BuiltHierarchy,
        cuis: IdentifierTable,
        places: Callable[[Sequence[str]], tuple[Int32, dict[str, str]]],
        hops: Callable[[Int32], Int32],
    ) -> None:
        self._built = built
        self._cuis = cuis
        self._places = places
        self._hops = hops

    @property
    def tables(self) -> HierarchyTables:
        """The hierarchy as arrays."""
        return self._built.tables

    def places(self, cuis: Sequence[str]) -> tuple[Int32, dict[str, str]]:
        """The number of each concept, and successors of retired ones; errors as `similarities`."""
        return self._places(cuis)

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
        return self._built.information_content(options, lambda cuis: self._places(cuis)[0])

    def _needed_content(self, options: SimilarityOptions) -> Float64:
        """Information content where the measure depends on it; zeros elsewhere, since counting relatives takes time."""
        return self.information_content(options) if options.measure in BY_INFORMATION_CONTENT else self._built.zeros

    def placements(
        self, cuis: Sequence[str], *, ic: InformationContent = "Sanchez", counts: Mapping[str, float] | None = None
    ) -> list[Placement]:
        """See `Hierarchy.placements`."""
        checked = SimilarityOptions(ic=ic, counts=counts or {})
        places = self._places(cuis)[0]
        content = self.information_content(checked)
        return [self._placement(place, content) for place in places.tolist()]

    def _placement(self, place: int, content: Float64) -> Placement:
        tables = self.tables
        node = int(tables.node_of[place])
        cycle = tables.members[tables.member_indptr[node] : tables.member_indptr[node + 1]]
        return Placement(
            cui=self._cuis[place],
            depth=int(tables.depth[node]),
            shortest_depth=int(tables.shortest_depth[node]),
            height=int(tables.height[node]),
            ancestors=int(tables.ancestors[node]) - 1,
            descendants=int(tables.descendants[node]) - 1,
            leaves=int(tables.leaves[node]),
            ic=_finite(content[node]),
            cycle=tuple(self._cuis.at(cycle)) if len(cycle) > 1 else (),
        )

    def similarities(self, pairs: Iterable[tuple[str, str]], options: SimilarityOptions | None = None) -> Similarities:
        """See `Hierarchy.similarities`."""
        options = options or SimilarityOptions()
        places, merged = self._places(ends_of_pairs(pairs))
        values = self.of_places(places, options)
        return Similarities(values, ~np.isnan(values), options, merged)

    def similarity(self, a: str, b: str, options: SimilarityOptions | None = None) -> float | None:
        """See `Hierarchy.similarity`. One pair skips the preparation of a batch; the answer is the same."""
        options = options or SimilarityOptions()
        places = None if options.measure == "path" else self._cuis.two_places(a, b)
        if places is None:
            return super().similarity(a, b, options)
        from cuihop._kernels import hierarchy as kernel

        tables, content, scratch = self.tables, self._needed_content(options), self._built.scratch.borrow()
        value = kernel.similarity(
            tables.up_indptr, tables.up_indices, tables.depth, content, self._built.first, tables.facts.virtual_root,
            tables.facts.depth, _NUMBERS[options.measure], int(tables.node_of[places[0]]),
            int(tables.node_of[places[1]]), scratch.marks, scratch.hops, scratch.queue, scratch.stamps(1),
        )  # fmt: skip
        self._built.scratch.give_back(scratch)
        return None if math.isnan(value) else value

    def of_places(self, places: Int32, options: SimilarityOptions) -> Float64:
        """Similarities of numbered concepts listed as start, end, start, end, …; NaN for no value."""
        if options.measure == "path":
            hops = self._hops(places)
            return np.where(hops >= 0, 1.0 / (1.0 + np.maximum(hops, 0)), 0.0)
        from cuihop._kernels import hierarchy as kernel

        tables = self.tables
        nodes = tables.node_of[places]
        starts, ends = np.ascontiguousarray(nodes[::2]), np.ascontiguousarray(nodes[1::2])
        content = self._needed_content(options)
        values = np.empty(len(starts), dtype=np.float64)

        def answer(begin: int) -> None:
            part = slice(begin, begin + _PAIRS_A_CALL)
            with self._built.scratch.lent() as scratch:
                kernel.similarities(
                    tables.up_indptr, tables.up_indices, tables.depth, content, self._built.first,
                    tables.facts.virtual_root, tables.facts.depth, _NUMBERS[options.measure], starts[part], ends[part],
                    scratch.marks, scratch.hops, scratch.queue, scratch.stamps(len(starts[part])), values[part],
                )  # fmt: skip

        in_threads(answer, range(0, len(starts), _PAIRS_A_CALL))
        return values

    def pairs(
        self,
        pairs: Iterable[tuple[str, str]],
        *,
        ic: InformationContent = "Sanchez",
        counts: Mapping[str, float] | None = None,
    ) -> list[PairSimilarity]:
        """See `Hierarchy.pairs`."""
        checked = SimilarityOptions(ic=ic, counts=counts or {})
        ends = ends_of_pairs(pairs)
        places, merged = self._places(ends)
        content, hops = self.information_content(checked), self._hops(places)
        found = []
        for i, (a, b) in enumerate(zip(ends[::2], ends[1::2], strict=True)):
            check_interruption()
            retired = {cui: merged[cui] for cui in (a, b) if cui in merged}
            found.append(self._pair(places[2 * i : 2 * i + 2], int(hops[i]), content, checked.ic, retired))
        return found

    def _pair(
        self, places: Int32, hops: int, content: Float64, ic: InformationContent, merged: Mapping[str, str]
    ) -> PairSimilarity:
        from cuihop._kernels import hierarchy as kernel

        tables = self.tables
        x, y = (int(node) for node in tables.node_of[places])
        found, sums = np.empty(9, dtype=np.int64), np.empty(4, dtype=np.float64)
        with self._built.scratch.lent() as scratch:
            stamp = scratch.stamps(1)
            kernel.common(
                tables.up_indptr, tables.up_indices, tables.depth, content, self._built.first,
                tables.facts.virtual_root, x, y, scratch.marks, scratch.hops, scratch.queue, stamp, found, sums,
            )  # fmt: skip
            later = max(x, y)
            room = np.empty(int(tables.ancestors[later]), dtype=np.int32)
            count = kernel.lowest(
                tables.up_indptr, tables.up_indices, int(tables.ancestors[later]), scratch.marks, scratch.queue, stamp,
                room,
            )  # fmt: skip
            far = scratch.hops[:, room[:count]].T.tolist()
        if x > y:
            far = [[to_a, to_b] for to_b, to_a in far]
        lowest = [self._subsumer([node, *hops], content) for node, hops in zip(room[:count].tolist(), far, strict=True)]
        deepest, nearest, informative = (self._subsumer(triple, content) for triple in found.reshape(3, 3).tolist())
        values: dict[SimilarityMeasure, float | None] = {"path": 1.0 / (1.0 + hops) if hops >= 0 else 0.0}
        for measure, number in _NUMBERS.items():
            if measure != "path":
                value = kernel.value_of(number, found, sums, tables.depth, content, tables.facts.depth, x, y)
                values[measure] = _finite(value)
        return PairSimilarity(
            a=self._placement(int(places[0]), content),
            b=self._placement(int(places[1]), content),
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

    def _subsumer(self, found: Sequence[int], content: Float64) -> CommonSubsumer:
        node, hops_a, hops_b = found
        if node < 0:
            return CommonSubsumer(None, 1, 0.0, hops_a, hops_b)
        cui = self._cuis[int(self._built.first[node])]
        return CommonSubsumer(cui, int(self.tables.depth[node]), _finite(content[node]), hops_a, hops_b)

    def set_similarities(
        self, pairs: Iterable[tuple[Collection[str], Collection[str]]], options: SimilarityOptions | None = None
    ) -> Similarities:
        """See `Hierarchy.set_similarities`."""
        options = options or SimilarityOptions()
        sets, merged = SetPairs.of(pairs, self._places)
        if options.measure in ("simUI", "simGIC"):
            tables = self.tables
            weight = self.information_content(options) if options.measure == "simGIC" else np.ones(tables.facts.nodes)
            values = ancestor_overlaps(sets, tables.node_of, tables.up_indptr, tables.up_indices, weight)
        else:
            values = best_match_averages(
                sets, lambda places: self.of_places(places, options), distance=options.measure in DISTANCES
            )
        return Similarities(values, ~np.isnan(values), options, merged)


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
