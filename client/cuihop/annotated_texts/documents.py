"""Texts with identifiers and mentions, and the checks that every format shares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import xxhash

from cuihop.errors import InputError
from cuihop.files.records import RowErrors
from cuihop.files.text_lines import is_encodable, quoted
from cuihop.resources.arrays import Int64, UInt64

LONGEST_TEXT = 1 << 20
"""Characters of a text."""

NO_OFFSET, OFFSET = "not a place in the text", "a number of characters from 0"

_TEXTS_A_BLOCK = 4096
_CHARACTERS_A_BLOCK = 1 << 20
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class GoldMention:
    """A mention of concepts in a text, as a file states it.

    Attributes:
        start, end: the characters (code points) ``text[start:end]``; both -1 if the file states concepts only.
        text: these characters; ``None`` if the file does not state them.
        cuis: its concepts; several for a mention of all of them, none for one without a concept.
        type: its type; ``None`` if the file states none.
    """

    start: int
    end: int
    text: str | None
    cuis: tuple[str, ...]
    type: str | None = None


@dataclass(frozen=True, slots=True)
class AnnotatedDocument:
    """A text with its identifier and mentions.

    Attributes:
        identifier: of the text.
        text: ``None`` if the file states mentions only.
        mentions: in the order of the file.
    """

    identifier: str
    text: str | None
    mentions: tuple[GoldMention, ...] = ()


def document_of_concepts(identifier: str, cuis: Iterable[str]) -> AnnotatedDocument:
    """A text of which only the concepts are stated: a mention without a place of each, ascending."""
    return AnnotatedDocument(identifier, None, tuple(GoldMention(-1, -1, None, (cui,)) for cui in sorted(cuis)))


@dataclass(eq=False)
class DocumentRows:
    """Documents of an input, each with the number of its line, row or document.

    Attributes:
        source: name of the file. form: how it is read.
        rows: number and document.
        row_error: makes the error about the identifier (column 0) or the text (column 1) of a row.
        unit: of the numbers. text_column: the name of the column that holds the texts, or its number; empty without.
        repeated: documents left out so far because an equal one stands before; published files have such.
        progress: bytes read so far and of all; ``None`` if the size is unknown.
    """

    source: str
    form: str
    rows: Iterable[tuple[int, AnnotatedDocument]]
    row_error: Callable[..., InputError]
    unit: str = "line"
    text_column: str = ""
    repeated: int = 0
    progress: Callable[[], tuple[int, int] | None] = lambda: None

    def blocks(self) -> Iterator[list[AnnotatedDocument]]:
        """The documents in blocks of bounded size, checked.

        Raises:
            InputError: an identifier is missing or stands at another text too, a text is too long or no text, or as
                `rows`.
        """
        seen = _SeenDocuments()
        numbers, block, characters = list[int](), list[AnnotatedDocument](), 0
        for row, document in self.checked():
            numbers.append(row)
            block.append(document)
            characters += len(document.text or "")
            if len(block) == _TEXTS_A_BLOCK or characters >= _CHARACTERS_A_BLOCK:
                yield self._distinct(seen, block, numbers)
                numbers, block, characters = [], [], 0
        if block:
            yield self._distinct(seen, block, numbers)

    def checked(self) -> Iterator[tuple[int, AnnotatedDocument]]:
        """The number and document of each row, checked by itself.

        Raises:
            InputError: an identifier is missing, a text is too long or no text, or as `rows`.
        """
        for row, document in self.rows:
            self._check(row, document)
            yield row, document

    def _check(self, row: int, document: AnnotatedDocument) -> None:
        if not document.identifier:
            raise self.row_error("the identifier is missing", row, 0, "nothing", "an identifier")
        for column, text in enumerate((document.identifier, document.text or "")):
            if len(text) > LONGEST_TEXT:
                raise self.row_error(
                    "the text is too long", row, column, f"{len(text):,} characters", f"{LONGEST_TEXT:,} at most",
                    "Divide it.",
                )  # fmt: skip
            if "\0" in text:
                raise self.row_error("not text: a NUL character", row, column, quoted(text), "text without U+0000")
            if not text.isascii() and not is_encodable(text):
                raise self.row_error(
                    "not text: half of a surrogate pair", row, column, ascii(text[:_SHOWN]), "characters of Unicode"
                )

    def _distinct(
        self, seen: _SeenDocuments, block: list[AnnotatedDocument], numbers: list[int]
    ) -> list[AnnotatedDocument]:
        """The documents of a block that did not stand before."""
        again = seen.add(block, numbers)
        for index, (earlier, equal) in sorted(again.items()):
            if not equal:
                raise self.row_error(
                    "an identifier stands twice, with another text or other mentions", numbers[index], 0,
                    f"{quoted(block[index].identifier)}, as in {self.unit} {earlier:,}", "each identifier once",
                )  # fmt: skip
        self.repeated += len(again)
        return [document for index, document in enumerate(block) if index not in again] if again else block


class _SeenDocuments:
    """Documents seen so far, as hashes in sorted runs: 32 bytes each, whatever their length."""

    def __init__(self) -> None:
        self._runs: list[tuple[UInt64, Int64]] = []

    def add(self, block: Sequence[AnnotatedDocument], numbers: Sequence[int]) -> dict[int, tuple[int, bool]]:
        """Add a block; return for each repeated identifier its index, the earlier number, and their equality."""
        first: dict[str, int] = {}
        again: dict[int, tuple[int, bool]] = {}
        for index, document in enumerate(block):
            if (earlier := first.setdefault(document.identifier, index)) != index:
                again[index] = numbers[earlier], document == block[earlier]
        raw = b"".join(map(_hashes, block))
        hashes = np.frombuffer(raw, dtype="<u8").reshape(-1, 3)
        for run, run_numbers in self._runs:
            at = np.minimum(np.searchsorted(run[:, 0], hashes[:, 0]), len(run) - 1)
            same = (run[at] == hashes).cumprod(axis=1)
            for index in np.flatnonzero(same[:, 1]).tolist():
                again[index] = int(run_numbers[at[index]]), bool(same[index, 2])
        new = [index for index in range(len(block)) if index not in again]
        if new:
            self._runs.append((hashes[new], np.array(numbers, dtype=np.int64)[new]))
            self._merge()
        return again

    def _merge(self) -> None:
        """Sort the last runs into one, until each run is at least twice as long as the next."""
        count = len(self._runs) - 1
        size = len(self._runs[-1][0])
        while count and len(self._runs[count - 1][0]) < 2 * size:
            count -= 1
            size += len(self._runs[count][0])
        hashes, numbers = (np.concatenate(arrays) for arrays in zip(*self._runs[count:], strict=True))
        order = np.argsort(hashes[:, 0])
        self._runs[count:] = [(hashes[order], numbers[order])]


def _hashes(document: AnnotatedDocument) -> bytes:
    """128 bits of the identifier, then 64 of all that the document holds."""
    content = xxhash.xxh3_64((document.text or "").encode())
    if document.mentions:
        content.update(repr(document.mentions).encode(errors="surrogatepass"))
    return xxhash.xxh3_128_digest(document.identifier.encode()) + content.digest()


def checked_offset(value: object, row: int, column: int, error: RowErrors) -> int:
    """The number of characters in a field of a row; refuses any other content."""
    text = value.strip() if isinstance(value, str) else str(value)
    if isinstance(value, bool) or not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise error(NO_OFFSET, row, column, quoted(text), OFFSET)
    return int(text)


def same_text(stated: str, characters: str) -> bool:
    r"""Compare the text that a file states for a mention with its characters; kinds and ends of white space are alike.

    >>> same_text("hip fracture", "hip\nfracture")
    True
    """
    return stated == characters or _with_blanks(stated) == _with_blanks(characters)


def _with_blanks(text: str) -> str:
    return "".join(" " if sign.isspace() else sign for sign in text).strip()
