"""Answers of the operations of a service: their attributes are the fields in JSON and in messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from cuihop.annotation.mentions import Mention
from cuihop.graph import (
    CodeLookup,
    Concept,
    Direction,
    DistancePack,
    Distances,
    IsAEdge,
    MapLookup,
    Neighbour,
    Neighbourhood,
    Path,
    Release,
    Resolution,
    SearchHit,
    ShortestPaths,
)
from cuihop.measures.nearness import IntrinsicContent, Weight
from cuihop.measures.nn_iou import ConceptOverlap, RelatedConcept
from cuihop.similarity.hierarchy import HierarchyFacts, PairSimilarity, Placement, Similarities
from cuihop.similarity.options import InformationContent, SimilarityMeasure

A = TypeVar("A")

_OF_A_HOP = {"unless": "relation"}  # left out of the JSON if this attribute is None


@dataclass(frozen=True, slots=True)
class Gaps:
    """Form of a column in an answer: in JSON a list with nulls, in a message the numbers and the indices of the gaps.

    Attributes:
        numbers: type of a number.
        indices: field of the message with the indices.
    """

    numbers: type[int] | type[float]
    indices: str


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A column of numbers with gaps.

    Attributes:
        numbers: int32 or float64, shape (rows,). Meaningless in a gap.
        defined: bool, shape (rows,): false in a gap.
    """

    numbers: npt.NDArray[Any]
    defined: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.numbers)


@dataclass(frozen=True, slots=True)
class DistanceAnswer:
    """The distance of one pair, in hops.

    Attributes:
        a, b: the identifiers, as requested.
        hops: edges on a shortest path; ``None`` if there is none within the bound.
        direction: permitted direction of the hops.
        max_hops: the bound; ``None`` for no bound.
    """

    a: str
    b: str
    hops: int | None
    direction: Direction
    max_hops: int | None

    @classmethod
    def of_hops(cls, hops: int | None, request: Any) -> DistanceAnswer:
        """The answer of a distance."""
        return DistanceAnswer(request.a, request.b, hops, request.direction, request.max_hops)


@dataclass(frozen=True, slots=True)
class DistancesAnswer:
    """Distances in the order of the request.

    Attributes:
        hops: edges on a shortest path; ``None`` if there is none within the bound.
        direction: permitted direction of the hops.
        max_hops: the bound; ``None`` for no bound.
        from_cache: number of distances that came from a cache.
    """

    hops: Annotated[Column, Gaps(int, "unreached")]
    direction: Direction
    max_hops: int | None
    from_cache: int = 0

    @classmethod
    def of(cls, distances: Distances, request: object = None) -> DistancesAnswer:
        """The answer of a batch."""
        return cls(Column(distances.hops, distances.reached), distances.direction, distances.max_hops)


@dataclass(frozen=True, slots=True)
class PathConcept:
    """A concept on a path. The first has no relation.

    Attributes:
        cui: the concept.
        name: the preferred name; ``None`` if the release gives none, or the key may not see names.
        relation: its relation to the concept before.
        sabs: source vocabularies that assert the edge.
    """

    cui: str
    name: str | None
    relation: Literal["parent", "child"] | None = field(default=None, metadata=_OF_A_HOP)
    sabs: tuple[str, ...] = field(default=(), metadata=_OF_A_HOP)


@dataclass(frozen=True, slots=True)
class PathAnswer(DistanceAnswer):
    """One shortest path of all those between two concepts.

    Attributes:
        path: its concepts; ``None`` if there is none within the bound.
        total: number of shortest paths; 10^15 where there are that many or more.
        which: rank of this one in the order of identifiers, from 1; ``None`` without a path.
    """

    path: tuple[PathConcept, ...] | None
    total: int
    which: int | None

    @classmethod
    def of(cls, answer: tuple[Path | None, Sequence[str | None]], request: Any) -> PathAnswer:
        """The answer of a path and the names of its concepts."""
        path, names = answer
        ends = request.a, request.b
        if path is None:
            return cls(*ends, None, request.direction, request.max_hops, None, 0, None)
        steps = zip(path.steps, names[1:], strict=True)
        concepts = PathConcept(path.start, names[0]), *(PathConcept(s.cui, n, s.relation, s.sabs) for s, n in steps)
        return cls(*ends, path.hops, request.direction, request.max_hops, concepts, path.total, path.which)


