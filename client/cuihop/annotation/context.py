"""Contexts of mentions: negated, uncertain, of a relative. The rules of ConText, with the triggers of this package.

H. Harkema et al., *ConText: an algorithm for determining negation, experiencer, and temporal status from clinical
reports*, Journal of Biomedical Informatics 42 (2009), after NegEx (Chapman et al. 2001).

A sentence ends at a full stop, question mark or exclamation mark before a blank, and at a semicolon or a new line.
Triggers are taken from the left, the longest first; the words of one are joined by blanks, hyphens, apostrophes or
slashes. A trigger that shares a word with a mention does not count: “no-reflow phenomenon”. Its scope reaches to the
end of the sentence (forward), to its beginning (backward), or to a termination: “but”. The scope of a negation or an
uncertainty also ends, going forward, at one that follows a comma (“no fracture, possible effusion”), and going
backward, at any that points forward. A pseudo-trigger (“no change”) hides the triggers within.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cuihop.annotation.characters import CharacterClasses
from cuihop.annotation.code_points import coded
from cuihop.annotation.options import CONTEXTS, Context
from cuihop.annotation.triggers import TRIGGERS

_KINDS = (*CONTEXTS, "pseudo", "termination")
_DIRECTIONS = {"forward": 1, "backward": 2, "both": 3}
_SLOTS = 1 << 11


class TriggerTable(NamedTuple):
    """The triggers in arrays; those of one first word one after the other, the longest first.

    Attributes:
        slots: int32, shape (2048,): words by their hash, open addressing; -1 for none.
        word_codes, word_bounds: code points of the words in lower case, and the bounds of each word among them.
        longest: characters of the longest word.
        by_first_word: int32, shape (words + 1,): bounds of the triggers that begin with a word.
        words, bounds: int32: words of the triggers, and the bounds of each trigger among them.
        kinds: uint8: places in the contexts, then 3 for pseudo-triggers and 4 for terminations.
        directions: uint8: 1 forward, 2 backward, 3 both.
    """

    slots: npt.NDArray[np.int32]
    word_codes: npt.NDArray[np.uint32]
    word_bounds: npt.NDArray[np.int64]
    longest: int
    by_first_word: npt.NDArray[np.int32]
    words: npt.NDArray[np.int32]
    bounds: npt.NDArray[np.int32]
    kinds: npt.NDArray[np.uint8]
    directions: npt.NDArray[np.uint8]


@lru_cache(maxsize=1)
def _table() -> TriggerTable:
    from cuihop._kernels.context import hash_of_word

    phrases = [re.findall(r"[^\W_]+", trigger.phrase) for trigger in TRIGGERS]
    words = sorted({word for phrase in phrases for word in phrase})
    places = {word: place for place, word in enumerate(words)}
    codes, bounds = coded(words)
    characters = CharacterClasses()
    slots = np.full(_SLOTS, -1, dtype=np.int32)
    for place in range(len(words)):
        slot = hash_of_word(codes, bounds[place], bounds[place + 1], characters.classes, characters.folds) % _SLOTS
        while slots[slot] >= 0:
            slot = (slot + 1) % _SLOTS
        slots[slot] = place
    order = sorted(range(len(phrases)), key=lambda i: (phrases[i][0], -len(phrases[i])))
    first = [places[phrases[i][0]] for i in order]
    return TriggerTable(
        slots=slots,
        word_codes=codes,
        word_bounds=bounds,
        longest=max(map(len, words)),
        by_first_word=np.searchsorted(first, np.arange(len(words) + 1)).astype(np.int32),
        words=np.array([places[word] for i in order for word in phrases[i]], dtype=np.int32),
        bounds=np.cumsum([0, *(len(phrases[i]) for i in order)], dtype=np.int32),
        kinds=np.array([_KINDS.index(TRIGGERS[i].kind) for i in order], dtype=np.uint8),
        directions=np.array([_DIRECTIONS[TRIGGERS[i].direction] for i in order], dtype=np.uint8),
    )


def contexts(
    codes: npt.NDArray[np.uint32],
    offsets: npt.NDArray[np.int64],
    characters: CharacterClasses,
    texts: npt.NDArray[np.int64],
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
) -> npt.NDArray[np.uint8]:
    """Contexts of the mentions in a batch of texts.

    Args:
        codes, offsets: the texts, as `cuihop.annotation.code_points.coded` gives them.
        characters: classes of the characters, those of the texts among them.
        texts, starts, ends: the mentions, by text and start: the place of the text, and code points counted from the
            beginning of the batch. They hold a word each, and may overlap.

    Returns:
        uint8, shape (mentions,): bit i for the context at place i of `cuihop.annotation.options.CONTEXTS`.
    """
    from cuihop._kernels.context import mark_contexts

    flags = np.zeros(len(texts), dtype=np.uint8)
    triggers: Any = tuple(_table())
    mark_contexts(codes, offsets, characters.classes, characters.folds, triggers, texts, starts, ends, flags)
    return flags


def contexts_in(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[Context, ...]]:
    """Contexts of the mentions in a text.

    Args:
        text: the text.
        spans: start and end of each mention, by start.

    >>> contexts_in("No effusion, possible pneumonia.", [(3, 11), (22, 31)])
    [('negated',), ('uncertain',)]
    """
    starts, ends = np.array(spans, dtype=np.int64).reshape(-1, 2).T.copy()
    codes, offsets = coded([text])
    characters = CharacterClasses()
    characters.classify(codes)
    flags = contexts(codes, offsets, characters, np.zeros(len(spans), dtype=np.int64), starts, ends)
    return [tuple(context for place, context in enumerate(CONTEXTS) if flag >> place & 1) for flag in flags.tolist()]
