"""Results of other annotation tools: MedCAT's own answers, and the documented forms of the others."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters import medcat_model
from cuihop.adapters.annotators import from_medcat, from_quickumls, from_scispacy
from cuihop.adapters.ctakes import character_positions, from_ctakes_table, from_ctakes_xmi
from cuihop.adapters.metamaplite import from_metamaplite
from cuihop.annotated_texts.documents import AnnotatedDocument
from cuihop.annotated_texts.reading import read_documents
from cuihop.annotated_texts.writing import concept_table, mention_table
from cuihop.errors import InputError


def mentions(document: AnnotatedDocument) -> list[tuple[int, int, str | None, str]]:
    return [(m.start, m.end, m.text, m.cuis[0]) for m in document.mentions]


def medcat_answers() -> Any:
    if importlib.util.find_spec("medcat"):
        return medcat_model.entities()
    return json.loads(medcat_model.RECORDED.read_text())


def test_medcat() -> None:
    answers = medcat_answers()
    full, concepts = from_medcat({"full": answers["entities"], "concepts": answers["only_cui"]})
    assert mentions(full) == [
        (0, 5, "Veins", "C0042449"), (13, 23, "brain stem", "C0006121"), (44, 48, "head", "C0018670"),
    ]  # fmt: skip
    assert all(medcat_model.TEXT[m.start : m.end] == m.text for m in full.mentions)
    assert [m.type for m in full.mentions] == ["T023", "T023", "T029"]
    assert mentions(concepts) == [(-1, -1, None, cui) for cui in ("C0042449", "C0006121", "C0018670")]
    assert from_medcat({"nothing": {}})[0].mentions == ()


CANDIDATES = [
    {
        "start": 0, "end": 5, "ngram": "Veins", "term": term, "cui": cui, "similarity": similarity,
        "semtypes": {"T023"}, "preferred": preferred,
    }
    for term, cui, similarity, preferred in (
        ("veins", "C0042449", 1.0, 1), ("vein", "C0042450", 0.8, 0), ("vein", "C0042449", 0.8, 0),
    )
]  # fmt: skip


def test_quickumls() -> None:
    assert mentions(from_quickumls({"1": [CANDIDATES]})[0]) == [(0, 5, "Veins", "C0042449")]
    every = from_quickumls({"1": [CANDIDATES], "2": []}, every=True)
    assert sorted(m.cuis[0] for m in every[0].mentions) == ["C0042449", "C0042450"]
    assert every[1].mentions == ()


class Entity(SimpleNamespace):
    def has_extension(self, name: str) -> bool:
        return hasattr(self, "_") and hasattr(self._, name)


def test_scispacy() -> None:
    linked = [("C0042449", 1.0), ("C0042450", 0.9)]
    entities = [
        Entity(start_char=0, end_char=5, text="Veins", label_="ENTITY", _=SimpleNamespace(kb_ents=linked)),
        Entity(start_char=6, end_char=9, text="xyz", label_="", _=SimpleNamespace(kb_ents=[])),
    ]
    doc = SimpleNamespace(text="Veins xyz", ents=entities)
    assert mentions(from_scispacy({"1": doc})[0]) == [(0, 5, "Veins", "C0042449")]
    assert [m.cuis[0] for m in from_scispacy({"1": doc}, every=True)[0].mentions] == ["C0042449", "C0042450"]
    unlinked = SimpleNamespace(text="Veins", ents=[Entity(start_char=0, end_char=5, text="Veins", label_="")])
    with pytest.raises(InputError, match="scispacy_linker"):
        from_scispacy({"1": unlinked})


MMI = """\
7|MMI|15.36|Veins|C0042449|[bpoc]|"Veins"-text-0-"veins"-NNS-0,"Vein"-text-1-"vein"-NN-1|text|0/5;30/4|A07|
7|AA|BS|brain stem|1|2|3|10|12:2
7|MMI|3.61|Brain, Stem|C0006121|[bpoc,"x"]|"Brain Stem"-ti-0-"brain stem"-NN-0|ti|9/10,40/10|A08.186;A08.187
8|MMI|3.61|Head|C0018670|[blor]|["Head"-tx-1-"head"-noun-1]|TX|[2/4]||
"""


def test_metamaplite(tmp_path: Path) -> None:
    (tmp_path / "x.mmi").write_text(MMI)
    first, second = from_metamaplite(tmp_path / "x.mmi")
    assert (first.identifier, mentions(first)) == (
        "7",
        [(0, 5, None, "C0042449"), (30, 34, None, "C0042449"), (9, 19, None, "C0006121"), (40, 50, None, "C0006121")],
    )
    assert (second.identifier, mentions(second)) == ("8", [(2, 6, None, "C0018670")])
    asserted = from_metamaplite(tmp_path / "x.mmi", leave_out_negated=True)
    assert [len(document.mentions) for document in asserted] == [3, 0]
    with_text = from_metamaplite(tmp_path / "x.mmi", {"8": "𝛃Head"})
    assert mentions(with_text[1]) == [(1, 5, "Head", "C0018670")]  # two units of UTF-16 stand before it


XMI = """<?xml version="1.0" encoding="UTF-8"?>
<xmi:XMI xmlns:xmi="http://www.omg.org/XMI" xmlns:cas="http:///uima/cas.ecore"
    xmlns:textsem="http:///org/apache/ctakes/typesystem/type/textsem.ecore"
    xmlns:structured="http:///org/apache/ctakes/typesystem/type/structured.ecore"
    xmlns:refsem="http:///org/apache/ctakes/typesystem/type/refsem.ecore" xmi:version="2.0">
  <cas:NULL xmi:id="0"/>
  <textsem:AnatomicalSiteMention xmi:id="30" sofa="1" begin="11" end="15" ontologyConceptArr="40 41" polarity="1"/>
  <textsem:SignSymptomMention xmi:id="31" sofa="1" begin="19" end="24" ontologyConceptArr="50" polarity="-1"/>
  <textsem:EventMention xmi:id="32" sofa="1" begin="19" end="24" polarity="1"/>
  <textsem:AnatomicalSiteMention xmi:id="33" sofa="2" begin="0" end="4" ontologyConceptArr="40" polarity="1"/>
  <cas:FSArray xmi:id="50" elements="42 43"/>
  <refsem:UmlsConcept xmi:id="40" codingScheme="SNOMEDCT_US" code="1" score="0.1" cui="C0018670" tui="T029"/>
  <refsem:UmlsConcept xmi:id="41" codingScheme="SNOMEDCT_US" code="2" score="0.9" cui="C0018671" tui="T029"/>
  <refsem:UmlsConcept xmi:id="42" codingScheme="SNOMEDCT_US" code="3" score="0.0" cui="C0015967" tui="T184"/>
  <refsem:UmlsConcept xmi:id="43" codingScheme="RXNORM" code="4" score="0.0" disambiguated="true" cui="C0424755"/>
  <structured:DocumentID xmi:id="60" documentID="note-7"/>
  <cas:Sofa xmi:id="1" sofaNum="1" sofaID="_InitialView" mimeType="text" sofaString="𝛃 pain in head no fever"/>
  <cas:Sofa xmi:id="2" sofaNum="2" sofaID="Other" mimeType="text" sofaString="head"/>
