"""Concept sets of many images, of which each different one is stored once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cuihop.resources.arrays import Int32, Int64


@dataclass(frozen=True, eq=False)
class DistinctSets(Sequence[frozenset[str]]):
    """The set of each image, as a number among the distinct sets; a sequence of the images' sets.

    ``distinct`` stand in the order of the first image that has each; ``of`` is int32, shape (images,).
    """

    distinct: tuple[frozenset[str], ...]
    of: Int32

    @classmethod
    def of_images(cls, images: Iterable[Iterable[str]]) -> DistinctSets:
        """From the set of each image; as it is, where it is one already."""
        if isinstance(images, DistinctSets):
            return images
        numbers: dict[frozenset[str], int] = {}
        of = np.fromiter((numbers.setdefault(frozenset(image), len(numbers)) for image in images), dtype=np.int32)
        return cls(tuple(numbers), of)

    def mapped(self, mapping: Callable[[frozenset[str]], frozenset[str]]) -> DistinctSets:
        """The mapped sets of the same images; distinct sets may become one. Called once for each distinct set."""
        mapped = DistinctSets.of_images(map(mapping, self.distinct))
        return DistinctSets(mapped.distinct, mapped.of[self.of])

    def at(self, indices: Int64) -> DistinctSets:
        """The sets of the images with these indices."""
        of = self.of[indices]
        used, first, numbers = np.unique(of, return_index=True, return_inverse=True)
        order = np.argsort(first)
        ranks = np.empty(len(used), dtype=np.int32)
        ranks[order] = np.arange(len(used))
        return DistinctSets(tuple(map(self.distinct.__getitem__, used[order].tolist())), ranks[numbers.reshape(-1)])

    def __getitem__(self, image: int) -> frozenset[str]:  # type: ignore[override]
        return self.distinct[int(self.of[image])]

    def __iter__(self) -> Iterator[frozenset[str]]:
        return map(self.distinct.__getitem__, self.of.tolist())

    def __len__(self) -> int:
        return len(self.of)

    @cached_property
    def images(self) -> Int64:
        """Number of images with each distinct set."""
        return np.bincount(self.of, minlength=len(self.distinct))

    def numbers(self, value: Callable[[frozenset[str]], int]) -> Int64:
        """A number for each image, int64, shape (images,). Called once for each distinct set."""
        return np.array([value(concepts) for concepts in self.distinct], dtype=np.int64)[self.of]

    @cached_property
    def occurrences(self) -> Counter[str]:
        """Number of images with each concept."""
        counted = Counter[str]()
        for concepts, images in zip(self.distinct, self.images.tolist(), strict=True):
            for concept in concepts:
                counted[concept] += images
        return counted
