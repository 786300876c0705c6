"""Operations of FHIR R4 on code systems: the UMLS, and the vocabularies whose codes the release holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import Any

import cuihop
from cuihop.adapter_rules import of_code
from cuihop.errors import AccessError, InputError, LimitExceeded, first_few
from cuihop.files.text_lines import quoted
from cuihop.graph import CodeLookup, Concept, Direction
from cuihop.identifiers import in_upper_case
from cuihop.vocabularies import Vocabulary, by_system, vocabularies
from cuihop_service.core import ConceptService
from cuihop_service.http_api.fhir_values import Coding, Issue, Kind, Resource, parameter, parameters
from cuihop_service.request_graph import RequestGraph

FHIR_VERSION = "4.0.1"

LOOKUP: Mapping[str, Kind] = {
    "code": "text", "system": "text", "version": "text", "coding": "coding", "property": "texts",
    "date": "refused", "displayLanguage": "refused",
}  # fmt: skip
SUBSUMES: Mapping[str, Kind] = {
    "codeA": "text", "codeB": "text", "system": "text", "version": "text", "codingA": "coding", "codingB": "coding",
}  # fmt: skip
VALIDATE_CODE: Mapping[str, Kind] = {
    "url": "text", "code": "text", "version": "text", "display": "text", "coding": "coding",
    "codeableConcept": "codings", "abstract": "flag",
    "codeSystem": "refused", "date": "refused", "displayLanguage": "refused",
}  # fmt: skip
METADATA: Mapping[str, Kind] = {"mode": "text"}

_CHANGED = "2026-11-26"  # of what the service says that it does
_ALWAYS = ("system", "url", "name", "version", "display")
_AROUND: Mapping[str, Direction] = {"parent": "up", "child": "down"}
_USUAL = ("definition", "designation", "inactive", "concept", "semanticType")
_PROPERTIES = (*_USUAL, *_AROUND)
_DEFINITION = "http://hl7.org/fhir/OperationDefinition/CodeSystem-"


class UnknownCode(Issue):
    """The code system has no such code in the release that is served."""


@dataclass(frozen=True, slots=True)
class _Code:
    """A code of the release, its concepts, the best first, and whether one of its atoms is active."""

    vocabulary: Vocabulary
    code: str
    cuis: tuple[str, ...]
    active: bool


class CodeSystems:
    """The code systems of a release, for one request.

    Every operation takes parameters as `fhir_values` reads them, and raises `Issue` for what they say, beside the
    errors of the core.
    """

    def __init__(self, core: ConceptService, graph: RequestGraph, request_id: str) -> None:
        self.core = core
        self.context = graph.context
        self.request_id = request_id
        self._graph = graph
        self._hierarchies = {"": graph}
        self._served: dict[str, bool] = {}
        self._lookups: Mapping[str, CodeLookup] = {}
        self._records: Mapping[str, Concept] = {}

    def read_ahead(self, requests: Iterable[Mapping[str, Any]]) -> None:
        """Read the codes of many requests, and their concepts, at once. What is refused, each meets by itself."""
        compared: list[str] = []  # by their concepts alone
        described: list[str] = []
        for values in requests:
            system = values.get("system", values.get("url"))
            codings = [Coding(system, values[name]) for name in ("code", "codeA", "codeB") if name in values]
            codings += [values[name] for name in ("coding", "codingA", "codingB") if name in values]
            for coding in (*codings, *values.get("codeableConcept", ())):
                vocabulary = by_system(coding.system or "")
                if vocabulary is not None and vocabulary.sab and coding.code:
                    own = compared if "codeA" in values or "codingA" in values else described
                    own.append(f"{vocabulary.sab}:{coding.code}")
        with suppress(AccessError, InputError, LimitExceeded):
            lookups = self._graph.codes([*dict.fromkeys((*described, *compared))])
            self._lookups = {each.requested: each for each in lookups}
            cuis = dict.fromkeys(code.cui for text in described for code in self._lookups[text].codes)
            self._records = {each.cui: each for each in self._graph.concepts([*cuis], codes=False)}

    def metadata(self, values: Mapping[str, Any]) -> Resource:
        """The CapabilityStatement of the service, or its TerminologyCapabilities."""
        mode = values.get("mode", "full")
        if mode not in ("full", "normative", "terminology"):
            raise Issue("no such mode", column="mode", found=quoted(mode), expected="full, normative or terminology")
        statement = {
            "status": "active", "date": _CHANGED, "kind": "instance",
            "software": {"name": "cuihop", "version": cuihop.__version__},
            "implementation": {"description": f"Codes and subsumption of release {self._graph.release.name}"},
        }  # fmt: skip
        if mode == "terminology":
            systems = [self._described(each) for each in vocabularies() if each.fhir_systems and self._is_served(each)]
            return {
                "resourceType": "TerminologyCapabilities", **statement, "lockedDate": False, "codeSystem": systems,
                "validateCode": {"translations": False},
            }  # fmt: skip
        names = ("lookup", "subsumes", "validate-code")
        operations = [{"name": name, "definition": _DEFINITION + name} for name in names]
        server = {
            "mode": "server", "resource": [{"type": "CodeSystem", "operation": operations}],
            "interaction": [{"code": "batch"}],
            "security": {"description": "An API key or a token as Authorization: Bearer, if the service asks for one."},
        }  # fmt: skip
        return {
            "resourceType": "CapabilityStatement", **statement, "fhirVersion": FHIR_VERSION,
            "format": ["application/fhir+json", "json"], "rest": [server],
        }  # fmt: skip

    def lookup(self, values: Mapping[str, Any]) -> Resource:
        """Names and properties of a code."""
        self.core.check_names(self.context)
        requested = values.get("property", ())
        if unknown := [name for name in requested if name not in (*_PROPERTIES, *_ALWAYS, "*")]:
            raise Issue(
                "no such property", "not-supported", column="property", found=quoted(unknown[0]),
                expected=", ".join((*_PROPERTIES, "*")),
            )  # fmt: skip
        coding = _coding(values, "code", "coding", "system")
        if values.get("system", coding.system) != coding.system:
            raise Issue("not that of coding", column="system", found=quoted(values["system"]))
        code = self._code(coding)
        selected = set(requested or _USUAL)
        if "*" in selected:
            selected.update(_USUAL, _AROUND if self._has_hierarchy(code.vocabulary) else ())
        records = self._concepts(code.cuis)
        display = records[0].name or code.code
        answer = [
            parameter("name", valueString=_name(code.vocabulary)),
            *([] if code.vocabulary.sab else [parameter("version", valueString=self._graph.release.name)]),
            parameter("display", valueString=display),
        ]
        if "designation" in selected:
            names = dict.fromkeys(name for record in records for name in _names(record) if name != display)
            answer += [parameter("designation", parameter("value", valueString=name)) for name in names]
        return parameters(*answer, *self._properties(code, records, selected))

    def _properties(self, code: _Code, records: Sequence[Concept], selected: set[str]) -> Iterable[Resource]:
        if "inactive" in selected:
            yield _property("inactive", valueBoolean=not code.active)
        if "concept" in selected and code.vocabulary.sab:
            umls = next(each.fhir_systems[0] for each in vocabularies() if each.prefix == "umls")
            for record in records:
                display = {"display": record.name} if record.name else {}
                yield _property("concept", valueCoding={"system": umls, "code": record.cui, **display})
        if "semanticType" in selected:
            for tui, name in dict.fromkeys(each for record in records for each in record.semantic_types):
                yield _property("semanticType", name, valueCode=tui)
        if "definition" in selected:
            for text in dict.fromkeys(each.text for record in records for each in record.definitions):
                yield _property("definition", valueString=text)
        for name, direction in _AROUND.items():
            if name in selected:
                for near, description in self._around(code, direction):
                    yield _property(name, description, valueCode=near)

    def subsumes(self, values: Mapping[str, Any]) -> Resource:
        """The relation of two codes in the hierarchy of a code system."""
        own = {name: value for name, value in values.items() if name != "version"}  # it is of the system
        a, b = _coding(own, "codeA", "codingA", "system"), _coding(own, "codeB", "codingB", "system")
        if "system" not in values and a.system != b.system:
            expected = "the system whose hierarchy counts"
            raise Issue("codes of two systems", "required", column="system", expected=expected)
        hierarchy = self._vocabulary(values.get("system", a.system), values.get("version"), "system")
        codes = self._code(a, "codeA"), self._code(b, "codeB")
        for code, name in zip(codes, ("codingA", "codingB"), strict=True):
            if hierarchy.sab and code.vocabulary is not hierarchy:
                raise Issue("a code of another system", column=name, expected=f"a code of {hierarchy.fhir_systems[0]}")
        first, second = codes
        if first == second or (len(first.cuis) == 1 and first.cuis == second.cuis):
            return parameters(parameter("outcome", valueCode="equivalent"))
        graph = self._hierarchy(hierarchy)
        pairs = list(product(first.cuis, second.cuis))
        distances = graph.distances([*pairs, *((y, x) for x, y in pairs)], direction="up")
        below, above = distances.reached[: len(pairs)], distances.reached[len(pairs) :]
        outcomes = {_OUTCOMES[bool(up), bool(down)] for up, down in zip(below, above, strict=True)}
        if len(outcomes) > 1:
            concepts = [f"{each.code}: {first_few(each.cuis)}" for each in codes]
            raise Issue(
                "codes of several concepts, which are related in different ways", "multiple-matches", 422,
                found="; ".join(concepts), expected="concepts, with the system of the UMLS",
            )  # fmt: skip
        return parameters(parameter("outcome", valueCode=outcomes.pop()))

    def validate_code(self, values: Mapping[str, Any]) -> Resource:
        """The result of looking for a code in its code system, and for a name among its names."""
        self.core.check_names(self.context)
        concept: Sequence[Coding] | None = values.get("codeableConcept")
        if concept is not None and ("code" in values or "coding" in values):
            raise Issue("one of them is needed", column="code, coding, codeableConcept", found="several")
        codings = concept or [_coding(values, "code", "coding", "url")]
        messages: list[str] = []
        display = None
        for coding in codings:
            try:
                if "url" in values and coding.system not in (None, values["url"]):
                    expected = quoted(values["url"])
                    raise UnknownCode("not a code of this system", found=quoted(coding.system), expected=expected)
                code = self._code(coding, system="url")
            except Issue as error:
                if concept is None and not isinstance(error, UnknownCode):
                    raise
                messages.append(str(error))
                continue
            records = self._concepts(code.cuis)
            display = records[0].name or code.code
            names = {_folded(name) for record in records for name in _names(record)} or {_folded(display)}
            if coding.display is None or _folded(coding.display) in names:
                note = [] if code.active else ["every atom of the code is suppressed or obsolete"]
                return _validated(True, note, display)
            messages.append(f"not a name of {code.code}: {quoted(coding.display)}; expected {quoted(display)}")
        return _validated(False, messages, display)

    # Code systems and their codes

    def _is_served(self, vocabulary: Vocabulary) -> bool:
        """True if the release holds codes of the vocabulary, for a caller who may see them."""
        if vocabulary.prefix == "umls":
            return self._graph.release.identifiers == "cui"
        sab = vocabulary.sab
        if sab not in self._served:
            try:
                self._served[sab] = bool(sab) and self._graph.codes([], sabs=[sab]) == []
            except (InputError, AccessError):
                self._served[sab] = False
        return self._served[sab]

    def _has_hierarchy(self, vocabulary: Vocabulary) -> bool:
        return vocabulary.sab in self._graph.release.sabs if vocabulary.sab else self._graph.release.edges > 0

    def _described(self, vocabulary: Vocabulary) -> Resource:
        """A code system as TerminologyCapabilities list it."""
        version = {"isDefault": True, "property": [*_PROPERTIES]}
        if not vocabulary.sab:
            version["code"] = self._graph.release.name
        subsumption = self._has_hierarchy(vocabulary)
        return {"uri": vocabulary.fhir_systems[0], "version": [version], "subsumption": subsumption}

    def _vocabulary(self, system: str | None, version: str | None, column: str) -> Vocabulary:
        """The vocabulary of a code system that is served; of another version, or another system, an `Issue`."""
        if system is None:
            raise Issue("required, but missing", "required", column=column, expected="the URI of a code system")
        vocabulary = by_system(system)
        if vocabulary is not None and vocabulary.sab:
            self.core.check_names(self.context)
        if vocabulary is None or not self._is_served(vocabulary):
            served = [each.fhir_systems[0] for each in vocabularies() if each.fhir_systems and self._is_served(each)]
            raise Issue(
                f"release {self._graph.release.name} has no such code system", "not-found", 404, column=column,
                found=quoted(system), expected=" or ".join(served) or None,
            )  # fmt: skip
        if version is not None and (vocabulary.sab or version != self._graph.release.name):
            expected = "no version: the release does not record that of a vocabulary"
            raise Issue(
                "no such version here", "not-found", 404, column="version", found=quoted(version),
                expected=expected if vocabulary.sab else self._graph.release.name,
            )  # fmt: skip
        return vocabulary

    def _code(self, coding: Coding, column: str = "code", system: str = "system") -> _Code:
        """A code, exactly as it is written; `UnknownCode` says what may be meant by another."""
        vocabulary, code = self._vocabulary(coding.system, coding.version, system), coding.code
        if code is None:
            raise Issue("required, but missing", "required", column=column)
        if vocabulary.sab:
            written = f"{vocabulary.sab}:{code}"
            lookup = self._lookups.get(written) or self._graph.codes([written])[0]
            cuis = [each.cui for each in lookup.codes if (each.sab, each.code) == (vocabulary.sab, code)]
            if cuis:
                return _Code(vocabulary, code, tuple(dict.fromkeys(cuis)), lookup.status != "suppressed")
            near = [each.removeprefix(f"{vocabulary.sab}:") for each in lookup.alternatives]
            hint = f"Did you mean {first_few(near)}?" if near else None
        else:
            resolution, in_capitals = self._graph.resolve([code, in_upper_case(code)])
            if resolution.cui == code:
                return _Code(vocabulary, code, (code,), True)
            hint = None
            if in_capitals.cui is not None:
                merged = resolution.status == "merged"
                hint = f"It was merged into {resolution.cui}" if merged else f"Did you mean {in_capitals.cui}?"
            elif resolution.candidates and not of_code(resolution.candidates):
                suggested = [cui for _, cui in resolution.candidates]
                hint = f"It is retired; UMLS suggests {first_few(suggested)}"
        raise UnknownCode(
            f"{vocabulary.fhir_systems[0]} has no such code in release {self._graph.release.name}", "not-found", 404,
            column=column, found=quoted(code), advice=hint,
        )  # fmt: skip

    def _concepts(self, cuis: Sequence[str]) -> Sequence[Concept]:
        if self._records.keys() >= {*cuis}:
            return [self._records[cui] for cui in cuis]
        return self._graph.concepts(cuis, codes=False)

    def _hierarchy(self, vocabulary: Vocabulary) -> RequestGraph:
        """The graph of the edges that the vocabulary itself asserts; for the UMLS, of all edges."""
        if not self._has_hierarchy(vocabulary):
            raise Issue(
                f"release {self._graph.release.name} has no is_a edge of {_name(vocabulary)}", "not-supported", 422,
                column="system", expected=f"edges of {', '.join(self._graph.release.sabs) or 'vocabularies on record'}",
            )  # fmt: skip
        if vocabulary.sab not in self._hierarchies:
            self._hierarchies[vocabulary.sab] = self._graph.within([vocabulary.sab])
        return self._hierarchies[vocabulary.sab]

    def _around(self, code: _Code, direction: Direction) -> Iterable[tuple[str, str | None]]:
        """Codes one hop above or below, and the names of their concepts."""
        hoods = self._hierarchy(code.vocabulary).neighbours(code.cuis, direction=direction)
        near = [cui for cui in dict.fromkeys(cui for hood in hoods for cui in hood.cuis) if cui not in code.cuis]
        sab = code.vocabulary.sab
        codes = [[cui] for cui in near]
        if sab:
            codes = [[each.code for each in lookup.codes] for lookup in self._graph.codes(near, sabs=[sab])]
        for name, own in zip(self._graph.names(near), codes, strict=True):
            yield from ((each, name) for each in dict.fromkeys(own))


_OUTCOMES: Mapping[tuple[bool, bool], str] = {
    (True, True): "equivalent",
    (True, False): "subsumed-by",
    (False, True): "subsumes",
    (False, False): "not-subsumed",
}
"""Whether the second concept is above the first, and the first above the second: both for one concept, or a cycle."""


def _coding(values: Mapping[str, Any], code: str, coding: str, system: str) -> Coding:
    """The code of a request, by itself or as a Coding."""
    if (code in values) == (coding in values):
        number = "both" if code in values else "none"
        raise Issue("one of them is needed", "required", column=f"{code}, {coding}", found=number)
    own: Coding | None = values.get(coding)
    if own is None:
        return Coding(values.get(system), values[code], values.get("version"), values.get("display"))
    return Coding(own.system, own.code, own.version or values.get("version"), own.display or values.get("display"))


def _validated(result: bool, messages: Sequence[str], display: str | None) -> Resource:
    each = [parameter("result", valueBoolean=result)]
    each += [parameter("message", valueString="; ".join(messages))] if messages else []
    return parameters(*each, *([] if display is None else [parameter("display", valueString=display)]))


def _property(name: str, description: str | None = None, **value: Any) -> Resource:
    more = [parameter("description", valueString=description)] if description else []
    return parameter("property", parameter("code", valueCode=name), parameter("value", **value), *more)


def _name(vocabulary: Vocabulary) -> str:
    return vocabulary.sab or "UMLS"


def _names(record: Concept) -> Sequence[str]:
    return [record.name, *record.synonyms] if record.name else record.synonyms


def _folded(name: str) -> str:
    return " ".join(name.casefold().split())
