"""TLS on the HTTP port: a connection is counted from its first packet, not from the end of its handshake."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable

from cuihop_service.guard.address_limits import AddressCount, network_of

__all__ = ["TlsConnection"]


class TlsConnection(asyncio.Protocol):
    """Performs the handshake on a new connection, and hands it on to HTTP.

    Args:
        context: the service's certificate.
        connections, heads: counts of connections on the port; in its handshake one counts among both.
        seconds: for the handshake.
        http: makes the protocol for what is said over TLS.
    """

    def __init__(
        self,
        context: ssl.SSLContext,
        connections: AddressCount,
        heads: AddressCount,
        seconds: float,
        http: Callable[[], asyncio.Protocol],
    ) -> None:
        self._context = context
        self._counts = connections, heads
        self._seconds = seconds
        self._http = http

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A caller has connected."""
        if not isinstance(transport, asyncio.Transport):
            raise TypeError("not a stream")
        peer = transport.get_extra_info("peername")
        network = network_of(peer[0] if peer else "")
        held: list[AddressCount] = []
        for count in self._counts:
            if not count.enter(network):
                for entered in held:
                    entered.leave(network)
                transport.abort()
                return
            held.append(count)
        transport.pause_reading()
        task = asyncio.get_running_loop().create_task(self._shake_hands(transport, network))
        _UNDER_WAY.add(task)
        task.add_done_callback(_UNDER_WAY.discard)

    async def _shake_hands(self, transport: asyncio.Transport, network: str) -> None:
        early = _EarlyBytes()
        secured = None
        try:
            secured = await asyncio.get_running_loop().start_tls(
                transport, early, self._context, server_side=True, ssl_handshake_timeout=self._seconds
            )
        except (OSError, EOFError):  # no TLS, no certificate, or gone: nothing for the log
            transport.abort()
        finally:
            for count in self._counts:  # HTTP counts it from now on
                count.leave(network)
        if secured is not None and not early.lost:
            early.hand_on(secured, self._http())


class _EarlyBytes(asyncio.Protocol):
    """Holds what comes in the same packet as the end of the handshake."""

    def __init__(self) -> None:
        self.lost = False
        self._pieces: list[bytes] = []
        self._ended = False

    def data_received(self, data: bytes) -> None:
        """Bytes have come."""
        self._pieces.append(data)

    def eof_received(self) -> None:
        """Nothing more will come."""
        self._ended = True

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self.lost = True

    def hand_on(self, transport: asyncio.Transport, protocol: asyncio.Protocol) -> None:
        """Have the protocol go on."""
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        for piece in self._pieces:
            protocol.data_received(piece)
        if self._ended:
            protocol.eof_received()


_UNDER_WAY: set[asyncio.Task[None]] = set()
"""The event loop itself holds no task."""
