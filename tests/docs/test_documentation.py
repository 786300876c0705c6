"""The documentation is true: every command in it runs and prints what is expected, every docstring example holds.

A ``console`` block shows commands behind ``$`` and, under each, its output; ``…`` stands for anything. A ``python``
block is run as it is. The ``pycon`` blocks of a page are one session, and what they print is compared. Blocks of one
page run in order in one folder, which holds ``examples/``, the files of ``cuihop demo``. A command that ends with
``&`` is a server: the next command waits until it is ready, and it is stopped at the end of the page. The ports 8080,
8081, 50051 and 50052 stand for free ones.
"""

from __future__ import annotations

import doctest
import importlib
import json
import os
import pkgutil
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import urllib3

import cuihop
import cuihop_loader
import cuihop_service
from agent_client import answer, calls, over_standard_streams
from cuihop.agents.tools import TOOLS
from cuihop_server import running_service
from cuihop_tools.neo4j_server import LocalServer, free_ports
from demonstration import Demonstration, linked
from neo4j_server import emptied
from page_links import dead_links
from redis_server import RedisServer
from shared_data import ROOT, shared, wordnet
from waiting import wait_for

PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
README = ROOT / "README.md"
COOKBOOK = ROOT / "docs" / "cypher.md"  # tests/neo4j/test_cypher_cookbook.py runs it
NEEDS_NEO4J = ROOT / "docs" / "neo4j.md"
OTHER_GRAPHS = ROOT / "docs" / "other-graphs.md"
DEPARTMENT = ROOT / "docs" / "department.md"
NEEDS_A_SERVICE = ROOT / "docs" / "remote.md"  # run over either transport
NEO4J_ON_THE_PAGE = "//localhost:7687"  # bolt: and neo4j:
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
GENERATED = ROOT / "docs" / "reference"  # its pycon blocks are examples of docstrings
RUN_ELSEWHERE = {
    "make demo": "tests/docs/test_demo.py runs what it runs",
    "cuihop demo": "tests/docs/test_demo.py",
    "make test": "this suite",
    "make check": ".ci/run",
    "make docs": "tests/docs/test_site.py runs what it runs",
    "make bench": "each benchmark has a smoke test",
    "pip install '.[all]'": "tests/packaging installs the wheel",
    "pip install 'cuihop[all]'": "tests/packaging installs the wheel",
}
LIKENESS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def commands(block: str) -> list[tuple[str, str]]:
    """Each command of a console block, and the output expected under it."""
    found: list[tuple[str, str]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        elif found and found[-1][0].endswith("\\"):
            found[-1] = (found[-1][0] + "\n" + line, "")
        elif found:
            found[-1] = (found[-1][0], found[-1][1] + line + "\n")
    return found


@pytest.fixture
def page_folder(demonstration: Demonstration, tmp_path: Path) -> Path:
    """The folder in which the blocks of a page run."""
    folder = tmp_path / "page"
    linked(demonstration.folder, folder / "examples")
    shutil.copytree(ROOT / "benchmarks" / "results", folder / "benchmarks" / "results")
    return folder


def environment() -> dict[str, str]:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("CUIHOP")}
    programs = str(Path(sys.executable).parent)
    return inherited | {"PATH": programs + os.pathsep + inherited["PATH"], "COLUMNS": "120", "TERM": "dumb"}


@pytest.fixture(scope="session")
def sooner(forked_programs: Path) -> dict[str, str]:
    """An environment whose ``cuihop`` and ``python`` are forked from a process that has imported it."""
    variables = environment()
    return variables | {"PATH": str(forked_programs) + os.pathsep + variables["PATH"]}


def alike(expected: str, printed: str) -> bool:
    # Tables are compared by their words: rules and column widths follow the terminal.
    def plain(text: str) -> str:
        return " ".join(re.sub(r"[─━│╭╮╰╯]+", " ", text).split())

    return doctest.OutputChecker().check_output(plain(expected.replace("…", "...")), plain(printed), LIKENESS)


