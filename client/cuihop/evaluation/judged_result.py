"""What an evaluation against judgements or labels found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from cuihop.evaluation.relevance_names import relevance_name
from cuihop.evaluation.result import MeasuredQueries
from cuihop.measures.measure import Measure

__all__ = ["JudgedCounts", "JudgedEvaluation", "RelevanceCount"]


@dataclass(frozen=True, slots=True)
class RelevanceCount:
    """Documents of all queries that count: trec_eval's num_ret, num_rel and num_rel_ret.

    Attributes:
        retrieved: looked at: as many of each ranking as the deepest measure asks.
        relevant: retrieved or not.
        relevant_retrieved: both.
    """

    retrieved: int
    relevant: int
    relevant_retrieved: int


@dataclass(frozen=True, slots=True)
class JudgedCounts:
    """What went into an evaluation against judgements or labels.

    Attributes:
        queries: those that were judged; corpus: documents that can be, or were, retrieved.
        self_retrieved: queries that stood in their own ranking, and were left out of it (with labels only).
        missing: queries without a ranking, scored 0 or skipped.
        unasked: queries of the ranking that have no judgements; they take no part.
        nothing_relevant: by whom relevance is judged → the judged queries for which nothing is relevant.
        unjudged: by whom relevance is judged → the queries that are not, for want of a label; they leave the mean.
        unlabelled: labels → how many images lack one of them.
        relevance: by whom relevance is judged → documents of the queries that were not skipped.
    """

    queries: int
    corpus: int
    self_retrieved: int
    missing: tuple[str, ...]
    unasked: tuple[str, ...]
    nothing_relevant: Mapping[str, tuple[str, ...]]
    unjudged: Mapping[str, tuple[str, ...]]
    unlabelled: Mapping[str, int]
    relevance: Mapping[str, RelevanceCount]


Value = TypeVar("Value")


class Later(Generic[Value]):
    """A field of a dataclass that may be given as a function, which is called when somebody first asks."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._kept = f"_{name}"

    def __get__(self, instance: object | None, owner: type) -> Value:
        if instance is None:  # a dataclass asks for the default
            raise AttributeError(self._kept)
        held = instance.__dict__
        if callable(held[self._kept]):
            held[self._kept] = held[self._kept]()
        value: Value = held[self._kept]
        return value

    def __set__(self, instance: object, value: Value | Callable[[], Value]) -> None:
        instance.__dict__[self._kept] = value


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class JudgedEvaluation(MeasuredQueries):
    """The result of `cuihop.evaluation.judged.evaluate_judged`.

    Attributes:
        retrieved: int64, shape (queries,): documents of its ranking that were looked at.
    """

    counts: Later[JudgedCounts] = Later()
    parameters: Later[Mapping[str, Any]] = Later()
    inputs: Later[Mapping[str, str]] = Later()
    retrieved: npt.NDArray[np.int64]

    def _account(self) -> Iterator[tuple[str, Any]]:
        yield "retrieved", self.retrieved

    def _unscored(self, measure: Measure, place: int) -> tuple[Sequence[str], Sequence[str]]:
        name = relevance_name(measure)
        return self.counts.nothing_relevant[name], self.counts.unjudged[name]
