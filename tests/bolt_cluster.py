"""A cluster of relays in front of one real Neo4j server, for what the Community edition has not: leader and followers.

Each member is a relay with an address of its own. The server answers every request, with two exceptions: routing tables
name the relays with their parts in the cluster, and a follower refuses transactions that may write, as in a cluster.
All members have the same data at once, so no follower ever lags behind; the bookmarks that members get are recorded.
"""

from __future__ import annotations

import re
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from bolt_proxy import BoltProxy

__all__ = ["BoltCluster", "Member", "bolt_cluster"]

_BEGIN, _RUN, _COMMIT, _ROLLBACK, _RESET, _ROUTE = 0x11, 0x10, 0x12, 0x13, 0x0F, 0x66
_SUCCESS, _FAILURE, _IGNORED = 0x70, 0x7F, 0x7E
_ONLY_BOLT_5_4 = bytes.fromhex("00000405") + bytes(12)
_READ_MODE = b"\x84mode\x81r"
_BOOKMARK = re.compile(rb"FB:[\w+/=]+")


class Member(BoltProxy):
    """A member of a cluster.

    Attributes:
        reads, writes: transactions begun with each access mode.
        bookmarks: sent with the latest transaction that only reads.
        given: the latest bookmark that a write got.
        texts: the beginnings of the queries that it got.
        refusal: code of the error that meets transactions which may write; ``None``: they are accepted.
        refusals_left: number of refusals until it accepts them again; ``None``: no end.
        tables: false where it refuses to give routing tables.
    """

    def __init__(self, server: str, cluster: BoltCluster) -> None:
        self._cluster = cluster
        self._open: list[socket.socket] = []
        self.reads = self.writes = 0
        self.bookmarks: set[str] = set()
        self.given: str | None = None
        self.texts: list[bytes] = []
        self.refusal: str | None = None
        self.refusals_left: int | None = None
        self.tables = True
        super().__init__(server)

    def refuses(self) -> str | None:
        """The code of the error for a transaction that may write, which this counts."""
        refusal = self.refusal
        if refusal is not None and self.refusals_left is not None:
            self.refusals_left -= 1
            if not self.refusals_left:
                self.refusal = self.refusals_left = None
        return refusal

    def stop(self) -> None:
        """Die: refuse connections, and lose those that there are."""
        self.close()
        for end in self._open:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _pair(self, client: socket.socket, server: socket.socket) -> None:
        self._open += [client, server]
        for end in (client, server):  # small messages would wait for each other's acknowledgement
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with client, server, suppress(OSError):
            _exactly(client, 16, skip=4)
            server.sendall(bytes.fromhex("6060b017") + _ONLY_BOLT_5_4)
            client.sendall(_exactly(server, 4))
            conversation = _Conversation(self, client, server)
            replies = threading.Thread(target=conversation.replies, daemon=True)
            replies.start()
            with suppress(OSError):
                conversation.requests()
            for end in (client, server):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            replies.join()

    @property
    def table(self) -> dict[str, Any]:
        """The routing table that it gives."""
        return self._cluster.table()


class _Conversation:
    """The messages of one connection."""

    def __init__(self, member: Member, client: socket.socket, server: socket.socket) -> None:
        self._member = member
        self._client = client
        self._server = server
        self._in_transaction = False
        self._write = False
        self._failed = False

    def requests(self) -> None:
        """Relay or answer what the client says."""
        for message in _messages(self._client):
            tag = message[1]
            if tag == _RESET:
                self._failed = self._in_transaction = False
            elif self._failed:
                self._client.sendall(_framed(bytes([0xB0, _IGNORED])))
                continue
            if tag == _ROUTE and not self._member.tables:
                self._refuse("Neo.ClientError.Procedure.ProcedureNotFound", "no routing table here")
                continue
            if tag == _RUN:
                self._member.texts.append(message[:200])
            if tag == _BEGIN or (tag == _RUN and not self._in_transaction):
                self._write = _READ_MODE not in message
                if self._write and (refusal := self._member.refuses()):
                    self._refuse(refusal, "this member refuses to write")
                    continue
                self._member.writes += self._write
                self._member.reads += not self._write
                if not self._write:
                    self._member.bookmarks = {found.decode() for found in _BOOKMARK.findall(message)}
            if tag in (_BEGIN, _COMMIT, _ROLLBACK):
                self._in_transaction = tag == _BEGIN
            self._server.sendall(_framed(message))

    def _refuse(self, code: str, text: str) -> None:
        self._failed = True
        failure = bytes([0xB1, _FAILURE]) + _packed({"code": code, "message": text})
        self._client.sendall(_framed(failure))

    def replies(self) -> None:
        """Relay what the server says."""
        with suppress(OSError):
            for message in _messages(self._server):
                if not message:
                    pass
                elif message[1] == _SUCCESS and message[2:6] == b"\xa1\x82rt":
                    message = bytes([0xB1, _SUCCESS]) + _packed({"rt": self._member.table})
                elif message[1] == _SUCCESS and self._write and (found := _BOOKMARK.search(message)):
                    self._member.given = found[0].decode()
                self._client.sendall(_framed(message))
            self._client.shutdown(socket.SHUT_RDWR)


