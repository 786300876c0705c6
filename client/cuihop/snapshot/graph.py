"""The embedded graph: a snapshot file, mapped into memory and searched by compiled code. No server."""

from __future__ import annotations

import functools
import os
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path as FilePath
from threading import Lock
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from cuihop.adapter_rules import (
    SEARCHES,
    absent_resolution,
    checked_pack_bound,
    checked_sabs,
    fewer_paths,
    vertical_path,
    with_identifier,
)
from cuihop.annotation.mentions import Annotations
from cuihop.annotation.options import AnnotationOptions
from cuihop.errors import InputError, ReleaseMismatch, SnapshotError
from cuihop.graph import (
    DIRECTIONS,
    MOST_PATHS,
    Concept,
    ConceptGraph,
    Direction,
    DistancePack,
    Distances,
    Neighbour,
    Neighbourhood,
    Path,
    Release,
    Resolution,
    SearchHit,
    checked_direction,
    checked_hops,
    checked_identifiers,
    checked_which,
    ends_of_pairs,
    resolved,
)  # fmt: skip
from cuihop.identifiers import Identifiers
from cuihop.resources.interruption import check_interruption
from cuihop.snapshot.annotator import Annotator
from cuihop.snapshot.concept_records import ConceptRecords
from cuihop.snapshot.distance_engines import DistanceEngines, compiled_searches, most_hops
from cuihop.snapshot.distance_index import DistanceIndex, index_path
from cuihop.snapshot.distance_packs import NEAR, TOGETHER, packed, united
from cuihop.snapshot.file import Sections
from cuihop.snapshot.hierarchy import BuiltHierarchy, SnapshotHierarchy
from cuihop.snapshot.identifier_table import MANY, IdentifierTable
from cuihop.snapshot.layout import NAME_INDEX, SNAPSHOT, TERM_TABLE
from cuihop.snapshot.name_index import NameIndex, check_name_index, name_search
from cuihop.snapshot.restriction import sections_within
from cuihop.snapshot.scratch import Scratch, ScratchPool
from cuihop.snapshot.string_table import folded_query
from cuihop.snapshot.term_table import TermTable, term_table
from cuihop.snapshot.writer import check_digest, sections_of, tables_of_edges, write_snapshot

__all__ = ["SnapshotGraph"]

