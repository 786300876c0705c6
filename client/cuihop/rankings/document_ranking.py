"""Rankings of documents that no other input names, and the check that several are of the same queries."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import chain, compress

import numpy as np
import numpy.typing as npt

from cuihop.collection.image_rows import cause_of_strange_name
from cuihop.errors import InputError, first_few
from cuihop.files.text_lines import quoted
from cuihop.rankings.ranking import Ranking, Ties
from cuihop.resources.arrays import Bool, Float64, Int32, Int64


class DocumentRanking(Ranking):
    """A ranking of documents that no other input names: the corpus is what was retrieved.

    Judgements know documents by their names. The documents are therefore numbered only when `corpus` or `rows` is used.

    Args:
        queries, indptr, listed, source, other_queries, ties, form: as in `Ranking`. A query stays in its own list.
        names: of all documents, as often as they occur. documents: indices in it: what was retrieved.

    Attributes:
        scores: float64, shape as ``documents``: the score of each; ``None`` without scores.
    """

    scores: Float64 | None = None

    def __init__(
        self,
        queries: tuple[str, ...],
        names: Sequence[str],
        documents: npt.NDArray[np.int32 | np.int64],
        indptr: Int64,
        listed: Bool,
        source: str,
        other_queries: tuple[str, ...],
        ties: Ties | None,
        form: str = "",
    ) -> None:
        fields = {
            "queries": queries, "indptr": indptr, "listed": listed, "self_retrieved": np.zeros_like(listed),
            "source": source, "other_queries": other_queries, "ties": ties, "form": form, "query_image": "include",
            "_names": names, "_named": documents,
        }  # fmt: skip
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    _names: Sequence[str]
    _named: npt.NDArray[np.int32 | np.int64]

    def with_scores(self, scores: Float64) -> DocumentRanking:
        """The same ranking with the score of each document retrieved."""
        scored = copy.copy(self)
        object.__setattr__(scored, "scores", scores)
        return scored

    @property
    def retrieved(self) -> tuple[Sequence[str], npt.NDArray[np.int32 | np.int64]]:
        """As in `Ranking`; a name may stand twice."""
        return self._names, self._named

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(dict.fromkeys(self._names))}

    @cached_property
    def corpus(self) -> tuple[str, ...]:
        """As in `Ranking`, in the order in which they come first."""
        return tuple(self._numbers)

    @cached_property
    def rows(self) -> Int32:
        """As in `Ranking`."""
        numbers = np.fromiter(map(self._numbers.__getitem__, self._names), dtype=np.int32, count=len(self._names))
        return numbers[self._named]


def check_same_queries(runs: Sequence[Ranking], *, every: bool) -> None:
    """Refuse runs of different queries; the error names the run, some of the queries, and the likely cause.

    With ``every`` each run needs all queries of the first run, and no other one. Otherwise a run may lack queries, and
    at least half of its own must be in other runs.
    """
    queries = [list(compress(run.queries, run.listed.tolist())) for run in runs]
    times = Counter(chain.from_iterable(queries))
    for run, own in zip(runs, queries, strict=True):
        differ = sorted(set(own) ^ set(queries[0])) if every else [query for query in own if times[query] == 1]
        if not differ or len(runs) == 1 or not (every or 2 * len(differ) > len(own)):
            continue
        other = runs[0] if run is not runs[0] else runs[1]
        strange = next((query for query in differ if query in run), differ[0])
        hint = cause_of_strange_name(strange, other)
        if strange in other.retrieved[0]:
            hint = (
                f"{quoted(strange)} is a query here and a document there: are the columns query and document swapped?"
            )
        raise InputError(
            "runs of different queries", file=run.source,
            found=f"{len(differ):,} in one of them only: {first_few(differ)}",
            expected=f"the queries of {other.source}", advice=hint,
        )  # fmt: skip
