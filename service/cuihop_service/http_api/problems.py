"""Errors as problem documents (RFC 9457)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from pydantic import BaseModel
from starlette.responses import Response

from cuihop.annotation.options import AnnotationOptions
from cuihop.errors import CuihopError, InputError, RateLimited, ReleaseBehind
from cuihop.operations.invalid_values import decisive, expectation, in_json, meant
from cuihop.remote.statuses import error_fields, status_of
from cuihop_service.http_api.models import ProblemBody
from cuihop_service.request_context import FAULT, Cancelled

PROBLEM = "application/problem+json"

_GONE = 499  # the caller has gone


def problem_responses(texts: Mapping[int, str]) -> dict[int | str, dict[str, Any]]:
    """The ``responses`` of a route, for OpenAPI: its errors by status, and a default."""
    described: list[tuple[int | str, str]] = [
        *texts.items(),
        ("default", "Any other failure, such as a method that the path does not have."),
    ]
    return {status: {"description": text, "model": ProblemBody, "content": {PROBLEM: {}}} for status, text in described}


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


def input_error(
    errors: Sequence[Mapping[str, Any]], body: type[BaseModel] | None = None, *, private: bool = False
) -> InputError:
    """The error of an invalid request, by its first fault: the field, found and expected.

    Args:
        errors: as Pydantic lists them.
        body: the model of the body, for the fields that it has.
        private: show of the body only the values of options, and of others their type.
    """
    first = decisive(errors)
    location, value = [str(part) for part in first["loc"]], first.get("input")
    if first["type"] == "json_invalid":
        problem = f"{first.get('ctx', {}).get('error', '')}, at character {location[-1]}"
        return InputError("the body is not JSON", column="body", found=problem, expected="JSON")
    field = ".".join(location[1:]) or location[0]
    more = len(errors) - 1
    advice = [f"{more} more of the request's values are not valid."] if more else []
    if first["type"] == "extra_forbidden":
        names = _fields_at(body, location[1:-1])
        if near := meant(location[-1], names):
            advice.insert(0, f"Did you mean {near}?")
        return InputError(
            "no such field", column=field, expected=", ".join(names) or None, advice=" ".join(advice) or None
        )
    missing = first["type"] == "missing"
    expected = None if missing else expectation(first)
    if isinstance(value, bytes):
        expected, advice = "a JSON object", ["Send JSON, with the header Content-Type: application/json."]
    content = in_json(value)
    if private and not _is_option(location):
        content = f"a value of the type {type(value).__name__}"
    return InputError(
        "required, but missing" if missing else "not valid",
        column=field,
        found=None if missing else content,
        expected=expected,
        advice=" ".join(advice) or None,
    )


def _fields_at(model: Any, location: Sequence[str]) -> list[str]:
    """The fields of a model, or of the one at a place in it; none where there is no model."""
    for name in location:
        model = model.model_fields[name].annotation if name in getattr(model, "model_fields", ()) else None
    return [field.alias or name for name, field in getattr(model, "model_fields", {}).items()]


def _is_option(location: Sequence[str]) -> bool:
    """True for the place of an option of `AnnotationOptions` in a body."""
    return location[1:2] == ["options"] and len(location) > 2 and location[2] in AnnotationOptions.__dataclass_fields__
