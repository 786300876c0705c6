"""Requests and answers of operations as models, which validate bodies, and describe all fields for OpenAPI."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import GenericAlias, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from fastapi import Query
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    FailFast,
    Field,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    create_model,
    model_validator,
)

from cuihop.annotation.mentions import RULES
from cuihop.annotation.options import CONTEXTS, DISAMBIGUATIONS
from cuihop.answer_fields import NAMES, PAIRS
from cuihop.graph import MATCHES, SourceCode
from cuihop.operations.answers import Gaps, ServiceLimits
from cuihop.operations.requests import About, DistancesRequest, SimilaritiesRequest, described
from cuihop_service.keyed_pairs import KeyedPairs

# A body cannot be larger than the limit of bytes, and the core checks lengths: the models check shapes and types.

_MOST_FIELDS = 50

_MEANINGS: Mapping[str, Mapping[Any, str]] = {
    "rule": RULES,
    "kind": MATCHES,
    "context": CONTEXTS,
    "leave_out": CONTEXTS,
    "disambiguate": DISAMBIGUATIONS,
}
"""Attributes that hold words with a meaning."""


# Requests


class RequestBody(BaseModel):
    """Base of all bodies: an unknown field is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _is_of_few_fields(cls, value: Any) -> Any:
        """Refuse many fields at once: each unknown one would be an error of its own."""
        if isinstance(value, dict) and len(value) > _MOST_FIELDS:
            raise ValueError(f"at most {_MOST_FIELDS} fields")
        return value


class _PairsOrSets(RequestBody):
    """Base of a body that has either pairs or sets."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": ["pairs"]}, {"required": ["sets"]}]})

    @model_validator(mode="after")
    def _has_one_of_two(self) -> _PairsOrSets:
        if len(self.model_fields_set & {"pairs", "sets"}) != 1:
            raise ValueError("either pairs or sets")
        return self


def _as_keys(pairs: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """Pairs as keys in one step if all identifiers have eight characters; otherwise the validation of the schema."""
    keyed = pairs if isinstance(pairs, KeyedPairs) else KeyedPairs.of(pairs)
    return validate(pairs) if keyed is None else keyed


def _text(text: str) -> str:
    """The text; JSON can spell halves of characters, which no answer could repeat."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ValueError("half of a character") from None
    return text


@cache
def body_model(kind: Any) -> type[BaseModel]:
    """The model of a request in a body."""
    base = _PairsOrSets if kind is SimilaritiesRequest else RequestBody
    members: dict[str, Any] = {}
    for field, hint, text in _attributes(kind):
        inner, about = _about(hint)
        checks: list[Any] = [Field(alias=NAMES.get(field.name), **_options(about, text))]
        if field.name == "pairs" and issubclass(kind, DistancesRequest):
            checks.append(WrapValidator(_as_keys))  # or `KeyedPairs`, a sequence of the same
        default = ... if field.default is dataclasses.MISSING else field.default
        if field.default_factory is not dataclasses.MISSING:
            default = body_model(inner)()
        members[field.name] = Annotated[(_checked(inner), *checks)], default
    return create_model(kind.__name__, __doc__=_summary(kind), __base__=base, **members)


def query_parameters(kind: type) -> Iterator[inspect.Parameter]:
    """The parameters of a function that takes a request from a query string."""
    for field, hint, text in _attributes(kind):
        inner, about = _about(hint)
        default = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
        annotation: Any = Annotated[(inner, Query(**_options(about, text)))]
        yield inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _about(hint: Any) -> tuple[Any, About]:
    """A type without its description, and that description with the bounds of an inner one."""
    if get_origin(hint) is Annotated:
        inner, about = _about(get_args(hint)[0])
        for note in get_args(hint)[1:]:
            set_here = {
                f.name: value for f in dataclasses.fields(note) if (value := getattr(note, f.name)) not in (None, ())
            }
            about = dataclasses.replace(about, **set_here)
        return inner, about
    if get_origin(hint) in (Union, UnionType):
        inner, about = _about(get_args(hint)[0])
        optional: Any = Union[inner, None]  # noqa: UP007 - the type is known only here
        return optional, about
    return hint, About()


def _options(about: About, text: str | None) -> dict[str, Any]:
    """A description in the words of pydantic."""
    bounds: dict[str, Any] = {"ge": about.least, "le": about.most}
    if about.least is None:
        bounds = {"max_length": about.most}
    others = {"description": about.text or text, "examples": list(about.examples) or None}
    return {name: value for name, value in {**bounds, **others}.items() if value is not None}


