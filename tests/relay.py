"""A relay in front of a real server on this machine, whose connections a test may cut, delay or leave half open."""

from __future__ import annotations

import socket
import struct
import threading
import time
from contextlib import suppress
from dataclasses import dataclass

from cuihop_tools.neo4j_server import free_ports

__all__ = ["Relay"]

_RESET = struct.pack("ii", 1, 0)  # an end without a farewell, as of a machine that lost its connections


@dataclass(eq=False)
class _Ends:
    client: socket.socket
    server: socket.socket
    silent: bool = False


class Relay:
    """A relay on a port of its own, which stays the same.

    Args:
        host, port: the server.

    Attributes:
        port: for clients.
        ended_at_once: connections so far that came while it was cut.
    """

    def __init__(self, host: str, port: int) -> None:
        self._server = host, port
        (self.port,) = free_ports(1)  # nobody else gets it after `close`
        self._listening = socket.create_server(("127.0.0.1", self.port))
        self._lock = threading.Lock()
        self._connections: set[_Ends] = set()
        self._is_cut = self._is_silent = False
        self._seconds = 0.0
        self.ended_at_once = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """End all connections, and each new one at once, until `heal`."""
        with self._lock:
            self._is_cut = True
            connections = list(self._connections)
        for ends in connections:
            self._end(ends)

    @staticmethod
    def _end(ends: _Ends) -> None:
        for end in (ends.client, ends.server):
            with suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                end.shutdown(socket.SHUT_RDWR)

    def delay(self, seconds: float) -> None:
        """Pass everything on later, until `heal`."""
        self._seconds = seconds

    def half_open(self) -> None:
        """Swallow everything, and tell nobody. Connections of the time until `heal` never carry anything again."""
        with self._lock:
            self._is_silent = True
            for ends in self._connections:
                ends.silent = True

    def heal(self) -> None:
        """Relay as before."""
        with self._lock:
            self._is_cut = self._is_silent = False
            self._seconds = 0.0

    def close(self) -> None:
        """Accept no more connections, and end those that there are."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.cut()

    def passed(self, data: bytes, from_client: bool) -> None:
        """Called with all that is passed on."""

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                if self._is_cut:
                    self.ended_at_once += 1
                    client.close()
                    continue
                try:
                    server = socket.create_connection(self._server)
                except OSError:
                    client.close()
                    continue
                for end in (client, server):  # small messages would wait for each other's acknowledgement
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._pair, args=(client, server), daemon=True).start()

    def _pair(self, client: socket.socket, server: socket.socket) -> None:
        ends = _Ends(client, server)
        with self._lock:
            self._connections.add(ends)
            ends.silent = self._is_silent
            was_cut = self._is_cut
        if was_cut:
            self._end(ends)
        requests = threading.Thread(target=self._relay, args=(ends, True), daemon=True)
        requests.start()
        self._relay(ends, False)
        requests.join()
        with self._lock:
            self._connections.discard(ends)
        client.close()
        server.close()

    def _relay(self, ends: _Ends, from_client: bool) -> None:
        source, target = (ends.client, ends.server) if from_client else (ends.server, ends.client)
        with suppress(OSError):
            while data := source.recv(65536):
                if self._seconds:
                    time.sleep(self._seconds)
                if not ends.silent:
                    self.passed(data, from_client)
                    target.sendall(data)
        if ends.silent and not from_client:
            return  # the client does not get to know
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
