"""Errors of the OpenAPI document, compared with those sent: media type and body."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cuihop.errors import GraphUnavailable
from cuihop_server import RunningService, running_service
from cuihop_service.callers import Rate
from cuihop_service.core import ConceptService
from cuihop_service.guard.configured_guard import ConfiguredGuard
from cuihop_service.guard.rates import Rates
from cuihop_service.http_api.models import ProblemBody
from cuihop_service.limits import Limits
from example_graph import UNKNOWN, example_graph
from guarded_service import A, B, Reply, http, key_file, new_key_in

PROBLEM = "application/problem+json"
PAIR = f"a={A}&b={B}"


@dataclass
class Guarded:
    """A service with keys, and its OpenAPI document."""

    service: RunningService
    keys: dict[str, str]
    document: dict[str, Any]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    file: Path = tmp_path_factory.mktemp("keys") / "keys.json"
    keys = {
        "reader": new_key_in(file, "reader"),
        "everything": new_key_in(file, "everything", "read", "names"),
        "slow": new_key_in(file, "slow", rate=Rate(0.01, 1)),
    }
    with running_service(
        example_graph(),
        guard=ConfiguredGuard(key_file(file), rates=Rates(Rate())),
        limits=Limits(message_bytes=100_000),
    ) as running:
        yield Guarded(running, keys, http(running, "/openapi.json").json)


def check(answer: Reply, status: int, documented: dict[str, Any]) -> None:
    """The answer is the one that the document has for its status."""
    assert answer.status == status
    description = documented["default" if status in (405, 500) else str(status)]
    assert list(description["content"]) == [answer.headers["content-type"]] == [PROBLEM]
    assert description["content"][PROBLEM]["schema"] == {"$ref": "#/components/schemas/ProblemBody"}
    assert set(answer.json) <= set(ProblemBody.model_validate(answer.json).model_dump())


@pytest.mark.parametrize(
    ("status", "path", "key", "headers"),
    [
        (400, f"/v1/distance?a={A}", "reader", {}),
        (400, "/v1/distance?a=brain&b=stem", "reader", {}),
        (400, f"/v1/path?{PAIR}&max_hops=x", "reader", {}),
        (401, f"/v1/distance?{PAIR}", None, {}),
        (401, f"/v1/path?{PAIR}", None, {}),
        (403, "/v1/search?text=brain", "reader", {}),
        (404, f"/v1/distance?a={A}&b={UNKNOWN}", "reader", {}),
        (404, f"/v1/concept?cui={UNKNOWN}", "reader", {}),
        (409, f"/v1/path?{PAIR}&release={'0' * 64}", "reader", {}),
        (410, f"/v1/distance?a={A}&b=C9000903", "reader", {}),
        (504, f"/v1/path?{PAIR}", "reader", {"x_timeout_seconds": "0.000000001"}),
        (405, "/v1/distances", "reader", {}),
        (431, f"/v1/path?{PAIR}&release={'0' * 70_000}", "reader", {}),
    ],
)
def test_an_error_of_a_get_comes_as_documented(
    guarded: Guarded, status: int, path: str, key: str | None, headers: dict[str, str]
) -> None:
    answer = http(guarded.service, path, key=key and guarded.keys[key], **headers)
    (operation,) = guarded.document["paths"][path.partition("?")[0]].values()
    check(answer, status, operation["responses"])


@pytest.mark.parametrize(
    ("status", "path", "body"),
    [
        (400, "/v1/distances", b"{"),
        (400, "/v1/relevance", {"a": [A]}),
        (404, "/v1/distances", {"pairs": [[A, UNKNOWN]]}),
        (410, "/v1/neighbourhoods", {"cuis": ["C9000903"]}),
        (413, "/v1/distances", b" " * 100_001),
        (403, "/v1/annotate", {"texts": ["brain"]}),
        (400, "/v1/annotate", {"texts": "brain"}),
    ],
)
def test_an_error_of_a_post_comes_as_documented(guarded: Guarded, status: int, path: str, body: object) -> None:
    answer = http(guarded.service, path, body, key=guarded.keys["reader"])
    check(answer, status, guarded.document["paths"][path]["post"]["responses"])


def test_too_many_questions_are_refused_as_documented(guarded: Guarded) -> None:
    answers = [http(guarded.service, f"/v1/distance?{PAIR}", key=guarded.keys["slow"]) for _ in range(2)]
    check(answers[-1], 429, guarded.document["paths"]["/v1/distance"]["get"]["responses"])


@pytest.mark.parametrize(("error", "status"), [(GraphUnavailable("the store is away"), 503), (ValueError("a"), 500)])
def test_what_fails_behind_the_service_is_told_as_documented(
    guarded: Guarded, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(ConceptService, "path", fail)
    answer = http(guarded.service, f"/v1/path?{PAIR}", key=guarded.keys["reader"])
    check(answer, status, guarded.document["paths"]["/v1/path"]["get"]["responses"])


def test_an_unchanged_answer_is_documented_where_there_is_an_etag(guarded: Guarded) -> None:
    for path, methods in guarded.document["paths"].items():
        for method, operation in methods.items():
            query = {"/v1/concept": f"cui={A}", "/v1/neighbourhood": f"cui={A}", "/v1/search": "text=brain"}.get(
                path, PAIR
            )
            query = "" if path in ("/v1/release", "/v1/hierarchy", "/v1/similarity-scale") else query
            key = guarded.keys["everything"]
            if method == "get" and (tag := http(guarded.service, f"{path}?{query}", key=key).headers.get("etag")):
                answer = http(guarded.service, f"{path}?{query}", key=key, if_none_match=tag)
                assert (answer.status, answer.body) == (304, b"")
                assert "content" not in operation["responses"]["304"]
            else:
                assert "304" not in operation["responses"], path


def test_the_form_of_an_activation_is_documented(guarded: Guarded) -> None:
    for text, allowed in (
        ("0-0123456789abcdef", True),
        ("9223372036854775808-0123456789abcdef", False),
        ("1-x", False),
    ):
        answer = http(guarded.service, f"/v1/distance?{PAIR}", key=guarded.keys["reader"], x_release_activation=text)
        assert (answer.status == 200) == allowed
        for methods in guarded.document["paths"].values():
            for operation in methods.values():
                [header] = [one for one in operation["parameters"] if one["in"] == "header"]
                assert bool(re.search(header["schema"]["pattern"], text)) == allowed


@pytest.mark.parametrize("members", [(), ("pairs",), ("sets",), ("pairs", "sets")])
def test_pairs_or_sets_are_documented_as_they_are_taken(guarded: Guarded, members: tuple[str, ...]) -> None:
    possible = {"pairs": [[A, B]], "sets": [[[A], [B]]]}
    body = {name: possible[name] for name in members}
    answer = http(guarded.service, "/v1/similarities", body, key=guarded.keys["reader"])
    forms = guarded.document["components"]["schemas"]["SimilaritiesRequest"]["oneOf"]
    allowed = sum(set(form["required"]) <= set(members) for form in forms) == 1
    assert (answer.status == 200) == allowed


def test_a_stream_may_have_no_line(guarded: Guarded) -> None:
    answer = http(guarded.service, "/v1/distances/stream", b"", key=guarded.keys["reader"])
    assert (answer.status, answer.body) == (200, b"")
    assert not guarded.document["paths"]["/v1/distances/stream"]["post"]["requestBody"]["required"]


def test_no_error_is_documented_in_another_form(guarded: Guarded) -> None:
    operations = [one for path in guarded.document["paths"].values() for one in path.values()]
    assert len(operations) == 24
    for operation in operations:
        for status, answer in operation["responses"].items():
            if status not in ("200", "304"):
                assert list(answer["content"]) == [PROBLEM], (operation["operationId"], status)
        assert "422" not in operation["responses"]
        assert {"408", "431"} <= set(operation["responses"])
    assert "HTTPValidationError" not in guarded.document["components"]["schemas"]
