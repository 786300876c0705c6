"""The HTTP transport: connection pool, requests, parsers of the service's JSON, and failures."""

from __future__ import annotations

import email.utils
import gzip
import http.client
import json
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from types import NoneType
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlencode

import numpy as np
import numpy.typing as npt
import urllib3
from urllib3 import exceptions

from cuihop.adapter_rules import checked_pack
from cuihop.annotation.mentions import Annotations
from cuihop.annotation.options import AnnotationOptions
from cuihop.answer_fields import value_of
from cuihop.errors import InputError, QueryTimedOut
from cuihop.files.text_lines import quoted
from cuihop.graph import Concept, Direction, DistancePack, Path, Release, Resolution, SearchHit, Step
from cuihop.remote.activation import ACTIVATION_HEADER, NewestSeen
from cuihop.remote.annotations import annotations_of_rows
from cuihop.remote.failures import (
    NEEDS_TLS,
    NOT_RUNNING,
    AttemptFailed,
    FaultyIdentifier,
    Problem,
    failure_of,
    no_encryption,
    refusal,
    unavailable,
)
from cuihop.remote.settings import RemoteSettings
from cuihop.remote.transport import (
    CentreNeighbours,
    PairBlock,
    PairDistances,
    PairValues,
    Request,
    Response,
    ServiceInfo,
    ServiceLimits,
    SetPair,
)
from cuihop.similarity.hierarchy import HierarchyFacts, PairSimilarity, Placement
from cuihop.similarity.options import InformationContent, SimilarityOptions

T = TypeVar("T")
Body: TypeAlias = dict[str, Any]
_Parser: TypeAlias = Callable[[Body], Response[T]]

_LARGEST_RESPONSE = 1 << 30  # bytes, decompressed
_PART = 1 << 18
_BASE = "/v1/"
_NO_SUCH_ROUTE = "NO_SUCH_ROUTE"
_SMALLEST_COMPRESSED = 2_048  # bytes; within one machine copying is quicker


