"""The HTTP transport: connection pool, requests, parsers of the service's JSON, and failures."""

from __future__ import annotations

import email.utils
import gzip
import http.client
import json
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlencode

import urllib3
from urllib3 import exceptions

from cuihop.addresses import host_in_url
from cuihop.answer_fields import NAMES, fields_of, value_of
from cuihop.errors import InputError, QueryTimedOut
from cuihop.files.text_lines import quoted
from cuihop.operations.answers import ReleaseAnswer
from cuihop.operations.table import ANNOTATE, RELEASE, Operation
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
from cuihop.remote.transport import Request, Response, repeated, response_of

T = TypeVar("T")
Q = TypeVar("Q")
A = TypeVar("A")
Body: TypeAlias = dict[str, Any]

_LARGEST_RESPONSE = 1 << 30  # bytes, decompressed
_CHUNK = 1 << 18
_BASE = "/v1"
_NO_SUCH_ROUTE = "NO_SUCH_ROUTE"
_SMALLEST_COMPRESSED = 2_048  # bytes; within one machine copying is quicker


class HttpTransport:
    """A pool of persistent connections to a service. Safe to share between threads.

    Redirections are not followed: they would receive the key.
    """

    def __init__(self, settings: RemoteSettings) -> None:
        self._settings = settings
        self.seen = NewestSeen()
        options: dict[str, Any] = {"maxsize": settings.connections, "block": True, "retries": False}
        host = host_in_url(settings.host)
        self._pool = (
            urllib3.HTTPSConnectionPool(host, settings.port, ssl_context=_context(settings), **options)
            if settings.encrypted
            else urllib3.HTTPConnectionPool(host, settings.port, **options)
        )

    def close(self) -> None:
        """Close the connections. Harmless twice."""
        self._pool.close()

    def send(self, operation: Operation[Q, A], question: Q, request: Request) -> Response[A]:
        """See `Transport.send`."""
        members, body = _members(question), None
        route = operation.path
        if operation.method == "POST":
            body = json.dumps(members, separators=(",", ":"), default=list).encode()
        elif query := urlencode({name: value for name, value in members.items() if value is not None}, doseq=True):
            route += f"?{query}"
        read = _READERS.get(operation, _response)
        return self._send(operation.method, route, body, request, partial(read, operation, question))

    def _send(
        self, method: str, route: str, body: bytes | None, request: Request, parse: Callable[[Body], Response[A]]
    ) -> Response[A]:
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
                answer = f"a cuihop service, but {url.partition('?')[0]} is not there"
                raise unavailable(address, f"{answer}; is the path right, and the version? {suffix}")
            if problem is not None:
                raise failure_of(problem, response.status, request.request_id)
        answer = f"answered {response.status} {response.reason or ''}".rstrip()
        if location := response.headers.get("location"):
            answer += f" and leads to {quoted(location)}"
        elif content:
            answer += f" with {kind or 'no type'}: {_excerpt(content)}"
        raise refusal(address, response.status, f"{answer} {suffix}")

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
        try:
            while chunk := response.read1(_CHUNK, decode_content=True):
                content += chunk
                if time.monotonic() > ends:
                    raise exceptions.ReadTimeoutError(self._pool, url, "the answer does not end")
                if len(content) > _LARGEST_RESPONSE:
                    raise exceptions.HTTPError(f"the answer is larger than {_LARGEST_RESPONSE:,} bytes")
        except BaseException:
            response.close()
            raise
        response.release_conn()
        return response, bytes(content)

    def _failure(self, error: exceptions.HTTPError, request: Request) -> AttemptFailed:
        address, suffix = self._settings.address, _suffix(request)
        if isinstance(error, exceptions.NameResolutionError):
            return unavailable(address, "the name cannot be resolved", retry=True, connection=True)
        if isinstance(error, exceptions.NewConnectionError):
            problem = str(error.__cause__ or error)
            return unavailable(address, f"cannot be reached: {problem}. {NOT_RUNNING}", retry=True, connection=True)
        if isinstance(error, exceptions.ConnectTimeoutError):
            problem = f"no connection within {min(self._settings.connect_timeout, request.timeout):g} s"
            return unavailable(address, problem, retry=True, connection=True)
        if isinstance(error, exceptions.ReadTimeoutError):
            return AttemptFailed(QueryTimedOut(f"{address}: no answer within {request.timeout:g} s {suffix}"))
        if isinstance(error, exceptions.EmptyPoolError):
            problem = f"all {self._settings.connections} connections stayed in use for {request.timeout:g} s"
            return unavailable(address, problem)
        if isinstance(error, exceptions.SSLError):
            return no_encryption(address, str(error))
        if isinstance(error, exceptions.ProtocolError):
            cause = error.args[1] if len(error.args) > 1 else error
            if isinstance(cause, http.client.HTTPException) and not isinstance(cause, ConnectionError):
                if isinstance(cause, http.client.BadStatusLine):
                    problem = f"the answer is not HTTP: {quoted(str(cause))}; perhaps grpc://{self._settings.authority}"
                    return unavailable(address, problem, connection=True)
                return unavailable(address, f"the answer broke off: {cause} {suffix}", retry=True)
            advice = "" if self._settings.encrypted else f". {NEEDS_TLS}"
            return unavailable(address, f"the connection broke: {cause} {suffix}{advice}", retry=True)
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


# Parsers: another shape than the contract's is a `ValueError` or a `KeyError`


def _body(content: bytes) -> Body:
    """Parse a JSON object."""
    parsed = json.loads(content.decode("utf-8"))
    if not isinstance(parsed, dict):
        raise ValueError("no JSON object")
    return parsed


def _problem(content: bytes, retry_after: float | None) -> Problem | None:
    """Parse a problem document (RFC 9457) of a cuihop service; ``None`` for the document of another server."""
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


def _members(question: Any) -> Body:
    """The fields of a question but for defaults, which an earlier service may not know."""
    defaults = {NAMES.get(f.name, f.name): f.default for f in fields(question)}
    return {name: value for name, value in fields_of(question).items() if value != defaults[name]}


def _response(operation: Operation[Any, Any], question: Any, document: Body) -> Response[Any]:
    """The answer in a body."""
    answer = value_of(operation.answer, {**repeated(operation, question), **document})
    return response_of(operation, question, answer, _member(document, "release", str), _merged(document))


def _release(operation: Operation[Any, Any], question: Any, document: Body) -> Response[Any]:
    answer = value_of(ReleaseAnswer, {"limits": document["limits"], **document})
    return Response(answer, answer.digest)


def _annotations(operation: Operation[Any, Any], question: Any, document: Body) -> Response[Any]:
    annotations = annotations_of_rows(_member(document, "annotations", list), question.texts)
    return Response(annotations, _member(document, "release", str))


_READERS: Mapping[Operation[Any, Any], Callable[[Operation[Any, Any], Any, Body], Response[Any]]] = {
    RELEASE: _release,
    ANNOTATE: _annotations,
}


def _merged(document: Body) -> dict[str, str]:
    merged = document.get("merged") or {}
    if not isinstance(merged, dict) or not all(isinstance(new, str) for new in merged.values()):
        raise ValueError("merged is not as expected")
    return merged


def _member(document: Body, name: str, kind: type[T]) -> T:
    """The member of this name, checked to be of this type."""
    value = document[name]
    if type(value) is not kind:
        raise ValueError(f"{name} is not as expected")
    return value
