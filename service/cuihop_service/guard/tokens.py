"""Tokens of an identity provider (OpenID Connect, OAuth 2): signed JWT, verified here with its public keys."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jwt
from cachetools import LRUCache

from cuihop.errors import InputError, NotAuthenticated
from cuihop_service.callers import SCOPES, Caller
from cuihop_service.guard.signing_keys import ALGORITHMS, SigningKey, SigningKeys

_LONGEST = 8192  # characters of a token
_LONGEST_SUBJECT = 256
_REMEMBERED = 4096  # tokens
_LAST_SECOND = 10**12


@dataclass(frozen=True)
class TokenRules:
    """Rules for accepted tokens and their scopes.

    Attributes:
        issuer: the claim ``iss`` must be this.
        audience: the claim ``aud`` must hold one of these.
        scope_claim: the claim with the scopes: its name, or names with dots between for a claim within a claim. Text is
            split at spaces; lists are taken as they are.
        scopes: from a value of that claim to scopes here.
        leeway: seconds that clocks may differ.
    """

    issuer: str
    audience: Sequence[str]
    scope_claim: str = "scope"
    scopes: Mapping[str, Sequence[str]] = field(default_factory=lambda: {f"cuihop:{name}": (name,) for name in SCOPES})
    leeway: float = 30.0

    def __post_init__(self) -> None:
        audience = [self.audience] if isinstance(self.audience, str) else list(self.audience)
        if not self.issuer or not audience or not all(audience):
            raise InputError(
                "a token's issuer and audience must be known",
                column="audience" if self.issuer else "issuer",
                expected="who signs tokens, and the name of this service in them",
            )
        object.__setattr__(self, "audience", tuple(audience))
        unknown = {scope for scopes in self.scopes.values() for scope in scopes} - set(SCOPES)
        if unknown:
            raise InputError("no such scope", column="scopes", found=min(unknown), expected=", ".join(SCOPES))
        if not 0 <= self.leeway <= 600:
            raise InputError("not a leeway", column="leeway", found=repr(self.leeway), expected="0 to 600 seconds")


class TokenVerifier:
    """Verification of tokens."""

    def __init__(self, rules: TokenRules, keys: SigningKeys) -> None:
        self.rules = rules
        self._keys = keys
        self._verified: LRUCache[bytes, tuple[Caller, float]] = LRUCache(_REMEMBERED)
        self._version = keys.version

    def remembered(self, token: str) -> Caller | None:
        """The caller of a token verified before; None where it is new, or has expired."""
        if self._version != self._keys.version:  # the provider may have withdrawn a key
            self._verified.clear()
            self._version = self._keys.version
        caller, ends = self._verified.get(_mark(token), (None, 0.0))
        return None if time.time() >= ends else caller

    def caller(self, token: str) -> Caller | Awaitable[Caller]:
        """The caller of a token, or a `NotAuthenticated`; to be awaited if its key must be fetched."""
        remembered = self.remembered(token)
        if remembered is not None:
            return remembered
        kid = self._kid(token)
        key = self._keys.cached(kid)
        return self._fetched(token, kid) if key is None else self._verify(token, key)

    def close(self) -> None:
        """Stop fetching keys."""
        self._keys.close()

    async def _fetched(self, token: str, kid: str | None) -> Caller:
        key = await self._keys.fetched(kid)
        if key is None:
            raise NotAuthenticated("the token is signed with a key that the identity provider does not have")
        return self._verify(token, key)

    def _kid(self, token: str) -> str | None:
        """The identifier of the key in a token's header, after checks of the header."""
        if len(token) > _LONGEST:
            raise NotAuthenticated(f"the token is longer than {_LONGEST:,} characters")
        try:
            header = jwt.get_unverified_header(token)
        except (jwt.PyJWTError, ValueError, RecursionError):
            raise NotAuthenticated("not a token: it cannot be read") from None
        if header.get("alg") not in ALGORITHMS:
            raise NotAuthenticated("the token is not signed in a way that is believed here")
        if "crit" in header:
            raise NotAuthenticated("the token asks for an extension that is unknown here")
        kid = header.get("kid")
        if kid is not None and not isinstance(kid, str):
            raise NotAuthenticated("not a token: its key has no name")
        return kid

    def _verify(self, token: str, key: SigningKey) -> Caller:
        rules = self.rules
        try:
            claims = jwt.decode(
                token,
                key.public,
                algorithms=list(key.algorithms),
                audience=list(rules.audience),
                issuer=rules.issuer,
                leeway=rules.leeway,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.PyJWTError as error:
            raise NotAuthenticated(_problem(error)) from None
        except (ValueError, TypeError, OverflowError, RecursionError):
            raise NotAuthenticated("not a token: its claims cannot be read") from None
        subject = claims["sub"]
        if not isinstance(subject, str) or not 0 < len(subject) <= _LONGEST_SUBJECT or not subject.isprintable():
            raise NotAuthenticated("the token names nobody")
        caller = Caller(f"token:{subject}", self._scopes(claims))
        self._verified[_mark(token)] = caller, min(int(claims["exp"]), _LAST_SECOND) + rules.leeway
        return caller

    def _scopes(self, claims: Mapping[str, Any]) -> frozenset[str]:
        value: Any = claims.get(self.rules.scope_claim)
        if value is None:
            value = claims
            for name in self.rules.scope_claim.split("."):
                value = value.get(name) if isinstance(value, Mapping) else None
        given = value.split() if isinstance(value, str) else value if isinstance(value, list) else []
        return frozenset(scope for name in given if isinstance(name, str) for scope in self.rules.scopes.get(name, ()))


def _mark(token: str) -> bytes:
    """Stand-in for the token in memory, useless as a credential."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _problem(error: jwt.PyJWTError) -> str:
    """The fault of a token, without its content."""
    for kind, text in (
        (jwt.ExpiredSignatureError, "the token has expired"),
        (jwt.ImmatureSignatureError, "the token is not valid yet"),
        (jwt.InvalidIssuerError, "another issuer made the token"),
        (jwt.InvalidAudienceError, "the token is for another service"),
        (jwt.MissingRequiredClaimError, "the token lacks a claim that is needed: exp, iss, aud and sub"),
        (jwt.InvalidAlgorithmError, "the token is not signed in a way that is believed here"),
        (jwt.InvalidSignatureError, "the token's signature is not its issuer's"),
    ):
        if isinstance(error, kind):
            return text
    return "the token is not valid"
