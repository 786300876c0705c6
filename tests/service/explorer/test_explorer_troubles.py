"""The explorer when something is wrong: the service away, concepts unknown, keys refused, too many questions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser import Explorer, expect, opened
from cuihop.remote.statuses import STATUSES
from cuihop_server import RunningService, running_service
from cuihop_service.callers import Rate
from cuihop_service.explorer import explorer_routes
from cuihop_service.guard.key_file import changed_keys
from example_graph import UNKNOWN, example_graph
from guarded_service import guard_of, http, new_key_in
from waiting import wait_for

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

STEM, HEAD = "C0006121", "C0018670"


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("keys") / "keys.json"


@pytest.fixture(scope="module")
def keys(key_file: Path) -> dict[str, str]:
    """The key of each of some callers."""
    return {
        "curator": new_key_in(key_file, "curator", "read", "names"),
        "guest": new_key_in(key_file, "guest", "read", "names"),
        "nameless": new_key_in(key_file, "nameless", "read"),
        "slow": new_key_in(key_file, "slow", "read", "names", rate=Rate(requests=0.5, burst=2)),
    }


@pytest.fixture(scope="module")
def open_service() -> Iterator[RunningService]:
    with running_service(example_graph(), routes=lambda core, admission: explorer_routes()) as running:
        yield running


@pytest.fixture(scope="module")
def guarded(keys: dict[str, str], key_file: Path) -> Iterator[RunningService]:
    guard = guard_of(keys_file=key_file)
    with running_service(example_graph(), guard=guard, routes=lambda core, admission: explorer_routes()) as running:
        yield running


@pytest.fixture
def explorer(browser: Browser, open_service: RunningService) -> Iterator[Explorer]:
    with opened(browser, open_service.http + "/") as explorer_page:
        yield explorer_page


def test_a_service_that_is_gone_is_told_and_the_page_stays(browser: Browser) -> None:
    with opened(browser, "") as explorer:
        with running_service(example_graph(), routes=lambda core, admission: explorer_routes()) as service:
            explorer.base = service.http + "/"
            explorer.open(f"#/path?a={STEM}&b={HEAD}")
            expect(explorer["#hops"]).to_have_text("3 hops in both directions")
        explorer.page.get_by_label("up, to broader").check()
        expect(explorer[".problem"]).to_contain_text("The service does not answer")
        expect(explorer.page.get_by_role("button", name="Try again")).to_be_visible()
        explorer.shot("service-down")
        explorer.page.get_by_role("link", name="Concept").click()
        explorer.field("Search").fill("head")
        expect(explorer[".status"]).to_have_text("The service does not answer. Try again")


def test_asking_again_goes_on_once_the_service_is_back(explorer: Explorer) -> None:
    def away(route: Route) -> None:
        route.abort("connectionrefused")

    explorer.page.route("**/v1/**", away)
    explorer.open(f"#/path?a={STEM}&b={HEAD}")
    expect(explorer[".problem"]).to_contain_text("The service does not answer")
    explorer.page.unroute("**/v1/**", away)
    explorer.page.get_by_role("button", name="Try again").click()
    expect(explorer["#hops"]).to_have_text("3 hops in both directions")


def test_an_unknown_concept_is_told_where_it_was_asked_for(explorer: Explorer) -> None:
    for address in (f"concept?cui={UNKNOWN}", f"path?a={UNKNOWN}&b={HEAD}", f"neighbourhood?cui={UNKNOWN}"):
        explorer.open(f"#/{address}")
        expect(explorer[".problem h2"]).to_have_text("Unknown concept")
        expect(explorer[".problem"]).to_contain_text(UNKNOWN)
        expect(explorer.page.get_by_role("button", name="Try again")).to_have_count(0)  # it would change nothing
    explorer.open("#/concept?cui=C0018760")  # two digits exchanged
    expect(explorer[".nearest"]).to_have_text(f"Nearest: Head {HEAD}")
    expect(explorer.field("Search")).to_be_focused()
    explorer.open("#/concept?cui=brain")
    expect(explorer[".problem h2"]).to_have_text("Not an identifier")
    expect(explorer[".problem"].get_by_role("link", name=re.compile("^(Brain|C0006104)$"))).to_be_visible()
    explorer.open("#/nothing")
    expect(explorer["main"]).to_contain_text("There is no such view")
    explorer.open("#/")
    explorer.field("Search").fill("xylophone")
    expect(explorer[".status"]).to_have_text("No concept found; try other words")


def test_an_answer_of_somebody_else_is_told_as_that(explorer: Explorer) -> None:
    explorer.page.route("**/v1/path*", lambda route: route.fulfill(status=502, body="<h1>Bad gateway</h1>"))
    explorer.open(f"#/path?a={STEM}&b={HEAD}")
    expect(explorer[".problem h2"]).to_have_text("The answer was not one of cuihop's")


def test_every_error_of_the_service_has_words(explorer: Explorer) -> None:
    explorer.open()
    messages = explorer.page.evaluate(
        """async (reasons) => {
            const { inWords } = await import("./explorer/problems.js");
            return reasons.map((reason) => inWords({ reason })[0]);
        }""",
        [
            status.reason
            for status in STATUSES
            if status.reason not in ("INVALID_INPUT", "GRAPH_UNUSABLE", "NOT_WRITTEN")
        ],
    )
    assert len(set(messages)) == len(messages)
    assert "The service refused the request" not in messages


def test_a_service_that_is_busy_is_asked_again_after_the_time_it_names(
    browser: Browser, keys: dict[str, str], guarded: RunningService
) -> None:
    with opened(browser, guarded.http + "/") as explorer:
        explorer.open(f"#/path?a={STEM}&b={HEAD}")
        log_in(explorer, keys["slow"])
        expect(explorer[".problem h2"]).to_have_text("Too many requests for now")
        again = explorer[".problem button"]
        expect(again).to_be_disabled()
        expect(again).to_have_text(re.compile(r"Try again in \d+ s"))
        expect(again).to_be_enabled()
        explorer.shot("rate-limited")


# Keys


def log_in(explorer: Explorer, key: str) -> None:
    explorer.page.get_by_label("API key or token").fill(key)
    explorer.page.get_by_role("button", name="Open").click()


def test_a_wrong_key_is_refused_and_the_right_one_opens(
    browser: Browser, keys: dict[str, str], guarded: RunningService
) -> None:
    key = keys["curator"]
    sent: list[str] = []
    with opened(browser, guarded.http + "/") as explorer:
        explorer.page.on("request", lambda request: sent.append(request.url))
        explorer.open(f"#/concept?cui={STEM}")
        expect(explorer["h1"]).to_have_text("This service asks for a key")
        expect(explorer["#key"]).to_be_focused()
        explorer.shot("key")
        log_in(explorer, "cuihop_no-key")
        expect(explorer["#refused"]).to_contain_text("not a key: it is mistyped or incomplete")
        explorer["#key"].fill("with a space")
        explorer.page.get_by_role("button", name="Open").click()
        expect(explorer["#key"]).to_be_visible()
        log_in(explorer, key)
        expect(explorer["#card h1"]).to_have_text("Brain stem")
        assert not any(key in address for address in [*sent, explorer.page.url])
        assert explorer.page.evaluate("JSON.stringify(localStorage)") == "{}"
        explorer.page.reload()
        expect(explorer["#card h1"]).to_have_text("Brain stem")
        explorer.page.get_by_role("button", name="Forget key").click()
        expect(explorer["h1"]).to_have_text("This service asks for a key")
        assert explorer.page.evaluate("sessionStorage.length") == 0
    assert any("/v1/concept" in address for address in sent)


def test_a_key_that_is_revoked_meanwhile_is_asked_for_again(
    browser: Browser, keys: dict[str, str], key_file: Path, guarded: RunningService
) -> None:
    with opened(browser, guarded.http + "/") as explorer:
        explorer.open(f"#/concept?cui={STEM}")
        log_in(explorer, keys["guest"])
        expect(explorer["#card h1"]).to_have_text("Brain stem")
        with changed_keys(key_file) as stored:
            stored[:] = [one for one in stored if one.name != "guest"]
        wait_for(lambda: http(guarded, "/v1/release", key=keys["guest"]).status == 401)
        explorer.go(f"#/neighbourhood?cui={STEM}")  # a late part of the card may have met the refusal already
        expect(explorer["h1"]).to_have_text("This service asks for a key")
        expect(explorer["#refused"]).to_contain_text("The key was not accepted")


def test_without_the_scope_names_identifiers_still_work(
    browser: Browser, keys: dict[str, str], guarded: RunningService
) -> None:
    with opened(browser, guarded.http + "/") as explorer:
        explorer.open("#/")
        log_in(explorer, keys["nameless"])
        explorer.field("Search").fill("brain")
        expect(explorer[".status"]).to_contain_text("your key lacks the scope “names”")
        explorer.choose("Search", STEM)
        expect(explorer["#card h1"]).to_have_text(STEM)
        expect(explorer["#card"]).to_contain_text("Names are not shown here")
        expect(explorer["#card .related a"]).to_have_text("C0006104")
        expect(explorer["#card .tree strong"]).to_have_text(STEM)
        expect(explorer["#card code:visible:not(pre code)"]).to_have_count(0)  # each identifier stands once
        explorer.go("#/comparison")
        explorer.paste("Concepts of image A", f"heart;{STEM}, {HEAD}")
        expect(explorer["#concepts-of-image-a-status"]).to_contain_text("2 concepts; 1 not understood. Names are not")
        expect(explorer["#why td[data-label=Concept]"]).to_have_text([STEM, HEAD])
        expect(explorer["#why td[data-label=Identifier]"]).to_have_count(0)
        explorer.go(f"#/path?a={STEM}&b={HEAD}")
        expect(explorer["#hops"]).to_have_text("3 hops in both directions")


def test_a_page_does_not_take_an_older_release_after_a_newer_one(
    explorer: Explorer, open_service: RunningService
) -> None:
    open_service.holder.activated(2_000)
    explorer.open(f"#/path?a={STEM}&b={HEAD}")
    expect(explorer["#hops"]).to_have_text("3 hops in both directions")
    seen = explorer.page.evaluate("sessionStorage.getItem('X-Release-Activation')")
    assert seen == f"2000-{example_graph().release.digest[:16]}"
    explorer.page.evaluate(f"sessionStorage.setItem('X-Release-Activation', '3000-{'0' * 16}')")  # from another replica
    explorer.page.get_by_label("up, to broader").check()
    expect(explorer[".problem"]).to_contain_text("still has an older release")
    open_service.holder.activated(4_000)
    explorer.page.get_by_role("button", name="Try again").click()
    expect(explorer[".problem"]).to_have_count(0)
