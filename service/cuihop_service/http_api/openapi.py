"""The OpenAPI document: what the framework writes, with problems as they are sent, credentials, and calls of gRPC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from cuihop.answer_fields import NAMES
from cuihop.operations.table import OPERATIONS
from cuihop.remote.activation import PATTERN
from cuihop_service.http_api.problems import PROBLEM

SERVERS = [{"url": ".", "description": "This service, at the address of the document."}]

_ACTIVATION = "X-Release-Activation"
_SCHEMA = {"type": "string", "pattern": f"^{PATTERN}$", "examples": ["1795412345678901234-9d9b3233636c4a1f"]}
_ANSWERED = {
    "description": "When the release of the answer became the active one: nanoseconds, `-`, and the beginning "
    "of its digest. Absent where no release was used.",
    "schema": _SCHEMA,
}
_SENT = {
    "name": _ACTIVATION,
    "in": "header",
    "required": False,
    "description": "The value with the largest number that the caller has seen, unchanged. The answer then comes "
    "from no older release; a replica that has none so new refuses with 503, RELEASE_BEHIND.",
    "schema": _SCHEMA,
}
_BEARER = {
    "type": "http",
    "scheme": "bearer",
    "description": "An API key or a token of an identity provider, if the service asks for one.",
}
_EARLY = {"408": "The request comes too slowly.", "431": "The head is too large."}
_UNCHANGED = {"description": "The answer is the one whose ETag is in If-None-Match."}
_GRPC = "x-grpc"


def completed(document: dict[str, Any]) -> dict[str, Any]:
    """The framework's document with what it cannot know.

    It puts the schema of every JSON body under ``application/json``: a problem has a media type of its own. Every
    operation gets the header for the order of releases, in request and answer, what is answered before the framework
    has the request, and under ``x-grpc`` its procedure. A key is optional, for a service may be open.
    """
    document["components"]["securitySchemes"] = {"bearer": _BEARER}
    document["security"] = [{"bearer": []}, {}]
    procedures = {operation.name: operation for operation in OPERATIONS if operation.rpc}
    for operations in document["paths"].values():
        for operation in operations.values():
            for answer in operation["responses"].values():
                content = answer.get("content", {})
                if PROBLEM in content:
                    content[PROBLEM] = content.pop("application/json")
            parameters, answers = operation.setdefault("parameters", []), operation["responses"]
            answers |= {status: {**answers["400"], "description": text} for status, text in _EARLY.items()}
            if any(one["name"] == "release" for one in parameters):
                answers["304"] = _UNCHANGED
            operation["responses"] = dict(sorted(answers.items()))
            parameters.append(_SENT)
            answers["200"].setdefault("headers", {})[_ACTIVATION] = _ANSWERED
            if operation["operationId"] in procedures:
                operation[_GRPC] = _procedure(procedures[operation["operationId"]])
    return document


def _procedure(operation: Any) -> dict[str, Any]:
    """The procedure of an operation, and the form of its message: see `_form`.

    A field that stands in a message of its own, such as the bounds of a search, has the name of that under ``in``.
    """
    from cuihop.remote.wire import message_class

    message = message_class(operation.rpc).DESCRIPTOR
    forms: dict[str, Any] = {}
    for name in (NAMES.get(field.name, field.name) for field in fields(operation.request)):
        if name in message.fields_by_name:
            forms[name] = _form(message.fields_by_name[name])
        for group in message.fields:
            if name not in message.fields_by_name and group.message_type and name in group.message_type.fields_by_name:
                forms[name] = {**_form(group.message_type.fields_by_name[name]), "in": group.name}
    return {"procedure": f"{message.file.package}.ConceptGraphService/{operation.rpc}", "fields": forms}


def _form(field: Any) -> Mapping[str, Any]:
    """The form of a field: the beginning of the words of an enumeration, or the fields of a message."""
    form: dict[str, Any] = {"repeated": True} if field.is_repeated else {}
    if field.enum_type is not None:
        form["words"] = field.enum_type.values[0].name.removesuffix("UNSPECIFIED")
    if field.message_type is not None:
        form["fields"] = {inner.name: _form(inner) for inner in field.message_type.fields}
    return form
