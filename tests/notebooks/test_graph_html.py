"""A graph's answers in a notebook: on a real kernel, in a real browser, with names that try to be HTML."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path as File
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from browser import browser, keep_picture
from cuihop import SnapshotGraph
from cuihop.graph import Concept, Neighbour, Neighbourhood, Path, Step
from cuihop.notebooks.graph_html import boxes_svg, path_grid
from example_graph import example_graph
from tutorial_notebook import run

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]

CELLS = """
import cuihop
from example_graph import example_graph
graph = example_graph()
path = graph.path("C9000901", "C0003483")
# next
path
# next
cuihop.draw(graph, path)
# next
hood, = graph.neighbours(["C0005847"], hops=2)
hood
# next
graph.concepts(["C0006121"])[0]
# next
graph.distances([("C0006121", "C0018670"), ("C0006121", "C9000004")])
"""
TEXTS = st.text(st.sampled_from("<>&\"'/abc ;é\u2028") | st.characters(codec="utf-8", exclude_categories=["Cc"]))


class Seen(HTMLParser):
    """The elements and the texts of a piece of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def words(html: str) -> str:
    return " ".join(" ".join(Seen(html).texts).split())


@pytest.fixture(scope="module")
def answers() -> list[dict[str, str]]:
    """Output of a kernel for each value, by media type."""
    import nbformat

    first, *rest = CELLS.split("# next\n")
    first = f"import sys; sys.path.insert(0, {str(File(__file__).parents[1])!r})\n" + first
    cells = [nbformat.v4.new_code_cell(source) for source in (first, *rest)]
    done = run(nbformat.v4.new_notebook(cells=cells))
    return [dict(output.data) for cell in done.cells for output in cell.outputs]


def test_a_code_or_a_curie_is_not_called_retired() -> None:
    shown = example_graph().distances([("umls:C0042449", "C9000901")])._repr_html_()
    assert "umls:C0042449 taken for C0042449, C9000901 is retired: taken for C0042449" in words(shown)


@pytest.mark.slow
def test_a_kernel_shows_each_answer(answers: list[dict[str, str]]) -> None:
    path, drawn, hood, concept, distances = answers
    assert "3 hops from C0042449 to C0003483, in both directions" in words(path["text/html"])
    assert "C9000901 is retired: taken for C0042449" in words(path["text/html"])
    assert "Blood vessels" in words(drawn["image/svg+xml"])
    assert words(hood["text/html"]).startswith(
        "4 concepts within 2 hops of C0005847, in both directions hops concepts 1 3"
    )
    assert words(concept["text/html"]) == (
        "concept C0006121 Brain stem synonyms Brainstem, Truncus encephali parents, children 1, 0"
    )
    assert words(distances["text/html"]) == "Distances of 2 pairs, in both directions hops pairs 3 1 no path 1"
    for data in answers:
        assert data["text/plain"], "a terminal still shows the repr"


def test_a_browser_shows_boxes_that_do_not_overlap(answers: list[dict[str, str]], browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 900, "height": 1200})
    parts = [data.get("text/html") or data["image/svg+xml"] for data in answers]
    page.set_content("<!doctype html><meta charset=utf-8>" + "<hr>".join(parts))
    keep_picture(page, "notebook")
    for svg in page.locator("svg").all():
        boxes = [box.bounding_box() for box in svg.locator("g > rect").all()]
        assert len(boxes) == 4
        whole = svg.bounding_box()
        assert whole is not None
        for place, one in enumerate(boxes):
            assert one is not None
            assert whole["x"] <= one["x"]
            assert one["x"] + one["width"] <= whole["x"] + whole["width"]
            for other in boxes[:place]:
                assert other is not None
                assert (
                    one["x"] >= other["x"] + other["width"] or other["x"] >= one["x"] + one["width"]
                    or one["y"] >= other["y"] + other["height"] or other["y"] >= one["y"] + one["height"]
                )  # fmt: skip
        for group in svg.locator("g").all():
            box, words_in_it = group.locator("rect").bounding_box(), group.locator("text").first.bounding_box()
            assert box is not None
            assert words_in_it is not None
            assert box["x"] <= words_in_it["x"]
            assert words_in_it["x"] + words_in_it["width"] <= box["x"] + box["width"]
    page.close()


def test_beside_each_hop_stands_who_asserts_it() -> None:
    path = Path("A", (Step("B", "parent", ("MSH", "UBERON")), Step("C", "child", ("SNOMEDCT_US",) * 4)), "any")
    text = words(path._repr_html_())
    assert "MSH, UBERON" in text
    assert "SNOMEDCT_US, …" in text


@pytest.mark.parametrize("hops", [0, 1, 7])
def test_a_long_path_keeps_every_concept(hops: int) -> None:
    graph = SnapshotGraph.of([(f"C{i:07d}", f"C{i + 1:07d}") for i in range(9)])
    path = graph.path("C0000000", f"C{hops:07d}")
    assert path is not None
    svg = re.search("<svg.*</svg>", path._repr_html_())
    assert svg is not None
    root = ElementTree.fromstring(svg[0])  # noqa: S314 - our own
    assert [text for text in root.itertext() if re.fullmatch(r"C\d{7}", text)][::2] == list(path.cuis)
    assert len(set(path_grid(path.cuis, [step.relation == "parent" for step in path.steps]).values())) == hops + 1


def test_a_neighbourhood_that_was_cut_says_so_and_a_long_one_is_shortened() -> None:
    graph = SnapshotGraph.of([(f"C{i:07d}", "C0000000") for i in range(1, 80)], concepts=["C9999999"])
    (cut,) = graph.neighbours(["C0000000"], limit=25)
    text = words(cut._repr_html_())
    assert "79 concepts within 1 hop of C0000000, in both directions; the nearest 25 are listed" in text
    assert text.endswith("C0000020 … and 5 more")
    (alone,) = graph.neighbours(["C9999999"], hops=None)
    assert Seen(alone._repr_html_()).elements == ["p"]
    assert words(graph.distances([])._repr_html_()) == "Distances of 0 pairs, in both directions"


@given(TEXTS, TEXTS, TEXTS)
def test_no_text_becomes_an_element(cui: str, name: str, sab: str) -> None:
    plain = {"div", "svg", "rect", "text", "path", "g", "title", "p", "table", "tr", "th", "td"}
    path = Path(cui, (Step(cui + "x", "parent", (sab,)),), "any", {name: cui})
    for html in (
        path._repr_html_(),
        Neighbourhood(cui, (Neighbour(name, 1),), 1, 1, "up", {cui: name})._repr_html_(),
        Concept(cui, name, (sab,), ((sab, name),), 0, 0)._repr_html_(),
    ):
        assert set(Seen(html).elements) <= plain
    svg = boxes_svg(name, {cui: (0.0, 0.0)}, [], names={cui: name})
    assert {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(svg).iter()} <= plain  # noqa: S314


def test_a_picture_of_a_path_needs_nothing_heavy() -> None:
    program = """
import sys
from cuihop.graph import Path, Step
assert "<svg" in Path("C0006121", (Step("C0006104", "parent"),), "any")._repr_html_()
print([name for name in ("matplotlib", "pandas", "numba") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
