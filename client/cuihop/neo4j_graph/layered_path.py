"""Shortest paths counted and ranked level by level from both ends: for pairs with too many to list.

Each level costs a few queries, however many paths run through it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

NextLevel = Callable[[Iterable[str]], set[str]]
HopsBetween = Callable[[Iterable[str], Iterable[str]], Iterable[tuple[str, str]]]


def shortest_path_layers(start: str, end: str, forward: NextLevel, backward: NextLevel) -> list[set[str]] | None:
    """For each number of hops from the start, the concepts there on any shortest path; ``None`` where no path exists.

    Args:
        forward: the concepts one hop further on from any of those given.
        backward: the same against the direction of hops.
    """
    from_start, from_end = [{start}], [{end}]
    seen_from_start, seen_from_end = {start}, {end}
    while not (middle := from_start[-1] & from_end[-1]):
        if len(from_start[-1]) <= len(from_end[-1]):
            level = forward(from_start[-1]) - seen_from_start
            from_start.append(level)
            seen_from_start |= level
        else:
            level = backward(from_end[-1]) - seen_from_end
            from_end.append(level)
            seen_from_end |= level
        if not level:
            return None
    # A level holds more than the concepts of shortest paths: retain those with a hop to the layer towards the middle.
    layers = [middle]
    for level in from_start[-2::-1]:
        layers.append(backward(layers[-1]) & level)
    layers.reverse()
    for level in from_end[-2::-1]:
        layers.append(forward(layers[-1]) & level)
    return layers


def ranked_path(
    layers: list[set[str]], hops_between: HopsBetween, which: int, most: int
) -> tuple[list[str] | None, int]:
    """The path of a rank in the order of identifiers, and the number of paths.

    Args:
        which: the rank, from 1; beyond the number of paths the path is ``None``.
        most: bound of the count.
    """
    counts = [dict.fromkeys(layers[-1], 1)]
    onwards: list[dict[str, list[str]]] = []
    for here, after in zip(layers[-2::-1], layers[:0:-1], strict=True):
        hops: dict[str, list[str]] = defaultdict(list)
        for cui, next_cui in hops_between(here, after):
            hops[cui].append(next_cui)
        counts.append(
            {cui: min(most, sum(counts[-1][next_cui] for next_cui in following)) for cui, following in hops.items()}
        )
        onwards.append(hops)
    (start,) = layers[0]
    total = counts[-1][start]
    if which > total:
        return None, total
    path = [start]
    for hops, left in zip(reversed(onwards), counts[-2::-1], strict=True):
        for cui in sorted(hops[path[-1]]):
            if which <= left[cui]:
                path.append(cui)
                break
            which -= left[cui]
    return path, total
