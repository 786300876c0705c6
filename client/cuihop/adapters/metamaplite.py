"""Results of MetaMapLite, and of MetaMap, in fielded MMI lines as annotated documents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from cuihop.adapters.ctakes import character_positions
from cuihop.annotated_texts.documents import AnnotatedDocument, GoldMention
from cuihop.errors import InputError
from cuihop.files.input_file import Readable, opened_input
from cuihop.files.text_lines import decoded_lines, quoted

__all__ = ["from_metamaplite"]

_LINE = "identifier|MMI|score|name|CUI|[types]|triggers|location|positions|tree codes"
_PLACE = r"\[?\d+/\d+\]?"
_POSITIONS = re.compile(rf"{_PLACE}(?:[,;]{_PLACE})*")
_POSITION = re.compile(r"(\d+)/(\d+)")
_NEGATED = re.compile(r'-([01])(?=\]?$|,")')
_LEAST_FIELDS = 9


def from_metamaplite(
    path: Readable, texts: Mapping[str, str] | None = None, *, leave_out_negated: bool = False
) -> list[AnnotatedDocument]:
    """Documents of a file of MMI lines, in the order of their first line.

    Each position of a concept is a mention. Lines about acronyms (``AA``, ``UA``) are skipped. Java counts positions in
    units of UTF-16.

    Args:
        path: a file, a pipe, or ``-`` for standard input; may be compressed by gzip or zstd.
        texts: identifier → text, in whose characters positions are counted; without it they are those of the file,
            which differ behind a character beyond U+FFFF.
        leave_out_negated: leave out what MetaMapLite marks as negated.

    Raises:
        InputError: a line is no MMI line; names the line.
    """
    file = opened_input(path)
    documents: dict[str, list[GoldMention]] = {}
    for line, written in enumerate(decoded_lines(file), start=1):
        fields = written.rstrip("\r\n").split("|")
        if not written.strip() or (len(fields) > 1 and fields[1] in ("AA", "UA")):
            continue
        column = next((n for n in range(len(fields) - 1, 7, -1) if _POSITIONS.fullmatch(fields[n])), None)
        if len(fields) < _LEAST_FIELDS or fields[1] != "MMI" or column is None:
            raise InputError(
                "not an MMI line", file=file.name, line=line, found=quoted(written.rstrip()), expected=_LINE,
                advice="MetaMapLite writes them with --outputformat=mmi.",
            )  # fmt: skip
        text = None if texts is None else texts.get(fields[0])
        mentions = documents.setdefault(fields[0], [])
        for start, end, negated in _positions(fields[column], "|".join(fields[6 : column - 1])):
            if not (negated and leave_out_negated):
                first, last = character_positions(text or "", (start, end))
                mentions.append(
                    GoldMention(
                        first, last, None if text is None else text[first:last], (fields[4],), fields[5].strip("[]")
                    )
                )
    return [
        AnnotatedDocument(name, None if texts is None else texts.get(name), tuple(mentions))
        for name, mentions in documents.items()
    ]


def _positions(positions: str, triggers: str) -> Iterator[tuple[int, int, bool]]:
    """Start, end and negation of each position; those of one trigger are separated by commas, triggers by ``;``."""
    groups = positions.split(";")
    flags = [flag == "1" for flag in _NEGATED.findall(triggers)]
    if len(flags) != len(groups):
        flags = [all(flags) and bool(flags)] * len(groups)
    for group, negated in zip(groups, flags, strict=True):
        for start, length in _POSITION.findall(group):
            yield int(start), int(start) + int(length), negated
