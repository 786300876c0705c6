"""A bound for each address on the connections of the gRPC port, whose library has only one for all.

The library accepts connections itself and exposes none of them. But they are file descriptors of this process: several
times a second the new ones are examined, and of an address with too many the newest are shut down. The library then
sees their end and closes them. The other connections are not affected.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import socket
import stat
import threading
from collections import defaultdict

from cuihop_service.guard.address_limits import AddressCount, network_of
from cuihop_service.observe.logs import FROM_ADDRESS

__all__ = ["ConnectionSweep"]

_log = logging.getLogger("cuihop.connections")

_SECONDS = 0.25
_SECONDS_UNDER_ATTACK = 0.05  # while connections had to be shut down

_Place = tuple[int, int]
"""A descriptor, and the inode of its socket."""


class _NoDescriptorLeft(Exception):
    """No descriptor is left to examine a connection with."""


class ConnectionSweep:
    """Shuts down the connections of an address beyond its bound, while it runs.

    Args:
        port: of the server.
        bounds: the most of each address, and the addresses that stand for many callers.
    """

    def __init__(self, port: int, bounds: AddressCount) -> None:
        self._port = port
        self._bounds = bounds
        self._networks: dict[_Place, str | None] = {}  # oldest first; None: no connection of the port
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="connection-sweep", daemon=True)

    def start(self) -> None:
        """Sweep from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Sweep no more."""
        self._over.set()

    def sweep(self) -> int:
        """Shut down the connections in excess. Returns their number."""
        here = {place for number in _descriptors() if (place := _place(number)) is not None}
        self._networks = {place: network for place, network in self._networks.items() if place in here}
        for place in sorted(here - self._networks.keys(), key=lambda place: place[1]):  # inodes are given in turn
            with contextlib.suppress(_NoDescriptorLeft):
                self._networks[place] = self._network(place[0])
        of: dict[str, list[_Place]] = defaultdict(list)
        for place, network in self._networks.items():
            if network is not None:
                of[network].append(place)
        closed = 0
        for network, places in of.items():
            excess = len(places) - self._bounds.each
            if excess > 0 and not self._bounds.is_proxy(network):
                shut = sum(self._shut(place, network) for place in places[-excess:])
                _log.warning("%d gRPC connections too many were closed", shut, extra={FROM_ADDRESS: network})
                closed += shut
        return closed

    def _run(self) -> None:
        shut = 0
        while not self._over.wait(_SECONDS_UNDER_ATTACK if shut else _SECONDS):
            try:
                shut = self.sweep()
            except Exception:  # the next sweep may fare better
                _log.exception("the sweep over connections failed")

    def _network(self, number: int) -> str | None:
        """The address at the other end of a connection of the port."""
        try:
            with _borrowed(number) as connection:
                return self._network_of(connection)
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                raise _NoDescriptorLeft from None
            return None

    def _network_of(self, connection: socket.socket) -> str | None:
        if connection.family not in (socket.AF_INET, socket.AF_INET6) or connection.type != socket.SOCK_STREAM:
            return None
        if connection.getsockname()[1] != self._port:
            return None
        return network_of(connection.getpeername()[0])  # a listening socket has no peer: an OSError

    def _shut(self, place: _Place, network: str) -> bool:
        """Shut down a connection, where the descriptor is still that connection."""
        with contextlib.suppress(OSError), _borrowed(place[0]) as connection:
            if (
                _place(connection.fileno()) == (connection.fileno(), place[1])
                and self._network_of(connection) == network
            ):
                connection.shutdown(socket.SHUT_RDWR)
                return True
        return False


def _borrowed(number: int) -> socket.socket:
    """A second descriptor of the same socket, which outlives the first one."""
    return socket.socket(fileno=os.dup(number))


def _descriptors() -> list[int]:
    with os.scandir("/dev/fd") as entries:
        return [int(entry.name) for entry in entries]


def _place(number: int) -> _Place | None:
    """Descriptor and inode of a socket; None for another file, or one that is gone."""
    try:
        found = os.fstat(number)
    except OSError:
        return None
    return (number, found.st_ino) if stat.S_ISSOCK(found.st_mode) else None
