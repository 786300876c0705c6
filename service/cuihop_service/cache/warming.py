"""Filling a cache before anybody asks: the distances among all concepts of a list."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, permutations

from cuihop.graph import ConceptGraph, Direction, resolved
from cuihop_service.cache.cached_graph import CachedGraph

__all__ = ["Warmed", "warm"]

_PAIRS_A_BLOCK = 8_192


@dataclass(frozen=True, slots=True)
class Warmed:
    """What warming did.

    Attributes:
        concepts: distinct concepts of the list.
        pairs: pairs asked.
        known: how many of them the cache knew already; 0 where a service has it, which does not tell.
    """

    concepts: int
    pairs: int
    known: int


def warm(
    graph: ConceptGraph,
    cuis: Sequence[str],
    *,
    max_hops: int | None = None,
    direction: Direction = "any",
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Warmed:
    """Ask for the distance of every pair among the concepts, so that the cache knows it.

    Memory stays that of one block of pairs. An interrupt, or an error out of ``progress``, ends it between two blocks;
    what was done is kept, and asking again soon gets to where it was.

    Args:
        graph: a `CachedGraph`, or one behind a service that has a cache. The level in process keeps no more pairs
            than it has room for.
        cuis: the concepts; repeats, and retired identifiers beside their successors, count once.
        max_hops, direction: as in `ConceptGraph.distances`. Without a direction each pair is asked in one order.
        progress: called with the pairs done and all there are, before the first block and after each.

    Raises:
        InvalidCui, ConceptNotFound, ConceptRetired: names every identifier at fault; nothing was asked.
    """
    concepts = list(dict.fromkeys(resolved(graph.resolve(cuis), graph.release)))
    choices = len(concepts) * (len(concepts) - 1)
    total = choices // 2 if direction == "any" else choices
    pairs: Iterator[tuple[str, str]] = combinations(concepts, 2) if direction == "any" else permutations(concepts, 2)
    done = known = 0
    progress(done, total)
    while block := list(islice(pairs, _PAIRS_A_BLOCK)):
        if isinstance(graph, CachedGraph):
            known += int(graph.answered(block, direction=direction, max_hops=max_hops).from_cache.sum())
        else:
            graph.distances(block, direction=direction, max_hops=max_hops)
        done += len(block)
        progress(done, total)
    return Warmed(len(concepts), done, known)
