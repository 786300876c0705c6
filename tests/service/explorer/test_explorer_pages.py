"""The explorer's files: what is served, with which headers, to whom; and where the libraries in them come from."""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import subprocess
import tarfile
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest

from cuihop_server import RunningService, running_service
from cuihop_service.explorer import POLICY, explorer_routes, pages
from cuihop_tools import vendoring
from cuihop_tools.vendoring import LOCK, VENDOR
from example_graph import example_graph
from guarded_service import guard_of, http, new_key_in, raw

STATIC = VENDOR.parent
OWN = sorted(path for path in STATIC.glob("*") if path.is_file())


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service that asks for keys."""
    keys = tmp_path_factory.mktemp("keys") / "keys.json"
    new_key_in(keys, "somebody")
    with running_service(
        example_graph(), guard=guard_of(keys_file=keys), routes=lambda core, admission: explorer_routes()
    ) as running:
        yield running


def test_the_pages_are_given_to_everybody_and_answers_are_not(service: RunningService) -> None:
    for page in pages():
        reply = http(service, page.path)
        assert (reply.status, reply.body) == (200, page.body)
    assert http(service, "/v1/release").status == 401


def test_every_page_has_a_strict_policy(service: RunningService) -> None:
    reply = http(service, "/")
    assert reply.headers["content-security-policy"] == POLICY
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["referrer-policy"] == "no-referrer"
    assert "unsafe" not in POLICY
    for answer in ("/v1/release", "/nothing"):
        assert http(service, answer).headers["content-security-policy"].startswith("default-src 'none'")
        assert "script-src" not in http(service, answer).headers["content-security-policy"]


def test_a_page_is_sent_once(service: RunningService) -> None:
    for page in pages():
        first = http(service, page.path)
        assert first.headers["cache-control"] == "no-cache"
        again = http(service, page.path, if_none_match=first.headers["etag"])
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", first.headers["etag"])
        assert http(service, page.path, if_none_match='W/"other"').status == 200


def test_only_get_and_head_are_answered(service: RunningService) -> None:
    head = http(service, "/", method="HEAD")
    assert (head.status, head.body) == (200, b"")
    assert int(head.headers["content-length"]) == len(http(service, "/").body)
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert http(service, "/", method=method).status == 405


@pytest.mark.parametrize(
    "path",
    ["/explorer", "/explorer/", "/explorer/../pages.py", "/explorer/%2e%2e/pages.py", "/explorer/..%2fpages.py",
     "/index.html", "/explorer/index.html", "/explorer//main.js", "/explorer/vendor", "/explorer/\u00e4", "//etc",
     "/explorer/vendor/vendor.lock.json", "/explorer/main.js%00.css", "/explorer/..\\pages.py"],
)  # fmt: skip
def test_a_path_that_is_no_page_leads_nowhere(service: RunningService, path: str) -> None:
    quoted = urllib.parse.quote(path, safe="/%")
    answer = raw(service, f"GET {quoted} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 404 ")


def test_without_the_routes_there_is_no_explorer() -> None:
    with running_service(example_graph()) as running:
        assert http(running, "/").status == 404


# What the files are


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_an_own_file_neither_asks_others_nor_writes_markup(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    addresses = set(re.findall(r"[a-z]+://[^\s\"')]+", text)) - {"http://www.w3.org/2000/svg"}
    assert not addresses
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser", text
    )
    if path.suffix == ".html":
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)", text)


def test_every_file_that_a_page_names_is_served() -> None:
    served = {page.path for page in pages()}
    assert re.findall(r"(?:src|href)=\"(explorer/[^\"]+)\"", STATIC.joinpath("index.html").read_text())
    for name in re.findall(r"(?:src|href)=\"(explorer/[^\"]+)\"", STATIC.joinpath("index.html").read_text()):
        assert f"/{name}" in served
    modules = [path.read_text(encoding="utf-8") for path in STATIC.glob("*.js")]
    imported = {name for text in modules for name in re.findall(r"(?:from |import\()\"\./([^\"]+)\"", text)}
    assert {f"/explorer/{name}" for name in imported} <= served


def test_the_libraries_are_those_of_the_lock_file_with_their_licences() -> None:
    lock = json.loads(LOCK.read_text())
    locked = {file["to"]: file["sha256"] for package in lock for file in package["files"]}
    assert {path.name for path in VENDOR.iterdir()} == {*locked, LOCK.name}
    for name, digest in locked.items():
        assert hashlib.sha256(VENDOR.joinpath(name).read_bytes()).hexdigest() == digest, name
    for package in lock:
        assert package["licence"] == "MIT"
        assert package["integrity"].startswith("sha512-")
        licences = [file["to"] for file in package["files"] if file["to"].endswith(".LICENSE.txt")]
        assert "Permission is hereby granted" in VENDOR.joinpath(licences[0]).read_text()


def test_a_library_that_differs_from_the_lock_is_refused_unless_it_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    body = b"export default 1;"
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as archive:
        member = tarfile.TarInfo("package/dist/small.js")
        member.size = len(body)
        archive.addfile(member, io.BytesIO(body))
    lock = tmp_path / "vendor.lock.json"
    file = {"from": "dist/small.js", "to": "small.js", "sha256": "0" * 64}
    lock.write_text(json.dumps([{"package": "small", "version": "1.0.0", "integrity": "sha512-", "files": [file]}]))
    monkeypatch.setattr(vendoring, "LOCK", lock)
    monkeypatch.setattr(vendoring, "VENDOR", tmp_path)
    monkeypatch.setattr(
        vendoring, "fetched", lambda package, version: held.getvalue()
    )  # the registry is not ours to test
    assert vendoring.main([]) == 1
    assert capsys.readouterr().err == "not what the lock says: small 1.0.0\n"
    assert not (tmp_path / "small.js").exists()
    assert vendoring.main(["--accept"]) == 0
    assert (tmp_path / "small.js").read_bytes() == body
    assert vendoring.main([]) == 0
    entries = json.loads(lock.read_text())
    entries[0]["files"][0]["sha256"] = "0" * 64
    lock.write_text(json.dumps(entries))
    assert vendoring.main([]) == 1
    assert capsys.readouterr().err == "not what the lock says: small 1.0.0: dist/small.js\n"


@pytest.mark.slow
def test_every_own_module_is_javascript() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node not found: install Debian's package nodejs")
    for path in STATIC.glob("*.js"):
        kind = ["--check"] if path.name == "theme.js" else ["--experimental-default-type=module", "--check"]
        done = subprocess.run([node, *kind, str(path)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
