"""The end of an object in a JSON text."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled

_QUOTE, _BACKSLASH, _OPEN, _CLOSE = 34, 92, 123, 125


@compiled
def end_of_object(text: npt.NDArray[np.uint8], at: int) -> int:
    """The place after the object that begins at ``at``; 0 where the text ends before it. No syntax is checked."""
    depth = 0
    in_string = False
    place = at
    while place < text.size:
        sign = text[place]
        if in_string:
            if sign == _BACKSLASH:
                place += 1
            elif sign == _QUOTE:
                in_string = False
        elif sign == _QUOTE:
            in_string = True
        elif sign == _OPEN:
            depth += 1
        elif sign == _CLOSE:
            depth -= 1
            if depth == 0:
                return place + 1
        place += 1
    return 0
