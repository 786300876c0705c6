"""The operations of the service, independent of any transport."""
# ruff: noqa: N806 - A and B are the paper's symbols

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

import cuihop
from cuihop._kernels.shared import nn_iou_of_counts
from cuihop.adapter_rules import name_concepts, of_code, replaced
from cuihop.annotation.mentions import Annotations
from cuihop.annotation.options import AnnotationOptions
from cuihop.annotation.texts import checked_texts
from cuihop.errors import (
    AmbiguousCode,
    ConceptError,
    ConceptRetired,
    InputError,
    InvalidCui,
    LimitExceeded,
    NotAllowed,
    parameter_named,
)
from cuihop.graph import (
    CODES_ARE_HIDDEN,
    CodeLookup,
    Concept,
    ConceptGraph,
    Direction,
    DistancePack,
    Distances,
    MapLookup,
    Neighbourhood,
    Path,
    Resolution,
    SearchHit,
    ShortestPaths,
    checked_direction,
    checked_hops,
    resolved,
)
from cuihop.identifiers import EXPECTED, codes_among, in_upper_case
from cuihop.measures.nearness import BY_SIMILARITY, Nearness, credit_of_near, pair_similarities
from cuihop.measures.nn_iou import ConceptOverlap, concept_overlap
from cuihop.measures.resolution import resolved_concepts
from cuihop.operations.answers import (
    ConceptsAnswer,
    DistancesAnswer,
    ReleaseAnswer,
    RelevancesAnswer,
    ServiceLimits,
    concepts_among,
    extended,
)
from cuihop.operations.table import Operation
from cuihop_service.callers import Caller
from cuihop_service.graph_holder import GraphHolder, Lease, ServedGraph
from cuihop_service.keyed_pairs import KeyedPairs
from cuihop_service.limits import Limits
from cuihop_service.request_context import Answer, RequestContext, Tier
from cuihop_service.similarity import CorpusCounts, SimilarityService, index_of

Q = TypeVar("Q")
A = TypeVar("A")

_PAIRS_OF_INDEX = 4096  # between two looks at the clock: some hundredths of a second
_PAIRS_OF_CYPHER = 500
_CONCEPTS = 1000
_QUICK_PAIRS = 64


