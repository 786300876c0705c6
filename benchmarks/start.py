"""How long a new process takes: to import, to the first distance, to the first batch, to the first evaluation.

::

    python benchmarks/start.py [--concepts 1000000] [--repeats 7] [--warm] [--json FILE]

Each line is a process of its own, from its start to its end; the graph is a made hierarchy in a snapshot, in the page
cache. "First" means that no machine code is kept yet, "then" that it is, as it is for every later process; ``--warm``
leaves out the first. The best of some runs; processor time counts all threads.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from made_hierarchy import made_hierarchy
from measurement import Measurement, arguments_of, require

_OPEN = "import cuihop; graph = cuihop.SnapshotGraph.open({!r}); "
_PAIR = "('C0000010', 'C0000500')"
_EVALUATION = (
    "from cuihop.relevance import random_ranking; "
    "images = {{f'i{{k}}': [f'C{{k * 7 + j:07d}}' for j in range(1, 5)] for k in range(100)}}; "
    "means = cuihop.evaluate(images, random_ranking(images, 30), graph).means"
)


def run(command: list[str], cache: Path | None, repeats: int) -> tuple[float, float]:
    """Seconds from start to end, and of processor time; the best."""
    environment = os.environ | ({"NUMBA_CACHE_DIR": str(cache)} if cache else {})
    walls, works = [], []
    for _ in range(repeats):
        used, before = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False)
        walls.append(time.perf_counter() - before)
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        works.append(now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime)
        require(done.returncode == 0, f"{command[-1]} answers")
    return min(walls), min(works)


def main() -> None:
    """Measure, and print."""
    parser = arguments_of(__doc__)
    parser.add_argument("--concepts", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--warm", action="store_true", help="with the compiled code of this checkout")
    options = parser.parse_args()
    results = Measurement(("typer",))
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        graph, snapshot = made_hierarchy(options.concepts), str(folder / "graph.cuihop")
        graph.save(snapshot)
        hops = graph.distance("C0000010", "C0000500")
        opened = _OPEN.format(snapshot)
        codes = {
            "python": "pass",
            "import numpy": "import numpy",
            "import cuihop": "import cuihop",
            "first distance": f"{opened}assert graph.distance({_PAIR[1:-1]}) == {hops}",
            "import numba": "import numba",
            "a batch of 100": f"{opened}assert set(graph.distances([{_PAIR}] * 100)) == {{{hops}}}",
            "an evaluation": opened + _EVALUATION.format(),
        }
        commands = {what: [sys.executable, "-c", code] for what, code in codes.items()}
        program = Path(sys.executable).with_name("cuihop")
        commands["cuihop --help"] = [str(program), "--help"]
        commands["cuihop distance"] = [str(program), "distance", "--graph", snapshot, "C0000010", "C0000500"]
        print(f"{options.concepts:,} concepts{'':8}{'first s':>10}{'then s':>10}{'processor s':>13}")
        for number, (what, command) in enumerate(commands.items()):
            cache = None if options.warm else folder / f"cache{number}"
            first = run(command, cache, 1)[0] if cache else float("nan")
            then, work = run(command, cache, options.repeats)
            print(f"{what:26}{first:10.3f}{then:10.3f}{work:13.3f}", flush=True)
            subject = "cuihop" if "numpy" not in what and "numba" not in what and what != "python" else what
            if cache:
                results.add(f"{what}, first", subject, first, "s")
            results.add(f"{what}, then", subject, then, "s")
            results.add(f"{what}, processor time", subject, work, "s")
    results.save(options.json)


if __name__ == "__main__":
    main()
