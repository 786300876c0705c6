"""Commands print the same for a service as for the snapshot that it serves."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cuihop.cli import main
from cuihop_server import RunningService, running_service
from example_graph import example_graph

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    with running_service(example_graph()) as running:
        yield running


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("commands")
    example_graph().save(path / "example.cuihop")
    path.joinpath("pairs.tsv").write_text("C0006121\tC0018670\nC9000901\tC0003483\nC0006121\tC0003483\n")
    path.joinpath("images.csv").write_text(
        "ID,CUIs\nbrain,C0006121;C0006104\nhead,C0018670\nvein,C9000901\naorta,C0003483;C9999999\n"
    )
    return path


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def run_program(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["cuihop", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        return (stop.value.code if isinstance(stop.value.code, int) else 0), captured.out, captured.err

    return run_program


COMMANDS = [
    ["distance", "C0006121", "C0018670"],
    ["distance", "C0006121", "C0018670", "--max-hops", "2", "--direction", "up"],
    ["distance", "C9000901", "C0005847", "--json"],
    ["distance", "C0006121", "C9999999"],
    ["distance", "C0006121", "C9000903"],
    ["distance", "C0006121", "brain"],
    ["distance", "--pairs", "pairs.tsv"],
    ["path", "C0006121", "C0018670"],
    ["path", "C0006121", "C0003483", "--json"],
    ["neighbours", "C0005847", "--hops", "2", "--limit", "3"],
    ["ancestors", "C9000901", "--json"],
    ["descendants", "C0007226"],
    ["ancestors", "C0042449", "C0003483"],
    ["search", "brain"],
    ["search", "C9000901", "--json"],
    ["search", "…"],
    ["concept", "C0005847"],
    ["explain", "concepts", "C0006121;C0042449", "C0006104;C9000904", "--hops", "1"],
    ["explain", "concepts", "C0006121;C9999999", "C0006104", "--unknown", "isolated", "--json"],
    ["explain", "concepts", "C0006121;C9999999", "C0006104"],
    ["evaluate", "--concepts", "images.csv", "--baseline", "nn-iou", "--unknown", "isolated", "-n", "2"],
    ["evaluate", "--concepts", "images.csv", "--baseline", "iou", "--unknown", "isolated", "--json"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_prints_the_same_for_a_service_as_for_its_snapshot(
    command: list[str], run: Run, folder: Path, service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    offline = run(*command, "--graph", "example.cuihop")
    assert offline[1] or offline[2]
    assert run(*command, "--graph", service.grpc) == offline
    assert run(*command, "--graph", service.http) == offline


@pytest.mark.parametrize("scheme", ["grpc", "http"])
def test_info_describes_a_service(scheme: str, run: Run, service: RunningService) -> None:
    address = service.grpc if scheme == "grpc" else service.http
    code, out, _ = run("info", address, "--json")
    info = json.loads(out)
    assert code == 0
    assert (info["address"], info["digest"]) == (address, example_graph().release.digest)
    assert (info["indexed"], info["names"], info["limits"]["pack_concepts"]) == (True, True, 5_000)
    code, out, _ = run("info", address)
    assert code == 0
    for part in (address, "index in memory", "17", example_graph().release.digest, "100,000 pairs"):
        assert part in out
    assert run("info", address, "--verify")[0] == 2


def test_an_absent_service_has_the_exit_code_of_graphs(run: Run) -> None:
    for address in ("grpc://127.0.0.1:1", "http://127.0.0.1:1"):
        code, out, err = run("distance", "C0006121", "C0018670", "--graph", address)
        assert (code, out) == (5, "")
        assert err.startswith(f"cuihop: {address}: cannot be reached: ")
        assert "refused" in err
        assert "Is the service running there" in err


def test_an_address_without_its_scheme_is_no_path(run: Run) -> None:
    code, _, err = run("info", "localhost:8080")
    assert code == 3
    assert "an address without its scheme; found 'localhost:8080'; expected http://localhost:8080" in err