@dataclass(frozen=True, slots=True)
class PathsAnswer(DistanceAnswer):
    """All shortest paths between two concepts as one graph, in layers by their hops from the first.

    Attributes:
        total: number of shortest paths; 10^15 where there are that many or more.
        concepts: those on a shortest path, with their hops from ``a``; empty if there is no path within the bound.
        edges: is_a edges between them, each with the source vocabularies that assert it.
        truncated: true if the limit left concepts out.
    """

    total: int
    concepts: tuple[Neighbour, ...]
    edges: tuple[IsAEdge, ...]
    truncated: bool

    @classmethod
    def of(cls, paths: ShortestPaths | None, request: Any) -> PathsAnswer:
        """The answer of all paths."""
        hops, graph = (
            (None, (0, (), (), False))
            if paths is None
            else (paths.hops, (paths.total, paths.concepts, paths.edges, paths.truncated))
        )
        return cls(request.a, request.b, hops, request.direction, request.max_hops, *graph)


@dataclass(frozen=True, slots=True)
class NeighbourhoodRow:
    """The concepts around one centre, nearest first.

    Attributes:
        cui: the centre.
        neighbours: nearest first, then by identifier.
        total: their number, whatever the limit.
        truncated: true if a limit truncated the list.
    """

    cui: str
    neighbours: tuple[Neighbour, ...]
    total: int
    truncated: bool = False

    @staticmethod
    def of(hood: Neighbourhood) -> NeighbourhoodRow:
        """The row of a neighbourhood."""
        return NeighbourhoodRow(hood.cui, hood.neighbours, hood.total, hood.truncated)


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourhoodAnswer(NeighbourhoodRow):
    """The concepts around one centre.

    Attributes:
        hops: the bound; ``None`` for no bound.
        direction: direction of the hops from the centre.
    """

    hops: int | None
    direction: Direction

    @classmethod
    def of_first(cls, hoods: Sequence[Neighbourhood], request: object = None) -> NeighbourhoodAnswer:
        """The answer of one neighbourhood."""
        hood = hoods[0]
        return cls(hood.cui, hood.neighbours, hood.total, hood.truncated, hops=hood.hops, direction=hood.direction)


@dataclass(frozen=True, slots=True)
class NeighbourhoodsAnswer:
    """The concepts around each centre, in the order of the request.

    Attributes:
        neighbourhoods: one for each centre.
        hops: the bound; ``None`` for no bound.
        direction: direction of the hops from the centre.
    """

    neighbourhoods: tuple[NeighbourhoodRow, ...]
    hops: int | None
    direction: Direction

    @classmethod
    def of(cls, hoods: Sequence[Neighbourhood], request: Any) -> NeighbourhoodsAnswer:
        """The answer of many neighbourhoods."""
        return cls(tuple(map(NeighbourhoodRow.of, hoods)), request.hops, request.direction)


@dataclass(frozen=True, slots=True, eq=False)
class PackAnswer:
    """A square matrix in compressed rows: row i is ``indices[indptr[i]:indptr[i+1]]``, with its ``hops``."""

    cuis: tuple[str, ...]
    indptr: Annotated[npt.NDArray[np.int64], np.int64]
    indices: Annotated[npt.NDArray[np.int32], np.int32]
    hops: Annotated[npt.NDArray[np.uint8], np.uint8]
    bound: int
    direction: Direction

    @classmethod
    def of(cls, pack: DistancePack, request: object = None) -> PackAnswer:
        """The answer of a pack."""
        return cls(pack.cuis, pack.indptr, pack.indices, pack.hops, pack.bound, pack.direction)


