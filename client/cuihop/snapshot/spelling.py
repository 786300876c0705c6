"""Correction of misspelt words: the nearest of the frequent words of a release.

Distance is optimal string alignment: insertions, deletions, substitutions, and transpositions of neighbours, each
counted once. British and American spelling do not count (`respelt`). At most `MOST_WORDS` words, those
of the most names, are candidates: so one correction reads a bounded part of memory, however large the release.

Sections:

``spelling_words``    int32, shape (spellings,): the word, those of most names first
``spelling_sets``     uint64, shape (spellings,): its letters, respelt: see `letter_sets`
``spelling_offsets``  int64, shape (spellings + 1,), and ``spelling_blob``, uint8: the word, respelt
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from itertools import islice, product
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.resources.arrays import Int32, Int64, UInt8, UInt64
from cuihop.snapshot.string_table import StringTable
from cuihop.snapshot.word_forms import MOST_READINGS, STOP_WORDS, form_of, respelt

MOST_WORDS = 1 << 18
"""Most words that are candidates of a correction."""

_LETTERS = frozenset(string.ascii_lowercase)
_SHORTEST, _LONGEST = 4, 32  # letters
_TWO_EDITS = 7  # letters of a word that may have two edits
_COMPARED = 4096  # most words whose distance is computed
_FAR = 100
_CORRECTIONS = 3  # candidates of a misspelt word


def may_be_misspelt(word: str) -> bool:
    """True for words of letters, neither very short nor very long."""
    return _SHORTEST <= len(word) <= _LONGEST and _LETTERS.issuperset(word)


def spelling_sections(words: Sequence[str], names: Int64) -> dict[str, npt.NDArray[Any]]:
    """Sections from the distinct words of a release, one of each form, and the number of names with each form."""
    usable = [position for position, word in enumerate(words) if may_be_misspelt(word)]
    selected = np.array(usable, dtype=np.int64)
    selected = selected[np.argsort(-names[selected], kind="stable")][:MOST_WORDS]
    texts = StringTable.of([respelt(words[position]) for position in selected.tolist()])
    return {
        "spelling_words": selected.astype(np.int32),
        "spelling_sets": letter_sets(texts),
        "spelling_offsets": texts.offsets,
        "spelling_blob": texts.blob,
    }


def letter_sets(words: StringTable) -> UInt64:
    """Letters of each word as bits: bit c for the letter c, bit 26 + c where it occurs twice or more.

    An edit adds one bit at most and removes one at most.
    """
    counts = np.zeros((len(words), 26), dtype=np.uint8)
    np.add.at(counts, (np.repeat(np.arange(len(words)), np.diff(words.offsets)), words.blob - np.uint8(ord("a"))), 1)
    bits = np.uint64(1) << np.arange(26, dtype=np.uint64)
    once: UInt64 = (counts >= 1) @ bits
    twice: UInt64 = (counts >= 2) @ bits
    return once | twice << np.uint64(26)


def edit_distances(word: bytes, letters: UInt8, lengths: Int64, most: int) -> npt.NDArray[np.int8]:
    """Distance of a word from each row, int8, shape (rows,); anything above ``most`` where it is larger.

    Args:
        word: ASCII.
        letters: shape (rows, letters): the other words, ended by zeros.
        lengths: int64, shape (rows,): their letters.
    """
    rows, width = letters.shape
    same = {byte: np.ascontiguousarray((letters == byte).T) for byte in set(word)}
    far = np.full((width + 1, rows), _FAR, dtype=np.int8)
    before, last = far, far.copy()
    last[: most + 1] = np.arange(min(most, width) + 1, dtype=np.int8)[:, None]
    for i, byte in enumerate(word, start=1):
        now = far.copy()
        if i <= most:
            now[0] = i
        for j in range(max(1, i - most), min(width, i + most) + 1):
            cell = last[j - 1] + ~same[byte][j - 1]
            np.minimum(cell, np.minimum(last[j], now[j - 1]) + 1, out=cell)
            if i > 1 and j > 1:
                swapped = same[word[i - 2]][j - 1] & same[byte][j - 2]
                np.minimum(cell, before[j - 2] + 1, out=cell, where=swapped)
            now[j] = cell
        before, last = last, now
    return np.asarray(last[lengths, np.arange(rows)], dtype=np.int8)


class Spelling:
    """Candidates of corrections.

    Args:
        positions: int32, shape (spellings,); the candidates among them, those of most names first.
        sets, texts: of each candidate, as in the sections.
    """

    def __init__(self, words: StringTable, positions: Int32, sets: UInt64, texts: StringTable) -> None:
        self._words = words
        self._positions = positions
        self._sets = sets
        self._texts = texts

    @classmethod
    def of(cls, words: Sequence[str]) -> Spelling:
        """Candidates from their list, those of most names first."""
        texts = StringTable.of([respelt(word) for word in words])
        return cls(StringTable.of(words), np.arange(len(words), dtype=np.int32), letter_sets(texts), texts)

    def candidates(self) -> list[str]:
        """All candidates, those of most names first."""
        return [self._words[position] for position in self._positions.tolist()]

    def corrected(self, text: str, has_word: Callable[[str], bool]) -> list[str]:
        """The text with misspelt words replaced: unknown ones, or where all are known, one at a time.

        Args:
            text: folded.
            has_word: true for a word that names have, or that one of their words begins with.
        """
        words = text.split(" ")
        unknown = [not has_word(word) for word in words]
        if any(unknown):
            choices = [self._replacements(word) if new else [word] for word, new in zip(words, unknown, strict=True)]
            return [" ".join(words_of_reading) for words_of_reading in islice(product(*choices), MOST_READINGS)]
        return [
            " ".join([*words[:i], other, *words[i + 1 :]])
            for i, word in enumerate(words[:MOST_READINGS])
            for other in self.nearest(word, 1)
        ]

    def in_part(self, text: str, has_word: Callable[[str], bool]) -> list[str]:
        """The text with as few words left out as possible, later ones first; unknown words are replaced or left out."""
        typed = [word for word in text.split(" ") if word not in STOP_WORDS][:MOST_READINGS]
        words = [usable for word in typed for usable in ([word] if has_word(word) else self._replacements(word)[:1])]
        fewer = [[*words[:i], *words[i + 1 :]] for i in range(len(words) - 1, -1, -1)]
        return list(
            dict.fromkeys(" ".join(reading) for reading in (words, *fewer, *([word] for word in words)) if reading)
        )

    def _replacements(self, word: str) -> list[str]:
        """The nearest words, or else those whose beginnings are nearest."""
        return self.nearest(word, _CORRECTIONS) or self.nearest(word, _CORRECTIONS, begun=True)

    def nearest(self, word: str, most: int, *, begun: bool = False) -> list[str]:
        """Words nearest to a misspelt one, nearest first, then those of most names; never the word itself.

        Args:
            word: folded.
            begun: compare with the beginnings of the words, for a word that is still being typed.
        """
        text = respelt(word)
        if not may_be_misspelt(text) or not len(self._positions):
            return []
        edits = 2 if len(text) >= _TWO_EDITS and not begun else 1
        own = letter_sets(StringTable.of([text]))[0]
        lengths = np.diff(self._texts.offsets)
        near = np.bitwise_count(own & ~self._sets) <= edits
        near &= lengths >= len(text) - edits
        if not begun:
            near &= np.bitwise_count(self._sets & ~own) <= edits
            near &= lengths <= len(text) + edits
        rows = np.flatnonzero(near)[:_COMPARED]
        if not len(rows):
            return []
        width = len(text) if begun else len(text) + edits
        lengths = np.minimum(lengths[rows], width)
        columns = np.arange(width)
        positions = np.minimum(self._texts.offsets[rows][:, None] + columns, len(self._texts.blob) - 1)
        letters = np.where(columns < lengths[:, None], self._texts.blob[positions], 0).astype(np.uint8)
        distances = edit_distances(text.encode(), letters, lengths, edits)
        best = np.argsort(distances, kind="stable")[: most + 1]
        nearest = [self._words[int(self._positions[rows[i]])] for i in best.tolist() if distances[i] <= edits]
        return [other for other in nearest if form_of(other) != form_of(word)][:most]
