"""Sensitivity of an explanation to n, λ and hubs."""
# ruff: noqa: N803, N806 - A and B are the paper's symbols

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cuihop._kernels.shared import nn_iou_of_counts
from cuihop.adapter_rules import BACKWARDS, SEARCHES
from cuihop.collection.dataset import DataLike
from cuihop.errors import InputError
from cuihop.evaluation.collect import RankingLike
from cuihop.explanation.query import dcg_of_query, rank_of
from cuihop.explanation.query_gains import Hops, QueryGains, QueryImages, hops_to_corpus, similarities_of
from cuihop.graph import ConceptGraph, Direction, Release
from cuihop.identifiers import concept_set
from cuihop.measures.dcg import checked_k
from cuihop.measures.nearness import Nearness, checked_lam, checked_n, checked_weight, credit_of_near, strengths_of_near
from cuihop.measures.resolution import resolved_concepts

__all__ = [
    "HUBS",
    "LAMS",
    "NS",
    "Grid",
    "HubConcept",
    "LostMatch",
    "PairSensitivity",
    "PairSetting",
    "QuerySensitivity",
    "QuerySetting",
    "sensitivity_of_pair",
    "sensitivity_of_query",
]

NS = (0, 1, 2, 3)
LAMS = (0.0, 0.25, 0.5, 0.75, 1.0)
HUBS = (50,)


@dataclass(frozen=True, slots=True)
class Grid:
    """The settings to vary over: every n with every λ, in the complete graph and without hubs.

    Attributes:
        ns, lams: the values of n and λ. A large n without hubs needs large neighbourhoods.
        hubs: the values of H; none for the complete graph only. All three are sorted, each value once.

    Raises:
        InputError: a value is out of its range, or there is no n or no λ.
    """

    ns: Sequence[int] = NS
    lams: Sequence[float] = LAMS
    hubs: Sequence[int] = HUBS

    def __post_init__(self) -> None:
        for field, name, checked in (("ns", "n", checked_n), ("lams", "λ", checked_lam)):
            values = tuple(sorted(set(map(checked, getattr(self, field)))))
            if not values:
                raise InputError("nothing to vary", column=field, found=f"no {name}", expected="at least one")
            object.__setattr__(self, field, values)
        hubs = tuple(sorted(set(self.hubs)))
        for most in hubs:
            if isinstance(most, bool) or not isinstance(most, int) or most < 0:
                raise InputError(
                    "not a number of children", column="hubs", found=repr(most), expected="a whole number, 0 or more"
                )
        object.__setattr__(self, "hubs", hubs)


@dataclass(frozen=True, slots=True)
class HubConcept:
    """A concept with many children."""

    cui: str
    name: str | None
    children: int


@dataclass(frozen=True, slots=True)
class LostMatch:
    """A concept that earns λ in the complete graph but not without hubs.

    Attributes:
        hubs: H: concepts with more children are removed.
        n: the bound in hops.
        cui, name: of the concept.
    """

    hubs: int
    n: int
    cui: str
    name: str | None


@dataclass(frozen=True, slots=True)
class PairSetting:
    """The nn-IoU of a pair under one setting.

    Attributes:
        hubs: H: concepts with more children are removed; ``None``: the complete graph.
        n, lam: the other parameters.
        near: |rel_n|, the concepts that earn λ.
        nn_iou: the value.
    """

    hubs: int | None
    n: int
    lam: float
    near: int
    nn_iou: float


