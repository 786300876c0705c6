"""Ranking by the cosine of TF-IDF vectors of concepts. It needs neither images, nor a graph, nor a model."""

from __future__ import annotations

import numpy as np

from cuihop.relevance.concept_sets import ConceptSets
from cuihop.relevance.image_collection import ImageCollection
from cuihop.relevance.rank_by_gain import Float64, Int32, RankingWork, rank_by_gain

__all__ = ["rows_by_tfidf"]


def rows_by_tfidf(images: ImageCollection, depth: int, work: RankingWork) -> Int32:
    """The images of the largest cosine for each query: see `rank_by_gain`.

    A concept weighs ln((1 + N) / (1 + N_c)) + 1, where N_c of the N images of the corpus have it (scikit-learn's
    ``TfidfTransformer`` with its defaults). Each image has a concept once or not at all.
    """
    numbers = {
        c: i
        for i, c in enumerate(
            sorted({c for sets in (images.query_sets, images.corpus_sets) for one in sets for c in one})
        )
    }
    corpus = ConceptSets.numbered(images.corpus_sets, numbers)
    queries = corpus if images.one else ConceptSets.numbered(images.query_sets, numbers)
    owners = np.repeat(np.arange(len(corpus)), corpus.sizes)
    order = np.argsort(corpus.concepts, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(corpus.concepts, minlength=len(numbers)))])
    times = np.bincount(corpus.of, minlength=len(corpus))  # images of each set
    having = np.bincount(corpus.concepts, weights=times[owners], minlength=len(numbers))
    squares = (np.log((1 + len(images.corpus_names)) / (1 + having)) + 1) ** 2
    lengths, query_lengths = _lengths(corpus, squares), _lengths(queries, squares)

    def gains(first: int, last: int) -> Float64:
        found = np.zeros((last - first, len(corpus)), dtype=np.float64)
        for query in range(first, last):
            row = found[query - first]
            for concept in queries.concepts[queries.indptr[query] : queries.indptr[query + 1]]:
                row[owners[order[ends[concept] : ends[concept + 1]]]] += squares[concept]
            row /= lengths * query_lengths[query]
        return found

    return rank_by_gain(
        images, queries, corpus, depth, gains, bytes_a_pair=8, bytes_a_thread=16 * len(corpus), work=work
    )


def _lengths(sets: ConceptSets, squares: Float64) -> Float64:
    """Length of each set's vector; 1 for the empty set, which has no direction."""
    owners = np.repeat(np.arange(len(sets)), sets.sizes)
    summed = np.bincount(owners, weights=squares[sets.concepts], minlength=len(sets))
    lengths: Float64 = np.sqrt(np.where(summed > 0, summed, 1.0))
    return lengths
