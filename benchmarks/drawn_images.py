"""Images drawn like those of ROCOv2, in any number, for the measurements of scale.

::

    python benchmarks/drawn_images.py [--data ../shared/data] [--json FILE]     how well they fit

Up to 79,793 images they are those of ROCOv2, all splits, shuffled. Each further image takes the set of an earlier one,
drawn at random. Where that image was the first with its set, a *new* set is made with probability d: one concept is
replaced by a concept of a ROCOv2 image that shares the most frequent other concept of the set, in practice its
modality. d is the share of the distinct sets that occur once in the images begun with. So drawn, the number of
distinct sets follows Heaps' law S(N) ∝ N^d (the process of Pitman and Yor with θ = 0), and the chance that the next
image has a new set is at the beginning that of Good and Turing. Of ROCOv2 are: the distribution of the number of
concepts, the frequency of concepts, their co-occurrence, the correlation with the modality, and the frequency of sets.

No public collection of a million images has such concepts, so S(10⁶) is an extrapolation. This program shows its
error on images that it has not seen: it draws 79,793 from 5,000 and from 20,000 of ROCOv2, and compares.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmark_data import add_data_option
from cuihop.collection.image_concepts import ImageConcepts
from measurement import Measurement, arguments_of

__all__ = ["drawn_sets", "rocov2_sets", "write_images"]

ConceptSet = tuple[str, ...]
_TRIES = 8
_CHECKED = (5_000, 40_000, 79_793)


def rocov2_sets(data: Path) -> list[ConceptSet]:
    """The concept sets of all ROCOv2 images, shuffled, always in the same order."""
    sets = [
        tuple(sorted(concepts))
        for split in ("train", "valid", "test")
        for concepts in ImageConcepts.read(data / "rocov2" / f"{split}_concepts.csv.gz").sets.values()
    ]
    random.Random(1).shuffle(sets)
    return sets


def discount(sets: Sequence[ConceptSet]) -> float:
    """The share of the distinct sets that occur once: the exponent of Heaps' law."""
    occurrences = Counter(Counter(sets).values())
    return occurrences[1] / occurrences.total()


def drawn_sets(begun: Sequence[ConceptSet], count: int) -> list[ConceptSet]:
    """The concept sets of so many images: those begun with, and further ones drawn from them."""
    rng = random.Random(1)
    d = discount(begun)
    frequency = Counter(concept for held in begun for concept in held)
    holders = defaultdict(list)
    for held in begun:
        for concept in held:
            holders[concept].append(held)
    sets, first_of = list(begun[:count]), dict[ConceptSet, int]()
    for image, held in enumerate(sets):
        first_of.setdefault(held, image)
    while len(sets) < count:
        drawn = int(rng.random() * len(sets))
        held = sets[drawn]
        if first_of[held] == drawn and rng.random() < d:
            for _ in range(_TRIES):
                held = _replaced(held, frequency, holders, rng)
                if held not in first_of:
                    break
        first_of.setdefault(held, len(sets))
        sets.append(held)
    return sets


def _replaced(
    held: ConceptSet, frequency: Counter[str], holders: dict[str, list[ConceptSet]], rng: random.Random
) -> ConceptSet:
    """The set with one concept replaced by one of an image that shares another of its concepts."""
    out = held[int(rng.random() * len(held))]
    others = [concept for concept in held if concept != out] or [out]
    donors = holders[max(others, key=frequency.__getitem__)]
    donor = donors[int(rng.random() * len(donors))]
    new = donor[int(rng.random() * len(donor))]
    return tuple(sorted({*held, new} - {out})) if new not in held else held


def write_images(sets: Sequence[ConceptSet], path: Path) -> None:
    """Write a CSV of images and concepts, as ROCOv2 has it."""
    with path.open("w", encoding="utf-8") as file:
        file.write("ID,CUIs\n")
        file.writelines(f"drawn_{number:07},{';'.join(held)}\n" for number, held in enumerate(sets))
