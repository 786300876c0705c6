"""Contexts of mentions: negated, uncertain, of a relative. The rules of ConText, with the triggers of this package.

H. Harkema et al., *ConText: an algorithm for determining negation, experiencer, and temporal status from clinical
reports*, Journal of Biomedical Informatics 42 (2009), after NegEx (Chapman et al. 2001).

A sentence ends at a full stop, question mark or exclamation mark before a blank, and at a semicolon or a new line.
Triggers are taken from the left, the longest first; the words of one are joined by blanks, hyphens, apostrophes or
slashes. A trigger that shares a word with a mention does not count: “no-reflow phenomenon”. Its scope reaches to the
end of the sentence (forward), to its beginning (backward), or to a termination: “but”. The scope of a negation or an
uncertainty also ends, going forward, at one that follows a comma (“no fracture, possible effusion”), and going
backward, at any that points forward. A pseudo-trigger (“no change”) hides the triggers within.

The triggers are phrases that negate, make uncertain, or name a relative. The lists are our own choice of those of NegEx
(Journal of Biomedical Informatics 34, 2001) and ConText, with those of radiology reports and captions: 281 triggers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from cuihop.annotation.characters import CharacterClasses, coded
from cuihop.annotation.options import CONTEXTS
from cuihop.resources.arrays import Int64, UInt8, UInt32

if TYPE_CHECKING:
    from cuihop._kernels.context import Triggers

Kind: TypeAlias = Literal["negated", "uncertain", "family", "pseudo", "termination"]
Direction: TypeAlias = Literal["forward", "backward", "both"]


class Trigger(NamedTuple):
    """A phrase, its kind, and the side of its scope.

    A pseudo-trigger means nothing, and hides the shorter triggers in it. A termination ends the scope of all triggers.
    """

    phrase: str
    kind: Kind
    direction: Direction = "both"


_PHRASES: Mapping[tuple[Kind, Direction], str] = {
    ("negated", "forward"): """
        absence of, are negative for, clear of, declined, declines, denied, denies, denying, doesn't have,
        doesn't show, excluded, exclusion of, failed to reveal, failed to show, fails to reveal, fails to
        show, free from, free of, inconsistent with, is negative for, lack of, lacked, lacking, lacks,
        negative for, neither, never, no, none of, nor, not, not suggestive of, rather than, ruled out for,
        rules out, ruling out, unremarkable for, w/o, was negative for, were negative for, without""",
    ("negated", "backward"): """
        absent, are excluded, are negative, could be excluded, has been excluded, have been excluded, is
        excluded, is negative, not appreciated, not demonstrated, not detected, not evident, not found, not
        identified, not noted, not observed, not present, not seen, not visible, not visualised, not
        visualized, resolved, ruled out, was excluded, was negative, were excluded, were negative""",
    ("negated", "both"): """
        unlikely""",
    ("uncertain", "forward"): """
        can not exclude, can not rule out, can't exclude, cannot completely exclude, cannot exclude, concern
        for, concerning for, could be, could be due to, could indicate, could reflect, could represent,
        differential considerations include, differential diagnosis includes, differential includes, equivocal
        for, favor, favoring, favors, favour, favouring, favours, indeterminate for, likely, may be, may be
        due to, may have, may indicate, may reflect, may represent, might be, might have, might indicate,
        might represent, not certain if, not excluding, perhaps, possibility of, possible, possibly,
        presumably, presumed, presumptive, probable, probably, query, question of, questionable, r/o, rule
        out, suggest, suggested, suggesting, suggestive of, suggests, suspect, suspected, suspecting, suspicion for,
        suspicion of, suspicious for, suspicious of, to exclude, uncertain if, without excluding, work up for,
        worrisome for""",
    ("uncertain", "backward"): """
        are possible, are probable, are suspected, can not be excluded, can not be ruled out, can't be
        excluded, can't be ruled out, cannot be entirely excluded, cannot be excluded, cannot be ruled out, could not be
        excluded, could not be ruled out, has not been excluded, has not been ruled out, is likely, is
        possible, is probable, is suspected,
        is uncertain, less likely, not excluded, not ruled out, questioned, should be
        considered, should be excluded, should be ruled out, to be excluded, to be ruled out, was possible, was
        suspected, were suspected""",
    ("uncertain", "both"): """
        versus, vs""",
    ("family", "forward"): """
        familial history of, family history, family hx, fh of, fhx of""",
    ("family", "both"): """
        aunt, aunts, brother, brothers, cousin, cousins, dad, daughter, daughters, family member, family
        members, father, grandfather, grandmother, grandparent, grandparents, mom, mother, nephew, niece,
        parents, relative with, relatives, sibling, siblings, sister, sisters, son, sons, uncle, uncles""",
    ("pseudo", "both"): """
        daughter cell, daughter cells, daughter cyst, daughter cysts, daughter nuclei, daughter nucleus,
        mother cell, mother cells, mother liquor, no change, no decrease, no difference, no further, no
        increase, no interval change, no less than, no more than, no significant change, no significant
        difference, no significant interval change, not cause, not change, not drain, not extend, not further,
        not just, not merely, not necessarily, not only, not significantly change, sister chromatid, sister
        chromatids, sister group, sister species, with no change, with or without, without change, without
        contrast, without delay, without difficulty, without further, without interval change""",
    ("termination", "both"): """
        although, and he, and she, apart from, aside from, because, besides, but, cause of, caused by,
        despite, due to, etiology for, except, however, in spite of, nevertheless, notwithstanding, origin
        for, origin of, other than, otherwise, secondary to, source for, source of, the patient, this patient,
        though, when, whereas, which, while, who, yet""",
}  # fmt: skip

TRIGGERS: tuple[Trigger, ...] = tuple(
    Trigger(" ".join(phrase.split()), kind, direction)
    for (kind, direction), phrases in _PHRASES.items()
    for phrase in phrases.split(",")
)
"""All triggers. A phrase that only lengthens another of its kind is left out: “no evidence of” is “no”."""

_KINDS = (*CONTEXTS, "pseudo", "termination")
_DIRECTIONS = {"forward": 1, "backward": 2, "both": 3}
_SLOTS = 1 << 11


@lru_cache(maxsize=1)
def _table() -> Triggers:
    """The triggers in arrays."""
    from cuihop._kernels.context import hash_of_word

    phrases = [re.findall(r"[^\W_]+", trigger.phrase) for trigger in TRIGGERS]
    words = sorted({word for phrase in phrases for word in phrase})
    number_of = {word: number for number, word in enumerate(words)}
    codes, bounds = coded(words)
    characters = CharacterClasses()
    slots = np.full(_SLOTS, -1, dtype=np.int32)
    for number in range(len(words)):
        slot = hash_of_word(codes, bounds[number], bounds[number + 1], characters.classes, characters.folds) % _SLOTS
        while slots[slot] >= 0:
            slot = (slot + 1) % _SLOTS
        slots[slot] = number
    order = sorted(range(len(phrases)), key=lambda i: (phrases[i][0], -len(phrases[i])))
    first = [number_of[phrases[i][0]] for i in order]
    return (
        slots,
        codes,
        bounds,
        max(map(len, words)),
        np.searchsorted(first, np.arange(len(words) + 1)).astype(np.int32),
        np.array([number_of[word] for i in order for word in phrases[i]], dtype=np.int32),
        np.cumsum([0, *(len(phrases[i]) for i in order)], dtype=np.int32),
        np.array([_KINDS.index(TRIGGERS[i].kind) for i in order], dtype=np.uint8),
        np.array([_DIRECTIONS[TRIGGERS[i].direction] for i in order], dtype=np.uint8),
    )


def contexts(
    codes: UInt32,
    offsets: Int64,
    characters: CharacterClasses,
    texts: Int64,
    starts: Int64,
    ends: Int64,
) -> UInt8:
    """Contexts of the mentions in a batch of texts.

    Args:
        codes, offsets: the texts, as `cuihop.annotation.characters.coded` gives them.
        characters: classes of the characters, those of the texts among them.
        texts, starts, ends: the mentions, by text and start: the index of the text, and code points counted from the
            beginning of the batch. They hold a word each, and may overlap.

    Returns:
        uint8, shape (mentions,): bit i for the context at index i of `cuihop.annotation.options.CONTEXTS`.
    """
    from cuihop._kernels.context import mark_contexts

    flags = np.zeros(len(texts), dtype=np.uint8)
    mark_contexts(codes, offsets, characters.classes, characters.folds, _table(), texts, starts, ends, flags)
    return flags
