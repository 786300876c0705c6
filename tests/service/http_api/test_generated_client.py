"""A client that a public generator writes from the OpenAPI document, against the service."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openapi_python_client import generate
from openapi_python_client.config import Config, ConfigFile, MetaType

from cuihop_server import RunningService, running_service
from example_graph import example_graph
from guarded_service import guard_of, http, new_key_in

PACKAGE = "generated_cuihop_client"


@pytest.fixture
def generated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[RunningService, str, list[str]]]:
    """A service that asks for a key, the key, and what the generator had to say."""
    file = tmp_path / "keys.json"
    key = new_key_in(file, "program", "read", "names")
    with running_service(example_graph(), guard=guard_of(keys_file=file)) as service:
        document = tmp_path / "openapi.json"
        document.write_text(json.dumps(http(service, "/openapi.json").json))
        options = ConfigFile(package_name_override=PACKAGE, post_hooks=[])
        config = Config.from_sources(options, MetaType.NONE, document, "utf-8", True, tmp_path / PACKAGE)
        remarks = [f"{remark.header}: {remark.detail}" for remark in generate(config=config)]
        monkeypatch.syspath_prepend(str(tmp_path))
        yield service, key, remarks
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


@pytest.mark.slow
def test_a_generated_client_asks_the_service(generated: tuple[RunningService, str, list[str]]) -> None:
    service, key, remarks = generated
    assert [
        remark for remark in remarks if "/v1/distances/stream" not in remark
    ] == []  # lines of JSON are not known there
    client = importlib.import_module(PACKAGE).AuthenticatedClient(base_url=service.http, token=key)
    models = importlib.import_module(f"{PACKAGE}.models")

    def asked(operation: str, **values: Any) -> Any:
        module = next(
            found
            for group in ("distances", "relevance", "concepts", "similarity", "release")
            if (found := _module(f"{PACKAGE}.api.{group}.{operation}"))
        )
        return module.sync(client=client, **values)

    assert asked("distance", a="C0006121", b="C0018670").hops == 3
    assert asked("distances", body=models.DistancesRequest(pairs=[["C0006121", "C0018670"]])).hops == [3]
    assert asked("search", text="brain stem").hits[0].cui == "C0006121"
    assert asked("release").name == "example"
    problem = asked("distance", a="brain stem", b="C0018670")
    assert problem.reason == "INVALID_CUI"
    assert [each.name for each in problem.faults[0].candidates] == ["Brain stem"]


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return None
