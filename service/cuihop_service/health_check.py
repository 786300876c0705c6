"""Readiness of the service of this machine: the container's health check, ``python -m cuihop_service.health_check``.

It reads the settings of the service from the same environment and file, and exits with 0 or 1; a line says why. No
proxy is used. With TLS the certificate is not checked: nothing is sent, and the address is loopback. If callers
must show a certificate, it has none to show: then a service that demands one is alive, and is taken as ready.
"""

from __future__ import annotations

import http.client
import os
import ssl
import sys
from pathlib import Path

from cuihop.errors import InputError
from cuihop_service.settings import ENVIRONMENT_PREFIX, ServiceSettings, read_settings

_SECONDS = 4.0
_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - the address to listen on, and the one to check


def complaint(settings: ServiceSettings) -> str | None:
    """The reason that the service is not ready; None where it is."""
    address = _ANY.get(settings.host, settings.host), settings.http_port
    if settings.tls_certificate is None:
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
        connection.request("GET", "/health/ready", headers={"Host": named[0]} if named else {})
        answer = connection.getresponse()
        text = answer.read(10_000).decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        if connected and settings.tls_client_ca is not None:  # closed after the handshake: it wants a certificate
            return None
        return f"no answer: {error}"
    finally:
        connection.close()
    return None if answer.status == http.client.OK else f"{answer.status}: {text}"


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
