"""nn-CUI@K inside ir_measures gives what `cuihop.evaluate` gives."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import ir_measures
import pandas as pd
import pytest
from hypothesis import given, settings

from collections_made import Case, cases
from cuihop import evaluate
from cuihop.adapters.ir_measures import CUI, ConceptProvider, nnCUI, to_run
from cuihop.collection.dataset import Dataset
from cuihop.errors import ConceptNotFound, InputError
from cuihop.measures.nearness import Nearness
from cuihop.rankings.in_memory import scored_ranking
from example_graph import vessels
from examples import examples

IMAGES = {"vein": "C0042449", "vessel": "C0005847", "head": "C0018670"}
RUN = {
    "vein": {"vessel": 0.9, "head": 0.8},
    "vessel": {"head": 0.9, "vein": 0.8},
    "head": {"vein": 0.5, "vessel": 0.5},
}
ALL = {query: {"vein": 1} for query in IMAGES}


def no_grades(*queries: str) -> dict[str, dict[str, int]]:
    """Judgements that name queries only."""
    return {query: {} for query in queries}


def calculated(found: ir_measures.CalcResults) -> tuple[dict[ir_measures.Measure, float], list[ir_measures.Metric]]:
    assert isinstance(found.aggregated, dict)
    return found.aggregated, found.per_query


@pytest.fixture
def provider() -> Iterator[ConceptProvider]:
    with ConceptProvider(IMAGES, vessels()) as registered:
        yield registered


@settings(max_examples=examples(50))
@given(cases())
def test_values_and_means_are_those_of_evaluate(case: Case) -> None:
    run = {
        query: {image: float(place // 2) for place, image in enumerate(images)}
        for query, images in case.ranking.items()
    }
    ranking = scored_ranking(run, tuple(case.queries), tuple(case.held), ties="trec")
    result = evaluate(
        Dataset(case.queries, case.corpus),
        ranking,
        case.graph,
        measures=["nn-CUI@1", "nn-CUI@3", "nn-CUI@3(n=2, λ=0.2)", "CUI@3"],
        nearness=Nearness(n=case.n, lam=case.lam, direction=case.direction, unknown="isolated"),
    )
    measures = [nnCUI @ 1, nnCUI @ 3, nnCUI(n=2, lam=0.2) @ 3, CUI @ 3]
    with ConceptProvider(
        Dataset(case.queries, case.corpus),
        case.graph,
        nearness=Nearness(n=case.n, lam=case.lam, direction=case.direction, unknown="isolated"),
    ):
        aggregated, per_query = calculated(ir_measures.calc(measures, no_grades(*case.queries), run))
    assert [aggregated[measure] for measure in measures] == list(result.means.values())
    values = {(metric.query_id, metric.measure): metric.value for metric in per_query}
    assert [[values[query, measure] for measure in measures] for query in result.queries] == result.values.tolist()


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="ir_measures 0.4.3 parses names by ast.Num, which is gone")
def test_names_are_read_and_printed_as_ir_measures_does(provider: ConceptProvider) -> None:
    for name in ("nnCUI@10", "nnCUI(n=2,λ=0.2)@10", "CUI@5"):
        measure = ir_measures.parse_measure(name)
        assert str(measure) == name
        assert provider.supports(measure)
    assert nnCUI(lam=0) @ 5 == nnCUI(λ=0.0) @ 5
    assert not provider.supports(ir_measures.parse_measure("ERR"))


@pytest.mark.usefixtures("provider")
@pytest.mark.parametrize("form", ["dictionaries", "tuples", "frames", "iterators"])
def test_it_takes_whatever_ir_measures_takes(form: str) -> None:
    qrels = [ir_measures.Qrel(query, document, 1) for query, of in ALL.items() for document in of]
    run = [ir_measures.ScoredDoc(query, image, score) for query, of in RUN.items() for image, score in of.items()]
    forms: dict[str, tuple[Any, Any]] = {
        "dictionaries": (ALL, RUN),
        "tuples": (qrels, run),
        "frames": (pd.DataFrame(qrels), pd.DataFrame(run)),
        "iterators": (iter(qrels), iter(run)),
    }
    given_qrels, given_run = forms[form]
    found = ir_measures.calc_aggregate([nnCUI @ 1, CUI @ 1, ir_measures.P @ 1], given_qrels, given_run)
    # The run of "head" is a tie: trec_eval puts the name first that comes last.
    assert found == {nnCUI @ 1: 1 / 3, CUI @ 1: 0.0, ir_measures.P @ 1: 0.0}


@pytest.mark.usefixtures("provider")
def test_judgements_say_over_which_queries() -> None:
    assert ir_measures.calc_aggregate([nnCUI @ 1], {"vein": {"x": 0}}, RUN) == {nnCUI @ 1: 1.0}
    assert ir_measures.calc_aggregate([nnCUI @ 1], {}, RUN) == {nnCUI @ 1: 1 / 3}
    # A query without documents scores 0; one without judgements is skipped.
    assert ir_measures.calc_aggregate([nnCUI @ 1], ALL, {"vein": RUN["vein"], "x": {"y": 1.0}}) == {nnCUI @ 1: 1 / 3}


def test_one_evaluator_takes_several_runs(provider: ConceptProvider) -> None:
    evaluator = ir_measures.evaluator([nnCUI @ 1], ALL)
    best = {"vein": {"vessel": 1.0}, "vessel": {"vein": 1.0}}
    assert [evaluator.calc_aggregate(run)[nnCUI @ 1] for run in (RUN, best)] == [1 / 3, 2 / 3]
    assert provider.calc_aggregate([nnCUI @ 1], ALL, best) == {nnCUI @ 1: 2 / 3}


def test_ties_and_empty_ideals_follow_the_options() -> None:
    run = {"vein": {"vessel": 0.5, "head": 0.5}}
    found = {
        ties: ConceptProvider(IMAGES, vessels(), ties=ties, empty_ideal="skip").calc(
            [nnCUI @ 1], no_grades("vein", "head"), run
        )
        for ties in ("name", "trec")
    }
    # By name, "head" comes first; as trec_eval does it, "vessel". The query "head" has no ideal and leaves the mean.
    assert [calculated(found[ties])[0][nnCUI @ 1] for ties in ("name", "trec")] == [0.0, 1.0]


def test_a_ranking_of_cuihop_measured_there() -> None:
    ranking = scored_ranking(RUN, tuple(IMAGES))
    mean = evaluate(IMAGES, ranking, vessels(), measures="nn-CUI@2").mean("nn-CUI@2")
    assert ConceptProvider(IMAGES, vessels()).calc_aggregate([nnCUI @ 2], {}, to_run(ranking)) == {nnCUI @ 2: mean}


def test_the_last_provider_registered_is_the_one_and_leaves_when_asked() -> None:
    before = list(ir_measures.DefaultPipeline.providers)
    with pytest.raises(ValueError, match="Unsupported measures"):
        ir_measures.calc_aggregate([nnCUI @ 1], ALL, RUN)
    first, second = (
        ConceptProvider({"other": "C0018670"}, vessels()).register(),
        ConceptProvider(IMAGES, vessels()).register(),
    )
    assert ir_measures.calc_aggregate([nnCUI @ 1], ALL, RUN) == {nnCUI @ 1: 1 / 3}
    first.unregister()
    assert second in ir_measures.DefaultPipeline.providers
    second.unregister()
    assert ir_measures.DefaultPipeline.providers == before


def test_what_cannot_be_measured_is_refused() -> None:
    provider = ConceptProvider(IMAGES, vessels())
    with pytest.raises(InputError, match="not an image of the queries; found 'brain'"):
        provider.calc_aggregate([nnCUI @ 1], no_grades("brain"), RUN)
    with pytest.raises(InputError, match="not an image of the corpus; found 'brain'"):
        provider.calc_aggregate([nnCUI @ 1], ALL, {"vein": {"brain": 1.0}})
    with pytest.raises(InputError, match="not a score"):
        provider.calc_aggregate([nnCUI @ 1], ALL, {"vein": {"head": float("nan")}})
    with pytest.raises(ConceptNotFound, match="C9999999"):
        ConceptProvider({"x": "C9999999"}, vessels()).calc_aggregate([nnCUI @ 1], {}, {})
    with pytest.raises(InputError, match="needs a graph"):
        ConceptProvider(IMAGES, None).calc_aggregate([nnCUI @ 1], {}, RUN)
    with pytest.raises(InputError, match="name or trec"):
        ConceptProvider(IMAGES, vessels(), ties="none")  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="unsupported params"):
        provider.supports(nnCUI(k=3) @ 1)
