"""Images drawn like those of ROCOv2, in any number, for the measurements of scale.

::

    python benchmarks/drawn_images.py [--data ../shared/data] [--json FILE]     how well they fit

Up to 79,793 images they are those of ROCOv2, all splits, shuffled. Each further image takes the set of an earlier one,
drawn at random. Where that image was the first with its set, a *new* set is made with probability d: one concept, but
the most frequent, in practice the modality, is replaced by a concept of a ROCOv2 image that has the most frequent one
too; where the set is there already, the same is tried with another distinct set of as many concepts. d is the share of
the distinct sets that occur once in the images begun with. So drawn, the number of distinct sets follows Heaps' law
S(N) ∝ N^d (the process of Pitman and Yor with θ = 0), and the chance that the next image has a new set is at the
beginning that of Good and Turing. Of ROCOv2 are: the distribution of the number of concepts, the frequency of concepts,
their co-occurrence, the correlation with the modality, and the frequency of sets.

No public collection of a million images has such concepts, so S(10⁶) is an extrapolation. This program shows its
error on images that it has not seen: it draws 79,793 from 5,000 and from 20,000 of ROCOv2, and compares.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from benchmark_data import add_data_option
from cuihop.collection.image_concepts import ImageConcepts
from measurement import Measurement, arguments_of

__all__ = ["drawn_sets", "named", "rocov2_sets", "write_images"]

ConceptSet = tuple[str, ...]
_TRIES = 50
_BEGUN = (5_000, 20_000)
_MODALITIES = frozenset(
    ["C0040405", "C1306645", "C0024485", "C0041618", "C0002978"]
)  # CT, X-ray, MRI, ultrasound, angiography
_CHECKED = (5_000, 40_000, 79_793)


def rocov2_sets(data: Path) -> list[ConceptSet]:
    """The concept sets of all ROCOv2 images, shuffled, always in the same order."""
    sets = [
        tuple(sorted(concepts))
        for split in ("train", "valid", "test")
        for concepts in ImageConcepts.read(data / "rocov2" / f"{split}_concepts.csv.gz").entries.values()
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
    distinct = defaultdict[int, list[ConceptSet]](list)  # of each size
    for image, held in enumerate(sets):
        if first_of.setdefault(held, image) == image:
            distinct[len(held)].append(held)
    while len(sets) < count:
        drawn = int(rng.random() * len(sets))
        held = sets[drawn]
        if first_of[held] == drawn and rng.random() < d:
            tries = 0
            while (new := _replaced(held, frequency, holders, rng)) in first_of:
                tries += 1
                alike = distinct[len(held) + (tries % _TRIES == 0)]
                held = alike[int(rng.random() * len(alike))]
            held = new
            first_of[held] = len(sets)
            distinct[len(held)].append(held)
        sets.append(held)
    return sets


def _replaced(
    held: ConceptSet, frequency: Counter[str], holders: dict[str, list[ConceptSet]], rng: random.Random
) -> ConceptSet:
    """The set with one concept, but the most frequent, replaced by one of an image that has the most frequent too."""
    modality = max(held, key=frequency.__getitem__)
    others = [concept for concept in held if concept != modality] or [modality]
    out = others[int(rng.random() * len(others))]
    donors = holders[modality]
    donor = donors[int(rng.random() * len(donors))]
    new = donor[int(rng.random() * len(donor))]
    return tuple(sorted({*held, new} - {out})) if new not in held else held


def write_images(sets: Sequence[ConceptSet], path: Path) -> None:
    """Write a CSV of images and concepts, as ROCOv2 has it."""
    with path.open("w", encoding="utf-8") as file:
        file.write("ID,CUIs\n")
        file.writelines(f"{named(number)},{';'.join(held)}\n" for number, held in enumerate(sets))


def named(number: int) -> str:
    """The name of an image."""
    return f"drawn_{number:07}"


class _Look:
    """The figures that a collection is compared by.

    Args:
        sets: of 79,793 images. near: concept → concepts within one hop that occur, itself included.
    """

    def __init__(self, sets: Sequence[ConceptSet], near: dict[str, set[str]]) -> None:
        sizes = np.array([len(held) for held in sets])
        mass = Counter(concept for held in sets for concept in held)
        first = [count / len(sets) for _, count in mass.most_common(10)]
        pairs = Counter(pair for held in sets for pair in combinations(held, 2))
        self.figures = {
            **{f"distinct share of {size:,}": len(set(sets[:size])) / size for size in _CHECKED if size <= len(sets)},
            "sets that occur once": discount(sets),
            "concepts of an image, mean": float(sizes.mean()),
            "concepts of an image, standard deviation": float(sizes.std()),
            "images with the most frequent concept": first[0],
            "images with the tenth": first[9],
            "share of the occurrences, 100 most frequent": sum(n for _, n in mass.most_common(100)) / mass.total(),
            "different pairs of concepts": len(pairs),
            "share of the pairs, 100 most frequent": sum(n for _, n in pairs.most_common(100)) / pairs.total(),
            "concepts with a modality of 0.9 of their images": _of_one_modality(sets, mass),
        }
        self.figures |= _gains(sets, near)


def _of_one_modality(sets: Sequence[ConceptSet], mass: Counter[str]) -> float:
    """The share of the concepts of 50 images or more that stand beside one modality in nearly all of them."""
    beside: dict[str, Counter[str]] = defaultdict(Counter)
    for held in sets:
        for modality in _MODALITIES.intersection(held):
            beside[modality].update(held)
    often = [concept for concept, count in mass.items() if count >= 50 and concept not in _MODALITIES]
    nearly = sum(max(of[concept] for of in beside.values()) >= 0.9 * mass[concept] for concept in often)
    return nearly / max(1, len(often))


def _gains(sets: Sequence[ConceptSet], near: dict[str, set[str]]) -> dict[str, float]:
    """Of 40 queries: gains at n = 1 of all images, and of the best 30."""
    images = {named(number): frozenset(held) for number, held in enumerate(sets)}
    counted = Counter(images.values())
    every, best = [], []
    for query in random.Random(3).sample(sorted(images), 40):
        A = images[query]
        around = frozenset().union(*(near[concept] for concept in A))
        gains = []
        for B, times in counted.items():
            shared = len(A & B)
            related = len((B - A) & around) + sum(not near[concept].isdisjoint(B) for concept in A - B)
            gains.append(((shared + 0.5 * related) / (len(A) + len(B) - shared), times))
        gains.sort(reverse=True)
        every.append(sum(times for gain, times in gains if gain > 0) / len(sets))
        best.append([gain for gain, times in gains[:31] for _ in range(min(times, 31))])
    return {
        "images with a gain, of all": float(np.mean(every)),
        "gain of the best other image": float(np.mean([gains[1] for gains in best])),
        "gain of the thirtieth": float(np.mean([gains[30] for gains in best])),
    }


def main() -> None:
    """Compare ROCOv2 with images drawn from a part of it."""
    from evaluation import neighbourhoods, open_graph

    parser = arguments_of(__doc__)
    add_data_option(parser)
    parser.add_argument("--images", type=int, help="so many of ROCOv2, for a quick look")
    arguments = parser.parse_args()
    real = rocov2_sets(arguments.data)[: arguments.images]
    near = neighbourhoods({"every concept": frozenset().union(*real)}, open_graph(arguments.data), 1)
    looks = {f"ROCOv2, {len(real):,}": _Look(real, near)}
    for begun in (min(size, len(real) // 2) for size in _BEGUN):
        looks[f"drawn from {begun:,} of it"] = _Look(drawn_sets(real[:begun], len(real)), near)
    results = Measurement()
    print(f"{'':50}" + "".join(f"{name:>24}" for name in looks))
    for question in next(iter(looks.values())).figures:
        for name, look in looks.items():
            results.add(question, name, look.figures[question], "")
        print(f"{question:50}" + "".join(f"{look.figures[question]:24,.4g}" for look in looks.values()))
    print(f"\nHeaps' law from {len(real):,} images, d = {discount(real):.4f}:")
    sizes = [10 * len(real)] if arguments.images else [200_000, 500_000, 1_000_000]
    sets = drawn_sets(real, max(sizes))
    for size in sizes:
        law = len(set(real)) * (size / len(real)) ** discount(real)
        found = len(set(sets[:size]))
        results.add(f"distinct sets of {size:,}", "drawn", found, "sets")
        print(f"{size:10,} images: {found:9,} distinct sets drawn, {found / size:.1%}; by the law {law:9,.0f}")
    results.save(arguments.json)


if __name__ == "__main__":
    main()
