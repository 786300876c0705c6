"""Rules for every test: the tiers, the order of work, and one line for each cause of a test that did not run.

``make test`` (``--short``) leaves out what is marked ``slow`` and what starts a server, a browser or another process,
but for tests marked ``core``; ``make test-all`` and a plain ``pytest FILE`` leave out nothing. CONTRIBUTING.md says how
a test is placed.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from compileall import compile_file
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any
from zlib import crc32

import pytest
from _pytest.assertion.rewrite import (
    PYC_TAIL,
    _read_pyc,
    _rewrite_test,
    _write_pyc,
    assertstate_key,
    get_cache_dir,
    try_makedirs,
)
from _pytest.nodeid import NodeId

from browser import browser
from command_server import forked_programs
from cuihop import SnapshotGraph
from cuihop.resources.compilation import seconds_of_compilation
from cuihop_tools.neo4j_server import LocalServer
from dask_servers import dask_servers
from demonstration import demonstration
from examples import register_profiles
from interpreted_ranx import ranx
from leftovers import kill_programs_at_the_end
from neo4j_server import killable_neo4j, neo4j_server
from program_run import program
from redis_server import killable_redis, redis_server
from shared_data import FOLDER, MISSING, ROOT, shared, wordnet

__all__ = [
    "browser",
    "dask_servers",
    "demonstration",
    "forked_programs",
    "killable_neo4j",
    "killable_redis",
    "neo4j_server",
    "program",
    "ranx",
    "redis_server",
]  # fixtures

SERVERS = {"browser", "dask_servers", "killable_neo4j", "killable_redis", "neo4j_server", "redis_server"}

GROUPS = {"killable_neo4j": "killable neo4j", "neo4j_server": "neo4j", "redis_server": "redis", "browser": "browser"}
"""Group of the tests that use a server: they run in one process, since each process would start a server of its own."""

LATE_IMPORTS = {"nltk": "nltk", "polars": "polars", "rouge_score": "nltk", "scipy": "scipy", "sklearn": "scipy"}
"""Group of the tests that use a package whose import takes long. Their functions import it, for modules are read in
each process."""

LONG_GROUPS = ("neo4j", "killable neo4j", "test_snapshot_contract", "demo", "browser")
"""Begun first, one in each process: none of them is left to one process at the end, while the others have no work.

They compile different code first: each waits for what another compiles. All pages of the documentation wait for the
files of "demo".
"""

LONG_TESTS = "long tests"
"""Group of single tests that take a minute, most of it alone or waiting: begun next, for the same reason."""

MOST_SECONDS = 2.0
"""Processor time that one test of ``make test`` may take, without compilation: a longer one is to be marked ``slow``.

It is named at the end; one that takes three times as long, which no busy machine explains, fails.
"""

_HERE = str(Path(__file__).parent)
_SOURCES = ("client", "service", "graph_loader", "proto", "tools", "tests")
_DATA = (shared, wordnet)  # what reads files beside the checkout
_PROCESSES = (subprocess, LocalServer)  # what starts one
_TOO_LONG = "too long"
_LEFT_OUT = pytest.StashKey[dict[str, int]]()

pytest.register_assert_rewrite("concept_graph_contract")
register_profiles()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fail-on-skip", action="store_true", help="A skipped test fails: where every component must run."
    )
    parser.addoption("--short", action="store_true", help="The tests of `make test`: nothing slow, few servers.")


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as of a job in the background; programs would inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.stash[_LEFT_OUT] = {}
    os.environ["CUIHOP_TIMEOUT"] = "300"  # a first request waits for its code: a minute on a busy machine
    kill_programs_at_the_end()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile a share of the modules, so that the processes of pytest-xdist do not all compile all of them."""
    worker = getattr(session.config, "workerinput", None)
    if worker is None or sys.dont_write_bytecode:
        return
    number, count = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
    sources = [path for folder in _SOURCES for path in sorted((ROOT / folder).rglob("*.py"))]
    for path in sources[number % count :: count]:
        if path.name.startswith("test_"):
            _rewrite(path, session.config)
        else:
            compile_file(path, quiet=2)


