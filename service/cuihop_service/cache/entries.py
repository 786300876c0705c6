"""What a cache keeps of a pair of concepts, and which questions that answers.

An entry is one integer, so that an entry in memory costs no object of its own and one in Redis four bytes:

- 0 and above: the distance, exactly;
- -1: there is no path at all;
- -2 - n: there is no path of up to n hops; what lies beyond nobody has looked for.

Key and entry belong to current identifiers of one release. Within it an entry stays true for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from cuihop.graph import Direction

__all__ = ["NO_PATH", "Entry", "answers", "better_entry", "entry_beyond", "pair_key", "pair_keys", "within"]

Entry: TypeAlias = int

NO_PATH: Entry = -1
_BEYOND_NOTHING = -2

_NOBODY: Mapping[str, str] = {}


def entry_beyond(hops: int) -> Entry:
    """The entry of a pair without a path of up to so many hops."""
    return _BEYOND_NOTHING - hops


def answers(entry: Entry, bound: int | None) -> bool:
    """Whether the distance within the bound follows from the entry."""
    return entry >= NO_PATH or (bound is not None and bound <= _BEYOND_NOTHING - entry)


def within(entry: Entry, bound: int | None) -> int | None:
    """The distance within the bound, of an entry that answers it."""
    return entry if entry >= 0 and (bound is None or entry <= bound) else None


def better_entry(one: Entry, other: Entry) -> Entry:
    """The entry that answers more questions, of two that are both true."""
    return max(one, other) if one >= NO_PATH or other >= NO_PATH else min(one, other)


def pair_key(a: str, b: str, direction: Direction) -> str:
    """The key of a pair: one for both orders without a direction, and for up from a to b and down from b to a.

    No identifier that a graph holds has ``|`` or ``;`` in it, so no other pair has this key.
    """
    if direction == "any":
        return f"{a}|{b}" if a <= b else f"{b}|{a}"
    return f"{a};{b}" if direction == "up" else f"{b};{a}"


def pair_keys(
    pairs: Iterable[tuple[str, str]], direction: Direction, successors: Mapping[str, str] = _NOBODY
) -> list[str]:
    """The key of each pair, with retired identifiers replaced by their successors as far as these are known."""
    if successors:
        pairs = ((successors.get(a, a), successors.get(b, b)) for a, b in pairs)
    if direction == "any":
        return [f"{a}|{b}" if a <= b else f"{b}|{a}" for a, b in pairs]
    if direction == "up":
        return [f"{a};{b}" for a, b in pairs]
    return [f"{b};{a}" for a, b in pairs]
