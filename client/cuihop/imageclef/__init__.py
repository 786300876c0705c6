"""Measures of the ImageCLEF campaigns beside retrieval: concept detection and the IRMA error."""

from cuihop.imageclef.concept_detection import (
    DetectionEvaluation,
    DetectionMatches,
    evaluate_detection,
    evaluate_submissions,
)
from cuihop.imageclef.detection_scores import TrainingConcepts, average_scores, concept_scores, frequency_scores
from cuihop.imageclef.irma_codes import IrmaEvaluation, evaluate_irma

__all__ = [
    "DetectionEvaluation",
    "DetectionMatches",
    "IrmaEvaluation",
    "TrainingConcepts",
    "average_scores",
    "concept_scores",
    "evaluate_detection",
    "evaluate_irma",
    "evaluate_submissions",
    "frequency_scores",
]
