"""Ranges of the number of training images: 0, 1 to 9, 10 to 99, and on by powers of ten."""

from __future__ import annotations


def frequency_range(times: int) -> tuple[int, int]:
    """The first and the last number of the range that holds a number of training images.

    >>> frequency_range(0), frequency_range(9), frequency_range(10)
    ((0, 0), (1, 9), (10, 99))
    """
    low = 10 ** (len(str(times)) - 1) if times else 0
    return low, 10 * low - 1 if low else 0


def range_text(low: int, high: int) -> str:
    """A range in words.

    >>> range_text(0, 0), range_text(1_000, 9_999)
    ('0', '1,000 to 9,999')
    """
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
