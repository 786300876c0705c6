"""What a measure is called, what it needs, and which options it takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from cuihop.errors import InputError
from cuihop.measures.judged_rankings import Float64, JudgedRankings

__all__ = ["RELEVANT_FROM", "Cutoff", "Family", "Kind", "Option", "OptionValue"]

OptionValue: TypeAlias = int | float | str

Kind: TypeAlias = Literal["concepts", "judged", "pair", "detection", "code"]
"""What a measure is computed from.

``concepts``: a ranking, and the concepts of the images. ``judged``: a ranking, and labels or relevance judgements.
``pair``: the concepts of two images. ``detection``: detected concepts and the true ones. ``code``: predicted codes.
"""

Cutoff: TypeAlias = Literal["needed", "optional", "none"]


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a measure, as in ``nn-CUI@10(n=2)``.

    Attributes:
        name: as it is printed.
        expected: what a value has to be, in words.
        read: the value of a text, or ``None`` where it is none.
        spellings: other names that are read.
        default: left away when the measure is printed. ``None``: whoever evaluates decides.
    """

    name: str
    expected: str
    read: Callable[[str], OptionValue | None]
    spellings: tuple[str, ...] = ()
    default: OptionValue | None = None

    @classmethod
    def of_words(cls, name: str, *words: str) -> Option:
        """An option that is one of these words; the first is the default."""
        return cls(name, " or ".join(words), lambda text: text if text in words else None, default=words[0])


@dataclass(frozen=True, slots=True)
class Family:
    """Measures that differ in their cut-off and options only.

    Attributes:
        name: as it is printed.
        meaning: one line.
        kind: what it is computed from.
        cutoff: whether it has a K.
        options: in the order of printing.
        spellings: other names that are read.
        values: for ``judged``: the value of each query, from the judged rankings, K and options.
        error: whether the smaller values are the better ones.
    """

    name: str
    meaning: str
    kind: Kind
    cutoff: Cutoff = "none"
    options: tuple[Option, ...] = ()
    spellings: tuple[str, ...] = ()
    values: Callable[[JudgedRankings, int | None, Mapping[str, OptionValue]], Float64] | None = None
    error: bool = False

    def option(self, name: str) -> Option:
        """The option of this name or spelling.

        Raises:
            InputError: there is none.
        """
        for option in self.options:
            if name == option.name or name in option.spellings:
                return option
        raise InputError(
            f"not an option of {self.name}",
            column="measures",
            found=repr(name),
            expected=" or ".join(option.name for option in self.options) or "no option",
        )

    def checked(self, name: str, value: OptionValue) -> tuple[str, OptionValue]:
        """The option's own name, and its value.

        Raises:
            InputError: there is no such option, or the value is none.
        """
        option = self.option(name)
        found = option.read(str(value).strip())
        if found is None:
            raise InputError(
                f"not a value of {option.name} of {self.name}",
                column="measures",
                found=repr(value),
                expected=option.expected,
            )
        return option.name, found


def whole(least: int) -> Callable[[str], int | None]:
    """Reads whole numbers from ``least`` on."""

    def read(text: str) -> int | None:
        return int(text) if text.isascii() and text.isdigit() and int(text) >= least else None

    return read


def fraction(text: str) -> float | None:
    """Reads numbers from 0 to 1."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    return value if 0.0 <= value <= 1.0 else None


RELEVANT_FROM = Option("rel", "a whole number, 1 or more", whole(1), default=1)
"""The grade from which on a document is relevant; trec_eval's ``-l``."""


def relevant_from(options: Mapping[str, OptionValue]) -> int:
    """The value of ``rel``."""
    return int(options["rel"])
