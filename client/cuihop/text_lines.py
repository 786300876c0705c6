"""Lines of a text file, plain or gzipped, with errors that say where."""

from __future__ import annotations

import contextlib
import gzip
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO, cast

from cuihop.errors import InputError

__all__ = ["check_not_a_pipe", "columns", "decoded", "decoded_lines", "line_blocks", "raw_lines", "shown", "whole_text"]

_GZIP = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LINES_A_BLOCK = 1024  # few enough that the garbage collector has little to look through
_SHOWN = 60


def check_not_a_pipe(path: Path) -> None:
    """Refuse what can be read only once: files are opened to see of what kind they are, and then again.

    Raises:
        InputError: it is a pipe, such as ``<(zcat run.gz)`` or ``/dev/stdin`` behind a ``|``.
    """
    if path.is_fifo() or path.is_socket():
        raise InputError(
            "a pipe, which can be read only once", file=path, expected="a file", advice="Files may be gzipped."
        )


def raw_lines(path: Path) -> Iterator[bytes]:
    """The lines with their ends, a byte order mark at the beginning left out.

    Raises:
        InputError: the file cannot be opened or read, is a pipe, or its gzip stream is damaged or ends early.
    """
    for _, lines in line_blocks(path):
        yield from lines


def line_blocks(path: Path) -> Iterator[tuple[int, list[bytes]]]:
    """The lines as `raw_lines` gives them, many at once, each time with the number of the first of them.

    Raises:
        InputError: as `raw_lines`; the lines before the fault come first.
    """
    first, lines = 1, list[bytes]()
    with _telling(path, lambda: first + len(lines)), _opened(path) as file:
        ended = False
        while not ended:
            lines, fault = [], None
            try:
                lines.extend(islice(file, _LINES_A_BLOCK))  # keeps what was read before a fault
            except (EOFError, OSError, zlib.error) as error:
                fault = error
            if lines and first == 1:
                lines[0] = lines[0].removeprefix(_BYTE_ORDER_MARK)
            ended = not lines
            if lines:
                yield first, lines
            if fault is not None:
                raise fault
            first += len(lines)


def whole_text(path: Path, most: int) -> str:
    """All of the file as text, a byte order mark at the beginning left out.

    Args:
        path: the file. most: so many bytes at most, after it was unzipped.

    Raises:
        InputError: as `decoded_lines`, and where the file holds more.
    """
    with _telling(path), _opened(path) as file:
        raw = file.read(most + 1)
    if len(raw) > most:
        raise InputError("the file is too large", file=path, expected=f"{most:,} bytes at most")
    try:
        return raw.removeprefix(_BYTE_ORDER_MARK).decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start)
        decoded(raw.split(b"\n", line + 1)[line], path, line + 1)
        raise


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """The content, whether it is zipped or not."""
    check_not_a_pipe(path)
    with path.open("rb") as plain:
        zipped = plain.read(len(_GZIP)) == _GZIP
    with gzip.open(path) if zipped else path.open("rb") as file:
        yield cast(BinaryIO, file)


@contextlib.contextmanager
def _telling(path: Path, line: Callable[[], int | None] = lambda: None) -> Iterator[None]:
    """What keeps a file from being read, as an `InputError`."""
    try:
        yield
    except EOFError:
        raise InputError("the gzip stream ends early", file=path, line=line(), expected="a whole file") from None
    except (zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"the gzip stream is damaged: {error}", file=path, line=line()) from None
    except FileNotFoundError:
        raise InputError("no such file", file=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from error


def columns(lines: list[bytes], count: int, wanted: Sequence[int]) -> list[list[bytes]] | None:
    """Some columns, from 0, of lines that all have so many fields, separated by white space.

    ``None`` where a line has more or fewer. Much faster than splitting line by line: one call splits them all.
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
    return [fields[place::width] for place in wanted]


def decoded_lines(path: Path) -> Iterator[str]:
    """The lines as text.

    Raises:
        InputError: as `raw_lines`, and where a line is not UTF-8.
    """
    for line, raw in enumerate(raw_lines(path), start=1):
        yield decoded(raw, path, line)


def decoded(raw: bytes, path: Path | str, line: int) -> str:
    """The text of a line, or an `InputError` that names the first byte that is not UTF-8."""
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            "not UTF-8",
            file=path,
            line=line,
            column=f"byte {error.start + 1}",
            found=f"0x{raw[error.start]:02X}",
            expected="UTF-8 text",
        ) from None


def shown(text: str) -> str:
    """The text as a message quotes it, cut where it is long."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
