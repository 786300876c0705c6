"""Run and Qrels of ranx.

ranx takes whole grades only, and silently truncates real ones: nn-IoU cannot be its gain
(`cuihop.adapters.integer_gains` is the substitute). Its order of equal scores is undefined, so `to_run` makes none.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from cuihop.adapters import pytrec_eval
from cuihop.collection.judgements import Judgements
from cuihop.errors import InputError
from cuihop.files.text_lines import quoted
from cuihop.rankings.in_memory import scored_ranking
from cuihop.rankings.ranking import Ranking, Ties
from cuihop.resources.optional_packages import installed_by

if TYPE_CHECKING:
    import ranx

__all__ = ["as_run", "from_qrels", "from_run", "imported_ranx", "to_qrels", "to_run"]

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
    scores = pytrec_eval.to_run(ranking)
    return as_run(scores, name)


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


def imported_ranx() -> Any:
    """The package, which is imported on first use."""
    with installed_by("cuihop[fusion]"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on its own strings, where Python compiles it
        import ranx

    return ranx
