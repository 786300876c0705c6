"""Readiness of the service of this machine: the container's health check, ``python -m cuihop_service.health_check``.

It reads the settings of the service from the same environment and file, and exits with 0 or 1; a line says why. No
proxy is used. With TLS the certificate is not checked: nothing is sent, and the address is loopback. If callers
must show a certificate, it has none to show: then a service that demands one is alive, and is taken as ready.

`running_on_http` and `running_on_grpc` tell this service from another program on its ports.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import ssl
import sys
from pathlib import Path
from typing import Any

from cuihop.addresses import host_in_url
from cuihop.errors import InputError, reason_of
from cuihop_service.settings import ENVIRONMENT_PREFIX, ServiceSettings, read_settings

_SECONDS = 4.0
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
    return None if status == http.client.OK else f"{status}: {text}"


def running_on_http(settings: ServiceSettings) -> str | None:
    """The service that answers on the HTTP port already, such as ``cuihop 0.1``; None for another program."""
    for secure in (settings.tls_certificate is not None, settings.tls_certificate is None):
        try:
            service = json.loads(_answer(settings, "/health/live", secure=secure)[1])["service"]
            return service if str(service).startswith("cuihop ") else None
        except _Closed:
            with contextlib.suppress(OSError, ValueError):
                own = "" if settings.tls_certificate is None else "".join(settings.tls_certificate.read_text().split())
                if (certificate := _certificate(settings, settings.http_port)) and certificate in own:
                    return "a service with this certificate"
            return None
        except TimeoutError:
            return None
        except (OSError, http.client.HTTPException, LookupError, TypeError, ValueError):
            continue
    return None


def running_on_grpc(settings: ServiceSettings) -> str | None:
    """The service that answers on the gRPC port already; None for another program."""
    if certificate := _certificate(settings, settings.grpc_port):
        own = certificate == _certificate(settings, settings.http_port)
        return running_on_http(settings) if own else None
    import grpc  # takes long to import
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    from cuihop_api.v1 import concept_graph_pb2

    name = concept_graph_pb2.DESCRIPTOR.services_by_name["ConceptGraphService"].full_name
    address = f"{host_in_url(_ANY.get(settings.host, settings.host))}:{settings.grpc_port}"
    with grpc.insecure_channel(address, [("grpc.enable_http_proxy", 0)]) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        try:
            stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=_SECONDS)
        except grpc.RpcError:
            return None
    return "cuihop"


def _certificate(settings: ServiceSettings, port: int) -> str:
    """The certificate that is shown on a port, in PEM without line ends; empty for none."""
    try:
        pem = ssl.get_server_certificate((_ANY.get(settings.host, settings.host), port), timeout=_SECONDS)
    except (OSError, ValueError):
        return ""
    return "".join(pem.split())


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
        return answer.status, answer.read(10_000).decode(errors="replace")
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
