"""Images of a collection and the concepts of each, from a file, a table, a DataFrame or a mapping."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from cuihop.collection.concept_rows import IMAGES_AND_CONCEPTS, ConceptRows, concepts_of_pairs, read_concepts
from cuihop.collection.distinct_sets import DistinctSets
from cuihop.collection.tables import ReadMapping
from cuihop.errors import InputError
from cuihop.files.arrow_tables import ArrowStream, is_table_object
from cuihop.files.content_digest import digest_of_mapping
from cuihop.files.input_file import Readable, opened_input
from cuihop.files.records import Records, Unit
from cuihop.files.text_lines import counted, quoted

__all__ = ["ImageConcepts"]


@dataclass(frozen=True, eq=False, repr=False)
class ImageConcepts(ReadMapping[frozenset[str]]):
    """Image → its concepts, in the order of the file.

    Attributes:
        repeated: repetitions of a concept in the list of an image; each concept counts once.
        lower: concepts in lower case, each counted in every image that has it; they are read in upper case.
        rows: the number of each image's row. unit: line or row.
        derived: computed from another collection, whose share of unknown concepts was checked.
    """

    repeated: int = 0
    lower: int = 0
    rows: Sequence[int] = ()
    unit: Unit = "row"
    derived: bool = False

    @property
    def sets(self) -> Mapping[str, frozenset[str]]:
        """The mapping behind it."""
        return self.entries

    @cached_property
    def distinct(self) -> DistinctSets:
        """The sets of the images in their order, each different one once."""
        return DistinctSets.of_images(self.entries.values())

    @property
    def occurrences(self) -> int:
        """The concepts of all images, each counted as often as an image has it."""
        return self.distinct.occurrences.total()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content, whatever its file is called and in whatever order it stands there."""
        return digest_of_mapping(self.entries, sorted)

    @cached_property
    def checked(self) -> set[str]:
        """Digests of the releases of which the share of unknown concepts was checked: a warning comes once."""
        return set()

    def _facts(self) -> tuple[str, ...]:
        lower = f"{self.lower:,} in lower case read in upper case" if self.lower else ""
        return counted(len(self), "image"), counted(self.occurrences, "concept"), "0 malformed", lower

    def place_of(self, concept: str) -> str | None:
        """The first occurrence of a concept: file, row and image; ``None`` for one that no image has."""
        if concept not in self.distinct.occurrences:
            return None
        for index, (image, concepts) in enumerate(self.entries.items()):
            if concept in concepts:
                row = f", {self.unit} {self.rows[index]:,}" if self.rows else ""
                return f"{self.source}{row}, image {quoted(image)}"
        return None

    @classmethod
    def of_rows(cls, rows: ConceptRows) -> ImageConcepts:
        """From rows that were read and checked."""
        return cls(rows.sets, rows.source, rows.form, rows.repeated, rows.lower, rows.rows, rows.unit)

    @classmethod
    def read(
        cls, path: Readable, *, image_column: str | None = None, concept_column: str | None = None
    ) -> ImageConcepts:
        """Read images and their concepts from a file, a pipe, or with ``-`` from standard input.

        CSV such as ImageCLEF's and ROCOv2's ``ID,CUIs``: UTF-8 with or without a byte order mark, LF or CRLF; fields
        may be quoted; a header with any two names. Columns are separated by commas, or by the tabs or semicolons of the
        header. An empty field is an image without concepts. White space around images and identifiers is not part of
        them; empty lines are skipped. A CUI in lower case is read in upper case, and counted. A file whose first
        line has tabs and no comma may be of ROCO's first form: no header, the image, one tab or two, and concepts
        separated by tabs or ``;``.

        JSON Lines have an object in each line, Parquet, Arrow and Feather files a row; concepts are ``C1;C2`` or lists
        of texts, and a missing value is an image without concepts. Text may be compressed by gzip or zstd.

        Args:
            path: the input.
            image_column, concept_column: names of the columns. Without them, a table of two columns holds images and
                concepts in this order, and a larger one the columns ``image_id``, ``ID`` or ``image``, and ``CUIs``,
                ``cui`` or ``concepts``, in upper or lower case; others are left out, and the summary names them.

        Raises:
            InputError: names the file, line or row, column, what was found and what was expected.
            ModuleNotFoundError: a Parquet, Arrow or zstd file, and pyarrow is not installed.
        """
        schema = IMAGES_AND_CONCEPTS.naming(image_column, concept_column)
        return cls.of_rows(read_concepts(opened_input(path), schema))

    @classmethod
    def of(
        cls, images: ImagesLike, *, image_column: str | None = None, concept_column: str | None = None
    ) -> ImageConcepts:
        """From a mapping (image → ``"C1;C2"`` or a collection of identifiers), a DataFrame, or a table.

        Any table with ``__arrow_c_stream__`` will do: of pandas, polars, pyarrow and others. The columns are chosen as
        in `read`, and the checks are the same. In a DataFrame concepts are ``"C1;C2"`` or collections; a missing value
        is an image without concepts.

        Raises:
            InputError: it is none of these, an image stands twice, or concepts are no text and no collection of texts.
        """
        schema = IMAGES_AND_CONCEPTS.naming(image_column, concept_column)
        if isinstance(images, ImageConcepts):
            return images
        if isinstance(images, Mapping):
            return cls.of_rows(concepts_of_pairs(images.items(), "memory"))
        pandas = sys.modules.get("pandas")
        if pandas is not None and isinstance(images, pandas.DataFrame):
            table = schema.table(Records(list(map(str, images.columns)), "DataFrame"))
            names, values = (images.iloc[:, column] for column in table.columns)
            concepts = ("" if empty else one for one, empty in zip(values, values.isna(), strict=True))
            rows = concepts_of_pairs(zip(names, concepts, strict=True), "DataFrame")
            rows.form = table.form
            return cls.of_rows(rows)
        if is_table_object(images):
            return cls.of_rows(read_concepts(images, schema))
        raise InputError(
            "not a collection of images", found=type(images).__name__,
            expected="a mapping of images to concepts, a DataFrame, or what ImageConcepts.read gives",
        )  # fmt: skip


ImagesLike: TypeAlias = ImageConcepts | Mapping[str, str | Iterable[str]] | ArrowStream
"""Image → its concepts, as ``"C1;C2"`` or a collection of identifiers; or a table or DataFrame."""
