"""A relay in front of a real Neo4j server, which counts the passwords that the server refuses.

The Community edition writes refusals to no log.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

from cuihop_tools.neo4j_server import free_ports

_REFUSALS = (b"Neo.ClientError.Security.Unauthorized", b"Neo.ClientError.Security.AuthenticationRateLimit")


class BoltProxy:
    """A proxy for clients, with its refusals and its bytes from clients so far."""

    def __init__(self, server: str) -> None:
        parts = urlsplit(server)
        self._server = parts.hostname, parts.port
        (port,) = free_ports(1)  # nobody else gets it after `close`
        self._listening = socket.create_server(("127.0.0.1", port))
        self.address = f"bolt://127.0.0.1:{port}"
        self.refusals = self.bytes_of_clients = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                try:
                    server = socket.create_connection(self._server)
                except OSError:
                    client.close()
                    continue
                threading.Thread(target=self._pair, args=(client, server), daemon=True).start()

    def _pair(self, client: socket.socket, server: socket.socket) -> None:
        threading.Thread(target=self._relay, args=(client, server, False), daemon=True).start()
        self._relay(server, client, True)

    def _relay(self, source: socket.socket, target: socket.socket, counts: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self.bytes_of_clients += 0 if counts else len(data)
                self.refusals += counts and any(refusal in data for refusal in _REFUSALS)
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def close(self) -> None:
        self._listening.close()


@contextmanager
def bolt_proxy(server: str) -> Iterator[BoltProxy]:
    proxy = BoltProxy(server)
    try:
        yield proxy
    finally:
        proxy.close()
