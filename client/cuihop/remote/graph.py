"""The graph behind a service: a `ConceptGraph` whose every answer comes over gRPC or HTTP."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import numpy as np

from cuihop.errors import ConceptError, GraphUnavailable, InputError, InvalidCui, LimitExceeded, ReleaseMismatch
from cuihop.graph import (
    Concept,
    ConceptGraph,
    Direction,
    DistancePack,
    Distances,
    Neighbourhood,
    Path,
    Release,
    Resolution,
    SearchHit,
    checked_direction,
    checked_hops,
    resolved,
)
from cuihop.identifiers import EXPECTED, is_identifier
from cuihop.remote.cui_numbers import cui_numbers
from cuihop.remote.packs import joined_pack, parts_of_pack
from cuihop.remote.port import Answered, Around, Call, HopsOfPairs, PairBlock, Served, Transport
from cuihop.remote.process_connection import ProcessConnection
from cuihop.remote.retries import answered
from cuihop.remote.settings import RemoteSettings
from cuihop.snapshot.string_table import folded

__all__ = ["RemoteGraph"]

T = TypeVar("T")

_LARGEST_PACK = 255
_MOST_HOPS = 2**31 - 2  # longer than any path
_FAULTS_TOLD_IN_FULL = 2
# Small enough that a lost block is soon asked again and several threads of the service share a batch.
_PAIRS_A_BLOCK = 8_192
_CENTRES_A_BLOCK = 128
_CONCEPTS_A_BLOCK = 2_000
_IDENTIFIERS_A_BLOCK = 10_000


class RemoteGraph(ConceptGraph):
    """A `ConceptGraph` on a cuihop service, with the answers and the errors of the snapshot that it serves.

    It belongs to the release that was served when it was opened. Every answer is checked against it: where the service
    has turned to another release, the answer is `ReleaseMismatch`, until `refresh` accepts the new one.

    Batches go in blocks within the limits of the service, some at a time; the answer is that to one batch. It may be
    shared between threads. After a fork the child makes connections of its own. A pickled graph is opened again by its
    address where it arrives, with the key of the environment there, and must find the same release.

    Args:
        settings: where and how.

    Raises:
        GraphUnavailable: no service of cuihop can be reached there.
        NotAuthenticated, NotAllowed: it does not accept the key.
        InputError: a file of TLS cannot be read.
    """

    def __init__(self, settings: RemoteSettings) -> None:
        self._settings = settings
        self._closed = False
        self._connection = ProcessConnection(settings)
        try:
            self._served = self._ask_served(opening=True)
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(cls, address: str) -> RemoteGraph:
        """Connect with key and certificates of the environment: see `RemoteSettings.from_environment`."""
        return cls(RemoteSettings.from_environment(address))

    def __repr__(self) -> str:
        r = self.release
        return (
            f"<RemoteGraph {self._settings.address!r} {r.name!r}: {r.concepts:,} concepts, {r.edges:,} edges, "
            f"digest {r.digest[:12]}>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # The key stays here.
        return _reopened, (dataclasses.replace(self._settings, key=None), self.release.digest)

    @property
    def release(self) -> Release:
        """What is served: the release that every answer comes from."""
        return self._served.release

    @property
    def served(self) -> Served:
        """What the service told of itself when the graph was opened, or refreshed."""
        return self._served

    def refresh(self) -> Release:
        """Accept the release that the service serves now, and return it."""
        self._served = self._ask_served(opening=False)
        return self._served.release

    def close(self) -> None:
        """Give the connections back. Harmless twice."""
        self._closed = True
        self._connection.close()

    # Questions

    def _transport(self) -> Transport:
        if self._closed:
            raise GraphUnavailable(f"{self._settings.address}: the graph is closed")
        if not self._connection.own:
            # What a parent process holds open is its own: two of them on one connection would mix up their answers.
            self._connection = ProcessConnection(self._settings, inherited=self._connection)
        return self._connection.transport

    def _ask_served(self, *, opening: bool) -> Served:
        call = Call(self._settings.timeout)
        return answered(lambda: self._transport().served(call), self._settings.retry_time, opening=opening).value

    def _ask(self, served: Served, question: Callable[[Transport, Call], Answered[T]]) -> Answered[T]:
        """The answer to one question, from the release that is expected."""
        call = Call(self._settings.timeout)
        found = answered(lambda: question(self._transport(), call), self._settings.retry_time)
        if found.digest != served.release.digest:
            raise ReleaseMismatch(
                f"{self._settings.address}: the service has turned to the release with digest {found.digest}; "
                f"this graph was opened on {served.release.name} with digest {served.release.digest}. "
                "Open it again, or call refresh(), and begin anew: answers of two releases do not go together."
            )
        return found

    def _ask_all(self, asked: Sequence[Callable[[], Answered[T]]]) -> list[Answered[T]]:
        """The answers to several questions, in their order; so many on their way at a time as the settings say.

        Separate calls, not one stream: docs/decisions/0005-remote-batches.md.
        """
        if len(asked) <= 1:
            return [question() for question in asked]
        self._transport()
        futures = [self._connection.threads.submit(question) for question in asked]
        try:
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()

    def _ask_blocks(
        self,
        served: Served,
        items: Sequence[str],
        size: int,
        question: Callable[[Transport, slice, Call], Answered[T]],
    ) -> tuple[list[T], dict[str, str]]:
        """The answers to the blocks of a batch, and all identifiers that were replaced, in the order asked.

        Args:
            served: what was served when the batch was begun.
            items: identifiers; a block is a slice of them.
            size: of a block.
            question: asks for one block.

        Raises:
            ConceptRetired, ConceptNotFound: names every identifier at fault, in whichever block.
        """

        def ask(part: slice) -> Answered[T]:
            return self._ask(served, lambda transport, call: question(transport, part, call))

        parts = [slice(first, first + size) for first in range(0, len(items), size)]
        with self._all_faults_told(served, items):
            found = self._ask_all([partial(ask, part) for part in parts])
        merged = {old: new for block in found for old, new in block.merged.items()}
        if merged:
            merged = {cui: merged[cui] for cui in dict.fromkeys(items) if cui in merged}
        return [block.value for block in found], merged

    @contextmanager
    def _all_faults_told(self, served: Served, items: Sequence[str]) -> Iterator[None]:
        """Name every identifier at fault: a block knows its own only, and gRPC has room for some."""
        try:
            yield
        except ConceptError:
            if len(items) > _FAULTS_TOLD_IN_FULL:
                resolved(self._resolve(served, list(dict.fromkeys(items))), served.release)
            raise

    # Identifiers

    def resolve(self, cuis: Sequence[str]) -> list[Resolution]:
        """See `ConceptGraph.resolve`."""
        return self._resolve(self._served, cuis)

    def _resolve(self, served: Served, cuis: Sequence[str]) -> list[Resolution]:
        kind = served.release.identifiers
        possible = [cui for cui in dict.fromkeys(cuis) if is_identifier(cui, kind)]
        size = _within(_IDENTIFIERS_A_BLOCK, served.limits.concepts)
        found, _ = self._ask_blocks(
            served, possible, size, lambda transport, part, call: transport.resolve(possible[part], call)
        )
        became = dict(zip(possible, (resolution for block in found for resolution in block), strict=True))
        return [became[cui] if cui in became else Resolution(cui, "invalid") for cui in cuis]

    def _check(self, served: Served, cuis: Iterable[str]) -> None:
        """Refuse what can be no identifier, before it is sent anywhere."""
        kind = served.release.identifiers
        if invalid := [cui for cui in dict.fromkeys(cuis) if not is_identifier(cui, kind)]:
            raise InvalidCui(invalid, expected=EXPECTED[kind])

    # Distances and paths

    def distances(
        self, pairs: Iterable[tuple[str, str]], *, direction: Direction = "any", max_hops: int | None = None
    ) -> Distances:
        """See `ConceptGraph.distances`."""
        direction = checked_direction(direction)
        bound = checked_hops(max_hops)
        served = self._served
        ends = [cui for a, b in pairs for cui in (a, b)]
        numbers = cui_numbers(ends) if served.release.identifiers == "cui" else None
        if numbers is None:
            self._check(served, ends)

        def question(transport: Transport, part: slice, call: Call) -> Answered[HopsOfPairs]:
            block = PairBlock(ends[part], None if numbers is None else numbers[part])
            return transport.distances(block, direction, _sent(bound), call)

        size = _within(_PAIRS_A_BLOCK, served.limits.pairs)
        found, merged = self._ask_blocks(served, ends, 2 * size, question)
        hops = np.concatenate([np.empty(0, dtype=np.int32), *(block.hops for block in found)])
        reached = np.concatenate([np.empty(0, dtype=np.bool_), *(block.reached for block in found)])
        return Distances(hops, reached, direction, bound, merged)

    def path(self, a: str, b: str, *, direction: Direction = "any", max_hops: int | None = None) -> Path | None:
        """See `ConceptGraph.path`."""
        direction = checked_direction(direction)
        bound = checked_hops(max_hops)
        served = self._served
        self._check(served, (a, b))
        return self._ask(served, lambda t, call: t.path(a, b, direction, _sent(bound), call)).value

    # Neighbourhoods

    def neighbours(
        self,
        cuis: Sequence[str],
        *,
        hops: int | None = 1,
        direction: Direction = "any",
        limit: int | None = None,
    ) -> list[Neighbourhood]:
        """See `ConceptGraph.neighbours`.

        Raises:
            LimitExceeded: one concept has more neighbours than the service gives.
        """
        direction = checked_direction(direction)
        bound = checked_hops(hops, "hops")
        most = checked_hops(limit, "limit")
        served = self._served
        self._check(served, cuis)

        def question(transport: Transport, part: slice, call: Call) -> Answered[list[Around]]:
            return transport.neighbourhoods(cuis[part], _sent(bound), direction, _sent(most), call)

        # The service bounds the neighbours of all centres together, which nobody knows beforehand.
        size = _within(_CENTRES_A_BLOCK, served.limits.concepts)
        while True:
            try:
                found, merged = self._ask_blocks(served, cuis, size, question)
                break
            except LimitExceeded:
                if size == 1 or len(cuis) <= 1:
                    raise
                size = max(1, min(size, len(cuis)) // 4)
        hoods = [hood for block in found for hood in block]
        return [
            Neighbourhood(
                cui=hood.cui,
                neighbours=hood.neighbours,
                total=hood.total,
                hops=bound,
                direction=direction,
                merged={asked: merged[asked]} if asked in merged else {},
            )
            for asked, hood in zip(cuis, hoods, strict=True)
        ]

    def pack(self, cuis: Sequence[str], *, hops: int, direction: Direction = "any") -> DistancePack:
        """See `ConceptGraph.pack`. One question, or one for each part where the service packs fewer at once."""
        direction = checked_direction(direction)
        bound = checked_hops(hops, "hops")
        if bound is None or bound > _LARGEST_PACK:
            raise InputError("too many hops for a pack", column="hops", found=repr(hops), expected="0 to 255")
        served = self._served
        self._check(served, cuis)
        if not cuis:
            nothing = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.uint8)
            return DistancePack((), np.zeros(1, dtype=np.int64), *nothing, bound, direction, served.release.digest)

        def ask(part: Sequence[str]) -> Answered[DistancePack]:
            return self._ask(served, lambda transport, call: transport.pack(part, bound, direction, call))

        limit = served.limits.pack_concepts
        with self._all_faults_told(served, cuis):
            if not 1 < limit < len(cuis):
                return ask(cuis).value
            parts = parts_of_pack(len(cuis), limit)
            found = self._ask_all([partial(ask, [cuis[place] for place in part.tolist()]) for part in parts])
        return joined_pack(parts, [answer.value for answer in found], len(cuis))

    # Names

    def names(self, cuis: Sequence[str]) -> list[str | None]:
        """See `ConceptGraph.names`. ``None`` also where the key may not see names."""
        return [concept.name for concept in self._concepts(cuis, names_only=True)]

    def concepts(self, cuis: Sequence[str]) -> list[Concept]:
        """See `ConceptGraph.concepts`. Without names where the key may not see them."""
        return self._concepts(cuis, names_only=False)

    def _concepts(self, cuis: Sequence[str], *, names_only: bool) -> list[Concept]:
        served = self._served
        self._check(served, cuis)

        def question(transport: Transport, part: slice, call: Call) -> Answered[list[Concept]]:
            return transport.concepts(cuis[part], call, names_only=names_only)

        found, _ = self._ask_blocks(served, cuis, _within(_CONCEPTS_A_BLOCK, served.limits.concepts), question)
        return [concept for block in found for concept in block]

    def search(self, text: str, *, limit: int = 10) -> list[SearchHit]:
        """See `ConceptGraph.search`.

        Raises:
            NotAllowed: the key may not see names.
        """
        most = checked_hops(limit, "limit")
        if not folded(text):
            raise InputError("nothing to search for", column="text", found=repr(text), expected="a letter or a digit")
        sendable = text.encode("utf-8", "replace").decode()
        found = self._ask(self._served, lambda t, call: t.search(sendable, _sent(most) or 0, call))
        return found.value


def _reopened(settings: RemoteSettings, digest: str) -> RemoteGraph:
    """A pickled graph where it arrives."""
    others = {
        f.name: getattr(settings, f.name) for f in dataclasses.fields(settings) if f.name not in {"address", "key"}
    }
    graph = RemoteGraph(RemoteSettings.from_environment(settings.address, **others))
    if graph.release.digest != digest:
        found = graph.release.digest
        graph.close()
        raise ReleaseMismatch(f"{settings.address}: the pickled graph was of digest {digest}; now found {found}")
    return graph


def _within(size: int, limit: int) -> int:
    """A block no larger than the service accepts; 0 is a limit that it does not tell."""
    return min(size, limit) if limit > 0 else size


def _sent(number: int | None) -> int | None:
    """A bound that 31 bits hold."""
    return None if number is None else min(number, _MOST_HOPS)
