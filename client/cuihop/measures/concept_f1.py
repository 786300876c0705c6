"""F1, precision and recall of detected concepts, per image (ImageCLEFmedical caption, concept detection)."""

from __future__ import annotations

from collections.abc import Collection

from cuihop.measures.family import Family, Option

MANUAL_CONCEPTS = frozenset(
    [
        "C0002978",
        "C0040405",
        "C0024485",
        "C0032743",
        "C0041618",
        "C1306645",
        "C1140618",
        "C0037949",
        "C0030797",
        "C0023216",
        "C0037303",
        "C0817096",
        "C0006141",
        "C0000726",
        "C0920367",
    ]
)
"""Manually annotated concepts, modalities and body regions, to which the secondary score of 2025 is restricted."""


def concept_f1(true: Collection[str], predicted: Collection[str]) -> float | None:
    """F1 = 2 |T ∩ P| / (|T| + |P|): that of the binary labels over T ∪ P, as scikit-learn's ``average="binary"``.

    ``None`` where T is empty: such an image is left out of the mean. Identifiers are compared literally.
    Source: ImageCLEFmedical caption 2025, task description and evaluator.

    >>> concept_f1({"C0040405", "C0000726"}, {"C0040405"})
    0.6666666666666666
    >>> concept_f1(set(), {"C0040405"}) is None
    True
    """
    true, predicted = frozenset(true), frozenset(predicted)
    if not true:
        return None
    return 2 * len(true & predicted) / (len(true) + len(predicted))


FAMILY = Family(
    "F1", "F1 of detected concepts, mean over images", "detection", options=(Option.of_words("of", "all", "manual"),)
)
PRECISION = Family("precision", "precision of detected concepts, mean over images", "detection")
RECALL = Family("recall", "recall of detected concepts, mean over images", "detection")
