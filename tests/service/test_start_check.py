"""`cuihop service check`: each fault of a configuration, in one line with the way on, before the start."""

from __future__ import annotations

import datetime
import json
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trustme

import cuihop
from cuihop.errors import OutputError
from cuihop_server import running_service
from cuihop_service import health_check, start_check
from cuihop_service.grpc_api.server import TlsFiles
from cuihop_service.guard.audit import AuditLog
from cuihop_service.guard.commands import CreateOptions, create
from cuihop_service.own_copy import LOCK
from cuihop_service.settings import ServiceSettings
from cuihop_service.start_check import Finding, findings
from cuihop_tools.neo4j_server import LocalServer, free_ports
from example_graph import example_graph
from neo4j_server import emptied, stored_graph
from program_run import Run
from redis_server import RedisServer


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ServiceSettings.model_fields:
        monkeypatch.delenv(f"CUIHOP_{name.upper()}", raising=False)
    monkeypatch.delenv("NEO4J_PASSWORD", raising=False)


@pytest.fixture
def good(tmp_path: Path) -> dict[str, Any]:
    """Settings without a fault."""
    example_graph().save(tmp_path / "graph.cuihop")
    return {
        "graph": f"{tmp_path / 'graph.cuihop'}", "http_port": 0, "grpc_port": 0,
        "index_folder": tmp_path / "index",
    }  # fmt: skip


def found(flags: dict[str, Any], file: Path | None = None) -> dict[str, Finding]:
    """The results by part: one each."""
    return {finding.part: finding for finding in findings(flags, file)}


def failure(flags: dict[str, Any], part: str) -> Finding:
    """The only failure, which is of this part, in one line."""
    failed = [finding for finding in findings(flags, None) if finding.state == "failed"]
    assert [finding.part for finding in failed] == [part]
    assert "\n" not in failed[0].text
    return failed[0]


def test_a_configuration_without_a_fault_passes_and_leaves_nothing_behind(good: dict[str, Any], tmp_path: Path) -> None:
    before = set(tmp_path.iterdir())
    results = found(good)
    assert {finding.state for finding in results.values()} == {"ok"}
    assert "release example, " in results["graph"].text
    assert set(tmp_path.iterdir()) == before


def test_every_setting_at_fault_is_named_not_only_the_first(tmp_path: Path) -> None:
    file = tmp_path / "cuihop.toml"
    file.write_text('workers = 0\nhtpp_port = 8080\nredsi = "redis://:hidden@host"\nindex = "maybe"\n')
    failed = [finding for finding in findings({}, file) if finding.state == "failed"]
    text = "\n".join(finding.text for finding in failed)
    assert len(failed) == 5  # and no graph
    assert {finding.exit_code for finding in failed} == {3}
    for part in ("workers", "Did you mean http_port?", "Did you mean redis?", "'on' or 'off'", "CUIHOP_GRAPH"):
        assert part in text
    assert "hidden" not in text


def test_a_misspelt_variable_is_a_warning(good: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUIHOP_WORKRES", "2")
    monkeypatch.setenv("CUIHOP_STORE", "graph.cuihop")
    warnings = [finding.text for finding in findings(good, None) if finding.state == "warning"]
    assert warnings == [
        "variable CUIHOP_STORE: no setting of this name. Did you mean CUIHOP_GRAPH?",
        "variable CUIHOP_WORKRES: no setting of this name. Did you mean CUIHOP_WORKERS?",
    ]


def test_ports_that_are_taken(good: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health_check, "_SECONDS", 0.2)  # the program there answers nothing
    for setting, part in (("http_port", "HTTP port"), ("grpc_port", "gRPC port")):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            refused = failure(good | {setting: taken.getsockname()[1]}, part)
        assert "Address already in use" in refused.text
        assert f"setting {setting}: " in refused.text  # as the file names it
        assert "Stop the program that listens there" in refused.text
        assert refused.exit_code == 3


@pytest.mark.parametrize("secured", [False, True, "mutual"])
def test_the_service_itself_on_its_ports_is_no_failure(
    good: dict[str, Any], tmp_path: Path, secured: bool | str
) -> None:
    flags, tls = good, None
    if secured:
        with certificate(tmp_path, 90) as files:
            flags = good | files
        if secured == "mutual":
            trustme.CA().cert_pem.write_to_path(str(tmp_path / "callers.pem"))
            flags = flags | {"tls_client_ca": tmp_path / "callers.pem"}
        tls = TlsFiles(flags["tls_certificate"], flags["tls_key"], flags.get("tls_client_ca"))
    with running_service(example_graph(), tls=tls) as service:
        ports = {"http_port": service.http_port, "grpc_port": service.grpc_port}
        results = found(flags | ports)
        assert {finding.state for finding in results.values()} == {"ok"}
        own = "a service with this certificate" if secured == "mutual" else "cuihop"
        version = "" if secured == "mutual" else f" {cuihop.__version__}"
        assert results["HTTP port"].text == f"{own}{version} answers there"
        assert results["gRPC port"].text == f"{own}{version if secured else ''} answers there"
        if secured is False:  # the new settings turn TLS on
            with certificate(tmp_path, 90) as files:
                assert found(good | ports | files)["HTTP port"].text == f"cuihop {cuihop.__version__} answers there"


def test_other_machines_without_authentication(good: dict[str, Any]) -> None:
    assert "cuihop service keys create" in failure(good | {"host": "0.0.0.0"}, "host").text  # noqa: S104


@contextmanager
def certificate(folder: Path, days: int) -> Iterator[dict[str, Any]]:
    """Settings of a certificate that ends after this number of days."""
    until = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)
    issued = trustme.CA().issue_cert("localhost", not_after=until)
    issued.cert_chain_pems[0].write_to_path(str(folder / "service.pem"))
    issued.private_key_pem.write_to_path(str(folder / "service.key"))
    yield {"tls_certificate": folder / "service.pem", "tls_key": folder / "service.key"}


