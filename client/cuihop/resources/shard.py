"""Shards: parts of the queries of a job, each computed by a process of its own in a folder of its own.

The folder of a job holds a folder for each shard, ``1-of-8`` to ``8-of-8``, with its files of finished blocks, and
``shard.json``, the record of the inputs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, get_type_hints

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError, output_errors
from cuihop.files.text_lines import quoted
from cuihop.files.written_files import clear_abandoned, write_whole
from cuihop.resources.arrays import Int64

_FORM = re.compile(r"([0-9]{1,7})/([0-9]{1,7})")
_LONGEST_RUN = 512  # queries of one block of vectors
_RUNS = 8  # of each shard at least, so that shards take equally long
_RECORD, _LOCK = "shard.json", "shard.lock"
_FORMAT = 1
_NAME = re.compile(r"([0-9]{1,7})-of-([0-9]{1,7})")
_LARGEST_RECORD = 1 << 22
_ADVICE = "Delete the folder of this shard, and run the shard again; or give another folder for another job."


@dataclass(frozen=True, slots=True)
class Shard:
    """One of N parts, by its number, from 1 to N; any other number is an `InputError`.

    >>> Shard.parse("3/8")
    Shard(number=3, count=8)
    """

    number: int
    count: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.count:
            raise InputError("not a shard", column="shard", found=str(self), expected="I/N with I from 1 to N")

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    @property
    def name(self) -> str:
        """The name of its folder, such as ``3-of-8``."""
        return f"{self.number}-of-{self.count}"

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Parse I/N, such as ``3/8``; refuses any other form."""
        match = _FORM.fullmatch(text.strip())
        if match is None:
            raise InputError("not a shard", column="shard", found=repr(text), expected="I/N, such as 3/8")
        return cls(int(match[1]), int(match[2]))

    def of_groups(self, group: npt.NDArray[np.integer]) -> Int64:
        """The queries of this shard, int64, ascending; ``group`` is that of each, from 0. A group is in one shard."""
        return np.flatnonzero(group % self.count == self.number - 1)

    def of_positions(self, queries: int) -> Int64:
        """The queries of this shard in runs of neighbours, as searches for vectors need them: int64, ascending.

        >>> Shard(2, 2).of_positions(5).tolist()
        [1, 3]
        """
        run = min(_LONGEST_RUN, max(1, queries // (_RUNS * self.count)))
        return self.of_groups(np.arange(queries) // run)


@dataclass(frozen=True)
class ShardRecord:
    """Content of ``shard.json``.

    Attributes:
        shard: I/N. state: ``running`` or ``finished``. queries, of_queries: numbers of its queries and of all.
        command: of the command line; empty for a shard that a program of its own computed.
        arguments: parameter → value, those that the command line gave.
        folder: the current folder, which relative paths refer to.
        versions: package → version. files: name of each finished file → its bytes.
    """

    shard: str
    state: str
    queries: int
    of_queries: int
    command: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    folder: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, int] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Write the record atomically."""
        text = json.dumps({"format": _FORMAT, **asdict(self)}, indent=1, ensure_ascii=False)
        write_whole(folder / _RECORD, text + "\n")

    @classmethod
    def read(cls, folder: Path) -> ShardRecord | None:
        """The record of a folder; ``None`` where there is none yet. One of another format is an `InputError`."""
        path = folder / _RECORD
        try:
            with path.open("rb") as file:
                content = json.loads(file.read(_LARGEST_RECORD))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(f"not the record of a shard: {error}", file=path, advice=_ADVICE) from None
        if not isinstance(content, dict):
            content = {}
        form = content.pop("format", None)
        if form is True or form != _FORMAT:
            raise InputError(
                "the record of a shard in another format", file=path, column="field format",
                found=quoted(json.dumps(form)), expected=str(_FORMAT), advice=_ADVICE,
            )  # fmt: skip
        expected = {name: getattr(kind, "__origin__", kind) for name, kind in get_type_hints(cls).items()}
        for name, kind in expected.items():
            if not isinstance(content.get(name), kind) or isinstance(content[name], bool):
                raise InputError(
                    "not the record of a shard", file=path, column=f"field {name}",
                    found=quoted(json.dumps(content.get(name))), expected=kind.__name__.lower(), advice=_ADVICE,
                )  # fmt: skip
        record = cls(**{name: content[name] for name in expected})
        if Shard.parse(record.shard).name != folder.name:
            raise InputError(
                "the record of another shard", file=path, column="field shard", found=quoted(record.shard),
                expected=folder.name.replace("-of-", "/"), advice=_ADVICE,
            )  # fmt: skip
        return record

    def cut_file(self, folder: Path) -> Path | None:
        """The first file that is not as long as when the shard finished."""
        for name, size in self.files.items():
            path = folder / name
            if Path(name).name != name or not path.is_file() or path.stat().st_size != size:
                return path
        return None


def shard_folders(folder: Path) -> list[Path]:
    """The folders of the shards of a job, by number."""
    folders = [(match, path) for path in folder.glob("*-of-*") if (match := _NAME.fullmatch(path.name))]
    return [path for _, path in sorted(folders, key=lambda each: (int(each[0][2]), int(each[0][1])))]


def neighbours_of(own: Path) -> list[Path]:
    """The folders of the other shards of a job, by number; none for a folder that is not of a shard."""
    return [] if _NAME.fullmatch(own.name) is None else [path for path in shard_folders(own.parent) if path != own]


def check_one_division(folder: Path, shards: Iterable[Path]) -> None:
    """Refuse the folders of shards that divide a job into different numbers of shards."""
    counts = sorted({int(path.name.rpartition("-")[2]) for path in shards})
    if len(counts) > 1:
        raise InputError(
            "shards of several divisions", file=folder, found=", ".join(f"{count} shards" for count in counts),
            expected="one number of shards", advice="Move the folders of one of them elsewhere.",
        )  # fmt: skip


@contextmanager
def recorded_shard(folder: Path, record: ShardRecord) -> Iterator[Path]:
    """The folder of a shard, locked; its record states ``finished`` once the block ends without an error.

    The first other shard in the folder of the job must have the same command, so all shards have.

    Raises:
        InputError: another process works on the shard, or the folder holds one of another command or division.
        OutputError: the folder cannot be written.
    """
    own = folder / Shard.parse(record.shard).name
    neighbours = neighbours_of(own)
    check_one_division(folder, [own, *neighbours])
    for path in neighbours:
        if (neighbour := ShardRecord.read(path)) is not None:
            check_same_job(path, neighbour, record)
            break
    with output_errors(f"{own}: not a folder for a shard"):
        own.mkdir(parents=True, exist_ok=True)
        lock = (own / _LOCK).open("ab")
    with lock:
        locked(lock, InputError("another process works on this shard", file=own))
        clear_abandoned(own)
        earlier = ShardRecord.read(own)
        if earlier is not None:
            check_same_job(own, earlier, record)
        record.write(own)
        yield own
        files = {path.name: path.stat().st_size for path in sorted(own.glob("*.blocks*"))}
        ShardRecord(**{**record.__dict__, "state": "finished", "files": files}).write(own)


def check_same_job(folder: Path, record: ShardRecord, expected: ShardRecord) -> None:
    """Refuse a shard of another job; the error names the file and the field."""
    fields = [("command", record.command, expected.command), ("queries", record.of_queries, expected.of_queries)]
    for kind, ours, theirs in (
        ("argument", record.arguments, expected.arguments), ("version of", record.versions, expected.versions)
    ):  # fmt: skip
        fields += [(f"{kind} {name}", ours.get(name), theirs.get(name)) for name in dict.fromkeys((*theirs, *ours))]
    check_fields("the shard of another job", folder / _RECORD, fields, _ADVICE)


def check_fields(problem: str, path: Path, fields: Iterable[tuple[str, Any, Any]], hint: str) -> None:
    """Refuse a file with a field, of (name, value, expected value), of another value than expected."""
    for name, value, expected in fields:
        if value != expected:
            raise InputError(
                problem, file=path, column=f"field {name}", found=quoted(json.dumps(value, ensure_ascii=False)),
                expected=quoted(json.dumps(expected, ensure_ascii=False)), advice=hint,
            )  # fmt: skip


def locked(file: IO[bytes], refusal: InputError) -> None:
    """Lock an open file until it is closed; the refusal is raised if another process has the lock."""
    try:
        import fcntl
    except ImportError:  # Windows has no such locks
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        raise refusal from None
    except OSError:  # a file system without locks
        return
