"""Codes over gRPC and HTTP, and by the tool of agents: the answers and the errors of the snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

import pytest

from cuihop import SnapshotGraph
from cuihop.agents.arguments import CodesArguments, checked_arguments
from cuihop.agents.tools import TOOLS
from cuihop.answer_fields import fields_of
from cuihop.errors import CuihopError, InputError, LimitExceeded, NotAllowed
from cuihop.graph import SourceCode
from cuihop.remote.graph import RemoteGraph
from cuihop.remote.wire import message_class, value_of_message
from cuihop_loader import load
from cuihop_server import RunningService, running_service
from cuihop_service.limits import Limits
from example_graph import coded_graph, example_graph
from guarded_service import Reply, http, stub
from loader.rrf_made import coded, isa, mapping, written

IDENTIFIERS = [
    "C0006121", "C0006104", "C0018670", "C9000901", "C9000903", "C9999999", "MSH:D001933", "LOCAL:x", "LOCAL:old",
    "msh:d001933", "MSH:d001933", "SNOMEDCT:15926001", "NONE:1", "D001933", "", "é:ü", "MSH:\ud800", "C0006121",
]  # fmt: skip


@pytest.fixture(scope="module")
def graph() -> SnapshotGraph:
    return coded_graph()


@pytest.fixture(scope="module", params=["grpc", "http"])
def remote(request: pytest.FixtureRequest, graph: SnapshotGraph) -> Iterator[RemoteGraph]:
    limits = Limits(concepts=5, neighbours=4)  # so small that blocks of identifiers are sent again in parts
    with running_service(graph, limits=limits) as running:
        yield RemoteGraph.open(getattr(running, request.param))


def mapped_graph(folder: Path) -> SnapshotGraph:
    """Three mappings from a code of MeSH, and one from its concept."""
    source, targets = {"FROMEXPR": "I21", "FROMTYPE": "CODE"}, ("", "I21.9", "100051 &#x7C; x")
    rows = [mapping("C0000009", "MSH", **source, TOEXPR=text, MAPRANK=str(3 - k)) for k, text in enumerate(targets)]
    rows.append(mapping("C0000009", "MSH", FROMEXPR="C0000001", FROMTYPE="CUI", TOEXPR="é", MAPRULE="TRUE"))
    names = [coded("C0000001", "MSH", "I21"), coded("C0000002", "MSH", "x")]
    files = {"MRREL": [isa("C0000001", "C0000002")], "MRCONSO": names, "MRMAP": rows}
    return SnapshotGraph(load([written(folder, files)]).sections)


@pytest.mark.core
def test_every_answer_is_that_of_the_snapshot(remote: RemoteGraph, graph: SnapshotGraph) -> None:
    for sabs in ([], ["MSH"], ["LOCAL", "SNOMEDCT_US"]):
        assert remote.codes(IDENTIFIERS, sabs=sabs) == graph.codes(IDENTIFIERS, sabs=sabs)
        assert remote.codes([], sabs=sabs) == graph.codes([], sabs=sabs) == []


def test_a_concept_has_its_codes(remote: RemoteGraph, graph: SnapshotGraph) -> None:
    (lookup,) = graph.codes(["C0006121"])
    assert remote.concepts(["C0006121"])[0].codes == graph.concepts(["C0006121"])[0].codes == lookup.codes != ()
    assert example_graph().concepts(["C0006121"])[0].codes == ()
    for held in (remote, graph):
        assert held.concepts(["C0006121"], codes=False) == [replace(*graph.concepts(["C0006121"]), codes=())]


def test_a_vocabulary_without_codes_is_the_same_error(remote: RemoteGraph, graph: SnapshotGraph) -> None:
    for identifiers in (["C0006121"], []):
        with pytest.raises(InputError) as expected:
            graph.codes(identifiers, sabs=["MESH"])
        with pytest.raises(InputError) as found:
            remote.codes(identifiers, sabs=["MESH"])
        assert found.value.problem == expected.value.problem
        assert "Did you mean MSH?" in str(found.value)


def test_codes_need_the_scope_for_names_and_a_release_with_codes(graph: SnapshotGraph) -> None:
    with running_service(graph, names=False) as running:
        for address in (running.grpc, running.http):
            with pytest.raises(NotAllowed):
                RemoteGraph.open(address).codes(["C0006121"])
            assert RemoteGraph.open(address).concepts(["C0006121"])[0].codes == ()
    with running_service(example_graph()) as running:
        for address in (running.grpc, running.http):
            with pytest.raises(InputError, match="no codes of vocabularies"):
                RemoteGraph.open(address).codes(["C0006121"])


def test_published_mappings_of_a_release_without_them(remote: RemoteGraph) -> None:
    for identifiers in (["C0006121"], []):
        with pytest.raises(InputError, match=r"no published mappings.*as does a service over it; Neo4j does not"):
            remote.code_maps(identifiers)


def test_published_mappings_are_those_of_the_snapshot(tmp_path: Path) -> None:
    graph = mapped_graph(tmp_path)
    identifiers = ["MSH:I21", "C0000001", "mesh:I21", "C0000002", "NONE:1", "C9999999", "é"]
    expected = graph.code_maps(identifiers)
    assert [len(lookup.maps) for lookup in expected] == [3, 4, 3, 0, 0, 0, 0]
    with running_service(graph) as running, running_service(graph, limits=Limits(neighbours=3)) as narrow:
        for address in (running.grpc, running.http):
            assert RemoteGraph.open(address).code_maps(identifiers) == expected
        for address in (narrow.grpc, narrow.http):
            assert RemoteGraph.open(address).code_maps(["MSH:I21"] * 3) == expected[:1] * 3
            with pytest.raises(LimitExceeded, match="too many maps: found 4"):
                RemoteGraph.open(address).code_maps(["C0000001"])
    with running_service(graph, names=False) as running:
        for address in (running.grpc, running.http):
            with pytest.raises(NotAllowed):
                RemoteGraph.open(address).code_maps(["C0000001"])


def test_more_codes_than_an_answer_may_have(graph: SnapshotGraph) -> None:
    with running_service(graph, limits=Limits(neighbours=2)) as running:
        for address in (running.grpc, running.http):
            with pytest.raises(LimitExceeded, match="too many codes: found 3"):
                RemoteGraph.open(address).codes(["C0006121"])


def test_agents_get_the_rows_of_codes(graph: SnapshotGraph) -> None:
    arguments = CodesArguments(identifiers=["LOCAL:x", "C9000901", "MSH:d001933"])
    answer = TOOLS["codes"].answer(graph, arguments, names=True)
    assert [(row["requested"], row["status"], [code["cui"] for code in row["codes"]]) for row in answer["lookups"]] == [
        ("LOCAL:x", "current", ["C0006121", "C0006104"]),
        ("C9000901", "merged", ["C0006121"] * 3),
        ("MSH:d001933", "unknown", []),
    ]
    assert answer["lookups"][2]["alternatives"] == ["MSH:D001933"]
    assert answer["merged"] == {"C9000901": "C0006121"}
    for shown, names in ((graph, False), (example_graph(), True)):
        with pytest.raises(CuihopError):
            TOOLS["codes"].answer(shown, arguments, names=names)


STEM: list[dict[str, object]] = [
    {"cui": "C0006121", "sab": "LOCAL", "code": "x", "source_concept": None, "mark": "active"},
    {"cui": "C0006121", "sab": "MSH", "code": "D001933", "source_concept": "M0002901", "mark": "active"},
]
BRAIN: list[dict[str, object]] = [
    {"cui": "C0006104", "sab": "MSH", "code": "D001921", "source_concept": "M0002815", "mark": "active"},
    {"cui": "C0006104", "sab": "LOCAL", "code": "x", "source_concept": None, "mark": "obsolete"},
]
SABS = ["MSH", "LOCAL"]
ASKED: list[tuple[str, str, dict[str, object], list[dict[str, object]]]] = [
    ("GET /search", "Search", {"text": "brain stem"}, STEM),
    ("GET /path", "Path", {"a": "C0006121", "b": "C0006104"}, STEM + BRAIN),
    ("GET /paths", "Paths", {"a": "C0006104", "b": "C0006121"}, BRAIN + STEM),
    ("GET /neighbourhood", "", {"cui": "MSH:D001933"}, BRAIN),
    ("POST /neighbourhoods", "Neighbourhood", {"cuis": ["C9000901", "C0006104"], "hops": 1}, BRAIN + STEM),
    ("POST /resolutions", "Resolve", {"cuis": ["MSH:D001933", "C9999999", "C0006121", "C9000901"]}, STEM),
    ("POST /annotate", "Annotate", {"texts": ["no brain stem", "a tree", "brain stem"]}, STEM),
    ("GET /path", "Path", {"a": "C0006121", "b": "C0018670"}, []),
]


@pytest.mark.parametrize(("route", "rpc", "request_fields", "codes"), ASKED)
def test_answers_have_codes_on_request_only(
    graph: SnapshotGraph, route: str, rpc: str, request_fields: dict[str, object], codes: list[dict[str, object]]
) -> None:
    method, path = route.split()
    with running_service(graph) as running:
        plain, coded = [_over_http(running, method, path, request_fields | more) for more in ({}, {"code_sabs": SABS})]
        assert {**plain.json, "codes": codes} == coded.json
        if rpc:
            kind = message_class(rpc)
            bounded = {k: v for k, v in request_fields.items() if k in {f.name for f in kind.DESCRIPTOR.fields}}
            with stub(running) as client:
                requests = [kind(**bounded, code_sabs=SABS), kind(**bounded)]
                ask = getattr(client, rpc)
                answer, without = ask(iter(requests)) if rpc == "Annotate" else map(ask, requests)
                assert [fields_of(value_of_message(SourceCode, each)) for each in answer.codes] == codes
                assert not without.codes


@pytest.mark.parametrize(("route", "rpc", "request_fields", "codes"), ASKED[:7])
def test_codes_of_answers_are_as_guarded_as_names(
    graph: SnapshotGraph, route: str, rpc: str, request_fields: dict[str, object], codes: list[dict[str, object]]
) -> None:
    method, path = route.split()
    with running_service(graph, names=False) as running:
        hidden = _over_http(running, method, path, request_fields | {"code_sabs": SABS})
        assert (hidden.status, hidden.json["reason"]) == (403, "NOT_ALLOWED")
    with running_service(graph, limits=Limits(neighbours=len(codes) - 1)) as running:
        reply = _over_http(running, method, path, request_fields | {"code_sabs": SABS})
        assert (reply.status, reply.json["reason"]) == (413, "LIMIT_EXCEEDED")
    with running_service(graph) as running:
        unknown = _over_http(running, method, path, request_fields | {"code_sabs": ["MESH"]})
        assert (unknown.status, unknown.json["field"]) == (400, "code_sabs")
        assert "Did you mean MSH?" in unknown.json["detail"]


def _over_http(running: RunningService, method: str, path: str, fields: dict[str, object]) -> Reply:
    body = fields if method == "POST" else None
    return http(running, f"/v1{path}" + ("" if body else f"?{urlencode(fields, doseq=True)}"), body)


def test_agents_get_codes_of_the_concepts_in_an_answer(graph: SnapshotGraph) -> None:
    for tool, given, codes in (
        ("search", {"text": "brain stem"}, STEM),
        ("path", {"a": "C0006121", "b": "C0006104"}, STEM + BRAIN),
        ("neighbourhood", {"cui": "C0006121"}, BRAIN),
        ("annotate", {"text": "no brain stem"}, STEM),
        ("common_ancestors", {"a": "C0006121", "b": "C0006104"}, BRAIN),
    ):
        kind = TOOLS[tool].arguments
        answer = TOOLS[tool].answer(graph, checked_arguments(kind, tool, {**given, "code_sabs": SABS}), names=True)
        assert answer["codes"] == codes
        assert "codes" not in TOOLS[tool].answer(graph, checked_arguments(kind, tool, given), names=True)
        with pytest.raises(NotAllowed):
            TOOLS[tool].answer(graph, checked_arguments(kind, tool, {**given, "code_sabs": SABS}), names=False)
        with pytest.raises(InputError, match="parameter code_sabs: no such vocabulary"):
            TOOLS[tool].answer(graph, checked_arguments(kind, tool, {**given, "code_sabs": ["MESH"]}), names=True)
