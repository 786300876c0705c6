"""How wide text is drawn in a picture, and text cut to lines of a width: to be asked while drawing."""

from __future__ import annotations

import functools

__all__ = ["SIZE", "cut", "inches_of", "wrapped"]

SIZE = 9.0  # points
_FITTED = 1.06  # letters are drawn a little wider where they are fitted to pixels


def wrapped(text: str, inches: float) -> list[str]:
    """Lines no wider than that; a word that is wider by itself is broken."""
    lines, line = [], ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if inches_of(longer) > inches and line:
            lines.append(line)
            longer = word
        while inches_of(longer) > inches:
            fitting = next(end for end in range(len(longer) - 1, 0, -1) if inches_of(longer[:end]) <= inches)
            lines.append(longer[:fitting])
            longer = longer[fitting:]
        line = longer
    return [*lines, line]


def cut(text: str, inches: float, size: float, weight: str = "normal") -> str:
    """The text, its end left out where it is wider than that."""
    if inches_of(text, size, weight) <= inches:
        return text
    fits = (f"{text[:end]}…" for end in range(len(text) - 1, 0, -1))
    return next(shorter for shorter in fits if inches_of(shorter, size, weight) <= inches)


def inches_of(text: str, size: float = SIZE, weight: str = "normal") -> float:
    """How wide a text is drawn at most: letters are drawn a little wider where they are fitted to pixels."""
    return _FITTED * size / 72 * sum(_advance(letter, weight) for letter in text)


@functools.lru_cache(maxsize=4096)
def _advance(letter: str, weight: str) -> float:
    """How far a letter moves the next one, for type of size 1."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    def width(text: str) -> float:
        return float(
            text_to_path.get_text_width_height_descent(text, FontProperties(size=100, weight=weight), False)[0]
        )

    return (width(f"|{letter}|") - width("||")) / 100
