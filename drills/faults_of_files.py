"""Drill: a command is killed, or the system refuses, at one call that writes. The old state or the new, never a third.

strace, a Debian package, makes the faults: the Nth call of a kind gets SIGKILL or an error.
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

from drills.drill import Case, Found, NumberedRandom, Setting
from example_files import write_example_files

_CALLS = (
    "openat",
    "write",
    "pwrite64",
    "fsync",
    "fdatasync",
    "rename",
    "ftruncate",
    "unlink",
    "mkdir",
    "copy_file_range",
)
_FAULTS = ("signal=KILL", "error=ENOSPC", "error=EIO", "error=EROFS")
_OPENED = "error=EMFILE"
"""A fault of `openat` only: no system refuses another call so."""
_MOST_SECONDS = 120
_PROGRAM = [sys.executable, "-m", "cuihop"]


class _Command(NamedTuple):
    """A command, and the files that it writes or replaces."""

    name: str
    arguments: tuple[str, ...]
    written: tuple[str, ...]


COMMANDS = (
    _Command("load", ("load", "umls", "--output", "graph.cuihop"), ("graph.cuihop",)),
    _Command("index", ("index", "graph.cuihop"), ("graph.cuihop.index",)),
    _Command("names", ("index", "graph.cuihop", "--name-search", "--force"), ("graph.cuihop",)),
    _Command(
        "neighbours",
        ("neighbours", "-g", "graph.cuihop", "--concepts", "concepts.csv", "--hops", "2", "--output", "near.cuihop"),
        ("near.cuihop",),
    ),
    _Command(
        "evaluate",
        ("evaluate", "run-a.csv", "--graph", "graph.cuihop", "--concepts", "concepts.csv", "--output", "values.csv",
         "--checkpoint", "blocks"),
        ("values.csv",),
    ),
    _Command(
        "shard",
        ("evaluate", "run-a.csv", "--graph", "graph.cuihop", "--concepts", "concepts.csv", "--shard", "1/2",
         "--checkpoint", "shards"),
        ("shards/1-of-2/evaluation.blocks",),
    ),
    _Command("keys", ("service", "keys", "revoke", "one", "--keys-file", "keys.json"), ("keys.json",)),
)  # fmt: skip


@contextmanager
def cases(setting: Setting) -> Iterator[Case]:
    """The files before each command, and what a run without a fault leaves."""
    check_strace()
    before = setting.folder / "before"
    before.mkdir()
    write_example_files(before)
    for name in ("one", "other"):
        _run(before, _Command("key", ("service", "keys", "create", name, "--keys-file", "keys.json"), ()), [])

    log = setting.folder / "calls"

    @cache
    def whole(number: int) -> tuple[dict[str, bytes], list[str], list[str]]:
        """The files after a whole run, the faults at calls of cuihop, and those where Python opens its own files."""
        folder = setting.folder / f"whole-{number}"
        _run(_copied(before, folder), COMMANDS[number], [])  # compiles what later runs read
        done = _run(_copied(before, folder), COMMANDS[number], noting(_CALLS, log))
        if done.returncode:
            raise SystemExit(f"{COMMANDS[number].name} fails without a fault: {done.stderr}")
        own, other = list[str](), list[str]()
        for call, when, arguments in noted(log):
            opened = re.match(r'AT_FDCWD, "([^"]*)"', arguments) if call == "openat" else None
            points = other if opened and folder not in (folder / opened[1]).parents else own
            faults = (*_FAULTS, _OPENED) if call == "openat" else _FAULTS
            points += [f"{call}:{fault}:when={when}" for fault in faults]
        if not any(point.startswith("fsync") for point in own):
            raise SystemExit(f"{COMMANDS[number].name} writes no file: nothing would be tried")
        return _content(folder), own, other

    @cache
    def every_point() -> list[tuple[int, str]]:
        return shuffled([(number, point) for number in range(len(COMMANDS)) for point in whole(number)[1]])

    def case(rng: NumberedRandom) -> Found:
        if rng.number < len(every_point()):
            number, point = every_point()[rng.number]
        else:
            number = rng.randrange(len(COMMANDS))
            point = rng.choice(whole(number)[2])
        wrong = list(faulty(COMMANDS[number], before, whole(number)[0], setting.folder, point))
        return Found(int(has_failed(log)), wrong)

    yield case


def faulty(command: _Command, before: Path, after: dict[str, bytes], folder: Path, fault: str) -> Iterator[str]:
    """The faults after a command with this fault, and after the same command without it."""
    where = _copied(before, folder / "faulty")
    old = _content(where)
    call = fault.partition(":")[0]
    done = _run(where, command, injecting(fault, folder / "calls"))
    now = _content(where)
    what = f"{command.name}, {fault}"
    for name in command.written:
        states = {"the old": old.get(name), "the new": after.get(name)}
        if name.endswith(".blocks"):
            continue  # grows block by block: what follows shows that it is good
        if now.get(name) not in states.values():
            yield f"{what}: {name} is neither the old file nor the new one"
        elif done.returncode == 0 and now.get(name) != after.get(name):
            yield f"{what}: exit 0, and {name} is not the new file"
    for name in old.keys() - set(command.written):
        if now.get(name) != old[name]:
            yield f"{what}: {name} was changed"
    if has_crashed(done.stderr):
        yield f"{what}: {done.stderr[-1500:]}"
    if done.returncode > 0 and not done.stderr.strip() and call != "write":
        yield f"{what}: exit {done.returncode} without a word"
    again = _run(where, command, [])
    if again.returncode and not ("revoked already" in again.stderr and now == after):
        yield f"{what}: then the same command fails: {again.stderr[-500:]}"
    elif (left := _content(where)) != after:
        names = sorted(name for name in left.keys() | after.keys() if left.get(name) != after.get(name))
        yield f"{what}: then the same command leaves other files than a run without a fault: {', '.join(names)}"


def check_strace() -> None:
    """End where strace is missing."""
    if shutil.which("strace") is None:
        raise SystemExit("faults at calls of the system need strace: install Debian's package strace")


def shuffled(points: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The points, so that those of a command do not follow each other: any part of them is a fair sample."""
    return random.Random(0).sample(points, len(points))