def test_certificates(good: dict[str, Any], tmp_path: Path) -> None:
    with certificate(tmp_path, 90) as tls:
        assert found(good | tls)["certificate"].state == "ok"
        assert "needs a certificate and its key" in failure(good | {"tls_key": tls["tls_key"]}, "certificate").text
        missing = failure(good | tls | {"tls_key": tmp_path / "none"}, "certificate")
        assert "Correct the settings tls_certificate" in missing.text
        swapped = {"tls_certificate": tls["tls_key"], "tls_key": tls["tls_certificate"]}
        assert "expected PEM, with the certificate of the service first" in failure(good | swapped, "certificate").text
        wrong = failure(good | tls | {"tls_client_ca": tls["tls_key"]}, "certificate")
        assert "not certificates of an authority" in wrong.text
    with certificate(tmp_path, 10) as tls:
        assert found(good | tls)["certificate"].state == "warning"
    with certificate(tmp_path, -1) as tls:
        assert "has expired" in failure(good | tls, "certificate").text


def test_keys(good: dict[str, Any], tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    assert f"cuihop service keys create NAME --keys-file {keys}" in failure(good | {"keys_file": keys}, "keys").text
    keys.write_text('{"version": 1, "keys": []}')
    keys.chmod(0o600)
    assert found(good | {"keys_file": keys})["keys"].state == "warning"  # nobody can ask
    create(CreateOptions(name="somebody", keys_file=keys))
    assert found(good | {"keys_file": keys})["keys"].text.endswith("1 active")
    keys.chmod(0o644)
    assert f"chmod 600 {keys}" in failure(good | {"keys_file": keys}, "keys").text


def test_an_identity_provider_that_does_not_answer(good: dict[str, Any]) -> None:
    provider = {"issuer": "https://id.example.org", "audience": ["cuihop"], "jwks": "http://127.0.0.1:9/keys"}
    refused = failure(good | provider, "tokens")
    assert "check the setting jwks" in refused.text
    assert refused.exit_code == 5
    assert "tokens need an issuer" in failure(good | {"issuer": "x"}, "settings").text


def test_folders(good: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    below, none = tmp_path / "file" / "folder", tmp_path / "none"
    for part, setting, path, reason in (
        ("index folder", "index_folder", below, "Not a directory"),
        ("audit", "audit", below / "audit", "Not a directory"),
        ("audit", "audit", none / "audit", "No such file or directory"),
    ):
        refused = failure(good | {setting: str(path)}, part)  # one wording for all
        folder = path if setting == "index_folder" else path.parent
        another = f"name another by the setting {setting}, or give it to the user of the service"
        assert refused.text == f"{folder}: not written: {reason}; {another}"
        assert refused.exit_code == 6
    with pytest.raises(OutputError, match=r"none/audit: not written: No such file or directory; name another by the"):
        AuditLog(str(none / "audit"))  # as the service says it


def test_folders_without_which_the_service_does_are_a_warning(
    good: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found(good)["other folders"].state == "ok"
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/proc/code")
    warning = found(good)["other folders"]
    assert warning.state == "warning"
    assert warning.text.startswith("/proc/code: not written: ")
    assert "name another by the variable NUMBA_CACHE_DIR" in warning.text
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    assert "name another by the variable TMPDIR" in found(good)["other folders"].text


def test_a_folder_is_tried_as_the_service_uses_it(
    good: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = failure(good | {"index_folder": "/proc/cuihop"}, "index folder")  # for whose mode root may write there
    assert refused.exit_code == 6
    folder = tmp_path / "own"
    (folder / LOCK).mkdir(parents=True)  # as a file of another user, which root could write
    refused = failure(good | {"index_folder": folder}, "index folder")
    assert f"{folder / LOCK}: not written" in refused.text
    assert "setting index_folder" in refused.text
    (folder / LOCK).rmdir()
    assert [file.name for file in folder.iterdir()] == []
    monkeypatch.setattr(start_check, "disk_usage", lambda path: SimpleNamespace(free=10))
    room = found(good | {"index_folder": folder})["index folder"]
    assert room.state == "warning"
    assert "bytes are needed, 10 are free" in room.text


def test_snapshots(good: dict[str, Any], tmp_path: Path) -> None:
    assert "cuihop load" in failure(good | {"graph": "nowhere.cuihop"}, "graph").text
    assert "a snapshot is an index" in failure(good | {"index": "off"}, "graph").text
    assert "Neo4j server as the graph" in failure(good | {"cypher": True}, "Cypher").text
    path = tmp_path / "graph.cuihop"
    path.write_bytes(path.read_bytes()[:-100])
    assert failure(good, "graph").exit_code == 5


def test_the_program_prints_a_line_for_each_check_and_ends_with_the_code_of_the_first_failure(
    good: dict[str, Any], program: Run
) -> None:
    flags = [part for name, value in good.items() for part in (f"--{name.replace('_', '-')}", str(value))]
    done = program("service", "check", *flags)
    assert (done.code, done.err) == (0, "")
    *lines, last = done.out.splitlines()
    assert all(line.startswith("ok  ") for line in lines)
    assert last == f"ready to start: {len(lines)} ok"
    refused = program("service", "check", *flags, "--audit", "/none/audit", "--redis", "x").out
    assert refused.splitlines()[-1] == f"not ready: {len(lines)} ok, 2 failed"
    done = program("service", "check", "--json", *flags, "--audit", "/none/audit", "--keys-file", "/none/keys")
    answer = json.loads(done.out)
    assert done.code == answer["exit_code"] == 3  # of the first that failed
    assert [check["exit_code"] for check in answer["checks"] if check["state"] == "failed"] == [3, 6]
    assert "--http-port" not in program("service", "check", "--help").out


def test_redis(good: dict[str, Any], redis_server: RedisServer) -> None:
    right = redis_server.address
    assert found(good | {"redis": right})["Redis"].text == f"redis://127.0.0.1:{redis_server.port}: answers"
    (port,) = free_ports(1)
    wrong = {
        right.replace(redis_server.password, "wrong"): "refuses the password",
        right.replace(str(redis_server.port), str(port)): "does not answer",
        right.replace("redis://", "http://"): "not the address of a Redis server",
    }
    for address, text in wrong.items():
        refused = failure(good | {"redis": address}, "Redis")
        assert text in refused.text
        assert "redis" in refused.text
        assert redis_server.password not in refused.text
        assert "wrong@" not in refused.text


def test_neo4j(
    good: dict[str, Any], killable_neo4j: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = emptied(killable_neo4j)
    flags = good | {"graph": database.address}
    assert "Set NEO4J_PASSWORD" in failure(flags, "graph").text
    password = tmp_path / "password"
    monkeypatch.setenv("NEO4J_PASSWORD_FILE", str(password))
    password.write_text("another-password")
    assert "refuses user 'neo4j' with this password" in failure(flags, "graph").text
    password.write_text(database.password)
    empty = failure(flags, "graph")
    assert "load one with: cuihop load" in empty.text
    assert empty.exit_code == 5
    stored_graph(database, example_graph(), switch=True).close()
    assert found(flags)["graph"].text.startswith(f"{database.address}: release example, ")
    create(CreateOptions(name="curator", keys_file=tmp_path / "keys.json", scope=["cypher", "names"]))
    curators = flags | {"cypher": True, "keys_file": tmp_path / "keys.json"}
    assert found(curators)["Cypher"].state == "warning"
    assert failure(curators | {"cypher_user": "nobody", "cypher_password": "none-such"}, "Cypher").exit_code == 5
    assert "Is the server running there?" in failure(flags | {"graph": "bolt://127.0.0.1:9"}, "graph").text
