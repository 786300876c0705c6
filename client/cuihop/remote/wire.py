"""Values as messages of gRPC and back, by the names of their fields; for client and service alike.

A word of a `Literal` is a number of the enumeration: ``Wu-Palmer`` is ``SIMILARITY_MEASURE_WU_PALMER``. A pair, or an
item of a mapping, is a message of two fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, partial
from itertools import starmap
from operator import attrgetter
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.wrappers_pb2 import BytesValue

from cuihop.answer_fields import NAMES
from cuihop.errors import InputError
from cuihop.operations.answers import Column, Gaps, PathAnswer, PathConcept
from cuihop_api.v1 import concept_graph_pb2 as messages

T = TypeVar("T")
M = TypeVar("M", bound=Message)


_ENCODED = " "  # stands for the name of a field in `_with_gaps`, and is none
_BYTE = 128  # smaller numbers are encoded as one byte
_SHORT_TAG = 16  # fields with a smaller number have a tag of one byte

_Descriptor: TypeAlias = Any
"""Descriptor of a message, a field or an enumeration; each implementation of protobuf has its own classes."""


@cache
def message_class(rpc: str, *, answer: bool = False) -> type[Message]:
    """The class of the requests, or of the answers, of an RPC."""
    method = messages.DESCRIPTOR.services_by_name["ConceptGraphService"].methods_by_name[rpc]
    return GetMessageClass(method.output_type if answer else method.input_type)


def message_with(kind: type[M], /, **values: Any) -> M:
    """The message with these fields; words stand for the numbers of enumerations, and ``None`` leaves a field unset."""
    return kind(**{name: _writers(kind.DESCRIPTOR)[name](value) for name, value in values.items()})


def message_of(kind: type[M], value: Any, /, **others: Any) -> M:
    """The message of a value.

    Args:
        value: its attributes are fields of the message, or of a message in it; the message may lack some of them.
        others: fields that are no attributes, or that have another form, as the message holds them.
    """
    members = _members(kind.DESCRIPTOR, value) | others
    encoded = members.pop(_ENCODED, b"")
    message = kind(**members)
    message.MergeFromString(encoded)
    return message


def value_of_message(kind: Callable[..., T], message: Message, /, **others: Any) -> T:
    """The value of a message of an answer; a `ValueError` for a number without a word, if there is no default."""
    if kind is PathAnswer:
        return kind(**{**others, **_path_attributes(message)})
    return kind(**others, **{name: read(message) for name, read in _readers(kind, message.DESCRIPTOR)})


def value_of_request(kind: Callable[..., T], message: Message, /, **others: Any) -> T:
    """The value of the message of a request; an attribute has its default if the field is unset.

    Raises:
        InputError: a number of an enumeration has no word.
    """
    readers = _readers(kind, message.DESCRIPTOR, request=True)
    return kind(**{name: read(message) for name, read in readers if name not in others}, **others)


@cache
def _words(enum: _Descriptor, words: tuple[T, ...]) -> Mapping[int, T]:
    """Number of an enumeration → its word."""
    return {enum.values_by_name[_name(enum, word)].number: word for word in words}


def _name(enum: _Descriptor, word: object) -> str:
    """The name of a word in an enumeration."""
    return f"{re.sub('(?<!^)(?=[A-Z])', '_', enum.name)}_{word}".upper().replace("-", "_")


# Writing


def _members(message: _Descriptor, value: Any) -> dict[str, Any]:
    """The fields of the message of a value; those with messages have dictionaries, which are quicker than messages."""
    writers, forms = _value_writers(message, value.__class__)
    members = {
        field: getattr(value, name) if write is _same else write(getattr(value, name)) for name, field, write in writers
    }
    for form in forms:
        members |= form(value)
    return members


@cache
def _value_writers(
    message: _Descriptor, kind: Any
) -> tuple[Sequence[tuple[str, str, Callable[[Any], Any]]], Sequence[Callable[[Any], Mapping[str, Any]]]]:
    """Attributes of a value with their fields and the functions that write these; and functions that give others."""
    if kind is PathAnswer:
        return [], [_path_fields]
    hints, here, write = get_type_hints(kind, include_extras=True), message.fields_by_name, _writers(message)
    names = [f.name for f in fields(kind)]
    writers, forms = [], [partial(_group, field) for field in _groups(message, names)]
    for name in names:
        field = here.get(NAMES.get(name, name))
        if field is None:
            continue
        if gaps := _gaps(hints[name]):
            forms.append(partial(_with_gaps, field, gaps.indices))
        elif columns := _columns(field, hints[name]):
            forms.append(partial(_in_columns, name, columns))
        else:
            writers.append((name, field.name, write[field.name]))
    return writers, forms


def _with_gaps(field: _Descriptor, indices: str, value: Any) -> Mapping[str, Any]:
    """A column with 0 in its gaps, and the indices of these. Numbers of one byte are encoded all at once."""
    column = getattr(value, field.name)
    numbers, gaps = np.where(column.defined, column.numbers, 0), np.flatnonzero(~column.defined).tolist()
    small = numbers.dtype == np.int32 and len(numbers) and numbers.view(np.uint32).max() < _BYTE
    if small and field.number < _SHORT_TAG:
        after_tag = BytesValue(value=numbers.astype(np.uint8).tobytes()).SerializeToString()[1:]
        return {_ENCODED: bytes([field.number << 3 | 2]) + after_tag, indices: gaps}
    return {field.name: numbers.tolist(), indices: gaps}


def _in_columns(name: str, columns: Sequence[tuple[str, str]], value: Any) -> Mapping[str, Any]:
    """Rows as columns: field → the attribute of each row."""
    return {field: map(attrgetter(attribute), getattr(value, name)) for field, attribute in columns}


def _group(field: _Descriptor, value: Any) -> Mapping[str, Any]:
    return {field.name: _members(field.message_type, value)}


@cache
def _writers(message: _Descriptor) -> Mapping[str, Callable[[Any], Any]]:
    return {field.name: _writer(field) for field in message.fields}


def _writer(field: _Descriptor) -> Callable[[Any], Any]:
    message = field.message_type
    if field.enum_type is not None:
        write = cache(lambda word: None if word is None else _name(field.enum_type, word))
        return (lambda words: map(write, words)) if field.is_repeated else write
    if message is None or message.GetOptions().map_entry:
        return _same
    return partial(_all_nested, message) if field.is_repeated else lambda each: _nested(message, each.__class__)(each)


def _all_nested(message: _Descriptor, values: Any) -> Any:
    """The fields of values of one type, or of the pairs of a mapping; ``None`` for none."""
    items = values.items() if hasattr(values, "items") else values
    return map(_nested(message, next(iter(items)).__class__), items) if len(items) else None


@cache
def _nested(message: _Descriptor, value_type: type) -> Callable[[Any], Any]:
    """The function of a value, of a pair or a list, or of a message, that gives its fields, or the message itself."""
    if issubclass(value_type, (Message, NoneType)):
        return _same
    if is_dataclass(value_type):
        return partial(_members, message)
    if len(message.fields) == 1:
        return lambda value: {message.fields[0].name: value}
    names = _writers(message).items()
    return lambda pair: {name: write(item) for (name, write), item in zip(names, pair, strict=False)}


# Forms of attributes


def _path_fields(answer: PathAnswer) -> Mapping[str, Any]:
    if answer.path is None:
        return {}
    start, *steps = answer.path
    path = {"start": start.cui, "start_name": start.name, "total": answer.total, "which": answer.which}
    return {"path": path | {"steps": _all_nested(messages.Step.DESCRIPTOR, steps)}}


def _path_attributes(message: Any) -> Mapping[str, Any]:
    if not message.HasField("path"):
        return {"hops": None, "path": None, "total": 0, "which": None}
    path = message.path
    start = PathConcept(path.start, path.start_name if path.HasField("start_name") else None)
    concepts = start, *(value_of_message(PathConcept, step) for step in path.steps)
    return {"hops": len(path.steps), "path": concepts, "total": path.total, "which": path.which}


def _is_in(name: str, message: _Descriptor) -> bool:
    return NAMES.get(name, name) in message.fields_by_name


def _groups(message: _Descriptor, names: Sequence[str]) -> Sequence[_Descriptor]:
    """Fields with a message that holds attributes of the value itself."""
    return [
        field
        for field in message.fields
        if field.message_type is not None and not field.is_repeated and field.name not in names
        and any(_is_in(name, field.message_type) and not _is_in(name, message) for name in names)
    ]  # fmt: skip


def _gaps(hint: Any) -> Gaps | None:
    """The form of a column with gaps; None for another attribute."""
    notes = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return next((note for note in notes if isinstance(note, Gaps)), None)


def _columns(field: _Descriptor, hint: Any) -> Sequence[tuple[str, str]]:
    """Fields and attributes of rows that a message holds as columns, the first one in the field; empty for others."""
    inner = (get_args(hint) or (None,))[0]
    if field.message_type is not None or not is_dataclass(inner):
        return ()
    first, *others = (f.name for f in fields(inner))
    return [(field.name, first), *((name, name) for name in others)]


# Reading


@cache
def _readers(kind: Any, message: _Descriptor, *, request: bool = False) -> Sequence[tuple[str, Callable[[Any], Any]]]:
    hints = get_type_hints(kind, include_extras=True)
    readers = [
        (f.name, _reader(message.fields_by_name[NAMES.get(f.name, f.name)], hints[f.name], f.default, request))
        for f in fields(kind)
        if f.init and _is_in(f.name, message)
    ]
    for group in _groups(message, [f.name for f in fields(kind)]):
        inner = _readers(kind, group.message_type, request=request)
        readers += [(name, partial(_of_group, group.name, read)) for name, read in inner]
    return readers


def _of_group(group: str, read: Callable[[Any], Any], message: Any) -> Any:
    return read(getattr(message, group))


def _reader(field: _Descriptor, hint: Any, default: object = MISSING, request: bool = False) -> Callable[[Any], Any]:
    """The function of a message that gives the value of one of its fields."""
    name = field.name
    if gaps := _gaps(hint):
        return partial(_column, name, gaps)
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if columns := _columns(field, hint):
        return partial(_rows, get_args(hint)[0], [column for column, _ in columns])
    if get_origin(hint) is Sequence and field.message_type is not None and not field.is_repeated:
        (only,) = field.message_type.fields
        return lambda message: list(getattr(getattr(message, name), only.name))
    inner, *others = get_args(hint) or (hint,)
    if get_origin(hint) is Mapping:
        if field.message_type.GetOptions().map_entry:
            return lambda message: dict(getattr(message, name))
        read = _pair_reader(field.message_type, (inner, *others))
        return lambda message: {word: value for word, value in map(read, getattr(message, name)) if word is not None}
    if request and field.enum_type is not None:
        return _request_word(field, hint, default)
    if field.is_repeated:
        read = _converter(field, inner, MISSING)
        return lambda message: tuple(getattr(message, name) if read is _same else map(read, getattr(message, name)))
    optional = get_origin(hint) in (UnionType, Union)
    read = _converter(field, inner if optional else hint, default, request)
    if not optional and (default is MISSING or not field.has_presence):
        return attrgetter(name) if read is _same else lambda message: read(getattr(message, name))
    if not field.has_presence:  # an enumeration, whose 0 is no word
        return lambda message: read(number) if (number := getattr(message, name)) else None
    unset = None if optional else default
    return lambda message: read(getattr(message, name)) if message.HasField(name) else unset


def _request_word(field: _Descriptor, hint: Any, default: object) -> Callable[[Any], Any]:
    """The function of a request that gives a word, or the words of a repeated field."""
    name, enum = field.name, field.enum_type
    words = dict(_words(enum, get_args(get_args(hint)[0] if field.is_repeated else hint)))

    def word(number: int) -> Any:
        if number not in words:
            expected = f"a value of {enum.full_name}"
            raise InputError("no such value", column=name, found=str(number), expected=expected)
        return words[number]

    if field.is_repeated:
        return lambda message: tuple(map(word, getattr(message, name)))
    words[0] = default
    return lambda message: word(getattr(message, name))


def _column(name: str, gaps: Gaps, message: Any) -> Column:
    """A column from its numbers and the indices of its gaps."""
    numbers = getattr(message, name)
    kind = (np.uint32, np.int32) if gaps.numbers is int else (np.float64, np.float64)
    defined = np.ones(len(numbers), dtype=np.bool_)
    defined[np.array(getattr(message, gaps.indices), dtype=np.int64)] = False
    return Column(np.array(numbers, dtype=kind[0]).astype(kind[1], copy=False), defined)


def _rows(kind: Callable[..., T], columns: Sequence[str], message: Any) -> tuple[T, ...]:
    """Rows of columns of one length."""
    return tuple(starmap(kind, zip(*(getattr(message, column) for column in columns), strict=True)))


def _converter(field: _Descriptor, hint: Any, default: object, request: bool = False) -> Callable[[Any], Any]:
    """The function of what a message holds that gives a value of this type."""
    if field.enum_type is not None:
        return partial(_word, _words(field.enum_type, get_args(hint)), default)
    if field.message_type is None:
        return (
            partial(_word, {word: word for word in get_args(hint)}, default) if get_origin(hint) is Literal else _same
        )
    if get_origin(hint) is tuple:
        return _pair_reader(field.message_type, get_args(hint))
    if get_origin(hint) is Sequence:
        (only,) = field.message_type.fields
        return lambda message: list(getattr(message, only.name))
    return partial(value_of_request if request else value_of_message, hint)


def _pair_reader(message: _Descriptor, hints: Sequence[Any]) -> Callable[[Any], tuple[Any, ...]]:
    """The function of a message that gives a pair of its first two fields. An unknown word is ``None``."""
    first, second = [_reader(field, hint, None) for field, hint in zip(message.fields, hints, strict=False)]
    if isinstance(first, attrgetter) and isinstance(second, attrgetter):
        return attrgetter(*(field.name for field in list(message.fields)[:2]))
    return lambda pair: (first(pair), second(pair))


def _word(words: Mapping[Any, Any], default: object, number: Any) -> Any:
    word = words.get(number, default)
    if word is MISSING:
        raise ValueError(f"{number!r} is none of {', '.join(map(str, words.values()))}")
    return word


def _same(value: T) -> T:
    return value