@dataclass(frozen=True, slots=True)
class RelevanceAnswer:
    """IoU and nn-IoU of two concept sets, with their reasons.

    Attributes:
        shared: A ∩ B, ascending.
        related: rel_n(A, B), first the concepts of A, then those of B, each by identifier.
        union: |A ∪ B|.
        isolated: identifiers treated as isolated concepts, ascending.
        dropped: identifiers that were left out, ascending.
        n, lam, weight, direction: the rule.
        ic: information content of the weight; ``None`` if it has none.
    """

    iou: float
    nn_iou: float
    shared: tuple[str, ...]
    related: tuple[RelatedConcept, ...]
    union: int
    isolated: tuple[str, ...]
    dropped: tuple[str, ...]
    n: int
    lam: float
    weight: Weight
    ic: IntrinsicContent | None
    direction: Direction

    @classmethod
    def of(cls, overlap: ConceptOverlap, request: object = None) -> RelevanceAnswer:
        """The answer of an overlap."""
        outside = tuple(sorted(overlap.resolved.isolated)), tuple(sorted(overlap.resolved.dropped))
        return cls(
            overlap.iou, overlap.nn_iou, tuple(sorted(overlap.shared)), overlap.related, len(overlap.A | overlap.B),
            *outside, overlap.n, overlap.lam, overlap.weight, overlap.ic, overlap.direction,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class RelevancesAnswer:
    """IoU and nn-IoU of the query with each set, in the order of the request.

    Attributes:
        iou, nn_iou: one value for each set.
        isolated: identifiers treated as isolated concepts, ascending.
        dropped: identifiers that were left out, ascending.
    """

    iou: tuple[float, ...]
    nn_iou: tuple[float, ...]
    isolated: tuple[str, ...]
    dropped: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarityAnswer(PairSimilarity):
    """Two concepts by every measure, and the hierarchy as a whole."""

    hierarchy: HierarchyFacts

    @classmethod
    def of(cls, answer: tuple[PairSimilarity, HierarchyFacts], request: object = None) -> SimilarityAnswer:
        """The answer of a pair."""
        return extended(cls, answer[0], hierarchy=answer[1])


@dataclass(frozen=True, slots=True)
class SimilaritiesAnswer:
    """Similarities in the order of the request.

    Attributes:
        similarities: ``None`` for no value.
        measure: the measure.
        ic: the information content.
    """

    similarities: Annotated[Column, Gaps(float, "undefined")]
    measure: SimilarityMeasure
    ic: InformationContent

    @classmethod
    def of(cls, similarities: Similarities, request: object = None) -> SimilaritiesAnswer:
        """The answer of a batch."""
        options = similarities.options
        return cls(Column(similarities.values, similarities.defined), options.measure, options.ic)


@dataclass(frozen=True, slots=True)
class PairSimilaritiesAnswer:
    """Pairs of concepts by every measure, in the order of the request."""

    pairs: tuple[PairSimilarity, ...]


@dataclass(frozen=True, slots=True)
class PlacementsAnswer:
    """Places in the order of the request."""

    placements: tuple[Placement, ...]


@dataclass(frozen=True, slots=True)
class HierarchyAnswer:
    """The hierarchy as a whole."""

    hierarchy: HierarchyFacts


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """Concepts with a matching name, best first."""

    hits: tuple[SearchHit, ...]


@dataclass(frozen=True, slots=True)
class AnnotationRow:
    """The mentions of one text, by position."""

    mentions: tuple[Mention, ...]


@dataclass(frozen=True, slots=True)
class AnnotationsAnswer:
    """Concepts of texts, in the order of the request."""

    annotations: tuple[AnnotationRow, ...]


@dataclass(frozen=True, slots=True)
class ConceptsAnswer:
    """Concepts in the order of the request.

    Attributes:
        concepts: one for each identifier.
        names_hidden: true if names, synonyms and definitions are left out, as the caller may not see them.
    """

    concepts: tuple[Concept, ...]
    names_hidden: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptAnswer(Concept):
    """One concept.

    Attributes:
        names_hidden: true if names, synonyms and definitions are left out, as the caller may not see them.
    """

    names_hidden: bool

    @classmethod
    def of(cls, answer: ConceptsAnswer, request: object = None) -> ConceptAnswer:
        """The answer of one concept."""
        return extended(cls, answer.concepts[0], names_hidden=answer.names_hidden)


@dataclass(frozen=True, slots=True)
class CodesAnswer:
    """Codes of source vocabularies, and their concepts, in the order of the request."""

    lookups: tuple[CodeLookup, ...]


@dataclass(frozen=True, slots=True)
class CodeMapsAnswer:
    """Published mappings, in the order of the request."""

    lookups: tuple[MapLookup, ...]


@dataclass(frozen=True, slots=True)
class ResolutionsAnswer:
    """Resolutions of the identifiers, in the order of the request."""

    resolutions: tuple[Resolution, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseAnswer(Release):
    """The release that is served, its source, and the limits of the service.

    Attributes:
        indexed: true if distances come from an index in memory.
        names: true if this caller may see names.
        limits: the largest sizes of a request; 0 for one that a service of an earlier version does not state.
        service_version: version of the service.
    """

    indexed: bool
    names: bool
    limits: ServiceLimits
    service_version: str


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """Largest sizes that the service accepts in one request; 0 where it states none."""

    pairs: int = 0
    concepts: int = 0
    neighbours: int = 0
    pack_concepts: int = 0
    texts: int = 0
    text_characters: int = 0
    characters: int = 0
    sets: int = 0
    comparisons: int = 0
    set_concepts: int = 0
    hits: int = 0
    mentions: int = 0


def concepts_among(rows: Iterable[Any] | None) -> Iterator[str]:
    """The concepts of the rows of an answer; of a neighbourhood its neighbours."""
    for row in rows or ():
        if isinstance(row, NeighbourhoodRow):
            yield from concepts_among(row.neighbours)
        elif row.cui is not None:
            yield row.cui


def extended(kind: type[A], value: Any, **others: Any) -> A:
    """The value of a class with the attributes of another value, and others."""
    return kind(**{f.name: getattr(value, f.name) for f in fields(value)}, **others)
