"""``/v1/cypher``: a curator's own query, read-only, bounded, and written down."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response
from starlette.routing import BaseRoute

from cuihop.errors import InputError, LimitExceeded, NotAllowed, RateLimited
from cuihop.neo4j.connection import Neo4jConnection, Neo4jSettings
from cuihop.neo4j.curator_query import curator_query
from cuihop_service.calls import Call
from cuihop_service.guard.guard_settings import GuardSettings
from cuihop_service.http_api.exchange import Exchange, until_gone
from cuihop_service.http_api.problems import problem_responses

__all__ = ["CypherAnswer", "CypherQuestion", "cypher_connection", "cypher_routes"]

_LARGEST_ANSWER = 64 << 20
_DEEPEST = 10
_LARGEST_INTEGER = 2**63


class CypherQuestion(BaseModel):
    """A query and its parameters."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    query: Annotated[
        str,
        Field(
            min_length=1,
            max_length=20_000,
            description="One statement that only reads.",
            examples=["MATCH (c:Concept {cui: $cui})-[:IS_A]->(p) RETURN p.cui AS parent"],
        ),
    ]
    parameters: Annotated[
        dict[str, Any],
        Field(max_length=100, description="Values for its $names.", examples=[{"cui": "C0006121"}]),
    ] = {}
    limit: Annotated[int | None, Field(ge=1, le=2**31 - 1, strict=True, description="At most so many rows.")] = None


class CypherAnswer(BaseModel):
    """What the query returned."""

    columns: Annotated[list[str], Field(description="Names of the columns.", examples=[["parent"]])]
    rows: Annotated[list[list[Any]], Field(description="One list a row.", examples=[[["C0006104"]]])]
    truncated: Annotated[bool, Field(description="Whether there are more rows.", examples=[False])]
    limit: Annotated[int, Field(description="The most rows that could have come.", examples=[1000])]


def cypher_routes(
    exchange: Exchange,
    connection: Neo4jConnection,
    *,
    names: bool,
    seconds: float = 10.0,
    rows: int = 1_000,
    running: int = 4,
) -> list[BaseRoute]:
    """The route, for `more_routes` of the application.

    Args:
        exchange: turns requests into questions.
        connection: to the database, best as a user that may only read.
        names: whether the service shows names; a query could read them, so that without there are no queries.
        seconds: the most that one query may take.
        rows: the most that one query may return.
        running: queries at a time; more are refused.
    """
    router = APIRouter(prefix="/v1")
    room = threading.BoundedSemaphore(running)

    @router.post(
        "/cypher",
        tags=["cypher"],
        response_model=CypherAnswer,
        responses=problem_responses(
            {
                400: "Not a query, or not one that only reads.",
                401: "No key or token, or one that is not valid.",
                403: "The key lacks the scope cypher or names.",
                413: "The query needs more memory than allowed.",
                429: "Too many queries; see Retry-After.",
                503: "The database cannot be reached: try again.",
                504: "The query took longer than allowed.",
            }
        ),
    )
    async def cypher(request: Request, question: CypherQuestion) -> Response:
        """Run Cypher that only reads, on the graph of record."""
        limit = rows if question.limit is None else min(question.limit, rows)

        def work(call: Call) -> bytes:
            if not names:
                raise NotAllowed("this service shows no names, so that it takes no queries")
            call.caller.check("names")
            call.check()
            _check_parameters(question.parameters)
            if not room.acquire(blocking=False):
                raise RateLimited(f"{running} queries are being answered; ask again in a moment", retry_after=1.0)
            try:
                time = max(0.001, min(seconds, call.remaining))
                answer = curator_query(connection, question.query, question.parameters, limit=limit, timeout=time)
            finally:
                room.release()
            told = {"columns": answer.columns, "rows": answer.rows, "truncated": answer.truncated, "limit": limit}
            body = orjson.dumps(told, default=str, option=orjson.OPT_NON_STR_KEYS)
            if len(body) > _LARGEST_ANSWER:
                raise LimitExceeded(f"the answer is larger than {_LARGEST_ANSWER:,} bytes; ask for less")
            return body

        asked = exchange.asked(request, "cypher", scope="cypher", question=question.model_dump)
        body = await until_gone(request, exchange.front.answer(asked, work))
        headers = {"Cache-Control": "no-store", "X-Request-Id": asked.request_id}
        return Response(body, headers=headers, media_type="application/json")

    return list(router.routes)


def cypher_connection(settings: GuardSettings, service: Neo4jSettings) -> Neo4jConnection:
    """A connection for curators' queries: apart from the service's own, and as another user where one is given."""
    own = replace(
        service,
        timeout=settings.cypher_seconds,
        connections=settings.cypher_running,
        acquisition_timeout=settings.cypher_seconds,
        retry_time=settings.cypher_seconds,
    )
    if settings.cypher_user is not None and settings.cypher_password is not None:
        own = replace(own, user=settings.cypher_user, password=settings.cypher_password, password_file=None)
    return Neo4jConnection(own)


def _check_parameters(value: Any, name: str = "parameters", depth: int = 0) -> None:
    """Refuse what the database's protocol cannot carry."""
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
