"""Online load into a Neo4j server that keeps serving: batches over Bolt, counted in the transaction that writes them.

The release's node records how much of it is stored. Count and batch are committed together, so a load that was killed
at any point resumes there: nothing is lost or duplicated. Readers do not see the release until it is complete, read
back and switched to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import Any, LiteralString

import neo4j
import numpy as np

from cuihop.errors import GraphError, ReleaseMismatch
from cuihop.neo4j_graph.connection import Neo4jConnection
from cuihop.neo4j_graph.projection import projected_sections, stored_concepts
from cuihop.neo4j_graph.releases import StoredRelease, check_counts, install_schema, stored_release, switch_to
from cuihop.resources.arrays import Int64
from cuihop.resources.progress import StepProgress
from cuihop.snapshot.file import Sections
from cuihop_loader.neo4j_rows import ReleaseRows, blocks

CONCEPTS_A_BATCH = 10_000
EDGES_A_BATCH = 10_000
ROWS_A_BATCH = 500  # of pages, forms and spellings
_BATCH_SECONDS = 600.0

SAME_CONTENT: LiteralString = """
MATCH (r:Release {content: $content})
WHERE r.state IN ['loading', 'complete']
RETURN properties(r) AS release ORDER BY r.number DESC LIMIT 1
"""

_BEGIN_RELEASE: LiteralString = """
MATCH (s:CuihopStore {id: 0})
SET s.last_number = coalesce(s.last_number, 0) + 1
CREATE (r:Release {number: s.last_number})
SET r += $properties
RETURN properties(r) AS release
"""

_CLAIM = """
MATCH (r:Release {{number: $release, state: 'loading'}})
SET r.claimed_at = timestamp()
WITH r, r.{0}_loaded AS loaded
SET r.{0}_loaded = CASE WHEN loaded = $first THEN $last ELSE loaded END
RETURN loaded
"""
"""The counters of a release record how much of it is stored. A batch claims its part first: the write lock on the
release admits one loader at a time, and part and counter are committed together or not at all."""

_CREATE_CONCEPTS: LiteralString = """
UNWIND $rows AS row
CREATE (:StoredConcept {release: $release, number: row[0], cui: row[1], component: row[2], name: row[3],
                        synonyms: row[4], folded: row[5], semantic_types: row[6],
                        definition_sabs: row[7], definitions: row[8], weight: row[9], codes: row[10]})
"""

# Ends are matched by their internal identifier, which needs no index. It is not stored: each load reads it again, and
# the load is read back by identifiers. `id()` is deprecated, but present in the whole 5.26 line; with
# `elementId()`, whose texts must be sent and parsed, 11 and 28 % fewer edges were created in a second.
_CREATE_EDGES: LiteralString = """
UNWIND range(0, size($children) - 1) AS i
MATCH (child) WHERE id(child) = $children[i]
MATCH (parent) WHERE id(parent) = $parents[i]
CREATE (child)-[:IS_A {sabs: $sab_set_members[$sab_sets[i]]}]->(parent)
"""

_CREATE_RETIRED: LiteralString = """
UNWIND $rows AS row
CREATE (:RetiredConcept {release: $release, cui: row[0], relation: row[1], successor: row[2]})
"""

_CREATE_CODES: LiteralString = """
UNWIND $rows AS row
CREATE (:SourceCode {release: $release, code: row[0], sab: row[1], cuis: row[2], marks: row[3],
                     source_concepts: row[4], positions: row[5]})
