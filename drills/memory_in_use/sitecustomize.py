"""Read by each process of a service under a drill. On a signal, it writes how much memory is in use to a file.

What glibc or Python keeps free for the next request is not counted: it grows and shrinks without a leak.
"""

import ctypes
import gc
import os
import signal
import sys
from pathlib import Path


class _Counts(ctypes.Structure):
    """The ``struct mallinfo2`` of ``mallinfo(3)``."""

    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
    )]  # fmt: skip


_glibc = ctypes.CDLL(None)
_glibc.mallinfo2.restype = _Counts


def _write(*_: object) -> None:
    gc.collect()
    counts = _glibc.mallinfo2()
    file = Path(os.environ["MEMORY_IN_USE"], str(os.getpid()))
    part = file.with_suffix(".part")
    part.write_text(f"{counts.uordblks + counts.hblkhd} {sys.getallocatedblocks()}", encoding="ascii")
    part.replace(file)


signal.signal(signal.SIGRTMIN, _write)
