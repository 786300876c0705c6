"""The page of two captions: concepts marked in the texts, decisions about them, and texts that stay in the page."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import cuihop
from browser import Explorer, expect, opened
from cuihop import SnapshotGraph
from cuihop.annotation.mentions import RULES
from cuihop.annotation.options import CONTEXTS
from cuihop.annotation.semantic_groups import SEMANTIC_GROUPS
from cuihop_server import RunningService, running_service
from cuihop_service.explorer import explorer_routes
from cuihop_service.limits import Limits
from example_graph import example_graph
from explorer_graph import explorer_graph
from guarded_service import guard_of, new_key_in

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator

A = "Lesion of the brain stem, and aorta. The head is normal."
B = "The brain and the head; veins."
MARKUP = '<img src=x onerror="window.hacked = 1"> 🫀🫀 Brain\u0301! של brain stem של <b>head</b>\n\n  '
NAME = "Xanthippe"
HEAD = "C0018670"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> SnapshotGraph:
    """A graph with two concepts of the name Head."""
    return explorer_graph(tmp_path_factory.mktemp("release"), {"C9000001": ["Head"]})


@pytest.fixture(scope="module")
def service(graph: SnapshotGraph) -> Iterator[RunningService]:
    limits = Limits(text_characters=2_000)
    graph.annotate("head")  # compiles what the browser would wait for
    with running_service(graph, limits=limits, routes=lambda core, admission: explorer_routes()) as running:
        yield running


@pytest.fixture
def explorer(browser: Browser, service: RunningService) -> Iterator[Explorer]:
    with opened(browser, service.http + "/") as explorer_page:
        explorer_page.open("#/captions")
        yield explorer_page


def compare(explorer: Explorer, a: str, b: str) -> None:
    """Give two captions, and wait for their value."""
    explorer["#caption-a"].fill(a)
    explorer["#caption-b"].fill(b)
    explorer.page.get_by_role("button", name="Find concepts").click()
    expect(explorer["#nn-iou"]).to_be_visible()


def marks(explorer: Explorer, side: str) -> list[tuple[str, str]]:
    """Text and kind of each mark, once all of them are compared."""
    expect(explorer[f"#text-{side} mark:not([class])"]).to_have_count(0)
    found = explorer[f"#text-{side} mark"].all()
    return [(mark.text_content() or "", mark.get_attribute("class") or "") for mark in found]


def mention(explorer: Explorer, text: str) -> Locator:
    """The row of a mention in caption A."""
    return explorer["tr[id^=mention-a-]"].filter(
        has=explorer.page.locator("td:first-child").get_by_text(text, exact=True)
    )


def value(explorer: Explorer) -> float:
    return float(explorer["#nn-iou"].get_attribute("data-value") or "nan")


@pytest.mark.core
def test_mentions_are_marked_in_the_text_and_compared_as_the_library_does(
    explorer: Explorer, graph: SnapshotGraph
) -> None:
    compare(explorer, A, B)
    assert marks(explorer, "a") == [("brain stem", "near"), ("aorta", "alone"), ("head", "matched")]
    assert marks(explorer, "b") == [("brain", "near"), ("head", "matched"), ("veins", "alone")]
    expect(explorer["#caption-a-status"]).to_have_text("3 mentions of 3 concepts")
    expect(explorer["#formula"]).to_have_text("= (1 matched + 0.5 · 2 near) / 5 in all")
    a, b = (graph.annotate(text).cuis for text in (A, B))
    assert value(explorer) == cuihop.nn_iou(a, b, graph)
    explorer["#n"].fill("3")
    explorer["#lambda"].fill("0.25")
    expect(explorer["#answer .hint"]).to_have_text("n = 3, λ = 0.25, hops in both directions")
    assert value(explorer) == cuihop.nn_iou(a, b, graph, n=3, lam=0.25)
    assert ("aorta", "near") in marks(explorer, "a")
    near = explorer["#why tr[data-cui=C0006121]"]
    near.get_by_role("button", name="Path").first.click()
    expect(near).to_contain_text("Brain stem ↑ Brain")
    near.get_by_role("link", name="Brain", exact=True).click()
    expect(explorer["#card h1"]).to_have_text("Brain")


def test_a_mark_leads_to_its_row_and_a_mention_left_out_no_longer_counts(
    explorer: Explorer, graph: SnapshotGraph
) -> None:
    compare(explorer, A, B)
    explorer["#text-a mark"].get_by_text("aorta").click()
    row = mention(explorer, "aorta")
    expect(row).to_be_focused()
    for text in ("Aorta", "C0003483", "SRC", RULES["exact"], "alone"):
        expect(row).to_contain_text(text)
    row.get_by_role("button", name="Leave out: aorta").click()
    expect(row.locator(".kind")).to_have_text("left out")
    expect(row.get_by_role("button", name="Put back: aorta")).to_be_focused()
    assert marks(explorer, "a")[1] == ("aorta", "out")
    expect(explorer["#formula"]).to_have_text("= (1 matched + 0.5 · 2 near) / 4 in all")
    row.get_by_role("button", name="Put back: aorta").press("Enter")
    expect(explorer["#formula"]).to_have_text("= (1 matched + 0.5 · 2 near) / 5 in all")
    explorer["#caption-a"].press("Control+Enter")  # decisions hold while the text is the same
    expect(explorer["#nn-iou"]).to_be_visible()
    assert value(explorer) == cuihop.nn_iou(graph.annotate(A).cuis, graph.annotate(B).cuis, graph)


def test_negated_uncertain_and_family_mentions_are_marked_counted_apart_and_left_out(
    explorer: Explorer, graph: SnapshotGraph
) -> None:
    text = "No lesion of the brain stem. Possible aorta; her mother had veins. The head is normal."
    compare(explorer, text, B)
    expect(explorer["#contexts"]).to_contain_text("1 negated, 1 uncertain, 1 family")
    assert [kind for _, kind in marks(explorer, "a")] == ["out", "out", "out", "matched"]
    after = "all => all.map((mark) => getComputedStyle(mark, '::after').content)"
    written = explorer["#text-a mark"].evaluate_all(after)
    assert written == ['"negated"', '"uncertain"', '"family"', "none"]  # words in the text, not a colour alone
    expect(explorer["#caption-a-status"]).to_have_text(
        "4 mentions of 4 concepts, 1 negated, 1 uncertain, 1 family; 3 left out"
    )
    b = graph.annotate(B).cuis
    both = [cuihop.nn_iou(a, b, graph) for a in ([HEAD], graph.annotate(text).cuis)]
    expect(explorer["#contexts b"]).to_have_text([f"{one:.4f}" for one in both])
    assert value(explorer) == both[0]
    explorer["#mentions summary"].click()
    cut = "all => all.filter((one) => one.scrollWidth > one.clientWidth).length"
    assert explorer[".scroll"].evaluate_all(cut) == 0
    explorer.page.get_by_role("button", name="Context").first.click()  # sorts both tables
    expect(explorer["#mentions tbody"].first.get_by_role("row")).to_have_text(
        [re.compile(text) for text in ("^veins", "^brain stem", "^aorta", "^head")]
    )
    for text, context in zip(("brain stem", "aorta", "veins"), CONTEXTS, strict=True):
        expect(mention(explorer, text)).to_contain_text(f"{context}: {CONTEXTS[context]}")
        explorer.page.get_by_label(context).uncheck()
        expect(mention(explorer, text).locator(".kind")).not_to_have_text("left out")
    expect(explorer["#formula"]).to_contain_text("/ 5 in all")
    assert value(explorer) == both[1]
    assert "&leave_out=none&mentions=context" in explorer.page.url
    mention(explorer, "veins").get_by_role("button", name="Leave out").click()
    explorer.page.get_by_label("family").check()
    mention(explorer, "veins").get_by_role("button", name="Put back").click()  # a decision goes before the boxes
    expect(mention(explorer, "veins").locator(".kind")).to_have_text("matched")
    explorer.shot("captions-contexts")


def test_another_concept_of_a_name_is_chosen_from_a_list(explorer: Explorer, graph: SnapshotGraph) -> None:
    compare(explorer, A, B)
    explorer["#mentions summary"].click()
    row = mention(explorer, "head")
    expect(row.locator(".kind")).to_have_text("matched")
    row.get_by_label("Concept of “head”").select_option("Head (C9000001)")
    expect(row.locator(".kind")).to_have_text("alone")
    expect(row.get_by_role("link")).to_have_attribute("href", "#/concept?cui=C9000001")
    a = {"C9000001", *graph.annotate(A).cuis} - {HEAD}
    assert value(explorer) == cuihop.nn_iou(a, graph.annotate(B).cuis, graph)
    row.get_by_role("button", name="Another concept: head").click()
    expect(explorer.field("Another concept in A")).to_be_focused()
    explorer.page.keyboard.type("encephalon\n")  # which the text does not say
    expect(row).to_contain_text("chosen by you")
    expect(row.get_by_role("link", name="Brain", exact=True)).to_be_visible()
    expect(row.locator(".kind")).to_have_text("matched")
    a = {"C0006104", *graph.annotate(A).cuis} - {HEAD}
    assert value(explorer) == cuihop.nn_iou(a, graph.annotate(B).cuis, graph)
    row.get_by_label("Concept of “head”").select_option("Head (C9000001)")
    expect(row.locator(".kind")).to_have_text("alone")
    explorer["#caption-a"].press("Control+Enter")
    expect(row.get_by_label("Concept of “head”")).to_have_value("C9000001")


def test_mentions_within_mentions_are_marked_too(explorer: Explorer) -> None:
    explorer.page.get_by_label("Every match").check()
    compare(explorer, "The brain stem's veins.", B)
    assert [text for text, _ in marks(explorer, "a")] == ["brain stem", "brain", "veins"]
    expect(explorer["#text-a mark mark"]).to_have_text("brain")
    explorer["#text-a mark mark"].click()
    expect(explorer["[id^=mention-a]:focus"]).to_contain_text("C0006104")


def test_an_answer_that_comes_later_leaves_the_focus(explorer: Explorer) -> None:
    """The focus stays on the mention, whose place in the table may be another one in the next answer."""
    explorer.page.get_by_label("Every match").check()
    compare(explorer, "The brain stem's veins.", B)
    expect(explorer["#text-a mark"]).to_have_count(3)
    explorer["#text-a mark"].last.click()
    expect(mention(explorer, "veins")).to_be_focused()
    explorer.page.get_by_label("Every match").evaluate("box => box.click()")  # without the focus
    expect(explorer["#text-a mark"]).to_have_count(2)
    expect(mention(explorer, "veins")).to_be_focused()


def test_any_text_is_shown_as_it_is_written(explorer: Explorer) -> None:
    compare(explorer, MARKUP, f"{MARKUP}🫀 veins")
    assert explorer["#text-a"].text_content() == MARKUP
    found = [text for text, _ in marks(explorer, "a")]
    assert found[-2:] == ["brain stem", "head"]
    assert marks(explorer, "b")[-1] == ("veins", "alone")
    assert explorer.page.evaluate("window.hacked") is None
    assert explorer["#text-a img"].count() == 0


def test_every_mention_is_marked_whole_however_they_overlap(explorer: Explorer) -> None:
    draw = random.Random(17)
    cases: list[dict[str, Any]] = []
    for _ in range(300):
        text = "".join(draw.choices("aé🫀 ש\n", k=draw.randint(0, 12)))
        bounds = [sorted(draw.sample(range(len(text) + 1), 2)) for _ in range(draw.randint(0, 5)) if text]
        cases.append({"text": text, "spans": [{"start": start, "end": end} for start, end in bounds]})
    shown = explorer.page.evaluate(
        """async (cases) => {
            const { Mention, markedText } = await import("./explorer/mentions.js");
            return cases.map(({ text, spans }) => {
                const mentions = spans.map((span) => new Mention(span, {}));
                const place = document.createElement("div");
                place.append(...markedText(text, mentions));
                return [place.textContent, mentions.map(({ marks }) => marks.map((mark) => mark.textContent).join(""))];
            });
        }""",
        cases,
    )
    for case, (text, marked) in zip(cases, shown, strict=True):
        assert text == case["text"]
        assert marked == [case["text"][span["start"] : span["end"]] for span in case["spans"]], case


def test_a_caption_leaves_the_page_in_the_body_of_one_request_only(explorer: Explorer) -> None:
    addresses: list[str] = []
    bodies: list[str] = []

    def sent(request: Any) -> None:
        addresses.append(request.url)
        if NAME in (request.post_data or ""):
            bodies.append(request.url.removeprefix(explorer.base))

    explorer.page.on("request", sent)
    explorer["#caption-a"].fill(f"{NAME}: {A}")
    explorer.page.get_by_label("negated").uncheck()
    explorer.page.get_by_label("Correct spelling").check()
    explorer.page.wait_for_url("**spelling=yes")  # settings alone send no text
    assert bodies == []
    explorer.page.get_by_label("Correct spelling").uncheck()
    explorer.page.wait_for_url("**leave_out=uncertain%2Cfamily")
    compare(explorer, f"{NAME}: {A}", B)
    explorer["#n"].fill("2")
    expect(explorer["#answer .hint"]).to_contain_text("n = 2")
    assert bodies == ["v1/annotate"]
    assert not any(NAME in address or "brain" in address for address in addresses)
    assert explorer.page.url.endswith("#/captions?n=2&lambda=0.5&leave_out=uncertain%2Cfamily")
    for place in (
        "localStorage",
        "sessionStorage",
        "history.state",
        "document.cookie",
        "navigation.entries().map((e) => e.url)",
    ):
        assert NAME not in explorer.page.evaluate(f"JSON.stringify({place})"), place
    explorer["#why"].get_by_role("link", name="Aorta").click()
    expect(explorer["#card h1"]).to_have_text("Aorta")
    explorer.page.go_back()  # the page holds them in its memory
    expect(explorer["#caption-a"]).to_have_value(f"{NAME}: {A}")
    expect(explorer["#nn-iou"]).to_be_visible()
    explorer.page.reload()
    expect(explorer["#caption-a"]).to_have_value("")
    expect(explorer["#n"]).to_have_value("2")
    expect(explorer.page.get_by_label("negated")).not_to_be_checked()


def test_settings_stand_in_the_address_and_hold_for_the_captions(explorer: Explorer) -> None:
    explorer.open("#/captions?groups=ANAT&spelling=yes&every=yes&n=0")
    expect(explorer["#mentions"]).to_have_count(0)
    compare(explorer, "Brainstem, aortta and head", B)
    assert marks(explorer, "a") == [("Brainstem", "alone")]  # the only one with a semantic type
    explorer.page.get_by_text("Semantic groups: Anatomy").click()
    explorer.page.get_by_label("Anatomy").uncheck()
    expect(mention(explorer, "aortta")).to_contain_text(RULES["spelling"])
    assert [text for text, _ in marks(explorer, "a")] == ["Brainstem", "aortta", "head"]
    assert explorer.page.url.endswith("#/captions?n=0&lambda=0.5&spelling=yes&every=yes")
    explorer.page.get_by_label("Correct spelling").uncheck()
    expect(explorer["#text-a mark"]).to_have_count(2)
    explorer.page.get_by_label("Disorders").check()
    expect(explorer[".problem"]).to_contain_text("no concept of this release has such a type")
    expect(explorer["#text-a mark"]).to_have_count(2)


def test_clear_and_empty_captions_show_no_value(explorer: Explorer) -> None:
    explorer.page.get_by_role("button", name="Find concepts").click()
    expect(explorer["#answer"]).to_have_text("Paste two captions, or begin with an example.")
    compare(explorer, "", B)
    assert value(explorer) == 0
    expect(explorer["#caption-a-status"]).to_have_text("No concept is mentioned by a name of this release")
    explorer["#caption-b"].fill("nothing to be found")
    expect(explorer["#caption-b-status"]).to_have_text("Changed; press “Find concepts”")
    explorer["#caption-b"].press("Control+Enter")
    expect(explorer["#answer"]).to_have_text("No concept counts in either caption.")
    explorer.page.get_by_role("button", name="Magnetic resonance imaging").click()
    expect(explorer["#nn-iou"]).to_be_visible()
    explorer.page.get_by_role("button", name="Clear").click()
    expect(explorer["#caption-a"]).to_be_focused()
    expect(explorer["#caption-a"]).to_have_value("")
    expect(explorer["#nn-iou"]).to_have_count(0)


def test_a_long_caption_has_its_mentions_page_by_page(explorer: Explorer) -> None:
    compare(explorer, "head " * 250, "brain")
    assert len(marks(explorer, "a")) == 250
    explorer["#mentions summary"].click()
    expect(explorer["tr[id^=mention-a-]"]).to_have_count(100)
    explorer["#text-a mark"].last.click()
    expect(explorer["tr[id^=mention-a-]"].last).to_be_focused()


def test_troubles_are_reported_in_plain_words(explorer: Explorer) -> None:
    explorer["#caption-a"].fill("x" * 2_001)
    explorer["#caption-a"].press("Control+Enter")
    expect(explorer["#caption-a-status"]).to_have_text(
        "Too long: 2,001 characters; this service takes 2,000. Shorten it"
    )
    compare(explorer, A, B)
    busy = {"reason": "RATE_LIMITED", "detail": "too many requests"}
    refuse = lambda route: route.fulfill(status=429, json=busy, headers={"Retry-After": "1"})  # noqa: E731
    explorer.page.route("**/v1/annotate", refuse)
    explorer["#caption-a"].press("Control+Enter")
    expect(explorer[".problem h2"]).to_have_text("Too many requests for now")
    assert value(explorer) > 0  # the comparison before stays
    explorer.page.unroute("**/v1/annotate", refuse)
    explorer.page.get_by_role("button", name="Try again", exact=True).click()
    expect(explorer[".problem"]).to_have_count(0)
    expect(explorer["#caption-a"]).to_have_value(A)


def test_without_names_the_page_says_so(browser: Browser, tmp_path: Path) -> None:
    key = new_key_in(tmp_path / "keys.json", "nameless", "read")
    guard = guard_of(keys_file=tmp_path / "keys.json")
    with (
        running_service(example_graph(), guard=guard, routes=lambda core, admission: explorer_routes()) as service,
        opened(browser, service.http + "/") as explorer,
    ):
        explorer.open("#/captions")
        explorer.page.get_by_label("API key or token").fill(key)
        explorer.page.get_by_role("button", name="Open").click()
        expect(explorer["#answer"]).to_contain_text("Names are not shown here")
        explorer["#caption-a"].fill(A)
        explorer["#caption-a"].press("Control+Enter")
        expect(explorer[".problem h2"]).to_have_text("Your key does not open this")
        explorer.page.get_by_role("button", name="Forget key").click()
        expect(explorer["#key"]).to_be_visible()
        explorer.page.get_by_label("API key or token").fill(key)
        explorer.page.get_by_role("button", name="Open").click()
        expect(explorer["#caption-a"]).to_have_value("")  # the texts are forgotten with the key
    nameless = SnapshotGraph.of([("C0000001", "C0000002")])
    with (
        running_service(nameless, routes=lambda core, admission: explorer_routes()) as service,
        opened(browser, service.http + "/") as explorer,
    ):
        explorer.open("#/captions")
        explorer["#caption-a"].fill(A)
        explorer["#caption-a"].press("Control+Enter")
        expect(explorer[".problem"]).to_contain_text("has no names")


def test_rules_contexts_and_groups_have_the_words_of_the_library(explorer: Explorer) -> None:
    words = explorer.page.evaluate(
        """async () => {
            const { RULES, CONTEXTS } = await import("./explorer/mentions.js");
            const { GROUPS } = await import("./explorer/caption_view.js");
            return JSON.stringify([RULES, CONTEXTS, GROUPS]);
        }"""
    )
    groups = {group.code: group.name for group in SEMANTIC_GROUPS}
    assert json.loads(words) == [dict(RULES), dict(CONTEXTS), groups | {"MEDCON": "those of MEDCON"}]
