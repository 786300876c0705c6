"""Texts of a request: their check, and blocks of them. No error repeats a text: it may be a patient's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cuihop.errors import InputError, LimitExceeded


def checked_texts(texts: Sequence[str]) -> Sequence[str]:
    """The texts, or an `InputError` if one text is given instead of a list of them, or an item is no text."""
    if isinstance(texts, str):
        raise InputError("one text, not a list of texts", column="texts", expected="['…', …]")
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(
                "not a text", column=f"texts.{index}", found=f"a value of the type {type(text).__name__}",
                expected="a text",
            )  # fmt: skip
    return texts


def text_too_long(index: int, characters: int, allowed: int) -> LimitExceeded:
    """The error for a text, by its index from 0, of more characters than a service allows."""
    return LimitExceeded(f"texts.{index}: too many characters: found {characters:,}; this service allows {allowed:,}")


def blocks_of_texts(texts: Sequence[str], most_texts: int, most_characters: int) -> Iterator[slice]:
    """Consecutive blocks that hold all texts, each as large as the bounds allow. At least one, which may be empty.

    A text of more characters than a block may hold is a block of its own.

    >>> list(blocks_of_texts(["a", "bc", "defgh", ""], 2, 4))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    >>> list(blocks_of_texts([], 2, 4))
    [slice(0, 0, None)]
    """
    first = characters = 0
    for index, text in enumerate(texts):
        if index > first and (index - first == most_texts or characters + len(text) > most_characters):
            yield slice(first, index)
            first, characters = index, 0
        characters += len(text)
    yield slice(first, len(texts))
