"""A real Dask cluster: the same bits as one process, whatever worker dies; errors of ours; nothing left behind."""

from __future__ import annotations

import contextlib
import logging
import os
import random
import re
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
import trustme
import urllib3

from bolt_proxy import bolt_proxy
from clustered_jobs import (
    JOBS,
    Troubled,
    by_concepts,
    defect,
    end_of_the_worker,
    not_found,
    nothing,
    wrong_input,
)
from cuihop import Resources
from cuihop.cluster import open_cluster
from cuihop.cluster.dask_cluster import DaskCluster
from cuihop.errors import ClusterError, CuihopError, InputError
from cuihop_tools.dask_servers import DaskServers
from cuihop_tools.neo4j_server import free_ports
from dask_servers import require_dask
from waiting import wait_for

TESTS = {"PYTHONPATH": str(Path(__file__).parents[1])}
"""Workers import the works of the tests."""

KILLS = 4  # `benchmarks/scale_out.py` has twenty


@pytest.fixture(scope="module")
def local() -> Iterator[DaskCluster]:
    require_dask()
    with open_cluster("local:2") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def one_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskServers]:
    """A scheduler with a worker that no test ends."""
    require_dask()
    with DaskServers(tmp_path_factory.mktemp("dask")) as servers:
        servers.start_worker("--no-nanny", settings=TESTS)
        yield servers


@pytest.fixture
def three(dask_servers: DaskServers) -> DaskServers:
    """Two workers with a nanny, which starts them again, and one without."""
    for options in ((), (), ("--no-nanny",)):
        dask_servers.start_worker(*options, settings=TESTS)
    return dask_servers


def tasks_left(cluster: DaskCluster) -> int:
    def count(dask_scheduler: object = None) -> int:
        return sum(str(key).startswith("cuihop-") for key in dask_scheduler.tasks)  # type: ignore[attr-defined]

    wait_for(lambda: not cluster.client.run_on_scheduler(count))  # it forgets a task when its worker has answered
    return 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nn-CUI@K", "embeddings with labels", "best by BM", "ablation"])
def test_two_processes_compute_the_bits_of_one(local: DaskCluster, name: str, tmp_path: Path) -> None:
    assert JOBS[name](Resources(cluster=local), tmp_path) == JOBS[name](Resources(), tmp_path)
    assert tasks_left(local) == 0


def test_processes_of_this_machine_listen_on_loopback_with_certificates(local: DaskCluster) -> None:
    assert local.address.startswith("tls://127.0.0.1:")
    assert {address for address, _ in listening(local)} == {"127.0.0.1"}


def test_no_page_of_a_local_cluster_can_be_read_without_its_certificate(local: DaskCluster) -> None:
    read = []
    for _, port in listening(local):
        for page in ("/", "/status", "/info/main/workers.html", "/json/counts.json", "/metrics", "/health", "/sitemap"):
            with contextlib.suppress(urllib3.exceptions.HTTPError):  # a port of TLS
                answer = urllib3.request("GET", f"http://127.0.0.1:{port}{page}", retries=False, timeout=300)
                if answer.status != 404:
                    read.append(page)
    assert read == []


def listening(cluster: DaskCluster) -> set[tuple[str, int]]:
    """Addresses on which this process and the workers listen; it may have children that are other servers."""
    processes = [psutil.Process(), *map(psutil.Process, cluster.client.run(os.getpid).values())]
    return {
        (connection.laddr.ip, connection.laddr.port)
        for process in processes
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }


def test_progress_counts_queries_as_without_a_cluster(local: DaskCluster) -> None:
    seen: list[tuple[int, int]] = []
    by_concepts(Resources(cluster=local, progress=lambda done, total: seen.append((done, total))))
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert seen[-1] == (700, 700)


def test_an_interrupted_job_leaves_no_task_and_resumes_here_or_there(local: DaskCluster, tmp_path: Path) -> None:
    def interrupt(done: int, total: int) -> None:
        if 0 < done < total:
            raise KeyboardInterrupt

    blocks = tmp_path / "evaluation.blocks"
    with pytest.raises(KeyboardInterrupt):
        by_concepts(Resources(cluster=local, progress=interrupt, checkpoint=blocks))
    assert tasks_left(local) == 0
    assert not list(local.folder.glob(".cuihop-work*"))
    finished = blocks.stat().st_size
    seen: list[int] = []
    resumed = by_concepts(Resources(checkpoint=blocks, progress=lambda done, total: seen.append(done)))
    assert finished > 1_000
    assert seen[0] > 0
    assert resumed == by_concepts(Resources())


