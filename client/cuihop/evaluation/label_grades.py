"""Grades of images by labels: agreement with the query, or the number of labels in which it agrees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt

from cuihop.collection.labels import UNLABELLED, Labels
from cuihop.errors import InputError
from cuihop.files.text_lines import quoted
from cuihop.measures.judged_rankings import Pools
from cuihop.measures.measure import label_parts
from cuihop.rankings.ranking import QueryImage
from cuihop.resources.arrays import Bool, Int32, Int64, UInt8, UInt64, bounds_of

_QUERIES_AT_ONCE = 512  # of a compiled call, which cannot be interrupted
_NO_IMAGE = -2  # the code of a query without a label: no image has it


@dataclass(frozen=True, eq=False)
class LabelGrades:
    """The grade of an image is the number of parts in which it agrees with the query; a part is one label or several.

    Attributes:
        query_codes, corpus_codes: for each part the code of each query, and of each image of the corpus, int32.
        pools, pool: the grades of all other images of the corpus; see `cuihop.measures.judged_rankings.JudgedRankings`.
        unlabelled: number of images of queries and corpus that lack one of the labels.
        unjudged: bool, shape (queries,): queries that no image can agree with, for want of a label in every part.
        bits: the classes of each image, where images agree that share one.
    """

    query_codes: Sequence[Int32]
    corpus_codes: Sequence[Int32]
    pools: Pools
    pool: Int64
    unlabelled: int
    unjudged: Bool
    bits: _Bits | None = None

    @classmethod
    def of(
        cls, labels: Labels, source: tuple[str, ...], queries: Sequence[str], corpus: Sequence[str],
        query_image: QueryImage = "exclude",
    ) -> LabelGrades:  # fmt: skip
        """By the labels in the name of a measure, `Measure.labels`.

        Raises:
            InputError: there is no such label, or an image has no row.
        """
        groups = label_parts(source)
        for name in labels.columns:
            if "+" in name and "+".join(group.strip() for group in name.split("+")) in source:
                raise InputError(
                    "the name of a label holds a +", file=labels.source, found=quoted(name),
                    expected="names without it: in the name of a measure, + joins labels", advice="Rename the column.",
                )  # fmt: skip
        codes = [labels.codes(group) for group in groups]
        asking, holding = labels.rows(queries), labels.rows(corpus)
        present = np.zeros(len(codes[0]), dtype=np.bool_)
        present[holding] = True
        # Queries that agree in everything, and in whether the corpus holds them, share a pool.
        kinds = present[asking].astype(np.int64)
        for code in codes:
            kinds = np.unique(kinds * (int(code.max(initial=0)) + 2) + code[asking] + 1, return_inverse=True)[1]
        first = np.unique(kinds, return_index=True)[1]
        left_out = present.copy() if query_image == "exclude" else np.zeros_like(present)
        bits = _Bits.of(labels, groups, asking, holding) if labels.agreement == "shared" else None
        if bits is None:
            pools = _pools(labels, groups, asking[first], holding, left_out[asking[first]])
        else:
            pools = bits.pools(first, np.stack([labels.codes([n]) for group in groups for n in group]), left_out)
        lacking = np.logical_or.reduce([code == UNLABELLED for code in codes])
        present[asking] = True
        query_codes = [np.where(code == UNLABELLED, np.int32(_NO_IMAGE), code)[asking] for code in codes]
        unjudged = np.logical_and.reduce([code == _NO_IMAGE for code in query_codes])
        corpus_codes = [code[holding] for code in codes]
        return cls(query_codes, corpus_codes, pools, kinds, int((present & lacking).sum()), unjudged, bits)

    def grades(self, first: int, last: int, rows: npt.NDArray[np.int32 | np.int64], lengths: Int64) -> UInt8:
        """The grades of the images that queries ``first`` to ``last`` retrieved, one ranking after the other."""
        return self.of_pairs(np.repeat(np.arange(first, last), lengths), rows)

    def of_pairs(self, queries: Int64, rows: npt.NDArray[np.int32 | np.int64]) -> UInt8:
        """The grades of images for queries, one of each: rows of the queries, and of the corpus; same shape."""
        if self.bits is not None:
            return self.bits.grades(self.bits.queries[queries], self.bits.corpus[rows])
        grades = np.zeros(len(rows), dtype=np.uint8)
        for of_query, of_corpus in zip(self.query_codes, self.corpus_codes, strict=True):
            grades += of_corpus[rows] == of_query[queries]
        return grades


@dataclass(frozen=True, eq=False)
class _Bits:
    """Labels of which images agree that share a class; rows of the queries and of the corpus.

    ``parts`` are, for each label of each part, the classes as bits: uint64, shape (words, images with labels).
    """

    parts: Sequence[Sequence[UInt64]]
    queries: Int64
    corpus: Int64

    @classmethod
    def of(cls, labels: Labels, groups: Sequence[tuple[str, ...]], queries: Int64, corpus: Int64) -> _Bits:
        """The classes of every image."""
        bits = [[np.ascontiguousarray(labels.bits(n)[:, labels.codes([n])]) for n in group] for group in groups]
        return cls(bits, queries, corpus)

    def grades(self, ours: Int64, theirs: Int64) -> UInt8:
        """The number of parts in which pairs of images agree; the rows of each pair, of one shape."""
        grades = np.zeros(len(theirs), dtype=np.uint8)
        for group in self.parts:
            agree = np.ones(len(theirs), dtype=np.bool_)
            for bits in group:
                shared = np.zeros(len(theirs), dtype=np.bool_)
                for word in bits:
                    shared |= (word[ours] & word[theirs]) != 0
                agree &= shared
            grades += agree
        return grades

    def pools(self, first: Int64, codes: Int32, left_out: Bool) -> Pools:
        """The grades of all images of the corpus for some queries; images of the same values are compared once.

        Args:
            first: rows of the queries. codes: of all labels, shape (labels, images with labels).
            left_out: bool, shape (images with labels,): those of the corpus that are left out of their own pool.
        """
        from cuihop._kernels.shared_classes import count_grades
        from cuihop.resources.cores import in_threads

        most = len(self.parts)
        alike, times = np.unique(codes[:, self.corpus], axis=1, return_index=True, return_counts=True)[1:]
        held = [bits for group in self.parts for bits in group]
        indptr, classes = _classes(held, self.queries[first])
        images, of_images = _classes(held, self.corpus[alike])
        by_class = np.argsort(of_images, kind="stable")
        words = np.array(list(map(len, held)))
        label_of = np.repeat(np.arange(len(held)), 64 * words)
        holders = bounds_of(np.bincount(of_images, minlength=len(label_of)))
        holding = np.repeat(np.arange(len(alike)), np.diff(images))[by_class]
        bounds_of_groups = bounds_of(np.array(list(map(len, self.parts))))
        exactly = np.zeros((len(first), most + 1), dtype=np.int64)

        def count(start: int) -> None:
            last = min(start + _QUERIES_AT_ONCE, len(first))
            of_some = classes[indptr[start] : indptr[last]]
            bounds = indptr[start : last + 1] - indptr[start]
            count_grades(bounds, of_some, label_of, bounds_of_groups, holders, holding, times, exactly[start:last])

        in_threads(count, range(0, len(first), _QUERIES_AT_ONCE))
        own = self.grades(self.queries[first], self.queries[first])
        exactly[np.arange(len(first)), most - own.astype(np.int64)] -= left_out[self.queries[first]]
        return Pools(np.arange(most, -1, -1, dtype=np.float64), exactly)


def _classes(labels: Sequence[UInt64], rows: Int64) -> tuple[Int64, Int64]:
    """The classes of some images in compressed rows, ascending, numbered 64 for each word of each label."""
    pairs = []
    for number, word in enumerate(word for bits in labels for word in bits):
        octets = word[rows].astype("<u8").view(np.uint8).reshape(-1, 8)
        images, columns = np.nonzero(np.unpackbits(octets, axis=1, bitorder="little"))
        pairs.append(np.stack([images, 64 * number + columns]))
    images, classes = np.concatenate(pairs, axis=1)
    order = np.argsort(images, kind="stable")
    return bounds_of(np.bincount(images, minlength=len(rows))), classes[order]


def _pools(labels: Labels, groups: Sequence[tuple[str, ...]], asking: Int64, holding: Int64, left_out: Bool) -> Pools:
    """Number of images that agree with each query in all parts, in all but one, ….

    Those that agree in exactly g parts are counted by inclusion and exclusion over those that agree in some parts at
    least, which are counted by their codes: no query is compared with an image.
    """
    most = len(groups)
    exactly = np.zeros((len(asking), most + 1), dtype=np.int64)
    for size in range(1, most + 1):
        at_least = np.zeros(len(asking), dtype=np.int64)
        for subset in combinations(groups, size):
            codes = labels.codes([name for group in subset for name in group])
            held = codes[holding]
            totals = np.bincount(held[held != UNLABELLED], minlength=int(codes.max(initial=0)) + 1)
            of_query = codes[asking]
            at_least += np.where(of_query == UNLABELLED, 0, totals[of_query] - left_out)
        for grade in range(1, size + 1):
            exactly[:, most - grade] += (-1) ** (size - grade) * comb(size, grade) * at_least
    exactly[:, most] = len(holding) - left_out - exactly.sum(axis=1)
    return Pools(np.arange(most, -1, -1, dtype=np.float64), exactly)
