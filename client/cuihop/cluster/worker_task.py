"""A task of a worker: some blocks of a mapped work, in all threads of the worker."""

from __future__ import annotations

import hashlib
import pickle
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from cuihop.cluster.mapped_work import MappedWork
from cuihop.errors import ClusterError, CuihopError
from cuihop.resources.cores import in_order
from cuihop.resources.versions import versions

PACKAGES = ("cuihop", "numpy", "numba")
"""Packages that the bits of a result depend on."""

_one_task = threading.Lock()  # Dask starts one task a thread, and a task uses all threads


@dataclass(frozen=True, slots=True)
class ComputedBlocks:
    """The results of a task.

    Attributes:
        seconds: time that they took. values: of each block, as `BlockWork.values`.
    """

    seconds: float
    values: Sequence[npt.NDArray[np.float64]]


@cache
def arithmetic() -> Mapping[str, str]:
    """Versions that the bits of a result depend on, and a digest of logarithms, which depend on the processor."""
    logarithms = hashlib.sha256(np.log2(np.arange(2.0, 4098.0)).tobytes()).hexdigest()[:12]
    found = versions(*PACKAGES)
    return {**{package: found[package] for package in PACKAGES}, "logarithms": logarithms}


def compute(mapped: MappedWork, expected: Mapping[str, str], numbers: Sequence[int]) -> ComputedBlocks | CuihopError:
    """Compute some blocks in the threads of this Dask worker, one call at a time.

    Args:
        mapped: the work. expected: `arithmetic` of the client. numbers: the blocks.

    Returns:
        The values; or an error of cuihop, which is not raised, so that Dask does not try again.
    """
    from distributed import get_worker
    from threadpoolctl import threadpool_limits

    available = get_worker().state.nthreads
    with _one_task:
        try:
            _compare(expected)
            begin = time.perf_counter()
            work = mapped.open()
            threads = max(1, min(available, work.threads))
            with threadpool_limits(max(1, available // threads), user_api="blas"):
                values = list(in_order(work.values, numbers, threads))
        except CuihopError as error:
            return _portable(error)
        return ComputedBlocks(time.perf_counter() - begin, values)


def _compare(expected: Mapping[str, str]) -> None:
    for name, here in arithmetic().items():
        if here != expected[name]:
            advice = ""
            if name == "logarithms":
                advice = ". Its processor has other instructions: see NPY_DISABLE_CPU_FEATURES of NumPy"
            raise ClusterError(
                f"the worker on {socket.gethostname()} would not compute the same bits: it has {name} {here}, "
                f"and this process {expected[name]}{advice}"
            )


def _portable(error: CuihopError) -> CuihopError:
    """The error, or its text where it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 – made here
    except Exception:  # the constructor of an error may take other arguments than its text
        return ClusterError(str(error))
    return error
