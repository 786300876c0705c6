"""Images of predictions, which have to be those of the ground truth."""

from __future__ import annotations

from collections.abc import Mapping

from cuihop.errors import InputError, first_few
from cuihop.files.likely_causes import cause_of_strange_name
from cuihop.files.records import RowFault
from cuihop.files.text_lines import quoted


def check_image_of_truth(image: str, truth: Mapping[str, object], source: str, rows: Mapping[str, int],
                         fault: RowFault) -> None:  # fmt: skip
    """Refuse an image that the ground truth does not have.

    Args:
        image: a name. truth: the images of the ground truth, from ``source``.
        rows: image → its row, of the file of this image. fault: makes the error about one of its rows.

    Raises:
        InputError: names the row.
    """
    if image not in truth:
        other_split = None if truth.keys() & rows.keys() else "No image is in both: are they of different splits?"
        raise fault(
            "not an image of the ground truth", rows[image], 0, quoted(image), f"an image of {source}",
            cause_of_strange_name(image, truth) or other_split,
        )  # fmt: skip


def check_every_image(truth: Mapping[str, object], rows: Mapping[str, int], fault: RowFault) -> None:
    """Refuse predictions that lack an image of the ground truth; arguments as in `check_image_of_truth`.

    Raises:
        InputError: names the first few.
    """
    if absent := [image for image in truth if image not in rows]:
        raise InputError(
            "images of the ground truth are missing", file=fault.source,
            line=max(rows.values()) if fault.unit == "line" else None,
            found=f"{len(absent):,} missing when the file ends: {first_few(absent)}",
            expected="every image of the ground truth",
        )  # fmt: skip
