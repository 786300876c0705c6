"""Score cards: the values of a system with everything that they depend on, sealed by a hash of the content."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.collection.image_names import places_by_name
from cuihop.comparison.score_card_file import FORMAT, score_card_content
from cuihop.errors import InputError
from cuihop.evaluation.means import MeanQueries, mean_of
from cuihop.evaluation.result import MeasuredQueries
from cuihop.files.content_digest import content_digest
from cuihop.files.input_file import Readable, opened_input
from cuihop.files.text_lines import quoted
from cuihop.files.written_files import write_whole

__all__ = ["ScoreCard"]

_RELEASE = ("digest", "sabs", "relations")
_TIES = "ties"
_PARAMETERS = (
    *("n", "lambda", "direction", "unknown", "missing", "empty_ideal", "ideal", _TIES),  # of a ranking
    *("official", "branching"),  # of detected concepts and codes
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
    inputs: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, evaluation: MeasuredQueries, system: str | None = None) -> ScoreCard:
        """The card of an evaluation.

        Args:
            evaluation: of any kind.
            system: name of the system; by default, the file of its ranking or predictions.
        """
        parameters = dict(evaluation.parameters)
        release = {} if evaluation.release is None else dataclasses.asdict(evaluation.release)
        conditions = {f"release {name}": release.get(name) for name in _RELEASE}
        conditions |= {name: parameters.get(name) for name in _PARAMETERS}
        conditions |= {f"content of {name}": digest for name, digest in parameters.get("digests", {}).items()}
        named = system or parameters.get("ranking") or parameters.get("predictions") or "unnamed"
        columns = {str(m): evaluation.values[:, place] for place, m in enumerate(evaluation.measures)}
        counts = {name: _number(value) for name, value in evaluation.summary()["counts"].items()}
        versions = {**evaluation.versions, **({"release": release["name"]} if release else {})}
        # As JSON gives them back: tuples are lists there.
        plain: dict[str, Any] = json.loads(json.dumps(conditions))
        return cls(
            str(named), plain, evaluation.queries, columns, evaluation.mean_queries, counts, versions,
            inputs=dict(evaluation.inputs),
        )  # fmt: skip

    @property
    def means(self) -> dict[str, float | None]:
        """The mean of each measure over the queries that have a value; ``None`` where none has."""
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
        """Write the card, whole or not at all.

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
        if set(self.queries) != set(other.queries):
            differ.append("queries")
            both.append(f"queries: {_query_difference(self.queries, other.queries)}")
        ours, theirs = called or (self.system, other.system)
        if differ:
            raise InputError(
                f"the score cards of {ours} and {theirs} do not match",
                column=", ".join(differ),
                found="; ".join(both),
                expected="the same in both",
            )

    def column(self, measure: str, queries: Sequence[str]) -> npt.NDArray[np.float64]:
        """The values of a measure in the order of these queries."""
        return self.values[measure][[self._places[query] for query in queries]]

    @cached_property
    def _places(self) -> dict[str, int]:
        return places_by_name(self.queries)


def _agree(name: str, ours: object, theirs: object) -> bool:
    # A ranking whose order was given has no ties that could have been ordered otherwise.
    return ours == theirs or (name == _TIES and None in (ours, theirs))


def _number(count: Any) -> Any:
    """The number of items, where a count lists them."""
    if isinstance(count, list | tuple):
        return len(count)
    if isinstance(count, Mapping):
        return {name: _number(value) for name, value in count.items()}
    return count


def _text(value: object) -> str:
    return "none" if value is None else quoted(str(value))


def _query_difference(ours: Sequence[str], theirs: Sequence[str]) -> str:
    different = sorted(set(ours) ^ set(theirs))
    return f"{len(ours):,} and {len(theirs):,}; {len(different):,} in one only, such as {quoted(different[0])}"
