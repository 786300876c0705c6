"""Run and Qrels of ranx, and fusion of several runs into one by ranx.

ranx takes whole grades only, and silently truncates real ones: nn-IoU cannot be its gain
(`cuihop.adapters.integer_gains` is the substitute). Its order of equal scores is undefined, so `to_run` makes none.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from cuihop.adapters import pytrec_eval
from cuihop.collection.judgements import Judgements
from cuihop.errors import InputError, checked_choice
from cuihop.files.text_lines import quoted
from cuihop.files.written_files import write_whole
from cuihop.rankings.document_ranking import DocumentRanking, check_same_queries
from cuihop.rankings.in_memory import scored_ranking
from cuihop.rankings.ranking import Ranking, Ties
from cuihop.resources.optional_packages import installed_by

if TYPE_CHECKING:
    import ranx

__all__ = [
    "FusedRun",
    "Method",
    "Normalisation",
    "as_run",
    "from_qrels",
    "from_run",
    "fused",
    "imported_ranx",
    "to_qrels",
    "to_run",
]

_LATIN_1 = 0xFF


def to_run(ranking: Ranking, name: str | None = None) -> ranx.Run:
    """The ranking as a ``ranx.Run`` with the scores of `cuihop.adapters.pytrec_eval.to_run`, in the same order.

    Args:
        ranking: a query without a ranking is left out; ``make_comparable=True`` of ranx scores it 0.
        name: of the run.

    Raises:
        InputError: no query retrieved a document, or a document's name has characters beyond Latin-1, which ranx 0.3.21
            cannot hold.
        ModuleNotFoundError: ranx is not installed; the message says how to install it.
    """
    return as_run(pytrec_eval.to_run(ranking), name)


def as_run(scores: Mapping[str, Mapping[str, float]], name: str | None = None) -> ranx.Run:
    """Query → document → score as a ``ranx.Run``; errors as `to_run`."""
    _check_ranx_can_hold(scores)
    return imported_ranx().Run(scores, name=name)


def from_run(
    run: ranx.Run,
    queries: Iterable[str] | None = None,
    corpus: Iterable[str] | None = None,
    *,
    qrels: Mapping[str, object] | None = None,
    depth: int | None = None,
    ties: Ties = "name",
) -> Ranking:
    """The ranking of a ``ranx.Run``, its queries in the order of ranx, which is by name.

    Arguments and errors as `cuihop.rankings.in_memory.scored_ranking`.
    """
    return scored_ranking(_dictionary(run, "a ranx.Run"), queries, corpus, qrels=qrels, depth=depth, ties=ties)


def to_qrels(qrels: Judgements | Mapping[str, Mapping[str, int]]) -> ranx.Qrels:
    """The judgements as ``ranx.Qrels``.

    Raises:
        InputError: as `Judgements.of`; or nothing is judged, or ranx cannot hold a name, as in `to_run`.
        ModuleNotFoundError: ranx is not installed; the message says how to install it.
    """
    grades = pytrec_eval.to_qrel(qrels)
    _check_ranx_can_hold(grades)
    return imported_ranx().Qrels(grades)


def from_qrels(qrels: ranx.Qrels) -> Judgements:
    """The judgements in ``ranx.Qrels``, with grades as ranx has truncated them.

    Raises:
        InputError: as `Judgements.of`.
    """
    return Judgements.of(_dictionary(qrels, "ranx.Qrels"))


def _check_ranx_can_hold(lists: Mapping[str, Mapping[str, float]]) -> None:
    if not any(lists.values()):
        raise InputError("ranx holds no run or judgements without a document", found="none in any query")
    for documents in lists.values():
        for name in documents:
            if ord(max(name, default="a")) > _LATIN_1:  # its compiled dictionaries do not find such keys
                raise InputError("ranx cannot hold this name", found=quoted(name), expected="characters of Latin-1")


def _dictionary(value: Any, expected: str) -> dict[str, dict[str, Any]]:
    if not hasattr(value, "to_dict"):
        raise InputError("not of ranx", found=type(value).__name__, expected=expected)
    return {query: dict(documents) for query, documents in value.to_dict().items()}


@contextmanager
def interpreted() -> Iterator[None]:
    """Within it, ranx is imported and called as plain Python, and stays so in this process.

    ranx compiles its functions at every start, for half a minute or more. Its fusion of two runs of a million documents
    takes 3 s without that, 25 s with it (ranx 0.3.21). No other thread may compile code meanwhile.
    """
    import numba

    settings: Any = numba.config
    before = settings.DISABLE_JIT
    settings.DISABLE_JIT = True
    try:
        yield
    finally:
        settings.DISABLE_JIT = before


def imported_ranx() -> Any:
    """The package, which is imported on first use."""
    with installed_by("cuihop[fusion]"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on its own strings, where Python compiles it
        import ranx

    return ranx


Method: TypeAlias = Literal["rrf", "isr", "combsum", "combmnz", "combmin", "combmax"]
"""``rrf`` (Cormack et al. 2009) and ``isr`` (Mourão et al. 2014) use ranks; the others scores (Fox and Shaw 1994)."""

Normalisation: TypeAlias = Literal["min-max", "sum", "zmuv", "none"]
"""Normalisation of the scores of each run and query, before they are combined. ``min-max``: from 0 to 1. ``sum``: the
smallest is 0, and all add up to 1. ``zmuv``: mean 0, variance 1. If all scores of a query are equal, each of
these is 0."""

_BY_RANK = ("rrf", "isr")


@dataclass(frozen=True, eq=False)
class FusedRun:
    """The result of `fused`.

    Attributes:
        scores: query → document → fused score: descending, equal ones by name.
        account: method, normalisation and library, in one line.
    """

    scores: Mapping[str, Mapping[str, float]]
    method: Method
    account: str

    def to_run(self, path: str | Path) -> None:
        """Write a TREC run, ranks from 1 and scores in full, atomically.

        Raises:
            InputError: a name has white space, which a TREC run cannot hold.
            OutputError: the disk is full, or the folder cannot be written.
        """
        lines = []
        for query, documents in self.scores.items():
            for rank, (document, score) in enumerate(documents.items(), start=1):
                for name in (query, document):
                    if name.split() != [name]:
                        raise InputError("not a name in a TREC run", found=quoted(name), expected="no white space")
                lines.append(f"{query} Q0 {document} {rank} {score!r} {self.method}\n")
        write_whole(path, "".join(lines))


def fused(
    runs: Sequence[DocumentRanking],
    method: Method = "rrf",
    *,
    normalisation: Normalisation = "min-max",
    k: int = 60,
    depth: int | None = None,
) -> FusedRun:
    """Combine several runs of the same queries into one, by ranx.

    A document that a run lacks has no part of its score there (0 for ``combsum`` and ``combmnz``). The methods by rank
    take the order of the runs as they were read, so ties are those of the reading.

    Args:
        runs: two or more, as `cuihop.rankings.reading.read_run` reads them.
        method: the way to combine. normalisation: of scores; the methods by rank have none.
        k: of ``rrf``: a document at rank r gets 1 / (k + r) of each run.
        depth: number of documents for each query; all without it.

    Raises:
        InputError: there are fewer than two runs, their queries differ, a method by score has a run of ranks alone, or
            ranx cannot hold a name.
        ModuleNotFoundError: ranx is not installed: the extra ``fusion``.
    """
    checked_choice("method", method, Method, "no such method")
    checked_choice("normalisation", normalisation, Normalisation, "no such normalisation")
    if len(runs) < 2:
        raise InputError("not runs to fuse", found=f"{len(runs)}", expected="two or more")
    check_same_queries(runs, every=True)
    by_rank = method in _BY_RANK
    scores = [_scores_of_run(run, by_rank=by_rank) for run in runs]
    norm = None if by_rank or normalisation == "none" else normalisation
    parameters = {"k": k} if method == "rrf" else {}
    ranx = imported_ranx()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*unsafe cast from uint64 to int64")  # of its parallel loops, by numba
        combined: Any = ranx.fuse(
            list(map(as_run, scores)), norm=norm, method=method.removeprefix("comb"), params=parameters
        )
    result: dict[str, Mapping[str, float]] = {}
    fused_scores = combined.to_dict()
    for query in scores[0]:
        best = sorted(fused_scores[query].items(), key=lambda pair: (-pair[1], pair[0]))[:depth]
        result[query] = {document: float(score) for document, score in best}
    how = f"k = {k}" if method == "rrf" else "ranks" if by_rank else f"scores normalised by {normalisation}"
    how = "scores as they are" if normalisation == "none" and not by_rank else how
    return FusedRun(result, method, f"{method} of {len(runs)} runs, {how}, by ranx {version('ranx')}")


def _scores_of_run(run: DocumentRanking, *, by_rank: bool) -> dict[str, dict[str, float]]:
    """Query → document → score; of a method by rank, descending numbers in place of the scores."""
    if run.scores is None and not by_rank:
        raise InputError(
            "a run without scores", file=run.source, found="ranks alone", expected="scores",
            advice="rrf and isr fuse runs by their ranks.",
        )  # fmt: skip
    names, columns = run.retrieved
    scores: dict[str, dict[str, float]] = {}
    for row, query in enumerate(run.queries):
        first, last = run.indptr[row : row + 2].tolist()
        documents = [names[each] for each in columns[first:last].tolist()]
        values = [-float(rank) for rank in range(len(documents))]
        if run.scores is not None and not by_rank:
            values = run.scores[first:last].tolist()
        scores[query] = dict(zip(documents, values, strict=True))
        if not all(map(math.isfinite, values)):
            raise InputError("not a score", file=run.source, column=f"query {quoted(query)}", expected="finite numbers")
    return scores
