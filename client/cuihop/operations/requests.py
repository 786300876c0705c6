"""Requests of the operations of a service, each field described once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeAlias

from cuihop.annotation.options import AnnotationOptions
from cuihop.graph import MOST_PATHS, MOST_SABS, Direction
from cuihop.measures.nearness import IntrinsicContent, Weight
from cuihop.measures.resolution import Unknown
from cuihop.similarity.options import INFORMATION_CONTENTS, SIMILARITY_MEASURES, InformationContent, SimilarityMeasure

LARGEST_BOUND = 2**31 - 1
"""The largest number of hops and of rows in a request."""


@dataclass(frozen=True, slots=True)
class About:
    """Description of a field of a request; ``most`` is also a bound of the items of a list."""

    text: str | None = None
    examples: tuple[Any, ...] = ()
    least: int | None = None
    most: int | None = None


def described(meanings: Mapping[Any, str]) -> str:
    """Words of a contract and their meanings, as a description."""
    return "; ".join(f"{word}: {meaning}" for word, meaning in meanings.items())


Bound: TypeAlias = Annotated[int, About(least=0, most=LARGEST_BOUND)]
Cui: TypeAlias = Annotated[str, About("An identifier.", ("C0006121",))]
Other: TypeAlias = Annotated[str, About("An identifier.", ("C0018670",))]
Cuis: TypeAlias = Annotated[Sequence[str], About("Identifiers.", (["C0006121", "C0018670"],))]
Pair: TypeAlias = tuple[str, str]
Pairs: TypeAlias = Annotated[Sequence[Pair], About("Pairs of identifiers.", ([["C0006121", "C0018670"]],))]
DirectionOfHops: TypeAlias = Annotated[
    Direction,
    About(
        "Direction of hops: in both directions (any), from child to parent (up), from parent to child (down), "
        "or all up or all down (vertical)."
    ),
]
MaxHops: TypeAlias = Annotated[
    Bound | None, About("The search stops there; a longer distance is no path. null: no bound.")
]
Sabs: TypeAlias = Annotated[
    tuple[str, ...],
    About(
        "Source vocabularies (SAB): only edges that at least one of them asserts count. None: all edges. The answer "
        "has the digest of the release with these edges.",
        (["SNOMEDCT_US"],),
        most=MOST_SABS,
    ),
]
CodeSabs: TypeAlias = Annotated[
    tuple[str, ...],
    About(
        "Source vocabularies (SAB) whose codes the answer lists, for its concepts in their order, best first. "
        "They need the scope names, and are bounded as in POST /codes. None: no codes.",
        (["ICD10CM"],),
        most=MOST_SABS,
    ),
]
CodesOrConcepts: TypeAlias = Annotated[
    Sequence[str], About("Identifiers of concepts, or codes as SAB:CODE.", (["C0006121", "SNOMEDCT_US:15926001"],))
]
GraphContent: TypeAlias = Annotated[
    IntrinsicContent,
    About("Information content, computed from the graph. That of a corpus is in POST /pair-similarities."),
]
AnyContent: TypeAlias = Annotated[
    InformationContent,
    About(f"{described(INFORMATION_CONTENTS)}. corpus is of the counts that the owner gave the service."),
]


@dataclass(frozen=True, slots=True)
class DistanceRequest:
    """Two concepts, and the bounds of the search."""

    a: Cui
    b: Other
    direction: DirectionOfHops = "any"
    max_hops: MaxHops = None
    within_sabs: Sabs = ()


@dataclass(frozen=True, slots=True)
class DistancesRequest:
    """A batch of pairs."""

    pairs: Annotated[
        Sequence[Pair], About("Pairs of identifiers.", ([["C0006121", "C0018670"], ["C0042449", "C0005847"]],))
    ]
    direction: DirectionOfHops = "any"
    max_hops: MaxHops = None
    within_sabs: Sabs = ()


@dataclass(frozen=True, slots=True)
class StreamedRequest(DistancesRequest):
    """One line of a stream of batches."""

    sequence: Annotated[int, About("Comes back in the answer.", least=0)] = 0


@dataclass(frozen=True, slots=True)
class PathRequest:
    """Two concepts, and the path between them."""

    a: Cui
    b: Other
    direction: DirectionOfHops = "any"
    max_hops: MaxHops = None
    which: Annotated[
        int, About("Rank among all shortest paths in the order of identifiers.", least=1, most=MOST_PATHS)
    ] = 1
    within_sabs: Sabs = ()
    code_sabs: CodeSabs = ()


@dataclass(frozen=True, slots=True)
class PathsRequest:
    """Two concepts, and all shortest paths between them."""

    a: Cui
    b: Other
    direction: DirectionOfHops = "any"
    max_hops: MaxHops = None
    limit: Annotated[
        Bound | None,
        About("At most this many concepts; the first path is always there. null: more than allowed is an error."),
    ] = None
    within_sabs: Sabs = ()
    code_sabs: CodeSabs = ()


@dataclass(frozen=True, slots=True)
class NeighbourhoodRequest:
    """A centre and the radius around it."""

    cui: Cui
    hops: Annotated[Bound, About("Only within this many hops.")] = 1
    direction: DirectionOfHops = "any"
    limit: Annotated[Bound | None, About("At most this many.")] = None
    within_sabs: Sabs = ()
    code_sabs: CodeSabs = ()


@dataclass(frozen=True, slots=True)
class NeighbourhoodsRequest:
    """Centres and the radius around them."""

    cuis: Cuis
    hops: Annotated[Bound | None, About("Only within this many hops. null: no bound.")] = 1
    direction: DirectionOfHops = "any"
    limit: Annotated[
        Bound | None, About("At most this many of each centre, and their number. null: more than allowed is an error.")
    ] = None
    within_sabs: Sabs = ()
    code_sabs: CodeSabs = ()


@dataclass(frozen=True, slots=True)
class PackRequest:
    """Distinct concepts and a bound."""

    cuis: Cuis
    hops: Annotated[int, About("The largest distance in the pack.", least=0, most=255)]
    direction: DirectionOfHops = "any"
    within_sabs: Sabs = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRequest:
    """The relevance rule."""

    n: Annotated[Bound, About("A concept is near within this many hops. 0 gives IoU.")] = 1
    lam: Annotated[
        Annotated[float, About(least=0, most=1)] | None,
        About("λ, the weight of a near concept. 0 gives IoU. null: 1 for Lin and Wu-Palmer, else 0.5."),
    ] = None
    direction: DirectionOfHops = "any"
    unknown: Annotated[
        Unknown,
        About(
            "Identifiers that the release cannot use: an error; isolated: concepts that match only themselves; "
            "drop: left out."
        ),
    ] = "error"
    weight: Annotated[
        Weight,
        About(
            "Weight of a near concept: constant, λ; hops, λ to the power of its hops; Lin or Wu-Palmer, λ "
            "times its largest similarity to a concept of the other set within n hops."
        ),
    ] = "constant"
    ic: Annotated[IntrinsicContent, About("Information content for --weight Lin.")] = "Sanchez"
    within_sabs: Sabs = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RelevanceRequest(RuleRequest):
    """The concept sets of two images."""

    a: Annotated[Sequence[str], About("The concepts of one image.", (["C0042449"],))]
    b: Annotated[Sequence[str], About("The concepts of the other.", (["C0005847"],))]


@dataclass(frozen=True, slots=True, kw_only=True)
class RelevancesRequest(RuleRequest):
    """The concept set of a query image, and those of many others."""

    query: Annotated[Sequence[str], About("The concepts of the query image.", (["C0042449"],))]
    corpus: Annotated[
        Sequence[Sequence[str]], About("The concepts of each other image.", ([["C0005847"], ["C0006121", "C0042449"]],))
    ]


@dataclass(frozen=True, slots=True)
class SimilarityRequest:
    """Two concepts, and the information content."""

    a: Cui
    b: Other
    ic: GraphContent = "Sanchez"
    within_sabs: Sabs = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilaritiesRequest:
    """Pairs of concepts, or of sets, and a measure."""

    pairs: Pairs = ()
    sets: Annotated[
        Sequence[tuple[Sequence[str], Sequence[str]]],
        About(
            "Pairs of sets: simUI and simGIC of their united ancestors, any other measure as best-match average.",
            ([[["C0042449"], ["C0005847", "C0018670"]]],),
        ),
    ] = ()
    measure: Annotated[SimilarityMeasure, About(described(SIMILARITY_MEASURES))] = "Lin"
    ic: AnyContent = "Sanchez"
    within_sabs: Sabs = ()


@dataclass(frozen=True, slots=True)
class PairSimilaritiesRequest:
    """Pairs of concepts for every measure."""

    pairs: Pairs
    ic: AnyContent = "Sanchez"
    within_sabs: Sabs = ()


@dataclass(frozen=True, slots=True)
class PlacementsRequest:
    """Concepts, and the information content of their places."""

    cuis: Cuis
    ic: AnyContent = "Sanchez"
    within_sabs: Sabs = ()


@dataclass(frozen=True, slots=True)
class SimilarityScaleRequest:
    """The information content of a scale of similarity."""

    ic: AnyContent = "Sanchez"
    within_sabs: Sabs = ()


@dataclass(frozen=True, slots=True)
class GraphRequest:
    """The graph, or its edges of some vocabularies."""

    within_sabs: Sabs = ()


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A text, and the number of hits."""

    text: Annotated[str, About("Words of a name, or beginnings of them; or an identifier.")]
    limit: Annotated[Bound, About("At most this many hits.")] = 10
    code_sabs: CodeSabs = ()


