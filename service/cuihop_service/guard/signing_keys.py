"""Public keys of an identity provider: a JWKS (RFC 7517), from its address or a file.

`jwt.PyJWKClient` (2.15) is not used: it reads a body of any size, bounds each read but not the download, blocks
its caller, drops good keys once they are old while the provider is away, asks a provider that is down again for every
unknown key, and takes no file. Its subclass with all of that would be no shorter than this module.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jwt
import urllib3
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from cuihop.errors import GraphUnavailable, InputError, reason_of
from cuihop_service.addresses import is_loopback

_log = logging.getLogger("cuihop.guard")

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures that only the provider can make. Never ``none``, nor one with a shared secret."""

_LARGEST = 1 << 20
_SECONDS = 5.0  # for one look at the provider
_FRESH = 600.0  # then the keys are fetched again, while the old ones remain in use
_STALE = 86_400.0  # after that long without an answer, the old keys are no longer trusted
_SMALLEST_RSA = 2048


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A public key."""

    kid: str | None
    public: Any
    algorithms: tuple[str, ...]


class SigningKeys:
    """The keys of a provider, fetched when needed and cached.

    The event loop never blocks on the provider. Keys older than ten minutes are fetched again in the background; an
    unknown key is looked up at the provider, at most once in ``pause`` seconds.

    Args:
        source: ``https://`` address, ``http://`` address on this machine, or a file's path.

    Raises:
        InputError: the address is none of these, or the file is no JWKS. A provider that does not answer is no error
        here.
    """

    def __init__(self, source: str, *, pause: float = 10.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._source = source
        self._pause = pause
        self._clock = clock
        self._keys: Mapping[str | None, SigningKey] = {}
        self._fetched: float | None = None
        self._tried: float | None = None
        self._under_way: Future[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="signing-keys")
        self._pool = urllib3.PoolManager(num_pools=1, maxsize=1)
        self.version = 0
        parts = urlsplit(source)
        self._remote = parts.scheme in ("http", "https")
        if not self._remote:
            self._fetch()
        elif parts.scheme == "http" and not is_loopback(parts.hostname or ""):
            raise InputError(
                "signing keys must come by HTTPS",
                column="setting jwks",
                found=f"http://{parts.hostname}",
                expected="https://…",
            )

    def cached(self, kid: str | None) -> SigningKey | None:
        """The key with this identifier, or the only one; None where the provider may have it."""
        now = self._clock()
        if self._fetched is None or now - self._fetched > _STALE:
            return None
        if now - self._fetched > _FRESH:
            self._begin()
        if kid is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(kid)

    async def fetched(self, kid: str | None) -> SigningKey | None:
        """The key with this identifier, None for none, after a look at the provider; or `GraphUnavailable`."""
        looking = self._begin()
        if looking is not None:
            await asyncio.shield(asyncio.wrap_future(looking))
        key = self.cached(kid)
        if key is None and (self._fetched is None or (self._tried or 0.0) > self._fetched):
            raise GraphUnavailable("the token cannot be verified: the identity provider does not answer")
        return key

    def _begin(self) -> Future[None] | None:
        """The look at the provider that is under way; a new one where it is time."""
        if self._under_way is not None and not self._under_way.done():
            return self._under_way
        now = self._clock()
        if self._tried is not None and now - self._tried < self._pause:
            return None
        self._tried = now
        self._under_way = self._thread.submit(self._try)
        return self._under_way

    def _try(self) -> None:
        try:
            self._fetch()
        except Exception as error:  # whatever the provider sends: the keys stay as they were
            _log.error("no signing keys from %s: %s", self._source, reason_of(error))

    def _fetch(self) -> None:
        begun = self._clock()
        text = self._downloaded() if self._remote else self._read()
        keys = public_keys(text, self._source)
        if keys != self._keys:
            self.version += 1
        self._keys = keys
        self._fetched = max(begun, self._tried or begun)

    def _read(self) -> bytes:
        try:
            return Path(self._source).read_bytes()
        except OSError as error:
            raise InputError("the signing keys cannot be read", file=self._source, found=reason_of(error)) from None

    def _downloaded(self) -> bytes:
        ends = time.monotonic() + _SECONDS
        timeout = urllib3.Timeout(connect=_SECONDS / 2, read=_SECONDS / 2)
        response = self._pool.request(
            "GET", self._source, timeout=timeout, retries=False, redirect=False, preload_content=False
        )
        try:
            if response.status != 200:
                raise InputError("no signing keys there", file=self._source, found=f"status {response.status}")
            text = b""
            for piece in response.stream(1 << 16, decode_content=True):
                text += piece
                if len(text) > _LARGEST or time.monotonic() > ends:
                    raise InputError("too large or too slow for signing keys", file=self._source)
            return text
        finally:
            response.close()

    def close(self) -> None:
        """Stop fetching."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._pool.clear()


def public_keys(text: bytes, source: str) -> dict[str | None, SigningKey]:
    """The keys of a JWKS that can verify a signature, by their identifiers. Other keys, and secret ones, are left out.

    Raises:
        InputError: no JWKS, or none of its keys can verify anything.
    """
    try:
        content = json.loads(text)
        listed = content["keys"]
    except (ValueError, RecursionError, KeyError, TypeError):
        listed = None
    if not isinstance(listed, list):
        raise InputError("not a JWKS", file=source, expected='{"keys": […]}')
    keys: dict[str | None, SigningKey] = {}
    for fields in listed:
        key = _public_key(fields)
        if key is not None:
            keys[key.kid] = key
    if not keys:
        raise InputError("no key there can verify a signature", file=source, expected="RSA, EC or OKP keys")
    return keys


def _public_key(fields: Any) -> SigningKey | None:
    if not isinstance(fields, dict) or fields.get("kty") not in ("RSA", "EC", "OKP"):
        return None  # with a secret key among public ones, any reader could sign
    if fields.get("use", "sig") != "sig" or "d" in fields:
        return None
    try:
        key = jwt.PyJWK(fields)
    except (jwt.PyJWTError, ValueError, TypeError, KeyError):
        return None
    if isinstance(key.key, RSAPublicKey) and key.key.key_size < _SMALLEST_RSA:
        return None
    if key.algorithm_name not in ALGORITHMS:
        return None
    algorithms: tuple[str, ...] = (key.algorithm_name,)
    if fields["kty"] == "RSA" and "alg" not in fields:
        algorithms = tuple(name for name in ALGORITHMS if name[:2] in ("RS", "PS"))
    kid = fields.get("kid")
    return SigningKey(kid if isinstance(kid, str) else None, key.key, algorithms)
