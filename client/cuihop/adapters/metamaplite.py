"""Results of MetaMapLite, and of MetaMap, in fielded MMI lines as annotated documents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from cuihop.adapters.utf16_places import character_places
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

    Each place of a concept is a mention. Lines about acronyms (``AA``, ``UA``) are passed over. Java counts places in
    units of UTF-16.

    Args:
        path: a file, a pipe, or ``-`` for standard input; may be compressed by gzip or zstd.
        texts: identifier → text, which places are then counted in; without it they are those of the file, which differ
            behind a character beyond U+FFFF.
        leave_out_negated: leave out what MetaMapLite marks as negated.

    Raises:
        InputError: a line is no MMI line; names the line.
    """
    file = opened_input(path)
    found: dict[str, list[GoldMention]] = {}
    for line, written in enumerate(decoded_lines(file), start=1):
        fields = written.rstrip("\r\n").split("|")
        if not written.strip() or (len(fields) > 1 and fields[1] in ("AA", "UA")):
            continue
        place = next((n for n in range(len(fields) - 1, 7, -1) if _POSITIONS.fullmatch(fields[n])), None)
        if len(fields) < _LEAST_FIELDS or fields[1] != "MMI" or place is None:
            raise InputError(
                "not an MMI line", file=file.name, line=line, found=quoted(written.rstrip()), expected=_LINE,
                advice="MetaMapLite writes them with --outputformat=mmi.",
            )  # fmt: skip
        text = None if texts is None else texts.get(fields[0])
        mentions = found.setdefault(fields[0], [])
        for start, end, negated in _places(fields[place], "|".join(fields[6 : place - 1])):
            if not (negated and leave_out_negated):
                first, last = character_places(text or "", (start, end))
                mentions.append(
                    GoldMention(
                        first, last, None if text is None else text[first:last], (fields[4],), fields[5].strip("[]")
                    )
                )
    return [
        AnnotatedDocument(name, None if texts is None else texts.get(name), tuple(mentions))
        for name, mentions in found.items()
    ]


def _places(positions: str, triggers: str) -> Iterator[tuple[int, int, bool]]:
    """Start, end and negation of each place; places of one trigger are separated by commas, triggers by ``;``."""
    groups = positions.split(";")
    flags = [flag == "1" for flag in _NEGATED.findall(triggers)]
    if len(flags) != len(groups):
        flags = [all(flags) and bool(flags)] * len(groups)
    for group, negated in zip(groups, flags, strict=True):
        for start, length in _POSITION.findall(group):
            yield int(start), int(start) + int(length), negated
