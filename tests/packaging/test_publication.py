"""The files that strangers meet: citation, forms, workflow, and the list of placeholders."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from check_jsonschema import main as check_jsonschema  # type: ignore[import-untyped]

import cuihop
from page_links import dead_links
from shared_data import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
GITHUB = ROOT / ".github"
FORMS = [path for path in sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")) if path.name != "config.yml"]
SCHEMAS = {
    "citation-file-format": [ROOT / "CITATION.cff"],
    "dependabot": [GITHUB / "dependabot.yml"],
    "github-issue-config": [GITHUB / "ISSUE_TEMPLATE" / "config.yml"],
    "github-issue-forms": FORMS,
    "github-workflows": [GITHUB / "workflows" / "ci.yml"],
    "readthedocs": [ROOT / ".readthedocs.yaml"],
}
PLACEHOLDER = re.compile(r"https://example\.org/cuihop|[\w.]+@example\.org")


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps() -> list[dict[str, Any]]:
    jobs = read(GITHUB / "workflows" / "ci.yml")["jobs"].values()
    return [step for job in jobs for step in job["steps"]]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_each_file_is_valid_by_its_published_schema(schema: str, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(path) for path in SCHEMAS[schema]]
    with pytest.raises(SystemExit) as stop:
        check_jsonschema(["--builtin-schema", f"vendor.{schema}", "--default-filetype", "yaml", *files])
    assert stop.value.code == 0, capsys.readouterr().out


def test_the_version_is_the_same_wherever_it_stands() -> None:
    citation = read(ROOT / "CITATION.cff")
    assert PROJECT["project"]["version"] == cuihop.__version__ == citation["version"]
    assert [one["url"] for one in citation["references"]] == ["https://arxiv.org/abs/2506.13509"]


def test_the_changelog_begins_with_the_version_and_keeps_its_form() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## (.*)", text, re.MULTILINE)
    assert versions[0] == f"{cuihop.__version__.partition('.dev')[0]} (unreleased)" or ".dev" not in cuihop.__version__
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ \((unreleased|\d{4}-\d\d-\d\d)\)", one) for one in versions)
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.*)", text, re.MULTILINE)) <= kinds


def test_every_placeholder_is_in_the_list_of_contributing() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+)` \| (`[^|]+`) \|", text.partition("## Before the first release")[2], re.MULTILINE)
    listed = {name: set(re.findall("`([^`]+)`", placeholders)) for name, placeholders in rows}
    tops = [path for path in ROOT.iterdir() if path.is_file() and path.name not in {"CONTRIBUTING.md", "uv.lock"}]
    trees = [
        ROOT / name for name in ("client", "graph_loader", "service", "proto", "docs", "deploy", "tools", ".github")
    ]
    inside = [path for tree in trees for path in tree.rglob("*") if path.is_file() and "vendor" not in path.parts]
    found: dict[str, set[str]] = {}
    for path in [*tops, *inside]:
        if path.suffix not in {".pyc", ".png", ".jpg", ".ico", ".woff2", ".cuihop"}:
            placeholders = PLACEHOLDER.findall(path.read_text(encoding="utf-8", errors="replace"))
            if placeholders:
                found[path.relative_to(ROOT).as_posix()] = set(placeholders)
    assert found == listed


def test_the_workflow_has_the_pythons_of_the_classifiers_and_few_rights() -> None:
    workflow = read(GITHUB / "workflows" / "ci.yml")
    assert workflow["permissions"] == {"contents": "read"}
    versions = {
        each.rpartition(" ")[2] for each in PROJECT["project"]["classifiers"] if re.search(r"Python :: 3\.\d+$", each)
    }
    assert set(workflow["jobs"]["test"]["strategy"]["matrix"]["python"]) == versions
    assert f">={min(versions, key=lambda one: int(one[2:]))}" == PROJECT["project"]["requires-python"]
    for step in steps():
        assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step.get("uses", "a/b@v1")), step


def test_workflows_forms_and_hooks_name_make_targets_that_exist() -> None:
    targets = set(re.findall(r"^([a-z][a-z0-9-]*)(?: [a-z-]+)*:", (ROOT / "Makefile").read_text(), re.MULTILINE))
    texts = [
        path.read_text(encoding="utf-8")
        for path in [*GITHUB.rglob("*.*"), ROOT / ".readthedocs.yaml"]
        if path.is_file()
    ]
    named = {name for text in texts for name in re.findall(r"(?:`|run: |- )make ([a-z][a-z-]*)", text)}
    assert {"check", "test", "docs"} <= named <= targets


def test_the_hooks_before_a_commit_run_what_make_check_runs() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for hook in read(ROOT / ".pre-commit-config.yaml")["repos"][0]["hooks"]:
        program = re.sub(r"^\.venv/bin/|--force-exclude", "", hook["entry"]).strip()
        assert f"$(BIN)/{program} " in makefile, hook["id"]


def test_a_form_asks_for_each_thing_once() -> None:
    for path in FORMS:
        fields = [field["id"] for field in read(path)["body"] if field["type"] != "markdown"]
        assert len(fields) == len(set(fields)) > 0, path.name


@pytest.mark.parametrize("name", ["SECURITY.md", "CODE_OF_CONDUCT.md"])
def test_links_of_the_pages_for_visitors_lead_somewhere(name: str) -> None:
    assert dead_links(ROOT / name) == []


def test_the_image_says_what_it_is() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    labels = dict(re.findall(r'org\.opencontainers\.image\.(\w+)="([^"]+)"', text))
    assert set(labels) == {"title", "description", "licenses", "source", "version", "revision"}
    assert labels["licenses"] == PROJECT["project"]["license"]
    assert labels["source"] == PROJECT["project"]["urls"]["Source"]
    assert {labels["version"], labels["revision"]} == {"$VERSION", "$REVISION"}
