"""Best one-to-one matchings of small sets, with integer weights, so that no sum depends on its order."""

from __future__ import annotations

import numpy as np

from cuihop._kernels.jit import compiled
from cuihop.resources.arrays import Bool, Int32, Int64, UInt8

_FAR = np.int64(2**62)


@compiled
def largest_total(weights: Int64, rows: int, columns: int, scratch: Int64) -> int:
    """The largest total weight of a matching of every row with a column of its own; ``rows`` ≤ ``columns``.

    The Hungarian method with shortest augmenting paths (Jonker and Volgenant 1987), O(rows² · columns). It works on
    costs, the negated weights. Column 0 of the arrays is a virtual column, matched to the row to be placed.

    Args:
        weights: shape (at least rows, at least columns).
        scratch: shape (6, at least columns + 1): prices of rows, prices of columns, the row of a column, lengths of
            paths, the column before on a path, columns done.
    """
    row_price, column_price, row_of, length, before, done = (
        scratch[0], scratch[1], scratch[2], scratch[3], scratch[4], scratch[5],
    )  # fmt: skip
    for column in range(columns + 1):
        row_price[column] = 0
        column_price[column] = 0
        row_of[column] = 0
    for first in range(1, rows + 1):
        row_of[0] = first
        at = 0
        for column in range(columns + 1):
            length[column] = _FAR
            done[column] = 0
        while row_of[at] != 0:
            done[at] = 1
            row = row_of[at]
            step = _FAR
            nearest = 0
            for column in range(1, columns + 1):
                if done[column] == 0:
                    reached = -weights[row - 1, column - 1] - row_price[row] - column_price[column]
                    if reached < length[column]:
                        length[column] = reached
                        before[column] = at
                    if length[column] < step:
                        step = length[column]
                        nearest = column
            for column in range(columns + 1):
                if done[column] == 1:
                    row_price[row_of[column]] += step
                    column_price[column] -= step
                else:
                    length[column] -= step
            at = nearest
        while at != 0:
            row_of[at] = row_of[before[at]]
            at = before[at]
    total = 0
    for column in range(1, columns + 1):
        if row_of[column] != 0:
            total += weights[row_of[column] - 1, column - 1]
    return total


@compiled
def bounds(
    first: int,
    query_indptr: Int64,
    query_concepts: Int32,
    corpus_indptr: Int64,
    corpus_concepts: Int32,
    hops: UInt8,
    weight_of: Int64,
    weights: Int64,
    taken: Int64,
    totals: Int64,
    contested: Bool,
) -> None:
    """Upper bound of the matchings of each query set ``first``, ``first + 1``, … with each corpus set.

    The bound is the sum of the heaviest weights of the smaller set's concepts. If their partners are all different,
    it is the largest total itself; where two concepts have the same partner, the pair of sets is contested.

    Args:
        query_*, corpus_*: set → its concepts, in compressed rows.
        hops: shape (concepts, concepts): from a concept of a query to one of the corpus.
        weight_of: number in ``hops`` → weight, shape (256,), none below 0.
        weights, taken: memory of one thread, shapes (largest, concepts) and (largest,), where ``largest`` is the size
            of the largest set. ``taken`` holds zeros.
        totals, contested: receive the answers, shape (query sets of the block, corpus sets).
    """
    stamp = 0
    for row in range(totals.shape[0]):
        low = query_indptr[first + row]
        size = query_indptr[first + row + 1] - low
        for i in range(size):
            for b in range(hops.shape[1]):
                weights[i, b] = weight_of[hops[query_concepts[low + i], b]]
        for other in range(totals.shape[1]):
            start = corpus_indptr[other]
            other_size = corpus_indptr[other + 1] - start
            turned = other_size < size
            stamp += 1
            total = 0
            free_for_all = True
            for i in range(min(size, other_size)):
                heaviest = -1
                free = -1
                partner = 0
                for j in range(max(size, other_size)):
                    if turned:
                        weight = weights[j, corpus_concepts[start + i]]
                    else:
                        weight = weights[i, corpus_concepts[start + j]]
                    heaviest = max(heaviest, weight)
                    if weight > free and taken[j] != stamp:
                        free = weight
                        partner = j
                total += heaviest
                if free == heaviest:
                    taken[partner] = stamp
                else:
                    free_for_all = False
            totals[row, other] = total
            contested[row, other] = not free_for_all
    taken.fill(0)


@compiled
def solve(
    first: int,
    query_indptr: Int64,
    query_concepts: Int32,
    corpus_indptr: Int64,
    corpus_concepts: Int32,
    hops: UInt8,
    weight_of: Int64,
    table: Int64,
    scratch: Int64,
    contested: Bool,
    totals: Int64,
) -> None:
    """Replace the bound by the largest total of a matching, for the pairs in ``contested``; arguments as in `bounds`.

    ``table``, ``scratch``: memory of one thread, shapes (largest, largest) and (6, largest + 1).
    """
    for row in range(totals.shape[0]):
        low = query_indptr[first + row]
        size = query_indptr[first + row + 1] - low
        for other in range(totals.shape[1]):
            if contested[row, other]:
                start = corpus_indptr[other]
                other_size = corpus_indptr[other + 1] - start
                turned = other_size < size
                for i in range(size):
                    for j in range(other_size):
                        weight = weight_of[hops[query_concepts[low + i], corpus_concepts[start + j]]]
                        if turned:
                            table[j, i] = weight
                        else:
                            table[i, j] = weight
                totals[row, other] = largest_total(table, min(size, other_size), max(size, other_size), scratch)
