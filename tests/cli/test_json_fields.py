"""``--json`` and HTTP give one operation the same fields, with the same values."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import urllib3

from cuihop import SnapshotGraph
from cuihop_loader import load
from cuihop_server import RunningService, running_service
from example_graph import coded_graph, example_graph
from loader.rrf_made import coded, isa, mapping, written
from program_run import Run

HTTP_ONLY = {"tier", "names_hidden"}


class Operation(NamedTuple):
    """One operation of both doors, and the fields that only the command has."""

    command: list[str]
    path: str
    question: dict[str, Any]
    added: frozenset[str] = frozenset()


LISTS = {"a": ["C0006121", "C0042449", "C9999999"], "b": ["C0006104", "C9000904", "C0006121"], "unknown": "isolated"}

OPERATIONS = [
    Operation(["distance", "C9000901", "C0018670"], "distance", {"a": "C9000901", "b": "C0018670"}),
    Operation(
        ["distance", "C0006121", "C0018670", "--max-hops", "2", "--direction", "up"], "distance",
        {"a": "C0006121", "b": "C0018670", "max_hops": 2, "direction": "up"},
    ),
    Operation(["path", "C0006121", "C0018670"], "path", {"a": "C0006121", "b": "C0018670"}),
    Operation(
        ["path", "C9000011", "C9000014", "--which", "2"], "path", {"a": "C9000011", "b": "C9000014", "which": 2}
    ),
    Operation(["path", "C0006121", "C0003483"], "path", {"a": "C0006121", "b": "C0003483"}),
    Operation(
        ["neighbours", "C9000904", "--hops", "2", "--limit", "3"], "neighbourhood",
        {"cui": "C9000904", "hops": 2, "limit": 3}, frozenset({"name"}),
    ),
    Operation(
        ["descendants", "C0007226", "--max-hops", "1"], "neighbourhood",
        {"cui": "C0007226", "hops": 1, "direction": "down"}, frozenset({"name"}),
    ),
    Operation(["search", "brain"], "search", {"text": "brain"}),
    Operation(["concept", "C0005847"], "concept", {"cui": "C0005847"}, frozenset({"parent_cuis"})),
    Operation(
        ["explain", "concepts", ";".join(LISTS["a"]), ";".join(LISTS["b"]), "--unknown", "isolated"], "relevance",
        LISTS,
    ),
    Operation(
        ["similarity", "C9000901", "C0003483"], "similarity", {"a": "C9000901", "b": "C0003483"}, frozenset({"names"})
    ),
    Operation(
        ["similarity", "C0042449", "C9000001", "--ic", "Seco"], "similarity",
        {"a": "C0042449", "b": "C9000001", "ic": "Seco"}, frozenset({"names"}),
    ),
    Operation(["info"], "release", {}, frozenset({"address"})),
]  # fmt: skip

HTTP_ALONE = {
    *(
        "distances",
        "distances/stream",
        "neighbourhoods",
        "pack",
        "relevances",
        "concepts",
        "resolutions",
        "similarities",
        "pair-similarities",
        "placements",
        "hierarchy",
        "paths",
        "similarity-scale",
    ),
}
"""Batches and what programs need; the command line has no such operation, or writes files instead."""


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    with running_service(example_graph()) as running:
        yield running


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("json") / "example.cuihop"
    example_graph().save(path)
    return path


def without(answer: Any, added: Collection[str]) -> Any:
    """An answer without fields that one door adds, in nested objects too."""
    if isinstance(answer, list):
        return [without(item, added) for item in answer]
    if isinstance(answer, dict):
        return {name: without(value, added) for name, value in answer.items() if name not in added}
    return answer


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: " ".join(operation.command))
def test_the_command_and_http_give_the_same_fields(
    operation: Operation, service: RunningService, snapshot: Path, program: Run
) -> None:
    url = f"{service.http}/v1/{operation.path}"
    if operation.path == "relevance":
        over_http = urllib3.request("POST", url, json=operation.question, timeout=300).json()
    else:
        over_http = urllib3.request("GET", url, fields=operation.question, timeout=300).json()
    address = [service.http] if operation.command == ["info"] else ["--graph", str(snapshot)]
    printed = json.loads(program(*operation.command, *address, "--json").out)
    if operation.command[0] == "explain":
        printed = printed["relevance"]
    if operation.command == ["info"]:
        # The client keeps the limits that it heeds.
        over_http["limits"] = {name: over_http["limits"][name] for name in printed["limits"]}
    else:
        assert printed["release_name"] == example_graph().release.name
        del printed["release_name"]
    for field in operation.added:
        assert without(printed, {field}) != printed, f"{field} is not added"
    assert without(printed, operation.added) == without(over_http, HTTP_ONLY)


def test_the_mentions_of_a_text_have_the_same_fields(service: RunningService, snapshot: Path, program: Run) -> None:
    text = "No lesion of the brain stem."
    question = {"texts": [text], "options": {"candidates": True}}
    over_http = urllib3.request("POST", f"{service.http}/v1/annotate", json=question, timeout=300).json()
    (mentions,) = over_http.pop("annotations")
    printed = json.loads(program("annotate", "--text", text, "--candidates", "--graph", str(snapshot), "--json").out)
    assert [mention["cui"] for mention in printed["mentions"]] == ["C0006121"]
    assert printed == {**mentions, **without(over_http, HTTP_ONLY), "release_name": example_graph().release.name}


def test_codes_have_the_same_fields(program: Run, tmp_path: Path) -> None:
    graph = coded_graph()
    graph.save(tmp_path / "coded.cuihop")
    with running_service(graph) as service:
        question = {"identifiers": ["C9000901", "LOCAL:x"], "sabs": ["MSH"]}
        over_http = urllib3.request("POST", f"{service.http}/v1/codes", json=question, timeout=300).json()
    command = ["codes", *question["identifiers"], "--sab", "MSH", "--graph", str(tmp_path / "coded.cuihop"), "--json"]
    printed = json.loads(program(*command).out)
    assert printed.pop("release_name") == "coded"
    assert printed == without(over_http, HTTP_ONLY)


def test_published_mappings_have_the_same_fields(program: Run, tmp_path: Path) -> None:
    mapped = mapping("C0000009", "MSH", FROMEXPR="I21", FROMTYPE="CODE", TOEXPR="x")
    files = {"MRREL": [isa("C0000001", "C0000002")], "MRCONSO": [coded("C0000001", "MSH", "I21")], "MRMAP": [mapped]}
    graph = SnapshotGraph(load([written(tmp_path / "release", files)]).sections)
    graph.save(tmp_path / "mapped.cuihop")
    question = {"identifiers": ["MSH:I21", "C0000001"]}
    with running_service(graph) as service:
        over_http = urllib3.request("POST", f"{service.http}/v1/code-maps", json=question, timeout=300).json()
    assert [len(lookup["maps"]) for lookup in over_http["lookups"]] == [1, 1]
    command = ["codes", *question["identifiers"], "--maps", "--graph", str(tmp_path / "mapped.cuihop"), "--json"]
    printed = json.loads(program(*command).out)
    assert printed.pop("release_name") == graph.release.name
    assert printed == without(over_http, HTTP_ONLY)


def test_every_operation_over_http_is_compared_or_has_no_command(service: RunningService) -> None:
    paths = urllib3.request("GET", f"{service.http}/openapi.json", timeout=300).json()["paths"]
    offered = {path.removeprefix("/v1/") for path in paths if path.startswith("/v1/")}
    assert offered == {operation.path for operation in OPERATIONS} | {"annotate", "codes", "code-maps"} | HTTP_ALONE
