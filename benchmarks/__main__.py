"""All measurements, one after the other, into ``benchmarks/RESULTS.md``.

::

    python -m benchmarks            about half an hour; wants a machine with nothing else to do
    python -m benchmarks --smoke    small sizes, to see that everything runs; writes no file
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
QUESTIONS: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("How long does it take to read is_a rows?", "load.py", ("--release",), ("--rows", "200000", "--release")),
    ("How long does one exact distance take?", "distances.py", (), ("--concepts", "20000", "--pairs", "1000")),
    (
        "How does the time of a distance grow with the graph?",
        "growth.py",
        ("--plot", "benchmarks/growth.svg"),
        ("--sizes", "1000", "10000"),
    ),
    ("What does the cache cost, and save?", "cache.py", (), ("--concepts", "20000", "--rows", "400000")),
    (
        "How many questions a second does the service answer?",
        "service.py",
        (),
        ("--concepts", "20000", "--rows", "400000", "--seconds", "1", "--rounds", "1"),
    ),
    ("What does knowing the caller cost?", "guard.py", (), ("--calls", "500")),
    ("How long does a whole evaluation take?", "rocov2.py", (), ()),
    ("How far does an evaluation scale?", "evaluation.py", (), ("--images", "400")),
    ("How long does one more letter take?", "search.py", (), ("--concepts", "5000", "--typed", "20")),
    ("How long does a Neo4j server take?", "neo4j_store.py", (), ("--concepts", "2000", "--rows", "40000")),
)
PACKAGES = ("numpy", "numba", "networkx", "polars", "pandas", "neo4j")


def main() -> None:
    """Run them, show what they print, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true")
    smoke = parser.parse_args().smoke
    report = ["# Results", "", f"Made by `make bench` on {datetime.date.today()}.", "", _machine(), ""]
    for question, script, full, small in QUESTIONS:
        arguments = small if smoke else full
        command = " ".join(["python", f"benchmarks/{script}", *arguments])
        print(f"\n== {question}\n$ {command}", flush=True)
        process = subprocess.Popen(
            [sys.executable, str(FOLDER / script), *arguments], stdout=subprocess.PIPE, text=True, cwd=FOLDER.parent
        )
        lines = []
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line.rstrip())
        if process.wait():
            raise SystemExit(f"{command} ended with {process.returncode}")
        report += [f"## {question}", "", "```", f"$ {command}", *lines, "```", ""]
    if not smoke:
        (FOLDER / "RESULTS.md").write_text("\n".join(report), encoding="utf-8")


def _machine() -> str:
    cpu = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        lines = information.read_text().splitlines()
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
        cpu = names[0] if names else cpu
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"Machine: {os.cpu_count()} cores ({cpu}), {platform.system()}. "
        f"Versions: Python {platform.python_version()}, {packages}. "
        "Times vary by a third on a shared machine; ratios within one run say more."
    )


if __name__ == "__main__":
    main()
