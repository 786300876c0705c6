"""Real files, with numbers that others published or that a few plain lines of Python find."""

from __future__ import annotations

import gzip
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from cuihop import SnapshotGraph
from cuihop.errors import InputError
from cuihop.snapshot.layout import SUPPRESSED_NAME
from cuihop_loader import LoadOptions, load
from cuihop_loader.options import RelationFilter
from loader import literal_release
from loader.rrf_made import concepts, edges, grades_of_names, isa, sabs_of_names, written
from real_graphs import isa_edges, parent_child_edges, rows
from shared_data import shared

FILTERS: list[list[RelationFilter]] = [["isa"], ["par-chd"], ["isa", "par-chd"]]
PAR_CHD = LoadOptions(relations=["par-chd"])
ANY = LoadOptions(identifiers="any")


def test_ai_rheum_has_1176_pairs_and_a_longest_upward_path_of_5() -> None:
    loaded = load([shared("rrf/air")], PAR_CHD)
    assert edges(loaded) == parent_child_edges("rrf/air")
    report = loaded.report
    assert (report.edges, report.depth, report.self_loops, report.cycles.components) == (1176, 5, 0, 0)
    assert report.concepts - report.isolated == 623
    assert report.release == "2005AC"
    graph = SnapshotGraph(loaded.sections)
    assert max(len(graph.neighbours([cui], hops=None)[0]) for cui in ("C0001206",)) == 622


def test_ai_rheum_without_isa_says_what_would_find_edges() -> None:
    with pytest.raises(InputError, match=r"isa: 0.*--relations par-chd \(rows: 2,396\)"):
        load([shared("rrf/air")])


def test_unbalanced_quotes_are_text() -> None:
    loaded = load([shared("rrf/air")], PAR_CHD)
    quoted = {row[0]: row[14] for row in rows(shared("rrf/air/MRCONSO.RRF.gz")) if '"' in row[14]}
    assert len(quoted) == 2
    assert any(text.count('"') % 2 for text in quoted.values())
    for concept in SnapshotGraph(loaded.sections).concepts(list(quoted)):
        assert quoted[concept.cui] in (concept.name, *concept.synonyms)


def test_the_highest_rank_names_the_concept() -> None:
    # In AI/RHEUM a term of type HT outranks one of type FI, which comes first in the file.
    graph = SnapshotGraph(load([shared("rrf/air")], PAR_CHD).sections)
    assert graph.names(["C0001206"]) == ["AcromegalyEditForMRRANK_test"]


def test_the_nci_sample_has_317_isa_pairs() -> None:
    loaded = load([shared("rrf/nci_sample_level0")], ANY)
    assert edges(loaded) == isa_edges("rrf/nci_sample_level0")
    report = loaded.report
    assert (report.edges, report.mirrored, report.weak_components) == (317, 317, 18)
    assert report.concepts - report.isolated == 315
    assert report.relation_rows == {"isa": 329, "inverse_isa": 329}
    assert report.release == "201604"


def test_the_nci_sample_has_861_parent_child_pairs_12_self_loops_and_two_cycles() -> None:
    loaded = load([shared("rrf/nci_sample_level0")], LoadOptions(relations=["par-chd"], identifiers="any"))
    assert edges(loaded) == parent_child_edges("rrf/nci_sample_level0")
    report = loaded.report
    assert (report.edges, report.self_loops, report.cycles.components) == (861, 12, 2)
    assert report.cycles.sizes == [(4, 1), (2, 1)]
    assert report.cycles.examples[1] == ["C0008073", "C1535926"]


def test_the_nci_sample_tells_loudly_of_identifiers_that_are_no_cuis() -> None:
    loaded = load([shared("rrf/nci_sample_level0")])
    in_mrrel = sum(
        not (row[0][1:].isdigit() and row[4][1:].isdigit())
        for row in rows(shared("rrf/nci_sample_level0/MRREL.RRF.gz"))
        if row[7] in ("isa", "inverse_isa")
    )
    assert loaded.report.other_identifiers["MRREL"] == in_mrrel
    assert loaded.report.other_identifiers["MRCONSO"] == 235
    assert all(sample.startswith("CL") for sample in loaded.report.other_identifier_samples)
    assert loaded.report.warnings


def test_every_concept_of_mrconso_is_known() -> None:
    loaded = load([shared("rrf/nci_sample_level0")], ANY)
    assert {row[0] for row in rows(shared("rrf/nci_sample_level0/MRCONSO.RRF.gz"))} <= concepts(loaded)


def test_a_concept_without_a_preferred_english_name_falls_back() -> None:
    loaded = load([shared("rrf/nci_sample_level0")], ANY)
    named = list(rows(shared("rrf/nci_sample_level0/MRCONSO.RRF.gz")))
    preferred = {row[0] for row in named if row[1:3] == ["ENG", "P"] and row[4] == "PF" and row[6] == "Y"}
    without = sorted({row[0] for row in named} - preferred)
    assert len(without) == 14
    for cui, name in zip(without, SnapshotGraph(loaded.sections).names(without), strict=True):
        assert name in {row[14] for row in named if row[0] == cui and row[1] == "ENG"}


