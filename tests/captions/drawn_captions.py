"""Captions drawn at random: repeated words, digits, punctuation, other scripts, white space, and nothing at all."""

from __future__ import annotations

import random

__all__ = ["drawn_pairs"]

_WORDS = (
    "ct", "CT", "of", "the", "chest", "MRI", "T2-weighted", "3.5", "cm", "nodule,", "lesion.", "(arrow)", "naïve",
    "β-cell", "肝", "Ménière's", "–", "...", "10", "x_ray", "½", "٣", "a/b", "&amp;", "\u00a0", "\u2028", "'s",
    "head-and-neck",
)  # fmt: skip


def drawn_pairs(number: int, seed: int) -> list[tuple[str, str]]:
    """References and candidates; some are empty, some equal, some the same words in another order."""
    rng = random.Random(seed)

    def drawn() -> str:
        few = rng.sample(_WORDS, rng.randint(1, 6))
        return rng.choice([" ", " ", "  ", "\t"]).join(rng.choices(few, k=rng.choice([0, 1, 2, 3, 5, 9, 20])))

    pairs = []
    for _ in range(number):
        reference = drawn()
        words = reference.split(" ")
        candidate = rng.choice([drawn(), drawn(), reference, " ".join(rng.sample(words, len(words))), reference[::2]])
        pairs.append((reference, candidate))
    return pairs
