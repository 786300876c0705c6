"""Published figures of the paper, and the condition for printing them beside one's own."""

from __future__ import annotations

from collections.abc import Collection, Iterable

__all__ = ["COST", "PRECISION", "SOURCE", "comparable"]

SOURCE = "Wei, Kurtz and Cloppet 2025, arXiv:2506.13509"

PRECISION: dict[str, dict[tuple[str, ...], tuple[float, float, float]]] = {
    "IoU": {
        ("modality",): (99.28, 99.17, 98.99),
        ("organ",): (94.27, 93.46, 91.15),
        ("modality", "organ"): (90.03, 88.87, 85.72),
    },
    "nn-IoU": {
        ("modality",): (99.34, 99.46, 99.42),
        ("organ",): (94.59, 93.78, 91.50),
        ("modality", "organ"): (90.65, 89.53, 86.85),
    },
    "BioMedCLIP-t": {
        ("modality",): (74.61, 73.25, 69.83),
        ("organ",): (60.52, 56.91, 51.17),
        ("modality", "organ"): (37.62, 33.53, 27.44),
    },
    "BioMedCLIP-v": {
        ("modality",): (95.85, 93.09, 89.44),
        ("organ",): (87.12, 84.32, 78.46),
        ("modality", "organ"): (91.33, 89.48, 84.08),
    },
}
"""Table 1: P@5, P@10 and P@30 in per cent on the ROCOv2 test set."""

COST = (
    "The paper's Figure 4 shows, without numbers and on an axis up to five seconds per image, bars of CUI@K, nn-CUI@K "
    "offline and nn-CUI@K on the fly, with NetworkX; machine and UMLS release are not stated."
)

_ROCOV2_TEST = "ROCOv2_2023_test_"
_MOST_OF_THEM = 9_900  # of 9,928; copies without the few images that were withdrawn are the same test set


def comparable(images: Collection[str], label_sets: Iterable[tuple[str, ...]]) -> bool:
    """True for the test images of ROCOv2, recognised by their names, with labels of the paper's names."""
    whole = len(images) >= _MOST_OF_THEM and all(image.startswith(_ROCOV2_TEST) for image in images)
    return whole and set(PRECISION["IoU"]) <= set(label_sets)
