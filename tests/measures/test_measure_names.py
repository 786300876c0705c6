"""Measures as values: their names are read and printed, and what is none is refused with a reason."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from cuihop.errors import InputError
from cuihop.measures import Measure, measures_named
from cuihop.measures.family import Cutoff, Kind
from cuihop.measures.measure import ALL_FAMILIES, FAMILIES
from shared_data import ROOT


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("nnCUI@10(n=1, λ=0.5)", "nn-CUI@10(n=1, λ=0.5)"),
        ("nn-CUI@10(lambda=.5,n=2)", "nn-CUI@10(n=2, λ=0.5)"),
        ("nn-CUI@10()", "nn-CUI@10"),
        (" CUI@5 ", "CUI@5"),
        ("P@5( organ , modality )", "P@5(organ, modality)"),
        ("P@5(modality, rel=1)", "P@5(modality)"),
        ("P@5(rel=2, modality + organ)", "P@5(modality+organ, rel=2)"),
        ("AP", "AP"),
        ("MAP@10", "AP@10"),
        ("mAP@10(class)", "mAP@10(class)"),
        ("nDCG@10(gain=linear)", "nDCG@10"),
        ("nDCG(gain=exp)", "nDCG(gain=exp)"),
        ("BM(by=max)", "BM(by=max)"),
        ("F1(of=manual)", "F1(of=manual)"),
        ("IRMA(b=2)", "IRMA(b=2)"),
        ("nnIoU(lam=1)", "nn-IoU(λ=1.0)"),
        ("BERTScore(value=precision)", "BERTScore(value=precision)"),
    ],
)
def test_names_are_read_and_printed(name: str, printed: str) -> None:
    (measure,) = measures_named(name)
    assert str(measure) == printed
    assert measures_named(printed) == (measure,)


def test_every_input_and_cut_off_is_one_that_evaluations_know() -> None:
    """Type checkers see the same of the source; measures are also made where they do not look."""
    assert {family.kind for family in ALL_FAMILIES} == set(get_args(Kind))
    assert {family.cutoff for family in ALL_FAMILIES} == set(get_args(Cutoff))


def test_several_cut_offs_are_several_measures() -> None:
    assert [str(m) for m in measures_named(["P@5,10, 30(organ)", "P@5(organ)"])] == [
        "P@5(organ)", "P@10(organ)", "P@30(organ)",
    ]  # fmt: skip


def test_a_text_may_name_several_measures() -> None:
    listed = "ROUGE-1,BLEU@1,4, nn-concept-F1(n=1, λ=0.2),P@5(modality, organ),AP"
    assert [str(m) for m in measures_named(listed)] == [
        "ROUGE-1", "BLEU@1", "BLEU@4", "nn-concept-F1(n=1, λ=0.2)", "P@5(modality, organ)", "AP",
    ]  # fmt: skip


def test_options_are_values_whatever_their_order() -> None:
    one = Measure("nn-CUI", 5, options=(("n", 2), ("λ", 0.2)))
    assert one == Measure("nnCUI", 5, options=(("lambda", "0.2"), ("n", "2")))
    assert len({one, Measure("nn-CUI", 5)}) == 2
    assert dict(one.values) == {"n": 2, "λ": 0.2}
    assert dict(Measure("nDCG", 5).values) == {"gain": "linear"}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ERR@5", "All of them: cuihop measures list"),
        ("p@5", "All of them: cuihop measures list"),
        ("P", "P needs a cut-off"),
        ("P@0", "not a measure"),
        ("bpref@5", "bpref has no cut-off"),
        ("BLEU@5", "BLEU@1 to BLEU@4"),
        ("nn-CUI@5(k=1)", "not an option of nn-CUI.*n or λ"),
        ("CUI@5(n=1)", "no option"),
        ("nn-CUI@5(n=-1)", "whole number, 0 or more"),
        ("nn-CUI@5(n=1.5)", "whole number, 0 or more"),
        ("nn-CUI@5(λ=1.5)", "from 0 to 1"),
        ("nn-CUI@5(λ=nan)", "from 0 to 1"),
        ("nn-CUI@5(λ=)", "from 0 to 1"),
        ("nn-CUI@5(λ=0.5, lambda=0.2)", "stands twice"),
        ("nn-CUI@5(modality)", "nn-CUI takes no labels"),
        ("P@5(modality,)", "an option is missing"),
        ("P@5(organ, organ)", "each once"),
        ("P@5(rel=0)", "1 or more"),
        ("nDCG@5(gain=log)", "linear or exp"),
        ("P@5(organ", "not a measure"),
        ("P@5(organ))", "not a measure"),
    ],
)
def test_names_that_are_none(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        measures_named(name)
    assert caught.value.column == "measures"


def test_no_two_measures_share_a_name_or_a_spelling() -> None:
    names = [name for family in ALL_FAMILIES for name in (family.name, *family.spellings)]
    assert len(set(names)) == len(names)


def test_the_documentation_lists_every_measure() -> None:
    page = (ROOT / "docs" / "measures" / "index.md").read_text(encoding="utf-8")
    names = " ".join(re.findall(r"^\| (`[^|]+) \|", page, re.MULTILINE))
    listed = set(re.findall(r"`([A-Za-z0-9-]+)", names))
    assert set(FAMILIES) <= listed


def test_a_measure_in_other_letters_is_suggested() -> None:
    for given, meant in (("ndcg@10", "nDCG"), ("nncui@5", "nn-CUI"), ("bpreff", "bpref")):
        with pytest.raises(
            InputError, match=rf"not a measure.*Did you mean {meant}\? All of them: cuihop measures list"
        ):
            measures_named(given)