class BoltCluster:
    """A leader and followers.

    Args:
        server: address of the real server.
        followers: their number.

    Attributes:
        leader: takes the writes, and no reads while there are followers.
        followers: take the reads.
        strangers: addresses of further readers in the routing table.
        address: of a follower, with routing.
    """

    def __init__(self, server: str, followers: int = 2) -> None:
        self.members = [Member(server, self) for _ in range(followers + 1)]
        self.strangers: list[str] = []
        self.leader: Member | None = None
        self.elect(self.members[0])
        self.address = _with_routing(self.members[-1])

    @property
    def followers(self) -> list[Member]:
        return [member for member in self.members if member is not self.leader]

    def elect(self, leader: Member | None) -> None:
        """Make a member the leader, or none."""
        self.leader = leader
        for member in self.members:
            member.refusal = None if member is leader else "Neo.ClientError.Cluster.NotALeader"

    def table(self) -> dict[str, Any]:
        """The routing table at this moment."""
        leader = [] if self.leader is None else [_host(self.leader)]
        servers = {
            "WRITE": leader,
            "READ": [*map(_host, self.followers), *self.strangers],
            "ROUTE": list(map(_host, self.members)),
        }
        parts = [{"addresses": addresses, "role": role} for role, addresses in servers.items()]
        return {"ttl": 300, "db": "neo4j", "servers": parts}


@contextmanager
def bolt_cluster(server: str, followers: int = 2) -> Iterator[BoltCluster]:
    cluster = BoltCluster(server, followers)
    try:
        yield cluster
    finally:
        for member in cluster.members:
            member.stop()


def _host(member: Member) -> str:
    return member.address.removeprefix("bolt://")


def _with_routing(member: Member) -> str:
    return f"neo4j://{_host(member)}"


# The wire format: https://neo4j.com/docs/bolt/current/


def _exactly(source: socket.socket, count: int, *, skip: int = 0) -> bytes:
    data = b""
    while len(data) < count + skip:
        part = source.recv(count + skip - len(data))
        if not part:
            raise ConnectionResetError
        data += part
    return data[skip:]


def _messages(source: socket.socket) -> Iterator[bytes]:
    """The messages, out of their chunks; an empty one says that the sender is there."""
    message = b""
    with suppress(ConnectionResetError):
        while True:
            (size,) = struct.unpack(">H", _exactly(source, 2))
            if size:
                message += _exactly(source, size)
            else:
                yield message
                message = b""


def _framed(message: bytes) -> bytes:
    chunks = [message[first : first + 0xFFFF] for first in range(0, len(message), 0xFFFF)]
    return b"".join(struct.pack(">H", len(chunk)) + chunk for chunk in chunks) + b"\x00\x00"


def _packed(value: Any) -> bytes:
    if isinstance(value, dict):
        return bytes([0xA0 + len(value)]) + b"".join(_packed(k) + _packed(v) for k, v in value.items())
    if isinstance(value, list):
        return bytes([0x90 + len(value)]) + b"".join(map(_packed, value))
    if isinstance(value, int):
        return struct.pack(">Bh", 0xC9, value)
    text: bytes = value.encode()
    return bytes([0xD0, len(text)]) + text
