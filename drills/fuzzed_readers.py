"""Drill: fuzzing guided by coverage. Atheris changes inputs of a reader, and keeps those that reach new code."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

from xxhash import xxh3_64_intdigest

from drills.drill import Case, Found, NumberedRandom, Setting

ROOT = Path(__file__).resolve().parents[1]
_RUNS, _FEW_RUNS = {"text": 200_000, "snapshot": 100_000, "release": 25_000}, 100  # minutes of each
_LONGEST = 4096  # bytes, of inputs of text
_MOST_SECONDS = 1.0
_PACKAGES = {
    "cuihop": "client/cuihop", "cuihop_loader": "graph_loader/cuihop_loader", "cuihop_service": "service/cuihop_service"
}  # fmt: skip


class Reader(NamedTuple):
    """A reader: the file that it reads, whole inputs of it, a call that reads it, and what kind of file it is."""

    path: Path
    seeds: list[bytes]
    read: Callable[[], object]
    kind: str
    in_sections: bool = False


@contextlib.contextmanager
def cases(setting: Setting) -> Iterator[Case]:
    """The readers in turn, each case in a process of its own: one that fuzzes ends itself."""
    setup = subprocess.run(["make", "--quiet", "fuzzing-environment"], cwd=ROOT, check=False)
    if setup.returncode:
        raise SystemExit("Atheris is not set up: make fuzzing-environment does it, with a package registry")
    kinds = {name: reader.kind for name, reader in readers(setting.folder).items()}
    names = list(kinds)

    def case(rng: NumberedRandom) -> Found:
        name = names[rng.number % len(names)]
        runs = _FEW_RUNS if setting.small else _RUNS[kinds[name]]
        return fuzzed(name, Path(mkdtemp(dir=setting.folder)), rng.randrange(1 << 31), runs)

    yield case


def fuzzed(name: str, folder: Path, seed: int, runs: int) -> Found:
    """Fuzz a reader, in an empty folder."""
    done = subprocess.run(
        [sys.executable, "-m", "drills.fuzzed_readers", name, str(folder), str(seed), str(runs)], cwd=ROOT,
        capture_output=True, text=True, errors="replace", check=False, env=os.environ | {"NUMBA_BOUNDSCHECK": "1"},
    )  # fmt: skip
    steps = [(int(n), int(cov)) for n, cov in re.findall(r"^#(\d+)\t\w+ +cov: (\d+)", done.stderr, re.MULTILINE)]
    tried, most = steps[-1] if steps else (0, 0)
    if done.returncode or not steps:
        inputs = [path.read_bytes() for path in folder.glob("*-*") if path.is_file()]
        return Found(tried, [f"{name}, {inputs}: {done.stdout[-3000:]}{done.stderr[-1000:]}"])
    last_new = next(number for number, reached in steps if reached == most)
    return Found(tried, [], {"inputs in % after the last that reached new code": [100 * (1 - last_new / tried)]})


def readers(folder: Path) -> dict[str, Reader]:
    """Every reader by its name. The folder is empty."""
    return {name: reader for group in _groups(folder) for name, reader in group.items()}


def _groups(folder: Path) -> Iterator[dict[str, Reader]]:
    """The readers in groups, each made when it is asked for: for those of snapshots, the last, much is compiled."""
    yield _of_users(folder)
    yield _of_releases(folder)
    yield _of_snapshots(folder)


def _of_users(folder: Path) -> dict[str, Reader]:
    from cuihop.annotated_texts.reading import open_texts, read_documents
    from cuihop.neo4j_graph.query_text import check_text
    from cuihop_service.guard.key_file import read_keys
    from drills.fuzzing_seeds import QUERIES, TEXTS
    from guarded_service import new_key_in
    from text_readers import TEXT_READERS

    def reader(read: Callable[[Path], object], *seeds: str) -> Reader:
        return Reader(path, [seed.encode() for seed in seeds], partial(read, path), "text")

    path = folder / "user.txt"
    new_key_in(path, "x", "read")
    return {name: reader(read, *TEXTS) for name, read in TEXT_READERS.items()} | {
        "texts": reader(lambda path: list(open_texts(path).blocks()), *TEXTS),
        "annotated documents": reader(read_documents, *TEXTS),
        "Cypher": reader(lambda path: check_text(path.read_bytes().decode("utf-8", "replace")), *QUERIES),
        "keys": reader(read_keys, path.read_text("utf-8")),
    }


def _of_releases(folder: Path) -> dict[str, Reader]:
    from cuihop_loader import load
    from drills.fuzzing_seeds import releases

    base = folder / "releases"
    found = {}
    for path in releases(base):
        name = path.relative_to(base)
        found[str(name)] = Reader(path, [path.read_bytes()], partial(load, [base / name.parts[0]]), "release")
    return found


def _of_snapshots(folder: Path) -> dict[str, Reader]:
    from drills.damaged_files import whole_files

    return {
        file.path.name: Reader(file.path, [file.content], file.answers, "snapshot", file.path.suffix != ".blocks")
        for file in whole_files(folder)
    }


def forged(data: bytes, most: int, rng: random.Random, mutate: Callable[[bytes, int], bytes]) -> bytes:
    """A file of sections of which one is changed, or the header, with the checksums that belong to it."""
    from cuihop.errors import SnapshotError
    from cuihop.snapshot.layout import HEAD_BYTES, packed_head, read_header

    try:
        _, sections = read_header(data, len(data), "")
    except SnapshotError:
        return mutate(data, most)
    raw = data[HEAD_BYTES : HEAD_BYTES + int.from_bytes(data[12:16], "little")]
    room = min((each.offset for each in sections), default=len(data)) - HEAD_BYTES
    rest = bytearray(data[HEAD_BYTES + room :])
    fields = json.loads(raw)
    if not sections or rng.random() < 0.3:
        raw = mutate(raw, room)
    else:
        section = rng.choice(fields["sections"])
        begin = section["offset"] - HEAD_BYTES - room
        content = rest[begin : begin + section["bytes"]]
        changed = mutate(bytes(content), len(content))[: len(content)] if content else b""
        content[: len(changed)] = changed
        rest[begin : begin + len(content)] = content
        section["xxh3"] = xxh3_64_intdigest(content, xxh3_64_intdigest(section["name"].encode()))
        raw = json.dumps(fields).encode()
    return (packed_head(raw, len(data)) + raw).ljust(HEAD_BYTES + room, b"\0") + rest if len(raw) <= room else data


def _seconds(read: Callable[[], object]) -> float:
    """Processor time until a file is read, or refused in words."""
    from cuihop.errors import CuihopError

    begin = time.process_time()
    with contextlib.suppress(CuihopError):
        read()
    return time.process_time() - begin


def _fuzz(name: str, folder: Path, seed: str, runs: str) -> None:
    sys.path += map(str, ROOT.glob(".cache/atheris/lib/python*/site-packages"))
    atheris: Any = import_module("atheris")

    kernels = [
        f"{package}._kernels.{path.stem}"
        for package, place in _PACKAGES.items()
        for path in (ROOT / place / "_kernels").glob("*.py")
    ]  # compiled from their bytecode
    warnings.simplefilter("ignore")
    with atheris.instrument_imports(include=list(_PACKAGES), exclude=kernels):
        reader = next(group[name] for group in _groups(folder) if name in group)
        corpus = folder / "corpus"
        corpus.mkdir()
        for number, content in enumerate(reader.seeds):
            (corpus / str(number)).write_bytes(content)
            reader.path.write_bytes(content)
            _seconds(reader.read)

    def one(data: bytes) -> None:
        reader.path.write_bytes(data)
        if _seconds(reader.read) > _MOST_SECONDS and (taken := _seconds(reader.read)) > _MOST_SECONDS:
            raise AssertionError(f"{taken:.1f} s of processor time")  # also the second time, without compilation

    def changed(data: bytes, most: int, number: int) -> bytes:
        return forged(data, most, random.Random(number), atheris.Mutate)

    longest = max(_LONGEST, *map(len, reader.seeds))
    options = [f"-seed={seed}", f"-runs={runs}", f"-max_len={longest}", "-rss_limit_mb=4096", "-len_control=0"]
    mutator: dict[str, Any] = {"custom_mutator": changed} if reader.in_sections else {}
    atheris.Setup(["", *options, f"-artifact_prefix={folder}/", str(corpus)], one, **mutator)
    atheris.Fuzz()


if __name__ == "__main__":
    _fuzz(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
