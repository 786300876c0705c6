"""MeSH: descriptors in XML (``desc2026.xml``), and the list of tree numbers (``mtrees2026.bin``).

A descriptor has one or several positions in the trees, each named by a tree number. The parent of a position is the
one named by its number without the last part. Numbers of one part, such as A01, have no parent: the categories above
them, such as A, are no descriptors (NLM, MeSH Tree Structures; XML MeSH Data Elements).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from cuihop_loader.sources import SourceFile
from cuihop_loader.term_files import Term, TermFile, TermReading
from cuihop_loader.xml_elements import Element, XmlTermFile

_UI = re.compile(r"D[0-9]{6,9}")
_TREE_NUMBER = re.compile(r"[A-Z][0-9]{2}(?:\.[0-9]{3})*")
_YEAR = re.compile(r"[0-9]{4}")
_A_TREE_NUMBER = "a tree number such as A01.236.249"
_RECORD, _NAME, _TERM = 2, 4, 7  # depths of a record, of the text of its name, and of that of a term
_WANTED = frozenset({"DescriptorRecord", "DescriptorUI", "TreeNumber", "Concept", "Term", "String"})


class _MeshTrees(TermFile):
    """Descriptors by tree number, and their parents, for both formats."""

    def __init__(self, file: SourceFile, reading: TermReading) -> None:
        super().__init__(file, reading)
        self.ontology = "MSH"
        year = _YEAR.search(file.parts[0].name)
        self.version = year[0] if year else None
        self._descriptors: dict[str, Term] = {}  # of each tree number

    def _placed(self, term: Term, number: str, line: int, column: int, raw: bytes) -> bool:
        """Put a descriptor at a position of the trees; false for an invalid tree number."""
        if not _TREE_NUMBER.fullmatch(number):
            self.reject(line, column, "not a tree number", raw, _A_TREE_NUMBER, repr(number))
            return False
        if number in self._descriptors:
            self.reject(line, column, "a tree number stands twice", raw, "one descriptor at each place", repr(number))
            return False
        self._descriptors[number] = term
        return True

    def _link(self) -> None:
        """Give each descriptor its parents."""
        for number, term in self._descriptors.items():
            above = number.rpartition(".")[0]
            parent = self._descriptors.get(above)
            if not above:
                self.parentless += 1
            elif parent is None:
                self.skipped["parent is not in the file"] += 1
            else:
                term.parents.append(parent.id)
        if not self._descriptors and not self.bad:
            raise self.lacks("tree numbers", f"{self.role} of NLM")


class MeshTreesFile(_MeshTrees):
    """A file of tree numbers.

    A descriptor is named by the first of its tree numbers; the others are alternative identifiers of it.
    """

    def terms(self) -> Iterator[Term]:
        """See `cuihop_loader.term_files.TermFile`."""
        terms: dict[str, Term] = {}
        for line in self.text_lines():
            name, separator, number = (part.strip() for part in line.decode().rpartition(";"))
            if not line.strip():
                continue
            if not separator or not name:
                self.reject(self.lines, 1, "not a name and a tree number", line, "such as Body Regions;A01")
                continue
            term = terms.get(name) or Term(number, self.lines, name=name)
            if self._placed(term, number, self.lines, line.rindex(b";") + 2, line):
                terms[name] = term
                if number != term.id:
                    term.alternatives.append(number)
        self._link()
        yield from terms.values()


@dataclass
class _Record:
    """A descriptor while it is read, from its first element on."""

    begin: Element
    ui: str = ""
    name: str = ""
    terms: list[str] = field(default_factory=list)
    tree_numbers: list[Element] = field(default_factory=list)


class MeshFile(_MeshTrees, XmlTermFile):
    """A file of descriptors in XML. Synonyms are the terms of the preferred concept."""

    def terms(self) -> Iterator[Term]:
        """See `cuihop_loader.term_files.TermFile`."""
        terms: dict[str, Term] = {}
        for record in self._records():
            line, column = record.begin.line, record.begin.column
            problem = (
                "a descriptor without a name" if _UI.fullmatch(record.ui) else "not the identifier of a descriptor"
            )
            if record.ui in terms:
                problem = "a descriptor stands twice"
            elif record.name and _UI.fullmatch(record.ui):
                synonyms = [name for name in dict.fromkeys(record.terms) if name != record.name]
                term = terms[record.ui] = Term(record.ui, line, name=record.name, synonyms=synonyms)
                for element in record.tree_numbers:
                    self._placed(term, element.text.strip(), element.line, element.column, element.text.encode())
                continue
            actual = f"{record.ui!r} {record.name!r}"
            self.reject(
                line, column, problem, actual.encode(), "DescriptorUI such as D000001, and DescriptorName", actual
            )
        self._link()
        yield from terms.values()

    def _records(self) -> Iterator[_Record]:
        """The descriptors, each as soon as it ends."""
        record: _Record | None = None
        of_preferred = in_term = False
        for element in self.elements(_WANTED):
            name, attributes, depth = element.name, element.attributes, element.depth
            if name == "DescriptorRecord" and depth == _RECORD and attributes is not None:
                record = _Record(element)
            elif record is None:
                continue
            elif name == "Concept" and attributes is not None:
                of_preferred = attributes.get("PreferredConceptYN") == "Y"
            elif name == "Term":
                in_term = attributes is not None
            elif attributes is not None:
                continue
            elif name == "DescriptorUI" and depth == _RECORD + 1:
                record.ui = element.text.strip()
            elif name == "String" and depth == _NAME and not record.name:
                record.name = element.text.strip()
            elif name == "String" and depth == _TERM and in_term and of_preferred:
                record.terms.append(element.text.strip())
            elif name == "TreeNumber":
                record.tree_numbers.append(element)
            elif name == "DescriptorRecord" and depth == _RECORD:
                yield record
                record = None