def _rewrite(path: Path, config: pytest.Config) -> None:
    """Write the file of a module with rewritten assertions, as pytest does when it imports the module."""
    file = get_cache_dir(path) / (path.stem + PYC_TAIL)
    if _read_pyc(path, file) is None and try_makedirs(file.parent):
        digest, code = _rewrite_test(path, config)
        _write_pyc(config.stash[assertstate_key], code, digest, file)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """More processes than processors: half of the time, a test of `make test-all` waits for a server or a program."""
    return (os.cpu_count() or 1) + (1 if config.getoption("--short") else 3)


def _belongs_to_all(item: pytest.Item) -> bool:
    """True if only ``make test-all`` runs it. Of the marks ``core`` and ``slow``, the one nearer to the test counts."""
    marks = [mark.name for mark in item.iter_markers() if mark.name in {"core", "slow"}]
    if marks[:1] == ["core"]:
        return False
    servers = SERVERS & set(getattr(item, "fixturenames", ()))
    return bool(servers or marks) or _reaches(item, _PROCESSES)


def _reaches(item: pytest.Item, targets: Sequence[object]) -> bool:
    """True if a test or a fixture of it, or code of the suite that they use, names one of these."""
    functions = [getattr(item, "function", None), *(each.func for each in _fixtures(item))]
    return any(target in _reached(function) for function in functions for target in targets)


@cache
def _reached(function: object) -> set[object]:
    """Names in a function and in what it uses of the suite, and the objects of `_DATA` and `_PROCESSES` there."""
    found: set[object] = set()
    seen: set[int] = set()
    left = [function]
    while left:
        one = left.pop()
        one = getattr(getattr(one, "hypothesis", None), "inner_test", getattr(one, "__wrapped__", one))
        found.update(target for target in (*_DATA, *_PROCESSES) if one is target)
        code = getattr(one, "__code__", None)
        if id(one) in seen or not _is_of_the_suite(one):
            continue
        seen.add(id(one))
        if isinstance(one, type):
            left += [*vars(one).values(), *one.__bases__]
        elif code is not None:
            names = getattr(one, "__globals__", {})
            used = [*_names(code)]
            left += [names[name] for name in used if name in names]
            found.update(name.partition(".")[0] for name in used)
    return found


def _late_imports(item: pytest.Item) -> list[str]:
    reached = _reached(getattr(item, "function", None))
    return [package for package in LATE_IMPORTS if package in reached]


def _is_of_the_suite(one: object) -> bool:
    module = sys.modules.get(getattr(one, "__module__", None) or "")
    return (getattr(module, "__file__", None) or "").startswith(_HERE)


def _names(code: CodeType) -> Iterator[str]:
    """The names that a function uses, those within it included."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _fixtures(item: pytest.Item) -> list[Any]:
    info = getattr(item, "_fixtureinfo", None)
    return [] if info is None else [each for several in info.name2fixturedefs.values() for each in several]


def _shares_in_its_module(item: pytest.Item) -> bool:
    """True if its module makes something once, which each process would make again."""
    return any(each.scope in ("class", "module") and each.baseid for each in _fixtures(item))


def _leave_out(
    config: pytest.Config, items: list[pytest.Item], cause: str, test: Callable[[pytest.Item], bool]
) -> None:
    left_out = {item: None for item in items if test(item)}
    if left_out:
        items[:] = [item for item in items if item not in left_out]
        config.stash[_LEFT_OUT][cause] = len(left_out)
        config.hook.pytest_deselected(items=[*left_out])


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Collect with the garbage collector off: it would visit the objects of modules and tests, millions that all stay.

    They are exempt from it afterwards, too.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    """A module that is imported makes no graph: all processes would wait for the code that one of them compiles."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SnapshotGraph, "__init__", _refused)
        return (yield)


