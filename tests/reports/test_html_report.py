"""HTML reports: their content, escaped; and what a browser and its check of accessibility say of them."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cuihop
from browser import LIGHT_AND_DARK, browser
from cuihop import Dataset, Nearness, Ranking, ScoreCard, SnapshotGraph, compare, evaluate, html_report
from cuihop.evaluation.result import Evaluation
from example_graph import UNKNOWN, example_graph
from program_run import Run

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]

VEINS, VESSELS, ARTERIES, HEAD = "C0042449", "C0005847", "C0003842", "C0018670"
HOSTILE = '<script>alert("1")</script>'
IMAGES = {"a": f"{VEINS};{HEAD}", "b": f"{VESSELS};{HEAD};{UNKNOWN}", "c": ARTERIES, HOSTILE: f"{HEAD};{VESSELS}"}
RANKING = {"a": ["c", "b"], "b": ["a", "c"], "c": ["b", HOSTILE], HOSTILE: ["c", "a"]}
OTHER = {"a": ["b", HOSTILE], "b": [HOSTILE, "a"], "c": ["a", "b"], HOSTILE: ["b", "c"]}
ISOLATED = Nearness(unknown="isolated")


class Tags(HTMLParser):
    """The elements of a page: name and attributes of each; and unclosed or misplaced ends."""

    void = frozenset({"meta", "br", "line", "rect", "circle"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._open: list[str] = []
        self.feed(page)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.void:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)


def words(page: str) -> str:
    return " ".join(re.sub("<style>.*?</style>|<[^>]*>", " ", page, flags=re.DOTALL).replace("\xa0", " ").split())


@pytest.fixture(scope="module")
def graph() -> SnapshotGraph:
    return example_graph()


@pytest.fixture(scope="module")
def result(graph: SnapshotGraph) -> Evaluation:
    return evaluate(IMAGES, RANKING, graph, measures=["nn-CUI@2", "CUI@1"], nearness=ISOLATED)


@pytest.fixture(scope="module")
def page(result: Evaluation, graph: SnapshotGraph) -> str:
    return html_report(result, data=IMAGES, ranking=RANKING, graph=graph)


@pytest.fixture(scope="module")
def compared(result: Evaluation, graph: SnapshotGraph) -> str:
    other = evaluate(IMAGES, OTHER, graph, measures=["nn-CUI@2", "CUI@1"], nearness=ISOLATED)
    cards = {"first": ScoreCard.of(result, "first"), "<b>second</b>": ScoreCard.of(other, "second")}
    return html_report(
        compare(cards, resamples=200), data=IMAGES, ranking={"first": RANKING, "<b>second</b>": OTHER}, graph=graph
    )


def test_means_have_the_intervals_of_the_bootstrap(page: str, result: Evaluation) -> None:
    from cuihop.evaluation.resampling import mean_interval

    low, high = mean_interval(result.values[:, 0], confidence=0.95, resamples=10_000, seed=0, threads=None)
    assert f"nn-CUI@2 {result.mean('nn-CUI@2'):.4f} {low:.4f} to {high:.4f} 4 0" in words(page)


def test_the_conditions_are_there_as_in_json(page: str, result: Evaluation) -> None:
    text, summary = words(page), result.summary()
    assert result.conditions() in text
    assert f"release digest {summary['release']['digest']}" in text
    for line in (*summary["inputs"].values(), "hop threshold n 1", "weight λ of a near concept 0.5"):
        assert line in text
    assert f"version of cuihop {cuihop.__version__}" in text
    assert "1 of 5 identifiers (20.0%), 1 of 8 occurrences (12.5%): not in the graph; match only themselves" in text


def test_the_worst_queries_are_explained_by_concepts(page: str, result: Evaluation, graph: SnapshotGraph) -> None:
    text = words(page)
    first = text[text.index("Query a") :]
    assert result.worst(1).rows[0][0] == "a"
    first = first[: first.index("Query", 5)] if "Query" in first[5:] else first
    found = cuihop.explain_pair(IMAGES["a"], IMAGES["c"], graph, ISOLATED)
    assert f"Rank 1, c: nn-IoU {found.nn_iou:.4f} = {found.arithmetic}" in first
    names = {each.cui: each.name for each in cuihop.explain_pair(VEINS, VESSELS, graph).concepts}
    assert f"≈ 0.5 {names[VEINS]} {VEINS} {names[VESSELS]}, 1 hop" in first
    assert f"{UNKNOWN} not in the graph" in text


def test_without_images_or_graph_the_queries_are_listed_and_not_explained(result: Evaluation) -> None:
    text = words(html_report(result))
    assert "Queries with the smallest nn-CUI@2." in text
    assert "no concept of the other is near" not in text


def test_judged_queries_have_no_concepts(graph: SnapshotGraph) -> None:
    data = Dataset(qrels={"q": {"d": 1, "e": 0}, "r": {"e": 2}})
    ranking = {"q": ["e", "d"], "r": ["e"]}
    text = words(html_report(evaluate(data, ranking, measures="AP"), data=data, ranking=ranking, graph=graph))
    assert "AP 0.7500" in text
    assert "2 judged queries, 2 documents" in text


def test_a_query_that_cannot_be_explained_says_why(graph: SnapshotGraph) -> None:
    images = {"a": VEINS, "b": VESSELS}
    found = evaluate(images, {"a": ["b"], "b": ["a"]}, graph, measures="nn-CUI@1")
    assert "Not explained: " in words(html_report(found, data=images, ranking={"a": ["b"], "b": ["a"]}, graph=graph))


def test_a_query_without_a_ranking_is_explained_by_its_ideal(graph: SnapshotGraph) -> None:
    data = Dataset(IMAGES)
    ranking = Ranking.of({"a": ["b"]}, tuple(IMAGES), tuple(IMAGES))
    found = evaluate(data, ranking, graph, measures="nn-CUI@1", nearness=ISOLATED, missing="zero")
    text = words(html_report(found, data=data, ranking=ranking, graph=graph))
    assert text.count("Best of the corpus, ") == 4


def test_a_comparison_has_differences_and_the_first_image_of_each_system(compared: str) -> None:
    text = words(compared)
    assert "nn-CUI@2: queries with the largest differences of" in text
    assert "p (Holm): adjusted for all 2 tests, 2 measures × 1 pair of systems" in text
    assert "First of first, " in text
    assert "unknown occurrences 1" in text


@pytest.mark.parametrize("kind", ["page", "compared"])
def test_a_page_is_well_formed_semantic_and_needs_nothing_else(kind: str, request: pytest.FixtureRequest) -> None:
    text = request.getfixturevalue(kind)
    tags = Tags(text)
    assert text.startswith('<!DOCTYPE html>\n<html lang="en">')
    for once in ("h1", "main", "header", "footer", "nav", "title"):
        assert tags.count(once) == 1
    assert tags.count("table") == tags.count("caption")
    assert all(attributes.get("scope") in ("row", "col") for tag, attributes in tags.tags if tag == "th")
    assert tags.count("script") == tags.count("img") == tags.count("link") == 0
    assert not re.search(r'(src|href)="(?!#)|url\(|@import', text)
    assert "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;" in text
    assert "<b>second" not in text
    assert "@media print" in text
    assert "prefers-color-scheme: dark" in text


def test_the_same_result_gives_the_same_page(result: Evaluation, graph: SnapshotGraph, page: str) -> None:
    assert html_report(result, data=IMAGES, ranking=RANKING, graph=graph, threads=1) == page


def test_the_names_of_the_graph_are_escaped() -> None:
    names = {VEINS: "<img src=x onerror=alert(1)>", VESSELS: "a & b"}
    graph = cuihop.GraphWithNames(SnapshotGraph.of([(VEINS, VESSELS)]), names)
    images = {"a": VEINS, "b": VESSELS, "c": VEINS}
    ranking = {"a": ["b"], "b": ["a"], "c": ["b"]}
    text = html_report(evaluate(images, ranking, graph), data=images, ranking=ranking, graph=graph)
    assert "&lt;img src=x onerror=alert(1)&gt;" in text
    assert Tags(text).count("img") == 0


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Run) -> Run:
    """Run the program in a folder with a graph, concepts and two rankings."""
    example_graph().save(tmp_path / "graph.cuihop")
    monkeypatch.setenv("CUIHOP_GRAPH", str(tmp_path / "graph.cuihop"))
    monkeypatch.chdir(tmp_path)
    Path("images.csv").write_text(f"ID,CUIs\na,{VEINS};{HEAD}\nb,{VESSELS};{HEAD}\nc,{ARTERIES}\nd,{HEAD}\n")
    for name, order in (
        ("one", {"a": "cbd", "b": "adc", "c": "bad", "d": "abc"}),
        ("two", dict.fromkeys("abcd", "abcd")),
    ):
        rows = [f"{q} Q0 {d} {r} {-r} x\n" for q, images in order.items() for r, d in enumerate(images, 1)]
        Path(f"{name}.run").write_text("".join(rows))
    return program


def test_the_commands_write_the_page(run: Run) -> None:
    given = ("--concepts", "images.csv", "--measure", "nn-CUI@2", "--html", "report.html")
    done = run("evaluate", "one.run", *given)
    assert (done.code, done.err) == (0, "")
    assert "Report: report.html" in done.out
    assert "Rank 1, c: nn-IoU" in words(Path("report.html").read_text())
    done = run("compare", "one.run", "two.run", *given, "--resamples", "100")
    assert (done.code, done.err) == (0, "")
    assert "First of one, c: nn-IoU" in words(Path("report.html").read_text())


def test_cards_alone_give_a_page_without_concepts(run: Run) -> None:
    for name in ("one", "two"):
        run("evaluate", f"{name}.run", "--concepts", "images.csv", "--card", f"{name}.json")
    assert run("compare", "one.json", "two.json", "--html", "report.html", "--resamples", "100").code == 0
    assert "Queries that differ most" in words(Path("report.html").read_text())


def test_a_page_that_cannot_be_written_is_refused_before_the_work_begins(run: Run) -> None:
    for path in ("report.pdf", "absent/report.html", "images.csv"):
        done = run("evaluate", "none.run", "--concepts", "images.csv", "--html", path)
        assert done.code in (3, 6)
        assert path in done.err
        assert "none.run" not in done.err


@pytest.mark.slow
def test_axe_finds_nothing_and_a_page_fits_phone_and_paper(
    page: str, compared: str, browser: Browser, tmp_path: Path
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    for name, text in (("evaluation", page), ("comparison", compared)):
        file = tmp_path / f"{name}.html"
        file.write_text(text, encoding="utf-8")
        for scheme in LIGHT_AND_DARK:
            context = browser.new_context(viewport={"width": 400, "height": 800}, bypass_csp=True)
            shown = context.new_page()
            shown.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            shown.add_init_script("window.alerts = []; window.alert = (text) => alerts.push(text)")
            shown.goto(file.as_uri())
            assert shown.evaluate("document.documentElement.scrollWidth") <= 400
            found = Axe().run(shown).response["violations"]
            assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in found] == []
            assert shown.evaluate("window.alerts") == []
            shown.set_viewport_size({"width": 680, "height": 900})  # A4 without margins
            shown.emulate_media(media="print")
            assert shown.evaluate("document.documentElement.scrollWidth") <= 680
            assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
            wide = shown.evaluate("[...document.querySelectorAll('table')].filter((t) => t.offsetWidth > 680).length")
            assert wide == 0
            context.close()
