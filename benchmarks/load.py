"""How long it takes to read MRREL into distinct is_a edges: cuihop's scanner beside polars, pandas and the csv module.

::

    python benchmarks/load.py [--rows 20000000] [--concepts 1000000] [--folder FOLDER] [--json FILE]

The file is synthetic and lies in the page cache. Each reader has a process of its own, does the same work (rows with
RELA isa or inverse_isa and SUPPRESS N; both ways of writing; self-loops and repeats left out), and hands over the edges
as numbers. They are compared with what was put into the file; a difference ends the run. "First" contains the imports
and the loading of compiled code, "then" is the median of the runs after it. cuihop also counts the columns of every row
and checks that all of it is UTF-8; the others check less.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measurement import Measurement, arguments_of, peak_megabytes

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def by_cuihop(path: Path) -> npt.NDArray[np.int64]:
    """The project's own scanner, as a load uses it.

    Returns the edges, ascending: the digits of the child's CUI times 2^32, plus those of the parent's.
    """
    import numpy as np

    from cuihop_loader.identifier_codes import IdentifierCodes
    from cuihop_loader.is_a_rows import read_is_a_rows
    from cuihop_loader.options import LoadOptions
    from cuihop_loader.rejected_rows import rejected_rows
    from cuihop_loader.sources import found_files

    options = LoadOptions()
    file = found_files([path])["MRREL"][0]
    with rejected_rows(options) as rejected:
        edges = read_is_a_rows(file, options, IdentifierCodes(), rejected, None, only_cuis=True).edges
    # Codes are digits plus one.
    return (edges.children.astype(np.int64) - 1) << 32 | (edges.parents.astype(np.int64) - 1)


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


def sorted_distinct(edges: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Ascending, without repeats."""
    from cuihop_loader.sorted_numbers import ascending

    return ascending(edges)


def digest(edges: npt.NDArray[np.int64]) -> str:
    """By which edges are compared between processes."""
    return hashlib.sha256(edges.tobytes()).hexdigest()


def measure(reader: str, path: Path) -> dict[str, object]:
    """Run one reader in this process."""
    read, repeats, _ = READERS[reader]
    spent = []
    for _ in range(repeats):
        before = time.perf_counter()
        edges = read(path)
        spent.append(time.perf_counter() - before)
    after = sorted(spent[1:])
    return {
        "reader": reader,
        "first_s": spent[0],
        "then_s": after[len(after) // 2] if after else None,
        "peak_mb": peak_megabytes(),
        "edges": len(edges),
        "digest": digest(edges),
    }


def made(folder: Path, concepts: int, rows: int) -> dict[str, object]:
    """Write the file. Returns what a reader must find."""
    from cuihop_loader.synthetic import SyntheticRelease, write

    found = write(folder, SyntheticRelease(concepts=concepts, rows=rows)).edges("isa").astype("int64")
    edges = found[:, 0] << 32 | found[:, 1]
    return {"edges": len(edges), "digest": digest(edges)}


def in_a_process(*arguments: str) -> dict[str, Any]:
    """Run this file with other arguments, and read what it prints."""
    done = subprocess.run([sys.executable, __file__, *arguments], stdout=subprocess.PIPE, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def main() -> None:
    """Measure, and print a table."""
    parser = arguments_of(__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--concepts", type=int, help="one for twenty rows if not given")
    parser.add_argument("--folder", type=Path, help="where the file goes for the time of the run")
    parser.add_argument("--only", choices=["make", *READERS], help=argparse.SUPPRESS)
    options = parser.parse_args()
    concepts = options.concepts or max(20, options.rows // 20)
    if options.only == "make":
        print(json.dumps(made(options.folder, concepts, options.rows)))
        return
    if options.only:
        print(json.dumps(measure(options.only, options.folder / "MRREL.RRF")))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        common = ("--folder", folder, "--rows", str(options.rows), "--concepts", str(concepts))
        expected = in_a_process("--only", "make", *common)
        file = Path(folder) / "MRREL.RRF"
        with file.open("rb") as warm:  # into the page cache
            while warm.read(1 << 24):
                pass
        print(f"{options.rows:,} rows, {file.stat().st_size / 1e9:.2f} GB, {expected['edges']:,} distinct edges, "
              f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}")  # fmt: skip
        print(f"{'reader':26}{'first s':>10}{'then s':>10}{'peak MB':>10}")
        results = Measurement(("polars", "pandas"))
        for reader, (_, _, package) in READERS.items():
            found = in_a_process("--only", reader, *common)
            if (found["edges"], found["digest"]) != (expected["edges"], expected["digest"]):
                raise SystemExit(f"{reader}: {found['edges']:,} edges that are not those of the file")
            told = f"{reader} ({package} {version(package)})" if package else reader
            then = "" if found["then_s"] is None else f"{found['then_s']:.2f}"
            print(f"{told:26}{found['first_s']:10.2f}{then:>10}{found['peak_mb']:10.0f}", flush=True)
            results.add("MRREL read for the first time", told, found["first_s"], "s")
            if found["then_s"] is not None:
                results.add("MRREL read again", told, found["then_s"], "s")
            results.add("MRREL read, peak memory", told, found["peak_mb"], "MB")
    results.save(options.json)


if __name__ == "__main__":
    main()
