"""nn-CUI@K and CUI@K as measures of ir_measures; its ScoredDoc and Qrel.

>>> import ir_measures
>>> from cuihop import SnapshotGraph
>>> graph = SnapshotGraph.of([("C0042449", "C0005847")], concepts=["C0018670"])
>>> images = {"vein": "C0042449", "vessel": "C0005847", "head": "C0018670"}
>>> with ConceptProvider(images, graph):
...     found = ir_measures.calc_aggregate([nnCUI @ 1, ir_measures.P @ 1], {"vein": {"vessel": 1}}, {
...         "vein": {"vessel": 0.9, "head": 0.1}})
>>> sorted((str(measure), value) for measure, value in found.items())
[('P@1', 1.0), ('nnCUI@1', 1.0)]
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Self, get_args

from cuihop.adapters import pytrec_eval
from cuihop.collection.dataset import DataLike, Dataset
from cuihop.collection.judgements import Judgements, whole_grades
from cuihop.errors import InputError
from cuihop.evaluation.evaluate import evaluate
from cuihop.evaluation.result import EmptyIdeal, Evaluation
from cuihop.files.text_lines import quoted
from cuihop.graph import ConceptGraph
from cuihop.measures.measure import Measure
from cuihop.measures.nearness import IntrinsicContent, Nearness, Weight
from cuihop.rankings.in_memory import scored_ranking
from cuihop.rankings.ranking import Ranking, Ties, checked_ties
from cuihop.resources.optional_packages import installed_by

with installed_by("ir_measures"):
    import ir_measures
    from ir_measures import measures as _measures
    from ir_measures import providers as _providers

__all__ = ["CUI", "ConceptProvider", "from_qrels", "from_run", "nnCUI", "to_qrels", "to_run"]


class _ExactMean(_measures.base.Agg):
    """The mean of the values that are not NaN, summed exactly: `MeasuredQueries.mean`."""

    def __init__(self) -> None:
        self._values: list[float] = []

    def add(self, value: float) -> None:
        if not math.isnan(value):
            self._values.append(value)

    def result(self) -> float:
        return math.fsum(self._values) / len(self._values) if self._values else math.nan


class _ConceptMeasure(_measures.Measure):
    def __init__(self, **params: Any) -> None:
        super().__init__(**params)  # type: ignore[no-untyped-call]

    def aggregator(self) -> _measures.base.Agg:
        return _ExactMean()


class _CUI(_ConceptMeasure):
    """Mean NDCG@K with the gain IoU of the images' concepts."""

    __name__ = "CUI"
    NAME = "CUI"
    PRETTY_NAME = "CUI at k"
    SHORT_DESC = "nDCG@k with the overlap (IoU) of the images' concepts as gain."
    SUPPORTED_PARAMS = {"cutoff": _measures.ParamInfo(dtype=int, required=True, desc="ranking cutoff threshold")}  # noqa: RUF012


class _NnCUI(_ConceptMeasure):
    """Mean NDCG@K with the gain nn-IoU of the images' concepts."""

    __name__ = "nnCUI"
    NAME = "nnCUI"
    PRETTY_NAME = "nn-CUI at k"
    SHORT_DESC = "nDCG@k with the overlap of the images' concepts as gain, near concepts counted (nn-IoU)."
    SUPPORTED_PARAMS = {  # noqa: RUF012
        "cutoff": _measures.ParamInfo(dtype=int, required=True, desc="ranking cutoff threshold"),
        "n": _measures.ParamInfo(dtype=int, desc="most hops to a near concept; the provider's unless given"),
        "λ": _measures.ParamInfo(dtype=float, desc="weight of a near concept (or lam); the provider's unless given"),
        "weight": _measures.ParamInfo(
            dtype=str,
            choices=list(get_args(Weight)),
            desc="constant: λ; hops: λ^hops; Lin, Wu-Palmer: λ · similarity; the provider's unless given",
        ),
        "ic": _measures.ParamInfo(
            dtype=str,
            choices=list(get_args(IntrinsicContent)),
            desc="information content of the weight Lin; the provider's unless given",
        ),
    }

    def __init__(self, **params: Any) -> None:
        if "lam" in params:
            params["λ"] = params.pop("lam")
        if isinstance(params.get("λ"), int):
            params["λ"] = float(params["λ"])
        super().__init__(**params)


