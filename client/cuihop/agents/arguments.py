"""The arguments of the tools, validated, and described by JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, FailFast, Field, ValidationError

from cuihop.annotation.options import CONTEXTS, Context
from cuihop.errors import InputError
from cuihop.graph import MOST_PATHS, MOST_SABS, Direction
from cuihop.identifiers import MAX_LENGTH
from cuihop.measures.nearness import IntrinsicContent, Weight
from cuihop.measures.resolution import Unknown
from cuihop.operations.invalid_values import decisive, expectation, in_json, meant

MOST_ROWS = 20
"""Rows of one list in an answer, and pairs in one request."""

_LONGEST_TEXT = 512
_LONGEST_ANNOTATED = 5_000
_MOST_CONCEPTS = 100
_MOST_FIELDS = 50
_PAIR = {"a": "C0006121", "b": "C0018670"}

Cui = Annotated[
    str,
    Field(
        min_length=1, max_length=MAX_LENGTH, strict=True, description="Identifier of a concept.", examples=["C0006121"]
    ),
]
Hops = Annotated[int, Field(ge=0, le=2**31 - 1, strict=True)]
MaxHops = Annotated[Hops | None, Field(description="The search stops there; a longer distance is no path.")]
DirectionField = Annotated[
    Direction,
    Field(
        description="any: hops in both directions. up: from child to parent. down: from parent to child. "
        "vertical: all hops up, or all down."
    ),
]
ConceptSet = Annotated[
    list[Cui], FailFast(), Field(max_length=_MOST_CONCEPTS, description="Concepts of one image or text.")
]


WithinSabs = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=_LONGEST_TEXT, strict=True)], ...],
    FailFast(),
    Field(max_length=MOST_SABS, description="Only edges that one of these vocabularies asserts. Empty: all."),
]
CodeSabs = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=_LONGEST_TEXT, strict=True)], ...],
    FailFast(),
    Field(max_length=MOST_SABS, description="Also the codes of the concepts in these vocabularies. Empty: none."),
]


class Arguments(BaseModel):
    """Base of all arguments: an unknown one is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    private: ClassVar[frozenset[str]] = frozenset()
    """Fields that no error and no audit repeats."""

    @property
    def size(self) -> int:
        """Number of pairs or concepts, as rates count them."""
        return 1

    @property
    def audited(self) -> dict[str, Any]:
        """The arguments as an audit may record them."""
        return self.model_dump(by_alias=True, exclude=set(self.private))


class SearchArguments(Arguments):
    """A text, and the number of hits."""

    text: Annotated[
        str,
        Field(
            min_length=1,
            max_length=_LONGEST_TEXT,
            strict=True,
            description="Words of a name or synonym, also misspelt or begun; or an identifier.",
            examples=["brain stem"],
        ),
    ]
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS, strict=True, description="Maximum number of concepts.")] = 10
    code_sabs: CodeSabs = ()


class AnnotateArguments(Arguments):
    """A text, and the mentions that count."""

    private = frozenset({"text"})

    text: Annotated[
        str,
        Field(
            max_length=_LONGEST_ANNOTATED,
            strict=True,
            description="Text whose concepts are looked for, such as a caption or a part of a report.",
            examples=["Lesion in the brain stem, no fracture of the skull."],
        ),
    ]
    semantic_types: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=_LONGEST_TEXT, strict=True)], ...],
        FailFast(),
        Field(max_length=MOST_ROWS, description="Semantic types and groups by code or name, and MEDCON. Empty: all."),
    ] = ()
    leave_out: Annotated[
        tuple[Context, ...],
        FailFast(),
        Field(max_length=len(CONTEXTS), description="Contexts of mentions that are left out."),
    ] = ()
    code_sabs: CodeSabs = ()


class ConceptArguments(Arguments):
    """One concept."""

    cui: Cui


class CodesArguments(Arguments):
    """Concepts or codes."""

    identifiers: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=_LONGEST_TEXT, strict=True)]],
        FailFast(),
        Field(
            min_length=1, max_length=MOST_ROWS, description="Identifiers of concepts, or codes as SAB:CODE.",
            examples=[["C0006121", "SNOMEDCT_US:15926001"]],
        ),
    ]  # fmt: skip
    sabs: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=_LONGEST_TEXT, strict=True)], ...],
        FailFast(),
        Field(
            max_length=MOST_SABS,
            description="Only codes of these vocabularies; those of the concepts of a code, in place of the code.",
        ),
    ] = ()

    @property
    def size(self) -> int:
        """Number of identifiers."""
        return len(self.identifiers)


class NeighbourhoodArguments(ConceptArguments):
    """A centre, and the radius around it."""

    hops: Annotated[Hops, Field(description="Only within this many hops.")] = 1
    direction: DirectionField = "any"
    within_sabs: WithinSabs = ()
    code_sabs: CodeSabs = ()


