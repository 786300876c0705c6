"""Score cards: the values of a system with everything that they depend on, sealed by a hash of the content."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.evaluation.content_digest import content_digest
from cuihop.evaluation.result import MeasuredQueries
from cuihop.snapshot_format import replaced_file
from cuihop.text_lines import decoded_lines, shown

__all__ = ["ScoreCard"]

FORMAT = 1
_EXPECTED = "a score card: what cuihop evaluate --card writes"

_RELEASE = ("digest", "sabs", "relations")
_TIES = "ties"
_PARAMETERS = (
    *("n", "lambda", "direction", "unknown", "missing", "empty_ideal", "ideal", _TIES),  # of a ranking
    *("official", "branching"),  # of detected concepts and codes
)


@dataclass(frozen=True, eq=False)
class ScoreCard:
    """What a system scored, and under which conditions.

    Attributes:
        system: what the ranking came from.
        conditions: name → value of everything that has to agree for two cards to be compared.
        queries: their names.
        values: name of a measure → float64, shape (queries,); NaN for a query that was skipped.
        counts: numbers of what was out of the ordinary, such as unknown concepts and empty queries.
        versions: of the software, and the name of the release.
        source: the file, or how else it came.
    """

    system: str
    conditions: Mapping[str, Any]
    queries: tuple[str, ...]
    values: Mapping[str, npt.NDArray[np.float64]]
    counts: Mapping[str, Any]
    versions: Mapping[str, str]
    source: str = "memory"

    @classmethod
    def of(cls, evaluation: MeasuredQueries, system: str | None = None) -> ScoreCard:
        """The card of an evaluation.

        Args:
            evaluation: of any kind.
            system: what to call the system; the file of its ranking or predictions without it.
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
        # What JSON gives back: tuples are lists there.
        plain: dict[str, Any] = json.loads(json.dumps(conditions))
        return cls(str(named), plain, evaluation.queries, columns, counts, versions)

    def _content(self) -> dict[str, Any]:
        values = {name: [None if math.isnan(v) else v for v in column.tolist()] for name, column in self.values.items()}
        means = {name: _mean(column) for name, column in self.values.items()}
        return {
            "score_card": FORMAT,
            "system": self.system,
            "means": means,
            "conditions": dict(self.conditions),
            "counts": dict(self.counts),
            "versions": dict(self.versions),
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
        raw = self.to_json().encode()
        with replaced_file(Path(path), expected_bytes=len(raw)) as file:
            file.write(raw)

    @classmethod
    def read(cls, path: str | Path) -> ScoreCard:
        """Read a card.

        Raises:
            InputError: it is none, was written by a later format, or its content is not what its digest says.
        """
        path = Path(path)
        text = "".join(decoded_lines(path))
        try:
            content = json.loads(text)
        except ValueError as error:
            raise InputError(f"not JSON: {error}", file=path, expected=_EXPECTED) from None
        if not isinstance(content, dict) or "score_card" not in content:
            raise InputError("not a score card", file=path, expected=_EXPECTED)
        if content["score_card"] != FORMAT:
            raise InputError(
                "a score card of another format", file=path, found=shown(repr(content["score_card"])),
                expected=f"format {FORMAT}",
            )  # fmt: skip
        sealed = content.pop("sha256", None)
        if sealed != content_digest(content):
            raise InputError(
                "the score card was changed after it was written", file=path, column="sha256",
                found=shown(content_digest(content)), expected=shown(str(sealed)), advice="Evaluate the system again.",
            )  # fmt: skip
        return cls(
            content["system"],
            content["conditions"],
            tuple(content["queries"]),
            {
                name: np.array([np.nan if value is None else value for value in column], dtype=np.float64)
                for name, column in content["values"].items()
            },
            content["counts"],
            content["versions"],
            str(path),
        )

    def check_same_conditions(self, other: ScoreCard) -> None:
        """Refuse to compare what was not measured alike.

        Raises:
            InputError: conditions or queries differ; names every field that does, with both values.
        """
        names = dict.fromkeys((*self.conditions, *other.conditions))
        differ = [name for name in names if not _agree(name, self.conditions.get(name), other.conditions.get(name))]
        told = [
            f"{name}: {_told(self.conditions.get(name))} and {_told(other.conditions.get(name))}" for name in differ
        ]
        if set(self.queries) != set(other.queries):
            differ.append("queries")
            told.append(f"queries: {_told_queries(self.queries, other.queries)}")
        if differ:
            raise InputError(
                f"the score cards of {self.system} and {other.system} do not match",
                column=", ".join(differ),
                found="; ".join(told),
                expected="the same in both",
            )

    def column(self, measure: str, queries: Sequence[str]) -> npt.NDArray[np.float64]:
        """The values of a measure in the order of these queries."""
        places = {query: place for place, query in enumerate(self.queries)}
        return self.values[measure][[places[query] for query in queries]]


def _agree(name: str, ours: object, theirs: object) -> bool:
    # A ranking whose order was given has no ties that anybody could have ordered otherwise.
    return ours == theirs or (name == _TIES and None in (ours, theirs))


def _mean(column: npt.NDArray[np.float64]) -> float | None:
    scored = column[~np.isnan(column)]
    return math.fsum(scored) / len(scored) if len(scored) else None


def _number(count: Any) -> Any:
    """How many, where the count lists which."""
    if isinstance(count, list | tuple):
        return len(count)
    if isinstance(count, Mapping):
        return {name: _number(value) for name, value in count.items()}
    return count


def _told(value: object) -> str:
    return "none" if value is None else shown(str(value))


def _told_queries(ours: Sequence[str], theirs: Sequence[str]) -> str:
    different = sorted(set(ours) ^ set(theirs))
    return f"{len(ours):,} and {len(theirs):,}; {len(different):,} in one only, such as {shown(different[0])}"
