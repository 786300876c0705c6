"""The cache of the service: distances in process, and in a Redis that replicas share."""

from __future__ import annotations

from cuihop_service.cache.cached_graph import CachedDistances, CachedGraph
from cuihop_service.cache.local_cache import DEFAULT_ENTRIES, PairCounts, SharedStatistics

__all__ = ["DEFAULT_ENTRIES", "CachedDistances", "CachedGraph", "PairCounts", "SharedStatistics"]
