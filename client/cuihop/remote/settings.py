"""Settings of a connection to a service: address, key, certificates, timeouts."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from urllib.parse import SplitResult, urlsplit

from cuihop.addresses import REMOTE_SCHEMES, host_in_url
from cuihop.errors import InputError

__all__ = ["RemoteSettings"]

_PORTS = {"grpc": 50051, "grpcs": 50051, "http": 80, "https": 443}
_ENCRYPTED = ("grpcs", "https")
_SECONDS = {
    "connect_timeout": "CUIHOP_CONNECT_TIMEOUT",
    "timeout": "CUIHOP_TIMEOUT",
    "retry_time": "CUIHOP_RETRY_TIME",
}
_EXPECTED = "scheme://host:port with one of the schemes " + ", ".join(REMOTE_SCHEMES)


@dataclass(frozen=True)
class RemoteSettings:
    """Address, key, certificates and timeouts of a connection to a service.

    Attributes:
        address: ``grpc://host:50051`` or ``http://host:8080``; ``grpcs://`` and ``https://`` with TLS. After the host
            of an ``https://`` address may come the path under which a proxy shows the service.
        key: an API key or a token; never part of the address, and never shown.
        ca_file: PEM file of the certificate authorities to trust, in place of the system's.
        client_cert, client_key: PEM files of the client's own certificate and its key, for mutual TLS.
        insecure_key: send the key over an unencrypted connection to another machine too.
        connect_timeout: seconds until a connection must be there.
        timeout: seconds for one answer.
        retry_time: seconds during which a request is repeated after transient failures; 0 is never.
        in_flight: most blocks of one batch that are requested at the same time.
        connections: most connections that are open at the same time, over HTTP.

    Raises:
        InputError: no address of a service, user or password in it, a value out of its range, or a key that would
            travel unencrypted.
    """

    address: str
    key: str | None = field(default=None, repr=False)
    ca_file: Path | None = None
    client_cert: Path | None = None
    client_key: Path | None = None
    insecure_key: bool = False
    connect_timeout: float = 5.0
    timeout: float = 60.0
    retry_time: float = 30.0
    in_flight: int = 4
    connections: int = 32

    def __post_init__(self) -> None:
        split = _split(self.address)
        if self.key is not None and not (self.key.isascii() and self.key.isprintable() and " " not in self.key):
            raise InputError(
                "the key cannot be one", column="key", expected="printable ASCII characters without space, on one line"
            )
        if (self.client_cert is None) != (self.client_key is None):
            raise InputError(
                "a client certificate and its key go together", advice="Set CUIHOP_CLIENT_CERT and CUIHOP_CLIENT_KEY."
            )
        for name in _SECONDS:
            value: float = getattr(self, name)
            if not 0 <= value <= 86_400 or (value == 0 and name != "retry_time"):
                raise InputError("not a time", column=name, found=repr(value), expected="seconds, up to a day")
        for name in ("in_flight", "connections"):
            if getattr(self, name) < 1:
                raise InputError("too few", column=name, found=repr(getattr(self, name)), expected="at least 1")
        if self.key is not None and split.scheme not in _ENCRYPTED and not self.loopback and not self.insecure_key:
            raise InputError(
                f"the key would travel unencrypted to {split.hostname}",
                expected=" or ".join(f"{scheme}://" for scheme in _ENCRYPTED),
                advice="CUIHOP_INSECURE_KEY=1 allows it, for a network that you trust.",
            )

    @classmethod
    def from_environment(cls, address: str, environment: Mapping[str, str] = os.environ, **others: Any) -> Self:
        """Settings from an address and the environment.

        ``CUIHOP_API_KEY``, or ``CUIHOP_API_KEY_FILE`` (a file that holds nothing else); ``CUIHOP_CA_FILE``;
        ``CUIHOP_CLIENT_CERT`` and ``CUIHOP_CLIENT_KEY``; ``CUIHOP_INSECURE_KEY=1``; in seconds
        ``CUIHOP_CONNECT_TIMEOUT``, ``CUIHOP_TIMEOUT`` and ``CUIHOP_RETRY_TIME``. An empty variable counts as not set.

        Args:
            address: see `RemoteSettings`.
            environment: the variables.
            others: attributes that take precedence.

        Raises:
            InputError: a value is not as expected, or the key's file cannot be read.
        """
        settings: dict[str, Any] = {"key": _key(environment)}
        for name, variable in (
            ("ca_file", "CUIHOP_CA_FILE"),
            ("client_cert", "CUIHOP_CLIENT_CERT"),
            ("client_key", "CUIHOP_CLIENT_KEY"),
        ):
            if path := environment.get(variable):
                settings[name] = Path(path)
        for name, variable in _SECONDS.items():
            if text := environment.get(variable):
                settings[name] = _seconds(text, variable)
        insecure = environment.get("CUIHOP_INSECURE_KEY", "")
        if insecure not in {"", "0", "1"}:
            raise InputError(
                "neither yes nor no", column="variable CUIHOP_INSECURE_KEY", found=repr(insecure), expected="1 or 0"
            )
        return cls(address, **(settings | {"insecure_key": insecure == "1"} | others))

    @property
    def scheme(self) -> str:
        """``grpc``, ``grpcs``, ``http`` or ``https``."""
        return _split(self.address).scheme

    @property
    def host(self) -> str:
        """The machine's name, or its number without brackets."""
        return _split(self.address).hostname or ""

    @property
    def port(self) -> int:
        """The port; the scheme's own where the address names none."""
        return _split(self.address).port or _PORTS[self.scheme]

    @property
    def authority(self) -> str:
        """Host and port."""
        return f"{host_in_url(self.host)}:{self.port}"

    @property
    def path(self) -> str:
        """The path between host and ``/v1``, without a slash at the end."""
        return _split(self.address).path.rstrip("/")

    @property
    def encrypted(self) -> bool:
        """True if the connection uses TLS."""
        return self.scheme in _ENCRYPTED

    @property
    def loopback(self) -> bool:
        """True if the service is on this machine."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def _split(address: str) -> SplitResult:
    """The split of a service's address, checked. Errors show no part that may hold a password."""
    try:
        split = urlsplit(address)
        usable = bool(split.hostname) and (split.port is None or split.port > 0)
    except ValueError:  # brackets that do not match, or an invalid port
        split, usable = urlsplit(""), False
    if split.username is not None or split.password is not None:
        raise InputError(
            "an address holds no user and no password",
            column="graph",
            advice="Set CUIHOP_API_KEY, or CUIHOP_API_KEY_FILE to a file's path, instead.",
        )
    if not usable or split.scheme not in REMOTE_SCHEMES or split.query or split.fragment:
        raise InputError("not the address of a service", column="graph", expected=_EXPECTED)
    if split.scheme.startswith("grpc") and split.path.rstrip("/"):
        raise InputError("a gRPC address has no path", column="graph", expected=_EXPECTED)
    return split


def _key(environment: Mapping[str, str]) -> str | None:
    key, file = environment.get("CUIHOP_API_KEY", "").strip(), environment.get("CUIHOP_API_KEY_FILE", "")
    if not key and file:
        try:
            key = Path(file).read_text(encoding="ascii").strip()
        except OSError as error:
            raise InputError("the key cannot be read", file=file, found=error.strerror or str(error)) from None
        except UnicodeDecodeError:
            raise InputError("the key cannot be read", file=file, expected="ASCII text") from None
        if not key:
            raise InputError("the file of the key is empty", file=file)
    return key or None


def _seconds(text: str, variable: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(
            "not a time", column=f"variable {variable}", found=repr(text), expected="seconds, as in 2.5"
        ) from None
