"""The rules of ImageCLEFmedical's programs of 2025 and 2026, transcribed line by line, with the concepts given.

Sources: ``caption_prediction/evaluator.py`` and ``caption_prediction/medcat_scorer.py`` of
https://github.com/taubsity/clef-caption-evaluation and https://github.com/taubsity/clef-caption-evaluation-2026.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Sequence

__all__ = ["concept_score", "mean_of_captions", "preprocessed"]


def preprocessed(caption: str) -> str:
    """``CaptionEvaluator.preprocess_caption``."""
    translator = str.maketrans("", "", string.punctuation)
    number = re.compile(r"\d+")
    caption = caption.lower()
    caption = number.sub("number", caption)
    return caption.translate(translator)


def concept_score(reference: Sequence[tuple[str, str]], prediction: Sequence[tuple[str, str]]) -> float:
    """``MedCatScorer.score``, with the entities of both captions: name and CUI of each, in their order."""

    def matches(entities: Sequence[tuple[str, str]]) -> tuple[dict[str, list[str]], list[str]]:
        concepts: dict[str, list[str]] = {}
        cuis: list[str] = []
        for name, cui in entities:
            if cui not in concepts.get(name, []):
                concepts.setdefault(name, []).append(cui)
                cuis.append(cui)
        return concepts, cuis

    true_concepts, true_cuis = matches(reference)
    _, predicted_cuis = matches(prediction)
    right = sum(1 for name in true_concepts for cui in true_concepts[name] if cui in predicted_cuis)
    precision = right / len(predicted_cuis) if predicted_cuis else 0
    recall = right / len(true_cuis) if true_cuis else 0
    return 2 * (precision * recall) / (precision + recall) if precision + recall > 0 else 0


def mean_of_captions(
    references: Sequence[str], candidates: Sequence[str], score: Callable[[str, str], float]
) -> list[float]:
    """The value of each caption: 1 where both have no character, as in every ``compute_…`` that looks at the text."""
    return [
        score(reference, candidate) if len(reference) != 0 or len(candidate) != 0 else 1
        for reference, candidate in zip(references, candidates, strict=True)
    ]
