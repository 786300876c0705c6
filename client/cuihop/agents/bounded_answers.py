"""Bounds on an answer: rows, length of texts, bytes. All that is left out is counted in the answer itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from cuihop.agents.arguments import MOST_ROWS

__all__ = ["LEFT_OUT", "MOST_BYTES", "bounded", "json_text"]

MOST_BYTES = 4_000
"""Bytes of an answer as JSON in UTF-8."""

LEFT_OUT = "left_out"
"""The field of an answer that counts what it does not hold."""

_MOST_INNER_ROWS = 3  # of a list within a row, such as the witnesses of a near concept
_LONGEST_TEXT = 300


def json_text(answer: Mapping[str, Any]) -> str:
    """An answer as compact JSON.

    >>> json_text({"hops": 3, "name": "Ménière"})
    '{"hops":3,"name":"Ménière"}'
    """
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def bounded(fields: Mapping[str, Any], totals: Mapping[str, int] | None = None) -> dict[str, Any]:
    """An answer of at most `MOST_ROWS` rows a list and `MOST_BYTES` bytes.

    Where lists are too long, the longest loses its last rows first. ``left_out`` has the total and the number shown of
    each list that is cut, of the lists within its rows (``related.witnesses``), and of the characters of long texts
    (``characters``); it is empty where nothing is left out.

    Args:
        fields: the answer; the values of lists are in order, best or nearest first.
        totals: sizes of lists that the graph itself has cut.

    >>> bounded({"hits": list(range(30))})["left_out"]
    {'hits': {'total': 30, 'shown': 20}}
    """
    sizes: dict[str, list[int]] = {}  # name → total, shown
    answer = {name: _cut(name, value, sizes) for name, value in fields.items()}
    lists = {name: value for name, value in answer.items() if isinstance(value, list | dict)}
    given = {name: len(fields[name]) for name in lists} | dict(totals or {})
    while True:
        for name, value in lists.items():
            sizes[name] = [given[name], len(value)]
        cut = {name: {"total": of, "shown": some} for name, (of, some) in sizes.items() if some < of}
        answer[LEFT_OUT] = cut
        if "truncated" in answer:
            answer["truncated"] = any(name in cut for name in lists)
        if len(json_text(answer).encode()) <= MOST_BYTES or not any(lists.values()):
            return answer
        longest = max(lists.values(), key=lambda value: len(json_text({"": value})))
        if isinstance(longest, dict):
            longest.popitem()
        else:
            longest.pop()


def _cut(place: str, value: Any, sizes: dict[str, list[int]]) -> Any:
    """A value without its last rows and without the ends of long texts; their numbers are added to ``sizes``.

    Args:
        place: name of the value; a list within a row has a dot in it.
        value: of a field.
        sizes: total and number shown, by place.
    """
    if isinstance(value, str):
        if len(value) > _LONGEST_TEXT:
            _count(sizes, "characters", len(value), _LONGEST_TEXT)
            return value[:_LONGEST_TEXT] + "…"
        return value
    if isinstance(value, Mapping):
        rows = list(value.items())[:MOST_ROWS]
        return {name: _cut(f"{place}.{name}", item, sizes) for name, item in rows}
    if isinstance(value, list | tuple):
        most = _MOST_INNER_ROWS if "." in place else MOST_ROWS
        if "." in place:
            _count(sizes, place, len(value), min(len(value), most))
        return [_cut(place, item, sizes) for item in value[:most]]
    return value


def _count(sizes: dict[str, list[int]], place: str, total: int, left: int) -> None:
    counts = sizes.setdefault(place, [0, 0])
    counts[0] += total
    counts[1] += left
