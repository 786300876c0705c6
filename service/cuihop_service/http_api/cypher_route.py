"""``/v1/cypher``: a curator's own query, read-only, bounded, and in the audit."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response
from starlette.routing import BaseRoute

from cuihop.errors import InputError, NotAllowed, RateLimited
from cuihop.neo4j_graph.connection import Neo4jConnection
from cuihop.neo4j_graph.curator_query import LONG_AFTER_SECONDS, curator_query
from cuihop.neo4j_graph.query_text import LONGEST
from cuihop_service.http_api.operation_route import CheckedRoute
from cuihop_service.http_api.problems import problem_responses
from cuihop_service.http_api.responder import Responder, until_gone
from cuihop_service.request_context import RequestContext

_DEEPEST = 10
_OVERDUE_SECONDS = 5.0
_LATE_SECONDS = 60.0
_LARGEST_INTEGER = 2**63
_STILL_AT_WORK = "were ended over a minute ago and still run in the database, until it is restarted"


class CypherRequest(BaseModel):
    """A query and its parameters."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    query: Annotated[
        str,
        Field(
            min_length=1,
            max_length=LONGEST,
            description="One statement that only reads.",
            examples=["MATCH (c:Concept {cui: $cui})-[:IS_A]->(p) RETURN p.cui AS parent"],
        ),
    ]
    parameters: Annotated[
        dict[str, Any],
        Field(max_length=100, description="Values for its $names.", examples=[{"cui": "C0006121"}]),
    ] = {}
    limit: Annotated[int | None, Field(ge=1, le=2**31 - 1, strict=True, description="At most this many rows.")] = None


class CypherNotification(BaseModel):
    """A remark of the database on the query."""

    severity: Annotated[
        str, Field(description="warning: the answer may not be what was meant; or information.", examples=["warning"])
    ]
    message: Annotated[
        str,
        Field(
            description="The database's words.",
            examples=["label does not exist. The label `Conzept` does not exist. Verify that the spelling is correct."],
        ),
    ]
    line: Annotated[int | None, Field(description="Line of the query, from 1.", examples=[1])]
    column: Annotated[int | None, Field(description="Column of the query, from 1.", examples=[10])]


class CypherAnswer(BaseModel):
    """Rows of a query."""

    columns: Annotated[list[str], Field(description="Names of the columns.", examples=[["parent"]])]
    rows: Annotated[list[list[Any]], Field(description="One list a row.", examples=[[["C0006104"]]])]
    truncated: Annotated[bool, Field(description="True where there are more rows.", examples=[False])]
    limit: Annotated[int, Field(description="The most rows that could have come.", examples=[1000])]
    notifications: Annotated[
        list[CypherNotification],
        Field(
            description="Remarks of the database: a label, relationship type or property that the graph does not have, "
            "a product of unconnected patterns, a form that will be removed. Empty where there is none."
        ),
    ]


