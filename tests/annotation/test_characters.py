"""Classes of characters, which compiled code reads while other threads fill them."""

from __future__ import annotations

import numpy as np
import pytest

from cuihop.annotation.characters import CharacterClasses, folded_letters


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
