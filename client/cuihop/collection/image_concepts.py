"""Images of a collection and the concepts of each, from a file, a table, a DataFrame or a mapping."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cuihop.collection.columns import Columns
from cuihop.collection.concept_rows import ConceptRows, concepts_of_pairs, read_concepts
from cuihop.collection.distinct_sets import DistinctSets
from cuihop.errors import InputError
from cuihop.files.arrow_tables import is_table_object
from cuihop.files.content_digest import digest_of_mapping
from cuihop.files.input_file import Readable, opened_input
from cuihop.files.records import Records
from cuihop.files.text_lines import counted, quoted

__all__ = ["ImageConcepts"]


@dataclass(frozen=True, eq=False)
class ImageConcepts(Mapping[str, frozenset[str]]):
    """Image → its concepts, in the order of the file.

    Attributes:
        sets: the mapping behind it.
        repeated: number of times that a concept stood again in the list of an image; each counts once.
        source: the file, or another origin.
        lower: concepts that stood in lower case, each counted in every image that has it; they are read in upper case.
        places: the number of each image's row. unit: line or row.
        derived: computed from another collection, whose share of unknown concepts was checked.
        form: compression, delimiter and columns, where the input was not plain CSV of two columns.
    """

    sets: Mapping[str, frozenset[str]]
    repeated: int = 0
    source: str = "memory"
    lower: int = 0
    places: Sequence[int] = ()
    unit: str = "row"
    derived: bool = False
    form: str = ""

    def __getitem__(self, image: str) -> frozenset[str]:
        return self.sets[image]

    def __iter__(self) -> Iterator[str]:
        return iter(self.sets)

    def __len__(self) -> int:
        return len(self.sets)

    def __repr__(self) -> str:
        return f"<ImageConcepts {self.account}>"

    @cached_property
    def distinct(self) -> DistinctSets:
        """The sets of the images in their order, each different one once."""
        return DistinctSets.of_images(self.sets.values())

    @property
    def occurrences(self) -> int:
        """The concepts of all images, each counted as often as an image has it."""
        return self.distinct.occurrences.total()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content, whatever its file is called and in whatever order it stands there."""
        return digest_of_mapping(self.sets, sorted)

    @cached_property
    def account(self) -> str:
        """Summary of the parsed input, in one line."""
        lower = f", {self.lower:,} in lower case read in upper case" if self.lower else ""
        images, concepts = counted(len(self), "image"), counted(self.occurrences, "concept")
        form = f", {self.form}" if self.form else ""
        return f"{self.source}: {images}, {concepts}, 0 malformed{lower}{form}"

    def place_of(self, concept: str) -> str | None:
        """The first place of a concept: file, row and image; ``None`` for one that no image has."""
        if concept not in self.distinct.occurrences:
            return None
        for place, (image, concepts) in enumerate(self.sets.items()):
            if concept in concepts:
                row = f", {self.unit} {self.places[place]:,}" if self.places else ""
                return f"{self.source}{row}, image {quoted(image)}"
        return None

    @classmethod
    def of_rows(cls, rows: ConceptRows) -> ImageConcepts:
        """From rows that were read and checked."""
        return cls(rows.sets, rows.repeated, rows.source, rows.lower, rows.places, rows.unit, form=rows.form)

    @classmethod
    def read(
        cls, path: Readable, *, image_column: str | None = None, concept_column: str | None = None
    ) -> ImageConcepts:
        """Read images and their concepts from a file, a pipe, or with ``-`` from standard input.

        CSV such as ImageCLEF's and ROCOv2's ``ID,CUIs``: UTF-8 with or without a byte order mark, LF or CRLF; fields
        may be quoted; a header with any two names. Columns are separated by commas, or by the tabs or semicolons of the
        header. An empty field is an image without concepts. White space around images and identifiers is not part of
        them; empty lines are passed over. A CUI in lower case is read in upper case, and counted. A file whose first
        line has tabs and no comma may be of ROCO's first form: no header, the image, one tab or two, and concepts
        separated by tabs or ``;``.

        JSON Lines have an object in each line, Parquet, Arrow and Feather files a row; concepts are ``C1;C2`` or lists
        of texts, and a missing value is an image without concepts. Text may be compressed by gzip or zstd.

        Args:
            path: the input.
            image_column, concept_column: names of the columns. Without them, a table of two columns holds images and
                concepts in this order, and a larger one the columns ``image_id``, ``ID`` or ``image``, and ``CUIs``,
                ``cui`` or ``concepts``, in upper or lower case; others are left out, and the account names them.

        Raises:
            InputError: names the file, line or row, column, what was found and what was expected.
            ModuleNotFoundError: a Parquet, Arrow or zstd file, and pyarrow is not installed.
        """
        return cls.of_rows(read_concepts(opened_input(path), Columns(image_column, concept_column)))

    @classmethod
    def of(cls, images: object, *, image_column: str | None = None, concept_column: str | None = None) -> ImageConcepts:
        """From a mapping (image → ``"C1;C2"`` or a collection of identifiers), a DataFrame, or a table.

        Any table with ``__arrow_c_stream__`` will do: of pandas, polars, pyarrow and others. The columns are chosen as
        in `read`, and the checks are the same. In a DataFrame concepts are ``"C1;C2"`` or collections; a missing value
        is an image without concepts.

        Raises:
            InputError: it is none of these, an image stands twice, or concepts are no text and no collection of texts.
        """
        columns = Columns(image_column, concept_column)
        if isinstance(images, ImageConcepts):
            return images
        if isinstance(images, Mapping):
            return cls.of_rows(concepts_of_pairs(images.items(), "memory"))
        pandas = sys.modules.get("pandas")
        if pandas is not None and isinstance(images, pandas.DataFrame):
            return cls._of_frame(images, columns)
        if is_table_object(images):
            return cls.of_rows(read_concepts(images, columns))
        raise InputError(
            "not a collection of images", found=type(images).__name__,
            expected="a mapping of images to concepts, a DataFrame, or what ImageConcepts.read gives",
        )  # fmt: skip

    @classmethod
    def _of_frame(cls, frame: Any, columns: Columns) -> ImageConcepts:
        chosen = columns.choose(Records(list(map(str, frame.columns)), "DataFrame"))
        values, missing = frame.iloc[:, chosen.second], frame.iloc[:, chosen.second].isna()
        concepts = ("" if empty else one for one, empty in zip(values, missing, strict=True))
        rows = concepts_of_pairs(zip(frame.iloc[:, chosen.first], concepts, strict=True), "DataFrame")
        rows.form = chosen.account
        return cls.of_rows(rows)
