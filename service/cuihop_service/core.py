"""The operations of the service, independent of any transport."""
# ruff: noqa: N806 - A and B are the paper's symbols

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np

from cuihop._kernels.shared import nn_iou_of_counts
from cuihop.annotation.mentions import Annotations
from cuihop.annotation.options import AnnotationOptions
from cuihop.annotation.texts import checked_texts
from cuihop.errors import GraphUnavailable, InputError, InvalidCui, NotAllowed
from cuihop.graph import (
    Concept,
    Direction,
    DistancePack,
    Distances,
    Neighbourhood,
    Path,
    Resolution,
    SearchHit,
    checked_direction,
    checked_hops,
    resolved,
)
from cuihop.identifiers import EXPECTED, in_upper_case
from cuihop.measures.near_weight import (
    BY_SIMILARITY,
    IntrinsicContent,
    Weight,
    credit_of_near,
    pair_similarities,
)
from cuihop.measures.nearness import Nearness
from cuihop.measures.nn_iou import ConceptOverlap, concept_overlap
from cuihop.measures.resolution import Unknown, resolved_concepts
from cuihop.snapshot.graph import SnapshotGraph
from cuihop_service.callers import Caller
from cuihop_service.graph_holder import GraphHolder, Loan, ServedGraph
from cuihop_service.keyed_pairs import KeyedPairs
from cuihop_service.limits import Limits
from cuihop_service.request_context import Answer, ConceptDescriptions, RelevanceRow, RequestContext
from cuihop_service.similarity import CorpusCounts, SimilarityService, index_of

Item = TypeVar("Item")

_PAIRS_OF_INDEX = 4096  # between two looks at the clock: some hundredths of a second
_PAIRS_OF_CYPHER = 500
_CONCEPTS = 1000
_QUICK_PAIRS = 64


