"""The source distribution: it lacks nothing that the pages link to or that ``make`` needs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from page_links import dead_links
from shared_data import ROOT

pytestmark = pytest.mark.xdist_group("archives")


@pytest.fixture(scope="module")
def unpacked(archives: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    (archive,) = archives.glob("cuihop-*.tar.gz")
    subprocess.run(["tar", "-xzf", archive, "-C", folder], check=True)
    (root,) = folder.iterdir()
    return root


def files(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_the_sources_are_those_of_the_checkout(unpacked: Path) -> None:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("no checkout: this runs from sources that were unpacked")
    tracked = {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}
    assert files(unpacked) - {"PKG-INFO"} == tracked


@pytest.mark.slow
def test_every_link_of_the_pages_leads_to_a_file_of_the_sources(unpacked: Path) -> None:
    pages = [*unpacked.glob("*.md"), *(unpacked / "docs").rglob("*.md")]
    assert len(pages) > 50
    assert {page.name: dead_links(page) for page in pages if dead_links(page)} == {}
