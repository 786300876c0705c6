"""Options and answers of the RPC Annotate as messages, written and read by client and service alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from cuihop.annotation.mentions import RULES, Annotations, Term, Vocabulary
from cuihop.annotation.options import CONTEXTS, DISAMBIGUATIONS, AnnotationOptions, Context, Disambiguation
from cuihop.errors import InputError
from cuihop.remote.annotations import checked_annotations
from cuihop.resources.arrays import bounds_of
from cuihop_api.v1 import concept_graph_pb2 as messages

Choice = TypeVar("Choice")

_RULES = [messages.MentionRule.Value(f"MENTION_RULE_{rule.upper()}") for rule in RULES]
_RULE_PLACES = {number: place for place, number in enumerate(_RULES)}
_ANOTHER_VERSION = 255  # no place of a rule, and no sum of contexts
_CONTEXTS: Mapping[Context, messages.MentionContext.ValueType] = {
    context: messages.MentionContext.Value(f"MENTION_CONTEXT_{context.upper()}") for context in CONTEXTS
}
_WAYS: Mapping[Disambiguation, messages.Disambiguation.ValueType] = {
    way: messages.Disambiguation.Value(f"DISAMBIGUATION_{way.upper()}") for way in DISAMBIGUATIONS
}


def options_message(options: AnnotationOptions) -> messages.AnnotationOptions:
    """The message of options."""
    return messages.AnnotationOptions(
        longest=options.longest,
        candidates=options.candidates,
        disambiguate=_WAYS[options.disambiguate],
        semantic_types=options.semantic_types,
        sabs=options.sabs,
        leave_out=[_CONTEXTS[context] for context in options.leave_out],
        stop=options.stop,
        general=options.general,
        correct_spelling=options.correct_spelling,
    )


def options_of_message(message: messages.AnnotationOptions) -> AnnotationOptions:
    """The options of a message; what is unset has its default.

    Raises:
        InputError: an option is unknown or not as expected.
    """
    return AnnotationOptions(
        longest=message.longest if message.HasField("longest") else True,
        candidates=message.candidates,
        disambiguate=_choice(_WAYS, message.disambiguate or messages.DISAMBIGUATION_RANK, "disambiguate"),
        semantic_types=tuple(message.semantic_types),
        sabs=tuple(message.sabs),
        leave_out=tuple(_choice(_CONTEXTS, context, "leave_out") for context in message.leave_out),
        stop=tuple(message.stop),
        general=message.general,
        correct_spelling=message.correct_spelling,
    )


def columns_message(annotations: Annotations) -> messages.AnnotateResponse:
    """The columns of annotations; sequence and provenance are left to the caller."""
    message = messages.AnnotateResponse(
        counts=np.diff(annotations.indptr).tolist(),
        starts=annotations.starts.tolist(),
        ends=annotations.ends.tolist(),
        terms=annotations.terms.tolist(),
        rules=[_RULES[place] for place in annotations.rules.tolist()],
        contexts=annotations.contexts.tolist(),
        vocabulary=[
            messages.Term(cui=term.cui, name=term.name, matched=term.matched, sabs=term.sabs)
            for term in annotations.vocabulary
        ],
    )
    if annotations.candidates is not None:
        bounds, places = annotations.candidates
        message.candidate_counts.extend(np.diff(bounds).tolist())
        message.candidates.extend(places.tolist())
    return message


def annotations_of_message(message: messages.AnnotateResponse, texts: Sequence[str]) -> Annotations:
    """The annotations of texts from the columns of a message.

    Raises:
        ValueError: not the annotations of these texts.
    """
    candidates = None
    if message.candidate_counts:
        candidates = bounds_of(np.array(message.candidate_counts, np.int64)), _places(message.candidates)
    return checked_annotations(
        Annotations(
            texts=texts,
            indptr=bounds_of(np.array(message.counts, np.int64)),
            starts=_places(message.starts),
            ends=_places(message.ends),
            terms=_places(message.terms),
            rules=np.array([_RULE_PLACES.get(rule, _ANOTHER_VERSION) for rule in message.rules], np.uint8),
            marks=np.minimum(np.array(message.contexts, np.int64), _ANOTHER_VERSION).astype(np.uint8),
            vocabulary=Vocabulary([_term(term) for term in message.vocabulary]),
            candidates=candidates,
        )
    )


def _term(term: messages.Term) -> Term:
    return Term(term.cui, term.name if term.HasField("name") else None, term.matched, tuple(term.sabs))


def _places(numbers: Iterable[int]) -> npt.NDArray[np.int32]:
    """int32; numbers beyond it wrap to below 0, which no place is."""
    return np.array(numbers, np.uint32).astype(np.int32)


def _choice(meanings: Mapping[Choice, Any], number: int, name: str) -> Choice:
    for choice, value in meanings.items():
        if value == number:
            return choice
    raise InputError("unknown option", column=name, found=str(number), expected="a number of the contract")
