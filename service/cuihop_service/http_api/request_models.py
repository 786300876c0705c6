"""The bodies of requests, validated, and described for OpenAPI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    FailFast,
    Field,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from cuihop.annotation.options import CONTEXTS, DISAMBIGUATIONS, AnnotationOptions, Context, Disambiguation
from cuihop.graph import MOST_SABS, Direction
from cuihop.measures.near_weight import IntrinsicContent, Weight
from cuihop.measures.resolution import Unknown
from cuihop.similarity.options import (
    INFORMATION_CONTENTS,
    SIMILARITY_MEASURES,
    InformationContent,
    SimilarityMeasure,
)
from cuihop_service.keyed_pairs import KeyedPairs

# A body cannot be larger than the limit of bytes, and the core checks lengths: the models check shapes and types.

DirectionField = Annotated[
    Direction,
    Field(
        description="Direction of hops: each either way (any), from child to parent (up), from parent to child (down), "
        "or all up or all down (vertical)."
    ),
]
Hops = Annotated[int, Field(ge=0, le=2**31 - 1, strict=True)]
MaxHops = Annotated[
    Hops | None, Field(description="The search stops there; a longer distance is no path. null: no bound.")
]


def _text(text: str) -> str:
    """The text; JSON can spell halves of characters, which no answer could repeat."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ValueError("half of a character") from None
    return text


Cui = Annotated[str, Field(strict=True, examples=["C0006121"]), AfterValidator(_text)]
CuiList = Annotated[list[Cui], FailFast()]  # one error is enough: a million of them take gigabytes
Pair = Annotated[tuple[Cui, Cui], FailFast()]


