"""DataFrames of rankings, judgements and concepts, in and out. Needs the extra ``frames``.

Concepts and labels of images need no conversion: `cuihop.evaluate` takes DataFrames of them. Values of each query
come out by `MeasuredQueries.to_pandas`, compared systems by `Comparison.to_pandas`.

Columns are identified by name; others are ignored:

========  ==================================================
query     ``query``, ``query_id``, ``q_id``, ``qid``
document  ``document``, ``image``, ``doc_id``, ``docno``
score     ``score``; or, where there is none, ``rank``
grade     ``grade``, ``relevance``, ``label``, ``rel``; or ``score``, as ranx has it
========  ==================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cuihop.adapters import pytrec_eval
from cuihop.collection.image_concepts import ImageConcepts, ImagesLike
from cuihop.collection.judgements import Judgements
from cuihop.errors import InputError
from cuihop.files.text_lines import quoted
from cuihop.rankings.in_memory import scored_ranking
from cuihop.rankings.ranking import Ranking, Ties
from cuihop.resources.optional_packages import data_frame

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["from_qrels", "from_run", "to_concepts", "to_qrels", "to_run"]

_QUERY = ("query", "query_id", "q_id", "qid")
_DOCUMENT = ("document", "image", "doc_id", "docno")
_SCORE = ("score",)
_RANK = ("rank",)
_GRADE = ("grade", "relevance", "label", "rel", "score")


def to_run(ranking: Ranking) -> pd.DataFrame:
    """One row for each query and document, best first: ``query``, ``document``, ``rank`` from 1, and ``score``.

    The score is that of `cuihop.adapters.pytrec_eval.to_run`.
    """
    rows = [
        (query, name, rank, score)
        for query, of in pytrec_eval.to_run(ranking).items()
        for rank, (name, score) in enumerate(of.items(), start=1)
    ]
    frame = data_frame(rows, ["query", "document", "rank", "score"])
    return frame.astype({"query": "str", "document": "str", "rank": "int64", "score": "float64"})


def from_run(
    frame: pd.DataFrame,
    queries: Iterable[str] | None = None,
    corpus: Iterable[str] | None = None,
    *,
    qrels: Mapping[str, object] | None = None,
    depth: int | None = None,
    ties: Ties = "name",
) -> Ranking:
    """The ranking of a DataFrame: larger scores first or, without a column of scores, smaller ranks.

    Args:
        frame: rows in any order.
        queries, corpus, qrels, depth, ties: as in `cuihop.rankings.in_memory.scored_ranking`.

    Raises:
        InputError: as there; a column is missing; or a query has a document twice.
    """
    ranked = not set(_SCORE) & set(frame.columns)
    scores = _by_query(frame, _RANK if ranked else _SCORE)
    if ranked:
        scores = {
            query: {name: _negative(rank, query, name) for name, rank in of.items()} for query, of in scores.items()
        }
    return scored_ranking(scores, queries, corpus, qrels=qrels, depth=depth, ties=ties)


def to_qrels(qrels: Judgements | Mapping[str, Mapping[str, int]]) -> pd.DataFrame:
    """One row for each judgement: ``query``, ``document``, ``grade``."""
    rows = [(query, name, grade) for query, of in Judgements.of(qrels).items() for name, grade in of.items()]
    frame = data_frame(rows, ["query", "document", "grade"])
    return frame.astype({"query": "str", "document": "str", "grade": "int64"})


def from_qrels(frame: pd.DataFrame) -> Judgements:
    """The judgements of a DataFrame.

    Raises:
        InputError: as `Judgements.of`; a column is missing; or a document is judged twice for a query.
    """
    return Judgements.of(_by_query(frame, _GRADE))


def to_concepts(images: ImagesLike) -> pd.DataFrame:
    """One row for each image: ``image`` and ``concepts``, identifiers in order, separated by ``;``.

    Args:
        images: as in `cuihop.evaluate`, which takes the DataFrame back.
    """
    rows = [(image, ";".join(sorted(concepts))) for image, concepts in ImageConcepts.of(images).items()]
    return data_frame(rows, ["image", "concepts"]).astype("str")


def _negative(rank: Any, query: str, document: str) -> float:
    if isinstance(rank, bool) or not rank >= 0 or rank != int(rank):  # NaN is not >= 0
        raise InputError(
            "not a rank", column=f"document {quoted(document)} of query {quoted(query)}", found=repr(rank),
            expected="a whole number, 0 or more",
        )  # fmt: skip
    return -float(rank)


def _column(frame: pd.DataFrame, names: Sequence[str]) -> str:
    for name in names:
        if name in frame.columns:
            return name
    raise InputError(
        "a column of the DataFrame is missing", found=", ".join(map(str, frame.columns)), expected=" or ".join(names)
    )


def _by_query(frame: pd.DataFrame, values: Sequence[str]) -> dict[str, dict[str, Any]]:
    if not hasattr(frame, "columns"):
        raise InputError("not a DataFrame", found=type(frame).__name__)
    names = _column(frame, _QUERY), _column(frame, _DOCUMENT), _column(frame, values)
    lists: dict[str, dict[str, Any]] = {}
    for query, document, value in zip(*(frame[name].tolist() for name in names), strict=True):
        for name, what in ((query, names[0]), (document, names[1])):
            if not isinstance(name, str):  # 7 may have been "007"
                raise InputError(
                    "not a name", column=what, found=repr(name), expected="text",
                    advice="pandas.read_csv(…, dtype=str) keeps names as they are.",
                )  # fmt: skip
        of_query = lists.setdefault(query, {})
        if document in of_query:
            raise InputError(
                "a document stands twice for a query", column=names[1],
                found=f"{quoted(document)} for query {quoted(query)}", expected="each document once for a query",
            )  # fmt: skip
        of_query[document] = value
    return lists
