"""Bounds on connections, heads, failures and log lines, before authentication: for each address, and in all.

The same bounds hold on both ports and for ``/metrics``. An address is that of the connection, a proxy's where one
stands between; of IPv6 it is the network of 64 bits, for one machine may have all addresses in it.
"""

from __future__ import annotations

import ipaddress
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge
from cachetools import LRUCache

from cuihop.errors import InputError
from cuihop_service.guard.rates import Bucket

HEAD_SECONDS = 10.0
"""For the head of an HTTP request, a TLS handshake, or the beginning of a gRPC connection."""

_ADDRESSES = 10_000  # whose failures are counted
_SECONDS_TO_FORGIVE = 25.0
_SHARE = 4  # one address holds no more than a quarter of what all hold together


@dataclass(frozen=True, slots=True)
class AddressLimits:
    """The bounds, each in one worker; settings of the same names describe them. `InputError` for bad proxies."""

    connections: Annotated[int, Ge(8)] | None = None
    address_connections: Annotated[int, Ge(1)] = 1_024
    heads: Annotated[int, Ge(4)] | None = None
    address_heads: Annotated[int, Ge(1)] = 256
    failures: Annotated[int, Ge(1)] = 1_000
    address_failures: Annotated[int, Ge(1)] = 50
    log_lines: Annotated[int, Ge(1)] = 20
    address_log_lines: Annotated[int, Ge(1)] = 5
    proxies: Sequence[str] = ()

    def __post_init__(self) -> None:
        _networks(self.proxies)

    def connection_count(self, connections: int) -> AddressCount:
        """A count of connections on one port with room for this number."""
        return AddressCount(self.address_connections, connections, self.proxies)

    def head_count(self, connections: int) -> AddressCount:
        """A count of connections without a whole head, on a port with room for this number of connections."""
        heads = connections // 2 if self.heads is None else self.heads
        return AddressCount(self.address_heads, heads, self.proxies)


class AddressCount:
    """A count of held things by address. ``each`` does not bound proxies. Not for several threads."""

    def __init__(self, each: int, total: int, proxies: Sequence[str] = ()) -> None:
        self.total = total
        self.each = max(1, min(each, total // _SHARE))
        self.held = 0
        self._proxies = _networks(proxies)
        self._of: Counter[str] = Counter()

    def enter(self, network: str) -> bool:
        """Count one more, where there is room. True if there was."""
        if self.held >= self.total or (self._of[network] >= self.each and not self.is_proxy(network)):
            return False
        self.held += 1
        self._of[network] += 1
        return True

    def leave(self, network: str) -> None:
        """Count one less."""
        self.held -= 1
        self._of[network] -= 1
        if not self._of[network]:
            del self._of[network]

    def is_proxy(self, network: str) -> bool:
        """True for an address that stands for many callers."""
        if not self._proxies:
            return False
        try:
            network_range = ipaddress.ip_network(network)
        except ValueError:
            return False
        return any(network_range.version == proxy.version and network_range.overlaps(proxy) for proxy in self._proxies)


class FailureCount:
    """Credentials that were refused, by address and in all.

    The bound on all spares addresses that have not failed yet: the failures of others do not shut them out.
    """

    def __init__(self, limits: AddressLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._size = float(limits.address_failures)
        self._proxies = AddressCount(1, 1, limits.proxies)
        self._all = _bucket(float(limits.failures), clock())
        self._of: LRUCache[str, Bucket] = LRUCache(_ADDRESSES)

    def wait(self, address: str | None) -> float:
        """Seconds until the address may fail again; 0 for now."""
        now = self._clock()
        network = None if address is None else network_of(address)
        bucket = None if network is None else self._of.get(network)
        if bucket is None:
            return 0.0
        own = 0.0 if network is not None and self._proxies.is_proxy(network) else bucket.wait(1.0, now)
        return max(own, self._all.wait(1.0, now))

    def count(self, address: str | None) -> None:
        """Count a failure."""
        now = self._clock()
        if not self._all.wait(1.0, now):
            self._all.take(1.0)
        if address is not None:
            network = network_of(address)
            bucket = self._of.get(network)
            if bucket is None:
                bucket = self._of[network] = _bucket(self._size, now)
            if not bucket.wait(1.0, now):
                bucket.take(1.0)


class LineBudget:
    """Log lines in one second: ``each`` of one address, ``total`` in all. For several threads."""

    def __init__(self, each: int, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._each = each
        self._total = total
        self._clock = clock
        self._lock = threading.Lock()
        self._second = -math.inf
        self._of: Counter[str] = Counter()
        self._written = 0
        self._left_out = 0

    def has_room(self, address: str | None = None) -> bool:
        """Count a line. True if it may be written."""
        with self._lock:
            second = math.floor(self._clock())
            if second != self._second:
                self._second, self._written = second, 0
                self._of.clear()
            network = None if address is None else network_of(address)
            full = self._written >= self._total or (network is not None and self._of[network] >= self._each)
            if full:
                self._left_out += 1
                return False
            self._written += 1
            if network is not None:
                self._of[network] += 1
            return True

    def take_left_out(self) -> int:
        """The lines left out since the last call."""
        with self._lock:
            number, self._left_out = self._left_out, 0
            return number


def network_of(address: str) -> str:
    """The address; of IPv6 the network of 64 bits.

    >>> network_of("192.0.2.7"), network_of("2001:db8::7"), network_of("::ffff:192.0.2.7")
    ('192.0.2.7', '2001:db8::/64', '192.0.2.7')
    """
    if ":" not in address:
        return address
    try:
        parsed = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(parsed) >> 64 << 64, 64)))


def _bucket(size: float, now: float) -> Bucket:
    return Bucket(size / _SECONDS_TO_FORGIVE, size, now)


def _networks(proxies: Sequence[str]) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    try:
        return [ipaddress.ip_network(proxy, strict=False) for proxy in proxies]
    except ValueError as error:
        raise InputError(
            "not an address",
            column="setting proxies",
            found=str(error)[:100],
            expected="as in 10.0.0.7, or 10.0.0.0/24",
        ) from None
