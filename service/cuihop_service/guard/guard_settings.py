"""The settings of the guard, and the guard built from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cuihop.errors import InputError
from cuihop_service.callers import SCOPES, Rate
from cuihop_service.guard.address_limits import AddressLimits
from cuihop_service.guard.configured_guard import Certificates, ConfiguredGuard
from cuihop_service.guard.key_file import KeyFile
from cuihop_service.guard.rates import Rates, SharedRates
from cuihop_service.guard.signing_keys import SigningKeys
from cuihop_service.guard.tokens import TokenRules, TokenVerifier

__all__ = ["GuardSettings"]


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
                column=missing[0],
                found="nothing",
                expected="all three, or none",
            )
        if (self.cypher_user is None) != (self.cypher_password is None):
            raise InputError("a Neo4j user needs a password", column="cypher-user", expected="both, or neither")

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
