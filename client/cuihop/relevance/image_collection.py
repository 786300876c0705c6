"""The images of an evaluation: queries and corpus, with their identifiers resolved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cuihop.collection.dataset import DataLike, Dataset
from cuihop.collection.distinct_sets import DistinctSets
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.collection.image_rows import own_rows
from cuihop.errors import ConceptNotFound, ConceptRetired, InputError, checked_choice
from cuihop.files.content_digest import content_digest
from cuihop.graph import ConceptGraph
from cuihop.measures.nearness import Nearness
from cuihop.measures.resolution import ResolvedConcepts, Unknown, check_some_known, resolved_concepts
from cuihop.rankings.ranking import QueryImage
from cuihop.relevance.concept_sets import ConceptSets
from cuihop.relevance.relevance_index import RelevanceIndex
from cuihop.resources.arrays import Int32, Int64
from cuihop.resources.memory_budget import MemoryBudget
from cuihop.resources.optional_packages import versions


@dataclass(frozen=True, eq=False)
class ImageCollection:
    """Queries and corpus, one object if they are the same, and the concepts of the graph behind their identifiers."""

    queries: ImageConcepts
    corpus: ImageConcepts
    resolved: ResolvedConcepts
    query_image: QueryImage = "exclude"

    @classmethod
    def of(
        cls, images: DataLike, graph: ConceptGraph | None, unknown: Unknown, query_image: QueryImage = "exclude"
    ) -> ImageCollection:
        """Resolve the identifiers of a `Dataset`, or of images that are both queries and corpus.

        Raises:
            InputError: there is no query, no image in the corpus, or no concept that the graph holds.
            InvalidCui, ConceptError: identifiers are malformed, or cannot be used and ``unknown`` is ``error``.
        """
        queries, corpus = Dataset.of(images).images
        for side, name in ((queries, "queries"), (corpus, "corpus")):
            if not side:
                raise InputError(f"the {name} hold no image", expected="at least one")
        identifiers = queries.distinct.occurrences.keys() | corpus.distinct.occurrences.keys()
        sides = {id(side): side for side in (queries, corpus)}.values()
        try:
            resolved = resolved_concepts(identifiers, graph, unknown, lambda cui: _place_of(cui, sides))
        except (ConceptRetired, ConceptNotFound) as error:
            total = sum(side.occurrences for side in sides)
            times = sum(side.distinct.occurrences[cui] for side in sides for cui in error.cuis)
            error.args = (
                f"{error}; {times / total:.1%} of the concepts ({times:,} of {total:,} occurrences). "
                "unknown='isolated' (--unknown isolated) accepts them: each matches only itself; drop leaves them out.",
            )
            raise
        if graph is not None and resolved.outside:
            for side in sides:
                if not side.derived and graph.release.digest not in side.checked:
                    check_some_known(resolved, side.distinct.occurrences, graph, side.source)
                    side.checked.add(graph.release.digest)
        return cls(queries, corpus, resolved, checked_choice("query_image", query_image, QueryImage))

    @property
    def one(self) -> bool:
        """True if the queries are the corpus."""
        return self.queries is self.corpus

    @cached_property
    def query_names(self) -> tuple[str, ...]:
        """The query images in the order of their file."""
        return tuple(self.queries)

    @cached_property
    def corpus_names(self) -> tuple[str, ...]:
        """The images of the corpus in the order of their file."""
        return self.query_names if self.one else tuple(self.corpus)

    @cached_property
    def own_rows(self) -> Int32:
        """The index of each query in the corpus, which leaves it out; -1 for one that is not in it, or stays."""
        rows = own_rows(self.query_names, self.corpus_names)
        return rows if self.query_image == "exclude" else np.full_like(rows, -1)

    @cached_property
    def query_sets(self) -> DistinctSets:
        """The concepts of each query."""
        return self.queries.distinct.mapped(self.resolved.concepts)

    @cached_property
    def corpus_sets(self) -> DistinctSets:
        """The concepts of each image of the corpus."""
        return self.query_sets if self.one else self.corpus.distinct.mapped(self.resolved.concepts)

    @cached_property
    def occurrences(self) -> Counter[str]:
        """Number of images with each identifier; queries and corpus both count if they are two."""
        counted = self.queries.distinct.occurrences
        return counted if self.one else counted + self.corpus.distinct.occurrences

    @property
    def codes_digest(self) -> str | None:
        """Digest of the concepts of codes, which that of the release does not cover; ``None`` without codes."""
        codes = self.resolved.codes
        return content_digest({code: list(concepts) for code, concepts in codes.items()}) if codes else None

    def depends(self, graph: ConceptGraph | None) -> dict[str, str | None]:
        """Digests of these images and this graph, and versions of the code, for a checkpoint."""
        installed = versions("cuihop", "numpy", "numba")
        return {
            **{f"version of {name}": installed[name] for name in ("cuihop", "numpy", "numba")},
            "content of queries": self.queries.digest,
            "content of corpus": self.corpus.digest,
            "order of images": content_digest([self.query_names, self.corpus_names]),
            "query image": self.query_image,
            **({} if self.codes_digest is None else {"concepts of codes": self.codes_digest}),
            "release digest": None if graph is None else graph.release.digest,
        }

    def numbered_sets(self, numbers: dict[str, int], indices: Int64 | None = None) -> tuple[ConceptSets, ConceptSets]:
        """Distinct concept sets of the queries, or of those at these indices, and of the corpus, in numbers."""
        corpus = ConceptSets.numbered(self.corpus_sets, numbers)
        if indices is not None:
            return ConceptSets.numbered(self.query_sets.at(indices), numbers), corpus
        return (corpus if self.one else ConceptSets.numbered(self.query_sets, numbers)), corpus

    def index(
        self,
        graph: ConceptGraph | None,
        nearness: Nearness,
        memory: MemoryBudget | None = None,
        indices: Int64 | None = None,
    ) -> RelevanceIndex:
        """The index of the gains; of the queries with these indices, or of all."""
        return RelevanceIndex(
            self.query_sets if indices is None else self.query_sets.at(indices),
            self.corpus_sets,
            self.corpus_names,
            graph,
            nearness,
            isolated=self.resolved.isolated,
            memory=memory,
            indices=indices,
        )


def _place_of(identifier: str, sides: Iterable[ImageConcepts]) -> str | None:
    """The first occurrence of an identifier in the collections."""
    return next(filter(None, (side.place_of(identifier) for side in sides)), None)
