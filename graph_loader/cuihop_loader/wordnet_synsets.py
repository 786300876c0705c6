"""WordNet's database files (WNDB, ``data.noun`` and the like): their synsets, one a line.

Format: manual page wndb(5WN). A synset is named by the place of its line in the file and its part of speech, as in the
Open Multilingual Wordnet: ``02084071-n``. Hypernyms (``@``) are its parents, instance hypernyms (``@i``) its classes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cuihop.errors import InputError
from cuihop_loader.sources import WNDB
from cuihop_loader.term_lines import TextTermFile
from cuihop_loader.terms import Term

_TYPES = {"noun": "n", "verb": "v", "adj": "as", "adv": "r"}
_VERSION = re.compile(rb"WordNet \d+(?:\.\d+)*(?= Copyright)")
_OFFSET = re.compile(r"\d{8}")
_MARKER = re.compile(r"\((?:a|p|ip)\)$")  # the position of an adjective: before the noun, predicative, after it
_PARENTS = ("@", "@i")
_POINTER = 4  # fields: symbol, offset, part of speech, source and target


class _Fault(Exception):
    """A field that breaks the format, by its number in the line."""

    def __init__(self, field: int, problem: str, expected: str) -> None:
        super().__init__(problem)
        self.field = field
        self.problem = problem
        self.expected = expected


class WordNetFile(TextTermFile):
    """A `cuihop_loader.terms.TermFile` of WNDB.

    Attributes:
        version: as its licence names it, ``WordNet 3.0``.
        ontology: ``WordNet-noun``, by the name of the file.
    """

    role = WNDB

    def terms(self) -> Iterator[Term]:
        """See `cuihop_loader.terms.TermFile`."""
        part_of_speech = self.file.parts[0].name.lower().split(".")[1]
        self.ontology = f"WordNet-{part_of_speech}"
        found: set[str] = set()
        targets: dict[str, tuple[int, int]] = {}  # of all pointers: line and column of the first
        for line in self.text_lines():
            if line.startswith(b" ") or not line:
                if self.version is None and (match := _VERSION.search(line)):
                    self.version = match[0].decode()
                continue
            fields = line.decode().partition("|")[0].split(" ")
            self._check_offset(fields[0])
            try:
                term, pointers = _synset(fields, self.lines, _TYPES[part_of_speech])
            except _Fault as fault:
                value = repr(fields[fault.field]) if fault.field < len(fields) else "the end of the line"
                self.reject(self.lines, _column(fields, fault.field), fault.problem, line, fault.expected, value)
                continue
            found.add(fields[0])
            for place in pointers:
                targets.setdefault(fields[place], (self.lines, _column(fields, place)))
            yield term
        if not found:
            raise InputError(
                "no synsets in the file", file=str(self.file), found=f"{self.lines:,} lines",
                expected="lines such as 02084071 05 n 03 dog 0 …, as the manual page wndb(5WN) describes",
            )  # fmt: skip
        for offset, (number, column) in targets.items():
            if offset not in found:
                self.reject(
                    number, column, "a pointer to a synset that is not in the file", offset.encode(),
                    "the offset of another line: is the file complete?",
                )  # fmt: skip

    def _check_offset(self, written: str) -> None:
        """Compare the offset of a line with its place: a file that was converted or edited names other synsets."""
        if _OFFSET.fullmatch(written) and int(written) == self.offset:
            return
        ends = "Its line ends were converted to those of Windows; " if self._crlf else ""
        raise InputError(
            "not the offset of the line", file=str(self.file), line=self.lines, column=1, found=repr(written[:20]),
            expected=f"'{self.offset:08d}', the bytes before the line",
            advice=f"{ends}WordNet names synsets by these places: load the file as it was published",
        )  # fmt: skip


def _synset(fields: Sequence[str], line: int, types: str) -> tuple[Term, list[int]]:
    """The synset of the fields before the gloss, and the numbers of those that point into the same file."""
    kind = _field(fields, 2)
    if len(kind) != 1 or kind not in types:
        raise _Fault(2, "not a type of synset of this file", " or ".join(types))
    words = _count(fields, 3, 16, 2)
    names = [_MARKER.sub("", _field(fields, 4 + 2 * n)).replace("_", " ") for n in range(words)]
    if not names:
        raise _Fault(3, "a synset without words", "01 or more")
    begin = 4 + 2 * words
    term = Term(f"{fields[0]}-{kind}", line, names[0], list(dict.fromkeys(names[1:])))
    pointers = []
    for n in range(_count(fields, begin, 10, 3)):
        place = begin + 1 + _POINTER * n
        symbol, offset, target = (_field(fields, place + k) for k in range(3))
        _field(fields, place + 3)
        if not _OFFSET.fullmatch(offset):
            raise _Fault(place + 1, "not an offset", "eight digits")
        if target in types:
            pointers.append(place + 1)
        elif symbol in _PARENTS:
            raise _Fault(place + 2, "a hypernym of another part of speech", " or ".join(types))
        if symbol in _PARENTS:
            (term.parents if symbol == "@" else term.classes).append(f"{offset}-{target}")
    return term, pointers


def _column(fields: Sequence[str], place: int) -> int:
    """Column of the beginning of a field, from 1."""
    return sum(len(field) + 1 for field in fields[:place]) + 1


def _field(fields: Sequence[str], place: int) -> str:
    if place >= len(fields) or not fields[place]:
        raise _Fault(place, "too few fields", "another field before the gloss")
    return fields[place]


def _count(fields: Sequence[str], place: int, base: int, digits: int) -> int:
    written = _field(fields, place)
    form = rf"[0-9a-fA-F]{{{digits}}}" if base == 16 else rf"[0-9]{{{digits}}}"
    if not re.fullmatch(form, written):
        raise _Fault(place, "not a number", f"{digits} {'hexadecimal ' if base == 16 else ''}digits")
    return int(written, base)
