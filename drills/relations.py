"""Drill: what must not matter, or must change an answer in a known way."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cuihop import Dataset, Evaluation, Nearness, Resources, SnapshotGraph, evaluate
from cuihop.evaluation import evaluate_shard, open_shard
from cuihop.graph import DIRECTIONS, Direction
from cuihop.snapshot.index_builder import build_index
from cuihop_loader import load
from drills.drawn_release import DrawnRelease, drawn_release
from drills.drill import Case, Found, Setting

_NO_PATH = 1 << 20
_MEASURES = "nn-CUI@1,5, CUI@5"

Matrix = npt.NDArray[np.int64]


@contextmanager
def cases(setting: Setting) -> Iterator[Case]:
    """Cases share nothing."""

    def case(rng: random.Random) -> Found:
        drawn = drawn_release(rng, most=60)
        graph = _loaded(drawn, setting.folder, rng)
        if rng.random() < 0.5:
            graph.use_index(build_index(graph, roots=rng.choice((0, 1, 16))))
        held = {direction: _matrix(graph, drawn.nodes, direction) for direction in DIRECTIONS}
        wrong: list[str] = []
        count = _of_one_graph(held, wrong)
        count += _of_files(drawn, graph, held, setting.folder, rng, wrong)
        count += _of_identifiers(drawn, held, rng, wrong)
        count += _of_a_leaf(drawn, held["any"], rng, wrong)
        count += _of_images(drawn, graph, setting.folder, rng, wrong)
        return Found(count, wrong)

    yield case


def _loaded(drawn: DrawnRelease, folder: Path, rng: random.Random) -> SnapshotGraph:
    files = drawn.write(folder / "release", rng)
    try:
        return SnapshotGraph(load([files]).sections)
    finally:
        shutil.rmtree(files)


def _matrix(graph: SnapshotGraph, nodes: list[str], direction: Direction) -> Matrix:
    """Distances of all pairs; a large number where there is no path."""
    found = graph.distances(list(product(nodes, nodes)), direction=direction)
    return np.where(found.reached, found.hops, _NO_PATH).astype(np.int64).reshape(len(nodes), len(nodes))


def _same(what: str, found: Matrix, expected: Matrix, wrong: list[str]) -> int:
    different = np.argwhere(found != expected)
    wrong += [f"{what}: {found[at]} in place of {expected[at]} at {at}" for at in map(tuple, different[:5].tolist())]
    return found.size


def _of_one_graph(held: dict[Direction, Matrix], wrong: list[str]) -> int:
    """Symmetry, the directions, and the triangle inequality over all triples."""
    count = _same("any is symmetric", held["any"].T, held["any"], wrong)
    count += _same("down is up, turned", held["down"].T, held["up"], wrong)
    count += _same(
        "vertical is the smaller of up and down", held["vertical"], np.minimum(held["up"], held["down"]), wrong
    )
    for direction in ("any", "up", "down"):
        d = held[direction]
        for middle in range(len(d)):
            detour = d[:, middle, None] + d[None, middle, :]
            if (d > detour).any():
                wrong.append(f"{direction}: a way by concept {middle} is shorter than the distance")
            count += d.size
    if (held["any"] > held["vertical"]).any():
        wrong.append("any is farther than vertical")
    return count + held["any"].size


def _of_files(
    drawn: DrawnRelease, graph: SnapshotGraph, held: dict[Direction, Matrix], folder: Path, rng: random.Random,
    wrong: list[str],
) -> int:  # fmt: skip
    """The order of rows, and rows written twice or both ways, change neither digest nor distance."""
    again = _loaded(drawn, folder, rng)
    if again.release.digest != graph.release.digest:
        wrong.append(f"other rows of the same release: digest {again.release.digest}, not {graph.release.digest}")
    return 1 + sum(_same(f"rows, {way}", _matrix(again, drawn.nodes, way), held[way], wrong) for way in DIRECTIONS)


def _of_identifiers(drawn: DrawnRelease, held: dict[Direction, Matrix], rng: random.Random, wrong: list[str]) -> int:
    """Renamed identifiers, and so another order of concepts."""
    renamed = dict(zip(drawn.nodes, rng.sample(range(10_000_000), len(drawn.nodes)), strict=True))
    new = {old: rng.choice((f"C{number:07d}", f"HP:{number:07d}", str(number))) for old, number in renamed.items()}
    graph = SnapshotGraph.of([(new[a], new[b]) for a, b in drawn.edges], concepts=new.values())
    nodes = [new[node] for node in drawn.nodes]
    return sum(_same(f"renamed, {way}", _matrix(graph, nodes, way), held[way], wrong) for way in DIRECTIONS)


def _of_a_leaf(drawn: DrawnRelease, any_hops: Matrix, rng: random.Random, wrong: list[str]) -> int:
    """A new concept below one other changes no distance between the others."""
    place = rng.randrange(len(drawn.nodes))
    leaf = "C0000000"
    graph = SnapshotGraph.of([*drawn.edges, (leaf, drawn.nodes[place])], concepts=drawn.nodes)
    found = _matrix(graph, [*drawn.nodes, leaf], "any")
    count = _same("a new leaf", found[:-1, :-1], any_hops, wrong)
    expected = np.minimum(any_hops[place] + 1, _NO_PATH)
    return count + _same("of the new leaf", found[-1:, :-1], expected[None, :], wrong)


def _of_images(drawn: DrawnRelease, graph: SnapshotGraph, folder: Path, rng: random.Random, wrong: list[str]) -> int:
    """The order of images, threads, memory, a checkpoint and shards change no bit of an evaluation."""
    images = {
        f"image {number}": frozenset(rng.sample(drawn.nodes, rng.randint(0, min(6, len(drawn.nodes)))))
        for number in range(rng.randint(2, 60))
    } | {"first": frozenset(drawn.nodes[:1])}  # fmt: skip
    ranking = {query: rng.sample(sorted(images), rng.randint(0, min(8, len(images)))) for query in images}
    nearness = Nearness(rng.randrange(4), rng.choice((0.2, 0.5, 1 / 3)), rng.choice(DIRECTIONS))

    def evaluated(order: list[str], **resources: object) -> Evaluation:
        data = Dataset({name: images[name] for name in order})
        return evaluate(
            data, {name: ranking[name] for name in order}, graph, measures=_MEASURES, nearness=nearness, missing="zero",
            resources=Resources(**resources),  # type: ignore[arg-type]
        )  # fmt: skip

    order = list(images)
    expected = evaluated(order, threads=1)
    jobs = folder / "shards"
    data = Dataset(images)
    for number in (1, 2, 3):
        with open_shard(f"{number}/3", jobs, data) as shard:
            blocks = shard.resources("evaluation.blocks")
            evaluate_shard(
                data, {"": ranking}, graph, measures=_MEASURES, nearness=nearness, missing="zero", resources=blocks
            )
    found = {
        "four threads": evaluated(order, threads=4),
        "little memory": evaluated(order, memory="1MB"),
        "a checkpoint": evaluated(order, checkpoint=folder / "blocks"),
        "shards": evaluated(order, checkpoint=jobs / "evaluation.blocks"),
    }
    shutil.rmtree(jobs, ignore_errors=True)
    wrong += [f"{way}: other bits of {nearness}" for way, one in found.items()
              if one.values.tobytes() != expected.values.tobytes()]  # fmt: skip
    rng.shuffle(order)
    mixed = evaluated(order)
    values = dict(zip(mixed.queries, mixed.values.tolist(), strict=True))
    if [values[query] for query in expected.queries] != expected.values.tolist():
        wrong.append(f"the order of images: other bits of {nearness}")
    return (len(found) + 1) * len(order)
