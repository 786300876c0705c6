"""Annotations of a service: read from JSON, and checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cuihop.annotation.mentions import RULES, Annotation, Annotations, Mention
from cuihop.annotation.options import CONTEXTS
from cuihop.answer_fields import value_of


def annotations_of_rows(rows: Sequence[Any], texts: Sequence[str]) -> Annotations:
    """The annotations of texts from the rows of JSON: see `cuihop.answer_fields.fields_of`.

    Raises:
        ValueError, KeyError, TypeError: not the annotations of these texts.
    """
    if len(rows) != len(texts):
        raise ValueError(f"{len(rows):,} annotations for {len(texts):,} texts")
    annotations = [
        Annotation(text, tuple(value_of(Mention, mention) for mention in row["mentions"]))
        for text, row in zip(texts, rows, strict=True)
    ]
    for annotation in annotations:
        if any(annotation.text[mention.start : mention.end] != mention.text for mention in annotation):
            raise ValueError("a mention is not the part of the text that it names")
    return checked_annotations(Annotations.of(annotations))


def checked_annotations(annotations: Annotations) -> Annotations:
    """The annotations, if every index in them exists.

    Raises:
        ValueError: columns do not fit together, or an index is outside of its text or of its table.
    """
    mentions, terms = len(annotations.terms), len(annotations.vocabulary)
    columns = (annotations.starts, annotations.ends, annotations.rules, annotations.contexts)
    if len(annotations.indptr) != len(annotations.texts) + 1 or annotations.indptr[-1] != mentions:
        raise ValueError("the mentions do not fit the texts")
    if any(len(column) != mentions for column in columns):
        raise ValueError("columns of several lengths")
    lengths = np.repeat([len(text) for text in annotations.texts], np.diff(annotations.indptr))
    inside = (annotations.starts >= 0) & (annotations.starts < annotations.ends) & (annotations.ends <= lengths)
    if not inside.all():
        raise ValueError("a mention is outside of its text")
    if (annotations.rules >= len(RULES)).any() or (annotations.contexts >= 1 << len(CONTEXTS)).any():
        raise ValueError("a rule or a context of another version")
    columns_of_terms = [annotations.terms]
    if annotations.candidates is not None:
        bounds, listed = annotations.candidates
        if len(bounds) != mentions + 1 or bounds[-1] != len(listed):
            raise ValueError("the candidates do not fit the mentions")
        columns_of_terms.append(listed)
    if any(((column < 0) | (column >= terms)).any() for column in columns_of_terms):
        raise ValueError("a term is not in the vocabulary")
    return annotations