@dataclass(frozen=True, eq=False)
class PairSensitivity:
    """The nn-IoU of a pair under every requested setting.

    Attributes:
        settings: for each H (the complete graph first), each n, each λ.
        lost: concepts that are near only through hubs, by H, n and identifier.
        hubs: the hubs among the concepts of the two sets, for the smallest H: most children first.
        shared, union: |A ∩ B| and |A ∪ B|, the same under every setting.
        direction: of the hops from a concept of A.
        release: of the graph.
    """

    settings: tuple[PairSetting, ...]
    lost: tuple[LostMatch, ...]
    hubs: tuple[HubConcept, ...]
    shared: int
    union: int
    direction: Direction
    release: Release

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain values; the keys are documented in docs/explain.md and stable."""
        return {
            "direction": self.direction,
            "shared": self.shared,
            "union": self.union,
            "settings": [_keyed(asdict(setting)) for setting in self.settings],
            "lost": [asdict(lost) for lost in self.lost],
            "hubs": [asdict(hub) for hub in self.hubs],
        }


@dataclass(frozen=True, slots=True)
class QuerySetting:
    """Two images under one query, under one setting.

    Attributes:
        hubs, n, lam: as in `PairSetting`.
        gain_above, gain_below: the nn-IoU of either image with the query.
        rank_above, rank_below: in the ideal ranking of the corpus.
        idcg: IDCG@K. ndcg: the query's nn-CUI@K; ``None`` without a ranking.
    """

    hubs: int | None
    n: int
    lam: float
    gain_above: float
    gain_below: float
    rank_above: int
    rank_below: int
    idcg: float
    ndcg: float | None


@dataclass(frozen=True, eq=False)
class QuerySensitivity:
    """A query under every requested setting.

    Attributes:
        settings: for each H (the complete graph first), each n, each λ.
        k: the cut-off.
        direction: of the hops from a concept of the query.
        release: of the graph.
    """

    settings: tuple[QuerySetting, ...]
    k: int
    direction: Direction
    release: Release

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain values; the keys are documented in docs/explain.md and stable."""
        return {
            "direction": self.direction,
            "k": self.k,
            "settings": [_keyed(asdict(setting)) for setting in self.settings],
        }


def _keyed(setting: Mapping[str, Any]) -> dict[str, Any]:
    """The setting with the JSON key ``lambda``, a keyword in Python."""
    return {"lambda" if key == "lam" else key: value for key, value in setting.items()}


def sensitivity_of_pair(
    A: str | Iterable[str],
    B: str | Iterable[str],
    graph: ConceptGraph,
    grid: Grid = Grid(),
    *,
    nearness: Nearness = Nearness(),
) -> PairSensitivity:
    """The nn-IoU of two concept sets for every n, every λ, with and without hubs, exactly.

    A hub is a concept with more than H children. Without hubs, a concept earns λ only if a path of at most n hops leads
    to a concept of the other set, and neither its ends nor a concept between is a hub. A hub that both sets hold still
    earns 1.

    Args:
        A, B, graph: as in `cuihop.nn_iou`.
        grid: the settings.
        nearness: direction, unknown and weight; n and λ are those of the grid.

    Raises:
        InvalidCui, ConceptRetired, ConceptNotFound: an identifier cannot be used.
        InputError: a parameter is out of its range.

    >>> from cuihop import SnapshotGraph
    >>> graph = SnapshotGraph.of([("C0042449", "C0005847"), ("C0003842", "C0005847")])
    >>> found = sensitivity_of_pair("C0042449", "C0003842", graph, Grid([1, 2], [0.5], hubs=[1]))
    >>> [(s.hubs, s.n, s.nn_iou) for s in found.settings]
    [(None, 1, 0.0), (None, 2, 0.5), (1, 1, 0.0), (1, 2, 0.0)]
    """
    ns, lams, hubs, direction = grid.ns, grid.lams, grid.hubs, nearness.direction
    checked_weight(nearness.weight, ns[-1])
    A, B = concept_set(A), concept_set(B)
    resolution = resolved_concepts(A | B, graph, nearness.unknown)
    A, B = resolution.concepts(A), resolution.concepts(B)
    held_a, held_b = A - resolution.isolated, B - resolution.isolated
    pairs = [(a, b) for a in sorted(held_a) for b in sorted(held_b)]
    hops_of_pairs = zip(pairs, graph.distances(pairs, direction=direction, max_hops=ns[-1]), strict=True)
    distances: Hops = {pair: hops for pair, hops in hops_of_pairs if hops is not None}
    shared, union = len(A & B), len(A | B)
    settings: list[PairSetting] = []
    lost: list[tuple[int, int, str]] = []
    region, graphs = None, dict[int | None, Hops]({None: distances})
    if hubs:
        region = _HubFree(graph, held_a, held_b, bound=ns[-1], direction=direction, most=hubs[-1])
        graphs |= {most: region.hops(most) for most in hubs}
    similarities = similarities_of(distances, graph, nearness)
    for most, hops in graphs.items():
        for n in ns:
            near = _near(A, B, hops, n)
            within = {pair: d if similarities is None else similarities[pair] for pair, d in hops.items() if d <= n}
            strengths = strengths_of_near(A, B, within, nearness.weight)
            for lam in lams:
                value = nn_iou_of_counts(shared, credit_of_near(*strengths, lam, nearness.weight), union, 1.0)
                settings.append(PairSetting(most, n, lam, len(near), value))
            if most is not None:
                lost += [(most, n, cui) for cui in sorted(_near(A, B, distances, n) - near)]
    children = {} if region is None else {cui: region.children[cui] for cui in held_a | held_b}
    many = sorted((cui for cui in children if children[cui] > hubs[0]), key=lambda cui: (-children[cui], cui))
    named = sorted({*many, *(cui for _, _, cui in lost)})
    names = dict(zip(named, graph.names(named), strict=True))
    return PairSensitivity(
        settings=tuple(settings),
        lost=tuple(LostMatch(most, n, cui, names[cui]) for most, n, cui in lost),
        hubs=tuple(HubConcept(cui, names[cui], children[cui]) for cui in many),
        shared=shared,
        union=union,
        direction=direction,
        release=graph.release,
    )


