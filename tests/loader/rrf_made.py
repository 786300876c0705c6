"""Small RRF files, row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from cuihop import SnapshotGraph
from cuihop.snapshot.concept_records import ConceptRecords
from cuihop.snapshot.string_table import IdentifierTable
from cuihop_loader import Loaded
from cuihop_loader.sources import LAYOUTS


def relation(
    cui1: str, rel: str, cui2: str, rela: str = "", *, sab: str = "SRC", suppress: str = "N", aui: str = "A1"
) -> str:
    """A row of MRREL: CUI2 is REL (and RELA) of CUI1."""
    return f"{cui1}|{aui}|AUI|{rel}|{cui2}|A2|AUI|{rela}|R1||{sab}|{sab}|||{suppress}||"


def isa(parent: str, child: str, **more: str) -> str:
    """Child isa parent, the parent written first."""
    return relation(parent, "CHD", child, "isa", **more)


def inverse_isa(child: str, parent: str, **more: str) -> str:
    """Parent inverse_isa child, the child written first."""
    return relation(child, "PAR", parent, "inverse_isa", **more)


def name(
    cui: str,
    text: str,
    *,
    lat: str = "ENG",
    ts: str = "P",
    stt: str = "PF",
    ispref: str = "Y",
    sab: str = "SRC",
    tty: str = "PT",
    suppress: str = "N",
) -> str:
    """A row of MRCONSO."""
    return f"{cui}|{lat}|{ts}|L1|{stt}|S1|{ispref}|A1||||{sab}|{tty}|X|{text}|0|{suppress}||"


def semantic_type(cui: str, tui: str, sty: str) -> str:
    """A row of MRSTY."""
    return f"{cui}|{tui}|A1.1|{sty}|AT1||"


def definition(cui: str, text: str, *, sab: str = "SRC", suppress: str = "N") -> str:
    """A row of MRDEF."""
    return f"{cui}|A1|AT1||{sab}|{text}|{suppress}||"


def retired(cui: str, rel: str, successor: str = "") -> str:
    """A row of MRCUI."""
    return f"{cui}|200601|{rel}|||{successor}|{'Y' if successor else ''}|"


def vocabulary(sab: str, version: str, imeta: str, current: str = "Y", *, lat: str = "ENG") -> str:
    """A row of MRSAB."""
    fields = [""] * 25
    fields[3], fields[6], fields[9], fields[19], fields[21] = sab, version, imeta, lat, current
    return "|".join(fields) + "|"


def coded(cui: str, sab: str, code: str, scui: str = "") -> str:
    return f"{cui}|ENG|P|L1|PF|S1|Y|A1||{scui}||{sab}|PT|{code}|text|0|N||"


def mapping(cui: str = "C0000009", sab: str = "SNOMEDCT_US", **fields: str) -> str:
    """A row of MRMAP; fields by the names of their columns."""
    row = dict.fromkeys(LAYOUTS["MRMAP"], "") | {"MAPSETCUI": cui, "MAPSETSAB": sab, "MAPID": "AT1", "REL": "RO"}
    return "".join(f"{value}|" for value in (row | fields).values())


def attribute(cui: str, name: str, value: str) -> str:
    """A row of MRSAT."""
    return f"{cui}|||A1|AUI|X|AT1||{name}|SRC|{value}|N||"


def written(folder: Path, files: Mapping[str, Sequence[str]], *, line_end: str = "\n") -> Path:
    """Write rows into files of the folder, e.g. ``{"MRREL": [...]}``."""
    folder.mkdir(exist_ok=True)
    for role, rows in files.items():
        text = "".join(row + line_end for row in rows)
        (folder / f"{role}.RRF").write_bytes(text.encode())
    return folder


def edges(loaded: Loaded) -> set[tuple[str, str]]:
    """The (child, parent) pairs of a loaded graph."""
    sections = loaded.sections
    cuis = _cuis(loaded)
    children = np.repeat(np.arange(len(cuis)), np.diff(sections["up_indptr"])).tolist()
    return {
        (cuis[child], cuis[parent]) for child, parent in zip(children, sections["up_indices"].tolist(), strict=True)
    }


def sabs_of_edges(loaded: Loaded) -> dict[tuple[str, str], tuple[str, ...]]:
    """The vocabularies that assert each edge, asked as a user would."""
    graph = SnapshotGraph(loaded.sections)
    found = {}
    for child, parent in edges(loaded):
        path = graph.path(child, parent, direction="up")
        assert path is not None
        assert path.hops == 1
        found[child, parent] = path.steps[0].sabs
    return found


def grades_of_names(loaded: Loaded) -> dict[tuple[str, str], int]:
    """The grade of each name, by concept and name."""
    return dict(zip(_names(loaded), loaded.sections["name_grades"].tolist(), strict=True)) if _names(loaded) else {}


def sabs_of_names(loaded: Loaded) -> dict[tuple[str, str], set[str]]:
    """The vocabularies of each name, by concept and name."""
    cuis = loaded.sections["cuis"]
    records = ConceptRecords(loaded.sections, IdentifierTable(cuis))
    return {key: set(records.name_sabs(row)) for row, key in enumerate(_names(loaded))}


def _names(loaded: Loaded) -> list[tuple[str, str]]:
    """Each concept and name, in the order of the names."""
    graph = SnapshotGraph(loaded.sections)
    found = graph.concepts(_cuis(loaded))
    return [(c.cui, text) for c in found for text in (c.name, *c.synonyms) if text is not None]


def _cuis(loaded: Loaded) -> list[str]:
    stored = loaded.sections["cuis"]
    if stored.dtype.kind == "u":
        return [int(entry).to_bytes(8, "big").rstrip(b"\0").decode() for entry in stored]
    return [entry.decode() for entry in stored.tolist()]


def concepts(loaded: Loaded) -> set[str]:
    """All identifiers of a loaded graph."""
    return set(_cuis(loaded))
