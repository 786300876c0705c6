"""A graph small enough to check by eye, with everything in it that goes wrong in practice.

The two distances of Wei et al. 2025 (section 3.2) hold in it. Which way the hops of the second go, the paper leaves
open: here brain stem and head meet in a concept above both. Identifiers from C9000000 on are invented.

::

    C0926510                    C0007226 cardiovascular system      C9000014
     ├─ C0006104 brain           └─ C0005847 blood vessels           ├─ C9000012 ── C9000011
     │   └─ C0006121 brain stem      ├─ C0042449 veins               └─ C9000013 ── C9000011
     └─ C0018670 head                └─ C0003842 arteries
                                         └─ C0003483 aorta          C9000001 ⇄ C9000002 ── C9000005
    C9000004 (no edge at all)
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np

from cuihop import SnapshotGraph
from cuihop.snapshot.file import Sections
from cuihop.snapshot.layout import MARK_SHIFT
from cuihop.snapshot.source_codes import CodeRows, code_sections
from cuihop.snapshot.string_table import StringTable, identifier_array
from cuihop.snapshot.writer import GraphTables, sections_of, tables_of_edges

EDGES = [
    ("C0006121", "C0006104"),
    ("C0006104", "C0926510"),
    ("C0018670", "C0926510"),
    ("C0042449", "C0005847"),
    ("C0003842", "C0005847"),
    ("C0003483", "C0003842"),
    ("C0005847", "C0007226"),
    ("C9000011", "C9000012"),
    ("C9000011", "C9000013"),
    ("C9000012", "C9000014"),
    ("C9000013", "C9000014"),
    ("C9000001", "C9000002"),
    ("C9000002", "C9000001"),
    ("C9000005", "C9000002"),
    ("C9000005", "C9000005"),  # a self-loop
]
ISOLATED = "C9000004"
NAMES = {
    "C0006121": ["Brain stem", "Brainstem", "Truncus encephali"],
    "C0006104": ["Brain", "Encephalon"],
    "C0018670": ["Head", "Caput"],
    "C0042449": ["Veins", "Vein"],
    "C0005847": ["Blood vessels", "Vessel, blood"],
    "C0003842": ["Arteries", "Artery"],
    "C0003483": ["Aorta"],
    "C0007226": ["Cardiovascular system"],
    "C9000011": ["Ménière's brain-like thing"],
}
RETIRED = [
    ("C9000901", "SY", "C0042449"),
    ("C9000902", "DEL", ""),
    ("C9000903", "RB", "C0005847"),
    ("C9000904", "SY", "C9000905"),
    ("C9000905", "SY", "C0005847"),
    ("C9000906", "SY", "C9999998"),
    ("C9000907", "SY", "C9000908"),
    ("C9000908", "SY", "C9000907"),
]
UNKNOWN = "C9999999"


def example_graph() -> SnapshotGraph:
    """The graph above."""
    return SnapshotGraph.of(EDGES, concepts=[ISOLATED], names=NAMES, retired=RETIRED, name="example", identifiers="cui")


@cache
def vessels() -> SnapshotGraph:
    """Veins below blood vessels, and the head apart from them."""
    return SnapshotGraph.of([("C0042449", "C0005847")], concepts=["C0018670"])


def sourced_graph() -> SnapshotGraph:
    """The graph above, with a grade and vocabularies of each name, as loaded files give them."""
    sections = example_graph().sections
    names = len(sections["name_offsets"]) - 1
    arrays = {name: sections[name] for name in sections} | {
        "name_grades": np.arange(names, dtype=np.uint32) + np.uint32(1 << 20),
        "name_sab_sets": np.arange(names, dtype=np.uint16) % np.uint16(2),
        "name_sab_set_indptr": np.array([0, 1, 3], dtype=np.int32),
        "name_sab_set_members": np.array([0, 0, 1], dtype=np.uint16),
    }
    return SnapshotGraph(Sections({**sections.meta, "name_sabs": ["MSH", "NCI"]}, arrays))


def sourced_edges_graph(
    edges: Mapping[tuple[str, str], Collection[str]], *, concepts: Iterable[str] = (), name: str = "in memory"
) -> SnapshotGraph:
    """A graph of CUIs from (child, parent) pairs, each with the vocabularies that assert it."""
    distinct = {pair: tuple(sorted(sabs)) for pair, sabs in sorted(edges.items()) if pair[0] != pair[1]}
    nodes = sorted({cui for pair in edges for cui in pair}.union(concepts))
    members = sorted(set(distinct.values()))
    ends = np.array([[nodes.index(cui) for cui in pair] for pair in distinct], dtype=np.int32).reshape(-1, 2)
    tables = GraphTables(
        cuis=identifier_array(nodes),
        children=np.ascontiguousarray(ends[:, 0]),
        parents=np.ascontiguousarray(ends[:, 1]),
        sab_sets=np.array([members.index(sabs) for sabs in distinct.values()], dtype=np.uint16),
        sab_set_members=members,
    )
    return SnapshotGraph(sections_of(tables, name=name, relations=["isa"], identifiers="cui"))


def asserted_graph() -> SnapshotGraph:
    """C0000001 and C0000003 are children of C0000002, each said by others; C0000004 stands alone."""
    edges = {("C0000001", "C0000002"): ["MSH"], ("C0000003", "C0000002"): ["NCI", "SNOMEDCT_US"]}
    return sourced_edges_graph(edges, concepts=["C0000004"], name="asserted")


def code_rows(rows: Sequence[tuple[int, int, str, str, str]]) -> CodeRows:
    """Codes of concepts: number of a concept, grade, vocabulary, code and concept of the vocabulary."""
    sab_names = ["SNOMEDCT_US", "MSH", "LOCAL"]
    owners, grades, sabs, codes, concepts = zip(*rows, strict=True)
    return CodeRows(
        np.array(owners, dtype=np.int32), np.array(grades, dtype=np.uint32),
        np.array([sab_names.index(sab) for sab in sabs], dtype=np.uint16), sab_names,
        StringTable.of(codes), StringTable.of(concepts),
    )  # fmt: skip


def coded_graph(*more: tuple[int, int, str, str, str]) -> SnapshotGraph:
    """Brain stem and brain with codes of vocabularies; a code of both, of which that of the brain is obsolete.

    ``more``: number of a concept, grade, vocabulary, code and concept of the vocabulary, as in the rows.
    """
    rows = [
        (0, 1, "MSH", "D001921", "M0002815"),
        (0, 2 << MARK_SHIFT, "LOCAL", "x", ""),
        (1, 0, "SNOMEDCT_US", "15926001", ""),
        (1, 3, "MSH", "D001933", "M0002901"),
        (1, 3, "LOCAL", "x", ""),
        (2, 1 << MARK_SHIFT, "LOCAL", "old", ""),
        *more,
    ]
    tables = tables_of_edges(
        [("C0006121", "C0006104")], concepts=["C0018670"], names={"C0006121": "Brain stem"},
        retired=[("C9000901", "SY", "C0006121"), ("C9000903", "RB", "C0006104")], identifiers="cui",
    )  # fmt: skip
    tables = replace(tables, codes=partial(code_sections, code_rows(rows), len(tables.cuis)))
    return SnapshotGraph(sections_of(tables, name="coded", relations=["isa"], identifiers="cui"))