@dataclass(frozen=True, slots=True)
class AnnotateRequest:
    """Texts to annotate. They are never logged, and no error repeats them."""

    texts: Annotated[Sequence[str], About("The texts.", (["Lesion in the brain stem.", "No fracture."],))]
    options: AnnotationOptions = field(default_factory=AnnotationOptions)
    code_sabs: CodeSabs = ()


@dataclass(frozen=True, slots=True)
class ConceptRequest:
    """A concept to describe."""

    cui: Cui
    within_sabs: Sabs = ()


@dataclass(frozen=True, slots=True)
class ConceptsRequest:
    """Concepts to describe."""

    cuis: Cuis
    names_only: Annotated[bool, About("Leave all but names out.")] = False
    within_sabs: Sabs = ()


@dataclass(frozen=True, slots=True)
class CodeMapsRequest:
    """Concepts, or codes of source vocabularies, whose published mappings are looked up."""

    identifiers: CodesOrConcepts


@dataclass(frozen=True, slots=True)
class CodesRequest:
    """Concepts, or codes of source vocabularies, to look up."""

    identifiers: CodesOrConcepts
    sabs: Annotated[
        tuple[str, ...],
        About(
            "Only codes of these source vocabularies; those of the concepts of a code, in place of the code itself. "
            "None: all of a concept, and the code itself with its concepts.",
            (["ICD10CM"],),
        ),
    ] = ()


@dataclass(frozen=True, slots=True)
class ResolutionsRequest:
    """Texts that may be identifiers."""

    cuis: Cuis
    code_sabs: CodeSabs = ()
