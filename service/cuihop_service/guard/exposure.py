"""Reach of the address that the service listens on, and the authentication that it needs."""

from __future__ import annotations

import ipaddress

from cuihop.errors import InputError

__all__ = ["check_exposure", "is_loopback"]


def is_loopback(host: str) -> bool:
    """True where only this machine can reach the address. Of names, only ``localhost`` is trusted."""
    if host.rstrip(".").lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def check_exposure(host: str, authentication_configured: bool, tls_configured: bool) -> str | None:
    """A warning for the operator; None for none.

    Args:
        host: the address to listen on.
        authentication_configured: True where callers are authenticated.
        tls_configured: True where the service speaks TLS itself.

    Raises:
        InputError: others could reach the service without authentication.
    """
    if is_loopback(host):
        return None
    if not authentication_configured:
        raise InputError(
            "the service would answer everybody who reaches this machine",
            column="host",
            found=host or "every address",
            expected="127.0.0.1, or a way to know callers",
            advice="Make a key with: cuihop keys create NAME --file keys.json, and give the file with --keys-file; or "
            "name an identity provider with --issuer, --audience and --jwks; or have callers show certificates with "
            "--tls-client-ca.",
        )
    if not tls_configured:
        return (
            f"listening on {host or 'every address'} without TLS: keys and tokens travel readable. Give "
            "--tls-certificate and --tls-key, unless a proxy before this service ends TLS on a network you trust."
        )
    return None
