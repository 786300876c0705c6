"""The table of names for annotation: in files with it, without it, damaged and forged; its rules; and its bounds."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop import AnnotationOptions, SnapshotGraph
from cuihop._kernels import terms as kernels
from cuihop.errors import DamageWarning, InputError, OlderSnapshot, SnapshotError
from cuihop.resources.arrays import read_only
from cuihop.snapshot.file import Sections
from cuihop.snapshot.layout import TERM_TABLE
from cuihop.snapshot.string_table import StringTable
from example_graph import example_graph

TEXTS = ["A vein of the brain stem, no blood-vessels.", "Veins", "", "nothing here"]


def mentions(graph: SnapshotGraph, texts: list[str] = TEXTS) -> list[Any]:
    return list(graph.annotate_many(texts))


def named(names: dict[str, list[str]], **options: Any) -> Callable[[str], list[tuple[str, str, str]]]:
    graph = SnapshotGraph.of([], names=names)

    def annotate(text: str) -> list[tuple[str, str, str]]:
        return [(m.text, m.cui, m.rule) for m in graph.annotate(text, AnnotationOptions(**options))]

    return annotate


def test_a_file_without_the_table_answers_the_same_and_says_how_to_store_it(tmp_path: Path) -> None:
    new, old = tmp_path / "new.cuihop", tmp_path / "old.cuihop"
    example_graph().save(new)
    sections = example_graph().sections
    Sections(sections.meta, {name: sections[name] for name in sections if name not in TERM_TABLE}).save(old)
    graph = SnapshotGraph.open(old)
    with pytest.warns(
        OlderSnapshot, match=r"old\.cuihop: the table of names for annotation is missing.*index --name-search"
    ):
        found = mentions(graph)
    assert found == mentions(SnapshotGraph.open(new)) == mentions(example_graph())
    assert sum(map(len, found)) == 4


def test_a_file_with_another_form_of_the_table_answers_the_same(tmp_path: Path) -> None:
    """Its hashes were a table of open addressing, without buckets."""
    path = tmp_path / "old.cuihop"
    sections = example_graph().sections
    arrays = {name: sections[name] for name in sections if name != "term_buckets"}
    arrays["term_hashes"] = np.r_[arrays["term_hashes"], np.zeros(99, dtype=np.uint64)]
    Sections(sections.meta, arrays | {"term_firsts": np.zeros(len(arrays["term_hashes"]), dtype=np.int32)}).save(path)
    graph = SnapshotGraph.open(path)
    with pytest.warns(OlderSnapshot, match=r"old\.cuihop: the table of names .* is missing, or that of an earlier"):
        assert mentions(graph) == mentions(example_graph())


HASHES = st.lists(st.sampled_from([0, 1, 2**32 - 1, 2**32, 2**33, 2**63, 2**63 + 5, 2**64 - 1]), max_size=30)


@given(chunks=st.lists(HASHES, min_size=1, max_size=4), buckets=st.integers(1, 9))
def test_candidates_in_buckets_are_in_the_order_of_a_stable_sort(chunks: list[list[int]], buckets: int) -> None:
    hashes = [np.array(chunk, dtype=np.uint64) for chunk in chunks]
    bounds = np.zeros(buckets + 1, dtype=np.int32)
    for chunk in hashes:
        kernels.count_in_buckets(chunk, bounds)
    bounds = np.cumsum(bounds, dtype=np.int32)
    count = sum(map(len, chunks))
    sorted_hashes, rows, rules = np.empty(count, np.uint64), np.empty(count, np.int32), np.empty(count, np.uint8)
    ends, first = bounds[:-1].copy(), 0
    for chunk in hashes:
        numbers = np.arange(first, first + len(chunk), dtype=np.int32)
        kernels.put_in_buckets(chunk, numbers, numbers.astype(np.uint8), bounds, ends, sorted_hashes, rows, rules)
        first += len(chunk)
    every = [key for chunk in chunks for key in chunk]
    order = sorted(range(count), key=every.__getitem__)
    assert rows.tolist() == rules.tolist() == order
    assert sorted_hashes.tolist() == [every[i] for i in order]
    assert ends.tolist() == bounds[1:].tolist()


@given(texts=st.lists(st.text("ab\0é", max_size=4), max_size=20), shuffle=st.randoms(use_true_random=False))
def test_texts_have_one_hash_where_they_are_equal(texts: list[str], shuffle: random.Random) -> None:
    strings = StringTable.of(texts)
    rows = shuffle.sample(range(len(texts)), len(texts))
    hashes = kernels.text_hashes(strings.offsets, read_only(strings.blob), np.array(rows, dtype=np.int32)).tolist()
    assert len(set(hashes)) == len(set(texts)) == len(set(zip(hashes, (texts[row] for row in rows), strict=True)))


def test_the_table_is_no_part_of_the_digest() -> None:
    graph = example_graph()
    assert set(TERM_TABLE) <= set(graph.sections)
    assert graph.release.digest == SnapshotGraph.of([]).release.digest or graph.release.concepts


@pytest.mark.parametrize("name", TERM_TABLE)
def test_a_damaged_table_is_reported_and_the_graph_still_annotates(tmp_path: Path, name: str) -> None:
    path = tmp_path / "graph.cuihop"
    example_graph().save(path)
    raw = bytearray(path.read_bytes())
    end = 32 + int.from_bytes(raw[12:16], "little")
    section = next(s for s in json.loads(raw[32:end])["sections"] if s["name"] == name)
    raw[section["offset"]] ^= 1
    path.write_bytes(raw)
    graph = SnapshotGraph.open(path)
    assert graph.distance("C0006121", "C0018670") == 3
    with pytest.warns(DamageWarning, match=f"'{name}' fails its checksum.*built again in memory"):
        assert mentions(graph) == mentions(example_graph())
    with pytest.raises(SnapshotError, match=f"'{name}' fails its checksum"):
        graph.verify()
    with pytest.warns(DamageWarning):
        SnapshotGraph.open(path).set_aside_damage()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("term_hashes", lambda array: np.full_like(array, 7)),
        ("term_hashes", lambda array: array[:-1]),
        ("term_filter", lambda array: array[:3]),
        ("term_buckets", lambda array: array + 10**6),
        ("term_buckets", lambda array: array - 1),
        ("term_buckets", lambda array: array[::-1]),
        ("term_rows", lambda array: array + 10**6),
        ("term_rules", lambda array: array & np.uint8(0x7F)),
        ("term_rules", lambda array: array[:0]),
    ],
)
def test_a_forged_table_is_set_aside(tmp_path: Path, name: str, change: Callable[[Any], Any]) -> None:
    path = tmp_path / "graph.cuihop"
    sections = example_graph().sections
    arrays = {other: sections[other] for other in sections}
    Sections(sections.meta, arrays | {name: np.ascontiguousarray(change(arrays[name]))}).save(path)
    with pytest.warns(DamageWarning):
        assert mentions(SnapshotGraph.open(path)) == mentions(example_graph())
    with pytest.raises(SnapshotError):
        SnapshotGraph.open(path).verify()


def test_names_without_a_letter_match_nothing(tmp_path: Path) -> None:
    graph = SnapshotGraph.of([], names={"C0000001": ["---", "1"]})
    assert mentions(graph, ["--- 1 a"]) == [graph.annotate("--- 1 a")]
    assert not graph.annotate("--- 1 a").mentions
    graph.save(tmp_path / "graph.cuihop")
    assert SnapshotGraph.open(tmp_path / "graph.cuihop").verify()
    assert not SnapshotGraph.open(tmp_path / "graph.cuihop").annotate("--- 1 a").mentions


def test_a_graph_without_names_is_an_error() -> None:
    with pytest.raises(InputError, match=r"the graph has no names; .*expected a release loaded with its names"):
        SnapshotGraph.of([("C0000001", "C0000002")]).annotate("lung")


def test_bad_texts_are_named() -> None:
    graph = example_graph()
    with pytest.raises(InputError, match="one text, not a list of texts"):
        graph.annotate_many("vein")
    with pytest.raises(InputError, match=r"texts.1"):
        graph.annotate_many(["vein", None])  # type: ignore[list-item]
    assert len(graph.annotate_many([])) == 0


def test_acronyms_match_in_their_own_capitals() -> None:
    annotate = named({"C0000001": ["AIDS", "acquired immunodeficiency syndrome"], "C0000002": ["Hearing aids", "aids"]})
    assert annotate("AIDS and aids; HEARING AIDS") == [
        ("AIDS", "C0000001", "acronym"), ("aids", "C0000002", "exact"), ("HEARING AIDS", "C0000002", "exact"),
    ]  # fmt: skip
    annotate = named({"C0000001": ["MRI"], "C0000002": ["Ca"]})
    assert annotate("MRIs of mri, Ca or ca") == [("MRIs", "C0000001", "acronym"), ("Ca", "C0000002", "acronym")]


def test_an_acronym_written_small_is_no_word_but_a_capitalised_name_is() -> None:
    annotate = named({"C0000001": ["RICH", "rich"], "C0000002": ["FEVER", "Fever"]})
    assert annotate("rich in fever, RICH") == [("fever", "C0000002", "exact"), ("RICH", "C0000001", "acronym")]


def test_brackets_and_nos_at_the_end_need_not_be_there() -> None:
    annotate = named(
        {"C0000001": ["Cold (disorder)"], "C0000002": ["blood (leukemia)"], "C0000003": ["Hip fracture, NOS"],
         "C0000004": ["[X]Asthma NEC"], "C0000005": ["Primary tumour (left lung)"],
         "C0000006": ["Benign tumour (left lung) (disorder)"], "C0000007": ["Chill [symptom]"]}
    )  # fmt: skip
    assert annotate("cold blood; hip fractures, asthma. primary tumours, benign tumour, chill") == [
        ("cold", "C0000001", "tail"), ("hip fractures", "C0000003", "tail"), ("asthma", "C0000004", "tail"),
        ("primary tumours", "C0000005", "tail"), ("benign tumour", "C0000006", "tail"),
        ("chill", "C0000007", "tail"),
    ]  # fmt: skip


def test_a_name_that_is_an_ending_has_no_sequence_without_it() -> None:
    def sequences(name: str) -> int:
        return len(SnapshotGraph.of([], names={"C0000001": [name]}).sections["term_hashes"])

    assert sequences("nos") == sequences("nas")


def test_a_name_that_begins_with_a_bracket_is_found_with_it_and_without() -> None:
    annotate = named({"C0000001": ["[D]Fever of unknown origin"]})
    assert annotate("D fever of unknown origin; fever of unknown origin") == [
        ("D fever of unknown origin", "C0000001", "exact"), ("fever of unknown origin", "C0000001", "tail"),
    ]  # fmt: skip


def test_hyphens_greek_letters_and_inversion() -> None:
    annotate = named({
        "C0000001": ["X-ray"], "C0000002": ["Fracture, hip, left"], "C0000003": ["TNF-alpha"],
        "C0000004": ["postpartum"],
    })  # fmt: skip
    assert annotate("xray x ray X-Rays; left hip fracture; TNFα; post-partum") == [
        ("xray", "C0000001", "spacing"), ("x ray", "C0000001", "exact"), ("X-Rays", "C0000001", "form"),
        ("left hip fracture", "C0000002", "inverted"), ("TNFα", "C0000003", "spacing"),
        ("post-partum", "C0000004", "spacing"),
    ]  # fmt: skip


def test_a_possessive_is_no_word_in_either_case() -> None:
    annotate = named({"C0000001": ["Crohn disease"]})
    assert [rule for _, _, rule in annotate("Crohn's disease, CROHN'S DISEASE, Crohn'S disease, Crohn'x disease")] == [
        "form", "form", "form",
    ]  # fmt: skip
    assert named({"C0000001": ["S wave"]})("s wave") == [("s wave", "C0000001", "exact")]


@pytest.mark.parametrize("between", [". ", "; ", ": ", " (", ") ", "? ", "\n\n"])
def test_no_name_matches_across_the_end_of_a_sentence_or_a_bracket(between: str) -> None:
    annotate = named({"C0000001": ["lung cancer"]})
    assert annotate(f"lung{between}cancer") == []
    assert annotate("lung, cancer\ncancer lung\ncancer") == [
        ("lung, cancer", "C0000001", "exact"), ("lung\ncancer", "C0000001", "exact"),
    ]  # fmt: skip


def test_all_matches_and_all_candidates() -> None:
    graph = SnapshotGraph.of(
        [], names={"C0000001": ["lung cancer", "Cold"], "C0000002": ["Lung", "cold"], "C0000003": ["cancer", "a cold"]}
    )
    found = graph.annotate("lung cancer cold", AnnotationOptions(longest=False, candidates=True))
    assert [(m.text, m.cui, [term.cui for term in m.candidates]) for m in found] == [
        ("lung", "C0000002", ["C0000002"]), ("lung cancer", "C0000001", ["C0000001"]),
        ("cancer", "C0000003", ["C0000003"]), ("cold", "C0000001", ["C0000001", "C0000002"]),
    ]  # fmt: skip


def test_the_context_chooses_the_nearest_candidate() -> None:
    graph = SnapshotGraph.of(
        [("C0000002", "C0000009"), ("C0000003", "C0000009"), ("C0000001", "C0000008")],
        names={"C0000001": ["cold"], "C0000002": ["common cold", "cold"], "C0000003": ["pneumonia"]},
    )
    nearest = AnnotationOptions(disambiguate="context", candidates=True)
    assert graph.annotate("a cold").cuis == ("C0000001",)
    assert graph.annotate("a cold", nearest).cuis == ("C0000001",)
    found = graph.annotate("a cold with pneumonia", nearest)
    assert found.cuis == ("C0000002", "C0000003")
    assert [term.cui for term in found[0].candidates] == ["C0000002", "C0000001"]


def test_stop_lists_hold_identifiers_and_names() -> None:
    graph = SnapshotGraph.of([], names={"C0000001": ["lung", "Lungs"], "C0000002": ["hip"], "C0000003": ["knee"]})
    assert graph.annotate("lung hip knee", AnnotationOptions(stop=("C0000002", "LUNG", "never"))).cuis == ("C0000003",)


def test_misspelt_words_are_corrected_on_request() -> None:
    graph = SnapshotGraph.of([], names={"C0000001": ["pneumonia"], "C0000002": ["effusion"]})
    assert graph.annotate("pnuemonia").cuis == ()
    found = graph.annotate("pnuemonia, effussions", AnnotationOptions(correct_spelling=True))
    assert [(m.text, m.cui, m.rule) for m in found] == [
        ("pnuemonia", "C0000001", "spelling"), ("effussions", "C0000002", "spelling"),
    ]  # fmt: skip


def test_general_names_and_concepts_match_on_request() -> None:
    edges = [(f"C{i:07}", "C0000000") for i in range(1, 200)]
    names = {f"C{i:07}": [f"large condition{i} anomaly"] for i in range(1, 1200)}
    names |= {"C0000000": ["everything"], "C0009998": ["anomaly", "oddity"], "C0009999": ["other", "12"]}
    graph = SnapshotGraph.of(edges, names=names)
    text = "everything, an oddity, the other 12 and large condition7 anomaly"
    assert graph.annotate(text).cuis == ("C0000007",)
    everything = graph.annotate(text, AnnotationOptions(general=True))
    assert everything.cuis == ("C0000000", "C0000007", "C0009998", "C0009999")
