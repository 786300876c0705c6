"""Lines of text and records of CSV, with errors that name the line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import Any, cast

from cuihop.errors import InputError
from cuihop.files.input_file import Readable, opened_input

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLOCK_BYTES = 1 << 16  # few enough lines that the garbage collector has little to look through
_SHOWN = 60
_LONGEST_FOUND = 100
_ONE_OBJECT = "an object of JSON in each line"

LONGEST_LINE = 1 << 26
"""Limit of a line, in bytes after decompression, and of a record of CSV, in characters."""

DELIMITERS = {",": "", "\t": "tabs", ";": "semicolons"}
"""Between the columns of CSV: the character, and its name in a summary; a comma has none."""


def raw_lines(source: Readable) -> Iterator[bytes]:
    """The lines with their ends, a byte order mark at the beginning left out.

    Raises:
        InputError: the file cannot be opened or read, its compressed stream is damaged or ends early, or a line is
            longer than `LONGEST_LINE`.
    """
    for _, lines in line_blocks(source):
        yield from lines


def line_blocks(source: Readable, longest: int = LONGEST_LINE) -> Iterator[tuple[int, list[bytes]]]:
    """The lines as `raw_lines` gives them, of ``longest`` bytes at most, in blocks with the number of the first line.

    Raises:
        InputError: as `raw_lines`; the lines before the error come first.
    """
    file, first, ended = opened_input(source), 1, False
    begun, size = list[bytes](), 0  # of a line
    with file.text(lambda: first) as stream:
        while not ended:
            chunk: bytes = cast(Any, stream).read1(_BLOCK_BYTES)
            ended, cut = not chunk, chunk.rfind(b"\n") + 1
            if not (cut or ended):
                begun.append(chunk)
                size += len(chunk)
                if size > longest:
                    raise _endless("line", file.name, first, f"{size:,} bytes without a line feed", longest)
                continue
            lines = io.BytesIO(b"".join((*begun, chunk[:cut]))).readlines()
            begun, size = [chunk[cut:]], len(chunk) - cut
            if lines and first == 1:
                lines[0] = lines[0].removeprefix(_BYTE_ORDER_MARK)
            if lines:
                yield first, lines
            first += len(lines)


def whole_text(source: Readable, most: int) -> str:
    """The complete text of a file of at most ``most`` bytes after decompression, without a byte order mark.

    Raises:
        InputError: as `decoded_lines`, and where the file holds more.
    """
    file = opened_input(source)
    with file.text() as stream:
        raw = stream.read(most + 1)
    if len(raw) > most:
        raise InputError("the file is too large", file=file.name, expected=f"{most:,} bytes at most")
    try:
        return raw.removeprefix(_BYTE_ORDER_MARK).decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start)
        decoded(raw.split(b"\n", line + 1)[line], file.name, line + 1)
        raise


def columns(lines: list[bytes], count: int, selected: Sequence[int]) -> list[list[bytes]] | None:
    """Some columns, from 0, of lines that all have ``count`` fields, separated by white space.

    ``None`` if a line has more or fewer. Much faster than splitting line by line: one call splits them all.
    """
    text = b"".join(lines)
    if b"\0" in text or not lines:
        return None
    fields = text.replace(b"\n", b" \0 ").split()
    if not text.endswith(b"\n"):
        fields.append(b"\0")
    width = count + 1
    if len(fields) != width * len(lines) or fields[count::width].count(b"\0") != len(lines):
        return None
    return [fields[column::width] for column in selected]


def decoded_lines(source: Readable, longest: int = LONGEST_LINE) -> Iterator[str]:
    """The lines as text, each of at most ``longest`` bytes.

    Raises:
        InputError: as `raw_lines`, and where a line is not UTF-8.
    """
    file = opened_input(source)
    for first, lines in line_blocks(file, longest):
        raw = b"".join(lines)
        try:
            text = None if b"\0" in raw else raw.decode()
        except UnicodeDecodeError:
            text = None
        if text is not None:
            yield from io.StringIO(text, newline="\n")
            continue
        for line, one in enumerate(lines, start=first):
            yield decoded(one, file.name, line)


def first_line(lines: Iterable[str]) -> tuple[str, Iterator[str]]:
    """The first line that is not empty, and all lines again."""
    lines, empty = iter(lines), 0
    for text in lines:
        if text.strip():
            return text, chain(repeat("\n", empty), [text], lines)
        empty += 1
    return "", repeat("\n", empty)


def delimiter_of(header: str) -> str:
    """The character between the columns of a CSV file: a comma if its header has one, else a tab, else ``;``."""
    return next((delimiter for delimiter in DELIMITERS if delimiter in header), ",")


COLUMN_NAMES = {
    "query": ("query", "query_id", "query-id", "qid", "q_id"),
    "document": ("document", "document_id", "doc", "doc_id", "docid", "docno", "corpus-id", "image", "image_id"),
    "grade": ("grade", "rel", "relevance"),
}
"""Columns of rankings and judgements, and the names that programs give them, in lower case."""
_COLUMN_OF = {name: column for column, names in COLUMN_NAMES.items() for name in names}


def standard_names(names: Sequence[str]) -> list[str]:
    """Names of columns in lower case, each of `COLUMN_NAMES` as its column is called, unless that has its own name.

    >>> standard_names(["qid", "DocNo", "score"]), standard_names(["query", "qid"])
    (['query', 'document', 'score'], ['query', 'qid'])
    """
    plain = [name.strip().lower() for name in names]
    return [name if _COLUMN_OF.get(name) in plain else _COLUMN_OF.get(name, name) for name in plain]


def renamed_columns(names: Sequence[str]) -> str:
    """The columns of a table for its summary, if one has another name than usual."""
    as_usual = standard_names(names) == [name.strip().lower() for name in names]
    return "" if as_usual else f"columns {', '.join(name.strip() for name in names)}"


def csv_records(
    lines: Iterable[str], file: str, expected: str, delimiter: str = ",", first: int = 1
) -> Iterator[tuple[int, list[str]]]:
    """Records of CSV with the line that each begins in; empty lines left out.

    Args:
        lines: of the file. file: its name. expected: columns, for the error. first: number of the first line.

    Raises:
        InputError: a quoted field does not end, or goes on behind its quote; a record is longer than `LONGEST_LINE`.
    """
    line, size = first, 0

    def counted_lines() -> Iterator[str]:
        nonlocal size
        for text in lines:
            size += len(text)
            if size > LONGEST_LINE:
                raise _endless("record", file, line, f"{size:,} characters between quotes", LONGEST_LINE)
            yield text

    reader = csv.reader(counted_lines(), strict=True, delimiter=delimiter)
    try:
        for fields in reader:
            if fields:
                yield line, fields
            line, size = first + reader.line_num, 0
    except csv.Error as error:
        raise InputError(f"not CSV: {error}", file=file, line=line, expected=expected) from None


def _endless(thing: str, file: str, line: int, value: str, longest: int) -> InputError:
    return InputError(
        f"the {thing} has no end", file=file, line=line, found=value, expected=f"{longest:,} at most",
        advice="The file is damaged, or does not consist of lines of text.",
    )  # fmt: skip


class _Absent:
    """The value of a key that an object lacks."""

    def __repr__(self) -> str:
        return "no such key"


_ABSENT = _Absent()


def json_rows(numbered: Iterable[tuple[int, str]], file: str) -> Iterator[tuple[int, list[Any]]]:
    """The keys of the first object of JSON Lines, then the values of each object, all with their line.

    Args:
        numbered: number and text of each line; empty ones are skipped. file: its name.

    A value is ``no such key``, of a type of its own, where the object lacks a key of the first one.

    Raises:
        InputError: a line holds no object of JSON.
    """
    keys: list[str] = []
    for line, text in numbered:
        if text.strip():
            values = json_object(text, file, line)
            if not keys:
                keys = list(values)
                yield line, keys
            yield line, [values.get(key, _ABSENT) for key in keys]


def json_object(text: str, file: str, line: int) -> dict[str, Any]:
    """The object in a line of JSON Lines.

    Raises:
        InputError: the line holds none.
    """
    try:
        values = json.loads(text)
        pairs = values.items() if "\\u" in text and isinstance(values, dict) else ()
        halves = [key for key, value in pairs if not is_encodable([key, value])]
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", file=file, line=line, expected=_ONE_OBJECT) from None
    if not isinstance(values, dict):
        raise InputError("not an object", file=file, line=line, found=quoted(text.strip()), expected=_ONE_OBJECT)
    for key in halves:
        raise InputError(
            "not text: half of a surrogate pair", file=file, line=line, column=ascii(key)[1:-1],
            found=quoted(json.dumps(values[key]).strip('"')), expected="characters of Unicode",
        )  # fmt: skip
    return values


def is_encodable(value: object) -> bool:
    """Check that no text in a value of JSON holds half of a surrogate pair, which UTF-8 cannot."""
    try:
        (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).encode()
    except UnicodeEncodeError:
        return False
    return True


def decoded(raw: bytes, path: Path | str, line: int) -> str:
    """The text of a line, or an `InputError` that names the first byte that is not UTF-8, or is NUL."""
    try:
        if b"\0" not in raw:
            return raw.decode()
        raise InputError(
            "not text: a NUL byte", file=path, line=line, column=f"byte {raw.index(0) + 1}", found="0x00",
            expected="UTF-8 text", advice="The file is damaged, or was not written as text.",
        )  # fmt: skip
    except UnicodeDecodeError as error:
        raise InputError(
            "not UTF-8", file=path, line=line, column=f"byte {error.start + 1}", found=f"0x{raw[error.start]:02X}",
            expected="UTF-8 text", advice="A spreadsheet saves it as “CSV UTF-8”.",
        ) from None  # fmt: skip


def counted(number: int, thing: str, plural: str | None = None) -> str:
    """A number and its noun; the plural ends in s, unless stated."""
    return f"{number:,} {thing if number == 1 else plural or thing + 's'}"


def joined(*texts: str | None) -> str:
    """The texts that are not empty, separated by commas."""
    return ", ".join(filter(None, texts))


def direction_text(direction: str) -> str:
    """A direction of hops in words."""
    return {
        "any": "in both directions",
        "up": "upwards only",
        "down": "downwards only",
        "vertical": "all up or all down",
    }[direction]


def shortened(text: str) -> str:
    """The text, cut after a hundred characters."""
    return text if len(text) <= _LONGEST_FOUND else text[:_LONGEST_FOUND] + "…"


def quoted(text: str) -> str:
    """The text as a message quotes it, cut where it is long."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