class ConceptService:
    """Distances, paths, neighbourhoods and relevance in the release that is served now.

    Every method may be called from several threads at once, and answers from one release even where another one takes
    its place meanwhile. All raise the errors of `ConceptGraph`, `LimitExceeded`, `QueryTimedOut`, and `Cancelled`.

    Args:
        names: False hides names from every caller, whatever the scope: a UMLS licence may demand it.
        within_sabs: vocabularies that the graph is restricted to; none for all edges.
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

    def lent(self, context: RequestContext) -> Lease:
        """The release that is served now, with its restriction, for a request: see `GraphHolder.lent`."""
        return self.holder.lease(self._within_sabs, context.session)

    def is_quick(self, pairs: int = 1) -> bool:
        """True where this number of distances takes less time than to hand them to a thread."""
        return pairs <= _QUICK_PAIRS and self.holder.indexed and not self._within_sabs

    def sees_names(self, caller: Caller) -> bool:
        """True where the caller may see names."""
        return self._names and caller.may("names")

    def answer(self, operation: Operation[Q, A], request: Q, context: RequestContext) -> Answer[A]:
        """The answer of an operation to a request, as a value of its class."""
        if sabs := getattr(request, "code_sabs", ()):
            return self._with_codes(operation, request, sabs, context)
        core: Any = self.similarity if operation.group == "similarity" else self
        arguments = {name: getattr(request, name) for name in operation.arguments}
        compute: Callable[[], Answer[Any]] = partial(getattr(core, operation.name), **arguments, context=context)
        answer = self._checked_codes(compute, context)
        value = operation.of(answer.value, request)
        if answer.from_cache and isinstance(value, DistancesAnswer):
            value = replace(value, from_cache=answer.from_cache)
        return Answer(value, answer.digest, answer.tier, answer.merged, answer.from_cache)

    def _with_codes(
        self, operation: Operation[Q, A], request: Any, sabs: Sequence[str], context: RequestContext
    ) -> Answer[A]:
        """The answer of an operation with the codes of its concepts, both of one release."""
        self.check_names(context)
        with self.lent(context) as served, parameter_named("sabs", "code_sabs"):
            core = self.on(served, context.caller)
            answer = core.answer(operation, replace(request, code_sabs=()), context)
            rows: Any = operation.coded and getattr(answer.value, operation.coded)
            lookups = core.codes([*dict.fromkeys(concepts_among(rows))], sabs=sabs, context=context).value
            return replace(answer, codes=[code for lookup in lookups for code in lookup.codes])

    def on(self, served: ServedGraph, caller: Caller) -> ConceptService:
        """The same operations on one release, for one caller."""
        holder = GraphHolder()
        holder.serve(served)
        return ConceptService(holder, self.limits, names=self.sees_names(caller), corpus=self.corpus)

    def release(self, *, context: RequestContext) -> ReleaseAnswer:
        """The release that is served, and the limits of the service."""
        limits = ServiceLimits(**{f.name: getattr(self.limits, f.name) for f in fields(ServiceLimits)})
        with self.lent(context) as served:
            return extended(
                ReleaseAnswer,
                served.release,
                indexed=served.index is not None,
                names=self.sees_names(context.caller),
                limits=limits,
                service_version=cuihop.__version__,
            )

    # Distances and paths

    def distance(
        self, a: str, b: str, *, direction: str = "any", max_hops: int | None = None, context: RequestContext
    ) -> Answer[int | None]:
        """The distance of one pair: see `ConceptGraph.distances`."""
        direction, bound = checked_direction(direction), self._checked_bound(max_hops)
        self.limits.check_identifiers((a, b))
        with self.lent(context) as served:
            if served.index is not None:
                hops = served.index.distance_of_current(a, b, direction=direction, max_hops=bound)
                if hops is not None:
                    return Answer(hops[0], served.digest, "index", {})
            compute = partial(self._distances, served, [(a, b)], direction, bound, context)
            answer = self._checked_codes(compute, context)
            return Answer(answer.value[0], answer.digest, answer.tier, answer.merged, answer.from_cache)

    def distances(
        self,
        pairs: Sequence[tuple[str, str]],
        *,
        direction: str = "any",
        max_hops: int | None = None,
        context: RequestContext,
    ) -> Answer[Distances]:
        """The distances of many pairs: all or none. `KeyedPairs` take the quickest path."""
        direction, bound = checked_direction(direction), self._checked_bound(max_hops)
        self.limits.check("pairs", len(pairs))
        keyed = pairs if isinstance(pairs, KeyedPairs) else KeyedPairs.of(pairs)
        if keyed is None:
            for a, b in pairs:
                self.limits.check_identifiers((a, b))
        with self.lent(context) as served:
            return self._distances(
                served, pairs if keyed is None or served.index is None else keyed, direction, bound, context
            )

    def _distances(
        self,
        served: ServedGraph,
        pairs: Sequence[tuple[str, str]],
        direction: Direction,
        bound: int | None,
        context: RequestContext,
    ) -> Answer[Distances]:
        graph, tier = served.quickest
        size = _PAIRS_OF_INDEX if tier == "index" else _PAIRS_OF_CYPHER
        chunks: list[Distances] = []
        merged: dict[str, str] = {}
        from_cache = 0
        for chunk in context.chunks(pairs, size):
            if served.cached is not None:
                answered = served.cached.answered(chunk, direction=direction, max_hops=bound, timeout=context.remaining)
                distances = answered.distances
                from_cache += int(answered.from_cache.sum())
            else:
                keyed = None
                if served.index is not None and isinstance(chunk, KeyedPairs):  # without identifiers that need more
                    keyed = served.index.distances_of_keys(chunk.keys, direction=direction, max_hops=bound)
                distances = graph.distances(chunk, direction=direction, max_hops=bound) if keyed is None else keyed
            chunks.append(distances)
            merged.update(distances.merged)
        if pairs and from_cache == len(pairs):
            tier = "cache"
        return Answer(_joined(chunks, direction, bound, merged), served.digest, tier, merged, from_cache)

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
        direction, bound = checked_direction(direction), self._checked_bound(max_hops)
        self.limits.check_identifiers((a, b))
        with self._checked(context) as (served, graph, tier):
            path = graph.path(a, b, direction=direction, max_hops=bound, which=which)
            names: Sequence[str | None] = ()
            if path is not None:
                names = graph.names(path.cuis) if self.sees_names(context.caller) else [None] * len(path.cuis)
                merged = path.merged
            else:
                merged = replaced(graph.resolve([a, b]))
            return Answer((path, names), served.digest, tier, merged)

    def paths(
        self,
        a: str,
        b: str,
        *,
        direction: str = "any",
        max_hops: int | None = None,
        limit: int | None = None,
        context: RequestContext,
    ) -> Answer[ShortestPaths | None]:
        """All shortest paths as one graph. Without a limit, more concepts than the service allows are an error."""
        direction, bound = checked_direction(direction), self._checked_bound(max_hops)
        self.limits.check_identifiers((a, b))
        most = self.limits.neighbours if limit is None else checked_hops(limit, "limit") or 0
        self.limits.check("neighbours", most)
        with self._checked(context) as (served, graph, tier):
            paths = graph.paths(a, b, direction=direction, max_hops=bound, limit=most)
            if limit is None and paths is not None and paths.truncated:
                self.limits.check("neighbours", most + 1)
            merged = replaced(graph.resolve([a, b])) if paths is None else paths.merged
            return Answer(paths, served.digest, tier, merged)

    def neighbourhoods(
        self,
        cuis: Sequence[str],
        *,
        hops: int | None = 1,
        direction: str = "any",
        limit: int | None = None,
        context: RequestContext,
    ) -> Answer[list[Neighbourhood]]:
        """The concepts around each centre. Without a limit, more than the service allows is an error."""
        direction, bound, most = (
            checked_direction(direction),
            self._checked_bound(hops, "hops"),
            checked_hops(limit, "limit"),
        )
        self.limits.check_identifiers(cuis, "concepts")
        remaining = self.limits.neighbours
        answers: list[Neighbourhood] = []
        with self.lent(context) as served:
            graph, tier = served.quickest
            resolved(graph.resolve(cuis), graph.release)  # all identifiers at fault in one error
            for cui in cuis:
                context.check()
                allowed = remaining if most is None else min(most, remaining)
                hood = graph.neighbours([cui], hops=bound, direction=direction, limit=allowed)[0]
                requested = hood.total if most is None else min(hood.total, most)
                if requested > remaining:
                    self.limits.check("neighbours", self.limits.neighbours - remaining + requested)
                remaining -= requested
                answers.append(hood)
            merged = {old: new for hood in answers for old, new in hood.merged.items()}
            return Answer(answers, served.digest, tier, merged)

    def neighbourhood(
        self, cui: str, *, hops: int = 1, direction: str = "any", limit: int | None = None, context: RequestContext
    ) -> Answer[list[Neighbourhood]]:
        """The concepts around one: see `neighbourhoods`."""
        return self.neighbourhoods([cui], hops=hops, direction=direction, limit=limit, context=context)

    def pack(
        self, cuis: Sequence[str], *, hops: int, direction: str = "any", context: RequestContext
    ) -> Answer[DistancePack]:
        """All distances up to a bound among distinct concepts."""
        direction, bound = checked_direction(direction), self._checked_bound(hops, "hops")
        if bound is None:
            raise InputError("a pack needs a bound", column="hops", found="null", expected="0 to 255")
        self.limits.check_identifiers(cuis, "pack_concepts")
        with self._checked(context) as (served, graph, tier):
            pack = graph.pack(cuis, hops=bound, direction=direction)
            merged = {old: new for old, new in zip(cuis, pack.cuis, strict=True) if old != new}
            return Answer(pack, served.digest, tier, merged)

    # Relevance

    def relevance(
        self, a: Sequence[str], b: Sequence[str], *, context: RequestContext, **rule: Any
    ) -> Answer[ConceptOverlap]:
        """Overlap of two concept sets by a rule of `Nearness`, with its reasons: see `concept_overlap`."""
        near = Nearness(**rule)
        self.check_sets(a, b)
        self._check_concepts(a, b)
        self.limits.check_hops(near.n)
        with self._checked(context, near) as (served, graph, tier):
            overlap = concept_overlap(a, b, graph, **(rule | {"lam": near.lam}))
            return Answer(overlap, served.digest, tier, overlap.resolved.replaced)

    def relevances(
        self, query: Sequence[str], corpus: Sequence[Sequence[str]], *, context: RequestContext, **rule: Any
    ) -> Answer[RelevancesAnswer]:
        """IoU and nn-IoU of one concept set with each of many by a rule of `Nearness` (Wei et al. 2025)."""
        near = Nearness(**rule)
        self.limits.check("sets", len(corpus))
        self.limits.check_hops(near.n)
        self._check_concepts(query, *corpus)
        with self._checked(context, near) as (served, graph, tier):
            resolution = resolved_concepts({c for s in (query, *corpus) for c in s}, graph, near.unknown)
            A = resolution.concepts(query)
            sets = [resolution.concepts(concepts) for concepts in corpus]
            others = set().union(*sets) - resolution.isolated if sets else set()
            pairs = [(a, b) for a in sorted(A - resolution.isolated) for b in sorted(others) if a != b]
            self.limits.check("comparisons", len(pairs))
            by_similarity = near.weight in BY_SIMILARITY
            best = max if by_similarity else min
            near_a: dict[str, dict[str, float]] = {}
            near_b: dict[str, float] = {}
            for chunk in context.chunks(pairs, _PAIRS_OF_INDEX if tier == "index" else _PAIRS_OF_CYPHER):
                distances = graph.distances(chunk, direction=near.direction, max_hops=near.n)
                strengths: dict[tuple[str, str], float] = {
                    pair: hops for pair, hops in zip(chunk, distances, strict=True) if hops is not None
                }
                if by_similarity:
                    values = pair_similarities(graph, strengths, near.weight, near.ic)
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
                of_a = [best(strengths) for strengths in around if strengths]
                credit = credit_of_near(of_a, of_b, near.lam, near.weight)
                iou.append(nn_iou_of_counts(len(shared), 0, union, 0.0))
                nn_iou.append(nn_iou_of_counts(len(shared), credit, union, 1.0))
            outside = tuple(sorted(resolution.isolated)), tuple(sorted(resolution.dropped))
            row = RelevancesAnswer(tuple(iou), tuple(nn_iou), *outside)
            return Answer(row, served.digest, tier, resolution.replaced)

    # Concepts

    def search(self, text: str, *, limit: int | None = None, context: RequestContext) -> Answer[list[SearchHit]]:
        """Concepts by name, synonym or identifier."""
        self.check_names(context)
        most = 10 if limit is None else limit
        self.limits.check("hits", most)
        self.limits.check_text(text, "text")
        with self._checked(context) as (served, graph, tier):
            return Answer(graph.search(text, limit=most), served.digest, tier, {})

    def annotate(
        self, texts: Sequence[str], options: AnnotationOptions, *, context: RequestContext
    ) -> Answer[Annotations]:
        """Mentions of concepts in texts: see `ConceptGraph.annotate_many`. Only with the release in memory."""
        self.check_names(context)
        self.limits.check_texts(checked_texts(texts))
        context.check()
        listed = (*options.semantic_types, *options.sabs, *options.stop)
        self.limits.check("concepts", len(listed))
        for item in listed:
            self.limits.check_text(item, "options")
        with self.lent(context) as served:
            annotations = index_of(served, "texts are annotated").annotate_many(texts, options)
            candidates = 0 if annotations.candidates is None else len(annotations.candidates[1])
            self.limits.check("mentions", len(annotations.terms) + candidates)
            return Answer(annotations, served.digest, "index", {})

    def concept(self, cui: str, *, context: RequestContext) -> Answer[ConceptsAnswer]:
        """One concept: see `concepts`."""
        return self.concepts([cui], context=context)

    def concepts(
        self, cuis: Sequence[str], *, names_only: bool = False, codes: bool = True, context: RequestContext
    ) -> Answer[ConceptsAnswer]:
        """Concepts as the release describes them; names, synonyms and definitions only for callers who may see them."""
        self.limits.check_identifiers(cuis, "concepts")
        named = self.sees_names(context.caller)
        with self.lent(context) as served:
            graph, tier = served.quickest
            resolutions = graph.resolve(cuis)
            current = resolved(resolutions, graph.release)
            records: list[Concept] = []
            for chunk in context.chunks(current, _CONCEPTS):
                if names_only:
                    names = graph.names(chunk) if named else [None] * len(chunk)
                    records += [Concept(cui, name, (), (), 0, 0) for cui, name in zip(chunk, names, strict=True)]
                else:
                    records += graph.concepts(chunk, codes=codes and named)
            if not named:
                records = [replace(concept, name=None, synonyms=(), definitions=()) for concept in records]
            described = ConceptsAnswer(tuple(records), names_hidden=not named)
            return Answer(described, served.digest, tier, replaced(resolutions))

    def codes(
        self, identifiers: Sequence[str], *, sabs: Sequence[str] = (), context: RequestContext
    ) -> Answer[list[CodeLookup]]:
        """Codes of source vocabularies for concepts, and the concepts of codes: see `ConceptGraph.codes`."""
        self.check_names(context)
        self.limits.check("concepts", len(sabs))
        for sab in sabs:
            self.limits.check_text(sab, "sabs")
        return self._lookups(identifiers, lambda graph, chunk: graph.codes(chunk, sabs=sabs), "codes", context)

    def code_maps(self, identifiers: Sequence[str], *, context: RequestContext) -> Answer[list[MapLookup]]:
        """Published mappings of codes: see `ConceptGraph.code_maps`."""
        self.check_names(context)
        return self._lookups(identifiers, lambda graph, chunk: graph.code_maps(chunk), "maps", context)

    def _lookups(
        self,
        identifiers: Sequence[str],
        look_up: Callable[[ConceptGraph, Sequence[str]], Sequence[Any]],
        rows: str,
        context: RequestContext,
    ) -> Answer[list[Any]]:
        """Look up each identifier. The answers have at most as many items of their attribute ``rows`` as is allowed."""
        self.limits.check_identifiers(identifiers, "concepts")
        with self._checked(context) as (served, graph, tier):
            lookups = list[Any](() if identifiers else look_up(graph, []))  # which may be an error
            number = 0
            for chunk in context.chunks(identifiers, _CONCEPTS):
                lookups += look_up(graph, chunk)
                number += sum(len(getattr(lookup, rows)) for lookup in lookups[-len(chunk) :])
                if number > (allowed := self.limits.neighbours):
                    raise LimitExceeded(f"too many {rows}: found {number:,} or more; this service allows {allowed:,}")
            return Answer(lookups, served.digest, tier, replaced(lookups))

    def resolutions(self, cuis: Sequence[str], *, context: RequestContext) -> Answer[list[Resolution]]:
        """Resolution of each identifier."""
        self.limits.check_identifiers(cuis, "concepts")
        with self._checked(context) as (served, graph, tier):
            resolutions = graph.resolve(cuis)
            self._check_codes([r.requested for r in resolutions if of_code(r.candidates)], context)
            return Answer(resolutions, served.digest, tier, replaced(resolutions))

    def name_concepts(self, error: ConceptError, context: RequestContext) -> None:
        """Add concepts to an error about names in place of identifiers, if the caller may see names."""
        if self.sees_names(context.caller):
            name_concepts(error, lambda text, most: self.search(text, limit=most, context=context).value)

    # Checks of a request

    def check_names(self, context: RequestContext) -> None:
        """Refuse a caller who may not see names."""
        if not self._names:
            raise NotAllowed("this service shows no names")
        context.caller.check("names")

    def _check_codes(self, codes: Collection[str], context: RequestContext) -> None:
        """Refuse codes in place of identifiers of a caller who may not see names: what they stand for is licensed."""
        if codes and not self.sees_names(context.caller):
            raise NotAllowed(CODES_ARE_HIDDEN)

    def _checked_codes(self, compute: Callable[[], Answer[A]], context: RequestContext) -> Answer[A]:
        """The answer; refuses codes that the caller may not see, in it or in its error: see `_check_codes`."""
        try:
            answer = compute()
        except (AmbiguousCode, ConceptRetired) as error:
            self._check_codes([cui for cui, others in error.candidates.items() if of_code(others)], context)
            raise
        self._check_codes(codes_among(answer.merged), context)
        return answer

    def check_sets(self, a: Sequence[str], b: Sequence[str]) -> None:
        """Refuse two concept sets that are too large by a `LimitExceeded`."""
        for concepts in (a, b):
            self.limits.check("set_concepts", len(concepts))
        self.limits.check("comparisons", len(a) * len(b))

    def _check_concepts(self, *sets: Sequence[str]) -> None:
        """Refuse large sets, long identifiers, and CUIs in lower case: no answer could say how these were read."""
        for concepts in sets:
            self.limits.check_identifiers(concepts, "set_concepts")
            if lower := [cui for cui in concepts if in_upper_case(cui) != cui]:
                raise InvalidCui(lower, expected=EXPECTED["cui"])

    @contextmanager
    def _checked(
        self, context: RequestContext, near: Nearness | None = None
    ) -> Iterator[tuple[ServedGraph, ConceptGraph, Tier]]:
        """The release, its quickest graph and the tier of that, if there is time and the index that a weight needs."""
        context.check()
        with self.lent(context) as served:
            if near is not None and near.weight in BY_SIMILARITY:
                index_of(served)
            yield served, *served.quickest

    def _checked_bound(self, hops: int | None, name: str = "max_hops") -> int | None:
        bound = checked_hops(hops, name)
        self.limits.check_hops(bound)
        return bound


def _joined(
    chunks: Sequence[Distances], direction: Direction, bound: int | None, merged: Mapping[str, str]
) -> Distances:
    """The answers to the chunks of a batch as the answer to the batch."""
    if len(chunks) == 1:
        return chunks[0]
    if not chunks:
        return Distances(np.empty(0, dtype=np.int32), np.empty(0, dtype=np.bool_), direction, bound)
    hops = np.concatenate([chunk.hops for chunk in chunks])
    return Distances(hops, np.concatenate([chunk.reached for chunk in chunks]), direction, bound, merged)
