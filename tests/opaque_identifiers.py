"""A graph whose identifiers have other forms than a CUI, with every character that could mean something else."""

from __future__ import annotations

import string

from cuihop import SnapshotGraph

__all__ = ["EDGES", "IDENTIFIERS", "NAMES", "RETIRED", "opaque_graph"]

IDENTIFIERS = (
    "http://data.europa.eu/esco/skill/0005c151-5b5a-4a66-8aac-60e734beb1ab",
    "a/b?c#d%41",
    "02084071-n",
    "oewn-02084071-n",
    "HP:0001250",
    "n+1",
    "x&y=z",
    "<script>alert(1)</script>",
    '"quoted"',
    "it's",
    "f(x)",
    "..",
    ".",
    "../..",
    "a,b",
    "=1+1",
    "@x",
    "%2F",
    "a\\b\\u0041",
    "$(id)`{}*[0]~^",
    "--help",
    "0",
    "A1" * 64,
    "".join(c for c in string.printable[:94] if c not in ";|"),
)
EDGES = [*zip(IDENTIFIERS[1:], IDENTIFIERS, strict=False)]  # a chain: each is a child of the one before
NAMES = {identifier: [f"name {n}", f"Other Name <{n}>"] for n, identifier in enumerate(IDENTIFIERS)}
RETIRED = [("old/1?#", "SY", "a/b?c#d%41")]


def opaque_graph() -> SnapshotGraph:
    """A chain of these identifiers."""
    return SnapshotGraph.of(EDGES, names=NAMES, retired=RETIRED, name="opaque")
