"""The source distribution: it lacks nothing that the pages link to or that ``make`` needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from installer import INSTALLER
from shared_data import ROOT


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    subprocess.run([sys.executable, "-m", "build", "--installer", INSTALLER, "--sdist", "--outdir", folder, ROOT],
                   check=True, capture_output=True)  # fmt: skip
    (archive,) = folder.glob("cuihop-*.tar.gz")
    (folder / "out").mkdir()
    subprocess.run(["tar", "-xzf", archive, "-C", folder / "out"], check=True)
    (root,) = (folder / "out").iterdir()
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
    """The test of the documentation's links, run on the sources alone."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-k", "link",
         "tests/docs/test_documentation.py", "tests/docs/test_links.py"],
        cwd=unpacked, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
