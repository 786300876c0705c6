"""The guard of a service with authentication: keys, tokens, certificates and the rates of callers."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from cuihop.errors import NotAuthenticated, RateLimited
from cuihop_service.admission import RequestInfo
from cuihop_service.callers import ANONYMOUS, Caller
from cuihop_service.guard.address_limits import AddressLimits, FailureCount
from cuihop_service.guard.api_keys import PREFIX, checked_scopes
from cuihop_service.guard.key_file import KeyFile
from cuihop_service.guard.rates import Rates

if TYPE_CHECKING:
    from cuihop_service.guard.tokens import TokenVerifier


class Certificates:
    """Scopes of callers by the name in their certificate. TLS has verified its signature already.

    Args:
        anyone: scopes of any such certificate; none admits only those that are named.
        named: scopes by the name in the certificate.

    Raises:
        InputError: a scope that does not exist.
    """

    def __init__(self, anyone: Iterable[str] = (), named: Mapping[str, Iterable[str]] | None = None) -> None:
        others = list(anyone)
        self._anyone = checked_scopes(others) if others else frozenset()
        self._named = {name: checked_scopes(list(scopes)) for name, scopes in (named or {}).items()}

    def caller(self, subject: str) -> Caller:
        """The caller with this name in the certificate, or a `NotAuthenticated` if the name is not admitted."""
        scopes = self._named.get(subject, self._anyone)
        if not scopes:
            raise NotAuthenticated(
                "the certificate's name is not admitted here, and no API key was sent. Set CUIHOP_API_KEY_FILE."
            )
        return Caller(f"certificate:{subject}", scopes)


class ConfiguredGuard:
    """Authenticates by key, token or certificate, as configured. A key or token counts before a certificate.

    Without any of these every caller is anonymous: for loopback only, see `check_exposure`.

    An address with many requests without valid credentials gets `RateLimited` in their place. New tokens from there
    wait too, since to verify them is work. Valid keys, and tokens verified before, are admitted: other callers may
    stand behind the same proxy.
    """

    def __init__(
        self,
        keys: KeyFile | None = None,
        tokens: TokenVerifier | None = None,
        certificates: Certificates | None = None,
        rates: Rates | None = None,
        limits: AddressLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._keys = keys
        self._tokens = tokens
        self._certificates = certificates
        self._rates = rates
        self.redis_calls: Mapping[str, int] = {} if rates is None else rates.redis_calls
        self._failures = FailureCount(limits or AddressLimits(), clock)
        self.authenticates = any(check is not None for check in (keys, tokens, certificates))

    def caller(self, info: RequestInfo) -> Caller | Awaitable[Caller]:
        """See `Guard.caller`."""
        if not self.authenticates:
            return ANONYMOUS
        try:
            if info.credentials is None:
                if self._certificates is None or info.subject is None:
                    raise NotAuthenticated("No API key sent. Set CUIHOP_API_KEY_FILE.")
                return self._certificates.caller(info.subject)
            scheme, _, text = info.credentials.partition(" ")
            text = text.strip()
            if scheme.lower() != "bearer" or not text:
                raise NotAuthenticated("expected the header: Authorization: Bearer, and a key or token")
            if text.startswith(PREFIX):
                if self._keys is None:
                    raise NotAuthenticated("this service takes no keys")
                return self._keys.caller(text)
            if self._tokens is None:
                raise NotAuthenticated("not a key: it is mistyped or incomplete")
            remembered = self._tokens.remembered(text)
            if remembered is not None:
                return remembered
            self._check_failures(info.peer)
            verified = self._tokens.caller(text)
            return verified if isinstance(verified, Caller) else self._awaited(verified, info.peer)
        except NotAuthenticated:
            self._count_failure(info.peer)
            raise

    def admit(self, caller: Caller, info: RequestInfo) -> Awaitable[None] | None:
        """See `Guard.admit`."""
        return None if self._rates is None else self._rates.admit(caller, info.size)

    def waits(self, info: RequestInfo) -> bool:
        """See `Guard.waits`: True where replicas count together, and for a new token."""
        if self._rates is not None and self._rates.shared:
            return True
        if self._tokens is None or info.credentials is None:
            return False
        text = info.credentials.partition(" ")[2].strip()
        return not text.startswith(PREFIX) and self._tokens.remembered(text) is None

    async def close(self) -> None:
        """Close the connections to the identity provider and to Redis."""
        if self._tokens is not None:
            self._tokens.close()
        if self._rates is not None:
            await self._rates.close()

    async def _awaited(self, verified: Awaitable[Caller], peer: str | None) -> Caller:
        try:
            return await verified
        except NotAuthenticated:
            self._count_failure(peer)
            raise

    def _count_failure(self, peer: str | None) -> None:
        self._check_failures(peer)
        self._failures.count(peer)

    def _check_failures(self, peer: str | None) -> None:
        wait = self._failures.wait(peer)
        if wait:
            raise RateLimited("too many requests without valid credentials came from this address", retry_after=wait)
