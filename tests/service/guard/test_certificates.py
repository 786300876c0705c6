"""TLS and certificates of callers, over real sockets of both transports."""

from __future__ import annotations

import datetime
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest
import trustme
import urllib3

from cuihop_api.v1 import concept_graph_pb2_grpc as pb_grpc
from cuihop_server import RunningService, running_service
from cuihop_service.grpc_api.server import TlsFiles
from cuihop_service.guard.configured_guard import Certificates, ConfiguredGuard
from cuihop_service.guard.key_file import KeyFile
from cuihop_service.http_api.application import metrics_route
from cuihop_service.http_api.bounded_protocol import subject_of
from cuihop_service.observe.metrics import Metrics
from example_graph import example_graph
from guarded_service import DISTANCE, A, B, bearer, new_key_in, raw, refused

PATH = f"/v1/distance?a={A}&b={B}"
YESTERDAY = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)


@dataclass
class Secured:
    """A service with TLS, and who signs what."""

    service: RunningService
    authority: trustme.CA
    callers: trustme.CA
    folder: Path

    def client(self, certificate: trustme.LeafCert | None, trusts: trustme.CA | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context()
        (trusts or self.authority).configure_trust(context)
        if certificate is not None:
            certificate.configure_cert(context)
        return context

    def http(
        self, certificate: trustme.LeafCert | None, key: str | None = None, path: str = PATH, **others: trustme.CA
    ) -> int:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        address = f"https://localhost:{self.service.http_port}{path}"
        with urllib3.PoolManager(ssl_context=self.client(certificate, **others), retries=False, timeout=300) as pool:
            return pool.request("GET", address, headers=headers).status

    def grpc(
        self, certificate: trustme.LeafCert | None, key: str | None = None, trusts: trustme.CA | None = None
    ) -> grpc.StatusCode:
        credentials = grpc.ssl_channel_credentials(
            (trusts or self.authority).cert_pem.bytes(),
            None if certificate is None else certificate.private_key_pem.bytes(),
            None if certificate is None else b"".join(pem.bytes() for pem in certificate.cert_chain_pems),
        )
        metadata = () if key is None else bearer(key)
        with grpc.secure_channel(f"localhost:{self.service.grpc_port}", credentials) as channel:
            grpc_stub = pb_grpc.ConceptGraphServiceStub(channel)
            try:
                grpc_stub.Distance(DISTANCE, metadata=metadata, timeout=300)
            except grpc.RpcError as error:
                code: grpc.StatusCode = error.code()
                return code
            return grpc.StatusCode.OK


@pytest.fixture(scope="module")
def authorities() -> tuple[trustme.CA, trustme.CA]:
    return trustme.CA(), trustme.CA()


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


@pytest.fixture
def secured(authorities: tuple[trustme.CA, trustme.CA], tmp_path: Path, keys: Path) -> Callable[..., Iterator[Secured]]:
    authority, callers = authorities
    server = authority.issue_cert("localhost")
    server.cert_chain_pems[0].write_to_path(tmp_path / "server.pem")
    server.private_key_pem.write_to_path(tmp_path / "server.key")
    callers.cert_pem.write_to_path(tmp_path / "callers.pem")

    def make(guard: ConfiguredGuard, mutual: bool = True, **options: Any) -> Iterator[Secured]:
        files = TlsFiles(tmp_path / "server.pem", tmp_path / "server.key", tmp_path / "callers.pem" if mutual else None)
        with running_service(example_graph(), guard=guard, tls=files, **options) as service:
            yield Secured(service, authority, callers, tmp_path)

    return make


OK, DENIED, UNKNOWN = grpc.StatusCode.OK, grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNAUTHENTICATED


def test_a_certificate_says_who_asks(secured: Callable[..., Iterator[Secured]], keys: Path) -> None:
    key = new_key_in(keys, "atlas")
    certificates = Certificates([], {"archive": ["read"], "gauge": ["metrics"], "named.example": ["read"]})
    for secured_service in secured(ConfiguredGuard(KeyFile(keys), certificates=certificates)):
        archive = secured_service.callers.issue_cert("ignored.example", common_name="archive")
        assert (secured_service.http(archive), secured_service.grpc(archive)) == (200, OK)
        by_other_name = secured_service.callers.issue_cert("named.example")
        assert (secured_service.http(by_other_name), secured_service.grpc(by_other_name)) == (200, OK)
        gauge = secured_service.callers.issue_cert("x.example", common_name="gauge")
        assert (secured_service.http(gauge), secured_service.grpc(gauge)) == (403, DENIED)
        stranger = secured_service.callers.issue_cert("archive", common_name="stranger")
        assert (secured_service.http(stranger), secured_service.grpc(stranger)) == (401, UNKNOWN)
        assert (secured_service.http(stranger, key), secured_service.grpc(stranger, key)) == (200, OK)
        assert (secured_service.http(archive, "wrong"), secured_service.grpc(archive, "wrong")) == (
            401,
            UNKNOWN,
        )  # what is shown must hold


def test_a_certificate_opens_the_metrics(secured: Callable[..., Iterator[Secured]]) -> None:
    certificates = Certificates([], {"archive": ["read"], "gauge": ["metrics"]})
    guard = ConfiguredGuard(certificates=certificates)
    for secured_service in secured(guard, more_routes=[metrics_route(Metrics())]):
        gauge = secured_service.callers.issue_cert("x.example", common_name="gauge")
        assert secured_service.http(gauge, path="/metrics") == 200
        archive = secured_service.callers.issue_cert("x.example", common_name="archive")
        assert secured_service.http(archive, path="/metrics") == 403
        stranger = secured_service.callers.issue_cert("x.example", common_name="stranger")
        assert secured_service.http(stranger, path="/metrics") == 401


def test_without_a_good_certificate_no_connection_is_made(
    secured: Callable[..., Iterator[Secured]], keys: Path
) -> None:
    key = new_key_in(keys, "atlas")
    for secured_service in secured(ConfiguredGuard(KeyFile(keys), certificates=Certificates(["read"]))):
        bad = {
            "none": None,
            "of another authority": trustme.CA().issue_cert("x.example", common_name="archive"),
            "of the service's own authority": secured_service.authority.issue_cert("x.example", common_name="archive"),
            "expired": secured_service.callers.issue_cert("x.example", common_name="archive", not_after=YESTERDAY),
        }
        for what, certificate in bad.items():
            with pytest.raises((urllib3.exceptions.HTTPError, ConnectionError, OSError)):
                secured_service.http(certificate, key)
            assert secured_service.grpc(certificate, key) == grpc.StatusCode.UNAVAILABLE, what
        good = secured_service.callers.issue_cert("x.example", common_name="anyone")
        assert (secured_service.http(good), secured_service.grpc(good)) == (200, OK)


def test_a_client_that_trusts_another_authority_does_not_talk(
    secured: Callable[..., Iterator[Secured]], keys: Path
) -> None:
    new_key_in(keys, "atlas")
    for secured_service in secured(ConfiguredGuard(KeyFile(keys)), mutual=False):
        other = trustme.CA()
        with pytest.raises(urllib3.exceptions.SSLError):
            secured_service.http(None, trusts=other)
        assert secured_service.grpc(None, trusts=other) == grpc.StatusCode.UNAVAILABLE


def test_tls_with_keys_and_plain_text_against_the_tls_port(
    secured: Callable[..., Iterator[Secured]], keys: Path
) -> None:
    key = new_key_in(keys, "atlas")
    for secured_service in secured(ConfiguredGuard(KeyFile(keys)), mutual=False):
        assert (secured_service.http(None, key), secured_service.grpc(None, key)) == (200, OK)
        assert (secured_service.http(None), secured_service.grpc(None)) == (401, UNKNOWN)
        request = f"GET {PATH} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\r\n".encode()
        refusal = raw(secured_service.service, request)
        assert refusal.startswith(b"HTTP/1.1 400 ")
        assert b'"detail":"this port speaks TLS: https://localhost"' in refusal
        port = secured_service.service.http_port
        assert f"https://127.0.0.1:{port}".encode() in raw(secured_service.service, b"GET / HTTP/1.0\r\n\r\n")
        with grpc.insecure_channel(f"localhost:{secured_service.service.grpc_port}") as channel:
            grpc_stub = pb_grpc.ConceptGraphServiceStub(channel)
            code, _, _ = refused(partial(grpc_stub.Distance, DISTANCE, metadata=bearer(key), timeout=300))
            assert code == grpc.StatusCode.UNAVAILABLE
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        secured_service.authority.configure_trust(old)
        with pytest.warns(DeprecationWarning, match="TLSv1_1"):
            old.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises(ssl.SSLError):
            raw(secured_service.service, request, context=old)
        assert (secured_service.http(None, key), secured_service.grpc(None, key)) == (200, OK)  # nothing of that hurt


def test_a_certificate_counts_for_nothing_where_no_authority_of_callers_is_named(
    secured: Callable[..., Iterator[Secured]], keys: Path
) -> None:
    new_key_in(keys, "atlas")
    guard = ConfiguredGuard(KeyFile(keys), certificates=Certificates(["read"]))
    for secured_service in secured(guard, mutual=False):
        own = trustme.CA().issue_cert("x.example", common_name="archive")
        assert (secured_service.http(own), secured_service.grpc(own)) == (401, UNKNOWN)


def test_the_common_name_comes_first() -> None:
    subject = ((("organizationName", "x"),), (("commonName", "archive"),))
    assert subject_of({"subject": subject, "subjectAltName": (("DNS", "a.example"),)}) == "archive"
    assert subject_of({"subject": (), "subjectAltName": (("DNS", "a.example"), ("DNS", "b"))}) == "a.example"
    assert subject_of({}) is None
