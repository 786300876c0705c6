"""Callers of the service, their scopes and their rates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from cuihop.errors import InputError, NotAllowed

Scope: TypeAlias = Literal["read", "names", "cypher", "metrics"]
"""``read``: everything but names. ``names``: names, search and annotation, which a UMLS licence may restrict.
``cypher``: a curator's own queries. ``metrics``: the service's metrics."""

SCOPES: tuple[Scope, ...] = get_args(Scope)


@dataclass(frozen=True, slots=True)
class Rate:
    """Rate of one caller. None is no limit.

    Attributes:
        requests: a second, in the long run.
        burst: at once, after a pause; None for as many as in one second, and at least one.
        pairs: a minute; of requests without pairs, the concepts, sets or texts count.
    """

    requests: float | None = None
    burst: int | None = None
    pairs: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("requests", self.requests), ("burst", self.burst), ("pairs", self.pairs)):
            if value is not None and not 0 < value < 1e12:
                raise InputError("not a rate", column=name, found=repr(value), expected="a number above 0")


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated caller.

    Attributes:
        name: of the key, or ``token:`` and the token's subject, or ``certificate:`` and its name; for logs and rates.
        rate: of this caller; None for the service's own rate.
    """

    name: str
    scopes: frozenset[str]
    rate: Rate | None = None

    def may(self, scope: Scope) -> bool:
        """True where the caller has the scope."""
        return scope in self.scopes

    def check(self, scope: Scope) -> None:
        """Refuse a caller without the scope by a `NotAllowed`."""
        if scope not in self.scopes:
            raise NotAllowed(f"the key of {self.name!r} lacks the scope {scope!r}")


ANONYMOUS = Caller("anonymous", frozenset({"read", "names", "metrics"}))
"""Every caller, where no authentication is configured: the service then listens on loopback only."""
