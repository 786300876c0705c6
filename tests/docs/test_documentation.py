"""The documentation is true: every command in it runs and prints what is shown, every docstring example holds.

A ``console`` block shows commands behind ``$`` and, under each, its output; ``…`` stands for anything. A ``python``
block is run as it is. Blocks of one page run in order in one folder, which holds real open data: ``umls/`` (RRF files),
``graph.cuihop`` (their snapshot), and the concept files of the ROCOv2 test images.
"""

from __future__ import annotations

import doctest
import gzip
import importlib
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cuihop
import cuihop_loader
from cuihop_server import running_service
from shared_data import ROOT, shared

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
NEEDS_NEO4J = ROOT / "docs" / "cypher.md"  # tests/neo4j/test_cypher_cookbook.py runs it
NEEDS_A_SERVICE = ROOT / "docs" / "remote.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RUN_ELSEWHERE = {
    "make demo": "tests/docs/test_demo.py runs what it runs",
    "make test": "this suite",
    "make check": ".ci/run",
    "make bench": "each benchmark has a smoke test",
    "pip install 'cuihop[all]'": "tests/packaging installs the wheel",
    "pip install cuihop": "tests/packaging installs the wheel",
}
LIKENESS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def commands(block: str) -> list[tuple[str, str]]:
    """Each command of a console block, and the output shown under it."""
    found: list[tuple[str, str]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        elif found and found[-1][0].endswith("\\"):
            found[-1] = (found[-1][0] + "\n" + line, "")
        elif found:
            found[-1] = (found[-1][0], found[-1][1] + line + "\n")
    return found


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that documentation speaks of, made once."""
    folder = tmp_path_factory.mktemp("documentation")
    umls = folder / "umls"
    umls.mkdir()
    for name in ("MRREL.RRF", "MRCONSO.RRF"):
        umls.joinpath(name).write_bytes(gzip.decompress(shared(f"rrf_open/{name}.gz").read_bytes()))
    for name in ("test_concepts.csv", "test_concepts_manual.csv"):
        folder.joinpath(name).write_bytes(gzip.decompress(shared(f"rocov2/{name}.gz").read_bytes()))
    loaded = cuihop_loader.load([umls])
    cuihop.SnapshotGraph(loaded.sections).save(folder / "graph.cuihop")
    return folder


def environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("CUIHOP")}
    programs = str(Path(sys.executable).parent)
    return kept | {"PATH": programs + os.pathsep + kept["PATH"], "COLUMNS": "120", "TERM": "dumb"}


def alike(shown: str, printed: str) -> bool:
    # Tables are compared by their words: rules and column widths follow the terminal.
    def plain(text: str) -> str:
        return " ".join(re.sub(r"[─━│╭╮╰╯]+", " ", text).split())

    return doctest.OutputChecker().check_output(plain(shown.replace("…", "...")), plain(printed), LIKENESS)


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page not in {NEEDS_NEO4J, NEEDS_A_SERVICE}],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_every_command_of_a_page_runs_and_prints_what_is_shown(page: Path, prepared: Path, tmp_path: Path) -> None:
    folder = tmp_path / "page"
    shutil.copytree(prepared, folder)
    run_page(page, folder, environment())


@pytest.mark.parametrize("scheme", ["grpc", "http"])
def test_the_page_on_services_holds_of_a_service(scheme: str, prepared: Path, tmp_path: Path) -> None:
    folder = tmp_path / "page"
    shutil.copytree(prepared, folder)
    with running_service(cuihop.SnapshotGraph.open(folder / "graph.cuihop")) as service:
        address = service.grpc if scheme == "grpc" else service.http
        run_page(NEEDS_A_SERVICE, folder, environment() | {"CUIHOP_GRAPH": address})


def run_page(page: Path, folder: Path, variables: dict[str, str]) -> None:
    """Run the blocks of a page in their order, and compare what they print."""
    for language, block in blocks(page):
        if language == "python":
            done = subprocess.run(
                [sys.executable, "-c", block],
                cwd=folder,
                env=variables,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, f"{page.name}:\n{block}\n{done.stderr}"
        if language != "console":
            continue
        for command, shown in commands(block):
            if command in RUN_ELSEWHERE or command.startswith(("git clone ", "cd ")):
                continue
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", command],
                cwd=folder,
                env=variables,
                capture_output=True,
                text=True,
                check=False,
                timeout=300,
            )
            printed = done.stdout + done.stderr
            if "exit code" not in shown:
                assert done.returncode == 0, f"{page.name}: $ {command}\n{printed}"
            if shown.strip():
                assert alike(shown, printed), f"{page.name}: $ {command}\nshown:\n{shown}\nprinted:\n{printed}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_within_the_project_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_make_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        named = set(re.findall(r"^\$ make ([a-z][a-z0-9-]*)", page.read_text(encoding="utf-8"), re.MULTILINE))
        assert named <= targets, page.name


MODULES = [
    name
    for package in (cuihop, cuihop_loader)
    for _, name, _ in pkgutil.walk_packages(package.__path__, package.__name__ + ".")
    if not name.endswith("__main__")
]


@pytest.mark.parametrize("name", [cuihop.__name__, cuihop_loader.__name__, *MODULES])
def test_examples_in_docstrings_hold(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0


@pytest.mark.parametrize("name", [cuihop.__name__, cuihop_loader.__name__, *MODULES])
def test_every_public_name_exists_and_is_documented(name: str) -> None:
    module = importlib.import_module(name)
    for public in getattr(module, "__all__", []):
        value = getattr(module, public)
        if callable(value) and getattr(value, "__module__", "").startswith("cuihop"):
            assert value.__doc__, f"{name}.{public}"
