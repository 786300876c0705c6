"""How long it takes to read MRREL into distinct is_a edges: cuihop's scanner beside polars, pandas and the csv module.

::

    python benchmarks/load.py [--rows 20000000] [--concepts 1000000] [--release] [--folder FOLDER] [--json FILE]

The file is synthetic and lies in the page cache. Each reader has a process of its own, does the same work (rows with
RELA isa or inverse_isa and SUPPRESS N; both ways of writing; self-loops and repeats left out), and hands over the edges
as numbers. They are compared with what was put into the file; a difference ends the run. "First" contains the imports
and the loading of compiled code, "then" is the median of the runs after it. cuihop also counts the columns of every row
and checks that all of it is UTF-8; the others check less. ``cat`` and ``wc -l`` show how fast the machine reads
the file at all.

``--release`` makes MRCONSO of full size, too (17 rows for 20 of MRREL), and loads all files into a snapshot, which is
then opened and checked against its checksums, and asked for the concepts of a million codes. A third load tells the
time of its stages apart, among them what the forms and the spellings of words cost within the index of names. A fourth
is one without the codes of vocabularies.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from measurement import Measurement, arguments_of, peak_megabytes

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def by_cuihop(path: Path) -> npt.NDArray[np.int64]:
    """The project's own scanner, as a load uses it.

    Returns the edges, ascending: the digits of the child's CUI times 2^32, plus those of the parent's.
    """
    import numpy as np

    from cuihop_loader.identifier_codes import IdentifierCodes, ReleaseReading
    from cuihop_loader.is_a_rows import read_is_a_rows
    from cuihop_loader.options import LoadOptions
    from cuihop_loader.rejected_rows import rejected_rows
    from cuihop_loader.sources import found_files

    options = LoadOptions()
    file = found_files([path])["MRREL"][0]
    with rejected_rows(options) as rejected:
        reading = ReleaseReading(options, IdentifierCodes(), rejected, lambda *_: None, only_cuis=True)
        edges = read_is_a_rows(file, reading).edges
    answer = edges.children.astype(np.int64)
    answer -= 1  # codes are digits plus one
    answer <<= 32
    answer += edges.parents
    answer -= 1
    return answer


def by_polars(path: Path) -> npt.NDArray[np.int64]:
    """A lazy scan with the streaming engine."""
    import polars as pl

    names = [f"c{i}" for i in range(17)]  # the bar at the end of a row makes one column more
    rows = pl.scan_csv(
        path,
        separator="|",
        has_header=False,
        quote_char=None,
        schema=dict.fromkeys(names, pl.String),
    )
    down = pl.col("c7") == "isa"
    first, second = (pl.col(column).str.slice(1).cast(pl.Int64) for column in ("c0", "c4"))
    edges = (
        rows.filter(pl.col("c7").is_in(["isa", "inverse_isa"]), pl.col("c14") == "N", pl.col("c0") != pl.col("c4"))
        .select(
            edge=pl.when(down).then(second).otherwise(first) * (1 << 32) + pl.when(down).then(first).otherwise(second)
        )
        .unique()
        .collect(engine="streaming")
    )
    return edges["edge"].sort().to_numpy()


def by_pandas(path: Path) -> npt.NDArray[np.int64]:
    """The C engine, a million rows at a time."""
    import csv

    import numpy as np
    import pandas as pd

    found = []
    for part in pd.read_csv(
        path,
        sep="|",
        header=None,
        usecols=[0, 4, 7, 14],
        dtype=str,
        quoting=csv.QUOTE_NONE,
        keep_default_na=False,
        chunksize=1_000_000,
    ):
        kept = part[part[7].isin(["isa", "inverse_isa"]) & (part[14] == "N") & (part[0] != part[4])]
        first = kept[0].str.slice(1).astype(np.int64).to_numpy()
        second = kept[4].str.slice(1).astype(np.int64).to_numpy()
        down = (kept[7] == "isa").to_numpy()
        found.append(np.where(down, second, first) << 32 | np.where(down, first, second))
    return np.array(sorted_distinct(np.concatenate(found)))


def by_csv(path: Path) -> npt.NDArray[np.int64]:
    """The standard library, row by row."""
    import csv

    import numpy as np

    found = set()
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.reader(file, delimiter="|", quoting=csv.QUOTE_NONE):
            if row[14] == "N" and row[0] != row[4]:
                if row[7] == "isa":
                    found.add(int(row[4][1:]) << 32 | int(row[0][1:]))
                elif row[7] == "inverse_isa":
                    found.add(int(row[0][1:]) << 32 | int(row[4][1:]))
    return np.sort(np.fromiter(found, dtype=np.int64, count=len(found)))


READERS: dict[str, tuple[Callable[[Path], npt.NDArray[np.int64]], int, str | None]] = {
    "cuihop": (by_cuihop, 4, "numba"),
    "polars": (by_polars, 4, "polars"),
    "pandas": (by_pandas, 1, "pandas"),
    "csv": (by_csv, 1, None),
}
"""What reads, how often it does, and the package whose version matters."""


PLAIN = (("cat",), ("wc", "-l"))
"""Commands that read a file and do little or nothing."""


def seconds_to_read(command: tuple[str, ...], files: list[Path]) -> float:
    """The median of five runs of a plain command over the files."""
    spent = []
    for _ in range(5):
        before = time.perf_counter()
        subprocess.run([*command, *map(str, files)], stdout=subprocess.DEVNULL, check=True)
        spent.append(time.perf_counter() - before)
    return sorted(spent)[len(spent) // 2]


def sorted_distinct(edges: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Ascending, without repeats."""
    from cuihop.resources.arrays import ascending

    return ascending(edges)


