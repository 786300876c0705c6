"""The table of operations: name, route and procedure, request and answer of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar

from cuihop.operations import answers, requests
from cuihop.similarity.hierarchy import SimilarityScale

Q = TypeVar("Q")
A = TypeVar("A")


def _listed(kind: Callable[..., A]) -> Callable[[Any, Any], A]:
    """The answer whose one attribute is a tuple of the values."""
    return lambda values, request: kind(tuple(values))


@dataclass(frozen=True, eq=False)
class Operation(Generic[Q, A]):
    """An operation.

    Attributes:
        name: its name, and that of the method of the service.
        route: method and path of HTTP, below ``/v1``.
        group: its heading in the documentation. Those of ``similarity`` are over the hierarchy.
        of: the answer to a request, from the value that a graph answers with.
        rpc: its name over gRPC; empty for none.
        recorded_as: its name in the audit and in metrics; empty for `name`.
        size: fields of the request whose items count; none for one item.
        rows: field of the answer with one row for each of these items.
        coded: attribute of that value with a row for each concept, whose codes may be requested by ``code_sabs``.
        scope: that the caller needs.
        quick: true if its answer may take less time than to hand it to a thread.
    """

    name: str
    route: str
    group: str
    text: str
    request: type[Q]
    answer: type[A]
    of: Callable[[Any, Q], A] = lambda value, request: value
    rpc: str = ""
    recorded_as: str = ""
    size: tuple[str, ...] = ()
    rows: str | None = None
    coded: str | None = None
    scope: Literal["read", "names"] = "read"
    quick: bool = False

    @property
    def method(self) -> str:
        """The method of HTTP; a ``GET`` has its request in the query string."""
        return self.route.partition(" ")[0]

    @property
    def path(self) -> str:
        """The path of HTTP, below ``/v1``."""
        return self.route.partition(" ")[2]

    @cached_property
    def arguments(self) -> Sequence[str]:
        """Fields of the request, but for the restriction of the graph and the codes of the answer."""
        others = ("within_sabs", "code_sabs")
        return [f.name for f in fields(self.request) if f.name not in others]  # type: ignore[arg-type]

    @property
    def recorded(self) -> str:
        """Its name in the audit and in metrics."""
        return self.recorded_as or self.name

    def size_of(self, request: Any) -> int:
        """Number of pairs, concepts, sets or texts in a request, as rates and limits count them."""
        return sum(len(getattr(request, name)) for name in self.size) if self.size else 1


DISTANCE = Operation(
    "distance", "GET /distance", "distances",
    "The distance of one pair, in hops. No path is an answer: ``hops`` is null.",
    requests.DistanceRequest, answers.DistanceAnswer, answers.DistanceAnswer.of_hops, rpc="Distance", quick=True,
)  # fmt: skip
DISTANCES = Operation(
    "distances", "POST /distances", "distances",
    "The distances of many pairs: all, or an error that names every identifier at fault.",
    requests.DistancesRequest, answers.DistancesAnswer, answers.DistancesAnswer.of,
    rpc="Distances", size=("pairs",), rows="hops", quick=True,
)  # fmt: skip
PATH = Operation(
    "path", "GET /path", "distances",
    "One shortest path, and the number of them: of several, the first in the order of identifiers by default.",
    requests.PathRequest, answers.PathAnswer, answers.PathAnswer.of, rpc="Path", coded="path",
)  # fmt: skip
PATHS = Operation(
    "paths", "GET /paths", "distances",
    "All shortest paths between two concepts as one graph, with the vocabularies that assert each edge.",
    requests.PathsRequest, answers.PathsAnswer, answers.PathsAnswer.of, rpc="Paths", coded="concepts",
)  # fmt: skip
NEIGHBOURHOOD = Operation(
    "neighbourhood", "GET /neighbourhood", "distances", "The concepts within some hops of one, nearest first.",
    requests.NeighbourhoodRequest, answers.NeighbourhoodAnswer, answers.NeighbourhoodAnswer.of_first,
    coded="neighbours",
)  # fmt: skip
NEIGHBOURHOODS = Operation(
    "neighbourhoods", "POST /neighbourhoods", "distances", "The concepts around each of many.",
    requests.NeighbourhoodsRequest, answers.NeighbourhoodsAnswer, answers.NeighbourhoodsAnswer.of,
    rpc="Neighbourhood", recorded_as="neighbourhood", size=("cuis",), rows="neighbourhoods",
    coded="neighbourhoods",
)  # fmt: skip
PACK = Operation(
    "pack", "POST /pack", "distances",
    "All distances up to a bound among distinct concepts, all that an evaluation needs of a graph.",
    requests.PackRequest, answers.PackAnswer, answers.PackAnswer.of,
    rpc="GetDistancePack", size=("cuis",),
)  # fmt: skip
RELEVANCE = Operation(
    "relevance", "POST /relevance", "relevance",
    "IoU and nn-IoU of two concept sets, with the witnesses of each near concept.",
    requests.RelevanceRequest, answers.RelevanceAnswer, answers.RelevanceAnswer.of,
    rpc="SetRelevance", recorded_as="set_relevance", size=("a", "b"),
)  # fmt: skip
RELEVANCES = Operation(
    "relevances", "POST /relevances", "relevance", "IoU and nn-IoU of one concept set with each of many.",
    requests.RelevancesRequest, answers.RelevancesAnswer, rpc="Relevances", size=("corpus",), rows="nn_iou",
)  # fmt: skip
SIMILARITY = Operation(
    "similarity", "GET /similarity", "similarity",
    "Two concepts by every measure of similarity, with their places and common ancestors.",
    requests.SimilarityRequest, answers.SimilarityAnswer, answers.SimilarityAnswer.of,
)  # fmt: skip
SIMILARITIES = Operation(
    "similarities", "POST /similarities", "similarity",
    "The similarity of many pairs, or pairs of sets, by one measure: all, or an error that names what is wrong.",
    requests.SimilaritiesRequest, answers.SimilaritiesAnswer, answers.SimilaritiesAnswer.of,
    rpc="Similarities", size=("pairs", "sets"), rows="similarities",
)  # fmt: skip
PAIR_SIMILARITIES = Operation(
    "pair_similarities", "POST /pair-similarities", "similarity",
    "Many pairs of concepts by every measure, with their places and common ancestors.",
    requests.PairSimilaritiesRequest, answers.PairSimilaritiesAnswer, _listed(answers.PairSimilaritiesAnswer),
    rpc="PairSimilarities", size=("pairs",), rows="pairs",
)  # fmt: skip
SIMILARITY_SCALE = Operation(
    "similarity_scale", "GET /similarity-scale", "similarity",
    "The distribution of each measure of similarity over a fixed sample of random pairs.",
    requests.SimilarityScaleRequest, SimilarityScale, rpc="GetSimilarityScale",
)  # fmt: skip
PLACEMENTS = Operation(
    "placements", "POST /placements", "similarity",
    "The places of concepts in the hierarchy: depth, height, ancestors, descendants, information content.",
    requests.PlacementsRequest, answers.PlacementsAnswer, _listed(answers.PlacementsAnswer),
    rpc="Placements", size=("cuis",), rows="placements",
)  # fmt: skip
HIERARCHY = Operation(
    "hierarchy", "GET /hierarchy", "similarity", "The hierarchy as a whole: cycles, roots and depth.",
    requests.GraphRequest, answers.HierarchyAnswer, lambda value, request: answers.HierarchyAnswer(value),
    rpc="GetHierarchy", recorded_as="get_hierarchy",
)  # fmt: skip
SEARCH = Operation(
    "search", "GET /search", "concepts", "Concepts by name, synonym or identifier, best first.",
    requests.SearchRequest, answers.SearchAnswer, _listed(answers.SearchAnswer), rpc="Search", coded="hits",
    scope="names",
)  # fmt: skip
ANNOTATE = Operation(
    "annotate", "POST /annotate", "concepts",
    "Concepts of texts, found by their names. The texts are never logged, and no error repeats them.",
    requests.AnnotateRequest, answers.AnnotationsAnswer,
    rpc="Annotate", size=("texts",), coded="vocabulary", scope="names",
)  # fmt: skip
CONCEPT = Operation(
    "concept", "GET /concept", "concepts", "One concept as the release describes it.",
    requests.ConceptRequest, answers.ConceptAnswer, answers.ConceptAnswer.of, recorded_as="get_concept",
)  # fmt: skip
CONCEPTS = Operation(
    "concepts", "POST /concepts", "concepts", "Concepts as the release describes them.",
    requests.ConceptsRequest, answers.ConceptsAnswer,
    rpc="GetConcept", recorded_as="get_concept", size=("cuis",), rows="concepts",
)  # fmt: skip
CODES = Operation(
    "codes", "POST /codes", "concepts",
    "Codes of source vocabularies for concepts, and the concepts of codes. Never fails because of one.",
    requests.CodesRequest, answers.CodesAnswer, _listed(answers.CodesAnswer),
    rpc="Codes", size=("identifiers",), rows="lookups", scope="names",
)  # fmt: skip
CODE_MAPS = Operation(
    "code_maps", "POST /code-maps", "concepts",
    "Mappings that vocabularies have published (MRMAP) from codes, as they are. Never fails because of one identifier.",
    requests.CodeMapsRequest, answers.CodeMapsAnswer, _listed(answers.CodeMapsAnswer),
    rpc="CodeMaps", size=("identifiers",), rows="lookups", scope="names",
)  # fmt: skip
RESOLUTIONS = Operation(
    "resolutions", "POST /resolutions", "concepts",
    "Resolution of each identifier. Never fails because of one.",
    requests.ResolutionsRequest, answers.ResolutionsAnswer, _listed(answers.ResolutionsAnswer),
    rpc="Resolve", recorded_as="resolve", size=("cuis",), rows="resolutions", coded="resolutions",
)  # fmt: skip
RELEASE = Operation(
    "release", "GET /release", "release",
    "The release that is served, its source, and the limits of the service.",
    requests.GraphRequest, answers.ReleaseAnswer, rpc="GetRelease", recorded_as="get_release",
)  # fmt: skip

OPERATIONS: Sequence[Operation[Any, Any]] = (
    DISTANCE, DISTANCES, PATH, PATHS, NEIGHBOURHOOD, NEIGHBOURHOODS, PACK, RELEVANCE, RELEVANCES, SIMILARITY,
    SIMILARITIES, PAIR_SIMILARITIES, SIMILARITY_SCALE, PLACEMENTS, HIERARCHY, SEARCH, ANNOTATE, CONCEPT, CONCEPTS,
    CODES, CODE_MAPS, RESOLUTIONS, RELEASE,
)  # fmt: skip
"""All of them, but for the stream of batches."""
