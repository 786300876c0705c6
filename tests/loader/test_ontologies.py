"""OBO files: projection on CUIs, obsolete terms, alternatives, and faults."""

from __future__ import annotations

import gzip
import io
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cuihop import SnapshotGraph
from cuihop.errors import InputError
from cuihop_loader import Loaded, LoadOptions, load
from cuihop_loader.term_files import _CountedBytes
from loader.rrf_made import concepts, edges, grades_of_names, sabs_of_edges, sabs_of_names

HEADER = "format-version: 1.2\ndata-version: releases/2025-01-01\nontology: toy\n"
ANATOMY = """
[Term]
id: T:1
name: organ
xref: UMLS:C0178784

[Term]
id: T:2
name: thing inside
is_a: T:1 ! organ

[Term]
id: T:3
name: heart
synonym: "cor" EXACT []
synonym: "chest" BROAD []
alt_id: T:33
xref: umls_cui:C0018787 {source="x"} ! the heart
xref: MESH:D006321
is_a: T:2 {source="x"} ! thing inside

[Term]
id: T:4
name: vessels
xref: UMLS:C0005847
xref: UMLS:C0042449
is_a: T:1

[Term]
id: T:5
name: gone
is_obsolete: true
replaced_by: T:3
alt_id: T:55

[Term]
id: T:6
name: gone without trace
is_obsolete: true

[Term]
id: T:7
name: gone, perhaps
is_obsolete: true
consider: T:1
consider: T:4

[Typedef]
id: part_of
name: part of
"""


def loaded(folder: Path, text: str, options: LoadOptions | None = None) -> Loaded:
    path = folder / "toy.obo"
    path.write_bytes(text.encode())
    return load([path], options or LoadOptions())


def test_terms_stand_for_their_cuis_and_others_for_themselves(tmp_path: Path) -> None:
    graph = loaded(tmp_path, HEADER + ANATOMY)
    assert edges(graph) == {
        ("T:2", "C0178784"), ("C0018787", "T:2"), ("C0005847", "C0178784"), ("C0042449", "C0178784"),
    }  # fmt: skip
    assert SnapshotGraph(graph.sections).distance("C0018787", "C0178784", direction="up") == 2
    report = graph.report
    assert (report.release, report.identifiers, report.relation_rows) == ("releases/2025-01-01", "any", {"is_a": 3})
    assert report.terms is not None
    terms = report.terms
    assert (terms.terms, terms.obsolete, terms.without_cui, terms.several_cuis) == (4, 3, 1, 1)
    assert set(sabs_of_edges(graph).values()) == {("TOY",)}


def test_with_cuis_only_other_terms_and_their_hops_go(tmp_path: Path) -> None:
    graph = loaded(tmp_path, HEADER + ANATOMY, LoadOptions(identifiers="cui"))
    assert edges(graph) == {("C0005847", "C0178784"), ("C0042449", "C0178784")}
    assert concepts(graph) == {"C0178784", "C0018787", "C0005847", "C0042449"}
    assert graph.report.files[0].skipped == {"term without CUI": 2}
    assert graph.report.retired.concepts == 0


def test_names_are_the_terms_and_their_exact_synonyms(tmp_path: Path) -> None:
    graph = SnapshotGraph(loaded(tmp_path, HEADER + ANATOMY).sections)
    heart, vessel, vein = graph.concepts(["C0018787", "C0005847", "C0042449"])
    assert (heart.name, heart.synonyms) == ("heart", ("cor",))
    assert vessel.name == vein.name == "vessels"
    assert [hit.cui for hit in graph.search("cor")] == ["C0018787"]
    short = SnapshotGraph(loaded(tmp_path, HEADER + ANATOMY, LoadOptions(synonyms=False)).sections)
    names = [(each.name, each.synonyms) for each in short.concepts(["C0018787", "C0005847", "C0042449"])]
    assert names == [("heart", ()), ("vessels", ()), ("vessels", ())]


def test_names_have_their_ontologies_and_terms_come_before_synonyms(tmp_path: Path) -> None:
    (tmp_path / "a.obo").write_text(HEADER + ANATOMY)
    other = '\n[Term]\nid: T:3\nname: cor\nsynonym: "heart" EXACT []\nsynonym: "pump" EXACT []\nis_a: T:2\n'
    (tmp_path / "b.obo").write_text("format-version: 1.2\nontology: other\n" + other)
    both = load([tmp_path / "a.obo", tmp_path / "b.obo"])
    sabs = {text: found for (cui, text), found in sabs_of_names(both).items() if cui in ("C0018787", "C0005847")}
    assert sabs == {"heart": {"TOY", "OTHER"}, "cor": {"TOY", "OTHER"}, "pump": {"OTHER"}, "vessels": {"TOY"}}
    grades = {text: grade for (cui, text), grade in grades_of_names(both).items() if text in sabs}
    assert grades == {"heart": 0, "cor": 0, "pump": 1, "vessels": 0}
    assert both.sections.meta["name_sabs"] == ["OTHER", "TOY"]