class _Room:
    """The queries that the database works on, in all and for each caller."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._most_each = max(1, most // 2)
        self._lock = threading.Lock()
        self._ends: dict[str, list[float]] = {}

    def take(self, caller: str, seconds: float) -> Callable[[], None]:
        """Room for one query. Returns the function that gives it back.

        Raises:
            RateLimited: too many are running; with the time when the first of them must have ended.
        """
        now = time.monotonic()
        with self._lock:
            own = self._ends.get(caller, [])
            running = [end for ends in self._ends.values() for end in ends]
            if len(own) >= self._most_each:
                raise _busy(f"{len(own)} queries of {caller!r} are running, the most for one caller", own, now)
            if len(running) >= self._most:
                raise _busy(f"{len(running)} queries are running, the most in all", running, now)
            end = now + seconds
            self._ends.setdefault(caller, []).append(end)

        def leave() -> None:
            with self._lock:
                ends = self._ends[caller]
                ends.remove(end)
                if not ends:
                    del self._ends[caller]

        return leave

    def trouble(self) -> str:
        """The queries that the database still works on, long after their end; empty for none."""
        now = time.monotonic()
        with self._lock:
            late = sum(_is_long_over(end, now) for ends in self._ends.values() for end in ends)
        return f"queries of /v1/cypher that {_STILL_AT_WORK}: {late}" if late else ""


def _is_long_over(end: float, now: float) -> bool:
    return now - end > LONG_AFTER_SECONDS


def _busy(why: str, ends: list[float], now: float) -> RateLimited:
    """The refusal, with the seconds until there may be room."""
    if all(_is_long_over(end, now) for end in ends):
        return RateLimited(f"{why}; they {_STILL_AT_WORK}", retry_after=_LATE_SECONDS)
    seconds = max(1, math.ceil(min((end - now for end in ends if end > now), default=_OVERDUE_SECONDS)))
    return RateLimited(f"{why}; try again in {seconds} s", retry_after=float(seconds))


def cypher_routes(
    responder: Responder,
    connection: Neo4jConnection,
    *,
    names: bool,
    seconds: float = 10.0,
    rows: int = 1_000,
    running: int = 4,
) -> list[BaseRoute]:
    """The route, for `more_routes` of the application.

    Args:
        connection: to the database, best as a user that may only read.
        names: False refuses queries: the service hides names, and a query could read them.
        running: queries at a time, and half of them of one caller; more are refused. A query counts until the
            database has stopped working on it, also after its caller has gone.
    """
    router = APIRouter(prefix="/v1", route_class=CheckedRoute)
    room = _Room(running)
    responder.core.holder.add_reporter(room.trouble)

    @router.post(
        "/cypher",
        operation_id="cypher",
        tags=["cypher"],
        response_model=CypherAnswer,
        responses=problem_responses(
            {
                400: "Not a query, or not one that only reads.",
                401: "No key or token, or one that is not valid.",
                403: "The key lacks the scope cypher or names.",
                413: "The query is too large to be planned, needs too much memory, or its answer is too large.",
                429: "Too many queries, of this caller or in all; see Retry-After.",
                503: "The database cannot be reached: try again.",
                504: "The query took longer than allowed; it has been ended.",
            }
        ),
    )
    async def cypher(request: Request, body: CypherRequest) -> Response:
        """Run Cypher that only reads, on the graph of record."""
        limit = rows if body.limit is None else min(body.limit, rows)

        def job(context: RequestContext) -> bytes:
            if not names:
                raise NotAllowed("this service shows no names, so that it takes no queries")
            context.caller.check("names")
            context.check()
            _check_parameters(body.parameters)
            time_left = max(0.001, min(seconds, context.remaining))
            leave = room.take(context.caller.name, time_left)
            answer = curator_query(
                connection,
                body.query,
                body.parameters,
                limit=limit,
                timeout=time_left,
                abandoned=lambda: context.cancelled,
                released=leave,
            )
            fields = {
                "columns": answer.columns,
                "rows": answer.rows,
                "truncated": answer.truncated,
                "limit": limit,
                "notifications": answer.notifications,
            }
            return orjson.dumps(fields, default=str, option=orjson.OPT_NON_STR_KEYS)

        info = responder.request_info(request, "cypher", scope="cypher", content=body.model_dump)
        answer = await until_gone(request, responder.admission.answer(info, job))
        headers = {"Cache-Control": "no-store", "X-Request-Id": info.request_id}
        return Response(answer, headers=headers, media_type="application/json")

    return list(router.routes)


def _check_parameters(value: Any, name: str = "parameters", depth: int = 0) -> None:
    """Refuse values that the database's protocol cannot carry."""
    if depth > _DEEPEST:
        raise InputError("too deep", column=name, expected=f"at most {_DEEPEST} lists or objects within one another")
    if isinstance(value, dict):
        for key, inner in value.items():
            _check_parameters(inner, name if depth else key, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            _check_parameters(inner, name, depth + 1)
    elif isinstance(value, int) and not -_LARGEST_INTEGER <= value < _LARGEST_INTEGER:
        raise InputError("too large a number", column=name, expected="64 bits")
    elif isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InputError("half of a character", column=name) from None
