"""Bounds on an answer: rows, length of texts, bytes. All that is left out is counted in the answer itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from cuihop.agents.arguments import MOST_ROWS

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

    The longest list loses its last rows first until the answer fits. ``left_out`` has the total and the number shown of
    each list that is cut, of the lists within the rows shown (``related.witnesses``), and of the characters of long
    texts (``characters``); it is empty where nothing is left out.

    Args:
        fields: the answer; the values of lists are in order, best or nearest first.
        totals: sizes of lists that the graph itself has cut.

    >>> bounded({"hits": list(range(30))})["left_out"]
    {'hits': {'total': 30, 'shown': 20}}
    """
    rows = {name: MOST_ROWS for name, value in fields.items() if isinstance(value, list | tuple | Mapping)}
    while True:
        answer = _with_rows(fields, rows, totals or {})
        left = [name for name in rows if answer[name]]
        if not left or len(json_text(answer).encode()) <= MOST_BYTES:
            return answer
        longest = max(left, key=lambda name: len(json_text({"": answer[name]})))
        rows[longest] = len(answer[longest]) - 1


def _with_rows(fields: Mapping[str, Any], rows: Mapping[str, int], totals: Mapping[str, int]) -> dict[str, Any]:
    """The answer with at most this number of rows of each list."""
    sizes: dict[str, list[int]] = {}  # name → total, shown
    answer = {name: _cut(name, value, rows.get(name, 0), sizes) for name, value in fields.items()}
    for name in rows:
        sizes[name] = [totals.get(name, len(fields[name])), len(answer[name])]
    cut = {name: {"total": total, "shown": count} for name, (total, count) in sizes.items() if count < total}
    if "truncated" in answer:
        answer["truncated"] = not cut.keys().isdisjoint(rows)
    return {**answer, LEFT_OUT: cut}


def _cut(path: str, value: Any, most: int, sizes: dict[str, list[int]]) -> Any:
    """A value without its last rows and without the ends of long texts.

    Args:
        path: name of the value; a list within a row has a dot in it.
        sizes: total and number shown of texts and of lists within rows, by path; they are added up.
    """
    if isinstance(value, str):
        if len(value) > _LONGEST_TEXT:
            _count(sizes, "characters", len(value), _LONGEST_TEXT)
            return value[:_LONGEST_TEXT] + "…"
        return value
    if isinstance(value, Mapping):
        return _row(path, dict(list(value.items())[:most]), sizes)
    if isinstance(value, list | tuple):
        return [_row(path, item, sizes) for item in value[:most]]
    return value


def _row(path: str, row: Any, sizes: dict[str, list[int]]) -> Any:
    """A row, its own lists cut too."""
    if not isinstance(row, Mapping):
        return _cut(path, row, 0, sizes)
    answer = {}
    for name, value in row.items():
        answer[name] = _cut(f"{path}.{name}", value, _MOST_INNER_ROWS, sizes)
        if isinstance(value, list | tuple):
            _count(sizes, f"{path}.{name}", len(value), len(answer[name]))
    return answer


def _count(sizes: dict[str, list[int]], path: str, total: int, left: int) -> None:
    counts = sizes.setdefault(path, [0, 0])
    counts[0] += total
    counts[1] += left
