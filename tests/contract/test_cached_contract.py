"""The contract suite on `CachedGraph`: with room for everything, with hardly any, and over a Redis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from concept_graph_contract import Adapt, ConceptGraphContract
from cuihop_service.cache import CachedGraph
from example_graph import example_graph
from redis_server import RedisServer

if TYPE_CHECKING:
    from cuihop_service.cache.redis_cache import RedisCache


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


class TestCachedInRedis(ConceptGraphContract):
    random_graphs = 20
    pairs_a_thread = 8

    @pytest.fixture(scope="class")
    @classmethod
    def shared(cls, redis_server: RedisServer) -> Iterator[RedisCache]:
        from cuihop_service.cache.redis_cache import RedisCache

        shared = RedisCache(redis_server.address, timeout=5.0)
        yield shared
        assert shared.statistics.errors == 0
        shared.close()

    def test_redis_is_asked(self, shared: RedisCache) -> None:
        before = shared.statistics
        with CachedGraph(example_graph(), shared=shared) as graph:
            assert graph.distance("C0006121", "C0018670") == 3
        after = shared.statistics
        assert after.reads + after.writes > before.reads + before.writes

    @pytest.fixture(scope="class")
    @classmethod
    def adapt(cls, shared: RedisCache) -> Adapt:
        return lambda snapshot: CachedGraph(snapshot, entries=4, shared=shared)