Int32 = npt.NDArray[np.int32]

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
    read-only: processes share its pages, and opening takes milliseconds. The mapping lives as long as the object. Where
    an index lies beside the file (`cuihop index`), distances are read from it; they are the same.

    >>> graph = SnapshotGraph.of([("C0006121", "C0006104"), ("C0006104", "C0926510"), ("C0926510", "C0018670")])
    >>> graph.distance("C0006121", "C0018670")
    3
    """

    def __init__(self, sections: Sections) -> None:
        self._sections = sections
        facts = dict(sections.meta["release"])
        facts["relations"] = tuple(facts["relations"])
        facts["sabs"] = tuple(facts["sabs"])
        self._release = Release(**facts)
        self._cuis = IdentifierTable(sections["cuis"])
        self._records = ConceptRecords(sections, self._cuis)
        self._scratch = ScratchPool(functools.partial(Scratch, len(self._cuis)))
        self._name_index: NameIndex | None = None
        self._annotator: Annotator | None = None
        self._annotator_lock = Lock()
        self._hierarchy: BuiltHierarchy | None = None
        self._hierarchy_lock = Lock()
        self._engines = DistanceEngines(sections, self._cuis, self._scratch)
        self._whole: SnapshotGraph | None = None

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> SnapshotGraph:
        """Map a snapshot file.

        Raises:
            SnapshotError: missing, not a snapshot, truncated, damaged.
            SnapshotTooNew: written in a later format.
        """
        graph = cls(Sections.open(FilePath(path), SNAPSHOT))
        beside = index_path(path)
        if beside.exists():
            try:
                graph.use_index(DistanceIndex.open(beside, digest=graph.release.digest))
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
        """Write the snapshot to a file, whole or not at all.

        Raises:
            OutputError: the disk is full, or the folder cannot be written.
        """
        write_snapshot(FilePath(path), self._sections)

    def close(self) -> None:
        """Release the memory of searches. The file stays mapped as long as the object lives."""
        self._scratch.clear()

    def __reduce__(self) -> tuple[Any, ...]:
        if self._sections.origin == "memory":
            raise TypeError("a graph in memory cannot be sent to another process: save it and open it there")
        if self._whole is not None:
            return (SnapshotGraph.within, (self._whole, self._release.sabs))
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
        """The reason why the index file beside the snapshot is not used; ``None`` where it is used or missing."""
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
        chosen = checked_sabs(sabs, self._release)
        self._engines.check_unchanged()
        whole = self._whole or self
        restricted = SnapshotGraph(sections_within(whole._sections, whole._release, chosen))
        restricted._whole = whole
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

    def verify(self) -> int:
        """Check every section against its checksum, and the edges against the digest; return the bytes checked.

        Raises:
            SnapshotError: names the first section that fails.
        """
        checked = self._sections.verify()
        check_digest(self._sections)
        if NAME_INDEX[0] in self._sections:
            check_name_index(self._sections)
        if TERM_TABLE[0] in self._sections:
            TermTable(self._sections)
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
        self._name_index = name_search(self._sections, thoroughly=True)
        if TERM_TABLE[0] in self._sections:
            self._annotation()

    def warm_up(self) -> None:
        """Prepare for requests: compile searches and check arrays."""
        if not len(self._cuis):
            return
        compiled_searches()
        self._engines.labels("any", None)
        some = [self._cuis[place] for place in range(min(TOGETHER, len(self._cuis)))]
        cui = some[0]
        for direction in DIRECTIONS:
            self.distance(cui, cui, direction=direction)
            self.distances([(cui, cui)] * MANY, direction=direction)
            self.path(cui, cui, direction=direction)
            self.neighbours([cui], hops=1, direction=direction, limit=1)
            self.pack([cui], hops=0, direction=direction)
            self.pack(some, hops=NEAR + 1, direction=direction)
        if (index := self._names()) is not None:
            index.warm_up()
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
    def resolve(self, cuis: Sequence[str]) -> list[Resolution]:
        """See `ConceptGraph.resolve`."""
        return [
            Resolution(cui, "current", cui) if position >= 0 else self._absent(cui)
            for cui, position in zip(cuis, self._cuis.positions(checked_identifiers(cuis)).tolist(), strict=True)
        ]

    def _absent(self, requested: str) -> Resolution:
        """Resolution of an identifier that the graph does not hold."""
        return absent_resolution(
            requested,
            self._release.identifiers,
            self._records.retired_statements,
            lambda cui: bool(self._cuis.positions([cui])[0] >= 0),
        )

    def _places(self, cuis: Sequence[str]) -> tuple[Int32, dict[str, str]]:
        """The number of each concept, and the successors that were taken for retired identifiers."""
        positions = self._cuis.positions(checked_identifiers(cuis))
        absent = np.flatnonzero(positions < 0)
        if not len(absent):
            return positions, {}
        answers = {cui: self._absent(cui) for cui in dict.fromkeys(cuis[i] for i in absent.tolist())}
        successors = dict(zip(answers, resolved(answers.values(), self._release), strict=True))
        positions[absent] = self._cuis.positions([successors[cuis[i]] for i in absent.tolist()])
        return positions, successors

    # Searches

    @_steady
    def distances(
        self, pairs: Iterable[tuple[str, str]], *, direction: Direction = "any", max_hops: int | None = None
    ) -> Distances:
        """See `ConceptGraph.distances`."""
        direction = checked_direction(direction)
        bound = checked_hops(max_hops)
        places, merged = self._places(ends_of_pairs(pairs))
        hops = self._engines.many(places, direction, bound)
        return Distances(hops, hops >= 0, direction, bound, merged)

    @_steady
    def distances_of_keys(
        self, keys: npt.NDArray[np.uint64], *, direction: Direction = "any", max_hops: int | None = None
    ) -> Distances | None:
        """Distances of pairs of current concepts, given as numbers rather than text.

        ``None`` where an identifier is not current, or where identifiers are long: `distances` answers these.

        Args:
            keys: uint64, shape (2 * pairs,): start, end, start, end, and so on, as in `IdentifierTable.keys`.
            direction, max_hops: see `ConceptGraph.distances`.
        """
        direction = checked_direction(direction)
        bound = checked_hops(max_hops)
        places = self._cuis.places(keys)
        if places is None or (places < 0).any():
            return None
        hops = self._engines.many(places, direction, bound)
        return Distances(hops, hops >= 0, direction, bound)

    def distance(self, a: str, b: str, *, direction: Direction = "any", max_hops: int | None = None) -> int | None:
        """See `ConceptGraph.distance`. One pair skips the preparation of a batch; the answer is the same."""
        found = self.distance_of_current(a, b, direction=direction, max_hops=max_hops)
        if found is not None:
            return found[0]
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
        found = self._engines.one(a, b, direction, bound)
        self._engines.check_unchanged_at_intervals()
        return found

    @_steady
    def path(
        self, a: str, b: str, *, direction: Direction = "any", max_hops: int | None = None, which: int = 1
    ) -> Path | None:
        """See `ConceptGraph.path`."""
        bfs = compiled_searches()
        direction = checked_direction(direction)
        bound, rank = checked_hops(max_hops), checked_which(which)
        if direction == "vertical":
            return vertical_path(self, a, b, max_hops=bound, which=rank)
        places, merged = self._places([a, b])
        with self._scratch.lent() as scratch:
            nodes, total = bfs.shortest_path(
                *self._engines.both_rows(direction), int(places[0]), int(places[1]), most_hops(bound), rank, MOST_PATHS,
                scratch.mark, scratch.queue, scratch.levels, scratch.stamps(bfs.PATH_EPOCHS * (len(self._cuis) + 1)),
            )  # fmt: skip
        if not total:
            return None
        if rank > total:
            raise fewer_paths(rank, total)
        steps = tuple(self._records.step(here, there, direction) for here, there in pairwise(nodes.tolist()))
        return Path(self._cuis[nodes[0]], steps, direction, merged, int(total), rank)

    @_steady
    def neighbours(
        self,
        cuis: Sequence[str],
        *,
        hops: int | None = 1,
        direction: Direction = "any",
        limit: int | None = None,
    ) -> list[Neighbourhood]:
        """See `ConceptGraph.neighbours`."""
        direction = checked_direction(direction)
        bound = checked_hops(hops, "hops")
        most = checked_hops(limit, "limit")
        places, merged = self._places(cuis)
        answers = []
        for requested, centre in zip(cuis, places.tolist(), strict=True):
            check_interruption()
            nodes, levels = self._ball(centre, direction, bound)
            order = np.lexsort((nodes, levels))[:most]
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
            with self._scratch.lent() as scratch:
                count = bfs.ball(
                    *self._engines.rows(search), centre, most_hops(bound),
                    scratch.mark, scratch.queue, scratch.levels, scratch.stamps(1),
                )  # fmt: skip
                balls.append((scratch.queue[1:count].copy(), scratch.levels[1:count].copy()))
        if len(balls) == 1:
            return balls[0]
        nodes, levels = (np.concatenate(part) for part in zip(*balls, strict=True))
        order = np.lexsort((levels, nodes))
        nodes = nodes[order]
        nearest = np.diff(nodes, prepend=-1) != 0  # a concept of a cycle may be in both
        return nodes[nearest], levels[order][nearest]

    @_steady
    def pack(self, cuis: Sequence[str], *, hops: int, direction: Direction = "any") -> DistancePack:
        """See `ConceptGraph.pack`."""
        direction = checked_direction(direction)
        bound = checked_pack_bound(hops)
        places, merged = self._places(cuis)
        distinct, counts = np.unique(places, return_counts=True)
        if len(distinct) < len(places):
            cui = cuis[int(np.flatnonzero(np.isin(places, distinct[counts > 1]))[0])]
            raise InputError("a concept is given twice", found=cui, expected="distinct concepts")
        engines = self._engines
        indptr, indices, within = united([
            packed(
                engines.rows(search), engines.both_rows(search)[2:], engines.labels(search, bound), places, bound,
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
    def names(self, cuis: Sequence[str]) -> list[str | None]:
        """See `ConceptGraph.names`."""
        return [self._records.name(place) for place in self._places(cuis)[0].tolist()]

    @_steady
    def concepts(self, cuis: Sequence[str]) -> list[Concept]:
        """See `ConceptGraph.concepts`."""
        return [self._records.concept(place) for place in self._places(cuis)[0].tolist()]

    def _names(self) -> NameIndex | None:
        """The index of names; ``None`` without names."""
        if self._name_index is None:
            self._name_index = name_search(self._sections)
        return self._name_index

    @_steady
    def search(self, text: str, *, limit: int = 10) -> list[SearchHit]:
        """See `ConceptGraph.search`."""
        if self._whole is not None:
            return self._whole.search(text, limit=limit)
        most = checked_hops(limit, "limit")
        query, index, records = folded_query(text), self._names(), self._records
        best = [] if index is None else index.best(query, len(self._cuis) if most is None else most)
        by_name = (
            SearchHit(self._cuis[place], records.name(place), records.strings[row], kind) for place, row, kind in best
        )
        return with_identifier(self, text, by_name)[:most]

    @property
    def hierarchy(self) -> SnapshotHierarchy:
        """See `ConceptGraph.hierarchy`."""
        with self._hierarchy_lock:
            if self._hierarchy is None:
                self._hierarchy = BuiltHierarchy(self._sections)
        return SnapshotHierarchy(
            self._hierarchy, self._cuis, self._places, lambda places: self._engines.many(places, "any", None)
        )

    @_steady
    def annotate_many(self, texts: Sequence[str], options: AnnotationOptions | None = None) -> Annotations:
        """See `ConceptGraph.annotate_many`."""
        if self._whole is not None:
            return self._whole.annotate_many(texts, options)
        return self._annotation().annotate(texts, options or AnnotationOptions())

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
                    hops=lambda places, most: graph._engines.many(places, "any", most),
                    nearest=functools.partial(SnapshotGraph._nearest_word, graph),
                )  # fmt: skip
            return self._annotator

    def _nearest_word(self, word: str) -> str:
        """The nearest word that names have; the word itself where they have it, or none is near."""
        index = self._names()
        return word if index is None else index.nearest_word(word)
