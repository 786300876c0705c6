"""What is told when the tool of an adapter is not installed."""

from __future__ import annotations

__all__ = ["not_installed"]


def not_installed(error: ModuleNotFoundError, install: str) -> ModuleNotFoundError:
    """The error with what to install.

    Args:
        error: what the import raised.
        install: the name of the package for pip.
    """
    missing = f"this needs the package {error.name}, which is not installed: pip install {install}"
    return ModuleNotFoundError(missing, name=error.name)
