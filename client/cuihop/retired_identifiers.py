"""Resolution of identifiers that a graph does not hold: the same rule for every adapter."""

from __future__ import annotations

from collections.abc import Callable

from cuihop.graph import Resolution
from cuihop.identifiers import Identifiers, is_identifier

__all__ = ["LONGEST_CHAIN", "absent_resolution"]

LONGEST_CHAIN = 32
"""The most mergers followed; a longer chain is a cycle."""


def absent_resolution(
    requested: str,
    identifiers: Identifiers,
    statements_on: Callable[[str], tuple[tuple[str, str], ...]],
    holds: Callable[[str], bool],
) -> Resolution:
    """Resolve an identifier that the graph does not hold.

    Args:
        requested: the identifier.
        identifiers: the kind that the graph holds.
        statements_on: pairs of UMLS relation and successor of a retired identifier in the release.
        holds: membership test of the graph.
    """
    if not is_identifier(requested, identifiers):
        return Resolution(requested, "invalid")
    statements = statements_on(requested)
    if not statements:
        return Resolution(requested, "unknown")
    cui = requested
    for _ in range(LONGEST_CHAIN):
        merged = [successor for relation, successor in statements_on(cui) if relation == "SY"]
        if len(merged) != 1:
            break
        cui = merged[0]
        if holds(cui):
            return Resolution(requested, "merged", cui)
    if [relation for relation, _ in statements] == ["SY"]:
        return Resolution(requested, "unknown", candidates=statements)
    return Resolution(requested, "retired", candidates=tuple(s for s in statements if s[0] != "DEL"))
