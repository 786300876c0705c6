"""Labels of images, such as modality and organ: images that agree in them are relevant to one another."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from cuihop.collection.concept_rows import IMAGE_NAMES
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.collection.image_rows import ImageRows, cause_of_strange_name, index_of_names
from cuihop.collection.label_classes import LabelClasses, classes_of_images
from cuihop.errors import InputError, checked_choice, first_few
from cuihop.files.arrow_tables import ArrowStream, is_table_object
from cuihop.files.content_digest import content_digest
from cuihop.files.input_file import Readable, opened_input
from cuihop.files.records import Records, cause_of_columns
from cuihop.files.text_lines import counted, joined, quoted
from cuihop.graph import ConceptGraph
from cuihop.identifiers import MISSING_VALUES
from cuihop.measures.resolution import Unknown
from cuihop.resources.arrays import Int32, Int64, UInt64

__all__ = ["MANUAL_LABELS", "UNLABELLED", "Agreement", "Labels"]


Agreement: TypeAlias = Literal["equal", "shared"]
"""Two images agree in a label when their values are equal, or when they share a class: one of the texts between the
semicolons of a value."""

UNLABELLED = -1
_MISSING = MISSING_VALUES - {"none"}  # which may be a label
_MOST_CLASSES = 4_096  # of the values of a label: 64 words of bits for each image
_EXPECTED = "a header, then in each row the image and its labels, separated by commas or tabs"

MANUAL_LABELS: Mapping[str, frozenset[str]] = {
    "modality": frozenset({"C0002978", "C0024485", "C0032743", "C0040405", "C0041618", "C1306645", "C0920367"}),
    "organ": frozenset(
        {"C0000726", "C0006141", "C0023216", "C0030797", "C0037303", "C0037949", "C0817096", "C1140618"}
    ),
}
"""The manually annotated concepts of ImageCLEFmedical and ROCOv2 as labels of images.

