"""Machine code of earlier runs: used again, and compiled anew where its file cannot be read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import numpy as np
from cuihop._kernels.tokens import hashes_of
value = hashes_of(np.array([0, 2]), np.array([97, 98], dtype=np.uint32))[0]
print(value, sum(hashes_of.stats.cache_hits.values()))
"""


def run(cache: Path) -> tuple[str, str]:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    value, hits = done.stdout.split()
    return value, hits


@pytest.mark.slow
@pytest.mark.parametrize(
    "content", [b"", b"\x80\x04", b"\x80\x04\x95\x1a\x00\x00\x00\x00\x00\x00\x00\x8c\x03nothing\x94."]
)
def test_code_that_cannot_be_read_is_compiled_anew(tmp_path: Path, content: bytes) -> None:
    value, hits = run(tmp_path)
    assert hits == "0"
    assert run(tmp_path) == (value, "1")
    for index in tmp_path.rglob("*.nbi"):
        index.write_bytes(content)
    assert run(tmp_path) == (value, "0")
    assert run(tmp_path) == (value, "1")


INTERRUPTED = """
import signal
import numpy as np
from numba.core.codegen import CPUCodeLibrary

hook, left = CPUCodeLibrary._object_compiled_hook, [1]

def interrupting(module, machine_code):
    if left:
        left.clear()
        signal.raise_signal(signal.SIGINT)
    hook(module, machine_code)

CPUCodeLibrary._object_compiled_hook = interrupting
from cuihop._kernels.jit import signed
try:
    signed(np.uint8(3))
except KeyboardInterrupt:
    print("interrupted", left)
print(signed(np.uint8(3)))
"""


def test_an_interrupt_while_code_is_compiled_comes_after_it(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("interrupted []\n3\n", "", 0)
