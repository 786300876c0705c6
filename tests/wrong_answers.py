"""Answers made wrong on purpose, for tests of what is to notice them."""

from __future__ import annotations

import pytest

from cuihop import ConceptGraph
from cuihop.graph import Distances

__all__ = ["add_a_hop"]


def add_a_hop(graph: type[ConceptGraph], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the second distance of each answer of these graphs be one more."""
    right = graph.distances

    def wrong(self: ConceptGraph, *args: object, **options: object) -> Distances:
        found = right(self, *args, **options)  # type: ignore[arg-type]
        found.hops[1:2] += 1
        return found

    monkeypatch.setattr(graph, "distances", wrong)
