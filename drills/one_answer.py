"""Drill: one answer by many ways. Distances, neighbourhoods and paths of random releases against two oracles."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import networkx as nx

from concept_graph_contract import distances_by_networkx
from cuihop import ConceptGraph, SnapshotGraph, connect
from cuihop.graph import DIRECTIONS, Direction
from cuihop.snapshot.index_builder import build_index
from cuihop_loader import LoadOptions, load
from cuihop_server import running_service
from cuihop_service.graph_holder import ServedGraph
from drills.drawn_release import DrawnRelease, drawn_release
from drills.drill import Case, Found, Setting

_SQL_BOUND = 6
_SQL = """
WITH RECURSIVE reached(start, place, hops) AS (
    SELECT id, id, 0 FROM concept
    UNION
    SELECT start, hop.parent, hops + 1 FROM reached JOIN hop ON hop.child = place WHERE hops < ?
)
SELECT start, place, min(hops) FROM reached GROUP BY start, place
"""

Hops = dict[tuple[str, str], int]


@contextmanager
def cases(setting: Setting) -> Iterator[Case]:
    """One service a process, which serves each release in turn."""
    with running_service(SnapshotGraph.of([])) as service:

        def serve(graph: SnapshotGraph) -> dict[str, ConceptGraph]:
            service.holder.serve(ServedGraph(graph.release, index=graph))
            return {"HTTP": connect(service.http), "gRPC": connect(service.grpc)}

        def case(rng: random.Random) -> Found:
            drawn = drawn_release(rng)
            folder = drawn.write(setting.folder / "release", rng)
            sabs = some_sabs(drawn, rng)
            searched = loaded(folder, sabs)
            file = setting.folder / "graph.cuihop"
            searched.save(file)
            opened, indexed = SnapshotGraph.open(file), SnapshotGraph(searched.sections)
            indexed.use_index(build_index(indexed, roots=rng.choice((0, 1, 16))))
            ways: dict[str, ConceptGraph] = {"search": searched, "file": opened, "index": indexed} | serve(indexed)
            try:
                return compared(drawn, sabs, ways, rng)
            finally:
                for way in ways.values():
                    way.close()

        yield case


def some_sabs(drawn: DrawnRelease, rng: random.Random) -> set[str] | None:
    """Vocabularies that together assert an edge, or None for all."""
    return set(rng.choice(list(drawn.edges.values()))) if rng.random() < 0.4 else None


def loaded(folder: Path, sabs: Iterable[str] | None = None) -> SnapshotGraph:
    """The graph that the loader reads from the files of this folder, which is removed."""
    graph = SnapshotGraph(load([folder], LoadOptions(include_sabs=tuple(sorted(sabs or ())))).sections)
    shutil.rmtree(folder)
    return graph


def compared(drawn: DrawnRelease, sabs: set[str] | None, ways: dict[str, ConceptGraph], rng: random.Random) -> Found:
    """Answers of a release within these vocabularies, by all ways, against both oracles."""
    count, wrong = 0, []
    requested = [*drawn.nodes, *drawn.merged]
    pairs = list(product(requested, requested))
    if len(pairs) > 900:
        pairs = rng.sample(pairs, 900)
    current = {cui: drawn.merged.get(cui, cui) for cui in requested}
    for direction in DIRECTIONS:
        expected = _by_networkx(drawn, direction, sabs)
        by_sql = _by_sql(drawn, direction, sabs)
        wrong += [
            f"the oracles differ: {pair} {direction}, NetworkX {expected.get(pair)}, SQL {by_sql.get(pair)}"
            for pair in by_sql.keys() | {pair for pair, hops in expected.items() if hops <= _SQL_BOUND}
            if by_sql.get(pair) != expected.get(pair)
        ]
        for bound in (None, rng.randrange(5)):
            right = [_within(expected.get((current[a], current[b])), bound) for a, b in pairs]
            for name, graph in ways.items():
                found = graph.distances(pairs, direction=direction, max_hops=bound).to_list()
                count += len(pairs)
                wrong += [
                    f"{name}: {a} to {b}, {direction}, at most {bound}: {one} in place of {other}"
                    for (a, b), one, other in zip(pairs, found, right, strict=True)
                    if one != other
                ]
        count += _neighbours(drawn.nodes, expected, direction, ways, rng, wrong)
        if direction != "vertical":
            count += _paths(drawn, sabs, expected, direction, ways, rng, wrong)
    return Found(count, wrong)


def _within(hops: int | None, bound: int | None) -> int | None:
    return None if hops is None or (bound is not None and hops > bound) else hops


def _neighbours(
    nodes: list[str], expected: Hops, direction: Direction, ways: dict[str, ConceptGraph], rng: random.Random,
    wrong: list[str],
) -> int:  # fmt: skip
    centre, bound = rng.choice(nodes), rng.choice((1, 2, 3, None))
    right = sorted(
        (hops, other) for (start, other), hops in expected.items() if start == centre and _within(hops, bound)
    )
    for name, graph in ways.items():
        [found] = graph.neighbours([centre], hops=bound, direction=direction)
        if [(one.hops, one.cui) for one in found] != right:
            wrong.append(f"{name}: neighbours of {centre}, {direction}, within {bound}: {list(found)}, not {right}")
    return len(ways)


def _paths(
    drawn: DrawnRelease, sabs: set[str] | None, expected: Hops, direction: Direction, ways: dict[str, ConceptGraph],
    rng: random.Random, wrong: list[str],
) -> int:  # fmt: skip
    hops = nx.DiGraph(drawn.hops(direction, sabs))
    a, b = rng.choice(drawn.nodes), rng.choice(drawn.nodes)
    right = sorted(nx.all_shortest_paths(hops, a, b)) if a != b and (a, b) in expected else [[a]] * (a == b)
    for name, graph in ways.items():
        path = graph.path(a, b, direction=direction)
        if path is None:
            found: object = []
        else:
            last = graph.path(a, b, direction=direction, which=path.total)
            found = [path.total, list(path.cuis), [] if last is None else list(last.cuis)]
            for before, step in zip(path.cuis, path.steps, strict=False):
                edge = (before, step.cui) if step.relation == "parent" else (step.cui, before)
                if set(step.sabs) != drawn.edges[edge] & (sabs or drawn.edges[edge]):
                    wrong.append(f"{name}: {edge} is asserted by {step.sabs}, not {sorted(drawn.edges[edge])}")
        if found != ([len(right), right[0], right[-1]] if right else []):
            wrong.append(f"{name}: paths from {a} to {b}, {direction}: {found}; of {len(right)}")
    return len(ways)


def _by_networkx(drawn: DrawnRelease, direction: Direction, sabs: set[str] | None) -> Hops:
    edges = list(drawn.hops("up", sabs))
    hops = distances_by_networkx(edges, drawn.nodes, direction)
    return {(a, b): number for a, of_a in hops.items() for b, number in of_a.items()}


def _by_sql(drawn: DrawnRelease, direction: Direction, sabs: set[str] | None) -> Hops:
    """Hops up to a bound, by recursion in SQL."""
    if direction == "vertical":
        up, down = (_by_sql(drawn, way, sabs) for way in ("up", "down"))
        return {pair: min(up.get(pair, hops), down.get(pair, hops)) for pair, hops in (up | down).items()}
    with sqlite3.connect(":memory:") as base:
        base.execute("CREATE TABLE concept (id TEXT)")
        base.execute("CREATE TABLE hop (child TEXT, parent TEXT)")
        base.executemany("INSERT INTO concept VALUES (?)", [(node,) for node in drawn.nodes])
        base.executemany("INSERT INTO hop VALUES (?, ?)", sorted(drawn.hops(direction, sabs)))
        base.execute("CREATE INDEX hop_child ON hop (child)")
        return {(a, b): hops for a, b, hops in base.execute(_SQL, [_SQL_BOUND])}
