"""The operations under ``/v1``, documented for OpenAPI."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping
from typing import Annotated, Literal

import orjson
from fastapi import APIRouter, Query, Request
from pydantic import ValidationError
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from cuihop import answer_fields
from cuihop.errors import CuihopError, InputError
from cuihop.graph import MOST_PATHS, MOST_SABS, Direction
from cuihop.similarity.hierarchy import Similarities
from cuihop_service.http_api import response_models
from cuihop_service.http_api.operation_route import OperationRoute
from cuihop_service.http_api.problems import problem, problem_responses
from cuihop_service.http_api.request_models import (
    WITHIN_SABS,
    AnnotateRequest,
    ConceptsRequest,
    DistancesRequest,
    NeighbourhoodsRequest,
    PackRequest,
    PairSimilaritiesRequest,
    PlacementsRequest,
    RelevanceRequest,
    RelevancesRequest,
    ResolutionsRequest,
    SimilaritiesRequest,
    StreamedRequest,
)
from cuihop_service.http_api.responder import CALLER, Responder, request_id_of
from cuihop_service.request_context import Answer, RequestContext

_PREFIX = "/v1"
_ANNOTATE = "/annotate"

ANNOTATE_PATH = _PREFIX + _ANNOTATE
"""The one route whose errors show nothing of the body but options: it holds texts of patients."""

NDJSON = "application/x-ndjson"

CuiParameter = Annotated[str, Query(description="An identifier.", examples=["C0006121"])]
OtherParameter = Annotated[str, Query(description="An identifier.", examples=["C0018670"])]
DirectionParameter = Annotated[
    Direction,
    Query(
        description="Direction of hops: each either way (any), from child to parent (up), from parent to child (down), "
        "or all up or all down (vertical)."
    ),
]
BoundParameter = Annotated[
    int | None, Query(ge=0, le=2**31 - 1, description="The search stops there; a longer distance is no path.")
]
ContentParameter = Annotated[
    Literal["Sanchez", "Seco"],
    Query(description="Information content, computed from the graph. That of a corpus is in POST /pair-similarities."),
]
WithinSabsParameter = Annotated[
    tuple[str, ...],
    Query(max_length=MOST_SABS, description=f"May be repeated. {WITHIN_SABS}", examples=[["SNOMEDCT_US"]]),
]
ReleaseParameter = Annotated[
    str | None,
    Query(
        description="Digest of the release to answer from. With it the answer may be cached for ever; if another "
        "release is served, the request fails.",
        pattern="^[0-9a-f]{64}$",
    ),
]

_FIRST_LINE_SECONDS = 1.0

_PROBLEMS = problem_responses(
    {
        400: "A parameter or an identifier is not as expected.",
        401: "No key or token, or one that is not valid.",
        403: "The key lacks a scope.",
        404: "A concept is unknown.",
        409: "Another release is served.",
        410: "A concept is retired without one exact successor.",
        413: "The request is larger than the service allows.",
        429: "Too many requests; see Retry-After.",
        503: "The store cannot be reached, or this replica still serves an older release than the caller has seen: "
        "try again.",
        504: "The answer took longer than allowed.",
    }
)


def routes(responder: Responder) -> APIRouter:
    """The routes of the operations."""
    core = responder.core
    router = APIRouter(prefix=_PREFIX, responses=_PROBLEMS, route_class=OperationRoute)

    @router.get("/distance", response_model=response_models.DistanceBody, tags=["distances"])
    async def distance(
        request: Request,
        a: CuiParameter,
        b: OtherParameter,
        direction: DirectionParameter = "any",
        max_hops: BoundParameter = None,
        within_sabs: WithinSabsParameter = (),
        release: ReleaseParameter = None,
    ) -> Response:
        """The distance of one pair, in hops. No path is an answer: ``hops`` is null."""
        within = responder.within(within_sabs)
        return await within.answer(
            request,
            "distance",
            lambda context: within.core.distance(a, b, direction=direction, max_hops=max_hops, context=context),
            lambda answer: answer_fields.distance_fields(answer.value, a, b, direction, max_hops),
            quick=within.core.is_quick(),
            release=release,
        )

    @router.post("/distances", response_model=response_models.DistancesBody, tags=["distances"])
    async def distances(request: Request, body: DistancesRequest) -> Response:
        """The distances of many pairs: all, or an error that names every identifier at fault."""
        within = responder.within(body.within_sabs)
        return await within.answer(
            request,
            "distances",
            lambda context: within.core.distances(
                body.pairs, direction=body.direction, max_hops=body.max_hops, context=context
            ),
            response_models.distances_fields,
            size=len(body.pairs),
            quick=within.core.is_quick(len(body.pairs)),
        )

    @router.post(
        "/distances/stream",
        tags=["distances"],
        response_class=Response,
        responses={200: {"content": {NDJSON: {}}, "description": "One answer a line, in order."}},
        openapi_extra={
            "requestBody": {
                "required": True,
                "description": "One batch a line.",
                "content": {NDJSON: {"schema": StreamedRequest.model_json_schema()}},
            }
        },
    )
    async def stream_distances(request: Request) -> Response:
        """Batches without end: a line is answered before the next one is read. An error ends the stream.

        A fault of the first line, or of the credentials, is the status of the answer, unless that line takes longer
        than a second to come.
        """
        await responder.admission.allowed(responder.request_info(request, "stream_distances"))
        lines = _streamed(responder, request)
        first = asyncio.ensure_future(anext(lines, None))
        await asyncio.wait({first}, timeout=_FIRST_LINE_SECONDS)
        if first.done():
            first.result()  # an error is the whole answer
        headers = {"Cache-Control": "no-store", "Content-Encoding": "identity"}  # packing would hold lines back
        return _Stream(_written(responder, request, first, lines), headers)

    @router.get("/path", response_model=response_models.PathBody, tags=["distances"])
    async def path(
        request: Request,
        a: CuiParameter,
        b: OtherParameter,
        direction: DirectionParameter = "any",
        max_hops: BoundParameter = None,
        which: Annotated[
            int, Query(ge=1, le=MOST_PATHS, description="Rank among all shortest paths in the order of identifiers.")
        ] = 1,
        within_sabs: WithinSabsParameter = (),
        release: ReleaseParameter = None,
    ) -> Response:
        """One shortest path, and the number of them: of several, the first in the order of identifiers by default."""
        within = responder.within(within_sabs)
        return await within.answer(
            request,
            "path",
            lambda context: within.core.path(
                a, b, direction=direction, max_hops=max_hops, which=which, context=context
            ),
            lambda answer: answer_fields.path_fields(*answer.value, a, b, direction, max_hops),
            release=release,
        )

    @router.get("/neighbourhood", response_model=response_models.NeighbourhoodBody, tags=["distances"])
    async def neighbourhood(
        request: Request,
        cui: CuiParameter,
        hops: Annotated[int, Query(ge=0, le=2**31 - 1, description="Only within this many hops.")] = 1,
        direction: DirectionParameter = "any",
        limit: Annotated[int | None, Query(ge=0, le=2**31 - 1, description="At most this many.")] = None,
        within_sabs: WithinSabsParameter = (),
        release: ReleaseParameter = None,
    ) -> Response:
        """The concepts within some hops of one, nearest first."""
        within = responder.within(within_sabs)
        return await within.answer(
            request,
            "neighbourhood",
            lambda context: within.core.neighbourhoods(
                [cui], hops=hops, direction=direction, limit=limit, context=context
            ),
            lambda answer: {
                **answer_fields.neighbourhood_fields(answer.value[0]),
                "hops": hops,
                "direction": direction,
            },
            release=release,
        )

    @router.post("/neighbourhoods", response_model=response_models.NeighbourhoodsBody, tags=["distances"])
    async def neighbourhoods(request: Request, body: NeighbourhoodsRequest) -> Response:
        """The concepts around each of many."""
        within = responder.within(body.within_sabs)
        return await within.answer(
            request,
            "neighbourhood",
            lambda context: within.core.neighbourhoods(
                body.cuis, hops=body.hops, direction=body.direction, limit=body.limit, context=context
            ),
            lambda answer: {
                "neighbourhoods": [answer_fields.neighbourhood_fields(found) for found in answer.value],
                "hops": body.hops,
                "direction": body.direction,
            },
            size=len(body.cuis),
        )

    @router.post("/pack", response_model=response_models.PackBody, tags=["distances"])
    async def pack(request: Request, body: PackRequest) -> Response:
        """All distances up to a bound among distinct concepts, all that an evaluation needs of a graph."""
        within = responder.within(body.within_sabs)
        return await within.answer(
            request,
            "pack",
            lambda context: within.core.pack(body.cuis, hops=body.hops, direction=body.direction, context=context),
            lambda answer: response_models.pack_fields(answer.value),
            size=len(body.cuis),
        )

    @router.post("/relevance", response_model=response_models.RelevanceBody, tags=["relevance"])
    async def relevance(request: Request, body: RelevanceRequest) -> Response:
        """IoU and nn-IoU of two concept sets, with the witnesses of each near concept."""
        within = responder.within(body.within_sabs)
        return await within.answer(
            request,
            "set_relevance",
            lambda context: within.core.set_relevance(body.a, body.b, **body.rule, context=context),
            lambda answer: answer_fields.relevance_fields(answer.value),
            size=len(body.a) + len(body.b),
        )

    @router.post("/relevances", response_model=response_models.RelevancesBody, tags=["relevance"])
    async def relevances(request: Request, body: RelevancesRequest) -> Response:
        """IoU and nn-IoU of one concept set with each of many."""
        within = responder.within(body.within_sabs)
        return await within.answer(
            request,
            "relevances",
            lambda context: within.core.relevances(body.query, body.corpus, **body.rule, context=context),
            lambda answer: response_models.row_fields(answer.value),
            size=len(body.corpus),
        )

    @router.get("/similarity", response_model=response_models.SimilarityBody, tags=["similarity"])
    async def similarity(
        request: Request,
        a: CuiParameter,
        b: OtherParameter,
        ic: ContentParameter = "Sanchez",
        within_sabs: WithinSabsParameter = (),
        release: ReleaseParameter = None,
    ) -> Response:
        """Two concepts by every measure of similarity, with their places and common ancestors."""
        within = responder.within(within_sabs)
        return await within.answer(
            request,
            "similarity",
            lambda context: within.core.similarity.pair(a, b, ic, context=context),
            lambda answer: answer_fields.similarity_fields(*answer.value),
            release=release,
        )

    @router.post("/similarities", response_model=response_models.SimilaritiesBody, tags=["similarity"])
    async def similarities(request: Request, body: SimilaritiesRequest) -> Response:
        """The similarity of many pairs, or pairs of sets, by one measure: all, or an error that names what is wrong."""
        within = responder.within(body.within_sabs)

        def work(context: RequestContext) -> Answer[Similarities]:
            if body.sets:
                return within.core.similarity.set_similarities(body.sets, body.measure, body.ic, context=context)
            return within.core.similarity.similarities(body.pairs, body.measure, body.ic, context=context)

        return await within.answer(
            request,
            "similarities",
            work,
            lambda answer: answer_fields.similarities_fields(answer.value),
            size=len(body.pairs) + len(body.sets),
        )

    @router.post("/pair-similarities", response_model=response_models.PairSimilaritiesBody, tags=["similarity"])
    async def pair_similarities(request: Request, body: PairSimilaritiesRequest) -> Response:
        """Many pairs of concepts by every measure, with their places and common ancestors."""
        within = responder.within(body.within_sabs)
        return await within.answer(
            request,
            "pair_similarities",
            lambda context: within.core.similarity.pairs(body.pairs, body.ic, context=context),
            lambda answer: {"pairs": [answer_fields.fields_of(pair) for pair in answer.value]},
            size=len(body.pairs),
        )

    @router.post("/placements", response_model=response_models.PlacementsBody, tags=["similarity"])
    async def placements(request: Request, body: PlacementsRequest) -> Response:
        """The places of concepts in the hierarchy: depth, height, ancestors, descendants, information content."""
        within = responder.within(body.within_sabs)
        return await within.answer(
            request,
            "placements",
            lambda context: within.core.similarity.placements(body.cuis, body.ic, context=context),
            lambda answer: {"placements": [answer_fields.fields_of(place) for place in answer.value]},
            size=len(body.cuis),
        )

    @router.get("/hierarchy", response_model=response_models.HierarchyBody, tags=["similarity"])
    async def hierarchy(
        request: Request, within_sabs: WithinSabsParameter = (), release: ReleaseParameter = None
    ) -> Response:
        """The hierarchy as a whole: cycles, roots and depth."""
        within = responder.within(within_sabs)
        return await within.answer(
            request,
            "get_hierarchy",
            lambda context: within.core.similarity.facts(context=context),
            lambda answer: {"hierarchy": answer_fields.fields_of(answer.value)},
            release=release,
        )

    @router.get("/search", response_model=response_models.SearchBody, tags=["concepts"])
    async def search(
        request: Request,
        text: Annotated[str, Query(description="Words of a name, or beginnings of them; or an identifier.")],
        limit: Annotated[int, Query(ge=0, le=2**31 - 1, description="At most this many hits.")] = 10,
        release: ReleaseParameter = None,
    ) -> Response:
        """Concepts by name, synonym or identifier, best first."""
        return await responder.answer(
            request,
            "search",
            lambda context: core.search(text, limit=limit, context=context),
            lambda answer: answer_fields.search_fields(answer.value),
            scope="names",
            release=release,
        )

    @router.post(_ANNOTATE, response_model=response_models.AnnotationsBody, tags=["concepts"])
    async def annotate(request: Request, body: AnnotateRequest) -> Response:
        """Concepts of texts, found by their names. The texts are never logged, and no error repeats them."""
        return await responder.answer(
            request,
            "annotate",
            lambda context: core.annotate(body.texts, body.annotation_options, context=context),
            lambda answer: response_models.annotations_fields(answer.value),
            size=len(body.texts),
            scope="names",
            content=lambda: {"options": body.options.model_dump()},
        )

    @router.get("/concept", response_model=response_models.ConceptBody, tags=["concepts"])
    async def concept(
        request: Request,
        cui: CuiParameter,
        within_sabs: WithinSabsParameter = (),
        release: ReleaseParameter = None,
    ) -> Response:
        """One concept as the release describes it."""
        within = responder.within(within_sabs)
        return await within.answer(
            request,
            "get_concept",
            lambda context: within.core.concepts([cui], context=context),
            lambda answer: {
                **answer_fields.fields_of(answer.value.concepts[0]),
                "names_hidden": answer.value.names_hidden,
            },
            release=release,
        )

    @router.post("/concepts", response_model=response_models.ConceptsBody, tags=["concepts"])
    async def concepts(request: Request, body: ConceptsRequest) -> Response:
        """Concepts as the release describes them."""
        within = responder.within(body.within_sabs)
        return await within.answer(
            request,
            "get_concept",
            lambda context: within.core.concepts(body.cuis, names_only=body.names_only, context=context),
            lambda answer: {
                "concepts": [answer_fields.fields_of(found) for found in answer.value.concepts],
                "names_hidden": answer.value.names_hidden,
            },
            size=len(body.cuis),
        )

    @router.post("/resolutions", response_model=response_models.ResolutionsBody, tags=["concepts"])
    async def resolutions(request: Request, body: ResolutionsRequest) -> Response:
        """Resolution of each identifier. Never fails because of one."""
        return await responder.answer(
            request,
            "resolve",
            lambda context: core.resolve(body.cuis, context=context),
            lambda answer: {"resolutions": [answer_fields.fields_of(found) for found in answer.value]},
            size=len(body.cuis),
        )

    @router.get("/release", response_model=response_models.ReleaseBody, tags=["release"])
    async def release(
        request: Request,
        within_sabs: WithinSabsParameter = (),
    ) -> Response:
        """The release that is served, its source, and the limits of the service."""
        within = responder.within(within_sabs).core

        def work(context: RequestContext) -> bytes:
            with within.lent(context) as served:
                return orjson.dumps(
                    response_models.release_fields(served, core.limits, names=core.sees_names(context.caller))
                )

        info = responder.request_info(request, "get_release", quick=not within_sabs)
        body = await responder.admission.answer(info, work)
        headers = {"Cache-Control": "private, no-cache", "X-Request-Id": info.request_id}
        return Response(body, headers=headers, media_type="application/json")

    return router


class _Stream(Response):
    """Pieces as they come. Starlette's own stream would listen for the caller's end, and take the body's pieces."""

    media_type = NDJSON

    def __init__(self, pieces: AsyncIterator[bytes], headers: Mapping[str, str]) -> None:
        super().__init__(headers={**headers, "Content-Type": NDJSON})
        self._pieces = pieces
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        async for piece in self._pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


