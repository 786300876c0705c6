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
from starlette.exceptions import HTTPException
from starlette.responses import Response

from cuihop.errors import InputError
from cuihop.files.text_lines import shortened
from cuihop.operations.invalid_values import in_json, meant
from cuihop.operations.table import DISTANCES
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
    """A checked route that reads JSON with orjson, which makes numbers of more than 64 bits inexact.

    A batch of distances in plain form goes to its function without the framework, which takes longer than a thousand
    distances. Any other is left to the framework, which also words the errors.
    """

    request_class = _OrjsonRequest

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """See FastAPI."""
        handler = super().get_route_handler()
        if self.name != DISTANCES.name or self.body_field is None:
            return handler
        model: Any = self.body_field.field_info.annotation

        async def batch(request: Request) -> Response:
            request = _OrjsonRequest(request.scope, request.receive)
            if request.headers.get("content-type") == "application/json" and not request.scope["query_string"]:
                try:
                    plain = parsed_batch(await request.body())
                except Exception as error:  # as the framework has it
                    raise HTTPException(400, "There was an error parsing the body") from error
                try:
                    body = model.model_validate(plain)  # None is not valid either
                except ValidationError:
                    return await handler(request)
                response: Response = await self.endpoint(request=request, body=body)
                return response
            return await handler(request)

        return batch


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
