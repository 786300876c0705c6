"""Readiness of the service of this machine: the container's health check, ``python -m cuihop_service.health_check``.

It reads the settings of the service from the same environment and file, and exits with 0 or 1; a line says why. No
proxy is used. With TLS the certificate is not checked: nothing is sent, and the address is loopback. If callers
must show a certificate, it has none to show: then a service that demands one is alive, and is taken as ready.

`running_on_http` and `running_on_grpc` tell this service from another program on its ports.
"""

from __future__ import annotations

import http.client
import json
import os
import ssl
import sys
from pathlib import Path
from typing import Any

from cuihop.errors import InputError, reason_of
from cuihop_service.settings import ENVIRONMENT_PREFIX, ServiceSettings, read_settings

_SECONDS = 4.0
_LONGEST = 4 << 20  # bytes of an answer
_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - the address to listen on, and the one to check


class _Closed(Exception):
    """The connection was closed after the handshake of TLS: the service wants a certificate of callers."""


def complaint(settings: ServiceSettings) -> str | None:
    """The reason that the service is not ready; None where it is."""
    try:
        status, text = _answer(settings, "/health/ready", secure=settings.tls_certificate is not None)
    except _Closed:
        return None
    except (OSError, http.client.HTTPException) as error:
        return f"no answer: {reason_of(error)}"
    return None if status == http.client.OK else f"{status}: {text[:10_000]}"


def running_on_http(settings: ServiceSettings) -> str | None:
    """The service that answers on the HTTP port already, such as ``cuihop 0.1``; None for another program."""
    for secure in (settings.tls_certificate is not None, settings.tls_certificate is None):
        try:
            about = json.loads(_answer(settings, "/openapi.json", secure=secure)[1])["info"]
            if str(about["title"]).startswith("cuihop"):
                return f"cuihop {about['version']}"
        except _Closed:
            return _with_certificate(settings, settings.http_port)
        except TimeoutError:
            return None
        except (OSError, http.client.HTTPException, LookupError, TypeError, ValueError):
            continue
    return None


def running_on_grpc(settings: ServiceSettings) -> str | None:
    """The service that answers on the gRPC port already; None for another program."""
    import grpc  # takes long to import
    from cryptography import x509
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    from cuihop_api.v1 import concept_graph_pb2

    host, port = _ANY.get(settings.host, settings.host), settings.grpc_port
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    options: list[tuple[str, Any]] = [("grpc.enable_http_proxy", 0)]
    try:  # which certificate it is does not matter: nothing is sent that others may not know
        pem = ssl.get_server_certificate((host, port), timeout=_SECONDS).encode()
        names = x509.load_pem_x509_certificate(pem).extensions.get_extension_for_class(x509.SubjectAlternativeName)
        options.append(("grpc.ssl_target_name_override", str(next(iter(names.value)).value)))
        channel = grpc.secure_channel(address, grpc.ssl_channel_credentials(pem), options)
    except TimeoutError:
        return None
    except (OSError, x509.ExtensionNotFound):
        channel = grpc.insecure_channel(address, options)
    service = concept_graph_pb2.DESCRIPTOR.services_by_name["ConceptGraphService"].full_name
    with channel:
        try:
            request = health_pb2.HealthCheckRequest(service=service)
            stub: Any = health_pb2_grpc.HealthStub(channel)
            stub.Check(request, timeout=_SECONDS)
        except grpc.RpcError:
            return None if settings.tls_client_ca is None else _with_certificate(settings, port)
    return "cuihop"


def _with_certificate(settings: ServiceSettings, port: int) -> str | None:
    """The service that shows the configured certificate on a port; None where another is shown."""
    try:
        there = ssl.get_server_certificate((_ANY.get(settings.host, settings.host), port), timeout=_SECONDS)
        own = "" if settings.tls_certificate is None else settings.tls_certificate.read_text()
    except (OSError, ValueError):
        return None
    return "a service with this certificate" if "".join(there.split()) in "".join(own.split()) else None


def _answer(settings: ServiceSettings, path: str, *, secure: bool) -> tuple[int, str]:
    """Status and text of an answer on the HTTP port; `OSError`, `HTTPException` or `_Closed` for none."""
    address = _ANY.get(settings.host, settings.host), settings.http_port
    if not secure:
        connection = http.client.HTTPConnection(*address, timeout=_SECONDS)
    else:
        unchecked = ssl.create_default_context()
        unchecked.check_hostname, unchecked.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection(*address, timeout=_SECONDS, context=unchecked)
    named = [host.replace("*", "health") for host in settings.hosts if host != "*"]
    connected = False
    try:
        connection.connect()
        connected = True
        connection.request("GET", path, headers={"Host": named[0]} if named else {})
        answer = connection.getresponse()
        return answer.status, answer.read(_LONGEST).decode(errors="replace")
    except (OSError, http.client.HTTPException):
        if connected and secure and settings.tls_client_ca is not None:
            raise _Closed from None
        raise
    finally:
        connection.close()


def main() -> int:
    """The exit code: 0 for ready."""
    file = os.environ.get(f"{ENVIRONMENT_PREFIX}CONFIG")
    try:
        problem = complaint(read_settings({}, Path(file) if file else None))
    except InputError as error:
        problem = str(error)
    if problem is not None:
        sys.stdout.write(problem + "\n")  # docker inspect shows it
    return 0 if problem is None else 1


if __name__ == "__main__":
    raise SystemExit(main())
