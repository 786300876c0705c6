"""The drill of hostile requests: it notices statuses that no document lists, faults, and names without their scope."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from drills import hostile_requests
from drills.drawn_messages import damaged, drawn_json, drawn_message
from drills.drill import Found
from drills.hostile_requests import (
    SCHEMATHESIS,
    SCOPES,
    Served,
    by_agents,
    by_schemathesis,
    over_fhir,
    over_grpc,
    over_http,
)
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute

from cuihop.remote.wire import message_class
from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_server import running_service
from cuihop_service.admission import Admission
from cuihop_service.core import ConceptService
from cuihop_service.guard.configured_guard import ConfiguredGuard
from cuihop_service.guard.key_file import KeyFile
from cuihop_service.http_api.agent_route import agent_routes
from cuihop_service.http_api.fhir_route import fhir_routes
from cuihop_service.http_api.responder import Responder
from guarded_service import new_key_in

pytestmark = pytest.mark.slow
Kind = Callable[[Served, random.Random, int], Found]
KINDS = pytest.mark.parametrize("kind", [over_http, over_grpc, by_agents, over_fhir], ids=lambda kind: kind.__name__)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("requests")
    graph = hostile_requests.marked_graph(folder / "release")
    keys = {caller: new_key_in(folder / "keys.json", caller, *scopes) for caller, scopes in SCOPES.items() if scopes}
    guard = ConfiguredGuard(KeyFile(folder / "keys.json"))

    def routes(core: ConceptService, admission: Admission) -> list[BaseRoute]:
        responder = Responder(core, admission)
        return [*agent_routes(responder), *fhir_routes(responder)]

    with running_service(graph, guard=guard, routes=routes) as service:
        yield Served(f"127.0.0.1:{service.http_port}", f"127.0.0.1:{service.grpc_port}", keys)


@KINDS
def test_nothing_is_wrong_with_the_service(served: Served, kind: Kind) -> None:
    found = kind(served, random.Random(3), 60)
    assert found == Found(60, [])


@KINDS
def test_a_name_without_its_scope_is_noticed(served: Served, kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConceptService, "sees_names", lambda self, caller: True)
    monkeypatch.setattr(ConceptService, "check_names", lambda self, context: None)
    wrong = kind(served, random.Random(3), 800).wrong
    assert wrong
    assert [sentence for sentence in wrong if "a name for a key without the scope" not in sentence] == []


@KINDS
def test_a_fault_is_noticed(served: Served, kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(ConceptService, "lent", fail)
    assert kind(served, random.Random(3), 60).wrong


def failing_with_teapot(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> Any:
        raise HTTPException(418)

    monkeypatch.setattr(ConceptService, "answer", fail)


def test_a_status_that_the_document_does_not_list_is_noticed(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    failing_with_teapot(monkeypatch)
    wrong = over_http(served, random.Random(3), 60).wrong
    assert any("418, which the document does not list" in sentence for sentence in wrong)


def test_schemathesis_tries_the_document_and_its_requests_are_looked_at_too(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not (SCHEMATHESIS / ".ready").exists():
        pytest.skip("schemathesis not found: make request-environment")
    monkeypatch.setattr(hostile_requests, "SCOPES", {"namer": SCOPES["namer"]})
    failing_with_teapot(monkeypatch)
    found = by_schemathesis(served, random.Random(3), tmp_path, examples=1)
    assert found.tried > 20
    assert "418" in found.wrong[0]
    assert any("418, which the document does not list" in sentence for sentence in found.wrong[1:])


def test_codes_of_the_contract() -> None:
    codes = hostile_requests.documented_codes()
    assert set(codes) == {method.name for method in pb.DESCRIPTOR.services_by_name["ConceptGraphService"].methods}
    assert "NOT_FOUND" in codes["Distance"]
    assert "NOT_FOUND" not in codes["Search"]
    assert not {"INTERNAL", "UNKNOWN"} & {code for of_rpc in codes.values() for code in of_rpc}
    assert {"OK", "ABORTED", "UNAUTHENTICATED"} <= codes["Resolve"] <= {code.name for code in grpc.StatusCode}


def test_messages_are_the_same_for_a_seed_and_most_are_of_the_right_form() -> None:
    kinds = [message_class(method.name) for method in pb.DESCRIPTOR.services_by_name["ConceptGraphService"].methods]
    one, other = ([drawn_message(kind, random.Random(4)) for kind in kinds] for _ in range(2))
    assert one == other
    rng = random.Random(4)
    assert 600 < sum(damaged(b"abc", rng) == b"abc" for _ in range(1_000)) < 950
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": {"enum": ["x"]}}}, "required": ["a"]}
    values = [drawn_json(schema, schema, rng) for _ in range(300)]
    assert 150 < sum(value in ({"a": ["x"] * size} for size in range(1, 200)) for value in values) < 300
