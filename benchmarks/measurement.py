"""What the modules of benchmarks/ measure with, and how they keep what they found: as JSON, beside what they print."""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

_OURS = "cuihop"


class Figure(NamedTuple):
    """One measured number: what was asked of everybody, who answered, and what it took."""

    question: str
    subject: str
    value: float
    unit: str


class Measurement:
    """The figures of one run of one module.

    Args:
        packages: whose versions matter, by their names in the registry.
    """

    def __init__(self, packages: Sequence[str] = ()) -> None:
        self.figures: list[Figure] = []
        self.packages = ("numpy", "numba", *packages)
        self._begun = datetime.now(UTC)
        self._command = " ".join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]])

    def add(self, question: str, subject: str, value: float, unit: str) -> None:
        """One more. A subject whose name begins with ``cuihop`` is ours; a unit that ends in ``/s`` is a rate."""
        self.figures.append(Figure(question, subject, float(value), unit))

    def ratio(self, figure: Figure) -> float | None:
        """How many times the best of ours it is, where one of ours was asked the same question."""
        same = [
            other.value
            for other in self.figures
            if (other.question, other.unit) == (figure.question, figure.unit) and other.subject.startswith(_OURS)
        ]
        ours = (max if figure.unit.endswith("/s") else min)(same, default=0.0)
        return figure.value / ours if ours else None

    def document(self) -> dict[str, Any]:
        """What is kept: the figures, and what is needed to repeat them."""
        return {
            "command": self._command,
            "date": self._begun.isoformat(timespec="seconds"),
            "machine": machine(),
            "versions": {"python": platform.python_version()} | {name: version(name) for name in self.packages},
            "figures": [figure._asdict() | {"ratio to ours": self.ratio(figure)} for figure in self.figures],
        }

    def save(self, path: Path | None) -> None:
        """Write it, where a file is named."""
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(self.document(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def arguments_of(description: str | None) -> argparse.ArgumentParser:
    """What every module can be told: where its figures go."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the figures here")
    return parser


def machine() -> dict[str, str | int]:
    """What the figures were measured on."""
    processor = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        lines = information.read_text(encoding="utf-8").splitlines()
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
        processor = names[0] if names else processor
    memory = round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9)
    return {"cores": os.cpu_count() or 1, "processor": processor, "memory GB": memory, "system": platform.system()}


def timed(call: Callable[[], object]) -> float:
    """Seconds: the median of three."""
    spent = []
    for _ in range(3):
        before = time.perf_counter()
        call()
        spent.append(time.perf_counter() - before)
    return sorted(spent)[1]


def resident_megabytes(process: int | str = "self") -> float:
    """What a process holds in memory now, in 10⁶ bytes; Linux only."""
    pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def peak_megabytes() -> float:
    """The most that this process held at a time, in 10⁶ bytes; on Linux `ru_maxrss` begins with that of its parent."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1.024e-3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1.024e-3 if sys.platform == "linux" else 1e-6)


def require(held: bool, what: str) -> None:
    """End the run where something that must hold does not."""
    if not held:
        sys.exit(f"{Path(sys.argv[0]).stem}: not so: {what}")
