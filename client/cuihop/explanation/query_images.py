"""The inputs of an explanation of a query: images, collection and ranking, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuihop.collection.image_concepts import ImageConcepts
from cuihop.errors import InputError
from cuihop.files.likely_causes import cause_of_strange_name
from cuihop.files.text_lines import quoted
from cuihop.graph import ConceptGraph
from cuihop.measures.resolution import Unknown
from cuihop.rankings.blocks import RankingInBlocks
from cuihop.rankings.ranking import Ranking
from cuihop.relevance.image_collection import ImageCollection

__all__ = ["QueryImages"]


@dataclass(frozen=True, eq=False)
class QueryImages:
    """A query, the two images to compare, and the collection around them.

    Attributes:
        images: queries and corpus, identifiers resolved.
        query, above, below: names.
        concepts: of the query.
        row_above, row_below: rows of the corpus.
        ranked: int64: rows of the corpus that a ranking lists for the query, best first; ``None`` without one.
        source: of the ranking.
        accounts: role of each input → summary of its parsing.
    """

    images: ImageCollection
    query: str
    above: str
    below: str
    concepts: frozenset[str]
    row_above: int
    row_below: int
    ranked: npt.NDArray[np.int64] | None
    source: str
    accounts: Mapping[str, str]

    @classmethod
    def of(
        cls,
        images: object,
        query: str,
        graph: ConceptGraph,
        above: str,
        below: str,
        ranking: Ranking | RankingInBlocks | Mapping[str, Sequence[str]] | None,
        unknown: Unknown,
    ) -> QueryImages:
        """Check the arguments of `cuihop.explanation.explain_query`, which has the errors too."""
        collection = ImageCollection.of(images, graph, unknown)
        if query not in collection.queries:
            raise _no_image(query, "query", collection.queries)
        for image, role in ((above, "above"), (below, "below")):
            if image not in collection.corpus:
                raise _no_image(image, role, collection.corpus)
            if image == query:
                raise InputError("the query takes no part in its own ranking", column=role, found=quoted(image))
        if above == below:
            raise InputError("one image twice", column="below", found=quoted(below), expected="two images to compare")
        rows = {name: row for row, name in enumerate(collection.corpus_names)}
        ranked, source = None, ""
        accounts = {
            "concepts": collection.queries.account,
            **({} if collection.one else {"corpus": collection.corpus.account}),
        }
        if ranking is not None:
            if not isinstance(ranking, Mapping | RankingInBlocks):
                raise InputError("not a ranking", found=type(ranking).__name__, expected="query → images of the corpus")
            lists = ranking if isinstance(ranking, Ranking | RankingInBlocks) else Ranking.of(
                {query: ranking[query]} if query in ranking else {}, collection.query_names, collection.corpus_names
            )  # fmt: skip
            if (lists.queries, lists.corpus) != (collection.query_names, collection.corpus_names):
                raise InputError(
                    "the ranking is of other images, or of the same in another order", file=lists.source,
                    advice="dict(ranking) is matched by the names of the images.",
                )  # fmt: skip
            if isinstance(lists, Ranking) and query in lists.missing:
                raise InputError("no ranking for the query", file=lists.source, column="query", found=quoted(query))
            listed = lists[query] if isinstance(lists, Ranking) else lists.list_of(query)
            ranked = np.array([rows[image] for image in listed], dtype=np.int64)
            source = lists.source
            accounts["ranking"] = lists.account
        concepts = collection.resolved.concepts(collection.queries[query])
        return cls(collection, query, above, below, concepts, rows[above], rows[below], ranked, source, accounts)


def _no_image(image: str, role: str, images: ImageConcepts) -> InputError:
    return InputError(
        "no such image", column=role, found=quoted(str(image)),
        expected=f"one of the {len(images):,} images of {images.source}",
        advice=cause_of_strange_name(str(image), images),
    )  # fmt: skip
