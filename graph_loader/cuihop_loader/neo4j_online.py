"""Online load into a Neo4j server that keeps serving: batches over Bolt, counted in the transaction that writes them.

The release's node records how much of it is stored. Count and batch are committed together, so a load that was killed
at any point resumes there: nothing is lost or duplicated. Readers do not see the release until it is complete, read
back and switched to.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import Any, LiteralString

import neo4j
import numpy as np
import numpy.typing as npt

from cuihop.errors import GraphError, ReleaseMismatch
from cuihop.neo4j_graph.connection import Neo4jConnection
from cuihop.neo4j_graph.projection import projected_sections, stored_concepts
from cuihop.neo4j_graph.releases import StoredRelease, stored_release, switch_to
from cuihop.neo4j_graph.schema import install_schema
from cuihop.resources.progress import StepProgress
from cuihop.snapshot.file import Sections
from cuihop_loader import neo4j_cypher as cypher
from cuihop_loader.neo4j_rows import ReleaseRows, blocks

__all__ = ["CONCEPTS_A_BATCH", "EDGES_A_BATCH", "load_online", "verify_stored"]

CONCEPTS_A_BATCH = 10_000
EDGES_A_BATCH = 10_000
PAGES_A_BATCH = 500
_BATCH_SECONDS = 600.0


def _silent(what: str, done: int, total: int) -> None:
    pass


def load_online(
    sections: Sections,
    connection: Neo4jConnection,
    *,
    progress: StepProgress = _silent,
    switch: bool = True,
    concepts_a_batch: int = CONCEPTS_A_BATCH,
    edges_a_batch: int = EDGES_A_BATCH,
) -> StoredRelease:
    """Store a release, verify it, and switch readers to it.

    A stored release is not stored again; one that a load left unfinished is completed.

    Args:
        sections: of a snapshot.
        connection: to the server.
        progress: callback after each batch with the kind of rows, the rows stored and their total.
        switch: switch readers to it at the end.
        concepts_a_batch, edges_a_batch: rows of one transaction.

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
        _write_small_tables(connection, rows, number)
        write = partial(_write_batches, connection, number, progress)
        write(
            "concepts", begun["concepts_loaded"], len(rows.cuis), concepts_a_batch,
            cypher.CLAIM_CONCEPTS, cypher.CREATE_CONCEPTS, lambda *part: {"rows": rows.concept_rows(*part)},
        )  # fmt: skip
        places = stored_concepts(connection, number).places
        write(
            "edges", begun["edges_loaded"], len(rows.parents), edges_a_batch,
            cypher.CLAIM_EDGES, cypher.CREATE_EDGES, lambda *part: _edge_parameters(rows, places, *part),
        )  # fmt: skip
        write(
            "retired concepts", begun["retired_loaded"], len(rows.retired_cuis), edges_a_batch,
            cypher.CLAIM_RETIRED, cypher.CREATE_RETIRED, lambda *part: {"rows": rows.retired_rows(*part)},
        )  # fmt: skip
        _write_pages(connection, rows, number)
        verify_stored(connection, number, rows.release.digest)
        connection.write(lambda tx: tx.run(cypher.FINISH_RELEASE, release=number).consume())
    if switch:
        switch_to(connection, number)
    return stored_release(connection, number)


def verify_stored(connection: Neo4jConnection, number: int, digest: str) -> None:
    """Read the release back.

    Raises:
        ReleaseMismatch: its digest is not the given one.
    """
    found = projected_sections(connection, number, with_names=False).meta["release"]["digest"]
    if found != digest:
        raise ReleaseMismatch(
            f"release {number} read back has digest {found[:12]}, and {digest[:12]} was written; readers keep the "
            f"release they had. Remove it with: cuihop releases remove {number}"
        )


def _begun(connection: Neo4jConnection, rows: ReleaseRows) -> dict[str, Any]:
    """The node of the release: from an earlier load of the same content, or new."""
    counters = {"state": "loading", "concepts_loaded": 0, "edges_loaded": 0, "retired_loaded": 0}

    def begin(tx: neo4j.ManagedTransaction) -> dict[str, Any]:
        row = tx.run(cypher.SAME_CONTENT, content=rows.content).single()
        if row is None:
            row = tx.run(cypher.BEGIN_RELEASE, properties={**rows.properties(), **counters}).single(strict=True)
        return dict(row["release"])

    return connection.write(begin)


def _write_small_tables(connection: Neo4jConnection, rows: ReleaseRows, number: int) -> None:
    def write(tx: neo4j.ManagedTransaction) -> None:
        tx.run(cypher.MERGE_TYPES, release=number, rows=rows.type_rows()).consume()
        tx.run(cypher.MERGE_VOCABULARIES, release=number, rows=rows.vocabulary_rows()).consume()

    connection.write(write)


def _write_pages(connection: Neo4jConnection, rows: ReleaseRows, number: int) -> None:
    pages = rows.page_rows()
    while part := list(islice(pages, PAGES_A_BATCH)):
        connection.write(partial(_merge_pages, number=number, part=part), timeout=_BATCH_SECONDS)


def _merge_pages(tx: neo4j.ManagedTransaction, number: int, part: list[list[Any]]) -> None:
    tx.run(cypher.MERGE_PAGES, release=number, rows=part).consume()


def _write_batches(
    connection: Neo4jConnection,
    number: int,
    progress: StepProgress,
    what: str,
    done: int,
    total: int,
    size: int,
    claim: LiteralString,
    create: LiteralString,
    parameters: Callable[[int, int], dict[str, Any]],
) -> None:
    """Write rows ``done`` up to ``total``; the next batch is prepared while the server writes one."""
    parts = list(blocks(done, total, size))
    with ThreadPoolExecutor(1) as pool:
        coming = [pool.submit(parameters, *part) for part in parts[:1]]
        for following, (first, last) in enumerate(parts, start=1):
            ready = coming.pop().result()
            coming = [pool.submit(parameters, *part) for part in parts[following : following + 1]]

            def batch(tx: neo4j.ManagedTransaction, first: int = first, last: int = last, ready: Any = ready) -> None:
                row = tx.run(claim, release=number, first=first, last=last).single()
                if row is None or row["loaded"] not in {first, last}:
                    raise ReleaseMismatch(f"release {number} is being loaded or removed by somebody else")
                if row["loaded"] == last:  # written by an attempt whose answer was lost
                    return
                counters = tx.run(create, release=number, **ready).consume().counters
                created = counters.nodes_created + counters.relationships_created
                if created != last - first:
                    raise GraphError(f"{what} {first:,} to {last:,}: the server made {created:,} of {last - first:,}")

            connection.write(batch, timeout=_BATCH_SECONDS)
            progress(what, last, total)


def _edge_parameters(rows: ReleaseRows, places: npt.NDArray[np.int64], first: int, last: int) -> dict[str, Any]:
    children, parents, sab_sets, members = rows.edge_rows(first, last)
    return {
        "children": places[children].tolist(),
        "parents": places[parents].tolist(),
        "sab_sets": sab_sets,
        "sab_set_members": members,
    }
