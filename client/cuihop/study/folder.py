"""The folder of a study: written whole or not at all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cuihop.errors import InputError, OutputError

__all__ = ["MARK", "whole_folder"]

MARK = "run.json"
"""A file that every study's folder has: only such a folder is ever written over."""


@contextmanager
def whole_folder(out: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """An empty folder beside ``out``; it takes the place of ``out`` when the block ends, and goes where it fails.

    Raises:
        InputError: ``out`` is a file, or holds something and may not, or should not, be written over.
        OutputError: it cannot be written.
    """
    if out.exists() and not out.is_dir():
        raise InputError("not a folder", file=out, found="a file", expected="a new or empty folder")
    if out.is_dir() and any(out.iterdir()):
        if not overwrite:
            raise InputError(
                "the folder is not empty", file=out, expected="a new or empty folder",
                advice="--overwrite replaces an earlier study.",
            )  # fmt: skip
        if not (out / MARK).is_file():
            raise InputError(
                "the folder holds something else than a study", file=out, found=f"no {MARK} in it",
                expected="an earlier study's folder, which --overwrite may delete",
            )  # fmt: skip
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    except OSError as error:
        raise OutputError(f"{out} cannot be written: {error.strerror or error}") from error
    try:
        yield made
        made.chmod(0o755)
        if out.is_dir():
            old = Path(tempfile.mkdtemp(prefix=f".{out.name}.old.", dir=out.parent))
            out.replace(old / "study")
            made.replace(out)
            shutil.rmtree(old)
        else:
            made.replace(out)
    except OSError as error:
        raise OutputError(f"{out} cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(made, ignore_errors=True)
