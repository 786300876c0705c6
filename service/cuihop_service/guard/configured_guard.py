"""The guard of a service that knows its callers: by key, by token, by certificate; and counts their questions."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from cuihop.errors import NotAuthenticated, RateLimited
from cuihop_service.admission import Asked
from cuihop_service.callers import ANONYMOUS, Caller
from cuihop_service.guard.address_limits import AddressLimits, FailureCount
from cuihop_service.guard.api_keys import PREFIX
from cuihop_service.guard.certificates import Certificates
from cuihop_service.guard.key_file import KeyFile
from cuihop_service.guard.rates import Rates
from cuihop_service.guard.tokens import TokenVerifier

__all__ = ["ConfiguredGuard"]


class ConfiguredGuard:
    """Asks for a key, a token or a certificate, whichever are configured. A key or token counts before a certificate.

    Where none is configured everybody is anonymous: for loopback only, see `check_exposure`.

    An address from which many questions came without valid credentials gets `RateLimited` in their place, and new
    tokens from there wait too, for they are work. Valid keys and tokens that are known already are let in as ever:
    others may stand behind the same proxy.

    Args:
        keys: the API keys.
        tokens: verifies those of an identity provider.
        certificates: what they open.
        rates: how often; None for no limit.
        limits: how many failures, for each address and in all.
        clock: seconds that only grow, for tests.
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
        self._failures = FailureCount(limits or AddressLimits(), clock)
        self.authenticates = any(known is not None for known in (keys, tokens, certificates))

    def caller(self, asked: Asked) -> Caller | Awaitable[Caller]:
        """See `Guard.caller`."""
        if not self.authenticates:
            return ANONYMOUS
        try:
            if asked.credentials is None:
                return self._certified(asked)
            scheme, _, shown = asked.credentials.partition(" ")
            shown = shown.strip()
            if scheme.lower() != "bearer" or not shown:
                raise NotAuthenticated("expected the header: Authorization: Bearer, and a key or token")
            if shown.startswith(PREFIX):
                if self._keys is None:
                    raise NotAuthenticated("this service takes no keys")
                return self._keys.caller(shown)
            if self._tokens is None:
                raise NotAuthenticated("not a key: it is mistyped or incomplete")
            known = self._tokens.remembered(shown)
            if known is not None:
                return known
            self._check_failures(asked.peer)
            found = self._tokens.caller(shown)
            return found if isinstance(found, Caller) else self._awaited(found, asked.peer)
        except NotAuthenticated:
            self._count_failure(asked.peer)
            raise

    def admit(self, caller: Caller, asked: Asked) -> Awaitable[None] | None:
        """See `Guard.admit`."""
        return None if self._rates is None else self._rates.admit(caller, asked.size)

    def waits(self, asked: Asked) -> bool:
        """See `Guard.waits`: replicas that count together, or a token that is seen for the first time."""
        if self._rates is not None and self._rates.shared:
            return True
        if self._tokens is None or asked.credentials is None:
            return False
        shown = asked.credentials.partition(" ")[2].strip()
        return not shown.startswith(PREFIX) and self._tokens.remembered(shown) is None

    async def close(self) -> None:
        """Ask the identity provider and Redis no more."""
        if self._tokens is not None:
            self._tokens.close()
        if self._rates is not None:
            await self._rates.close()

    def _certified(self, asked: Asked) -> Caller:
        if self._certificates is not None and asked.subject is not None:
            return self._certificates.caller(asked.subject)
        raise NotAuthenticated("no key or token came with the question")

    async def _awaited(self, found: Awaitable[Caller], peer: str | None) -> Caller:
        try:
            return await found
        except NotAuthenticated:
            self._count_failure(peer)
            raise

    def _count_failure(self, peer: str | None) -> None:
        self._check_failures(peer)
        self._failures.count(peer)

    def _check_failures(self, peer: str | None) -> None:
        wait = self._failures.wait(peer)
        if wait:
            raise RateLimited("too many questions without valid credentials came from this address", retry_after=wait)
