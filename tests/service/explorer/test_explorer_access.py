"""The explorer for everybody: by keyboard, in the dark, on a phone, behind a proxy; and axe finds nothing to say."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser import LIGHT_AND_DARK, Explorer, expect, opened
from cuihop_server import RunningService, running_service
from cuihop_service.explorer import explorer_routes
from explorer_graph import HUB, explorer_graph

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

STEM, HEAD = "C0006121", "C0018670"
VIEWS = {
    "start": ("#/", "#main .facts"),
    "concept": (f"#/concept?cui={STEM}", "#card .sabs:not(:empty)"),
    "tree": (f"#/concept?cui=C8100005&siblings={HUB}", "#lineage .sibling"),
    "path": (f"#/path?a={STEM}&b={HEAD}", "#steps"),
    "neighbourhood": (f"#/neighbourhood?cui={HEAD}&hops=3&as=picture&colour=vocabulary", "#total"),
    "table": (f"#/neighbourhood?cui={HUB}", "[data-cui]"),
    "paths": ("#/path?a=C9000011&b=C9000014", "#path-after"),
    "comparison": (
        f"#/comparison?a={STEM}+{HEAD}+C0003483&b=C0006104+{HEAD}+C9999999&unknown=isolated",
        "#why",
    ),
    "similarity": (f"#/similarity?a={STEM}&b={HEAD}", "#scale"),
    "captions": ("#/captions", "#privacy"),
    "problem": ("#/concept?cui=C9999999", ".problem"),
}
RULES = {
    "light": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "dark": ["color-contrast"],  # the rest is the same page
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    graph = explorer_graph(tmp_path_factory.mktemp("release"))
    graph.annotate("head")  # compiles what the browser would wait for
    with running_service(graph, routes=lambda core, admission: explorer_routes()) as running:
        yield running


def view_text(explorer: Explorer, view: str) -> None:
    address, there = VIEWS[view]
    explorer.go(address)
    expect(explorer[there].first).to_be_visible()
    if view == "captions":
        explorer.page.get_by_role("button", name="Magnetic resonance imaging").click()
        expect(explorer["#why"]).to_be_visible()


def violations(explorer: Explorer, name: str) -> dict[str, list[str]]:
    """Violations that axe finds in the page, in either scheme."""
    from axe_playwright_python.sync_playwright import Axe

    if not explorer.page.evaluate("'axe' in window"):
        explorer.page.evaluate(Axe().axe_script)
    found: dict[str, list[str]] = {}
    for scheme in LIGHT_AND_DARK:
        explorer.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        explorer.shot(f"view-{name}-{scheme}")
        options = {"runOnly": RULES[scheme], "resultTypes": ["violations"]}
        found[f"{name}, {scheme}"] = [
            f"{violation['id']}: {node['html']} {node['failureSummary']}"
            for violation in explorer.page.evaluate("(options) => axe.run(options)", options)["violations"]
            for node in violation["nodes"]
        ]
    return found


def test_axe_finds_no_violation_in_any_view(browser: Browser, service: RunningService) -> None:
    found: dict[str, list[str]] = {}
    with opened(browser, service.http + "/", reduced_motion="reduce") as explorer:  # no colour between two schemes
        for view in VIEWS:
            view_text(explorer, view)
            explorer["details"].evaluate_all("all => all.forEach((one) => (one.open = true))")
            found |= violations(explorer, view)
        explorer.go("#/path")
        explorer.paste("From", "head; artreies")
        expect(explorer.chips("From").get_by_role("button", name="Arteries")).to_be_visible()
        found |= violations(explorer, "chips")
        explorer.open()
        explorer.field("Search").fill("brain")
        explorer.field("Search").press("ArrowDown")
        expect(explorer.page.get_by_role("option").first).to_be_visible()
        found |= violations(explorer, "type-ahead")
        refusal = {"reason": "NOT_AUTHENTICATED", "detail": "No API key sent. Set CUIHOP_API_KEY_FILE."}
        explorer.page.route("**/v1/**", lambda route: route.fulfill(status=401, json=refusal))
        explorer.open()
        expect(explorer["#key"]).to_be_visible()
        found |= violations(explorer, "key")
    assert len(found) == 2 * (len(VIEWS) + 3)
    assert found == {view: [] for view in found}


def test_everything_is_reached_by_keyboard_alone(browser: Browser, service: RunningService) -> None:
    with opened(browser, service.http + "/") as explorer:
        explorer.open()
        keys = explorer.page.keyboard
        expect(explorer.field("Search")).to_be_focused()
        keys.type("head")
        expect(explorer.page.get_by_role("option").first).to_be_visible()
        keys.press("Enter")
        expect(explorer["#card h1"]).to_have_text("Head")
        tab_to(explorer, "Compare with…")
        keys.press("Enter")
        expect(explorer.field("Concepts of image B")).to_be_focused()
        keys.type("brain stem")
        expect(explorer.page.get_by_role("option").first).to_be_visible()
        keys.press("Enter")
        expect(explorer["#nn-iou"]).to_have_text("0.0000")
        keys.press("Backspace")  # the chip goes
        expect(explorer.chips("Concepts of image B")).to_have_count(0)
        explorer.page.go_back()
        expect(explorer["#card h1"]).to_have_text("Head")
        tab_to(explorer, "Path to…")
        keys.press("Enter")
        expect(explorer.field("To")).to_be_focused()
        keys.type("brain stem")
        expect(explorer.page.get_by_role("option").first).to_be_visible()
        keys.press("ArrowDown")
        keys.press("Enter")
        expect(explorer["#hops"]).to_have_text("3 hops in both directions")
        tab_to(explorer, "direction-any")
        keys.press("ArrowDown")
        expect(explorer["#direction-up"]).to_be_checked()
        expect(explorer["#direction-up"]).to_be_focused()
        keys.press("ArrowUp")
        expect(explorer["#hops"]).to_have_text("3 hops in both directions")
        tab_to(explorer, "Neighbourhood of Head")
        keys.press("Enter")
        expect(explorer["#total"]).to_be_visible()
        expect(explorer["#main"]).to_be_focused()
        tab_to(explorer, "hops-choice")
        keys.press("ArrowDown")
        keys.press("ArrowDown")
        expect(explorer["#total"]).to_contain_text("within 3 hops")
        expect(explorer["#hops-choice"]).to_be_focused()
        tab_to(explorer, "as-table")
        keys.press("ArrowUp")
        expect(explorer["#total"]).to_contain_text("drawn")
        expect(explorer["#as-picture"]).to_be_focused()
        tab_to(explorer, "Neighbourhood of Head")
        said = explorer["#announcer"]
        for key, there in (("ArrowDown", "Head"), ("ArrowLeft", "Body part")):
            keys.press(key)
            expect(said).to_contain_text(there)
        for key in ["ArrowRight", *["ArrowDown"] * 8]:  # back, and down to the siblings; the hub
            if "Disease" in (said.text_content() or ""):
                break
            keys.press(key)
        keys.press("ArrowRight")
        expect(said).to_have_text("+ 1,234 children folded; Enter unfolds")
        explorer.shot("keyboard")
        keys.press("Enter")
        expect(explorer["#total"]).to_contain_text(re.compile(r"\b1\d drawn|\b2\d drawn"))
        expect(said).to_have_text("12 more concepts drawn")
        keys.press("/")
        expect(explorer.field("Around")).to_be_focused()


def tab_to(explorer: Explorer, name: str) -> None:
    """Press Tab until the element of that name, or identifier, has the focus."""
    for _ in range(80):
        explorer.page.keyboard.press("Tab")
        there = explorer.page.evaluate(
            "[document.activeElement.id, document.activeElement.ariaLabel, document.activeElement.textContent]"
        )
        if name in there:
            return
    raise AssertionError(f"Tab does not lead to {name!r}")


def test_the_skip_link_leads_to_the_content(browser: Browser, service: RunningService) -> None:
    with opened(browser, service.http + "/") as explorer:
        view_text(explorer, "concept")
        explorer.page.keyboard.press("Tab")
        expect(explorer["#skip"]).to_be_focused()
        explorer.page.keyboard.press("Enter")
        expect(explorer["#main"]).to_be_focused()
        assert explorer.page.url.endswith(VIEWS["concept"][0])


def test_the_appearance_follows_the_system_until_it_is_chosen(browser: Browser, service: RunningService) -> None:
    with opened(browser, service.http + "/", color_scheme="dark") as explorer:

        def background() -> str:
            colour: str = explorer.page.evaluate("getComputedStyle(document.body).backgroundColor")
            return colour

        view_text(explorer, "path")
        dark = background()
        explorer.page.emulate_media(color_scheme="light")
        light = background()
        assert dark != light
        explorer.page.get_by_role("button", name="Dark appearance").click()
        assert background() == dark
        explorer.page.reload()
        assert background() == dark
        explorer.page.get_by_role("button", name="Light appearance").click()
        assert background() == light


def drawn_lines(explorer: Explorer, folder: Path) -> list[ET.Element]:
    """The lines of the picture, as it is saved."""
    picture = ET.fromstring(explorer.saved("SVG", folder))  # noqa: S314 - made by the page under test
    return list(picture.iter("{http://www.w3.org/2000/svg}line"))


def test_on_a_phone_nothing_has_to_be_pushed_sideways(
    browser: Browser, service: RunningService, tmp_path: Path
) -> None:
    width = 320  # WCAG 2.2, criterion 1.4.10
    with opened(browser, service.http + "/", viewport={"width": width, "height": 740}, has_touch=True) as explorer:
        for view in VIEWS:
            view_text(explorer, view)
            if view == "captions":
                explorer["#mentions summary"].click()
            if view == "comparison":
                expect(explorer["#isolated"]).to_be_hidden()  # the form is folded: the value comes first
            explorer.shot(f"phone-{view}")
            assert explorer.page.evaluate("document.documentElement.scrollWidth") <= width, view
            cut = "[...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth).length"
            assert explorer.page.evaluate(cut) == 0, view
            if view == "path":
                lowest = max(float(line.attrib["y2"]) for line in drawn_lines(explorer, tmp_path))
                assert lowest > 150, "the path does not run from top to bottom"
        explorer.open()
        explorer.field("Search").fill("b")
        expect(explorer.page.get_by_role("option").locator(".about").first).not_to_be_empty()
        explorer.shot("phone-type-ahead")
        assert explorer.page.evaluate("document.documentElement.scrollWidth") <= width
        for width, highest in ((390, 100), (1024, 64)):
            explorer.page.set_viewport_size({"width": width, "height": 740})
            assert explorer["header"].evaluate("(header) => header.offsetHeight") <= highest


def test_it_works_below_any_path_of_a_proxy(browser: Browser, service: RunningService) -> None:
    requests_sent: list[str] = []

    def behind(route: Route) -> None:
        requests_sent.append(route.request.url)
        route.continue_(url=route.request.url.replace("/tools/cuihop/", "/"))

    with opened(browser, service.http + "/tools/cuihop/") as explorer:
        explorer.page.route("**/*", behind)
        view_text(explorer, "path")
    assert all("/tools/cuihop/" in address for address in requests_sent)
    assert any(address.endswith("/tools/cuihop/v1/release") for address in requests_sent)