class HttpTransport:
    """A pool of persistent connections to a service. Safe to share between threads.

    Redirections are not followed: they would receive the key.

    Args:
        settings: of the connection.

    Raises:
        InputError: a file of TLS cannot be read.
    """

    def __init__(self, settings: RemoteSettings) -> None:
        self._settings = settings
        self.seen = NewestSeen()
        options: dict[str, Any] = {"maxsize": settings.connections, "block": True, "retries": False}
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        self._pool = (
            urllib3.HTTPSConnectionPool(host, settings.port, ssl_context=_context(settings), **options)
            if settings.encrypted
            else urllib3.HTTPConnectionPool(host, settings.port, **options)
        )

    def close(self) -> None:
        """Close the connections. Harmless twice."""
        self._pool.close()

    # Requests

    def service_info(self, request: Request) -> Response[ServiceInfo]:
        """See `Transport.service_info`."""
        return self._get("release", {}, request, _service_info)

    def distances(
        self, block: PairBlock, direction: Direction, max_hops: int | None, request: Request
    ) -> Response[PairDistances]:
        """See `Transport.distances`."""
        pairs = list(zip(block.cuis[::2], block.cuis[1::2], strict=True))
        fields = {"pairs": pairs, "direction": direction, "max_hops": max_hops}
        return self._post("distances", fields, request, lambda body: _pair_distances(body, len(pairs)))

    def path(
        self, a: str, b: str, direction: Direction, max_hops: int | None, which: int, request: Request
    ) -> Response[Path | None]:
        """See `Transport.path`."""
        fields = {"a": a, "b": b, "direction": direction, "max_hops": max_hops, "which": which}
        return self._get("path", fields, request, lambda body: _path(body, direction))

    def neighbourhoods(
        self, cuis: Sequence[str], hops: int | None, direction: Direction, limit: int | None, request: Request
    ) -> Response[list[CentreNeighbours]]:
        """See `Transport.neighbourhoods`."""
        fields = {"cuis": cuis, "hops": hops, "direction": direction, "limit": limit}
        return self._post("neighbourhoods", fields, request, _rows(CentreNeighbours, "neighbourhoods", len(cuis)))

    def pack(self, cuis: Sequence[str], hops: int, direction: Direction, request: Request) -> Response[DistancePack]:
        """See `Transport.pack`."""
        fields = {"cuis": cuis, "hops": hops, "direction": direction}
        return self._post("pack", fields, request, lambda body: _pack(body, cuis, hops, direction))

    def concepts(self, cuis: Sequence[str], request: Request, *, names_only: bool) -> Response[list[Concept]]:
        """See `Transport.concepts`."""
        fields = {"cuis": cuis, "names_only": names_only}
        return self._post("concepts", fields, request, _rows(Concept, "concepts", len(cuis)))

    def resolve(self, cuis: Sequence[str], request: Request) -> Response[list[Resolution]]:
        """See `Transport.resolve`."""
        return self._post("resolutions", {"cuis": cuis}, request, _rows(Resolution, "resolutions", len(cuis)))

    def search(self, text: str, limit: int, request: Request) -> Response[list[SearchHit]]:
        """See `Transport.search`."""
        return self._get("search", {"text": text, "limit": limit}, request, _rows(SearchHit, "hits"))

    def annotate(self, texts: Sequence[str], options: AnnotationOptions, request: Request) -> Response[Annotations]:
        """See `Transport.annotate`."""

        def parse(body: Body) -> Response[Annotations]:
            return _response(annotations_of_rows(_member(body, "annotations", list), texts), body)

        return self._post("annotate", {"texts": texts, "options": asdict(options)}, request, parse)

    # Similarity

    def similarities(self, ends: Sequence[str], options: SimilarityOptions, request: Request) -> Response[PairValues]:
        """See `Transport.similarities`."""
        pairs = list(zip(ends[::2], ends[1::2], strict=True))
        return self._similarities({"pairs": pairs}, len(pairs), options, request)

    def set_similarities(
        self, sets: Sequence[SetPair], options: SimilarityOptions, request: Request
    ) -> Response[PairValues]:
        """See `Transport.set_similarities`."""
        return self._similarities({"sets": sets}, len(sets), options, request)

    def _similarities(
        self, fields: Mapping[str, object], count: int, options: SimilarityOptions, request: Request
    ) -> Response[PairValues]:
        fields = {**fields, "measure": options.measure, "ic": options.ic}
        return self._post("similarities", fields, request, lambda body: _pair_values(body, count))

    def pair_similarities(
        self, ends: Sequence[str], ic: InformationContent, request: Request
    ) -> Response[list[PairSimilarity]]:
        """See `Transport.pair_similarities`."""
        pairs = list(zip(ends[::2], ends[1::2], strict=True))
        parse = _rows(PairSimilarity, "pairs", len(pairs))
        return self._post("pair-similarities", {"pairs": pairs, "ic": ic}, request, parse)

    def placements(self, cuis: Sequence[str], ic: InformationContent, request: Request) -> Response[list[Placement]]:
        """See `Transport.placements`."""
        fields = {"cuis": cuis, "ic": ic}
        return self._post("placements", fields, request, _rows(Placement, "placements", len(cuis)))

    def hierarchy_facts(self, request: Request) -> Response[HierarchyFacts]:
        """See `Transport.hierarchy_facts`."""

        def parse(body: Body) -> Response[HierarchyFacts]:
            return _response(value_of(HierarchyFacts, body["hierarchy"]), body)

        return self._get("hierarchy", {}, request, parse)

    # Calls

    def _get(self, route: str, fields: Mapping[str, object], request: Request, parse: _Parser[T]) -> Response[T]:
        given = _restricted(fields, request)
        query = urlencode({name: value for name, value in given.items() if value is not None}, doseq=True)
        return self._send("GET", f"{route}?{query}" if query else route, None, request, parse)

    def _post(self, route: str, fields: Mapping[str, object], request: Request, parse: _Parser[T]) -> Response[T]:
        body = json.dumps(_restricted(fields, request), separators=(",", ":")).encode()
        return self._send("POST", route, body, request, parse)

    def _send(self, method: str, route: str, body: bytes | None, request: Request, parse: _Parser[T]) -> Response[T]:
        """The parsed response of a route."""
        address, url, suffix = self._settings.address, self._settings.path + _BASE + route, _suffix(request)
        headers = request.headers(self._settings.key, self.seen)
        headers |= {"accept": "application/json, application/problem+json"}
        headers |= {"accept-encoding": "gzip", "user-agent": "cuihop", "x-timeout-seconds": f"{request.timeout:g}"}
        if body is not None:
            headers["content-type"] = "application/json"
            if len(body) >= _SMALLEST_COMPRESSED and not self._settings.loopback:
                body = gzip.compress(body, compresslevel=1)
                headers["content-encoding"] = "gzip"
        try:
            response, content = self._exchange(method, url, body, headers, request)
        except exceptions.HTTPError as error:
            raise self._failure(error, request) from error
        self.seen.note(response.headers.get(ACTIVATION_HEADER))
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.status == http.client.OK:
            try:
                if kind != "application/json":
                    raise ValueError(f"of the type {kind!r}: {_excerpt(content)}")
                return parse(_body(content))
            except (KeyError, ValueError, TypeError, IndexError, RecursionError) as error:
                raise unavailable(address, f"not the answer of a cuihop service: {error} {suffix}") from error
        if kind == "application/problem+json":
            problem = _problem(content, _seconds(response.headers.get("retry-after")))
            if problem is not None and problem.reason == _NO_SUCH_ROUTE:
                found = f"a cuihop service, but {url.partition('?')[0]} is not there"
                raise unavailable(address, f"{found}; is the path right, and the version? {suffix}")
            if problem is not None:
                raise failure_of(problem, response.status, request.request_id)
        found = f"answered {response.status} {response.reason or ''}".rstrip()
        if location := response.headers.get("location"):
            found += f" and leads to {quoted(location)}"
        elif content:
            found += f" with {kind or 'no type'}: {_excerpt(content)}"
        raise refusal(address, response.status, f"{found} {suffix}")

    def _exchange(
        self, method: str, url: str, body: bytes | None, headers: dict[str, str], request: Request
    ) -> tuple[urllib3.BaseHTTPResponse, bytes]:
        """One HTTP request, and its whole response, read within the timeout."""
        ends = time.monotonic() + request.timeout
        connect = min(self._settings.connect_timeout, request.timeout)
        response = self._pool.urlopen(
            method,
            url,
            body,
            headers,
            redirect=False,
            preload_content=False,
            timeout=urllib3.Timeout(connect=connect, read=request.timeout),
            pool_timeout=max(1, round(request.timeout)),
        )
        content = bytearray()
        complete = False
        try:
            while part := response.read1(_PART, decode_content=True):
                content += part
                if time.monotonic() > ends:
                    raise exceptions.ReadTimeoutError(self._pool, url, "the answer does not end")
                if len(content) > _LARGEST_RESPONSE:
                    raise exceptions.HTTPError(f"the answer is larger than {_LARGEST_RESPONSE:,} bytes")
            complete = True
        finally:
            if complete:
                response.release_conn()
            else:
                response.close()
        return response, bytes(content)

    def _failure(self, error: exceptions.HTTPError, request: Request) -> AttemptFailed:
        address, suffix = self._settings.address, _suffix(request)
        if isinstance(error, exceptions.NameResolutionError):
            return unavailable(address, "the name cannot be resolved", retry=True, connection=True)
        if isinstance(error, exceptions.NewConnectionError):
            found = str(error.__cause__ or error)
            return unavailable(address, f"cannot be reached: {found}. {NOT_RUNNING}", retry=True, connection=True)
        if isinstance(error, exceptions.ConnectTimeoutError):
            found = f"no connection within {min(self._settings.connect_timeout, request.timeout):g} s"
            return unavailable(address, found, retry=True, connection=True)
        if isinstance(error, exceptions.ReadTimeoutError):
            return AttemptFailed(QueryTimedOut(f"{address}: no answer within {request.timeout:g} s {suffix}"))
        if isinstance(error, exceptions.EmptyPoolError):
            found = f"all {self._settings.connections} connections stayed in use for {request.timeout:g} s"
            return unavailable(address, found)
        if isinstance(error, exceptions.SSLError):
            return no_encryption(address, str(error))
        if isinstance(error, exceptions.ProtocolError):
            cause = error.args[1] if len(error.args) > 1 else error
            if isinstance(cause, http.client.HTTPException) and not isinstance(cause, ConnectionError):
                if isinstance(cause, http.client.BadStatusLine):
                    found = f"the answer is not HTTP: {quoted(str(cause))}; perhaps grpc://{self._settings.authority}"
                    return unavailable(address, found, connection=True)
                return unavailable(address, f"the answer broke off: {cause} {suffix}", retry=True)
            advice = "" if self._settings.encrypted else f". {NEEDS_TLS}"
            return unavailable(address, f"the connection broke: {cause} {suffix}{advice}", retry=True)
        return unavailable(address, f"{error} {suffix}")