def sensitivity_of_query(
    images: DataLike,
    query: str,
    graph: ConceptGraph,
    *,
    above: str,
    below: str,
    ranking: RankingLike | None = None,
    k: int = 10,
    grid: Grid = Grid(),
    nearness: Nearness = Nearness(),
) -> QuerySensitivity:
    """Two images under one query for every n, every λ, with and without hubs: gains, ideal ranks, and nn-CUI@K.

    Hubs as in `sensitivity_of_pair`; the other arguments and errors as in `cuihop.explanation.explain_query`. Of
    ``nearness`` only direction, unknown and weight are used: n and λ are those of the grid.

    >>> from cuihop import SnapshotGraph
    >>> graph = SnapshotGraph.of([("C0042449", "C0005847")], concepts=["C0018670"])
    >>> images = {"vein": "C0042449", "vessel": "C0005847", "head": "C0018670"}
    >>> found = sensitivity_of_query(
    ...     images, "vein", graph, above="vessel", below="head", ranking={"vein": ["head", "vessel"]},
    ...     grid=Grid([0, 1], [0.5], hubs=[0]))
    >>> [(s.hubs, s.n, s.rank_above, round(s.ndcg, 4)) for s in found.settings]
    [(None, 0, 2, 0.0), (None, 1, 1, 0.6309), (0, 0, 2, 0.0), (0, 1, 2, 0.0)]
    """
    ns, lams, hubs, direction = grid.ns, grid.lams, grid.hubs, nearness.direction
    k = checked_k(k)
    checked_weight(nearness.weight, ns[-1])
    inputs = QueryImages.of(images, query, graph, ranking, nearness.unknown)
    inputs.check_images(above, below)
    row_above, row_below = inputs.rows[above], inputs.rows[below]
    isolated = inputs.images.resolved.isolated
    held = frozenset[str]().union(*inputs.images.corpus_sets) - isolated
    distances = hops_to_corpus(inputs.concepts, inputs.images, graph, ns[-1], direction)
    settings, graphs = [], dict[int | None, Hops]({None: distances})
    if hubs:
        region = _HubFree(graph, inputs.concepts - isolated, held, bound=ns[-1], direction=direction, most=hubs[-1])
        graphs |= {most: region.hops(most) for most in hubs}
    similarities = similarities_of(distances, graph, nearness)
    for most, hops in graphs.items():
        counts = QueryGains.of(query, inputs.concepts, inputs.images, hops, ns[-1], similarities)
        for n in ns:
            for lam in lams:
                gains = counts.gains(n, lam, nearness.weight)
                ideal = counts.ideal(gains)
                ranked = ideal[:0] if inputs.ranked is None else inputs.ranked
                _, idcg, ndcg = dcg_of_query(gains, ranked, ideal, k)
                gain_above, gain_below = gains[[row_above, row_below]].tolist()
                ranks = rank_of(row_above, ideal), rank_of(row_below, ideal)
                of_ranking = None if inputs.ranked is None else ndcg
                settings.append(QuerySetting(most, n, lam, gain_above, gain_below, *ranks, idcg, of_ranking))
    return QuerySensitivity(tuple(settings), k, direction, graph.release)


