"""The files that a command reads and writes, by its annotations.

Before a command runs, refuse an output that cannot be written, an ending that contradicts the form that is written, and
a file or an option that needs a package that is not installed.
"""

from __future__ import annotations

import functools
import os
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from cuihop.addresses import is_neo4j_address, scheme_of
from cuihop.errors import InputError
from cuihop.files.input_file import STANDARD_INPUT, TABLE_SUFFIXES
from cuihop.files.written_files import check_output, check_output_folder, protected_inputs
from cuihop.notebooks.figures import FORMATS
from cuihop.resources.optional_packages import GRPC, MATPLOTLIB, NEO4J, PYARROW, URLLIB3, OptionalPackage

Mark = TypeVar("Mark")
_OF_SERVICES = {"grpc": GRPC, "grpcs": GRPC, "http": URLLIB3, "https": URLLIB3}
_OF_PYARROW = TABLE_SUFFIXES | {".zst", ".zstd"}


class FileUse(Enum):
    """The use of a parameter, as further metadata of its ``Annotated`` type; a path without any is read."""

    WRITES = "file to write; declared by its `FileForm`"
    WRITES_FOLDER = "folder to write"
    READS = "text that may name a file to read: FILE, NAME=FILE or snapshot:FILE"


@dataclass(frozen=True)
class FileForm:
    """The form of a file to write, as further metadata of the parameter that names it.

    Attributes:
        by_ending: the ending selects among several forms; otherwise a name without an ending has this form, too.
        packages: what the endings need that the base installation does not bring.
    """

    name: str
    endings: tuple[str, ...]
    by_ending: bool = False
    packages: Mapping[str, OptionalPackage] = field(default_factory=dict)

    def check(self, path: Path, option: str) -> None:
        """Refuse a name whose ending says another form, or needs a missing package. Digits of a version say none."""
        ending = path.suffix.lower()
        says_none = ending[1:].isdecimal() or ending in ("", ".")
        if ending in self.endings or (says_none and not self.by_ending):
            if ending in self.packages:
                self.packages[ending].check()
            return
        endings = " or ".join([", ".join(self.endings[:-1]), self.endings[-1]] if self.endings[1:] else self.endings)
        raise InputError(
            f"{option} writes {self.name}, which this name does not say", file=path,
            found="no ending" if says_none else repr(ending),
            expected=f"a name that ends in {endings}" + ("" if self.by_ending else ", or in nothing"),
        )  # fmt: skip


CSV = FileForm("CSV", (".csv",))
TSV = FileForm("tab-separated text", (".tsv", ".tab", ".txt"))
JSON = FileForm("JSON", (".json",))
HTML = FileForm("HTML", (".html", ".htm"))
RUN = FileForm("a TREC run", (".run", ".trec", ".txt"))
QRELS = FileForm("TREC qrels", (".qrels", ".trec", ".txt"))
REJECTS = FileForm("rejected rows as text", (".rejects", *TSV.endings))
SNAPSHOT = FileForm("a snapshot", (".cuihop",))
DICTIONARY = FileForm("a neighbour dictionary", (".cuihop",))
_PICTURES = tuple(f".{form}" for form in FORMATS)
PICTURE = FileForm("a picture", _PICTURES, by_ending=True, packages=dict.fromkeys(_PICTURES, MATPLOTLIB))
REPORT = FileForm("Markdown or LaTeX", (".md", ".tex"), by_ending=True)


def file_uses(command: Callable[..., Any]) -> dict[str, FileUse]:
    """The use of each parameter of a command that names files."""
    uses = {
        name: FileUse.READS for name, hint in typing.get_type_hints(command).items() if Path in _types(hint)
    }  # fmt: skip
    return uses | _marks(command, FileUse) | dict.fromkeys(written_forms(command), FileUse.WRITES)


def written_forms(command: Callable[..., Any]) -> dict[str, FileForm]:
    """The form of each file that a command writes, by the parameter that names it."""
    return _marks(command, FileForm)


def _marks(command: Callable[..., Any], kind: type[Mark]) -> dict[str, Mark]:
    """The metadata of this kind, by the parameter whose ``Annotated`` type has it."""
    hints = typing.get_type_hints(command, include_extras=True)
    marked = ((name, mark) for name, hint in hints.items() for mark in getattr(hint, "__metadata__", ()))
    return {name: mark for name, mark in marked if isinstance(mark, kind)}


def _types(hint: Any) -> Iterator[Any]:
    yield hint
    for argument in typing.get_args(hint):
        yield from _types(argument)


def checked_files(command: Callable[..., None]) -> Callable[..., None]:
    """The command, refusing at once what it could not write, what it reads as output, and two standard inputs."""
    uses, forms, packages = file_uses(command), written_forms(command), _marks(command, OptionalPackage)
    if not uses:
        return command

    @functools.wraps(command)
    def checked(**values: Any) -> None:
        read = [path for name, use in uses.items() if use is FileUse.READS for path in _named(values.get(name))]
        if _standard_inputs(values[name] for name, use in uses.items() if use is FileUse.READS) > 1:
            raise InputError(
                "standard input is named twice", found=STANDARD_INPUT, expected=f"{STANDARD_INPUT} once",
                advice="Give a file or another pipe, such as <(zcat run.gz).",
            )  # fmt: skip
        for package in (packages[name] for name in packages if values.get(name)):
            package.check()
        for text in read:
            _check_package(text)
        if FileUse.WRITES not in uses.values() and FileUse.WRITES_FOLDER not in uses.values():
            command(**values)
            return
        written = {name: values[name] for name, use in uses.items() if use is not FileUse.READS and values.get(name)}
        with protected_inputs(read):
            _check(written, forms)
            command(**values)

    checked.__annotations__ = command.__annotations__  # `wraps` leaves out what was set by hand, from Python 3.14 on
    return checked


def _standard_inputs(values: Iterable[object]) -> int:
    """Number of arguments that name standard input: ``-``, or NAME=-."""
    texts = [str(text) for value in values for text in (value if isinstance(value, list) else [value])]
    return sum(STANDARD_INPUT in (text, text.partition("=")[2].strip()) for text in texts)


def _named(value: object) -> Iterator[str]:
    """The files that an argument may name, each with its index."""
    from cuihop.snapshot.distance_index import index_path

    for text in value if isinstance(value, list) else [value]:
        if isinstance(text, Path):
            yield os.fspath(text)
        elif isinstance(text, str):
            for name in (text, text.partition("=")[2].strip(), text.removeprefix("snapshot:")):
                yield name
                if Path(name).name:  # "." has none, and no index
                    yield os.fspath(index_path(name))


def _check_package(text: str) -> None:
    """Refuse a file or an address that needs a package that is not installed; the message names the extra."""
    if is_neo4j_address(text):
        NEO4J.check()
    elif (scheme := (scheme_of(text) or "").lower()) in _OF_SERVICES:
        _OF_SERVICES[scheme].check()
    elif Path(text).suffix.lower() in _OF_PYARROW:
        PYARROW.check()


def _check(written: dict[str, Path], forms: dict[str, FileForm]) -> None:
    """Refuse two outputs of one name, one that is read, whose ending says another form, or that cannot be written."""
    targets: dict[Path, str] = {}
    for name, path in written.items():
        if str(path) == STANDARD_INPUT:  # standard output
            continue
        target = check_output(path) if name in forms else check_output_folder(path)
        option = f"--{name.replace('_', '-')}"
        if target in targets:
            raise InputError(f"{targets[target]} and {option} name one file", file=path)
        targets[target] = option
        if name in forms:
            forms[name].check(path, option)
