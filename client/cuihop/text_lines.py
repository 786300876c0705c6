"""Lines of a text file, plain or gzipped, with errors that say where."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from cuihop.errors import InputError

__all__ = ["check_not_a_pipe", "decoded", "decoded_lines", "raw_lines", "shown"]

_GZIP = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
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
    line = 0
    check_not_a_pipe(path)
    try:
        with path.open("rb") as plain:
            zipped = plain.read(len(_GZIP)) == _GZIP
        with gzip.open(path) if zipped else path.open("rb") as file:
            for line, raw in enumerate(file, start=1):
                yield raw.removeprefix(_BYTE_ORDER_MARK) if line == 1 else raw
    except EOFError:
        raise InputError("the gzip stream ends early", file=path, line=line + 1, expected="a whole file") from None
    except (zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"the gzip stream is damaged: {error}", file=path, line=line + 1) from None
    except FileNotFoundError:
        raise InputError("no such file", file=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from error


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