</xmi:XMI>
"""


def test_ctakes_xmi(tmp_path: Path) -> None:
    (tmp_path / "7.txt.xmi").write_text(XMI)
    found = from_ctakes_xmi(tmp_path / "7.txt.xmi")
    assert (found.identifier, found.text) == ("note-7", "𝛃 pain in head no fever")
    assert mentions(found) == [(10, 14, "head", "C0018671"), (18, 23, "fever", "C0424755")]
    every = from_ctakes_xmi(tmp_path / "7.txt.xmi", "mine", every=True)
    assert [m.cuis[0] for m in every.mentions] == ["C0018670", "C0018671", "C0015967", "C0424755"]
    assert every.identifier == "mine"
    assert [m.type for m in from_ctakes_xmi(tmp_path / "7.txt.xmi", leave_out_negated=True).mentions] == [
        "AnatomicalSiteMention"
    ]


TABLE = [
    (" Semantic Group ", " Semantic Type ", " Section ", " Span ", " Negated ", " Uncertain ", " Generic ", " CUI ",
     " Preferred Text ", " Document Text "),
    ("Anatomy", "Region", "ALL", "9,13", "false", "false", "false", "C0018670;C0018671", "Head", "head"),
    ("Finding", "Sign", "ALL", "17,23", "true", "false", "false", "C0015967", "Fever", "fe\nver"),
    ("Anatomy", "Part", "ALL", "30,34", "false", "false", "false", "", "", "neck"),
]  # fmt: skip


@pytest.mark.parametrize("separator", ["|", ",", "\t"])
def test_ctakes_tables(tmp_path: Path, separator: str) -> None:
    (tmp_path / "note7_table.BSV").write_text("".join(separator.join(row) + "\n" for row in TABLE))
    found = from_ctakes_table(tmp_path / "note7_table.BSV")
    assert found.identifier == "note7"
    assert mentions(found) == [(9, 13, "head", "C0018670"), (9, 13, "head", "C0018671"), (17, 23, None, "C0015967")]
    assert len(from_ctakes_table(tmp_path / "note7_table.BSV", leave_out_negated=True).mentions) == 2


@pytest.mark.parametrize(
    ("reader", "content", "problem", "line"),
    [
        (from_metamaplite, MMI + "7|MMI|1|Head\n", "not an MMI line", 5),
        (from_metamaplite, MMI + "USER|x\n", "not an MMI line", 5),
        (from_ctakes_xmi, XMI.replace("</xmi:XMI>", ""), "not XML", 20),
        (from_ctakes_xmi, "<xmi:XMI/>", "no text in the file", None),
        (from_ctakes_xmi, XMI.replace('begin="11"', 'begin="x"'), "not a place", None),
        (from_ctakes_xmi, XMI.replace("?>\n", '?>\n<!DOCTYPE a [<!ENTITY b "c">]>\n'), "a document type", None),
        (from_ctakes_table, "a|b\n", "not a table of SemanticTableFileWriter", 1),
        (from_ctakes_table, "|".join(TABLE[0]) + "\nx|y\n", "not a row of SemanticTableFileWriter", 2),
    ],
)
def test_other_files_are_refused_with_their_line(
    tmp_path: Path, reader: Any, content: str, problem: str, line: int | None
) -> None:
    (tmp_path / "given").write_text(content)
    with pytest.raises(InputError, match=problem) as caught:
        reader(tmp_path / "given")
    assert caught.value.line == line
    assert str(tmp_path / "given") in str(caught.value)


@pytest.mark.parametrize(
    ("reader", "result", "place"),
    [
        (from_medcat, {"tokens": []}, "text 1, field entities"),
        (from_medcat, {"entities": {3: {"cui": 5, "start": 0, "end": 4}}}, "text 1, entity 3, field cui"),
        (from_medcat, {"entities": {3: {"cui": "C1", "start": 4, "end": 4}}}, "text 1, entity 3, field end"),
        (from_quickumls, [[{"start": 0, "cui": "C1"}]], "text 1, match 0, field end"),
    ],
)
def test_other_results_are_refused_with_their_field(reader: Any, result: Any, place: str) -> None:
    with pytest.raises(InputError) as caught:
        reader({"1": result})
    assert caught.value.column == place


def test_documents_are_written_as_files_that_are_read(tmp_path: Path) -> None:
    documents = from_medcat({"a": medcat_answers()["entities"], "b": {}})
    (tmp_path / "mentions.csv").write_text(mention_table(documents).csv())
    (tmp_path / "concepts.csv").write_text(concept_table(documents).csv())
    assert [mentions(document) for document in read_documents(tmp_path / "mentions.csv")] == [mentions(documents[0])]
    concepts = read_documents(tmp_path / "concepts.csv")
    assert {d.identifier: {m.cuis[0] for m in d.mentions} for d in concepts} == {
        "a": {"C0042449", "C0006121", "C0018670"}, "b": set(),
    }  # fmt: skip


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
def test_places_in_utf16_are_those_of_characters(text: str) -> None:
    units = [len(text[:place].encode("utf-16-le")) // 2 for place in range(len(text) + 1)]
    assert character_positions(text, units) == list(range(len(text) + 1))
