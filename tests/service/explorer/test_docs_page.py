"""The page about the operations: each has a form and programs, which give the answers that the service gives."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from google.protobuf import json_format

from browser import LIGHT_AND_DARK, Explorer, expect, opened
from cuihop.operations.table import OPERATIONS
from cuihop.remote.wire import message_class, value_of_request
from cuihop_server import RunningService, running_service
from cuihop_service.explorer import explorer_routes
from example_graph import example_graph
from guarded_service import guard_of, http, new_key_in

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SIZES = {"wide": (1400, 900), "middle": (1024, 800), "phone": (390, 800)}


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("keys") / "keys.json"


@pytest.fixture(scope="module")
def key(key_file: Path) -> str:
    return new_key_in(key_file, "somebody", "read", "names")


@pytest.fixture(scope="module")
def service(key_file: Path, key: str) -> Iterator[RunningService]:
    """A service that asks for keys."""
    guard = guard_of(keys_file=key_file)
    with running_service(example_graph(), guard=guard, routes=lambda core, admission: explorer_routes()) as running:
        yield running


@pytest.fixture
def page(browser: Browser, service: RunningService) -> Iterator[Explorer]:
    with opened(browser, service.http + "/") as explorer:
        explorer.open("docs")
        expect(explorer["#main table"]).to_be_visible()
        yield explorer


def program(page: Explorer, language: str) -> str:
    page.page.get_by_role("tab", name=language).click()
    return page["#program"].inner_text()


def test_paths_without_a_route_lead_to_the_page(service: RunningService) -> None:
    for path in ("/v1", "/v1/", "/explorer/docs.html"):
        assert http(service, path).json["detail"] == f"nothing is at {path}. See /docs and /openapi.json."


@pytest.mark.core
def test_a_request_is_tried_with_the_key_of_the_explorer(page: Explorer, key: str) -> None:
    page.go("#distance")
    page.page.get_by_role("button", name="Send").click()
    expect(page["#status"]).to_contain_text("401")
    expect(page["#key"]).to_be_focused()
    page["#key"].fill(key)
    page["#key"].press("Enter")
    expect(page["#status"]).to_contain_text("200")
    expect(page["#answer pre"]).to_contain_text('"hops": 3')
    assert page.page.evaluate("sessionStorage.getItem('cuihop-key')") == key  # where the explorer has it
    assert key not in page["body"].inner_text()
    page["#parameter-a"].fill("brain stem")
    page["#parameter-a"].press("Enter")
    expect(page["#answer pre"]).to_contain_text('"name": "Brain stem"')
    page.page.get_by_role("button", name="Forget key").click()
    assert page.page.evaluate("sessionStorage.getItem('cuihop-key')") is None


def test_programs_are_chosen_by_keyboard(page: Explorer) -> None:
    page.go("#distance")
    page.page.get_by_role("tab", name="curl").focus()
    page.page.keyboard.press("ArrowLeft")
    expect(page.page.get_by_role("tab", name="JavaScript")).to_be_focused()
    expect(page["#program"]).to_contain_text("await fetch(")


@pytest.mark.slow
def test_the_programs_of_the_page_run(page: Explorer, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    page.page.evaluate("(key) => sessionStorage.setItem('cuihop-key', key)", key)
    monkeypatch.setenv("CUIHOP_KEY", key)
    commands = {"curl": ["sh", "-c"], "Python": [sys.executable, "-c"]}
    if node := shutil.which("node"):
        commands["JavaScript"] = [node, "--input-type=module", "-e"]
    for operation, part in (("distance", "'hops': 3"), ("relevance", "'nn_iou': 0.5")):
        page.go(f"#{operation}")
        for language, command in commands.items():
            text = program(page, language)
            done = subprocess.run([*command, text], capture_output=True, text=True, check=False, timeout=300)
            answer = done.stdout.replace('"', "'").replace("':", "': ").replace(":  ", ": ")
            assert part in answer, (language, text, done.stderr)


def test_the_messages_of_grpc_are_those_of_the_contract(page: Explorer) -> None:
    for operation in (each for each in OPERATIONS if each.rpc):
        page.go(f"#{operation.name}")
        text = program(page, "gRPC")
        assert text.endswith(f"cuihop_api.v1.ConceptGraphService/{operation.rpc}")
        message = message_class(operation.rpc)()
        json_format.Parse(text.partition("-d '")[2].rpartition("' \\")[0], message)
        if operation.rpc != "GetRelease":
            value_of_request(operation.request, message)
    page.go("#distance")
    page["#parameter-direction"].select_option("up")
    page["#parameter-within_sabs"].fill("MSH, HPO")
    assert '"bounds":{"direction":"DIRECTION_UP","within_sabs":["MSH","HPO"]}' in program(page, "gRPC")
    page.go("#relevance")
    page["#body"].fill('{"a": ["C1"], "b": [], "weight": "Wu-Palmer"}')
    assert '"rule":{"weight":"NEAR_WEIGHT_WU_PALMER"}' in program(page, "gRPC")


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_axe_finds_nothing_and_nothing_is_cut(browser: Browser, service: RunningService, size: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    width, height = SIZES[size]
    viewport = {"width": width, "height": height}
    with opened(browser, service.http + "/", viewport=viewport, reduced_motion="reduce") as page:
        page.open("docs")
        page.page.evaluate(Axe().axe_script)
        for view in ("", "#distance", "#relevance"):
            page.go(view)
            expect(page["#main h1"]).to_be_visible()
            assert page.page.evaluate("document.documentElement.scrollWidth") <= width
            for scheme in LIGHT_AND_DARK if size != "middle" else ():
                page.page.emulate_media(color_scheme=scheme)
                page.shot(f"docs-{view[1:] or 'start'}-{size}-{scheme}")
                only = {"runOnly": ["color-contrast"]} if scheme == "dark" else {}  # the rest is the same page
                options = {"resultTypes": ["violations"]} | only
                violations = page.page.evaluate("(options) => axe.run(options)", options)["violations"]
                assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in violations] == []
