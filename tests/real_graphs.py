"""Edges of real files, read by a few plain lines of their own, so that the loader is not its own witness."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from cuihop import SnapshotGraph
from cuihop.snapshot.file import Sections
from shared_data import shared


def rows(path: Path) -> Iterator[list[str]]:
    """The fields of each row of a gzipped file with ``|`` between them and at the end."""
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        for line in file:
            yield line.rstrip("\n").split("|")


@cache
def isa_edges(folder: str) -> frozenset[tuple[str, str]]:
    """(child, parent) of all isa and inverse_isa rows of an MRREL, self-loops left out."""
    edges = set()
    for row in rows(shared(f"{folder}/MRREL.RRF.gz")):
        if row[7] == "isa":
            edges.add((row[4], row[0]))
        elif row[7] == "inverse_isa":
            edges.add((row[0], row[4]))
    return frozenset((child, parent) for child, parent in edges if child != parent)


@cache
def parent_child_edges(folder: str) -> frozenset[tuple[str, str]]:
    """(child, parent) of all CHD and PAR rows of an MRREL, self-loops left out."""
    edges = set()
    for row in rows(shared(f"{folder}/MRREL.RRF.gz")):
        if row[3] == "CHD":
            edges.add((row[4], row[0]))
        elif row[3] == "PAR":
            edges.add((row[0], row[4]))
    return frozenset((child, parent) for child, parent in edges if child != parent)


def edges_of_rrf_open() -> SnapshotGraph:
    """Another graph at each call, of the isa edges of rrf_open."""
    return SnapshotGraph(_sections_of_rrf_open())


@cache
def _sections_of_rrf_open() -> Sections:
    return SnapshotGraph.of(isa_edges("rrf_open"), identifiers="cui").sections


@cache
def published_distances() -> tuple[tuple[str, str, int | None, int | None], ...]:
    """Pairs of rrf_open with their undirected and upward distances, as NetworkX found them."""
    with gzip.open(shared("rrf_open/pair_distances.tsv.gz"), "rt", encoding="utf-8") as file:
        next(file)
        fields = [line.rstrip("\n").split("\t") for line in file]
    return tuple((a, b, _hops(undirected), _hops(up)) for a, b, undirected, up in fields)


def _hops(text: str) -> int | None:
    return None if text == "-1" else int(text)


def semantic_network() -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """The direct isa edges between semantic types, and the closure that NLM publishes, both as type identifiers."""
    definitions = list(rows(shared("semnet/SRDEF.gz")))
    types = {row[2]: row[1] for row in definitions if row[0] == "STY"}
    isa = next(row[1] for row in definitions if row[0] == "RL" and row[2] == "isa")
    direct = {
        (types[row[0]], types[row[2]])
        for row in rows(shared("semnet/SRSTR.gz"))
        if row[1] == "isa" and row[0] in types and row[2] in types
    }
    closure = {
        (row[0], row[2]) for row in rows(shared("semnet/SRSTRE1.gz")) if row[1] == isa and row[0] in types.values()
    }
    return direct, closure
