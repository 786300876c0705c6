"""HAProxy and nginx before two replicas, started from the configurations in ``deploy`` with other ports.

Where a proxy is missing the tests skip and say so; where ``CUIHOP_REQUIRE_PROXIES=1`` is set they fail instead.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme

from served_program import wait_for
from shared_data import ROOT

__all__ = ["PROXIES", "Proxy", "free_ports", "running_proxy"]

PROXIES = ("haproxy", "nginx")
_HTTP, _GRPC = (8081, 8082), (50061, 50062)
"""Ports of the replicas in the configurations."""


@dataclass(frozen=True)
class Proxy:
    """Ports of a proxy: without TLS, and with a certificate that the authority of `authority` signed."""

    name: str
    http_port: int
    https_port: int
    grpc_port: int
    grpcs_port: int
    authority: Path
    log: Path


def free_ports(number: int) -> list[int]:
    """Ports of the loopback interface that nobody uses at the moment."""
    with ExitStack() as stack:
        held = [stack.enter_context(closing(socket.socket())) for _ in range(number)]
        for one in held:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in held]


def _replaced(text: str, values: Mapping[str, str]) -> str:
    for old, new in values.items():
        assert old in text, f"{old} is not in the configuration"
        text = text.replace(old, new)
    return text


@contextmanager
def running_proxy(name: str, replicas: Sequence[tuple[int, int]], folder: Path) -> Iterator[Proxy]:
    """A proxy before two replicas.

    Args:
        name: one of `PROXIES`.
        replicas: ports for HTTP and gRPC of each.
        folder: of its files.
    """
    executable = shutil.which(name) or shutil.which(f"/usr/sbin/{name}")
    if executable is None:
        problem = f"no proxy can be started: {name} not found"
        if os.environ.get("CUIHOP_REQUIRE_PROXIES") == "1":
            pytest.fail(problem)
        pytest.skip(problem)
    folder.mkdir()
    http, https, grpc, grpcs = free_ports(4)
    proxy = Proxy(name, http, https, grpc, grpcs, folder / "authority.pem", folder / "log")
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost", "127.0.0.1")
    authority.cert_pem.write_to_path(proxy.authority)
    chain, key = folder / "cuihop.crt", folder / "cuihop.key"
    chain.write_bytes(b"".join(part.bytes() for part in certificate.cert_chain_pems))
    certificate.private_key_pem.write_to_path(key)
    own = {"127.0.0.1:8080": f"127.0.0.1:{http}", "127.0.0.1:50051": f"127.0.0.1:{grpc}"}
    with_tls = {"8443 ssl": f"127.0.0.1:{https} ssl", "50443 ssl": f"127.0.0.1:{grpcs} ssl"}
    servers = {
        f"127.0.0.1:{old}": f"127.0.0.1:{replica[place]}"
        for place, ports in enumerate((_HTTP, _GRPC))
        for old, replica in zip(ports, replicas, strict=True)
    }
    if name == "haproxy":
        both = folder / "cuihop.pem"
        certificate.private_key_and_cert_chain_pem.write_to_path(both)
        with_tls = {f":{port}": text for port, text in with_tls.items()}
        checks = {f"port {port} ": f"port {replica[0]} " for port, replica in zip(_HTTP, replicas, strict=True)}
        files = {"/etc/haproxy/cuihop.pem": str(both)}
        text = (ROOT / "deploy/haproxy/haproxy.cfg").read_text(encoding="utf-8")
        main = folder / "haproxy.cfg"
        main.write_text(_replaced(text, {**own, **with_tls, **servers, **checks, **files}))
        command = [executable, "-db", "-f", str(main)]
    else:
        files = {"/etc/nginx/": f"{folder}/", "/var/log/nginx/": f"{folder}/"}
        text = (ROOT / "deploy/nginx/cuihop.conf").read_text(encoding="utf-8")
        (folder / "cuihop.conf").write_text(_replaced(text, {**own, **with_tls, **servers, **files}))
        parts = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        folders = "\n".join(f"{part}_temp_path {folder}/{part};" for part in parts)
        main = folder / "nginx.conf"
        main.write_text(
            f"daemon off; master_process off; pid {folder}/pid; error_log stderr;\n"
            f"events {{ worker_connections 1024; }}\nhttp {{ {folders}\ninclude {folder}/cuihop.conf; }}\n"
        )
        command = [executable, "-e", "stderr", "-c", str(main)]
    with proxy.log.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
    try:
        wait_for(lambda: _listening(http) or process.poll() is not None)
        assert process.poll() is None, proxy.log.read_text()
        yield proxy
    finally:
        process.terminate()
        process.wait(30)


def _listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
