"""Packages: their versions, and the error if an optional one is missing, raised before the work."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from cuihop.errors import installation

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class OptionalPackage:
    """A package that an option, a file or a measure needs, and the argument of ``pip install`` that brings it."""

    name: str
    requirement: str

    def check(self) -> None:
        """Refuse work that needs the package if it is missing, without the seconds that its import may take."""
        with installed_by(self.requirement):
            if find_spec(self.name) is None:
                raise ModuleNotFoundError(name=self.name)


GRPC = OptionalPackage("grpc", "cuihop[remote]")
MATPLOTLIB = OptionalPackage("matplotlib", "cuihop[plots]")
NEO4J = OptionalPackage("neo4j", "cuihop[neo4j]")
PYARROW = OptionalPackage("pyarrow", "cuihop[parquet]")
RANX = OptionalPackage("ranx", "cuihop[fusion]")
SACREBLEU = OptionalPackage("sacrebleu", "cuihop[captions]")
URLLIB3 = OptionalPackage("urllib3", "cuihop[remote]")


@contextmanager
def installed_by(requirement: str) -> Iterator[None]:
    """Import an optional package in this block; if it is missing, the error says how to install ``requirement``."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        missing = f"this needs the package {package}, which is not installed: {installation(requirement)}"
        raise ModuleNotFoundError(missing, name=package) from None


def data_frame(rows: Any, columns: list[str] | None = None) -> pd.DataFrame:
    """A DataFrame, of whatever pandas takes; without pandas, the error names the extra."""
    with installed_by("cuihop[frames]"):
        import pandas as pd

    return pd.DataFrame(rows, columns=columns)


def versions(*packages: str) -> dict[str, str]:
    """The versions of Python and of these packages."""
    return {"python": platform.python_version(), **{package: _version(package) for package in packages}}


@cache
def _version(package: str) -> str:
    """The version of a package; read once, since its whole metadata are parsed for it."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
