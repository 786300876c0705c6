"""What became of an identifier that a graph does not hold: the one rule for every adapter."""

from __future__ import annotations

from collections.abc import Callable

from cuihop.graph import Resolution
from cuihop.identifiers import Identifiers, is_identifier

__all__ = ["LONGEST_CHAIN", "absent_resolution"]

LONGEST_CHAIN = 32
"""The most mergers that are followed; a longer chain is a circle."""


def absent_resolution(
    asked: str,
    identifiers: Identifiers,
    statements_on: Callable[[str], tuple[tuple[str, str], ...]],
    holds: Callable[[str], bool],
) -> Resolution:
    """What became of ``asked``, which the graph does not hold.

    Args:
        asked: the identifier.
        identifiers: the kind that the graph holds.
        statements_on: pairs of UMLS relation and successor that the release tells of a retired identifier.
        holds: whether the graph holds an identifier.
    """
    if not is_identifier(asked, identifiers):
        return Resolution(asked, "invalid")
    statements = statements_on(asked)
    if not statements:
        return Resolution(asked, "unknown")
    cui = asked
    for _ in range(LONGEST_CHAIN):
        merged = [successor for relation, successor in statements_on(cui) if relation == "SY"]
        if len(merged) != 1:
            break
        cui = merged[0]
        if holds(cui):
            return Resolution(asked, "merged", cui)
    if [relation for relation, _ in statements] == ["SY"]:
        return Resolution(asked, "unknown", candidates=statements)
    return Resolution(asked, "retired", candidates=tuple(s for s in statements if s[0] != "DEL"))
