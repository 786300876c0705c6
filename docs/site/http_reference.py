"""The reference of the HTTP service, from the OpenAPI document that the application itself gives."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

from cuihop.neo4j_graph.connection import Neo4jConnection, Neo4jSettings
from cuihop_service.admission import Admission
from cuihop_service.core import ConceptService
from cuihop_service.graph_holder import GraphHolder
from cuihop_service.guard.configured_guard import ConfiguredGuard
from cuihop_service.http_api.application import application
from cuihop_service.http_api.cypher_route import cypher_routes
from cuihop_service.http_api.responder import Responder
from cuihop_service.limits import Limits
from markdown_cells import cell, table

__all__ = ["http_reference", "openapi_document"]

Schema = dict[str, Any]


def http_reference() -> str:
    """Every operation, then every body."""
    document = openapi_document()
    parts = [cell(document["info"]["description"], lines=True)]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            parts += _operation(method.upper(), path, operation)
    parts.append("## Bodies")
    for name, schema in sorted(document["components"]["schemas"].items()):
        parts += [f"### {name}", cell(schema.get("description", ""), lines=True), _fields(schema)]
    return "\n\n".join(part for part in parts if part)


def openapi_document() -> Schema:
    """``/openapi.json`` of a service that accepts curators' Cypher."""
    sent: list[Any] = []
    limits = Limits()
    admission = Admission(limits, ConfiguredGuard())
    core = ConceptService(GraphHolder(), limits)
    database = Neo4jConnection(Neo4jSettings("bolt://localhost:7687"))  # never connected
    app = application(core, admission, more_routes=cypher_routes(Responder(core, admission), database, names=True))
    scope = {
        "type": "http", "method": "GET", "path": "/openapi.json", "raw_path": b"/openapi.json", "query_string": b"",
        "headers": [(b"host", b"localhost")], "http_version": "1.1", "scheme": "http", "root_path": "",
        "server": ("localhost", 8080), "client": ("127.0.0.1", 1),
    }  # fmt: skip

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    async def ask() -> None:
        await app(scope, receive, send)

    asyncio.run(ask())
    admission.close()
    database.close()
    document: Schema = json.loads(b"".join(message.get("body", b"") for message in sent))
    return document


def _operation(method: str, path: str, operation: Schema) -> Iterator[str]:
    yield f"## {method} {path}"
    yield cell(operation.get("description", ""), lines=True)
    parameters = [
        (
            f"`{one['name']}`" + (" (required)" if one.get("required") else ""),
            one["in"],
            _type(one["schema"]),
            cell(one.get("description", "")),
        )
        for one in operation.get("parameters", [])
    ]
    if parameters:
        yield table(("parameter", "in", "type", ""), parameters)
    for kind, body in operation.get("requestBody", {}).get("content", {}).items():
        yield f"Body: {_type(body['schema'])} as `{kind}`."
        if "$ref" not in body["schema"]:
            yield _fields(body["schema"])
    rows = []
    for status, answer in operation["responses"].items():
        kinds = [
            f"`{kind}`" + (f": {_type(held['schema'])}" if held.get("schema") else "")
            for kind, held in answer.get("content", {}).items()
        ]
        rows.append((status, cell(answer.get("description", "")), ", ".join(kinds)))
    yield table(("status", "", "content"), rows)


def _fields(schema: Schema) -> str:
    required = schema.get("required", [])
    rows = [
        (
            f"`{name}`" + (" (required)" if name in required else ""),
            _type(field),
            f"`{json.dumps(field['default'])}`" if "default" in field else "",
            cell(field.get("description", "")),
        )
        for name, field in schema.get("properties", {}).items()
    ]
    return table(("field", "type", "default", ""), rows) if rows else f"Type: {_type(schema)}."


def _type(schema: Schema) -> str:
    """A type in words, with its bounds; bodies are links."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    kind = str(schema.get("type", "anything"))
    if kind == "array":
        if "prefixItems" in schema:
            return "array of " + ", ".join(_type(one) for one in schema["prefixItems"])
        return "array of " + _type(schema.get("items", {}))
    bounds = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most", "exclusiveMaximum": "below"}
    return " ".join(
        [
            kind,
            *(
                f"{words} {schema[key]:.0f}" if float(schema[key]).is_integer() else f"{words} {schema[key]}"
                for key, words in bounds.items()
                if key in schema
            ),
        ]
    )
