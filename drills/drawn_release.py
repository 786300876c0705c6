"""A release drawn at random and written as RRF files, without the loader: its content is known before it is read."""

from __future__ import annotations

import gzip
import random
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["DrawnRelease", "drawn_release"]

_MRREL = [
    "CUI1",
    "AUI1",
    "STYPE1",
    "REL",
    "CUI2",
    "AUI2",
    "STYPE2",
    "RELA",
    "RUI",
    "SRUI",
    "SAB",
    "SL",
    "RG",
    "DIR",
    "SUPPRESS",
    "CVF",
]
_MRCONSO = [
    "CUI",
    "LAT",
    "TS",
    "LUI",
    "STT",
    "SUI",
    "ISPREF",
    "AUI",
    "SAUI",
    "SCUI",
    "SDUI",
    "SAB",
    "TTY",
    "CODE",
    "STR",
    "SRL",
    "SUPPRESS",
    "CVF",
]
_MRCUI = ["CUI1", "VER", "REL", "RELA", "MAPREASON", "CUI2", "MAPIN"]
_SABS = ("MSH", "NCI", "SNOMEDCT_US", "FMA")


def _row(columns: list[str], **values: str) -> str:
    return "|".join(values.get(column, "") for column in columns) + "|\n"


@dataclass
class DrawnRelease:
    """Concepts, is_a edges with the vocabularies that assert them, and retired identifiers.

    Attributes:
        edges: (child, parent) → vocabularies.
        merged: retired identifier → its successor.
    """

    nodes: list[str]
    edges: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    merged: dict[str, str] = field(default_factory=dict)

    def hops(self, direction: str, sabs: set[str] | None = None) -> set[tuple[str, str]]:
        """The hops of direction any, up or down, of the edges that one of these vocabularies asserts."""
        up = {edge for edge, of_edge in self.edges.items() if sabs is None or sabs & of_edge}
        down = {(parent, child) for child, parent in up}
        return {"up": up, "down": down, "any": up | down}[direction]

    def write(self, folder: Path, rng: random.Random) -> Path:
        """The release as files: rows in any order, some edges written both ways or twice, among rows of other kinds."""
        folder.mkdir()
        relations: list[str] = []
        for (child, parent), sabs in self.edges.items():
            for sab in sorted(sabs):
                ways = rng.choice(("isa", "inverse_isa", "both", "twice"))
                if ways != "inverse_isa":
                    relations += [self._isa(parent, child, sab)] * (2 if ways == "twice" else 1)
                if ways in ("inverse_isa", "both"):
                    relations.append(self._inverse_isa(child, parent, sab))
        for _ in range(rng.randrange(2 * len(self.nodes))):
            relations.append(self._other(rng))
        rng.shuffle(relations)
        names = [
            _row(_MRCONSO, CUI=cui, LAT="ENG", TS="P", LUI="L1", STT="PF", SUI="S1", ISPREF="Y", AUI="A1",
                 SAB=rng.choice(_SABS), TTY="PT", CODE="X", STR=f"name of {cui}", SRL="0", SUPPRESS="N")
            for cui in self.nodes
        ]  # fmt: skip
        rng.shuffle(names)
        retired = [
            _row(_MRCUI, CUI1=old, VER="2024AA", REL="SY", CUI2=new, MAPIN="Y") for old, new in self.merged.items()
        ]
        for name, rows in (("MRREL", relations), ("MRCONSO", names), ("MRCUI", retired)):
            text = "".join(rows).encode()
            if not rows:
                continue
            if rng.random() < 0.3:
                (folder / f"{name}.RRF.gz").write_bytes(gzip.compress(text, 1))
            else:
                (folder / f"{name}.RRF").write_bytes(text)
        return folder

    @staticmethod
    def _isa(parent: str, child: str, sab: str) -> str:
        return _row(_MRREL, CUI1=parent, STYPE1="AUI", REL="CHD", CUI2=child, STYPE2="AUI", RELA="isa", SAB=sab, SL=sab,
                    SUPPRESS="N")  # fmt: skip

    @staticmethod
    def _inverse_isa(child: str, parent: str, sab: str) -> str:
        return _row(_MRREL, CUI1=child, STYPE1="AUI", REL="PAR", CUI2=parent, STYPE2="AUI", RELA="inverse_isa", SAB=sab,
                    SL=sab, SUPPRESS="N")  # fmt: skip

    def _other(self, rng: random.Random) -> str:
        """A row that asserts no is_a edge: another relation, a suppressed one, or a concept above itself."""
        one, other = rng.choice(self.nodes), rng.choice(self.nodes)
        rel, rela, suppress = rng.choice(
            (("RO", "part_of", "N"), ("PAR", "", "N"), ("CHD", "isa", "O"), ("CHD", "isa", "Y"), ("SIB", "", "N"),
             ("RB", "mapped_to", "N"), ("PAR", "inverse_isa", "E"), ("CHD", "branch_of", "N"))
        )  # fmt: skip
        if rng.random() < 0.1:
            other, rel, rela, suppress = one, "CHD", "isa", "N"
        return _row(_MRREL, CUI1=one, STYPE1="CUI", REL=rel, CUI2=other, STYPE2="CUI", RELA=rela, SAB=rng.choice(_SABS),
                    SL="X", SUPPRESS=suppress)  # fmt: skip


def drawn_release(rng: random.Random, most: int = 40) -> DrawnRelease:
    """Up to this many concepts: trees with further parents, cycles, hubs, components, concepts without an edge."""
    count = rng.randint(2, most)
    numbers = rng.sample(range(1, 10_000_000), count + 3)
    nodes = [f"C{number:07d}" for number in numbers[:count]]
    release = DrawnRelease(nodes)
    shape = rng.choice(("tree", "dense", "any", "hub", "forest"))
    for place in range(1, count):
        parents = _parents(shape, place, count, rng)
        for parent in parents:
            if parent != place:
                sabs = release.edges.setdefault((nodes[place], nodes[parent]), set())
                sabs.update(rng.sample(_SABS, rng.choice((1, 1, 1, 2))))
    if rng.random() < 0.3:  # a cycle
        for low, high in list(release.edges)[: rng.randint(1, 3)]:
            release.edges.setdefault((high, low), set()).add("MSH")
    if not release.edges:
        release.edges[nodes[0], nodes[1]] = {"MSH"}
    release.merged = {f"C{number:07d}": rng.choice(nodes) for number in numbers[count:][: rng.randrange(4)]}
    return release


def _parents(shape: str, place: int, count: int, rng: random.Random) -> list[int]:
    """Parents of a concept, by their places."""
    if shape == "any":
        return [rng.randrange(count) for _ in range(rng.randrange(3))]
    if shape == "hub" and rng.random() < 0.7:
        return [0]
    if shape == "forest" and rng.random() < 0.3:
        return []
    number = 3 if shape == "dense" else 1 + (shape == "tree" and rng.random() < 0.3)
    return [rng.randrange(place) for _ in range(number)]
