"""A client that a public generator writes from the OpenAPI document, against the service."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cuihop_server import RunningService, running_service
from example_graph import example_graph
from guarded_service import guard_of, http, new_key_in
from installer import install_command

PACKAGE = "generated_cuihop_client"
GENERATOR = "openapi-python-client==0.29.1"
"""Of 2026-08. Not among the packages of development, since it bounds the version of Typer."""


def generate(document: Path, folder: Path) -> None:
    """Write the client; only lines of JSON, which the generator does not know, may be left out."""
    packages = folder / "generator"
    subprocess.run([*install_command(), "--quiet", "--target", str(packages), GENERATOR], check=True)
    options = folder / "options.json"
    options.write_text(json.dumps({"package_name_override": PACKAGE, "post_hooks": []}))
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--path", str(document), "--meta", "none"]
    command += ["--config", str(options), "--output-path", str(folder / PACKAGE)]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(packages)}
    )
    warnings = [line for line in done.stdout.splitlines() if line.startswith("WARNING")]
    assert [line for line in warnings if "/v1/distances/stream" not in line] == []


@pytest.fixture
def generated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[RunningService, str]]:
    """A service that asks for a key, and the key; its client can be imported."""
    file = tmp_path / "keys.json"
    key = new_key_in(file, "program", "read", "names")
    with running_service(example_graph(), guard=guard_of(keys_file=file)) as service:
        document = tmp_path / "openapi.json"
        document.write_text(json.dumps(http(service, "/openapi.json").json))
        generate(document, tmp_path)
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "generator")])  # what the client imports
        yield service, key
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


@pytest.mark.slow
def test_a_generated_client_asks_the_service(generated: tuple[RunningService, str]) -> None:
    service, key = generated
    models = importlib.import_module(f"{PACKAGE}.models")
    with importlib.import_module(PACKAGE).AuthenticatedClient(base_url=service.http, token=key) as client:

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
