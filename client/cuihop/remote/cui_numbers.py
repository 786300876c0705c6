"""CUIs as numbers: C0042449 is 42449."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["cui_numbers"]

_LENGTH = 8
_POWERS = 10 ** np.arange(_LENGTH - 2, -1, -1, dtype=np.uint32)


def cui_numbers(cuis: Sequence[str]) -> npt.NDArray[np.uint32] | None:
    """The number of each CUI, uint32; ``None`` where one of them is not the letter C and seven digits.

    >>> cui_numbers(["C0042449", "C0000000"]).tolist()
    [42449, 0]
    >>> cui_numbers(["C0042449", "c0042449"]) is None
    True
    """
    if any(len(cui) != _LENGTH for cui in cuis):
        return None
    text = "".join(cuis)
    if not text.isascii():
        return None
    letters = np.frombuffer(text.encode("ascii"), dtype=np.uint8).reshape(-1, _LENGTH)
    digits = letters[:, 1:] - np.uint8(ord("0"))  # what stands before the digits wraps round, beyond 9
    if (letters[:, 0] != ord("C")).any() or (digits > 9).any():
        return None
    numbers: npt.NDArray[np.uint32] = digits.astype(np.uint32) @ _POWERS
    return numbers
