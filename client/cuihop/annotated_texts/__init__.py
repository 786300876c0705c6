"""Texts with identifiers, and their concepts: read, annotated in bulk, written and scored."""

from cuihop.annotated_texts.bulk import AnnotationSummary, annotate_texts
from cuihop.annotated_texts.documents import AnnotatedDocument, DocumentRows, GoldMention
from cuihop.annotated_texts.mention_identifiers import IdentifierMap
from cuihop.annotated_texts.reading import open_texts, read_documents
from cuihop.annotated_texts.score_tables import false_positives_by_hops, near_misses, scores_of, type_scores
from cuihop.annotated_texts.scoring import AnnotationScores, score_annotations
from cuihop.annotated_texts.writing import concept_table, mention_table

__all__ = [
    "AnnotatedDocument",
    "AnnotationScores",
    "AnnotationSummary",
    "DocumentRows",
    "GoldMention",
    "IdentifierMap",
    "annotate_texts",
    "concept_table",
    "false_positives_by_hops",
    "mention_table",
    "near_misses",
    "open_texts",
    "read_documents",
    "score_annotations",
    "scores_of",
    "type_scores",
]
