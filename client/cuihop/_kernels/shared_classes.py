"""Numbers of labels in which images share a class, for all pairs of distinct images."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled

Int64 = npt.NDArray[np.int64]


@compiled
def count_grades(
    indptr: Int64, classes: Int64, label_of: Int64, parts: Int64, holders: Int64, images: Int64, times: Int64,
    found: Int64,
) -> None:  # fmt: skip
    """Number of images of each grade for each query: the grade is the number of parts in which the two agree.

    Only the images that have a class of the query are visited.

    Args:
        indptr, classes: the classes of each query in compressed rows, ascending.
        label_of: the label of each class; classes are numbered label by label.
        parts: where the labels of each part begin and the last end, shape (parts + 1,). All labels of a part have to
            agree.
        holders, images: the images that have each class, in compressed rows.
        times: how often each image counts.
        found: receives the numbers, highest grade first, shape (queries, parts + 1).
    """
    most = parts.size - 1
    seen = np.full(times.size, -1, dtype=np.int64)
    agreed = np.zeros(times.size, dtype=np.int64)
    grade = np.zeros(times.size, dtype=np.int64)
    of_part = np.empty(times.size, dtype=np.int64)
    graded = np.empty(times.size, dtype=np.int64)
    total = times.sum()
    stamp = 0
    for query in range(len(found)):
        at = indptr[query]
        number = 0
        left = total
        for part in range(most):
            visited = 0
            for label in range(parts[part], parts[part + 1]):
                while at < indptr[query + 1] and label_of[classes[at]] == label:
                    for place in range(holders[classes[at]], holders[classes[at] + 1]):
                        image = images[place]
                        if seen[image] != stamp:
                            seen[image] = stamp
                            if agreed[image] == 0:
                                of_part[visited] = image
                                visited += 1
                            agreed[image] += 1
                    at += 1
                stamp += 1
            for place in range(visited):
                image = of_part[place]
                if agreed[image] == parts[part + 1] - parts[part]:
                    if grade[image] == 0:
                        graded[number] = image
                        number += 1
                    grade[image] += 1
                agreed[image] = 0
        for place in range(number):
            image = graded[place]
            found[query, most - grade[image]] += times[image]
            left -= times[image]
            grade[image] = 0
        found[query, most] += left
