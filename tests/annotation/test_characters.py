"""Classes of characters, which compiled code reads while other threads fill them."""

from __future__ import annotations

import numpy as np
import pytest

from cuihop.annotation.characters import CharacterClasses, coded, folded_letters
from cuihop.annotation.tokens import Tokeniser
from cuihop.snapshot.word_forms import form_of


@pytest.mark.slow
def test_the_arrays_have_room_for_every_code_point_and_never_move() -> None:
    characters = CharacterClasses()
    arrays = characters.classes, characters.folds, characters.several
    characters.classify(np.arange(0x110000, dtype=np.uint32))
    assert all(now is before for now, before in zip(
        (characters.classes, characters.folds, characters.several), arrays, strict=True
    ))  # fmt: skip
    assert characters.classes.all()
    for character in "βﬁ㎎":
        at = int(characters.folds[ord(character)])
        letters = characters.several[at + 1 : at + 1 + int(characters.several[at])]
        assert "".join(map(chr, letters.tolist())) == folded_letters(character)


def test_texts_of_more_tokens_than_fit_at_first() -> None:
    codes, bounds = coded(["b", "a " * 5000, "c"])
    tokens = Tokeniser(form_of).tokens(bounds, codes)
    assert np.diff(tokens.bounds).tolist() == [1, 5000, 1]
    assert tokens.places[:, 0].tolist() == [0, *range(0, 10_000, 2), 0]
    assert len(set(tokens.keys[1:-1, 0].tolist())) == 1
