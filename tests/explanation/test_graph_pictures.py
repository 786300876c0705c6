"""Pictures of paths, neighbourhoods and results: what they show, where, and how they are written."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

import cuihop
from cuihop import SnapshotGraph
from cuihop.comparison.comparison import compare
from cuihop.comparison.score_card import ScoreCard
from cuihop.errors import InputError
from example_graph import example_graph


def texts(svg: str) -> str:
    root = ElementTree.fromstring(svg)  # noqa: S314 - our own
    return " ".join(text.strip() for text in root.itertext() if text.strip())


def test_a_path_goes_up_to_parents_and_down_to_children() -> None:
    graph = example_graph()
    path = graph.path("C0006121", "C0018670")
    assert path is not None
    drawn = cuihop.draw(graph, path)
    levels = [drawn.places[cui][1] for cui in path.cuis]
    signs = [1 if step.relation == "parent" else -1 for step in path.steps]
    assert [b - a for a, b in pairwise(levels)] == signs
    svg = drawn._repr_svg_()
    assert all(cui in texts(svg) for cui in path.cuis)
    assert "Brain stem" in texts(svg)


def test_a_neighbourhood_is_a_tree_in_which_broader_concepts_stand_higher() -> None:
    graph = example_graph()
    for direction in ("any", "up", "down", "vertical"):
        hood = graph.neighbours(["C0006104"], hops=3, direction=direction)[0]
        drawn = cuihop.draw(graph, hood)
        assert set(drawn.places) == {"C0006104", *(n.cui for n in hood)}
        assert len(set(drawn.places.values())) == len(drawn.places)
        assert len(drawn.edges) == len(hood)
        for child, parent in drawn.edges:
            assert graph.distance(child, parent, direction="up") == 1
            assert drawn.places[parent][1] > drawn.places[child][1]


def test_a_concept_alone_and_a_large_family() -> None:
    graph = SnapshotGraph.of([(f"C{i:07d}", "C0000000") for i in range(1, 80)], concepts=["C9999999"])
    assert list(cuihop.draw(graph, graph.neighbours(["C9999999"])[0]).places) == ["C9999999"]
    with pytest.raises(InputError, match=r"found 79 concepts; expected at most 60\. Ask for it with limit=60"):
        cuihop.draw(graph, graph.neighbours(["C0000000"])[0])
    drawn = cuihop.draw(graph, graph.neighbours(["C0000000"], limit=60)[0])
    assert len(set(drawn.places.values())) == 61
    assert "79 concepts within 1 hop of C0000000, 60 shown" in drawn.title
    with pytest.raises(InputError, match="expected a Path or a Neighbourhood"):
        cuihop.draw(graph, "C0000000")  # type: ignore[arg-type]


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_results_are_plotted_in_one_call(suffix: str, tmp_path: Path) -> None:
    graph = SnapshotGraph.of([("C0042449", "C0005847")], concepts=["C0018670"])
    images = {"a": "C0042449", "b": "C0005847", "c": "C0018670", "d": "C0042449;C0018670"}
    rankings = {
        "good": {"a": ["d", "b", "c"], "b": ["a", "d", "c"], "c": ["d", "a", "b"], "d": ["a", "c", "b"]},
        "bad": {"a": ["c", "b", "d"], "b": ["c", "d", "a"], "c": ["b", "a", "d"], "d": ["b", "c", "a"]},
    }
    found = {name: cuihop.evaluate(images, ranking, graph, measures="nn-CUI@1,3") for name, ranking in rankings.items()}
    found["good"].plot(tmp_path / f"values.{suffix}")
    cards = [ScoreCard.of(evaluation, name) for name, evaluation in found.items()]
    compare(cards, resamples=100).plot(tmp_path / f"differences.{suffix}")
    for name in ("values", "differences"):
        content = (tmp_path / f"{name}.{suffix}").read_bytes()
        assert content.startswith({"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}[suffix])
    if suffix == "svg":
        assert "nn-CUI@3" in texts((tmp_path / "values.svg").read_text())
        assert "bad − good" in texts((tmp_path / "differences.svg").read_text())
        found["good"].plot(tmp_path / "again.svg")
        assert (tmp_path / "again.svg").read_bytes() == (tmp_path / "values.svg").read_bytes()
    with pytest.raises(InputError, match=r"a name that ends with \.svg, \.png or \.pdf"):
        found["good"].plot(tmp_path / "values.gif")


def test_without_matplotlib_a_notebook_shows_the_picture_and_a_plot_says_what_to_install() -> None:
    program = """
import sys
sys.modules["matplotlib"] = None
import cuihop
graph = cuihop.SnapshotGraph.of([("C0042449", "C0005847")])
drawn = cuihop.draw(graph, graph.path("C0042449", "C0005847"))
assert drawn._repr_svg_().startswith("<svg ")
try:
    drawn.figure()
except ModuleNotFoundError as error:
    assert "pip install 'cuihop[plots]'" in str(error)
"""
    subprocess.run([sys.executable, "-c", program], check=True)
