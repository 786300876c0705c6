"""Random messages of protocol buffers, and random JSON of a JSON schema: of the right form, and of wrong ones."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

from google.protobuf.descriptor import FieldDescriptor as Field
from google.protobuf.message import Message

from example_graph import EDGES, ISOLATED, RETIRED, UNKNOWN

__all__ = ["damaged", "drawn_json", "drawn_message", "drawn_text"]

_CONCEPTS = sorted({ISOLATED, *(cui for edge in EDGES for cui in edge)})
_IDENTIFIERS = [*_CONCEPTS, *(row[0] for row in RETIRED), UNKNOWN]
_WORDS = ("brain stem", "brain", "No fracture of the head. Veins?")
_SABS = ("SNOMEDCT_US", "MSH", "NCI")
_OF_FIELD = {"text": _WORDS, "texts": _WORDS, "within_sabs": _SABS, "sabs": _SABS, "semantic_types": ("T023", "ANAT")}
"""Values of a field by its name; any other has identifiers."""
_HOSTILE = (
    "", " ", "c0006121", "C000612", "C0006121\n", "\0", "\x1b[2J", "\u202e\u2066", "Ménière", "e\u0301" * 40, "𝒞" * 9,
    "\ufffd\uffff", "'; DROP TABLE x --", "{{7*7}}", "${jndi:ldap://x}", "../../etc/passwd", "%s%n", "<script>",
    "null", "NaN", "-1", "1e999", "x" * 600, "brain " * 2000, "\u0130" * 300,
)  # fmt: skip
_NUMBERS = (0, 1, 2, 3, 5, 10, 100, 255, 256, 10_001, 2**31 - 1, 2**31, 2**32 - 1, 2**53 + 1, 2**63 - 1, 2**64 - 1)
_FRACTIONS = (0.0, 0.5, 1.0, -0.0, -1.0, 1.5, 5e-324, 1e308, float("inf"), float("-inf"), float("nan"))
_SIZES = (0, 1, 1, 1, 1, 2, 2, 2, 3, 3, 5, 17)
_DEEPEST = 6


def drawn_text(rng: random.Random, field: str = "") -> str:
    """A value for a field of this name, now and then a hostile one."""
    kind = rng.random()
    if kind < 0.98:
        return rng.choice(_OF_FIELD.get(field, _CONCEPTS if kind < 0.95 else _IDENTIFIERS))
    if kind < 0.995:
        return rng.choice((*_WORDS, *_SABS, *_HOSTILE))
    return "".join(chr(rng.choice((rng.randrange(128), rng.randrange(0xD800)))) for _ in range(rng.randrange(40)))


# Protocol buffers


def drawn_message(kind: type[Message], rng: random.Random) -> bytes:
    """A message as it is sent. One in six is damaged, or no message at all."""
    message = kind()
    _fill(message, rng, 0)
    return damaged(message.SerializeToString(), rng)


def _fill(message: Message, rng: random.Random, depth: int) -> None:
    for field in message.DESCRIPTOR.fields:
        if rng.random() < 0.25:
            continue
        if field.is_repeated:
            _fill_list(message, field, rng, depth)
        elif field.message_type is not None:
            inner = getattr(message, field.name)
            inner.SetInParent()
            _fill(inner, rng, depth + 1)
        else:
            setattr(message, field.name, _scalar(field, rng))


def _fill_list(message: Message, field: Any, rng: random.Random, depth: int) -> None:
    items = getattr(message, field.name)
    size = rng.choice(_SIZES) if depth < 2 else rng.randrange(4)
    if rng.random() < 0.002:
        size = 20_000
    for _ in range(size):
        if field.message_type is None:
            items.append(_scalar(field, rng))
        elif field.message_type.GetOptions().map_entry:
            raise NotImplementedError("no request has a map")
        else:
            _fill(items.add(), rng, depth + 1)


def _scalar(field: Any, rng: random.Random) -> Any:
    """A value that the type can hold: of an enumeration also a number that it does not have."""
    kind = field.cpp_type
    if kind == Field.CPPTYPE_STRING:
        return rng.randbytes(rng.randrange(40)) if field.type == Field.TYPE_BYTES else drawn_text(rng, field.name)
    if kind == Field.CPPTYPE_BOOL:
        return rng.random() < 0.5
    if kind == Field.CPPTYPE_ENUM:
        return rng.choice([value.number for value in field.enum_type.values] * 9 + [99, -1, 2**31 - 1])
    if kind in (Field.CPPTYPE_DOUBLE, Field.CPPTYPE_FLOAT):
        return rng.choice(_FRACTIONS)
    bits = 64 if kind in (Field.CPPTYPE_INT64, Field.CPPTYPE_UINT64) else 32
    signed = kind in (Field.CPPTYPE_INT64, Field.CPPTYPE_INT32)
    number = rng.choice((*_NUMBERS[:6], *_NUMBERS, *(cui_number(rng) for _ in range(8)))) % 2**bits
    return number - 2**bits if signed and number >= 2 ** (bits - 1) else number


def cui_number(rng: random.Random) -> int:
    """The digits of an identifier, as packed pairs have them."""
    return int(rng.choice(_IDENTIFIERS)[1:])


def damaged(content: bytes, rng: random.Random) -> bytes:
    """The bytes, of which one in six has a fault."""
    if rng.random() > 1 / 6:
        return content
    data = bytearray(content)
    at = rng.randrange(len(data) + 1)
    how = rng.choice(("flip", "cut", "insert", "nested", "unknown", "twice", "random"))
    if how == "flip" and data:
        data[at % len(data)] ^= 1 << rng.randrange(8)
    elif how == "cut":
        del data[at:]
    elif how == "insert":
        data[at:at] = rng.randbytes(rng.choice((1, 4, 40)))
    elif how == "nested":
        data[at:at] = rng.choice((b"\x0b", b"[", b'{"a":', b"\x0a\x7f")) * rng.choice((10, 101, 5_000))
    elif how == "unknown":
        data += b"\xfa\x3f\x03abc"  # field 1023, which no message has
    elif how == "twice":
        data += bytes(data)
    else:
        return rng.randbytes(rng.choice((0, 1, 30, 3_000)))
    return bytes(data)


# JSON


def drawn_json(
    schema: Mapping[str, Any], document: Mapping[str, Any], rng: random.Random, field: str = "", depth: int = 0
) -> Any:
    """A value of a schema, whose references lead into the document. One part in eighty is something else."""
    if rng.random() < 1 / 80:
        return _anything(rng, 0)
    while "$ref" in schema:
        found: Any = document
        for name in schema["$ref"].removeprefix("#/").split("/"):
            found = found[name]
        schema = found
    for name in ("anyOf", "oneOf"):
        if name in schema and "properties" not in schema:
            return drawn_json(rng.choice(schema[name]), document, rng, field, depth)
    if "enum" in schema or "const" in schema:
        return rng.choice(schema.get("enum") or [schema["const"]])
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if kind == "object":
        return dict(_properties(schema, document, rng, depth))
    if kind == "array":
        if "prefixItems" in schema:
            return [drawn_json(item, document, rng, field, depth + 1) for item in schema["prefixItems"]]
        size = rng.choice(_SIZES) if depth < 3 else rng.randrange(3)
        return [drawn_json(schema.get("items", {}), document, rng, field, depth + 1) for _ in range(size)]
    if kind == "integer":
        least, most = schema.get("minimum", 0), schema.get("maximum", 2**31 - 1)
        return rng.choice((least, most, least + 1, min(most, least + 3), rng.choice(_NUMBERS)))
    if kind == "number":
        return rng.choice(_FRACTIONS)
    return {"boolean": rng.random() < 0.5, "null": None}.get(kind, drawn_text(rng, field))


def _properties(
    schema: Mapping[str, Any], document: Mapping[str, Any], rng: random.Random, depth: int
) -> Iterator[tuple[str, Any]]:
    for name, inner in schema.get("properties", {}).items():
        if rng.random() < (0.97 if name in schema.get("required", ()) else 0.4):
            yield name, drawn_json(inner, document, rng, name, depth + 1)
    if rng.random() < 0.02:
        yield drawn_text(rng), _anything(rng, 0)


def _anything(rng: random.Random, depth: int) -> Any:
    """Any JSON at all, now and then very deep or large."""
    kind = rng.randrange(9 if depth < _DEEPEST else 5)
    if kind == 0:
        return rng.choice((None, True, False))
    if kind == 1:
        return rng.choice(_NUMBERS) * rng.choice((1, -1))
    if kind == 2:
        return rng.choice(_FRACTIONS)
    if kind in (3, 4):
        return drawn_text(rng) if kind == 3 else "\ud800"
    if kind == 5:
        return [_anything(rng, depth + 1) for _ in range(rng.randrange(5))]
    if kind == 6:
        return {drawn_text(rng): _anything(rng, depth + 1) for _ in range(rng.randrange(5))}
    if kind == 7:
        return [rng.choice((1, "", None, []))] * rng.choice((200, 20_000))
    deep: Any = "C0006121"
    for _ in range(rng.choice((20, 200, 900))):
        deep = [deep] if rng.random() < 0.5 else {"a": deep}
    return deep
