"""Values of FHIR R4 in JSON: parameters of operations, read and written, and outcomes of errors."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from cuihop.errors import InputError
from cuihop.files.text_lines import quoted
from cuihop.operations.invalid_values import in_json, meant

Kind: TypeAlias = Literal["text", "texts", "flag", "coding", "codings", "refused"]
"""Kind of a parameter: any primitive value that is a text, once or more often; true or false; a Coding; a
CodeableConcept; or what this service does not do."""

Resource: TypeAlias = dict[str, Any]

_ISSUES: Mapping[str, str] = {
    "INVALID_CUI": "code-invalid",
    "INVALID_INPUT": "invalid",
    "CONCEPT_NOT_FOUND": "not-found",
    "CONCEPT_RETIRED": "not-found",
    "AMBIGUOUS_CODE": "multiple-matches",
    "RATE_LIMITED": "throttled",
    "LIMIT_EXCEEDED": "too-costly",
    "NOT_AUTHENTICATED": "login",
    "NOT_ALLOWED": "forbidden",
    "RELEASE_BEHIND": "transient",
    "RELEASE_MISMATCH": "conflict",
    "GRAPH_UNAVAILABLE": "transient",
    "TIMED_OUT": "timeout",
    "NO_SUCH_ROUTE": "not-supported",
    "METHOD_NOT_ALLOWED": "not-supported",
}
"""Issue type by the reason of an error; ``exception`` for any other."""

_ELEMENT = ("id", "extension")
_OBJECT = "a JSON object"


class Issue(InputError):
    """An error of a request that has a type of issue in FHIR, and a status of HTTP, of its own."""

    def __init__(self, problem: str, issue: str = "invalid", http: int = 400, **details: Any) -> None:
        super().__init__(problem, **details)
        self.issue = issue
        self.http = http


@dataclass(frozen=True, slots=True)
class Coding:
    """A code of a code system, and the name that the caller has for it."""

    system: str | None
    code: str | None
    version: str | None = None
    display: str | None = None

    @classmethod
    def of(cls, value: Any, column: str) -> Coding:
        """The Coding in JSON."""
        names = ("system", "code", "version", "display")
        fields = checked_fields(value, column, (*names, "userSelected"))
        for name in names:
            if name in fields and not (isinstance(fields[name], str) and fields[name]):
                raise Issue("not valid", column=f"{column}.{name}", found=in_json(fields[name]), expected="a text")
        return cls(*(fields.get(name) for name in names))


def checked_fields(value: Any, column: str, names: Collection[str]) -> Mapping[str, Any]:
    """An object of JSON with no other fields than these, those of every element, and extensions of primitive ones."""
    if not isinstance(value, dict):
        raise Issue("not valid", "structure", column=column, found=in_json(value), expected=_OBJECT)
    for name in value:
        if name not in names and name not in _ELEMENT and not name.startswith("_"):
            raise _no_such("field", name, names, column)
    return value


def checked_resource(value: Any, kind: str, names: Collection[str]) -> Mapping[str, Any]:
    """A resource of one type, with no other fields than these."""
    own = value.get("resourceType") if isinstance(value, dict) else None
    if own != kind:
        raise Issue("another resource", "structure", column="resourceType", found=in_json(own), expected=kind)
    return checked_fields(value, kind, ("resourceType", "meta", "implicitRules", "language", *names))


def checked_list(value: Any, column: str) -> Sequence[Any]:
    """A list of JSON."""
    if not isinstance(value, list):
        raise Issue("not valid", "structure", column=column, found=in_json(value), expected="a list")
    return value


def values_of_query(items: Iterable[tuple[str, str]], kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """The parameters of a query string, which holds primitive values only."""
    values: dict[str, Any] = {}
    for name, text in items:
        kind = _kind(name, kinds)
        if kind in ("coding", "codings"):
            raise Issue("not in a query string", column=name, expected="a Parameters resource, by POST")
        if kind == "flag" and text not in ("true", "false"):
            raise Issue("not valid", column=name, found=quoted(text), expected="true or false")
        _add(values, name, kind, text)
    return values


def values_of_resource(resource: Any, kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """The parameters of a Parameters resource."""
    values: dict[str, Any] = {}
    fields = checked_resource(resource, "Parameters", ("parameter",))
    for each in checked_list(fields.get("parameter", []), "parameter"):
        name = each.get("name") if isinstance(each, dict) else None
        if not isinstance(name, str):
            raise Issue("not valid", "structure", column="parameter", found=in_json(each), expected="name and value")
        kind = _kind(name, kinds)
        held = {field: value for field, value in each.items() if field != "name" and field not in _ELEMENT}
        if len(held) != 1:
            raise Issue("one value is needed", "structure", column=name, found=in_json([*held]))
        ((field, value),) = held.items()
        _add(values, name, kind, _value(name, kind, field, value))
    return values


def _value(name: str, kind: Kind, field: str, value: Any) -> Any:
    if kind == "coding" and field == "valueCoding":
        return Coding.of(value, name)
    if kind == "codings" and field == "valueCodeableConcept":
        codings = checked_fields(value, name, ("coding", "text")).get("coding", [])
        return [Coding.of(each, f"{name}.coding") for each in checked_list(codings, f"{name}.coding")]
    if kind == "flag" and field == "valueBoolean" and isinstance(value, bool):
        return value
    if kind in ("text", "texts") and field.startswith("value") and isinstance(value, str):
        return value
    forms = {"coding": "valueCoding", "codings": "valueCodeableConcept", "flag": "valueBoolean"}
    raise Issue(
        "not valid", column=name, found=in_json({field: value}), expected=forms.get(kind, "a value that is a text")
    )


def _kind(name: str, kinds: Mapping[str, Kind]) -> Kind:
    if name not in kinds:
        raise _no_such("parameter", name, [each for each, kind in kinds.items() if kind != "refused"])
    if kinds[name] == "refused":
        raise Issue("this service does not take it", "not-supported", column=name)
    return kinds[name]


def _no_such(what: str, name: str, names: Collection[str], within: str | None = None) -> Issue:
    near = meant(name, names)
    return Issue(
        f"no such {what}", "not-supported" if within is None else "structure", found=quoted(name),
        column=within, expected=", ".join(names) or "none", advice=f"Did you mean {near}?" if near else None,
    )  # fmt: skip


def _add(values: dict[str, Any], name: str, kind: Kind, value: Any) -> None:
    if value in ("", []):
        raise Issue("required, but missing", "required", column=name)
    if kind == "texts":
        values.setdefault(name, []).append(value)
    elif name in values:
        raise Issue("one value is needed", column=name, found="several")
    else:
        values[name] = value


def parameter(name: str, *parts: Resource, **value: Any) -> Resource:
    """A parameter of an answer: a value, or parts."""
    return {"name": name, **value, **({"part": list(parts)} if parts else {})}


def parameters(*each: Resource) -> Resource:
    """The answer of an operation."""
    return {"resourceType": "Parameters", "parameter": list(each)}


def outcome(issue: str, text: str, request_id: str) -> Resource:
    """The OperationOutcome of an error."""
    detail = {"severity": "error", "code": issue, "details": {"text": text}, "diagnostics": f"request {request_id}"}
    return {"resourceType": "OperationOutcome", "issue": [detail]}


def outcome_of_problem(problem: Mapping[str, Any]) -> Resource:
    """The OperationOutcome of a problem document."""
    return outcome(_ISSUES.get(problem["reason"], "exception"), problem["detail"], problem["request_id"])
