"""Captions of images, scored against reference captions: words, concepts, near misses, and values from elsewhere."""

from cuihop.captions.concepts import CaptionConcepts, caption_concepts
from cuihop.captions.external_scores import ExternalScores
from cuihop.captions.reading import Captions
from cuihop.captions.rules import CaptionRules, CaptionText, Official, components, normalised_caption
from cuihop.captions.score_tables import MeanScore, mean_scores, mean_table
from cuihop.captions.scoring import CaptionCounts, CaptionScores, score_captions

__all__ = [
    "CaptionConcepts",
    "CaptionCounts",
    "CaptionRules",
    "CaptionScores",
    "CaptionText",
    "Captions",
    "ExternalScores",
    "MeanScore",
    "Official",
    "caption_concepts",
    "components",
    "mean_scores",
    "mean_table",
    "normalised_caption",
    "score_captions",
]