class ConceptService:
    """Distances, paths, neighbourhoods and relevance in the release that is served now.

    Every method may be called from several threads at once, and answers from one release even where another one takes
    its place meanwhile. All raise the errors of `ConceptGraph`, `LimitExceeded`, `QueryTimedOut`, and `Cancelled`.

    Args:
        holder: lends the graph.
        limits: on the size of a request.
        names: False hides names from every caller, whatever the scope: a UMLS licence may demand it.
        corpus: counts for the information content of a corpus.
        within_sabs: vocabularies that the graph is restricted to; none for all edges.

    Attributes:
        similarity: the operations over the hierarchy.
    """

    def __init__(
        self,
        holder: GraphHolder,
        limits: Limits,
        *,
        names: bool = True,
        corpus: CorpusCounts | None = None,
        within_sabs: Sequence[str] = (),
    ) -> None:
        self.holder = holder
        self.limits = limits
        self.corpus = corpus
        self.similarity = SimilarityService(self.lent, limits, corpus)
        self._names = names
        self._within_sabs = within_sabs

    def within(self, sabs: Sequence[str]) -> ConceptService:
        """The same operations, counting only edges that some of these vocabularies assert; all edges for none.

        Its operations raise `InputError` for vocabularies that the release does not hold: see `ConceptGraph.within`.
        """
        if not sabs:
            return self
        return ConceptService(self.holder, self.limits, names=self._names, corpus=self.corpus, within_sabs=tuple(sabs))

    def lent(self, context: RequestContext) -> Loan:
        """The release that is served now, with its restriction, for a request: see `GraphHolder.lent`."""
        return self.holder.lent(self._within_sabs, context.session)

    def is_quick(self, pairs: int = 1) -> bool:
        """True where this number of distances takes less time than to hand them to a thread."""
        return pairs <= _QUICK_PAIRS and self.holder.indexed and not self._within_sabs

    def sees_names(self, caller: Caller) -> bool:
        """True where the caller may see names."""
        return self._names and caller.may("names")

    # Distances and paths

    def distance(
        self, a: str, b: str, *, direction: str = "any", max_hops: int | None = None, context: RequestContext
    ) -> Answer[int | None]:
        """The distance of one pair: see `ConceptGraph.distances`."""
        way, bound = checked_direction(direction), self._checked_bound(max_hops)
        self.limits.check_identifiers((a, b))
        with self.lent(context) as served:
            if served.index is not None:
                hops = served.index.distance_of_current(a, b, direction=way, max_hops=bound)
                if hops is not None:
                    return Answer(hops[0], served.digest, "index", {})
            answer = self._distances(served, [(a, b)], way, bound, context)
            return Answer(answer.value[0], answer.digest, answer.tier, answer.merged, answer.from_cache)

    def distances(
        self,
        pairs: Sequence[tuple[str, str]],
        *,
        direction: str = "any",
        max_hops: int | None = None,
        context: RequestContext,
    ) -> Answer[Distances]:
        """The distances of many pairs: all or none. `KeyedPairs` take the shortest way."""
        way, bound = checked_direction(direction), self._checked_bound(max_hops)
        self.limits.check("pairs", len(pairs))
        keyed = pairs if isinstance(pairs, KeyedPairs) else KeyedPairs.of(pairs)
        if keyed is None:
            for a, b in pairs:
                self.limits.check_identifiers((a, b))
        with self.lent(context) as served:
            return self._distances(
                served, pairs if keyed is None or served.index is None else keyed, way, bound, context
            )

    def _distances(
        self,
        served: ServedGraph,
        pairs: Sequence[tuple[str, str]],
        way: Direction,
        bound: int | None,
        context: RequestContext,
    ) -> Answer[Distances]:
        graph, tier = served.quickest
        size = _PAIRS_OF_INDEX if tier == "index" else _PAIRS_OF_CYPHER
        parts: list[Distances] = []
        merged: dict[str, str] = {}
        from_cache = 0
        for part in _parts(pairs, size):
            context.check()
            if served.cached is not None:
                answered = served.cached.answered(part, direction=way, max_hops=bound, timeout=context.remaining)
                distances = answered.distances
                from_cache += int(answered.from_cache.sum())
            else:
                keyed = _keyed(served.index, part, way, bound)
                distances = graph.distances(part, direction=way, max_hops=bound) if keyed is None else keyed
            parts.append(distances)
            merged.update(distances.merged)
        if pairs and from_cache == len(pairs):
            tier = "cache"
        return Answer(_joined(parts, way, bound, merged), served.digest, tier, merged, from_cache)

    def path(
        self,
        a: str,
        b: str,
        *,
        direction: str = "any",
        max_hops: int | None = None,
        which: int = 1,
        context: RequestContext,
    ) -> Answer[tuple[Path | None, Sequence[str | None]]]:
        """One shortest path, and the names of its concepts (none where the caller may not see them)."""
        way, bound = checked_direction(direction), self._checked_bound(max_hops)
        self.limits.check_identifiers((a, b))
        context.check()
        with self.lent(context) as served:
            graph, tier = served.quickest
            path = graph.path(a, b, direction=way, max_hops=bound, which=which)
            names: Sequence[str | None] = ()
            if path is not None:
                names = graph.names(path.cuis) if self.sees_names(context.caller) else [None] * len(path.cuis)
                merged = path.merged
            else:
                merged = _merged(graph.resolve([a, b]))
            return Answer((path, names), served.digest, tier, merged)

    def neighbourhoods(
        self,
        cuis: Sequence[str],
        *,
        hops: int | None = 1,
        direction: str = "any",
        limit: int | None = None,
        context: RequestContext,
    ) -> Answer[list[Neighbourhood]]:
        """The concepts around each of the given ones. Without a limit, more than the service allows is an error."""
        way, bound, most = checked_direction(direction), self._checked_bound(hops, "hops"), checked_hops(limit, "limit")
        self.limits.check("concepts", len(cuis))
        self.limits.check_identifiers(cuis)
        left = self.limits.neighbours
        answers: list[Neighbourhood] = []
        with self.lent(context) as served:
            graph, tier = served.quickest
            resolved(graph.resolve(cuis), graph.release)  # all identifiers at fault in one error
            for cui in cuis:
                context.check()
                allowed = left if most is None else min(most, left)
                found = graph.neighbours([cui], hops=bound, direction=way, limit=allowed)[0]
                wanted = found.total if most is None else min(found.total, most)
                if wanted > left:
                    self.limits.check("neighbours", self.limits.neighbours - left + wanted)
                left -= wanted
                answers.append(found)
            merged = {old: new for found in answers for old, new in found.merged.items()}
            return Answer(answers, served.digest, tier, merged)

    def pack(
        self, cuis: Sequence[str], *, hops: int, direction: str = "any", context: RequestContext
    ) -> Answer[DistancePack]:
        """All distances up to a bound among distinct concepts."""
        way, bound = checked_direction(direction), self._checked_bound(hops, "hops")
        if bound is None:
            raise InputError("a pack needs a bound", column="hops", found="null", expected="0 to 255")
        self.limits.check("pack_concepts", len(cuis))
        self.limits.check_identifiers(cuis)
        context.check()
        with self.lent(context) as served:
            graph, tier = served.quickest
            pack = graph.pack(cuis, hops=bound, direction=way)
            merged = {old: new for old, new in zip(cuis, pack.cuis, strict=True) if old != new}
            return Answer(pack, served.digest, tier, merged)

    # Relevance

    def set_relevance(
        self,
        a: Sequence[str],
        b: Sequence[str],
        *,
        n: int = 1,
        lam: float | None = None,
        direction: str = "any",
        unknown: Unknown = "error",
        weight: Weight = "constant",
        ic: IntrinsicContent = "Sanchez",
        context: RequestContext,
    ) -> Answer[ConceptOverlap]:
        """Overlap of two concept sets, with its reasons: see `cuihop.measures.nn_iou.concept_overlap`."""
        near = Nearness(n, lam, checked_direction(direction), unknown, weight, ic)
        self.check_sets(a, b)
        for concepts in (a, b):
            self.limits.check_identifiers(concepts)
            _check_upper_case(concepts)
        self.limits.check_hops(near.n)
        context.check()
        with self.lent(context) as served:
            if weight in BY_SIMILARITY:
                index_of(served)
            graph, tier = served.quickest
            overlap = concept_overlap(
                a, b, graph, near.n, near.lam, near.direction, unknown=unknown, weight=weight, ic=ic
            )
            return Answer(overlap, served.digest, tier, overlap.resolved.merged)

    def relevances(
        self,
        query: Sequence[str],
        corpus: Sequence[Sequence[str]],
        *,
        n: int = 1,
        lam: float | None = None,
        direction: str = "any",
        unknown: Unknown = "error",
        weight: Weight = "constant",
        ic: IntrinsicContent = "Sanchez",
        context: RequestContext,
    ) -> Answer[RelevanceRow]:
        """IoU and nn-IoU of one concept set with each of many (Wei et al. 2025, equations 1 and 2)."""
        near = Nearness(n, lam, checked_direction(direction), unknown, weight, ic)
        self.limits.check("sets", len(corpus))
        self.limits.check_hops(near.n)
        for concepts in (query, *corpus):
            self.limits.check("set_concepts", len(concepts))
            self.limits.check_identifiers(concepts)
            _check_upper_case(concepts)
        context.check()
        with self.lent(context) as served:
            if weight in BY_SIMILARITY:
                index_of(served)
            graph, tier = served.quickest
            resolution = resolved_concepts({c for s in (query, *corpus) for c in s}, graph, unknown)
            A = resolution.concepts(query)
            sets = [resolution.concepts(concepts) for concepts in corpus]
            others = set().union(*sets) - resolution.isolated if sets else set()
            pairs = [(a, b) for a in sorted(A - resolution.isolated) for b in sorted(others) if a != b]
            self.limits.check("comparisons", len(pairs))
            by_similarity = weight in BY_SIMILARITY
            best = max if by_similarity else min
            near_a: dict[str, dict[str, float]] = {}
            near_b: dict[str, float] = {}
            for part in _parts(pairs, _PAIRS_OF_INDEX if tier == "index" else _PAIRS_OF_CYPHER):
                context.check()
                distances = graph.distances(part, direction=near.direction, max_hops=near.n)
                strengths: dict[tuple[str, str], float] = {
                    pair: hops for pair, hops in zip(part, distances, strict=True) if hops is not None
                }
                if by_similarity:
                    values = pair_similarities(graph, strengths, weight, ic)
                    strengths = dict(zip(strengths, values.tolist(), strict=True))
                for (a, b), strength in strengths.items():
                    near_a.setdefault(a, {})[b] = strength
                    near_b[b] = best(strength, near_b.get(b, strength))
            iou, nn_iou = [], []
            for B in sets:
                context.check()
                shared, union = A & B, len(A | B)
                of_b = [near_b[b] for b in sorted(B - shared) if b in near_b]
                around = ([near_a[a][b] for b in near_a[a].keys() & B] for a in sorted(A - shared) if a in near_a)
                of_a = [best(found) for found in around if found]
                credit = credit_of_near(of_a, of_b, near.lam, weight)
                iou.append(nn_iou_of_counts(len(shared), 0, union, 0.0))
                nn_iou.append(nn_iou_of_counts(len(shared), credit, union, 1.0))
            outside = tuple(sorted(resolution.isolated)), tuple(sorted(resolution.dropped))
            row = RelevanceRow(tuple(iou), tuple(nn_iou), *outside)
            return Answer(row, served.digest, tier, resolution.merged)

    # Concepts

    def search(self, text: str, *, limit: int | None = None, context: RequestContext) -> Answer[list[SearchHit]]:
        """Concepts by name, synonym or identifier."""
        self._check_names(context)
        most = 10 if limit is None else limit
        self.limits.check("hits", most)
        self.limits.check_text(text, "text")
        context.check()
        with self.lent(context) as served:
            graph, tier = served.quickest
            return Answer(graph.search(text, limit=most), served.digest, tier, {})

    def annotate(
        self, texts: Sequence[str], options: AnnotationOptions, *, context: RequestContext
    ) -> Answer[Annotations]:
        """Mentions of concepts in texts: see `ConceptGraph.annotate_many`. Only with the release in memory."""
        self._check_names(context)
        self.limits.check_texts(checked_texts(texts))
        context.check()
        listed = (*options.semantic_types, *options.sabs, *options.stop)
        self.limits.check("concepts", len(listed))
        for item in listed:
            self.limits.check_text(item, "options")
        with self.lent(context) as served:
            if served.index is None:  # the database would be read into memory whole
                raise GraphUnavailable(
                    "texts are annotated from an index in memory, and this service has none, or not yet: "
                    "see the setting index"
                )
            found = served.index.annotate_many(texts, options)
            candidates = 0 if found.candidates is None else len(found.candidates[1])
            self.limits.check("mentions", len(found.terms) + candidates)
            return Answer(found, served.digest, "index", {})

    def concepts(
        self, cuis: Sequence[str], *, names_only: bool = False, context: RequestContext
    ) -> Answer[ConceptDescriptions]:
        """Concepts as the release describes them; names, synonyms and definitions only for callers who may see them."""
        self.limits.check("concepts", len(cuis))
        self.limits.check_identifiers(cuis)
        named = self.sees_names(context.caller)
        with self.lent(context) as served:
            graph, tier = served.quickest
            resolutions = graph.resolve(cuis)
            current = resolved(resolutions, graph.release)
            found: list[Concept] = []
            for part in _parts(current, _CONCEPTS):
                context.check()
                if names_only:
                    names = graph.names(part) if named else [None] * len(part)
                    found += [Concept(cui, name, (), (), 0, 0) for cui, name in zip(part, names, strict=True)]
                else:
                    found += graph.concepts(part)
            if not named:
                found = [Concept(c.cui, None, (), c.semantic_types, c.parents, c.children, sabs=c.sabs) for c in found]
            described = ConceptDescriptions(tuple(found), names_hidden=not named)
            return Answer(described, served.digest, tier, _merged(resolutions))

    def resolve(self, cuis: Sequence[str], *, context: RequestContext) -> Answer[list[Resolution]]:
        """Resolution of each identifier."""
        self.limits.check("concepts", len(cuis))
        self.limits.check_identifiers(cuis)
        context.check()
        with self.lent(context) as served:
            graph, tier = served.quickest
            found = graph.resolve(cuis)
            return Answer(found, served.digest, tier, _merged(found))

    # Checks of a request

    def _check_names(self, context: RequestContext) -> None:
        """Refuse a caller who may not see names."""
        if not self._names:
            raise NotAllowed("this service shows no names")
        context.caller.check("names")

    def check_sets(self, a: Sequence[str], b: Sequence[str]) -> None:
        """Refuse two concept sets that are too large.

        Raises:
            LimitExceeded: names the limit.
        """
        for concepts in (a, b):
            self.limits.check("set_concepts", len(concepts))
        self.limits.check("comparisons", len(a) * len(b))

    def _checked_bound(self, hops: int | None, name: str = "max_hops") -> int | None:
        bound = checked_hops(hops, name)
        self.limits.check_hops(bound)
        return bound


