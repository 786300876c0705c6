"""Texts as arrays of code points, for compiled code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt


def coded(texts: Sequence[str] | Iterable[str]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """Code points of a batch of texts, one after the other, and the bounds of the texts among them.

    Returns:
        uint32, shape (characters,), and int64, shape (texts + 1,).

    >>> codes, bounds = coded(["ab", "", "é"])
    >>> codes.tolist(), bounds.tolist()
    ([97, 98, 233], [0, 2, 2, 3])
    """
    texts = list(texts)
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    return codes, np.cumsum([0, *map(len, texts)], dtype=np.int64)