class Servers:
    """The servers of a page, on free ports.

    Args:
        folder: of the page.
        neo4j: behind the address on the page.
        others: ports on the page, and those of running servers in their place.
        stand_ins: for commands that cannot be run here.
    """

    def __init__(
        self,
        folder: Path,
        neo4j: LocalServer | None = None,
        others: Mapping[str, str] | None = None,
        stand_ins: Mapping[str, Callable[[], object]] | None = None,
    ) -> None:
        self._folder = folder
        self._neo4j = neo4j
        self._ports = dict(zip(("8080", "50051", "8081", "50052"), map(str, free_ports(4)), strict=True))
        self._others = others or {}
        self.stand_ins = stand_ins or {}
        self._running: list[subprocess.Popen[bytes]] = []

    def own_ports(self, text: str) -> str:
        for published, own in {**self._ports, **self._others}.items():
            text = re.sub(rf"\b{published}\b", own, text)
        return (
            text if self._neo4j is None else text.replace(NEO4J_ON_THE_PAGE, self._neo4j.address.removeprefix("bolt:"))
        )

    def environment(self) -> dict[str, str]:
        return {"CUIHOP_HTTP_PORT": self._ports["8080"], "CUIHOP_GRPC_PORT": self._ports["50051"]}

    def start(self, command: str, variables: dict[str, str]) -> None:
        own = (
            variables | environment() | self.environment()
        )  # with the installed programs: a forked one gets no signals
        log = self._folder / f"server{len(self._running)}.log"
        with log.open("w") as out:
            server = subprocess.Popen(
                ["bash", "-c", "exec " + command.removesuffix("&")],
                cwd=self._folder, env=own, stdout=out, stderr=subprocess.STDOUT,
            )  # fmt: skip
        self._running.append(server)
        wait_for(lambda: server.poll() is not None or "serving http" in log.read_text(), 180)
        assert server.poll() is None, log.read_text()
        if "serving https" not in log.read_text():  # with TLS, listening has to do
            pool = urllib3.PoolManager(retries=False, timeout=300)
            ready = f"http://127.0.0.1:{self._ports['8080']}/health/ready"
            wait_for(lambda: pool.request("GET", ready).status == 200, 180)

    def stop(self) -> None:
        for server in self._running:
            server.send_signal(signal.SIGTERM)
        for server in self._running:
            server.wait(60)


@contextmanager
def servers_of_a_page(folder: Path) -> Iterator[Servers]:
    servers = Servers(folder)
    try:
        yield servers
    finally:
        servers.stop()


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [
        page
        for page in PAGES
        if page not in {README, COOKBOOK, NEEDS_NEO4J, NEEDS_A_SERVICE, DEPARTMENT} and GENERATED not in page.parents
    ],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_every_command_of_a_page_runs_and_prints_what_is_shown(
    page: Path, page_folder: Path, sooner: dict[str, str]
) -> None:
    folder = page_folder
    if page == OTHER_GRAPHS:
        folder.joinpath("wordnet").symlink_to(wordnet())
        shutil.copy(shared("hierarchies/envo.obo.gz"), folder)
    with servers_of_a_page(folder) as servers:
        run_page(page, folder, servers, sooner | servers.environment())


@pytest.mark.core
def test_every_command_of_the_first_page_runs_and_prints_what_is_shown(
    page_folder: Path, sooner: dict[str, str]
) -> None:
    with servers_of_a_page(page_folder) as servers:
        run_page(README, page_folder, servers, sooner | servers.environment())


def test_every_command_on_the_graph_of_record_runs_too(
    page_folder: Path, sooner: dict[str, str], killable_neo4j: LocalServer
) -> None:
    emptied(killable_neo4j)  # the page counts releases
    variables = {"NEO4J_PASSWORD_FILE": str(killable_neo4j.home / "password"), "CUIHOP_NEO4J": killable_neo4j.address}
    run_page(NEEDS_NEO4J, page_folder, Servers(page_folder, killable_neo4j), sooner | variables)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["grpc", "http"])
def test_the_page_on_remote_graphs_holds_of_a_service(scheme: str, page_folder: Path, sooner: dict[str, str]) -> None:
    with running_service(cuihop.SnapshotGraph.open(page_folder / "examples" / "graph.cuihop")) as service:
        address = service.grpc if scheme == "grpc" else service.http
        run_page(NEEDS_A_SERVICE, page_folder, Servers(page_folder), sooner | {"CUIHOP_GRAPH": address})


def test_every_command_of_the_page_for_a_department_runs_with_neo4j_and_redis(
    page_folder: Path, sooner: dict[str, str], killable_neo4j: LocalServer, redis_server: RedisServer
) -> None:
    folder = page_folder

    def begin() -> None:  # compose gives its servers the passwords of the file; here the file gets those of the servers
        file = folder / "department" / ".env"
        text = re.sub("(?<=NEO4J_PASSWORD=).*", emptied(killable_neo4j).password, servers.own_ports(file.read_text()))
        password = re.findall("REDIS_PASSWORD=(.*)", text)[0]
        file.write_text(text.replace(password, redis_server.password))
        settings = folder / "department" / "cuihop.toml"
        settings.write_text(servers.own_ports(settings.read_text()))

    stand_ins = {
        "docker compose --env-file department/.env up --detach --wait neo4j redis": begin,
        "docker compose up --detach --wait neo4j redis": lambda: emptied(killable_neo4j),
        "docker compose --profile service down --volumes": lambda: emptied(killable_neo4j),
    }
    servers = Servers(folder, killable_neo4j, {"6379": str(redis_server.port)}, stand_ins)
    try:
        run_page(DEPARTMENT, folder, servers, sooner | servers.environment())
    finally:
        servers.stop()
    assert {command for _, block in blocks(DEPARTMENT) for command, _ in commands(block)} >= set(stand_ins)


def exported(command: str, folder: Path, variables: dict[str, str]) -> dict[str, str]:
    """The environment after ``export``, for the commands that follow."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f"{command}\nenv -0"], cwd=folder, env=variables, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    return dict(line.split("=", 1) for line in done.stdout.split("\0") if line)


def run_python(program: str, text: str, folder: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a program made of the blocks of a page."""
    if "import ranx" in text:
        variables = variables | {"NUMBA_DISABLE_JIT": "1"}  # it would compile itself, for a minute
    return subprocess.run(
        ["python", "-c", program], cwd=folder, env=variables, capture_output=True, text=True, check=False
    )


