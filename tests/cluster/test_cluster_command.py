"""``--cluster`` of the commands: the output of one process, and nothing left after Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from clustered_jobs import graph, images
from cuihop_tools.dask_servers import DaskServers
from dask_servers import require_dask
from program_run import Run
from waiting import wait_for


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    graph().save(folder / "graph.cuihop")
    for name, count in (("few", 500), ("many", 20_000)):
        rows = [f"{image},{';'.join(sorted(held))}\n" for image, held in images(count).items()]
        (folder / f"{name}.csv").write_text("image,cuis\n" + "".join(rows))
    names = list(images(500))
    run = [f"{query} Q0 {names[(at + step) % 500]} {step} {9 - step} r\n"
           for at, query in enumerate(names) for step in range(1, 6)]  # fmt: skip
    (folder / "run.trec").write_text("".join(run))
    (folder / "other.trec").write_text("".join(run[::2]))
    captions = [f"{name},axial scan {number} of the chest\n" for number, name in enumerate(names)]
    (folder / "references.csv").write_text("image,caption\n" + "".join(captions))
    (folder / "predictions.csv").write_text("image,caption\n" + "".join(captions).replace("axial", "sagittal"))
    return folder


@pytest.fixture(scope="module")
def dask_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskServers]:
    """A scheduler with a worker, which all commands use one after the other."""
    require_dask()
    with DaskServers(tmp_path_factory.mktemp("dask")) as servers:
        servers.start_worker()
        yield servers


def evaluation(inputs: Path, collection: str = "few") -> list[object]:
    return ["--concepts", inputs / f"{collection}.csv", "--graph", inputs / "graph.cuihop", "--unknown", "isolated"]


@pytest.mark.parametrize("command", ["evaluate", "compare", "score captions", "study"])
def test_a_cluster_gives_the_output_of_one_process(
    command: str, inputs: Path, program: Run, dask_servers: DaskServers, tmp_path: Path
) -> None:
    cluster = ["--cluster", dask_servers.scheduler_file, "--cluster-folder", tmp_path / "shared"]
    found = []
    for name, options in (("here", []), ("there", cluster)):
        out = tmp_path / name
        of_command: dict[str, list[object]] = {
            "evaluate": [*evaluation(inputs), inputs / "run.trec", "--output", out],
            "compare": [inputs / "run.trec", inputs / "other.trec", *evaluation(inputs), "--output", out],
            "score captions": [inputs / "references.csv", inputs / "predictions.csv", "-m", "ROUGE-L", "--output", out],
            "study": [inputs / "few.csv", "--graph", inputs / "graph.cuihop", "--output", out, "--only", "tables"],
        }
        done = program(*command.split(), *of_command[command], *options)
        assert done.code == 0, done.err
        found.append((out / "numbers.csv" if command == "study" else out).read_bytes())
    assert f"cluster {dask_servers.address}: 1 worker, 1 thread each at most" in done.err.replace("\n", " ")
    assert found[0] == found[1]


def test_a_cluster_without_a_folder_and_a_folder_without_a_cluster_are_refused(inputs: Path, program: Run) -> None:
    require_dask()
    ranking = [inputs / "run.trec"]
    done = program("evaluate", *evaluation(inputs), *ranking, "--cluster", "tcp://host:8786")
    assert done.code != 0
    assert "cluster_folder: no folder for the cluster" in done.err
    assert "--cluster-folder goes with --cluster" in " ".join(
        program("evaluate", *evaluation(inputs), *ranking, "--cluster-folder", inputs).err.split()
    )


@pytest.mark.slow
def test_after_ctrl_c_no_process_is_left_and_the_blocks_are_there(inputs: Path, tmp_path: Path, program: Run) -> None:
    require_dask()
    common = [*evaluation(inputs, "many"), "--baseline", "random", "--checkpoint", tmp_path / "blocks"]
    command = [sys.executable, "-m", "cuihop", "evaluate", *map(str, common), "--cluster", "local:2"]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True, text=True)
    file = tmp_path / "blocks" / "evaluation.blocks"
    wait_for(lambda: running.poll() is not None or (file.exists() and file.stat().st_size > 10_000))
    assert running.poll() is None, running.communicate()[1]
    children = psutil.Process(running.pid).children(recursive=True)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to the workers too
    errors = running.communicate()[1]
    assert running.returncode == 130, errors
    assert "Traceback" not in errors
    assert "the same command resumes from there" in " ".join(errors.split())
    psutil.wait_procs(children, timeout=300)
    assert not any(child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in children)
    resumed = program("evaluate", *common, "--output", tmp_path / "resumed.csv")
    assert resumed.code == 0, resumed.err
    whole = program("evaluate", *common[:-2], "--output", tmp_path / "whole.csv")
    assert whole.code == 0, whole.err
    assert (tmp_path / "resumed.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
