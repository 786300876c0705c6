"""The guard of a service with authentication: keys, tokens, certificates and the rates of callers; and its settings."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cuihop.errors import InputError, NotAuthenticated, RateLimited
from cuihop_service.admission import RequestInfo
from cuihop_service.callers import ANONYMOUS, SCOPES, Caller, Rate
from cuihop_service.guard.address_limits import AddressLimits, FailureCount
from cuihop_service.guard.api_keys import PREFIX, checked_scopes
from cuihop_service.guard.key_file import KeyFile
from cuihop_service.guard.rates import Rates, SharedRates

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
        """The caller with this name in the certificate.

        Raises:
            NotAuthenticated: the name is not admitted.
        """
        scopes = self._named.get(subject, self._anyone)
        if not scopes:
            raise NotAuthenticated(
                "the certificate's name is not admitted here, and no API key was sent. Set CUIHOP_API_KEY_FILE."
            )
        return Caller(f"certificate:{subject}", scopes)


class ConfiguredGuard:
    """Authenticates by key, token or certificate, as configured. A key or token counts before a certificate.

    Where none is configured every caller is anonymous: for loopback only, see `check_exposure`.

    An address with many requests without valid credentials gets `RateLimited` in their place. New tokens from there
    wait too, since to verify them is work. Valid keys, and tokens verified before, are admitted as ever: other callers
    may stand behind the same proxy.

    Args:
        keys: the API keys.
        tokens: verifies those of an identity provider.
        certificates: scopes by certificate.
        rates: of callers; None for no limit.
        limits: of failures, for each address and in all.
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
        self.authenticates = any(way is not None for way in (keys, tokens, certificates))

    def caller(self, info: RequestInfo) -> Caller | Awaitable[Caller]:
        """See `Guard.caller`."""
        if not self.authenticates:
            return ANONYMOUS
        try:
            if info.credentials is None:
                return self._certified(info)
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
            found = self._tokens.caller(text)
            return found if isinstance(found, Caller) else self._awaited(found, info.peer)
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

    def _certified(self, info: RequestInfo) -> Caller:
        if self._certificates is not None and info.subject is not None:
            return self._certificates.caller(info.subject)
        raise NotAuthenticated("No API key sent. Set CUIHOP_API_KEY_FILE.")

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
            raise RateLimited("too many requests without valid credentials came from this address", retry_after=wait)


@dataclass(frozen=True)
class GuardSettings:
    """Settings of authentication, rates, audit and curators' Cypher.

    Attributes:
        keys_file: the file of the API keys, written by ``cuihop keys create``. None: keys are refused.
        issuer: of tokens: the claim ``iss``. Needs `audience` and `jwks`. None: tokens are refused.
        audience: names of this service; the claim ``aud`` must hold one.
        jwks: the issuer's public keys: an ``https://`` address, or a file.
        scope_claim: the claim with a token's scopes; ``realm_access.roles`` is a claim within a claim.
        token_scopes: from a value of that claim to scopes here. Empty: ``cuihop:read`` grants ``read``, and so on.
        leeway: seconds that the issuer's clock may differ.
        certificate_scopes: scopes of any certificate that the callers' authority signed. Empty: only those of
            `certificate_callers`, and others need a key or token besides.
        certificate_callers: scopes by the name in the certificate: its common name, else its first other name.
        rate_requests: requests a second of one caller. None: no limit.
        rate_burst: requests at once, after a pause. None: those of one second.
        rate_pairs: pairs (or concepts, or sets) a minute of one caller. None: no limit.
        rates_redis: address of a Redis in which replicas count together. None: each process counts for itself.
        audit: a file that gets one JSON line for each request; ``-`` for standard output. None: no audit.
        audit_concepts: True writes the content of requests too, which may be patients' findings.
        cypher: True serves ``/v1/cypher``, to callers with the scopes ``cypher`` and ``names``.
        cypher_user, cypher_password: of a Neo4j user that may only read. None: the service's own.
        cypher_seconds: the most that one query may take.
        cypher_rows: the most rows that one query may return.
        cypher_running: queries at a time, in one worker.
    """

    keys_file: Path | None = None
    issuer: str | None = None
    audience: tuple[str, ...] = ()
    jwks: str | None = None
    scope_claim: str = "scope"
    token_scopes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    leeway: float = 30.0
    certificate_scopes: tuple[str, ...] = ()
    certificate_callers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rate_requests: float | None = None
    rate_burst: int | None = None
    rate_pairs: int | None = None
    rates_redis: str | None = field(default=None, repr=False)
    audit: str | None = None
    audit_concepts: bool = False
    cypher: bool = False
    cypher_user: str | None = None
    cypher_password: str | None = field(default=None, repr=False)
    cypher_seconds: float = 10.0
    cypher_rows: int = 1_000
    cypher_running: int = 4

    def __post_init__(self) -> None:
        given = {"issuer": self.issuer, "audience": self.audience, "jwks": self.jwks}
        missing = [name for name, value in given.items() if not value]
        if missing and len(missing) < len(given):
            raise InputError(
                "tokens need an issuer, an audience and signing keys",
                column=f"setting {missing[0]}",
                found="nothing",
                expected="all three, or none",
            )
        if (self.cypher_user is None) != (self.cypher_password is None):
            raise InputError("a Neo4j user needs a password", column="setting cypher-user", expected="both, or neither")

    @property
    def authenticates(self) -> bool:
        """True where callers are authenticated."""
        return bool(self.keys_file or self.issuer or self.certificate_scopes or self.certificate_callers)

    def guard(self, limits: AddressLimits | None = None) -> ConfiguredGuard:
        """The guard built from these settings.

        Args:
            limits: bounds for each address, and in all.

        Raises:
            InputError: a file cannot be read, or a value is not as expected.
        """
        tokens = None
        if self.issuer is not None and self.jwks is not None:
            from cuihop_service.guard.signing_keys import SigningKeys  # with cryptography, which takes long to import
            from cuihop_service.guard.tokens import TokenRules, TokenVerifier

            scopes = self.token_scopes or {f"cuihop:{name}": (name,) for name in SCOPES}
            rules = TokenRules(self.issuer, self.audience, self.scope_claim, scopes, self.leeway)
            tokens = TokenVerifier(rules, SigningKeys(self.jwks))
        certificates = None
        if self.certificate_scopes or self.certificate_callers:
            certificates = Certificates(self.certificate_scopes, self.certificate_callers)
        rates = None
        rate = Rate(self.rate_requests, self.rate_burst, self.rate_pairs)
        if self.authenticates or rate != Rate():
            rates = Rates(rate, None if self.rates_redis is None else SharedRates(self.rates_redis))
        keys = None if self.keys_file is None else KeyFile(self.keys_file)
        return ConfiguredGuard(keys, tokens, certificates, rates, limits)
