"""Limits on the size of a request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge

from cuihop.annotation.texts import text_too_long
from cuihop.errors import InputError, LimitExceeded


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that one request may hold. The settings ``limit_…`` describe each; callers see them with the release."""

    pairs: Annotated[int, Ge(1)] = 100_000
    concepts: Annotated[int, Ge(1)] = 10_000
    neighbours: Annotated[int, Ge(1)] = 100_000
    sets: Annotated[int, Ge(1)] = 10_000
    set_concepts: Annotated[int, Ge(1)] = 1_000
    comparisons: Annotated[int, Ge(1)] = 2_000_000
    hits: Annotated[int, Ge(1)] = 100
    pack_concepts: Annotated[int, Ge(1)] = 5_000
    hops: Annotated[int, Ge(0)] | None = None
    text: Annotated[int, Ge(64)] = 512
    texts: Annotated[int, Ge(1)] = 10_000
    text_characters: Annotated[int, Ge(1)] = 100_000
    characters: Annotated[int, Ge(1)] = 1_000_000
    mentions: Annotated[int, Ge(1)] = 100_000
    message_bytes: Annotated[int, Ge(1024)] = 16 << 20
    seconds: Annotated[float, Ge(0.001)] = 30.0
    running: Annotated[int, Ge(1)] = 32
    waiting: Annotated[int, Ge(0)] = 256

    def check(self, name: str, number: int) -> None:
        """Refuse a number above the limit of that name by a `LimitExceeded`."""
        allowed = getattr(self, name)
        if number > allowed:
            raise LimitExceeded(f"too many {name.replace('_', ' ')}: found {number:,}; this service allows {allowed:,}")

    def check_texts(self, texts: Sequence[str]) -> None:
        """Refuse texts to annotate that are too many or too long by a `LimitExceeded`."""
        self.check("texts", len(texts))
        for index, text in enumerate(texts):
            if len(text) > self.text_characters:
                raise text_too_long(index, len(text), self.text_characters)
        self.check("characters", sum(map(len, texts)))

    def check_text(self, text: str, field: str) -> None:
        """Refuse a text, named by its field, that is longer than a search or an identifier may be: `InputError`."""
        if len(text) > self.text:
            raise InputError(
                "too long", column=field, found=f"{len(text):,} characters", expected=f"at most {self.text:,}"
            )

    def check_identifiers(self, cuis: Sequence[str], most: str | None = None) -> None:
        """Refuse identifiers that are too long, see `check_text`, or more than the limit of this name."""
        if most is not None:
            self.check(most, len(cuis))
        longest = self.text
        for cui in cuis:
            if len(cui) > longest:
                self.check_text(cui, "cui")

    def check_hops(self, bound: int | None) -> None:
        """Refuse a search that may go farther than allowed by a `LimitExceeded`."""
        if self.hops is not None and (bound is None or bound > self.hops):
            bound_text = "no bound" if bound is None else f"{bound:,}"
            raise LimitExceeded(
                f"too many hops: found {bound_text}; this service allows a bound of at most {self.hops:,}"
            )
