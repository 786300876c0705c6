"""ROUGE and BLEU of captions against the packages that define them, and the form in which words are compared."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from captions.drawn_captions import drawn_pairs
from captions.organisers_rules import mean_of_captions, preprocessed
from cuihop.captions import CaptionRules, CaptionText, normalised_caption, score_captions
from examples import is_nightly

PAIRS = drawn_pairs(10_000 if is_nightly() else 2_000, seed=18)
REFERENCES, CANDIDATES = ({str(place): pair[side] for place, pair in enumerate(PAIRS)} for side in (0, 1))


@pytest.mark.slow
@pytest.mark.parametrize("text", ["imageclef", "as-given"])
def test_rouge_is_that_of_the_package_on_thousands_of_captions(text: CaptionText) -> None:
    from rouge_score.rouge_scorer import RougeScorer

    pairs = PAIRS if text == "imageclef" else PAIRS[:1000]
    references, candidates = ({str(place): pair[side] for place, pair in enumerate(pairs)} for side in (0, 1))
    values = {"f1": "F1", "precision": "precision", "recall": "recall"}
    names = [f"ROUGE-{n}(value={value})" for n in ("1", "2", "L") for value in values.values()]
    found = score_captions(references, candidates, measures=names, rules=CaptionRules(text)).values
    scorer = RougeScorer(["rouge1", "rouge2", "rougeL"])
    expected = []
    for reference, candidate in pairs:
        pair = (preprocessed(reference), preprocessed(candidate)) if text == "imageclef" else (reference, candidate)
        scored = scorer.score(*pair)
        rows = [getattr(scored[kind], field) for kind in ("rouge1", "rouge2", "rougeL")
                for field in ("fmeasure", "precision", "recall")]  # fmt: skip
        expected.append([1.0] * len(rows) if not reference and not candidate else rows)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert (found == 1).any(axis=0).all()
    assert (found == 0).any(axis=0).all()


@pytest.mark.slow
def test_bleu_is_that_of_sacrebleu_on_thousands_of_captions() -> None:
    """By the defaults of the functions of that package."""
    from sacrebleu import corpus_bleu, sentence_bleu

    found = score_captions(REFERENCES, CANDIDATES, measures="BLEU@4")
    texts = [(preprocessed(reference), preprocessed(candidate)) for reference, candidate in PAIRS]
    expected = [
        1.0 if not reference and not candidate else sentence_bleu(c, [r]).score / 100
        for (reference, candidate), (r, c) in zip(PAIRS, texts, strict=True)
    ]
    np.testing.assert_allclose(found.values[:, 0], expected, rtol=0, atol=1e-12)
    whole = corpus_bleu([c for _, c in texts], [[r for r, _ in texts]]).score / 100
    assert found.counts.corpus == {"BLEU@4": pytest.approx(whole, abs=1e-12)}
    assert {0.0, 1.0} <= set(found.values[:, 0].round(12).tolist())


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_bleu_of_words_that_all_occur_is_the_mean_of_its_precisions(k: int) -> None:
    reference, candidate = "a b c d e f g h", "a b c d x f g h"
    precisions = [7 / 8, 5 / 7, 3 / 6, 1 / 5][:k]
    found = score_captions({"1": reference}, {"1": candidate}, measures=f"BLEU@{k}")
    assert found.values[0, 0] == pytest.approx(np.exp(np.log(precisions).mean()), abs=1e-12)


def test_a_unigram_is_precision_times_the_penalty_for_brevity() -> None:
    found = score_captions({"a": "ct of the head"}, {"a": "ct head"}, measures="BLEU@1")
    assert found.values[0, 0] == pytest.approx(np.exp(1 - 4 / 2))


@pytest.mark.parametrize(
    ("caption", "expected"),
    [
        ("CT, 3.5 mm", "ct numbernumber mm"),
        ("T2-weighted", "tnumberweighted"),
        ("12,000 cells", "numbernumber cells"),
        ("a – b", "a – b"),  # no punctuation of ASCII
        ("٣ cm", "number cm"),
        ("½ dose", "½ dose"),
        ("_", ""),
    ],
)
def test_the_order_of_normalisation(caption: str, expected: str) -> None:
    assert normalised_caption(caption) == expected


@given(st.text(max_size=60))
def test_normalisation_is_that_of_the_organisers(caption: str) -> None:
    assert normalised_caption(caption) == preprocessed(caption)


@pytest.mark.parametrize("measure", ["ROUGE-1", "ROUGE-2", "ROUGE-L", "BLEU@1", "BLEU@4"])
@pytest.mark.parametrize(
    ("reference", "candidate", "expected"),
    [("", "", 1.0), ("", "ct", 0.0), ("ct", "", 0.0), ("...", "...", 0.0), (" ", "", 0.0), ("...", "", 0.0)],
)
def test_empty_captions(measure: str, reference: str, candidate: str, expected: float) -> None:
    found = score_captions({"a": reference}, {"a": candidate}, measures=measure)
    assert found.values.tolist() == [[expected]]


@pytest.mark.slow
def test_the_mean_of_rouge_is_that_of_the_program() -> None:
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rouge1"])

    def rouge(reference: str, candidate: str) -> float:
        return float(scorer.score(preprocessed(reference), preprocessed(candidate))["rouge1"].fmeasure)

    program = np.mean(mean_of_captions(list(REFERENCES.values()), list(CANDIDATES.values()), rouge))
    for official in ("2025", "2026"):
        found = score_captions(REFERENCES, CANDIDATES, measures="ROUGE-1", rules=CaptionRules(official=official))
        assert found.means["ROUGE-1"] == pytest.approx(program, abs=1e-12)