def test_alternatives_and_obsolete_terms_are_retired(tmp_path: Path) -> None:
    graph = SnapshotGraph(loaded(tmp_path, HEADER + ANATOMY).sections)
    found = {r.requested: (r.status, r.cui, r.candidates) for r in graph.resolve(["T:33", "T:5", "T:55", "T:6", "T:7"])}
    assert found == {
        "T:33": ("merged", "C0018787", ()),
        "T:5": ("merged", "C0018787", ()),
        "T:55": ("merged", "C0018787", ()),
        "T:6": ("retired", None, ()),
        "T:7": ("retired", None, (("RO", "C0005847"), ("RO", "C0042449"), ("RO", "C0178784"))),
    }


def test_an_alternative_that_is_a_term_of_its_own_stands_for_itself(tmp_path: Path) -> None:
    text = HEADER + ANATOMY + "\n[Term]\nid: T:8\nalt_id: T:2\nis_a: T:1\n"
    graph = loaded(tmp_path, text)
    assert ("C0018787", "T:2") in edges(graph)
    assert SnapshotGraph(graph.sections).resolve(["T:2"])[0].status == "current"


def test_parents_by_alternative_undefined_and_obsolete_ones(tmp_path: Path) -> None:
    text = HEADER + ANATOMY + "\n[Term]\nid: T:8\nis_a: T:33\nis_a: ELSEWHERE:1\nis_a: T:6\n"
    graph = loaded(tmp_path, text)
    assert {parent for child, parent in edges(graph) if child == "T:8"} == {"C0018787", "ELSEWHERE:1"}
    assert graph.report.terms is not None
    assert graph.report.terms.undefined_parents == 1
    assert graph.report.files[0].skipped == {"obsolete": 1}


def test_two_terms_of_one_cui_are_one_concept(tmp_path: Path) -> None:
    text = HEADER + ANATOMY + "\n[Term]\nid: T:8\nname: heart again\nxref: UMLS:C0018787\nis_a: T:3\n"
    graph = loaded(tmp_path, text)
    assert (graph.report.self_loops, graph.report.files[0].skipped) == (1, {"concept is its own parent": 1})
    assert graph.report.terms is not None
    assert graph.report.terms.shared_cuis == 1
    assert SnapshotGraph(graph.sections).concepts(["C0018787"])[0].synonyms == ("cor", "heart again")


def test_cross_references_that_are_no_cuis_are_reported(tmp_path: Path) -> None:
    text = HEADER + ANATOMY + "\n[Term]\nid: T:8\nxref: UMLS:CN517202\nis_a: T:1\n"
    graph = loaded(tmp_path, text)
    assert ("T:8", "C0178784") in edges(graph)
    assert any("CN517202" in warning for warning in graph.report.warnings)


def test_several_ontologies_make_one_graph(tmp_path: Path) -> None:
    (tmp_path / "a.obo").write_text(HEADER + ANATOMY)
    more = "ontology: more\n\n[Term]\nid: M:1\nis_a: T:3\n\n[Term]\nid: T:3\nname: coeur\nis_a: T:1\n"
    (tmp_path / "b.obo.gz").write_bytes(gzip.compress(more.encode()))
    graph = load([tmp_path / "a.obo", tmp_path / "b.obo.gz"])
    assert {("M:1", "C0018787"), ("C0018787", "C0178784"), ("C0018787", "T:2")} <= edges(graph)
    assert {sab: facts.edges for sab, facts in graph.report.sabs.items()} == {"TOY": 4, "MORE": 2}
    assert SnapshotGraph(graph.sections).concepts(["C0018787"])[0].synonyms == ("cor", "coeur")


def test_crlf_and_a_byte_order_mark_are_accepted(tmp_path: Path) -> None:
    plain = loaded(tmp_path, HEADER + ANATOMY)
    dos = loaded(tmp_path, "\ufeff" + (HEADER + ANATOMY).replace("\n", "\r\n"))
    assert edges(dos) == edges(plain)
    assert dos.report.release == plain.report.release
    assert dos.report.files[0].line_ends == "CRLF"


