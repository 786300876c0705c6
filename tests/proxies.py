"""HAProxy, nginx and Envoy before two replicas, started from the configurations in ``deploy`` with other ports.

If a proxy is missing, its tests are skipped.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme

from cuihop_tools.neo4j_server import free_ports
from shared_data import ROOT
from waiting import wait_for

__all__ = ["PROXIES", "Proxy", "running_proxy"]

PROXIES = ("haproxy", "nginx", "envoy")
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


@contextmanager
def running_proxy(name: str, replicas: Sequence[tuple[int, int]], folder: Path) -> Iterator[Proxy]:
    """A proxy before two replicas.

    Args:
        name: one of `PROXIES`.
        replicas: ports for HTTP and gRPC of each.
        folder: of its files.
    """
    places = [str(Path(sys.executable).parent), os.environ["PATH"], "/usr/sbin"]
    executable = shutil.which(name, path=os.pathsep.join(places))
    if executable is None:
        pytest.skip(f"{name} not found: install its Debian package")
    folder.mkdir()
    http, https, grpc, grpcs = free_ports(4)
    proxy = Proxy(name, http, https, grpc, grpcs, folder / "authority.pem", folder / "log")
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost", "127.0.0.1")
    authority.cert_pem.write_to_path(proxy.authority)
    chain, key = folder / "cuihop.crt", folder / "cuihop.key"
    chain.write_bytes(b"".join(part.bytes() for part in certificate.cert_chain_pems))
    certificate.private_key_pem.write_to_path(key)
    ports = {8080: http, 8443: https, 50051: grpc, 50443: grpcs} | {
        old: replica[place]
        for place, olds in enumerate((_HTTP, _GRPC))
        for old, replica in zip(olds, replicas, strict=True)
    }
    (configuration,) = (ROOT / "deploy" / name).iterdir()
    text = configuration.read_text(encoding="utf-8")
    text = re.sub(r"/etc/(?:haproxy|nginx|envoy)/|/var/log/nginx/|/dev/shm/", f"{folder}/", text)
    main = folder / configuration.name
    if name == "haproxy":
        certificate.private_key_and_cert_chain_pem.write_to_path(folder / "cuihop.pem")
        command = [executable, "-db", "-f", str(main)]
    elif name == "nginx":
        text = re.sub(r"listen (\d+) ssl", r"listen 127.0.0.1:\1 ssl", text)
        parts = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        folders = "\n".join(f"{part}_temp_path {folder}/{part};" for part in parts)
        text = f"daemon off; master_process off; pid {folder}/pid; events {{}}\nhttp {{ {folders}\n{text}}}\n"
        command = [executable, "-e", "stderr", "-c", str(main)]
    else:
        command = [executable, "-c", str(main), "--disable-hot-restart", "--concurrency", "1", "--log-level", "warning"]
        command += ["--file-flush-interval-msec", "50"]
    assert all(str(port) in text for port in ports)
    text = re.sub("|".join(map(str, ports)), lambda found: str(ports[int(found[0])]), text)
    main.write_text(text, encoding="utf-8")
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
