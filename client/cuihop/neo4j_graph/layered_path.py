"""The first of all shortest paths, level by level from both ends: for pairs with too many to list.

Each level costs one query, however many paths run through it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

__all__ = ["first_shortest_path"]

NextLevel = Callable[[Iterable[str]], set[str]]


def first_shortest_path(start: str, end: str, forward: NextLevel, backward: NextLevel) -> list[str] | None:
    """The shortest path whose identifiers come first in their order; ``None`` where no path exists.

    Args:
        start, end: two different concepts.
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
    # Before the middle, only concepts from which the middle is reached in time are on a shortest path.
    layers = [middle]
    for level in from_start[-2::-1]:
        layers.append(backward(layers[-1]) & level)
    layers.reverse()
    layers += from_end[-2::-1]
    path = [start]
    for layer in layers[1:]:
        path.append(min(forward([path[-1]]) & layer))
    return path
