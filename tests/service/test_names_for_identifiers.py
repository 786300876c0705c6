"""A name in place of an identifier: the error has the concepts of that name, the same over every interface."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from agent_client import calls, over_http
from cuihop.adapter_rules import MOST_TEXTS, concepts_named
from cuihop.errors import ConceptNotFound
from cuihop.graph import SearchHit
from cuihop.remote.graph import RemoteGraph
from cuihop.remote.settings import RemoteSettings
from cuihop.snapshot.graph import SnapshotGraph
from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_server import RunningService, running_service
from cuihop_service.http_api.agent_route import agent_routes
from cuihop_service.http_api.responder import Responder
from example_graph import example_graph
from guarded_service import bearer, guard_of, http, new_key_in, stub

STEM = {"relation": "exact", "cui": "C0006121", "name": "Brain stem"}
FAULT = {"cui": "brain stem", "status": "invalid", "candidates": [STEM]}


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("keys")
    file = folder / "keys.json"
    return {"names": new_key_in(file, "a", "read", "names"), "read": new_key_in(file, "b"), "file": str(file)}


@pytest.fixture(scope="module")
def service(keys: dict[str, str]) -> Iterator[RunningService]:
    with running_service(
        example_graph(),
        guard=guard_of(keys_file=Path(keys["file"])),
        routes=lambda core, admission: agent_routes(Responder(core, admission)),
    ) as running:
        yield running


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/distance?a=brain%20stem&b=C0018670", None),
        ("/v1/concept?cui=brain+stem", None),
        ("/v1/distances", {"pairs": [["C0018670", "brain stem"]]}),
        ("/v1/relevance", {"a": ["brain stem"], "b": ["C0018670"]}),
        ("/v1/similarity?a=brain+stem&b=C0018670", None),
    ],
)
def test_an_error_over_http_has_the_concepts_of_a_name(
    service: RunningService, keys: dict[str, str], path: str, body: Any
) -> None:
    reply = http(service, path, body, key=keys["names"])
    assert (reply.status, reply.json["faults"]) == (400, [FAULT])
    assert reply.json["detail"].endswith(". By name, brain stem may be C0006121 (Brain stem)")
    hidden = http(service, path, body, key=keys["read"])
    assert (hidden.status, hidden.json["faults"]) == (400, [FAULT | {"candidates": []}])
    assert "Brain stem" not in hidden.body.decode()


def test_one_word_takes_no_short_way_past_the_search(service: RunningService, keys: dict[str, str]) -> None:
    (fault,) = http(service, "/v1/distance?a=brain&b=C0018670", key=keys["names"]).json["faults"]
    assert fault["candidates"][0] == {"relation": "exact", "cui": "C0006104", "name": "Brain"}


def test_an_error_over_grpc_has_the_concepts_of_a_name(service: RunningService, keys: dict[str, str]) -> None:
    with stub(service) as client, pytest.raises(grpc.RpcError) as refused:
        client.Distance(pb.DistanceRequest(a="brain stem", b="C0018670"), metadata=bearer(keys["names"]))
    faults = pb.ConceptFault()
    status = rpc_status.from_call(refused.value)  # type: ignore[arg-type]
    assert status is not None
    assert any(detail.Unpack(faults) for detail in status.details)
    assert faults.faults[0].candidates == [pb.Candidate(**STEM)]
    assert error_details_pb2.ErrorInfo.DESCRIPTOR.full_name in status.details[0].type_url


@pytest.mark.parametrize("names", [True, False])
def test_tools_of_agents_give_the_concepts_of_a_name(
    service: RunningService, keys: dict[str, str], names: bool
) -> None:
    call = ("distances", {"pairs": [{"a": "brain stem", "b": "C0018670"}]})
    (result,) = over_http(service.http, calls(call), key=keys["names" if names else "read"])
    answer: Any = result.structured_content
    assert answer["distances"][0]["status"] == "invalid"
    assert [row["candidates"] for row in answer["resolutions"]] == [[STEM] if names else []]


def test_an_unknown_word_of_a_release_of_any_identifiers_has_concepts_too() -> None:
    graph = SnapshotGraph.of([("HP:0001250", "HP:0012638")], names={"HP:0001250": "Seizure"})
    with running_service(graph) as running:
        reply = http(running, "/v1/distance?a=seizure&b=HP:0012638")
        assert (reply.status, reply.json["reason"]) == (404, "CONCEPT_NOT_FOUND")
        assert reply.json["faults"][0]["candidates"] == [{"relation": "exact", "cui": "HP:0001250", "name": "Seizure"}]
        for address in (running.http, running.grpc):
            with RemoteGraph(RemoteSettings(address)) as client, pytest.raises(ConceptNotFound) as refused:
                client.path("seizure", "HP:0012638")
            assert refused.value.named == {"seizure": (("exact", "HP:0001250", "Seizure"),)}


def test_a_request_with_many_names_searches_for_a_few() -> None:
    searched: list[tuple[str, int]] = []

    def search(text: str, most: int) -> list[SearchHit]:
        searched.append((text, most))
        return [SearchHit("C0000001", None, text)] if text != "b" else []

    assert concepts_named(["C9999999", "a" * 65, "22298006", "a", "b", "c", "d"], search) == {
        text: (("words", "C0000001", text),) for text in "ac"
    }
    assert searched == [("a", 5), ("b", 5), ("c", 5)]
    assert concepts_named(["C9999999"] * MOST_TEXTS + ["a"], search) == {}
