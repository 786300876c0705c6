"""Search by name in a Neo4j database: the rule of `cuihop.snapshot.name_index`, with the full-text index."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import chain
from typing import Any

from cuihop.graph import MatchKind, SearchHit
from cuihop.neo4j_graph import cypher
from cuihop.snapshot.spelling import Spelling
from cuihop.snapshot.word_forms import (
    MOST_WORDS,
    STOP_WORDS,
    form_of,
    form_prefixes,
    name_forms,
    respaced,
    searched_words,
)

HITS_A_PAGE = 100
"""Most hits that a load stores for one word."""

_LONGEST_WORD = 255  # the full-text index cuts longer words
_MOST_ALTERNATIVES = 500  # words in place of one; Lucene refuses more than 1,024 in a query

Form = list[str]
"""Words that stand for one another."""


class NameSearch:
    """Search in a stored release. One that an earlier version loaded has no other forms and no corrections.

    Args:
        rows: the rows of a query on the release, from its text and parameters.
    """

    def __init__(self, rows: Callable[..., list[list[Any]]]) -> None:
        self._rows = rows

    def best(self, text: str, most: int) -> list[SearchHit]:
        """The best concepts for a text that is folded and not empty, at most ``most``."""
        if not most:
            return []
        text = " ".join(text.split(" ")[:MOST_WORDS])
        if hits := self._as_typed(text, most, [text, *respaced(text)]):
            return hits
        return self._best_of(self._spelling.corrected(text, self._has_word), most, "spelling") or self._best_of(
            self._spelling.in_part(text, self._has_word), most, "part"
        )

    def _best_of(self, texts: list[str], most: int, kind: MatchKind) -> list[SearchHit]:
        """Hits of several texts, those of the first ones first."""
        hits: dict[str, SearchHit] = {}
        for text in texts:
            for hit in self._as_typed(text, most, [text]):
                hits.setdefault(hit.cui, SearchHit(hit.cui, hit.name, hit.matched, kind))
            if len(hits) >= most:
                break
        return list(hits.values())[:most]

    def _as_typed(self, text: str, most: int, readings: list[str]) -> list[SearchHit]:
        if " " not in text and (rows := self._rows(cypher.SEARCH_PAGE, text=text, limit=most, most=HITS_A_PAGE)):
            return [SearchHit(*row) for row in rows]
        words, forms = searched_words(text), [name_forms(reading) for reading in readings]
        words_of = self._words_of(list(dict.fromkeys([*chain(*forms), *map(form_of, words)])))
        groups = [[words_of[form] for form in reading] for reading in forms]
        begun = [self._begun(word, words_of[form_of(word)]) for word in words]
        alternatives = [_alternatives(each) for each in begun]
        rows = self._rows(
            cypher.SEARCH,
            lucene=" ".join(map(_all_of, [alternatives, *groups[1:]])),
            text=text,
            words=words,
            readings=groups,
            begun=begun,
            stops=[] if STOP_WORDS.issuperset(words) else sorted(STOP_WORDS),
            limit=most,
        )
        return [SearchHit(*row) for row in rows]

    def _words_of(self, forms: list[str]) -> dict[str, Form]:
        """The words of each form; the form itself where no other word has it."""
        return {form: [form] for form in forms} | dict(self._rows(cypher.WORDS_OF_FORMS, forms=forms))

    def _begun(self, word: str, same: Form) -> dict[str, list[str]]:
        """Beginnings of words that a beginning matches, and whole words."""
        beginnings = form_prefixes(word)
        others = self._rows(cypher.WORDS_OF_BEGUN_FORMS, beginnings=beginnings, most=_MOST_ALTERNATIVES)
        return {
            "beginnings": list(dict.fromkeys([word, *beginnings])),
            "words": list(dict.fromkeys([*same, *chain(*others)])),
        }

    def _has_word(self, word: str) -> bool:
        begun = self._begun(word, self._words_of([form_of(word)])[form_of(word)])
        lucene = _all_of([_alternatives(begun)])
        return bool(self._rows(cypher.IS_WORD, lucene=lucene))

    @cached_property
    def _spelling(self) -> Spelling:
        return Spelling.of(list(chain(*(words for (words,) in self._rows(cypher.SPELLINGS)))))


def _alternatives(begun: dict[str, list[str]]) -> Form:
    return [*(f"{beginning[:_LONGEST_WORD]}*" for beginning in begun["beginnings"]), *begun["words"]]


def _all_of(forms: list[Form]) -> str:
    """Lucene query for texts with a word of each form; words have letters and digits only."""
    return "(" + " ".join(f"+({' '.join(form)})" for form in forms) + ")"
