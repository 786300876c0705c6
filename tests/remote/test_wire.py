"""Values that come back from their messages as they were."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any, get_args

import numpy as np
import pytest
from google.protobuf.message import Message

from cuihop.annotation.options import AnnotationOptions
from cuihop.errors import InputError
from cuihop.graph import (
    DIRECTIONS,
    MATCHES,
    CodeLookup,
    Concept,
    Definition,
    Neighbour,
    Release,
    Resolution,
    SearchHit,
    SourceCode,
    Step,
)
from cuihop.measures.nearness import Weight
from cuihop.measures.resolution import Unknown
from cuihop.operations import table
from cuihop.operations.answers import Column, DistancesAnswer, NeighbourhoodRow, PathAnswer, PathConcept
from cuihop.operations.requests import (
    AnnotateRequest,
    CodeMapsRequest,
    CodesRequest,
    ConceptsRequest,
    DistanceRequest,
    DistancesRequest,
    GraphRequest,
    NeighbourhoodsRequest,
    PackRequest,
    PairSimilaritiesRequest,
    PathRequest,
    PathsRequest,
    PlacementsRequest,
    RelevanceRequest,
    RelevancesRequest,
    ResolutionsRequest,
    RuleRequest,
    SearchRequest,
    SimilaritiesRequest,
    SimilarityScaleRequest,
)
from cuihop.operations.table import OPERATIONS, Operation
from cuihop.remote.wire import message_class, message_of, message_with, value_of_message, value_of_request
from cuihop.similarity.hierarchy import CommonSubsumer, HierarchyFacts, PairSimilarity, Placement, SimilarityScale
from cuihop.similarity.options import INFORMATION_CONTENTS, SIMILARITY_MEASURES
from cuihop_api.v1 import concept_graph_pb2 as pb

PLACE = Placement("C0000001", 3, 2, 1, 2, 0, 1, None, ("C0000001", "C0000002"))
ROOT = CommonSubsumer(None, 1, 0.0, 2, 3)
PAIR = PairSimilarity(
    PLACE, PLACE, None, (ROOT,), ROOT, ROOT, CommonSubsumer("C0000003", 2, None, 0, 1),
    {"Lin": 0.25, "Resnik": None, "Wu-Palmer": 0.0, "simUI": 1.0}, "Seco", {"C0000009": "C0000001"},
)  # fmt: skip
VALUES = [
    (pb.Placement, PLACE),
    (pb.PairSimilarity, PAIR),
    (pb.Hierarchy, HierarchyFacts(1, 2, 3, 4, 5, 6)),
    (pb.SearchHit, SearchHit("C0000001", None, "brain", "spelling")),
    (pb.Step, Step("C0000001", "child", ("MSH",))),
    (pb.Resolution, Resolution("C0000011", "retired", None, (("RB", "C0000012"), ("SY", "C0000013")))),
    (
        pb.Concept,
        Concept("C0000001", "", ("one", "two"), (("T023", "Body Part"),), 0, 7, (Definition("MSH", "…"),), ("MSH",)),
    ),
    (
        pb.CodeLookup,
        CodeLookup("MSH:D1", "current", None, (SourceCode("C0000001", "MSH", "D1", "M1", "obsolete"),), ("MSH:d1",)),
    ),
    (pb.GetSimilarityScaleResponse, SimilarityScale(7, "Seco", {"Lin": (0.0, 0.5), "path": ()})),
    (pb.Release, Release("2025AB", "0" * 64, ("isa",), ("MSH", "SNOMEDCT_US"), "any", 2**40, 0)),
]


@pytest.mark.parametrize(("kind", "value"), VALUES, ids=lambda value: getattr(value, "__name__", ""))
def test_a_value_comes_back_from_the_bytes_of_its_message(kind: type[Message], value: object) -> None:
    message = kind.FromString(message_of(kind, value).SerializeToString())
    assert value_of_message(type(value), message) == value


REQUESTS: list[tuple[Operation[Any, Any], object]] = [
    (table.DISTANCE, DistanceRequest("C0000001", "C0000002", "up", 3, ("MSH",))),
    (table.DISTANCES, DistancesRequest([("C0000001", "C0000002")], max_hops=0)),
    (table.PATH, PathRequest("C0000001", "C0000002", which=7)),
    (table.PATHS, PathsRequest("C0000001", "C0000002", "vertical", 3, 0, ("MSH",))),
    (table.NEIGHBOURHOODS, NeighbourhoodsRequest(["C0000001"], None, "down", 4)),
    (table.PACK, PackRequest(["C0000001"], 3)),
    (table.RELEVANCE, RelevanceRequest(a=["C0000001"], b=[], n=0, lam=0.25, weight="Wu-Palmer", within_sabs=("MSH",))),
    (table.RELEVANCES, RelevancesRequest(query=["C0000001"], corpus=[["C0000002"], []], unknown="drop", ic="Seco")),
    (table.SIMILARITIES, SimilaritiesRequest(sets=[(["C0000001"], [])], measure="simUI")),
    (table.PAIR_SIMILARITIES, PairSimilaritiesRequest([("C0000001", "C0000002")], "corpus")),
    (table.SIMILARITY_SCALE, SimilarityScaleRequest("Seco", ("MSH",))),
    (table.PLACEMENTS, PlacementsRequest(["C0000001"], "Seco", ("MSH",))),
    (table.HIERARCHY, GraphRequest(("MSH", "SNOMEDCT_US"))),
    (table.SEARCH, SearchRequest("brain", 0)),
    (table.ANNOTATE, AnnotateRequest(["brain"], AnnotationOptions(longest=False, leave_out=("family",)))),
    (table.CONCEPTS, ConceptsRequest(["C0000001"], names_only=True)),
    (table.CODES, CodesRequest(["C0000001", "MSH:D000001"], ("MSH",))),
    (table.CODE_MAPS, CodeMapsRequest(["C0000001", "MSH:D000001"])),
    (table.RESOLUTIONS, ResolutionsRequest(["C0000001"])),
    (table.RELEASE, GraphRequest()),
]


def test_the_requests_below_are_of_every_rpc_but_the_stream() -> None:
    rpcs = pb.DESCRIPTOR.services_by_name["ConceptGraphService"].methods_by_name
    assert {operation.rpc for operation, _ in REQUESTS} | {"StreamDistances"} == set(rpcs)
    assert {operation.rpc for operation in OPERATIONS} - {""} == {operation.rpc for operation, _ in REQUESTS}


@pytest.mark.parametrize(("operation", "request_"), REQUESTS, ids=lambda value: getattr(value, "name", ""))
def test_a_request_comes_back_from_the_bytes_of_its_message(operation: Operation[Any, Any], request_: object) -> None:
    kind = message_class(operation.rpc)
    message = kind.FromString(message_of(kind, request_).SerializeToString())
    read = value_of_request(operation.request, message)
    assert [_plain(getattr(read, f.name)) for f in fields(read)] == [
        _plain(getattr(request_, f.name)) for f in fields(read)
    ]


def _plain(value: object) -> object:
    return list(map(_plain, value)) if isinstance(value, list | tuple) else value


def test_rows_are_columns_and_gaps_are_indices_in_a_message() -> None:
    row = NeighbourhoodRow("C0000001", (Neighbour("C0000002", 1), Neighbour("C0000003", 2)), 5)
    message = message_of(pb.ConceptNeighbourhood, row)
    assert (list(message.neighbours), list(message.hops)) == (["C0000002", "C0000003"], [1, 2])
    assert value_of_message(NeighbourhoodRow, message) == row
    hops = Column(np.array([7, 3], np.int32), np.array([False, True]))
    batch = message_of(pb.DistancesResponse, DistancesAnswer(hops, "any", None))
    assert (list(batch.hops), list(batch.unreached)) == ([0, 3], [0])
    read = value_of_message(DistancesAnswer, batch, direction="any", max_hops=None).hops
    assert (read.numbers.tolist(), read.defined.tolist()) == ([0, 3], [False, True])
    message.hops.append(3)
    with pytest.raises(ValueError, match="longer"):
        value_of_message(NeighbourhoodRow, message)


@pytest.mark.parametrize("named", [None, "brain"])
def test_a_path_begins_with_a_concept_of_its_own_fields(named: str | None) -> None:
    concepts = PathConcept("C0000001", named), PathConcept("C0000002", None, "parent", ("MSH",))
    answer = PathAnswer("C0000001", "C0000002", 1, "any", None, concepts, 3, 2)
    message = message_of(pb.PathResponse, answer)
    assert (message.path.start, len(message.path.steps)) == ("C0000001", 1)
    repeated = {name: getattr(answer, name) for name in ("a", "b", "direction", "max_hops")}
    assert value_of_message(PathAnswer, message, **repeated) == answer
    nothing = value_of_message(PathAnswer, pb.PathResponse(), **repeated)
    assert (nothing.hops, nothing.path, nothing.total, nothing.which) == (None, None, 0, None)


@pytest.mark.parametrize(
    ("message", "kind", "field", "words"),
    [
        (pb.NeighbourhoodRequest, NeighbourhoodsRequest, "direction", DIRECTIONS),
        (pb.SearchHit, SearchHit, "kind", MATCHES),
        (pb.SimilaritiesRequest, SimilaritiesRequest, "measure", SIMILARITY_MEASURES),
        (pb.SimilaritiesRequest, SimilaritiesRequest, "ic", INFORMATION_CONTENTS),
        (pb.RelevanceRule, RuleRequest, "weight", get_args(Weight)),
        (pb.RelevanceRule, RuleRequest, "unknown", get_args(Unknown)),
    ],
)
def test_every_number_but_zero_is_a_word_of_the_library(
    message: type[Message], kind: type[Any], field: str, words: Iterable[str]
) -> None:
    enum = message.DESCRIPTOR.fields_by_name[field].enum_type
    read = [getattr(value_of_request(kind, message_with(message, **{field: word})), field) for word in words]
    assert read == list(words)
    assert enum is not None
    assert len(enum.values) == len(read) + 1


def test_a_number_of_a_later_version_is_an_error_in_a_request_and_a_default_in_an_answer() -> None:
    request = pb.DistanceRequest(bounds=pb.SearchBounds(direction=9))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="direction: no such value; found 9; expected a value of"):
        value_of_request(DistanceRequest, request)
    assert value_of_request(DistanceRequest, pb.DistanceRequest()).direction == "any"
    hit = pb.SearchHit(cui="C0000001", matched="x", kind=99)  # type: ignore[arg-type]
    assert value_of_message(SearchHit, hit).kind == "words"
    with pytest.raises(ValueError, match="99 is none of current"):
        value_of_message(Resolution, pb.Resolution(requested="x", status=99))  # type: ignore[arg-type]
    later = pb.PairSimilarity(values=[pb.MeasureValue(measure=99, value=1.0)], ic=pb.INFORMATION_CONTENT_SECO)  # type: ignore[arg-type]
    assert value_of_message(PairSimilarity, later).values == {}


def test_none_leaves_a_field_unset() -> None:
    assert not message_with(pb.NeighbourhoodRequest, cuis=["C0000001"], hops=None, direction="up").HasField("hops")
