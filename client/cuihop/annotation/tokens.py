"""Tokens of texts and names, with the hash of each word's form."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from cuihop.annotation.characters import CharacterClasses, coded, folded_letters
from cuihop.resources.arrays import Int32, Int64, UInt32, UInt64, read_only

_FIRST_WORDS = 1 << 14
_MOST_WORDS = 1 << 20  # of a table; a fuller one is emptied


@dataclass(frozen=True, eq=False)
class Tokens:
    """Tokens of a batch of texts.

    Attributes:
        bounds: int64, shape (texts + 1,): of each text's tokens.
        places, keys: see `cuihop._kernels.tokens.tokens_of`; words are hashed by their form.
    """

    bounds: Int64
    places: Int32
    keys: UInt64


def word_hashes(words: Sequence[str]) -> UInt64:
    """Hashes of words as those of forms, uint64, shape (words,)."""
    from cuihop._kernels import tokens as kernels

    codes, bounds = coded(words)
    return kernels.hashes_of(bounds, codes)


class Tokeniser:
    """Tokens of texts. Forms of words are cached, since the words of texts repeat. Threads may share it.

    Args:
        form: the form of a folded word of letters: see `cuihop.snapshot.word_forms.form_of`.
    """

    def __init__(self, form: Callable[[str], str]) -> None:
        self._form = form
        self.characters = CharacterClasses()
        self._lock = threading.Lock()
        self._count = 0
        self._table = np.zeros((2, _FIRST_WORDS), dtype=np.uint64)

    def tokens(self, bounds: Int64, text: UInt32) -> Tokens:
        """Tokens of texts, from the bounds of each among the code points of all."""
        from cuihop._kernels import tokens as kernels

        characters, text = self.characters, read_only(text)
        unknown = np.ones(1, dtype=np.uint8)
        while unknown[0]:
            unknown[0] = 0
            tokens = kernels.tokens_of(bounds, text, characters.classes, characters.folds, characters.several, unknown)
            if unknown[0]:
                characters.classify(text)
        token_bounds, offsets, keys = tokens
        missing = np.empty(1, dtype=np.int64)
        while len(missing):
            table = self._table
            missing = kernels.form_keys(keys, table[0], table[1])
            if len(missing):
                self._add(missing, bounds, text, Tokens(token_bounds, offsets, keys))
        return Tokens(token_bounds, offsets, keys)

    def _add(self, missing: Int64, bounds: Int64, text: UInt32, tokens: Tokens) -> None:
        """Add the forms of words that the table does not hold."""
        from cuihop._kernels import tokens as kernels

        keys, first = np.unique(tokens.keys[missing >> 1, missing & 1], return_index=True)
        of = missing[first] >> 1
        rows = np.searchsorted(tokens.bounds, of, side="right") - 1
        begins = bounds[rows] + tokens.places[of - (missing[first] & 1), 0]
        ends = bounds[rows] + tokens.places[of, 1]
        forms = [
            self._form(_folded(text[begin:end])) for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)
        ]
        with self._lock:
            if 2 * (self._count + len(keys)) > self._table.shape[1]:
                self._enlarge(self._count + len(keys))
            self._count += kernels.insert_words(self._table[0], self._table[1], keys, word_hashes(forms))

    def _enlarge(self, count: int) -> None:
        """Make room for this many words; a very large table is emptied instead."""
        from cuihop._kernels import tokens as kernels

        old = self._table
        copied = old[:, old[0] != 0] if count <= _MOST_WORDS else old[:, :0]
        room = count - self._count + copied.shape[1]
        self._table = np.zeros((2, 1 << (4 * room).bit_length()), dtype=np.uint64)
        self._count = kernels.insert_words(self._table[0], self._table[1], copied[0].copy(), copied[1].copy())


def _folded(codes: UInt32) -> str:
    characters = codes.tobytes().decode("utf-32-le", "surrogatepass")
    if characters.isascii():
        return "".join(c for c in characters.lower() if c.isalnum())
    return "".join(folded_letters(character) or "" for character in characters)
