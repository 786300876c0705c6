"""Measures of the ImageCLEF campaigns other than retrieval: concept detection and the IRMA error."""

from cuihop.imageclef.concept_detection import DetectionEvaluation, TrueConcepts, evaluate_detection
from cuihop.imageclef.detection_scores import average_scores, concept_scores
from cuihop.imageclef.irma_codes import IrmaEvaluation, evaluate_irma
from cuihop.imageclef.training_frequency import TrainingFrequencies, frequency_scores

__all__ = [
    "DetectionEvaluation",
    "IrmaEvaluation",
    "TrainingFrequencies",
    "TrueConcepts",
    "average_scores",
    "concept_scores",
    "evaluate_detection",
    "evaluate_irma",
    "frequency_scores",
]
