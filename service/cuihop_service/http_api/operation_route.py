"""The class of the routes of operations: JSON by orjson, and a query string that says nothing in vain."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, get_args

import orjson
from fastapi import Request
from fastapi.routing import APIRoute
from pydantic import ValidationError
from starlette.responses import Response
from starlette.types import Receive, Scope

from cuihop.errors import InputError
from cuihop.files.text_lines import shortened
from cuihop.operations.invalid_values import in_json, meant
from cuihop_service.keyed_pairs import parsed_batch

_WHOLE_NUMBER = re.compile("-?[0-9]{1,20}", re.ASCII)


class CheckedRoute(APIRoute):
    """A route that refuses a query string which it would not use as it stands."""

    request_class: type[Request] = Request

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """See FastAPI."""
        handler = super().get_route_handler()
        parameters = {field.alias: _types(field.field_info.annotation) for field in self.dependant.query_params}

        async def checked(request: Request) -> Response:
            if request.scope["query_string"]:
                _check_query(request, parameters)
            if not isinstance(request, self.request_class):
                request = self.request_class(request.scope, request.receive)
            return await handler(request)

        return checked


class _OrjsonRequest(Request):
    """A request whose JSON orjson reads."""

    async def json(self) -> Any:
        """The body."""
        if not hasattr(self, "_json"):
            self._json = parsed(await self.body())
        return self._json


def parsed(body: bytes) -> Any:
    """A body; read by the standard library where orjson refuses it, for the same errors as the framework's."""
    try:
        return orjson.loads(body)
    except ValueError:
        return json.loads(body)


class OperationRoute(CheckedRoute):
    """A checked route that reads JSON with orjson, which makes numbers of more than 64 bits inexact."""

    request_class = _OrjsonRequest


class PlainBatches:
    """Answers to batches of distances in plain form, by the function of the documented route.

    The framework takes longer than a thousand distances. Any other batch is left to it, which also words the errors.
    """

    def __init__(self, documented: APIRoute) -> None:
        self._path = documented.path
        self._endpoint = documented.endpoint
        self._model: Any = None if documented.body_field is None else documented.body_field.field_info.annotation

    async def response(self, scope: Scope, body: bytes, receive: Receive) -> Response | None:
        """The response to a request whose body has been read; None for one that is left to the framework.

        Raises:
            CuihopError: as the function of the route does.
        """
        if scope["path"] != self._path or scope["method"] != "POST" or scope["query_string"]:
            return None
        if next((value for name, value in scope["headers"] if name == b"content-type"), b"") != b"application/json":
            return None
        try:
            batch = self._model.model_validate(parsed_batch(body))  # None is not valid either
        except ValidationError:
            return None
        request = _OrjsonRequest(scope, receive)
        request._body = body
        response: Response = await self._endpoint(request=request, body=batch)
        return response


def _types(annotation: object) -> set[object]:
    return {annotation, *get_args(annotation)}


def _check_query(request: Request, parameters: Mapping[str, set[object]]) -> None:
    """Refuse what the framework would ignore or read generously.

    Raises:
        InputError: a parameter that the operation does not have, one that stands twice but has one value, or a number
            in another form than digits.
    """
    values: dict[str, int] = {}
    for name, value in request.query_params.multi_items():
        values[name] = values.get(name, 0) + 1
        if name not in parameters:
            near = meant(name, parameters)
            raise InputError(
                "no such parameter", column=shortened(name),
                expected=", ".join(parameters) if parameters else "none: the request is the body",
                advice=f"Did you mean {near}?" if near else None,
            )  # fmt: skip
        if int in parameters[name] and not _WHOLE_NUMBER.fullmatch(value):
            raise InputError("not valid", column=name, found=in_json(value), expected="a whole number")
        if values[name] > 1 and Ellipsis not in parameters[name]:
            raise InputError("one value is needed", column=name, found="several")