def _restricted(fields: Mapping[str, object], request: Request) -> Mapping[str, object]:
    """The fields, with the vocabularies of the request where there are any."""
    return {**fields, "within_sabs": request.within_sabs} if request.within_sabs else fields


def _suffix(request: Request) -> str:
    """The end of a message for the service's owner."""
    return f"(request {request.request_id})"


def _context(settings: RemoteSettings) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=settings.ca_file)
    except (OSError, ssl.SSLError) as error:
        raise InputError("no certificates can be read", file=settings.ca_file, found=str(error)) from None
    if settings.client_cert is not None and settings.client_key is not None:
        try:
            context.load_cert_chain(settings.client_cert, settings.client_key)
        except (OSError, ssl.SSLError) as error:
            raise InputError(
                "no certificate with its key can be read", file=settings.client_cert, found=str(error)
            ) from None
    return context


def _seconds(retry_after: str | None) -> float | None:
    """Seconds of a Retry-After header, which holds seconds or a date."""
    if retry_after is None:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time())
    except ValueError:
        return None


def _excerpt(content: bytes) -> str:
    """The beginning of a body, for a message."""
    return quoted(" ".join(content[:500].decode("utf-8", "replace").split()))


# Parsers: another shape than the contract's is a `ValueError` or a `KeyError`


