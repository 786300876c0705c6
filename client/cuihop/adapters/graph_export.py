"""Export of a graph to NetworkX and pandas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import numpy as np

from cuihop.errors import InputError
from cuihop.graph import ConceptGraph, resolved
from cuihop.resources.optional_packages import installed_by
from cuihop.snapshot.file import Sections
from cuihop.snapshot.string_table import IdentifierTable, StringTable

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

__all__ = ["GraphFrames", "HoldsSections", "to_networkx", "to_pandas"]

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
    strings = StringTable(sections["name_offsets"], sections["name_blob"])
    bounds = pairwise(sections["name_indptr"].tolist())
    return concepts, [strings[first] if first < last else None for first, last in bounds], edges


def _edges_among(graph: ConceptGraph, concepts: list[str]) -> Iterable[Edge]:
    within = set(concepts)
    for child, hood in zip(concepts, graph.neighbours(concepts, hops=1, direction="up"), strict=True):
        for near in hood:
            if near.cui in within:
                path = graph.path(child, near.cui, direction="up", max_hops=1)
                yield child, near.cui, () if path is None else path.steps[0].sabs
