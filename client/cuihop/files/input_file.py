"""Input files, pipes and standard input, each opened once: the form is recognised by the first bytes."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import os
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias, cast

from cuihop.errors import InputError, installation

STANDARD_INPUT = "-"
LARGEST_PIPE = 1 << 30
"""Bytes of a NumPy, Parquet or Arrow file from a pipe: these forms are read from memory, text line by line."""

Form: TypeAlias = Literal["array", "table", "text"]

NUMPY, PARQUET, ARROW, ARROW_STREAM = b"\x93NUMPY", b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_TABLES = (PARQUET + b"\x15", ARROW + b"\0\0", ARROW_STREAM)
TABLE_SUFFIXES = frozenset({".parquet", ".pq", ".arrow", ".arrows", ".feather", ".ipc"})
_HEAD = 4096
_BUFFER = 1 << 16
_AS_TEXT = "Save it as plain text in UTF-8."
_AS_CSV = "Export it as CSV in UTF-8."
_COMPRESSIONS = "Unpack it, or compress it by gzip or zstd."
_OTHERS: tuple[tuple[bytes, str, str], ...] = (
    (b"\xff\xfe\0\0", "text in UTF-32", "Save it as UTF-8."),
    (b"\0\0\xfe\xff", "text in UTF-32", "Save it as UTF-8."),
    (b"\xff\xfe", "text in UTF-16", "Save it as UTF-8."),
    (b"\xfe\xff", "text in UTF-16", "Save it as UTF-8."),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Excel workbook (.xls), or another document of Office", _AS_CSV),
    (b"PAR1\x15", "a Parquet file", _AS_CSV),
    (b"ARROW1\0\0", "an Arrow or Feather file", _AS_CSV),
    (NUMPY, "a NumPy array", _AS_TEXT),
    (b"\x89HDF\r\n", "an HDF5 file", _AS_TEXT),
    (b"BZh91AY&SY", "a file compressed by bzip2", _COMPRESSIONS),
    (b"\xfd7zXZ\0", "a file compressed by xz", _COMPRESSIONS),
    (_ZSTD, "a zstd file within a compressed file", "Unpack it once."),
    (_GZIP, "a gzip file within a compressed file", "Unpack it once."),
    (b"%PDF-", "a PDF document", _AS_TEXT),
)
"""First bytes of files that hold no text in UTF-8, their kind, and the way on."""


def path_text(path: str | Path) -> str:
    """A path or a name as text that can be written: bytes of it that are not UTF-8 become U+FFFD."""
    return os.fsencode(path).decode(errors="replace")


class InputFile:
    """An input that is opened once. Its first bytes say of which form it is, and are read again with the rest.

    Args:
        path: a file, a pipe such as ``/dev/fd/63``, or ``-`` for standard input.

    Attributes:
        name: for messages and accounts: the path, or ``standard input``.
        form: a NumPy array, a Parquet or Arrow table, or text.
        compression: ``gzip`` or ``zstd`` of text; empty without.
        first_bytes: of the file, before it is decompressed.

    Raises:
        InputError: it cannot be opened.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.name = "standard input" if str(path) == STANDARD_INPUT else path_text(path)
        with self._input_errors():
            self._file: BinaryIO = _standard_input() if str(path) == STANDARD_INPUT else self.path.open("rb", 0)
            self._again = str(path) != STANDARD_INPUT and self._file.seekable()
            self.first_bytes = _head(self._file)
        self.form: Form = "text"
        if self.path.suffix.lower() in TABLE_SUFFIXES or self.first_bytes.startswith(_TABLES):
            self.form = "table"
        elif self.first_bytes.startswith(NUMPY):
            self.form = "array"
        starts = {"gzip": _GZIP, "zstd": _ZSTD}
        self.compression = next((name for name, start in starts.items() if self.first_bytes.startswith(start)), "")
        self._unread = True
        self._hash = hashlib.sha256()  # of a pipe, while it is read

    @property
    def suffix(self) -> str:
        """The ending of the name, in lower case."""
        return self.path.suffix.lower()

    @property
    def mapped_from(self) -> Path | None:
        """Path of a file that can be mapped or read in any order; ``None`` for a pipe."""
        return self.path if self._again and not isinstance(self._file, io.BytesIO) else None

    @property
    def progress(self) -> tuple[int, int] | None:
        """Bytes read so far, and of the complete file; ``None`` of a pipe, and of a file that is mapped."""
        if self.mapped_from is None or self.form == "table":
            return None
        return self._file.tell(), self.mapped_from.stat().st_size

    def content(self) -> bytes:
        """All bytes, which are then held in memory.

        Raises:
            InputError: a pipe holds more than `LARGEST_PIPE`.
        """
        with self._input_errors():
            content = self._stream().read(LARGEST_PIPE + 1)
        if len(content) > LARGEST_PIPE:
            raise InputError(
                "more than is read from a pipe", file=self.name, expected=f"{LARGEST_PIPE:,} bytes at most, or text",
                advice="Write it to a file, and give that.",
            )  # fmt: skip
        self._file.close()
        self._file, self._again = io.BytesIO(content), True
        return content

    def digest(self) -> str:
        """SHA-256 of all bytes. A pipe that was read is read to its end; one that was not is then held in memory."""
        if self.mapped_from is None and self._unread:
            self.content()
        if self.mapped_from is None:
            if not self._again:
                with self._input_errors():
                    for chunk in iter(lambda: self._file.read(_BUFFER), b""):
                        self._hash.update(chunk)
            return self._hash.hexdigest()
        with self._input_errors():
            self._file.seek(0)
            return hashlib.file_digest(cast(Any, self._file), "sha256").hexdigest()

    @contextlib.contextmanager
    def text(self, line: Callable[[], int | None] = lambda: None) -> Iterator[BinaryIO]:
        """The content as it is read line by line, decompressed.

        Args:
            line: number of the line being read, for the error about a damaged stream.

        Raises:
            InputError: it is no text in UTF-8, or its compressed stream is damaged or ends early.
        """
        with self._input_errors(line):
            stream = self._stream()
            if self.compression == "gzip":
                stream = cast(BinaryIO, gzip.GzipFile(fileobj=stream))
            elif self.compression == "zstd":
                stream = _zstd_stream(stream)
            head = self.first_bytes
            if self.compression:
                head = cast(io.BufferedReader, stream).peek(_HEAD)[:_HEAD]
            self._check_text(head)
            yield stream

    def _stream(self) -> BinaryIO:
        """All bytes from the first."""
        if self._again:
            self._file.seek(0)
            return cast(BinaryIO, io.BufferedReader(_Rest(b"", self._file, None), _BUFFER))
        if not self._unread:
            raise InputError(
                "a pipe, which can be read only once", file=self.name, expected="a file, where it is read twice"
            )
        self._unread = False
        return cast(BinaryIO, io.BufferedReader(_Rest(self.first_bytes, self._file, self._hash), _BUFFER))

    @contextlib.contextmanager
    def _input_errors(self, line: Callable[[], int | None] = lambda: None) -> Iterator[None]:
        """Errors of opening, reading and decompressing as `InputError`."""
        try:
            yield
        except EOFError:
            raise InputError(
                f"the {self.compression} stream ends early", file=self.name, line=line(), expected="a whole file"
            ) from None
        except (zlib.error, gzip.BadGzipFile, _ZstdDamaged) as error:
            raise InputError(
                f"the {self.compression} stream is damaged: {error}", file=self.name, line=line()
            ) from None
        except FileNotFoundError:
            raise InputError("no such file", file=self.name) from None
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}", file=self.name) from error

    def _check_text(self, head: bytes) -> None:
        """Refuse content whose first bytes are those of another form.

        Raises:
            InputError: names the form, and how to make text of it.
        """
        kind, hint = None, None
        if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
            kind, hint = self._archive(head)
        for magic, form, way_on in _OTHERS:
            if kind is None and head.startswith(magic):
                kind, hint = form, way_on
        if kind is None and b"\0" in head:
            odd, even = head[1::2].count(b"\0"), head[::2].count(b"\0")
            if 2 * max(odd, even) > len(head) // 2:
                kind, hint = "text in UTF-16", "Save it as UTF-8."
        if kind is not None:
            raise InputError("not UTF-8", file=self.name, found=kind, expected="plain text in UTF-8", advice=hint)

    def _archive(self, head: bytes) -> tuple[str, str]:
        """The kind of a ZIP archive, and the way on."""
        names = [head.decode("latin-1")]  # a damaged archive, or a pipe: the names of its first members
        if self._again and not self.compression:
            with contextlib.suppress(OSError, zipfile.BadZipFile, EOFError), zipfile.ZipFile(self._file) as archive:
                names = archive.namelist()
        if self.suffix in (".xlsx", ".xlsm") or any("xl/" in name for name in names):
            return "an Excel workbook", _AS_CSV
        if self.suffix == ".ods" or any("opendocument" in name for name in names):
            return "a workbook of LibreOffice", _AS_CSV
        if any(".npy" in name for name in names):
            return "an archive of NumPy arrays", "Save the one array: numpy.save(FILE.npy, archive[NAME])."
        return "a ZIP archive", "Unpack it, or compress it by gzip."

    def __del__(self) -> None:
        if hasattr(self, "_file") and str(self.path) != STANDARD_INPUT:
            self._file.close()


