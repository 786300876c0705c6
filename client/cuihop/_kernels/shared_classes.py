"""Numbers of labels in which images share a class, for all pairs of distinct images."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled

__all__ = ["count_grades"]

Int64 = npt.NDArray[np.int64]
UInt64 = npt.NDArray[np.uint64]


@compiled
def count_grades(queries: UInt64, corpus: UInt64, words: Int64, labels: Int64, times: Int64, found: Int64) -> None:
    """Number of images of each grade for each query: the grade is the number of parts in which the two agree.

    Args:
        queries, corpus: the classes as bits, shapes (queries, words) and (images, words).
        words: where the words of each label begin and the last end, shape (labels + 1,).
        labels: where the labels of each part begin and the last end, shape (parts + 1,). All labels of a part have to
            agree.
        times: how often each image of the corpus counts.
        found: receives the numbers, highest grade first, shape (queries, parts + 1).
    """
    parts = labels.size - 1
    for query in range(len(queries)):
        for image in range(len(corpus)):
            grade = 0
            for part in range(parts):
                agree = True
                for label in range(labels[part], labels[part + 1]):
                    shared = np.uint64(0)
                    for word in range(words[label], words[label + 1]):
                        shared |= queries[query, word] & corpus[image, word]
                    if shared == np.uint64(0):
                        agree = False
                        break
                if agree:
                    grade += 1
            found[query, parts - grade] += times[image]