"""

_MERGE_PAGES: LiteralString = """
UNWIND $rows AS row
MERGE (p:SearchPage {release: $release, prefix: row[0]})
SET p.cuis = row[1], p.places = row[2], p.kinds = row[3]
"""

_MERGE_FORMS: LiteralString = """
UNWIND $rows AS row
MERGE (f:SearchForm {release: $release, form: row[0]})
SET f.words = row[1]
"""

_MERGE_SPELLINGS: LiteralString = """
UNWIND $rows AS row
MERGE (w:SearchWords {release: $release, number: row[0]})
SET w.words = row[1]
"""

_MERGE_TYPES: LiteralString = """
UNWIND $rows AS row
MERGE (t:SemanticType {release: $release, code: row[1]})
SET t.name = row[2], t.number = row[0]
"""

_MERGE_VOCABULARIES: LiteralString = """
UNWIND $rows AS row
MERGE (v:SourceVocabulary {release: $release, sab: row[0]})
SET v.edges = row[1]
"""

FINISH_RELEASE: LiteralString = """
MATCH (r:Release {number: $release, state: 'loading'})
SET r.state = 'complete', r.loaded_at = datetime()
RETURN r.number AS number
"""


def load_online(
    sections: Sections,
    connection: Neo4jConnection,
    *,
    progress: StepProgress | None = None,
    switch: bool = True,
    concepts_a_batch: int = CONCEPTS_A_BATCH,
    edges_a_batch: int = EDGES_A_BATCH,
) -> StoredRelease:
    """Store a release, verify it, and switch readers to it.

    A stored release is not stored again; one that a load left unfinished is completed.

    Args:
        progress: callback after each batch with the kind of rows, the rows stored and their total.

    Raises:
        GraphUnavailable: the server went away; the same call resumes the load.
        SchemaMismatch: the database belongs to another version.
        ReleaseMismatch: the release read back is not the one written, or another load of it is running.
    """
    rows = ReleaseRows(sections)
    install_schema(connection)
    begun = _begun(connection, rows)
    number = begun["number"]
    if begun["state"] != "complete":
        _write_rows(connection, _MERGE_TYPES, iter(rows.type_rows()), number)
        _write_rows(connection, _MERGE_VOCABULARIES, iter(rows.vocabulary_rows()), number)
        write = partial(_write_batches, connection, number, progress)
        write(
            "concepts", blocks(begun["concepts_loaded"], len(rows.cuis), concepts_a_batch),
            _CLAIM.format("concepts"), _CREATE_CONCEPTS, lambda *batch_rows: {"rows": rows.concept_rows(*batch_rows)},
        )  # fmt: skip
        _, node_ids = stored_concepts(connection, number)
        write(
            "edges", blocks(begun["edges_loaded"], len(rows.parents), edges_a_batch),
            _CLAIM.format("edges"), _CREATE_EDGES, lambda *batch_rows: _edge_parameters(rows, node_ids, *batch_rows),
        )  # fmt: skip
        write(
            "retired concepts", blocks(begun["retired_loaded"], len(rows.retired_cuis), edges_a_batch),
            _CLAIM.format("retired"), _CREATE_RETIRED, lambda *batch_rows: {"rows": rows.retired_rows(*batch_rows)},
        )  # fmt: skip
        write(
            "codes", blocks(begun.get("codes_loaded", 0), len(rows.codes or ()), edges_a_batch),
            _CLAIM.format("codes"), _CREATE_CODES, lambda *batch_rows: {"rows": rows.code_rows(*batch_rows)},
        )  # fmt: skip
        _write_rows(connection, _MERGE_PAGES, rows.page_rows(), number)
        _write_rows(connection, _MERGE_FORMS, rows.form_rows(), number)
        _write_rows(connection, _MERGE_SPELLINGS, rows.spelling_rows(), number)
        verify_stored(connection, number, rows.properties())
        connection.write(lambda tx: tx.run(FINISH_RELEASE, release=number).consume())
    if switch:
        switch_to(connection, number)
    return stored_release(connection, number)


def verify_stored(connection: Neo4jConnection, number: int, properties: Mapping[str, Any]) -> None:
    """Read the release back.

    Raises:
        ReleaseMismatch: its digest, or the number of its codes, is not that of its properties.
    """
    digest = properties["digest"]
    actual = projected_sections(connection, number, with_names=False).meta["release"]["digest"]
    if actual != digest:
        raise ReleaseMismatch(
            f"release {number} read back has digest {actual[:12]}, and {digest[:12]} was written; readers keep the "
            f"release they had. Remove it with: cuihop neo4j releases remove {number}"
        )
    check_counts(connection, number, properties)


def _begun(connection: Neo4jConnection, rows: ReleaseRows) -> dict[str, Any]:
    """The node of the release: from an earlier load of the same content, or new."""
    counters = {"state": "loading", "concepts_loaded": 0, "edges_loaded": 0, "retired_loaded": 0, "codes_loaded": 0}

    def begin(tx: neo4j.ManagedTransaction) -> dict[str, Any]:
        row = tx.run(SAME_CONTENT, content=rows.content).single()
        if row is None:
            row = tx.run(_BEGIN_RELEASE, properties={**rows.properties(), **counters}).single(strict=True)
        return dict(row["release"])

    return connection.write(begin)


def _write_rows(connection: Neo4jConnection, text: LiteralString, rows: Iterator[list[Any]], number: int) -> None:
    """Write rows of a small table, or that a search reads; those of a load that was killed are merged with them."""

    def write(tx: neo4j.ManagedTransaction, batch_rows: list[list[Any]]) -> None:
        tx.run(text, release=number, rows=batch_rows).consume()

    while batch_rows := list(islice(rows, ROWS_A_BATCH)):
        connection.write(partial(write, batch_rows=batch_rows), timeout=_BATCH_SECONDS)


def _write_batches(
    connection: Neo4jConnection,
    number: int,
    progress: StepProgress | None,
    kind: str,
    batches: Iterable[tuple[int, int]],
    claim: LiteralString,
    create: LiteralString,
    parameters: Callable[[int, int], dict[str, Any]],
) -> None:
    """Write batches of rows; the next batch is prepared while the server writes one."""
    bounds = list(batches)
    with ThreadPoolExecutor(1) as pool:
        coming = [pool.submit(parameters, *batch_rows) for batch_rows in bounds[:1]]
        for following, (first, last) in enumerate(bounds, start=1):
            ready = coming.pop().result()
            coming = [pool.submit(parameters, *batch_rows) for batch_rows in bounds[following : following + 1]]

            def batch(tx: neo4j.ManagedTransaction, first: int = first, last: int = last, ready: Any = ready) -> None:
                row = tx.run(claim, release=number, first=first, last=last).single()
                if row is None or row["loaded"] not in {first, last}:
                    raise ReleaseMismatch(f"release {number} is being loaded or removed by somebody else")
                if row["loaded"] == last:  # written by an attempt whose answer was lost
                    return
                counters = tx.run(create, release=number, **ready).consume().counters
                created = counters.nodes_created + counters.relationships_created
                if created != last - first:
                    raise GraphError(f"{kind} {first:,} to {last:,}: the server made {created:,} of {last - first:,}")

            connection.write(batch, timeout=_BATCH_SECONDS)
            if progress is not None:
                progress(kind, last, bounds[-1][1])


def _edge_parameters(rows: ReleaseRows, node_ids: Int64, first: int, last: int) -> dict[str, Any]:
    used, numbers = np.unique(rows.sab_sets[first:last], return_inverse=True)
    return {
        "children": node_ids[rows.children[first:last]].tolist(),
        "parents": node_ids[rows.parents[first:last]].tolist(),
        "sab_sets": numbers.tolist(),
        "sab_set_members": [rows.sab_set_members[sabs] or None for sabs in used.tolist()],
    }
