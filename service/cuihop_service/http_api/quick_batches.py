"""``POST /v1/distances`` without the framework: a batch whose pairs are written evenly is read as an array.

Programs write one pair as the other, so in the bytes of the body identifiers stand at even distances. Every byte is
held against that pattern. Whatever departs from it by one, and whatever is wrong, is left to the documented route,
which also has the words for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cuihop.errors import CuihopError
from cuihop.graph import Distances
from cuihop_service.answers import Answer
from cuihop_service.http_api import response_models
from cuihop_service.http_api.problems import problem_response
from cuihop_service.http_api.responder import Exchange, request_id_of
from cuihop_service.keyed_pairs import KeyedPairs
from cuihop_service.request_context import Call

__all__ = ["EvenBatch", "QuickBatches", "even_batch"]

_PATH = "/v1/distances"
_JSON = (b"application/json", b"application/json; charset=utf-8")
_GAP = rb"[ \t\r\n]{0,9}"
_BEGIN = re.compile(rb'GAP\{GAP"pairs"GAP:GAP\[GAP'.replace(b"GAP", _GAP))
_END = re.compile(
    rb'GAP\](?:GAP,GAP"direction"GAP:GAP"(any|up|down)")?(?:GAP,GAP"max_hops"GAP:GAP(null|0|[1-9][0-9]{0,8}))?GAP\}GAP'.replace(
        b"GAP", _GAP
    )
)
_LONGEST_END = 150
_PATTERNS = (b'["CNNNNNNN","CNNNNNNN"],', b'["CNNNNNNN", "CNNNNNNN"], ')
"""A pair as JavaScript, Rust or ``orjson`` write it, and as Python does; N is a digit. The last has no comma."""


@dataclass(frozen=True, slots=True)
class EvenBatch:
    """A batch as it was read.

    Attributes:
        pairs: of CUIs.
        direction, max_hops: as in `ConceptGraph.distances`.
    """

    pairs: KeyedPairs
    direction: str
    max_hops: int | None


def even_batch(body: bytes) -> EvenBatch | None:
    """The question in the body; None where its pairs are not CUIs, or are not written evenly.

    >>> batch = even_batch(b'{"pairs": [["C0006121", "C0018670"], ["C0040405", "C0006121"]], "max_hops": 3}')
    >>> list(batch.pairs), batch.max_hops
    ([('C0006121', 'C0018670'), ('C0040405', 'C0006121')], 3)
    >>> even_batch(b'{"pairs": [["C0006121","C0018670"], ["C0040405", "C0006121"]]}') is None
    True
    """
    begin, last = _BEGIN.match(body), body.rfind(b'"]')
    end = _END.fullmatch(body, last + 2) if last >= 0 and len(body) - last < _LONGEST_END else None
    if begin is None or end is None:
        return None
    for pattern in _PATTERNS:
        comma = pattern[-1:] if pattern.endswith(b",") else pattern[-2:]
        size = last + 2 - begin.end() + len(comma)
        if size % len(pattern):
            continue
        written = np.frombuffer(body[begin.end() : last + 2] + comma, dtype=np.uint8).reshape(-1, len(pattern))
        expected = np.frombuffer(pattern, dtype=np.uint8)
        digits = expected == ord("N")
        found = written[:, digits]
        if (written[:, ~digits] == expected[~digits]).all() and (found - np.uint8(ord("0")) <= 9).all():
            starts = [place for place, byte in enumerate(pattern) if byte == ord("C")]
            texts = np.concatenate([written[:, place : place + 8] for place in starts], axis=1)
            direction, hops = end.groups()
            return EvenBatch(
                KeyedPairs(texts.reshape(-1, 8).view(">u8").ravel().astype(np.uint64)),
                "any" if direction is None else direction.decode(),
                None if hops in (None, b"null") else int(hops),
            )
    return None


class QuickBatches:
    """Answers evenly written batches itself, where there is an index; hands on everything else.

    It stands behind everything that guards the application: callers are known, and bodies bounded.

    Args:
        app: answers everything else.
        exchange: shared with it.
    """

    def __init__(self, app: ASGIApp, exchange: Exchange) -> None:
        self._app = app
        self._exchange = exchange

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the ASGI specification."""
        if (
            scope["type"] != "http"
            or scope["path"] != _PATH
            or scope["method"] != "POST"
            or dict(scope["headers"]).get(b"content-type", b"").lower() not in _JSON
            or not self._exchange.core.holder.indexed
        ):
            await self._app(scope, receive, send)
            return
        taken: list[Message] = []
        request = Request(scope, receive)
        try:
            batch = even_batch(await _body(receive, taken))
            response = None if batch is None else await self._answer(request, batch, taken)
        except CuihopError as error:
            response = problem_response(error, request_id_of(request))
        if response is None:
            await self._app(scope, _again(taken, receive), send)
        else:
            await response(scope, receive, send)

    async def _answer(self, request: Request, batch: EvenBatch, taken: list[Message]) -> Response:
        core = self._exchange.core

        def work(call: Call) -> Answer[Distances]:
            return core.distances(batch.pairs, direction=batch.direction, max_hops=batch.max_hops, call=call)

        return await self._exchange.answer(
            request,
            "distances",
            work,
            response_models.distances_fields,
            size=len(batch.pairs),
            quick=core.is_quick(len(batch.pairs)),
            question=lambda: orjson.loads(_joined(taken)),
        )


async def _body(receive: Receive, taken: list[Message]) -> bytes:
    """The body, whose messages are kept; empty where the caller hangs up."""
    while True:
        message = await receive()
        taken.append(message)
        if message["type"] != "http.request":
            return b""
        if not message.get("more_body"):
            return _joined(taken)


def _joined(taken: list[Message]) -> bytes:
    return b"".join(message.get("body", b"") for message in taken)


def _again(taken: list[Message], receive: Receive) -> Receive:
    """Gives the messages that were taken once more, and then those that follow."""
    left = iter(taken)

    async def receiving() -> Message:
        for message in left:
            return message
        return await receive()

    return receiving
