"""Drill: what is served is lost or damaged, and restored from its backup by the commands of the documentation.

The commands are read from docs/operations.md and docs/department.md, so that these pages are what is tried.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import urllib3

from cuihop_tools.neo4j_server import SHORT_LIVED, LocalServer, free_ports, missing_tools
from drills.drill import Case, Found, Setting
from drills.served import large_graph, questions
from served_program import Program
from waiting import wait_for, watched

DOCS = Path(__file__).resolve().parents[1] / "docs"
_PORTS = ("8081", "50052")
_PATIENCE = 120.0
_ACTIVATION = "X-Release-Activation"


@contextmanager
def cases(setting: Setting) -> Iterator[Case]:
    """Graphs in files, and a Neo4j server where there is one."""
    examples = setting.folder / "examples"
    examples.mkdir()
    large_graph(40_000 if setting.small else 200_000).save(examples / "graph.cuihop")
    large_graph(50_000).save(examples / "next.cuihop")
    with ExitStack() as stack:
        servers: list[LocalServer] = []

        def case(rng: random.Random) -> Found:
            if not setting.small and missing_tools() is None and rng.random() < 0.2:
                if not servers:
                    server = LocalServer(setting.folder / "neo4j", java_options=SHORT_LIVED)
                    servers.append(stack.enter_context(server))
                return of_neo4j(servers[0], examples / "next.cuihop", setting.folder / "work", rng)
            return of_snapshot(examples, setting.folder / "work", rng)

        yield case


def commands(page: str, heading: str) -> list[list[str]]:
    """The commands of each console block of a section."""
    section = (DOCS / page).read_text("utf-8").partition(f"\n{heading}\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```console\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    return [[line[2:] for line in block.splitlines() if line.startswith("$ ")] for block in blocks]


class _Shell:
    """Commands of a page, run in a folder, with free ports in place of its own."""

    def __init__(self, folder: Path, **variables: str) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self._folder = folder
        self._ports = [str(port) for port in free_ports(2)]
        programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("CUIHOP")}
        own = {"PATH": programs, "CUIHOP_INDEX_FOLDER": str(folder / "index"), "CUIHOP_MCP": "false"}
        self.variables = inherited | own | variables
        self.key = ""

    def run(self, lines: Sequence[str]) -> None:
        """Run commands; `RuntimeError` if one fails."""
        for line in lines:
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", self._own(line)], cwd=self._folder, env=self.variables,
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            if done.returncode:
                raise RuntimeError(f"$ {line}\n{done.stdout}{done.stderr}")

    @contextmanager
    def started(self, line: str) -> Iterator[Program]:
        """The service that a command starts."""
        log = self._folder / f"log{time.monotonic_ns()}"
        command = ["bash", "-c", "exec " + self._own(line).removesuffix("&")]
        with log.open("w") as out:
            process = subprocess.Popen(command, cwd=self._folder, env=self.variables, stdout=out, stderr=out, text=True)
        service = Program(process, log)
        watched.append(service)
        try:
            yield service
        finally:
            if not service.has_ended():
                service.stop()
            service.expect_end()

    def ask(self, path: str, seen: str | None = None) -> tuple[int, bytes, str]:
        """Status, body and activation of an answer; 0 without one."""
        headers = {"Authorization": f"Bearer {self.key}"} | ({} if seen is None else {_ACTIVATION: seen})
        try:
            address = f"http://127.0.0.1:{self._ports[0]}{path}"
            answer = urllib3.request("GET", address, headers=headers, retries=False, timeout=_PATIENCE)
        except urllib3.exceptions.HTTPError:
            return 0, b"", ""
        return answer.status, answer.data, answer.headers.get(_ACTIVATION, "")

    def answers(self, paths: Sequence[str]) -> list[tuple[int, bytes]]:
        """Status of each answer, and its body: a refusal has another identifier each time."""
        found = [self.ask(path) for path in paths]
        return [(status, body if status == 200 else b"") for status, body, _ in found]

    def _own(self, line: str) -> str:
        for published, own in zip(_PORTS, self._ports, strict=True):
            line = line.replace(published, own)
        return line


def _first(answers: Sequence[tuple[int, bytes]]) -> object:
    """The answer that is right as soon as a service is restored."""
    return answers[0]


def _differing(paths: Sequence[str], before: Sequence[object], after: Sequence[object], how: str) -> list[str]:
    rows = zip(paths, before, after, strict=True)
    return [f"{how}: {path}: {str(b)[:200]} in place of {str(a)[:200]}" for path, a, b in rows if a != b]


def _paths(rng: random.Random, concepts: int) -> list[str]:
    cuis = [f"C{number:07d}" for number in range(concepts)]
    every = [question for _ in range(3) for question in questions(rng, cuis, 1)]
    return [each.path for each in every if each.path.startswith("/v1") and not each.body]


def of_snapshot(examples: Path, folder: Path, rng: random.Random) -> Found:
    """One loss: of files of a service that stands still, or under one that runs."""
    shell, paths = _Shell(folder), _paths(rng, 40_000)
    (folder / "examples").symlink_to(examples)
    setup, backup, _, restored = commands("operations.md", "## Backup and restore")
    serve = next(line for line in restored if line.endswith("&"))
    shell.run([*setup, *backup])
    shell.key = (folder / "served" / "evaluation.key").read_text().strip()
    with ExitStack() as stack:
        service = stack.enter_context(shell.started(serve))
        wait_for(lambda: shell.ask("/v1/release")[0] == 200, _PATIENCE)
        before, release = shell.answers(paths), shell.ask("/v1/release")[1]
        if rng.random() < 0.5:  # the backup is of an older release
            shutil.copy(examples / "next.cuihop", folder / "newer")
            (folder / "newer").replace(folder / "served" / "graph.cuihop")
            wait_for(lambda: shell.ask("/v1/release")[1] != release, _PATIENCE)
        seen, runs_on = shell.ask("/v1/release")[2], rng.random() < 0.5
        if not runs_on and rng.random() < 0.5:
            service.stop()
        elif not runs_on:
            workers = service.workers()
            service.kill()
            for worker in workers:
                with suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)
        how = _damage(folder / "served", rng)
        begin = time.monotonic()
        for line in restored[:-1]:
            if line != serve:
                shell.run([line])
            elif not runs_on:
                stack.enter_context(shell.started(serve))
        wait_for(lambda: _first(shell.answers(paths[:1])) == _first(before), _PATIENCE)
        taken = time.monotonic() - begin
        shell.run(restored[-1:])
        wrong = _differing(paths, before, shell.answers(paths), how)
        status, body, _ = shell.ask(paths[0], seen)
        if status != 200:
            wrong.append(f"{how}: a caller who had seen the release before gets {status}: {body!r}")
    return Found(
        len(paths), wrong, {f"s for a snapshot {'under a running service' if runs_on else 'and a start'}": [taken]}
    )


def _damage(served: Path, rng: random.Random) -> str:
    """Lose the folder, or lose, cut or overwrite one of its files: what was done."""
    file = rng.choice(sorted(path for path in served.iterdir() if path.is_file()))
    how = rng.choice(("all is lost", "lost", "cut", "overwritten"))
    if how == "all is lost":
        shutil.rmtree(served)
        return how
    if how == "lost":
        file.unlink()
    else:
        content = file.read_bytes()
        at = rng.randrange(len(content))
        file.write_bytes(content[:at] + (b"" if how == "cut" else rng.randbytes(len(content) - at)))
    return f"{file.name} is {how}"


def of_neo4j(server: LocalServer, graph: Path, folder: Path, rng: random.Random) -> Found:
    """The database is lost under a running service."""
    shell = _Shell(folder, NEO4J_PASSWORD_FILE=str(server.home / "password"), CUIHOP_NEO4J=server.address)
    paths = _paths(rng, 40_000)
    lines = [line for block in commands("department.md", "## 8. Backup and restore") for line in block]
    pull, push = (next(line for line in lines if line.startswith(f"cuihop neo4j {name} ")) for name in ("pull", "push"))

    def lost() -> None:
        server.stop()
        shutil.rmtree(server.home / "data", ignore_errors=True)

    lost()
    server.start()
    shell.run([f"cuihop neo4j push {graph}", "mkdir backup", pull])
    with shell.started(f"cuihop serve --graph {server.address} --http-port {_PORTS[0]} --grpc-port {_PORTS[1]} &"):
        wait_for(lambda: b'"indexed":true' in shell.ask("/health/ready")[1], _PATIENCE)
        before = shell.answers(paths)
        lost()
        wait_for(lambda: b'"degraded"' in shell.ask("/health/ready")[1], _PATIENCE)
        wrong = _differing(paths, before, shell.answers(paths), "without a database")
        begin = time.monotonic()
        server.start()
        shell.run([push])
        wait_for(lambda: b'"status":"ready"' in shell.ask("/health/ready")[1], _PATIENCE)
        taken = time.monotonic() - begin
        wrong += _differing(paths, before, shell.answers(paths), "restored into Neo4j")
    return Found(2 * len(paths), wrong, {"s for a release in Neo4j, with the start of the database": [taken]})
