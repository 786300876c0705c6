"""The form of captions that ImageCLEFmedical compares."""

from __future__ import annotations

import re
import string
from typing import Literal, TypeAlias

CaptionText: TypeAlias = Literal["imageclef", "as-given"]
"""Form in which the words of captions are compared: as ImageCLEF does, or as they are given."""

_NUMBER = re.compile(r"\d+")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised_caption(caption: str) -> str:
    r"""Lower case; then ``number`` for each run of digits; then no punctuation of ASCII.

    The order is that of ImageCLEFmedical's evaluation programs of 2025 and 2026. Digits are all that ``\d`` matches, of
    any script; other punctuation, such as an en dash, stays.

    >>> normalised_caption("CT, 3.5 mm (T2)")
    'ct numbernumber mm tnumber'
    """
    return _NUMBER.sub("number", caption.lower()).translate(_WITHOUT_PUNCTUATION)


def compared_text(caption: str, text: CaptionText) -> str:
    """A caption in the form that is compared."""
    return normalised_caption(caption) if text == "imageclef" else caption
