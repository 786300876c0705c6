"""OBO Graph JSON: nodes and is_a edges of one graph or several (https://github.com/geneontology/obographs)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from cuihop.errors import InputError
from cuihop_loader.annotated_terms import IMPORTS
from cuihop_loader.json_stream import (
    JsonStream,
    JsonTermFile,
    WrongValueError,
    flag_of,
    object_of,
    objects_of,
    text_of,
)
from cuihop_loader.obo_identifiers import (
    ALTERNATIVE,
    CONSIDER,
    REPLACED_BY,
    cui_of,
    ontology_name,
    short_identifier,
    version_name,
)
from cuihop_loader.sources import OBO_GRAPH
from cuihop_loader.terms import Term

_EXACT = "hasExactSynonym"
_IS_A = "is_a"
_VERSION = "http://www.w3.org/2002/07/owl#versionInfo"
_CLASS = "CLASS"


class OboGraphFile(JsonTermFile):
    """A `cuihop_loader.terms.TermFile` of OBO Graph JSON.

    Nodes that are properties or individuals, and edges other than is_a, are no part of the graph.
    """

    role = OBO_GRAPH

    def terms(self) -> Iterator[Term]:
        """See `cuihop_loader.terms.TermFile`."""
        nodes = 0
        self._others: set[str] = set()  # nodes that are no classes, whose edges are no part of the graph
        with self.opened() as source:
            document = JsonStream(source, str(self.file))
            for field in document.members():
                if field != "graphs":
                    document.value()
                    continue
                for place, _ in enumerate(document.items()):
                    for term in self._of_graph(document, first=place == 0):
                        nodes += term.defined
                        yield term
            document.end()
        if not nodes:
            raise InputError("no terms in the file", file=str(self.file), expected="a document of OBO Graph with nodes")

    def _node(self, value: object, line: int) -> Term | None:
        term = _node(value, line)
        if term.defined:
            return term
        self._others.add(term.id)
        return None

    def _edge(self, value: object, line: int) -> Term | None:
        term = _edge(value, line)
        return None if term is None or term.id in self._others else term

    def _of_graph(self, document: JsonStream, *, first: bool) -> Iterator[Term]:
        for field in document.members():
            if field == "nodes":
                yield from self._each(document, self._node)
            elif field == "edges":
                yield from self._each(document, self._edge)
            elif field in ("id", "meta") and first:
                value = document.value()
                try:
                    self._read_header(field, value)
                except WrongValueError as wrong:
                    self.reject_value(document, value, wrong)
            else:
                document.value()

    def _each(self, document: JsonStream, term_of: Callable[[object, int], Term | None]) -> Iterator[Term]:
        for _ in document.items():
            value = document.value()
            try:
                term = term_of(value, document.line)
            except WrongValueError as wrong:
                self.reject_value(document, value, wrong)
                continue
            if term is not None:
                yield term

    def _read_header(self, field: str, value: object) -> None:
        if field == "id":
            name = text_of({field: value}, field)
            if name:
                self.ontology = ontology_name(name)
            return
        meta = object_of(value, field)
        versions = [text_of(of, "val") for of in objects_of(meta, "basicPropertyValues") if of.get("pred") == _VERSION]
        self.imports += [
            str(of.get("val")) for of in objects_of(meta, "basicPropertyValues") if of.get("pred") == IMPORTS
        ]
        version = text_of(meta, "version")
        self.version = version_name(version) if version else next((v for v in versions if v), None)


def _node(value: object, line: int) -> Term:
    node = object_of(value, "node")
    meta = object_of(node.get("meta"), "meta")
    properties: dict[str, list[str]] = {}
    for of in objects_of(meta, "basicPropertyValues"):
        if (name := text_of(of, "pred")) in (REPLACED_BY, CONSIDER, ALTERNATIVE) and (text := text_of(of, "val")):
            properties.setdefault(str(name), []).append(short_identifier(text))
    return Term(
        _identifier(node, "id"),
        line,
        text_of(node, "lbl"),
        [str(of["val"]) for of in objects_of(meta, "synonyms") if text_of(of, "pred") == _EXACT and text_of(of, "val")],
        alternatives=properties.get(ALTERNATIVE, []),
        replaced_by=properties.get(REPLACED_BY, []),
        consider=properties.get(CONSIDER, []),
        umls=[cui for of in objects_of(meta, "xrefs") if (cui := cui_of(text_of(of, "val") or ""))],
        obsolete=flag_of(meta, "deprecated"),
        defined=(text_of(node, "type") or _CLASS) == _CLASS,
    )


def _edge(value: object, line: int) -> Term | None:
    edge = object_of(value, "edge")
    if text_of(edge, "pred") != _IS_A:
        return None
    return Term(_identifier(edge, "sub"), line, parents=[_identifier(edge, "obj")], defined=False)


def _identifier(record: dict[str, Any], field: str) -> str:
    identifier = text_of(record, field)
    if identifier is None:
        raise WrongValueError(field, record.get(field), "an identifier")
    return short_identifier(identifier)
