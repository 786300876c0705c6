"""Connections to a Dask cluster: a scheduler by its address or its file, or processes started on this machine."""

from __future__ import annotations

import contextlib
import gc
import json
import logging
import re
import signal
import tempfile
import threading
import warnings
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from cuihop.cluster.dask_cluster import DaskCluster
from cuihop.cluster.mapped_work import PACKAGES, arithmetic
from cuihop.errors import ClusterError, InputError
from cuihop.files.text_lines import counted
from cuihop.resources.cores import cores
from cuihop.resources.optional_packages import installed_by

__all__ = ["open_cluster"]

_NOISY = ("asyncio", "distributed", "tornado")
_LOCAL = re.compile(r"local:([0-9]{1,4})")
_SCHEDULER = re.compile(r"(tcp|tls)://\S+:[0-9]+")
_LARGEST_FILE = 1 << 20
_CONNECT = 10.0  # seconds
_EXPECTED = "local:N, tcp://HOST:PORT, tls://HOST:PORT, or the scheduler file of dask scheduler"


@contextlib.contextmanager
def open_cluster(
    address: str, folder: str | Path | None = None, *, wait: float = 60.0
) -> Iterator[DaskCluster]:  # fmt: skip
    """Connect to a Dask cluster, for ``Resources(cluster=…)``; ``local:N`` starts and ends N processes here.

    The processes of ``local:N`` listen on the loopback interface only, with certificates of their own. For any other
    cluster the settings of Dask apply, those of TLS too: ``DASK_DISTRIBUTED__COMM__TLS__CA_FILE`` and the like.

    Args:
        address: ``local:N``, ``tcp://HOST:PORT``, ``tls://HOST:PORT``, or the path of a scheduler file.
        folder: folder on a disk that every machine of the cluster sees under this path. It receives the data of a job,
            as large as its arrays, until the job ends. ``local:N`` needs none: a private temporary one is used.
        wait: seconds that a job waits for a worker where there is none.

    Raises:
        InputError: the address has another form, or lacks a folder.
        ClusterError: the scheduler cannot be reached, no worker comes, or a worker has other versions.
        ModuleNotFoundError: the extra ``cluster`` is not installed.
    """
    local, target = _parsed(address)
    if folder is None and not local:
        raise InputError(
            "no folder for the cluster", column="cluster_folder", found="none",
            expected="a folder that every machine of the cluster sees under the same path",
        )  # fmt: skip
    with contextlib.ExitStack() as until_the_end:
        with installed_by("cuihop[cluster]"):
            import distributed  # noqa: F401 – an error names the extra, before anything is started
        until_the_end.enter_context(_quiet())
        private = Path(until_the_end.enter_context(tempfile.TemporaryDirectory(prefix="cuihop-cluster-")))
        if local:
            target = until_the_end.enter_context(_local_cluster(local, private))
        client = until_the_end.enter_context(_connected(target))
        workers = _workers(client, wait)
        scheduler = client.scheduler.address
        threads = max(workers.values())
        summary = f"cluster {scheduler}: {counted(len(workers), 'worker')}, {counted(threads, 'thread')} each at most"
        if client.dashboard_link and not local:
            summary += f", dashboard {client.dashboard_link}"
        yield DaskCluster(client, scheduler, Path(folder or private), wait, threads, summary)


def _parsed(address: str) -> tuple[int, str]:
    """Number of processes to start, 0 for none, and the address of the scheduler; refuses another address or file."""
    match = _LOCAL.fullmatch(address.strip())
    if match is not None and int(match[1]) > 0:
        return int(match[1]), ""
    if _SCHEDULER.fullmatch(address.strip()):
        return 0, address.strip()
    path = Path(address)
    if match is not None or "://" in address or not path.is_file():
        raise InputError("not a cluster", column="cluster", found=repr(address), expected=_EXPECTED)
    try:
        with path.open("rb") as file:
            target = json.loads(file.read(_LARGEST_FILE))["address"]
        if not _SCHEDULER.fullmatch(target):
            raise ValueError(target)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise InputError(
            "not a scheduler file", file=path, expected="what dask scheduler --scheduler-file writes"
        ) from None
    return 0, target


@contextlib.contextmanager
def _local_cluster(processes: int, folder: Path) -> Generator[Any, None, None]:
    import dask
    from distributed import LocalCluster
    from distributed.security import Security

    with installed_by("cuihop[cluster]"):
        import cryptography
    del cryptography
    threads = max(1, cores() // processes)
    # Dask's HTTP servers, which ask for no certificate, have no page: every user of this machine could read them.
    without_pages: dict[str, list[str]] = {f"distributed.{role}.http.routes": [] for role in ("scheduler", "worker")}
    with _ignored_interrupts(), dask.config.set(without_pages):
        cluster = LocalCluster(
            n_workers=processes, threads_per_worker=threads, processes=True, host="127.0.0.1",
            security=Security.temporary(), dashboard_address="127.0.0.1:0", scheduler_kwargs={"dashboard": False},
            local_directory=str(folder), silence_logs=logging.CRITICAL, memory_limit=0,
        )  # fmt: skip
    with cluster:
        yield cluster


@contextlib.contextmanager
def _ignored_interrupts() -> Generator[None, None, None]:
    """Ignore Ctrl-C; so do processes that start meanwhile, for as long as they run: this process ends them."""
    if threading.current_thread() is not threading.main_thread():  # no other can set it
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _connected(target: Any) -> Generator[Any, None, None]:
    from distributed import Client

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # versions that bits depend on are compared below, as errors
            client = Client(target, timeout=_CONNECT, set_as_default=False, name="cuihop")
    except (OSError, ValueError, TypeError) as error:
        (reason, *_) = (str(error).strip() or type(error).__name__).splitlines()
        raise ClusterError(f"{target}: no Dask scheduler can be reached: {reason}") from error
    with client:
        yield client


def _workers(client: Any, wait: float) -> dict[str, int]:
    """Worker → threads, of the workers that are there; a `ClusterError` if none comes, or one has other versions."""
    with contextlib.suppress(TimeoutError):
        client.wait_for_workers(1, timeout=wait)
    workers: dict[str, int] = client.nthreads()
    if not workers:
        raise ClusterError(f"{client.scheduler.address}: no worker came within {wait:g} seconds")
    ours = arithmetic()
    of_workers = client.get_versions(packages=PACKAGES)["workers"]
    for worker in sorted(of_workers):
        for package in PACKAGES:
            installed = of_workers[worker]["packages"].get(package) or "not installed"
            if installed != ours[package]:
                raise ClusterError(
                    f"worker {worker}: {package} {installed}, and {ours[package]} in this process. "
                    "Results depend on it to the last bit: install the same version everywhere."
                )
    return workers


@contextlib.contextmanager
def _quiet() -> Generator[None, None, None]:
    """Keep Dask's log from the terminal, for its content reaches the user as errors of cuihop."""
    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] in _NOISY]
    loggers = [logging.getLogger(name) for name in names]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        gc.collect()  # asyncio logs an exception that nobody fetched when its task is collected
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
