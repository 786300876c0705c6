"""Whole nn-CUI@{5,10,30} with ideals over all pairs: how long, and how much memory?

::

    python benchmarks/evaluation.py [--data ../shared/data] [--images COUNT] [--scales …] [--hops …]

Queries and corpus are the images of ROCOv2 (test: 9,927; train: 59,962), and as many as ImageCLEFmedical caption 2025
has, 116,635, drawn as `drawn_images` says. The graph is the open one. The ranking is 30 images at random, so that
finding the ideals is the work. Each line is a process of its own, which does the job once on a few images before, so
that compiled code is there; its time is that of `evaluate` alone, index included, its memory that of the whole process,
interpreter and images included.

Beside it, on the test images: products of sparse matrices by SciPy, in blocks; and Python sets with a dictionary of
neighbours (`by_sets`), which answer 200 queries drawn once for all, three times: the median, extrapolated to all
queries ("≈"). This is the one figure for Python sets: `measures` has its share for a query, and no other module
measures another. Their answers are compared with cuihop's.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark_data import add_data_option
from cuihop import SnapshotGraph
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.evaluation.evaluate import evaluate
from cuihop.measures.nearness import Nearness
from cuihop.rankings.ranking import Ranking
from cuihop.resources.cores import cores
from cuihop.resources.resources import Resources
from drawn_images import drawn_sets, named, rocov2_sets
from measurement import Measurement, arguments_of, peak_megabytes, require, timed

CUT_OFFS = (5, 10, 30)
DEPTH = max(CUT_OFFS)
LAM = 0.5
DRAWN = 116_635
SAMPLE = 200  # queries for the slow way: of 20, the time for all varies by two
SCALES = ("test", "train", "drawn")

Float64 = npt.NDArray[np.float64]


def open_graph(data: Path) -> SnapshotGraph:
    """The graph of the open vocabularies."""
    from cuihop_loader import load

    return SnapshotGraph(load([data / "rrf_open"]).sections)


def images_of(scale: str, data: Path, count: int | None) -> dict[str, frozenset[str]]:
    """Image → concepts."""
    folder = data / "rocov2"
    if scale != "drawn":
        images = ImageConcepts.read(folder / f"{scale}_concepts.csv.gz").entries
        return dict(list(images.items())[:count])
    sets = drawn_sets(rocov2_sets(data), DRAWN if count is None else count)
    return {named(number): frozenset(held) for number, held in enumerate(sets)}


def random_rows(total: int) -> npt.NDArray[np.int32]:
    """Thirty images at random for each of so many queries, as row numbers: quickly, and never the query itself."""
    steps = np.random.default_rng(1).integers(1, total // DEPTH, (total, DEPTH)).cumsum(axis=1)
    rows: npt.NDArray[np.int32] = ((np.arange(total)[:, np.newaxis] + steps) % total).astype(np.int32)
    return rows


def random_lists(images: Mapping[str, frozenset[str]]) -> Ranking:
    """The ranking of `random_rows`."""
    names, rows = tuple(images), random_rows(len(images))
    return Ranking.from_lists(rows.ravel(), np.full(len(names), DEPTH), names, names, "random")


def by_cuihop(images: Mapping[str, frozenset[str]], graph: SnapshotGraph, hops: int, threads: int) -> Float64:
    """Shape (queries, cut-offs)."""
    measures = f"nn-CUI@{','.join(map(str, CUT_OFFS))}"
    nearness = Nearness(hops, LAM, unknown="isolated")
    found = evaluate(
        images, random_lists(images), graph, measures=measures, nearness=nearness, resources=Resources(threads)
    )
    return found.values


def neighbourhoods(images: Mapping[str, frozenset[str]], graph: SnapshotGraph, hops: int) -> dict[str, set[str]]:
    """Concept → concepts within n hops that occur, itself included."""
    concepts = sorted(set().union(*images.values()))
    near = {concept: {concept} for concept in concepts}
    known = [answer.requested for answer in graph.resolve(concepts) if answer.cui]
    pack = graph.pack(known, hops=hops)
    for row, concept in enumerate(known):
        near[concept].update(known[place] for place in pack.indices[pack.indptr[row] : pack.indptr[row + 1]].tolist())
    return near


def ndcg(gained: Float64, best: Float64) -> Float64:
    """Shape (queries, cut-offs), from gains in the order of the ranking, and the best gains."""
    discounts = 1 / np.log2(np.arange(2, DEPTH + 2))
    dcg, idcg = ((gains * discounts).cumsum(axis=1)[:, np.array(CUT_OFFS) - 1] for gains in (gained, best))
    quotients: Float64 = np.divide(dcg, idcg, out=np.zeros_like(dcg), where=idcg > 0)
    return quotients


def by_scipy(images: Mapping[str, frozenset[str]], near: Mapping[str, set[str]]) -> Float64:
    """I = X·Xᵀ, |rel| = X·Eᵀ + E·Xᵀ − 2·I with E = 1[X·N > 0], 256 queries at once."""
    from scipy import sparse

    place = {concept: number for number, concept in enumerate(near)}

    def table(rows: Sequence[set[str] | frozenset[str]]) -> Any:
        lengths = [len(row) for row in rows]
        columns = [place[concept] for row in rows for concept in row]
        ends = np.concatenate([[0], np.cumsum(lengths)])
        return sparse.csr_matrix((np.ones(len(columns), dtype=np.int32), columns, ends), (len(rows), len(place)))

    X = table(list(images.values()))
    E = ((X @ table(list(near.values()))) > 0).astype(np.int32)
    sizes = np.asarray(X.sum(axis=1)).ravel()
    asked = random_lists(images)
    values = np.empty((len(images), len(CUT_OFFS)))
    for first in range(0, len(images), 256):
        part = np.arange(first, min(first + 256, len(images)))
        shared = (X[part] @ X.T).toarray()
        related = (X[part] @ E.T + E[part] @ X.T).toarray() - 2 * shared
        union = sizes[part, np.newaxis] + sizes - shared
        gains = np.divide(shared + LAM * related, union, out=np.zeros(union.shape), where=union > 0)
        gained = np.take_along_axis(gains, asked.top(DEPTH, part), axis=1)
        gains[np.arange(len(part)), part] = -1.0
        best = -np.sort(-np.partition(gains, gains.shape[1] - DEPTH, axis=1)[:, -DEPTH:], axis=1)
        values[part] = ndcg(gained, best)
    return values


def sampled(images: Mapping[str, frozenset[str]]) -> list[int]:
    """The queries that the slow way answers: always the same of these images."""
    return random.Random(2).sample(range(len(images)), min(SAMPLE, len(images)))


def by_sets(
    images: Mapping[str, frozenset[str]], near: Mapping[str, set[str]], queries: Sequence[int]
) -> tuple[Float64, float]:
    """The paper's measure in Python sets with a dictionary of neighbours, image by image, in one thread.

    Args:
        images: queries and corpus.
        near: concept → concepts within n hops, itself included; of itself alone, the gain is IoU.
        queries: places of those that are answered.

    Returns:
        Float64, shape (queries, cut-offs), and seconds for all images as queries: preparing, and the median of three
        answers to these, extrapolated.
    """
    before = time.perf_counter()
    asked = random_lists(images).top(DEPTH, np.array(queries)).tolist()
    held = [(B, set().union(*(near[concept] for concept in B))) for B in images.values()]
    preparing = time.perf_counter() - before

    def answers() -> list[tuple[list[float], list[float]]]:
        values = []
        for query, listed in zip(queries, asked, strict=True):
            A, around_A = held[query]
            gains = []
            for B, around_B in held:
                shared = len(A & B)
                related = len(A & around_B) + len(B & around_A) - 2 * shared
                union = len(A) + len(B) - shared
                gains.append((shared + LAM * related) / union if union else 0.0)
            gained = [gains[row] for row in listed]
            del gains[query]
            values.append((gained, sorted(gains, reverse=True)[:DEPTH]))
        return values

    seconds = preparing + timed(answers) * len(images) / len(queries)
    return ndcg(*(np.array(column) for column in zip(*answers(), strict=True))), seconds


def job(arguments: argparse.Namespace) -> None:
    """One measurement: answers into a file, figures as JSON."""
    graph = SnapshotGraph.open(arguments.graph)
    images = images_of(arguments.scales[0], arguments.data, arguments.images)
    few = dict(list(images.items())[:200])
    queries = sampled(images)

    def work(images: Mapping[str, frozenset[str]], queries: Sequence[int]) -> tuple[Float64, float]:
        before = time.perf_counter()
        if arguments.job == "cuihop":
            values = by_cuihop(images, graph, arguments.hops[0], arguments.threads)
            return values, time.perf_counter() - before
        near = neighbourhoods(images, graph, arguments.hops[0])
        if arguments.job == "sets":
            return by_sets(images, near, queries)
        values = by_scipy(images, near)
        return values, time.perf_counter() - before

    work(few, range(20))
    values, seconds = work(images, queries)
    np.savez(arguments.answers, values=values, queries=np.array(queries))
    figures = {
        "seconds": seconds,
        "peak": peak_megabytes(),
        "images": len(images),
        "sets": len(set(images.values())),
        "mean": float(values[:, -1].mean()),
    }
    print(json.dumps(figures))


def measured(folder: Path, arguments: argparse.Namespace, name: str, scale: str, hops: int, threads: int) -> Any:
    """The figures of a job in a process of its own, and its answers."""
    answers = folder / f"{name}.npz"
    command = [
        sys.executable, __file__, "--data", str(arguments.data), "--job", name, "--scales", scale, "--hops", str(hops),
        "--threads", str(threads), "--graph", str(folder / "graph.cuihop"), "--answers", str(answers),
    ]  # fmt: skip
    command += [] if arguments.images is None else ["--images", str(arguments.images)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    with np.load(answers) as held:
        return json.loads(done.stdout), held["values"], held["queries"]


def main() -> None:
    """Measure, compare, and print."""
    parser = arguments_of(__doc__)
    add_data_option(parser)
    parser.add_argument("--images", type=int, help="so many of each collection, for a quick look")
    parser.add_argument("--scales", nargs="+", choices=SCALES, default=SCALES)
    parser.add_argument("--hops", nargs="+", type=int, default=[1, 2])
    for name, kind in (("job", str), ("threads", int), ("graph", Path), ("answers", Path)):
        parser.add_argument(f"--{name}", type=kind, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.job:
        job(arguments)
        return
    with tempfile.TemporaryDirectory() as made:
        compare(Path(made), arguments)


def compare(folder: Path, arguments: argparse.Namespace) -> None:
    """Everything, with the graph in a folder."""
    open_graph(arguments.data).save(folder / "graph.cuihop")
    print(f"nn-CUI@5,10,30, λ = {LAM}; Python {sys.version.split()[0]}, numba {version('numba')}, {cores()} cores")
    print(f"{'images':10}{'pairs':>16}{'sets':>8}  n  {'by':24}{'seconds':>12}{'peak MB':>9}{'nn-CUI@30':>11}")

    results = Measurement(("scipy",))

    def show(scale: str, hops: int, by: str, told: str, figures: dict[str, Any], mean: float) -> None:
        results.add(f"time, {scale}, n = {hops}", by, figures["seconds"], "s")
        results.add(f"peak memory, {scale}, n = {hops}", by, figures["peak"], "MB")
        pairs = figures["images"] * (figures["images"] - 1)
        memory = f"{figures['peak']:,.0f}"
        print(
            f"{scale:10}{pairs:16,}{figures['sets']:8,}  {hops}  {by:24}{told:>12}{memory:>9}{mean:11.4f}", flush=True
        )

    measured(folder, arguments, "cuihop", arguments.scales[0], arguments.hops[0], cores())  # compiled code is kept
    for scale in arguments.scales:
        for hops in arguments.hops:
            bits = set()
            for threads in sorted({1, cores()}, reverse=True):
                figures, values, _ = measured(folder, arguments, "cuihop", scale, hops, threads)
                bits.add(values.tobytes())
                by = f"cuihop, {threads} thread{'s' if threads > 1 else ''}"
                show(scale, hops, by, f"{figures['seconds']:.2f}", figures, figures["mean"])
            require(len(bits) == 1, "the threads do not change a bit")
            if scale != "test":
                continue
            figures, found, _ = measured(folder, arguments, "scipy", scale, hops, 1)
            require(bool(np.abs(found - values).max() < 1e-12), "SciPy gives the same answers")
            by = f"scipy {version('scipy')}, in blocks"
            show(scale, hops, by, f"{figures['seconds']:.2f}", figures, figures["mean"])
            figures, found, queries = measured(folder, arguments, "sets", scale, hops, 1)
            require(bool(np.abs(found - values[queries]).max() < 1e-12), "Python sets give the same answers")
            by = "Python sets"
            show(scale, hops, by, f"≈ {figures['seconds']:,.0f}", figures, figures["mean"])
    results.save(arguments.json)


if __name__ == "__main__":
    main()
