"""Drill: compiled code with the bounds of every array checked. It runs cases of other drills, and tests of kernels."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from drills.drill import Case, Found, Setting

ROOT = Path(__file__).resolve().parents[1]

_DRILLS = {"one_answer": 20, "one_evaluation": 20, "relations": 20, "damaged_files": 300}
_TESTS = (
    "tests/snapshot", "tests/relevance", "tests/similarity", "tests/evaluation", "tests/annotation", "tests/loader",
    "tests/rankings", "tests/measures", "tests/contract/test_snapshot_contract.py",
)  # fmt: skip


@contextmanager
def cases(setting: Setting) -> Iterator[Case]:
    """Checked code is another than the usual one, and is compiled and kept apart."""

    def case(rng: random.Random) -> Found:
        work = list(_DRILLS) if setting.small else [*_DRILLS, *_TESTS]
        name = rng.choice(work)
        if name in _DRILLS:
            count, seed = _DRILLS[name] // (10 if setting.small else 1), rng.randrange(1_000_000)
            command = ["drills", "--only", name, "--seed", str(seed), "--cases", str(count), "--processes", "1"]
        else:
            command = ["pytest", "-q", "-n0", "-p", "no:cacheprovider", name]
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False,
            env=os.environ | {"NUMBA_BOUNDSCHECK": "1"},
        )  # fmt: skip
        found = re.findall(r"(\d[\d,]*) (?:cases,|passed)", done.stdout)
        number = int(found[-1].replace(",", "")) if found else 0
        wrong = [f"{' '.join(command)}: {(done.stdout + done.stderr)[-2000:]}"] if done.returncode else []
        return Found(number, wrong)

    yield case
