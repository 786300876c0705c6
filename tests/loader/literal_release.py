"""Literal reading of a release: one line after the other, into sets and dictionaries."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

CUI = re.compile(r"C[0-9]{7}")


@dataclass
class NameSource:
    """Grade of a name, as a tuple that sorts so, and its vocabularies."""

    grade: tuple[object, ...]
    sabs: set[str]


@dataclass
class LiteralRelease:
    edges: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    both_ways: int = 0
    loops: set[str] = field(default_factory=set)
    concepts: set[str] = field(default_factory=set)
    names: dict[str, list[str]] = field(default_factory=dict)
    sources: dict[tuple[str, str], NameSource] = field(default_factory=dict)
    types: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    retired: set[tuple[str, str, str]] = field(default_factory=set)


def read(
    files: dict[str, Sequence[str]],
    *,
    relations: Sequence[str] = ("isa",),
    identifiers: str = "cui",
    include_suppressed: bool = False,
    include_sabs: Sequence[str] = (),
    exclude_sabs: Sequence[str] = (),
    languages: Sequence[str] = ("ENG",),
    synonyms: bool = True,
) -> LiteralRelease:
    answer = LiteralRelease()

    def exists(*cuis: str) -> bool:
        return identifiers == "any" or all(CUI.fullmatch(cui) for cui in cuis)

    ways: dict[tuple[str, str], set[str]] = {}
    for row in files.get("MRREL", ()):
        cui1, _, _, rel, cui2, _, _, rela, _, _, sab, _, _, _, suppress, _ = row.split("|")[:-1]
        if suppress != "N" and not include_suppressed:
            continue
        if (include_sabs and sab not in include_sabs) or sab in exclude_sabs or not exists(cui1, cui2):
            continue
        second_is_child = (
            ("isa" in relations and rela == "isa")
            or ("par-chd" in relations and rel == "CHD")
            or ("rb-rn" in relations and rel == "RN")
        )
        first_is_child = (
            ("isa" in relations and rela == "inverse_isa")
            or ("par-chd" in relations and rel == "PAR")
            or ("rb-rn" in relations and rel == "RB")
        )
        for says, child, parent, way in ((second_is_child, cui2, cui1, "down"), (first_is_child, cui1, cui2, "up")):
            if says and child == parent:
                answer.loops.add(child)
            elif says:
                answer.edges.setdefault((child, parent), set()).add(sab)
                ways.setdefault((child, parent), set()).add(way)
    answer.both_ways = sum(len(way) == 2 for way in ways.values())
    answer.concepts = {cui for edge in answer.edges for cui in edge} | answer.loops

    ranks = {}
    for row in files.get("MRRANK", ()):
        rank, sab, tty, suppress = row.split("|")[:-1]
        ranks[sab, tty, suppress] = int(rank)
    graded: dict[str, list[tuple[tuple[object, ...], str, bool, str]]] = {}
    for row in files.get("MRCONSO", ()):
        cui, lat, ts, _, stt, _, ispref, _, _, _, _, sab, tty, _, text, _, suppress, _ = row.split("|")[:-1]
        if not exists(cui):
            continue
        answer.concepts.add(cui)
        if lat not in languages or not text:
            continue
        hidden = suppress != "N" and not include_suppressed
        grade = (
            hidden, languages.index(lat), -ranks.get((sab, tty, suppress), 0), ts != "P", stt != "PF", ispref != "Y",
        )  # fmt: skip
        graded.setdefault(cui, []).append((grade, text, suppress != "N", sab))
    for cui, rows in graded.items():
        rows.sort(key=lambda row: row[0])
        usable = [row for row in rows if not row[0][0]] or rows[:1]
        usable = usable if synonyms else usable[:1]
        answer.names[cui] = list(dict.fromkeys(text for _, text, _, _ in usable))
        for text in answer.names[cui]:
            same = [row for row in usable if row[1] == text]
            suppressed = all(row[2] for row in same)
            best = next(row for row in same if row[2] == suppressed)
            answer.sources[cui, text] = NameSource((suppressed, *best[0][1:]), {row[3] for row in same})

    for row in files.get("MRSTY", ()):
        cui, tui, _, sty, _, _ = row.split("|")[:-1]
        if cui in answer.concepts:
            answer.types.setdefault(cui, []).append((tui, sty))
    for cui, types in answer.types.items():
        answer.types[cui] = sorted(set(types))

    for row in files.get("MRCUI", ()):
        old, _, rel, _, _, new, _ = row.split("|")[:-1]
        if rel in ("SY", "RB", "RN", "RO", "DEL") and exists(old):
            answer.retired.add((old, rel, new))
    for row in files.get("MERGEDCUI", ()):
        old, new = row.split("|")[:-1]
        if exists(old):
            answer.retired.add((old, "SY", new))
    for row in files.get("DELETEDCUI", ()):
        old, _ = row.split("|")[:-1]
        if exists(old):
            answer.retired.add((old, "DEL", ""))
    answer.retired = {row for row in answer.retired if row[0] not in answer.concepts}
    return answer
