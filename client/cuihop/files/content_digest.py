"""SHA-256 of values, whatever file they came from."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

__all__ = ["content_digest", "file_digest"]


def content_digest(value: object) -> str:
    """SHA-256 of a value of JSON, in hexadecimal. The order of keys does not matter, that of lists does.

    >>> content_digest({"a": 1, "b": [2, 3]}) == content_digest({"b": [2, 3], "a": 1})
    True
    """
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def file_digest(path: Path) -> str:
    """SHA-256 of the bytes of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
