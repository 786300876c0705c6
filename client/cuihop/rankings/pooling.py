"""Pooling: the first documents of every run together, for judges of relevance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cuihop.errors import InputError
from cuihop.files.text_lines import quoted
from cuihop.files.written_files import write_whole
from cuihop.measures.dcg import checked_k
from cuihop.notebooks.table import Table
from cuihop.rankings.document_ranking import check_same_queries
from cuihop.rankings.ranking import Ranking

__all__ = ["UNJUDGED_GRADE", "Pool", "pooled"]

UNJUDGED_GRADE = -1
"""The grade of a document that is not judged yet, for trec_eval as for `cuihop.collection.judgements`."""


@dataclass(frozen=True, eq=False)
class Pool:
    """The documents to judge for each query (ImageCLEFmed 2007, section 2.5).

    Attributes:
        documents: query → document → number of runs that have it among their first ``depth``. Queries in the order in
            which the runs name them, documents by name.
        queried: query → number of runs with a ranking for it.
        runs: number of runs. depth: number of documents taken of each run for each query, at most.
    """

    documents: Mapping[str, Mapping[str, int]]
    queried: Mapping[str, int]
    runs: int
    depth: int

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Query → number of documents to judge."""
        return {query: len(documents) for query, documents in self.documents.items()}

    @property
    def incomplete(self) -> list[str]:
        """The queries that some of the runs lack."""
        return [query for query, times in self.queried.items() if times < self.runs]

    @property
    def mean_size(self) -> float:
        """Mean number of documents of a query."""
        return sum(self.sizes.values()) / len(self.sizes)

    def table(self) -> Table:
        """A row for each query: documents to judge, runs, and documents that all of its runs found."""
        rows = [
            (query, f"{len(pooled_runs):,}", f"{self.queried[query]:,}",
             f"{sum(times == self.queried[query] for times in pooled_runs.values()):,}")
            for query, pooled_runs in self.documents.items()
        ]  # fmt: skip
        return Table(("query", "documents", "runs", "in all runs"), rows, "pool", "Documents to judge.")

    def to_csv(self, path: str | Path) -> None:
        """Write query, document and number of runs that found it, atomically.

        Raises:
            OutputError: the disk is full, or the folder cannot be written.
        """
        rows = [
            (query, name, times) for query, documents in self.documents.items() for name, times in documents.items()
        ]
        write_whole(path, Table(("query", "document", "runs"), rows).csv())

    def to_qrels(self, path: str | Path) -> None:
        """Write a file for judges: TREC qrels with the grade -1, not judged, for every document; atomically.

        The documents of a query stand by name, so neither order nor content betrays their ranks.

        Raises:
            InputError: a name has white space, which a file of TREC cannot hold.
            OutputError: the disk is full, or the folder cannot be written.
        """
        for name in (*self.documents, *(name for documents in self.documents.values() for name in documents)):
            if name.split() != [name] or name.startswith("#"):
                raise InputError("not a name in qrels", found=quoted(name), expected="no white space, and no # first")
        lines = (f"{q} 0 {name} {UNJUDGED_GRADE}\n" for q, documents in self.documents.items() for name in documents)
        write_whole(path, "".join(lines))


def pooled(rankings: Iterable[Ranking], depth: int) -> Pool:
    """The union of the first documents of each ranking, for each query.

    Args:
        rankings: the runs, each as `cuihop.rankings.reading.read_run` reads it.
        depth: number of documents of each run for each query.

    Raises:
        InputError: the depth is not a whole number, 1 or more; there is no run, or no run has a ranking; more than half
            of the queries of a run are in no other run.

    >>> first = Ranking.of({"q": ["a", "b"]}, ["q"], ["a", "b", "c"])
    >>> second = Ranking.of({"q": ["b", "c"]}, ["q"], ["a", "b", "c"])
    >>> pool = pooled([first, second], depth=1)
    >>> dict(pool.documents["q"]), pool.sizes
    ({'a': 1, 'b': 1}, {'q': 2})
    """
    depth, runs = checked_k(depth), list(rankings)
    check_same_queries(runs, every=False)
    times_of: dict[str, Counter[str]] = {}
    queried: Counter[str] = Counter()
    for ranking in runs:
        names, documents = ranking.retrieved
        bounds = ranking.indptr.tolist()
        for row, query in enumerate(ranking.queries):
            if ranking.listed[row]:
                first = bounds[row]
                best = documents[first : min(bounds[row + 1], first + depth)].tolist()
                times_of.setdefault(query, Counter()).update(names[each] for each in best)
                queried[query] += 1
    if not times_of:
        raise InputError(
            "nothing to pool", found=f"{len(runs)} runs without a ranking", expected="a run with documents"
        )
    return Pool({query: dict(sorted(times.items())) for query, times in times_of.items()}, queried, len(runs), depth)
