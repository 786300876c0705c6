"""A snapshot that is written over under the graph that has it open: an error in words, never a wrong answer."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from cuihop import SnapshotGraph
from cuihop.errors import DamageWarning, SnapshotError
from cuihop.snapshot.distance_index import index_path
from cuihop.snapshot.index_builder import build_index
from waiting import wait_for

NAMES = [f"C{i:07d}" for i in range(200)]


def chain(step: int) -> SnapshotGraph:
    """The same concepts in another order: the same size, another graph."""
    order = [NAMES[i * step % 199] for i in range(199)]
    return SnapshotGraph.of(pairwise(order), concepts=NAMES, identifiers="cui")


def write_over(path: Path, graph: SnapshotGraph) -> None:
    """As cp does: the file stays, its content does not."""
    fresh = path.with_suffix(".fresh")
    graph.save(fresh)
    with path.open("r+b") as file:
        file.write(fresh.read_bytes())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "graph.cuihop"
    chain(1).save(file)
    return file


def test_other_content_of_the_same_size_is_an_error(path: Path) -> None:
    graph = SnapshotGraph.open(path)
    assert graph.distances([(NAMES[0], NAMES[9])]).to_list() == [9]
    write_over(path, chain(2))
    questions = (
        lambda: graph.distances([(NAMES[0], NAMES[9])]), lambda: graph.path(NAMES[0], NAMES[9]),
        lambda: graph.neighbours([NAMES[0]]), lambda: graph.names([NAMES[0]]), lambda: graph.concepts([NAMES[0]]),
        lambda: graph.pack(NAMES[:3], hops=2), lambda: graph.resolve([NAMES[0]]), lambda: graph.search("x"),
    )  # fmt: skip
    for question in questions:
        with pytest.raises(SnapshotError, match="written over, or cut, while it was in use"):
            question()

    def refused() -> bool:  # one distance alone looks a hundred times a second at the most
        try:
            graph.distance(NAMES[0], NAMES[9])
        except SnapshotError as error:
            return "by renaming" in str(error)
        return False

    wait_for(refused)
    assert SnapshotGraph.open(path).distances([(NAMES[0], NAMES[2])]).to_list() == [1]


def test_a_change_during_an_answer_keeps_the_answer_from_being_given(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = SnapshotGraph.open(path)
    graph.distances([(NAMES[0], NAMES[9])])
    many = graph._engines.many

    def and_meanwhile(*given: object) -> object:
        answer = many(*given)  # type: ignore[arg-type]
        write_over(path, chain(2))
        return answer

    monkeypatch.setattr(graph._engines, "many", and_meanwhile)
    with pytest.raises(SnapshotError, match="written over"):
        graph.distances([(NAMES[0], NAMES[9])])


def test_a_file_that_was_cut_is_an_error_and_not_the_end_of_the_process(path: Path) -> None:
    code = (
        "import sys, time\nfrom cuihop import SnapshotGraph\nfrom cuihop.errors import SnapshotError\n"
        "graph = SnapshotGraph.open(sys.argv[1])\n"
        "assert graph.distances([('C0000000', 'C0000009')] * 30)[0] == 9\n"
        "open(sys.argv[1], 'r+b').truncate(100)\n"
        "pairs = [('C0000000', 'C0000009')] * 30\n"
        "for ask in (lambda: graph.distances(pairs), lambda: graph.search('x'), graph.verify):\n"
        "    try: ask()\n"
        "    except SnapshotError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("written over, or cut, while it was in use") == 3


def test_a_file_that_was_only_touched_or_replaced_by_renaming_answers_on(path: Path) -> None:
    graph = SnapshotGraph.open(path)
    pairs = [(NAMES[0], NAMES[9])]
    assert graph.distances(pairs).to_list() == [9]
    os.utime(path, ns=(10**18, 10**18))
    assert graph.distances(pairs).to_list() == [9]
    write_over(path, chain(1))  # the same content
    assert graph.distances(pairs).to_list() == [9]
    chain(2).save(path)
    assert graph.distances(pairs).to_list() == [9]
    path.unlink()
    assert graph.distances(pairs).to_list() == [9]


def test_an_index_that_is_written_over_is_an_error_once_and_then_not_used(path: Path) -> None:
    build_index(chain(1)).save(index_path(path))
    graph = SnapshotGraph.open(path)
    pairs = [(NAMES[0], NAMES[9])] * 30
    assert graph.distances(pairs)[0] == 9
    content = bytearray(index_path(path).read_bytes())
    content[-50:] = bytes(byte ^ 255 for byte in content[-50:])
    with index_path(path).open("r+b") as file:
        file.write(content)
    with pytest.warns(DamageWarning, match="not used"), pytest.raises(SnapshotError, match="written over"):
        graph.distances(pairs)
    assert graph.index is None
    assert graph.distances(pairs)[0] == 9
