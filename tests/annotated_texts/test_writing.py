"""Mentions that are written and read again are the same, in every format and of texts in any script."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop import SnapshotGraph
from cuihop.annotated_texts.documents import same_text
from cuihop.annotated_texts.reading import read_documents
from cuihop.annotated_texts.writing import (
    SPANS_HEADERS,
    SpansFormat,
    concept_rows,
    span_rows,
    spans_form_of,
    unfold_brat,
)
from cuihop.annotation.mentions import Annotation, Annotations, Mention, Term
from cuihop.annotation.options import AnnotationOptions
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.errors import InputError
from example_graph import NAMES, example_graph

WORDS = [
    *(name for names in NAMES.values() for name in names),
    "brain\nstem",
    "hip\r\nof",
    "\U0001f9e0",
    "e\u0301",
    "\t",
]
BETWEEN = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=4)
TEXTS = st.lists(
    st.lists(st.tuples(BETWEEN, st.sampled_from(WORDS)), max_size=6).map(lambda parts: " ".join(map("".join, parts))),
    min_size=1, max_size=4,
)  # fmt: skip


@pytest.fixture(scope="module")
def graph() -> SnapshotGraph:
    return example_graph()


def written(folder: Path, form: SpansFormat, identifiers: list[str], annotations: Annotations) -> Path:
    content = SPANS_HEADERS[form] + span_rows(form, identifiers, annotations)
    if form == "brat":
        path = folder / f"brat-{len(list(folder.iterdir()))}"
        path.mkdir()
        unfold_brat(content.splitlines(keepends=True), path)
        return path
    path = folder / {"csv": "spans.csv", "jsonl": "spans.jsonl", "pubtator": "spans.txt"}[form]
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("form", ["csv", "jsonl", "pubtator", "brat"])
@given(texts=TEXTS)
def test_written_mentions_are_read_again(
    form: SpansFormat, texts: list[str], graph: SnapshotGraph, tmp_path_factory: pytest.TempPathFactory
) -> None:
    identifiers = [f"d{n}" for n in range(len(texts))]
    annotations = graph.annotate_many(texts, AnnotationOptions(longest=False, candidates=True))
    path = written(tmp_path_factory.mktemp("spans"), form, identifiers, annotations)
    if form == "csv" and not len(annotations.terms):
        return  # a header only: documents without mentions do not stand in this format
    read = {document.identifier: document for document in read_documents(path)}
    for identifier, annotation in zip(identifiers, annotations, strict=True):
        if form == "csv" and not annotation:
            assert identifier not in read
            continue
        found = read[identifier]
        assert [(m.start, m.end, m.cuis) for m in found.mentions] == [(m.start, m.end, (m.cui,)) for m in annotation]
        assert all(same_text(m.text or "", annotation.text[m.start : m.end]) for m in found.mentions)
        if form in ("jsonl", "brat"):
            assert found.text == annotation.text


@given(
    identifiers=st.lists(
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs", "Cc"])).map(str.strip),
        min_size=1,
        unique=True,
    ),
    data=st.data(),
)
def test_the_concepts_are_what_evaluate_reads(
    identifiers: list[str], data: st.DataObject, graph: SnapshotGraph, tmp_path_factory: pytest.TempPathFactory
) -> None:
    identifiers = [f"image {identifier}" for identifier in identifiers]
    texts = data.draw(
        st.lists(st.sampled_from([*WORDS, "nothing", ""]), min_size=len(identifiers), max_size=len(identifiers))
    )
    annotations = graph.annotate_many(texts)
    path = tmp_path_factory.mktemp("concepts") / "concepts.csv"
    path.write_bytes(b"ID,CUIs\n" + concept_rows(identifiers, annotations))
    expected = {name: frozenset(found.cuis) for name, found in zip(identifiers, annotations, strict=True)}
    assert dict(ImageConcepts.read(path)) == {name.strip(): concepts for name, concepts in expected.items()}


def annotations_of(text: str, *mentions: Mention) -> Annotations:
    return Annotations.of([Annotation(text, mentions)])


HEAD = Mention(
    3, 7, "head", "C0018670", "Head", "Head, NOS", ("MSH", "NCI"), "tail", ("negated", "family"),
    (Term("C0018670", "Head", "Head, NOS", ("MSH", "NCI")), Term("C2", None, "head")),
)  # fmt: skip


def test_every_field_of_a_mention_is_written() -> None:
    annotations = annotations_of("no head", HEAD)
    assert span_rows("csv", ["a"], annotations) == (
        b'a,3,7,head,C0018670,Head,"Head, NOS",MSH;NCI,tail,negated;family,C0018670;C2\n'
    )
    assert json.loads(span_rows("jsonl", ["a"], annotations)) == {
        "id": "a", "text": "no head", "mentions": [{
            "start": 3, "end": 7, "text": "head", "cui": "C0018670", "name": "Head", "matched": "Head, NOS",
            "sabs": ["MSH", "NCI"], "rule": "tail", "context": ["negated", "family"], "candidates": [
                {"cui": "C0018670", "name": "Head", "matched": "Head, NOS", "sabs": ["MSH", "NCI"]},
                {"cui": "C2", "name": None, "matched": "head", "sabs": []},
            ],
        }],
    }  # fmt: skip
    assert span_rows("pubtator", ["a"], annotations) == b"a|t|no head\na|a|\na\t3\t7\thead\tConcept\tC0018670\n\n"
    assert json.loads(span_rows("brat", ["a"], annotations))[2].splitlines() == [
        "T1\tConcept 3 7\thead", "N1\tReference T1 UMLS:C0018670\tHead", "A10\tNegated T1", "A11\tFamily T1",
        "#1\tAnnotatorNotes T1\tmatched Head, NOS, sabs MSH;NCI, rule tail, candidates C0018670;C2",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("form", "identifier"),
    [
        ("pubtator", "a|b"),
        ("pubtator", "a\tb"),
        ("brat", "../a"),
        ("brat", ".a"),
        ("brat", "a\\b"),
        ("brat", "é" * 101),
    ],
)
def test_identifiers_that_a_format_cannot_hold_are_refused(form: SpansFormat, identifier: str) -> None:
    with pytest.raises(InputError, match="--spans-format csv holds any"):
        span_rows(form, [identifier], annotations_of("no head", HEAD))


def test_the_format_of_mentions_follows_the_ending() -> None:
    assert [spans_form_of(Path(name), None) for name in ("a.csv", "a.JSONL", "a.pubtator")] == [
        "csv",
        "jsonl",
        "pubtator",
    ]
    assert spans_form_of(Path("a"), "brat") == "brat"
    with pytest.raises(InputError, match=r"no format has this ending; found '.xml'; expected .csv"):
        spans_form_of(Path("a.xml"), None)
    with pytest.raises(InputError, match="the ending says another format than --spans-format"):
        spans_form_of(Path("a.csv"), "pubtator")
