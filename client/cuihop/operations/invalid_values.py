"""Errors that Pydantic lists of a request, in plain words; for the service and for the tools of agents."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from cuihop.files.text_lines import shortened

_MEANT: Mapping[str, Sequence[str]] = {
    "text": ("q", "query", "s", "search", "term", "name", "words"),
    "texts": ("text", "documents", "captions"),
    "a": ("from", "source", "start", "cui1", "c1"),
    "b": ("to", "target", "end", "cui2", "c2"),
    "cui": ("id", "code", "concept", "identifier"),
    "cuis": ("ids", "codes", "concepts", "identifiers", "cui"),
    "max_hops": ("max", "hops", "bound", "max_distance", "maxdist"),
    "hops": ("distance", "depth", "radius", "n", "max_hops"),
    "limit": ("n", "k", "top", "size", "count", "max"),
    "within_sabs": ("sab", "sabs", "vocabulary", "vocabularies"),
    "lambda": ("lam", "weight"),
}
"""Parameter → names that other programs have for it."""

_LONGEST = 40


def meant(name: str, names: Iterable[str]) -> str | None:
    """The parameter that an unknown name may stand for; ``None`` for a name without a likely one.

    >>> meant("q", ["text", "limit"]), meant("directon", ["a", "b", "direction"]), meant("zzz", ["a", "b"])
    ('text', 'direction', None)
    """
    parameters = list(names)
    for each in parameters:
        if name.lower() in _MEANT.get(each, ()):
            return each
    return next(iter(get_close_matches(name[:_LONGEST], parameters, 1)), None)


def decisive(errors: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The error to report of those that Pydantic lists: an unknown name, which may be why another is missing."""
    return next((error for error in errors if error["type"] == "extra_forbidden"), errors[0])


def in_json(value: Any) -> str:
    """A value as JSON has it, cut where it is long.

    >>> in_json({"a": [None, "x"]}), in_json(b"x=1")
    ('{"a": [null, "x"]}', 'x=1')
    """
    if isinstance(value, bytes):
        return shortened(value.decode("utf-8", "backslashreplace"))
    text = json.dumps(value, ensure_ascii=False, default=str)
    return shortened(text.encode("utf-8", "backslashreplace").decode())  # halves of characters cannot be sent


def expectation(error: Mapping[str, Any]) -> str:
    """The words for what a value should have been, for one of the errors that Pydantic lists.

    >>> expectation({"type": "less_than_equal", "ctx": {"le": 9}, "msg": "Input should be less than or equal to 9"})
    'at most 9'
    """
    kind, context = error["type"], error.get("ctx", {})
    if kind in _KINDS:
        return _KINDS[kind].format_map(context)
    if kind == "literal_error":
        return str(context["expected"]).replace("'", "")
    if kind == "value_error":
        return str(context["error"])
    return str(error["msg"]).removeprefix("Input should be ")


_NUMBER, _LIST, _OBJECT = "a whole number", 'a list, as in ["…", "…"]', 'an object, as in {{"…": …}}'
_KINDS: Mapping[str, str] = {
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float", "int_parsing_size"), _NUMBER),
    **dict.fromkeys(("float_type", "float_parsing", "finite_number"), "a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    "json_invalid": "JSON",
    "string_type": 'a text, as in "…"',
    **dict.fromkeys(("list_type", "tuple_type"), _LIST),
    **dict.fromkeys(("model_type", "model_attributes_type", "dict_type"), _OBJECT),
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "too_short": "at least {min_length:,} items",
    "too_long": "at most {max_length:,} items",
    "string_too_short": "at least {min_length:,} characters",
    "string_too_long": "at most {max_length:,} characters",
    "string_pattern_mismatch": "a text of the form {pattern}",
}
"""Kind of an error → what was expected, with the values of its context."""
