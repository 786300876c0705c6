"""Rules of a scoring of captions: the form of words, the edition of ImageCLEFmedical caption, and the composites."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from cuihop.errors import InputError, checked_choice
from cuihop.measures.measure import Measure, measures_named

CaptionText: TypeAlias = Literal["imageclef", "as-given"]
"""Form in which the words of captions are compared: as ImageCLEF does, or as they are given."""

Official: TypeAlias = Literal["2025", "2026"]
"""Edition of the evaluation program of ImageCLEFmedical caption whose rules hold."""

_NUMBER = re.compile(r"\d+")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)
_PAPER = ("BERTScore", "ROUGE-1", "similarity", "BLEURT")
_RELEVANCE: Mapping[Official | None, Sequence[str]] = {
    None: _PAPER,
    "2025": ("BERTScore(value=F1)", "ROUGE-1", "similarity"),
    "2026": ("BERTScore(value=F1)", "ROUGE-1", "similarity", "BLEURT"),
}


def normalised_caption(caption: str) -> str:
    r"""Lower case; then ``number`` for each run of digits; then no punctuation of ASCII.

    The order is that of ImageCLEFmedical's evaluation programs of 2025 and 2026. Digits are all that ``\d`` matches, of
    any script; other punctuation, such as an en dash, stays.

    >>> normalised_caption("CT, 3.5 mm (T2)")
    'ct numbernumber mm tnumber'
    """
    return _NUMBER.sub("number", caption.lower()).translate(_WITHOUT_PUNCTUATION)


@dataclass(frozen=True, slots=True)
class CaptionRules:
    """Rules of a scoring of captions.

    Attributes:
        text: form in which words are compared: see `CaptionText`.
        official: the edition of ImageCLEFmedical caption whose program decides; see `cuihop.captions.components`.

    Raises:
        InputError: a value is not one of its choices, or the program's rules are requested for captions as given.
    """

    text: CaptionText = "imageclef"
    official: Official | None = None

    def __post_init__(self) -> None:
        checked_choice("text", self.text, CaptionText, "unknown form of captions")
        if self.official is None:
            return
        if self.official not in get_args(Official) or self.text != "imageclef":
            raise InputError(
                "no rules of the organisers", column="official", found=f"{self.official!r} with text={self.text!r}",
                expected=f"{' or '.join(get_args(Official))}, with text='imageclef'",
            )  # fmt: skip

    def compared_text(self, caption: str) -> str:
        """A caption in the form that is compared."""
        return normalised_caption(caption) if self.text == "imageclef" else caption


def components(family: str, official: Official | None = None) -> tuple[Measure, ...]:
    """The measures that a composite is the mean of.

    Args:
        family: ``relevance``, ``factuality`` or ``overall``.
        official: by the program of this edition; by default as the overview paper of 2025 defines it, section 4. The
            programs have no overall score; it is the mean of their two.

    >>> [str(measure) for measure in components("relevance", "2025")]
    ['BERTScore(value=F1)', 'ROUGE-1', 'similarity']
    """
    named = {
        "relevance": _RELEVANCE[official],
        "factuality": ("concept-F1", "AlignScore"),
        "overall": ("relevance", "factuality"),
    }
    return measures_named(named[family])
