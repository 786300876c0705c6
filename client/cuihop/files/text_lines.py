"""Lines of a text file, plain or gzipped, with errors that say where."""

from __future__ import annotations

import contextlib
import gzip
import io
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO, cast

from cuihop.errors import InputError

__all__ = [
    "check_not_a_pipe",
    "columns",
    "counted",
    "decoded",
    "decoded_lines",
    "line_blocks",
    "raw_lines",
    "shown",
    "whole_text",
]

_GZIP = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LINES_A_BLOCK = 1024  # few enough that the garbage collector has little to look through
_SHOWN = 60
_HEAD = 4096
_AS_TEXT = "Save it as plain text in UTF-8."
_AS_CSV = "Export it as CSV in UTF-8."
_OTHERS: tuple[tuple[bytes, str, str], ...] = (
    (b"\xff\xfe\0\0", "text in UTF-32", "Save it as UTF-8."),
    (b"\0\0\xfe\xff", "text in UTF-32", "Save it as UTF-8."),
    (b"\xff\xfe", "text in UTF-16", "Save it as UTF-8."),
    (b"\xfe\xff", "text in UTF-16", "Save it as UTF-8."),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Excel workbook (.xls), or another document of Office", _AS_CSV),
    (b"PAR1\x15", "a Parquet file", _AS_CSV),
    (b"ARROW1\0\0", "an Arrow or Feather file", _AS_CSV),
    (b"\x93NUMPY", "a NumPy array", _AS_TEXT),
    (b"\x89HDF\r\n", "an HDF5 file", _AS_TEXT),
    (b"BZh91AY&SY", "a file compressed by bzip2", "Unpack it, or compress it by gzip."),
    (b"\xfd7zXZ\0", "a file compressed by xz", "Unpack it, or compress it by gzip."),
    (b"\x28\xb5\x2f\xfd", "a file compressed by zstd", "Unpack it, or compress it by gzip."),
    (b"\x1f\x8b", "a gzip file within a gzip file", "Unpack it once."),
    (b"%PDF-", "a PDF document", _AS_TEXT),
)
"""First bytes of files that hold no text in UTF-8, what these files are, and the way on."""


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
    """The content, whether it is zipped or not; it begins as text does."""
    check_not_a_pipe(path)
    with path.open("rb") as plain:
        head = plain.read(_HEAD)
    zipped = head.startswith(_GZIP)
    if zipped:
        head = b""
        with contextlib.suppress(EOFError, zlib.error, gzip.BadGzipFile), gzip.open(path) as unzipped:
            head = unzipped.read(_HEAD)  # a damaged stream is reported where its lines are read
    _check_text(path, head)
    with gzip.open(path) if zipped else path.open("rb") as file:
        yield cast(BinaryIO, file)


def _check_text(path: Path, head: bytes) -> None:
    """Refuse a file whose first bytes are those of another kind of file, and name the kind.

    Raises:
        InputError: what it is, and how to make text of it.
    """
    found, advice = None, None
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        found, advice = _archive(path, head)
    for magic, what, way_on in _OTHERS:
        if found is None and head.startswith(magic):
            found, advice = what, way_on
    if found is None and b"\0" in head:
        odd, even = head[1::2].count(b"\0"), head[::2].count(b"\0")
        if 2 * max(odd, even) > len(head) // 2:
            found, advice = "text in UTF-16", "Save it as UTF-8."
    if found is not None:
        raise InputError("not UTF-8", file=path, found=found, expected="plain text in UTF-8", advice=advice)


def _archive(path: Path, head: bytes) -> tuple[str, str]:
    """A file that begins as a ZIP archive does: the kind, and the way on."""
    names = [head.decode("latin-1")]  # a damaged archive: the names of its first members
    with contextlib.suppress(OSError, zipfile.BadZipFile, EOFError), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    if path.suffix.lower() in (".xlsx", ".xlsm") or any("xl/" in name for name in names):
        return "an Excel workbook", _AS_CSV
    if path.suffix.lower() == ".ods" or any("opendocument" in name for name in names):
        return "a workbook of LibreOffice", _AS_CSV
    if any(".npy" in name for name in names):
        return "an archive of NumPy arrays", "Save the one array: numpy.save(FILE.npy, archive[NAME])."
    return "a ZIP archive", "Unpack it, or compress it by gzip."


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
    for first, lines in line_blocks(path):
        raw = b"".join(lines)
        try:
            text = None if b"\0" in raw else raw.decode()
        except UnicodeDecodeError:
            text = None
        if text is not None:
            yield from io.StringIO(text, newline="\n")
            continue
        for line, one in enumerate(lines, start=first):
            yield decoded(one, path, line)


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
            "not UTF-8",
            file=path,
            line=line,
            column=f"byte {error.start + 1}",
            found=f"0x{raw[error.start]:02X}",
            expected="UTF-8 text",
            advice="A spreadsheet saves it as “CSV UTF-8”.",
        ) from None


def counted(number: int, thing: str) -> str:
    """A number and its noun."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def shown(text: str) -> str:
    """The text as a message quotes it, cut where it is long."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
