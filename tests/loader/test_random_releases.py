"""Random releases: written, loaded, and compared with the plainest reading of the same rows."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop import SnapshotGraph
from cuihop.snapshot.layout import SUPPRESSED_NAME
from cuihop_loader import LoadOptions, concept_names, load, row_scanner
from loader import literal_release
from loader.rrf_made import (
    concepts,
    edges,
    grades_of_names,
    isa,
    name,
    relation,
    retired,
    sabs_of_edges,
    sabs_of_names,
    semantic_type,
    written,
)

CUIS = st.sampled_from(
    [
        "C0000000",
        "C0000001",
        "C0000002",
        "C0000003",
        "C9999999",
        "C0000017",
        "CL12345",
        "CL999999",
        "HP:0000001",
        "C123",
    ]
)
SABS = st.sampled_from(["MSH", "SNOMEDCT_US", "NCI", "X"])
RELATIONS = st.builds(
    relation,
    CUIS,
    st.sampled_from(["CHD", "PAR", "RN", "RB", "RO", "SIB", "", "CH", "RX"]),
    CUIS,
    st.sampled_from(["isa", "inverse_isa", "", "part_of", "isa_", "inverse_is_", "is_inverse_", "ISA"]),
    sab=SABS,
    suppress=st.sampled_from(["N", "N", "N", "O", "Y", "E", ""]),
    aui=st.sampled_from(["", "A1"]),
)
TEXTS = st.sampled_from(["Heart", "heart", 'a "quoted', "Sjögren", "", "βeta 🫀", "a\rb", "Herz", "cœur", "  "])
NAMES = st.builds(
    name,
    CUIS,
    TEXTS,
    lat=st.sampled_from(["ENG", "ENG", "FRE", "GER"]),
    ts=st.sampled_from("PS"),
    stt=st.sampled_from(["PF", "VO", "P"]),
    ispref=st.sampled_from("YN"),
    sab=SABS,
    tty=st.sampled_from(["PT", "SY"]),
    suppress=st.sampled_from("NNNOYE"),
)
RANKS = st.lists(
    st.builds(
        "{:04d}|{}|{}|{}|".format, st.integers(0, 9), SABS, st.sampled_from(["PT", "SY"]), st.sampled_from("NOYE")
    ),
    min_size=1,
    max_size=12,
)
TYPES = st.builds(semantic_type, CUIS, st.sampled_from(["T001", "T047"]), st.sampled_from(["Disease", "Organ"]))
SUCCESSORS = st.one_of(
    st.builds(retired, CUIS, st.sampled_from(["SY", "RB", "RN", "RO"]), CUIS),
    st.builds(retired, CUIS, st.sampled_from(["DEL", "SUBX"])),
)
RELEASES = st.fixed_dictionaries(
    {"MRREL": st.lists(RELATIONS, max_size=30).map(lambda rows: [*rows, isa("C0000001", "C0000002", sab="MSH")])},
    optional={
        "MRCONSO": st.lists(NAMES, min_size=1, max_size=30),
        "MRRANK": RANKS,
        "MRSTY": st.lists(TYPES, min_size=1, max_size=10),
        "MRCUI": st.lists(SUCCESSORS, max_size=10),
        "MERGEDCUI": st.lists(st.builds("{}|{}|".format, CUIS, CUIS), max_size=5),
        "DELETEDCUI": st.lists(st.builds("{}|text|".format, CUIS), max_size=5),
    },
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "relations": st.sampled_from([("isa",), ("isa", "par-chd"), ("isa", "par-chd", "rb-rn"), ("rb-rn", "isa")]),
        "identifiers": st.sampled_from(["cui", "any"]),
        "include_suppressed": st.booleans(),
        "include_sabs": st.sampled_from([(), ("MSH",), ("MSH", "X")]),
        "exclude_sabs": st.sampled_from([(), ("NCI",)]),
        "languages": st.sampled_from([("ENG",), ("FRE", "ENG"), ("GER",)]),
        "synonyms": st.booleans(),
    },
)


@pytest.mark.slow
@given(release=RELEASES, options=OPTIONS, line_end=st.sampled_from(["\n", "\n", "\r\n"]), block=st.integers(1, 400))
def test_a_random_release_is_read_as_written(
    release: dict[str, Sequence[str]], options: dict[str, Any], line_end: str, block: int
) -> None:
    expected = literal_release.read(release, **options)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_scanner, "BLOCK_BYTES", block)
        patch.setattr(concept_names, "_CONCEPTS_AT_ONCE", 1 + block % 5)
        loaded = load([written(Path(folder), release, line_end=line_end)], LoadOptions(**options))

    assert edges(loaded) == set(expected.edges)
    assert sabs_of_edges(loaded) == {edge: tuple(sorted(sabs)) for edge, sabs in expected.edges.items()}
    assert concepts(loaded) == expected.concepts
    report = loaded.report
    assert (report.edges, report.mirrored) == (len(expected.edges), expected.both_ways)
    assert report.self_loops == len(expected.loops)
    graph = SnapshotGraph(loaded.sections)
    for concept in graph.concepts(sorted(expected.concepts)):
        names = [n for n in (concept.name, *concept.synonyms) if n is not None]
        assert names == expected.names.get(concept.cui, [])
        assert list(concept.semantic_types) == expected.types.get(concept.cui, [])
    assert report.nameless == len(expected.concepts - expected.names.keys())
    assert sabs_of_names(loaded) == {key: source.sabs for key, source in expected.sources.items()}
    grades = grades_of_names(loaded)
    assert ranked(grades) == ranked({key: source.grade for key, source in expected.sources.items()})
    assert {key for key in grades if grades[key] & SUPPRESSED_NAME} == {
        key for key, source in expected.sources.items() if source.grade[0]
    }
    for old in {row[0] for row in expected.retired}:
        statements = {(relation, new) for cui, relation, new in expected.retired if cui == old}
        assert statements_of(loaded.sections, old) == statements
    assert sum(report.retired.statements.values()) == len(expected.retired)
    for file in report.files:
        assert file.used >= 0
        assert file.rows == file.used + sum(file.skipped.values())
        assert file.rows == len(release[file.role])


def ranked(grades: dict[tuple[str, str], Any]) -> dict[tuple[str, str], int]:
    """The rank of each name among all; equal grades have one rank."""
    ranks = {grade: rank for rank, grade in enumerate(sorted(set(grades.values())))}
    return {key: ranks[grade] for key, grade in grades.items()}


def statements_of(sections: Any, old: str) -> set[tuple[str, str]]:
    """Statements of a snapshot on a retired identifier, straight from its sections."""
    from cuihop.snapshot.string_table import IdentifierTable
    from cuihop.snapshot.writer import RETIRED_RELATIONS

    row = int(IdentifierTable(sections["retired_cuis"]).positions([old])[0])
    if row < 0:
        return set()
    part = slice(int(sections["retired_indptr"][row]), int(sections["retired_indptr"][row + 1]))
    return {
        (RETIRED_RELATIONS[r], s.decode())
        for r, s in zip(
            sections["retired_relations"][part].tolist(), sections["retired_successors"][part].tolist(), strict=True
        )
    }
