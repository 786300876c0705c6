"""Columns of images and concepts in a table: named by the caller, known by their usual names, or by position."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cuihop.errors import InputError
from cuihop.files.likely_causes import cause_of_columns
from cuihop.files.text_lines import quoted

__all__ = ["ChosenColumns", "ColumnFault", "Columns", "place_of_column"]

_IMAGES = ("image_id", "id", "image")
_CONCEPTS = ("cuis", "cui", "concepts")
"""Names of the columns in a table of more than two, the first that is there: a hub's ``image`` may be the picture."""
_CHOOSE = "image_column and concept_column (--image-column, --concept-column) choose two of them."

ColumnFault: TypeAlias = Callable[[str, str, str, str | None], InputError]
"""Makes the error about the columns of a table: from problem, found, expected and advice."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of images and concepts that the caller names; ``None`` leaves the choice to the table.

    A table of two columns holds images and concepts in this order. In a larger one they are called ``image_id``, ``ID``
    or ``image``, and ``CUIs``, ``cui`` or ``concepts``, in upper or lower case.
    """

    image: str | None = None
    concepts: str | None = None

    def choose(
        self, names: Sequence[str], fault: ColumnFault, *, delimiter: str = ",", by_name: bool = False
    ) -> ChosenColumns:
        """The places of both columns.

        Args:
            names: of all columns. fault: makes the error from problem, found, expected and advice.
            delimiter: between the columns, for the advice. by_name: two columns have no order, as keys of an object.

        Raises:
            InputError: a column is absent or stands twice, or the table leaves the choice open.
        """
        plain = [name.strip().lower() for name in names]
        image, concepts = self.image, self.concepts
        named = by_name or len(names) != 2
        if named and image is None and not any(not name or name.startswith("unnamed:") for name in plain):
            image = next((name for name in _IMAGES if name in plain), None)
        if named and concepts is None and image is not None:
            concepts = next((name for name in _CONCEPTS if name in plain), None)
        places = [
            None if name is None else place_of_column(names, name, fault) for name in (image, concepts)
        ]  # fmt: skip
        if len(names) == 2:
            free = [place for place in (0, 1) if place not in places]
            places = [free.pop(0) if place is None else place for place in places]
        if places[0] is None or places[1] is None:
            raise fault(
                "wrong number of columns", f"{len(names)} in {quoted(delimiter.join(names))}",
                "two: image and concepts",
                cause_of_columns(names, 2, delimiter) or (_CHOOSE if len(names) > 2 else None),
            )  # fmt: skip
        if places[0] == places[1]:
            raise fault("one column for images and concepts", quoted(names[places[0]]), "two columns", None)
        return ChosenColumns(tuple(names), places[0], places[1])


@dataclass(frozen=True, slots=True)
class ChosenColumns:
    """The places of two columns among the names of all."""

    names: tuple[str, ...]
    image: int
    concepts: int

    @property
    def account(self) -> str:
        """The columns read and those left out; empty for two columns in the usual order."""
        if (self.image, self.concepts, len(self.names)) == (0, 1, 2):
            return ""
        others = [name for place, name in enumerate(self.names) if place not in (self.image, self.concepts)]
        left = f", without {', '.join(others)}" if others else ""
        return f"columns {self.names[self.image]} and {self.names[self.concepts]}{left}"


def place_of_column(names: Sequence[str], wanted: str, fault: Callable[[str, str, str, str | None], InputError]) -> int:
    """The place of the column with this name, or else with this name in another case.

    Raises:
        InputError: there is none, or more than one.
    """
    exact = [place for place, name in enumerate(names) if name.strip() == wanted.strip()]
    found = exact or [place for place, name in enumerate(names) if name.strip().lower() == wanted.strip().lower()]
    if len(found) != 1:
        raise fault(
            "no such column" if not found else "a column stands twice", quoted(", ".join(names)),
            f"one column named {wanted}", None,
        )  # fmt: skip
    return found[0]
