"""Score cards: the values of a system with everything that they depend on, sealed by a hash of the content.

A parsed card is checked: its fields, their types, and its digest.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from cuihop.collection.image_rows import index_of_names
from cuihop.errors import InputError
from cuihop.evaluation.means import MeanQueries, mean_of, number_text
from cuihop.evaluation.result import Details, MeasuredQueries
from cuihop.files.content_digest import content_digest
from cuihop.files.input_file import InputFile, Readable, opened_input, path_text
from cuihop.files.text_lines import COLUMN_NAMES, quoted, whole_text
from cuihop.files.written_files import write_whole
from cuihop.measures.family import limits_text
from cuihop.measures.measure import FAMILIES, measures_named

__all__ = ["ScoreCard", "is_score_card", "system_name"]

_ENDING = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,7}$")  # of a file; not the last number of v1.5
_RELEASE = ("digest", "sabs", "relations")
_TIES = "ties"
_PARAMETERS = (
    *("n", "lambda", "weight", "ic", "direction", "unknown", "missing", "empty_ideal", "ideal"),
    *("query_image", _TIES),  # of a ranking
    "label_agreement",
    *("official", "branching"),  # of detected concepts and codes
    *("text", "read from scores"),  # of captions
)


@dataclass(frozen=True, eq=False)
class ScoreCard:
    """The values of a system, and the conditions of their measurement.

    Attributes:
        system: the source of the ranking.
        conditions: name → value of everything that has to agree before two cards can be compared.
        queries: their names.
        values: name of a measure → float64, shape (queries,); NaN for a query that was skipped or is not judged.
        mean_queries: name of a measure → the queries behind its mean.
        counts: numbers of everything out of the ordinary, such as unknown concepts and empty queries.
        versions: of the software, and the name of the release.
        source: the file, or ``memory``.
        inputs: name of each input → summary of the parsed input, in one line. No condition: files may have other names.
    """

    system: str
    conditions: Mapping[str, Any]
    queries: tuple[str, ...]
    values: Mapping[str, npt.NDArray[np.float64]]
    mean_queries: Mapping[str, MeanQueries]
    counts: Mapping[str, Any]
    versions: Mapping[str, str]
    source: str = "memory"
    inputs: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, evaluation: MeasuredQueries, system: str | None = None) -> ScoreCard:
        """The card of an evaluation.

        Args:
            evaluation: of any kind.
            system: name of the system; by default `system_name` of its ranking or predictions.
        """
        parameters = dict(evaluation.parameters)
        release = {} if evaluation.release is None else dataclasses.asdict(evaluation.release)
        conditions = {f"release {name}": release.get(name) for name in _RELEASE}
        conditions |= {name: parameters.get(name) for name in _PARAMETERS}
        conditions |= {f"content of {name}": digest for name, digest in parameters.get("digests", {}).items()}
        source = str(parameters.get("ranking") or parameters.get("predictions") or "unnamed")
        named = path_text(system) if system else system_name(source)
        columns = {str(m): evaluation.values[:, column] for column, m in enumerate(evaluation.measures)}
        counts = {name: _number(value) for name, value in evaluation.summary()["counts"].items()}
        versions = {**evaluation.versions, **({"release": release["name"]} if release else {})}
        # As JSON gives them back: tuples are lists there.
        plain: dict[str, Any] = json.loads(json.dumps(conditions))
        return cls(
            named, plain, evaluation.queries, columns, evaluation.mean_queries, counts, versions,
            inputs=dict(evaluation.inputs),
        )  # fmt: skip

    def __repr__(self) -> str:
        means = ", ".join(f"{name} {number_text(mean)}" for name, mean in self.means.items())
        return f"<ScoreCard of {self.system}, {len(self.queries):,} queries: {means}>"

    def measured(self) -> MeasuredQueries:
        """The values as those of an evaluation."""
        return MeasuredQueries(
            measures=measures_named(list(self.values)), queries=self.queries,
            values=np.column_stack(list(self.values.values())), release=None, versions=self.versions,
            details=Details(self.counts, self.conditions, self.inputs),
        )  # fmt: skip

    @property
    def means(self) -> dict[str, float | None]:
        """The mean of each measure over the queries that have a value; ``None`` if none has."""
        return dict(self._means)

    @cached_property
    def _means(self) -> dict[str, float | None]:
        return {name: mean_of(column) for name, column in self.values.items()}

    def _content(self) -> dict[str, Any]:
        values = {name: [None if math.isnan(v) else v for v in column.tolist()] for name, column in self.values.items()}
        return {
            "score_card": FORMAT,
            "system": self.system,
            "means": self.means,
            "mean_queries": {name: dataclasses.asdict(behind) for name, behind in self.mean_queries.items()},
            "conditions": dict(self.conditions),
            "counts": dict(self.counts),
            "versions": dict(self.versions),
            **({"inputs": dict(self.inputs)} if self.inputs else {}),
            "queries": list(self.queries),
            "values": values,
        }

    @property
    def digest(self) -> str:
        """SHA-256 of the content."""
        return content_digest(self._content())

    def to_json(self) -> str:
        """The card as JSON, with its digest."""
        content = self._content()
        return json.dumps({**content, "sha256": content_digest(content)}, indent=1, ensure_ascii=False) + "\n"

    def write(self, path: str | Path) -> None:
        """Write the card atomically.

        Raises:
            OutputError: the disk is full, or the folder cannot be written.
        """
        write_whole(path, self.to_json())

    @classmethod
    def read(cls, path: Readable) -> ScoreCard:
        """Read a card.

        Raises:
            InputError: it is none, has another format, a field is missing or wrong, or its content does not fit
                its digest; names the file and the field.
        """
        file = opened_input(path)
        content = score_card_content(file)
        columns = {name: np.array(column, dtype=np.float64) for name, column in content["values"].items()}  # null: NaN
        behind = {name: MeanQueries(**counts) for name, counts in content["mean_queries"].items()}
        return cls(
            content["system"], content["conditions"], tuple(content["queries"]), columns, behind, content["counts"],
            content["versions"], file.name, content.get("inputs", {}),
        )  # fmt: skip

    def check_same_conditions(self, other: ScoreCard, called: tuple[str, str] | None = None) -> None:
        """Refuse cards that were not measured alike; ``called`` names the two systems in the message.

        Raises:
            InputError: conditions or queries differ; names every field that does, with both values.
        """
        names = dict.fromkeys((*self.conditions, *other.conditions))
        differ = [name for name in names if not _agree(name, self.conditions.get(name), other.conditions.get(name))]
        both = [
            f"{name}: {_text(self.conditions.get(name))} and {_text(other.conditions.get(name))}" for name in differ
        ]
        if different := sorted(set(self.queries) ^ set(other.queries)):
            sizes = f"{len(self.queries):,} and {len(other.queries):,}"
            differ.append("queries")
            both.append(f"queries: {sizes}; {len(different):,} in one only, such as {quoted(different[0])}")
        ours, theirs = called or (self.system, other.system)
        if differ:
            raise InputError(
                f"the score cards of {ours} and {theirs} do not match",
                column=f"field {', '.join(differ)}",
                found="; ".join(both),
                expected="the same in both",
            )

    def column(self, measure: str, queries: Sequence[str]) -> npt.NDArray[np.float64]:
        """The values of a measure in the order of these queries."""
        return self.values[measure][[self._places[query] for query in queries]]

    @cached_property
    def _places(self) -> dict[str, int]:
        return index_of_names(self.queries)


def system_name(source: str) -> str:
    """The name of a system after the file of its ranking, without folder and endings; any other source as it is.

    >>> system_name("runs/region.engine.run.gz"), system_name("random, seed 1")
    ('region.engine', 'random, seed 1')
    """
    source = path_text(source)
    name = source.removesuffix(".gz").removesuffix(".zst").replace("\\", "/").rpartition("/")[2]
    return _ENDING.sub("", name) or source


def _agree(name: str, ours: object, theirs: object) -> bool:
    # A ranking whose order was given has no ties that could have been ordered otherwise.
    return ours == theirs or (name == _TIES and None in (ours, theirs))


def _number(count: Any) -> Any:
    """The number of items of a count that lists them."""
    if isinstance(count, list | tuple):
        return len(count)
    if isinstance(count, Mapping):
        return {name: _number(value) for name, value in count.items()}
    return count


def _text(value: object) -> str:
    return "none" if value is None else quoted(str(value))


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
    keys = (COLUMN_NAMES[column] for column in ("query", "document"))
    return head[:1] == b"{" and not all(any(f'"{name}"'.encode() in first for name in names) for names in keys)


def score_card_content(path_or_file: Readable) -> dict[str, Any]:
    """The fields of the card in the file, each of its type, without the digest, which fits; errors name the field."""
    file = opened_input(path_or_file)
    path = file.name

    def refuse(problem: str, field: str, content_of_field: object, expected: str) -> NoReturn:
        raise InputError(
            problem, file=path, column=f"field {field}", found=quoted(str(content_of_field)), expected=expected
        )

    content = _json(file)
    if not isinstance(content, dict) or "score_card" not in content:
        raise InputError("not a score card", file=path, expected=_EXPECTED)
    if content["score_card"] is True or content["score_card"] != FORMAT:
        raise InputError(
            "a score card of another format", file=path, column="field score_card",
            found=quoted(repr(content["score_card"])),
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
            "the score card was changed after it was written", file=path, column="field sha256",
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
    if not isinstance(inputs, dict) or not all(isinstance(summary, str) for summary in inputs.values()):
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
        refuse(error.problem, field, name, "a measure as cuihop measures list lists them")
    if not is_one:
        refuse("not the name of one measure", field, name, "a measure as cuihop measures list lists them")
    if not isinstance(column, list) or len(column) != queries:
        refuse("not a value for each query", field, f"{len(column):,} values" if isinstance(column, list) else column,
               f"{queries:,} values")  # fmt: skip
    low, high = FAMILIES[measures_named(name)[0].family].limits
    for row, value in enumerate(column):
        if value is not None and not (isinstance(value, float) and low - _ROUNDING <= value <= high + _ROUNDING):
            refuse("not a value", f"{field}, query {row + 1:,}", value, f"a number{limits_text(low, high)}, or null")


def _check_means(means: Mapping[str, object], values: Mapping[str, list[float | None]], refuse: Refuse) -> None:
    if set(means) != set(values):
        refuse("other measures than those of the values", "means", ", ".join(means) or "none", ", ".join(values))
    for name, column in values.items():
        expected = mean_of(value for value in column if value is not None)
        if isinstance(means[name], bool) or means[name] != expected:
            refuse("not the mean of the values", f"means, {quoted(name)}", means[name], str(expected))


def _check_mean_queries(behind: Mapping[str, Any], values: Mapping[str, list[float | None]], refuse: Refuse) -> None:
    if set(behind) != set(values):
        named, expected = ", ".join(behind) or "none", ", ".join(values)
        refuse("other measures than those of the values", "mean_queries", named, expected)
    fields = {field.name for field in dataclasses.fields(MeanQueries)}
    for name, counts in behind.items():
        field, queries = f"mean_queries, {quoted(name)}", len(values[name])
        complete = isinstance(counts, dict) and set(counts) == fields
        if not complete or not all(type(count) is int and 0 <= count <= queries for count in counts.values()):
            expected = f"{', '.join(sorted(fields))}: whole numbers, up to {queries:,}"
            refuse("not numbers of queries", field, json.dumps(counts), expected)
        scored = sum(value is not None for value in values[name])
        if counts["scored"] != scored:
            refuse("not the queries that have a value", field, counts["scored"], f"{scored:,}")
