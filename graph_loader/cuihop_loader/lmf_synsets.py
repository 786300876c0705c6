"""WN-LMF: wordnets in XML, as the Global WordNet Association defines it (schemas 1.0 to 1.4).

A synset keeps its identifier. Relations ``hypernym`` lead to its parents, ``instance_hypernym`` to its classes;
``hyponym`` and ``instance_hyponym`` count where the relation that mirrors them is missing. Its names are the lemmas of
its senses, in the order of its members where that is stated. Each lexicon is a vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from cuihop.errors import InputError
from cuihop_loader.sources import WN_LMF
from cuihop_loader.terms import Term
from cuihop_loader.xml_elements import Element, XmlTermFile

_LEXICONS = frozenset({"Lexicon", "LexiconExtension"})
_ENTRIES = frozenset({"LexicalEntry", "ExternalLexicalEntry"})
_SYNSETS = frozenset({"Synset", "ExternalSynset"})  # an external one is of another lexicon, which is extended


_MIRRORS = {"hyponym": "hypernym", "instance_hyponym": "instance_hypernym"}


@dataclass
class _Lemmas:
    """Lemmas of a synset, by the identifiers of sense and lexical entry; and the place of the first sense."""

    first: Element
    of_sense: dict[str, str] = field(default_factory=dict)
    of_entry: dict[str, str] = field(default_factory=dict)

    def ordered(self, members: str) -> list[str]:
        """The distinct lemmas: those of the members first, then as in the file."""
        stated = [self.of_sense.get(member) or self.of_entry.get(member) for member in members.split()]
        return list(dict.fromkeys([*filter(None, stated), *self.of_sense.values()]))


class LmfFile(XmlTermFile):
    """A `cuihop_loader.terms.TermFile` of WN-LMF.

    Attributes:
        version: identifiers and versions of its lexicons, as in ``oewn:2024``.
        ontology: the identifier of its first lexicon.
    """

    role = WN_LMF
    _lexicons: Mapping[str, str] = MappingProxyType({})

    @property
    def versions(self) -> Mapping[str, str]:
        """See `cuihop_loader.terms.TermFile`."""
        return self._lexicons

    def terms(self) -> Iterator[Term]:
        """See `cuihop_loader.terms.TermFile`."""
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
                self.ontology = next(iter(self._lexicons), lexicon)
                self._lexicons = {**self._lexicons, lexicon: self._value(element, attributes, "version")}
                self.version = ", ".join(f"{sab}:{version}" for sab, version in self._lexicons.items())
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
                if (found := lemmas.pop(identifier, None)) is not None:
                    synset.name, *synset.synonyms = found.ordered(attributes.get("members", ""))
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
            raise InputError(
                "no synsets in the file", file=str(self.file), expected="WN-LMF with Synset elements in a Lexicon"
            )
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
        for identifier, found in lemmas.items():
            if extends:
                preferred, *others = found.ordered("")
                yield Term(identifier, found.first.line, preferred, others, sab=lexicon, defined=False)
            else:
                self._refuse(found.first, "a sense of a synset that is not in the lexicon", identifier, "its Synset")

    def _value(self, element: Element, attributes: Mapping[str, str], name: str) -> str:
        """The attribute, or "" where it is missing or empty, which is a fault."""
        value = attributes.get(name, "")
        if not value:
            self._refuse(element, "an attribute is missing", f"<{element.name}> without {name}", f'{name}="…"')
        return value

    def _refuse(self, element: Element, problem: str, found: str, expected: str) -> None:
        self.reject(element.line, element.column, problem, found.encode(), expected)
