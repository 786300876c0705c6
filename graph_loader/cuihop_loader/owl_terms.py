"""OWL in functional syntax and OWL/XML: the asserted subclasses between named classes.

OWL in RDF/XML or Turtle is read by `cuihop_loader.rdf_terms`, as a stream.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

import pyhornedowl

from cuihop.errors import InputError
from cuihop_loader.annotated_terms import (
    EQUIVALENCE,
    OWL,
    OWL_THING,
    UNNAMED,
    AnnotatedTerm,
    language_tags,
    ontology_name,
    short_identifier,
    version_name,
)
from cuihop_loader.term_files import Term, TermFile
from cuihop_loader.xml_elements import DEEPEST, CheckedXml

LARGEST_DOCUMENT = 1 << 30
"""Bytes after decompression: such a file is read at once."""

_SIGN = re.compile(r'"(?:[^"\\]|\\.)*"|<[^<>\s]*>|[()]|\n', re.DOTALL)
_LINE_COLUMN = re.compile(r"line_col: Pos\(\((\d+), (\d+)\)\)")
_EXPECTED = re.compile(r"positives: \[([^\]]*)\]")
_BYTE = re.compile(r"BytePosition\((\d+)\)")


class OwlFile(TermFile):
    """A file of OWL; superclasses without a name and equivalences are counted as left out."""

    def terms(self) -> Iterator[Term]:
        """See `cuihop_loader.term_files.TermFile`."""
        classes: dict[str, AnnotatedTerm] = {}
        for annotated in self._components(self._text()):
            self._add(classes, annotated.component)
        tags = language_tags(self._reading.languages)
        terms = [term for term in classes.values() if term.is_class]
        for term in terms:
            yield from term.terms(tags, 0)
        if not terms:
            raise self.lacks("terms", "declarations of classes")

    def _text(self) -> str:
        with self.opened() as source:
            data = source.read(LARGEST_DOCUMENT + 1)
        if len(data) > LARGEST_DOCUMENT:
            raise InputError(
                "the file is too large", file=str(self.file), expected=f"{LARGEST_DOCUMENT:,} bytes at most",
                advice="OWL in RDF/XML is read as a stream, of any size",
            )  # fmt: skip
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise InputError(
                "not UTF-8", file=str(self.file), line=data.count(b"\n", 0, error.start) + 1,
                column=error.start - data.rfind(b"\n", 0, error.start), found=f"byte 0x{data[error.start]:02X}",
                expected="UTF-8 text",
            ) from None  # fmt: skip

    def _components(self, text: str) -> Any:
        if is_xml := text.lstrip().startswith("<"):
            checked = CheckedXml(io.BytesIO(text.encode()), str(self.file))
            chunk = bytearray(1 << 20)
            while checked.readinto(chunk):
                pass
        else:
            self._check_depth(text)
        try:
            ontology = pyhornedowl.open_ontology_from_string(text, "owx" if is_xml else "ofn")
        except ValueError as error:
            raise self._syntax_error(str(error), text) from None
        if iri := ontology.get_iri():
            self.ontology = ontology_name(str(iri))
        if version := ontology.get_version_iri():
            self.version = version_name(str(version))
        return ontology.get_components()

    def _check_depth(self, text: str) -> None:
        """Refuse parentheses within parentheses, before a recursive parser meets them."""
        depth, line = 0, 1
        for match in _SIGN.finditer(text):
            sign = match[0]
            if sign == "(":
                depth += 1
                if depth > DEEPEST:
                    raise InputError(
                        "expressions within expressions", file=str(self.file), line=line,
                        column=match.start() - text.rfind("\n", 0, match.start()), expected=f"{DEEPEST} levels at most",
                    )  # fmt: skip
            elif sign == ")":
                depth -= 1
            else:
                line += sign.count("\n")

    def _syntax_error(self, message: str, text: str) -> InputError:
        line: int | None = None
        column: int | None = None
        if position := _LINE_COLUMN.search(message):
            line, column = int(position[1]), int(position[2])
        elif byte := _BYTE.search(message):
            before = text.encode()[: int(byte[1])]
            line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
        expected = match[1] if (match := _EXPECTED.search(message)) and match[1] else "whole axioms"
        rest = "" if line is None else text.split("\n", line)[line - 1][(column or 1) - 1 :][:40]
        return InputError(
            "not OWL in functional syntax or OWL/XML", file=str(self.file), line=line, column=column,
            found=repr(rest) if rest else "its end", expected=expected,
        )  # fmt: skip

    def _add(self, classes: dict[str, AnnotatedTerm], component: Any) -> None:
        def record(iri: object) -> AnnotatedTerm:
            return classes.setdefault(str(iri), AnnotatedTerm(str(iri)))

        match type(component).__name__:
            case "DeclareClass":
                record(component.first.first).is_class = str(component.first.first) != f"{OWL}Thing"
            case "Import":
                self.imports.append(str(component.first))
            case "EquivalentClasses":
                self.skipped[EQUIVALENCE] += 1
            case "SubClassOf":
                child, parent = component.sub, component.sup
                if type(child).__name__ != "Class" or type(parent).__name__ != "Class":
                    self.skipped[UNNAMED] += 1
                elif str(parent.first) == f"{OWL}Thing":
                    self.skipped[OWL_THING] += 1
                else:
                    term = record(child.first)
                    term.is_class = True
                    term.parents.append(short_identifier(str(parent.first)))
            case "AnnotationAssertion" if type(component.subject).__name__ == "IRI":
                value = component.ann.av
                text = str(value) if type(value).__name__ == "IRI" else getattr(value, "literal", None)
                if text is not None:
                    record(component.subject).annotate(str(component.ann.ap.first), text, getattr(value, "lang", None))