class PairArguments(Arguments):
    """Two concepts."""

    a: Cui
    b: Cui


class DistancesArguments(Arguments):
    """A batch of pairs."""

    pairs: Annotated[
        list[PairArguments], FailFast(), Field(min_length=1, max_length=MOST_ROWS, description="Pairs of concepts.")
    ]
    direction: DirectionField = "any"
    max_hops: MaxHops = None
    within_sabs: WithinSabs = ()

    @property
    def size(self) -> int:
        """Number of pairs."""
        return len(self.pairs)


class PathArguments(PairArguments):
    """Two concepts, and the path between them."""

    direction: DirectionField = "any"
    max_hops: MaxHops = None
    which: Annotated[int, Field(ge=1, le=MOST_PATHS, description="Rank of the path among the shortest ones.")] = 1
    within_sabs: WithinSabs = ()
    code_sabs: CodeSabs = ()


class CommonAncestorsArguments(PairArguments):
    """Two concepts below others."""

    within_sabs: WithinSabs = ()
    code_sabs: CodeSabs = ()


class SimilarityArguments(PairArguments):
    """Two concepts, and the information content."""

    ic: Annotated[
        Literal["Sanchez", "Seco"], Field(description="Information content (IC), computed from the graph.")
    ] = "Sanchez"


class CompareArguments(Arguments):
    """Two concept sets, and the relevance rule."""

    a: ConceptSet
    b: ConceptSet
    n: Annotated[Hops, Field(description="A concept is near within this many hops. 0 gives IoU.")] = 1
    lam: Annotated[
        float | None,
        Field(
            alias="lambda",
            strict=True,
            ge=0,
            le=1,
            description="λ, the weight of a near concept. 0 gives IoU. null: 1 for Lin and Wu-Palmer, else 0.5.",
        ),
    ] = None
    direction: DirectionField = "any"
    unknown: Annotated[
        Unknown,
        Field(
            description="Identifiers that the release cannot use. error: no value, and the list of them. "
            "isolated: each counts as a concept that matches only itself. drop: they are left out."
        ),
    ] = "error"
    weight: Annotated[
        Weight,
        Field(
            description="Weight of a near concept: constant, λ; hops, λ to the power of its hops; Lin or Wu-Palmer, "
            "λ times its similarity over the hierarchy."
        ),
    ] = "constant"
    ic: Annotated[IntrinsicContent, Field(description="Information content for --weight Lin.")] = "Sanchez"
    within_sabs: WithinSabs = ()

    @property
    def size(self) -> int:
        """Number of concepts in both sets."""
        return len(self.a) + len(self.b)


A = TypeVar("A", bound=Arguments)


def checked_arguments(kind: type[A], tool: str, values: Mapping[str, Any] | None) -> A:
    """The arguments of a tool, or an `InputError` with the parameter, the value found and the value expected."""
    if len(values or ()) > _MOST_FIELDS:
        raise InputError(f"{tool}: too many parameters", found=f"{len(values or ()):,}", expected=_names_of(kind))
    try:
        return kind.model_validate(values or {})
    except ValidationError as error:
        first = decisive(error.errors(include_url=False))
    column = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        near = meant(column, [field.alias or name for name, field in kind.model_fields.items()])
        raise InputError(
            f"{tool}: no such parameter", found=in_json(column), expected=_names_of(kind),
            advice=f"Did you mean {near}?" if near else None,
        )  # fmt: skip
    if first["type"] == "missing":
        raise InputError("missing", column=column, found="nothing", expected=_description_of(kind, column))
    value, expected, advice = _printed(kind, column, first["input"]), expectation(first), None
    if first["type"] in ("too_short", "too_long"):
        value = f"{len(first['input']):,} items"
    elif first["type"] == "model_type" and column.startswith("pairs."):
        expected = f"an object with a and b, as in {in_json(_PAIR)}"
        advice = "The tool search gives the identifiers of names."
    raise InputError("not as expected", column=column, found=value, expected=expected, advice=advice)


def _printed(kind: type[Arguments], column: str, value: Any) -> str:
    """The value of a parameter, or only its length or type if it is private."""
    if column not in kind.private:
        return in_json(value)
    return f"{len(value):,} characters" if isinstance(value, str) else f"a value of the type {type(value).__name__}"


def _names_of(kind: type[Arguments]) -> str:
    return " or ".join(field.alias or name for name, field in kind.model_fields.items())


def _description_of(kind: type[Arguments], column: str) -> str:
    """The description of a parameter; of one within a row, only that there is to be one."""
    field = kind.model_fields.get(column)
    return "a value" if field is None or field.description is None else field.description.rstrip(".").lower()
