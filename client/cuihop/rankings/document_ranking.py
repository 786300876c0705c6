"""Rankings of documents that nothing else names."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from cuihop.rankings.ranking import Ranking, Ties, first_of_each

__all__ = ["OpenRanking"]

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]


class OpenRanking(Ranking):
    """A ranking of documents that nothing else names: the corpus is what was retrieved.

    Judgements know documents by their names, so that nobody may ever ask for `corpus` and `rows`; the documents are
    numbered when somebody does.

    Args:
        queries, indptr, listed, source, unasked, ties, form: as in `Ranking`. A query stays in its own list.
        names: of all documents, as often as they occur.
        places: int32 or int64: what was retrieved, as places in ``names``.
    """

    def __init__(
        self,
        queries: tuple[str, ...],
        names: Sequence[str],
        places: npt.NDArray[np.int32 | np.int64],
        indptr: Int64,
        listed: npt.NDArray[np.bool_],
        source: str,
        unasked: tuple[str, ...],
        ties: Ties | None,
        form: str = "",
    ) -> None:
        given = {
            "queries": queries, "indptr": indptr, "listed": listed, "self_retrieved": np.zeros_like(listed),
            "source": source, "unasked": unasked, "ties": ties, "form": form, "_names": names, "_named": places,
        }  # fmt: skip
        for name, value in given.items():
            object.__setattr__(self, name, value)

    @classmethod
    def best_first(
        cls,
        owners: Int64,
        places: npt.NDArray[np.int32 | np.int64],
        queries: tuple[str, ...],
        names: Sequence[str],
        *,
        listed: npt.NDArray[np.bool_] | None = None,
        depth: int | None = None,
        source: str = "memory",
        unasked: tuple[str, ...] = (),
        ties: Ties | None = None,
        form: str = "",
    ) -> OpenRanking:
        """From one entry for each query and document, queries ascending, best first within each.

        Args:
            owners: places in ``queries``; places: in ``names``. Same shape.
            queries, names, source, unasked, ties, form: as in the class.
            listed: as in `Ranking`; the queries with an entry without it.
            depth: keep so many of each query; all without it.
        """
        lengths = np.bincount(owners, minlength=len(queries))
        listed = lengths > 0 if listed is None else listed
        places, indptr = first_of_each(places, lengths, depth)
        return cls(queries, names, places, indptr, listed, source, unasked, ties, form)

    _names: Sequence[str]
    _named: npt.NDArray[np.int32 | np.int64]

    @property
    def retrieved(self) -> tuple[Sequence[str], npt.NDArray[np.int32 | np.int64]]:
        """As in `Ranking`; a name may stand twice."""
        return self._names, self._named

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(dict.fromkeys(self._names))}

    @cached_property
    def corpus(self) -> tuple[str, ...]:
        """As in `Ranking`, in the order in which they come first."""
        return tuple(self._numbers)

    @cached_property
    def rows(self) -> Int32:
        """As in `Ranking`."""
        numbers = np.fromiter(map(self._numbers.__getitem__, self._names), dtype=np.int32, count=len(self._names))
        return numbers[self._named]
