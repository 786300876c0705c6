"""Versions of the installed packages."""

from __future__ import annotations

import platform


def versions(*packages: str) -> dict[str, str]:
    """The versions of Python and of these packages."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found
