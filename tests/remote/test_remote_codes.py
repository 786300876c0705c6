"""Codes over gRPC and HTTP, and by the tool of agents: the answers and the errors of the snapshot."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cuihop import SnapshotGraph
from cuihop.agents.arguments import CodesArguments
from cuihop.agents.tools import TOOLS
from cuihop.errors import CuihopError, InputError, LimitExceeded, NotAllowed
from cuihop.remote.graph import RemoteGraph
from cuihop_server import running_service
from cuihop_service.limits import Limits
from example_graph import coded_graph, example_graph

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


@pytest.mark.core
def test_every_answer_is_that_of_the_snapshot(remote: RemoteGraph, graph: SnapshotGraph) -> None:
    for sabs in ([], ["MSH"], ["LOCAL", "SNOMEDCT_US"]):
        assert remote.codes(IDENTIFIERS, sabs=sabs) == graph.codes(IDENTIFIERS, sabs=sabs)
        assert remote.codes([], sabs=sabs) == graph.codes([], sabs=sabs) == []


def test_a_concept_has_its_codes(remote: RemoteGraph, graph: SnapshotGraph) -> None:
    (lookup,) = graph.codes(["C0006121"])
    assert remote.concepts(["C0006121"])[0].codes == graph.concepts(["C0006121"])[0].codes == lookup.codes != ()
    assert example_graph().concepts(["C0006121"])[0].codes == ()


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


def test_published_mappings_are_refused(remote: RemoteGraph) -> None:
    with pytest.raises(InputError, match=r"no published mappings.*a service and Neo4j do not"):
        remote.code_maps(["C0006121"])


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
