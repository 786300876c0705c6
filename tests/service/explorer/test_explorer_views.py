"""The explorer in a real browser: what people look for, and whether what they see is what the library answers."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cuihop
from browser import Explorer, expect, opened
from cuihop import SnapshotGraph
from cuihop.measures.nn_iou import concept_overlap
from cuihop.similarity.options import SIMILARITY_MEASURES, SimilarityOptions
from cuihop_server import RunningService, running_service
from cuihop_service.explorer import explorer_routes
from cuihop_service.graph_holder import ServedGraph
from cuihop_service.limits import Limits
from explorer_graph import BY_NCI, CHILDREN, FORMULA, FORMULA_NAME, HOSTILE, HOSTILE_NAME, HUB, explorer_graph
from waiting import wait_for

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

LINE_OF_TEXT = 17
STEM, HEAD, VEINS, VESSELS = "C0006121", "C0018670", "C0042449", "C0005847"

A, B = "Concepts of image A", "Concepts of image B"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> SnapshotGraph:
    return explorer_graph(tmp_path_factory.mktemp("release"))


@pytest.fixture(scope="module")
def service(graph: SnapshotGraph) -> Iterator[RunningService]:
    with running_service(graph, routes=lambda core, admission: explorer_routes()) as running:
        yield running


@pytest.fixture
def explorer(browser: Browser, service: RunningService) -> Iterator[Explorer]:
    with opened(browser, service.http + "/") as explorer_page:
        explorer_page.open()
        yield explorer_page


# The first page, search and card


def test_the_first_page_has_examples_to_begin_with(explorer: Explorer) -> None:
    examples = explorer["#examples"]
    expect(examples.get_by_role("link", name="Brain stem", exact=True)).to_be_visible()
    files = explorer.page.evaluate("performance.getEntriesByType('resource').map((file) => file.name)")
    assert not any("vendor" in file for file in files)  # the library of the pictures comes with the first picture
    expect(explorer.page.get_by_role("link", name="Similarity How similar")).to_have_attribute("href", "#/similarity")
    for link, there in (("Path from", "#steps"), ("Neighbourhood of", "#total"), ("Compare", "#nn-iou")):
        examples.get_by_role("link", name=link).click()
        expect(explorer[there]).to_be_visible()
        explorer.page.go_back()
    expect(examples).to_contain_text("nn-IoU 0.6667, where IoU is 0.3333, as Brain is near Brain stem")
    examples.get_by_role("link", name="Head", exact=True).click()
    expect(explorer["#card h1"]).to_have_text("Head")


@pytest.mark.core
def test_a_curator_goes_from_a_search_to_a_path_a_neighbourhood_and_a_file(
    explorer: Explorer, graph: SnapshotGraph, tmp_path: Path
) -> None:
    explorer.choose("Search for a concept", "truncus")
    expect(explorer["#card h1"]).to_have_text("Brain stem")
    explorer.page.get_by_role("link", name="Path to…").click()
    explorer.choose("To", "head")
    expect(explorer["#rank"]).to_have_text("the only shortest path")
    explorer["#steps"].get_by_role("link", name="Body part").click()
    expect(explorer["#card h1"]).to_have_text("Body part")
    explorer["#card"].get_by_role("link", name="Neighbourhood").click()
    expect(explorer["#total"]).to_contain_text("within 1 hop")
    explorer["#hops-choice"].select_option("2 hops")
    total = graph.neighbours(["C0926510"], hops=2)[0].total
    expect(explorer["#matches"]).to_have_text(f"{total:,} concepts")
    explorer["#filter"].fill("number 12 ")
    rows = list(csv.DictReader(io.StringIO(explorer.saved("CSV", tmp_path).decode(), newline="")))
    assert len(rows) == total + 1  # the filter bounds the table, and not the file
    explorer["tbody"].get_by_role("link", name="disease number 12", exact=True).click()
    expect(explorer["#card h1"]).to_have_text("disease number 12")


def test_a_concept_is_found_while_its_name_is_typed(explorer: Explorer) -> None:
    field = explorer.field("Search for a concept")
    field.press_sequentially("brain st")
    options = explorer.page.get_by_role("option")
    expect(options).to_have_count(1)
    expect(options.first).to_contain_text("Brain stem")
    expect(field).to_have_attribute("aria-expanded", "true")
    explorer.shot("type-ahead")
    field.press("ArrowDown")
    expect(options.first).to_have_attribute("aria-selected", "true")
    field.press("Enter")
    expect(explorer["#card h1"]).to_have_text("Brain stem")
    assert explorer.page.url.endswith(f"#/concept?cui={STEM}")


def test_a_synonym_says_which_one_it_is(explorer: Explorer) -> None:
    explorer.field("Search").fill("truncus")
    expect(explorer.page.get_by_role("option")).to_have_text(re.compile(f"Brain stem.*{STEM}.*also: Truncus encephali"))


def test_a_name_that_is_spelt_otherwise_says_so(explorer: Explorer) -> None:
    options = explorer.page.get_by_role("option")
    explorer.field("Search").fill("artreies")
    expect(options.first).to_have_text(re.compile("^Arteries.*spelt otherwise"))
    explorer.field("Search").fill("aortas")
    expect(options.first).to_have_text(re.compile("^Aorta.*another form"))


def test_more_concepts_than_are_listed_are_announced(explorer: Explorer) -> None:
    explorer.field("Search").fill("disease number")
    expect(explorer.page.get_by_role("option")).to_have_count(12)
    expect(explorer[".status"]).to_have_text("The first 12 concepts; type more to narrow them down")


def test_the_list_closes_with_escape_and_opens_with_arrows(explorer: Explorer) -> None:
    field = explorer.field("Search")
    field.fill("brain")
    options = explorer.page.get_by_role("option")
    expect(options).to_have_count(3)
    field.press("ArrowUp")
    expect(options.last).to_have_attribute("aria-selected", "true")
    field.press("Escape")
    expect(options).to_have_count(0)
    expect(field).to_have_value("brain")
    field.press("ArrowDown")
    expect(options).to_have_count(3)
    field.press("Escape")
    field.press("Escape")
    expect(field).to_have_value("")


def test_a_late_answer_never_takes_the_place_of_a_newer_one(explorer: Explorer) -> None:
    held: list[Route] = []
    explorer.page.route("**/v1/search?text=brain*", lambda route: held.append(route))  # noqa: PLW0108 - it is marked
    field = explorer.field("Search")
    field.fill("brain")
    wait_for(lambda: explorer.page.evaluate("true") and len(held) == 1)
    field.fill("head")
    expect(explorer.page.get_by_role("option")).to_have_text(re.compile("Head"))
    held[0].continue_()
    explorer.page.evaluate("fetch('v1/search?text=later').then((answer) => answer.text())")
    expect(explorer.page.get_by_role("option")).to_have_text(re.compile("Head"))


def test_enter_before_the_answer_takes_the_first_concept(explorer: Explorer) -> None:
    field = explorer.field("Search")
    field.fill("brainstem")
    field.press("Enter")
    expect(explorer["#card h1"]).to_have_text("Brain stem")


def test_enter_takes_no_concept_of_a_text_typed_before(explorer: Explorer) -> None:
    field = explorer.field("Search")
    field.fill("brain")
    expect(explorer.page.get_by_role("option").first).to_contain_text("C0006104")
    field.press_sequentially(" stem")  # without waiting for its list
    field.press("Enter")
    expect(explorer["#card h1"]).to_have_text("Brain stem")


def test_the_list_tells_semantic_types_and_vocabularies(explorer: Explorer) -> None:
    field = explorer.field("Search")
    field.fill("brain")
    options = explorer.page.get_by_role("option")
    about = options.locator(".about")
    expect(about.nth(1)).to_have_text("Body Part, Organ, or Organ Component · MSH")
    expect(about.nth(2)).to_have_text("MSH, NCI")
    explorer.shot("type-ahead-details")
    explorer.page.route("**/v1/concepts", lambda route: route.abort())
    field.fill("head")
    expect(options).to_have_text([re.compile("Head")])  # the list does not wait for the announcement beside it


def test_a_key_is_answered_with_few_questions(browser: Browser, service: RunningService) -> None:
    requests_sent: list[str] = []
    with opened(browser, service.http + "/", alone=True) as explorer:  # its clock stands still
        explorer.open()
        explorer.page.on("request", lambda request: requests_sent.append(request.url))
        explorer.page.clock.install(time=0)
        explorer.page.clock.pause_at(1000)
        explorer.field("Search").press_sequentially("brain stem")
        explorer.page.clock.run_for(1000)
        expect(explorer.page.get_by_role("option")).to_have_count(1)
    assert len([url for url in requests_sent if "/v1/search" in url]) == 1


def test_a_retired_identifier_leads_to_its_successor(explorer: Explorer) -> None:
    explorer.field("Search").fill("c9000901")
    expect(explorer.page.get_by_role("option")).to_have_text(re.compile("Veins.*successor of C9000901, retired"))
    explorer.field("Search").press("Enter")
    expect(explorer["#card h1"]).to_have_text("Veins")
    explorer.go("#/concept?cui=C9000901")
    expect(explorer["#card .notice"]).to_have_text("C9000901 is retired; this is its successor.")


def test_a_code_or_a_curie_is_no_retired_identifier(explorer: Explorer) -> None:
    explorer.field("Search").fill("umls:C0042449")
    expect(explorer.page.get_by_role("option")).to_have_text(re.compile("Veins.*concept of umls:C0042449"))
    explorer.go("#/concept?cui=umls:C0042449")
    expect(explorer["#card .notice"]).to_have_text("umls:C0042449 stands for this concept.")
    explorer.go("#/neighbourhood?cui=umls:C0042449")
    expect(explorer["main .notice"]).to_have_text("umls:C0042449 stands for C0042449.")


def test_what_is_suggested_for_a_retired_identifier_is_offered_as_that(explorer: Explorer) -> None:
    explorer.field("Search").fill("C9000903")
    expect(explorer.page.get_by_role("option")).to_have_text(
        re.compile(r"Blood vessels.*suggested \(RB\) for C9000903, retired")
    )
    explorer.go("#/concept?cui=C9000903")
    expect(explorer[".problem"]).to_contain_text("In place of C9000903 the release suggests: C0005847 (broader)")


def test_the_card_tells_what_the_release_knows(explorer: Explorer, tmp_path: Path) -> None:
    explorer.go(f"#/concept?cui={STEM}")
    card = explorer["#card"]
    expect(card).to_contain_text("Body Part, Organ, or Organ Component")
    expect(card).to_contain_text("Brainstem · Truncus encephali")
    expect(card.get_by_role("region", name="Parents")).to_have_text(re.compile("1 parent.*Brain.*C0006104.*MSH"))
    expect(card.get_by_role("region", name="Children")).to_contain_text("0 children")
    expect(explorer["#release"]).to_contain_text("2026AB")
    expect(explorer["#tier"]).to_have_text("from index")
    card.get_by_role("button", name="Copy identifier").click()
    expect(card.get_by_role("button", name="Copy identifier")).to_have_text("Copied")
    assert explorer.page.evaluate("navigator.clipboard.readText()") == STEM
    assert json.loads(explorer.saved("JSON", tmp_path))["cui"] == STEM
    explorer.shot("concept")


def test_files_of_a_concept_hold_its_parents_and_children(
    explorer: Explorer, graph: SnapshotGraph, tmp_path: Path
) -> None:
    explorer.go(f"#/concept?cui={HUB}")
    expect(explorer["#card h1"]).to_have_text("Disease")
    rows = list(csv.DictReader(io.StringIO(explorer.saved("CSV", tmp_path).decode(), newline="")))
    assert [row["relation"] for row in rows] == ["itself", "parent", *["child"] * CHILDREN]
    assert (rows[0]["cui"], rows[0]["children"], rows[1]["cui"]) == (HUB, str(CHILDREN), "C0926510")
    children = [near.cui for near in graph.neighbours([HUB], hops=1, direction="down")[0]]
    assert [row["cui"] for row in rows[2:]] == children
    assert rows[2]["name"] == "disease number 0"
    saved = json.loads(explorer.saved("JSON", tmp_path))
    assert (saved["title"], saved["cui"], saved["release_name"]) == ("Disease", HUB, "2026AB")
    assert [child["cui"] for child in saved["child_concepts"]] == children
    assert saved["parent_concepts"] == [{"cui": "C0926510", "name": "Body part"}]
    assert (saved["parents_left_out"], saved["children_left_out"]) == (0, 0)


def test_the_card_tells_the_vocabularies_of_the_concept(explorer: Explorer, graph: SnapshotGraph) -> None:
    explorer.go(f"#/concept?cui={STEM}")
    expect(explorer["#card .vocabularies"]).to_have_text("Vocabularies: MSH")
    assert graph.concepts([STEM])[0].sabs == ("MSH",)


def test_definitions_are_shown_as_text_with_their_vocabulary(browser: Browser, service: RunningService) -> None:
    markup = 'The part <b>below</b>. <img src=x onerror="window.hacked = 1">'
    defined_texts = [
        {"sab": "MSH", "text": markup},
        {"sab": "NCI", "text": "The part of the brain that is continuous with the spinal cord. " * 12},
        {"sab": "UBERON", "text": "第三の定義"},
        {"sab": "SYN", "text": "The last one"},
    ]

    def defined(route: Route) -> None:
        concept = route.fetch().json()
        route.fulfill(json={**concept, "definitions": defined_texts})

    with opened(browser, service.http + "/", color_scheme="dark") as explorer:
        explorer.page.route("**/v1/concept?*", defined)
        for scheme, width in (("dark", 1280), ("light", 1280), ("light", 320)):
            explorer.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            explorer.page.set_viewport_size({"width": width, "height": 900})
            explorer.open(f"#/concept?cui={STEM}")
            definitions = explorer.page.get_by_role("region", name="Definitions")
            expect(definitions.locator("dt")).to_have_text(["MSH", "NCI", "UBERON"])
            expect(definitions.locator("dd").first).to_have_text(markup)
            assert explorer.page.evaluate("window.hacked") is None
            explorer.shot(f"definitions-{scheme}-{width}")
            assert explorer.page.evaluate("document.documentElement.scrollWidth") <= width
            definitions.get_by_role("button", name="1 more definition").click()
            expect(definitions.locator("dd").last).to_have_text("The last one")


def test_many_children_come_page_by_page(explorer: Explorer) -> None:
    explorer.go(f"#/concept?cui={HUB}")
    children = explorer.page.get_by_role("region", name="Children")
    expect(children).to_contain_text("1,234 children")
    expect(children.get_by_role("link")).to_have_count(25)
    expect(children.get_by_role("link").nth(2)).to_have_text("disease number 2")
    expect(children.get_by_role("listitem").nth(2)).to_have_text("disease number 2 C8100002 MSH")
    children.get_by_role("button", name="1,209 more").click()
    expect(children.get_by_role("link")).to_have_count(50)
    expect(children.get_by_role("button", name="1,184 more")).to_be_visible()


def test_a_tree_leads_from_the_root_to_the_concept(explorer: Explorer) -> None:
    tree = explorer.page.get_by_role("region", name="From the root")
    items = tree.get_by_role("listitem")
    explorer.go("#/concept?cui=C8100005")
    expect(items).to_have_text(
        [re.compile(name) for name in ("Body part C0926510 root 2 more children", "Disease", "disease number 5")]
    )
    tree.get_by_role("button", name="1,233 siblings below Disease").click()
    expect(tree.locator(".sibling")).to_have_count(25)
    expect(tree.get_by_role("link", name="disease number 4", exact=True)).to_be_visible()
    tree.get_by_role("button", name="1,208 more", exact=True).click()
    expect(tree.locator(".sibling")).to_have_count(50)
    tree.get_by_role("button", name="1,233 siblings below Disease").click()
    expect(items).to_have_count(3)
    for text, view in (("Compare with…", "comparison"), ("Path to…", "path"), ("Similarity to…", "similarity")):
        expect(explorer.page.get_by_role("link", name=text)).to_have_attribute("href", f"#/{view}?a=C8100005")
    tree.get_by_role("button", name="2 more children below Body part").click()
    expect(tree.locator(".sibling")).to_have_count(2)
    tree.get_by_role("button", name="From Disease down to this concept").click()
    expect(items.filter(visible=True)).to_have_count(4)
    explorer.page.reload()  # the address keeps what is open
    expect(items.filter(visible=True)).to_have_count(4)
    tree.get_by_role("button", name="From Body part down to this concept").click()
    expect(items.filter(visible=True)).to_have_count(1)
    explorer.go("#/concept?cui=C9000011")  # by two ways
    expect(tree.locator("strong")).to_have_count(2)
    expect(items.last).to_contain_text("C9000011 again")
    explorer.go("#/concept?cui=C9000001")
    expect(items.first).to_contain_text("C9000002 in a cycle 1 sibling")
    explorer.go("#/concept?cui=C0926510")
    expect(tree).to_contain_text("A root: nothing is broader.")


def test_a_tree_of_many_ways_is_folded_and_counted(browser: Browser, tmp_path: Path) -> None:
    name = "n{}-{}".format
    layers = [(name(up + 1, low), name(up, high)) for up in range(15) for low in range(10) for high in range(10)]
    deeper = [(name(up + 1, 0), name(up, 0)) for up in range(15, 80)]
    graph = SnapshotGraph.of([*layers, *deeper, (name(81, 0), name(80, 0)), (name(81, 0), "another")], name="many ways")
    with (
        running_service(graph, routes=lambda core, admission: explorer_routes()) as service,
        opened(browser, service.http + "/") as explorer,
    ):
        tree = explorer.page.get_by_role("region", name="From the root")
        explorer.go(f"#/concept?cui={name(14, 3)}")
        expect(tree).to_contain_text("140 broader concepts. Of 1,320 rows one path to this concept is open.")
        expect(tree.locator("strong").first).to_be_visible()
        for row in ("n0-1", "n1-1"):
            tree.get_by_role("button", name=f"From {row} down to this concept").first.click()
        again = tree.get_by_role("button", name="n2-0 is shown above: go there").first
        again.click()
        expect(tree.get_by_role("link", name="n2-0", exact=True).first).to_be_focused()
        explorer.go(f"#/concept?cui={name(80, 0)}")
        expect(tree).to_contain_text("The nearest 200 of 215 broader concepts; the roots are further up.")
        explorer.go(f"#/neighbourhood?cui={name(80, 0)}&hops=2")
        legend = explorer.page.get_by_role("list", name="Legend")
        expect(legend).to_contain_text("above: concepts that share a narrower one")
        svg = explorer.saved("SVG", tmp_path)
        heights = [at_in(svg, text)[1] for text in (f"also broader than {name(81, 0)}", "another", name(80, 0))]
        assert heights == sorted(heights)


def test_a_release_exchanged_meanwhile_is_announced(browser: Browser, graph: SnapshotGraph, tmp_path: Path) -> None:
    newer = SnapshotGraph.of([(STEM, "C0006104")], names={STEM: "Brainstem, newer"}, name="2027AA", identifiers="cui")
    with (
        running_service(graph, routes=lambda core, admission: explorer_routes()) as service,
        opened(browser, service.http + "/") as explorer,
    ):
        explorer.go(f"#/concept?cui={HEAD}")
        expect(explorer["#card h1"]).to_have_text("Head")
        service.holder.serve(ServedGraph(newer.release, index=newer))
        explorer.go(f"#/concept?cui={STEM}")
        expect(explorer["#card h1"]).to_have_text("Brainstem, newer")
        expect(explorer["#card .vocabularies"]).to_have_count(0)  # that release does not tell them
        expect(explorer["#release"]).to_contain_text("2027AA")


# Paths


def test_a_choice_shows_its_view_before_the_next_letter_is_typed(explorer: Explorer) -> None:
    explorer.page.get_by_role("navigation").get_by_role("link", name="Path").click()
    field = explorer.field("From")
    field.fill("brain stem")
    expect(explorer.page.get_by_role("option").first).to_be_visible()
    enter = "field => { field.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'})); return field.isConnected; }"
    assert field.evaluate(enter) is False
    expect(explorer.chips("From")).to_contain_text([f"Brain stem {STEM}"])
    explorer.page.go_back()
    expect(explorer.chips("From")).to_have_count(0)


def test_a_path_is_the_one_of_the_library(explorer: Explorer, graph: SnapshotGraph) -> None:
    explorer.page.get_by_role("navigation").get_by_role("link", name="Path").click()
    explorer.choose("From", "brain stem")
    explorer.choose("To", "head")
    expect(explorer["#hops"]).to_have_text("3 hops in both directions")
    path = graph.path(STEM, HEAD)
    assert path is not None
    steps = explorer["#steps li"]
    expect(steps).to_have_text([re.compile(cui) for cui in path.cuis])
    expect(steps.nth(1)).to_have_text(re.compile("↑ is a.*MSH"))
    expect(steps.nth(3)).to_have_text(re.compile("↓ has child"))
    expect(explorer.page.get_by_role("application")).to_be_visible()
    explorer.shot("path")


def test_fields_of_one_concept_take_pasted_names_and_say_what_is_not_understood(explorer: Explorer) -> None:
    explorer.go("#/similarity")
    explorer.paste("Of", "brain stem; artreies")  # both fields, once both are understood
    of = explorer.chips("Of")
    expect(of).to_contain_text([f"Brain stem {STEM}", "“artreies” not understood; nearest: Arteries"])
    expect(explorer["#of-status"]).to_have_text("1 concept; 1 not understood")
    of.get_by_role("button", name="Arteries").click()
    expect(explorer.chips("And")).to_contain_text(["Arteries"])
    expect(explorer["#scale"]).to_be_visible()
    explorer.page.get_by_role("link", name="Path between the two").click()
    explorer.paste("To", "C0018760")
    expect(explorer.chips("To")).to_contain_text(["C0018760 not in this release Head"])  # digits exchanged
    expect(explorer[".problem"]).to_contain_text("Unknown concept")
    explorer.chips("To").get_by_role("button", name="Head").click()
    expect(explorer["#hops"]).to_have_text("3 hops in both directions")
    explorer.paste("From", "aorta;veins;head")
    expect(explorer["#from-status"]).to_have_text("3 concepts; 2 at most: remove the others")
    explorer.page.get_by_role("button", name="Remove Veins").click()
    expect(explorer.chips("From")).to_contain_text(["Aorta"])
    assert explorer.page.url.endswith(f"#/path?a=C0003483&b={HEAD}")


def test_distances_are_those_of_the_library_either_way_up_and_down(explorer: Explorer, graph: SnapshotGraph) -> None:
    for a, b in ((STEM, HEAD), (VEINS, "C0007226"), ("C9000005", "C9000001"), (STEM, VEINS), (HEAD, HEAD)):
        for direction in ("any", "up", "down", "vertical"):
            explorer.go(f"#/path?a={a}&b={b}&direction={direction}")
            hops = graph.distance(a, b, direction=direction)
            expected = "No path" if hops is None else f"{hops} hop{'' if hops == 1 else 's'}"
            expect(explorer["#hops"]).to_have_text(re.compile(rf"^{expected}\b"))


def test_a_bound_and_a_direction_are_kept_in_the_address(explorer: Explorer) -> None:
    explorer.go(f"#/path?a={STEM}&b={HEAD}")
    explorer.page.get_by_label("up, to broader").check()
    expect(explorer["#answer"]).to_contain_text("No path")
    explorer.page.get_by_label("in both directions").check()
    expect(explorer["#hops"]).to_have_text(re.compile("3 hops"))
    expect(explorer.page.get_by_label("in both directions")).to_be_focused()
    explorer["#bound"].fill("2")
    explorer["#bound"].press("Tab")
    expect(explorer["#hops"]).to_have_text("No path within 2 hops")
    assert explorer.page.url.endswith(f"#/path?a={STEM}&b={HEAD}&max_hops=2")
    explorer.page.get_by_role("button", name="Swap").click()
    expect(explorer.page).to_have_url(re.compile(f"a={HEAD}&b={STEM}&max_hops=2"))
    explorer.page.go_back()
    expect(explorer.page).to_have_url(re.compile(f"a={STEM}&b={HEAD}&max_hops=2"))
    expect(explorer.chips("From")).to_contain_text([f"Brain stem {STEM}"])


def test_each_picture_comes_as_cypher_with_parameters(explorer: Explorer) -> None:
    explorer.go(f"#/path?a=C9000901&b={VESSELS}&direction=up")
    explorer.page.get_by_text("The same in Cypher").click()
    expect(explorer["pre"]).to_have_text(
        f":param a => '{VEINS}';\n:param b => '{VESSELS}';\n\n"
        "MATCH (a:Concept {cui: $a}), (b:Concept {cui: $b})\n"
        "MATCH p = allShortestPaths((a)-[:IS_A*..1]->(b))\n"
        "WITH p ORDER BY [n IN nodes(p) | n.cui] LIMIT 1\n"
        "RETURN p"
    )
    explorer.page.get_by_role("button", name="Copy Cypher").click()
    assert explorer.page.evaluate("navigator.clipboard.readText()").startswith(":param a")


def test_all_shortest_paths_are_counted_and_shown_one_after_another(
    explorer: Explorer, graph: SnapshotGraph, tmp_path: Path
) -> None:
    a, b = "C9000011", "C9000014"
    explorer.go(f"#/path?a={a}&b={b}")
    expect(explorer["#rank"]).to_have_text("1 of 2 shortest paths")
    expect(explorer.page.get_by_role("button", name="Previous")).to_be_disabled()
    expect(explorer["#steps"]).to_contain_text("C9000012")
    explorer.page.get_by_role("button", name="Next").click()
    expect(explorer["#rank"]).to_have_text("2 of 2 shortest paths")
    expect(explorer["#steps"]).to_contain_text("C9000013")
    expect(explorer.page.get_by_role("button", name="Next")).to_be_disabled()
    expect(explorer.page).to_have_url(re.compile("which=2"))
    saved = json.loads(explorer.saved("JSON", tmp_path))
    assert (saved["which"], saved["total"]) == (2, 2)
    explorer.page.get_by_text("The same in Cypher").click()
    expect(explorer["pre"]).to_contain_text("SKIP 1 LIMIT 1")
    explorer.page.get_by_role("button", name="Swap").click()
    expect(explorer["#rank"]).to_have_text("1 of 2 shortest paths")
    explorer.go(f"#/path?a={a}&b={b}&which=3")
    expect(explorer[".problem"]).to_contain_text("there are fewer shortest paths; found 3; expected 1 to 2")
    explorer.go(f"#/path?a={STEM}&b=C0006104")
    expect(explorer["#rank"]).to_have_text("the only shortest path")


def test_all_shortest_paths_are_one_picture_of_the_chosen_vocabularies(
    explorer: Explorer, graph: SnapshotGraph, tmp_path: Path
) -> None:
    a, b, by_nci, by_msh = "C9000011", "C9000014", BY_NCI, "C9000013"
    explorer.go(f"#/path?a={a}&b={b}")
    expect(explorer["#rank"]).to_have_text("1 of 2 shortest paths")
    paths = graph.paths(a, b)
    assert paths is not None
    saved = json.loads(explorer.saved("JSON", tmp_path))["all"]
    assert [(each["cui"], each["hops"]) for each in saved["concepts"]] == [(c.cui, c.hops) for c in paths.concepts]
    assert [(each["child"], each["parent"]) for each in saved["edges"]] == [(e.child, e.parent) for e in paths.edges]
    svg = ET.fromstring(explorer.saved("SVG", tmp_path))  # noqa: S314 - made by the page under test
    lines = svg.findall("{http://www.w3.org/2000/svg}line")
    assert (len(lines), len({line.attrib["stroke"] for line in lines})) == (4, 2)
    assert [line.attrib["stroke-width"] for line in lines].count("3.5") == 2  # the path in the list
    explorer["#answer .canvas"].focus()
    for _ in range(4):
        explorer.page.keyboard.press("ArrowDown")
    for key in ("ArrowRight", "ArrowDown", "ArrowUp"):
        explorer.page.keyboard.press(key)
        if by_msh in (explorer["#chosen"].text_content() or ""):
            break
    explorer["#through"].click()
    expect(explorer["#rank"]).to_have_text("2 of 2 shortest paths")
    explorer.page.get_by_role("checkbox", name="NCI").uncheck()
    expect(explorer["#rank"]).to_have_text("the only shortest path")
    expect(explorer["#steps"]).to_contain_text(by_msh)
    expect(explorer["#unrestricted"]).to_have_text("With all vocabularies: 2 hops")
    expect(explorer.page.get_by_role("checkbox", name="MSH")).to_be_disabled()
    assert explorer.page.url.endswith("&sabs=MSH")
    explorer.page.get_by_text("The same in Cypher").click()
    expect(explorer["pre"]).to_contain_text("WHERE any(sab IN e.sabs WHERE sab IN $sabs)")
    explorer.go(f"#/path?a={a}&b={by_nci}&sabs=MSH")
    expect(explorer["#answer"]).to_contain_text("No chain of is_a links that MSH asserts connects")
    expect(explorer["#unrestricted"]).to_have_text("With all vocabularies: 1 hop")
    explorer.go(f"#/comparison?a={a}&b={by_nci}")
    for sab in ("NCI", "MSH"):
        expect(explorer[".hint"].first).to_contain_text(
            "in both directions" + (", by MSH only" if sab == "MSH" else "")
        )
        one = graph if sab == "NCI" else graph.within(["MSH"])
        assert values(explorer) == (0, cuihop.nn_iou({a}, {by_nci}, one))
        explorer.page.get_by_role("checkbox", name="NCI").set_checked(sab != "NCI")
    explorer.go(f"#/comparison?a={a}&b={by_nci}&sabs=OTHER")  # none of this release
    expect(explorer[".hint"].first).to_have_text("n = 1, λ = 0.5, hops in both directions")


def test_similarity_has_a_scale_and_general_concepts_are_marked(
    explorer: Explorer, graph: SnapshotGraph, tmp_path: Path
) -> None:
    explorer.go(f"#/path?a={STEM}&b={HEAD}")
    (general,) = graph.hierarchy.placements(["C0926510"], ic="Seco")
    assert general.ic is not None
    expect(explorer["#steps .general"]).to_have_text(
        f"△ very general: {general.descendants:,} narrower concepts, information content {general.ic:.2f}"
    )
    link = explorer.page.get_by_role("link", name="Similarity of the two")
    expect(link).to_have_attribute("href", f"#/similarity?a={STEM}&b={HEAD}")
    explorer.go(f"#/comparison?a={STEM}&b={HEAD}")
    explorer.page.get_by_role("link", name="Similarity of the two, by every measure").click()
    panel = explorer["#similarity"]
    expect(explorer["#scale"]).to_contain_text("pairs of different concepts")
    pair, scale = graph.hierarchy.pair(STEM, HEAD), graph.hierarchy.scale(SimilarityOptions())
    for measure, value in pair.values.items():
        row = panel.locator(f"[data-measure='{measure}']")
        assert float(row.locator("[data-value]").get_attribute("data-value") or "nan") == value
        assert value is not None
        levels = scale.percentiles[measure][1:]
        less = sum(level > value if measure == "Jiang-Conrath" else level < value for level in levels)
        expect(row.locator("meter")).to_have_attribute("value", str(less))
        expect(panel.locator("dl")).to_contain_text(SIMILARITY_MEASURES[measure])
    expect(panel.locator("[data-measure=hops]")).to_contain_text(str(pair.hops))
    ancestors = panel.get_by_role("region", name="Common ancestors")
    ancestors.get_by_role("link", name="Body part").hover()
    expect(panel.locator(f"[data-cui='{STEM}']")).to_contain_text(f"{pair.a.ic:.4f}")
    assert json.loads(explorer.saved("JSON", tmp_path))["values"] == dict(pair.values)
    rows = list(csv.DictReader(io.StringIO(explorer.saved("CSV", tmp_path).decode(), newline="")))
    assert {row["measure"]: float(row["value"]) for row in rows[1:]} == dict(pair.values)
    explorer.page.get_by_text("Seco, by descendants").click()
    expect(panel).to_contain_text("Information content Seco")
    assert explorer.page.url.endswith(f"#/similarity?a={STEM}&b={HEAD}&ic=Seco")
    measures = panel.get_by_role("region", name="Measures of similarity")
    for _ in range(2):
        measures.get_by_role("button", name="Measure").click()
    places = panel.get_by_role("region", name="Places in the hierarchy")
    places.get_by_role("button", name="Concept").click()
    assert explorer.page.url.endswith("&ic=Seco&measures=-measure&concepts=concept")
    explorer.page.reload()
    expect(measures.get_by_role("row").nth(1)).to_contain_text("Wu-Palmer")
    expect(places.get_by_role("row").nth(1)).to_contain_text("Brain stem")
    explorer.page.get_by_role("navigation").get_by_role("link", name="Path").click()
    expect(explorer["#hops"]).to_contain_text("3 hops")


def test_a_missing_path_is_said_in_a_sentence(explorer: Explorer) -> None:
    explorer.go(f"#/path?a={STEM}&b={VEINS}")
    expect(explorer["#answer"]).to_contain_text("No chain of is_a links connects Brain stem and Veins.")
    explorer.go(f"#/path?a={STEM}&b={HEAD}&direction=up&max_hops=4")
    expect(explorer["#answer"]).to_contain_text(
        "No chain of is_a links connects Brain stem and Head within 4 hops, up only. "
        "With hops in both directions there may be one."
    )


# Neighbourhoods


def picture_counts(explorer: Explorer, folder: Path) -> dict[str, int]:
    """The concepts in the picture and their hops, as it is saved."""
    saved = json.loads(explorer.saved("JSON", folder))
    hops = {concept["cui"]: concept["hops"] for concept in saved["concepts"]}
    return {cui: hops[cui] for cui in saved["drawn"]["concepts"]}


def test_a_neighbourhood_is_the_one_of_the_library(explorer: Explorer, graph: SnapshotGraph, tmp_path: Path) -> None:
    for direction in ("any", "up", "down", "vertical"):
        explorer.open(f"#/neighbourhood?cui={VESSELS}&hops=2&direction={direction}")
        found = graph.neighbours([VESSELS], hops=2, direction=direction)[0]
        expect(explorer["#total"]).to_contain_text(f"{len(found)} concept")
        assert picture_counts(explorer, tmp_path) == {VESSELS: 0} | {near.cui: near.hops for near in found}
    explorer.shot("neighbourhood")


def test_a_hub_stays_folded_until_it_is_unfolded_page_by_page(
    explorer: Explorer, graph: SnapshotGraph, tmp_path: Path
) -> None:
    explorer.go(f"#/neighbourhood?cui={HEAD}&hops=3&as=picture")
    expect(explorer["#total"]).to_contain_text(f"{graph.neighbours([HEAD], hops=3)[0].total:,} concepts within 3 hops")
    few = picture_counts(explorer, tmp_path)
    assert HUB in few
    assert len(few) < 12
    explorer.page.get_by_text("Children of Disease: 0 of 1,234 drawn").click()
    explorer.shot("folded-hub")
    explorer.page.get_by_role("button", name="Draw the next 12 of 1,234").click()
    expect(explorer["#total"]).to_contain_text(f"{len(few) - 1 + 12} drawn")
    address = explorer.page.url
    rest = explorer.page.get_by_role("button", name="Draw the next 12 of 1,222")
    expect(rest).to_be_focused()
    rest.click()
    expect(explorer["#total"]).to_contain_text(f"{len(few) - 1 + 24} drawn")
    distances = graph.distances([(HEAD, cui) for cui in picture_counts(explorer, tmp_path)])
    assert list(picture_counts(explorer, tmp_path).values()) == distances.to_list()
    explorer.shot("unfolded-hub")
    explorer.open(address.removeprefix(explorer.base))
    expect(explorer["#total"]).to_contain_text(f"{len(few) - 1 + 12} drawn")


def test_a_member_of_a_family_is_found_by_a_filter_and_drawn(explorer: Explorer, tmp_path: Path) -> None:
    explorer.go(f"#/neighbourhood?cui={HUB}&direction=down&as=picture")
    explorer.page.get_by_text("Children of Disease: 12 of 1,234 drawn").click()
    family = explorer[f"#family-down-{HUB}"]
    expect(family.get_by_role("listitem").first).to_contain_text("disease number 0")
    expect(family.get_by_role("status")).to_have_text("The first 30 of 1,234 concepts; filter to narrow them down")
    family.get_by_label("Filter the children of Disease").fill("number 1007")
    expect(family.get_by_role("listitem")).to_have_text(["Draw disease number 1007 C8101007"])
    family.get_by_role("button", name="Draw disease number 1007").click()
    expect(explorer["#total"]).to_contain_text("13 drawn")
    expect(family.get_by_label("Filter the children of Disease")).to_be_focused()
    expect(family.get_by_role("listitem")).to_have_text(["drawn disease number 1007 C8101007"])
    assert "C8101007" in json.loads(explorer.saved("JSON", tmp_path))["drawn"]["concepts"]
    address = explorer.page.url
    explorer.open(address.removeprefix(explorer.base).replace("C8101007", "C8101007+C0006121"))  # one stranger
    expect(explorer["#total"]).to_contain_text("13 drawn")


def test_a_large_neighbourhood_comes_as_a_table_by_name_with_a_filter(explorer: Explorer, graph: SnapshotGraph) -> None:
    explorer.go(f"#/neighbourhood?cui={HUB}&hops=2")
    total = graph.neighbours([HUB], hops=2)[0].total
    expect(explorer["#matches"]).to_have_text(f"{total:,} concepts")
    rows = explorer["tbody tr"]
    expect(rows).to_have_count(100)
    expect(rows.nth(0)).to_have_text(re.compile("^Body partC0926510"))
    expect(rows.nth(3)).to_have_text(re.compile("^disease number 2C81000021MSH"))  # 2 stands before 10
    explorer.page.get_by_role("button", name="100 more of").click()
    expect(rows).to_have_count(200)
    explorer["#filter"].fill("NUMBER 77")
    expect(rows).to_have_count(21)
    expect(explorer["#matches"]).to_have_text(f"21 of {total:,} concepts")
    explorer.shot("neighbourhood-table")
    rows.first.get_by_role("link", name="1 hop: path to disease number 77").click()
    expect(explorer["#hops"]).to_have_text("1 hop in both directions")
    explorer.page.go_back()
    explorer.page.get_by_role("radio", name="picture").check()
    expect(explorer["#total"]).to_contain_text("drawn")
    expect(explorer.page.get_by_role("radio", name="picture")).to_be_focused()
    expect(explorer.page).to_have_url(re.compile("as=picture"))


def test_a_small_neighbourhood_comes_as_a_picture_first(explorer: Explorer) -> None:
    explorer.go(f"#/neighbourhood?cui={VESSELS}&hops=2")
    expect(explorer.page.get_by_role("radio", name="picture")).to_be_checked()
    expect(explorer.page.get_by_role("application")).to_be_visible()


def test_concepts_are_coloured_by_vocabulary_or_semantic_type(explorer: Explorer, tmp_path: Path) -> None:
    explorer.go(f"#/neighbourhood?cui={STEM}&hops=2")
    legend = explorer.page.get_by_role("list", name="Legend")
    expect(legend.get_by_role("listitem")).to_contain_text(["left: broader", "centre"])
    expect(explorer["#colour-choice"]).to_have_value("none")  # of one vocabulary only
    explorer["#colour-choice"].select_option("semantic type")
    expect(legend.get_by_role("listitem")).to_contain_text(
        ["① no semantic type", "② Body Part, Organ, or Organ Component (1)"]
    )
    expect(explorer.page).to_have_url(re.compile("colour=type"))
    explorer.shot("coloured")
    svg = explorer.saved("SVG", tmp_path).decode()
    assert "② Brain stem" in svg
    assert "② Body Part, Organ, or Organ Component (1)" in svg
    explorer["#colour-choice"].select_option("vocabulary")
    expect(legend).to_contain_text("① MSH")


def test_broader_stands_left_narrower_right_and_siblings_below(explorer: Explorer, tmp_path: Path) -> None:
    explorer.go("#/neighbourhood?cui=C0003842&hops=2")
    canvas = explorer.page.get_by_role("application")
    expect(canvas).to_be_visible()
    centre, broad, broadest, narrow, sibling = (
        at_in(explorer.saved("SVG", tmp_path), name)
        for name in ("Arteries", "Blood vessels", "Cardiovascular system", "Aorta", "Veins")
    )
    assert broadest[0] < broad[0] < centre[0] < narrow[0]
    assert max(broadest[1], broad[1], narrow[1]) - centre[1] < LINE_OF_TEXT  # the centre has two lines
    assert (sibling[0] > broad[0], sibling[1] > centre[1]) == (True, True)
    expect(explorer.page.get_by_role("list", name="Legend")).to_contain_text("below: siblings")
    for width in (320, 1024, 1400):
        explorer.page.set_viewport_size({"width": width, "height": 800})
        explorer.open("#/neighbourhood?cui=C0003842&hops=2")
        assert float(canvas.get_attribute("data-text") or 0) >= 12  # pixels on the screen
        assert explorer.page.evaluate("document.documentElement.scrollWidth") <= width
    explorer.page.set_viewport_size({"width": 1280, "height": 900})


def test_a_concept_is_expanded_in_place_and_the_way_back_takes_it_away(explorer: Explorer, tmp_path: Path) -> None:
    explorer.go("#/neighbourhood?cui=C0003842")
    canvas, total = explorer.page.get_by_role("application"), explorer["#total"]
    expect(total).to_contain_text("2 drawn")
    canvas.evaluate("(canvas) => { canvas.theSame = true; }")
    for key in ("ArrowLeft", "ArrowLeft", "e"):
        canvas.press(key)
    expect(total).to_contain_text("2 concepts within 1 hop in both directions; 2 drawn, and 2 beyond")
    expect(canvas).to_be_focused()
    drawn = json.loads(explorer.saved("JSON", tmp_path))["drawn"]["concepts"]
    assert sorted(drawn) == ["C0003483", "C0003842", VESSELS, "C0007226", VEINS]
    expect(explorer[".chosen"]).to_contain_text("Blood vessels")
    canvas.press("ArrowLeft")  # to what came into the picture, which is expanded in turn
    expect(explorer[".chosen"]).to_contain_text("Cardiovascular system")
    expect(explorer["#expand"]).to_have_count(0)  # all its parents and children are there
    address = explorer.page.url
    explorer["#colour-choice"].select_option("vocabulary")
    expect(explorer.page).to_have_url(re.compile("colour=vocabulary"))
    explorer.page.go_back()
    expect(explorer["#colour-choice"]).to_have_value("none")
    explorer.page.go_back()
    expect(total).to_have_text("2 concepts within 1 hop in both directions; 2 drawn")
    assert canvas.evaluate("(canvas) => canvas.theSame") is True  # the page was not shown again
    explorer.page.go_forward()
    expect(total).to_contain_text("2 beyond")
    explorer.open(address.removeprefix(explorer.base))
    expect(total).to_contain_text("2 beyond")
    explorer.go("#/neighbourhood?cui=C9000001&hops=2")
    explorer["#all"].check()
    expect(explorer.page).to_have_url(re.compile("all=yes"))
    expect(explorer["#all"]).to_be_focused()
    explorer.page.go_back()
    expect(explorer["#all"]).not_to_be_checked()


def at_in(svg: bytes, text: str) -> tuple[float, float]:
    """The place of a text in a picture."""
    for row in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}tspan"):  # noqa: S314 - made by the page under test
        if row.text == text:
            return float(row.get("x", "nan")), float(row.get("y", "nan"))
    raise AssertionError(text)


def test_the_centre_shows_the_first_of_its_family(explorer: Explorer, tmp_path: Path) -> None:
    explorer.go(f"#/neighbourhood?cui={HUB}&direction=down&as=picture")
    expect(explorer["#total"]).to_contain_text(f"{CHILDREN:,} concepts within 1 hop")
    drawn = json.loads(explorer.saved("JSON", tmp_path))["drawn"]
    assert len(drawn["concepts"]) == 1 + 12
    assert drawn["folded"] == [{"cui": HUB, "relation": "child", "left": CHILDREN - 12}]


def test_a_cycle_is_drawn_with_both_its_edges(explorer: Explorer, tmp_path: Path) -> None:
    explorer.go("#/neighbourhood?cui=C9000001&hops=2&all=yes")
    edges = {(e["child"], e["parent"]) for e in json.loads(explorer.saved("JSON", tmp_path))["edges"]}
    assert edges == {("C9000001", "C9000002"), ("C9000002", "C9000001"), ("C9000005", "C9000002")}
    expect(explorer.page.get_by_label("Also draw the other is_a edge")).to_be_checked()


def test_files_of_a_neighbourhood_hold_all_of_it_and_name_the_release(
    explorer: Explorer, graph: SnapshotGraph, tmp_path: Path
) -> None:
    explorer.go(f"#/neighbourhood?cui={HUB}&hops=2&as=picture")
    found = graph.neighbours([HUB], hops=2)[0]
    expect(explorer["#total"]).to_contain_text("15 drawn")
    rows = list(csv.DictReader(io.StringIO(explorer.saved("CSV", tmp_path).decode(), newline="")))
    expected = [(HUB, "0"), *((near.cui, str(near.hops)) for near in found)]
    assert [(row["cui"], row["hops"]) for row in rows] == expected
    assert len(rows) > CHILDREN
    assert rows[0] == {
        "cui": HUB, "name": "Disease", "hops": "0", "parents": "1", "children": str(CHILDREN),
        "vocabularies": "MSH", "semantic_types": "",
    }  # fmt: skip
    saved = json.loads(explorer.saved("JSON", tmp_path))
    assert (saved["title"], saved["release_name"], saved["release"]) == (
        "Neighbourhood of Disease", "2026AB", graph.release.digest
    )  # fmt: skip
    assert (saved["total"], saved["left_out"], len(saved["drawn"]["concepts"])) == (found.total, 0, 16)
    assert [(concept["cui"], str(concept["hops"])) for concept in saved["concepts"]] == expected
    inside = {cui for cui, _ in expected}
    edges = {(HUB, "C0926510"), *((f"C81{number:05}", HUB) for number in range(CHILDREN))}
    assert {(e["child"], e["parent"]) for e in saved["edges"]} >= edges
    assert {cui for edge in saved["edges"] for cui in edge.values()} <= inside
    files = {path.name for path in tmp_path.iterdir()}
    assert files == {f"around-{HUB}-any-2-2026AB-{graph.release.digest[:12]}.{ending}" for ending in ("csv", "json")}


def test_files_that_the_service_cuts_say_so(browser: Browser, graph: SnapshotGraph, tmp_path: Path) -> None:
    limits = Limits(neighbours=100, pack_concepts=50, concepts=40)
    with (
        running_service(graph, limits=limits, routes=lambda core, admission: explorer_routes()) as service,
        opened(browser, service.http + "/") as explorer,
    ):
        explorer.go(f"#/neighbourhood?cui={HUB}&direction=down")
        expect(explorer["#total"]).to_contain_text(f"{CHILDREN:,} concepts within 1 hop")
        rows = explorer.saved("CSV", tmp_path).decode().splitlines()
        assert len(rows) == 1 + 1 + 100 + 1
        assert "(1,134 more concepts are left out: the service gives no more at once)" in rows[-1]
        expect(explorer["#matches"]).to_have_text("the nearest 100 of 1,234 concepts")
        saved = json.loads(explorer.saved("JSON", tmp_path))
        assert (saved["total"], saved["left_out"], len(saved["concepts"])) == (CHILDREN, CHILDREN - 100, 101)
        assert (saved["edges"], saved["edges_left_out"]) == (None, "more than 50 concepts")
        assert saved["drawn"] is None
        assert all("-nearest-100-of-1234-" in path.name for path in tmp_path.iterdir())
        explorer.go(f"#/concept?cui={HUB}")
        expect(explorer["#card h1"]).to_have_text("Disease")
        card = json.loads(explorer.saved("JSON", tmp_path))
        assert (card["parents_left_out"], card["children_left_out"]) == (0, CHILDREN - 100)
        assert "1,134 more concepts are left out" in explorer.saved("CSV", tmp_path).decode().splitlines()[-1]
        assert any("-first-1-of-1-parents-100-of-1234-children-" in path.name for path in tmp_path.iterdir())


def test_a_file_that_cannot_be_made_says_why_and_is_made_when_asked_again(explorer: Explorer, tmp_path: Path) -> None:
    explorer.go(f"#/neighbourhood?cui={HUB}&direction=down")
    expect(explorer["#total"]).to_be_visible()
    explorer.page.route("**/v1/concepts", lambda route: route.abort())
    explorer.page.get_by_role("group", name="Save").get_by_role("button", name="CSV").click()
    expect(explorer[".problem"]).to_contain_text("The service does not answer")
    explorer.page.unroute("**/v1/concepts")
    assert len(explorer.saved("CSV", tmp_path).splitlines()) == 2 + CHILDREN
    expect(explorer[".problem"]).to_have_count(0)


def test_a_table_is_sorted_by_its_heads_and_the_address_keeps_order_and_filter(explorer: Explorer) -> None:
    explorer.go(f"#/neighbourhood?cui={HEAD}&hops=3&direction=vertical&as=table")
    heads = explorer["thead th"]
    expect(heads).to_have_text(["Concept", "Identifier", "Hops", "Vocabularies", "Parents", "Children"])  # no type
    explorer.go(f"#/neighbourhood?cui={HEAD}&hops=2&as=table")
    first = explorer["tbody tr"].first
    expect(first).to_contain_text(HOSTILE)  # by hops and name
    children = explorer.page.get_by_role("button", name="Children")
    children.press("Enter")
    expect(explorer["th[aria-sort=ascending]"]).to_have_text("Children ▲")
    children.press("Enter")
    expect(first).to_contain_text(f"Disease{HUB}")
    expect(children).to_be_focused()
    explorer["#filter"].fill("d")
    there = ["Disease", "Body part", HOSTILE_NAME]
    expect(explorer["tbody tr td:first-child"]).to_have_text(there)
    explorer.page.reload()
    expect(explorer["tbody tr td:first-child"]).to_have_text(there)
    expect(explorer["th[aria-sort=descending]"]).to_have_text("Children ▼")
    explorer.shot("table-sorted")
    children.click()  # no more sorted
    assert explorer.page.url.endswith("&filter=d")


# Comparison of sets


def values(explorer: Explorer) -> tuple[float, float]:
    return tuple(float(explorer[place].get_attribute("data-value") or "nan") for place in ("#iou", "#nn-iou"))  # type: ignore[return-value]


def test_a_comparison_gives_the_values_of_the_library_wherever_the_sliders_stand(
    explorer: Explorer, graph: SnapshotGraph
) -> None:
    a, b = {STEM, HEAD, "C0003483"}, {"C0006104", HEAD, VEINS}
    explorer.go("#/comparison")
    explorer.paste(A, f"ROCO_1,{';'.join(sorted(a))}")
    explorer.paste(B, "\n".join(sorted(b)))
    expect(explorer["#concepts-of-image-a-status"]).to_have_text("3 concepts; 1 not understood")
    expect(explorer["#why tr"]).to_have_count(1 + len(a | b))  # one set may be compared alone before
    for n, lam in ((1, 0.5), (2, 0.5), (3, 0.5), (3, 0.25), (3, 1.0), (0, 0.5), (1, 0.0)):
        explorer["#n"].fill(str(n))
        explorer["#lambda"].fill(str(lam))
        expect(explorer[".hint"]).to_have_text(f"n = {n}, λ = {lam:g}, hops in both directions")
        assert values(explorer) == (cuihop.iou(a, b), cuihop.nn_iou(a, b, graph, n=n, lam=lam)), (n, lam)
    explorer["#lambda"].fill("0.5")
    explorer["#n"].fill("1")
    expect(explorer[".hint"]).to_have_text("n = 1, λ = 0.5, hops in both directions")
    overlap = concept_overlap(a, b, graph, 1, 0.5)
    near = explorer["#why tr[data-kind=near]"]
    assert {row.get_attribute("data-cui") for row in near.all()} == {found.cui for found in overlap.related}
    near.first.get_by_role("button", name="Path").click()
    expect(near.first).to_contain_text("Brain stem ↑ Brain")
    explorer.shot("comparison")


def test_sets_are_given_as_names(explorer: Explorer, graph: SnapshotGraph) -> None:
    explorer.go("#/comparison")
    expect(explorer.field(A)).to_be_focused()
    explorer.paste(A, f"brain STEM, aorta\nartreies; Vessel, blood;Head ({HEAD}) ; {STEM.lower()}, C9000903; xylophone")
    held = explorer.chips(A)
    expect(held).to_have_text([
        re.compile(f"^Brain stem {STEM}"), re.compile("^Aorta"),
        re.compile("“artreies” not understood; nearest: Arteries"),
        re.compile("^Blood vessels"), re.compile("^Head"), re.compile("^C9000903 retired Blood vessels"),
        re.compile("“xylophone” not understood"),
    ])  # fmt: skip
    expect(explorer["#concepts-of-image-a-status"]).to_have_text("5 concepts; 2 not understood")
    held.get_by_role("button", name="Arteries").click()
    held.get_by_role("button", name="Blood vessels", exact=True).click()  # it is there already: one of the two goes
    expect(explorer.page.get_by_role("button", name="Remove xylophone")).to_be_focused()
    explorer.page.keyboard.press("Enter")
    expect(held).to_have_count(5)
    explorer.choose(B, "truncus")
    expect(explorer.field(B)).to_have_value("")
    explorer.page.keyboard.type("veins;head")
    explorer.page.keyboard.press("Tab")  # what is left in the field counts too
    a, b = {STEM, HEAD, VESSELS, "C0003483", "C0003842"}, {STEM, VEINS, HEAD}
    expect(explorer["#why tr"]).to_have_count(1 + len(a | b))
    assert values(explorer) == (cuihop.iou(a, b), cuihop.nn_iou(a, b, graph))
    explorer.shot("comparison-names")
    explorer.field(B).press("Backspace")
    expect(explorer["#why tr[data-kind=matched]"]).to_have_count(1)
    explorer.page.reload()
    expect(held).to_contain_text(["Brain stem", "Aorta", "Arteries", "Blood vessels", "Head"])


@pytest.mark.core
def test_a_comparison_is_kept_in_the_address(explorer: Explorer, browser: Browser, service: RunningService) -> None:
    explorer.go(f"#/comparison?a={STEM}+{HEAD}&b=C0006104+{HEAD}&n=2&lambda=0.25")
    expect(explorer["#nn-iou"]).to_be_visible()
    explorer["#lambda"].fill("0.75")
    expect(explorer[".hint"]).to_have_text("n = 2, λ = 0.75, hops in both directions")
    for _ in range(2):
        explorer["#why"].get_by_role("button", name="Concept").click()
    with opened(browser, service.http + "/") as other:
        other.page.goto(explorer.page.url)
        expect(other["#lambda"]).to_have_value("0.75")
        expect(other["#nn-iou"]).to_be_visible()
        assert values(other) == values(explorer)
        expect(other["#why td[data-label=Concept]"]).to_have_text(["Head", "Brain stem", "Brain"])


def test_unknown_concepts_are_left_out_or_near_nothing_as_asked(
    explorer: Explorer, graph: SnapshotGraph, tmp_path: Path
) -> None:
    a, b = [STEM, "C9999999"], ["C0006104"]
    explorer.go(f"#/comparison?a={'+'.join([*a, 'C9000903'])}&b={b[0]}")  # one unknown, one retired
    left_out = explorer["#left-out"]
    expect(left_out).to_contain_text(re.compile("C9000903, C9999999: left out|C9999999, C9000903: left out"))
    expect(left_out.get_by_role("link", name=VESSELS)).to_be_visible()
    assert values(explorer)[1] == cuihop.nn_iou([STEM], b, graph)
    assert set(json.loads(explorer.saved("JSON", tmp_path))["left_out"]) == {"C9999999", "C9000903"}
    explorer.shot("comparison-left-out")
    explorer.page.get_by_role("button", name="Remove C9000903").click()
    expect(left_out).to_contain_text("C9999999: left out of the comparison. This release does not hold it.")
    explorer.page.get_by_label("Count unknown concepts").check()
    expect(explorer["#why tr[data-kind=unknown]"]).to_be_visible()
    expect(left_out).to_have_count(0)
    assert values(explorer)[1] == cuihop.nn_iou(a, b, graph, unknown="isolated")
    expect(explorer["#why tr[data-kind=unknown]"]).to_contain_text("C9999999")


def test_a_comparison_stays_where_the_next_one_fails(explorer: Explorer) -> None:
    explorer.go(f"#/comparison?a={STEM}&b=C0006104")
    expect(explorer["#nn-iou"]).to_be_visible()
    explorer.page.route("**/v1/relevance", lambda route: route.abort())
    explorer.paste(B, HEAD)
    expect(explorer[".problem"]).to_contain_text("The service does not answer")
    expect(explorer["#nn-iou"]).to_be_visible()
    explorer.page.unroute("**/v1/relevance")
    explorer.page.get_by_role("button", name="Try again").click()
    expect(explorer["#why tr"]).to_have_count(4)
    expect(explorer[".problem"]).to_have_count(0)


# Other releases


def test_identifiers_that_are_no_cuis_work_too(browser: Browser) -> None:
    graph = SnapshotGraph.of([("X:1", "X:0"), ("X:2", "X:0"), ("it's\\", "X:2")], name="opaque")
    with (
        running_service(graph, routes=lambda core, admission: explorer_routes()) as service,
        opened(browser, service.http + "/") as explorer,
    ):
        explorer.open()
        expect(explorer["#examples"]).to_be_empty()  # without names there is nothing to choose from
        explorer.choose("Search", "X:1")
        expect(explorer["#card h1"]).to_have_text("X:1")
        explorer.go("#/path?a=X:1&b=it's\\")
        expect(explorer["#hops"]).to_have_text("3 hops in both directions")
        expect(explorer["pre"]).to_contain_text(r":param b => 'it\'s\\';")
        explorer.go("#/neighbourhood?cui=X:2&hops=2")
        expect(explorer["#total"]).to_contain_text("3 concepts within 2 hops")
        explorer.go("#/comparison?a=X:1+X:2&b=X:2+X:0")
        expect(explorer["#nn-iou"]).to_be_visible()
        assert values(explorer)[1] == cuihop.nn_iou(["X:1", "X:2"], ["X:2", "X:0"], graph)


# What is hostile, and what leaves the page


def test_a_name_that_looks_like_markup_is_shown_as_it_is_written(explorer: Explorer, tmp_path: Path) -> None:
    explorer.field("Search").fill("img")
    expect(explorer.page.get_by_role("option")).to_contain_text(HOSTILE_NAME)
    explorer.field("Search").press("Enter")
    expect(explorer["#card h1"]).to_have_text(HOSTILE_NAME)
    explorer.go(f"#/path?a={HOSTILE}&b={HEAD}")
    expect(explorer["#steps"]).to_contain_text(HOSTILE_NAME)
    svg = ET.fromstring(explorer.saved("SVG", tmp_path))  # noqa: S314 - made by the page under test
    assert {element.tag.rpartition("}")[2] for element in svg.iter()} <= {
        "svg", "marker", "path", "rect", "line", "text", "tspan",
    }  # fmt: skip
    explorer.go(f"#/neighbourhood?cui={HOSTILE}")
    expect(explorer["#total"]).to_be_visible()
    explorer.shot("hostile")
    assert explorer.page.evaluate("window.hacked") is None
    assert explorer["img:not(header img)"].count() == 0


def test_pictures_and_tables_are_saved(explorer: Explorer, graph: SnapshotGraph, tmp_path: Path) -> None:
    explorer.go(f"#/path?a={FORMULA}&b={STEM}")
    path = graph.path(FORMULA, STEM)
    assert path is not None
    rows = list(csv.DictReader(io.StringIO(explorer.saved("CSV", tmp_path).decode(), newline="")))
    assert [row["cui"] for row in rows] == list(path.cuis)
    assert rows[0]["name"] == "'" + FORMULA_NAME  # a spreadsheet would run it
    assert rows[1]["sabs"] == "MSH"
    assert explorer.saved("PNG", tmp_path).startswith(b"\x89PNG\r\n")
    svg = explorer.saved("SVG", tmp_path).decode()
    assert all(cui in svg for cui in path.cuis)
    shown = ["".join(text.itertext()) for text in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]  # noqa: S314
    assert shown[0] == f"Path from {FORMULA_NAME} to Brain stem"
    assert f"release 2026AB, {graph.release.digest[:12]}" in shown[1]
    assert "the path in the list" in shown
    saved = json.loads(explorer.saved("JSON", tmp_path))
    assert (saved["hops"], saved["release"]) == (path.hops, graph.release.digest)


def test_the_concept_at_hand_is_taken_along_to_other_views(explorer: Explorer) -> None:
    explorer.go("#/concept?cui=C0006121")
    views = explorer.page.get_by_role("navigation", name="Views")
    views.get_by_role("link", name="Path").click()
    expect(explorer.chips("From")).to_contain_text([f"Brain stem {STEM}"])
    explorer.choose("To", "head")
    expect(explorer["#hops"]).to_have_text("3 hops in both directions")
    views.get_by_role("link", name="Neighbourhood").click()
    expect(explorer.chips("Around")).to_contain_text([f"Brain stem {STEM}"])
    views.get_by_role("link", name="Concept").click()
    expect(explorer["#card h1"]).to_have_text("Brain stem")
    views.get_by_role("link", name="Concept").click()  # the view that is shown: begins again
    expect(explorer.page).to_have_url(re.compile("#/$"))


def test_the_way_back_leads_through_the_views(explorer: Explorer) -> None:
    explorer.choose("Search for a concept", "brain stem")
    expect(explorer["#card h1"]).to_have_text("Brain stem")
    explorer.page.get_by_role("link", name="Path to…").click()
    explorer.choose("To", "head")
    expect(explorer["#hops"]).to_have_text(re.compile("3 hops"))
    explorer.page.get_by_role("link", name="Neighbourhood of").click()
    expect(explorer["#total"]).to_be_visible()
    explorer.page.go_back()
    expect(explorer["#hops"]).to_have_text(re.compile("3 hops"))
    explorer.page.go_back()
    explorer.page.go_back()
    expect(explorer["#card h1"]).to_have_text("Brain stem")
    explorer.page.go_forward()
    expect(explorer.chips("From")).to_contain_text([f"Brain stem {STEM}"])