def _parts(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """The items in parts of this size."""
    for first in range(0, len(items), size):
        yield items[first : first + size]


def _keyed(
    index: SnapshotGraph | None, pairs: Sequence[tuple[str, str]], way: Direction, bound: int | None
) -> Distances | None:
    """The distances of keys; None where the identifiers need `ConceptGraph.distances`."""
    if index is None or not isinstance(pairs, KeyedPairs):
        return None
    return index.distances_of_keys(pairs.keys, direction=way, max_hops=bound)


def _check_upper_case(concepts: Sequence[str]) -> None:
    """Refuse CUIs in lower case, which files may hold: an answer has no field for how they were read."""
    if lower := [cui for cui in concepts if in_upper_case(cui) != cui]:
        raise InvalidCui(lower, expected=EXPECTED["cui"])


def _merged(resolutions: Sequence[Resolution]) -> Mapping[str, str]:
    return {r.requested: r.cui for r in resolutions if r.status == "merged" and r.cui is not None}


def _joined(parts: Sequence[Distances], way: Direction, bound: int | None, merged: Mapping[str, str]) -> Distances:
    """The answers to the parts of a batch as the answer to the batch."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return Distances(np.empty(0, dtype=np.int32), np.empty(0, dtype=np.bool_), way, bound)
    hops = np.concatenate([part.hops for part in parts])
    return Distances(hops, np.concatenate([part.reached for part in parts]), way, bound, merged)