def _body(content: bytes) -> Body:
    """Parse a JSON object."""
    parsed = json.loads(content.decode("utf-8"))
    if not isinstance(parsed, dict):
        raise ValueError("no JSON object")
    return parsed


def _problem(content: bytes, retry_after: float | None) -> Problem | None:
    """Parse a problem that a cuihop service reports; ``None`` for the document of another server.

    Args:
        content: a problem document of RFC 9457.
        retry_after: seconds, from the header.
    """
    try:
        document = _body(content)
        reason = _member(document, "reason", str)
        faults = [value_of(FaultyIdentifier, fault) for fault in document.get("faults") or ()]
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError):
        return None
    seconds = document.get("retry_after")
    return Problem(
        reason=reason,
        message=str(document.get("detail") or document.get("title") or reason),
        faults=faults,
        parts={
            name: str(document[name])
            for name in ("problem", "field", "found", "expected", "advice", "file", "line")
            if document.get(name) is not None
        },
        retry_after=float(seconds) if isinstance(seconds, int | float) else retry_after,
    )


def _service_info(document: Body) -> Response[ServiceInfo]:
    """Parse the description of a service."""
    limits = value_of(ServiceLimits, document["limits"])
    release = value_of(Release, document)
    indexed, names = _member(document, "indexed", bool), _member(document, "names", bool)
    version = _member(document, "service_version", str)
    return Response(ServiceInfo(release, indexed, limits, names, version), release.digest)


