"""What one process holds open to ask a service. A forked child makes its own."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

from cuihop.remote.port import Transport
from cuihop.remote.settings import RemoteSettings

__all__ = ["ProcessConnection"]


class ProcessConnection:
    """What one process holds open: a transport, and the threads that wait for blocks.

    Args:
        settings: where and how.
        inherited: what this process got from its parent by a fork. It is kept: to end it would end the parent's.
    """

    def __init__(self, settings: RemoteSettings, inherited: ProcessConnection | None = None) -> None:
        self._process = os.getpid()
        self._inherited = inherited
        self.transport = _transport(settings)
        self.threads = ThreadPoolExecutor(settings.in_flight, thread_name_prefix="cuihop-remote")

    @property
    def own(self) -> bool:
        """Whether this process made it."""
        return os.getpid() == self._process

    def close(self) -> None:
        """Give it back, if it is this process's own."""
        if self.own:
            self.threads.shutdown(wait=False, cancel_futures=True)
            self.transport.close()


def _transport(settings: RemoteSettings) -> Transport:
    if settings.scheme.startswith("grpc"):
        from cuihop.remote.grpc_transport import GrpcTransport

        return GrpcTransport(settings)
    from cuihop.remote.http_transport import HttpTransport

    return HttpTransport(settings)
