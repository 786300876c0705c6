"""The folder of a study: written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cuihop.errors import InputError, OutputError
from cuihop.files.written_files import inputs_within, real_target, replaced_folder

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
    out = real_target(out.absolute())
    _check_free(out, overwrite)
    try:
        with replaced_folder(out) as folder:
            yield folder
            _check_free(out, overwrite)  # a study takes a while
    except OSError as error:
        raise OutputError(f"{out} cannot be written: {error.strerror or error}") from error


def _check_free(out: Path, overwrite: bool) -> None:
    if out.exists() and not out.is_dir():
        raise InputError("not a folder", file=out, found="a file", expected="a new or empty folder")
    if out in (Path.cwd(), *Path.cwd().parents):
        raise InputError("the current folder cannot be replaced", file=out, expected="a folder in it, or elsewhere")
    read = inputs_within(out)
    if read:
        raise InputError("the folder to write holds a file to read", file=out, found=read[0])
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
    """The files of an earlier study there; none where there is none."""
    try:
        files = json.loads((out / MARK).read_text(encoding="utf-8"))["files"]
        return {MARK, *map(str, files)}
    except (OSError, ValueError, TypeError, KeyError):
        return set()
