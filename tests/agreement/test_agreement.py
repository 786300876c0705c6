"""Agreement on a small graph: mapping of terms, best pairs, distances, pairs without a path, and real scores."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import cuihop_loader
from cuihop import SnapshotGraph
from cuihop.agreement.agreement import MEASURES, agreement
from cuihop.agreement.scored_pairs import ScoredPair, ScoredPairs
from cuihop.agreement.term_concepts import MappedTerms, MappingRule, TermConcepts, mapped_terms
from cuihop.collection.concept_tables import ConceptSynonyms
from cuihop.errors import InputError
from cuihop.similarity.options import SimilarityOptions
from example_graph import example_graph
from shared_data import shared

STEM, BRAIN, HEAD, VEINS, VESSELS = "C0006121", "C0006104", "C0018670", "C0042449", "C0005847"


def mapped(*terms: tuple[str, str], names: ConceptSynonyms | None = None) -> MappedTerms:
    """The concepts of terms, each given with the concept of its file, beside a term of no concern."""
    pairs = [ScoredPair(term, "Head", 1.0, given) for term, given in terms]
    return mapped_terms(pairs, example_graph(), names)


@pytest.mark.parametrize(
    ("term", "given", "cuis", "rule"),
    [
        ("BRAIN, STEM", "", [STEM], "exact"),
        ("blood vessel", "", [VESSELS], "form"),
        ("brain stems", "", [STEM], "form"),
        ("c0042449", "", [VEINS], "identifier"),
        ("C9000901", "", [VEINS], "identifier"),  # retired
        ("nothing alike", VEINS, [VEINS], "file"),
        ("brain", "C0000001", [BRAIN], "exact"),  # the graph does not hold the concept of the file
    ],
)
def test_rules_of_mapping(term: str, given: str, cuis: list[str], rule: MappingRule) -> None:
    found = mapped((term, given))
    assert found.terms[term] == TermConcepts(tuple(cuis), rule)
    assert found.concepts[0][1] == TermConcepts((HEAD,), "exact")


@pytest.mark.parametrize("term", ["brian", "brain tumour", "vessel", "+", "C0000001"])
def test_terms_that_are_not_certain_have_no_concept(term: str) -> None:
    found = mapped((term, ""))
    assert found.unmapped == (term,)
    assert found.account == "1 of 2 terms mapped (exact 1)"


def test_further_names_are_used_beside_those_of_the_graph() -> None:
    names = ConceptSynonyms(((VEINS, "Brain"), (HEAD, "noggin"), ("C0000001", "pate")))
    found = mapped(("brain", ""), ("noggins", ""), ("pate", ""), names=names)
    assert found.terms["brain"] == TermConcepts((BRAIN, VEINS), "exact")
    assert found.terms["noggins"] == TermConcepts((HEAD,), "form")
    assert found.terms["pate"] is None
    assert (found.names, found.outside, found.ambiguous) == (2, 1, 1)


def test_a_graph_without_names_maps_identifiers_and_further_names() -> None:
    graph = SnapshotGraph.of([("b", "a"), ("c", "a")], identifiers="any")
    pairs = [ScoredPair("a", "b", 2.0), ScoredPair("see", "nothing", 1.0)]
    found = mapped_terms(pairs, graph, ConceptSynonyms((("c", "sees"),)))
    assert found.terms["see"] == TermConcepts(("c",), "form")
    assert (found.unmapped, found.rules) == (("nothing",), {"identifier": 2, "form": 1})


SCORED = ScoredPairs(
    (
        ScoredPair("brain stem", "brain", 4.0),
        ScoredPair("brain stem", "head", 3.0),
        ScoredPair("veins", "blood vessels", 3.5),
        ScoredPair("veins", "head", 1.0),  # no path
        ScoredPair("brain", "unknown", 2.0),
    )
)


def test_values_are_those_of_the_graph_and_distances_are_negated() -> None:
    from scipy.stats import spearmanr

    found = agreement(SCORED, example_graph(), resamples=50)
    assert [each.measure for each in found.measures] == list(MEASURES)
    assert (found.covered, found.unreached) == (4, 1)
    graph = example_graph()
    concepts = [(STEM, BRAIN), (STEM, HEAD), (VEINS, VESSELS), (VEINS, HEAD)]
    for place, measure in enumerate(MEASURES):
        values = found.values[:4, place]
        if measure == "hops":
            assert values.tolist()[:3] == [1.0, 3.0, 1.0]
            assert np.isnan(values[3])
            oriented = [-1.0, -3.0, -1.0, -4.0]
        else:
            expected = list(graph.hierarchy.similarities(concepts, SimilarityOptions(measure)))
            assert values.tolist() == expected
            oriented = [-value if measure == "Jiang-Conrath" else value for value in values]
        spearman = found.measures[place].spearman.value
        assert spearman == pytest.approx(spearmanr([4.0, 3.0, 3.5, 1.0], np.round(oriented, 12))[0])
    assert np.isnan(found.values[4]).all()


def test_of_several_concepts_the_best_pair_counts_for_each_measure() -> None:
    names = ConceptSynonyms(((VEINS, "thing"), (BRAIN, "thing")))
    pairs = ScoredPairs((ScoredPair("thing", "brain stem", 1.0), ScoredPair("thing", "blood vessels", 2.0)))
    found = agreement(pairs, example_graph(), ["hops", "Lin", "jcn"], names=names, resamples=10)
    graph = example_graph().hierarchy
    for row, other in enumerate([STEM, VESSELS]):
        lin = [graph.similarity(a, other, SimilarityOptions("Lin")) or 0.0 for a in (VEINS, BRAIN)]
        far = [graph.similarity(a, other, SimilarityOptions("Jiang-Conrath")) or 0.0 for a in (VEINS, BRAIN)]
        assert found.values[row].tolist() == [1.0, max(lin), min(far)]


def test_pairs_without_a_value_are_left_out_and_counted() -> None:
    options = SimilarityOptions(ic="corpus", counts={STEM: 3.0, HEAD: 1.0, VESSELS: 2.0})
    found = agreement(SCORED, example_graph(), ["hops", "Lin", "Resnik"], options=options, resamples=20)
    _, lin, resnik = found.measures
    assert (resnik.pairs, resnik.undefined) == (4, 0)  # the common ancestors occur
    assert (lin.pairs, lin.undefined) == (2, 2)  # veins do not
    assert lin.spearman.value is None
    assert found.differences[0].pairs == 2
    assert found.differences[0].p is None
    assert {"Lin: 2 pairs without a value, left out", "fewer than 3 pairs have no correlation"} < set(found.account())
    json.dumps(found.summary(), allow_nan=False)


def test_differences_are_of_the_same_pairs_and_adjusted() -> None:
    found = agreement(SCORED, example_graph(), ["hops", "path", "Lin"], resamples=200)
    path, lin = found.differences
    assert (path.difference, path.low, path.high, path.p, path.p_holm) == (0.0, 0.0, 0.0, 1.0, 1.0)
    assert lin.difference == pytest.approx(
        (found.measures[2].spearman.value or 0) - (found.measures[0].spearman.value or 0)
    )
    assert lin.p is not None
    assert lin.p_holm == min(1.0, 2 * lin.p)


def test_the_result_in_every_form(tmp_path: Path) -> None:
    found = agreement(SCORED, example_graph(), ["hops", "Lin"], resamples=20)
    assert repr(found).startswith("<Agreement on 4 of 5 pairs: hops 0.9487, Lin ")
    assert "hops: 1 pair without a path, as one hop more than the longest" in str(found)
    assert found._repr_html_().count("<table>") == 2
    frame = found.to_pandas()
    assert frame["measure"].tolist() == ["hops", "Lin"]
    assert {"spearman", "spearman_low", "pearson_high", "pairs", "undefined"} < set(frame.columns)
    found.to_csv(tmp_path / "pairs.csv")
    lines = (tmp_path / "pairs.csv").read_text().splitlines()
    assert lines[0] == "term1,term2,concepts1,concepts2,score,hops,Lin"
    assert lines[-1] == f"brain,unknown,{BRAIN},,2.0,,"


@pytest.mark.parametrize("wrong", [{"measures": ["cosine"]}, {"resamples": 0}, {"confidence": 1.0}, {"seed": -1}])
def test_parameters_are_checked(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        agreement(SCORED, example_graph(), **wrong)  # type: ignore[arg-type]


def test_nothing_covered_has_no_correlation() -> None:
    found = agreement(ScoredPairs((ScoredPair("x", "y", 1.0),)), example_graph(), resamples=10)
    assert found.covered == 0
    assert all(each.spearman.value is None and each.pairs == 0 for each in found.measures)


def test_real_scores_on_the_open_graph(tmp_path: Path) -> None:
    """The scale of the values that another program computed with more names: 0.475 and 0.547 on 111 pairs."""
    for name in ("MRREL.RRF", "MRCONSO.RRF"):
        tmp_path.joinpath(name).write_bytes(gzip.decompress(shared(f"rrf_open/{name}.gz").read_bytes()))
    graph = SnapshotGraph(cuihop_loader.load([tmp_path]).sections)
    pairs = ScoredPairs.read(shared("similarity_gold/UMNSRS-sim.tsv"))
    found = agreement(pairs, graph, ["hops", "simUI"], resamples=100)
    assert found.covered >= 108
    hops, sim_ui = (each.spearman for each in found.measures)
    assert hops.value is not None
    assert sim_ui.value is not None
    assert 0.4 < hops.value < 0.6
    assert 0.4 < sim_ui.value < 0.6
    assert hops.low is not None
    assert hops.low > 0.3
