"""Drills: see docs/reliability.md. Their oracles and helpers are those of the tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
