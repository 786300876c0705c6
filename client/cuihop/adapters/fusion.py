"""Fusion of several runs into one, by ranx."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, TypeAlias

from cuihop.adapters.ranx import as_run, imported_ranx
from cuihop.errors import InputError, checked_choice
from cuihop.files.text_lines import quoted
from cuihop.files.written_files import write_whole
from cuihop.rankings.document_ranking import DocumentRanking, check_same_queries

__all__ = ["FusedRun", "Method", "Normalisation", "fused"]

Method: TypeAlias = Literal["rrf", "isr", "combsum", "combmnz", "combmin", "combmax"]
"""``rrf`` (Cormack et al. 2009) and ``isr`` (Mourão et al. 2014) use ranks; the others scores (Fox and Shaw 1994)."""

Normalisation: TypeAlias = Literal["min-max", "sum", "zmuv", "none"]
"""Of the scores of each run and query, before they are combined. ``min-max``: from 0 to 1. ``sum``: the smallest is 0,
and all add up to 1. ``zmuv``: mean 0, variance 1. Where all scores of a query are equal, each of these is 0."""

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
        """Write a TREC run, ranks from 1 and scores in full, whole or not at all.

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
    scores = [_scores(run, by_rank=by_rank) for run in runs]
    norm = None if by_rank or normalisation == "none" else normalisation
    parameters = {"k": k} if method == "rrf" else {}
    ranx = imported_ranx()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*unsafe cast from uint64 to int64")  # of its parallel loops, by numba
        combined: Any = ranx.fuse(
            list(map(as_run, scores)), norm=norm, method=method.removeprefix("comb"), params=parameters
        )
    result: dict[str, Mapping[str, float]] = {}
    found = combined.to_dict()
    for query in scores[0]:
        best = sorted(found[query].items(), key=lambda pair: (-pair[1], pair[0]))[:depth]
        result[query] = {document: float(score) for document, score in best}
    how = f"k = {k}" if method == "rrf" else "ranks" if by_rank else f"scores normalised by {normalisation}"
    how = "scores as they are" if normalisation == "none" and not by_rank else how
    return FusedRun(result, method, f"{method} of {len(runs)} runs, {how}, by ranx {version('ranx')}")


def _scores(run: DocumentRanking, *, by_rank: bool) -> dict[str, dict[str, float]]:
    """Query → document → score; of a method by rank, descending numbers in place of the scores."""
    if run.scores is None and not by_rank:
        raise InputError(
            "a run without scores", file=run.source, found="ranks alone", expected="scores",
            advice="rrf and isr fuse runs by their ranks.",
        )  # fmt: skip
    names, places = run.retrieved
    found: dict[str, dict[str, float]] = {}
    for place, query in enumerate(run.queries):
        first, last = run.indptr[place : place + 2].tolist()
        documents = [names[each] for each in places[first:last].tolist()]
        values = [-float(rank) for rank in range(len(documents))]
        if run.scores is not None and not by_rank:
            values = run.scores[first:last].tolist()
        found[query] = dict(zip(documents, values, strict=True))
        if not all(map(math.isfinite, values)):
            raise InputError("not a score", file=run.source, column=f"query {quoted(query)}", expected="finite numbers")
    return found
