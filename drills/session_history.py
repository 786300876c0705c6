"""The history of the clients of a service, and its rules: no answer is wrong, none goes back, none is lost."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from cuihop.graph import Direction
from cuihop.remote.activation import Activation

__all__ = ["MOST_FAILED", "Hops", "Operation", "broken_rules"]

MOST_FAILED = 1e-4
"""Share of operations that may fail where the client has retried as documented."""

Hops = Mapping[tuple[Direction, str, str], int]
"""Distances in one release; without those that have no path."""


class Operation(NamedTuple):
    """A question of a client, and what became of it.

    Attributes:
        client: a client has one question at a time.
        begun, ended: seconds on one clock; the end is None where there was none.
        digest: of the release that the answer names.
        activation: of that release, as the answer names it.
        hops: the answer.
        failure: the error in place of an answer.
    """

    client: str
    begun: float
    ended: float | None
    direction: Direction
    pairs: Sequence[tuple[str, str]]
    digest: str = ""
    activation: Activation | None = None
    hops: Sequence[int | None] = ()
    failure: str = ""


def broken_rules(
    history: Iterable[Operation], truth: Mapping[str, Hops], activations: Iterable[Activation]
) -> Iterator[str]:
    """A sentence for each breach.

    Args:
        truth: by digest, the distances of each release.
        activations: all that there were.
    """
    of_client = defaultdict[str, list[Operation]](list)
    for operation in history:
        of_client[operation.client].append(operation)
    allowed = set(activations)
    failures = Counter[str]()
    count = 0
    for client, operations in of_client.items():
        newest: Activation | None = None
        for operation in sorted(operations, key=lambda one: one.begun):
            count += 1
            at = f"{client} at {operation.begun:.3f} s"
            if operation.ended is None:
                yield f"{at}: neither an answer nor an error"
            elif operation.failure:
                failures[operation.failure] += 1
            else:
                yield from _wrong(at, operation, truth)
                now = operation.activation
                if now is None or now not in allowed or operation.digest[: len(now.digest)] != now.digest:
                    yield f"{at}: activation {now} of release {operation.digest} was never made"
                elif newest is not None and newest.is_after(now):
                    yield f"{at}: activation {now} after {newest}, which is newer"
                elif newest is None or now.number > newest.number:
                    newest = now
    failed = failures.total()
    if failed > MOST_FAILED * count:
        kinds = "; ".join(f"{number} times {failure}" for failure, number in failures.most_common(3))
        yield f"{failed} of {count} operations failed, retries included: {kinds}"


def _wrong(at: str, operation: Operation, truth: Mapping[str, Hops]) -> Iterator[str]:
    right = truth.get(operation.digest)
    if right is None:
        yield f"{at}: a release that was never made: {operation.digest}"
        return
    if len(operation.hops) != len(operation.pairs):
        yield f"{at}: {len(operation.hops)} answers to {len(operation.pairs)} pairs"
    for (a, b), hops in zip(operation.pairs, operation.hops, strict=False):
        expected = right.get((operation.direction, a, b))
        if hops != expected:
            where = f"{a} to {b}, {operation.direction}, release {operation.digest[:12]}"
            yield f"{at}: {where}: {hops} in place of {expected}"
