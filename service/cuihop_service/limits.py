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
    """The most that one request may hold. The description of the release shows them to callers.

    Attributes:
        pairs: pairs in one batch of distances.
        concepts: concepts in one request.
        neighbours: neighbours in one answer, over all its centres.
        sets: sets that one is compared with in one request.
        set_concepts: concepts in one set.
        comparisons: pairs of concepts, one of each set, that one relevance request needs.
        hits: hits of one search.
        pack_concepts: concepts in one distance pack; its answer may hold the square of that.
        hops: the largest bound on hops; a request without a bound is refused then. None: any, and none.
        text: characters in a text to search for, or in an identifier.
        texts: texts to annotate in one request.
        text_characters: characters of one text to annotate.
        characters: characters of all texts to annotate in one request.
        mentions: mentions in the answer to these, their candidates included.
        message_bytes: bytes of one request.
        seconds: for one answer.
        running: requests answered at the same time, in one worker.
        waiting: requests waiting for their turn, in one worker.
    """

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

    def check(self, name: str, found: int) -> None:
        """Refuse a number above the limit of that name.

        Raises:
            LimitExceeded: names the limit.
        """
        allowed = getattr(self, name)
        if found > allowed:
            raise LimitExceeded(f"too many {name.replace('_', ' ')}: found {found:,}; this service allows {allowed:,}")

    def check_texts(self, texts: Sequence[str]) -> None:
        """Refuse texts to annotate that are too many or too long.

        Raises:
            LimitExceeded: names the limit, and the text by its place.
        """
        self.check("texts", len(texts))
        for place, text in enumerate(texts):
            if len(text) > self.text_characters:
                raise text_too_long(place, len(text), self.text_characters)
        self.check("characters", sum(map(len, texts)))

    def check_text(self, text: str, field: str) -> None:
        """Refuse a text, named by its field, that is longer than a search or an identifier may be.

        Raises:
            InputError: names the field.
        """
        if len(text) > self.text:
            raise InputError(
                "too long", column=field, found=f"{len(text):,} characters", expected=f"at most {self.text:,}"
            )

    def check_identifiers(self, cuis: Sequence[str]) -> None:
        """Refuse identifiers that are too long: see `check_text`."""
        longest = self.text
        for cui in cuis:
            if len(cui) > longest:
                self.check_text(cui, "cui")

    def check_hops(self, bound: int | None) -> None:
        """Refuse a search that may go farther than allowed.

        Raises:
            LimitExceeded: names the limit.
        """
        if self.hops is not None and (bound is None or bound > self.hops):
            found = "no bound" if bound is None else f"{bound:,}"
            raise LimitExceeded(f"too many hops: found {found}; this service allows a bound of at most {self.hops:,}")
