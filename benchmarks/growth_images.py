"""How the time and the memory of a whole evaluation grow with the images.

::

    python benchmarks/growth_images.py [--sizes 1000 3000 10000 30000 100000] [--plot FILE] [--json FILE]

Each job is a whole nn-CUI@{5,10,30} at n = 1 with its ideals: so many queries and as many images, drawn as in
`evaluation`, on the open graph, in a process of its own. cuihop has all cores; sparse matrices (SciPy, in blocks) are
tried up to 30,000 images. The answers are compared with cuihop's. Python sets are timed in `evaluation` alone.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

from benchmark_data import add_data_option
from cuihop.resources.cores import cores
from evaluation import measured, open_graph
from measurement import Measurement, arguments_of, require

HOPS = 1
_LARGEST_FOR_SCIPY = 30_000
_STYLES = {"cuihop": "D-", "SciPy, in blocks": "^-."}
_JOBS = {"cuihop": "cuihop", "SciPy, in blocks": "scipy"}
_TIME, _MEMORY = "seconds", "peak memory"


def compare(folder: Path, arguments: argparse.Namespace, results: Measurement) -> None:
    """All sizes, one line each, the graph kept in a folder."""
    open_graph(arguments.data).save(folder / "graph.cuihop")
    print(f"{'images':>10}{'pairs':>18}" + "".join(f"{name + ' s':>22}{'peak MB':>9}" for name in _JOBS))
    arguments.images = min(arguments.sizes)
    measured(folder, arguments, "cuihop", "drawn", HOPS, cores())  # compiled code is kept for the processes to come
    for size in arguments.sizes:
        arguments.images = size
        cells = []
        for subject, job in _JOBS.items():
            if subject.startswith("SciPy") and size > _LARGEST_FOR_SCIPY:
                cells.append(f"{'–':>22}{'–':>9}")
                continue
            threads = cores() if job == "cuihop" else 1
            figures, found, _ = measured(folder, arguments, job, "drawn", HOPS, threads)
            if job == "cuihop":
                values = found
            require(bool(np.abs(found - values).max() < 1e-12), f"{subject} gives cuihop's answers")
            results.add(f"{_TIME}, {size:,} images", subject, figures["seconds"], "s")
            results.add(f"{_MEMORY}, {size:,} images", subject, figures["peak"], "MB")
            cells.append(f"{figures['seconds']:22,.2f}{figures['peak']:9,.0f}")
        print(f"{size:10,}{size * (size - 1):18,}{''.join(cells)}", flush=True)


def plotted(sizes: list[int], results: Measurement, path: Path) -> None:
    """Seconds (logarithmic) and megabytes over images (logarithmic)."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    found = {(figure.question, figure.subject): figure.value for figure in results.figures}
    figure, (above, below) = plt.subplots(2, figsize=(6, 6.5), sharex=True, layout="constrained", height_ratios=(3, 2))
    for axes, question in ((above, _TIME), (below, _MEMORY)):
        for subject, style in _STYLES.items():
            line = [found.get((f"{question}, {size:,} images", subject), np.nan) for size in sizes]
            axes.plot(sizes, line, style, label=subject)
        axes.set(xscale="log")
        axes.grid(alpha=0.3)
    above.set(yscale="log", ylabel="seconds for nn-CUI@5, 10, 30 of all queries")
    below.set(xlabel="images (queries, and corpus)", ylabel="MB at most", ylim=(0, None))
    above.legend()
    figure.savefig(path)
    plt.close(figure)


def main() -> None:
    """Measure, print, and draw."""
    parser = arguments_of(__doc__)
    add_data_option(parser)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 3_000, 10_000, 30_000, 100_000])
    parser.add_argument("--plot", type=Path)
    arguments = parser.parse_args()
    results = Measurement(("scipy",))
    with tempfile.TemporaryDirectory() as made:
        compare(Path(made), arguments, results)
    if arguments.plot:
        plotted(arguments.sizes, results, arguments.plot)
    results.save(arguments.json)


if __name__ == "__main__":
    main()
