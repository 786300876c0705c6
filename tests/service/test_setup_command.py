"""`cuihop service setup`: a folder from which a guarded service starts, and which is never written over."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import textwrap
from pathlib import Path

import pytest
import urllib3
from cryptography import x509

import cuihop
from cuihop.connection import connect
from cuihop_service.guard.key_file import read_keys
from cuihop_service.settings import ServiceSettings
from cuihop_tools.neo4j_server import free_ports
from example_graph import example_graph
from program_run import Run
from redis_server import NO_REDIS
from served_program import program as started_service
from shared_data import ROOT
from waiting import wait_for


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*ServiceSettings.model_fields, "config", "ca_file", "api_key_file"):
        monkeypatch.delenv(f"CUIHOP_{name.upper()}", raising=False)


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "graph.cuihop"
    example_graph().save(path)
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_all_files_are_for_the_user_alone_and_nothing_secret_is_printed(program: Run, tmp_path: Path) -> None:
    folder = tmp_path / "department"
    done = program("service", "setup", folder, "--caller", "atlas", "--caller", "archive", "--name", "g.example.org")
    assert (done.code, done.err) == (0, "")
    files = contents(folder)
    assert set(files) == {
        ".env", ".gitignore", "cuihop.toml", "keys.json", "service.key", "service.pem",
        *(f"keys/{name}.key" for name in ("archive", "atlas", "curator", "prometheus")),
    }  # fmt: skip
    assert {path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_file()} == {0o600}
    assert {path.stat().st_mode & 0o777 for path in (folder, folder / "keys")} == {0o700}
    variables = dict(line.split("=", 1) for line in files[".env"].decode().splitlines())
    secrets = [variables["NEO4J_PASSWORD"], variables["REDIS_PASSWORD"], files["keys/atlas.key"].decode().strip()]
    assert all(len(secret) >= 32 and secret not in done.out for secret in secrets)
    assert variables["CUIHOP_REDIS"] == f"redis://:{secrets[1]}@localhost:6379/0"
    scopes = {key.name: sorted(key.scopes) for key in read_keys(folder / "keys.json")}
    assert scopes == {
        "atlas": ["read"], "archive": ["read"], "curator": ["names", "read"], "prometheus": ["metrics"],
    }  # fmt: skip
    for step in ("department/.env", "docker compose", "cuihop service check", "cuihop serve"):
        assert step in done.out
    certificate = x509.load_pem_x509_certificate(files["service.pem"])
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["g.example.org", "localhost"]


def test_nothing_is_written_over_and_a_refusal_writes_nothing(program: Run, tmp_path: Path) -> None:
    assert program("service", "setup", tmp_path / "one", "--caller", "curator").code == 3  # there is one already
    assert program("service", "setup", tmp_path / "one", "--caller", "../x").code == 3
    assert program("service", "setup", tmp_path / "one", "--name", "gräph").code == 3
    assert program("service", "setup", tmp_path / "none" / "one").code == 6
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "keys.json").write_text("mine")
    refused = program("service", "setup", tmp_path)
    assert refused.code == 6
    assert "nothing was written: keys.json exist" in " ".join(refused.err.split())
    assert contents(tmp_path) == {"keys.json": b"mine"}


def test_an_authority_may_sign_in_place_of_the_service(program: Run, tmp_path: Path, graph: Path) -> None:
    folder = tmp_path / "department"
    flags = ("--certificate-request", "--name", "g.example.org", "--name", "10.0.0.7", "--graph", graph)
    done = program("service", "setup", folder, *flags)
    assert "service.csr" in done.out
    assert "docker" not in done.out  # a snapshot needs no database
    request = x509.load_pem_x509_csr((folder / "service.csr").read_bytes())
    names = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name.value) for name in names] == ["g.example.org", "10.0.0.7"]
    ports = ("--http-port", "0", "--grpc-port", "0")
    checked = json.loads(program("service", "check", "--json", "--config", folder / "cuihop.toml", *ports).out)
    failed = [check for check in checked["checks"] if check["state"] == "failed"]
    assert [check["part"] for check in failed] == ["certificate"]
    assert f"{folder / 'service.pem'}: cannot be read" in failed[0]["text"]


def test_the_service_of_the_folder_answers_over_tls_to_its_keys(
    program: Run, tmp_path: Path, graph: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "department"
    program("service", "setup", folder, "--graph", graph)
    config = ("--config", folder / "cuihop.toml", "--workers", "1")
    checked = program("service", "check", *config, "--http-port", "0", "--grpc-port", "0")
    *lines, last = checked.out.splitlines()
    assert (checked.code, last) == (0, f"ready to start: {len(lines)} ok")
    with started_service(graph, tmp_path, *map(str, config)) as running:
        ports = [address.rpartition(":")[2] for address in (running.http, running.grpc)]
        monkeypatch.setenv("CUIHOP_CA_FILE", str(folder / "service.pem"))
        monkeypatch.setenv("CUIHOP_API_KEY_FILE", str(folder / "keys" / "caller.key"))
        for address in (f"https://localhost:{ports[0]}", f"grpcs://localhost:{ports[1]}"):
            with connect(address) as remote:
                assert remote.distance("C0006121", "C0018670") == 3
        with urllib3.PoolManager(ca_certs=str(folder / "service.pem"), retries=False, timeout=300) as pool:
            assert pool.request("GET", f"https://localhost:{ports[0]}/v1/release").status == 401
        again = program("service", "check", *config, "--http-port", ports[0], "--grpc-port", ports[1])
        assert again.code == 0  # its own service is no stranger
        assert again.out.count(f"cuihop {cuihop.__version__} answers there") == 2
        assert running.stop() == 0
    audit = (folder / "audit.jsonl").read_text()
    assert audit.count('"caller":"caller"') >= 2


def test_the_lines_for_a_department_without_docker_start_redis_with_its_password(tmp_path: Path) -> None:
    import redis

    if shutil.which("redis-server") is None:
        pytest.skip(NO_REDIS)
    page = (ROOT / "docs" / "department.md").read_text()
    lines = textwrap.dedent(re.findall(r"\*\*Without Docker\*\*.*?\n\n((?:    [^\n]*\n)+)", page, re.S)[0])
    assert "NEO4J_DATA ?= .cache/neo4j\n" in (ROOT / "Makefile").read_text()
    assert "NEO4J_PASSWORD_FILE=.cache/neo4j/password" in lines
    (port,) = free_ports(1)
    (tmp_path / "department").mkdir()
    (tmp_path / "department" / ".env").write_text("NEO4J_PASSWORD=another\nREDIS_PASSWORD=a-password\n")
    own = lines.replace("redis-server -", f"redis-server - --port {port} --save '' --logfile {tmp_path / 'log'}")
    subprocess.run(["bash", "-euc", f'{own}[ -z "${{NEO4J_PASSWORD+x}}" ]'], check=True, cwd=tmp_path)

    def listens() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    wait_for(listens)
    with redis.Redis.from_url(f"redis://:a-password@127.0.0.1:{port}") as client:
        assert client.ping()
        client.shutdown(nosave=True)
