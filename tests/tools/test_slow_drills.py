"""The drills that start a service: each notices what is planted."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import urllib3
from drills import answers_of_neo4j, faults_of_switches, restore, slow_and_stopped, soak
from drills.drill import Found
from drills.served import IN_USE, growth, large_graph, questions, tracebacks

from cuihop import ConceptGraph, SnapshotGraph
from cuihop.neo4j_graph.graph import Neo4jGraph
from cuihop.neo4j_graph.releases import switch_to
from cuihop_loader.neo4j_online import load_online
from cuihop_server import running_service
from cuihop_tools.neo4j_server import LocalServer
from neo4j_server import connected
from served_program import program
from wrong_answers import add_a_hop

pytestmark = pytest.mark.slow

LEAKS = """
from cuihop_service.admission import Admission

context, kept = Admission._context, []

def leaking(self, caller, info):
    os.dup(2)
    kept.append([bytes(2_000_000), *(str(number) for number in range(1_000))])
    return context(self, caller, info)

Admission._context = leaking
"""


@pytest.fixture(scope="module")
def graph() -> SnapshotGraph:
    return large_graph(2_000)


@pytest.fixture
def leaks(tmp_path: Path) -> str:
    """A folder whose module is read by every process of a service, workers included."""
    (tmp_path / "sitecustomize.py").write_text((IN_USE / "sitecustomize.py").read_text() + LEAKS)
    return str(tmp_path)


@contextmanager
def saved(graph: SnapshotGraph, folder: Path) -> Iterator[Path]:
    path = folder / "graph.cuihop"
    graph.save(path)
    yield path


def test_what_is_left_by_abandoned_calls_is_noticed(graph: SnapshotGraph, tmp_path: Path, leaks: str) -> None:
    with saved(graph, tmp_path) as path:
        found = slow_and_stopped.tried(
            graph, path, random.Random(1), rounds=5, calls=40, size=50, memory=True, extra=leaks
        )
    for left in ("descriptors", "kilobytes", "blocks"):
        assert any(f"{left} are left a call" in text for text in found.wrong), left


def test_a_traceback_is_noticed_unless_it_is_of_a_driver_that_removes_a_connection() -> None:
    of_the_driver = (
        "Exception ignored in: <function Bolt.__del__ at 0x7f>\nTraceback (most recent call last):\n"
        '  File "_base.py", line 211, in __del__\n    self.close()\n'
        "AttributeError: 'Bolt5x8' object has no attribute 'hydration_handler'\n"
    )
    assert tracebacks("replica", "ready\n" + of_the_driver + "ready\n") == []
    ours = "Traceback (most recent call last):\n  File x\nAttributeError: y\n"
    assert tracebacks("replica", of_the_driver + ours + of_the_driver) == ["replica: \n" + ours + "\n"]


def test_no_question_is_larger_than_a_service_allows(graph: SnapshotGraph, tmp_path: Path) -> None:
    cuis = [f"C{number:07d}" for number in range(graph.release.concepts)]
    with saved(graph, tmp_path) as path, program(path, tmp_path) as service:
        for question in questions(random.Random(1), cuis, 20_000):
            method, kind = "POST" if question.body else "GET", "application/json"
            address = f"http://{service.http}{question.path}"
            answer = urllib3.request(method, address, body=question.body, headers={"Content-Type": kind}, timeout=300)
            assert answer.status == 200, (question.path, answer.data[:200])


def test_descriptors_and_memory_left_by_answers_are_noticed(
    graph: SnapshotGraph, tmp_path: Path, leaks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soak, "_LEAST_SECONDS", 0.0)
    with saved(graph, tmp_path) as path:
        found = soak.tried(graph, path, random.Random(1), 1.0, extra=leaks)
    assert any("descriptors before the load" in text for text in found.wrong)
    assert any("memory grows by" in text for text in found.wrong)


def test_a_switch_that_says_more_than_it_did_is_noticed(
    neo4j_server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connected(neo4j_server) as connection:
        graphs = {load_online(each.sections, connection).number: each for each in (large_graph(200), large_graph(300))}
    old, new = graphs
    done = CompletedProcess([], 0, "", "Traceback")
    monkeypatch.setattr(faults_of_switches, "_switch", lambda *_: done)
    with connected(neo4j_server) as connection:
        switch_to(connection, old)
    found = list(
        faults_of_switches.faulty(neo4j_server, graphs, old, new, "sendto:error=EPIPE:when=1", random.Random(1))
    )
    readers = f"readers get release {old}, none of [{new}]"
    assert found == ["Traceback", readers, readers, f"then the label is at {{{old}: 200}}"]


def test_a_wrong_distance_of_neo4j_is_noticed_by_every_way(
    neo4j_server: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_service(SnapshotGraph.of([])) as service:

        def tried() -> Found:
            return answers_of_neo4j.of_a_release(neo4j_server, service, tmp_path / "release", random.Random(3))

        assert not tried().wrong
        add_a_hop(Neo4jGraph, monkeypatch)
        assert {text.partition(":")[0] for text in tried().wrong} == {"Neo4j", "HTTP", "gRPC"}


def test_a_wrong_answer_under_load_is_noticed(
    graph: SnapshotGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soak, "_drawn", lambda rng, graph: asked_of_another)
    asked: list[ConceptGraph] = []

    def asked_of_another(graph: ConceptGraph) -> object:
        asked.append(graph)
        return isinstance(graph, SnapshotGraph) or graph.distance("C0000001", "C0000002")

    with saved(graph, tmp_path) as path:
        found = soak.tried(graph, path, random.Random(1), 0.5)
    assert len(asked) > 200
    assert "in place of True" in found.wrong[0]


def restored(folder: Path) -> Found:
    examples = folder / "examples"
    examples.mkdir()
    large_graph(40_000).save(examples / "graph.cuihop")
    large_graph(40_001).save(examples / "next.cuihop")
    return restore.of_snapshot(examples, folder / "work", random.Random(1))


def test_a_wrong_answer_after_restoring_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy that is put back is of another graph, but for the answer that the drill waits for."""
    commands = restore.commands

    def of_another(page: str, heading: str) -> list[list[str]]:
        blocks = commands(page, heading)
        blocks[-1].insert(1, "cp examples/next.cuihop restored/graph.cuihop")
        return blocks

    monkeypatch.setattr(restore, "commands", of_another)
    monkeypatch.setattr(restore, "_first", lambda answers: answers[0][0])
    assert any("in place of" in text for text in restored(tmp_path).wrong)


def test_the_commands_of_the_page_restore_every_answer(tmp_path: Path) -> None:
    found = restored(tmp_path)
    assert found.wrong == []
    assert found.tried > 20


def test_growth_is_told_from_noise() -> None:
    draw = random.Random(1)
    noise = [draw.gauss(0, 3) for _ in range(60)]
    settled = [1_000 + 50 * min(place, 15) + noise[place] for place in range(60)]
    assert not growth(range(60), settled).above(0)
    assert growth(range(60), [place + size for place, size in enumerate(settled)]).above(0.5)
