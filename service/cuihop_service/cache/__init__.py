"""The cache of the service: distances that were computed once, in process and shared between replicas."""

from __future__ import annotations

from cuihop_service.cache.cached_graph import CachedDistances, CachedGraph
from cuihop_service.cache.local_cache import DEFAULT_ENTRIES
from cuihop_service.cache.redis_cache import SharedPairs
from cuihop_service.cache.statistics import CacheStatistics, PairCounts, SharedStatistics
from cuihop_service.cache.warming import Warmed, warm

__all__ = [
    "DEFAULT_ENTRIES",
    "CacheStatistics",
    "CachedDistances",
    "CachedGraph",
    "PairCounts",
    "SharedPairs",
    "SharedStatistics",
    "Warmed",
    "warm",
]
