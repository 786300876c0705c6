"""Packages that the base installation does not bring, and the error where one of them is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["installed_by"]


@contextmanager
def installed_by(requirement: str) -> Iterator[None]:
    """Import an optional package in this block.

    Args:
        requirement: the argument of ``pip install`` that brings the package, such as ``cuihop[frames]``.

    Raises:
        ModuleNotFoundError: the package is missing; the message says how to install it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        argument = f"'{requirement}'" if "[" in requirement else requirement
        missing = f"this needs the package {package}, which is not installed: pip install {argument}"
        raise ModuleNotFoundError(missing, name=package) from None
