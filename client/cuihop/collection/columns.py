"""Two columns of a table, such as images and concepts: named by the caller, by their usual names, or by position."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cuihop.files.likely_causes import cause_of_columns
from cuihop.files.records import Records
from cuihop.files.text_lines import quoted

EXPECTED_CONCEPTS = "two columns separated by a comma: image and concepts, the concepts separated by ';'"
IMAGE_NAMES = ("image_id", "id", "image")
_CONCEPTS = ("cuis", "cui", "concepts")
"""Names of the columns in a table of more than two, the first that is there: a hub's ``image`` may be the picture."""
_CHOOSE = "image_column and concept_column (--image-column, --concept-column) choose two of them."


@dataclass(frozen=True, slots=True)
class Columns:
    """The two columns that the caller names; ``None`` leaves the choice to the table.

    A table of two columns holds them in this order. In a larger one each has one of its usual names, in upper or
    lower case: images and concepts are ``image_id``, ``ID`` or ``image``, and ``CUIs``, ``cui`` or ``concepts``.

    Attributes:
        first, second: names of the columns. usual: in lower case, their usual names. contents: of both, for errors.
        expected: the form of a text. advice: for a table that leaves the choice open.
    """

    first: str | None = None
    second: str | None = None
    usual: tuple[Sequence[str], Sequence[str]] = (IMAGE_NAMES, _CONCEPTS)
    contents: str = "images and concepts"
    expected: str = EXPECTED_CONCEPTS
    advice: str = _CHOOSE

    @property
    def named(self) -> bool:
        """True where the caller names one."""
        return (self.first, self.second) != (None, None)

    def in_header(self, names: Iterable[str]) -> bool:
        """True for the header of a larger table that has usual names of both columns."""
        plain = [name.strip().strip('"').lower() for name in names]
        return len(plain) > 2 and not any(set(plain).isdisjoint(usual) for usual in self.usual)

    def choose(self, records: Records) -> ChosenColumns:
        """The places of both columns.

        Raises:
            InputError: a column is absent or stands twice, or the table leaves the choice open.
        """
        names = records.names
        plain = [name.strip().lower() for name in names]
        first, second = self.first, self.second
        by_name = records.in_json or len(names) != 2  # the keys of an object have no order
        if by_name and first is None and not any(not name or name.startswith("unnamed:") for name in plain):
            first = next((name for name in self.usual[0] if name in plain), None)
        if by_name and second is None and first is not None:
            second = next((name for name in self.usual[1] if name in plain), None)
        places = [None if name is None else place_of_column(records, name) for name in (first, second)]
        if len(names) == 2:
            free = [place for place in (0, 1) if place not in places]
            places = [free.pop(0) if place is None else place for place in places]
        if places[0] is None or places[1] is None:
            raise records.fault(
                "wrong number of columns", f"{len(names)} in {quoted(records.delimiter.join(names))}",
                self.expected if records.line is not None and not self.named else f"two: {self.contents}",
                cause_of_columns(names, 2, records.delimiter) or (self.advice if len(names) > 2 else None),
            )  # fmt: skip
        if places[0] == places[1]:
            raise records.fault(f"one column for {self.contents}", quoted(names[places[0]]), "two columns")
        return ChosenColumns(names, places[0], places[1])


@dataclass(frozen=True, slots=True)
class ChosenColumns:
    """The places of two columns among the names of all."""

    names: Sequence[str]
    first: int
    second: int

    @property
    def account(self) -> str:
        """The columns read and those left out; empty for two columns in the usual order."""
        if (self.first, self.second, len(self.names)) == (0, 1, 2):
            return ""
        others = [name for place, name in enumerate(self.names) if place not in (self.first, self.second)]
        left = f", without {', '.join(others)}" if others else ""
        return f"columns {self.names[self.first]} and {self.names[self.second]}{left}"


def place_of_column(records: Records, wanted: str) -> int:
    """The place of the column with this name, or else with this name in another case.

    Raises:
        InputError: there is none, or more than one.
    """
    names = [name.strip() for name in records.names]
    found = [place for place, name in enumerate(names) if name == wanted.strip()]
    found = found or [place for place, name in enumerate(names) if name.lower() == wanted.strip().lower()]
    if len(found) != 1:
        raise records.fault(
            "no such column" if not found else "a column stands twice", quoted(", ".join(records.names)),
            f"one column named {wanted}",
        )  # fmt: skip
    return found[0]
