"""True and predicted concepts that have nothing in common: of different vocabularies, or all wrong."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from cuihop.errors import InputError
from cuihop.files.text_lines import quoted
from cuihop.identifiers import in_upper_case, is_identifier


def check_one_vocabulary(true: Collection[str], predicted: Collection[str], sources: tuple[str, str]) -> None:
    """Refuse concepts that share none with the true ones, and are written in other forms: every value would be 0."""
    ours, theirs = (sorted(filter(None, set(side))) for side in (true, predicted))
    forms = set(map(_form, ours))
    if not ours or not theirs or not set(ours).isdisjoint(theirs) or not forms.isdisjoint(map(_form, theirs)):
        return
    raise InputError(
        "no predicted concept is a true one, and all are written in another form",
        file=None if sources[1] == "memory" else sources[1], found=f"such as {quoted(theirs[0])}",
        expected=f"identifiers of the vocabulary of {sources[0]}, such as {quoted(ours[0])}",
        advice="Translate one of them, or take the file of the same vocabulary.",
    )  # fmt: skip


def account_of_shared(true: Collection[int], predicted: Collection[int]) -> Iterator[str]:
    """A line about two sides without a common concept, each by the numbers of its concepts."""
    if true and predicted and set(true).isdisjoint(predicted):
        yield "no predicted concept is a true one of any text or image: are both of the same vocabulary?"


def _form(identifier: str) -> str:
    """The form of an identifier: CUI, the prefix of an ontology, another code, or a word."""
    if is_identifier(in_upper_case(identifier)):
        return "CUI"
    prefix, colon, _ = identifier.partition(":")
    return prefix.lower() + colon if colon else "code" if re.search("[0-9]", identifier) else "word"
