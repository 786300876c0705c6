"""The documentation as web pages: it builds without a warning, needs no network, and leaves nothing out."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import typer

import cuihop.errors
import cuihop.explanation
import cuihop.graph
import cuihop.measures
import cuihop_loader
from cuihop.cli import EXIT_CODES
from cuihop.cli.application import application
from cuihop.neo4j_graph.connection import Neo4jConnection, Neo4jSettings
from cuihop_api.v1 import concept_graph_pb2
from cuihop_service.admission import Admission
from cuihop_service.core import ConceptService
from cuihop_service.explorer import explorer_routes
from cuihop_service.graph_holder import GraphHolder
from cuihop_service.guard.configured_guard import ConfiguredGuard
from cuihop_service.http_api.application import application as application_over_http
from cuihop_service.http_api.application import metrics_route
from cuihop_service.http_api.cypher_route import cypher_routes
from cuihop_service.http_api.responder import Responder
from cuihop_service.limits import Limits
from cuihop_service.observe.observation import Observation
from cuihop_service.settings import ServiceSettings
from shared_data import ROOT

pytestmark = pytest.mark.xdist_group("site")  # one worker builds, once

SITE = ROOT / "docs" / "site"
LOADED = {"script": ("src",), "img": ("src", "srcset"), "iframe": ("src",), "source": ("src", "srcset"),
          "object": ("data",), "embed": ("src",), "audio": ("src",), "video": ("src",)}  # fmt: skip


class Page(HTMLParser):
    """A page: the files that it loads, its links and its anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.words: list[str] = []
        self._chapters: list[tuple[str, list[str]]] = []
        self._in_heading = False
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        self.loads += [found[name] for name in LOADED.get(tag, ()) if name in found]
        if tag == "link" and found.get("rel") not in {"author", "search", "next", "prev", "index", "canonical"}:
            self.loads.append(found["href"])
        if tag == "a" and "href" in found:
            self.links.append(found["href"])

        if re.fullmatch("h[1-6]", tag):
            self._chapters.append(("", []))
            self._in_heading = True

    def handle_endtag(self, tag: str) -> None:
        if re.fullmatch("h[1-6]", tag):
            self._in_heading = False

    def handle_data(self, data: str) -> None:
        self.words.append(data)
        if self._in_heading:
            self._chapters[-1] = (self._chapters[-1][0] + data.strip("\n¶#"), [])
        elif self._chapters:
            self._chapters[-1][1].append(data)

    def chapters(self) -> dict[str, str]:
        """Heading → text below it, up to the next."""
        return {heading: "".join(words) for heading, words in self._chapters}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output of ``make docs``."""
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


@pytest.mark.slow
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


def reference(pages: dict[Path, Page], name: str) -> Page:
    (found,) = [page for path, page in pages.items() if path.parts[-3:] == ("docs", "reference", f"{name}.html")]
    return found


def python_anchors(pages: dict[Path, Page]) -> set[str]:
    """The anchors of all pages of the Python reference."""
    return {
        anchor
        for path, page in pages.items()
        if path.parent.parts[-2:] == ("reference", "python")
        for anchor in page.anchors
    }


def commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Every command below one, by what is typed."""
    for below, inner in getattr(command, "commands", {}).items():
        yield f"{name} {below}", inner
        yield from commands(inner, f"{name} {below}")


def test_the_reference_has_every_command_and_every_option(pages: dict[Path, Page]) -> None:
    page = reference(pages, "commands")
    found = dict(commands(typer.main.get_command(application()), "cuihop"))
    assert {"cuihop distance", "cuihop load", "cuihop serve", "cuihop service keys create"} <= set(found)
    chapters = page.chapters()
    assert set(found) == set(chapters) - {"Commands", "Exit codes"}
    for name, command in found.items():
        for parameter in command.params:
            if parameter.param_type_name == "option" and not getattr(parameter, "hidden", False):
                assert [flag for flag in parameter.opts if flag not in chapters[name]] == [], name
            elif parameter.param_type_name == "argument":
                assert parameter.name.upper() in chapters[name], name
    assert [str(code) for code, _, _ in EXIT_CODES if str(code) not in chapters["Exit codes"]] == []


def test_the_reference_has_every_setting_and_no_other_page_repeats_them(pages: dict[Path, Page]) -> None:
    settings = " ".join("".join(reference(pages, "settings").words).split()).replace("’", "'")
    for name, field in ServiceSettings.model_fields.items():
        for part in (
            name,
            "--" + name.replace("_", "-"),
            f"CUIHOP_{name.upper()}",
            " ".join(str(field.description).split()),
        ):
            assert part in settings, name
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        assert "| `limit_pairs` |" not in page.read_text(encoding="utf-8"), page


def test_the_reference_has_every_method_message_and_field_of_grpc(pages: dict[Path, Page]) -> None:
    chapters = reference(pages, "grpc").chapters()
    file = concept_graph_pb2.DESCRIPTOR
    for service in file.services_by_name.values():
        assert [method.name for method in service.methods if method.name not in chapters] == []
    for message in file.message_types_by_name.values():
        assert [field.name for field in message.fields if field.name not in chapters[message.name]] == [], message.name
    for enumeration in file.enum_types_by_name.values():
        assert [value.name for value in enumeration.values if value.name not in chapters[enumeration.name]] == []