def _near(A: frozenset[str], B: frozenset[str], hops: Hops, n: int) -> frozenset[str]:
    """rel_n(A, B)."""
    ends = {end for pair, distance in hops.items() if distance <= n for end in pair}
    return frozenset(ends - (A & B))


class _HubFree:
    """The subgraph that holds every path of at most ``bound`` hops without a hub between two sets of concepts.

    A *hub* is a concept with more than H children in the release, whatever their direction in a search: broad classes
    such as "disease", through which everything is near everything. Without hubs, a path of is_a hops may not start at a
    hub, run through one, or end at one. Two images that share a hub still share it.

    Neighbours are fetched layer by layer, from both sides towards the middle, in at most ``2 * bound + 1`` batches
    for each search that the direction needs; hubs, of more children than the largest H, ``most``, are never expanded.
    The number of ``children`` is that of each start, each end and each concept on the way.
    """

    def __init__(
        self,
        graph: ConceptGraph,
        starts: Collection[str],
        ends: Collection[str],
        *,
        bound: int,
        direction: Direction,
        most: int,
    ) -> None:
        self._graph, self._most = graph, most
        self._starts, self._ends, self._bound = frozenset(starts), frozenset(ends), bound
        self._arcs: dict[Direction, dict[str, set[str]]] = {}
        self.children = _children_of(self._starts | self._ends, graph)
        for search in SEARCHES[direction]:
            arcs = self._arcs[search] = {}
            seen = self._expand(arcs, self._starts, -(-bound // 2), search, forwards=True)
            met = self._expand(arcs, self._ends, bound // 2, BACKWARDS[search], forwards=False)
            self._count(seen & met)  # the last layers are not expanded: a path runs only through their intersection

    def _count(self, cuis: Collection[str]) -> None:
        self.children |= _children_of(set(cuis) - self.children.keys(), self._graph)

    def _expand(
        self, arcs: dict[str, set[str]], centres: Collection[str], layers: int, direction: Direction, *, forwards: bool
    ) -> set[str]:
        """Add the hops of this number of layers to the arcs; returns every concept reached."""
        met, frontier = set(centres), set(centres)
        for layer in range(layers):
            if layer:
                self._count(frontier)
            centres = sorted(cui for cui in frontier if self.children[cui] <= self._most)
            frontier = set()
            hoods = self._graph.neighbours(centres, hops=1, direction=direction) if centres else []
            for cui, hood in zip(centres, hoods, strict=True):
                for neighbour in hood:
                    here, there = (cui, neighbour.cui) if forwards else (neighbour.cui, cui)
                    arcs.setdefault(here, set()).add(there)
                    if neighbour.cui not in met:
                        met.add(neighbour.cui)
                        frontier.add(neighbour.cui)
        return met

    def hops(self, most_children: int) -> Hops:
        """The distance from each start to each end in the graph without concepts of more children than this."""
        distances: dict[tuple[str, str], int] = {}
        for arcs in self._arcs.values():
            for start in self._starts:
                for hops, reached in enumerate(self._layers(arcs, start, most_children)):
                    for pair in ((start, end) for end in reached & self._ends):
                        distances[pair] = min(hops, distances.get(pair, hops))
        return distances

    def _layers(self, arcs: Mapping[str, set[str]], start: str, most_children: int) -> Sequence[set[str]]:
        """The concepts at 0, 1, … hops."""

        def free(cuis: Iterable[str]) -> set[str]:
            return {cui for cui in cuis if self.children.get(cui, most_children + 1) <= most_children}

        layers = [free([start])]
        met = set(layers[0])
        for _ in range(self._bound):
            ahead = free({there for here in layers[-1] for there in arcs.get(here, ())} - met)
            met |= ahead
            layers.append(ahead)
        return layers


def _children_of(cuis: Collection[str], graph: ConceptGraph) -> dict[str, int]:
    """The number of children of each concept, in one batch."""
    parents = sorted(cuis)
    hoods = graph.neighbours(parents, hops=1, direction="down", limit=0) if parents else []
    return {cui: hood.total for cui, hood in zip(parents, hoods, strict=True)}
