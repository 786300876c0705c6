"""Places in a text counted in units of UTF-16, as Java does, as places of its characters."""

from __future__ import annotations

from collections.abc import Sequence


def character_places(text: str, units: Sequence[int]) -> list[int]:
    """The places in characters (code points); those beyond the text keep their distance from its end.

    >>> character_places("𝛃 cell", [0, 2, 3, 7])
    [0, 1, 2, 6]
    """
    wide = [place for place, sign in enumerate(text) if ord(sign) > 0xFFFF]
    begins = [place + number for number, place in enumerate(wide)]  # of each, in units
    return [unit - sum(begin < unit for begin in begins) for unit in units]