CUI = _CUI()
"""CUI@K: ``CUI @ 10``."""
nnCUI = _NnCUI()  # noqa: N816 - the measure's name
"""nn-CUI@K: ``nnCUI @ 10``, ``nnCUI(n=2, lam=0.2) @ 10``."""
_measures.register(CUI)
_measures.register(nnCUI)


class ConceptProvider(_providers.Provider):
    """Provider of `nnCUI` and `CUI` for ir_measures, computed by `cuihop.evaluate`.

    These measures take relevance from the concepts given here. Of ir_measures' judgements only the queries are used,
    as the queries to measure; grades are ignored. Empty judgements (``{}``) select every query given here. A query
    without documents in the run scores 0, and queries of the run without judgements are skipped, as everywhere in
    ir_measures.

    Within ``with provider:``, or after `register`, ``ir_measures.calc_aggregate`` and the like use it.

    Args:
        images: a `Dataset`, or image → its concepts, where the queries are the corpus.
        graph, nearness, empty_ideal: as in `cuihop.evaluate`. ``skip`` gives NaN to a query whose
            ideal is 0, and leaves it out of the mean.
        ties: the order of equal scores; by default that of trec_eval, which is ir_measures' own first choice.

    Raises:
        InputError: as `ImageConcepts.of`.
    """

    NAME = "cuihop"
    SUPPORTED_MEASURES = [  # noqa: RUF012
        _NnCUI(
            cutoff=_providers.base.Any(required=True),
            n=_providers.base.Any(),
            λ=_providers.base.Any(),
            weight=_providers.base.Any(),
            ic=_providers.base.Any(),
        ),
        _CUI(cutoff=_providers.base.Any(required=True)),
    ]

    def __init__(
        self,
        images: DataLike,
        graph: ConceptGraph | None,
        *,
        nearness: Nearness = Nearness(),
        empty_ideal: EmptyIdeal = "zero",
        ties: Ties = "trec",
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._queries, self._corpus = Dataset.of(images).images
        self._graph = graph
        self._ties = checked_ties(ties)
        self._options: dict[str, Any] = {"nearness": nearness, "empty_ideal": empty_ideal}

    def register(self) -> Self:
        """Put it first in the providers of ``ir_measures.calc_aggregate`` and the like, replacing an earlier one.

        There is one such list for the whole process.
        """
        providers = ir_measures.DefaultPipeline.providers
        providers[:] = [self, *(provider for provider in providers if not isinstance(provider, ConceptProvider))]
        return self

    def unregister(self) -> None:
        """Remove it from that list."""
        providers = ir_measures.DefaultPipeline.providers
        providers[:] = [provider for provider in providers if provider is not self]

    def __enter__(self) -> Self:
        return self.register()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.unregister()

    def _evaluator(self, measures: Iterable[ir_measures.Measure], qrels: Any) -> _ConceptEvaluator:
        named = dict.fromkeys(item.query_id for item in ir_measures.util.QrelsConverter(qrels).as_namedtuple_iter())
        if isinstance(qrels, Mapping):
            named = dict.fromkeys(qrels)  # includes queries with empty judgements
        for query in named:
            if query not in self._queries:
                raise InputError(
                    "not an image of the queries", column="qrels", found=quoted(str(query)),
                    expected="an image whose concepts were given",
                )  # fmt: skip
        return _ConceptEvaluator(measures, tuple(named or self._queries), self)

    def evaluation(
        self, measures: Iterable[ir_measures.Measure], queries: Iterable[str], scores: Mapping[str, Any]
    ) -> Evaluation:
        """The result of `cuihop.evaluate` for these queries and scores."""
        requested = tuple(queries)
        images = (
            self._queries if requested == tuple(self._queries) else {query: self._queries[query] for query in requested}
        )
        data = images if images is self._corpus else Dataset(images, self._corpus)
        ranking = scored_ranking(
            {query: scores[query] for query in requested if query in scores}, requested, self._corpus, ties=self._ties
        )
        named = [_own_measure(measure) for measure in measures]
        return evaluate(data, ranking, self._graph, measures=named, missing="zero", **self._options)


class _ConceptEvaluator(_providers.Evaluator):
    def __init__(
        self, measures: Iterable[ir_measures.Measure], queries: tuple[str, ...], provider: ConceptProvider
    ) -> None:
        super().__init__(list(measures), queries)
        self._provider = provider

    def _iter_calc(self, run: Any) -> Iterator[ir_measures.Metric]:
        measures = list(self.measures)
        evaluation = self._provider.evaluation(measures, self.qrel_qids, _scores(run))
        for measure in measures:
            values = evaluation.values[:, evaluation.measures.index(_own_measure(measure))].tolist()
            for query, value in zip(evaluation.queries, values, strict=True):
                yield ir_measures.Metric(query_id=query, measure=measure, value=value)


def _own_measure(measure: ir_measures.Measure) -> Measure:
    family = "CUI" if measure.NAME == CUI.NAME else "nn-CUI"
    options = tuple((name, value) for name, value in measure.params.items() if name != "cutoff")
    return Measure(family, measure.params["cutoff"], options=options)


def to_run(ranking: Ranking) -> list[ir_measures.ScoredDoc]:
    """The ranking with the scores of `cuihop.adapters.pytrec_eval.to_run`, best first. Errors as there."""
    scores = pytrec_eval.to_run(ranking)
    return [ir_measures.ScoredDoc(query, name, score) for query, of in scores.items() for name, score in of.items()]


def from_run(
    run: Any,
    queries: Iterable[str] | None = None,
    corpus: Iterable[str] | None = None,
    *,
    qrels: Mapping[str, object] | None = None,
    depth: int | None = None,
    ties: Ties = "trec",
) -> Ranking:
    """The ranking of a run in any form that ir_measures takes: ScoredDoc, DataFrame or dictionaries.

    Arguments and errors as `cuihop.rankings.in_memory.scored_ranking`; a repeated document of a query, of which
    ir_measures would take the last, is an error.
    """
    return scored_ranking(_scores(run), queries, corpus, qrels=qrels, depth=depth, ties=ties)


def to_qrels(qrels: Judgements | Mapping[str, Mapping[str, int]]) -> list[ir_measures.Qrel]:
    """The judgements as ``Qrel``, of iteration 0.

    Raises:
        InputError: as `Judgements.of`.
    """
    grades = whole_grades(qrels)
    return [ir_measures.Qrel(query, name, grade) for query, of in grades.items() for name, grade in of.items()]


def from_qrels(qrels: Any) -> Judgements:
    """Judgements in any form that ir_measures takes: Qrel, DataFrame or dictionaries. The iteration is dropped.

    Raises:
        InputError: as `Judgements.of`, or a document is judged twice for a query.
    """
    if isinstance(qrels, Mapping):
        return Judgements.of(qrels)
    converter = ir_measures.util.QrelsConverter(qrels)
    return Judgements.of(_by_query((q.query_id, q.doc_id, q.relevance) for q in _items(converter)))


def _scores(run: Any) -> Mapping[str, Mapping[str, float]]:
    if isinstance(run, Mapping):
        return run
    converter = ir_measures.util.RunConverter(run)
    return _by_query((item.query_id, item.doc_id, item.score) for item in _items(converter))


def _items(converter: Any) -> Iterator[Any]:
    try:
        yield from converter.as_namedtuple_iter()
    except ValueError as error:
        raise InputError(f"not of ir_measures: {error}") from None


def _by_query(rows: Iterable[tuple[str, str, Any]]) -> dict[str, dict[str, Any]]:
    scores: dict[str, dict[str, Any]] = {}
    for query, document, value in rows:
        of_query = scores.setdefault(query, {})
        if document in of_query:
            raise InputError(
                "a document stands twice for a query", column=f"query {quoted(str(query))}",
                found=quoted(str(document)), expected="each document once for a query",
            )  # fmt: skip
        of_query[document] = value
    return scores
