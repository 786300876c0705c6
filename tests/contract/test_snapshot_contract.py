"""The contract suite on `SnapshotGraph`: in memory, and from a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from concept_graph_contract import Adapt, ConceptGraphContract
from cuihop import ConceptGraph, SnapshotGraph
from cuihop.snapshot.index_builder import build_index


class TestSnapshotInMemory(ConceptGraphContract):
    @pytest.fixture(scope="class")
    @classmethod
    def adapt(cls) -> Adapt:
        return lambda snapshot: snapshot


class TestSnapshotFile(ConceptGraphContract):
    random_graphs = 50

    @pytest.fixture(scope="class")
    @classmethod
    def adapt(cls, tmp_path_factory: pytest.TempPathFactory) -> Adapt:
        folder: Path = tmp_path_factory.mktemp("snapshots")

        def save_and_open(snapshot: SnapshotGraph) -> ConceptGraph:
            path = folder / "graph.cuihop"
            snapshot.save(path)
            return SnapshotGraph.open(path)

        return save_and_open


class TestIndexedSnapshot(ConceptGraphContract):
    """Distances read from labels. Few roots, so that on small graphs too the hubs have something to do."""

    random_graphs = 50  # for each number of roots
    pairs_a_thread = 5

    @pytest.fixture(scope="class", params=[0, 1, 16])
    @classmethod
    def adapt(cls, request: pytest.FixtureRequest) -> Adapt:
        def with_index(snapshot: SnapshotGraph) -> ConceptGraph:
            indexed = SnapshotGraph(snapshot.sections)
            indexed.use_index(build_index(snapshot, roots=request.param))
            return indexed

        return with_index