def _pair_distances(document: Body, pairs: int) -> Response[PairDistances]:
    """Parse the distances of a number of pairs."""
    hops = _members(document, "hops", pairs)
    reached = np.array([found is not None for found in hops], dtype=np.bool_)
    numbers = _numbers([0 if found is None else found for found in hops], np.int32)
    return _response(PairDistances(numbers, reached), document)


def _pair_values(document: Body, pairs: int) -> Response[PairValues]:
    """Parse the similarities of a number of pairs."""
    found = _members(document, "similarities", pairs)
    if any(type(value) not in (float, int, NoneType) for value in found):
        raise ValueError("a similarity is no number")
    defined = np.array([value is not None for value in found], dtype=np.bool_)
    values = np.array([0.0 if value is None else value for value in found], dtype=np.float64)
    return _response(PairValues(values, defined), document)


def _path(document: Body, direction: Direction) -> Response[Path | None]:
    """Parse a path, or its absence."""
    places = document["path"]
    if places is None:
        return _response(None, document)
    steps = tuple(value_of(Step, place) for place in places[1:])
    start, merged = _member(places[0], "cui", str), _merged(document)
    total, which = _member(document, "total", int), _member(document, "which", int)
    return _response(Path(start, steps, direction, merged, total, which), document)


def _rows(kind: type[T], name: str, count: int | None = None) -> _Parser[list[T]]:
    """The parser of a list of values, of this length."""

    def parse(document: Body) -> Response[list[T]]:
        return _response([value_of(kind, row) for row in _members(document, name, count)], document)

    return parse


def _pack(document: Body, cuis: Sequence[str], bound: int, direction: Direction) -> Response[DistancePack]:
    """Parse the distance pack of the requested concepts."""
    used = _texts(document, "cuis")
    indptr = _numbers(_member(document, "indptr", list), np.int64)
    indices = _numbers(_member(document, "indices", list), np.int32)
    hops = _numbers(_member(document, "hops", list), np.uint8)
    answer = _response(None, document)
    found = DistancePack(used, indptr, indices, hops, bound=bound, direction=direction, digest=answer.digest)
    checked_pack(found, len(cuis))
    return Response(found, answer.digest, answer.merged)


def _response(value: T, document: Body) -> Response[T]:
    return Response(value, _member(document, "release", str), _merged(document))


def _merged(document: Body) -> dict[str, str]:
    merged = document.get("merged") or {}
    if not isinstance(merged, dict) or not all(isinstance(new, str) for new in merged.values()):
        raise ValueError("merged is not as expected")
    return merged


def _member(document: Any, name: str, kind: type[T]) -> T:
    """The member of this name, checked to be of this type."""
    if not isinstance(document, dict):
        raise ValueError("no JSON object")
    value = document[name]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{name} is not as expected")
    return value


def _members(document: Body, name: str, count: int | None) -> list[Any]:
    """The list of this name, checked to be of this length."""
    members = _member(document, name, list)
    if count is not None and len(members) != count:
        raise ValueError(f"{len(members):,} {name} for {count:,}")
    return members


def _texts(document: Any, name: str) -> tuple[str, ...]:
    values = _member(document, name, list)
    if not all(isinstance(value, str) for value in values):
        raise ValueError(f"{name} is not as expected")
    return tuple(values)


def _numbers(values: list[Any], kind: type[np.generic]) -> npt.NDArray[Any]:
    """Whole numbers, 0 or more, checked against the range of the type."""
    found = np.array(values, dtype=None if values else np.int64)
    if found.ndim != 1 or found.dtype.kind != "i":
        raise ValueError("numbers are not as expected")
    if len(found) and (found.min() < 0 or found.max() > np.iinfo(kind).max):  # type: ignore[type-var]
        raise ValueError("a number is out of its range")
    return found.astype(kind)
