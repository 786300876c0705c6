"""Callers known by the certificate that they show (mutual TLS)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cuihop.errors import NotAuthenticated
from cuihop_service.callers import Caller
from cuihop_service.guard.api_keys import checked_scopes

__all__ = ["Certificates", "subject_of"]


class Certificates:
    """What a certificate opens. That its authority signed it, TLS has made sure of.

    Args:
        anyone: scopes of whoever shows one; none for only those who are named.
        named: scopes by the name in the certificate.

    Raises:
        InputError: a scope that does not exist.
    """

    def __init__(self, anyone: Iterable[str] = (), named: Mapping[str, Iterable[str]] | None = None) -> None:
        others = list(anyone)
        self._anyone = checked_scopes(others) if others else frozenset()
        self._named = {name: checked_scopes(list(scopes)) for name, scopes in (named or {}).items()}

    def caller(self, subject: str) -> Caller:
        """Who shows a certificate in this name.

        Raises:
            NotAuthenticated: the name is not one of those that are let in.
        """
        scopes = self._named.get(subject, self._anyone)
        if not scopes:
            raise NotAuthenticated(
                "the certificate's name is not known here, and no key or token came with the question"
            )
        return Caller(f"certificate:{subject}", scopes)


def subject_of(certificate: Mapping[str, Any]) -> str | None:
    """The name in a certificate as `ssl.SSLSocket.getpeercert` gives it: the common name, else the first other name."""
    for part in certificate.get("subject", ()):
        for kind, value in part:
            if kind == "commonName" and isinstance(value, str):
                return value
    for _, value in certificate.get("subjectAltName", ()):
        if isinstance(value, str):
            return value
    return None
