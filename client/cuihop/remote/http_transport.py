"""The HTTP transport: connection pool, requests and failures."""

from __future__ import annotations

import email.utils
import gzip
import http.client
import json
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlencode

import urllib3
from urllib3 import exceptions

from cuihop.errors import InputError, QueryTimedOut
from cuihop.files.text_lines import quoted
from cuihop.graph import Concept, Direction, DistancePack, Path, Resolution, SearchHit
from cuihop.remote import json_responses
from cuihop.remote.failures import TLS_ADVICE, AttemptFailed, failure_of, refusal, unavailable
from cuihop.remote.settings import RemoteSettings
from cuihop.remote.transport import CentreNeighbours, PairBlock, PairDistances, Request, Response, ServiceInfo

__all__ = ["HttpTransport"]

T = TypeVar("T")
_Parser: TypeAlias = Callable[[json_responses.Body], Response[T]]

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
        return self._get("release", {}, request, json_responses.service_info)

    def distances(
        self, block: PairBlock, direction: Direction, max_hops: int | None, request: Request
    ) -> Response[PairDistances]:
        """See `Transport.distances`."""
        pairs = list(zip(block.cuis[::2], block.cuis[1::2], strict=True))
        fields = {"pairs": pairs, "direction": direction, "max_hops": max_hops}
        return self._post("distances", fields, request, lambda body: json_responses.pair_distances(body, len(pairs)))

    def path(
        self, a: str, b: str, direction: Direction, max_hops: int | None, request: Request
    ) -> Response[Path | None]:
        """See `Transport.path`."""
        fields = {"a": a, "b": b, "direction": direction, "max_hops": max_hops}
        return self._get("path", fields, request, lambda body: json_responses.path(body, direction))

    def neighbourhoods(
        self, cuis: Sequence[str], hops: int | None, direction: Direction, limit: int | None, request: Request
    ) -> Response[list[CentreNeighbours]]:
        """See `Transport.neighbourhoods`."""
        fields = {"cuis": cuis, "hops": hops, "direction": direction, "limit": limit}
        return self._post(
            "neighbourhoods", fields, request, lambda body: json_responses.neighbourhoods(body, len(cuis))
        )

    def pack(self, cuis: Sequence[str], hops: int, direction: Direction, request: Request) -> Response[DistancePack]:
        """See `Transport.pack`."""
        fields = {"cuis": cuis, "hops": hops, "direction": direction}
        return self._post("pack", fields, request, lambda body: json_responses.pack(body, cuis, hops, direction))

    def concepts(self, cuis: Sequence[str], request: Request, *, names_only: bool) -> Response[list[Concept]]:
        """See `Transport.concepts`."""
        fields = {"cuis": cuis, "names_only": names_only}
        return self._post("concepts", fields, request, lambda body: json_responses.concepts(body, len(cuis)))

    def resolve(self, cuis: Sequence[str], request: Request) -> Response[list[Resolution]]:
        """See `Transport.resolve`."""
        return self._post(
            "resolutions", {"cuis": cuis}, request, lambda body: json_responses.resolutions(body, len(cuis))
        )

    def search(self, text: str, limit: int, request: Request) -> Response[list[SearchHit]]:
        """See `Transport.search`."""
        return self._get("search", {"text": text, "limit": limit}, request, json_responses.hits)

    # Calls

    def _get(self, route: str, fields: Mapping[str, object], request: Request, parse: _Parser[T]) -> Response[T]:
        query = urlencode({name: value for name, value in fields.items() if value is not None})
        return self._send("GET", f"{route}?{query}" if query else route, None, request, parse)

    def _post(self, route: str, fields: Mapping[str, object], request: Request, parse: _Parser[T]) -> Response[T]:
        return self._send("POST", route, json.dumps(fields, separators=(",", ":")).encode(), request, parse)

    def _send(self, method: str, route: str, body: bytes | None, request: Request, parse: _Parser[T]) -> Response[T]:
        """The parsed response of a route."""
        address, url, suffix = self._settings.address, self._settings.path + _BASE + route, _suffix(request)
        headers = request.headers(self._settings.key) | {"accept": "application/json, application/problem+json"}
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
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.status == http.client.OK:
            try:
                if kind != "application/json":
                    raise ValueError(f"of the type {kind!r}: {_excerpt(content)}")
                return parse(json_responses.body(content))
            except (KeyError, ValueError, TypeError, IndexError, RecursionError) as error:
                raise unavailable(address, f"not the answer of a cuihop service: {error} {suffix}") from error
        if kind == "application/problem+json":
            problem = json_responses.problem(content, _seconds(response.headers.get("retry-after")))
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
            return unavailable(address, f"cannot be reached: {found}", retry=True, connection=True)
        if isinstance(error, exceptions.ConnectTimeoutError):
            found = f"no connection within {min(self._settings.connect_timeout, request.timeout):g} s"
            return unavailable(address, found, retry=True, connection=True)
        if isinstance(error, exceptions.ReadTimeoutError):
            return AttemptFailed(QueryTimedOut(f"{address}: no answer within {request.timeout:g} s {suffix}"))
        if isinstance(error, exceptions.EmptyPoolError):
            found = f"all {self._settings.connections} connections stayed in use for {request.timeout:g} s"
            return unavailable(address, found)
        if isinstance(error, exceptions.SSLError):
            return unavailable(address, f"no encrypted connection: {error}. {TLS_ADVICE}", connection=True)
        if isinstance(error, exceptions.ProtocolError):
            cause = error.args[1] if len(error.args) > 1 else error
            if isinstance(cause, http.client.HTTPException) and not isinstance(cause, ConnectionError):
                if isinstance(cause, http.client.BadStatusLine):
                    found = f"the answer is not HTTP: {quoted(str(cause))}; perhaps grpc://{self._settings.authority}"
                    return unavailable(address, found, connection=True)
                return unavailable(address, f"the answer broke off: {cause} {suffix}", retry=True)
            return unavailable(address, f"the connection broke: {cause} {suffix}", retry=True)
        return unavailable(address, f"{error} {suffix}")


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
