"""A graph as NetworkX and pandas know one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import numpy as np

from cuihop.errors import InputError
from cuihop.graph import ConceptGraph, resolved
from cuihop.snapshot.file import Sections
from cuihop.snapshot.identifier_table import IdentifierTable
from cuihop.snapshot.string_table import StringTable

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

__all__ = ["GraphFrames", "HoldsSections", "to_networkx", "to_pandas"]

Edge = tuple[str, str, tuple[str, ...]]


@runtime_checkable
class HoldsSections(Protocol):
    """A graph that can tell all it holds: the embedded snapshot and the Neo4j database can, a remote service cannot."""

    @property
    def sections(self) -> Sections:
        """The arrays of a snapshot."""


class GraphFrames(NamedTuple):
    """A graph as two tables.

    Attributes:
        concepts: columns ``cui``, ``name``; one row a concept, ascending.
        edges: columns ``child``, ``parent``, ``sabs``; one row an is_a edge, ascending. ``sabs`` joins the
            vocabularies that assert it with ``;``.
    """

    concepts: pd.DataFrame
    edges: pd.DataFrame


def to_networkx(graph: ConceptGraph, *, cuis: Sequence[str] | None = None) -> nx.DiGraph[str]:
    """The graph, or the part of it between some concepts; edges lead from child to parent.

    Nodes carry ``name``, edges ``sabs``; ``graph.graph`` says ``release`` and ``digest``.

    Args:
        graph: any graph.
        cuis: only these concepts and the edges among them; needed where the graph cannot tell all it holds.

    Raises:
        InputError: all is wanted of a graph that cannot tell it.
        InvalidCui, ConceptNotFound, ConceptRetired: as `ConceptGraph.names`.
    """
    import networkx as nx

    concepts, names, edges = _content(graph, cuis)
    made: nx.DiGraph[str] = nx.DiGraph(release=graph.release.name, digest=graph.release.digest)
    made.add_nodes_from((cui, {"name": name}) for cui, name in zip(concepts, names, strict=True))
    made.add_edges_from((child, parent, {"sabs": sabs}) for child, parent, sabs in edges)
    return made


def to_pandas(graph: ConceptGraph, *, cuis: Sequence[str] | None = None) -> GraphFrames:
    """The graph, or the part of it between some concepts, as two tables: see `to_networkx`."""
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
            "this graph cannot tell all it holds", column="cuis", advice="Name the concepts: to_networkx(graph, cuis=…)"
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
    return concepts, _all_names(sections), edges


def _all_names(sections: Sections) -> list[str | None]:
    strings = StringTable(sections["name_offsets"], sections["name_blob"])
    indptr = sections["name_indptr"].tolist()
    return [strings[first] if first < last else None for first, last in pairwise(indptr)]


def _edges_among(graph: ConceptGraph, concepts: list[str]) -> Iterable[Edge]:
    within = set(concepts)
    for child, hood in zip(concepts, graph.neighbours(concepts, hops=1, direction="up"), strict=True):
        for near in hood:
            if near.cui in within:
                path = graph.path(child, near.cui, direction="up", max_hops=1)
                yield child, near.cui, () if path is None else path.steps[0].sabs
