"""Rules for every test: shared test classes explain their assertions, and CI accepts no skipped test."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from _pytest.nodeid import NodeId
from hypothesis import settings

from browser import browser
from command_server import forked_programs
from dask_servers import dask_servers
from examples import QUICK
from neo4j_server import killable_neo4j, neo4j_server
from program_run import program
from redis_server import killable_redis, redis_server

__all__ = [
    "browser",
    "dask_servers",
    "forked_programs",
    "killable_neo4j",
    "killable_redis",
    "neo4j_server",
    "program",
    "redis_server",
]  # fixtures

pytest.register_assert_rewrite("concept_graph_contract")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fail-on-skip", action="store_true", help="A skipped test fails: where every component must run."
    )
    parser.addoption(
        "--quick",
        action="store_true",
        help="No servers, no browser, nothing slow: the inner loop of `make test-quick`.",
    )


_SERVERS = {"browser", "dask_servers", "killable_neo4j", "killable_redis", "neo4j_server", "redis_server"}
_LONG_ROOMS = {"docs", "neo4j_graph", "packaging", "remote", "service", "study", "tools"}
"""Rooms whose tests start servers, build pages and packages, or run whole studies."""


def pytest_configure(config: pytest.Config) -> None:
    settings.register_profile("whole", deadline=None)  # no test depends on the speed of the machine
    settings.load_profile("whole")
    if config.getoption("--quick"):
        os.environ[QUICK] = "1"  # properties are tried on fewer examples
        settings.register_profile("quick", deadline=None, max_examples=20)
        settings.load_profile("quick")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    room = collection_path.parent == Path(__file__).parent and collection_path.name in _LONG_ROOMS
    return True if room and config.getoption("--quick") else None


def _is_long(item: pytest.Item) -> bool:
    fixtures = set(getattr(item, "fixturenames", ()))
    return bool(_SERVERS & fixtures) or item.get_closest_marker("slow") is not None


def _shares_in_its_module(item: pytest.Item) -> bool:
    """True if its module makes something once, which each process would make again."""
    info = getattr(item, "_fixtureinfo", None)
    definitions = [] if info is None else [each for several in info.name2fixturedefs.values() for each in several]
    return any(each.scope in ("class", "module") and each.baseid for each in definitions)


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups in the same hook
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that share a server run in one process: each process would start a server of its own."""
    if config.getoption("--quick"):
        left_out = [item for item in items if _is_long(item)]
        items[:] = [item for item in items if not _is_long(item)]
        config.hook.pytest_deselected(items=left_out)
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if {"neo4j_server", "killable_neo4j"} & fixtures:
            item.add_marker(pytest.mark.xdist_group("neo4j"))
        elif "redis_server" in fixtures:
            item.add_marker(pytest.mark.xdist_group("redis"))
        elif "browser" in fixtures:
            item.add_marker(pytest.mark.xdist_group("browser"))
        elif item.get_closest_marker("xdist_group") is None and _shares_in_its_module(item):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
        group = item.get_closest_marker("xdist_group")
        if group is not None and getattr(config.option, "loadgroup", False):
            # pytest-xdist 3.8 hands groups on in a name that pytest 9.2 does not read any more.
            path, _, name = f"{item.nodeid}@{group.args[0]}".partition("::")
            item._id = NodeId(path=path, names=tuple(name.split("::")))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and item.config.getoption("--fail-on-skip"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and nothing may be skipped here: {report.longrepr}"
    return report
