"""Annotations of a service by the remote graph: blocks, releases, earlier services, and answers that are none."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop import SnapshotGraph
from cuihop.annotation.mentions import RULES, Annotation, Annotations, Mention, Term
from cuihop.annotation.options import CONTEXTS, DISAMBIGUATIONS, AnnotationOptions
from cuihop.annotation.texts import blocks_of_texts
from cuihop.answer_fields import fields_of
from cuihop.errors import GraphUnavailable, LimitExceeded, NotAllowed, ReleaseMismatch
from cuihop.operations.answers import AnnotationRow, ServiceLimits
from cuihop.remote import graph as remote_graph
from cuihop.remote.annotation_messages import (
    annotations_of_message,
    columns_message,
)
from cuihop.remote.annotations import annotations_of_rows, checked_annotations
from cuihop.remote.graph import RemoteGraph
from cuihop.remote.wire import message_of, value_of_request
from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_server import RunningService, running_service
from cuihop_service.admission import RequestInfo
from cuihop_service.graph_holder import ServedGraph
from cuihop_service.limits import Limits
from example_graph import EDGES, NAMES, example_graph
from remote.recording_guard import RecordingGuard

TEXTS = ["brain", "", "a long text about the brain stem and the veins", "Aorta \U0001f9e0 head", "none"] * 20
LIMITS = Limits(texts=7, text_characters=50, characters=60)


def opened(running: RunningService, scheme: str) -> RemoteGraph:
    return RemoteGraph.open(running.grpc if scheme == "grpc" else running.http)


@pytest.fixture(params=["grpc", "http"])
def scheme(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def guard() -> RecordingGuard:
    return RecordingGuard()


@pytest.fixture(scope="module")
def service(guard: RecordingGuard) -> Iterator[RunningService]:
    with running_service(example_graph(), limits=LIMITS, guard=guard) as running:
        yield running


@given(st.lists(st.text(max_size=9), max_size=20), st.integers(1, 6), st.integers(1, 20))
def test_blocks_hold_all_texts_within_the_bounds(texts: list[str], most_texts: int, most_characters: int) -> None:
    blocks = [texts[block] for block in blocks_of_texts(texts, most_texts, most_characters)]
    assert [text for block in blocks for text in block] == texts
    for block, after in zip(blocks, [*blocks[1:], None], strict=True):
        assert len(block) <= most_texts
        assert len(block) <= 1 or sum(map(len, block)) <= most_characters
        assert after is None or len(block) == most_texts or sum(map(len, [*block, after[0]])) > most_characters


def test_many_texts_are_sent_in_blocks_within_the_limits(
    service: RunningService, guard: RecordingGuard, scheme: str
) -> None:
    del guard.requests[:]
    with opened(service, scheme) as graph:
        found = graph.annotate_many(TEXTS)
    sizes = [request.size for request in guard.requests if request.operation == "annotate"]
    assert list(found) == list(example_graph().annotate_many(TEXTS))
    assert len(found.vocabulary) == len(set(found.vocabulary))
    assert (sum(sizes), max(sizes) <= LIMITS.texts) == (len(TEXTS), True)


def test_a_text_that_is_too_long_is_named_and_nothing_is_sent(
    service: RunningService, guard: RecordingGuard, scheme: str
) -> None:
    with opened(service, scheme) as graph:
        del guard.requests[:]
        with pytest.raises(LimitExceeded, match=r"^texts.1: too many characters: found 51; this service allows 50$"):
            graph.annotate_many(["brain", "x" * 51])
    assert guard.requests == []


def test_blocks_with_too_many_mentions_are_halved(scheme: str) -> None:
    guard = RecordingGuard()
    with (
        running_service(example_graph(), limits=Limits(mentions=3), guard=guard) as running,
        opened(running, scheme) as graph,
    ):
        found = graph.annotate_many(TEXTS[:20])
        assert list(found) == list(example_graph().annotate_many(TEXTS[:20]))
        assert len({request.size for request in guard.requests if request.operation == "annotate"}) > 2
        with pytest.raises(LimitExceeded, match="too many mentions: found 4; this service allows 3"):
            graph.annotate_many(["brain", "brain, head, veins, aorta"])


def test_an_earlier_service_is_told_from_its_limits(
    service: RunningService, guard: RecordingGuard, scheme: str
) -> None:
    with opened(service, scheme) as graph:
        earlier = dataclasses.replace(graph.service, limits=ServiceLimits(pairs=100), service_version="0.0.9")
        graph._service = earlier
        del guard.requests[:]
        with pytest.raises(GraphUnavailable, match=r"is cuihop 0\.0\.9, which does not annotate texts"):
            graph.annotate("brain")
    assert guard.requests == []


def test_hidden_names_are_not_allowed(scheme: str) -> None:
    with (
        running_service(example_graph(), names=False) as running,
        opened(running, scheme) as graph,
        pytest.raises(NotAllowed, match="names"),
    ):
        graph.annotate("brain")


def test_a_batch_is_never_answered_from_two_releases(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_graph, "_TEXTS_A_BLOCK", 5)
    before, guard = example_graph(), RecordingGuard()
    after = SnapshotGraph.of([*EDGES, ("C0006121", "C0018670")], names=NAMES, name="next", identifiers="cui")
    with running_service(before, guard=guard) as running, opened(running, scheme) as graph:

        def switch(request: RequestInfo) -> None:
            if len(guard.requests) == 10:
                running.holder.serve(ServedGraph(after.release, index=after))

        guard.then = switch
        with pytest.raises(ReleaseMismatch):
            graph.annotate_many(TEXTS)
        graph.refresh()
        assert list(graph.annotate_many(TEXTS)) == list(before.annotate_many(TEXTS))


# Messages


WORDS = st.lists(st.text(min_size=1, max_size=5).filter(str.strip), max_size=3).map(tuple)
OPTIONS = st.builds(
    AnnotationOptions,
    longest=st.booleans(),
    candidates=st.booleans(),
    disambiguate=st.sampled_from(list(DISAMBIGUATIONS)),
    semantic_types=WORDS,
    sabs=WORDS,
    leave_out=st.lists(st.sampled_from(list(CONTEXTS)), max_size=3).map(tuple),
    stop=WORDS,
    general=st.booleans(),
    correct_spelling=st.booleans(),
)
NAME = st.text(max_size=4)
TERMS = st.builds(Term, NAME, st.none() | NAME, NAME, st.lists(NAME, max_size=3).map(tuple))


@st.composite
def annotation_lists(draw: st.DrawFn) -> list[Annotation]:
    """Annotations of any kind."""
    found = []
    for text in draw(st.lists(st.text(min_size=1, max_size=8), max_size=4)):
        mentions = []
        for _ in range(draw(st.integers(0, 3))):
            start = draw(st.integers(0, len(text) - 1))
            end = draw(st.integers(start + 1, len(text)))
            term, contexts = draw(TERMS), draw(st.sets(st.sampled_from(list(CONTEXTS))))
            mentions.append(
                Mention(
                    start,
                    end,
                    text[start:end],
                    term.cui,
                    term.name,
                    term.matched,
                    term.sabs,
                    draw(st.sampled_from(list(RULES))),
                    tuple(context for context in CONTEXTS if context in contexts),
                    tuple(draw(st.lists(TERMS, max_size=2))),
                )
            )
        found.append(Annotation(text, tuple(mentions)))
    return found


@given(OPTIONS)
def test_options_come_back_from_their_message(options: AnnotationOptions) -> None:
    message = pb.AnnotationOptions.FromString(message_of(pb.AnnotationOptions, options).SerializeToString())
    assert value_of_request(AnnotationOptions, message) == options
    assert value_of_request(AnnotationOptions, pb.AnnotationOptions()) == AnnotationOptions()


@given(annotation_lists(), annotation_lists())
def test_annotations_come_back_from_messages_json_and_parts(first: list[Annotation], second: list[Annotation]) -> None:
    texts = [annotation.text for annotation in first]
    columns = Annotations.of(first)
    message = pb.AnnotateResponse.FromString(columns_message(columns).SerializeToString())
    assert list(annotations_of_message(message, texts)) == first
    rows = [_as_json(fields_of(AnnotationRow(annotation.mentions))) for annotation in first]
    assert list(annotations_of_rows(rows, texts)) == first
    joined = Annotations.joined([columns, Annotations.of(second), Annotations.of([])])
    assert list(joined) == [*first, *second]
    assert joined.concept_lists() == [list(annotation.cuis) for annotation in joined]


def _as_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _as_json(item) for name, item in value.items()}
    return [_as_json(item) for item in value] if isinstance(value, list | tuple) else value


GOOD = Annotations.of([Annotation("a brain", (Mention(2, 7, "brain", "C0006104", "Brain", "Brain", (), "exact"),))])


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("indptr", np.array([0, 2])),
        ("indptr", np.array([0, 1, 1])),
        ("starts", np.array([-1])),
        ("starts", np.array([7])),
        ("ends", np.array([8])),
        ("ends", np.array([2, 7])),
        ("terms", np.array([1])),
        ("terms", np.array([-1])),
        ("rules", np.array([len(RULES)])),
        ("marks", np.array([8])),
        ("candidates", (np.array([0, 1]), np.array([4]))),
        ("candidates", (np.array([0, 2]), np.array([0]))),
        ("candidates", (np.array([0]), np.array([], dtype=np.int32))),
    ],
)
def test_an_answer_that_does_not_fit_together_is_refused(column: str, value: Any) -> None:
    assert checked_annotations(GOOD) is GOOD
    with pytest.raises(ValueError, match=r"mention|columns|rule|term|candidates"):
        checked_annotations(dataclasses.replace(GOOD, **{column: value}))


@pytest.mark.parametrize("change", [{"rules": [0]}, {"rules": [99]}, {"contexts": [999]}, {"counts": [1, 1]}])
def test_a_message_of_another_version_is_refused(change: dict[str, list[int]]) -> None:
    message = columns_message(GOOD)
    for name, numbers in change.items():
        getattr(message, name)[:] = numbers
    with pytest.raises(ValueError, match=r"version|fit"):
        annotations_of_message(message, GOOD.texts)


def test_a_mention_of_another_text_is_refused() -> None:
    (row,) = (fields_of(AnnotationRow(annotation.mentions)) for annotation in GOOD)
    with pytest.raises(ValueError, match="not the part of the text"):
        annotations_of_rows([_as_json(row)], ["the brain"])
