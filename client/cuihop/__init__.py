"""cuihop: hops between UMLS concepts, and the retrieval measures built on them.

>>> import cuihop
>>> graph = cuihop.SnapshotGraph.of([("C0042449", "C0005847")])
>>> graph.distance("C0042449", "C0005847")
1
"""

from cuihop.connection import connect
from cuihop.errors import CuihopError
from cuihop.graph import ConceptGraph, Direction, Release
from cuihop.identifiers import concept_set
from cuihop.snapshot import SnapshotGraph

__all__ = [
    "ConceptGraph",
    "CuihopError",
    "Direction",
    "Release",
    "SnapshotGraph",
    "concept_set",
    "connect",
]

__version__ = "0.1.0.dev0"
