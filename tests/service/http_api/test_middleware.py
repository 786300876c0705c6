"""Large bodies under overload: none is parsed before its turn, and none whose time is over."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import urllib3

from cuihop_server import RunningService, running_service
from cuihop_service import keyed_pairs
from cuihop_service.http_api import operation_route
from cuihop_service.limits import Limits
from example_graph import example_graph
from waiting import wait_for

BODY = b'{"pairs":[' + b",".join([b'["C0006121","C0018670"]'] * 500) + b"]}"


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The bodies that were parsed so far."""
    bodies: list[bytes] = []
    parse = keyed_pairs.parsed_batch

    def noting(body: bytes) -> Any:
        bodies.append(body)
        return parse(body)

    monkeypatch.setattr(operation_route, "parsed_batch", noting)
    return bodies


@pytest.fixture
def service() -> Iterator[RunningService]:
    with running_service(example_graph(), limits=Limits(running=1)) as running:
        yield running


def posted(service: RunningService, body: bytes = BODY, seconds: str | None = None) -> urllib3.BaseHTTPResponse:
    headers = {"content-type": "application/json"} | ({} if seconds is None else {"x-timeout-seconds": seconds})
    return urllib3.request(
        "POST", f"{service.http}/v1/distances", body=body, headers=headers, retries=False, timeout=300
    )


def test_a_large_body_waits_for_its_turn_before_it_is_parsed(service: RunningService, parsed: list[bytes]) -> None:
    assert service.admission.turn_at_once(1)  # as by a request that is being answered
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(posted, service)
        wait_for(lambda: len(service.admission._turns) == 1)
        assert parsed == []
        small = b'{"pairs":[["C0006121","C0018670"]]}'
        assert posted(service, small).json()["hops"] == [3]  # takes no turn
        service.loop.call_soon_threadsafe(service.admission.end_turn)
        assert waiting.result().json()["hops"] == [3] * 500
    assert parsed == [small, BODY]
    assert posted(service).status == 200, "the turn was given back"


def test_a_body_whose_time_is_over_is_refused_unparsed(service: RunningService, parsed: list[bytes]) -> None:
    assert service.admission.turn_at_once(1)
    refused = posted(service, seconds="0.01")
    assert (refused.status, refused.json()["reason"]) == (504, "TIMED_OUT")
    assert parsed == []


def test_who_has_hung_up_while_waiting_is_not_answered(service: RunningService, parsed: list[bytes]) -> None:
    assert service.admission.turn_at_once(1)
    with pytest.raises(urllib3.exceptions.ReadTimeoutError):
        urllib3.request("POST", f"{service.http}/v1/distances", body=BODY, retries=False, timeout=0.2)
    service.loop.call_soon_threadsafe(service.admission.end_turn)
    wait_for(lambda: service.admission._turns_held == 0)
    assert parsed == []
