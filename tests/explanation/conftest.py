"""Fixture of the tests of explanations."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cuihop import ConceptGraph, connect
from cuihop_server import running_service
from example_graph import example_graph


@pytest.fixture(scope="module", params=["snapshot", "grpc", "http"])
def graph(request: pytest.FixtureRequest) -> Iterator[ConceptGraph]:
    """The example graph, in this process and behind a service."""
    if request.param == "snapshot":
        yield example_graph()
        return
    with running_service(example_graph()) as service, connect(getattr(service, request.param)) as remote:
        yield remote
