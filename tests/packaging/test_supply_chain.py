"""The packages of the image come by hash, and no secret is in the repository."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from cuihop_service.guard.api_keys import new_key
from shared_data import ROOT

SECRETS = {
    "a key of cuihop": r"cuihop_[0-9a-z]{10}_[0-9A-Za-z]{49}",
    "a private key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----\s+[A-Za-z0-9+/=]{20}",
    "a token of GitHub or GitLab": r"\b(?:gh[pousr]_[0-9A-Za-z]{36}|github_pat_\w{60}|glpat-[\w-]{20})",
    "a token of a registry": r"\b(?:pypi-[\w-]{60}|npm_[0-9A-Za-z]{36}|dckr_pat_[\w-]{20})",
    "a key of a cloud": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[\w-]{35}|\bxox[abpr]-[\w-]{20}",
    "a signed token": r"\beyJ[\w-]{20,}\.eyJ[\w-]{20,}\.[\w-]{20,}",
}
FOUND = re.compile("|".join(f"({pattern})" for pattern in SECRETS.values()).encode())


def secrets_in(content: bytes) -> Iterator[str]:
    """The kind of each secret in a file."""
    for found in FOUND.finditer(content):
        yield list(SECRETS)[(found.lastindex or 1) - 1]


def test_no_tracked_file_holds_a_secret() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    files = [ROOT / name for name in listed.decode().split("\0") if name]
    assert len(files) > 500
    assert {str(file): found for file in files if file.is_file() and (found := [*secrets_in(file.read_bytes())])} == {}


def test_a_secret_would_be_found() -> None:
    key, _ = new_key("name", ("read",), now=datetime.now(UTC))
    written = {
        "a key of cuihop": f"Bearer {key}",
        "a private key": "-----BEGIN EC PRIVATE KEY" + "-----\n" + "A" * 64,
        "a token of GitHub or GitLab": "ghp_" + "a1" * 18,
        "a token of a registry": "npm_" + "a1" * 18,
        "a key of a cloud": "AKIA" + "A1" * 8,
        "a signed token": ".".join(("eyJ" + "a" * 30, "eyJ" + "b" * 30, "c" * 30)),
    }
    assert {name: [*secrets_in(text.encode())] for name, text in written.items()} == {name: [name] for name in SECRETS}


def test_the_image_takes_the_packages_of_the_lock_file_by_their_hashes() -> None:
    lock = tomllib.loads((ROOT / "uv.lock").read_text("utf-8"))
    packages = [package for package in lock["package"] if package["source"] != {"editable": "."}]
    assert len(packages) > 50
    for package in packages:
        files = [*package.get("wheels", ()), *([package["sdist"]] if "sdist" in package else ())]
        assert files
        assert all(re.fullmatch("sha256:[0-9a-f]{64}", file["hash"]) for file in files), package["name"]
    commands = re.findall(r"\b(?:uv sync|pip install|uv pip)\b.*", Path(ROOT / "Dockerfile").read_text("utf-8"))
    assert len(commands) == 3
    for command in commands:
        assert "uv sync --locked" in command or re.search(r"pip install --no-cache-dir uv==[\d.]+$", command), command
