"""The command at a million images: nn-CUI@{5,10,30} of 10⁶ queries × 10⁶ images, and how it grows from 10⁴.

::

    python benchmarks/million.py [--sizes 10000 100000 1000000] [--hops 1 2] [--ranking npy] [--json FILE]

Images are drawn like those of ROCOv2 (`drawn_images` shows how well), queries and corpus alike; the graph is the open
one; the ranking is 30 images at random for each query, as row numbers or as a TREC run. Each line is the command
``cuihop evaluate``, with ``--output`` for the values of each query, in a process of its own: its time is that of the
whole process, interpreter, reading, results and their file included; its memory the most that the process held
(VmHWM). Processor seconds are those of all its threads: of a shared machine they say more than the wall clock.

Queries drawn at random are answered once more in Python sets, over the whole corpus, and compared.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmark_data import add_data_option
from cuihop.resources.cores import cores
from drawn_images import ConceptSet, drawn_sets, named, rocov2_sets, write_images
from evaluation import CUT_OFFS, DEPTH, LAM, Float64, ndcg, neighbourhoods, open_graph, random_rows
from measurement import Measurement, arguments_of, require

_CHECKED = 3
_COMMAND = """
import sys
from cuihop.cli import main
try:
    main()
finally:
    with open("/proc/self/status") as status:
        print(next(line for line in status if line.startswith("VmHWM")), file=sys.stderr)
"""


def oracle(sets: Sequence[ConceptSet], near: dict[str, set[str]], query: int, listed: Sequence[int]) -> Float64:
    """nn-CUI@{5,10,30} of one query in Python sets, ideal over the whole corpus."""
    A = frozenset(sets[query])
    around = frozenset().union(*(near[concept] for concept in A))
    gains: dict[ConceptSet, float] = {}
    for held in sets:
        if held not in gains:
            B = frozenset(held)
            shared = len(A & B)
            related = len((B - A) & around) + sum(not near[concept].isdisjoint(B) for concept in A - B)
            gains[held] = (shared + LAM * related) / (len(A) + len(B) - shared)
    best = sorted((gains[held] for place, held in enumerate(sets) if place != query), reverse=True)[:DEPTH]
    values: Float64 = ndcg(np.array([[gains[sets[row]] for row in listed]]), np.array([best]))[0]
    return values


def measured(folder: Path, size: int, hops: int, ranking: Path) -> dict[str, Any]:
    """Seconds, processor seconds, peak memory and answers of one command in a process of its own."""
    output = folder / "values.csv"
    command = [
        "evaluate", "--concepts", str(folder / f"{size}.csv"), str(ranking), "--graph",
        str(folder / "graph.cuihop"), "--unknown", "isolated", "--hops", str(hops), "--output", str(output), "--json",
    ]  # fmt: skip
    with (folder / "answer.json").open("w") as answer, (folder / "messages").open("w") as messages:
        before = time.perf_counter()
        process = subprocess.Popen([sys.executable, "-c", _COMMAND, *command], stdout=answer, stderr=messages)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - before
    process.returncode = status
    told = (folder / "messages").read_text()
    require(status == 0, f"the command ends well: {told}")
    peak = next(line for line in told.splitlines() if line.startswith("VmHWM"))
    with output.open(newline="") as file:
        rows = [row for number, row in enumerate(csv.DictReader(file)) if number in _queries(size)]
    return {
        "seconds": seconds,
        "processor": usage.ru_utime + usage.ru_stime,
        "peak": int(peak.split()[1]) * 1.024e-3,
        "mean": json.loads((folder / "answer.json").read_text())["means"]["nn-CUI@30"],
        "values": [[float(row[f"nn-CUI@{k}"]) for k in CUT_OFFS] for row in rows],
    }


def _queries(size: int) -> list[int]:
    """The queries that Python sets answer as well, ascending."""
    return sorted(random.Random(2).sample(range(size), _CHECKED))


def write_ranking(rows: np.ndarray, path: Path) -> None:
    """Write the row numbers of each query's images as an array, or as a TREC run."""
    if path.suffix == ".npy":
        np.save(path, rows)
        return
    with path.open("w", encoding="utf-8") as file:
        for query, listed in enumerate(rows.tolist()):
            file.writelines(
                f"{named(query)} Q0 {named(row)} {rank} {DEPTH - rank} drawn\n" for rank, row in enumerate(listed, 1)
            )


def compare(folder: Path, arguments: argparse.Namespace, results: Measurement) -> None:
    """All sizes, a line each, in a folder for their files."""
    graph = open_graph(arguments.data)
    graph.save(folder / "graph.cuihop")
    sets = drawn_sets(rocov2_sets(arguments.data), max(arguments.sizes))
    print(
        f"nn-CUI@5,10,30 of so many images as queries and corpus, ranking as {arguments.ranking}; {cores()} cores\n"
        f"{'images':>10}{'pairs':>20}{'sets':>9}  n{'seconds':>10}{'processor s':>13}{'peak MB':>9}{'nn-CUI@30':>11}"
    )
    warm = True
    for size in sorted(arguments.sizes):
        images, ranking = sets[:size], folder / f"{size}.{arguments.ranking}"
        write_images(images, folder / f"{size}.csv")
        rows = random_rows(size)
        write_ranking(rows, ranking)
        distinct = len(set(images))
        results.add(f"distinct sets, {size:,} images", "drawn", distinct, "sets")
        for hops in arguments.hops:
            if warm:
                measured(folder, size, hops, ranking)  # compiled code is kept for the processes to come
            found = measured(folder, size, hops, ranking)
            near = neighbourhoods({"every concept": frozenset().union(*set(images))}, graph, hops)
            for query, values in zip(_queries(size), found["values"], strict=True):
                expected = oracle(images, near, query, rows[query].tolist())
                require(bool(np.abs(expected - values).max() < 1e-12), f"query {query} has the value of Python sets")
            for name, unit in (("seconds", "s"), ("processor", "s"), ("peak", "MB")):
                results.add(f"{name}, {size:,} images, n = {hops}", f"cuihop, {arguments.ranking}", found[name], unit)
            print(
                f"{size:10,}{size * (size - 1):20,}{distinct:9,}  {hops}{found['seconds']:10.1f}"
                f"{found['processor']:13.1f}{found['peak']:9,.0f}{found['mean']:11.4f}",
                flush=True,
            )
        warm = False
        ranking.unlink()


def main() -> None:
    """Measure, check, and print."""
    parser = arguments_of(__doc__)
    add_data_option(parser)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--hops", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--ranking", choices=("npy", "run"), default="npy")
    arguments = parser.parse_args()
    results = Measurement()
    with tempfile.TemporaryDirectory() as made:
        compare(Path(made), arguments, results)
    results.save(arguments.json)


if __name__ == "__main__":
    main()