async def _streamed(responder: Responder, request: Request) -> AsyncIterator[bytes]:
    """One answer for each line. The next line is taken when the answer before has been handed on."""
    number = 0
    async for line in _lines(request, responder.core.limits.message_bytes):
        number += 1
        yield await _streamed_answer(responder, request, line, number)


async def _written(
    responder: Responder, request: Request, first: Awaitable[bytes | None], others: AsyncIterator[bytes]
) -> AsyncIterator[bytes]:
    """The answers as they come; an error is the last line."""
    try:
        answer = await first
        while answer is not None:
            yield answer
            answer = await anext(others, None)
    except CuihopError as error:
        yield orjson.dumps(problem(error, request_id_of(request))) + b"\n"


async def _streamed_answer(responder: Responder, request: Request, line: bytes, number: int) -> bytes:
    try:
        batch = StreamedRequest.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(
            "not a batch",
            line=number,
            column=f"field {'.'.join(map(str, first['loc']))}" if first["loc"] else None,
            found=repr(first.get("input"))[:100],
            expected=first["msg"],
        ) from None
    core, size = responder.core.within(batch.within_sabs), len(batch.pairs)

    def work(context: RequestContext) -> bytes:
        answer = context.answer = core.distances(
            batch.pairs, direction=batch.direction, max_hops=batch.max_hops, context=context
        )
        activation = None if context.session.served is None else str(context.session.served)
        fields = {"sequence": batch.sequence, "activation": activation, **response_models.distances_fields(answer)}
        return response_models.written(answer, fields) + b"\n"

    request.scope.pop(CALLER, None)  # a key may be revoked while its stream goes on
    info = responder.request_info(
        request, "stream_distances", size=size, quick=core.is_quick(size), content=lambda: orjson.loads(line)
    )
    return await responder.admission.answer(info, work)


async def _lines(request: Request, longest: int) -> AsyncIterator[bytes]:
    """The lines of a body that may never end; empty ones are left out."""
    rest = b""
    async for piece in request.stream():
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            if line.strip():
                yield line
        if len(rest) > longest:
            raise InputError("a line is too long", column="body", expected=f"at most {longest:,} bytes")
    if rest.strip():
        yield rest
