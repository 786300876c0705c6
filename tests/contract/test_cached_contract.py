"""The contract suite on `CachedGraph`: with room for everything, with hardly any, and over a Redis."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from concept_graph_contract import Adapt, ConceptGraphContract
from cuihop_service.cache import CachedGraph, SharedPairs
from redis_server import RedisServer


class TestCached(ConceptGraphContract):
    random_graphs = 50

    @pytest.fixture(scope="class")
    @classmethod
    def adapt(cls) -> Adapt:
        return CachedGraph


class TestCachedInFourEntries(ConceptGraphContract):
    random_graphs = 50

    @pytest.fixture(scope="class")
    @classmethod
    def adapt(cls) -> Adapt:
        return lambda snapshot: CachedGraph(snapshot, entries=4)


@pytest.mark.xdist_group("cached-in-redis")  # in one process, so that there is something to count at the end
class TestCachedInRedis(ConceptGraphContract):
    random_graphs = 20
    pairs_a_thread = 20

    @pytest.fixture(scope="class")
    @classmethod
    def shared(cls, redis_server: RedisServer) -> Iterator[SharedPairs]:
        shared = SharedPairs(redis_server.address, timeout=5.0)
        yield shared
        assert shared.statistics.errors == 0
        assert shared.statistics.reads > 0
        shared.close()

    @pytest.fixture(scope="class")
    @classmethod
    def adapt(cls, shared: SharedPairs) -> Adapt:
        return lambda snapshot: CachedGraph(snapshot, entries=4, shared=shared)
