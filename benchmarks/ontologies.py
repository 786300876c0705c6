"""How long it takes to load real ontologies, up to a million terms; and whether all their published distances are met.

::

    python benchmarks/ontologies.py [--ontology NCBITaxon --ontology CHEBI --ontology UBERON] [--json FILE]

The package cellxgene-ontology-guide carries each term with all its ancestors and their distances. Each ontology is
loaded into a snapshot in a process of its own, from JSON under zstd. Then every published distance is compared with the
upward distance in the snapshot. Four terms of UBERON differ: they contradict the parents that are published.
The file of NCBITaxon names ancestors that it does not define, the taxa above the animals: these are left out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from annotation_data import ontology_file
from measurement import Measurement, arguments_of, peak_megabytes

_CHUNK = 500_000
"""Pairs compared at a time."""


def load_one(file: Path, snapshot: Path) -> dict[str, Any]:
    """Load a file into a snapshot, and compare the distances."""
    from cuihop import SnapshotGraph
    from cuihop_loader.loading import load_to

    before = time.perf_counter()
    report = load_to(snapshot, [file]).report
    seconds, memory = time.perf_counter() - before, peak_megabytes()
    compared, differing = 0, set()
    before = time.perf_counter()
    with SnapshotGraph.open(snapshot) as graph:
        for pairs, expected in chunks(file):
            hops = graph.distances(pairs, direction="up").hops.tolist()
            compared += len(pairs)
            differing |= {pair[0] for pair, a, b in zip(pairs, hops, expected, strict=True) if a != b}
    return {
        "seconds": seconds, "peak_mb": memory, "terms": report.concepts, "edges": report.edges, "names": report.names,
        "compared": compared, "differing": len(differing), "compare_s": time.perf_counter() - before,
    }  # fmt: skip


def chunks(file: Path) -> Iterator[tuple[list[tuple[str, str]], list[int]]]:
    """Pairs of term and ancestor, both terms of the file, with their published distances, some at a time."""
    from cuihop.files.input_file import opened_input
    from cuihop_loader.json_stream import JsonStream

    pairs: list[tuple[str, str]] = []
    distances: list[int] = []
    terms = set()
    with opened_input(file).text() as source:
        document = JsonStream(source, str(file))
        for term in document.members():
            document.value()
            terms.add(term)
    with opened_input(file).text() as source:
        document = JsonStream(source, str(file))
        for term in document.members():
            within = {ancestor: hops for ancestor, hops in document.value()["ancestors"].items() if ancestor in terms}
            pairs.extend((term, ancestor) for ancestor in within)
            distances.extend(within.values())
            if len(pairs) >= _CHUNK:
                yield pairs, distances
                pairs, distances = [], []
    yield pairs, distances


def main() -> None:
    """Measure, and print a table."""
    parser = arguments_of(__doc__)
    parser.add_argument("--ontology", action="append", help="NCBITaxon, CHEBI and UBERON if not given")
    parser.add_argument("--only", nargs=2, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        print(json.dumps(load_one(*options.only)))
        return
    results = Measurement(("cellxgene-ontology-guide",))
    print(f"{'ontology':12}{'terms':>11}{'edges':>11}{'load s':>9}{'peak MB':>9}{'distances':>13}{'differing':>11}")
    for ontology in options.ontology or ("NCBITaxon", "CHEBI", "UBERON"):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, __file__, "--only", str(ontology_file(ontology)), f"{folder}/a.cuihop"]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        print(f"{ontology:12}{found['terms']:11,}{found['edges']:11,}{found['seconds']:9.1f}{found['peak_mb']:9.0f}"
              f"{found['compared']:13,}{found['differing']:11,}", flush=True)  # fmt: skip
        results.add(f"{ontology} loaded", "cuihop load", found["seconds"], "s")
        results.add(f"{ontology} loaded, peak memory", "cuihop load", found["peak_mb"], "MB")
        results.add(f"{ontology}, published distances", "cuihop", found["compared"], "distances")
        results.add(f"{ontology}, terms whose published distances differ", "cuihop", found["differing"], "terms")
    results.save(options.json)


if __name__ == "__main__":
    main()
