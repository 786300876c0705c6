"""A release for the explorer's tests: the graph of `example_graph`, a hub, semantic types, hostile names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cuihop import SnapshotGraph
from cuihop_loader import LoadOptions, load
from example_graph import EDGES, NAMES, RETIRED
from loader.rrf_made import isa, name, retired, semantic_type, written

HUB, CHILDREN = "C0012634", 1_234
HOSTILE, HOSTILE_NAME = "C9000666", '<img src=x onerror="window.hacked = 1"> & <script>window.hacked = 2</script>'
BY_NCI = "C9000012"
"""NCI asserts its edges, and MSH all others."""
FORMULA, FORMULA_NAME = "C9000667", '=HYPERLINK("http://x")'


def explorer_graph(folder: Path, more_names: Mapping[str, list[str]] | None = None) -> SnapshotGraph:
    """The graph, loaded from RRF files that are written into the folder; with names of further concepts."""
    family = [f"C81{number:05}" for number in range(CHILDREN)]
    edges = [*EDGES, *((child, HUB) for child in family), (HOSTILE, "C0018670"), (FORMULA, HOSTILE), (HUB, "C0926510")]
    names = NAMES | {HUB: ["Disease"], HOSTILE: [HOSTILE_NAME], FORMULA: [FORMULA_NAME], "C0926510": ["Body part"]}
    names |= {cui: [f"disease number {place}"] for place, cui in enumerate(family)}
    names |= more_names or {}
    files = {
        "MRREL": [
            isa(parent, child, sab="NCI" if BY_NCI in (child, parent) else "MSH")
            for child, parent in edges
            if child != parent
        ],
        "MRCONSO": [
            name(cui, text, ts="P" if place == 0 else "S")
            for cui, texts in names.items()
            for place, text in enumerate(texts)
        ],
        "MRSTY": [semantic_type("C0006121", "T023", "Body Part, Organ, or Organ Component")],
        "MRCUI": [retired(old, relation, successor) for old, relation, successor in RETIRED],
    }
    return SnapshotGraph(load([written(folder, files)], LoadOptions(release="2026AB")).sections)
