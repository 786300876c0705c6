"""Annotation in plain Python: dictionaries of token sequences. The oracle of the compiled matcher."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from cuihop.annotation.abbreviations import definitions
from cuihop.annotation.characters import CharacterClasses, coded
from cuihop.snapshot.term_table import FUNCTION_WORDS, GENERAL_WORD_SHARE, KINDS
from cuihop.snapshot.word_forms import form_of

DASHES = "-\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d"
APOSTROPHES = "'`\u00b4\u02b9\u02bc\u02c8\u2018\u2019\u2032\uff07"


@dataclass
class Token:
    start: int
    end: int
    letters: str
    raw: str
    between: str  # the characters before it, after the token before
    role: str = "own"  # or "first", "middle", "last", "only" of the long form that a short form stands for


@dataclass(frozen=True)
class Match:
    start: int
    end: int
    cui: str
    matched: str
    rule: str


def letters_of(character: str) -> str | None:
    if unicodedata.category(character) == "Cf" or unicodedata.combining(character):
        return ""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character.casefold()).casefold())
    letters = ""
    for part in plain:
        if unicodedata.combining(part):
            continue
        if not part.isalnum():
            return None
        name = unicodedata.name(part, "").split(" ")
        letters += name[3].lower() if name[:3] == ["GREEK", "SMALL", "LETTER"] and len(name) == 4 else part
    return letters


def tokens_of(text: str) -> list[Token]:
    tokens: list[Token] = []
    i, between = 0, ""
    after_word = -1
    while i < len(text):
        letters = None if text[i] in APOSTROPHES or text[i] in DASHES else letters_of(text[i])
        if not letters:
            between += text[i] if letters is None else ""
            if text[i] in APOSTROPHES and i == after_word and text[i + 1 : i + 2] in ("s", "S"):
                rest = text[i + 2 : i + 3]
                following = None if rest in APOSTROPHES or rest in DASHES or not rest else letters_of(rest)
                # The letter may carry marks of its own.
                k = i + 2
                while k < len(text) and text[k] not in APOSTROPHES and letters_of(text[k]) == "":
                    k += 1
                if k < len(text) and text[k] not in APOSTROPHES and text[k] not in DASHES:
                    following = letters_of(text[k])
                elif k < len(text):
                    following = None
                if not following:
                    between += "s"
                    after_word = i + 2
                    i = k
                    continue
            i += 1
            continue
        start = end = i
        word, raw = "", ""
        while i < len(text):
            letters = None if text[i] in APOSTROPHES or text[i] in DASHES else letters_of(text[i])
            if letters is None:
                break
            word += letters
            if letters:
                raw += text[i]
                end = i + 1
            i += 1
        if sum(c.isupper() for c in raw) >= 2 and end - start > 2 and raw[-1] == "s" and raw[-2].isupper():
            raw = raw[:-1]
        tokens.append(Token(start, end, word, raw, between))
        between = ""
        after_word = end
    return tokens


def form(word: str) -> str:
    return form_of(word)


def capitals(tokens: Sequence[Token], text: str) -> int:
    return sum(character.isupper() for token in tokens for character in text[token.start : token.end])


def hyphen(token: Token) -> bool:
    return len(token.between) == 1 and token.between in DASHES


def comma(token: Token) -> bool:
    return any(mark == "," and (token.between + "x")[at + 1].isspace() for at, mark in enumerate(token.between))


def separates(between: str, *, at_end: bool = False) -> bool:
    if any(mark in "()[]{};:" for mark in between):
        return True
    padded = between + ("" if at_end else "x")
    for at, mark in enumerate(between):
        if mark in ".!?" and (at + 1 == len(padded) or padded[at + 1].isspace()):
            return True
        if mark == "\n":
            rest = padded[at + 1 :]
            stripped = rest.lstrip("".join(c for c in rest if c.isspace() and c != "\n"))
            if stripped.startswith("\n"):
                return True
    return False


def is_acronym(tokens: Sequence[Token], text: str) -> bool:
    length = tokens[-1].end - tokens[0].start
    return (length <= 6 and capitals(tokens, text) >= 2) or sum(token.end - token.start for token in tokens) <= 2


def is_general(tokens: Sequence[Token]) -> bool:
    forms = {form(word) for word in FUNCTION_WORDS}
    return all(
        token.end - token.start <= 1 or not any(c.isalpha() for c in token.letters) or form(token.letters) in forms
        for token in tokens
    )


def without_tail(tokens: Sequence[Token], text: str) -> list[Token]:
    core = list(tokens)
    if text[:1] in ("[", "("):
        for at, token in enumerate(core[1:], 1):
            if any(mark in ")]}" for mark in token.between):
                core = core[at:]
                break
    closed = text[-1:] in (")", "]")
    while True:
        if closed:
            at = max((i for i in range(1, len(core)) if any(m in "([{" for m in core[i].between)), default=0)
            if not at or (at < 2 and form(core[-1].letters) not in {form(word) for word in KINDS}):
                return core
        elif len(core) > 1 and core[-1].letters in ("nos", "nec"):
            at = len(core) - 1
        else:
            return core
        closed = any(mark in ")]}" for mark in core[at].between)
        core = core[:at]


def expanded(tokens: list[Token], text: str) -> list[Token]:
    """The tokens with each short form replaced by its long form, as the text defines it."""
    codes, bounds = coded([text])
    characters = CharacterClasses()
    characters.classify(codes)
    pairs = []
    for begin, end, first, last in definitions(codes, bounds, characters)[:, 1:].tolist():
        short = [token for token in tokens if begin <= token.start and token.end <= end]
        long = [token for token in tokens if first <= token.start and token.end <= last]
        if short and long:
            pairs.append(([token.raw for token in short], long))
    answer: list[Token] = []
    at = 0
    while at < len(tokens):
        fitting = [pair for pair in pairs if [token.raw for token in tokens[at : at + len(pair[0])]] == pair[0]]
        if not fitting:
            token = tokens[at]
            if answer and answer[-1].role in ("last", "only"):
                token = replace(token, between=re.sub(r"[])}]", "", token.between))
            answer.append(token)
            at += 1
            continue
        raws, long = max(fitting, key=lambda pair: len(pair[0]))
        start, end = tokens[at].start, tokens[at + len(raws) - 1].end
        for place, token in enumerate(long):
            role = "only" if len(long) == 1 else "first" if not place else "last" if token is long[-1] else "middle"
            between = tokens[at].between if not place else token.between
            answer.append(Token(start, end, token.letters, "", between, role))
        at += len(raws)
    return answer


class LiteralAnnotator:
    """Names of concepts, best first, in a dictionary of sequences."""

    def __init__(self, names: Mapping[str, Sequence[str]]) -> None:
        self.words: dict[tuple[str, ...], list[tuple[int, str, int, str, str]]] = {}
        self.acronyms: dict[tuple[str, ...], list[tuple[int, str, int, str, str]]] = {}
        self.last: dict[str, str] = {}
        self.only: dict[tuple[str, str], str] = {}
        self.twins: set[tuple[str, tuple[str, ...]]] = set()
        long = [
            name for some in names.values() for name in some if len(name.encode()) > 6 and re.search("[A-Za-z]", name)
        ]
        in_capitals = [name for name in long if not re.search("[a-z]", name)]
        self.caseless = len(long) >= 10 and 2 * len(in_capitals) > len(long)
        for cui in sorted(names):
            for position, name in enumerate(names[cui]):
                tokens = tokens_of(name)
                if not tokens or len(tokens) > 64:
                    continue
                core = without_tail(tokens, name)
                self.last[name] = form(core[-1].letters) if len(core) > 1 else ""
                self.only[cui, name] = (
                    form(core[-1].letters) if len(core) == 1 and (self.caseless or not is_acronym(core, name)) else ""
                )
                if core != tokens:
                    self._add(tokens, "plain", cui, position, name)
                    self._add(core, "tail", cui, position, name)
                else:
                    self._add(tokens, "plain", cui, position, name)
        for cui, sequence in self.twins:
            if sequence in self.words:
                self.words[sequence] = [
                    entry for entry in self.words[sequence] if entry[3] != cui or entry[4] != entry[4].lower()
                ]
                if not self.words[sequence]:
                    del self.words[sequence]
        for held in (self.words, self.acronyms):
            for candidates in held.values():
                senses = {c[4]: len({d[3] for d in candidates if d[4] == c[4]}) for c in candidates}
                ways = {"plain": 0, "acronym": 0, "spacing": 1, "inverted": 2, "tail": 3}
                candidates.sort(key=lambda c: (ways[c[1]], min(c[2], 1), senses[c[4]], c[3], c[2]))
        self._leave_out_general()

    def _add(self, tokens: list[Token], rule: str, cui: str, position: int, name: str) -> None:
        entry = (int(is_general(tokens)), rule, position, cui, name)
        if is_acronym(tokens, name) and not self.caseless:
            self.twins.add((cui, tuple(form(token.letters) for token in tokens)))
            entry = (entry[0], "acronym", position, cui, name)
            self.acronyms.setdefault(tuple(token.raw for token in tokens), []).append(entry)
            return
        words = [form(token.letters) for token in tokens]
        self.words.setdefault(tuple(words), []).append(entry)
        places = [i for i in range(1, len(tokens)) if comma(tokens[i])]
        if len(places) in (1, 2):
            bounds = [0, *places, len(tokens)]
            parts = [words[a:b] for a, b in pairwise(bounds)]
            turned = tuple(word for part in reversed(parts) for word in part)
            self.words.setdefault(turned, []).append((entry[0], "inverted", position, cui, name))
        hyphens = [i for i in range(1, len(tokens)) if hyphen(tokens[i])]
        if 1 <= len(hyphens) <= 3:
            for i in hyphens:
                joined = form(tokens[i - 1].letters + tokens[i].letters)
                key = (*words[: i - 1], joined, *words[i + 1 :])
                self.words.setdefault(key, []).append((entry[0], "spacing", position, cui, name))

    def _leave_out_general(self) -> None:
        """Drop general names, and concepts with a name of one word with which many names end."""
        ends = [self.last[found[0][4]] for found in self.words.values() if found[0][1] == "plain"]
        counts = Counter(word for word in ends if word)
        total = counts.total()
        many = (
            {word for word, count in counts.items() if count >= GENERAL_WORD_SHARE * total} if total >= 1000 else set()
        )
        concepts = {cui for (cui, _), word in self.only.items() if word in many}
        for held in (self.words, self.acronyms):
            for key in list(held):
                held[key] = [entry for entry in held[key] if not entry[0] and entry[3] not in concepts]
                if not held[key]:
                    del held[key]

    def annotate(self, text: str) -> list[Match]:
        tokens = expanded(tokens_of(text), text)
        matches = []
        at = 0
        while at < len(tokens):
            best: tuple[int, str, tuple[int, str, int, str, str]] | None = None
            if tokens[at].role in ("middle", "last"):
                at += 1
                continue
            for end, way, candidates in self._matches(tokens, at, text):
                if best is None or end > best[0] or (end == best[0] and way == "acronym"):
                    best = (end, way, candidates[0])
            if best is None:
                at += 1
                continue
            end, way, candidate = best
            start, stop = tokens[at].start, tokens[end - 1].end
            matched, rule = candidate[4], candidate[1]
            if way != "acronym" and any(token.role != "own" for token in tokens[at:end]):
                rule = "abbreviation"
            elif way == "joined":
                rule = "spacing"
            elif rule == "plain":
                rule = "form"
                candidates = self.words[tuple(form(token.letters) for token in tokens[at:end])]
                spelt = letters_only(text[start:stop])
                for other in candidates:
                    if other[3] != candidate[3] or other[1] != "plain":
                        break
                    if letters_only(other[4]) == spelt:
                        matched, rule = other[4], "exact"
                        break
            matches.append(Match(start, stop, candidate[3], matched, rule))
            at = end
        return matches

    def _matches(
        self, tokens: list[Token], at: int, text: str
    ) -> Iterator[tuple[int, str, list[tuple[int, str, int, str, str]]]]:
        stop = at + 1
        while stop < len(tokens) and stop - at < 64 and not separates(tokens[stop].between):
            stop += 1
        words = [form(token.letters) for token in tokens[at:stop]]
        for end in range(at + 1, stop + 1):
            found = self.words.get(tuple(words[: end - at]))
            if found is not None and tokens[end - 1].role not in ("first", "middle"):
                yield end, "plain", found
        for join in range(at + 1, min(stop, at + 8)):
            if not hyphen(tokens[join]) or tokens[join].role != "own" or tokens[join - 1].role != "own":
                continue
            joined = form(tokens[join - 1].letters + tokens[join].letters)
            for end in range(join + 1, stop + 1):
                key = (*words[: join - 1 - at], joined, *words[join + 1 - at : end - at])
                found = self.words.get(key)
                if found is not None and tokens[end - 1].role not in ("first", "middle"):
                    yield end, "joined", found
        for end in range(at + 1, stop + 1):
            some = tokens[at:end]
            if some[-1].role != "own":
                break
            if some[-1].end - some[0].start > 7:
                break
            enough = capitals(some, text) >= 2 or sum(token.end - token.start for token in some) <= 2
            if enough and (found := self.acronyms.get(tuple(token.raw for token in some))) is not None:
                yield end, "acronym", found


def letters_only(text: str) -> str:
    return "".join(
        letters_of(character) or "" for character in text if character not in APOSTROPHES and character not in DASHES
    )
