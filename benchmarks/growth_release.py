"""How the time and memory of a load, and of its answers, grow with the release.

::

    python benchmarks/growth_release.py [--sizes 1000000 3000000 10000000] [--index-up-to 3000000] [--folder FOLDER]
    python benchmarks/growth_release.py --sizes 30000000

The releases are synthetic, in the proportions of UMLS: twelve rows of MRREL and five of MRCONSO for each concept. They
are written with zstd, one at a time: 30 million concepts take 20 GB of disk, with their snapshot, and 17 GB of memory.
Beyond ten million concepts, identifiers have eight digits, and are loaded as ``--identifiers any``.

Each step has a process of its own. Processor time counts all threads; the peak is that of the stage. The edges of the
snapshot are compared with those that were put in, distances with a plain breadth-first search, and with themselves the
other way round; a difference ends the run.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measurement import Measurement, arguments_of, peak_megabytes, require, resident_megabytes, timed

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_ROWS, _NAMES = 12, 5  # of a concept
_MOST_CUIS = 9_999_998
_STAGES = (
    "MRREL.RRF",
    "MRCONSO.RRF",
    "MRSTY.RRF",
    "choosing names",
    "looking at the graph",
    "indexing the names",
    "writing",
)
_SOURCES, _TARGETS, _PAIRS = 3, 2000, 20_000


def written(folder: Path, concepts: int) -> dict[str, Any]:
    """Write the files, and say what a load must find."""
    from cuihop_tools.synthetic_release import SyntheticRelease, write

    before = time.perf_counter()
    rows = write(folder, SyntheticRelease(concepts, _ROWS * concepts, names=_NAMES * concepts), zstd=True)
    seconds, peak = time.perf_counter() - before, peak_megabytes()
    edges = rows.edges("isa")
    return {"edges": len(edges), "digest": hashlib.sha256(edges.data).hexdigest(), "seconds": seconds, "peak MB": peak}


def loaded(folder: Path, *, synonyms: bool, identifiers: Any) -> dict[str, Any]:
    """Load the files into a snapshot, with seconds, processor seconds and peak memory of each stage."""
    from cuihop_loader.loading import load_to
    from cuihop_loader.options import LoadOptions

    stages: dict[str, dict[str, float]] = {}
    begun = [time.perf_counter(), time.process_time()]

    def end(stage: str) -> None:
        now = [time.perf_counter(), time.process_time()]
        found = stages.setdefault(stage, {"s": 0.0, "processor s": 0.0, "peak MB": 0.0})
        found["s"] += now[0] - begun[0]
        found["processor s"] += now[1] - begun[1]
        found["peak MB"] = max(found["peak MB"], peak_megabytes())
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
        begun[:] = now

    stage = [""]

    def progress(step: str, done: int, total: int) -> None:
        step = Path(step).name.removesuffix(".zst")
        if step in _STAGES and step != stage[0]:
            end(stage[0] or "start")
            stage[0] = step

    path = folder / "graph.cuihop"
    report = load_to(path, [folder], LoadOptions(synonyms=synonyms, identifiers=identifiers), progress).report
    end(stage[0])
    return {
        "stages": stages,
        "snapshot MB": path.stat().st_size / 1e6,
        "edges": report.edges,
        "names": report.names,
        "input MB": report.bytes / 1e6,
    }


def answered(folder: Path) -> dict[str, Any]:
    """Open the snapshot, compare its edges and distances, and time answers."""
    import numpy as np

    from cuihop import SnapshotGraph
    from cuihop.snapshot.string_table import IdentifierTable

    before = time.perf_counter()
    graph = SnapshotGraph.open(folder / "graph.cuihop")
    opened = time.perf_counter() - before
    graph.warm_up()
    warm = time.perf_counter() - before
    memory = resident_megabytes()
    table = IdentifierTable(graph.sections["cuis"])
    up_indptr, parents = graph.sections["up_indptr"], graph.sections["up_indices"]
    digits = np.array([text[1:] for text in table.as_bytes().tolist()], dtype="S").astype(np.int32)
    edges = np.stack([np.repeat(digits, np.diff(up_indptr)), digits[parents]], axis=1)
    digest = hashlib.sha256(edges.data).hexdigest()
    del edges, digits
    concepts = graph.release.concepts
    rng = np.random.default_rng(1)
    rows = graph.sections["any_indptr"], graph.sections["any_indices"]
    for source in rng.integers(0, concepts, _SOURCES).tolist():
        targets = rng.integers(0, concepts, _TARGETS)
        expected = levels(*rows, source)[targets]
        pairs = [(table[source], cui) for cui in table.at(targets)]
        found = graph.distances(pairs)
        require(found == [None if h < 0 else h for h in expected.tolist()], "distances are those of a plain search")
        require(found == graph.distances([(b, a) for a, b in pairs]), "distances are the same the other way round")
    pairs = list(zip(*(table.at(rng.integers(0, concepts, _PAIRS)) for _ in range(2)), strict=True))
    few = pairs[:200]
    centres = [cui for cui, _ in few]
    answers = {
        "one distance µs": timed(lambda: [graph.distance(*pair) for pair in few]) / len(few) * 1e6,
        "batch µs": timed(lambda: graph.distances(pairs)) / len(pairs) * 1e6,
        "path µs": timed(lambda: [graph.path(*pair) for pair in few]) / len(few) * 1e6,
        "neighbours µs": timed(lambda: [graph.neighbours([c], hops=1) for c in centres]) / len(few) * 1e6,
    }
    return {"digest": digest, "open ms": opened * 1e3, "warm s": warm, "memory MB": memory, "answers": answers}


def levels(indptr: npt.NDArray[np.int32], indices: npt.NDArray[np.int32], source: int) -> npt.NDArray[np.int16]:
    """Hops from one concept to all, -1 for none: a breadth-first search by whole levels, in plain NumPy."""
    import numpy as np

    hops = np.full(len(indptr) - 1, -1, dtype=np.int16)
    hops[source] = level = 0
    border = np.array([source])
    while len(border):
        level += 1
        counts = indptr[border + 1] - indptr[border]
        at = np.repeat(indptr[border] - np.r_[0, np.cumsum(counts)[:-1]], counts) + np.arange(counts.sum())
        around = indices[at]
        border = np.unique(around[hops[around] < 0])
        hops[border] = level
    return hops


def labelled(folder: Path) -> dict[str, Any]:
    """Build the distance index, and compare it with searches."""
    from cuihop import SnapshotGraph
    from cuihop.snapshot.index_builder import build_index, check_index

    graph = SnapshotGraph.open(folder / "graph.cuihop")
    before, work = time.perf_counter(), time.process_time()
    index = build_index(graph)
    seconds, processor = time.perf_counter() - before, time.process_time() - work
    check_index(graph, index)
    facts = index.facts
    return {"s": seconds, "processor s": processor, "peak MB": peak_megabytes(), "MB": facts["bytes"] / 1e6,
            "hubs of a label": facts["entries"] / facts["labels"]}  # fmt: skip


def in_a_process(step: str, folder: Path, concepts: int, *options: str) -> dict[str, Any]:
    """Run one step of this file, and read what it prints."""
    command = [sys.executable, __file__, "--only", step, "--folder", str(folder), "--sizes", str(concepts), *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def measured(folder: Path, concepts: int, options: Any, results: Measurement) -> None:
    """All steps for one size."""
    choice = [] if options.synonyms else ["--no-synonyms"]
    made = in_a_process("write", folder, concepts)
    found = in_a_process("load", folder, concepts, *choice)
    packed = sum(file.stat().st_size for file in folder.glob("*.RRF*")) / 1e6
    answers = in_a_process("answer", folder, concepts)
    same = (found["edges"], answers["digest"]) == (made["edges"], made["digest"])
    require(same, "the snapshot has the edges that were put in")
    print(
        f"\n{concepts:,} concepts, {_ROWS * concepts:,} rows of MRREL, {_NAMES * concepts:,} of MRCONSO; {packed:,.0f} "
        f"MB by zstd, written in {made['seconds']:,.0f} s with {made['peak MB']:,.0f} MB of memory\n"
        f"{found['edges']:,} edges, {found['names']:,} names; snapshot {found['snapshot MB']:,.0f} MB"
    )
    print(f"{'stage':26}{'s':>10}{'processor s':>13}{'peak MB':>10}")
    total = {"s": 0.0, "processor s": 0.0, "peak MB": 0.0}
    for stage, facts in found["stages"].items():
        row(stage, facts)
        total = {unit: max(total[unit], v) if unit == "peak MB" else total[unit] + v for unit, v in facts.items()}
    row("cuihop load", total)
    subject = f"cuihop load, {concepts:,} concepts"
    for unit, value in total.items():
        results.add(f"a release: {unit}", subject, value, unit.split()[-1])
    results.add("a release: snapshot", subject, found["snapshot MB"], "MB")
    times = ", ".join(f"{name} {value:,.1f}" for name, value in answers["answers"].items())
    print(
        f"opened in {answers['open ms']:.1f} ms, first answer after {answers['warm s']:.1f} s, "
        f"{answers['memory MB']:,.0f} MB in memory; {times}"
    )
    for name, value in answers["answers"].items():
        results.add(f"a release: {name.removesuffix(' µs')}", subject, value, "µs")
    if concepts <= options.index_up_to:
        index = in_a_process("index", folder, concepts)
        row("cuihop index", index)
        print(f"index {index['MB']:,.0f} MB, {index['hubs of a label']:.0f} hubs in a label")
        results.add("labels of a release", subject, index["s"], "s")
        results.add("labels of a release: bytes", subject, index["MB"], "MB")
    sys.stdout.flush()


def row(name: str, facts: dict[str, float]) -> None:
    """Print one row of the table."""
    print(f"{name:26}{facts['s']:10.1f}{facts['processor s']:13.1f}{facts['peak MB']:10.0f}", flush=True)


def main() -> None:
    """Measure, and print a table for each size."""
    parser = arguments_of(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000_000, 3_000_000, 10_000_000])
    parser.add_argument("--index-up-to", type=int, default=1_000_000, metavar="CONCEPTS")
    parser.add_argument("--no-synonyms", dest="synonyms", action="store_false", help="load preferred names only")
    parser.add_argument("--folder", type=Path, help="where the files go for the time of the run")
    parser.add_argument("--only", choices=["write", "load", "answer", "index"])
    options = parser.parse_args()
    concepts = options.sizes[0]
    steps = {
        "write": lambda: written(options.folder, concepts),
        "load": lambda: loaded(options.folder, synonyms=options.synonyms,
                               identifiers="any" if concepts > _MOST_CUIS else None),
        "answer": lambda: answered(options.folder),
        "index": lambda: labelled(options.folder),
    }  # fmt: skip
    if options.only:
        print(json.dumps(steps[options.only]()))
        return
    results = Measurement(("scipy",))
    for concepts in options.sizes:
        with tempfile.TemporaryDirectory(dir=options.folder) as name:
            measured(Path(name), concepts, options, results)
    results.save(options.json)


if __name__ == "__main__":
    main()
