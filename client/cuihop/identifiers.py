"""Identifiers: CUIs, and other vocabularies' identifiers as opaque strings.

A CUI is the letter C and seven digits (`seeds` paper, section 3.1; UMLS Reference Manual). NCI Metathesaurus
adds ``CL`` identifiers of its own, and ontologies have theirs (``HP:0001250``). A graph states its kind.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import Literal, NamedTuple, TypeAlias

from cuihop.errors import InputError

__all__ = [
    "EXPECTED",
    "MAX_LENGTH",
    "MISSING_VALUES",
    "IdentifierFault",
    "Identifiers",
    "are_identifiers",
    "as_read",
    "checked_identifiers",
    "codes_among",
    "codes_of",
    "concept_set",
    "ends_of_pairs",
    "identifier_fault",
    "in_upper_case",
    "is_identifier",
    "looks_like_identifier",
    "may_be_name",
    "written_as_code",
]

Identifiers: TypeAlias = Literal["cui", "any"]
"""``cui``: only ``C`` and seven digits. ``any``: opaque strings too."""

MAX_LENGTH = 128
"""The longest identifier that a graph holds, in characters."""

_CUI = re.compile(r"C[0-9]{7}")
_OPAQUE = re.compile(rf"[!-:<-{{}}~]{{1,{MAX_LENGTH}}}")  # printable ASCII without space, ';' and '|'
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*:[!-:<-{}~]+")
_OPAQUE_LIST = re.compile(rf"(?:{_OPAQUE.pattern}+ )*+")

_CUI_IN_ANY_CASE = re.compile(r"[Cc](?:[0-9]{7}|[Ll][0-9]{6})")  # UMLS, and NCI Metathesaurus' own
_PREFIXED = re.compile(r"[A-Za-z][A-Za-z0-9_.]*:[A-Za-z]?[0-9]+")  # of ontologies: HP:0001250
_SYNSET = re.compile(r"(?:[A-Za-z][A-Za-z0-9]*-)?[0-9]{8}-[nvars]")  # of wordnets: 02084071-n, oewn-02086723-n
_NUMBERED = re.compile(r"[^0-9]*[0-9]{3}")
_SEPARATOR = re.compile(r"[\s,|/&+]+")
_SEPARATORS = {",": "a comma", "\t": "a tab", "|": "'|'", "/": "'/'", "&": "'&'", "+": "'+'"}
_QUOTES = "[](){}'\""
_LIST_BEGINS_OR_ENDS = re.compile(r"[\[({]['\"].*|.*['\"][\])}]")
MISSING_VALUES = frozenset({"nan", "none", "null", "<na>"})
"""Texts, in lower case, that programs write for a missing value."""

_SEVERAL = "';' between identifiers, as in C0006121;C0018670"

EXPECTED: dict[Identifiers, str] = {
    "cui": "the letter C and seven digits, as in C0006121",
    "any": f"1 to {MAX_LENGTH} printable ASCII characters without space, ';' or '|'",
}


def is_identifier(text: str, identifiers: Identifiers = "cui") -> bool:
    """Match ``text`` against the form of an identifier.

    >>> is_identifier("C0006121"), is_identifier("c0006121"), is_identifier("CL319935")
    (True, False, False)
    >>> is_identifier("CL319935", "any")
    True
    """
    return (_CUI if identifiers == "cui" else _OPAQUE).fullmatch(text) is not None


def are_identifiers(texts: Collection[str]) -> bool:
    """True where every text has the form of an identifier, of any vocabulary: much faster than one after the other.

    >>> are_identifiers(["HP:0001250", "CL319935"]), are_identifiers(["HP:0001250", "a b"])
    (True, False)
    """
    joined = " ".join([*texts, ""])
    return joined.count(" ") == len(texts) and _OPAQUE_LIST.fullmatch(joined) is not None


def written_as_code(text: str) -> bool:
    """Recognise the form of a code of a vocabulary, ``SAB:CODE``, of a CURIE and of a URI.

    >>> [written_as_code(text) for text in ("MSH:D001933", "umls:C0006121", "C0006121", "MSH: D001933")]
    [True, True, False, False]
    """
    return len(text) <= MAX_LENGTH and _CODE.fullmatch(text) is not None


def codes_among(merged: Mapping[str, str]) -> dict[str, str]:
    """The codes, CURIEs and URIs among identifiers that others were taken for; the rest are retired identifiers.

    >>> codes_among({"C0000001": "C0006121", "MSH:D001933": "C0006121", "HP:0000057": "HP:0008665"})
    {'MSH:D001933': 'C0006121'}
    """
    return {
        old: new
        for old, new in merged.items()
        if ":" in old and (":" not in new or old.partition(":")[0] != new.partition(":")[0])
    }


class IdentifierFault(NamedTuple):
    """The reason for refusing a text: the problem, and the form that was expected."""

    problem: str
    expected: str


def looks_like_identifier(text: str) -> bool:
    """Recognise the form of a CUI, in either case, of an ontology's identifier, or of a wordnet's.

    >>> [looks_like_identifier(text) for text in ("C0006121", "c0006121", "HP:0001250", "02084071-n")]
    [True, True, True, True]
    >>> [looks_like_identifier(text) for text in ("CUIs", "image_7")]
    [False, False]
    """
    return any(form.fullmatch(text) for form in (_CUI_IN_ANY_CASE, _PREFIXED, _SYNSET))


def may_be_name(text: str) -> bool:
    """Recognise a word, or several, in the place of an identifier, whose first number has three digits or more.

    >>> [may_be_name(text) for text in ("heart", "vitamin B12", "C9999999", "HP:0001250", "22298006", "")]
    [True, True, False, False, False, False]
    """
    return any(map(str.isalpha, text)) and _NUMBERED.match(text) is None and not written_as_code(text)


def in_upper_case(text: str) -> str:
    """A CUI in upper case; any other text as it is.

    >>> in_upper_case("c0006121"), in_upper_case("hp:0001250")
    ('C0006121', 'hp:0001250')
    """
    return text.upper() if _CUI_IN_ANY_CASE.fullmatch(text) else text


codes_of: ContextVar[str | None] = ContextVar("codes_of", default=None)
"""The vocabulary (SAB) whose codes stand where identifiers are read; ``None`` where these are concepts, or codes with
their vocabulary. Each command has a context of its own, and sets it by ``--identifiers``."""


def as_read(text: str) -> str:
    """The identifier that a text stands for: a CUI in upper case, or a code with the vocabulary of `codes_of`.

    >>> as_read("c0006121")
    'C0006121'
    >>> token = codes_of.set("MSH")
    >>> as_read("D001933"), as_read(as_read("D001933"))
    ('MSH:D001933', 'MSH:D001933')
    >>> codes_of.reset(token)
    """
    sab = codes_of.get()
    if sab is None:
        return in_upper_case(text)
    return text if text.startswith(f"{sab}:") else f"{sab}:{text}"


def identifier_fault(text: str, identifiers: Identifiers = "any") -> IdentifierFault | None:
    """The reason why ``text`` is no identifier, in upper or lower case; ``None`` for one that is well formed.

    The single definition for all readers and graphs. A malformed identifier is an error, never an unknown concept. A
    code, ``SAB:CODE``, is well formed: only the graph can say whether it has codes of that vocabulary.

    >>> identifier_fault("c0006121", "cui")
    >>> identifier_fault("C0006121,C0018670").problem
    'identifiers separated by a comma'
    >>> identifier_fault("['C0006121'").problem
    'a list as Python writes it in place of identifiers'
    """
    if _CUI_IN_ANY_CASE.fullmatch(text) and is_identifier(text.upper(), identifiers):
        return None
    if not text:
        return IdentifierFault("an identifier is missing", "identifiers between ';'")
    if _is_of_a_list(text):
        return IdentifierFault("a list as Python writes it in place of identifiers", _SEVERAL)
    pieces = [piece for piece in _SEPARATOR.split(text.strip()) if piece]
    separator = _SEPARATOR.search(text.strip())
    if separator is not None and all(map(looks_like_identifier, pieces)):
        mark = separator.group().strip(" ")[:1]
        return IdentifierFault(f"identifiers separated by {_SEPARATORS.get(mark, 'a blank')}", _SEVERAL)
    if text.lower() in MISSING_VALUES:
        return IdentifierFault(
            "a missing value in place of identifiers", "an empty field for an image without concepts"
        )
    if is_identifier(text, identifiers) or written_as_code(text):
        return None
    return IdentifierFault("not an identifier", EXPECTED[identifiers])


def _is_of_a_list(text: str) -> bool:
    """Recognise a list as Python writes it, or the beginning or end of one; not other identifiers with such marks."""
    if text[0] not in _QUOTES and text[-1] not in _QUOTES:
        return False
    balanced = all(text.count(begin) == text.count(end) for begin, end in ("[]", "()", "{}"))
    quoted = text.count('"') % 2 == 0 and text.count("'") % 2 == 0
    closed = balanced and quoted and not _LIST_BEGINS_OR_ENDS.fullmatch(text)
    inside = text.strip(_QUOTES)
    return not (closed and inside) or looks_like_identifier(inside) or any(map(str.isspace, text))


def concept_set(text: str | Iterable[str]) -> frozenset[str]:
    """The set of concepts written as ``C1;C2``, or given as any collection of identifiers; codes as in `as_read`.

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
    concepts = [concept.strip() for concept in text.split(";")]
    if not all(concepts):
        raise InputError("an identifier is missing", found=repr(text), expected="identifiers between ';'")
    return frozenset(concepts if codes_of.get() is None else map(as_read, concepts))


def checked_identifiers(cuis: Sequence[str]) -> Sequence[str]:
    """The identifiers, or an `InputError` where one text is given instead of a list of them."""
    if isinstance(cuis, str):
        raise InputError("one text, not a list of identifiers", column="cuis", found=repr(cuis), expected=f"[{cuis!r}]")
    return cuis


def ends_of_pairs(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Start, end, start, end, and so on, or an `InputError` where an item is no pair."""
    ends: list[str] = []
    item: object = pairs
    try:
        for item in pairs:
            a, b = item
            ends.append(a)  # twice as fast as one comprehension of both
            ends.append(b)
    except (TypeError, ValueError):
        item = repr(item)
    else:
        return ends
    raise InputError("not a pair of identifiers", column="pairs", found=item[:80], expected="[(a, b), …]")
