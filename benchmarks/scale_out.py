"""How much faster are two processes, and do several give the same bits, whatever dies?

::

    python benchmarks/scale_out.py [--images COUNT] [--kills COUNT] [--json FILE]

The job is a whole nn-CUI@{5,10,30} at n = 1 with its ideals, queries and corpus drawn as in `evaluation`, on the open
graph. Compiled code is there before each measurement, by the same job on a few images.

- One process with one thread, and ``local:2``, two processes of Dask with one thread each: the time of `evaluate`
  alone, index included; the start of the processes is stated beside it. Efficiency is the quotient of both, by two.
- Four shards, one after the other, merged: the same bits?
- A scheduler and three workers, two of them with a nanny, of which one process chosen by chance is killed (SIGKILL)
  again and again while the job runs: the same bits?
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmark_data import add_data_option
from cuihop import SnapshotGraph
from cuihop.cluster import open_cluster
from cuihop.evaluation import evaluate_shard, open_shard
from cuihop.evaluation.evaluate import evaluate
from cuihop.measures.nearness import Nearness
from cuihop.rankings.ranking import Ranking
from cuihop.resources.cores import cores
from cuihop.resources.resources import Resources
from cuihop_tools.dask_servers import DaskServers
from evaluation import CUT_OFFS, LAM, Float64, images_of, open_graph, random_lists
from measurement import Measurement, arguments_of, require

_SHARDS = 4
_FEW = 400
_MEASURES = f"nn-CUI@{','.join(map(str, CUT_OFFS))}"


@dataclass(frozen=True)
class Job:
    """Images, a ranking and a graph."""

    images: Mapping[str, frozenset[str]]
    ranking: Ranking
    graph: SnapshotGraph

    def values(self, resources: Resources) -> Float64:
        """The values of all queries."""
        return evaluate(
            self.images, self.ranking, self.graph, measures=_MEASURES, nearness=Nearness(1, LAM, unknown="isolated"),
            resources=resources,
        ).values  # fmt: skip

    def compute_shard(self, resources: Resources) -> None:
        """The queries of a shard, into its checkpoint."""
        evaluate_shard(
            self.images, {"": self.ranking}, self.graph, measures=_MEASURES,
            nearness=Nearness(1, LAM, unknown="isolated"), resources=resources,
        )  # fmt: skip

    def few(self) -> Job:
        """The same with some hundred images."""
        images = dict(list(self.images.items())[:_FEW])
        return Job(images, random_lists(images), self.graph)


def in_one_process(job: Job) -> tuple[Float64, float]:
    """Values, and seconds."""
    return _timed(job, Resources(1))


def in_two_processes(job: Job) -> tuple[Float64, float, float]:
    """Values, seconds, and seconds that the start of the processes takes."""
    before = time.perf_counter()
    with open_cluster("local:2") as cluster:
        start = time.perf_counter() - before
        return *_timed(job, Resources(1, cluster=cluster)), start


def _timed(job: Job, resources: Resources) -> tuple[Float64, float]:
    job.few().values(resources)
    before = time.perf_counter()
    values = job.values(resources)
    return values, time.perf_counter() - before


def in_shards(job: Job, folder: Path) -> Float64:
    """Values of merged shards."""
    for number in range(1, _SHARDS + 1):
        with open_shard(f"{number}/{_SHARDS}", folder, job.images) as part:
            job.compute_shard(part.resources("evaluation.blocks"))
    return job.values(Resources(checkpoint=folder / "evaluation.blocks"))


def with_kills(job: Job, kills: int, folder: Path) -> Float64:
    """Values by workers that are killed."""
    generator = random.Random(7)
    total = len(job.images)
    at = sorted(generator.sample(range(1, total * 9 // 10), kills))
    with DaskServers(folder) as servers:
        for options in ((), (), ("--no-nanny",)):
            servers.start_worker(*options)

        def kill(done: int, total: int) -> None:
            if at and done >= at[0] and servers.kill_one(generator):
                at.pop(0)

        with open_cluster(str(servers.scheduler_file), folder / "shared") as cluster:
            values = job.values(Resources(1, progress=kill, cluster=cluster))
    require(len(servers.killed) == kills, f"{kills} processes were killed")
    return values


def main() -> None:
    """Measure, compare, and print."""
    parser = arguments_of(__doc__)
    add_data_option(parser)
    parser.add_argument("--images", type=int, default=400_000)
    parser.add_argument("--kills", type=int, default=20)
    arguments = parser.parse_args()
    results = Measurement(("distributed",))
    with tempfile.TemporaryDirectory() as made:
        compare(Path(made), arguments, results)
    results.save(arguments.json)


def compare(folder: Path, arguments: argparse.Namespace, results: Measurement) -> None:
    """All ways, one line each."""
    open_graph(arguments.data).save(folder / "graph.cuihop")
    images = images_of("drawn", arguments.data, arguments.images)
    job = Job(images, random_lists(images), SnapshotGraph.open(folder / "graph.cuihop"))
    print(f"{_MEASURES}, {len(images):,} images against as many, {cores()} cores")
    print(f"{'':44}{'seconds':>9}  bits of one process")
    expected, one = in_one_process(job)
    print(f"{'one process, one thread':44}{one:9.2f}", flush=True)
    results.add("seconds", "cuihop, one process", one, "s")

    def line(what: str, values: Float64, seconds: float) -> None:
        same = values.tobytes() == expected.tobytes()
        require(same, f"{what} gives the bits of one process")
        print(f"{what:44}{seconds:9.2f}  the same", flush=True)
        results.add("seconds", f"cuihop, {what}", seconds, "s")

    values, two, start = in_two_processes(job)
    line("local:2, one thread each", values, two)
    before = time.perf_counter()
    (folder / "shards").mkdir()
    values = in_shards(job, folder / "shards")
    line(f"{_SHARDS} shards in turn, all cores, merged", values, time.perf_counter() - before)
    if arguments.kills:
        before = time.perf_counter()
        (folder / "dask").mkdir()
        values = with_kills(job, arguments.kills, folder / "dask")
        line(f"three workers, {arguments.kills} killed by SIGKILL", values, time.perf_counter() - before)
    efficiency = one / two / 2
    print(f"Two processes: {one / two:.2f} times as fast, efficiency {efficiency:.2f}; started in {start:.1f} s")
    results.add("efficiency of two processes", "cuihop", efficiency, "of 1")
    results.add("start of two processes", "cuihop", start, "s")


if __name__ == "__main__":
    main()
