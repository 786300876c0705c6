"""The real job: nn-CUI@K and CUI@K over all pairs of ROCOv2 images, on an open graph.

::

    python benchmarks/rocov2.py [--data ../shared/data] [--images test|valid|train] [--hops 1]

The images are queries and corpus. Three rankings are made and evaluated: by IoU, by nn-IoU and at random. What must
hold is checked: a ranking by a gain is the best there is for that gain, chance is far below, and the numbers of one
thread and of all are the same to the last bit.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from benchmark_data import add_data_option
from cuihop import SnapshotGraph
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.evaluation.evaluate import evaluate
from cuihop.evaluation.result import Evaluation
from cuihop.measures.nearness import Nearness
from cuihop.rankings.ranking import Ranking
from cuihop.relevance.baselines import random_ranking, top_k
from cuihop.resources.cores import cores
from cuihop.resources.resources import Resources
from cuihop_loader import load
from measurement import Measurement, arguments_of, peak_megabytes, require

T = TypeVar("T")

CUT_OFFS = (5, 10, 30)
MEASURES = [f"{family}@{','.join(map(str, CUT_OFFS))}" for family in ("nn-CUI", "CUI")]


def timed(call: Callable[[], T]) -> tuple[T, float]:
    """What the call gives, and its seconds."""
    before = time.perf_counter()
    return call(), time.perf_counter() - before


def compiled(graph: SnapshotGraph, images: ImageConcepts, options: dict[str, Any]) -> None:
    """A first small job, so that compiling is timed apart."""
    few = dict(list(images.items())[:20])
    evaluate(few, top_k(few, graph, 3, **options), graph, measures=MEASURES, **options)


def ranking_by(by: str, images: ImageConcepts, graph: SnapshotGraph, options: dict[str, Any]) -> Ranking:
    """The first images of each query."""
    if by == "random":
        return random_ranking(images, max(CUT_OFFS), seed=1)
    return top_k(images, graph, max(CUT_OFFS), by="iou" if by == "iou" else "nn-iou", **options)


def check(by: str, evaluation: Evaluation) -> None:
    """What must hold for a ranking."""
    best = {"nn-iou": "nn-CUI", "iou": "CUI"}.get(by)
    for measure, mean in evaluation.means.items():
        require(mean is not None and 0 <= mean <= 1, f"{measure} lies between 0 and 1 for {by}, found {mean}")
        if best == measure.split("@")[0]:
            require(mean == 1, f"{measure} of the ranking by {by} is 1, found {mean}")
        if by == "random":
            require(mean is not None and mean < 0.5, f"{measure} of a random ranking is well below 1, found {mean}")


def main() -> None:
    """Measure, check, and print."""
    parser = arguments_of(__doc__)
    add_data_option(parser)
    parser.add_argument("--images", choices=("test", "valid", "train"), default="test")
    parser.add_argument("--hops", type=int, default=1)
    arguments = parser.parse_args()
    release = arguments.data / "rrf_open"
    concepts = arguments.data / "rocov2" / f"{arguments.images}_concepts.csv.gz"

    measurement = Measurement()
    loaded, loading = timed(lambda: load([release]))
    graph = SnapshotGraph(loaded.sections)
    print(f"{loading:7.2f} s  graph loaded: {graph.release.concepts:,} concepts, {graph.release.edges:,} is_a edges")
    images, seconds = timed(lambda: ImageConcepts.read(concepts))
    pairs = len(images) * (len(images) - 1)
    print(f"{seconds:7.2f} s  images read: {len(images):,} with {images.occurrences:,} concepts; {pairs:,} pairs")
    asked: dict[str, Any] = {"nearness": Nearness(arguments.hops, unknown="isolated")}
    print(f"{timed(lambda: compiled(graph, images, asked))[1]:7.2f} s  first job: compiled code made or loaded")

    measurement.add("graph loaded", "cuihop", loading, "s")
    results: dict[str, Evaluation] = {}
    for threads in sorted({1, cores()}):
        told = f"{threads} thread{'s' if threads > 1 else ''}"
        options = {**asked, "resources": Resources(threads)}
        for by in ("iou", "nn-iou", "random"):
            ranking, ranked = timed(partial(ranking_by, by, images, graph, options))
            result, evaluated = timed(
                partial(evaluate, images, ranking, graph, measures=MEASURES, empty_ideal="skip", **options)
            )
            print(f"{ranked:7.2f} s  ranked by {by}, {told}")
            print(f"{evaluated:7.2f} s  evaluated, {told}")
            measurement.add(f"ranked by {by}", f"cuihop, {told}", ranked, "s")
            measurement.add(f"evaluated, ranking by {by}", f"cuihop, {told}", evaluated, "s")
            check(by, result)
            first = results.setdefault(by, result)
            require(first.values.tobytes() == result.values.tobytes(), f"{by}: the threads do not change a bit")

    names = list(results["iou"].means)
    print(f"\n{'ranking by':12}" + "".join(f"{name:>11}" for name in names))
    for by, result in results.items():
        print(f"{by:12}" + "".join(f"{result.means[name]:11.4f}" for name in names))
    counts = results["nn-iou"].counts
    unknown = counts.unknown
    print(
        f"n = {arguments.hops}, λ = 0.5; {unknown.distinct:,} of {counts.identifiers:,} concepts "
        f"({unknown.distinct / counts.identifiers:.1%}), {unknown.occurrences:,} of {counts.occurrences:,} occurrences "
        f"({unknown.occurrences / counts.occurrences:.1%}) are not in the graph\n"
        f"queries skipped because no other image has any nn-IoU with them: {len(counts.empty_ideal['nn-IoU']):,}"
    )
    peak = peak_megabytes()
    print(f"peak memory of the whole run, loading included: {peak:,.0f} MB; Python {platform.python_version()}")
    measurement.add("peak memory, loading included", "cuihop", peak, "MB")
    for by, result in results.items():
        for name, mean in result.means.items():
            measurement.add(f"mean of {name}, ranking by {by}", "cuihop", mean or 0.0, "")
    measurement.save(arguments.json)


if __name__ == "__main__":
    main()
