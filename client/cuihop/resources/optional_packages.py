"""Packages that the base installation does not bring, and the error if one of them is missing, before the work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec


@dataclass(frozen=True)
class OptionalPackage:
    """A package that an option, a file or a measure needs.

    Attributes:
        name: of the module. requirement: the argument of ``pip install`` that brings it.
    """

    name: str
    requirement: str

    def check(self) -> None:
        """Refuse work that needs the package, without the seconds that its import may take.

        Raises:
            ModuleNotFoundError: it is missing; the message says how to install it.
        """
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
