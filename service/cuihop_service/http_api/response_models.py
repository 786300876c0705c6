"""The bodies of answers, rendered, and described for OpenAPI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
import orjson
from pydantic import BaseModel, Field

import cuihop
from cuihop import answer_fields
from cuihop.annotation.mentions import RULES, Annotations, Rule
from cuihop.annotation.options import CONTEXTS, Context
from cuihop.graph import MATCHES, DistancePack, Distances, MatchKind
from cuihop.resources.interruption import check_interruption
from cuihop.similarity.options import InformationContent, SimilarityMeasure
from cuihop_service.graph_holder import ServedGraph
from cuihop_service.http_api.request_models import described
from cuihop_service.limits import Limits
from cuihop_service.request_context import Answer, RelevanceRow

_NUMBERS_A_PART = 1 << 20


def written(answer: Answer[Any], fields: Mapping[str, Any]) -> bytes:
    """An answer as JSON, with its origin."""
    return orjson.dumps(
        {**fields, "merged": dict(answer.merged), "release": answer.digest, "tier": answer.tier},
        option=orjson.OPT_SERIALIZE_NUMPY,
    )


# Rendering


def distances_fields(answer: Answer[Distances]) -> dict[str, Any]:
    """A batch of distances."""
    return {**answer_fields.distances_fields(answer.value), "from_cache": answer.from_cache}


def annotations_fields(annotations: Annotations) -> dict[str, Any]:
    """The mentions of each text."""
    rows = []
    for annotation in annotations:
        check_interruption()
        rows.append(answer_fields.annotation_fields(annotation))
    return {"annotations": rows}


def row_fields(row: RelevanceRow) -> dict[str, Any]:
    """The relevance of one set to each of many."""
    return {"iou": row.iou, "nn_iou": row.nn_iou, "isolated": row.isolated, "dropped": row.dropped}


def pack_fields(pack: DistancePack) -> dict[str, Any]:
    """All distances among a list of concepts, in compressed rows."""
    return {
        "cuis": pack.cuis,
        "indptr": pack.indptr,
        "indices": _in_parts(pack.indices),
        "hops": _in_parts(pack.hops),
        "bound": pack.bound,
        "direction": pack.direction,
    }


def _in_parts(numbers: npt.NDArray[np.integer]) -> orjson.Fragment:
    """Numbers as a JSON list, written part by part: millions at once would stop all other threads for a second."""
    parts = []
    for first in range(0, len(numbers), _NUMBERS_A_PART):
        check_interruption()
        part = np.ascontiguousarray(numbers[first : first + _NUMBERS_A_PART])
        parts.append(orjson.dumps(part, option=orjson.OPT_SERIALIZE_NUMPY)[1:-1])
    return orjson.Fragment(b"[" + b",".join(parts) + b"]")


def release_fields(served: ServedGraph, limits: Limits, *, names: bool) -> dict[str, Any]:
    """The release that is served, its source, and the limits of the service."""
    return {
        **answer_fields.fields_of(served.release),
        "indexed": served.index is not None,
        "names": names,
        "limits": {
            name: getattr(limits, name)
            for name in (
                "pairs",
                "concepts",
                "neighbours",
                "sets",
                "set_concepts",
                "comparisons",
                "hits",
                "pack_concepts",
                "texts",
                "text_characters",
                "characters",
                "mentions",
            )
        },
        "service_version": cuihop.__version__,
    }


# Description for OpenAPI

Hops = Annotated[int | None, Field(description="Edges on a shortest path; null: none within the bound.")]


class AnswerBody(BaseModel):
    """Fields of every answer."""

    release: str = Field(description="SHA-256 digest of the release: answers with one digest never change.")
    tier: Literal["cache", "index", "cypher"] = Field(description="The part of the service that gave the answer.")
    merged: dict[str, str] = Field(description="Retired identifiers, and the successor each was taken for.")


class DistanceBody(AnswerBody):
    """One distance."""

    a: str
    b: str
    hops: Hops
    direction: str
    max_hops: int | None


class DistancesBody(AnswerBody):
    """Distances in the order of the request."""

    hops: list[Hops]
    direction: str
    max_hops: int | None
    from_cache: int = Field(description="Number of distances that came from a cache.")


class PathConcept(BaseModel):
    """A concept on a path. The first has no relation."""

    cui: str
    name: str | None = Field(description="null: the release gives none, or the key may not see names.")
    relation: Literal["parent", "child"] | None = Field(None, description="Its relation to the concept before.")
    sabs: list[str] = Field([], description="Source vocabularies that assert the edge.")


class PathBody(DistanceBody):
    """One shortest path of all those between two concepts."""

    path: list[PathConcept] | None = Field(description="null: none within the bound.")
    total: int = Field(description="Number of shortest paths; 10^15 where there are that many or more.")
    which: int | None = Field(description="Rank of this one in the order of identifiers, from 1; null without a path.")


class NeighbourBody(BaseModel):
    """A concept and its distance."""

    cui: str
    hops: int


class NeighbourhoodRow(BaseModel):
    """The concepts around one centre, nearest first."""

    cui: str
    neighbours: list[NeighbourBody]
    total: int = Field(description="Their number, whatever the limit.")
    truncated: bool


class NeighbourhoodBody(AnswerBody, NeighbourhoodRow):
    """The concepts around one centre."""

    hops: int | None
    direction: str


class NeighbourhoodsBody(AnswerBody):
    """The concepts around each centre, in the order of the request."""

    neighbourhoods: list[NeighbourhoodRow]
    hops: int | None
    direction: str


class RelatedBody(BaseModel):
    """A near concept and its witnesses."""

    cui: str
    side: Literal["A", "B"]
    witnesses: list[NeighbourBody]
    similarity: float | None = Field(None, description="To the first witness, for a weight by similarity.")


class RelevanceBody(AnswerBody):
    """IoU and nn-IoU of two concept sets, with their reasons."""

    iou: float
    nn_iou: float
    shared: list[str]
    related: list[RelatedBody]
    union: int = Field(description="|A ∪ B|")
    isolated: list[str]
    dropped: list[str]
    n: int
    lam: float = Field(alias="lambda")
    weight: str
    ic: str | None = Field(None, description="Information content of the weight; null where it has none.")
    direction: str


class RelevancesBody(AnswerBody):
    """IoU and nn-IoU of the query with each set, in the order given."""

    iou: list[float]
    nn_iou: list[float]
    isolated: list[str]
    dropped: list[str]


Content = Annotated[
    float | None, Field(description="Information content; null: neither it nor a descendant occurs in the corpus.")
]


class PlacementRow(BaseModel):
    """The place of a concept in the hierarchy. A cycle counts as one concept."""

    cui: str
    depth: int = Field(description="Nodes on the longest chain from the root, both included.")
    shortest_depth: int = Field(description="Nodes on the shortest chain.")
    height: int = Field(description="Hops to the farthest leaf below, on the longest chain.")
    ancestors: int
    descendants: int
    leaves: int = Field(description="Descendants without a child, itself included where it has none.")
    ic: Content
    cycle: list[str] = Field(description="The concepts of its cycle, itself included; empty where it is in none.")


class PlacementsBody(AnswerBody):
    """Places in the order of the request."""

    placements: list[PlacementRow]


class HierarchyRow(BaseModel):
    """The hierarchy as a whole."""

    nodes: int = Field(description="Concepts, with each cycle as one.")
    cycles: int
    concepts_in_cycles: int
    roots: int = Field(description="Nodes without a parent; above more than one stands a virtual root.")
    leaves: int
    depth: int = Field(description="Hops from the deepest node to the root, on its longest chain.")


class HierarchyBody(AnswerBody):
    """The hierarchy as a whole."""

    hierarchy: HierarchyRow


class SubsumerRow(BaseModel):
    """A common ancestor."""

    cui: str | None = Field(description="null: the virtual root. Of a cycle, its first concept.")
    depth: int
    ic: Content
    hops_a: int
    hops_b: int


class PairSimilarityRow(BaseModel):
    """Two concepts by every measure."""

    a: PlacementRow
    b: PlacementRow
    hops: int | None = Field(description="Either way; null: no path.")
    lowest: list[SubsumerRow] = Field(description="Common ancestors without a common ancestor below them.")
    deepest: SubsumerRow = Field(description="The common ancestor of Wu and Palmer.")
    nearest: SubsumerRow = Field(description="The common ancestor of path-lcs.")
    most_informative: SubsumerRow = Field(description="The common ancestor of Resnik, Lin, and Jiang and Conrath.")
    values: dict[SimilarityMeasure, float | None] = Field(description="By measure; null where it has no value.")
    ic: InformationContent
    merged: dict[str, str] = Field(description="Retired identifiers, and the successor each was taken for.")


class SimilarityBody(AnswerBody, PairSimilarityRow):
    """Two concepts by every measure, and the hierarchy as a whole."""

    hierarchy: HierarchyRow


class PairSimilaritiesBody(AnswerBody):
    """Pairs of concepts by every measure, in the order of the request."""

    pairs: list[PairSimilarityRow]


class SimilaritiesBody(AnswerBody):
    """Similarities in the order of the request."""

    similarities: list[float | None] = Field(description="null: no value.")
    measure: SimilarityMeasure
    ic: InformationContent


class HitBody(BaseModel):
    """A concept found."""

    cui: str
    name: str | None
    matched: str
    kind: MatchKind = Field(description=described(MATCHES))


class SearchBody(AnswerBody):
    """Concepts found by name, best first."""

    hits: list[HitBody]


class TermBody(BaseModel):
    """A name of a concept that matched."""

    cui: str
    name: str | None
    matched: str
    sabs: list[str] = Field(description="Vocabularies of that name; empty where the release does not record them.")


class MentionBody(TermBody):
    """A mention of a concept in a text."""

    start: int = Field(description="Its first character, from 0. A character is a code point of Unicode.")
    end: int = Field(description="The character after its last one.")
    text: str = Field(description="Its characters.")
    rule: Rule = Field(description=described(RULES))
    context: list[Context] = Field(description=f"Empty for a plain statement. {described(CONTEXTS)}")
    candidates: list[TermBody] = Field(description="All concepts of the mention, best first, where requested.")


class AnnotationRow(BaseModel):
    """The mentions of one text, by position."""

    mentions: list[MentionBody]


class AnnotationsBody(AnswerBody):
    """Concepts of texts, in the order of the request."""

    annotations: list[AnnotationRow]


class TypeBody(BaseModel):
    """A semantic type."""

    tui: str
    name: str


class DefinitionBody(BaseModel):
    """A definition by a source vocabulary (SAB)."""

    sab: str
    text: str


class ConceptRow(BaseModel):
    """One concept as the release describes it."""

    cui: str
    name: str | None
    synonyms: list[str]
    semantic_types: list[TypeBody]
    parents: int
    children: int
    definitions: list[DefinitionBody]
    sabs: list[str] = Field(description="The source vocabularies that assert an is_a edge of it.")


class ConceptBody(AnswerBody, ConceptRow):
    """One concept."""

    names_hidden: bool


class ConceptsBody(AnswerBody):
    """Concepts in the order of the request."""

    concepts: list[ConceptRow]
    names_hidden: bool


class CandidateBody(BaseModel):
    """Suggestion of UMLS for a retired concept."""

    relation: str
    cui: str


class ResolutionRow(BaseModel):
    """Resolution of one identifier."""

    requested: str
    status: Literal["current", "merged", "retired", "unknown", "invalid"]
    cui: str | None
    candidates: list[CandidateBody]


class ResolutionsBody(AnswerBody):
    """Resolutions of the identifiers, in the order of the request."""

    resolutions: list[ResolutionRow]


class PackBody(AnswerBody):
    """A square matrix in compressed rows: row i is ``indices[indptr[i]:indptr[i+1]]`` with ``hops`` beside it."""

    cuis: list[str]
    indptr: list[int]
    indices: list[int]
    hops: list[int]
    bound: int
    direction: str


class ReleaseBody(BaseModel):
    """The release that is served, its source, and the limits of the service."""

    name: str
    digest: str
    relations: list[str]
    sabs: list[str]
    identifiers: str
    concepts: int
    edges: int
    source: str
    indexed: bool
    names: bool
    limits: dict[str, int]
    service_version: str


class FaultBody(BaseModel):
    """An identifier at fault."""

    cui: str
    status: str
    candidates: list[CandidateBody]


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
