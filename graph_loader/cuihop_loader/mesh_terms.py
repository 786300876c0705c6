"""MeSH: descriptors in XML (``desc2026.xml``), and the list of tree numbers (``mtrees2026.bin``).

A descriptor stands at one or several places of the trees, each named by a tree number. The parent of a place is the
place named by its number without the last part. Numbers of one part, such as A01, have no parent: the categories above
them, such as A, are no descriptors (NLM, MeSH Tree Structures; XML MeSH Data Elements).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from cuihop.errors import InputError
from cuihop.resources.progress import StepProgress
from cuihop_loader.rejected_rows import RejectedRows
from cuihop_loader.sources import MESH, MESH_TREES, SourceFile
from cuihop_loader.term_lines import TextTermFile
from cuihop_loader.terms import Term
from cuihop_loader.xml_elements import Element, XmlTermFile

_UI = re.compile(r"D[0-9]{6,9}")
_TREE_NUMBER = re.compile(r"[A-Z][0-9]{2}(?:\.[0-9]{3})*")
_YEAR = re.compile(r"[0-9]{4}")
_A_TREE_NUMBER = "a tree number such as A01.236.249"
_RECORD, _NAME, _TERM = 2, 4, 7  # depths of a record, of the text of its name, and of that of a term
_WANTED = frozenset({"DescriptorRecord", "DescriptorUI", "TreeNumber", "Concept", "Term", "String"})


class _MeshPlaces(TextTermFile):
    """The part that both formats share: from places in the trees to parents."""

    def __init__(self, file: SourceFile, rejected: RejectedRows, progress: StepProgress | None) -> None:
        super().__init__(file, rejected, progress)
        self.ontology = "MSH"
        year = _YEAR.search(file.parts[0].name)
        self.version = year[0] if year else None
        self._descriptors: dict[str, Term] = {}  # of each tree number

    def _placed(self, term: Term, number: str, line: int, column: int, raw: bytes) -> bool:
        """Put a descriptor at a place of the trees; false for a fault."""
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
            raise InputError("no tree numbers in the file", file=str(self.file), expected=f"{self.role} of NLM")


class MeshTreesFile(_MeshPlaces):
    """A `cuihop_loader.terms.TermFile` of tree numbers.

    A descriptor is named by the first of its tree numbers; the others are alternative identifiers of it.
    """

    role = MESH_TREES

    def terms(self) -> Iterator[Term]:
        """See `cuihop_loader.terms.TermFile`."""
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
    """A descriptor while it is read.

    Attributes:
        begin: its first element.
        places: the elements with its tree numbers.
    """

    begin: Element
    ui: str = ""
    name: str = ""
    terms: list[str] = field(default_factory=list)
    places: list[Element] = field(default_factory=list)


class MeshFile(_MeshPlaces, XmlTermFile):
    """A `cuihop_loader.terms.TermFile` of descriptors in XML. Synonyms are the terms of the preferred concept."""

    role = MESH

    def terms(self) -> Iterator[Term]:
        """See `cuihop_loader.terms.TermFile`."""
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
                for place in record.places:
                    self._placed(term, place.text.strip(), place.line, place.column, place.text.encode())
                continue
            found = f"{record.ui!r} {record.name!r}"
            self.reject(
                line, column, problem, found.encode(), "DescriptorUI such as D000001, and DescriptorName", found
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
                record.places.append(element)
            elif name == "DescriptorRecord" and depth == _RECORD:
                yield record
                record = None
