"""``cuihop service warm``: fill the cache with the distances among the concepts of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import combinations, islice, permutations
from pathlib import Path

from cuihop.addresses import is_neo4j_address
from cuihop.cli.graph_option import AddressOptions, SearchOptions
from cuihop.cli.option_groups import argument, option, option_group
from cuihop.cli.output import note, progress_bars
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.connection import connect
from cuihop.errors import InputError
from cuihop.files.text_lines import decoded_lines, first_line
from cuihop.graph import ConceptGraph, Direction, resolved

_PAIRS_A_BLOCK = 8_192


@dataclass(frozen=True, slots=True)
class Warmed:
    """Numbers of a warmed cache; ``cached`` is 0 behind a service, which does not report it."""

    concepts: int
    pairs: int
    cached: int


def warm_pairs(
    graph: ConceptGraph,
    cuis: Sequence[str],
    *,
    max_hops: int | None = None,
    direction: Direction = "any",
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Warmed:
    """Request the distance of every pair among the concepts, so that the cache holds it.

    Memory stays that of one block of pairs. An interrupt, or an error out of ``progress``, ends it between two blocks;
    the blocks before it stay in the cache, and a second run soon reaches the same point.

    Args:
        graph: a `CachedGraph`, or one behind a service that has a cache. The level in process holds no more pairs
            than it has room for.
        cuis: the concepts; repeats, and retired identifiers with their successors, count once.
        max_hops, direction: as in `ConceptGraph.distances`. Without a direction each pair is requested in one order.
        progress: called with the pairs done and all there are, before the first block and after each.

    Raises:
        InvalidCui, ConceptNotFound, ConceptRetired: names every identifier at fault; no pair was requested.
    """
    from cuihop_service.cache import CachedGraph

    concepts = list(dict.fromkeys(resolved(graph.resolve(cuis), graph.release)))
    choices = len(concepts) * (len(concepts) - 1)
    total = choices // 2 if direction == "any" else choices
    pairs: Iterator[tuple[str, str]] = combinations(concepts, 2) if direction == "any" else permutations(concepts, 2)
    done = cached = 0
    progress(done, total)
    while block := list(islice(pairs, _PAIRS_A_BLOCK)):
        if isinstance(graph, CachedGraph):
            cached += int(graph.answered(block, direction=direction, max_hops=max_hops).from_cache.sum())
        else:
            graph.distances(block, direction=direction, max_hops=max_hops)
        done += len(block)
        progress(done, total)
    return Warmed(len(concepts), done, cached)


def concepts_of_file(path: Path) -> list[str]:
    """The distinct identifiers of a file: one a line, or of a CSV file of images; `InputError` for another."""
    first, lines = first_line(decoded_lines(path))
    if "," in first:
        images = ImageConcepts.read(path)
        return sorted({cui for concepts in images.values() for cui in concepts})
    cuis = list(dict.fromkeys(line.strip() for line in lines if line.strip()))
    if not cuis:
        raise InputError("the file is empty", file=path, expected="an identifier a line, or image,concepts")
    return cuis


@option_group
class _WarmOptions(SearchOptions, AddressOptions):
    file: Path = argument("Identifiers, one per line; or a CSV file of images and their concepts.")
    redis: str | None = option(
        "With a Neo4j server as the graph: the Redis that the service's replicas share.", envvar="CUIHOP_REDIS"
    )


def warm(options: _WarmOptions) -> None:
    """Fill the cache of a service with the distances between all concepts of a file.

    The graph is a service that answers by Cypher, or the Neo4j server behind it with the Redis that they share. After
    an interrupt, pairs already requested stay in the cache.
    """
    from cuihop_service.cache import CachedGraph
    from cuihop_service.cache.redis_cache import RedisCache

    cuis, graph = concepts_of_file(options.file), options.graph
    with ExitStack() as stack:
        opened: ConceptGraph
        if is_neo4j_address(graph):
            if options.redis is None:
                raise InputError(
                    "no cache to fill", column="redis", found="nothing",
                    expected="the Redis of the service, or the service itself as --graph",
                )  # fmt: skip
            shared = RedisCache(options.redis, timeout=5.0)  # no caller waits, and what is not taken is lost
            opened = stack.enter_context(CachedGraph(connect(graph), shared=shared))
        elif "://" in graph:
            opened = stack.enter_context(connect(graph))
        else:
            raise InputError(
                "a snapshot needs no cache", column="graph", found=graph,
                expected="a service, such as grpc://host:50051, or a Neo4j server with --redis",
            )  # fmt: skip
        with progress_bars() as bar_of:
            done = warm_pairs(
                opened, cuis, direction=options.direction, max_hops=options.max_hops, progress=bar_of("pairs")
            )
        if is_neo4j_address(graph) and shared.statistics.errors:
            note("Redis did not take everything; see its log, and ask again")
    note(f"{done.concepts:,} concepts, {done.pairs:,} pairs, {done.cached:,} of them known before")
