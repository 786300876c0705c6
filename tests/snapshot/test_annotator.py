"""Annotation with a snapshot, compared with a matcher in plain Python and with sentences by hand."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuihop import AnnotationOptions, SnapshotGraph
from cuihop._kernels.mentions import MOST_ABBREVIATIONS
from cuihop.annotation.mentions import Annotation
from examples import examples, is_nightly
from literal_annotator import LiteralAnnotator, Match

WORDS = (
    "lung", "lungs", "cancer", "hip", "fracture", "fractures", "of", "the", "in", "tumour", "tumor", "x", "ray", "xray",
    "T2", "MRI", "AIDS", "aids", "Crohn's", "Crohn", "disease", "α", "TNF", "TNFα", "alpha", "β2", "naïve", "naive",
    "NOS", "nec", "disorder", "12", "a", "HIV", "Ca", "ca", "cell", "non", "small", "ﬁbre", "fibre",
    "e\u0301toile", "𝔸",
    "oe\u00addema", "edema", "ʼs", "s",
)  # fmt: skip
BETWEEN = (
    " ",
    " ",
    " ",
    " ",
    "-",
    "-",
    "–",
    ", ",
    ",",
    ". ",
    ".",
    " (",
    ") ",
    "; ",
    "\n",
    "\n\n",
    "'",
    "’",
    "  ",
    "/",
    "[",
)


def made_text(chance: random.Random, words: int) -> str:
    text = ""
    for _ in range(words):
        word = chance.choice(WORDS)
        word = chance.choice((word, word, word, word.upper(), word.capitalize()))
        text += word + chance.choice(BETWEEN)
    return text


def made_names(chance: random.Random, concepts: int) -> dict[str, list[str]]:
    def name() -> str:
        text = made_text(chance, chance.randint(1, 4)).strip()
        return chance.choice((text, text, text, f"{text} (disorder)", f"{text}, NOS", f"[X] {text}"))

    return {f"C{i:07}": [name() for _ in range(chance.randint(1, 4))] for i in range(concepts)}


def matches(annotation: Annotation) -> list[Match]:
    return [Match(m.start, m.end, m.cui, m.matched, m.rule) for m in annotation]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_matches_are_those_of_plain_python(seed: int) -> None:
    chance = random.Random(seed)
    names = made_names(chance, 900)
    if seed == 4:  # a vocabulary in capitals
        names = {cui: [name.upper() for name in some] for cui, some in names.items()}
    literal = LiteralAnnotator(names)
    texts = [made_text(chance, chance.randint(0, 12)) for _ in range(20_000 if is_nightly() else 1_000)]
    found = SnapshotGraph.of([], names=names).annotate_many(texts)
    count = 0
    for text, annotation in zip(texts, found, strict=True):
        expected = literal.annotate(text)
        count += len(expected)
        assert matches(annotation) == expected, text
    assert count > len(texts)


@settings(max_examples=examples(60))
@given(
    st.lists(st.lists(st.text(min_size=1, max_size=12), max_size=3), max_size=8),
    st.lists(st.text(max_size=40), max_size=4),
)
def test_any_names_and_any_texts(names: list[list[str]], texts: list[str]) -> None:
    named = {f"C{i:07}": [name for name in some if name.strip()] for i, some in enumerate(names)}
    if not any(named.values()):
        named = {"C0000001": ["lung"]}
    texts = [*texts, *(f"{text} {name}. " for text in texts[:2] for some in named.values() for name in some)]
    literal = LiteralAnnotator(named)
    for text, annotation in zip(texts, SnapshotGraph.of([], names=named).annotate_many(texts), strict=True):
        assert matches(annotation) == literal.annotate(text)


def test_a_letter_that_stands_for_two_is_the_same_in_text_and_name() -> None:
    names = {"C0000001": "Straße", "C0000002": "Weissglut", "C0000003": "de\ufb01cit", "C0000004": "fibre"}
    graph = SnapshotGraph.of([], names={cui: [name] for cui, name in names.items()})
    found = graph.annotate("Straße, STRASSE, Weißglut, weissglut, de\ufb01cit, deficit, \ufb01bre, fibre")
    assert [(mention.cui, mention.rule) for mention in found] == [(cui, "exact") for cui in names for _ in range(2)]


def test_long_texts_of_any_kind_keep_their_matches() -> None:
    """Texts at which a bound of memory or of work would show: many matches a token, many and long definitions."""
    graph = SnapshotGraph.of(
        [],
        names={"C0000001": ["lung"], "C0000002": ["lung-lung", "lung lung lung"], "C0000003": ["aa bb"]}
        | {f"C1{i:06}": [f"a{i} b{i}"] for i in range(400)},
    )
    every = AnnotationOptions(longest=False)
    assert len(graph.annotate("lung " * 5_000, every)) == 5_000 + 4_999 + 4_998
    assert len(graph.annotate("lung-" * 5_000, every)) == 5_000 + 4_999 + 4_998
    defined = "".join(f"a{i} b{i} (AB{i}) " for i in range(400))
    found = graph.annotate(defined + " ".join(f"AB{i}" for i in range(400)))
    assert sum(mention.rule == "abbreviation" for mention in found) == 2 * MOST_ABBREVIATIONS
    assert sum(mention.rule == "exact" for mention in found) == 400
    assert len(graph.annotate("aa bb (AB) " + "AB " * 5_000)) == 5_002
    assert len(graph.annotate(f"x{'-y' * 40} aa bb (AB) " + "AB " * 5_000)) == 5_002


@pytest.mark.parametrize("longest", [True, False])
def test_no_match_begins_or_ends_within_the_long_form_of_an_abbreviation(longest: bool) -> None:
    """The long form stands for the short one as a whole: a name at its beginning or end alone is not in the text."""
    graph = SnapshotGraph.of(
        [], names={"C0000001": ["chronic obstructive", "lung disease"], "C0000002": ["aa"], "C0000003": ["chronic"]}
    )
    text = "chronic obstructive lung disease (COLD). Then COLD aa"
    found = graph.annotate(text, AnnotationOptions(longest=longest))
    in_text = ["chronic obstructive", "lung disease", "aa"] + ([] if longest else ["chronic"])
    assert sorted(text[m.start : m.end] for m in found) == sorted(in_text)


@pytest.mark.parametrize(("words", "expected"), [(4, []), (30, []), (31, ["AB", "AB"]), (40, ["AB", "AB"])])
def test_an_abbreviation_of_a_very_long_form_is_read_as_it_stands(words: int, expected: list[str]) -> None:
    text = f"a{'-y' * words} b (AB). Then AB"
    found = SnapshotGraph.of([], names={"C0000001": ["AB"]}).annotate(text)
    assert [text[m.start : m.end] for m in found] == expected


@pytest.mark.parametrize("short", ["HSF", "H-SF"])
def test_an_abbreviation_is_found_where_it_stands(short: str) -> None:
    text = f"Heat shock factor ({short}). Then the {short} again"
    found = SnapshotGraph.of([], names={"C0000001": ["heat shock factor"]}).annotate(text)
    assert [text[m.start : m.end] for m in found] == ["Heat shock factor", short, short]


@pytest.mark.parametrize("rest", ["", " was done", " was done again, and again"])
def test_a_bracket_closed_after_an_abbreviation_does_not_separate(rest: str) -> None:
    names = {"C0000001": ["computed tomography angiography"], "C0000002": ["computed tomography"]}
    text = f"Computed tomography (CT) angiography{rest}"
    found = SnapshotGraph.of([], names=names).annotate(text)
    assert [(text[m.start : m.end], m.cui) for m in found] == [
        ("Computed tomography", "C0000002"),
        ("CT) angiography", "C0000001"),
    ]


def test_another_bracket_separates_in_a_text_with_abbreviations() -> None:
    text = "Computed tomography (CT). In CT the (left) lung and a right lung"
    found = SnapshotGraph.of([], names={"C0000001": ["left lung"], "C0000002": ["right lung"]}).annotate(text)
    assert [text[m.start : m.end] for m in found] == ["right lung"]
