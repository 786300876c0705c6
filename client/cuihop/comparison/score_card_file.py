"""Parser of score cards: their fields, types and digest."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeAlias

from cuihop.errors import InputError
from cuihop.evaluation.means import MeanQueries, mean_of
from cuihop.files.content_digest import content_digest
from cuihop.files.input_file import InputFile, Readable, opened_input
from cuihop.files.text_lines import quoted, whole_text
from cuihop.measures.measure import measures_named

__all__ = ["FORMAT", "LARGEST_CARD", "is_score_card", "score_card_content"]

FORMAT = 2
LARGEST_CARD = 1 << 28
"""Bytes of JSON; a card of 116,635 queries and 12 measures has 35 million."""

_EXPECTED = "a score card: what cuihop evaluate --card writes"
_ROUNDING = 1e-9  # values are quotients of sums, and may be beyond 1 by their rounding

Refuse: TypeAlias = Callable[[str, str, object, str], NoReturn]
"""Called with the problem, the field, its content, and the expected content."""


def is_score_card(file: InputFile) -> bool:
    """Recognise a file meant for a score card rather than for a ranking: JSON by its name or its first character.

    The first line of a ranking in JSON Lines holds a query and a document.
    """
    if file.suffix == ".json":
        return True
    head = file.first_bytes.removeprefix(b"\xef\xbb\xbf").lstrip()
    first = head.partition(b"\n")[0].lower()
    return head[:1] == b"{" and not (b'"query"' in first and b'"document"' in first)


def score_card_content(given: Readable) -> dict[str, Any]:
    """The fields of the card in the file, each of its type, without the digest, which fits.

    Raises:
        InputError: names the file and the field.
    """
    file = opened_input(given)
    path = file.name

    def refuse(problem: str, field: str, found: object, expected: str) -> NoReturn:
        raise InputError(problem, file=path, column=field, found=quoted(str(found)), expected=expected)

    content = _json(file)
    if not isinstance(content, dict) or "score_card" not in content:
        raise InputError("not a score card", file=path, expected=_EXPECTED)
    if content["score_card"] is True or content["score_card"] != FORMAT:
        raise InputError(
            "a score card of another format", file=path, column="score_card", found=quoted(repr(content["score_card"])),
            expected=f"format {FORMAT}",
        )  # fmt: skip
    _check_fields(content, refuse)
    sealed = content.pop("sha256")
    try:
        digest = content_digest(content)
    except ValueError as error:  # a number that is not finite, or text that is no Unicode
        refuse("not what a score card may hold", "conditions, counts or versions", error, "finite numbers and UTF-8")
    if sealed != digest:
        raise InputError(
            "the score card was changed after it was written", file=path, column="sha256",
            found=quoted(digest), expected=quoted(sealed), advice="Evaluate the system again.",
        )  # fmt: skip
    _check_means(content["means"], content["values"], refuse)
    _check_mean_queries(content["mean_queries"], content["values"], refuse)
    return content


def _json(file: InputFile) -> Any:
    def no_number(text: str) -> NoReturn:
        raise InputError("not JSON: a number that is not finite", file=file.name, found=text, expected=_EXPECTED)

    text = whole_text(file, LARGEST_CARD)
    try:
        return json.loads(text, parse_constant=no_number)
    except RecursionError:
        raise InputError("not a score card: nested too deeply", file=file.name, expected=_EXPECTED) from None
    except ValueError as error:
        raise InputError(f"not JSON: {error}", file=file.name, expected=_EXPECTED) from None


def _check_fields(content: Mapping[str, Any], refuse: Refuse) -> None:
    types: dict[str, tuple[type, str]] = {
        "system": (str, "the name of the system"),
        "means": (dict, "measure → mean"),
        "mean_queries": (dict, "measure → the queries behind its mean"),
        "conditions": (dict, "name → value"),
        "counts": (dict, "name → number"),
        "versions": (dict, "name → version"),
        "queries": (list, "names of queries, each once"),
        "values": (dict, "measure → a value for each query"),
        "sha256": (str, "the digest of the content"),
    }
    for field, (kind, expected) in types.items():
        if field not in content:
            refuse("a field is missing", field, "nothing", expected)
        if not isinstance(content[field], kind):
            refuse("not of its type", field, json.dumps(content[field]), expected)
    strange = next((field for field in content if field not in (*types, "score_card", "inputs")), None)
    if strange is not None:
        refuse("no field of a score card", strange, json.dumps(content[strange]), f"only {', '.join(types)}")
    if not content["system"]:
        refuse("the system has no name", "system", "nothing", "a name")
    for name, version in content["versions"].items():
        if not isinstance(version, str):
            refuse("not a version", f"versions, {quoted(name)}", json.dumps(version), "text")
    inputs = content.get("inputs", {})
    if not isinstance(inputs, dict) or not all(isinstance(account, str) for account in inputs.values()):
        refuse("not of its type", "inputs", json.dumps(inputs), "input → how it was read")
    queries = content["queries"]
    seen: set[str] = set()
    for query in queries:
        if not isinstance(query, str) or query in seen:
            again = isinstance(query, str)
            refuse("a query stands twice" if again else "not a query", "queries", query, "names, each once")
        seen.add(query)
    if not queries or not content["values"]:
        refuse("the card is empty", "values" if queries else "queries", "nothing", "at least one")
    for name, column in content["values"].items():
        _check_values(name, column, len(queries), refuse)


def _check_values(name: str, column: object, queries: int, refuse: Refuse) -> None:
    field = f"values, {quoted(name)}"
    try:
        is_one = [str(measure) for measure in measures_named(name)] == [name]
    except InputError as error:
        refuse(error.problem, field, name, "a measure as cuihop measures lists them")
    if not is_one:
        refuse("not the name of one measure", field, name, "a measure as cuihop measures lists them")
    if not isinstance(column, list) or len(column) != queries:
        refuse("not a value for each query", field, f"{len(column):,} values" if isinstance(column, list) else column,
               f"{queries:,} values")  # fmt: skip
    for place, value in enumerate(column):
        if value is not None and not _is_value(value):
            refuse("not a value", f"{field}, query {place + 1:,}", value, "a number from 0 to 1, or null")


def _is_value(value: object) -> bool:
    return isinstance(value, float) and -_ROUNDING <= value <= 1.0 + _ROUNDING


def _check_means(means: Mapping[str, object], values: Mapping[str, list[float | None]], refuse: Refuse) -> None:
    if set(means) != set(values):
        refuse("other measures than those of the values", "means", ", ".join(means) or "none", ", ".join(values))
    for name, column in values.items():
        expected = mean_of(value for value in column if value is not None)
        if isinstance(means[name], bool) or means[name] != expected:
            refuse("not the mean of the values", f"means, {quoted(name)}", means[name], str(expected))


def _check_mean_queries(behind: Mapping[str, Any], values: Mapping[str, list[float | None]], refuse: Refuse) -> None:
    if set(behind) != set(values):
        found, expected = ", ".join(behind) or "none", ", ".join(values)
        refuse("other measures than those of the values", "mean_queries", found, expected)
    fields = {field.name for field in dataclasses.fields(MeanQueries)}
    for name, counts in behind.items():
        field, queries = f"mean_queries, {quoted(name)}", len(values[name])
        whole = isinstance(counts, dict) and set(counts) == fields
        if not whole or not all(type(count) is int and 0 <= count <= queries for count in counts.values()):
            expected = f"{', '.join(sorted(fields))}: whole numbers, up to {queries:,}"
            refuse("not numbers of queries", field, json.dumps(counts), expected)
        scored = sum(value is not None for value in values[name])
        if counts["scored"] != scored:
            refuse("not the queries that have a value", field, counts["scored"], f"{scored:,}")
