"""Drill: mutants. One change of the code at a time, which the tests that reach it are to notice.

Which tests reach a function is recorded: every test in process of ``make test`` runs once under a trace. The record
stands in ``.cache/drills`` until a test or a listed module changes. A mutant that lives is found, unless
``drills/living_mutants.toml`` says why it makes no difference.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import random
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from drills.drill import Case, Found, Setting
from drills.mutations import Mutant, mutants, mutated

ROOT = Path(__file__).resolve().parents[1]
LIVING = ROOT / "drills" / "living_mutants.toml"
_MODULES = (
    "client/cuihop/_kernels/*.py", "graph_loader/cuihop_loader/_kernels/*.py", "client/cuihop/measures/*.py",
    "graph_loader/cuihop_loader/*.py", "client/cuihop/neo4j_graph/query_text.py",
    "service/cuihop_service/supervisor.py", "service/cuihop_service/graph_holder.py",
    "service/cuihop_service/release_watch.py",
)  # fmt: skip
_WITH_SERVERS = ("jit.py", "cli.py", "demo", "neo4j_")
"""What names of modules begin with, whose tests are of other processes."""
_TESTS = (
    "measures", "snapshot", "relevance", "similarity", "evaluation", "rankings", "annotation", "annotated_texts",
    "captions", "imageclef", "loader", "adapters/test_kgx_and_sssom.py", "remote/test_codes_as_identifiers.py",
    "neo4j_graph/test_query_text.py", "service/test_supervisor.py", "service/test_releases_served.py",
    "service/test_own_copy.py", "service/test_restricted_service.py",
)  # fmt: skip
_SMALL_MODULES, _SMALL_TESTS = ("client/cuihop/measures/f1.py",), ("measures/test_f1.py",)
_SMALL_FUNCTIONS = ("precision_recall_f1", "_quotients")
_MOST_SECONDS = 30.0
_FEW = 3  # tests
_SLOWER = 5
"""Factor of the time that tests may take with a mutant, after a minute for compilation."""


class Test(NamedTuple):
    """The processor time of a test, and the functions that it calls."""

    seconds: float
    functions: frozenset[str]


class Server:
    """A process that tries mutants: see ``mutant_server.py``."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "drills.mutant_server", str(folder)], cwd=ROOT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
        self._requests: Any = self._process.stdin
        self._answers: Any = self._process.stdout

    def answer(self, **request: object) -> dict[str, Any]:
        """The answer to a request."""
        self._requests.write(json.dumps(request) + "\n")
        self._requests.flush()
        line = self._answers.readline()
        if not line:
            raise SystemExit("the process that tries mutants has ended")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """End the process."""
        self._requests.close()
        self._process.wait()
        self._answers.close()


def modules(small: bool) -> list[str]:
    """Paths of the modules that are changed."""
    found = [path for pattern in (_SMALL_MODULES if small else _MODULES) for path in sorted(ROOT.glob(pattern))]
    return [str(path.relative_to(ROOT)) for path in found if not path.name.startswith(_WITH_SERVERS)]


@contextmanager
def cases(setting: Setting) -> Iterator[Case]:
    """One server a process; the mutants of all modules have one row of numbers."""
    chosen = modules(setting.small)
    sources = {path: (ROOT / path).read_text("utf-8") for path in chosen}
    of_module = {path: mutants(source) for path, source in sources.items()}
    every = [
        (path, mutant) for path in chosen for mutant in of_module[path]
        if mutant.function in _SMALL_FUNCTIONS or not setting.small
    ]  # fmt: skip
    lives = living()
    server = Server(setting.folder)
    try:
        tests, libraries = recorded(server, sources, _SMALL_TESTS if setting.small else _TESTS)
        server.answer(module="", number=0, tests={}, seconds=60, libraries=libraries)

        def case(rng: random.Random) -> Found:
            while True:
                path, mutant = rng.choice(every)
                reach = reaching(tests, path, mutant)
                if reach and mutated(sources[path], mutant.number, path) is not None:
                    break
            if (path, mutant.function, mutant.line, mutant.change) in lives:
                return Found(1, [])
            seconds = sum(tests[name].seconds for each in reach.values() for name in each)
            limit = 60 + int(_SLOWER * seconds)
            answer = server.answer(module=path, number=mutant.number, tests=reach, seconds=limit)
            if answer["outcome"] == "killed":
                return Found(1, [])
            number = sum(len(each) for each in reach.values())
            where = f"{path}, {mutant.function or 'the module'}"
            return Found(1, [f"{where}: {number} tests pass with {mutant.change}, in {mutant.line}"])

        yield case
    finally:
        server.close()


def reaching(tests: dict[str, Test], path: str, mutant: Mutant) -> dict[str, list[str]]:
    """The tests that reach a mutant by their files, the cheapest first, as far as there is time.

    Those of the module, where few reach the function: what generates code runs only when code is compiled.
    """
    target = f"{path}:{mutant.function}"
    reach = [name for name, test in tests.items() if target in test.functions]
    if not mutant.function or 0 < len(reach) < _FEW:
        reach = [name for name, test in tests.items() if any(each.startswith(f"{path}:") for each in test.functions)]
    reach.sort(key=lambda name: tests[name].seconds)
    until = accumulate(tests[name].seconds for name in reach)
    files: dict[str, list[str]] = {}
    for name, total in zip(reach, until, strict=True):
        if total <= _MOST_SECONDS:
            files.setdefault(name.partition("::")[0], []).append(name)
    return dict(sorted(files.items(), key=lambda file: sum(tests[name].seconds for name in file[1])))


def recorded(server: Server, sources: dict[str, str], folders: tuple[str, ...]) -> tuple[dict[str, Test], list[str]]:
    """The functions that each test calls, and what tests import from elsewhere: read, or recorded by one process."""
    cache_folder = ROOT / ".cache" / "drills"
    cache_folder.mkdir(parents=True, exist_ok=True)
    code = hashlib.sha256("".join(sources.values()).encode())
    tests: dict[str, Test] = {}
    libraries: list[str] = []
    with (cache_folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for file in _files(folders):
            digest = code.copy()
            digest.update((ROOT / file).read_bytes())
            path = cache_folder / f"{file.replace('/', '-')}.json"
            record = json.loads(path.read_text("utf-8")) if path.exists() else {}
            if record.get("digest") != digest.hexdigest():
                record = server.answer(module="", number=0, tests={file: []}, seconds=900, libraries=libraries)
                record["digest"] = digest.hexdigest()
                path.write_text(json.dumps(record), "utf-8")
            libraries = list(dict.fromkeys([*libraries, *record.get("libraries", [])]))
            for name, test in record.get("tests", {}).items():
                tests[name] = Test(test["seconds"], frozenset(test["functions"]))
    return tests, libraries


def _files(folders: tuple[str, ...]) -> list[str]:
    paths = [
        path for name in folders
        for path in sorted((ROOT / "tests").glob(name if name.endswith(".py") else f"{name}/test_*.py"))
    ]  # fmt: skip
    return [str(path.relative_to(ROOT)) for path in paths]


@cache
def living() -> set[tuple[str, str, str, str]]:
    """The mutants that are known to live."""
    entries = tomllib.loads(LIVING.read_text("utf-8")).get("mutant", [])
    return {(each["module"], each["function"], each["line"], each["change"]) for each in entries}
