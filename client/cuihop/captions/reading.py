"""Captions of images from a file, a pipe or a mapping, with errors that name their line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

from cuihop.annotated_texts.documents import AnnotatedDocument, DocumentRows
from cuihop.annotated_texts.tables import Header, table_rows
from cuihop.collection.image_rows import ImageRows
from cuihop.collection.tables import ReadMapping
from cuihop.files.content_digest import content_digest
from cuihop.files.input_file import Readable, opened_input
from cuihop.files.records import RowErrors
from cuihop.files.text_lines import counted, decoded_lines, first_line, quoted
from cuihop.identifiers import MISSING_VALUES, looks_like_identifier

_NO_FILE = RowErrors(None, ("image", "caption"), "row")


@dataclass(frozen=True, eq=False, repr=False)
class Captions(ReadMapping[str]):
    """Image → its caption, in the order of the file. White space is part of a caption.

    Attributes:
        rows: image → its row; empty if it stands in no file.
    """

    rows: ImageRows = field(default_factory=lambda: ImageRows(_NO_FILE))

    @property
    def empty(self) -> int:
        """Number of captions without a character."""
        return sum(not text for text in self.entries.values())

    def _facts(self) -> tuple[str, ...]:
        return counted(len(self), "caption"), f"{self.empty:,} empty"

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content, in whatever order it stands in the file."""
        return content_digest(dict(self.entries))

    @classmethod
    def read(
        cls, source: Readable, *, image_column: str | None = None, caption_column: str | None = None,
        official: bool = False,
    ) -> Captions:  # fmt: skip
        """Read captions from a file, a pipe, or with ``-`` from standard input.

        CSV such as ImageCLEF's ``ID,Caption``, with captions in quotes if they hold a comma; tabs or semicolons
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
    def of_rows(cls, documents: DocumentRows) -> Captions:
        """The captions of rows, each image once."""
        rows, texts = ImageRows(cast(RowErrors, documents.row_error)), dict[str, str]()
        for row, document in documents.checked():
            rows.add(document.identifier, row)
            texts[document.identifier] = document.text or ""
        if not texts:
            raise rows.error.empty("caption", "an image and its caption in each line")
        _check_texts(texts, rows)
        return cls(texts, documents.source, documents.form, rows)

    @classmethod
    def of(cls, captions: Mapping[str, str], source: str = "memory") -> Captions:
        """The captions of a mapping; those that were read already stay as they are.

        Raises:
            InputError: there is none, or one is no text or too long.
        """
        if isinstance(captions, Captions):
            return captions
        for row, (image, text) in enumerate(captions.items(), start=1):
            if not isinstance(image, str) or not isinstance(text, str):
                wrong = int(isinstance(image, str))
                raise _NO_FILE("not a text", row, wrong, repr((image, text)[wrong]), "a text")
        documents = (AnnotatedDocument(image, text) for image, text in captions.items())
        return cls.of_rows(DocumentRows(source, "", enumerate(documents, start=1), _NO_FILE, "row"))

    def check_images(self, references: Captions) -> None:
        """Refuse captions of other images than those of the references.

        Raises:
            InputError: an image is unknown, named with its row, or one is missing.
        """
        (self.rows or ImageRows(_NO_FILE, self)).check_same(references, references.source)


def _check_texts(texts: Mapping[str, str], rows: ImageRows) -> None:
    """Refuse captions that are all missing values, or all lists of concepts."""
    filled = {image: text.strip() for image, text in texts.items() if text.strip()}
    missing = all(text.lower() in MISSING_VALUES for text in filled.values())
    items = (item.strip() for text in filled.values() for item in text.split(";"))
    for kind, of_kind in (("a missing value", missing), ("a list of concepts", all(map(looks_like_identifier, items)))):
        if filled and of_kind:
            image, text = next(iter(filled.items()))
            problem, hint = f"every caption is {kind}", "Is it the column of captions?"
            raise rows.error_of(image, problem, 1, quoted(text), "captions", hint)


def depends_on_captions(references: Captions, predictions: Captions) -> dict[str, str]:
    """Digests of captions and of their order, for a checkpoint."""
    return {
        "content of references": references.digest,
        "content of predictions": predictions.digest,
        "order of images": content_digest(list(references)),
    }
