"""Forms of words: one key for the spellings and endings under which people look for the same word.

British and American spelling, singular and plural, and possessives share a form. A form is a key, not a word to show:
``diseases`` and ``disease`` are both ``disease``, ``haemorrhage`` and ``hemorrhage`` both ``hemorhage``. All functions
take words as `cuihop.snapshot.string_table.folded` writes them.
"""

from __future__ import annotations

import re
from functools import lru_cache

STOP_WORDS = frozenset({"an", "and", "by", "for", "in", "of", "on", "or", "s", "the", "to", "with"})
"""Words that need not match; ``s`` is what folding leaves of a possessive."""

MOST_WORDS = 32
"""Most words of a text that are searched for."""
MOST_READINGS = 8
"""Most ways of writing a text that are searched for."""

_IRREGULAR = {
    "aluminium": "aluminum", "grey": "gray", "mould": "mold",
    "children": "child", "feet": "foot", "teeth": "tooth", "women": "woman", "men": "man", "lice": "louse",
    "alveoli": "alveolus", "bacilli": "bacillus", "bronchi": "bronchus", "calculi": "calculus", "cocci": "coccus",
    "emboli": "embolus", "foci": "focus", "fungi": "fungus", "gyri": "gyrus", "humeri": "humerus",
    "naevi": "nevus", "nevi": "nevus", "nuclei": "nucleus", "rami": "ramus", "stimuli": "stimulus",
    "sulci": "sulcus", "thrombi": "thrombus", "villi": "villus",
    "atria": "atrium", "bacteria": "bacterium", "crania": "cranium", "diverticula": "diverticulum",
    "ganglia": "ganglion", "mitochondria": "mitochondrion", "ova": "ovum", "septa": "septum",
    "apices": "apex", "cervices": "cervix", "cortices": "cortex", "indices": "index",
    "phalanges": "phalanx", "larynges": "larynx", "meninges": "meninx", "testes": "testis",
}  # fmt: skip

_ENDINGS = tuple(
    (re.compile(pattern), ending)
    for pattern, ending in (
        (r"omata$", "oma"),
        (r"(?<=..)ies$", "y"),
        (r"(?<=[aeo]u)ses$", "se"),  # causes, houses
        (r"uses$", "us"),  # viruses
        (r"(?<=s)ses$", "s"),  # abscesses
        (r"(?<=.x|sh|zz)es$", ""),
        (r"(?<!a)ches$", "ch"),
        (r"sis$", "se"),  # metastasis, as metastases
        (r"(?<=..)ae$", "a"),
        (r"(?<![uis])s$", ""),
    )
)
_SPELLINGS = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"ae|(?:^|(?<=rh)|(?<=[cfmn]))oe", "e"),  # anaemia, oedema, diarrhoea, foetus; not: toe
        (r"our", "or"),  # tumour
        (r"([iy])z", r"\1s"),  # localized, catalyzed
        (r"(?<=[btv])re$", "er"),  # fibre, litre
        (r"sulph", "sulf"),
        (r"leuc(?=[aeo])", "leuk"),
        (r"ll", "l"),  # labelled
        (r"rrh", "rh"),  # diarrhoea, haemorrhage
    )
)
_ANY_SPELLING = re.compile("|".join(pattern.pattern for pattern, _ in _SPELLINGS))
_ANY_ENDING = re.compile(r"s$|ae$|omata$")
_BEGUN = (
    (re.compile(r"[ao]$"), "e"),
    (re.compile(r"ou$"), "o"),
    (re.compile(r"(?<=[btv])r$"), "er"),
    (re.compile(r"ie$"), "y"),
    (re.compile(r"rr$"), "r"),
)
"""Ends of a beginning that the letters to follow may yet change."""

_SHORTEST = 4  # letters of a word that has other forms
_LONGEST = 64


@lru_cache(maxsize=1 << 16)
def form_of(word: str) -> str:
    """Form of a word; short words, very long ones, and those with a digit are their own.

    >>> [form_of(word) for word in ("lungs", "arteries", "vertebrae", "diagnoses", "diagnosis", "pus")]
    ['lung', 'artery', 'vertebra', 'diagnose', 'diagnose', 'pus']
    >>> form_of("oesophagus") == form_of("esophagus"), form_of("tumours") == form_of("tumor")
    (True, True)
    """
    if not _SHORTEST <= len(word) <= _LONGEST or not word.isalpha():
        return word
    if word in _IRREGULAR:
        return respelt(_IRREGULAR[word])
    if _ANY_ENDING.search(word):
        for pattern, ending in _ENDINGS:
            stem, replaced = pattern.subn(ending, word)
            if replaced:
                return respelt(stem)
    return respelt(word)


def respelt(word: str) -> str:
    """A word in one of British and American spelling.

    >>> respelt("haemorrhages"), respelt("hemorrhages")
    ('hemorhages', 'hemorhages')
    """
    if _ANY_SPELLING.search(word):
        for pattern, replacement in _SPELLINGS:
            word = pattern.sub(replacement, word)
    return word


def form_prefixes(beginning: str) -> list[str]:
    """Beginnings of the forms of words that begin so, in either spelling.

    >>> form_prefixes("haemo"), form_prefixes("tumou"), form_prefixes("c3")
    (['hemo', 'heme'], ['tumou', 'tumo'], ['c3'])
    """
    if not _SHORTEST <= len(beginning) <= _LONGEST or not beginning.isalpha():
        return [beginning]
    own = respelt(beginning)
    return list(dict.fromkeys([own, *(pattern.sub(end, own) for pattern, end in _BEGUN)]))


def searched_words(text: str) -> list[str]:
    """Distinct words of a folded text, ascending; without stop words, if any other word is left."""
    words = text.split(" ")
    return sorted({word for word in words if word not in STOP_WORDS} or set(words))


def name_forms(text: str) -> list[str]:
    """Distinct forms of the words of a folded text, ascending; without stop words, if any other word is left.

    >>> name_forms("cancer of the lungs"), name_forms("the")
    (['cancer', 'lung'], ['the'])
    """
    return sorted({form_of(word) for word in searched_words(text)})


def form_key(text: str) -> str:
    """Forms of a folded text, joined by spaces: equal for names that differ in form, order or stop words only."""
    return " ".join(name_forms(text))


def respaced(text: str) -> list[str]:
    """A folded text written together or apart: two neighbours joined, or one long word divided.

    >>> respaced("x ray"), respaced("xray"), respaced("brainstem")
    (['xray'], ['x ray'], ['b rainstem', 'brai nstem', 'brain stem'])
    """
    words = text.split(" ")
    joined = [[*words[:i], words[i] + words[i + 1], *words[i + 2 :]] for i in range(len(words) - 1)]
    divided = [
        [*words[:i], word[:at], word[at:], *words[i + 1 :]]
        for i, word in enumerate(words)
        if word.isalpha() and len(word) >= _SHORTEST
        for at in (1, *range(_SHORTEST, len(word) - _SHORTEST + 1))
    ]
    return [" ".join(reading) for reading in (joined + divided)[:MOST_WORDS]]