@pytest.mark.parametrize(
    ("trouble", "error", "words"),
    [
        (wrong_input, InputError, "the third block; found trouble"),
        (not_found, CuihopError, "unknown in release r: C0000001"),
        (defect, ClusterError, "failed on a worker: ZeroDivisionError: a defect"),
    ],
)
def test_the_error_of_a_block_is_that_of_the_job(
    local: DaskCluster, trouble: Callable[[], object], error: type[CuihopError], words: str
) -> None:
    with pytest.raises(error, match=words):
        list(local.results(Troubled(trouble), range(6)))
    assert tasks_left(local) == 0


def test_some_blocks_of_a_work_can_be_requested_and_none(local: DaskCluster) -> None:
    assert sorted(number for number, _ in local.results(Troubled(wrong_input), [5, 0])) == [0, 5]
    assert not list(local.results(Troubled(nothing), []))


def test_workers_killed_at_random_change_no_bit_and_print_nothing(
    three: DaskServers, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    generator = random.Random(7)
    images = 12_000
    kills = sorted(generator.sample(range(1, images - 2_000), KILLS))

    def kill(done: int, total: int) -> None:
        if kills and done >= kills[0] and three.kill_one(generator):
            kills.pop(0)

    with open_cluster(str(three.scheduler_file), tmp_path / "shared") as cluster:
        assert cluster.account.startswith(f"cluster {three.address}: ")
        found = by_concepts(Resources(cluster=cluster, progress=kill), images)
        assert tasks_left(cluster) == 0
    assert len(three.killed) == KILLS
    assert found == by_concepts(Resources(), images)
    assert not list((tmp_path / "shared").iterdir())
    assert capfd.readouterr().err == ""


def test_a_block_that_ends_every_worker_fails_the_job_by_a_number(dask_servers: DaskServers, tmp_path: Path) -> None:
    # Dask blames every task of the worker that ended: block 2, and others that it was to compute or had computed.
    dask_servers.start_worker(settings=TESTS)
    with open_cluster(dask_servers.address, tmp_path) as cluster:
        cluster.client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 0))
        with pytest.raises(ClusterError, match="could not be computed: one worker after the other ended") as error:
            list(cluster.results(Troubled(end_of_the_worker), range(6)))
    assert re.match(r"(block|one of the blocks)( \d,)* 2\b", str(error.value))


@pytest.mark.slow
def test_the_arrays_of_a_work_do_not_pass_through_the_scheduler(one_worker: DaskServers, tmp_path: Path) -> None:
    with bolt_proxy(one_worker.address) as relay:
        address = relay.address.replace("bolt", "tcp")
        with open_cluster(address, tmp_path) as cluster:
            work = Troubled(nothing, blocks=200, ballast=50_000_000)
            assert len(list(cluster.results(work, range(200)))) == 200
        assert relay.bytes_of_clients < 500_000


@pytest.mark.slow
def test_a_worker_that_does_not_see_the_folder_is_named_with_the_path(one_worker: DaskServers) -> None:
    folder = Path("/proc/self/cwd") / "only-here"  # of each process another folder
    problem = f"{folder}.*: not readable on {socket.gethostname()}: No such file"
    with open_cluster(one_worker.address, folder) as cluster, pytest.raises(ClusterError, match=problem):
        list(cluster.results(Troubled(nothing), range(6)))
    folder.rmdir()


def test_a_worker_with_another_version_is_refused_at_once_and_one_that_comes_later_too(
    dask_servers: DaskServers, tmp_path: Path
) -> None:
    other = tmp_path / "other" / "numba-0.1.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: numba\nVersion: 0.1\n")
    settings = {"PYTHONPATH": f"{other.parent}:{TESTS['PYTHONPATH']}"}
    right = dask_servers.start_worker("--no-nanny", settings=TESTS)
    with open_cluster(dask_servers.address, tmp_path) as cluster:
        right.kill()
        dask_servers.start_worker("--no-nanny", settings=settings)
        with pytest.raises(ClusterError, match=r"would not compute the same bits: it has numba 0.1, and this process"):
            list(cluster.results(Troubled(nothing), range(6)))
        with (
            pytest.raises(ClusterError, match=r"worker tcp://127\.0\.0\.1:.*: numba 0.1, and .* in this process"),
            open_cluster(dask_servers.address, tmp_path),
        ):
            pass


