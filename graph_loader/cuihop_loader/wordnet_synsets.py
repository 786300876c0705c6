"""Wordnets: the database files of WordNet (WNDB, ``data.noun`` and the like), and WN-LMF in XML.

WNDB: manual page wndb(5WN). A synset is named by the position of its line in the file and its part of speech, as in the
Open Multilingual Wordnet: ``02084071-n``. Hypernyms (``@``) are its parents, instance hypernyms (``@i``) its classes.

WN-LMF: schemas 1.0 to 1.4 of the Global WordNet Association. A synset keeps its identifier. Relations ``hypernym`` lead
to its parents, ``instance_hypernym`` to its classes; ``hyponym`` and ``instance_hyponym`` count if the relation that
mirrors them is missing. Its names are the lemmas of its senses, in the order of its members if that is stated. Each
lexicon is a vocabulary.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cuihop.errors import InputError
from cuihop_loader.term_files import Term, TermFile
from cuihop_loader.xml_elements import Element, XmlTermFile

_TYPES = {"noun": "n", "verb": "v", "adj": "as", "adv": "r"}
_VERSION = re.compile(rb"WordNet \d+(?:\.\d+)*(?= Copyright)")
_OFFSET = re.compile(r"\d{8}")
_MARKER = re.compile(r"\((?:a|p|ip)\)$")  # the position of an adjective: before the noun, predicative, after it
_PARENTS = ("@", "@i")
_POINTER = 4  # fields: symbol, offset, part of speech, source and target


class _BadField(Exception):
    """A field that breaks the format, by its number in the line."""

    def __init__(self, field: int, problem: str, expected: str) -> None:
        super().__init__(problem)
        self.field = field
        self.problem = problem
        self.expected = expected


class WordNetFile(TermFile):
    """A file of WNDB.

    Attributes:
        version: as its licence names it, ``WordNet 3.0``.
        ontology: ``WordNet-noun``, by the name of the file.
    """

    def terms(self) -> Iterator[Term]:
        """See `cuihop_loader.term_files.TermFile`."""
        part_of_speech = self.file.parts[0].name.lower().split(".")[1]
        self.ontology = f"WordNet-{part_of_speech}"
        offsets: set[str] = set()
        targets: dict[str, tuple[int, int]] = {}  # of all pointers: line and column of the first
        for line in self.text_lines():
            if line.startswith(b" ") or not line:
                if self.version is None and (match := _VERSION.search(line)):
                    self.version = match[0].decode()
                continue
            fields = line.decode().partition("|")[0].split(" ")
            self._check_offset(fields[0])
            try:
                term, pointers = _synset(fields, self.lines, _TYPES[part_of_speech])
            except _BadField as bad:
                value = repr(fields[bad.field]) if bad.field < len(fields) else "the end of the line"
                self.reject(self.lines, _column(fields, bad.field), bad.problem, line, bad.expected, value)
                continue
            offsets.add(fields[0])
            for index in pointers:
                targets.setdefault(fields[index], (self.lines, _column(fields, index)))
            yield term
        if not offsets:
            expected = "lines such as 02084071 05 n 03 dog 0 …, as the manual page wndb(5WN) describes"
            raise self.lacks("synsets", expected, f"{self.lines:,} lines")
        for offset, (number, column) in targets.items():
            if offset not in offsets:
                self.reject(
                    number, column, "a pointer to a synset that is not in the file", offset.encode(),
                    "the offset of another line: is the file complete?",
                )  # fmt: skip

    def _check_offset(self, written: str) -> None:
        """Compare the offset of a line with its position: a file that was converted or edited names other synsets."""
        if _OFFSET.fullmatch(written) and int(written) == self.offset:
            return
        ends = "Its line ends were converted to those of Windows; " if self._crlf else ""
        raise InputError(
            "not the offset of the line", file=str(self.file), line=self.lines, column=1, found=repr(written[:20]),
            expected=f"'{self.offset:08d}', the bytes before the line",
            advice=f"{ends}WordNet names synsets by these places: load the file as it was published",
        )  # fmt: skip


def _synset(fields: Sequence[str], line: int, types: str) -> tuple[Term, list[int]]:
    """The synset of the fields before the gloss, and the numbers of those that point into the same file."""
    kind = _field(fields, 2)
    if len(kind) != 1 or kind not in types:
        raise _BadField(2, "not a type of synset of this file", " or ".join(types))
    words = _count(fields, 3, 16, 2)
    names = [_MARKER.sub("", _field(fields, 4 + 2 * n)).replace("_", " ") for n in range(words)]
    if not names:
        raise _BadField(3, "a synset without words", "01 or more")
    begin = 4 + 2 * words
    term = Term(f"{fields[0]}-{kind}", line, names[0], list(dict.fromkeys(names[1:])))
    pointers = []
    for n in range(_count(fields, begin, 10, 3)):
        index = begin + 1 + _POINTER * n
        symbol, offset, target = (_field(fields, index + k) for k in range(3))
        _field(fields, index + 3)
        if not _OFFSET.fullmatch(offset):
            raise _BadField(index + 1, "not an offset", "eight digits")
        if target in types:
            pointers.append(index + 1)
        elif symbol in _PARENTS:
            raise _BadField(index + 2, "a hypernym of another part of speech", " or ".join(types))
        if symbol in _PARENTS:
            (term.parents if symbol == "@" else term.classes).append(f"{offset}-{target}")
    return term, pointers


def _column(fields: Sequence[str], index: int) -> int:
    """Column of the beginning of a field, from 1."""
    return sum(len(field) + 1 for field in fields[:index]) + 1


def _field(fields: Sequence[str], index: int) -> str:
    if index >= len(fields) or not fields[index]:
        raise _BadField(index, "too few fields", "another field before the gloss")
    return fields[index]


def _count(fields: Sequence[str], index: int, base: int, digits: int) -> int:
    written = _field(fields, index)
    form = rf"[0-9a-fA-F]{{{digits}}}" if base == 16 else rf"[0-9]{{{digits}}}"
    if not re.fullmatch(form, written):
        raise _BadField(index, "not a number", f"{digits} {'hexadecimal ' if base == 16 else ''}digits")
    return int(written, base)


_LEXICONS = frozenset({"Lexicon", "LexiconExtension"})
_ENTRIES = frozenset({"LexicalEntry", "ExternalLexicalEntry"})
_SYNSETS = frozenset({"Synset", "ExternalSynset"})  # an external one is of another lexicon, which is extended


_MIRRORS = {"hyponym": "hypernym", "instance_hyponym": "instance_hypernym"}


@dataclass
class _Lemmas:
    """Lemmas of a synset, by the identifiers of sense and lexical entry; and the element of the first sense."""

    first: Element
    of_sense: dict[str, str] = field(default_factory=dict)
    of_entry: dict[str, str] = field(default_factory=dict)

    def ordered(self, members: str) -> list[str]:
        """The distinct lemmas: those of the members first, then as in the file."""
        stated = [self.of_sense.get(member) or self.of_entry.get(member) for member in members.split()]
        return list(dict.fromkeys([*filter(None, stated), *self.of_sense.values()]))


class LmfFile(XmlTermFile):
    """A file of WN-LMF.

    Attributes:
        version: identifiers and versions of its lexicons, as in ``oewn:2024``.
        ontology: the identifier of its first lexicon.
    """

    def terms(self) -> Iterator[Term]:
        """See `cuihop_loader.term_files.TermFile`."""
        lexicon, entry, lemma = "", "", ""
        synset: Term | None = None
        lemmas: dict[str, _Lemmas] = {}
        defined: set[str] = set()
        stated: set[tuple[str, str, str]] = set()  # relation, child and parent
        mirrored: dict[tuple[str, str, str], Term] = {}  # likewise, as hyponyms state them
        for element in self.elements():
            name, attributes = element.name, element.attributes
            if attributes is None:
                if name in _SYNSETS and synset is not None:
                    yield synset
                    synset = None
                elif name in _LEXICONS:
                    yield from self._names_only(lemmas, lexicon, extends=name == "LexiconExtension")
                    lemmas.clear()
            elif name in _LEXICONS:
                lexicon = self._value(element, attributes, "id") or self.ontology
                self.ontology = next(iter(self.versions), lexicon)
                self.versions[lexicon] = self._value(element, attributes, "version")
                self.version = ", ".join(f"{sab}:{version}" for sab, version in self.versions.items())
            elif name in _ENTRIES:
                entry, lemma = attributes.get("id", ""), ""
            elif name == "Lemma":
                lemma = self._value(element, attributes, "writtenForm")
            elif name == "Sense" and lemma and (target := self._value(element, attributes, "synset")):
                of_synset = lemmas.setdefault(target, _Lemmas(element))
                of_synset.of_sense[attributes.get("id", f"{entry} {lemma}")] = lemma
                of_synset.of_entry[entry] = lemma
            elif name in _SYNSETS and (identifier := self._value(element, attributes, "id")):
                if identifier in defined and name == "Synset":
                    self._refuse(element, "the identifier of another synset again", identifier, "one of its own")
                    continue
                synset = Term(identifier, element.line, sab=lexicon, defined=name == "Synset")
                defined.add(identifier)
                if (own_lemmas := lemmas.pop(identifier, None)) is not None:
                    synset.name, *synset.synonyms = own_lemmas.ordered(attributes.get("members", ""))
            elif name == "SynsetRelation" and synset is not None:
                targets = {"hypernym": synset.parents, "instance_hypernym": synset.classes}
                relation = self._value(element, attributes, "relType")
                if relation in targets and (target := self._value(element, attributes, "target")):
                    targets[relation].append(target)
                    stated.add((relation, synset.id, target))
                elif relation in _MIRRORS and (target := self._value(element, attributes, "target")):
                    child = Term(target, element.line, sab=lexicon, defined=False)
                    (child.parents if relation == "hyponym" else child.classes).append(synset.id)
                    mirrored[_MIRRORS[relation], target, synset.id] = child
        if not defined:
            raise self.lacks("synsets", "WN-LMF with Synset elements in a Lexicon")
        alone = [relation for relation in mirrored if relation not in stated]
        if alone:
            yield from (mirrored[relation] for relation in alone)
            _, child_id, parent_id = alone[0]
            self.warnings.append(
                f"{self.file}: hyponyms without the hypernym that mirrors them, used as is_a: {len(alone):,}, such as "
                f"{child_id} of {parent_id}"
            )

    def _names_only(self, lemmas: Mapping[str, _Lemmas], lexicon: str, *, extends: bool) -> Iterator[Term]:
        """Synsets of a lexicon that only senses name. They belong to the lexicon that is extended, or are missing."""
        for identifier, of_synset in lemmas.items():
            if extends:
                preferred, *others = of_synset.ordered("")
                yield Term(identifier, of_synset.first.line, preferred, others, sab=lexicon, defined=False)
            else:
                self._refuse(
                    of_synset.first, "a sense of a synset that is not in the lexicon", identifier, "its Synset"
                )

    def _value(self, element: Element, attributes: Mapping[str, str], name: str) -> str:
        """The attribute, or "" where it is missing or empty, which is an error."""
        value = attributes.get(name, "")
        if not value:
            self._refuse(element, "an attribute is missing", f"<{element.name}> without {name}", f'{name}="…"')
        return value

    def _refuse(self, element: Element, problem: str, actual: str, expected: str) -> None:
        self.reject(element.line, element.column, problem, actual.encode(), expected)
