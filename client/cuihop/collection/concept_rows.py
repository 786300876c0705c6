"""Images and their concepts as they are read, row by row, with the checks that hold for every form of input."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Protocol

from cuihop.errors import InputError
from cuihop.files.likely_causes import swapped_columns
from cuihop.files.text_lines import shown
from cuihop.identifiers import identifier_fault, in_upper_case

__all__ = ["ConceptRows", "Identifiers", "RowFault", "check_image", "fault_in_file"]


class RowFault(Protocol):
    """An error about a row: what is wrong, the row's number, the place of the column, found, expected, advice."""

    def __call__(
        self, problem: str, row: int, column: int, found: str, expected: str, advice: str | None = None
    ) -> InputError:
        """The error."""
        ...


def fault_in_file(path: Path) -> RowFault:
    """Errors about rows that are lines of a text file."""

    def fault(problem: str, row: int, column: int, found: str, expected: str, advice: str | None = None) -> InputError:
        return InputError(
            problem, file=path, line=row, column=column + 1, found=found, expected=expected, advice=advice
        )

    return fault


class Identifiers(dict[str, str]):
    """Identifier as it is written → as it is read: without white space, and a CUI in upper case.

    Each different one is checked once, so that rows of known identifiers cost no more than looking them up.

    Attributes:
        lower: those that were written in lower case.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lower: set[str] = set()

    def __missing__(self, written: str) -> str:
        plain = written.strip()
        if identifier_fault(plain) is not None:
            raise KeyError(plain)
        self[written] = read = in_upper_case(plain)
        if read != plain:
            self.lower.add(written)
        return read


class ConceptRows:
    """Image → concepts, from rows in any form.

    Args:
        fault: makes the error about a row. unit: what its rows are called.

    Attributes:
        sets: what was read. places: the number of each image's row. repeated: concepts that stood again in the list of
            an image. lower: concepts in lower case, each counted in every image that has it.
    """

    def __init__(self, fault: RowFault, unit: str) -> None:
        self._fault, self._unit = fault, unit
        self.sets: dict[str, frozenset[str]] = {}
        self.places = array("q")
        self.repeated = self.lower = 0
        self._identifiers = Identifiers()

    def add(self, row: int, image: str, listed: Sequence[str]) -> None:
        """The next row.

        Raises:
            InputError: the image is missing or stands twice, or one of the concepts is malformed.
        """
        try:
            concepts = frozenset(map(self._identifiers.__getitem__, listed))
        except KeyError:
            raise self._malformed(row, image, listed) from None
        if not image or image in self.sets:
            earlier = self.places[list(self.sets).index(image)] if image in self.sets else None
            check_image(image, row, earlier, self._fault, self._unit, concepts)
        self.sets[image] = concepts
        self.places.append(row)
        self.repeated += len(listed) - len(concepts)
        if self._identifiers.lower:
            self.lower += len({self._identifiers[one] for one in listed if one in self._identifiers.lower})

    def _malformed(self, row: int, image: str, listed: Sequence[str]) -> InputError:
        for written in listed:
            if (fault := identifier_fault(written.strip())) is not None:
                found = shown(written.strip()) if written.strip() else "nothing beside a ';'"
                cause = swapped_columns(image, [written])
                advice = None if cause is None else f"The image {shown(image)} {cause}"
                return self._fault(fault.problem, row, 1, found, fault.expected, advice)
        return self._fault("not an identifier", row, 1, shown(";".join(listed)), "identifiers")

    def check_columns(self) -> None:
        """Refuse columns that look swapped.

        Raises:
            InputError: every image that has concepts looks like identifiers, while they do not.
        """
        first = None
        for (image, concepts), row in zip(self.sets.items(), self.places, strict=True):
            if concepts:
                if (cause := swapped_columns(image, concepts)) is None:
                    return
                first = first or (row, image, cause)
        if first is not None:
            row, image, cause = first
            raise self._fault(
                f"the image {cause}", row, 0, shown(image), "the name of an image, and behind it its concepts"
            )


def check_image(
    image: str, row: int, earlier: int | None, fault: RowFault, unit: str, concepts: Collection[str] = ()
) -> None:
    """Refuse an image without a name, or with one that an earlier row has.

    Args:
        image: its name. row: where it stands. earlier: where it stood already, if anywhere.
        fault, unit: as in `ConceptRows`. concepts: what stands beside it.

    Raises:
        InputError: names the row.
    """
    if not image:
        raise fault("the image is missing", row, 0, "nothing", "an identifier")
    if earlier is not None:
        cause = swapped_columns(image, concepts)
        raise fault(
            "an image stands twice", row, 0, f"{shown(image)}, as in {unit} {earlier:,}", "each image once",
            None if cause is None else f"It {cause}",
        )  # fmt: skip
