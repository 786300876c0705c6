"""Identifiers of any form in addresses and bodies over HTTP, and in the tools for agents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import quote

import pytest
import urllib3

from cuihop.agents.arguments import checked_arguments
from cuihop.agents.tools import TOOLS
from cuihop_server import RunningService, running_service
from opaque_identifiers import IDENTIFIERS, NAMES, opaque_graph

ROOT = IDENTIFIERS[0]


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    with running_service(opaque_graph()) as running:
        yield running


@pytest.mark.parametrize("n", range(len(IDENTIFIERS)))
def test_an_identifier_in_an_address_is_percent_encoded(service: RunningService, n: int) -> None:
    cui, pool = IDENTIFIERS[n], urllib3.PoolManager(retries=False, timeout=300)

    def fetched(route: str, **parameters: object) -> dict[str, object]:
        query = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in parameters.items())
        answer = pool.request("GET", f"{service.http}/v1/{route}?{query}")
        assert answer.status == 200, answer.data
        found = json.loads(answer.data)
        assert isinstance(found, dict)
        return found

    distance = fetched("distance", a=cui, b=ROOT)
    assert (distance["a"], distance["b"], distance["hops"]) == (cui, ROOT, n)
    concept = fetched("concept", cui=cui)
    assert (concept["cui"], concept["name"]) == (cui, NAMES[cui][0])
    around = fetched("neighbourhood", cui=cui, hops=1)
    assert around["total"] == (1 if n in (0, len(IDENTIFIERS) - 1) else 2)
    path = fetched("path", a=cui, b=ROOT)["path"]
    assert isinstance(path, list)
    assert [place["cui"] for place in path] == list(IDENTIFIERS[n::-1])
    similarity = fetched("similarity", a=cui, b=ROOT)["values"]
    assert isinstance(similarity, dict)
    assert similarity["path"] == 1 / (1 + n)
    body = {"a": [cui], "b": [ROOT], "n": 1}
    relevance = json.loads(pool.request("POST", f"{service.http}/v1/relevance", json=body).data)
    assert relevance["nn_iou"] == (1.0 if n == 0 else 0.5 if n == 1 else 0.0)
    pool.clear()


def test_tools_for_agents_take_and_give_identifiers_as_they_are() -> None:
    graph = opaque_graph()
    pairs = [{"a": cui, "b": ROOT} for cui in IDENTIFIERS[:20]]
    for tool, arguments in (
        ("distances", {"pairs": pairs}), ("compare", {"a": IDENTIFIERS[:9], "b": IDENTIFIERS[9:], "n": 1}),
        ("path", {"a": IDENTIFIERS[9], "b": ROOT}), ("concept", {"cui": IDENTIFIERS[8]}),
    ):  # fmt: skip
        given = json.loads(json.dumps(arguments))
        answer = TOOLS[tool].answer(graph, checked_arguments(TOOLS[tool].arguments, tool, given), names=True)
        assert "invalid" not in json.dumps(answer)
        if tool == "distances":
            assert [pair["hops"] for pair in answer["distances"]] == list(range(20))
        if tool == "path":
            assert [place["cui"] for place in answer["path"]] == list(IDENTIFIERS[9::-1])
