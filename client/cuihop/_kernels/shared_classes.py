"""Numbers of labels in which images share a class, for all pairs of distinct images."""

from __future__ import annotations

import numpy as np

from cuihop._kernels.jit import compiled
from cuihop.resources.arrays import Int64


@compiled
def count_grades(
    indptr: Int64, classes: Int64, label_of: Int64, groups: Int64, holders: Int64, images: Int64, times: Int64,
    counts: Int64,
) -> None:  # fmt: skip
    """Number of images of each grade for each query; the grade is the number of groups of labels that agree.

    Only the images that have a class of the query are visited.

    Args:
        indptr, classes: the classes of each query in compressed rows, ascending, numbered label by label.
        label_of: the label of each class. times: how often each image counts.
        groups: first label of each group, and the end of the last, shape (groups + 1,). All labels of a group have to
            agree.
        holders, images: the images that have each class, in compressed rows.
        counts: receives the numbers, highest grade first, shape (queries, groups + 1).
    """
    most = groups.size - 1
    seen = np.full(times.size, -1, dtype=np.int64)
    agreed = np.zeros(times.size, dtype=np.int64)
    grade = np.zeros(times.size, dtype=np.int64)
    of_group = np.empty(times.size, dtype=np.int64)
    graded = np.empty(times.size, dtype=np.int64)
    total = times.sum()
    stamp = 0
    for query in range(len(counts)):
        at = indptr[query]
        number = 0
        left = total
        for group in range(most):
            visited = 0
            for label in range(groups[group], groups[group + 1]):
                while at < indptr[query + 1] and label_of[classes[at]] == label:
                    for i in range(holders[classes[at]], holders[classes[at] + 1]):
                        image = images[i]
                        if seen[image] != stamp:
                            seen[image] = stamp
                            if agreed[image] == 0:
                                of_group[visited] = image
                                visited += 1
                            agreed[image] += 1
                    at += 1
                stamp += 1
            for i in range(visited):
                image = of_group[i]
                if agreed[image] == groups[group + 1] - groups[group]:
                    if grade[image] == 0:
                        graded[number] = image
                        number += 1
                    grade[image] += 1
                agreed[image] = 0
        for i in range(number):
            image = graded[i]
            counts[query, most - grade[image]] += times[image]
            left -= times[image]
            grade[image] = 0
        counts[query, most] += left
