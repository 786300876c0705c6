"""Names of images: their indices in a list, and their rows in an input, each image once."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from cuihop.errors import InputError, first_few
from cuihop.files.records import RowErrors
from cuihop.files.text_lines import quoted
from cuihop.identifiers import looks_like_identifier
from cuihop.resources.arrays import Int32

_ENDING = re.compile(r"(\.[A-Za-z][A-Za-z0-9]{0,4}){1,2}$")  # .jpg, .nii.gz; not the last number of 1.2.840
_SWAPPED = "looks like a concept: are the columns swapped?"


def own_rows(queries: Sequence[str], corpus: Sequence[str]) -> Int32:
    """The index of each query in the corpus, int32; -1 for one that is not in it."""
    indices = index_of_names(corpus)
    return np.array([indices.get(query, -1) for query in queries], dtype=np.int32)


def index_of_names(names: Sequence[str]) -> dict[str, int]:
    """Each name and its index."""
    return {name: index for index, name in enumerate(names)}


def check_image(image: str, row: int, earlier: int | None, error: RowErrors, concepts: Collection[str] = ()) -> None:
    """Refuse an image without a name, or with that of an earlier row; the concepts may show swapped columns."""
    if not image:
        raise error("the image is missing", row, 0, "nothing", "an identifier")
    if earlier is not None:
        cause = swapped_columns(image, concepts)
        raise error(
            "an image stands twice", row, 0, f"{quoted(image)}, as in {error.unit} {earlier:,}", "each image once",
            None if cause is None else f"It {cause}",
        )  # fmt: skip


class ImageRows(dict[str, int]):
    """Image → its row in an input; of an input without rows, numbered from 1."""

    def __init__(self, error: RowErrors, images: Iterable[str] = ()) -> None:
        super().__init__((image, row) for row, image in enumerate(images, start=1))
        self.error = error

    def add(self, image: str, row: int) -> None:
        """The next image; refuses one without a name, or that stood before."""
        if not image or image in self:
            check_image(image, row, self.get(image), self.error)
        self[image] = row

    def error_of(
        self, image: str, problem: str, column: int, value: str, expected: str, hint: str | None = None
    ) -> InputError:
        """The error about the row of an image."""
        return self.error(problem, self[image], column, value, expected, hint)

    def check_known(self, image: str, truth: Mapping[str, object], source: str) -> None:
        """Refuse an image that the ground truth, from ``source``, does not have."""
        if image not in truth:
            split = None if truth.keys() & self.keys() else "No image is in both: are they of different splits?"
            raise self.error_of(
                image, "not an image of the ground truth", 0, quoted(image), f"an image of {source}",
                cause_of_strange_name(image, truth) or split,
            )  # fmt: skip

    def check_complete(self, truth: Mapping[str, object]) -> None:
        """Refuse an input that lacks an image of the ground truth."""
        if absent := [image for image in truth if image not in self]:
            raise InputError(
                "images of the ground truth are missing", file=self.error.source,
                line=max(self.values()) if self.error.unit == "line" else None,
                found=f"{len(absent):,} missing when the file ends: {first_few(absent)}",
                expected="every image of the ground truth",
            )  # fmt: skip

    def check_same(self, truth: Mapping[str, object], source: str) -> None:
        """Refuse an input whose images are not those of the ground truth: none, another one, or fewer."""
        if not self:
            raise InputError("no images", file=self.error.source, expected="the images of the references")
        for image in self:
            self.check_known(image, truth, source)
        self.check_complete(truth)


def swapped_columns(image: str, concepts: Collection[str]) -> str | None:
    """Hint for an image that looks like identifiers while its concepts do not; ``None`` for any other.

    >>> swapped_columns("C0040405;C0817096", ["ROCOv2_2023_test_000001"])
    'looks like a concept: are the columns swapped?'
    """
    listed = [part.strip() for part in image.split(";")]
    if all(map(looks_like_identifier, listed)) and concepts and not any(map(looks_like_identifier, concepts)):
        return _SWAPPED
    return None


def cause_of_strange_name(name: str, names: Collection[str]) -> str | None:
    """The likely reason for a strange name: its difference from one of the names of the other input.

    >>> cause_of_strange_name("a.jpg", {"a": 0, "b": 1})
    "Names differ by an ending: 'a.jpg' here, 'a' there."
    """
    stem, last = _ENDING.sub("", name), name.replace("\\", "/").rpartition("/")[2]

    def alike(other: str) -> str | None:
        if stem and stem == _ENDING.sub("", other):
            return "an ending"
        if last and last == other.replace("\\", "/").rpartition("/")[2]:
            return "a folder"
        if other.casefold() == name.casefold():
            return "upper and lower case"
        if other.strip(" \"'") == name.strip(" \"'"):
            return "blanks or quotes"
        if name.isdecimal() and other.isdecimal() and int(name) == int(other):
            return "leading zeros"
        return None

    for other in names:
        if name and (difference := alike(other)) is not None:
            return f"Names differ by {difference}: {name!r} here, {other!r} there."
    if any(map(looks_like_identifier, (part.strip() for part in name.split(";")))) and not any(
        looks_like_identifier(other) for other in names
    ):
        return f"{name!r} {_SWAPPED}"
    return None
