"""Definitions of abbreviations: the kernel against the algorithm in plain strings, and against another program."""

from __future__ import annotations

import gzip
import re

import pytest
from abbreviation_extractor import extract_abbreviation_definition_pairs
from hypothesis import given
from hypothesis import strategies as st

from annotation.plain_sentences import in_word, is_letter, small, stops
from cuihop.annotation.abbreviations import definitions
from cuihop.annotation.characters import CharacterClasses, coded
from shared_data import shared

SIGNS = [*"()().,;?!'\"’-/ \n", "\u00a0", "😀"]
WORDS = [
    "heat",
    "shock",
    "Factor",
    "HSF",
    "H",
    "e.g",
    "E",
    "vs",
    "of",
    "p53",
    "IL-2",
    "MDS",
    "µ",
    "x",
    "ß",
    "İ",
    "a b",
    "DM",
]
texts = st.lists(st.sampled_from([*SIGNS, *WORDS, " ", " ", " ("]), max_size=60).map("".join)


def plain(text: str) -> list[tuple[int, int, int, int]]:
    """The algorithm of Schwartz and Hearst, literally: bounds of the short and of the long form."""
    ends, found = stops(text), []
    for bracket in [at for at, character in enumerate(text) if character == "("]:
        match = re.match(r"[^()]*\)", text[bracket + 1 :])
        if not match or any(bracket < at <= bracket + match.end() - 1 for at in ends):
            continue
        inner = re.split(r"[,;](?=\s)", match[0][:-1])[0]
        first = bracket + 1 + len(inner) - len(inner.lstrip())
        content, before = inner.strip(), text[:bracket].rstrip()
        sentence = max((at for at in ends if at < len(before)), default=-1) + 1
        while sentence and sentence < len(before) and not text[sentence].isspace():
            sentence += 1
        if not content or not before[sentence:].strip():
            continue
        words = [(m.start(), m.end()) for m in re.finditer(r"\S+", before) if m.start() >= sentence]
        words = [word for word in words if word[0] >= len(before) - 300]
        if not words:
            continue
        if len(content) <= 10 and len(content.split()) <= 2:
            short, start, window, end = content, first, words, len(before)
        else:
            short, start = before[words[-1][0] :], words[-1][0]
            window = [(first + m.start(), first + m.end()) for m in re.finditer(r"\S+", content)]
            end = first + len(content)
        letters = [c for c in short if is_letter(c)]
        if not 2 <= len(short) <= 10 or not letters or not in_word(short[0]):
            continue
        begin = window[-min(len(short) + 5, 2 * len(short)) :][0][0]
        long = longest_suffix(short, text[begin:end])
        if long is not None and len(long) > len(short) and not is_word_of(short, long):
            at = begin + text[begin:end].rindex(long)
            found.append((start, start + len(short), at, at + len(long)))
    return found


def longest_suffix(short: str, window: str) -> str | None:
    at = len(window) - 1
    for place in range(len(short) - 1, -1, -1):
        if not in_word(short[place]):
            continue
        while at >= 0 and (
            small(window[at]) != small(short[place]) or (place == 0 and at > 0 and in_word(window[at - 1]))
        ):
            at -= 1
        if at < 0:
            return None
        at -= 1
    begin = max((m.end() for m in re.finditer(r"\s", window[: at + 1])), default=0)
    long = window[begin:]
    while not in_word(long[-1]):
        long = long[:-1]
    while not in_word(long[0]):
        long = long[1:]
    return long


def is_word_of(short: str, long: str) -> bool:
    places = [at for at in range(len(long)) if long.startswith(short, at)]
    return any(
        (at == 0 or long[at - 1].isspace()) and (at + len(short) == len(long) or not in_word(long[at + len(short)]))
        for at in places
    )


def bounds(texts: list[str]) -> list[list[tuple[int, int, int, int]]]:
    codes, offsets = coded(texts)
    characters = CharacterClasses()
    characters.classify(codes)
    rows = definitions(codes, offsets, characters).tolist()
    begins = offsets.tolist()
    return [[tuple(x - begins[i] for x in row[1:]) for row in rows if row[0] == i] for i in range(len(texts))]


def definitions_in(text: str) -> list[tuple[str, str]]:
    return [(text[begin:end], text[first:last]) for begin, end, first, last in bounds([text])[0]]


@given(st.lists(texts, max_size=4))
def test_the_kernel_equals_the_algorithm_in_plain_strings(batch: list[str]) -> None:
    assert bounds(batch) == [plain(text) for text in batch]


@given(
    st.lists(
        st.sampled_from(["heat", "shock", "factor", "Heat", "(HSF)", "(HS)", "HSF (", ")", "fever.", "x,"]), max_size=25
    )
)
def test_texts_that_define_much_are_equal_too(words: list[str]) -> None:
    text = " ".join(words)
    assert bounds([text]) == [plain(text)]


def abstracts() -> list[str]:
    with gzip.open(shared("ncbi_disease/devel.pubtator.txt.gz"), "rt", encoding="utf-8") as file:
        return [line.split("|", 2)[2] for line in file if re.match(r"\d+\|[ta]\|", line)]


def test_the_kernel_equals_the_algorithm_on_real_abstracts() -> None:
    batch = abstracts()
    found = bounds(batch)
    assert found == [plain(text) for text in batch]
    assert sum(map(len, found)) > 100


def test_another_program_finds_the_same_on_real_abstracts() -> None:
    ours, theirs = set(), set()
    for number, text in enumerate(abstracts()):
        ours |= {(number, *pair) for pair in definitions_in(text)}
        theirs |= {(number, pair.abbreviation, pair.definition) for pair in extract_abbreviation_definition_pairs(text)}
    assert len(ours & theirs) > 0.9 * len(ours | theirs)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gonadotropin-releasing hormone (GnRH)", [("GnRH", "gonadotropin-releasing hormone")]),
        ("heat shock transcription factor (HSF)", [("HSF", "heat shock transcription factor")]),
        ("HSF (heat shock transcription factor)", [("HSF", "heat shock transcription factor")]),
        ("red-cell glucose-6-phosphate dehydrogenase (G6PD)", [("G6PD", "glucose-6-phosphate dehydrogenase")]),
        ("acute myeloid leukaemia (AML; M4)", [("AML", "acute myeloid leukaemia")]),
        ("Fracture. Acute pain (FAP)", []),
        ("an aneurysm (arrow)", []),
        ("in the year 2003 (2003)", []),
        ("the AML gene product (AML)", []),
        ("chest DIRECT tomography (CT)", [("CT", "chest DIRECT tomography")]),
        ("CTs of the thorax (CT)", [("CT", "CTs of the thorax")]),
        ("chest X-ray (CXR", []),
        ("", []),
    ],
)
def test_short_and_long_forms(text: str, expected: list[tuple[str, str]]) -> None:
    assert definitions_in(text) == expected


def test_the_full_stop_of_a_short_form_ends_no_sentence() -> None:
    forms = "al, approx, ca, cf, dr, e.g, eq, esp, fig, figs, i.e, incl, mr, mrs, ms, prof, ref, refs, resp, spp, st"
    for form in [*forms.split(", "), "viz", "vs"]:
        assert definitions_in(f"Xray {form}. Young zone (XYZ)") == [("XYZ", f"Xray {form}. Young zone")]
    assert definitions_in("Xray cat. Young zone (XYZ)") == []


def test_brackets_without_blanks_take_bounded_work() -> None:
    assert definitions_in("(AB)" * 50_000) == []
    assert definitions_in("(" * 200_000) == []
    assert definitions_in("a" * 200_000 + " (ab)" * 1_000) == []
