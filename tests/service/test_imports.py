"""The modules that a plain service leaves alone."""

from __future__ import annotations

import subprocess
import sys

RARELY_USED = ("cryptography", "mcp", "neo4j", "numba", "pandas", "pyarrow", "redis", "scipy")


def test_a_worker_imports_what_few_services_use_only_for_them() -> None:
    """Each of them takes a tenth of a second or more of every start."""
    script = f"import sys, cuihop_service.worker; print([n for n in {RARELY_USED} if n in sys.modules])"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"