def _as_keys(pairs: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """Pairs as keys in one step, where all identifiers have eight characters; the schema's own validation else."""
    keyed = KeyedPairs.of(pairs)
    return validate(pairs) if keyed is None else keyed


Pairs = Annotated[list[Pair], FailFast(), WrapValidator(_as_keys)]  # or `KeyedPairs`, a sequence of the same
Cuis = Annotated[CuiList, Field(description="Identifiers.", examples=[["C0006121", "C0018670"]])]
N = Annotated[Hops, Field(description="A concept is near within this many hops. 0 gives IoU.")]
Lambda = Annotated[
    float | None,
    Field(
        alias="lambda",
        strict=True,
        ge=0,
        le=1,
        description="λ, the weight of a near concept. 0 gives IoU. null: 1 for Lin and Wu-Palmer, else 0.5.",
    ),
]
_MOST_FIELDS = 50

UnknownField = Annotated[
    Unknown,
    Field(
        description="Identifiers that the release cannot use: an error; isolated: concepts that match only themselves; "
        "drop: left out."
    ),
]
WeightField = Annotated[
    Weight,
    Field(
        description="Weight of a near concept: constant, λ; hops, λ to the power of its hops; Lin or Wu-Palmer, λ "
        "times its largest similarity to a concept of the other set within n hops."
    ),
]
IntrinsicField = Annotated[IntrinsicContent, Field(description="Information content of the weight Lin.")]


WITHIN_SABS = (
    "Source vocabularies (SAB): only edges that at least one of them asserts count. None: all edges. The answer has "
    "the digest of the release with these edges."
)
"""Description of a restriction to vocabularies."""
WithinSabs = Annotated[
    tuple[Annotated[str, Field(strict=True), AfterValidator(_text)], ...],
    FailFast(),
    Field(max_length=MOST_SABS, description=WITHIN_SABS, examples=[["SNOMEDCT_US"]]),
]


def described(meanings: Mapping[Any, str]) -> str:
    """Words of a contract and their meanings, as a description."""
    return "; ".join(f"{word}: {meaning}" for word, meaning in meanings.items())


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


class RestrictedRequest(RequestBody):
    """A request that may be restricted to edges of some vocabularies."""

    within_sabs: WithinSabs = ()


class DistancesRequest(RestrictedRequest):
    """A batch of pairs."""

    pairs: Annotated[
        Pairs,
        Field(description="Pairs of identifiers.", examples=[[["C0006121", "C0018670"], ["C0042449", "C0005847"]]]),
    ]
    direction: DirectionField = "any"
    max_hops: MaxHops = None


class StreamedRequest(DistancesRequest):
    """One line of a stream of batches."""

    sequence: Annotated[int, Field(ge=0, strict=True, description="Comes back in the answer.")] = 0


class NeighbourhoodsRequest(RestrictedRequest):
    """Centres and the radius around them."""

    cuis: Cuis
    hops: Annotated[Hops | None, Field(description="Only within this many hops. null: no bound.")] = 1
    direction: DirectionField = "any"
    limit: Annotated[
        Hops | None,
        Field(description="At most this many of each centre, and their number. null: more than allowed is an error."),
    ] = None


class RuleRequest(RestrictedRequest):
    """The relevance rule."""

    n: N = 1
    lam: Lambda = None
    direction: DirectionField = "any"
    unknown: UnknownField = "error"
    weight: WeightField = "constant"
    ic: IntrinsicField = "Sanchez"

    @property
    def rule(self) -> dict[str, Any]:
        """The rule as the core takes it."""
        return {
            "n": self.n, "lam": self.lam, "direction": self.direction, "unknown": self.unknown, "weight": self.weight,
            "ic": self.ic,
        }  # fmt: skip


class RelevanceRequest(RuleRequest):
    """The concept sets of two images."""

    a: Annotated[CuiList, Field(description="The concepts of one image.", examples=[["C0042449"]])]
    b: Annotated[CuiList, Field(description="The concepts of the other.", examples=[["C0005847"]])]


class RelevancesRequest(RuleRequest):
    """The concept set of a query image, and those of many others."""

    query: Annotated[CuiList, Field(description="The concepts of the query image.", examples=[["C0042449"]])]
    corpus: Annotated[
        list[CuiList],
        FailFast(),
        Field(description="The concepts of each other image.", examples=[[["C0005847"], ["C0006121", "C0042449"]]]),
    ]


MeasureField = Annotated[SimilarityMeasure, Field(description=described(SIMILARITY_MEASURES))]
ContentField = Annotated[
    InformationContent,
    Field(description=f"{described(INFORMATION_CONTENTS)}. corpus is of the counts that the owner gave the service."),
]
SetPairs = Annotated[
    list[Annotated[tuple[CuiList, CuiList], FailFast()]],
    FailFast(),
    Field(
        description="Pairs of sets: simUI and simGIC of their united ancestors, any other measure as best-match "
        "average.",
        examples=[[[["C0042449"], ["C0005847", "C0018670"]]]],
    ),
]
PlainPairs = Annotated[
    list[Pair], FailFast(), Field(description="Pairs of identifiers.", examples=[[["C0006121", "C0018670"]]])
]


class SimilaritiesRequest(RestrictedRequest):
    """Pairs of concepts, or of sets, and a measure."""

    pairs: PlainPairs = []
    sets: SetPairs = []
    measure: MeasureField = "Lin"
    ic: ContentField = "Sanchez"

    @model_validator(mode="after")
    def _has_one_of_two(self) -> SimilaritiesRequest:
        if len(self.model_fields_set & {"pairs", "sets"}) != 1:
            raise ValueError("either pairs or sets")
        return self


class PairSimilaritiesRequest(RestrictedRequest):
    """Pairs of concepts for every measure."""

    pairs: PlainPairs
    ic: ContentField = "Sanchez"


class PlacementsRequest(RestrictedRequest):
    """Concepts, and the information content of their places."""

    cuis: Cuis
    ic: ContentField = "Sanchez"


class ConceptsRequest(RestrictedRequest):
    """Concepts to describe."""

    cuis: Cuis
    names_only: Annotated[bool, Field(strict=True, description="Leave all but names out.")] = False


class ResolutionsRequest(RequestBody):
    """Texts that may be identifiers."""

    cuis: Cuis


Texts = Annotated[list[Annotated[str, Field(strict=True), AfterValidator(_text)]], FailFast()]
Words = Annotated[tuple[Annotated[str, Field(strict=True), AfterValidator(_text)], ...], FailFast()]


class OptionsFields(RequestBody):
    """Options of an annotation."""

    longest: Annotated[
        bool, Field(strict=True, description="Only the longest match from the left; otherwise overlapping ones too.")
    ] = True
    candidates: Annotated[bool, Field(strict=True, description="Keep all concepts of each mention, best first.")] = (
        False
    )
    disambiguate: Annotated[Disambiguation, Field(description=described(DISAMBIGUATIONS))] = "rank"
    semantic_types: Annotated[
        Words, Field(description="Types and groups by code or name, and MEDCON. Empty: all.", examples=[["T047"]])
    ] = ()
    sabs: Annotated[
        Words, Field(description="Vocabularies whose names match. Empty: all.", examples=[["SNOMEDCT_US"]])
    ] = ()
    leave_out: Annotated[
        tuple[Context, ...], FailFast(), Field(description=f"Contexts to leave out. {described(CONTEXTS)}")
    ] = ()
    stop: Annotated[
        Words, Field(description="Identifiers and names that never match.", examples=[["C0018670", "normal"]])
    ] = ()
    general: Annotated[bool, Field(strict=True, description="Match also names that are too general.")] = False
    correct_spelling: Annotated[
        bool, Field(strict=True, description="Match a word that no name has as the nearest word that some name has.")
    ] = False


class AnnotateRequest(RequestBody):
    """Texts to annotate. They are never logged, and no error repeats them."""

    texts: Annotated[Texts, Field(description="The texts.", examples=[["Lesion in the brain stem.", "No fracture."]])]
    options: OptionsFields = OptionsFields()

    @property
    def annotation_options(self) -> AnnotationOptions:
        """The options as the core takes them."""
        return AnnotationOptions(**dict(self.options))


class PackRequest(RestrictedRequest):
    """Distinct concepts and a bound."""

    cuis: Cuis
    hops: Annotated[int, Field(ge=0, le=255, strict=True, description="The largest distance in the pack.")]
    direction: DirectionField = "any"
