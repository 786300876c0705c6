"""The largest of many products: candidates in single precision, values in double precision, and their order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]

TOO_MANY = -1
_AT_ONCE = 64  # products that are compared with the floor by vector instructions
_DIGIT = 11
_DIGITS = 3


@compiled
def gather(
    products: Float32, first: int, own: Int32, wanted: int, room: np.float32, floors: Float32, counts: Int64,
    values: Float32, rows: Int32,
) -> None:  # fmt: skip
    """Collect candidates for the ``wanted`` largest products of each query: all within ``room`` of the least of them.

    Args:
        products: shape (queries, images of a tile).
        first: the place of the tile's first image in the corpus.
        own: the position of each query in the corpus, which is left out.
        floors: smaller products are skipped; raised as candidates accumulate.
        counts: number of candidates of each query; `TOO_MANY` where they exceed the capacity.
        values, rows: the candidates, shape (queries, capacity), the capacity larger than ``wanted``.
    """
    capacity = values.shape[1]
    scratch = np.empty(capacity, dtype=np.float32)
    for query in range(products.shape[0]):
        count = counts[query]
        floor = floors[query]
        begin = 0
        while begin < products.shape[1] and count != TOO_MANY:
            some = products[query, begin : begin + _AT_ONCE]
            if len(some) < _AT_ONCE or _any_reaches(some, floor):
                for place in range(len(some)):
                    if some[place] >= floor and first + begin + place != own[query]:
                        values[query, count] = some[place]
                        rows[query, count] = first + begin + place
                        count += 1
                        if count == capacity:
                            count, floor = tightened(values[query], rows[query], count, wanted, room, floor, scratch)
                            if 4 * count > 3 * capacity:
                                count = TOO_MANY
                                break
            begin += _AT_ONCE
        counts[query] = count
        floors[query] = floor


@compiled
def _any_reaches(numbers: Float32, floor: np.float32) -> bool:
    """Compare exactly 64 numbers: a loop of fixed length becomes vector instructions."""
    hits = np.int32(0)
    for place in range(_AT_ONCE):
        hits += np.int32(numbers[place] >= floor)
    return bool(hits > 0)


@compiled
def tighten(wanted: int, room: np.float32, floors: Float32, counts: Int64, values: Float32, rows: Int32) -> None:
    """Drop candidates that have turned out too small: see `gather`."""
    scratch = np.empty(values.shape[1], dtype=np.float32)
    for query in range(len(counts)):
        if counts[query] > wanted:
            counts[query], floors[query] = tightened(
                values[query], rows[query], counts[query], wanted, room, floors[query], scratch
            )


@compiled
def tightened(
    values: Float32, rows: Int32, count: int, wanted: int, room: np.float32, floor: np.float32, scratch: Float32
) -> tuple[int, np.float32]:
    """Move the values that may still be among the largest to the front; return their number and the new floor."""
    scratch[:count] = values[:count]
    floor = max(floor, np.float32(_largest(scratch, count, wanted) - room))
    filled = 0
    for place in range(count):
        if values[place] >= floor:
            values[filled] = values[place]
            rows[filled] = rows[place]
            filled += 1
    return filled, floor


@compiled
def _largest(numbers: Float32, count: int, rank: int) -> np.float32:
    """The number at ``rank`` from 1 on, descending, by quickselect (Hoare); the numbers are reordered."""
    low, high, target = 0, count - 1, rank - 1
    while low < high:
        pivot = numbers[(low + high) // 2]
        left, right = low, high
        while left <= right:
            while numbers[left] > pivot:
                left += 1
            while numbers[right] < pivot:
                right -= 1
            if left <= right:
                numbers[left], numbers[right] = numbers[right], numbers[left]
                left += 1
                right -= 1
        if target <= right:
            high = right
        elif target >= left:
            low = left
        else:
            break
    return np.float32(numbers[target])


@compiled
def inner_product(a: Float64, b: Float64) -> float:
    """The sum of the products, added in eight lanes in one fixed order: the same on every processor."""
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    whole = len(a) // 8 * 8
    for at in range(0, whole, 8):
        s0 += a[at] * b[at]
        s1 += a[at + 1] * b[at + 1]
        s2 += a[at + 2] * b[at + 2]
        s3 += a[at + 3] * b[at + 3]
        s4 += a[at + 4] * b[at + 4]
        s5 += a[at + 5] * b[at + 5]
        s6 += a[at + 6] * b[at + 6]
        s7 += a[at + 7] * b[at + 7]
    rest = 0.0
    for at in range(whole, len(a)):
        rest += a[at] * b[at]
    return float(((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7)) + rest)


@compiled
def inner_products(ours: Float64, theirs: Float64, which: Int64, where: Int64, pairs: Int64, found: Float64) -> None:
    """The inner products of some pairs, each computed alone.

    Args:
        ours, theirs: vectors of one length.
        which, where: the places of the pairs' vectors in ``ours`` and ``theirs``.
        pairs: position of each answer in ``found``.
    """
    for number in range(len(pairs)):
        found[pairs[number]] = inner_product(ours[which[number]], theirs[where[number]])


@compiled
def put_in_order(starts: Int64, values: Float64, ranks: Int32, found: Int32) -> None:
    """The first images of each query by value, descending, equal ones by rank, ascending.

    Args:
        starts: query → its candidates, shape (queries + 1,).
        values, ranks: of the candidates. ranks: their places in the order of the names.
        found: receives ranks, shape (queries, wanted); -1 beyond the end.
    """
    for query in range(len(starts) - 1):
        begin, end = starts[query], starts[query + 1]
        order = np.argsort(-values[begin:end])
        wanted = min(found.shape[1], end - begin)
        at = 0
        while at < wanted:
            same = at + 1
            while same < end - begin and values[begin + order[same]] == values[begin + order[at]]:
                same += 1
            if same == at + 1:
                found[query, at] = ranks[begin + order[at]]
            else:
                equal = np.sort(ranks[begin + order[at:same]])
                last = min(same, wanted)
                found[query, at:last] = equal[: last - at]
            at = same
        found[query, wanted:] = -1


@compiled
def order_all(products: Float64, wanted: int, order: Int32, close: Bool) -> None:
    """The positions of each query's products by their first 32 binary digits, descending (radix sort).

    Args:
        products: from -1 to 1, a little more for rounding; shape (queries, images).
        wanted: the ranks beyond are not compared.
        order: receives the places, shape (queries, images).
        close: receives whether a place differs from the one before it by no more than the last digit; same shape.
    """
    size = products.shape[1]
    keys = np.empty(size, dtype=np.int64)
    scratch = np.empty(size, dtype=np.int32)
    counts = np.empty((_DIGITS, 1 << _DIGIT), dtype=np.int64)
    for query in range(products.shape[0]):
        counts.fill(0)
        for place in range(size):
            key = np.int64(min(max((1.0 - products[query, place]) * 2.0**31, 0.0), 2.0**32 - 1))
            keys[place] = key
            for digit in range(_DIGITS):
                counts[digit, (key >> (digit * _DIGIT)) & ((1 << _DIGIT) - 1)] += 1
            scratch[place] = place
        for digit in range(_DIGITS):
            begin = 0
            for number in range(1 << _DIGIT):
                count = counts[digit, number]
                counts[digit, number] = begin
                begin += count
            source, target = (scratch, order[query]) if digit % 2 == 0 else (order[query], scratch)
            for rank in range(size):
                place = source[rank]
                number = (keys[place] >> (digit * _DIGIT)) & ((1 << _DIGIT) - 1)
                target[counts[digit, number]] = place
                counts[digit, number] += 1
        near = True
        for rank in range(1, size):
            near = (rank <= wanted or near) and keys[order[query, rank]] - keys[order[query, rank - 1]] <= 1
            close[query, rank] = near
        close[query, 0] = False


@compiled
def sort_close_runs(order: Int32, close: Bool, values: Float64, by_name: Int32) -> None:
    """Sort runs of close neighbours by value, descending, then by name.

    Args:
        order, close: the results of `order_all`.
        values: of all members of runs, query after query, in their order.
        by_name: image → its place in the order of the names.
    """
    at = 0
    for query in range(order.shape[0]):
        begin = 0
        while begin < order.shape[1]:
            end = begin + 1
            while end < order.shape[1] and close[query, end]:
                end += 1
            if end - begin > 1:
                members = order[query, begin:end].copy()
                members = members[np.argsort(by_name[members])]
                size = end - begin
                given = values[at : at + size][np.argsort(by_name[order[query, begin:end]])]
                order[query, begin:end] = members[np.argsort(-given, kind="mergesort")]
                at += size
            begin = end


@compiled
def others(order: Int32, own: Int32, found: Int32) -> None:
    """The first positions of each query's order, without the query's own; -1 beyond the end.

    Args:
        order: shape (queries, images). own: the place of each query, -1 where it is not in the corpus.
        found: shape (queries, wanted).
    """
    for query in range(order.shape[0]):
        rank = 0
        for at in range(order.shape[1]):
            if rank < found.shape[1] and order[query, at] != own[query]:
                found[query, rank] = order[query, at]
                rank += 1
        found[query, rank:] = -1
