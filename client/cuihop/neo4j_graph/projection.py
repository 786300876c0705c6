"""A stored release as the sections of a snapshot, read in blocks."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from typing import Any, LiteralString

import neo4j
import numpy as np

from cuihop.errors import ReleaseMismatch
from cuihop.graph import Release
from cuihop.neo4j_graph import cypher
from cuihop.neo4j_graph.connection import Neo4jConnection
from cuihop.neo4j_graph.releases import complete_release
from cuihop.neo4j_graph.stored_codes import Node, release_codes
from cuihop.resources.arrays import Int32, Int64, bounds_of
from cuihop.snapshot.file import Sections
from cuihop.snapshot.string_table import StringTable, identifier_array
from cuihop.snapshot.writer import PULLED_FROM, GraphTables, RetiredTable, sections_of

_CONCEPTS_A_BLOCK = 20_000
_ROWS_A_BLOCK = 50_000
_BLOCK_SECONDS = 600.0
_READERS = 2  # each occupies one core of the server; more would wait for this process


def snapshot_sections(connection: Neo4jConnection, number: int, *, with_names: bool = True) -> Sections:
    """The sections of a stored release, checked against its stored digest; arguments as `projected_sections`.

    Raises:
        ReleaseMismatch: no such release, not complete, or another digest after reading.
    """
    stored = complete_release(connection, number)["digest"]
    sections = projected_sections(connection, number, with_names=with_names)
    digest = sections.meta["release"]["digest"]
    if digest != stored:
        raise ReleaseMismatch(
            f"release {number} read from the database has digest {digest[:12]}, and was loaded with {stored[:12]}: "
            "somebody has changed its concepts or edges since. Load it again."
        )
    return sections


def projected_sections(connection: Neo4jConnection, number: int, *, with_names: bool = True) -> Sections:
    """The sections of a stored release, complete or not.

    Args:
        with_names: read names, synonyms, semantic types, definitions and codes too.

    Raises:
        ReleaseMismatch: no such release, or its concepts are not numbered in the order of their identifiers, or its
            codes are not those that were loaded.
    """
    row = connection.read(lambda tx: tx.run(cypher.RELEASE, release=number).single())
    if row is None:
        raise ReleaseMismatch(f"the database holds no release {number}; see: cuihop neo4j releases list")
    properties = row["release"]
    cuis, store_ids = stored_concepts(connection, number)
    retired = _block(connection, cypher.ALL_RETIRED, release=number)[0]
    tables = GraphTables(
        cuis=identifier_array(cuis),
        retired=RetiredTable.of(list(zip(retired["cuis"], retired["relations"], retired["successors"], strict=True))),
        **_edges(connection, number, cuis, store_ids),
        **(_names(connection, number, cuis) if with_names else {}),
        codes=release_codes(properties, cuis, _codes(connection, number)) if with_names else None,
    )
    release = Release.of(properties)
    return sections_of(
        tables,
        name=release.name,
        relations=release.relations,
        identifiers=release.identifiers,
        source=release.source,
        report={**json.loads(properties["report"]), PULLED_FROM: "neo4j"},
    )


def _block(connection: Neo4jConnection, text: LiteralString, **parameters: Any) -> list[neo4j.Record]:
    return connection.read(lambda tx: list(tx.run(text, parameters)), timeout=_BLOCK_SECONDS)


def _blocks(
    connection: Neo4jConnection, text: LiteralString, number: int, cuis: list[str]
) -> Iterator[list[neo4j.Record]]:
    """The rows of each block of concepts, in order; the next blocks are fetched while one is used."""
    with ThreadPoolExecutor(_READERS) as pool:
        coming: deque[Future[list[neo4j.Record]]] = deque()
        for first in range(0, len(cuis), _CONCEPTS_A_BLOCK):
            ends = {"first": cuis[first], "last": cuis[first : first + _CONCEPTS_A_BLOCK][-1]}
            coming.append(pool.submit(_block, connection, text, release=number, **ends))
            if len(coming) > _READERS:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()


def stored_concepts(connection: Neo4jConnection, number: int) -> tuple[list[str], Int64]:
    """The concepts of a release in the order of identifiers, and the database's own numbers of them.

    Raises:
        ReleaseMismatch: they are not numbered in that order.
    """
    cuis: list[str] = []
    positions: list[int] = []
    while True:
        last = cuis[-1] if cuis else ""
        row = _block(connection, cypher.CUIS_AFTER, release=number, last=last, most=_ROWS_A_BLOCK)[0]
        if row["numbers"] != list(range(len(cuis), len(cuis) + len(row["cuis"]))):
            raise ReleaseMismatch(f"release {number}: concepts after {last!r} are not numbered in their order")
        cuis += row["cuis"]
        positions += row["places"]
        if len(row["cuis"]) < _ROWS_A_BLOCK:
            return cuis, np.array(positions, dtype=np.int64)


def _edges(connection: Neo4jConnection, number: int, cuis: list[str], store_ids: Int64) -> dict[str, Any]:
    numbers: dict[tuple[str, ...], int] = {}
    children: list[Int64] = []
    parents: list[Int64] = []
    sab_sets: list[Int64] = []
    for rows in _blocks(connection, cypher.EDGES_BETWEEN, number, cuis):
        for row in rows:
            children.append(np.array(row["children"], dtype=np.int64))
            parents.append(np.array(row["parents"], dtype=np.int64))
            number_of_set = numbers.setdefault(tuple(row["sabs"] or ()), len(numbers))
            sab_sets.append(np.full(len(row["children"]), number_of_set, dtype=np.int64))
    if not children:
        return {"children": np.empty(0, dtype=np.int32), "parents": np.empty(0, dtype=np.int32)}
    order = np.argsort(store_ids)
    child, parent = (_numbers(np.concatenate(ends), store_ids, order) for ends in (children, parents))
    order = np.lexsort((parent, child))
    members = sorted(numbers)
    renumbered = np.empty(len(numbers), dtype=np.uint16 if len(numbers) < 2**16 else np.uint32)
    for new, sabs in enumerate(members):
        renumbered[numbers[sabs]] = new
    return {
        "children": child[order],
        "parents": parent[order],
        "sab_sets": renumbered[np.concatenate(sab_sets)[order]],
        "sab_set_members": members,
    }


def _numbers(ends: Int64, positions: Int64, order: Int64) -> Int32:
    """The numbers of the concepts with these numbers in the store."""
    rows = np.searchsorted(positions, ends, sorter=order)
    numbers = order[np.minimum(rows, len(positions) - 1)]
    if not np.array_equal(positions[numbers], ends):
        raise ReleaseMismatch("an edge leads to a concept of another release")
    return numbers.astype(np.int32)


def _codes(connection: Neo4jConnection, number: int) -> Iterator[list[Node]]:
    """The codes in blocks, ascending."""
    last = ""
    while block := _block(connection, cypher.CODES_AFTER, release=number, last=last, most=_ROWS_A_BLOCK)[0]["codes"]:
        yield block
        last = block[-1][0]


def _names(connection: Neo4jConnection, number: int, cuis: list[str]) -> dict[str, Any]:
    type_rows = _block(connection, cypher.TYPES, release=number)
    types = [(row["code"], row["name"]) for row in type_rows]
    numbers = {code: i for i, (code, _) in enumerate(types)}
    texts: list[str] = []
    counts: list[int] = []
    codes: list[list[str]] = []
    definitions: list[str] = []
    definition_counts: list[int] = []
    for (row,) in _blocks(connection, cypher.NAMES_BETWEEN, number, cuis):
        for name, synonyms in zip(row["names"], row["synonyms"], strict=True):
            if name:
                texts.append(name[0])
                texts += synonyms
            counts.append(len(name) + len(synonyms))
        codes += row["types"]
        for sabs, meanings in zip(row["sabs"], row["definitions"], strict=True):
            definitions += [f"{sab}|{text}" for sab, text in zip(sabs, meanings, strict=True)]
            definition_counts.append(len(meanings))
    return {
        "names": StringTable.of(texts),
        "name_indptr": bounds_of(counts, np.int32),
        "semantic_types": types,
        "type_indptr": bounds_of([len(of_concept) for of_concept in codes], np.int32),
        "type_indices": np.array([numbers[code] for code in chain.from_iterable(codes)], dtype=np.int32),
        "definitions": StringTable.of(definitions),
        "definition_indptr": bounds_of(definition_counts, np.int32),
    }
