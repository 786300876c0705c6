"""Captions of images from a file, a pipe or a mapping, with errors that name their line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

from cuihop.annotated_texts.documents import AnnotatedDocument, DocumentRows
from cuihop.annotated_texts.text_tables import Header, table_rows
from cuihop.collection.concept_rows import check_image
from cuihop.collection.same_images import check_every_image, check_image_of_truth
from cuihop.errors import InputError
from cuihop.files.content_digest import content_digest
from cuihop.files.input_file import Readable, opened_input
from cuihop.files.records import RowFault
from cuihop.files.text_lines import counted, decoded_lines, first_line, quoted
from cuihop.identifiers import MISSING_VALUES, looks_like_identifier

_COLUMNS = ("image", "caption")


@dataclass(frozen=True, eq=False)
class Captions(Mapping[str, str]):
    """Image → its caption, in the order of the file. White space is part of a caption.

    Attributes:
        texts: the mapping behind it.
        source: the file, or another origin. form: how it was read.
        rows: image → its row. fault: makes the error about one of them.
    """

    texts: Mapping[str, str]
    source: str = "memory"
    form: str = ""
    rows: Mapping[str, int] = field(default_factory=dict)
    fault: RowFault = field(default_factory=lambda: RowFault(None, _COLUMNS, "row"))

    def __getitem__(self, image: str) -> str:
        return self.texts[image]

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        return f"<Captions {self.account}>"

    @property
    def empty(self) -> int:
        """Number of captions without a character."""
        return sum(not text for text in self.texts.values())

    @property
    def account(self) -> str:
        """Summary of the input, in one line."""
        empty = f"{self.empty:,} empty"
        return f"{self.source}: {', '.join(filter(None, (counted(len(self), 'caption'), empty, self.form)))}"

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content, in whatever order it stands in the file."""
        return content_digest(dict(self.texts))

    @classmethod
    def read(
        cls, source: Readable, *, image_column: str | None = None, caption_column: str | None = None,
        official: bool = False,
    ) -> Captions:  # fmt: skip
        """Read captions from a file, a pipe, or with ``-`` from standard input.

        CSV such as ImageCLEF's ``ID,Caption``, with captions in quotes where they hold a comma; tabs or semicolons
        between the columns; JSON Lines; Parquet and Arrow. Text may be compressed by gzip or zstd. An empty field, or a
        missing value, is an empty caption.

        Args:
            source: the input.
            image_column, caption_column: names of the columns. Without them, two columns are image and caption in this
                order, and a larger table has them under usual names such as ``ID`` and ``Caption``.
            official: the rule of the organisers' program for the header of CSV: the first line is a header exactly
                where its first field is ``ID``, in upper or lower case.

        Raises:
            InputError: the input is not in one of these forms, an image is missing or stands twice, a caption is
                longer than 2^20 characters, or all are missing values or lists of concepts; names the line or row.
        """
        file = opened_input(source)
        text: tuple[str, Iterator[str]] | None = None
        header: Header = "auto"
        if file.form != "table":
            text = first_line(decoded_lines(file))
            if official:
                header = "yes" if text[0].partition(",")[0].strip('\ufeff" \r\n').lower() == "id" else "no"
        return cls.of_rows(table_rows(file, text, (image_column, caption_column), header, any_names=True))

    @classmethod
    def of_rows(cls, found: DocumentRows) -> Captions:
        """The captions of rows, each image once."""
        fault = cast(RowFault, found.fault)
        texts, rows = dict[str, str](), dict[str, int]()
        for row, document in found.checked():
            check_image(document.identifier, row, rows.get(document.identifier), fault)
            texts[document.identifier] = document.text or ""
            rows[document.identifier] = row
        if not texts:
            raise fault.empty("caption", "an image and its caption in each line")
        _check_texts(texts, rows, fault)
        return cls(texts, found.source, found.form, rows, fault)

    @classmethod
    def of(cls, captions: Mapping[str, str], source: str = "memory") -> Captions:
        """The captions of a mapping; those that were read already stay as they are.

        Raises:
            InputError: there is none, or one is no text or too long.
        """
        if isinstance(captions, Captions):
            return captions
        fault = RowFault(None, _COLUMNS, "row")
        for row, (image, text) in enumerate(captions.items(), start=1):
            if not isinstance(image, str) or not isinstance(text, str):
                wrong = int(isinstance(image, str))
                raise fault("not a text", row, wrong, repr((image, text)[wrong]), "a text")
        documents = (AnnotatedDocument(image, text) for image, text in captions.items())
        return cls.of_rows(DocumentRows(source, "", enumerate(documents, start=1), fault, "row"))


def _check_texts(texts: Mapping[str, str], rows: Mapping[str, int], fault: RowFault) -> None:
    """Refuse captions that are all missing values, or all lists of concepts."""
    for what, is_one in (("a missing value", _is_missing), ("a list of concepts", _is_of_concepts)):
        some = {image: text.strip() for image, text in texts.items() if text.strip()}
        if some and all(map(is_one, some.values())):
            image, text = next(iter(some.items()))
            raise fault(
                f"every caption is {what}", rows[image], 1, quoted(text), "captions", "Is it the column of captions?"
            )


def _is_missing(text: str) -> bool:
    return text.lower() in MISSING_VALUES


def _is_of_concepts(text: str) -> bool:
    return all(looks_like_identifier(part.strip()) for part in text.split(";"))


def numbered_rows(images: Iterable[str]) -> dict[str, int]:
    """Image → its row, for images that stand in no file."""
    return {image: row for row, image in enumerate(images, start=1)}


def check_same_images(references: Captions, images: Mapping[str, int], fault: RowFault) -> None:
    """Refuse an input whose images are not those of the references.

    Args:
        references: the captions. images: image → its row in the input. fault: makes the error about one of its rows.

    Raises:
        InputError: an image is unknown, named with its row, or one is missing.
    """
    if not images:
        raise InputError("no images", file=fault.source, expected="the images of the references")
    for image in images:
        check_image_of_truth(image, references, references.source, images, fault)
    check_every_image(references, images, fault)


def depends_on_captions(references: Captions, predictions: Captions) -> dict[str, str]:
    """Digests of captions and of their order, for a checkpoint."""
    return {
        "content of references": references.digest,
        "content of predictions": predictions.digest,
        "order of images": content_digest(list(references)),
    }