class Pieces:
    """A stream that comes in these pieces."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = [*pieces, b""]

    def readinto(self, view: memoryview) -> int:
        piece = self._pieces.pop(0)
        view[: len(piece)] = piece
        return len(piece)


@pytest.mark.parametrize(
    ("pieces", "lines", "crlf"),
    [((b"a\r", b"\nb\n"), 2, 1), ((b"a\r", b"b\n"), 1, 0), ((b"a", b"\n"), 1, 0), ((b"\r\n\r", b"\n"), 2, 2)],
)
def test_line_ends_are_counted_where_they_lie_in_two_pieces(pieces: Sequence[bytes], lines: int, crlf: int) -> None:
    counted = np.zeros(2, dtype=int)
    owner: Any = SimpleNamespace(count=lambda *numbers: np.add(counted, numbers, out=counted))
    stream: Any = Pieces(*pieces)
    with io.BufferedReader(_CountedBytes(stream, owner)) as reader:
        assert reader.read() == b"".join(pieces)
    assert counted.tolist() == [lines, crlf]


def test_faults_in_clauses_that_say_nothing_of_the_graph_do_not_matter(tmp_path: Path) -> None:
    text = HEADER + ANATOMY.replace("name: heart\n", 'name: heart\ndef: "unbalanced [JA:Epilepsy Genetics Kiel]\n')
    assert loaded(tmp_path, text).report.edges == 4


@pytest.mark.parametrize(
    ("old", "new", "line", "column", "problem"),
    [
        ("is_a: T:1 ! organ", "is_a:", 13, 6, "not OBO"),
        ("id: T:3", "id: T 3", 16, 7, "not OBO"),
        ('synonym: "cor" EXACT []', "synonym: cor EXACT []", 18, 10, "not OBO"),
        ("name: thing inside", "thing inside", 12, 1, "not an OBO line"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, old: str, new: str, line: int, column: int, problem: str) -> None:
    text = (HEADER + ANATOMY).replace(old, new, 1)
    with pytest.raises(InputError) as error:
        loaded(tmp_path, text)
    assert (error.value.line, error.value.problem) == (line, problem)
    assert error.value.column == column
    assert text.splitlines()[line - 1] in str(error.value.found)


def test_bad_lines_can_be_left_out(tmp_path: Path) -> None:
    text = (HEADER + ANATOMY).replace("is_a: T:1 ! organ", "is_a:").replace("id: T:4", "id: T 4")
    rejects = tmp_path / "rejects.tsv"
    graph = loaded(tmp_path, text, LoadOptions(on_bad_row="skip", rejects=rejects))
    assert edges(graph) == {("C0018787", "T:2")}
    rows = [line.split("\t") for line in rejects.read_text().splitlines()[1:]]
    assert [(row[1], row[4]) for row in rows] == [("13", "is_a:"), ("26", "id: T 4")]
    assert graph.report.files[0].bad == 2


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "toy.obo"
    path.write_bytes((HEADER + ANATOMY).encode().replace(b"name: heart", b"name: h\xffart"))
    with pytest.raises(InputError, match="byte 0xFF") as error:
        load([path])
    assert (error.value.line, error.value.column) == (17, 8)


def test_a_file_that_is_cut_off(tmp_path: Path) -> None:
    text = HEADER + ANATOMY
    with pytest.raises(InputError, match="the last line is cut off") as error:
        loaded(tmp_path, text[: text.index("T:2 {source")] + "T:")
    assert error.value.line == 23
    path = tmp_path / "toy.obo.gz"
    path.write_bytes(gzip.compress(text.encode())[:-20])
    with pytest.raises(InputError, match="the gzip file breaks off"):
        load([path])


@pytest.mark.parametrize("text", ["", HEADER, "a file: of something else\n"])
def test_a_file_without_terms(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="no terms in the file"):
        loaded(tmp_path, text)


def test_terms_without_is_a(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no is_a relation"):
        loaded(tmp_path, HEADER + "\n[Term]\nid: T:1\n")


def test_other_relations_are_for_rrf_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="only RRF files have other relations"):
        loaded(tmp_path, HEADER + ANATOMY, LoadOptions(relations=["par-chd"]))


def test_the_edges_of_a_vocabulary_can_be_chosen(tmp_path: Path) -> None:
    (tmp_path / "a.obo").write_text(HEADER + ANATOMY)
    (tmp_path / "b.obo").write_text("ontology: more\n\n[Term]\nid: M:1\nis_a: T:3\n")
    files = [tmp_path / "a.obo", tmp_path / "b.obo"]
    assert edges(load(files, LoadOptions(include_sabs=["MORE"]))) == {("M:1", "C0018787")}
    without = load(files, LoadOptions(exclude_sabs=["MORE"]))
    assert ("M:1", "C0018787") not in edges(without)
    assert without.report.files[1].skipped == {"other vocabulary": 1}
    with pytest.raises(InputError, match="no is_a relation"):
        load(files, LoadOptions(include_sabs=["X"]))


def test_an_identifier_that_no_graph_can_hold(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not an identifier") as error:
        loaded(tmp_path, HEADER + f"\n[Term]\nid: T:{'9' * 130}\n")
    assert error.value.line == 5


def test_cross_references_to_elsewhere_may_be_any_text(tmp_path: Path) -> None:
    text = HEADER + ANATOMY.replace("xref: MESH:D006321", "xref: https://x.org/wiki/Heart\\,_of_man")
    assert loaded(tmp_path, text).report.edges == 4
