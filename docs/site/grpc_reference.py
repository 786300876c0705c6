"""The reference of the gRPC service, from the descriptors of the contract with their comments."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)
from grpc_tools import protoc

from markdown_cells import cell, table

__all__ = ["contract", "grpc_reference"]

_PROTO = Path(__file__).parents[2] / "proto"
_FILE = "cuihop_api/v1/concept_graph.proto"
# Field numbers of descriptor.proto, of which the places of comments are made.
_MESSAGES, _ENUMS, _SERVICES, _FIELDS, _METHODS, _VALUES, _NESTED, _NESTED_ENUMS, _SYNTAX = 4, 5, 6, 2, 2, 2, 3, 4, 12

Place = tuple[int, ...]

_STATUSES = re.compile(r"[A-Z_]{6,}(, [A-Z_]{6,})*:")
"""Begins the line of a method's comment that names its errors."""


def contract() -> FileDescriptorProto:
    """The contract as the pinned compiler reads it, comments included."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "contract.binpb"
        arguments = ["protoc", f"--proto_path={os.fspath(_PROTO)}", "--include_source_info"]
        if protoc.main([*arguments, f"--descriptor_set_out={out}", _FILE]) != 0:
            raise ValueError(f"{_FILE} cannot be compiled")
        return FileDescriptorSet.FromString(out.read_bytes()).file[0]


def grpc_reference() -> str:
    """Methods, then messages, then enumerations."""
    file = contract()
    comments = _Comments(file)
    parts = [comments.block((_SYNTAX,))]
    for number, service in enumerate(file.service):
        place = (_SERVICES, number)
        parts += [f"## {file.package}.{service.name}", comments.block(place)]
        for index, method in enumerate(service.method):
            request = ("stream of " if method.client_streaming else "") + _type_link(method.input_type)
            response = ("stream of " if method.server_streaming else "") + _type_link(method.output_type)
            parts += [f"### {method.name}", f"{request} → {response}", comments.block((*place, _METHODS, index))]
    parts.append("## Messages")
    for number, message in enumerate(file.message_type):
        parts += _message(message, (_MESSAGES, number), comments)
    parts.append("## Enumerations")
    for number, enum in enumerate(file.enum_type):
        parts += _enum(enum, (_ENUMS, number), comments)
    return "\n\n".join(part for part in parts if part)


class _Comments:
    """The comments of a file, by place."""

    def __init__(self, file: FileDescriptorProto) -> None:
        self._at = {
            tuple(one.path): "\n\n".join([*one.leading_detached_comments, one.leading_comments, one.trailing_comments])
            for one in file.source_code_info.location
        }

    def line(self, place: Place) -> str:
        """On one line."""
        return cell(self._at.get(place, ""))

    def block(self, place: Place) -> str:
        """As paragraphs, lists and columns."""
        lines = [line.removeprefix(" ") for line in self._at.get(place, "").splitlines()]
        lines = ["\n" + line if _STATUSES.match(line) else line for line in lines]
        parts: list[str] = []
        for indented, group in groupby(lines, key=lambda line: line.startswith("  ")):
            text = "\n".join(group)
            if indented and text.startswith("  - "):
                parts.append(re.sub(r"^  ", "", cell(text, lines=True), flags=re.MULTILINE))
            elif indented:
                parts.append(f"```text\n{text}\n```")
            else:
                parts.append(cell(text, lines=True))
        return "\n\n".join(part for part in parts if part)


def _message(message: DescriptorProto, place: Place, comments: _Comments) -> Iterator[str]:
    yield f"### {message.name}"
    yield comments.block(place)
    rows = [
        (f"`{field.name}`", _type(field), str(field.number), comments.line((*place, _FIELDS, index)))
        for index, field in enumerate(message.field)
    ]
    yield table(("field", "type", "number", ""), rows) if rows else "No fields."
    for index, inner in enumerate(message.nested_type):
        if not inner.options.map_entry:
            yield from _message(inner, (*place, _NESTED, index), comments)
    for index, enum in enumerate(message.enum_type):
        yield from _enum(enum, (*place, _NESTED_ENUMS, index), comments)


def _enum(enum: EnumDescriptorProto, place: Place, comments: _Comments) -> Iterator[str]:
    yield f"### {enum.name}"
    yield comments.block(place)
    rows = [
        (f"`{value.name}`", str(value.number), comments.line((*place, _VALUES, index)))
        for index, value in enumerate(enum.value)
    ]
    yield table(("value", "number", ""), rows)


def _type(field: FieldDescriptorProto) -> str:
    if field.type_name:
        name = _type_link(field.type_name)
    else:
        name = FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()
    if field.label == FieldDescriptorProto.LABEL_REPEATED:
        return f"repeated {name}"
    return f"optional {name}" if field.proto3_optional else name


def _type_link(full: str) -> str:
    name = full.rpartition(".")[2]
    return f"[{name}](#{name.lower()})" if full.startswith(".cuihop_api.") and not name.endswith("Entry") else name
