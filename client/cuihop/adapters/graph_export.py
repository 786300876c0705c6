"""Export of a graph to NetworkX, pandas and KGX, and of its codes to SSSOM."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, repeat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import numpy as np

from cuihop.errors import InputError
from cuihop.files.written_files import replaced_file
from cuihop.graph import ConceptGraph, resolved
from cuihop.resources.optional_packages import installed_by
from cuihop.snapshot.file import Sections
from cuihop.snapshot.string_table import IdentifierTable, StringTable

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

__all__ = ["GraphFrames", "HoldsSections", "to_kgx", "to_networkx", "to_pandas", "to_sssom"]

_CUI = re.compile(r"C[0-9]{7}")
_NODE_COLUMNS = ("id", "category", "name")
_EDGE_COLUMNS = ("subject", "predicate", "object", "knowledge_source", "knowledge_level", "agent_type")
_MAPPING_COLUMNS = (
    "subject_id", "subject_source", "predicate_id", "object_id", "object_label", "mapping_justification",
)  # fmt: skip
_UTS = "https://uts-ws.nlm.nih.gov/rest/content/current"
_AT_ONCE = 50_000

Edge = tuple[str, str, tuple[str, ...]]


@runtime_checkable
class HoldsSections(Protocol):
    """A graph whose whole content can be read: an embedded snapshot or a Neo4j database, but no remote service."""

    @property
    def sections(self) -> Sections:
        """The arrays of a snapshot."""


class GraphFrames(NamedTuple):
    """A graph as two tables.

    Attributes:
        concepts: columns ``cui``, ``name``; one row for each concept, ascending.
        edges: columns ``child``, ``parent``, ``sabs``; one row for each is_a edge, ascending. ``sabs`` joins the
            vocabularies that assert it with ``;``.
    """

    concepts: pd.DataFrame
    edges: pd.DataFrame


def to_networkx(graph: ConceptGraph, *, cuis: Sequence[str] | None = None) -> nx.DiGraph[str]:
    """The graph, or its subgraph of some concepts, as a NetworkX graph; edges lead from child to parent.

    Nodes have the attribute ``name``, edges ``sabs``, the graph ``release`` and ``digest``.

    Args:
        graph: any graph.
        cuis: only these concepts and the edges among them; required for a remote service.

    Raises:
        InputError: ``cuis`` is missing for a graph whose whole content cannot be read.
        InvalidCui, ConceptNotFound, ConceptRetired: as `ConceptGraph.names`.
        ModuleNotFoundError: NetworkX is not installed; the message names the extra.
    """
    with installed_by("cuihop[graphs]"):
        import networkx as nx

    concepts, names, edges = _content(graph, cuis)
    exported: nx.DiGraph[str] = nx.DiGraph(release=graph.release.name, digest=graph.release.digest)
    exported.add_nodes_from((cui, {"name": name}) for cui, name in zip(concepts, names, strict=True))
    exported.add_edges_from((child, parent, {"sabs": sabs}) for child, parent, sabs in edges)
    return exported


def to_pandas(graph: ConceptGraph, *, cuis: Sequence[str] | None = None) -> GraphFrames:
    """The graph, or its subgraph of some concepts, as two tables: see `to_networkx`."""
    with installed_by("cuihop[graphs]"):
        import pandas as pd

    concepts, names, edges = _content(graph, cuis)
    rows = [(child, parent, ";".join(sabs)) for child, parent, sabs in edges]
    return GraphFrames(
        pd.DataFrame({"cui": concepts, "name": names}), pd.DataFrame(rows, columns=["child", "parent", "sabs"])
    )


def to_kgx(graph: ConceptGraph, nodes: Path, edges: Path, *, cuis: Sequence[str] | None = None) -> tuple[int, int]:
    """Write the graph, or its subgraph of some concepts, as the two TSV files of KGX; return their numbers of rows.

    A CUI becomes the CURIE ``UMLS:C0006121``; other identifiers stay as they are. The category of each node is
    ``biolink:NamedThing``. An edge leads from child to parent, by ``biolink:subclass_of``, and has a row for each
    vocabulary that asserts it, which is its ``knowledge_source``.

    Args:
        graph, cuis: as in `to_networkx`. nodes, edges: the files.

    Raises:
        InputError, InvalidCui, ConceptNotFound, ConceptRetired: as `to_networkx`.
        OutputError: a file could not be written.
    """
    concepts, names, pairs = _content(graph, cuis)
    rows = (
        (_curie(child), "biolink:subclass_of", _curie(parent), sab, "knowledge_assertion", "not_provided")
        for child, parent, sabs in pairs
        for sab in sabs or ("",)
    )
    of_nodes = zip(map(_curie, concepts), repeat("biolink:NamedThing"), names, strict=False)
    return _write_rows(nodes, _NODE_COLUMNS, of_nodes), _write_rows(edges, _EDGE_COLUMNS, rows)


def to_sssom(graph: ConceptGraph, path: Path, *, sabs: Sequence[str] = (), cuis: Sequence[str] | None = None) -> int:
    """Write the codes of concepts as SSSOM: mappings from codes to concepts; return their number.

    The predicate is ``skos:closeMatch``. ``skos:exactMatch`` is transitive: two codes of one concept would become exact
    matches of each other, and two concepts of one code, which no vocabulary has stated. Suppressed and obsolete codes
    are left out.

    Args:
        graph: has codes. path: the file. sabs: of these vocabularies only. cuis: only these concepts.

    Raises:
        InputError: the graph cannot be read as a whole, and ``cuis`` is missing; or it has no codes.
        OutputError: the file could not be written.
    """
    concepts = _content(graph, cuis)[0]
    used = sorted({str(row[1]) for row in _codes(graph, concepts, sabs)})
    prefixes = {"UMLS": f"{_UTS}/CUI/", **{sab: f"{_UTS}/source/{sab}/" for sab in used}}
    release = graph.release
    facts = {
        "mapping_set_id": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, ' '.join((release.digest, *used)))}",
        "mapping_set_description": f"Codes of the concepts of {release.name}, as MRCONSO states them",
        "license": "https://w3id.org/sssom/license/unspecified",
        "mapping_tool": "cuihop",
        "object_source_version": release.name,
    }
    head = ["curie_map:", *(f"  {prefix}: {json.dumps(uri)}" for prefix, uri in prefixes.items())]
    head += [f"{name}: {json.dumps(text, ensure_ascii=False)}" for name, text in facts.items()]
    return _write_rows(path, _MAPPING_COLUMNS, _codes(graph, concepts, sabs), head)


def _codes(graph: ConceptGraph, concepts: Sequence[str], sabs: Sequence[str]) -> Iterator[tuple[str | None, ...]]:
    """Rows of `_MAPPING_COLUMNS`."""
    for first in range(0, len(concepts), _AT_ONCE):
        some = concepts[first : first + _AT_ONCE]
        for lookup, name in zip(graph.codes(some, sabs=sabs), graph.names(some), strict=True):
            for code in lookup.codes:
                if code.mark == "active":
                    yield (
                        f"{code.sab}:{code.code}", code.sab, "skos:closeMatch", _curie(code.cui), name,
                        "semapv:UnspecifiedMatching",
                    )  # fmt: skip


def _curie(identifier: str) -> str:
    return f"UMLS:{identifier}" if _CUI.fullmatch(identifier) else identifier


def _write_rows(
    path: Path, columns: Sequence[str], rows: Iterable[Sequence[str | None]], head: Iterable[str] = ()
) -> int:
    """Write TSV, with comments above its header; return the number of rows. White space in a field is one blank."""
    count = 0
    with replaced_file(path) as file:
        file.writelines(f"#{line}\n".encode() for line in head)
        file.write(("\t".join(columns) + "\n").encode())
        for row in rows:
            file.write(("\t".join(" ".join((text or "").split()) for text in row) + "\n").encode())
            count += 1
    return count


def _content(graph: ConceptGraph, cuis: Sequence[str] | None) -> tuple[list[str], list[str | None], Iterable[Edge]]:
    if cuis is not None:
        concepts = sorted(set(resolved(graph.resolve(cuis), graph.release)))
        return concepts, graph.names(concepts), _edges_among(graph, concepts)
    if not isinstance(graph, HoldsSections):
        raise InputError(
            "this graph cannot be read as a whole",
            column="cuis",
            advice="Name the concepts: to_networkx(graph, cuis=…)",
        )
    sections = graph.sections
    table = IdentifierTable(sections["cuis"])
    concepts = table.at(np.arange(len(table)))
    children = np.repeat(np.arange(len(table)), np.diff(sections["up_indptr"])).tolist()
    members = [tuple(sabs) for sabs in sections.meta["sab_sets"]]
    edges = (
        (concepts[child], concepts[parent], members[sabs])
        for child, parent, sabs in zip(
            children, sections["up_indices"].tolist(), sections["up_sab_sets"].tolist(), strict=True
        )
    )
    strings = StringTable.stored(sections, "name")
    bounds = pairwise(sections["name_indptr"].tolist())
    return concepts, [strings[first] if first < last else None for first, last in bounds], edges


def _edges_among(graph: ConceptGraph, concepts: list[str]) -> Iterable[Edge]:
    within = set(concepts)
    for child, hood in zip(concepts, graph.neighbours(concepts, hops=1, direction="up"), strict=True):
        for near in hood:
            if near.cui in within:
                path = graph.path(child, near.cui, direction="up", max_hops=1)
                yield child, near.cui, () if path is None else path.steps[0].sabs