Modality: angiography, MRI, PET, CT, ultrasound, plain X-ray, optical coherence tomography. Organ: abdomen, breast,
lower extremity, pelvis, skull, spine, chest, upper extremity.
"""


@dataclass(frozen=True, eq=False)
class Labels:
    """Name of a label → image → its value; an empty value is an image without this label.

    Attributes:
        columns: the labels. Every column has the same images.
        source: the file, or another origin.
        images_account: of labels from concepts, the summary of these.
        form: compression, delimiter and column of images, where the input was not plain CSV with the images first.
        agreement: of two images, see `Agreement`.
    """

    columns: Mapping[str, Mapping[str, str]]
    source: str = "memory"
    images_account: str | None = None
    form: str = ""
    agreement: Agreement = "equal"

    def with_agreement(self, agreement: Agreement) -> Labels:
        """The same labels, with this agreement of images.

        Raises:
            InputError: there is no such agreement.

        >>> labels = Labels.of({"modality": {"a": "CT", "b": "CT;PET"}}).with_agreement("shared")
        >>> labels.agreement
        'shared'
        """
        return dataclasses.replace(self, agreement=checked_choice("agreement", agreement, Agreement))

    @property
    def images(self) -> tuple[str, ...]:
        """The images in the order of the file."""
        return tuple(next(iter(self.columns.values())))

    @cached_property
    def _rows(self) -> dict[str, int]:
        """Image → its row in the file."""
        return index_of_names(self.images)

    @cached_property
    def _codes(self) -> dict[tuple[str, ...], Int32]:
        """Results of `codes`."""
        return {}

    @cached_property
    def _last_rows(self) -> tuple[tuple[tuple[str, ...], Int64], ...]:
        """The last results of `rows`, replaced whole, since threads share labels. All chunks have one corpus."""
        return ()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content, whatever its file is called and in whatever order it stands there."""
        return content_digest({name: dict(column) for name, column in self.columns.items()})

    def __repr__(self) -> str:
        return f"<Labels {self.account}>"

    @cached_property
    def account(self) -> str:
        """Summary of the parsed input, in one line."""
        images, labels = counted(len(self.images), "image"), counted(len(self.columns), "label")
        form = f"; {self.form}" if self.form else ""
        form += "; images agree where they share a class" if self.agreement == "shared" else ""
        return f"{self.images_account or f'{self.source}: {images}'}, {labels}: {', '.join(self.columns)}{form}"

    @classmethod
    def read(cls, path: Readable, *, image_column: str | None = None) -> Labels:
        """Read labels from a file, a pipe, or with ``-`` from standard input: the image, and a column for each label.

        CSV with a header: UTF-8; columns separated by commas, tabs or semicolons; fields may be quoted. White space
        around values is not part of them; empty lines are skipped. JSON Lines have an object in each line, Parquet,
        Arrow and Feather files a row, of texts; a missing value is no label, its name in text
        (``nan``, ``null``, ``<NA>``) refused. Text may be compressed by gzip or zstd.

        Args:
            path: the input.
            image_column: name of the column of images. Without it, the only one with a usual name, such as ``ID`` or
                ``image``, or else the first.

        Raises:
            InputError: names the file, the line or row, what was found and what was expected.
            ModuleNotFoundError: a Parquet, Arrow or zstd file, and pyarrow is not installed.
        """
        return cls._of_records(Records.of(opened_input(path), _EXPECTED), image_column)

    @classmethod
    def of(cls, labels: LabelsLike, *, image_column: str | None = None) -> Labels:
        """From name of a label → image → value, or a table or DataFrame: the images, and a column for each label.

        ``None`` and NaN are no label. The column of images is chosen as in `read`.

        Raises:
            InputError: it is neither, an image stands twice, or columns have different images.
        """
        if isinstance(labels, Labels):
            return labels
        pandas = sys.modules.get("pandas")
        if pandas is not None and isinstance(labels, pandas.DataFrame):
            texts = labels.astype(object).where(labels.notna(), "").astype(str)
            rows = enumerate(texts.itertuples(index=False, name=None), start=1)
            return cls._of_records(Records(list(map(str, labels.columns)), "DataFrame", rest=rows), image_column)
        if is_table_object(labels):
            return cls._of_records(Records.of(labels, _EXPECTED), image_column)
        if not isinstance(labels, Mapping) or not labels or not all(isinstance(c, Mapping) for c in labels.values()):
            raise InputError(
                "not labels of images", found=type(labels).__name__, expected="label → image → value, or a DataFrame"
            )
        columns = {str(name): {image: _text(value) for image, value in c.items()} for name, c in labels.items()}
        if len({frozenset(column) for column in columns.values()}) > 1:
            first, *others = columns.values()
            strange = next(image for other in others for image in {*first} ^ {*other})
            raise InputError(
                "labels of different images", found=f"{quoted(str(strange))}, which not every label has",
                expected="every label for the same images",
            )  # fmt: skip
        return cls(columns)

    @classmethod
    def _of_records(cls, records: Records, image_column: str | None) -> Labels:
        """Labels from rows of images and their labels in any form."""
        names = [name.strip() for name in records.names]
        if not names and records.table is None:
            raise records.row_errors([]).empty("image", _EXPECTED)
        if len(names) < 2 or not all(names) or len(set(names)) < len(names) or names[0].startswith("Unnamed:"):
            separator = ", " if records.unit == "row" else records.delimiter
            raise records.error(
                "not a header of labels" if records.unit == "line" else "not columns of labels",
                quoted(separator.join(names)), "the image column and one for each label, each name once",
                cause_of_columns(names, 2 if len(names) < 2 else len(names) - 1, records.delimiter),
            )  # fmt: skip
        usual = [index for index, name in enumerate(names) if name.lower() in IMAGE_NAMES]
        key = usual[0] if len(usual) == 1 else 0
        key = key if image_column is None else records.column(image_column)
        rows = ImageRows(records.row_errors([key]))
        labels: dict[str, dict[str, str]] = {name: {} for index, name in enumerate(names) if index != key}
        columns = [(index, labels[name]) for index, name in enumerate(names) if index != key]
        for row, fields in records.texts(range(len(names)), "not a label", needed=(key,)):
            image = fields[key]
            if not image and not any(fields):
                continue
            rows.add(image, row)
            for index, column in columns:
                if fields[index].lower() in _MISSING:
                    raise records.row_errors([index])(
                        "a missing value in place of a label", row, 0, quoted(fields[index]), "a label, or nothing"
                    )
                column[image] = fields[index]
        if not rows:
            raise rows.error.empty("image", _EXPECTED)
        return cls(labels, records.source, form=joined(records.form, f"images in {names[key]}" if key else ""))

    @classmethod
    def of_concepts(cls, images: ImageConcepts, groups: Mapping[str, frozenset[str]] = MANUAL_LABELS) -> Labels:
        """Labels from concepts: the value is the set of an image's concepts that are in the group of the label.

        So an image of PET and CT has another modality than one of CT alone, and one without a concept of the group is
        without this label.

        Args:
            images: concepts of each image, such as ImageCLEF's manual ones.
            groups: name of a label → its concepts.
        """
        return cls(
            {
                name: {image: ";".join(sorted(concepts & group)) for image, concepts in images.items()}
                for name, group in groups.items()
            },
            f"concepts of {images.source}",
            images.account,
        )

    @classmethod
    def of_classes(
        cls,
        images: ImageConcepts | Sequence[ImageConcepts],
        classes: Mapping[str, Any],
        graph: ConceptGraph | None = None,
        *,
        unknown: Unknown = "error",
    ) -> Labels:
        """Labels from classes of concepts: the value is the set of classes that an image's concepts belong to.

        An image has a class where one of its concepts is a concept of the class, or lies below one in the graph. An
        image of none of the classes is without the label. Source: Wei, Kurtz and Cloppet 2025, section 4.3: "labels are
        obtained by mapping each class to corresponding CUIs"; the concepts below are our reading.

        Args:
            images: the images and their concepts; or several collections, of which the last has the concepts of an
                image that stands in more than one.
            classes: name of a label → class → its concepts, ``"C1;C2"`` or a collection; or a file of classes, as
                `LabelClasses.read` reads it.
            graph: gives the concepts below; without it, only the concepts of a class themselves count.
            unknown: treatment of identifiers that the graph does not hold: an error, or equal only to themselves.

        Raises:
            InputError: there is no class, or a class of a concept that the graph does not hold.
            InvalidCui, ConceptRetired, ConceptNotFound: concepts of the images cannot be used.

        >>> from cuihop import ImageConcepts
        >>> images = ImageConcepts.of({"a": "C0040405;C0032743", "b": "C0024485", "c": "C0006121"})
        >>> labels = Labels.of_classes(images, {"modality": {"CT": "C0040405", "PET": "C0032743", "MR": "C0024485"}})
        >>> dict(labels.columns["modality"])
        {'a': 'CT;PET', 'b': 'MR', 'c': ''}
        """
        if not classes:
            raise InputError(
                "no classes", column="classes", found="none", expected="label → classes and their concepts"
            )
        collections = [images] if isinstance(images, ImageConcepts) else list(images)
        labels = {name: LabelClasses.of(of_label) for name, of_label in classes.items()}
        columns = classes_of_images(collections, labels, graph, unknown)
        below = "and all below it in the graph" if graph is not None else "alone, without those below it"
        sources = " and ".join(collection.source for collection in collections)
        summaries = "; ".join(
            f"{name} by {of_label.account}{_without_images(of_label.concepts, columns[name])}"
            for name, of_label in labels.items()
        )
        return cls(columns, f"classes of {sources}", form=f"{summaries}; a concept of a class counts {below}")

    def rows(self, images: Sequence[str]) -> Int64:
        """The row of each image: int64, shape (images,).

        Raises:
            InputError: an image has no row.
        """
        images = tuple(images)
        last = self._last_rows
        entry = next((earlier for earlier in last if earlier[0] is images), None)
        if entry is None:
            at = self._rows
            rows = np.fromiter((at.get(image, -1) for image in images), dtype=np.int64, count=len(images))
            if (rows < 0).any():
                absent = list(dict.fromkeys(images[index] for index in np.flatnonzero(rows < 0).tolist()))
                raise InputError(
                    "images without a row of labels", file=self.source,
                    found=f"{len(absent):,}: {first_few(absent)}",
                    expected="a row for every query and every image of the corpus",
                    advice=cause_of_strange_name(absent[0], at),
                )  # fmt: skip
            entry = images, rows
        self.__dict__["_last_rows"] = (*[earlier for earlier in last if earlier is not entry][-1:], entry)
        return entry[1]

    def codes(self, labels: Sequence[str]) -> Int32:
        """A number for each row, equal where images agree in all labels; `UNLABELLED` where one of them is missing.

        Returns:
            int32, shape (rows,).

        Raises:
            InputError: there is no such label.
        """
        key = tuple(labels)
        if key not in self._codes:
            codes = self._column(key[0])
            for name in key[1:]:
                codes = _both(codes, self._column(name))
            self._codes[key] = codes
        return self._codes[key]

    def bits(self, name: str) -> UInt64:
        """The classes of each value of a label as bits: values that share a class have a bit in common.

        Returns:
            uint64, shape (words, values + 1): a column for each code of the label; the last, of `UNLABELLED`, is 0.

        Raises:
            InputError: there is no such label, or its values have too many classes.
        """
        self._column(name)
        values = list(dict.fromkeys(filter(None, self.columns[name].values())))
        classes = [{name.strip() for name in value.split(";")} - {""} for value in values]
        numbers = {name: number for number, name in enumerate(sorted(set().union(*classes)))}
        if len(numbers) > _MOST_CLASSES:
            raise InputError(
                "too many classes of a label", file=self.source, column=name, found=f"{len(numbers):,}",
                expected=f"at most {_MOST_CLASSES:,}", advice="With the agreement 'equal' there is no bound.",
            )  # fmt: skip
        bits = np.zeros((max(1, -(-len(numbers) // 64)), len(values) + 1), dtype=np.uint64)
        for column, listed in enumerate(classes):
            for number in map(numbers.__getitem__, listed):
                bits[number // 64, column] |= np.uint64(1 << number % 64)
        return bits

    def _column(self, name: str) -> Int32:
        """The codes of one label."""
        if name not in self.columns:
            raise InputError("no such label", file=self.source, found=quoted(name), expected=" or ".join(self.columns))
        if (name,) not in self._codes:
            column = self.columns[name]
            numbers = {"": UNLABELLED}
            for value in column.values():
                numbers.setdefault(value, len(numbers) - 1)
            codes = (numbers[column[image]] for image in self.images)
            self._codes[name,] = np.fromiter(codes, dtype=np.int32, count=len(column))
        return self._codes[name,]


def _without_images(classes: Iterable[str], column: Mapping[str, str]) -> str:
    """The classes that no image has, for the summary; empty if there are none."""
    seen = {name for value in set(column.values()) for name in value.split(";")}
    absent = [name for name in classes if name not in seen]
    return f", {counted(len(absent), 'class', 'classes')} without an image ({first_few(absent)})" if absent else ""


def _both(ours: Int32, theirs: Int32) -> Int32:
    """Codes of two labels at once."""
    labelled = (ours != UNLABELLED) & (theirs != UNLABELLED)
    pairs = ours[labelled].astype(np.int64) * (int(theirs.max(initial=0)) + 1) + theirs[labelled]
    codes = np.full(len(ours), UNLABELLED, dtype=np.int32)
    codes[labelled] = np.unique(pairs, return_inverse=True)[1]
    return codes


def _text(value: object) -> str:
    """The value as text; empty for a missing one."""
    missing = value is None or (isinstance(value, float | np.floating) and np.isnan(value))
    return "" if missing else str(value)


LabelsLike: TypeAlias = Labels | Mapping[str, Mapping[str, object]] | ArrowStream
"""Name of a label → image → its value, or a table: the images, and a column for each label."""
