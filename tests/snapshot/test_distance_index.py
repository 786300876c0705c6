"""The distance index: the distances of searches, whatever becomes of the run that makes it or of the file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuihop import Direction, SnapshotGraph
from cuihop._kernels import labelling, labels
from cuihop.errors import ConceptNotFound, DamageWarning, GraphError, InputError, ReleaseMismatch, SnapshotError
from cuihop.snapshot.distance_index import DistanceIndex, index_path
from cuihop.snapshot.index_builder import build_index, check_index
from example_graph import UNKNOWN, example_graph
from examples import examples
from waiting import wait_for, wait_until_still


def random_graph(concepts: int, edges: int, seed: int) -> SnapshotGraph:
    """Random edges among ``concepts`` concepts: hubs, several components, single concepts."""
    draw = np.random.default_rng(seed)
    ends = (draw.random((edges, 2)) ** 2 * concepts).astype(int)
    names = [f"C{i:07d}" for i in range(concepts)]
    return SnapshotGraph.of([(names[a], names[b]) for a, b in ends.tolist()], concepts=names, identifiers="cui")


def all_pairs(graph: SnapshotGraph) -> list[tuple[str, str]]:
    cuis = [f"C{i:07d}" for i in range(graph.release.concepts)]
    return [(a, b) for a in cuis for b in cuis]


def indexed(graph: SnapshotGraph, index: DistanceIndex) -> SnapshotGraph:
    with_index = SnapshotGraph(graph.sections)
    with_index.use_index(index)
    return with_index


@pytest.mark.parametrize("with_index", [False, True])
@pytest.mark.parametrize("direction", ["any", "up"])
def test_a_concept_that_is_unknown_has_no_distance(with_index: bool, direction: Direction) -> None:
    graph = example_graph()
    graph = indexed(graph, build_index(graph)) if with_index else graph
    for pair in ((UNKNOWN, "C0018670"), ("C0018670", UNKNOWN)):
        with pytest.raises(ConceptNotFound, match=UNKNOWN):
            graph.distance(*pair, direction=direction)


@given(
    concepts=st.integers(1, 60),
    edges=st.integers(0, 150),
    seed=st.integers(0, 2**32),
    roots=st.integers(0, 5),
    bound=st.none() | st.integers(0, 6),
)
def test_every_distance_is_that_of_a_search(
    concepts: int, edges: int, seed: int, roots: int, bound: int | None
) -> None:
    graph = random_graph(concepts, edges, seed)
    with_index = indexed(graph, build_index(graph, roots=roots))
    pairs = all_pairs(graph)
    assert with_index.distances(pairs, max_hops=bound) == graph.distances(pairs, max_hops=bound)
    some = pairs[:: max(1, len(pairs) // 40)]
    assert [with_index.distance(*pair, max_hops=bound) for pair in some] == list(graph.distances(some, max_hops=bound))


@given(
    concepts=st.integers(1, 80),
    edges=st.integers(0, 150),
    seed=st.integers(0, 2**32),
    roots=st.integers(0, 5),
    bound=st.integers(0, 12) | st.sampled_from([253, 254, 255]),
)
@settings(max_examples=examples(80))
def test_distances_among_many_are_those_of_searches(
    concepts: int, edges: int, seed: int, roots: int, bound: int
) -> None:
    graph = random_graph(concepts, edges, seed)
    with_index = indexed(graph, build_index(graph, roots=roots))
    cuis = [f"C{i:07d}" for i in np.random.default_rng(seed).permutation(concepts)]
    read, searched = with_index.pack(cuis, hops=bound), graph.pack(cuis, hops=bound)
    assert [list(array) for array in (read.indptr, read.indices, read.hops)] == [
        list(array) for array in (searched.indptr, searched.indices, searched.hops)
    ]


@pytest.mark.parametrize("narrow", [0, 3, 20])
def test_distances_over_hubs_of_more_than_16_bits_are_those_of_searches(
    narrow: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("words_of_labels", "write_words"):
        monkeypatch.setattr(labelling, name, getattr(labelling, name).py_func)
    monkeypatch.setattr(labelling, "_is_narrow", lambda entry: entry >> 8 < narrow and entry & 255 < labels.LEVELS)
    for seed in range(4):
        graph = random_graph(60, 75 + 20 * seed, seed)
        with_index = indexed(graph, build_index(graph, roots=seed))
        assert with_index.distances(all_pairs(graph)) == graph.distances(all_pairs(graph))
        cuis = [f"C{i:07d}" for i in range(60)]
        assert with_index.pack(cuis, hops=9).hops.tolist() == graph.pack(cuis, hops=9).hops.tolist()


@given(
    chain=st.integers(2, 120), chords=st.integers(0, 12), seed=st.integers(0, 2**32), roots=st.sampled_from([0, 1, 64])
)
@settings(max_examples=examples(30))
def test_distances_of_a_deep_graph_are_those_of_networkx(chain: int, chords: int, seed: int, roots: int) -> None:
    draw = np.random.default_rng(seed)
    edges = [*pairwise(range(chain)), *draw.integers(0, chain, (chords, 2)).tolist(), (chain, chain + 1)]
    graph = SnapshotGraph.of([(f"C{a:07d}", f"C{b:07d}") for a, b in edges], identifiers="cui")
    reached = dict(nx.all_pairs_shortest_path_length(nx.Graph(edges)))
    expected = [reached[a].get(b) for a in range(chain + 2) for b in range(chain + 2)]
    with_index = indexed(graph, build_index(graph, roots=roots))
    assert with_index.distances(all_pairs(graph)).to_list() == expected
    several = slice(0, None, max(1, len(expected) // 50))
    assert [with_index.distance(*pair) for pair in all_pairs(graph)[several]] == expected[several]
    hops = with_index.pack([f"C{i:07d}" for i in range(chain + 2)], hops=200).hops.tolist()
    assert hops == [distance for distance in expected if distance is not None]


def test_long_labels_are_compared_by_a_bitmap_as_short_ones_are() -> None:
    draw = np.random.default_rng(15)
    words = draw.permutation(60_000)[:1_400].astype(np.uint16)
    words[-32:] = 0
    for i_end, j_end in ((600, 1_300), (600, 601), (3, 1_300), (0, 1_300)):
        for common in (False, True):
            row = words.copy()
            if common:
                row[j_end - 1] = row[i_end // 2]
            expected = bool(np.isin(row[:i_end], row[600:j_end]).any())
            assert labels._meet(row, 0, i_end, 600, j_end) == expected
            assert labels.any_common(row, 0, i_end, 600, j_end) == expected


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_index_does_not_depend_on_the_threads(threads: int, tmp_path: Path) -> None:
    graph = random_graph(9_000, 20_000, 1)
    files = [tmp_path / "one", tmp_path / "several"]
    for path, count in zip(files, (1, threads), strict=True):
        build_index(graph, roots=2, threads=count).save(path)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_long_chain_is_refused_in_words_and_one_that_just_fits_is_exact() -> None:
    chain = [f"C{i:07d}" for i in range(400)]
    with pytest.raises(InputError, match="at most 250 hops"):
        build_index(SnapshotGraph.of(pairwise(chain)))
    with pytest.raises(InputError, match="at most 250 hops"):
        build_index(SnapshotGraph.of(pairwise(chain)), roots=0)
    fits = SnapshotGraph.of(pairwise(chain[:200]))
    for roots in (0, 16):
        with_index = indexed(fits, build_index(fits, roots=roots))
        assert with_index.distance(chain[0], chain[199]) == 199
        assert with_index.distances(all_pairs(fits)) == fits.distances(all_pairs(fits))


def test_an_empty_graph_has_an_index() -> None:
    graph = SnapshotGraph.of([])
    index = build_index(graph)
    assert check_index(graph, index) == 0
    assert list(indexed(graph, index).distances([])) == []


def test_the_index_beside_a_snapshot_is_found_and_read(tmp_path: Path) -> None:
    graph = random_graph(300, 500, 2)
    path = tmp_path / "graph.cuihop"
    graph.save(path)
    assert SnapshotGraph.open(path).index is None
    build_index(graph).save(index_path(path))
    opened = SnapshotGraph.open(path)
    assert opened.index is not None
    assert opened.index_problem is None
    assert opened.distances(all_pairs(graph)) == graph.distances(all_pairs(graph))


def test_wrong_labels_give_wrong_answers_so_they_are_really_read_and_the_check_finds_them() -> None:
    graph = random_graph(300, 900, 3)
    index = build_index(graph, roots=0)
    rank_bits, records, words = index.tables
    worse = DistanceIndex.of((rank_bits, records, words[::-1].copy()), index.facts)
    assert indexed(graph, worse).distances(all_pairs(graph)) != graph.distances(all_pairs(graph))
    assert check_index(graph, index) == 4000
    with pytest.raises(GraphError, match="the distance index is wrong for"):
        check_index(graph, worse)


def test_few_hops_and_other_directions_are_searched_and_right_beside_an_index() -> None:
    graph = random_graph(200, 400, 4)
    with_index = indexed(graph, build_index(graph, roots=1))
    pairs = all_pairs(graph)
    for direction in ("up", "down"):
        assert with_index.distances(pairs, direction=direction) == graph.distances(pairs, direction=direction)
    for bound in (0, 1, 2, 3):
        assert with_index.distances(pairs, max_hops=bound) == graph.distances(pairs, max_hops=bound)


def test_an_index_of_another_graph_is_refused_and_one_beside_a_new_snapshot_is_left_alone(tmp_path: Path) -> None:
    old, new = random_graph(50, 80, 5), random_graph(50, 90, 6)
    with pytest.raises(ReleaseMismatch, match="index of another graph"):
        new.use_index(build_index(old))
    path = tmp_path / "graph.cuihop"
    new.save(path)
    build_index(old).save(index_path(path))
    opened = SnapshotGraph.open(path)
    assert opened.index is None
    assert "cuihop index GRAPH" in (opened.index_problem or "")
    assert opened.distances(all_pairs(new)) == new.distances(all_pairs(new))


def test_a_damaged_index_is_never_read(tmp_path: Path) -> None:
    graph = random_graph(300, 700, 7)
    path = tmp_path / "graph.cuihop"
    graph.save(path)
    beside = index_path(path)
    build_index(graph).save(beside)
    whole = beside.read_bytes()
    beside.write_bytes(whole[:-1])
    with pytest.warns(DamageWarning, match="truncated or grown.* It is not used; distances are searched"):
        opened = SnapshotGraph.open(path)
    assert "truncated" in (opened.index_problem or "")
    assert opened.distances(all_pairs(graph)) == graph.distances(all_pairs(graph))
    beside.write_bytes(whole[:-8] + bytes(byte ^ 1 for byte in whole[-8:]))
    opened = SnapshotGraph.open(path)
    with pytest.warns(DamageWarning, match="fails its checksum"):
        assert opened.distances(all_pairs(graph)) == graph.distances(all_pairs(graph))
    assert opened.index is None
    assert opened.distances(all_pairs(graph)) == graph.distances(all_pairs(graph))  # and it is said once
    beside.write_bytes(whole)
    with pytest.raises(SnapshotError, match="not a snapshot; found distance index"):
        SnapshotGraph.open(beside)
    with pytest.raises(SnapshotError, match="not a distance index"):
        DistanceIndex.open(path, digest=graph.release.digest)


@pytest.mark.slow
def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cuihop.snapshot.index_builder._SECONDS_BETWEEN_CHECKPOINTS", -1.0)
    graph = random_graph(5_000, 9_000, 8)
    checkpoint, levels = tmp_path / "unfinished", []

    def stop_at_four(level: int, done: int, total: int) -> None:
        if level == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_index(graph, roots=1, checkpoint=checkpoint, progress=stop_at_four)
    assert checkpoint.exists()
    resumed = build_index(graph, roots=1, checkpoint=checkpoint, progress=lambda level, *_: levels.append(level))
    assert min(levels) == 4
    assert not checkpoint.exists()
    whole = build_index(graph, roots=1)
    resumed.save(tmp_path / "resumed")
    whole.save(tmp_path / "whole")
    assert (tmp_path / "resumed").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("damage", ["another graph", "other roots", "truncated", "flipped"])
def test_a_checkpoint_that_does_not_fit_is_not_gone_on_from(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cuihop.snapshot.index_builder._SECONDS_BETWEEN_CHECKPOINTS", -1.0)
    graph = random_graph(800, 1_500, 9)
    checkpoint, levels = tmp_path / "unfinished", []

    def stop(level: int, done: int, total: int) -> None:
        if level == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_index(
            random_graph(800, 1_500, 10) if damage == "another graph" else graph,
            roots=2 if damage == "other roots" else 1, checkpoint=checkpoint, progress=stop,
        )  # fmt: skip
    content = checkpoint.read_bytes()
    if damage == "truncated":
        checkpoint.write_bytes(content[:-100])
    elif damage == "flipped":
        checkpoint.write_bytes(content[:-4] + bytes([content[-4] ^ 1]) + content[-3:])
    built = build_index(graph, roots=1, checkpoint=checkpoint, progress=lambda level, *_: levels.append(level))
    assert min(levels) == 1
    assert check_index(graph, built) == 4000


def test_threads_read_one_index_at_the_same_time(tmp_path: Path) -> None:
    graph = random_graph(400, 900, 11)
    expected = graph.distances(all_pairs(graph)).to_list()
    graph.save(tmp_path / "graph.cuihop")
    build_index(graph).save(index_path(tmp_path / "graph.cuihop"))
    opened = SnapshotGraph.open(tmp_path / "graph.cuihop")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: opened.distances(all_pairs(graph)).to_list(), range(8)))
    assert all(answer == expected for answer in answers)


class TestCommand:
    @pytest.fixture
    def snapshot(self, tmp_path: Path) -> Path:
        path = tmp_path / "graph.cuihop"
        random_graph(2_000, 4_000, 12).save(path)
        return path

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "cuihop", *arguments], capture_output=True, text=True, check=False)

    @pytest.mark.slow
    def test_it_makes_the_index_says_what_it_compared_and_leaves_it_the_next_time(self, snapshot: Path) -> None:
        done = self.run("index", str(snapshot))
        assert done.returncode == 0, done.stderr
        assert "4,000 distances compared with searches: all equal" in done.stdout
        again = self.run("index", str(snapshot), "--json")
        assert "is valid; --force builds it again" in again.stderr
        assert json.loads(again.stdout)["built"] is False
        rebuilt = json.loads(self.run("index", str(snapshot), "--force", "--json").stdout)
        assert (rebuilt["built"], rebuilt["pairs_compared"]) == (True, 4000)
        info = json.loads(self.run("info", str(snapshot), "--verify", "--json").stdout)
        assert info["index"]["entries"] == rebuilt["entries"]
        assert info["verified_bytes"] > rebuilt["bytes"]

    @pytest.mark.slow
    def test_a_stale_index_is_told_by_info_and_replaced(self, snapshot: Path) -> None:
        assert self.run("index", str(snapshot)).returncode == 0
        random_graph(2_000, 4_100, 13).save(snapshot)
        assert "the index of another graph" in self.run("info", str(snapshot)).stdout
        assert self.run("index", str(snapshot)).returncode == 0
        assert "hubs in" in self.run("info", str(snapshot)).stdout

    def test_a_missing_snapshot_and_an_unwritable_folder_are_errors(self, tmp_path: Path) -> None:
        missing = self.run("index", str(tmp_path / "nothing.cuihop"))
        assert missing.returncode != 0
        assert "no such snapshot" in missing.stderr

    @pytest.mark.slow
    def test_an_interrupt_leaves_no_index(self, tmp_path: Path) -> None:
        path = tmp_path / "tangled.cuihop"  # random edges have long labels, which take long to make
        ends = np.random.default_rng(14).integers(0, 60_000, (300_000, 2)).tolist()
        SnapshotGraph.of([(f"C{a:07d}", f"C{b:07d}") for a, b in ends], identifiers="cui").save(path)
        running = subprocess.Popen(
            [sys.executable, "-m", "cuihop", "index", str(path), "--threads", "4"],
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"}, stderr=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        threads = Path(f"/proc/{running.pid}/task")
        wait_for(lambda: running.poll() is not None or len(list(threads.iterdir())) > 4)
        wait_until_still(lambda: len(list(threads.iterdir())))  # the making of labels, the longest step, has begun
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)
        assert running.returncode == 130
        assert not index_path(path).exists()
        assert list(tmp_path.glob(".*.partial")) == []
