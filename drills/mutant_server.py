"""A process that tries mutants. Each has a fork, which imports the changed module and runs tests until one fails.

::

    python -m drills.mutant_server FOLDER

It reads a request in JSON from each line of standard input, and writes a line for each: see `Request`. What all tests
import from elsewhere is imported once, before the first fork; nothing of the project is.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import resource
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any, TypedDict

import pytest

from drills.mutations import mutated

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("client", "graph_loader", "service")
_MEMORY = 12 << 30
_KERNELS = ("client/cuihop/_kernels", "graph_loader/cuihop_loader/_kernels")


class Request(TypedDict):
    """The work of a fork.

    Attributes:
        module: path of the changed module, empty for none.
        number: its mutant.
        tests: files, each with the names of the tests to run; without names, all of ``make test`` run, and what they
            call is recorded.
        seconds: of the processor, after which the mutant has not ended.
    """

    module: str
    number: int
    tests: dict[str, list[str]]
    seconds: int


class _Mutated(importlib.machinery.SourceFileLoader):
    """The loader of the changed module."""

    code: CodeType

    def get_code(self, fullname: str) -> CodeType:
        return self.code


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, name: str, path: Path, code: CodeType) -> None:
        self._name, self._path, self._code = name, path, code

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        loader = _Mutated(fullname, str(self._path))
        loader.code = self._code
        return importlib.util.spec_from_file_location(fullname, self._path, loader=loader)


def _name_of(path: str) -> str:
    return ".".join(Path(path).with_suffix("").parts[1:]).removesuffix(".__init__")


def _use(module: str, number: int, folder: Path) -> None:
    """Let this process import the mutant."""
    path = ROOT / module
    code = mutated(path.read_text("utf-8"), number, str(path))
    if code is None:
        raise ValueError(f"mutant {number} of {module} is no change")
    sys.meta_path.insert(0, _Finder(_name_of(module), path, code))
    jit = importlib.import_module("cuihop._kernels.jit")
    changed = {str(ROOT / each) for each in _with_importers(module)}
    usual = jit._Folder.from_function

    def from_function(function: Any, file: str) -> Any:
        if file not in changed:
            return usual(function, file)
        compiled = folder / "compiled"
        compiled.mkdir(exist_ok=True)
        return jit._Folder(function, file, compiled)

    jit._Folder.from_function = from_function


def _with_importers(module: str) -> set[str]:
    """The modules of compiled code that contain code of a module."""
    imports = {}
    for folder in _KERNELS:
        for path in (ROOT / folder).glob("*.py"):
            names = {
                f"{node.module}.{alias.name}" if f"{node.module}".endswith("_kernels") else f"{node.module}"
                for node in ast.walk(ast.parse(path.read_text("utf-8")))
                if isinstance(node, ast.ImportFrom)
                for alias in node.names
            }
            imports[str(path.relative_to(ROOT))] = names
    changed = {module}
    while True:
        names = {_name_of(each) for each in changed}
        more = {path for path, of_path in imports.items() if of_path & names} - changed
        if not more:
            return changed
        changed |= more


class _Chosen:
    """Runs some tests of a file, in this order; notes the first that fails."""

    def __init__(self, names: list[str]) -> None:
        self._order = {name: index for index, name in enumerate(names)}
        self.failed = ""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self._order), key=lambda item: self._order[item.nodeid]
        )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid


class _Recorder:
    """Notes the functions that each passing test calls, and the processor time that it takes."""

    def __init__(self) -> None:
        self.tests: dict[str, dict[str, object]] = {}
        self._called: set[CodeType] = set()
        self._kernels: set[Any] = set()
        jit: Any = importlib.import_module("cuihop._kernels.jit")
        called = self._kernels

        class Kernel(jit._Kernel):  # type: ignore[misc]
            def __call__(self, *args: Any, **options: Any) -> Any:
                called.add(self)
                return super().__call__(*args, **options)

        jit._Kernel = Kernel

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._called.clear()
        self._kernels.clear()
        begin = time.process_time()
        threading.settrace(self._trace)
        sys.settrace(self._trace)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)
            codes = self._called | {code for kernel in self._kernels for code in self._callees(kernel)}
            self.tests[item.nodeid] = {
                "seconds": round(time.process_time() - begin, 3), "functions": sorted(_functions(codes))
            }  # fmt: skip

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.tests.setdefault(report.nodeid, {})["failed"] = True

    def _trace(self, frame: FrameType, event: str, argument: object) -> None:
        self._called.add(frame.f_code)

    def _callees(self, kernel: Any) -> set[CodeType]:
        """Code of a compiled function, and of all that it contains."""
        codes: set[CodeType] = set()
        left = [kernel.py_func]
        while left:
            function = left.pop()
            if function.__code__ in codes:
                continue
            codes.add(function.__code__)
            for name in _names(function.__code__):
                other = function.__globals__.get(name)
                other = getattr(other, "py_func", other)
                if hasattr(other, "__code__") and hasattr(other, "__globals__"):
                    left.append(other)
        return codes


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _functions(codes: set[CodeType]) -> set[str]:
    """Path and name of each function of the project, such as ``client/cuihop/graph.py:Release.of``."""
    root = f"{ROOT}{os.sep}"
    return {
        f"{code.co_filename.removeprefix(root)}:{code.co_qualname.partition('.<locals>')[0]}"
        for code in codes
        if code.co_filename.startswith(root)
        and code.co_filename.removeprefix(root).startswith(PACKAGES)
        and not code.co_qualname.startswith("<")
    }


def _run(request: Request, folder: Path) -> dict[str, Any]:
    """The result of a request, in a fork."""
    if request["module"]:
        _use(request["module"], request["number"], folder)
    options = ["-q", "-n0", "--tb=short", "--assert=plain", "-p", "no:cacheprovider", f"--basetemp={folder / 'tests'}"]
    recorded: dict[str, Any] = {}
    for file, names in request["tests"].items():
        if names:
            chosen = _Chosen(names)
            if pytest.main([*options, "-x", file], [chosen]) not in (0, pytest.ExitCode.NO_TESTS_COLLECTED):
                return {"outcome": "killed", "by": chosen.failed or file}
        else:
            recorder = _Recorder()
            pytest.main([*options, "--short", "-m", "not core", file], [recorder])
            recorded |= {name: test for name, test in recorder.tests.items() if "failed" not in test}
    return {"outcome": "lived", "tests": recorded, "libraries": _libraries()}


def _libraries() -> list[str]:
    """Modules of elsewhere that have been imported."""
    return [
        name for name, module in sys.modules.items()
        if "site-packages" in (getattr(module, "__file__", None) or "") and "<" not in name
    ]  # fmt: skip


def _forked(request: Request, folder: Path) -> dict[str, Any]:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            _limit(request["seconds"], folder)
            (folder / "result").write_text(json.dumps(_run(request, folder)), "utf-8")
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)
    ended = _wait(child, 20 * request["seconds"])
    _kill(child)
    if (folder / "result").exists():
        result: dict[str, Any] = json.loads((folder / "result").read_text("utf-8"))
        return result
    return {"outcome": "killed", "by": "no end" if ended is None else f"the process ended, {ended}"}


def _limit(seconds: int, folder: Path) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(folder / "hypothesis")
    null = os.open(os.devnull, os.O_RDONLY)
    out = os.open(folder / "output", os.O_WRONLY | os.O_CREAT)
    for number, target in ((null, 0), (out, 1), (out, 2)):
        os.dup2(number, target)


def _wait(child: int, seconds: float) -> int | None:
    """The exit status, or None if the process has not ended in time."""
    waiting = os.pidfd_open(child)
    try:
        ready: Callable[..., Any] = importlib.import_module("select").select
        if not ready([waiting], [], [], seconds)[0]:
            _kill(child)
            os.waitpid(child, 0)
            return None
        return os.waitpid(child, 0)[1]
    finally:
        os.close(waiting)


def _kill(group: int) -> None:
    """End what a test has left behind."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def main() -> None:
    """Answer requests until standard input ends."""
    folder = Path(sys.argv[1]) / "mutant"
    for line in sys.stdin:
        request = json.loads(line)
        for name in request.pop("libraries", []):
            with contextlib.suppress(Exception):  # a plugin that only pytest can import
                importlib.import_module(name)
        print(json.dumps(_forked(request, folder)), flush=True)


if __name__ == "__main__":
    main()
