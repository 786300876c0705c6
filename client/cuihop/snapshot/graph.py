"""The embedded graph: a snapshot file, mapped into memory and searched by compiled code. No server."""

from __future__ import annotations

import functools
import os
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path as FilePath
from threading import Lock
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from cuihop.adapter_rules import (
    SEARCHES,
    absent_resolution,
    checked_sabs,
    code_resolutions,
    fewer_paths,
    vertical_path,
    with_identifier,
)
from cuihop.annotation.mentions import Annotations
from cuihop.annotation.options import AnnotationOptions
from cuihop.errors import InputError, ReleaseMismatch, SnapshotError
from cuihop.graph import (
    CODES_NEED,
    DIRECTIONS,
    MAPS_NEED,
    MOST_PATHS,
    CodeLookup,
    Concept,
    ConceptGraph,
    Direction,
    DistancePack,
    Distances,
    MapLookup,
    Neighbour,
    Neighbourhood,
    Path,
    Release,
    Resolution,
    SearchHit,
    checked_direction,
    checked_hops,
)
from cuihop.identifiers import Identifiers, checked_identifiers
from cuihop.resources.arrays import Int32, UInt64
from cuihop.resources.progress import check_interruption
from cuihop.snapshot.annotator import Annotator
from cuihop.snapshot.code_maps import CodeMaps
from cuihop.snapshot.concept_records import ConceptRecords
from cuihop.snapshot.distance_engines import DistanceEngines, compiled_searches, most_hops
from cuihop.snapshot.distance_index import DistanceIndex, index_path
from cuihop.snapshot.distance_packs import NEAR, TOGETHER, packed, united
from cuihop.snapshot.file import Sections
from cuihop.snapshot.hierarchy import BuiltHierarchy, SnapshotHierarchy
from cuihop.snapshot.layout import CODE_MAPS, NAME_INDEX, SNAPSHOT, SOURCE_CODES, TERM_TABLE
from cuihop.snapshot.name_index import NameIndex, name_search
from cuihop.snapshot.scratch import Scratch, ScratchPool
from cuihop.snapshot.source_codes import SourceCodes
from cuihop.snapshot.string_table import MANY, IdentifierTable, check_distinct, folded_query
from cuihop.snapshot.term_table import TermTable, term_table
from cuihop.snapshot.writer import check_digest, sections_of, sections_within, tables_of_edges

__all__ = ["SnapshotGraph"]


P = ParamSpec("P")
Answer = TypeVar("Answer")


def _steady(method: Callable[Concatenate[SnapshotGraph, P], Answer]) -> Callable[Concatenate[SnapshotGraph, P], Answer]:
    """Decorate a method to fail where the mapped files were overwritten before its answer was complete."""

    @functools.wraps(method)
    def checked(self: SnapshotGraph, /, *args: P.args, **kwargs: P.kwargs) -> Answer:
        self._engines.check_unchanged()
        answer = method(self, *args, **kwargs)
        self._engines.check_unchanged()
        return answer

    return checked


