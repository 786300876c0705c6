"""Identifiers of any form in the explorer: addresses, links, search, pictures, comparison, files; and WordNet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from browser import Explorer, expect, opened
from cuihop import SnapshotGraph
from cuihop_loader import load
from cuihop_server import RunningService, running_service
from cuihop_service.explorer import explorer_routes
from opaque_identifiers import IDENTIFIERS, NAMES, opaque_graph
from shared_data import wordnet

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = IDENTIFIERS[0]


def explored(served: SnapshotGraph, *, names: bool = True) -> Iterator[RunningService]:
    with running_service(served, names=names, routes=lambda core, admission: explorer_routes()) as running:
        yield running


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    yield from explored(opaque_graph())


@pytest.fixture
def explorer(browser: Browser, service: RunningService) -> Iterator[Explorer]:
    with opened(browser, service.http + "/") as page:
        page.open()
        yield page


def test_an_identifier_in_an_address_and_in_links(explorer: Explorer) -> None:
    for n, cui in enumerate(IDENTIFIERS):
        explorer.go(f"#/concept?cui={quote(cui, safe='')}")
        expect(explorer["#card h1"]).to_have_text(NAMES[cui][0])
        expect(explorer["#card code.cui"]).to_have_text(cui)
        if n:
            explorer["#card"].get_by_role("region", name="Parents").get_by_role("link").first.click()
            expect(explorer["#card code.cui"]).to_have_text(IDENTIFIERS[n - 1])
    assert explorer.page.evaluate("window.hacked") is None


def test_a_path_and_a_comparison_by_address(explorer: Explorer) -> None:
    last = IDENTIFIERS[-1]
    explorer.go(f"#/path?a={quote(last, safe='')}&b={quote(ROOT, safe='')}")
    expect(explorer["#steps li"]).to_have_count(len(IDENTIFIERS))
    for place in (explorer["#steps li"].first, explorer["#steps li"].last):
        expect(place).to_be_visible()
    explorer.shot("opaque-path")
    sets = [quote(" ".join(half), safe="") for half in (IDENTIFIERS[::2], IDENTIFIERS[1::2])]
    explorer.go(f"#/comparison?a={sets[0]}&b={sets[1]}&n=1")
    expect(explorer["tbody tr"]).to_have_count(len(IDENTIFIERS))
    explorer.shot("opaque-comparison")
    expect(explorer["#nn-iou"]).to_contain_text("0.5")  # every concept is one hop from another of the other set


def test_search_and_a_neighbourhood_with_its_files(explorer: Explorer, tmp_path: Path) -> None:
    explorer.choose("Search for a concept", ROOT)
    expect(explorer["#card code.cui"]).to_have_text(ROOT)
    explorer.go(f"#/neighbourhood?cui={quote(IDENTIFIERS[2], safe='')}&hops=2&as=table")
    expect(explorer["tbody tr"]).to_have_count(4)
    saved = json.loads(explorer.saved("JSON", tmp_path))
    assert IDENTIFIERS[1] in json.dumps(saved, ensure_ascii=False)
    rows = list(csv.reader(io.StringIO(explorer.saved("CSV", tmp_path).decode(), newline="")))
    assert set(IDENTIFIERS[:5]) <= {cell for row in rows for cell in row}


def test_without_names_an_identifier_without_a_digit_is_found(browser: Browser) -> None:
    for running in explored(opaque_graph(), names=False):
        with opened(browser, running.http + "/") as page:
            page.open()
            page.choose("Search for a concept", "x&y=z")
            expect(page["#card code.cui"]).to_have_text("x&y=z")


def test_wordnet_is_explored(browser: Browser) -> None:
    for running in explored(SnapshotGraph(load([wordnet()]).sections)):
        with opened(browser, running.http + "/") as page:
            page.open()
            page.shot("wordnet-first")
            page.choose("Search for a concept", "german shepherd")
            expect(page["#card h1"]).to_have_text("German shepherd")
            page.shot("wordnet-concept")
            page.open("#/path?a=02084071-n&b=02121620-n")
            expect(page["#steps li"]).to_have_count(4)
            page.shot("wordnet-path")
            page.open("#/neighbourhood?cui=02084071-n&hops=1")
            expect(page["#total"]).to_contain_text("within 1 hop")
            page.shot("wordnet-neighbourhood")
            page.open("#/comparison?a=02084071-n%2002121620-n&b=02106662-n%2002958343-n&n=3")
            expect(page["#nn-iou"]).to_be_visible()
            page.shot("wordnet-comparison")
