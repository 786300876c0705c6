"""The images of an evaluation: queries and corpus, with their identifiers resolved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
import numpy.typing as npt

from cuihop.collection.image_concepts import ImageConcepts
from cuihop.collection.image_names import own_rows
from cuihop.errors import InputError
from cuihop.files.content_digest import content_digest
from cuihop.graph import ConceptGraph, Direction
from cuihop.measures.resolution import ResolvedConcepts, Unknown, check_some_known, resolved_concepts
from cuihop.relevance.relevance_index import RelevanceIndex
from cuihop.resources.memory_budget import MemoryBudget
from cuihop.resources.versions import versions

__all__ = ["ImageCollection"]


@dataclass(frozen=True, eq=False)
class ImageCollection:
    """Queries, corpus, and what their identifiers stand for.

    Attributes:
        queries, corpus: the images. One object where the queries are the corpus.
        resolved: what became of the identifiers.
    """

    queries: ImageConcepts
    corpus: ImageConcepts
    resolved: ResolvedConcepts

    @classmethod
    def of(cls, queries: object, corpus: object, graph: ConceptGraph | None, unknown: Unknown) -> ImageCollection:
        """From what users give: see `ImageConcepts.of`; ``corpus=None`` is the queries.

        Raises:
            InputError: there is no query, no image in the corpus, or no concept that the graph holds.
            InvalidCui: identifiers are malformed. ConceptError: they cannot be used, and ``unknown`` is ``error``.
        """
        asked = ImageConcepts.of(queries)
        held = asked if corpus is None else ImageConcepts.of(corpus)
        for images, what in ((asked, "queries"), (held, "corpus")):
            if not images:
                raise InputError(f"the {what} hold no image", expected="at least one")
        identifiers = {concept for images in (asked, held) for concepts in images.values() for concept in concepts}

        def where(identifier: str) -> str | None:
            return asked.place_of(identifier) or held.place_of(identifier)

        made = cls(asked, held, resolved_concepts(identifiers, graph, unknown, where))
        if graph is not None and made.resolved.isolated:
            for images in {id(images): images for images in (asked, held) if not images.derived}.values():
                check_some_known(made.resolved, Counter(chain.from_iterable(images.values())), graph, images.source)
        return made

    @property
    def one(self) -> bool:
        """Whether the queries are the corpus."""
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
    def own_rows(self) -> npt.NDArray[np.int32]:
        """The place of each query in the corpus; -1 for one that is not in it."""
        return own_rows(self.query_names, self.corpus_names)

    @cached_property
    def query_sets(self) -> Sequence[frozenset[str]]:
        """The concepts of each query."""
        return [self.resolved.concepts(identifiers) for identifiers in self.queries.values()]

    @cached_property
    def corpus_sets(self) -> Sequence[frozenset[str]]:
        """The concepts of each image of the corpus."""
        if self.one:
            return self.query_sets
        return [self.resolved.concepts(identifiers) for identifiers in self.corpus.values()]

    @cached_property
    def occurrences(self) -> Counter[str]:
        """How many images have each identifier; queries and corpus both count where they are two."""
        counted = Counter(identifier for identifiers in self.queries.values() for identifier in identifiers)
        if not self.one:
            counted.update(identifier for identifiers in self.corpus.values() for identifier in identifiers)
        return counted

    def depends(self, graph: ConceptGraph | None) -> dict[str, str | None]:
        """What tells these images and this graph from others, for a checkpoint: digests, and versions of the code."""
        told = versions("cuihop", "numpy", "numba")
        return {
            **{f"version of {name}": told[name] for name in ("cuihop", "numpy", "numba")},
            "content of queries": self.queries.digest,
            "content of corpus": self.corpus.digest,
            "order of images": content_digest([self.query_names, self.corpus_names]),
            "release digest": None if graph is None else graph.release.digest,
        }

    def index(
        self, graph: ConceptGraph | None, *, hops: int, direction: Direction, memory: MemoryBudget | None = None
    ) -> RelevanceIndex:
        """The index that gains are computed from."""
        return RelevanceIndex(
            self.query_sets,
            self.corpus_sets,
            self.corpus_names,
            graph,
            hops=hops,
            direction=direction,
            isolated=self.resolved.isolated,
            memory=memory,
        )
