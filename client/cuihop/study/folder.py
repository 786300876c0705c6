"""The folder of a study: written whole or not at all."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cuihop.errors import InputError, OutputError

__all__ = ["MARK", "whole_folder"]

MARK = "cuihop-study.json"
"""A file that every study's folder has. It lists the others: only a folder that holds nothing else is written over."""


@contextmanager
def whole_folder(out: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """An empty folder beside ``out``; it takes the place of ``out`` when the block ends, and goes where it fails.

    Raises:
        InputError: ``out`` is a file, or holds something and may not, or should not, be written over.
        OutputError: it cannot be written.
    """
    out = out.absolute()
    _check_free(out, overwrite)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    except OSError as error:
        raise OutputError(f"{out} cannot be written: {error.strerror or error}") from error
    try:
        yield made
        made.chmod(0o755)
        _check_free(out, overwrite)  # a study takes a while
        _put(made, out)
    except OSError as error:
        raise OutputError(f"{out} cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _check_free(out: Path, overwrite: bool) -> None:
    if out.exists() and not out.is_dir():
        raise InputError("not a folder", file=out, found="a file", expected="a new or empty folder")
    if out in (Path.cwd(), *Path.cwd().parents):
        raise InputError("the current folder cannot be replaced", file=out, expected="a folder in it, or elsewhere")
    held = {path.name for path in out.iterdir()} if out.exists() else set()
    if held and not overwrite:
        raise InputError(
            "the folder is not empty", file=out, expected="a new or empty folder",
            advice="--overwrite replaces an earlier study.",
        )  # fmt: skip
    others = sorted(held - _written(out))
    if others:
        more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
        raise InputError(
            "the folder holds something else than a study", file=out, found=f"{others[0]}{more}",
            expected="what an earlier study wrote, which --overwrite may delete",
        )  # fmt: skip


def _written(out: Path) -> set[str]:
    """What an earlier study wrote there; nothing where none did."""
    try:
        files = json.loads((out / MARK).read_text(encoding="utf-8"))["files"]
        return {MARK, *map(str, files)}
    except (OSError, ValueError, TypeError, KeyError):
        return set()


def _put(made: Path, out: Path) -> None:
    """Let the new folder take its place; the old one comes back where that fails."""
    if not out.is_dir():
        made.replace(out)
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{out.name}.old.", dir=out.parent))
    old = out.replace(aside / out.name)
    try:
        made.replace(out)
    except BaseException:
        old.replace(out)
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)
