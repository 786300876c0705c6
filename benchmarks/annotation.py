"""Annotation of texts: accuracy on an open corpus, rule by rule, and speed beside other matchers of names.

::

    python benchmarks/annotation.py [--data ../shared/data] [--names 1678900] [--texts 20000] [--only accuracy|speed]

The names are those of six open ontologies, the texts the abstracts of the NCBI disease corpus, again and again. Speed
is that of one thread, the best of three, but for the whole command, which uses all cores and reads and writes files.
"""

from __future__ import annotations

import csv
import itertools
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from annotation_accuracy import PARTS, measure_accuracy
from annotation_data import CORPUS, OpenDictionary, abstracts, names_at_scale, write_release
from annotation_matchers import MATCHERS, measured_alone
from benchmark_data import add_data_option
from measurement import Measurement, arguments_of

PEERS = ("ahocorasick-rs", "cellxgene-ontology-guide", "daachorse", "flashtext2", "pyahocorasick")
RESULTS = Measurement(PEERS)


def measure_speed(texts: Sequence[str], names: Sequence[str]) -> None:
    """Print time and memory of each matcher."""
    megabytes = sum(map(len, texts)) / 1e6
    print(f"{len(names):,} names, {len(texts):,} texts of {1e3 * megabytes / len(texts):.1f} kB; one thread")
    print(f"{'':20}{'made, s':>10}{'MB':>8}{'texts/s':>12}{'ratio':>8}{'matches':>12}")
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / "names", Path(folder) / "texts"]
        for file, items in zip(files, (names, texts), strict=True):
            file.write_text("\n".join(items), encoding="utf-8")
        ours = 0.0
        for subject in MATCHERS:
            found = measured_alone(subject, *files)
            ours = ours or found["texts/s"]
            print(f"{subject:20}{found['s']:10.1f}{found['MB']:8,.0f}{found['texts/s']:12,.0f}"
                  f"{found['texts/s'] / ours:8.2f}{found['matches']:12,.0f}", flush=True)  # fmt: skip
            RESULTS.add("matcher made", subject, found["s"], "s")
            RESULTS.add("memory of a matcher", subject, found["MB"], "MB")
            RESULTS.add("abstracts annotated", subject, found["texts/s"], "texts/s")


def measure_command(data: Path, texts: Sequence[str]) -> None:
    """Print the time of the whole command, from a CSV file to the file of concepts."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        release = write_release(data, OpenDictionary.of(data), folder / "release")
        graph, captions, concepts = (folder / name for name in ("graph.cuihop", "texts.csv", "concepts.csv"))
        with captions.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("ID", "Text"), *enumerate(texts)])
        _run("load", release, "--output", graph)
        begun = time.perf_counter()
        _run("annotate", captions, "--graph", graph, "--output", concepts)
        spent = time.perf_counter() - begun
    print(
        f"cuihop annotate, the whole command: {len(texts):,} texts in {spent:.1f} s, {len(texts) / spent:,.0f} texts/s"
    )
    RESULTS.add("cuihop annotate, the whole command", "cuihop", len(texts) / spent, "texts/s")


def _run(*arguments: str | Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cuihop", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"cuihop {arguments[0]} ended with {done.returncode}\n{done.stdout}{done.stderr}")


def main() -> None:
    """Measure, and print."""
    parser = arguments_of(__doc__)
    add_data_option(parser)
    parser.add_argument("--names", type=int, help="fewer names")
    parser.add_argument("--texts", type=int, default=20_000)
    parser.add_argument("--only", choices=("accuracy", "speed"))
    options = parser.parse_args()
    corpus = options.data / CORPUS
    names = [] if options.only == "accuracy" else names_at_scale(options.names)
    if corpus.is_dir():
        if options.only != "speed":
            measure_accuracy(options.data, RESULTS, texts=None if options.names is None else 20)
            print()
        real = [abstract.text for part in PARTS for abstract in abstracts(corpus / f"{part}.pubtator.txt.gz")]
    else:
        print(f"Accuracy is left out, for {corpus} is not there; the texts are made of names.")
        real = [" ".join(names[i : i + 40]) for i in range(0, min(len(names), 10_000), 40)]
    if options.only != "accuracy":
        texts = list(itertools.islice(itertools.cycle(real), options.texts))
        measure_speed(texts, names)
        if corpus.is_dir():
            measure_command(options.data, texts)
    RESULTS.save(options.json)


if __name__ == "__main__":
    main()
