"""Releases stored in a real Neo4j server, and what a test may count in them."""

from __future__ import annotations

import numpy as np

from cuihop import SnapshotGraph
from cuihop.neo4j_graph.connection import Neo4jConnection
from cuihop.neo4j_graph.releases import StoredRelease
from cuihop.snapshot.file import Sections
from cuihop.snapshot.layout import NAME_SOURCES, SOURCE_CODES, TERM_TABLE
from cuihop.snapshot.string_table import IdentifierTable
from cuihop_loader.neo4j_online import load_online
from real_graphs import isa_edges

__all__ = [
    "LABELLED",
    "codes_of",
    "counts",
    "labels",
    "part_of_the_open_release",
    "same_arrays",
    "shorter_graph",
    "two_releases",
]

COUNTS = """
MATCH (c:StoredConcept {release: $release})
RETURN count(c) AS concepts, count(DISTINCT c.cui) AS distinct_concepts, sum(COUNT { (c)-[:IS_A]->() }) AS edges,
       sum(size([(c)-[:IS_A]->(p) | p.cui])) - sum(size(COLLECT { MATCH (c)-[:IS_A]->(p) RETURN DISTINCT p })) AS twice
"""


def same_arrays(one: Sections, other: Sections) -> bool:
    """The same content; sets of vocabularies, and codes, may be numbered in another order.

    The vocabularies and grades of the other's names are left out: a database does not store them. The table of names
    for annotation depends on them.
    """
    stored = set(other) - {*NAME_SOURCES}
    renumbered = {"up_sab_sets", *TERM_TABLE, *SOURCE_CODES}
    return (
        set(one) == stored
        and all(np.array_equal(one[name], other[name]) for name in stored - renumbered)
        and vocabularies(one) == vocabularies(other)
        and codes_of(one) == codes_of(other)
    )


def codes_of(sections: Sections) -> object:
    """Vocabularies, codes and the order of the concepts of each code, whatever the numbers of the codes."""
    if SOURCE_CODES[0] not in sections:
        return None
    graph = SnapshotGraph(sections)
    cuis = IdentifierTable(sections["cuis"])
    of_concepts = [each.codes for each in graph.codes(cuis.at(np.arange(len(cuis))))]
    written = sorted({f"{code.sab}:{code.code}" for codes in of_concepts for code in codes})
    types = [(sections[name].dtype, len(sections[name])) for name in SOURCE_CODES]
    return sections.meta["code_sabs"], of_concepts, graph.codes(written), types


def vocabularies(sections: Sections) -> list[tuple[str, ...]]:
    """Vocabularies of each edge."""
    sets = [tuple(sabs) for sabs in sections.meta["sab_sets"]]
    return [sets[number] for number in sections["up_sab_sets"].tolist()]


def counts(connection: Neo4jConnection, release: int) -> tuple[int, ...]:
    return tuple(connection.read(lambda tx: tx.run(COUNTS, release=release).single(strict=True)).values())


CHAIN = [(f"C{i:07d}", f"C{i + 1:07d}") for i in range(18)]
LABELLED = "MATCH (c:Concept) RETURN c.cui AS cui, count(*) AS n, collect(c.release) AS releases"


def two_releases(connection: Neo4jConnection, name: str) -> tuple[StoredRelease, StoredRelease]:
    """The first is active; the second lacks some of its concepts and has two others."""
    one = load_online(SnapshotGraph.of(CHAIN, name=f"{name}, one").sections, connection)
    other = SnapshotGraph.of([*CHAIN[3:], ("C8888888", "C9999999")], name=f"{name}, two")
    return one, load_online(other.sections, connection, switch=False)


def labels(connection: Neo4jConnection) -> dict[int, int]:
    found = connection.run_alone("MATCH (c:Concept) RETURN c.release AS release, count(*) AS n")
    return {row["release"]: row["n"] for row in found}


def part_of_the_open_release(name: str) -> SnapshotGraph:
    """A graph that takes a loader some seconds."""
    return SnapshotGraph.of(sorted(isa_edges("rrf_open"))[::8], identifiers="cui", name=name)


def shorter_graph() -> SnapshotGraph:
    """A release where brain stem and head are neighbours, which they are not in the example."""
    return SnapshotGraph.of([("C0006121", "C0018670")], name="shorter", identifiers="cui")
