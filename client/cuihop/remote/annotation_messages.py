"""Answers of the RPC Annotate as messages, written and read by client and service alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from cuihop.annotation.mentions import RULES, Annotations, Term, Vocabulary
from cuihop.remote.annotations import checked_annotations
from cuihop.remote.wire import message_of, value_of_message
from cuihop.resources.arrays import bounds_of
from cuihop_api.v1 import concept_graph_pb2 as messages

_RULES = [messages.MentionRule.Value(f"MENTION_RULE_{rule.upper()}") for rule in RULES]
_RULE_INDICES = {number: index for index, number in enumerate(_RULES)}
_ANOTHER_VERSION = 255  # no index of a rule, and no sum of contexts


def columns_message(annotations: Annotations) -> messages.AnnotateResponse:
    """The columns of annotations; sequence and provenance are left to the caller."""
    message = messages.AnnotateResponse(
        counts=np.diff(annotations.indptr).tolist(),
        starts=annotations.starts.tolist(),
        ends=annotations.ends.tolist(),
        terms=annotations.terms.tolist(),
        rules=[_RULES[index] for index in annotations.rules.tolist()],
        contexts=annotations.contexts.tolist(),
        vocabulary=[message_of(messages.Term, term) for term in annotations.vocabulary],
    )
    if annotations.candidates is not None:
        bounds, terms = annotations.candidates
        message.candidate_counts.extend(np.diff(bounds).tolist())
        message.candidates.extend(terms.tolist())
    return message


def annotations_of_message(message: messages.AnnotateResponse, texts: Sequence[str]) -> Annotations:
    """The annotations of texts from the columns of a message, or a `ValueError` where these are of others."""
    candidates = None
    if message.candidate_counts:
        candidates = bounds_of(np.array(message.candidate_counts, np.int64)), _indices(message.candidates)
    return checked_annotations(
        Annotations(
            texts=texts,
            indptr=bounds_of(np.array(message.counts, np.int64)),
            starts=_indices(message.starts),
            ends=_indices(message.ends),
            terms=_indices(message.terms),
            rules=np.array([_RULE_INDICES.get(rule, _ANOTHER_VERSION) for rule in message.rules], np.uint8),
            marks=np.minimum(np.array(message.contexts, np.int64), _ANOTHER_VERSION).astype(np.uint8),
            vocabulary=Vocabulary([value_of_message(Term, term) for term in message.vocabulary]),
            candidates=candidates,
        )
    )


def _indices(numbers: Iterable[int]) -> npt.NDArray[np.int32]:
    """int32; numbers beyond it wrap to below 0, which no index is."""
    return np.array(numbers, np.uint32).astype(np.int32)
