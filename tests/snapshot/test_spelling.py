"""Corrections of words: distances against a plain recursion, and candidates against all words."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop.snapshot.spelling import Spelling, edit_distances, letter_sets
from cuihop.snapshot.string_table import StringTable
from cuihop.snapshot.word_forms import form_of, respelt

WORDS = st.text(st.sampled_from("abcd"), min_size=1, max_size=9)
LONGER = st.text(st.sampled_from("bcdft"), min_size=4, max_size=9)  # letters that no rule of spelling changes


@cache
def distance(a: str, b: str) -> int:
    """Optimal string alignment, by its definition."""
    if not a or not b:
        return len(a) + len(b)
    best = min(distance(a[:-1], b) + 1, distance(a, b[:-1]) + 1, distance(a[:-1], b[:-1]) + (a[-1] != b[-1]))
    if a[-1:] == b[-2:-1] and a[-2:-1] == b[-1:]:
        best = min(best, distance(a[:-2], b[:-2]) + 1)
    return best


@given(word=WORDS, others=st.lists(WORDS, min_size=1, max_size=6), most=st.integers(1, 2))
def test_distances_are_those_of_the_definition(word: str, others: list[str], most: int) -> None:
    width = max(map(len, others))
    letters = np.array([list(other.ljust(width, "\0").encode()) for other in others], dtype=np.uint8)
    found = edit_distances(word.encode(), letters, np.array([len(other) for other in others]), most)
    for other, hops in zip(others, found.tolist(), strict=True):
        exact = distance(word, other)
        assert hops == exact if exact <= most else hops > most


@given(word=LONGER, others=st.lists(LONGER, min_size=1, max_size=12, unique_by=form_of))
def test_no_near_word_is_missed(word: str, others: list[str]) -> None:
    allowed = 2 if len(respelt(word)) >= 7 else 1
    near = [
        (distance(respelt(word), respelt(other)), place, other)
        for place, other in enumerate(others)
        if distance(respelt(word), respelt(other)) <= allowed and form_of(other) != form_of(word)
    ]
    assert Spelling.of(others).nearest(word, 3) == [other for _, _, other in sorted(near)][:3]


def test_letters_are_counted_once_and_twice() -> None:
    sets = letter_sets(StringTable.of(["abc", "aab", "aaa"])).tolist()
    twice_a = 1 << 26
    assert sets == [0b111, 0b11 | twice_a, 0b1 | twice_a]


@pytest.mark.parametrize("word", ["c1234567", "mi", "", "x" * 40, "漢字漢字漢字"])
def test_words_that_are_no_words_of_letters_are_not_corrected(word: str) -> None:
    assert Spelling.of(["pneumonia", "miosis", "x" * 32]).nearest(word, 3) == []


SAME_FORM = (
    "lungs lung|arteries artery|leukaemia leukemia|tumours tumor|diarrhoea diarrhea|haemorrhages hemorrhage"
    "|centre center|fibres fiber|headaches headache|viruses virus|causes cause|masses mass|abscesses abscess"
    "|metastases metastasis"
    "|diseases disease|generalised generalized|analyse analyze|anaesthesia anesthesia|foetus fetus|manoeuvre maneuver"
    "|sulphur sulfur|leucocytes leukocyte|labelled labeled|alzheimers alzheimer|vertebrae vertebra"
    "|carcinomata carcinoma|reflexes reflex|orthopaedic orthopedic|bronchi bronchus|colour color|oestrogens estrogen"
    "|branches branch"
    "|stenoses stenosis|naevi nevus|oedema edema|apnoea apnea|toes toe|diagnoses diagnosis"
    "|feet foot|catheterised catheterized"
)
OTHER_FORM = "pus pu|toe te|toes tes|does des|hepatitis hepatite|uterus uteru|basis bass|lupus lupu|gas ga|shoe she"


@pytest.mark.parametrize("pair", SAME_FORM.split("|"))
def test_words_of_one_form(pair: str) -> None:
    one, other = pair.split()
    assert form_of(one) == form_of(other)


@pytest.mark.parametrize("pair", OTHER_FORM.split("|"))
def test_words_of_different_forms(pair: str) -> None:
    one, other = pair.split()
    assert form_of(one) != form_of(other)
