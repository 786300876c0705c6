"""Errors as problem documents (RFC 9457)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from fastapi.exceptions import RequestValidationError
from starlette.responses import Response

from cuihop.annotation.options import AnnotationOptions
from cuihop.errors import CuihopError, InputError, RateLimited, ReleaseBehind
from cuihop.files.text_lines import shortened
from cuihop.remote.statuses import error_fields, status_of
from cuihop_service.http_api.models import ProblemBody
from cuihop_service.request_context import FAULT, Cancelled

PROBLEM = "application/problem+json"

_ACTIVATION = "X-Release-Activation"
_GONE = 499  # the caller has gone


def problem_responses(texts: Mapping[int, str]) -> dict[int | str, dict[str, Any]]:
    """The ``responses`` of a route, for OpenAPI: its errors by status, and a default."""
    described: list[tuple[int | str, str]] = [
        *texts.items(),
        ("default", "Any other failure, such as a method that the path does not have."),
    ]
    return {status: {"description": text, "model": ProblemBody, "content": {PROBLEM: {}}} for status, text in described}


def as_sent(document: dict[str, Any]) -> dict[str, Any]:
    """An OpenAPI document with each problem under the media type that it is sent with, and no other.

    The framework puts the schema of every JSON body under ``application/json``. Every operation also gets the header
    for the order of releases, in request and answer.
    """
    schema = {"type": "string", "examples": ["1795412345678901234-9d9b3233636c4a1f"]}
    answered = {
        "description": "When the release of the answer became the active one: nanoseconds, `-`, and the beginning "
        "of its digest. Absent where no release was used.",
        "schema": schema,
    }
    sent = {
        "name": _ACTIVATION,
        "in": "header",
        "required": False,
        "description": "The value with the largest number that the caller has seen, unchanged. The answer then comes "
        "from no older release; a replica that has none so new refuses with 503, RELEASE_BEHIND.",
        "schema": schema,
    }
    for operations in document["paths"].values():
        for operation in operations.values():
            for answer in operation["responses"].values():
                content = answer.get("content", {})
                if PROBLEM in content:
                    content[PROBLEM] = content.pop("application/json")
            operation.setdefault("parameters", []).append(sent)
            operation["responses"]["200"].setdefault("headers", {})[_ACTIVATION] = answered
    return document


def _document(status: int, reason: str, detail: str, request_id: str) -> dict[str, Any]:
    return {
        "type": f"urn:cuihop:{reason}",
        "title": reason.replace("_", " ").capitalize(),
        "status": status,
        "detail": detail,
        "reason": reason,
        "request_id": request_id,
    }


def problem(error: CuihopError, request_id: str) -> dict[str, Any]:
    """The fields of an error's problem document."""
    status = status_of(error)
    code = _GONE if isinstance(error, Cancelled) else status.http
    return _document(code, status.reason, str(error), request_id) | error_fields(error)


def problem_response(error: CuihopError, request_id: str) -> Response:
    """The response to an error."""
    document = problem(error, request_id)
    headers = {"Cache-Control": "no-store"}
    if isinstance(error, RateLimited | ReleaseBehind):
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after)))
    if document["status"] == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(orjson.dumps(document), document["status"], headers, PROBLEM)


def other_response(
    status: int, reason: str, detail: str, request_id: str, headers: Mapping[str, str] | None = None
) -> Response:
    """The response to a failure that is no error of the library."""
    document = _document(status, reason, detail, request_id)
    return Response(orjson.dumps(document), status, {**(headers or {}), "Cache-Control": "no-store"}, PROBLEM)


def fault_response(request_id: str) -> Response:
    """The response to a fault of the service itself."""
    return other_response(500, "INTERNAL", FAULT, request_id)


def input_error(error: RequestValidationError, *, private: bool = False) -> InputError:
    """The error of an invalid request, by its first fault: the field, found and expected.

    Args:
        private: show of the body only the values of options, and of others their type.
    """
    first = error.errors()[0]
    location = [str(part) for part in first["loc"]]
    if first["type"] == "json_invalid":
        return InputError("the body is not JSON", column="body", found=str(first.get("ctx", {}).get("error", "")))
    field = ".".join(location[1:]) or location[0]
    missing = first["type"] == "missing"
    if missing:
        content = None
    elif private and not _is_option(location):
        content = f"a value of the type {type(first.get('input')).__name__}"
    else:
        content = shortened(repr(first.get("input")))
    more = len(error.errors()) - 1
    return InputError(
        "required, but missing" if missing else "not valid",
        column=field,
        found=content,
        expected=None if missing else first["msg"],
        advice=f"{more} more of the request's values are not valid." if more else None,
    )


def _is_option(location: Sequence[str]) -> bool:
    """True for the place of an option of `AnnotationOptions` in a body."""
    return location[1:2] == ["options"] and len(location) > 2 and location[2] in AnnotationOptions.__dataclass_fields__