def test_a_cluster_that_is_not_there_is_one_clear_error(dask_servers: DaskServers, tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="no worker came within 1 seconds"), \
            open_cluster(dask_servers.address, tmp_path, wait=1):  # fmt: skip
        pass
    nobody = f"tcp://127.0.0.1:{free_ports(1)[0]}"
    before = time.monotonic()
    problem = f"{nobody}: no Dask scheduler can be reached: [^\n]*$"
    with pytest.raises(ClusterError, match=problem), open_cluster(nobody, tmp_path):
        pass
    assert time.monotonic() - before < 60  # some ten seconds; a busy machine takes longer


def test_a_job_whose_last_worker_or_scheduler_ends_says_so(dask_servers: DaskServers, tmp_path: Path) -> None:
    worker = dask_servers.start_worker("--no-nanny", settings=TESTS)
    with open_cluster(dask_servers.address, tmp_path) as opened:
        cluster = replace(opened, wait=2.0)
        results = cluster.results(Troubled(nothing, blocks=200), range(200))
        next(results)
        worker.kill()
        with pytest.raises(ClusterError, match="no worker is left in the cluster, and none came within 2 seconds"):
            list(results)
        assert dask_servers.scheduler is not None
        dask_servers.scheduler.kill()
        with pytest.raises(ClusterError, match=f"the scheduler {dask_servers.address} was lost"):
            list(cluster.results(Troubled(nothing), range(6)))


@pytest.mark.slow
def test_dasks_log_is_as_before_when_the_cluster_is_closed(local: DaskCluster) -> None:
    before = logging.getLogger("distributed").level
    with pytest.raises(InputError), open_cluster("local:0"):
        pass
    assert logging.getLogger("distributed").level == before
    assert local.client.status == "running"


@pytest.mark.parametrize("address", ["local:0", "local:two", "http://host:1", "tcp://host", "nothing.json", ""])
def test_another_address_is_refused_with_its_forms(address: str) -> None:
    with pytest.raises(InputError, match="expected local:N, tcp://HOST:PORT"), open_cluster(address, "."):
        pass


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"address": 5}', '{"address": "inproc://x"}', "[" * 100_000])
def test_a_file_that_is_no_scheduler_file_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(content)
    with pytest.raises(InputError, match=r"s\.json: not a scheduler file"), open_cluster(str(tmp_path / "s.json"), "."):
        pass


def test_a_cluster_of_other_machines_needs_a_folder() -> None:
    with pytest.raises(InputError, match="no folder for the cluster"), open_cluster("tcp://host:8786"):
        pass


@pytest.mark.slow
def test_a_cluster_over_tls_by_the_settings_of_dask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_dask()
    import dask

    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(tmp_path / "own.pem")
    tls = {"ca-file": str(tmp_path / "ca.pem")}
    tls |= {f"{role}.{part}": str(tmp_path / "own.pem") for role in ("client", "scheduler", "worker")
            for part in ("cert", "key")}  # fmt: skip
    settings = {f"DASK_DISTRIBUTED__COMM__TLS__{name.replace('.', '__').replace('-', '_').upper()}": value
                for name, value in tls.items()}  # fmt: skip
    with DaskServers(tmp_path, "tls", {**TESTS, **settings}) as servers:
        servers.start_worker("--protocol", "tls", "--no-nanny")
        assert servers.address.startswith("tls://")
        with (
            pytest.raises(ClusterError, match="no Dask scheduler can be reached"),
            open_cluster(servers.address, tmp_path),
        ):
            pass
        with (
            dask.config.set({f"distributed.comm.tls.{name}": value for name, value in tls.items()}),
            open_cluster(servers.address, tmp_path / "shared") as cluster,
        ):
            found = np.concatenate([values for _, values in cluster.results(Troubled(nothing), range(6))])
    assert sorted(found.ravel().tolist()) == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