def _refused(*_args: object, **_more: object) -> None:
    pytest.fail("a graph is made while its module is imported; make it in a function")


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups in the same hook
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose the tests of the tier. Tests that share a server run in one process: each would start one of its own."""
    if config.getoption("--short"):
        _leave_out(config, items, "slow, or with other processes: `make test-all` runs them", _belongs_to_all)
    if not FOLDER.exists() and not config.getoption("--fail-on-skip"):
        _leave_out(config, items, MISSING, lambda item: _reaches(item, _DATA))
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if server := next((name for name in GROUPS if name in fixtures), None):
            item.add_marker(pytest.mark.xdist_group(GROUPS[server]))
        elif late := _late_imports(item):
            item.add_marker(pytest.mark.xdist_group(LATE_IMPORTS[late[0]]))
        elif item.get_closest_marker("xdist_group") is None and _shares_in_its_module(item):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
        group = item.get_closest_marker("xdist_group")
        if group is not None and getattr(config.option, "loadgroup", False):
            # pytest-xdist 3.8 hands groups on in a name that pytest 9.2 does not read any more.
            path, _, name = f"{item.nodeid}@{group.args[0]}".partition("::")
            item._id = NodeId(path=path, names=tuple(name.split("::")))
    if getattr(config.option, "loadgroup", False):
        sizes = Counter(map(_group, items))
        items.sort(key=lambda item: _turn(item, _group(item), sizes))


def _group(item: pytest.Item) -> str:
    group = item.get_closest_marker("xdist_group")
    return "" if group is None else str(group.args[0])


def _turn(item: pytest.Item, group: str, sizes: Mapping[str, int]) -> tuple[int, int]:
    """The order of tests: long groups, the other groups, large before small, and single tests, which fill the end.

    Single tests are mixed, always in the same way: those of a folder may all wait, and leave the processors idle. The
    commands of the Makefile leave this order as it is (``--no-loadscope-reorder``).
    """
    long = [*LONG_GROUPS, LONG_TESTS]
    if group:
        return (long.index(group) if group in long else len(long), -sizes[group])
    return len(long) + 1, crc32(item.nodeid.encode())


def _processor_seconds() -> float:
    """Seconds of the processor of this process and of the ended ones that it started, without compilation."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system - seconds_of_compilation()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    for package in _late_imports(item):
        importlib.import_module(package)  # no part of the time of the first test
    begin = _processor_seconds()
    result = yield
    taken = _processor_seconds() - begin
    if item.config.getoption("--short") and taken > MOST_SECONDS and item.get_closest_marker("core") is None:
        text = f"took {taken:.1f} s of the processor; the limit is {MOST_SECONDS:g} s: mark it `slow`"
        if taken > 3 * MOST_SECONDS:
            pytest.fail(text)
        item.user_properties.append((_TOO_LONG, text))
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and item.config.getoption("--fail-on-skip"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and nothing may be skipped here: {report.longrepr}"
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)  # of a process of pytest-xdist
    if output is not None:
        output["left out"] = session.config.stash[_LEFT_OUT]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over the counts of a process of pytest-xdist; each of them has collected all tests."""
    node.config.stash[_LEFT_OUT].update(getattr(node, "workeroutput", {}).get("left out", {}))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """One line for each cause of tests that did not run."""
    left_out: dict[str, int] = config.stash[_LEFT_OUT]
    causes = Counter(left_out)
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        causes[reason.removeprefix("Skipped: ")] += 1
    for cause, count in causes.most_common():
        terminalreporter.write_line(f"{count:,} not run: {cause}")
    for report in terminalreporter.stats.get("passed", []):
        if text := dict(report.user_properties).get(_TOO_LONG):
            terminalreporter.write_line(f"{report.nodeid} {text}")
