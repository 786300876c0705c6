"""Formats in JSON: OBO Graph, and that of the package cellxgene-ontology-guide.

OBO Graph has nodes and is_a edges of one graph or several (https://github.com/geneontology/obographs). A file of
cellxgene-ontology-guide is one object: identifiers of terms, and for each its record with its ancestors and their
distances. Ancestors at distance 1 are its parents; the other distances follow from them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

from cuihop.errors import first_few
from cuihop_loader.annotated_terms import (
    ALTERNATIVE,
    CONSIDER,
    IMPORTS,
    REPLACED_BY,
    cui_of,
    ontology_name,
    short_identifier,
    version_name,
)
from cuihop_loader.json_stream import JsonStream, beginning_of
from cuihop_loader.sources import SourceFile
from cuihop_loader.term_files import Term, TermFile, TermReading

Value = TypeVar("Value")

_EXACT = "hasExactSynonym"
_IS_A = "is_a"
_VERSION = "http://www.w3.org/2002/07/owl#versionInfo"
_CLASS = "CLASS"
_INTEGERS = {int}
_NAME = re.compile(r"(?P<ontology>.+?)-ontology-(?P<version>.+?)\.json", re.IGNORECASE)


class _JsonTermFile(TermFile):
    """Reading of values that the JSON formats share."""

    def _next_term(self, document: JsonStream, term_of: Callable[[Any, int], Term | None]) -> Term | None:
        """The term of the next value of a document; ``None`` for a value of a wrong type, which is rejected."""
        value = document.value()
        try:
            return term_of(value, document.line)
        except _WrongValue as wrong:
            raw = json.dumps(value).encode()
            problem = f"wrong value of {wrong.field}"
            self.reject(document.line, document.column, problem, raw, wrong.expected, wrong.found)
            return None


class _WrongValue(Exception):
    """A member of an object that is not of its type: its name, and what was found and expected."""

    def __init__(self, field: str, value: object, expected: str) -> None:
        super().__init__(field)
        self.field = field
        self.found = beginning_of(json.dumps(value, ensure_ascii=False))
        self.expected = expected


def _typed(value: Any, kind: type[Value], field: str, expected: str) -> Value | None:
    """The value, of this type; ``None`` for ``null``."""
    if value is not None and not isinstance(value, kind):
        raise _WrongValue(field, value, expected)
    return value


def _object(value: Any, field: str) -> dict[str, Any]:
    return _typed(value, dict, field, "an object") or {}


def _text(record: dict[str, Any], field: str) -> str | None:
    return _typed(record.get(field), str, field, "text") or None


def _flag(record: dict[str, Any], field: str) -> bool:
    return bool(_typed(record.get(field), bool, field, "true or false"))


def _list(record: dict[str, Any], field: str, kind: type[Value], expected: str) -> list[Value]:
    values = _typed(record.get(field), list, field, expected) or []
    if not all(isinstance(value, kind) for value in values):
        raise _WrongValue(field, values, expected)
    return values


def _objects(record: dict[str, Any], field: str) -> list[dict[str, Any]]:
    return _list(record, field, dict, "a list of objects")


def _texts(record: dict[str, Any], field: str) -> list[str]:
    return _list(record, field, str, "a list of texts")


class OboGraphFile(_JsonTermFile):
    """A file of OBO Graph JSON.

    Nodes that are properties or individuals, and edges other than is_a, are no part of the graph.
    """

    def terms(self) -> Iterator[Term]:
        """See `cuihop_loader.term_files.TermFile`."""
        nodes = 0
        self._others: set[str] = set()  # nodes that are no classes, whose edges are no part of the graph
        with self.opened() as source:
            document = JsonStream(source, str(self.file))
            for field in document.members():
                if field != "graphs":
                    document.value()
                    continue
                for number, _ in enumerate(document.items()):
                    for term in self._of_graph(document, first=number == 0):
                        nodes += term.defined
                        yield term
            document.end()
        if not nodes:
            raise self.lacks("terms", "a document of OBO Graph with nodes")

    def _of_graph(self, document: JsonStream, *, first: bool) -> Iterator[Term]:
        for field in document.members():
            if field in ("nodes", "edges"):
                for _ in document.items():
                    term = self._next_term(document, _node if field == "nodes" else _edge)
                    if term is None:
                        continue
                    if field == "nodes" and not term.defined:
                        self._others.add(term.id)
                    elif term.id not in self._others:
                        yield term
            elif field in ("id", "meta") and first:
                self._next_term(document, self._read_name if field == "id" else self._read_meta)
            else:
                document.value()

    def _read_name(self, value: Any, _: int) -> None:
        if name := _text({"id": value}, "id"):
            self.ontology = ontology_name(name)

    def _read_meta(self, value: Any, _: int) -> None:
        meta = _object(value, "meta")
        properties = _objects(meta, "basicPropertyValues")
        versions = [_text(each, "val") for each in properties if each.get("pred") == _VERSION]
        self.imports += [str(each.get("val")) for each in properties if each.get("pred") == IMPORTS]
        version = _text(meta, "version")
        self.version = version_name(version) if version else next((v for v in versions if v), None)


def _node(value: Any, line: int) -> Term:
    node = _object(value, "node")
    meta = _object(node.get("meta"), "meta")
    properties: dict[str, list[str]] = {}
    for each in _objects(meta, "basicPropertyValues"):
        if (name := _text(each, "pred")) in (REPLACED_BY, CONSIDER, ALTERNATIVE) and (text := _text(each, "val")):
            properties.setdefault(str(name), []).append(short_identifier(text))
    return Term(
        _identifier(node, "id"),
        line,
        _text(node, "lbl"),
        [text for each in _objects(meta, "synonyms") if _text(each, "pred") == _EXACT and (text := _text(each, "val"))],
        alternatives=properties.get(ALTERNATIVE, []),
        replaced_by=properties.get(REPLACED_BY, []),
        consider=properties.get(CONSIDER, []),
        umls=[cui for each in _objects(meta, "xrefs") if (cui := cui_of(_text(each, "val") or ""))],
        obsolete=_flag(meta, "deprecated"),
        defined=(_text(node, "type") or _CLASS) == _CLASS,
    )


def _edge(value: Any, line: int) -> Term | None:
    edge = _object(value, "edge")
    if _text(edge, "pred") != _IS_A:
        return None
    return Term(_identifier(edge, "sub"), line, parents=[_identifier(edge, "obj")], defined=False)


def _identifier(record: dict[str, Any], field: str) -> str:
    identifier = _text(record, field)
    if identifier is None:
        raise _WrongValue(field, record.get(field), "an identifier")
    return short_identifier(identifier)


class CellxgeneFile(_JsonTermFile):
    """A file of ``ONTOLOGY-ontology-VERSION.json``; the file's name states both."""

    def __init__(self, file: SourceFile, reading: TermReading) -> None:
        super().__init__(file, reading)
        if match := _NAME.match(file.parts[0].path.name):
            self.ontology, self.version = match["ontology"].upper(), match["version"]

    def terms(self) -> Iterator[Term]:
        """See `cuihop_loader.term_files.TermFile`."""
        defined: set[str] = set()
        ancestors: set[str] = set()
        with self.opened() as source:
            document = JsonStream(source, str(self.file))
            for identifier in document.members():
                term = self._next_term(document, partial(_term, identifier, ancestors))
                if term is not None:
                    defined.add(identifier)
                    yield term
            document.end()
        if not defined:
            raise self.lacks("terms", "an object of terms")
        if outside := sorted(ancestors - defined):
            self.warnings.append(
                f"{len(outside):,} ancestors are no terms of the file, so the ways beyond the first of them are not in "
                f"the graph: {first_few(outside)}"
            )


def _term(identifier: str, all_ancestors: set[str], value: Any, line: int) -> Term:
    """The term of a record, whose ancestors are added to those of the file."""
    record = _object(value, identifier)
    ancestors = _object(record.get("ancestors"), "ancestors")
    if ancestors and (set(map(type, ancestors.values())) != _INTEGERS or min(ancestors.values()) < 1):
        raise _WrongValue("ancestors", ancestors, "identifiers with distances from 1")
    successor = _text(record, "replaced_by")
    term = Term(
        identifier,
        line,
        _text(record, "label"),
        _texts(record, "synonyms"),
        [ancestor for ancestor, distance in ancestors.items() if distance == 1],
        replaced_by=[successor] if successor else [],
        consider=_texts(record, "consider"),
        obsolete=_flag(record, "deprecated"),
    )
    all_ancestors.update(ancestors)
    return term