def run_session(page: Path, folder: Path, variables: dict[str, str]) -> None:
    """Run the ``pycon`` blocks of a page, in order, as one session."""
    session = "\n".join(block for language, block in blocks(page) if language == "pycon")
    if not session or GENERATED in page.parents:
        return
    (folder / "session.txt").write_text(session.replace("…", "..."), encoding="utf-8")
    run = f"import doctest; assert not doctest.testfile('session.txt', False, optionflags={LIKENESS}).failed"
    done = run_python(run, session, folder, variables)
    assert done.returncode == 0, f"{page.name}:\n{done.stdout}{done.stderr}"


def run_page(page: Path, folder: Path, servers: Servers, variables: dict[str, str]) -> None:
    """Run the blocks of a page."""
    run_session(page, folder, variables)
    for language, block in blocks(page):
        block = servers.own_ports(block)
        if language == "python":
            done = run_python(block, block, folder, variables)
            assert done.returncode == 0, f"{page.name}:\n{block}\n{done.stderr}"
        if language != "console":
            continue
        for command, expected in commands(block):
            if command in RUN_ELSEWHERE or command.startswith(("git clone ", "cd ")):
                continue
            if command in servers.stand_ins:
                servers.stand_ins[command]()
                continue
            if command.endswith("&"):
                servers.start(command, variables)
                continue
            if command.startswith("set -a;") or (command.startswith("export ") and ";" not in command):
                variables = exported(command, folder, variables)
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
            if "exit code" not in expected:
                assert done.returncode == 0, f"{page.name}: $ {command}\n{printed}"
            if expected.strip():
                assert alike(expected, printed), f"{page.name}: $ {command}\nshown:\n{expected}\nprinted:\n{printed}"


def like(expected: Any, found: Any) -> bool:
    """Equality of JSON, where “…” stands for any value, for the rest of a list, and for further fields."""
    if expected == "…":
        return True
    if isinstance(expected, dict) and isinstance(found, dict):
        named = expected.keys() - {"…"}
        complete = named <= found.keys() if "…" in expected else named == found.keys()
        return complete and all(like(expected[name], found[name]) for name in named)
    if isinstance(expected, list) and isinstance(found, list):
        first = expected[:-1] if expected[-1:] == ["…"] else expected
        sizes = len(first) == len(found) if first is expected else len(first) <= len(found)
        return sizes and all(map(like, first, found))
    return bool(expected == found)


@pytest.mark.slow
def test_the_tools_for_agents_answer_as_their_page_shows(demonstration: Demonstration) -> None:
    page = [json.loads(block) for language, block in blocks(ROOT / "docs" / "agents.md") if language == "json"]
    requested, expected = page[::2], page[1::2]
    assert {call["name"] for call in requested} == set(TOOLS) - {"codes"}  # of which the examples have none
    use = calls(*[(call["name"], call["arguments"]) for call in requested])
    results = over_standard_streams(["--graph", str(demonstration.folder / "graph.cuihop")], use)
    for call, answer_shown, result in zip(requested, expected, results, strict=True):
        assert like(answer_shown, answer(result)), f"{call}\n{answer(result)}"


@pytest.mark.parametrize(
    ("guide", "language"),
    [
        ("loading", "console"),  # load your UMLS
        ("other-graphs", "console"),  # or WordNet
        ("annotation", "console"),  # from captions to concepts
        ("service", "console"),  # run it for a department
        ("department", "console"),
        ("remote", "console"),  # evaluate from elsewhere
        ("agents", "json"),  # give it to an agent
        ("cypher", "cypher"),  # explore with Cypher
        ("upgrade", "console"),  # upgrade a release
        ("scaling", "console"),  # scale out
    ],
)
def test_each_guide_shows_commands_and_is_found_from_the_first_pages(guide: str, language: str) -> None:
    page = ROOT / "docs" / f"{guide}.md"
    assert page in PAGES
    assert language in [kind for kind, _ in blocks(page)]
    assert f"]({guide}.md" in (ROOT / "docs" / "index.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_within_the_project_leads_somewhere(page: Path) -> None:
    assert dead_links(page) == []


def test_every_make_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        named = set(re.findall(r"^\$ make ([a-z][a-z0-9-]*)", page.read_text(encoding="utf-8"), re.MULTILINE))
        assert named <= targets, page.name


def test_the_list_of_packages_is_that_of_the_layers() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    [layers] = [each["layers"] for each in contracts if each["name"].startswith("Layers of the library")]
    rows = re.search(
        r"^\| package \| content \|\n(.*?)\n\n", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE | re.DOTALL
    )
    assert rows is not None
    listed = [name for row in rows[1].splitlines()[1:] for name in re.findall(r"`(\w+)(?:\.py)?`", row.split("|")[1])]
    assert listed == [name for layer in layers for name in layer.split(" | ")]


MODULES = [
    name
    for package in (cuihop, cuihop_loader, cuihop_service)
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
