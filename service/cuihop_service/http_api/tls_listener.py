"""TLS on the HTTP port: a connection is counted when it is accepted, not when its handshake is over."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Coroutine

from cuihop_service.guard.address_limits import HEAD_SECONDS, AddressCount, network_of

__all__ = ["TlsListener"]

_PAUSE_SECONDS = 0.1  # where a connection cannot be accepted


class TlsListener:
    """Accepts connections, performs their handshakes, and hands them on.

    The event loop's own server sees a connection only after its handshake, for which it gives strangers a minute.

    Args:
        listening: the socket, perhaps shared with other workers. Closed with the listener.
        context: the service's certificate.
        connections, heads: counts of connections on the port; in its handshake one counts among both.
        protocol: creates the protocol over TLS, from a callback for the end of the handshake.
    """

    def __init__(
        self,
        listening: socket.socket,
        context: ssl.SSLContext,
        connections: AddressCount,
        heads: AddressCount,
        protocol: Callable[[Callable[[], None]], asyncio.Protocol],
    ) -> None:
        self._listening = listening
        self._context = context
        self._counts = connections, heads
        self._protocol = protocol
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Accept from now on."""
        self._begin(self._accept())

    def close(self) -> None:
        """Accept nothing new, and give up handshakes that are under way."""
        for task in self._tasks:
            task.cancel()
        self._listening.close()

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)  # the event loop itself holds none
        task.add_done_callback(self._tasks.discard)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, address = await loop.sock_accept(self._listening)
            except OSError:  # gone already, or no descriptor left in the whole system
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            self._begin(self._secure(accepted, network_of(address[0])))

    async def _secure(self, accepted: socket.socket, network: str) -> None:
        held: list[AddressCount] = []

        def leave() -> None:
            while held:
                held.pop().leave(network)

        try:
            for count in self._counts:
                if not count.enter(network):
                    accepted.close()
                    return
                held.append(count)
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: self._protocol(leave), accepted, ssl=self._context, ssl_handshake_timeout=HEAD_SECONDS
            )
        except OSError:  # no TLS, no certificate, too late, or gone: a stranger's own affair
            pass
        finally:
            leave()
