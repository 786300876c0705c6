"""The documentation as web pages: it builds without a warning, needs no network, and leaves nothing out."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import typer

import cuihop.errors
import cuihop.measures
from cuihop.cli.application import application
from cuihop_api.v1 import concept_graph_pb2
from cuihop_service.settings import ServiceSettings
from shared_data import ROOT

pytestmark = pytest.mark.xdist_group("site")  # one worker builds, once

SITE = ROOT / "docs" / "site"
LOADED = {"script": ("src",), "img": ("src", "srcset"), "iframe": ("src",), "source": ("src", "srcset"),
          "object": ("data",), "embed": ("src",), "audio": ("src",), "video": ("src",)}  # fmt: skip


class Page(HTMLParser):
    """What a page loads, where its links lead, and which anchors it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.words: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        self.loads += [found[name] for name in LOADED.get(tag, ()) if name in found]
        if tag == "link" and found.get("rel") not in {"author", "search", "next", "prev", "index", "canonical"}:
            self.loads.append(found["href"])
        if tag == "a" and "href" in found:
            self.links.append(found["href"])

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``make docs`` makes."""
    out = tmp_path_factory.mktemp("site") / "html"
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (command,) = re.findall(r"\$\(BIN\)/python (-m sphinx .*) build/docs$", makefile, re.MULTILINE)
    done = subprocess.run(
        [sys.executable, *command.split(), os.fspath(out)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return out


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in site.rglob("*.html")}


def test_every_page_of_the_repository_is_a_page_of_the_site(site: Path) -> None:
    for page in [*(ROOT / "docs").rglob("*.md"), ROOT / "docs" / "tutorial.ipynb", ROOT / "CHANGELOG.md"]:
        assert site.joinpath(page.relative_to(ROOT)).with_suffix(".html").exists(), page


def test_no_page_loads_anything_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        assert [place for place in page.loads if urlsplit(place).scheme not in {"", "data"}] == [], path
        assert [place for place in page.loads if place.startswith("//")] == [], path
    for sheet in [*site.rglob("*.css"), *site.rglob("*.html")]:
        outside = re.findall(r"@import[^;]*|url\(\s*['\"]?(?:https?:)?//[^)]*\)", sheet.read_text(encoding="utf-8"))
        assert outside == [], sheet


def test_every_link_within_the_site_leads_to_a_page_and_to_its_anchor(site: Path, pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.is_relative_to(site), f"{path.name}: {link}"
            assert target.exists(), f"{path.name}: {link}"
            if parts.fragment and target in pages:
                assert unquote(parts.fragment) in pages[target].anchors, f"{path.name}: {link}"


def words(pages: dict[Path, Page], name: str) -> str:
    (found,) = [page for path, page in pages.items() if path.parts[-3:] == ("docs", "reference", f"{name}.html")]
    return "".join(found.words)


def test_the_reference_has_every_command_and_every_option(pages: dict[Path, Page]) -> None:
    told = words(pages, "commands")
    program = typer.main.get_command(application())
    commands = vars(program)["commands"]
    assert {"distance", "evaluate", "serve", "load"} <= set(commands)
    for name, command in commands.items():
        assert f"cuihop {name}" in told
        for parameter in command.params:
            for flag in parameter.opts if parameter.param_type_name == "option" else []:
                assert flag in told, f"{name} {flag}"


def test_the_reference_has_every_setting_every_rpc_and_every_route(pages: dict[Path, Page]) -> None:
    told = words(pages, "settings")
    assert [name for name in ServiceSettings.model_fields if f"CUIHOP_{name.upper()}" not in told] == []
    file = concept_graph_pb2.DESCRIPTOR
    told = words(pages, "grpc")
    for service in file.services_by_name.values():
        assert [method.name for method in service.methods if method.name not in told] == []
    for message in file.message_types_by_name.values():
        assert [field.name for field in message.fields if field.name not in told] == [], message.name
    told = words(pages, "http")
    for route in ("GET /v1/distance", "POST /v1/relevances", "GET /v1/release", "ProblemBody"):
        assert route in told


def test_the_reference_documents_what_the_library_exports(pages: dict[Path, Page]) -> None:
    (page,) = [page for path, page in pages.items() if path.parts[-2:] == ("reference", "python.html")]
    for name in (
        "cuihop.snapshot.SnapshotGraph.distance",
        "cuihop.measures.nn_iou",
        "cuihop.evaluation.whole_collection.evaluate",
        "cuihop.errors.ConceptNotFound",
        "cuihop_loader.load",
    ):
        assert name in page.anchors
    names = {anchor.rpartition(".")[2] for anchor in page.anchors}
    assert set(cuihop.__all__) <= names
    assert set(cuihop.errors.__all__) <= names
    assert set(cuihop.measures.__all__) <= names


def test_the_notebook_is_shown_with_its_outputs(pages: dict[Path, Page]) -> None:
    (page,) = [page for path, page in pages.items() if path.name == "tutorial.html"]
    cells = json.loads((ROOT / "docs" / "tutorial.ipynb").read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len([place for place in page.loads if place.startswith("data:image/png")]) == len(pictures) > 0
    shown = " ".join("".join(page.words).split())
    for output in outputs:
        if output["output_type"] == "stream":
            assert " ".join("".join(output["text"]).split()) in shown


def test_committed_pictures_are_those_that_the_script_draws() -> None:
    draw: Callable[[], dict[str, str]] = runpy.run_path(os.fspath(SITE / "draw_pictures.py"))["pictures"]
    drawn = draw()
    for name, picture in drawn.items():
        assert (ROOT / "docs" / "pictures" / name).read_text(encoding="utf-8") == picture, (
            f"{name}: run the script again"
        )
    assert {path.name for path in (ROOT / "docs" / "pictures").iterdir()} == set(drawn)
