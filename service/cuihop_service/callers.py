"""Who asks, and what they may ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from cuihop.errors import NotAllowed

__all__ = ["ANONYMOUS", "SCOPES", "Caller", "Scope"]

Scope: TypeAlias = Literal["read", "names", "cypher", "metrics"]
"""``read``: everything but names. ``names``: names and search, which a UMLS licence may restrict. ``cypher``: a
curator's own queries. ``metrics``: the service's metrics."""

SCOPES: tuple[Scope, ...] = get_args(Scope)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks.

    Attributes:
        name: of the key or the token's subject; for logs and rates.
        scopes: what they may ask for.
    """

    name: str
    scopes: frozenset[str]

    def may(self, scope: Scope) -> bool:
        """Whether the caller has the scope."""
        return scope in self.scopes

    def check(self, scope: Scope) -> None:
        """Refuse a caller without the scope.

        Raises:
            NotAllowed: names the scope.
        """
        if scope not in self.scopes:
            raise NotAllowed(f"the key of {self.name!r} lacks the scope {scope!r}")


ANONYMOUS = Caller("anonymous", frozenset({"read", "names", "metrics"}))
"""Everybody, where no authentication is configured: the service then listens on loopback only."""