def digest(edges: npt.NDArray[np.int64]) -> str:
    """By which edges are compared between processes."""
    return hashlib.sha256(edges.data).hexdigest()


def measure(reader: str, path: Path) -> dict[str, Any]:
    """Run one reader in this process."""
    read, repeats, _ = READERS[reader]
    spent = []
    for _ in range(repeats):
        before = time.perf_counter()
        edges = read(path)
        spent.append(time.perf_counter() - before)
        told = {"edges": len(edges), "digest": digest(edges)}
        del edges  # not to be counted as memory of the next time
    after = sorted(spent[1:])
    return {
        "reader": reader,
        "first_s": spent[0],
        "then_s": after[len(after) // 2] if after else None,
        "peak_mb": peak_megabytes(),
        **told,
    }


STAGES = (
    ("MRREL", "cuihop_loader.release_files", "read_is_a_rows"),
    ("MRCONSO", "cuihop_loader.release_files", "read_names"),
    ("names chosen", "cuihop_loader.release_files", "with_names"),
    ("codes", "cuihop_loader.source_codes", "code_sections"),
    ("structure", "cuihop_loader.loading", "structure"),
    ("edges in rows", "cuihop.snapshot.writer", "hierarchy_rows"),
    ("descendants", "cuihop.snapshot.writer", "counted_descendants"),
    ("index of names", "cuihop.snapshot.writer", "name_index_sections"),
    ("forms", "cuihop.snapshot.name_index_builder", "form_of"),
    ("forms", "cuihop._kernels.name_index", "form_sets"),
    ("forms", "cuihop.snapshot.name_index_builder", "_by_key"),
    ("spellings", "cuihop.snapshot.name_index_builder", "_spellings"),
    ("terms", "cuihop.snapshot.writer", "term_table_sections"),
    ("writing", "cuihop.snapshot.file", "write_sections"),
)
"""Stages of a load, by the functions that they are; forms and spellings are part of the index of names."""


def seconds_of_stages(load: Callable[[], object]) -> dict[str, float]:
    """Seconds of each stage of a load. Two that run at the same time overlap."""
    seconds = dict.fromkeys((stage for stage, _, _ in STAGES), 0.0)

    def timed(stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            before = time.perf_counter()
            try:
                return function(*arguments, **options)
            finally:
                seconds[stage] += time.perf_counter() - before

        return call

    with ExitStack() as stack:
        for stage, module, name in STAGES:
            function = timed(stage, getattr(import_module(module), name))
            stack.enter_context(mock.patch(f"{module}.{name}", function))
        load()
    return seconds


def measure_release(folder: Path) -> dict[str, Any]:
    """Load all files of the folder twice in this process, and open and check the snapshot."""
    from cuihop import SnapshotGraph
    from cuihop_loader.loading import load_to
    from cuihop_loader.options import LoadOptions

    path = folder / "graph.cuihop"
    spent, checked, peaks = [], [], []
    for _ in range(2):
        before = time.perf_counter()
        report = load_to(path, [folder]).report
        spent.append(time.perf_counter() - before)
        peaks.append(peak_megabytes())
        before = time.perf_counter()
        with SnapshotGraph.open(path) as graph:
            graph.verify()
        checked.append(time.perf_counter() - before)
    stages = seconds_of_stages(lambda: load_to(path, [folder]))
    size, codes = path.stat().st_size / 1e6, microseconds_of_codes(path)
    before = time.perf_counter()
    load_to(path, [folder], LoadOptions(codes=False))
    return {
        "first_s": spent[0],
        "then_s": spent[1],
        "verify_s": checked[1],
        "stages_s": stages,
        "without_codes_s": time.perf_counter() - before,
        "without_codes_mb": path.stat().st_size / 1e6,
        "codes_us": codes,
        "peak_mb": peaks[0],  # later ones have the mapped snapshot in them
        "snapshot_mb": size,
        "files": {file.role: {"rows": file.rows, "bytes": file.bytes} for file in report.files},
        "concepts": report.concepts,
        "edges": report.edges,
        "names": report.names,
    }


def microseconds_of_codes(path: Path) -> dict[str, float]:
    """The time of a code in a batch of at most a million: found among the codes, and resolved to its concept."""
    import numpy as np

    from cuihop import SnapshotGraph
    from cuihop.snapshot.source_codes import SourceCodes
    from cuihop.snapshot.string_table import IdentifierTable

    with SnapshotGraph.open(path) as graph:
        cuis_of = IdentifierTable(graph.sections["cuis"])
        cuis = cuis_of.at(np.arange(0, len(graph), max(1, len(graph) // 60_000)))
        codes = [f"{code.sab}:{code.code}" for lookup in graph.codes(cuis) for code in lookup.codes][:1_000_000]
        seconds = {}
        for name, look_up in {"found": SourceCodes(graph.sections, cuis_of).numbers, "resolved": graph.resolve}.items():
            look_up(codes[:100])
            before = time.perf_counter()
            look_up(codes)
            seconds[name] = (time.perf_counter() - before) / len(codes) * 1e6
        return seconds


def made(folder: Path, concepts: int, rows: int, names: int | None) -> dict[str, Any]:
    """Write the files. Returns what a reader of MRREL must find."""
    from cuihop_tools.synthetic_release import SyntheticRelease, write

    found = write(folder, SyntheticRelease(concepts=concepts, rows=rows, names=names)).edges("isa").astype("int64")
    edges = found[:, 0] << 32 | found[:, 1]
    return {"edges": len(edges), "digest": digest(edges)}


def in_a_process(*arguments: str) -> dict[str, Any]:
    """Run this file with other arguments and no machine code kept, and read what it prints."""
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, __file__, *arguments], env=os.environ | {"NUMBA_CACHE_DIR": cache},
            stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def main() -> None:
    """Measure, and print a table."""
    parser = arguments_of(__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--concepts", type=int, help="one for twenty rows if not given")
    parser.add_argument("--release", action="store_true", help="load a whole release, too")
    parser.add_argument("--folder", type=Path, help="where the files go for the time of the run")
    parser.add_argument("--only", choices=["make", "release", *READERS], help=argparse.SUPPRESS)
    options = parser.parse_args()
    concepts = options.concepts or max(20, options.rows // 20)
    if options.only:
        if options.only == "make":
            answer = made(options.folder, concepts, options.rows, options.rows * 17 // 20 if options.release else None)
        elif options.only == "release":
            answer = measure_release(options.folder)
        else:
            answer = measure(options.only, options.folder / "MRREL.RRF")
        print(json.dumps(answer))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        common = ["--folder", name, "--rows", str(options.rows), "--concepts", str(concepts)]
        expected = in_a_process("--only", "make", *common, *(["--release"] if options.release else []))
        results = Measurement(("polars", "pandas"))
        compared(folder, common, expected, options.rows, results)
        if options.release:
            whole_release(folder, common, results)
    results.save(options.json)


def compared(folder: Path, common: list[str], expected: dict[str, Any], rows: int, results: Measurement) -> None:
    """All readers of MRREL, one after the other, as a table."""
    file = folder / "MRREL.RRF"
    size = file.stat().st_size
    print(f"{rows:,} rows, {size / 1e9:.2f} GB, {expected['edges']:,} distinct edges, "
          f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}")  # fmt: skip
    print(f"{'reader':26}{'first s':>10}{'then s':>10}{'GB/s':>10}{'peak MB':>10}")
    plain = {}
    for command in PLAIN:
        if shutil.which(command[0]):
            seconds = plain[" ".join(command)] = seconds_to_read(command, [file])  # the first run brings it into memory
            print(f"{' '.join(command):26}{'':10}{seconds:10.2f}{size / 1e9 / seconds:10.2f}", flush=True)
            results.add("MRREL read", " ".join(command), seconds, "s")
    own = None
    for reader, (_, _, package) in READERS.items():
        found = in_a_process("--only", reader, *common)
        if (found["edges"], found["digest"]) != (expected["edges"], expected["digest"]):
            raise SystemExit(f"{reader}: {found['edges']:,} edges that are not those of the file")
        told = f"{reader} ({package} {version(package)})" if package else reader
        first, then = found["first_s"], found["then_s"]
        fastest = first if then is None else then
        print(f"{told:26}{first:10.2f}{'' if then is None else f'{then:.2f}':>10}"
              f"{size / 1e9 / fastest:10.2f}{found['peak_mb']:10.0f}", flush=True)  # fmt: skip
        own = own or fastest
        results.add("MRREL read", told, fastest, "s")
        results.add("MRREL read for the first time", told, first, "s")
        results.add("MRREL read, peak memory", told, found["peak_mb"], "MB")
    if own:
        print("cuihop reads at " + ", ".join(f"{s / own:.0%} of the speed of {name}" for name, s in plain.items()))


def whole_release(folder: Path, common: list[str], results: Measurement) -> None:
    """All files to a snapshot, in a few lines."""
    files = sorted(folder.glob("*.RRF"))
    size = sum(file.stat().st_size for file in files)
    plain = {" ".join(c): seconds_to_read(c, files) for c in PLAIN if shutil.which(c[0])}
    found = in_a_process("--only", "release", *common)
    print("\nA whole release: " + ", ".join(
        f"{role} {facts['rows']:,} rows ({facts['bytes'] / 1e9:.2f} GB)" for role, facts in found["files"].items()
    ))  # fmt: skip
    print(f"to a snapshot of {found['concepts']:,} concepts, {found['edges']:,} edges and {found['names']:,} names, "
          f"{found['snapshot_mb']:.0f} MB")  # fmt: skip
    print(f"{'':26}{'first s':>10}{'then s':>10}{'GB/s':>10}{'peak MB':>10}")
    for name, seconds in plain.items():
        print(f"{name + ', all files':26}{'':10}{seconds:10.2f}{size / 1e9 / seconds:10.2f}")
    print(f"{'cuihop load':26}{found['first_s']:10.2f}{found['then_s']:10.2f}{size / 1e9 / found['then_s']:10.2f}"
          f"{found['peak_mb']:10.0f}")  # fmt: skip
    print(f"{'open, verify checksums':26}{'':10}{found['verify_s']:10.2f}")
    without = found["without_codes_mb"]
    print(f"{'without codes':26}{'':10}{found['without_codes_s']:10.2f}   {without:.0f} MB of snapshot")
    for name, microseconds in found["codes_us"].items():
        print(f"a code of a million, {name}: {microseconds:.2f} µs")
        results.add("a code of a million", name, microseconds, "µs")
    for stage, seconds in found["stages_s"].items():
        print(f"{'of a load: ' + stage:26}{'':10}{seconds:10.2f}")
        results.add("a whole release, by stage", stage, seconds, "s")
    for name, seconds in plain.items():
        results.add("a whole release", name, seconds, "s")
    results.add("a whole release", "cuihop load", found["then_s"], "s")
    results.add("a whole release, first", "cuihop load", found["first_s"], "s")
    results.add("a whole release, peak memory", "cuihop load", found["peak_mb"], "MB")
    results.add("open, verify checksums", "cuihop", found["verify_s"], "s")
    results.add("a whole release, without codes", "cuihop load", found["without_codes_s"], "s")


if __name__ == "__main__":
    main()
