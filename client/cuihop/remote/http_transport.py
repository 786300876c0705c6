"""The service over HTTP."""

from __future__ import annotations

import email.utils
import gzip
import http.client
import json
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import urlencode

import urllib3
from urllib3 import exceptions

from cuihop.errors import InputError, QueryTimedOut
from cuihop.files.text_lines import quoted
from cuihop.graph import Concept, Direction, DistancePack, Path, Resolution, SearchHit
from cuihop.remote import json_answers
from cuihop.remote.port import Answered, Around, Call, HopsOfPairs, PairBlock, Served
from cuihop.remote.problems import TLS_ADVICE, Failed, failure_of, refusal, unavailable
from cuihop.remote.settings import RemoteSettings

__all__ = ["HttpTransport"]

T = TypeVar("T")

_LARGEST_ANSWER = 1 << 30  # bytes, unpacked
_PART = 1 << 18
_BASE = "/v1/"
_NO_SUCH_ROUTE = "NO_SUCH_ROUTE"
_SMALLEST_COMPRESSED = 2_048  # bytes; within one machine copying is quicker


class HttpTransport:
    """A pool of connections that are kept open. Safe to share between threads.

    Redirections are not followed: the key would go with them.

    Args:
        settings: where and how.

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
        """Give the connections back. Harmless twice."""
        self._pool.close()

    # Answers

    def served(self, call: Call) -> Answered[Served]:
        """See `Transport.served`."""
        return self._get("release", {}, call, json_answers.served)

    def distances(
        self, block: PairBlock, direction: Direction, max_hops: int | None, call: Call
    ) -> Answered[HopsOfPairs]:
        """See `Transport.distances`."""
        pairs = list(zip(block.cuis[::2], block.cuis[1::2], strict=True))
        asked = {"pairs": pairs, "direction": direction, "max_hops": max_hops}
        return self._post("distances", asked, call, lambda body: json_answers.hops_of_pairs(body, len(pairs)))

    def path(self, a: str, b: str, direction: Direction, max_hops: int | None, call: Call) -> Answered[Path | None]:
        """See `Transport.path`."""
        asked = {"a": a, "b": b, "direction": direction, "max_hops": max_hops}
        return self._get("path", asked, call, lambda body: json_answers.path(body, direction))

    def neighbourhoods(
        self, cuis: Sequence[str], hops: int | None, direction: Direction, limit: int | None, call: Call
    ) -> Answered[list[Around]]:
        """See `Transport.neighbourhoods`."""
        asked = {"cuis": cuis, "hops": hops, "direction": direction, "limit": limit}
        return self._post("neighbourhoods", asked, call, lambda body: json_answers.around(body, len(cuis)))

    def pack(self, cuis: Sequence[str], hops: int, direction: Direction, call: Call) -> Answered[DistancePack]:
        """See `Transport.pack`."""
        asked = {"cuis": cuis, "hops": hops, "direction": direction}
        return self._post("pack", asked, call, lambda body: json_answers.pack(body, cuis, hops, direction))

    def concepts(self, cuis: Sequence[str], call: Call, *, names_only: bool) -> Answered[list[Concept]]:
        """See `Transport.concepts`."""
        asked = {"cuis": cuis, "names_only": names_only}
        return self._post("concepts", asked, call, lambda body: json_answers.concepts(body, len(cuis), names_only))

    def resolve(self, cuis: Sequence[str], call: Call) -> Answered[list[Resolution]]:
        """See `Transport.resolve`."""
        return self._post("resolutions", {"cuis": cuis}, call, lambda body: json_answers.resolutions(body, len(cuis)))

    def search(self, text: str, limit: int, call: Call) -> Answered[list[SearchHit]]:
        """See `Transport.search`."""
        return self._get("search", {"text": text, "limit": limit}, call, json_answers.hits)

    # Calls

    def _get(
        self, what: str, asked: Mapping[str, object], call: Call, told: Callable[[json_answers.Body], Answered[T]]
    ) -> Answered[T]:
        query = urlencode({name: value for name, value in asked.items() if value is not None})
        return self._ask("GET", f"{what}?{query}" if query else what, None, call, told)

    def _post(
        self, what: str, asked: Mapping[str, object], call: Call, told: Callable[[json_answers.Body], Answered[T]]
    ) -> Answered[T]:
        return self._ask("POST", what, json.dumps(asked, separators=(",", ":")).encode(), call, told)

    def _ask(
        self, method: str, what: str, body: bytes | None, call: Call, told: Callable[[json_answers.Body], Answered[T]]
    ) -> Answered[T]:
        """What the answer tells."""
        address = self._settings.address
        headers = call.headers(self._settings.key) | {"accept": "application/json, application/problem+json"}
        headers |= {"accept-encoding": "gzip", "user-agent": "cuihop", "x-timeout-seconds": f"{call.timeout:g}"}
        if body is not None:
            headers["content-type"] = "application/json"
            if len(body) >= _SMALLEST_COMPRESSED and not self._settings.loopback:
                body = gzip.compress(body, compresslevel=1)
                headers["content-encoding"] = "gzip"
        try:
            response, content = self._exchange(method, self._settings.path + _BASE + what, body, headers, call)
        except exceptions.HTTPError as error:
            raise self._failed(error, call) from error
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.status == http.client.OK:
            try:
                if kind != "application/json":
                    raise ValueError(f"of the type {kind!r}: {_beginning(content)}")
                return told(json_answers.body(content))
            except (KeyError, ValueError, TypeError, IndexError, RecursionError) as error:
                found = f"the answer is none of a cuihop service: {error} (request {call.request_id})"
                raise unavailable(address, found) from error
        if kind == "application/problem+json":
            problem = json_answers.problem(content, _seconds(response.headers.get("retry-after")))
            if problem is not None and problem.reason == _NO_SUCH_ROUTE:
                found = f"a cuihop service, but {self._settings.path + _BASE + what.partition('?')[0]} is not there"
                raise unavailable(address, f"{found}; is the path right, and the version? (request {call.request_id})")
            if problem is not None:
                raise failure_of(problem, response.status, call.request_id)
        found = f"answered {response.status} {response.reason or ''}".rstrip()
        if location := response.headers.get("location"):
            found += f" and leads to {quoted(location)}"
        elif content:
            found += f" with {kind or 'no type'}: {_beginning(content)}"
        raise refusal(address, response.status, f"{found} (request {call.request_id})")

    def _exchange(
        self, method: str, url: str, body: bytes | None, headers: dict[str, str], call: Call
    ) -> tuple[urllib3.BaseHTTPResponse, bytes]:
        """One request, and its whole answer within the time allowed."""
        ends = time.monotonic() + call.timeout
        connect = min(self._settings.connect_timeout, call.timeout)
        response = self._pool.urlopen(
            method,
            url,
            body,
            headers,
            redirect=False,
            preload_content=False,
            timeout=urllib3.Timeout(connect=connect, read=call.timeout),
            pool_timeout=max(1, round(call.timeout)),
        )
        content = bytearray()
        whole = False
        try:
            while part := response.read1(_PART, decode_content=True):
                content += part
                if time.monotonic() > ends:
                    raise exceptions.ReadTimeoutError(self._pool, url, "the answer does not end")
                if len(content) > _LARGEST_ANSWER:
                    raise exceptions.HTTPError(f"the answer is larger than {_LARGEST_ANSWER:,} bytes")
            whole = True
        finally:
            if whole:
                response.release_conn()
            else:
                response.close()
        return response, bytes(content)

    def _failed(self, error: exceptions.HTTPError, call: Call) -> Failed:
        address, request = self._settings.address, f"(request {call.request_id})"
        if isinstance(error, exceptions.NameResolutionError):
            return unavailable(address, "the name cannot be resolved", retry=True, connection=True)
        if isinstance(error, exceptions.NewConnectionError):
            found = str(error.__cause__ or error)
            return unavailable(address, f"cannot be reached: {found}", retry=True, connection=True)
        if isinstance(error, exceptions.ConnectTimeoutError):
            found = f"no connection within {min(self._settings.connect_timeout, call.timeout):g} s"
            return unavailable(address, found, retry=True, connection=True)
        if isinstance(error, exceptions.ReadTimeoutError):
            return Failed(QueryTimedOut(f"{address}: no answer within {call.timeout:g} s {request}"))
        if isinstance(error, exceptions.EmptyPoolError):
            found = f"all {self._settings.connections} connections stayed in use for {call.timeout:g} s"
            return unavailable(address, found)
        if isinstance(error, exceptions.SSLError):
            return unavailable(address, f"no encrypted connection: {error}. {TLS_ADVICE}", connection=True)
        if isinstance(error, exceptions.ProtocolError):
            cause = error.args[1] if len(error.args) > 1 else error
            if isinstance(cause, http.client.HTTPException) and not isinstance(cause, ConnectionError):
                if isinstance(cause, http.client.BadStatusLine):
                    found = f"the answer is not HTTP: {quoted(str(cause))}; perhaps grpc://{self._settings.authority}"
                    return unavailable(address, found, connection=True)
                return unavailable(address, f"the answer broke off: {cause} {request}", retry=True)
            return unavailable(address, f"the connection broke: {cause} {request}", retry=True)
        return unavailable(address, f"{error} {request}")


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
    """The Retry-After header: seconds, or a date."""
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


def _beginning(content: bytes) -> str:
    """Enough of a body to see what it is."""
    return quoted(" ".join(content[:500].decode("utf-8", "replace").split()))