@pytest.mark.parametrize("suppressed", [False, True])
def test_the_names_of_the_nci_sample_have_the_vocabularies_and_marks_of_their_rows(suppressed: bool) -> None:
    folder = "rrf/nci_sample_level0"
    loaded = load([shared(folder)], LoadOptions(identifiers="any", include_suppressed=suppressed))
    files: dict[str, Sequence[str]] = {
        role: ["|".join(row) for row in rows(shared(f"{folder}/{role}.RRF.gz"))] for role in ("MRCONSO", "MRRANK")
    }
    expected = literal_release.read(files, identifiers="any", include_suppressed=suppressed).sources
    assert sabs_of_names(loaded) == {key: source.sabs for key, source in expected.items()}
    marked = {key for key, grade in grades_of_names(loaded).items() if grade & SUPPRESSED_NAME}
    assert marked == {key for key, source in expected.items() if source.grade[0]}
    assert len({tuple(sorted(source.sabs)) for source in expected.values()}) > 100


def test_the_open_hierarchies_have_64583_pairs() -> None:
    loaded = load([shared("rrf_open")])
    assert edges(loaded) == isa_edges("rrf_open")
    report = loaded.report
    assert (report.edges, report.concepts, report.giant_component, report.mirrored) == (64583, 26712, 26661, 64583)
    assert report.cycles.components == 21
    assert report.cycles.sizes[0] == (11, 1)
    assert [file.skipped for file in report.files] == [{}, {"same name again": 4238}]


def test_the_open_hierarchies_have_the_same_edges_by_rel_and_by_rela() -> None:
    digests = {
        load([shared("rrf_open/MRREL.RRF.gz")], LoadOptions(relations=relations)).sections.meta["release"]["digest"]
        for relations in FILTERS
    }
    assert len(digests) == 1


def test_retired_concepts_of_real_change_files(tmp_path: Path) -> None:
    folder = written(tmp_path / "umls", {"MRREL": [isa("C1279385", "C0206030")]})
    loaded = load([folder, shared("rrf/change")], ANY)
    statements = {(row[0], row[2], row[5]) for row in rows(shared("rrf/change/MRCUI.RRF.gz"))}
    statements |= {(row[0], "SY", row[1]) for row in rows(shared("rrf/change/MERGEDCUI.RRF.gz"))}
    statements |= {(row[0], "DEL", "") for row in rows(shared("rrf/change/DELETEDCUI.RRF.gz"))}
    statements = {row for row in statements if row[0] not in ("C1279385", "C0206030")}
    by_relation = loaded.report.retired.statements
    assert sum(by_relation.values()) == len(statements)
    assert by_relation["RB"] == sum(relation == "RB" for _, relation, _ in statements) == 153
    assert loaded.report.retired.concepts == len({row[0] for row in statements})

    graph = SnapshotGraph(loaded.sections)
    merged, broader, deleted = graph.resolve(["C0000739", "C0000791", "CL319935"])
    assert (merged.status, merged.cui) == ("merged", "C1279385")
    assert (broader.status, broader.candidates) == ("retired", (("RB", "C0018719"),))
    assert (deleted.status, deleted.candidates) == ("retired", ())
    assert graph.resolve(["C0002165"])[0].cui == "C0206030"


@pytest.mark.slow
def test_the_disease_ontology_is_projected_as_its_lines_say() -> None:
    file = shared("hierarchies/doid_2016-09-01.obo.gz")
    terms: list[dict[str, list[str]]] = []
    for line in gzip.decompress(file.read_bytes()).decode().splitlines():
        if line.startswith("["):
            terms.append({"kind": [line]})
        elif terms and ": " in line:
            tag, value = line.split(": ", 1)
            terms[-1].setdefault(tag, []).append(value.split(" !")[0])
    current = [term for term in terms if term["kind"] == ["[Term]"] and "is_obsolete" not in term]
    stands_for = {
        term["id"][0]: re.findall(r"UMLS(?:_CUI)?:(C\d{7})", " ".join(term.get("xref", ()))) or term["id"]
        for term in current
    }
    expected = {
        (child, parent)
        for term in current
        for up in term.get("is_a", ())
        for child in stands_for[term["id"][0]]
        for parent in stands_for[up]
    }
    loaded = load([file])
    report = loaded.report
    assert edges(loaded) == {(child, parent) for child, parent in expected if child != parent}
    assert report.self_loops == len({child for child, parent in expected if child == parent})
    assert (report.release, report.identifiers) == ("releases/2016-09-01", "any")
    assert report.terms is not None
    assert (report.terms.terms, report.terms.obsolete) == (len(current), 2373)
    assert report.terms.without_cui == sum(concepts == [term] for term, concepts in stands_for.items())
    assert report.terms.several_cuis == sum(len(set(concepts)) > 1 for concepts in stands_for.values())


@pytest.mark.slow
def test_the_open_release_has_four_fifths_of_the_edges_of_an_older_disease_ontology() -> None:
    """The figure of docs/examples-data.md."""
    older = {pair for pair in edges(load([shared("hierarchies/doid_2016-09-01.obo.gz")])) if _both_are_cuis(pair)}
    inverse = (row for row in rows(shared("rrf_open/MRREL.RRF.gz")) if row[10] == "DOID" and row[7] == "inverse_isa")
    assert (len(older), len(older & {(row[0], row[4]) for row in inverse})) == (9227, 7451)


def _both_are_cuis(pair: tuple[str, str]) -> bool:
    return all(re.fullmatch(r"C\d{7}", each) for each in pair)
