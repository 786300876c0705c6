"""Families of measures: name, input, cut-off and options."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from cuihop.errors import InputError
from cuihop.measures.judged_rankings import JudgedRankings
from cuihop.resources.arrays import Float64

OptionValue: TypeAlias = int | float | str

Kind: TypeAlias = Literal["concepts", "judged", "pair", "detection", "code", "annotation", "caption"]
"""Input of a measure.

``concepts``: a ranking, and the concepts of the images. ``judged``: a ranking, and labels or relevance judgements.
``pair``: the concepts of two images. ``detection``: detected concepts and the true ones. ``code``: predicted codes.
``annotation``: annotated texts, and the true annotations. ``caption``: captions, and the reference captions.
"""

Cutoff: TypeAlias = Literal["needed", "optional", "none"]


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a measure, as in ``nn-CUI@10(n=2)``.

    Attributes:
        expected: permitted values, in words for messages.
        read: parser of a text; ``None`` for a text that is no value.
        spellings: other names that are accepted.
        default: omitted when the measure is printed. ``None``: set by the evaluation.
    """

    name: str
    expected: str
    read: Callable[[str], OptionValue | None]
    spellings: tuple[str, ...] = ()
    default: OptionValue | None = None

    @classmethod
    def of_words(cls, name: str, *words: str) -> Option:
        """An option whose value is one of these words; the first is the default."""
        return cls(name, " or ".join(words), lambda text: text if text in words else None, default=words[0])


@dataclass(frozen=True, slots=True)
class Family:
    """Measures that differ in their cut-off and options only.

    Attributes:
        options: in the order of printing. spellings: other names that are accepted.
        values: for ``judged``: function of the judged rankings, K and options that gives the value of each query.
        error: true where smaller values are better. limits: the smallest and the largest value.
        largest_k: the largest cut-off; ``None`` for any.
    """

    name: str
    meaning: str
    kind: Kind
    cutoff: Cutoff = "none"
    options: tuple[Option, ...] = ()
    spellings: tuple[str, ...] = ()
    values: Callable[[JudgedRankings, int | None, Mapping[str, OptionValue]], Float64] | None = None
    error: bool = False
    limits: tuple[float, float] = (0.0, 1.0)
    largest_k: int | None = None

    def option(self, name: str) -> Option:
        """The option with this name or spelling, or an `InputError`."""
        for option in self.options:
            if name == option.name or name in option.spellings:
                return option
        names = " or ".join(option.name for option in self.options)
        raise measure_error(f"not an option of {self.name}", repr(name), names or "no option")

    def checked(self, name: str, value: OptionValue) -> tuple[str, OptionValue]:
        """The option's own name, and its parsed value, or an `InputError`."""
        option = self.option(name)
        parsed = option.read(str(value).strip())
        if parsed is None:
            raise measure_error(f"not a value of {option.name} of {self.name}", repr(value), option.expected)
        return option.name, parsed


def measure_error(problem: str, value: str, expected: str, hint: str | None = None) -> InputError:
    """The error about a name of a measure."""
    return InputError(problem, column="measures", found=value, expected=expected, advice=hint)


def whole(least: int) -> Callable[[str], int | None]:
    """Parser of whole numbers from ``least`` on."""

    def read(text: str) -> int | None:
        return int(text) if text.isascii() and text.isdigit() and int(text) >= least else None

    return read


def fraction(text: str) -> float | None:
    """Parser of numbers from 0 to 1."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    return value if 0.0 <= value <= 1.0 else None


def limits_text(low: float, high: float) -> str:
    """The limits of a number in words.

    >>> limits_text(0.0, 2.5), limits_text(-math.inf, 1.0), limits_text(-math.inf, math.inf)
    (' from 0 to 2.5', ' of 1 at most', '')
    """
    if math.isinf(low):
        return "" if math.isinf(high) else f" of {high:g} at most"
    return f" from {low:g} to {high:g}"


RELEVANT_FROM = Option("rel", "a whole number, 1 or more", whole(1), default=1)
"""The least grade of a relevant document; trec_eval's ``-l``."""
