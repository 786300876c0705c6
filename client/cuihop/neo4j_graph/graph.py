"""The graph of record: a `ConceptGraph` over Cypher on a Neo4j server."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from threading import Lock
from typing import Any, LiteralString, TypeVar

import neo4j
import numpy as np

from cuihop.adapter_rules import (
    BACKWARDS,
    LONGEST_CHAIN,
    SEARCHES,
    absent_resolution,
    checked_sabs,
    code_resolutions,
    fewer_paths,
    name_within,
    other_forms,
    vertical_path,
    with_identifier,
)
from cuihop.annotation.mentions import Annotations
from cuihop.annotation.options import AnnotationOptions
from cuihop.errors import InputError, ReleaseMismatch, SchemaMismatch
from cuihop.graph import (
    MOST_PATHS,
    CodeLookup,
    Concept,
    ConceptGraph,
    Definition,
    Direction,
    DistancePack,
    Distances,
    Neighbour,
    Neighbourhood,
    Path,
    Release,
    Resolution,
    SearchHit,
    Step,
    resolved,
)
from cuihop.identifiers import is_identifier
from cuihop.neo4j_graph import cypher
from cuihop.neo4j_graph.connection import Neo4jConnection, Neo4jSettings
from cuihop.neo4j_graph.layered_path import ranked_path, shortest_path_layers
from cuihop.neo4j_graph.name_search import NameSearch
from cuihop.neo4j_graph.projection import snapshot_sections
from cuihop.neo4j_graph.releases import check_counts, check_schema, check_server, complete_release
from cuihop.neo4j_graph.stored_codes import StoredCodes, code_sabs, holders_of
from cuihop.resources.arrays import bounds_of
from cuihop.resources.progress import check_interruption
from cuihop.similarity.hierarchy import Hierarchy
from cuihop.snapshot.file import Sections
from cuihop.snapshot.graph import SnapshotGraph
from cuihop.snapshot.source_codes import MOST_ALIKE
from cuihop.snapshot.string_table import folded_query
from cuihop.snapshot.writer import RETIRED_RELATIONS

__all__ = ["Neo4jGraph"]

Result = TypeVar("Result")

_PAIRS_A_TRANSACTION = 500
_CENTRES_A_TRANSACTION = 100
_CONCEPTS_A_TRANSACTION = 10_000
_LISTED_PATHS = 1_000


class Neo4jGraph(ConceptGraph):
    """A `ConceptGraph` on a Neo4j database that cuihop loaded.

    It answers from the release that was active when it was opened, also after a switch, and raises `ReleaseMismatch`
    once that release is removed. Each call is one or more read transactions, each within the settings' timeout,
    repeated after transient failures.

    Args:
        connection: closed with the graph.
        release: number of a stored release; by default the active one.

    Raises:
        GraphUnavailable: no server, wrong password, wrong database.
        SchemaMismatch: the database is not cuihop's, or another version's, or lacks an index.
        ReleaseMismatch: no such release, or it is not complete.
    """

    def __init__(self, connection: Neo4jConnection, *, release: int | None = None) -> None:
        self._connection = connection
        schema = check_schema(connection)
        number = schema.active if release is None else release
        if number is None:
            raise SchemaMismatch("the database has no active release; load one with: cuihop load")
        self._number = number
        self._properties = complete_release(connection, number)
        self._release = Release.of(self._properties)
        self._name_search = NameSearch(self._rows)
        sabs = code_sabs(self._properties)
        self._stored_codes = None if sabs is None else StoredCodes(sabs, self._rows)
        self._snapshot: SnapshotGraph | None = None
        self._snapshot_lock = Lock()
        self._unrestricted: Neo4jGraph | None = None
        self._within_sabs: tuple[str, ...] = ()
        self._release_within: Release | None = None

    @classmethod
    def open(cls, address: str, *, release: int | None = None) -> Neo4jGraph:
        """Connect with user and password of the environment: see `Neo4jSettings.from_environment`.

        A server that cannot be reached is an error within seconds. The retry time of the settings is for later outages.
        """
        settings = Neo4jSettings.from_environment(address)
        check_server(settings)
        connection = Neo4jConnection(settings)
        try:
            return cls(connection, release=release)
        except BaseException:
            connection.close()
            raise

    def check_counts(self) -> None:
        """Check in the database that the release has the concepts, edges and codes that it states.

        Raises:
            ReleaseMismatch: it has others.
        """
        check_counts(self._connection, self._number, self._properties)

    def __repr__(self) -> str:
        r = self._release
        if self._unrestricted is not None:
            return f"<Neo4jGraph {name_within(r, self._within_sabs)!r}>"
        return f"<Neo4jGraph {r.name!r}: {r.concepts:,} concepts, {r.edges:,} edges, digest {r.digest[:12]}>"

    @property
    def release(self) -> Release:
        """The release that every answer comes from.

        Of a restricted graph the digest is computed at the first use, from all edges in the database.
        """
        if self._unrestricted is None:
            return self._release
        with self._snapshot_lock:
            if self._release_within is None:
                sections = snapshot_sections(self._connection, self._number, with_names=False)
                self._release_within = SnapshotGraph(sections).within(self._within_sabs).release
            return self._release_within

    @property
    def _restricted(self) -> bool:
        """True for a graph within vocabularies."""
        return self._unrestricted is not None

    @property
    def connection(self) -> Neo4jConnection:
        """The connection to the server, closed with the graph."""
        return self._connection

    @property
    def number(self) -> int:
        """The number of the release in the database."""
        return self._number

    @property
    def code_sabs(self) -> tuple[str, ...] | None:
        """The vocabularies that give codes, sorted; ``None`` for a release that was loaded without codes."""
        return code_sabs(self._properties)

    @property
    def sections(self) -> Sections:
        """The whole release as the arrays of a snapshot, read from the database on each call.

        Raises:
            ReleaseMismatch: it has another digest than the one that was loaded.
        """
        if self._unrestricted is not None:
            return SnapshotGraph(self._unrestricted.sections).within(self._within_sabs).sections
        return snapshot_sections(self._connection, self._number)

    def within(self, sabs: Sequence[str]) -> Neo4jGraph:
        """See `ConceptGraph.within`. The server tests the vocabularies of each edge that a search reaches."""
        unrestricted = self._unrestricted or self
        available = self._release if self._unrestricted is None else replace(self._release, sabs=self._within_sabs)
        vocabularies = checked_sabs(sabs, available)
        restricted = copy(unrestricted)
        restricted._unrestricted, restricted._within_sabs = unrestricted, vocabularies
        restricted._snapshot, restricted._snapshot_lock = None, Lock()
        return restricted

    def close(self) -> None:
        """Close the connections. Harmless twice."""
        self._connection.close()

    def _read(self, task: Callable[[neo4j.ManagedTransaction], Result]) -> Result:
        """The result of ``task``, with the release still complete after it.

        A removal marks the release before it touches a concept, so the mark is checked last.
        """

        def checked(tx: neo4j.ManagedTransaction) -> Result:
            answer = task(tx)
            row = tx.run(cypher.RELEASE_STATE, release=self._number).single()
            if row is None or row["state"] != "complete":
                raise ReleaseMismatch(
                    f"release {self._release.name} is no longer in the database; open the graph again"
                )
            return answer

        check_interruption()
        return self._connection.read(checked)

    def _rows(self, text: LiteralString, /, **parameters: Any) -> list[list[Any]]:
        """The rows of one query on the release."""
        every = {"release": self._number, "sabs": self._within_sabs}
        return self._read(lambda tx: tx.run(text, {**every, **parameters}).values())

    def _rows_of(
        self, text: LiteralString, cuis: Iterable[object], size: int, **parameters: Any
    ) -> Iterator[list[Any]]:
        """The rows of a query on ``$cuis``, asked in chunks of this size."""
        for chunk in _chunks(list(cuis), size):
            yield from self._rows(text, cuis=chunk, **parameters)

    # Identifiers

    def _resolve(self, cuis: Sequence[str]) -> list[Resolution]:
        distinct = list(dict.fromkeys(cuis))
        current = self._numbers(distinct)
        absent = self._absent([cui for cui in distinct if cui not in current])
        return [absent[cui] if cui in absent else Resolution(cui, "current", cui) for cui in cuis]

    def _numbers(self, cuis: Iterable[str]) -> dict[str, int]:
        """The number of each concept that the release holds."""
        possible = [cui for cui in cuis if is_identifier(cui, "any")]
        return dict(self._rows_of(cypher.CURRENT, possible, _CONCEPTS_A_TRANSACTION))

    def _absent(self, cuis: Sequence[str]) -> dict[str, Resolution]:
        """The resolutions of identifiers that the release does not hold."""
        statements: dict[str, list[tuple[str, str]]] = {}
        held: dict[str, int] = {}
        forms = [form for cui in cuis for form in other_forms(cui)]
        held.update(self._numbers(forms))
        pending = [
            cui
            for cui in dict.fromkeys((*cuis, *forms))
            if is_identifier(cui, self._release.identifiers) and cui not in held
        ]
        for _ in range(LONGEST_CHAIN):
            if not pending:
                break
            rows_of = self._statements(pending)
            statements.update(rows_of)
            successors = {new for rows in rows_of.values() for relation, new in rows if relation == "SY"}
            held.update(self._numbers(successors))
            pending = sorted(successors - held.keys() - statements.keys())
        of_codes = code_resolutions(cuis, self._of_codes)
        return {
            cui: absent_resolution(
                cui, self._release.identifiers, lambda c: tuple(statements.get(c, ())), lambda c: c in held, of_codes
            )
            for cui in cuis
        }

    def _of_codes(self, written: Sequence[str]) -> dict[str, Resolution]:
        """The resolutions of codes of the vocabularies of the release, written ``SAB:CODE``."""
        if (stored := self._stored_codes) is None:
            return {}
        codes = [code for code in written if code.partition(":")[0] in stored.sabs]
        if not codes:
            return {}
        nodes, concepts = stored.written(codes, MOST_ALIKE), self._numbers(code.partition(":")[2] for code in codes)
        return stored.table(nodes, concepts).resolutions(codes)

    def _statements(self, cuis: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
        statements: dict[str, list[tuple[str, str]]] = {cui: [] for cui in cuis}
        for cui, relation, successor in self._rows_of(cypher.RETIRED, cuis, _CONCEPTS_A_TRANSACTION):
            statements[cui].append((relation, successor))
        for rows in statements.values():
            rows.sort(key=lambda row: (RETIRED_RELATIONS.index(row[0]), row[1]))
        return statements

    def _usable(self, cuis: Sequence[str]) -> tuple[list[str], dict[str, str]]:
        """The concepts to use, one for each identifier, and the retired ones that were taken for their successors."""
        answers = self.resolve(list(dict.fromkeys(cuis)))
        absent = [answer for answer in answers if answer.status != "current"]
        merged = dict(zip([a.requested for a in absent], resolved(absent, self._release), strict=True))
        return [merged.get(cui, cui) for cui in cuis], merged

    # Distances and paths

    def _distances(self, ends: Sequence[str], direction: Direction, bound: int | None) -> Distances:
        pairs = list(zip(ends[::2], ends[1::2], strict=True))
        distances = self._shortest([pair for pair in pairs if pair[0] != pair[1]], direction, bound)
        # A distance proves that both concepts exist. Only the ends of the other pairs are resolved.
        unproven = [cui for pair in pairs if pair not in distances for cui in pair]
        merged = self._usable(unproven)[1]
        if merged:
            used = [(merged.get(a, a), merged.get(b, b)) for a, b in pairs]
            distances |= self._shortest(
                [pair for pair, old in zip(used, pairs, strict=True) if pair != old and pair[0] != pair[1]],
                direction,
                bound,
            )
            pairs = used
        answers = [0 if a == b else distances.get((a, b)) for a, b in pairs]
        reached = [hops is not None and (bound is None or hops <= bound) for hops in answers]
        return Distances(
            hops=np.array([hops if ok else -1 for hops, ok in zip(answers, reached, strict=True)], dtype=np.int32),
            reached=np.array(reached, dtype=np.bool_),
            direction=direction,
            max_hops=bound,
            merged=merged,
        )

    def _shortest(
        self, pairs: Iterable[tuple[str, str]], direction: Direction, bound: int | None
    ) -> dict[tuple[str, str], int]:
        """The distance of each pair of two different concepts that has one, perhaps a little beyond the bound."""
        shortest: dict[tuple[str, str], int] = {}
        possible = [pair for pair in dict.fromkeys(pairs) if all(is_identifier(cui, "any") for cui in pair)]
        for search in SEARCHES[direction]:
            text = cypher.DISTANCES[search, cypher.rung(bound), self._restricted]
            for chunk in _chunks(possible, _PAIRS_A_TRANSACTION):
                for i, hops in self._rows(text, starts=[a for a, _ in chunk], ends=[b for _, b in chunk]):
                    shortest[chunk[i]] = min(hops, shortest.get(chunk[i], hops))
        return shortest

    def _path(self, a: str, b: str, direction: Direction, bound: int | None, which: int) -> Path | None:
        if direction == "vertical":
            return vertical_path(self, a, b, max_hops=bound, which=which)
        (start, end), merged = self._usable([a, b])
        cuis, total = self._ranked_path(start, end, direction, bound, which)
        if not total:
            return None
        if cuis is None:
            raise fewer_paths(which, total)
        return Path(start, tuple(self._steps([*pairwise(cuis)], direction)), direction, merged, total, which)

    def _ranked_path(
        self, start: str, end: str, direction: Direction, bound: int | None, which: int
    ) -> tuple[Sequence[str] | None, int]:
        """The shortest path of a rank, if there are as many, and their number."""
        rows = self._listed_paths(start, end, direction, bound)
        if rows and bound is not None and len(rows[0]) - 1 > bound:
            return None, 0
        if len(rows) == _LISTED_PATHS:
            layers = self._layers(start, end, direction)
            return ranked_path(
                layers, lambda cuis, after: self._hops_between(cuis, after, direction), which, MOST_PATHS
            )
        paths = sorted(set(rows))  # a hop of a cycle of two stands in two rows
        return (paths[which - 1] if which <= len(paths) else None), len(paths)

    def _listed_paths(self, start: str, end: str, direction: Direction, bound: int | None) -> list[tuple[str, ...]]:
        """The shortest paths, `_LISTED_PATHS` at most, perhaps a little longer than the bound."""
        if start == end:
            return [(start,)]
        text = cypher.SHORTEST_PATHS[direction, cypher.rung(bound), self._restricted]
        return [tuple(row[0]) for row in self._rows(text, start=start, end=end, most=_LISTED_PATHS)]

    def _layers(self, start: str, end: str, direction: Direction) -> list[set[str]]:
        """The concepts on shortest paths, by their hops from the start, of two concepts that have one."""
        levels = [partial(self._next_level, direction=way) for way in (direction, BACKWARDS[direction])]
        return shortest_path_layers(start, end, *levels) or []

    def _onward(self, first: Path, direction: Direction) -> Callable[[str, int], list[str]]:
        start, end = first.cuis[0], first.cuis[-1]
        paths = self._listed_paths(start, end, direction, first.hops)
        if len(paths) < _LISTED_PATHS:
            hops = {hop for path in paths for hop in pairwise(path)}
        else:
            layers = pairwise(self._layers(start, end, direction))
            hops = {hop for here, after in layers for hop in self._hops_between(here, after, direction)}
        following: dict[str, list[str]] = defaultdict(list)
        for here, there in sorted(hops):
            following[here].append(there)
        return lambda cui, _: following[cui]

    def _hops_between(
        self, cuis: Iterable[str], after: Iterable[str], direction: Direction
    ) -> Iterator[tuple[str, str]]:
        """The hops from any of some concepts to any of others."""
        text = cypher.HOPS_BETWEEN[direction, None, self._restricted]
        return ((a, b) for a, b in self._rows_of(text, cuis, _CONCEPTS_A_TRANSACTION, next=list(after)))

    def _next_level(self, cuis: Iterable[str], direction: Direction) -> set[str]:
        text = cypher.NEXT_LEVEL[direction, None, self._restricted]
        return set(chain.from_iterable(level for (level,) in self._rows_of(text, cuis, _CONCEPTS_A_TRANSACTION)))

    def _steps(self, pairs: Sequence[tuple[str, str]], direction: Direction) -> Sequence[Step]:
        steps = []
        rows = self._rows_of(cypher.STEPS, pairs, _CONCEPTS_A_TRANSACTION)
        for (_, cui), (is_parent, up_sabs, down_sabs) in zip(pairs, rows, strict=True):
            if self._within_sabs:
                up_sabs, down_sabs = (
                    [s for s in sabs or () if s in self._within_sabs] for sabs in (up_sabs, down_sabs)
                )
                is_parent = bool(up_sabs)
            to_parent = is_parent and direction != "down"
            sabs = up_sabs if to_parent else down_sabs
            steps.append(Step(cui, "parent" if to_parent else "child", tuple(sabs or ())))
        return steps

    # Neighbourhoods

    def _neighbours(
        self, cuis: Sequence[str], direction: Direction, bound: int | None, limit: int | None
    ) -> list[Neighbourhood]:
        centres, merged = self._usable(cuis)
        text = cypher.NEIGHBOURS[direction, cypher.rung(bound), self._restricted]
        rows = self._rows_of(text, dict.fromkeys(centres), _CENTRES_A_TRANSACTION, hops=bound, limit=limit)
        hoods = {
            cui: Neighbourhood(cui, tuple(map(Neighbour, near, levels)), total, bound, direction)
            for cui, total, near, levels in rows
        }
        return [
            replace(hoods[centre], merged={cui: centre}) if cui in merged else hoods[centre]
            for cui, centre in zip(cuis, centres, strict=True)
        ]

    def _pack(self, cuis: Sequence[str], direction: Direction, bound: int) -> DistancePack:
        used, _ = self._usable(cuis)
        seen: set[str] = set()
        for requested, cui in zip(cuis, used, strict=True):
            if cui in seen:
                raise InputError("a concept is given twice", found=requested, expected="distinct concepts")
            seen.add(cui)
        numbers = self._numbers(used)
        column = {numbers[cui]: i for i, cui in enumerate(used)}
        text = cypher.PACK[direction, cypher.rung(bound), self._restricted]
        rows: dict[str, list[tuple[int, int]]] = {}
        every = self._rows_of(text, used, _CENTRES_A_TRANSACTION, numbers=list(column), hops=bound)
        for cui, near, levels in every:
            rows[cui] = sorted((column[number], level) for number, level in zip(near, levels, strict=True))
        entries = [entry for cui in used for entry in rows[cui]]
        return DistancePack(
            cuis=tuple(used),
            indptr=bounds_of([len(rows[cui]) for cui in used]),
            indices=np.array([index for index, _ in entries], dtype=np.int32),
            hops=np.array([level for _, level in entries], dtype=np.uint8),
            bound=bound,
            direction=direction,
            digest=self.release.digest,
        )

    # Names

    def _names(self, cuis: Sequence[str]) -> list[str | None]:
        used, _ = self._usable(cuis)
        names = dict(self._rows_of(cypher.NAMES, dict.fromkeys(used), _CONCEPTS_A_TRANSACTION))
        return [names[cui] for cui in used]

    def _concepts(self, cuis: Sequence[str], codes: bool) -> list[Concept]:
        used, _ = self._usable(cuis)
        records: dict[str, Concept] = {}
        rows = self._rows_of(cypher.CONCEPTS[self._restricted], dict.fromkeys(used), _CONCEPTS_A_TRANSACTION)
        for cui, name, synonyms, types, parents, children, definition_sabs, texts, sabs in rows:
            pairs, definitions = tuple(map(tuple, types)), tuple(map(Definition, definition_sabs, texts))
            records[cui] = Concept(
                cui, name, tuple(synonyms), pairs, parents, children, definitions, tuple(sorted(sabs))
            )
        if codes and self._stored_codes is not None:
            lookups = self._codes([*records], ())
            records |= {each.requested: replace(records[each.requested], codes=each.codes) for each in lookups}
        return [records[cui] for cui in used]

    def _codes(self, identifiers: Sequence[str], sabs: Sequence[str]) -> list[CodeLookup]:
        if (stored := self._stored_codes) is None:
            release = f"release {self._number}, {self._release.name}"
            advice = "Load the release again: cuihop load stores those of MRCONSO, without --no-codes."
            raise InputError("the database holds no codes of vocabularies", found=release, advice=advice)
        forms = dict.fromkeys(form for text in identifiers for form in (text, *other_forms(text)))
        current = self._numbers(forms)
        others = [text for text in forms if text not in current]
        absent = self._absent([text for text in others if ":" not in text])
        nodes = stored.written(text for text in others if ":" in text)
        concepts = {*current, *(resolution.cui for resolution in absent.values() if resolution.cui)}
        if sabs:  # those of the concepts of a code
            concepts |= holders_of(nodes)
        table = stored.table(nodes | stored.of_concepts(concepts), concepts)
        requested = table.checked_sabs(sabs, self._release.name)
        return table.lookups(identifiers, lambda texts: [absent[text] for text in texts], requested)

    def _search(self, text: str, limit: int | None) -> list[SearchHit]:
        hits = self._name_search.best(folded_query(text), self._release.concepts if limit is None else limit)
        return with_identifier(self, text, hits)[:limit]

    def _annotate_many(self, texts: Sequence[str], options: AnnotationOptions) -> Annotations:
        # A database stores no vocabularies and grades of names.
        annotations = self._in_memory().annotate_many(texts, options)
        self._read(lambda tx: None)  # the release is still there
        return annotations

    @property
    def hierarchy(self) -> Hierarchy:
        """See `ConceptGraph.hierarchy`. The first call reads the whole release into memory, as a snapshot."""
        hierarchy = self._in_memory().hierarchy
        self._read(lambda tx: None)  # the release is still there
        return hierarchy

    def _in_memory(self) -> SnapshotGraph:
        """The release as a snapshot in memory; other threads wait while it is read."""
        with self._snapshot_lock:
            if self._snapshot is None and self._unrestricted is not None:
                self._snapshot = self._unrestricted._in_memory().within(self._within_sabs)
            elif self._snapshot is None:
                self._snapshot = SnapshotGraph(self.sections)
            return self._snapshot


def _chunks(items: Sequence[Result], size: int) -> Iterator[list[Result]]:
    return (list(items[first : first + size]) for first in range(0, len(items), size))