def _checked(hint: Any) -> Any:
    """The type of a value in a body: nothing is converted, and the first error of a list is the only one.

    One error is enough: a million of them take gigabytes.
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if dataclasses.is_dataclass(hint):
        return body_model(hint)  # type: ignore[arg-type]  # the class
    if origin in (Union, UnionType):
        return _checked(arguments[0]) | None
    if origin is Sequence:
        return Annotated[GenericAlias(list, (_checked(arguments[0]),)), FailFast()]
    if origin is tuple:
        items = tuple(item if item is ... else _checked(item) for item in arguments)
        return Annotated[GenericAlias(tuple, items), FailFast()]
    if hint is str:
        return Annotated[str, Field(strict=True), AfterValidator(_text)]
    return hint if origin is Literal else Annotated[hint, Field(strict=True)]


# Answers


class AnswerBody(BaseModel):
    """Fields of every answer."""

    release: str = Field(description="SHA-256 digest of the release: answers with one digest never change.")
    tier: Literal["cache", "index", "cypher"] = Field(description="The part of the service that gave the answer.")
    merged: dict[str, str] = Field(description="Retired identifiers and codes, and the concept each was taken for.")


def answer_model(kind: type, base: type[BaseModel] = AnswerBody, *, coded: bool = False) -> type[BaseModel]:
    """The description of an answer, with the fields of every answer, and codes if they may be requested."""
    members = _described(kind)
    if coded:
        text = "Codes of its concepts in the vocabularies of `code_sabs`; left out without these."
        members["codes"] = GenericAlias(list, (_row(SourceCode),)), Field([], description=text)
    return create_model(kind.__name__, __doc__=_summary(kind), __base__=base, **members)


@cache
def _row(kind: Any) -> type[BaseModel]:
    """The description of a value in an answer."""
    return create_model(kind.__name__, __doc__=_summary(kind), **_described(kind))


@cache
def _pair(name: str) -> type[BaseModel]:
    """The description of a pair in an attribute of `PAIRS`."""
    names: dict[str, Any] = dict.fromkeys(PAIRS[name], (str, ...))
    return create_model(name.title().replace("_", "")[:-1], **names)


def _described(kind: type) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for field, hint, text in _attributes(kind):
        default: Any = ...
        if "unless" in field.metadata:
            default = [] if field.default == () else field.default
        members[field.name] = (
            _type(field.name, hint),
            Field(default, description=text, alias=NAMES.get(field.name)),
        )
    return members


def _type(name: str, hint: Any) -> Any:
    """The type of an attribute as JSON has it."""
    inner, *others = get_args(hint) or (hint,)
    if get_origin(hint) is Annotated:
        note = others[0]
        return GenericAlias(list, (note.numbers | None if isinstance(note, Gaps) else int,))
    if hint is ServiceLimits:
        return dict[str, int]
    if dataclasses.is_dataclass(hint):
        return _row(hint)  # type: ignore[arg-type]  # the class
    if get_origin(hint) is UnionType:
        return _type(name, inner) | None
    if get_origin(hint) is Mapping:
        return GenericAlias(dict, (inner, *others))
    if get_origin(hint) is tuple:
        return GenericAlias(list, (_type(name, inner),)) if others == [...] else _pair(name)
    return hint


# Attributes of both


def _attributes(kind: Any) -> Iterator[tuple[dataclasses.Field[Any], Any, str | None]]:
    """The attributes of a class, each with its type and its lines in the sections Attributes of the docstrings."""
    texts: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        lines = re.findall(r"^    ((?:\w+, )*\w+): (.+?)(?=^    \S|\Z)", _docstring(each), re.MULTILINE | re.DOTALL)
        texts |= {name: " ".join(text.split()) for names, text in lines for name in names.split(", ")}
    hints = get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        text = texts.get(field.name, "").replace("``None``", "null").replace("``", "`")
        if field.name in _MEANINGS and hints[field.name] is not str:
            text = f"{text[:1].upper()}{text[1:]} {described(_MEANINGS[field.name])}"
        yield field, hints[field.name], f"{text[:1].upper()}{text[1:]}" if text else None


def _docstring(kind: type) -> str:
    return inspect.cleandoc(kind.__doc__ or "")


def _summary(kind: type) -> str:
    return _docstring(kind).partition("\n\n")[0]


# Problems


class SuggestedConcept(BaseModel):
    """A concept that an unusable identifier may stand for."""

    relation: str = Field(
        description="For a retired identifier, the relation that UMLS states. For a name that was sent as an "
        f"identifier, how it matches. {described(MATCHES)}."
    )
    cui: str
    name: str | None = Field(None, description="Name of the concept, if a name was sent as an identifier.")


class FaultBody(BaseModel):
    """An identifier at fault."""

    cui: str
    status: str
    candidates: list[SuggestedConcept]


class ProblemBody(BaseModel):
    """A problem document (RFC 9457)."""

    type: str = Field(examples=["urn:cuihop:CONCEPT_NOT_FOUND"])
    title: str = Field(examples=["Concept not found"])
    status: int = Field(examples=[404])
    detail: str = Field(examples=["unknown in release 2025AB: C9999999"])
    reason: str = Field(examples=["CONCEPT_NOT_FOUND"])
    request_id: str
    faults: list[FaultBody] = []
    field: str | None = None
    problem: str | None = None
    found: str | None = None
    expected: str | None = None
    advice: str | None = None
    retry_after: float | None = None