Readable: TypeAlias = str | Path | InputFile
"""A path, ``-`` for standard input, or an input that is open already."""


def opened_input(source: Readable) -> InputFile:
    """The input, opened unless it is.

    Raises:
        InputError: it cannot be opened.
    """
    return source if isinstance(source, InputFile) else InputFile(source)


class _Rest(io.RawIOBase):
    """A stream from its beginning: first the bytes that were read already, then the rest. Leaves the file open."""

    def __init__(self, head: bytes, file: BinaryIO, digest: Any) -> None:
        self._head, self._file, self._digest = head, file, digest

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        if self._head:
            size = min(len(into), len(self._head))
            into[:size], self._head = self._head[:size], self._head[size:]
        else:
            size = cast(Any, self._file).readinto(into) or 0
        if self._digest is not None:
            self._digest.update(into[:size])
        return size


def _head(file: BinaryIO) -> bytes:
    """The first bytes; a pipe may give them piecemeal."""
    head = b""
    while len(head) < _HEAD and (more := file.read(_HEAD - len(head))):
        head += more
    return head


def _standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise OSError("standard input is closed")
    return sys.stdin.buffer


class _ZstdDamaged(OSError):
    """Damage of a zstd stream."""


class _Zstd(io.RawIOBase):
    """A zstd stream, of one frame or several."""

    def __init__(self, decompressed: Any) -> None:
        self._decompressed = decompressed

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        try:
            chunk = self._decompressed.read(len(into))
        except OSError as error:
            if "Truncated" in str(error):
                raise EOFError from None
            raise _ZstdDamaged(str(error)) from None
        into[: len(chunk)] = chunk
        return len(chunk)


def _zstd_stream(file: BinaryIO) -> BinaryIO:
    try:
        import pyarrow
    except ModuleNotFoundError as error:
        missing = f"files compressed by zstd need pyarrow: {installation('cuihop[parquet]')}"
        raise ModuleNotFoundError(missing, name=error.name) from None
    return cast(BinaryIO, io.BufferedReader(_Zstd(pyarrow.CompressedInputStream(file, "zstd")), _BUFFER))
