"""The picture of an explanation: well-formed, complete, and no label on another or off the page."""

from __future__ import annotations

import itertools
import random
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from matplotlib.transforms import Bbox

from cuihop import SnapshotGraph, explain_pair, explain_query
from cuihop.errors import InputError, OutputError
from cuihop.explanation import Explanation
from cuihop.measures.nearness import Nearness
from example_graph import example_graph

LONG = (
    "MULTIPLE CONGENITAL ANOMALIES WITH DYSMORPHIC SYNDROME OF THE LARGE WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW, "
    "Structure of anterior division of lateral basal branch of right inferior pulmonary vein (body structure) $\\alpha$"
)


def example() -> Explanation:
    return explain_pair(
        "C0042449;C0018670;C0006121;C9000902;C9000004", "C0005847;C0018670;C0003483;C9999999", example_graph(),
        Nearness(unknown="isolated"), titles=("ROCOv2_2023_test_000001", "ROCOv2_2023_test_000002"),
    )  # fmt: skip


def crowded(seed: int, concepts: int = 25) -> Explanation:
    """Sets of 25 concepts, near one another in any way, some in both, with names of any length."""
    chance = random.Random(seed)
    cuis = [f"C{number:07d}" for number in range(90)]
    edges = [(cui, chance.choice(cuis[: max(1, place // 2)])) for place, cui in enumerate(cuis) if place]
    names = {cui: [LONG[: chance.choice([8, 20, 60, 120, len(LONG)])]] for cui in cuis}
    graph = SnapshotGraph.of(edges, names=names, name="a release with a name that is long " * 6)
    a, b = chance.sample(cuis, concepts), chance.sample([*cuis, "C9999991", "C9999992"], concepts)
    return explain_pair(a, b, graph, Nearness(3, 1 / 3, unknown="isolated"), titles=("short", LONG))


def texts_and_boxes(figure: Figure) -> tuple[list[tuple[str, Bbox]], list[Bbox]]:
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    axes = figure.axes[0]
    texts = [(text.get_text(), text.get_window_extent(renderer)) for text in axes.texts if text.get_text()]
    boxes = [patch.get_window_extent(renderer) for patch in axes.patches if isinstance(patch, FancyBboxPatch)]
    return texts, boxes


def overlap(one: Bbox, other: Bbox) -> bool:
    return bool(
        min(one.x1, other.x1) - max(one.x0, other.x0) > 0.5 and min(one.y1, other.y1) - max(one.y0, other.y0) > 2
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_no_label_overlaps_another_or_leaves_the_page(seed: int) -> None:
    explanation = crowded(seed)
    assert explanation.near > 5
    figure = explanation.figure()
    texts, boxes = texts_and_boxes(figure)
    page = figure.bbox
    for text, box in texts:
        assert box.x0 >= 0 <= box.y0, text
        assert box.x1 <= page.width, text
        assert box.y1 <= page.height, text
    for (one, first), (other, second) in itertools.combinations(texts, 2):
        assert not overlap(first, second), (one, other)
    for first, second in itertools.combinations(boxes, 2):
        assert not overlap(first, second)
    for text, inside in texts:  # a label is wholly within a box, or wholly without
        for box in boxes:
            if overlap(inside, box):
                assert box.x0 <= inside.x0, text
                assert inside.x1 <= box.x1, text


def test_the_svg_is_well_formed_and_holds_every_name_and_the_sum(tmp_path: Path) -> None:
    example().save(tmp_path / "pair.svg")
    root = ET.parse(tmp_path / "pair.svg").getroot()  # noqa: S314 - our own file
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    words = {"".join(text.itertext()).strip() for text in root.iter("{http://www.w3.org/2000/svg}text")}
    assert "nn-IoU = (1 + 0.5 · 2) / 8 = 0.2500" in words
    text = " ".join(words)
    for name in ("Veins", "Blood vessels", "Head", "Brain stem", "Aorta", "C9000902", "C9999999", "test_000001",
                 "retired, no successor", "not in the graph", "1 hop:", "nearest: Head, 3 hops",
                 "nearest: none within 4 hops"):  # fmt: skip
        assert name in text, name


def test_a_path_names_the_concepts_between_with_the_direction_of_each_hop() -> None:
    explanation = explain_pair("C0006121", "C0018670", example_graph(), Nearness(3))
    texts, _ = texts_and_boxes(explanation.figure())
    label = " ".join(text for text, _ in texts).replace("\N{NO-BREAK SPACE}", " ")
    assert "3 hops: ↑ Brain ↑ C0926510 ↓" in " ".join(label.split())


def test_the_suffix_decides_the_format(tmp_path: Path) -> None:
    for name, start in (("p.png", b"\x89PNG\r\n"), ("p.pdf", b"%PDF-"), ("p.SVG", b"<?xml")):
        example().save(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.SVG", "p.pdf", "p.png"]


@pytest.mark.parametrize("form", ["svg", "png", "pdf"])
def test_one_explanation_gives_one_file(form: str, tmp_path: Path) -> None:
    example().save(tmp_path / f"a.{form}")
    example().save(tmp_path / f"b.{form}")
    assert (tmp_path / f"a.{form}").read_bytes() == (tmp_path / f"b.{form}").read_bytes()


@pytest.mark.parametrize(("a", "b"), [("", ""), ("", "C0042449"), ("C0042449", "C0042449")])
def test_small_pictures_are_drawn_too(a: str, b: str) -> None:
    texts, _ = texts_and_boxes(explain_pair(a, b, example_graph()).figure())
    assert any(text.startswith("nn-IoU = ") for text, _ in texts)


def test_names_in_other_scripts_and_signs_of_mathematics_are_drawn(tmp_path: Path) -> None:
    graph = SnapshotGraph.of([("C0000001", "C0000002")], names={"C0000001": ["脑 $x^2$ <b>&"], "C0000002": ["голова"]})
    explain_pair("C0000001", "C0000002", graph).save(tmp_path / "p.svg")
    assert "$x^2$ &lt;b&gt;&amp;" in (tmp_path / "p.svg").read_text(encoding="utf-8")


def test_a_wrong_suffix_is_refused_before_anything_is_drawn(tmp_path: Path) -> None:
    for name in ("pair.gif", "pair"):
        with pytest.raises(InputError, match=r"expected a name that ends with \.svg, \.png or \.pdf"):
            example().save(tmp_path / name)


def test_a_picture_that_cannot_be_written_is_an_output_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="not written"):
        example().save(tmp_path / "absent" / "pair.svg")


def test_without_matplotlib_the_advice_is_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'cuihop\[plots\]'"):
        example().save(tmp_path / "pair.svg")
    assert example()._repr_svg_() is None
    assert repr(example()).endswith("nn-IoU 0.2500 = (1 + 0.5 · 2) / 8>")


def test_a_notebook_shows_the_picture() -> None:
    svg = example()._repr_svg_()
    assert svg is not None
    assert ET.fromstring(svg).tag.endswith("svg")  # noqa: S314 - our own


def test_a_query_is_drawn_with_both_images_the_better_first(tmp_path: Path) -> None:
    images = {"query": "C0042449;C0018670", "worse": "C0042449;C0006121", "better": "C0005847;C0018670"}
    explanation = explain_query(images, "query", example_graph(), above="worse", below="better")
    explanation.save(tmp_path / "query.svg")
    written = (tmp_path / "query.svg").read_text(encoding="utf-8")
    ET.fromstring(written)  # noqa: S314 - our own
    assert 0 < written.index("= (1 + 0.5 · 2) / 3 = 0.6667") < written.index("= (1 + 0.5 · 0) / 3 = 0.3333")