class SnapshotGraph(ConceptGraph):
    """A `ConceptGraph` on a snapshot file, or on one held in memory.

    Open a file with `SnapshotGraph.open`; build a graph from edges with `SnapshotGraph.of`. The file is mapped
    read-only: processes share its pages, and opening takes milliseconds. The mapping lives as long as the object. If
    an index lies next to the file (`cuihop index`), distances are read from it; they are the same.

    >>> graph = SnapshotGraph.of([("C0006121", "C0006104"), ("C0006104", "C0926510"), ("C0926510", "C0018670")])
    >>> graph.distance("C0006121", "C0018670")
    3
    """

    def __init__(self, sections: Sections) -> None:
        self._sections = sections
        self._release = Release.of(sections.meta["release"])
        self._cuis = IdentifierTable(sections["cuis"])
        self._records = ConceptRecords(sections, self._cuis)
        self._scratch = ScratchPool(functools.partial(Scratch, len(self._cuis)))
        self._name_index: NameIndex | None = None
        self._annotator: Annotator | None = None
        self._annotator_lock = Lock()
        self._source_codes: SourceCodes | None = None
        self._maps: CodeMaps | None = None
        self._hierarchy: BuiltHierarchy | None = None
        self._hierarchy_lock = Lock()
        self._engines = DistanceEngines(sections, self._cuis, self._scratch)
        self._unrestricted: SnapshotGraph | None = None

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> SnapshotGraph:
        """Map a snapshot file.

        Raises:
            SnapshotError: missing, not a snapshot, truncated, damaged.
            SnapshotTooNew: written in a later format.
        """
        graph = cls(Sections.open(FilePath(path), SNAPSHOT))
        stored = index_path(path)
        if stored.exists():
            try:
                graph.use_index(DistanceIndex.open(stored, digest=graph.release.digest))
            except ReleaseMismatch as error:
                graph._engines.index_problem = str(error)  # an outdated index; answers are the same without it
            except SnapshotError as error:
                graph._engines.set_aside(error)
        return graph

    @classmethod
    def of(
        cls,
        edges: Iterable[tuple[str, str]],
        *,
        concepts: Iterable[str] = (),
        names: Mapping[str, str | Sequence[str]] | None = None,
        retired: Sequence[tuple[str, str, str]] = (),
        name: str = "in memory",
        relations: Sequence[str] = ("isa",),
        identifiers: Identifiers = "any",
    ) -> SnapshotGraph:
        """Build a graph in memory from (child, parent) pairs.

        Args:
            edges: pairs of identifiers; repeats and self-loops are left out.
            concepts: further concepts, with or without an edge.
            names: one name of each concept, or several with the preferred one first.
            retired: (retired, relation, successor) triples with UMLS relations: ``SY``, ``RB``, ``RN``, ``RO``,
                ``DEL``.
            name, relations, identifiers: as in `Release`.

        Raises:
            InputError: an identifier is malformed.
        """
        tables = tables_of_edges(edges, concepts=concepts, names=names or {}, retired=retired, identifiers=identifiers)
        return cls(sections_of(tables, name=name, relations=relations, identifiers=identifiers))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the snapshot to a file atomically.

        Raises:
            OutputError: the disk is full, or the folder cannot be written.
        """
        self._sections.save(FilePath(path))

    def close(self) -> None:
        """Release the memory of searches. The file stays mapped as long as the object lives."""
        self._scratch.clear()

    def __reduce__(self) -> tuple[Any, ...]:
        if self._sections.origin == "memory":
            raise TypeError("a graph in memory cannot be sent to another process: save it and open it there")
        if self._unrestricted is not None:
            return (SnapshotGraph.within, (self._unrestricted, self._release.sabs))
        return (SnapshotGraph.open, (self._sections.origin,))

    def __repr__(self) -> str:
        r = self._release
        return f"<SnapshotGraph {r.name!r}: {r.concepts:,} concepts, {r.edges:,} edges, digest {r.digest[:12]}>"

    @property
    def release(self) -> Release:
        """The loaded release."""
        return self._release

    @property
    def sections(self) -> Sections:
        """The arrays behind the graph, which a loader stores elsewhere."""
        return self._sections

    @property
    def index(self) -> DistanceIndex | None:
        """The distance index in use; ``None`` without one."""
        return self._engines.index

    @property
    def index_problem(self) -> str | None:
        """The reason why the index file next to the snapshot is not used; ``None`` where it is used or missing."""
        return self._engines.index_problem

    def use_index(self, index: DistanceIndex) -> None:
        """Read distances from this index from now on.

        Raises:
            ReleaseMismatch, SnapshotError: it is the index of another graph.
        """
        self._engines.use_index(index, self._release.digest)

    def within(self, sabs: Sequence[str]) -> SnapshotGraph:
        """See `ConceptGraph.within`. Without an index: that of the file has the distances of all edges.

        The remaining edges are copied into memory; all else stays in the file. A million concepts take about a second.
        """
        vocabularies = checked_sabs(sabs, self._release)
        self._engines.check_unchanged()
        unrestricted = self._unrestricted or self
        restricted = SnapshotGraph(sections_within(unrestricted._sections, unrestricted._release, vocabularies))
        restricted._unrestricted = unrestricted
        return restricted

    @property
    def report(self) -> Mapping[str, Any]:
        """The report of the load; empty if the loader stored none."""
        report: Mapping[str, Any] = self._sections.meta["report"]
        return report

    @property
    def name_sabs(self) -> tuple[str, ...] | None:
        """The vocabularies that give names, sorted; ``None`` where the snapshot does not record them."""
        return self._records.all_name_sabs

    @property
    def code_sabs(self) -> tuple[str, ...] | None:
        """The vocabularies that give codes, sorted; ``None`` where the snapshot does not record them."""
        return tuple(self._sections.meta["code_sabs"]) if SOURCE_CODES[0] in self._sections else None

    def verify(self) -> int:
        """Check every section against its checksum, and the edges against the digest; return the bytes checked.

        Raises:
            SnapshotError: names the first section that fails.
        """
        from cuihop.resources.cores import meanwhile

        with meanwhile(lambda: check_digest(self._sections)) as end_of_digest:
            checked = self._sections.verify()
            if TERM_TABLE[0] in self._sections:
                TermTable(self._sections)
            end_of_digest()
        return checked

    def set_aside_damage(self) -> None:
        """Check as `verify` does, but leave out a damaged index of distances or table of names with a warning.

        Answers are the same without these, and take longer.

        Raises:
            SnapshotError: a section that answers need is damaged.
        """
        for name in self._sections:
            if name not in (*NAME_INDEX, *TERM_TABLE):
                self._sections[name]
        check_digest(self._sections)
        self._engines.labels("any", None)
        self._name_index = name_search(self._sections)
        if TERM_TABLE[0] in self._sections:
            self._annotation()

    def warm_up(self) -> None:
        """Prepare for requests: compile searches and check arrays."""
        if not len(self._cuis):
            return
        compiled_searches()
        self._cuis.use_numbers()
        self._engines.labels("any", None)
        cuis = [self._cuis[position] for position in range(min(TOGETHER, len(self._cuis)))]
        cui = cuis[0]
        for direction in DIRECTIONS:
            self.distance(cui, cui, direction=direction)
            self.distances([(cui, cui)] * MANY, direction=direction)
            self.path(cui, cui, direction=direction)
            self.neighbours([cui], hops=1, direction=direction, limit=1)
            self.pack([cui], hops=0, direction=direction)
            self.pack(cuis, hops=NEAR + 1, direction=direction)
        if (index := self._name_search()) is not None:
            index.warm_up()
        if SOURCE_CODES[0] in self._sections:
            self.codes([":"])
        if TERM_TABLE[0] in self._sections:
            options = AnnotationOptions(candidates=True, disambiguate="context")
            self.annotate("lung (L) without pneumonia", options)

    def warm_up_hierarchy(self) -> None:
        """Build the hierarchy and compile its searches; minutes, for millions of concepts with many ancestors."""
        if len(self._cuis):
            cui = self._cuis[0]
            self.hierarchy.pair(cui, cui)
            self.hierarchy.similarities([(cui, cui)])

    # Identifiers

    @_steady
    def _resolve(self, cuis: Sequence[str]) -> list[Resolution]:
        positions = self._cuis.positions(cuis).tolist()
        absent = {cui: None for cui, position in zip(cuis, positions, strict=True) if position < 0}
        resolutions = dict(zip(absent, self._absent(list(absent)), strict=True))
        return [
            Resolution(cui, "current", cui) if position >= 0 else resolutions[cui]
            for cui, position in zip(cuis, positions, strict=True)
        ]

    def _absent(self, requested: Sequence[str]) -> list[Resolution]:
        """Resolutions of distinct identifiers that the graph does not hold."""
        of_codes: dict[str, Resolution] = {}
        if SOURCE_CODES[0] in self._sections and any(":" in text for text in requested):
            of_codes = code_resolutions(requested, self._codes_of_vocabularies().resolutions)
        only_cuis = self._release.identifiers == "cui"
        return [
            of_codes[text] if only_cuis and text in of_codes else absent_resolution(
                text, self._release.identifiers, self._records.retired_statements,
                lambda cui: bool(self._cuis.positions([cui])[0] >= 0), of_codes,
            )
            for text in requested
        ]  # fmt: skip

    def _positions(self, cuis: Sequence[str]) -> tuple[Int32, dict[str, str]]:
        """The number of each concept, and the successors that were taken for retired identifiers."""
        return self._cuis.resolved_positions(checked_identifiers(cuis), self._absent, self._release)

    # Searches

    @_steady
    def _distances(self, ends: Sequence[str], direction: Direction, bound: int | None) -> Distances:
        positions, merged = self._positions(ends)
        hops = self._engines.many(positions, direction, bound)
        return Distances(hops, hops >= 0, direction, bound, merged)

    @_steady
    def distances_of_keys(
        self, keys: UInt64, *, direction: Direction = "any", max_hops: int | None = None
    ) -> Distances | None:
        """Distances of pairs of current concepts, given as numbers rather than text.

        ``None`` where an identifier is not current, or where identifiers are long: `distances` answers these.

        Args:
            keys: uint64, shape (2 * pairs,): start, end, start, end, and so on, as in `IdentifierTable.keys`.
            direction, max_hops: see `ConceptGraph.distances`.
        """
        direction = checked_direction(direction)
        bound = checked_hops(max_hops)
        positions = self._cuis.positions_of_keys(keys)
        if positions is None or (positions < 0).any():
            return None
        hops = self._engines.many(positions, direction, bound)
        return Distances(hops, hops >= 0, direction, bound)

    def distance(self, a: str, b: str, *, direction: Direction = "any", max_hops: int | None = None) -> int | None:
        """See `ConceptGraph.distance`. One pair skips the preparation of a batch; the answer is the same."""
        answer = self.distance_of_current(a, b, direction=direction, max_hops=max_hops)
        if answer is not None:
            return answer[0]
        return super().distance(a, b, direction=direction, max_hops=max_hops)

    def distance_of_current(
        self, a: str, b: str, *, direction: Direction = "any", max_hops: int | None = None
    ) -> tuple[int | None] | None:
        """The distance of a pair of current concepts, as a tuple of one.

        ``None`` where an identifier is not current, or where identifiers are long: `distances` answers these.
        """
        bound = None
        if direction != "any" or max_hops is not None:
            direction, bound = checked_direction(direction), checked_hops(max_hops)
        answer = self._engines.one(a, b, direction, bound)
        self._engines.check_unchanged_at_intervals()
        return answer

    @_steady
    def _path(self, a: str, b: str, direction: Direction, bound: int | None, which: int) -> Path | None:
        bfs = compiled_searches()
        if direction == "vertical":
            return vertical_path(self, a, b, max_hops=bound, which=which)
        positions, merged = self._positions([a, b])
        with self._scratch.leased() as scratch:
            nodes, total = bfs.shortest_path(
                *self._engines.both_rows(direction), *map(int, positions), most_hops(bound), which, MOST_PATHS,
                scratch.mark, scratch.queue, scratch.levels, scratch.stamps(bfs.PATH_EPOCHS * (len(self._cuis) + 1)),
            )  # fmt: skip
        if not total:
            return None
        if which > total:
            raise fewer_paths(which, total)
        steps = tuple(self._records.step(here, there, direction) for here, there in pairwise(nodes.tolist()))
        return Path(self._cuis[nodes[0]], steps, direction, merged, int(total), which)

    @_steady
    def _neighbours(
        self, cuis: Sequence[str], direction: Direction, bound: int | None, limit: int | None
    ) -> list[Neighbourhood]:
        positions, merged = self._positions(cuis)
        answers = []
        for requested, centre in zip(cuis, positions.tolist(), strict=True):
            check_interruption()
            nodes, levels = self._ball(centre, direction, bound)
            order = np.lexsort((nodes, levels))[:limit]
            answers.append(
                Neighbourhood(
                    cui=merged.get(requested, requested),
                    neighbours=tuple(map(Neighbour, self._cuis.at(nodes[order]), levels[order].tolist())),
                    total=len(nodes),
                    hops=bound,
                    direction=direction,
                    merged={requested: merged[requested]} if requested in merged else {},
                )
            )
        return answers

    def _ball(self, centre: int, direction: Direction, bound: int | None) -> tuple[Int32, Int32]:
        """The concepts around a centre, and their distances; the centre is left out."""
        bfs = compiled_searches()
        balls = []
        for search in SEARCHES[direction]:
            with self._scratch.leased() as scratch:
                count = bfs.ball(
                    *self._engines.rows(search), centre, most_hops(bound),
                    scratch.mark, scratch.queue, scratch.levels, scratch.stamps(1),
                )  # fmt: skip
                balls.append((scratch.queue[1:count].copy(), scratch.levels[1:count].copy()))
        if len(balls) == 1:
            return balls[0]
        nodes, levels = (np.concatenate(columns) for columns in zip(*balls, strict=True))
        order = np.lexsort((levels, nodes))
        nodes = nodes[order]
        nearest = np.diff(nodes, prepend=-1) != 0  # a concept of a cycle may be in both
        return nodes[nearest], levels[order][nearest]

    @_steady
    def _pack(self, cuis: Sequence[str], direction: Direction, bound: int) -> DistancePack:
        positions, merged = self._positions(cuis)
        check_distinct(positions, cuis)
        engines = self._engines
        indptr, indices, within = united([
            packed(
                engines.rows(search), engines.both_rows(search)[2:], engines.labels(search, bound), positions, bound,
                self._scratch,
            )
            for search in SEARCHES[direction]
        ])  # fmt: skip
        return DistancePack(
            cuis=tuple(merged.get(cui, cui) for cui in cuis),
            indptr=indptr,
            indices=indices,
            hops=within,
            bound=bound,
            direction=direction,
            digest=self._release.digest,
        )

    # Names

    @_steady
    def _names(self, cuis: Sequence[str]) -> list[str | None]:
        return [self._records.name(position) for position in self._positions(cuis)[0].tolist()]

    @_steady
    def _concepts(self, cuis: Sequence[str], codes: bool) -> list[Concept]:
        concepts = [self._records.concept(position) for position in self._positions(cuis)[0].tolist()]
        if not codes or SOURCE_CODES[0] not in self._sections:
            return concepts
        lookups = self._codes([concept.cui for concept in concepts], ())
        return [replace(concept, codes=of.codes) for concept, of in zip(concepts, lookups, strict=True)]

    @_steady
    def _codes(self, identifiers: Sequence[str], sabs: Sequence[str]) -> list[CodeLookup]:
        codes = self._codes_of_vocabularies()
        return codes.lookups(identifiers, self._resolve, codes.checked_sabs(sabs, self._release.name))

    def _codes_of_vocabularies(self) -> SourceCodes:
        if self._source_codes is None:
            if SOURCE_CODES[0] not in self._sections:
                origin = f"{self._sections.origin}, release {self._release.name}"
                raise InputError("the snapshot holds no codes of vocabularies", found=origin, advice=CODES_NEED)
            self._source_codes = SourceCodes(self._sections, self._cuis)
        return self._source_codes

    @_steady
    def _code_maps(self, identifiers: Sequence[str]) -> list[MapLookup]:
        if self._maps is None:
            if CODE_MAPS[0] not in self._sections:
                origin = f"{self._sections.origin}, release {self._release.name}"
                raise InputError("the snapshot holds no published mappings", found=origin, advice=MAPS_NEED)
            self._maps = CodeMaps(self._sections, self._cuis, self._records.name)
        return self._maps.lookups(self._codes(identifiers, ()))

    def _name_search(self) -> NameIndex | None:
        """The index of names; ``None`` without names."""
        if self._name_index is None:
            self._name_index = name_search(self._sections)
        return self._name_index

    @_steady
    def _search(self, text: str, limit: int | None) -> list[SearchHit]:
        query, index, records = folded_query(text), self._name_search(), self._records
        best = [] if index is None else index.best(query, len(self._cuis) if limit is None else limit)
        by_name = (
            SearchHit(self._cuis[position], records.name(position), records.strings[row], kind)
            for position, row, kind in best
        )
        return with_identifier(self, text, by_name)[:limit]

    @property
    def hierarchy(self) -> SnapshotHierarchy:
        """See `ConceptGraph.hierarchy`."""
        with self._hierarchy_lock:
            if self._hierarchy is None:
                self._hierarchy = BuiltHierarchy(self._sections)
        return SnapshotHierarchy(
            self._hierarchy, self._cuis, self._positions, lambda positions: self._engines.many(positions, "any", None)
        )

    @_steady
    def _annotate_many(self, texts: Sequence[str], options: AnnotationOptions) -> Annotations:
        return self._annotation().annotate(texts, options)

    def _annotation(self) -> Annotator:
        """The annotator, with the table of names opened."""
        with self._annotator_lock:
            if self._annotator is None:
                if (table := term_table(self._sections)) is None:
                    raise InputError(
                        "the graph has no names", found=self._release.name, expected="a release loaded with its names"
                    )
                graph = weakref.proxy(self)  # a circle would keep a release that is served no more
                self._annotator = Annotator(
                    self._sections, table, self._records, self._cuis,
                    hops=lambda positions, most: graph._engines.many(positions, "any", most),
                    nearest=functools.partial(SnapshotGraph._nearest_word, graph),
                )  # fmt: skip
            return self._annotator

    def _nearest_word(self, word: str) -> str:
        """The nearest word that names have; the word itself where they have it, or none is near."""
        index = self._name_search()
        return word if index is None else index.nearest_word(word)
