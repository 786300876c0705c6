"""A query string is used as it stands, or refused: what is misspelt changes no answer in silence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cuihop_server import RunningService, running_service
from example_graph import example_graph
from guarded_service import http

DISTANCE = "/v1/distance?a=C0006121&b=C0018670"


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    with running_service(example_graph()) as running:
        yield running


def operations(service: RunningService) -> list[tuple[str, str]]:
    paths: dict[str, Any] = http(service, "/openapi.json").json["paths"]
    return [(path, method.upper()) for path, methods in paths.items() for method in methods]


@pytest.mark.parametrize(
    ("query", "column", "says"),
    [
        ("directon=up", "directon", "Did you mean direction?"),
        ("maxhops=1", "maxhops", "Did you mean max_hops?"),
        ("zzz=1", "zzz", "expected a, b, direction, max_hops, within_sabs, release"),
        ("max_hops=3&max_hops=4", "max_hops", "one value is needed"),
        ("a=C0018670", "a", "one value is needed"),
        ("max_hops=1_0", "max_hops", "expected a whole number"),
        ("max_hops=%2B3", "max_hops", "expected a whole number"),
        ("max_hops=%203", "max_hops", "expected a whole number"),
        ("max_hops=%D9%A3", "max_hops", "expected a whole number"),
        ("max_hops=3.0", "max_hops", "expected a whole number"),
    ],
)
def test_what_would_be_ignored_is_refused(service: RunningService, query: str, column: str, says: str) -> None:
    answer = http(service, f"{DISTANCE}&{query}")
    assert (answer.status, answer.json["reason"], answer.json["field"]) == (400, "INVALID_INPUT", column)
    assert says in answer.json["detail"]


def test_every_operation_refuses_a_parameter_that_it_does_not_have(service: RunningService) -> None:
    found = operations(service)
    assert len(found) > 15
    for path, method in found:
        answer = http(service, f"{path}?not-a-parameter=1", None if method == "GET" else {}, method=method)
        assert (answer.status, answer.json["field"]) == (400, "not-a-parameter"), path


def test_a_list_may_be_repeated(service: RunningService) -> None:
    answer = http(service, f"{DISTANCE}&within_sabs=MSH&within_sabs=NCI")
    assert "a release loaded with the vocabulary of each edge" in answer.json["detail"]  # both were read
    assert http(service, f"{DISTANCE}&max_hops=3").json["hops"] == 3


@pytest.mark.parametrize("path", [DISTANCE, f"{DISTANCE}&direction=any", "/v1/release", "/health/ready"])
def test_head_is_get_without_the_body(service: RunningService, path: str) -> None:
    head, get = http(service, path, method="HEAD"), http(service, path)
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-length"] == str(len(get.body))
    assert head.headers.get("etag") == get.headers.get("etag")


def test_any_tag_is_that_of_an_answer_there_is(service: RunningService) -> None:
    assert http(service, DISTANCE, If_None_Match="*").status == 304
    assert http(service, "/v1/distance?a=C0006121&b=C9999998", If_None_Match="*").status == 404


@pytest.mark.parametrize("text", ["1_0", "+1", "1e1", "inf", "nan", "٣", "", "0", "0.0"])
def test_a_time_limit_is_a_plain_number(service: RunningService, text: str) -> None:
    path = DISTANCE.replace("distance", "path")
    answer = http(service, path, X_Timeout_Seconds=text.encode().decode("latin-1"))
    assert (answer.status, answer.json["field"]) == (400, "x-timeout-seconds")
    assert http(service, path, X_Timeout_Seconds="20.5").status == 200
