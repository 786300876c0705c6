"""Every ranking under every measure: the paper's Table 1, and CUI@K beside nn-CUI@K."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from cuihop.evaluation.result import Evaluation
from cuihop.evaluation.several_rankings import evaluate_rankings
from cuihop.study.numbers import Number
from cuihop.study.rankings import SHUFFLED, names_of, rankings
from cuihop.study.setup import Setup, Telling

__all__ = ["cross_evaluation", "numbers_of"]


def cross_evaluation(setup: Setup, telling: Telling) -> dict[str, Evaluation]:
    """Name of a ranking → what it scores under every measure of the study."""
    found = evaluate_rankings(
        setup.images, rankings(setup, telling), setup.graph, measures=setup.measures, n=setup.n, lam=setup.lam,
        labels=setup.labels, empty_ideal=setup.empty_ideal, threads=setup.threads,
        progress=telling("evaluated queries"), **setup.of_concepts,
    )  # fmt: skip
    return {name: found[name] for name in names_of(setup)}


def numbers_of(evaluations: Mapping[str, Evaluation], setup: Setup) -> Iterator[Number]:
    """Each mean of each ranking."""
    for name, evaluation in evaluations.items():
        for place, measure in enumerate(evaluation.measures):
            depends = name in ("nn-IoU", SHUFFLED) or measure.family == "nn-CUI"
            n, lam = (setup.n, setup.lam) if depends else (None, None)
            scored = int((~np.isnan(evaluation.values[:, place])).sum())
            yield Number("tables", name, str(measure), n, lam, "all", evaluation.means[str(measure)], scored)
