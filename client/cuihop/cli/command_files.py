"""The files that a command reads and writes, by its annotations. An output that cannot be written is refused first."""

from __future__ import annotations

import functools
import os
import typing
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

from cuihop.errors import InputError
from cuihop.files.input_file import STANDARD_INPUT
from cuihop.files.written_files import check_output, check_output_folder, protected_inputs
from cuihop.notebooks.figures import picture_form

__all__ = ["FileUse", "checked_files", "checked_picture", "file_uses"]


class FileUse(Enum):
    """The use of a parameter, as further metadata of its ``Annotated`` type; a path without any is read."""

    WRITES = "file to write"
    WRITES_FOLDER = "folder to write"
    READS = "text that may name a file to read: FILE, NAME=FILE or snapshot:FILE"


def checked_picture(path: Path | None) -> Path | None:
    """The path of a picture; another suffix than those of pictures is refused before any work."""
    if path is not None:
        picture_form(path)
    return path


def file_uses(command: Callable[..., Any]) -> dict[str, FileUse]:
    """The use of each parameter of a command that names files."""
    uses = {}
    for name, hint in typing.get_type_hints(command, include_extras=True).items():
        marks = [mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, FileUse)]
        if marks or Path in _types(hint):
            uses[name] = marks[0] if marks else FileUse.READS
    return uses


def _types(hint: Any) -> Iterator[Any]:
    yield hint
    for part in typing.get_args(hint):
        yield from _types(part)


def checked_files(command: Callable[..., None]) -> Callable[..., None]:
    """The command, refusing at once what it could not write, what it reads as output, and two standard inputs."""
    uses = file_uses(command)
    if not uses or hasattr(command, "__wrapped__"):
        return command

    @functools.wraps(command)
    def checked(**given: Any) -> None:
        read = [path for name, use in uses.items() if use is FileUse.READS for path in _named(given.get(name))]
        if _standard_inputs(given[name] for name, use in uses.items() if use is FileUse.READS) > 1:
            raise InputError(
                "standard input is named twice", found=STANDARD_INPUT, expected=f"{STANDARD_INPUT} once",
                advice="Give a file or another pipe, such as <(zcat run.gz).",
            )  # fmt: skip
        if FileUse.WRITES not in uses.values() and FileUse.WRITES_FOLDER not in uses.values():
            command(**given)
            return
        written = {name: given[name] for name, use in uses.items() if use is not FileUse.READS and given.get(name)}
        with protected_inputs(read):
            _check(written, uses)
            command(**given)

    return checked


def _standard_inputs(values: Iterable[object]) -> int:
    """Number of arguments that name standard input: ``-``, or NAME=-."""
    texts = [str(text) for value in values for text in (value if isinstance(value, list) else [value])]
    return sum(STANDARD_INPUT in (text, text.partition("=")[2].strip()) for text in texts)


def _named(value: object) -> Iterator[str]:
    """The files that an argument may name, with the index beside each."""
    from cuihop.snapshot.distance_index import index_path

    for text in value if isinstance(value, list) else [value]:
        if isinstance(text, Path):
            yield os.fspath(text)
        elif isinstance(text, str):
            for name in (text, text.partition("=")[2].strip(), text.removeprefix("snapshot:")):
                yield name
                if Path(name).name:  # "." has none, and no index beside it
                    yield os.fspath(index_path(name))


def _check(written: dict[str, Path], uses: dict[str, FileUse]) -> None:
    """Refuse outputs that cannot be written.

    Raises:
        InputError: two files are one, or one is read.
        OutputError: see `cuihop.files.written_files.check_output`.
    """
    targets: dict[Path, str] = {}
    for name, path in written.items():
        if str(path) == STANDARD_INPUT:  # standard output
            continue
        target = check_output(path) if uses[name] is FileUse.WRITES else check_output_folder(path)
        option = f"--{name.replace('_', '-')}"
        if target in targets:
            raise InputError(f"{targets[target]} and {option} name one file", file=path)
        targets[target] = option
