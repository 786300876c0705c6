"""Small WordNets: WNDB, whose offsets this counts, and WN-LMF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

HEADER = "  1 Some licence.  \n  2 WordNet 3.9 Copyright 2030 by nobody.  All rights reserved.  \n"
LETTERS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}


class Synset(NamedTuple):
    """Words as they stand in the file, and words whose synset is a hypernym, or an instance's."""

    words: Sequence[str]
    hypernyms: Sequence[str] = ()
    classes: Sequence[str] = ()
    kind: str = ""


def wndb(synsets: Sequence[Synset], part: str = "noun") -> tuple[str, Mapping[str, str]]:
    """The text of a data file, and the identifier of each synset by its first word."""
    letter = LETTERS[part]
    offsets = dict.fromkeys((synset.words[0] for synset in synsets), 0)
    for _ in range(2):  # offsets have a fixed width: the second time they are right
        text = HEADER
        for synset in synsets:
            offsets[synset.words[0]] = len(text)
            words = " ".join(f"{word} 0" for word in synset.words)
            targets = [("@", word) for word in synset.hypernyms] + [("@i", word) for word in synset.classes]
            pointers = "".join(f"{symbol} {offsets[word]:08d} {letter} 0000 " for symbol, word in targets)
            text += f"{offsets[synset.words[0]]:08d} 03 {synset.kind or letter} {len(synset.words):02x} {words} "
            text += f"{len(targets):03d} {pointers}| a gloss, as in 9 lives @ 3  \n"
    kinds = {synset.words[0]: synset.kind or letter for synset in synsets}
    return text, {word: f"{offset:08d}-{kinds[word]}" for word, offset in offsets.items()}


def lexicon(
    identifier: str, synsets: Mapping[str, Sequence[str]], parents: Mapping[str, Sequence[tuple[str, str]]]
) -> str:
    """A lexicon of WN-LMF: lemmas of each synset, the preferred first, and relations with their targets."""
    lines = [f'<Lexicon id="{identifier}" label="x" language="en" email="x@y.z" license="x" version="2030">']
    for synset, lemmas in synsets.items():
        for n, lemma in reversed(list(enumerate(lemmas))):
            entry = f"{synset}-e{n}"
            lines += [f'<LexicalEntry id="{entry}">', f'<Lemma writtenForm={quoteattr(lemma)} partOfSpeech="n"/>']
            lines += [f'<Sense id="{entry}-s" synset="{synset}"/>', "</LexicalEntry>"]
    for synset, lemmas in synsets.items():
        members = " ".join(f"{synset}-e{n}" for n in range(len(lemmas)))
        lines.append(f'<Synset id="{synset}" ili="" partOfSpeech="n" members="{members}">')
        lines += [f'<SynsetRelation relType="{kind}" target="{to}"/>' for kind, to in parents.get(synset, ())]
        lines.append("</Synset>")
    return "\n".join([*lines, "</Lexicon>"])


def lmf(*lexicons: str, schema: str = "1.1") -> str:
    """A file of lexicons."""
    begin = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE LexicalResource SYSTEM "http://globalwordnet.github.io/'
    begin += (
        f'schemas/WN-LMF-{schema}.dtd">\n<LexicalResource xmlns:dc="https://globalwordnet.github.io/schemas/dc/">\n'
    )
    return begin + "\n".join(lexicons) + "\n</LexicalResource>\n"


def in_folder(folder: Path, synsets: Sequence[Synset], part: str = "noun") -> Mapping[str, str]:
    """Write a data file into the folder; the identifiers by first word."""
    folder.mkdir(exist_ok=True)
    text, identifiers = wndb(synsets, part)
    (folder / f"data.{part}").write_bytes(text.encode())
    return identifiers
