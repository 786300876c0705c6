"""SHA-256 of values, whatever file they came from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import TypeVar

Value = TypeVar("Value", bound=Hashable)

_JSON = json.JSONEncoder(sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_KEYS_AT_ONCE = 1024


def content_digest(value: object) -> str:
    """SHA-256 of a value of JSON, in hexadecimal. The order of keys does not matter, that of lists does.

    >>> content_digest({"a": 1, "b": [2, 3]}) == content_digest({"b": [2, 3], "a": 1})
    True
    """
    return hashlib.sha256(_JSON.encode(value).encode()).hexdigest()


def digest_of_mapping(values: Mapping[str, Value], plain: Callable[[Value], object]) -> str:
    """`content_digest` of the same keys with ``plain(value)`` each; neither that mapping nor its text is stored.

    >>> digest_of_mapping({"b": frozenset("x"), "a": frozenset()}, sorted) == content_digest({"a": [], "b": ["x"]})
    True
    """
    texts: dict[Value, str] = {}

    def text_of(key: str) -> str:
        value = values[key]
        if (text := texts.get(value)) is None:
            text = texts[value] = _JSON.encode(plain(value))
        return f"{_JSON.encode(key)}:{text}"

    keys = sorted(values)
    digest = hashlib.sha256(b"{")
    for first in range(0, len(keys), _KEYS_AT_ONCE):
        digest.update(b"," if first else b"")
        digest.update(",".join(map(text_of, keys[first : first + _KEYS_AT_ONCE])).encode())
    digest.update(b"}")
    return digest.hexdigest()


def file_digest(path: Path) -> str:
    """SHA-256 of the bytes of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
