"""What an identifier is: a CUI, or another vocabulary's identifier kept as an opaque string.

A CUI is the letter C and seven digits (`seeds` paper, section 3.1; UMLS Reference Manual). NCI Metathesaurus
adds ``CL`` identifiers of its own, and ontologies have theirs (``HP:0001250``). A graph says which kind it holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, TypeAlias

from cuihop.errors import InputError

__all__ = ["EXPECTED", "MAX_LENGTH", "Identifiers", "concept_set", "is_identifier"]

Identifiers: TypeAlias = Literal["cui", "any"]
"""``cui``: only ``C`` and seven digits. ``any``: opaque strings too."""

MAX_LENGTH = 64
"""The longest identifier that a graph holds, in characters."""

_CUI = re.compile(r"C[0-9]{7}")
_OPAQUE = re.compile(rf"[!-:<-{{}}~]{{1,{MAX_LENGTH}}}")  # printable ASCII without space, ';' and '|'

EXPECTED: dict[Identifiers, str] = {
    "cui": "the letter C and seven digits, as in C0006121",
    "any": f"1 to {MAX_LENGTH} printable ASCII characters without space, ';' or '|'",
}


def is_identifier(text: str, identifiers: Identifiers = "cui") -> bool:
    """Whether ``text`` can be an identifier of that kind.

    >>> is_identifier("C0006121"), is_identifier("c0006121"), is_identifier("CL319935")
    (True, False, False)
    >>> is_identifier("CL319935", "any")
    True
    """
    return (_CUI if identifiers == "cui" else _OPAQUE).fullmatch(text) is not None


def concept_set(text: str | Iterable[str]) -> frozenset[str]:
    """The set of concepts written as ``C1;C2``, or given as any collection of identifiers.

    Empty text is the empty set. White space around an identifier is not part of it.

    >>> sorted(concept_set("C0042449; C0005847"))
    ['C0005847', 'C0042449']
    >>> concept_set("")
    frozenset()

    Raises:
        InputError: an identifier is missing between two semicolons.
    """
    if not isinstance(text, str):
        return frozenset(text)
    if not text.strip():
        return frozenset()
    parts = [part.strip() for part in text.split(";")]
    if not all(parts):
        raise InputError("an identifier is missing", found=repr(text), expected="identifiers between ';'")
    return frozenset(parts)