def test_the_reference_has_every_route_of_the_service(pages: dict[Path, Page]) -> None:
    page = reference(pages, "http")
    chapters = page.chapters()
    limits = Limits()
    admission, holder = Admission(limits, ConfiguredGuard()), GraphHolder()
    core = ConceptService(holder, limits)
    database = Neo4jConnection(Neo4jSettings("bolt://localhost:7687"))
    observation = Observation(holder)
    cypher = cypher_routes(Responder(core, admission), database, names=True)
    app: Any = application_over_http(
        core, admission, more_routes=[metrics_route(observation.metrics), *explorer_routes(), *cypher]
    )
    document = app.openapi()
    routes = {route.path for route in app.routes if hasattr(route, "path")}
    for close in (admission.close, database.close, observation.close, holder.close):
        close()
    documented = [
        (f"{method.upper()} {path}", one) for path, ways in document["paths"].items() for method, one in ways.items()
    ]
    assert len(documented) == 25
    for name, operation in documented:
        for parameter in operation.get("parameters", []):
            assert parameter["name"] in chapters[name], name
        assert [status for status in operation["responses"] if status not in chapters[name]] == [], name
    assert set(document["components"]["schemas"]) <= set(chapters)
    other = {path for path in routes - set(document["paths"]) if not path.startswith("/explorer/")}
    assert other >= {"/", "/metrics", "/openapi.json", "/health/live"}
    assert [path for path in other if path not in chapters["HTTP"]] == []


def test_the_reference_documents_what_the_library_exports(pages: dict[Path, Page]) -> None:
    anchors = python_anchors(pages)
    for name in (
        "cuihop.snapshot.graph.SnapshotGraph.distance",
        "cuihop.measures.nn_iou",
        "cuihop.evaluation.evaluate.evaluate",
        "cuihop.errors.ConceptNotFound",
        "cuihop_loader.load",
    ):
        assert name in anchors
    names = {anchor.rpartition(".")[2] for anchor in anchors}
    for module in (cuihop, cuihop.errors, cuihop.measures, cuihop.graph, cuihop.explanation, cuihop_loader):
        assert set(module.__all__) <= names, module.__name__


def test_the_reference_documents_what_the_pages_import(pages: dict[Path, Page]) -> None:
    anchors = python_anchors(pages)
    names = {anchor.rpartition(".")[2] for anchor in anchors}
    imported = 0
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), ROOT / "docs" / "tutorial.ipynb"]:
        text = path.read_text(encoding="utf-8").replace('\\n",', "\n")
        for module, listed in re.findall(r"^ *\"?from (cuihop[\w.]*) import ([\w, ]+)", text, re.MULTILINE):
            if module.startswith("cuihop_service"):
                continue  # for who builds a service of their own; the reference is the library's
            for name in listed.split(", "):
                imported += 1
                public = name.partition(" as ")[0].strip()
                assert public in names or f"{module}.{public}" in anchors, f"{path.name}: {module}.{public}"
    assert imported > 20


def test_pages_import_from_the_front_door_or_a_wing() -> None:
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), ROOT / "docs" / "tutorial.ipynb"]:
        text = path.read_text(encoding="utf-8")
        assert re.findall(r"(?:from|import) cuihop\.\w+\.[\w.]+", text) == [], path.name


def test_the_notebook_is_shown_with_its_outputs(pages: dict[Path, Page]) -> None:
    (page,) = [page for path, page in pages.items() if path.name == "tutorial.html"]
    cells = json.loads((ROOT / "docs" / "tutorial.ipynb").read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len([place for place in page.loads if place.startswith("data:image/png")]) == len(pictures) > 0
    words = " ".join("".join(page.words).split())
    for output in outputs:
        if output["output_type"] == "stream":
            assert " ".join("".join(output["text"]).split()) in words


def test_committed_pictures_are_those_that_the_script_draws() -> None:
    draw: Callable[[], dict[str, str]] = runpy.run_path(os.fspath(SITE / "draw_pictures.py"))["pictures"]
    drawn = draw()
    for name, picture in drawn.items():
        assert (ROOT / "docs" / "pictures" / name).read_text(encoding="utf-8") == picture, (
            f"{name}: run the script again"
        )
    assert {path.name for path in (ROOT / "docs" / "pictures").iterdir()} == set(drawn)


@pytest.mark.slow  # and make check compares
def test_the_reference_in_the_repository_is_that_of_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(SITE)
    generated: Callable[[], Iterator[tuple[Path, str]]]
    generated = runpy.run_path(os.fspath(SITE / "write_reference.py"))["reference_pages"]
    expected = dict(generated())
    for page, text in expected.items():
        assert page.read_text(encoding="utf-8") == text, f"{page.name}: run make reference"
    folder = ROOT / "docs" / "reference" / "python"
    assert {page for page in expected if page.parent == folder} == {*folder.glob("*.md")}
