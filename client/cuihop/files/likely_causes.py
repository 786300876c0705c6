"""The likely cause of a fault in a file, and the way on: what an error adds to where and what."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from cuihop.identifiers import looks_like_identifier

_ENDING = re.compile(r"(\.[A-Za-z][A-Za-z0-9]{0,4}){1,2}$")  # .jpg, .nii.gz; not the last number of 1.2.840
_SWAPPED = "looks like a concept: are the columns swapped?"
_SEPARATORS = {"\t": "a tab", "|": "'|'", ";": "';'", ",": "a comma"}


def cause_of_columns(fields: Sequence[str], expected: int, separator: str) -> str | None:
    """The likely reason why a line, or a header, has another number of columns than expected.

    Args:
        fields: of the line. expected: how many there should be. separator: what separates them, such as ``,``.

    >>> cause_of_columns(["", "ID", "CUIs"], 2, ",")
    'The first column is an index: DataFrame.to_csv(FILE, index=False) leaves it out.'
    >>> cause_of_columns(["a|C0040405"], 2, ",")
    "The columns look separated by '|': separate them by a comma."
    """
    first = fields[0].strip() if fields else ""
    if len(fields) > expected and (not first or first.startswith("Unnamed:")):
        return "The first column is an index: DataFrame.to_csv(FILE, index=False) leaves it out."
    if len(fields) > expected and not any(field.strip() for field in fields[expected:]):
        return f"The line ends with {_named(separator)}: leave it out."
    listed = [field.strip(" []'\"") for field in fields[1:]]
    if len(fields) > expected and len(listed) > 1 and all(map(looks_like_identifier, listed)):
        if separator == ";":
            return "The columns look separated by ';' as the concepts are: quote the concepts, as in \"C1;C2\"."
        return f"The identifiers look separated by {_named(separator)}: separate them by ';'."
    if len(fields) < expected:
        for other, name in _SEPARATORS.items():
            if other != separator and any(other in field for field in fields):
                return f"The columns look separated by {name}: separate them by {_named(separator)}."
    return None


def _named(separator: str) -> str:
    return _SEPARATORS.get(separator, "blanks or tabs")


def swapped_columns(image: str, concepts: Collection[str]) -> str | None:
    """Advice for an image that looks like identifiers while its concepts do not; ``None`` for any other.

    >>> swapped_columns("C0040405;C0817096", ["ROCOv2_2023_test_000001"])
    'looks like a concept: are the columns swapped?'
    """
    listed = [part.strip() for part in image.split(";")]
    if all(map(looks_like_identifier, listed)) and concepts and not any(map(looks_like_identifier, concepts)):
        return _SWAPPED
    return None


def cause_of_strange_name(name: str, names: Collection[str]) -> str | None:
    """The likely reason why a name is none of the others: how it differs from one of them.

    Args:
        name: of an image, document or query. names: those of the other input.

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