def noting(calls: Iterable[str], log: Path) -> list[str]:
    """The beginning of a command line whose calls of these kinds are noted in a file."""
    return ["strace", "-f", "-qq", "-o", str(log), "-e", f"trace={','.join(calls)}"]


def noted(log: Path) -> list[tuple[str, int, str]]:
    """The calls of the first thread: name, number among those of this name, arguments. strace counts by thread, too."""
    text = log.read_text(errors="replace")
    numbers, calls = Counter[str](), list[tuple[str, int, str]]()
    for name, arguments in re.findall(rf"^{text.partition(' ')[0]} +(\w+)\((.*)", text, re.MULTILINE):
        numbers[name] += 1
        calls.append((name, numbers[name], arguments))
    return calls


def injecting(fault: str, log: Path) -> list[str]:
    """The beginning of a command line in which one call fails, such as ``write:error=EIO:when=3``."""
    call = fault.partition(":")[0]
    return ["strace", "-f", "-qq", "-o", str(log), "-e", f"trace={call}", "-e", f"inject={fault}"]


def has_failed(log: Path) -> bool:
    """True if there was such a call, and it failed."""
    return re.search(r"\(INJECTED\)|killed by SIGKILL", log.read_text(errors="replace")) is not None


def has_crashed(stderr: str) -> bool:
    """True if there is more than a sentence. What Python says itself, before cuihop can word it, is no fault."""
    if re.search("Segmentation|core dumped", stderr):
        return True
    can_word = re.search(r"cuihop/cli/.*, in main\n    (?!from cuihop\.cli\.output import)", stderr)
    before_cuihop = re.search("<frozen (getpath|runpy|site)>|Fatal Python error: init", stderr) and not can_word
    return "Traceback" in stderr and not before_cuihop


def _run(folder: Path, command: _Command, before: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*before, *_PROGRAM, *command.arguments], cwd=folder, capture_output=True, text=True,
        check=False, timeout=_MOST_SECONDS,
    )  # fmt: skip


def _copied(source: Path, target: Path) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    return Path(shutil.copytree(source, target))


def _content(folder: Path) -> dict[str, bytes]:
    """Every file, but for the record of a shard, which has the time, and the time at which a key was revoked."""
    return {
        str(path.relative_to(folder)): re.sub(rb'("revoked": )"[^"]*"', rb"\1", path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "shard.json"
    }
