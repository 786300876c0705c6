"""The folder of a shard: its files of finished blocks, and ``shard.json``, the record of what they were made from.

The folder of a job holds a folder for each shard, ``1-of-8`` to ``8-of-8``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any, get_type_hints

from cuihop.errors import InputError, OutputError
from cuihop.files.text_lines import quoted
from cuihop.files.written_files import clear_abandoned, write_whole
from cuihop.resources.shard import Shard

_RECORD, _LOCK = "shard.json", "shard.lock"
_FORMAT = 1
_NAME = re.compile(r"([0-9]{1,7})-of-([0-9]{1,7})")
_LARGEST_RECORD = 1 << 22
_ADVICE = "Delete the folder of this shard, and run the shard again; or give another folder for another job."


@dataclass(frozen=True)
class ShardRecord:
    """Content of ``shard.json``.

    Attributes:
        shard: I/N. state: ``running`` or ``finished``.
        queries, of_queries: numbers of its queries and of all.
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
        """Write the record, whole or not at all.

        Raises:
            OutputError: it cannot be written.
        """
        text = json.dumps({"format": _FORMAT, **asdict(self)}, indent=1, ensure_ascii=False)
        write_whole(folder / _RECORD, text + "\n")

    @classmethod
    def read(cls, folder: Path) -> ShardRecord | None:
        """The record of a folder; ``None`` where there is none yet.

        Raises:
            InputError: it is none of this format; names the file and the field.
        """
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
        given = content.pop("format", None)
        if given is True or given != _FORMAT:
            raise InputError(
                "the record of a shard in another format", file=path, column="field format",
                found=quoted(json.dumps(given)), expected=str(_FORMAT), advice=_ADVICE,
            )  # fmt: skip
        expected = {name: getattr(kind, "__origin__", kind) for name, kind in get_type_hints(cls).items()}
        for name, kind in expected.items():
            if not isinstance(content.get(name), kind) or isinstance(content[name], bool):
                raise InputError(
                    "not the record of a shard", file=path, column=f"field {name}",
                    found=quoted(json.dumps(content.get(name))), expected=kind.__name__.lower(), advice=_ADVICE,
                )  # fmt: skip
        found = cls(**{name: content[name] for name in expected})
        if Shard.parse(found.shard).name != folder.name:
            raise InputError(
                "the record of another shard", file=path, column="field shard", found=quoted(found.shard),
                expected=folder.name.replace("-of-", "/"), advice=_ADVICE,
            )  # fmt: skip
        return found

    def cut_file(self, folder: Path) -> Path | None:
        """The first file that is not as long as when the shard finished."""
        for name, size in self.files.items():
            path = folder / name
            if Path(name).name != name or not path.is_file() or path.stat().st_size != size:
                return path
        return None


def shard_folders(folder: Path) -> list[Path]:
    """The folders of the shards of a job, by number."""
    found = [(match, path) for path in folder.glob("*-of-*") if (match := _NAME.fullmatch(path.name))]
    return [path for _, path in sorted(found, key=lambda each: (int(each[0][2]), int(each[0][1])))]


def neighbours_of(own: Path) -> list[Path]:
    """The folders of the other shards of a job, by number; none for a folder that is not of a shard."""
    return [] if _NAME.fullmatch(own.name) is None else [path for path in shard_folders(own.parent) if path != own]


def check_one_division(folder: Path, shards: Iterable[Path]) -> None:
    """Refuse the folders of shards that divide a job into different numbers of shards.

    Raises:
        InputError: names the folder of the job and the numbers.
    """
    counts = sorted({int(path.name.rpartition("-")[2]) for path in shards})
    if len(counts) > 1:
        raise InputError(
            "shards of several divisions", file=folder, found=", ".join(f"{count} shards" for count in counts),
            expected="one number of shards", advice="Move the folders of one of them elsewhere.",
        )  # fmt: skip


def records_in(folder: Path) -> list[tuple[Path, ShardRecord | None]]:
    """The folder of each shard with its record.

    Raises:
        InputError: a record is malformed.
    """
    return [(path, ShardRecord.read(path)) for path in shard_folders(folder)]


@contextmanager
def recorded_shard(folder: Path, record: ShardRecord) -> Iterator[Path]:
    """The folder of a shard, locked; its record states ``finished`` once the block ends without an error.

    The first other shard in the folder of the job must have the same command, so all shards have.

    Args:
        folder: of the job. record: of the shard, without its files.

    Raises:
        InputError: another process works on the shard, or the folder holds one of another command or division.
        OutputError: the folder cannot be written.
    """
    own = folder / Shard.parse(record.shard).name
    neighbours = neighbours_of(own)
    check_one_division(folder, [own, *neighbours])
    for path, neighbour in islice(((p, r) for p in neighbours if (r := ShardRecord.read(p)) is not None), 1):
        check_same_job(path, neighbour, record)
    try:
        own.mkdir(parents=True, exist_ok=True)
        lock = (own / _LOCK).open("ab")
    except OSError as error:
        raise OutputError(f"{own}: not a folder for a shard: {error.strerror or error}") from error
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


def check_same_job(folder: Path, found: ShardRecord, expected: ShardRecord) -> None:
    """Refuse a shard of another job.

    Raises:
        InputError: names the file and the field.
    """
    fields = {"command": (found.command, expected.command), "queries": (found.of_queries, expected.of_queries)}
    fields |= {
        f"{kind} {name}": (ours.get(name), theirs.get(name))
        for kind, ours, theirs in (
            ("argument", found.arguments, expected.arguments), ("version of", found.versions, expected.versions)
        )
        for name in dict.fromkeys((*theirs, *ours))
    }  # fmt: skip
    for name, (ours, theirs) in fields.items():
        if ours != theirs:
            raise InputError(
                "the shard of another job", file=folder / _RECORD, column=f"field {name}",
                found=quoted(json.dumps(ours, ensure_ascii=False)),
                expected=quoted(json.dumps(theirs, ensure_ascii=False)), advice=_ADVICE,
            )  # fmt: skip


def locked(file: IO[bytes], refusal: InputError) -> None:
    """Lock an open file until it is closed.

    Raises:
        InputError: the refusal given, where another process has the lock.
    """
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
