"""``/fhir`` of the service: operations on codes over a real socket, with keys, rates, limits and the audit."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import networkx as nx
import pytest

from cuihop import SnapshotGraph
from cuihop.graph import CodeLookup
from cuihop.remote.statuses import STATUSES
from cuihop.vocabularies import by_system
from cuihop_loader import LoadOptions, load
from cuihop_server import RunningService, running_service
from cuihop_service.admission import Admission, Observer
from cuihop_service.callers import Rate
from cuihop_service.core import ConceptService
from cuihop_service.guard.audit import AuditLog
from cuihop_service.guard.configured_guard import ConfiguredGuard
from cuihop_service.guard.key_file import KeyFile
from cuihop_service.guard.rates import Rates
from cuihop_service.http_api.application import LOOPBACK_HOSTS
from cuihop_service.http_api.fhir_route import fhir_routes
from cuihop_service.http_api.fhir_values import outcome_of_problem
from cuihop_service.http_api.responder import Responder
from cuihop_service.limits import Limits
from example_graph import example_graph
from fhir_release import CODES, EDGES, fhir_release, simple
from guarded_service import Reply, http, new_key_in
from served_program import program
from shared_data import shared

UMLS = "http://terminology.hl7.org/CodeSystem/umls"
SNOMED = "http://snomed.info/sct"
MESH = "https://www.nlm.nih.gov/mesh"
ICD = "http://hl7.org/fhir/sid/icd-10-cm"
NCIT = "http://ncicb.nci.nih.gov/xml/owl/EVS/Thesaurus.owl"
LOOKUP, SUBSUMES, VALIDATE = "CodeSystem/$lookup", "CodeSystem/$subsumes", "CodeSystem/$validate-code"
FHIR_JSON = "application/fhir+json"
DEFINITIONS = Path(__file__).parents[3] / ".cache" / "fhir-definitions"

Asked = tuple[str, str, Any]
"""Method, path below ``/fhir``, and body."""


def routes(core: ConceptService, admission: Admission) -> list[Any]:
    return fhir_routes(Responder(core, admission))


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> SnapshotGraph:
    return fhir_release(tmp_path_factory.mktemp("fhir"))


@pytest.fixture(scope="module")
def service(graph: SnapshotGraph) -> Iterator[RunningService]:
    with running_service(graph, routes=routes, hosts=LOOPBACK_HOSTS) as running:
        yield running


def get(path: str, **parameters: str) -> Asked:
    return "GET", f"{path}?{urlencode(parameters)}" if parameters else path, None


def resource(**values: Any) -> Mapping[str, Any]:
    """A Parameters resource: a text as ``valueString``, a flag, a Coding, or a CodeableConcept (a list of Codings)."""
    parameter = []
    for name, value in values.items():
        kind = {bool: "Boolean", str: "String", dict: "Coding", list: "CodeableConcept"}[type(value)]
        held = {"coding": value} if isinstance(value, list) else value
        parameter.append({"name": name, f"value{kind}": held})
    return {"resourceType": "Parameters", "parameter": parameter}


def post(path: str, **values: Any) -> Asked:
    return "POST", path, resource(**values)


def coding(system: str, code: str, **more: str) -> dict[str, str]:
    return {"system": system, "code": code, **more}


def asked(service: RunningService, request: Asked, **options: Any) -> Reply:
    method, path, body = request
    headers = {"Content_Type": FHIR_JSON} if isinstance(body, dict) else {}
    sent = json.dumps(body).encode() if isinstance(body, dict) else body
    return http(service, f"/fhir/{path}".rstrip("/"), sent, method=method, **{**headers, **options})


def value_of(each: Mapping[str, Any]) -> Any:
    return next(value for name, value in each.items() if name.startswith("value"))


def values(reply: Reply) -> dict[str, Any]:
    """The parameters of an answer; of each property and designation the values, sorted."""
    assert reply.status == 200, reply.body
    assert reply.json["resourceType"] == "Parameters"
    found: dict[str, Any] = {}
    for each in reply.json["parameter"]:
        held = {part["name"]: value_of(part) for part in each.get("part", [])}
        if not held:
            found[each["name"]] = value_of(each)
        else:
            found.setdefault(held.get("code", each["name"]), []).append(held["value"])
    return found


def refusal(reply: Reply) -> tuple[int, str, str]:
    """Status, type of issue and text of an OperationOutcome."""
    assert reply.headers["content-type"] == FHIR_JSON
    assert reply.headers["cache-control"] == "no-store"
    assert reply.json["resourceType"] == "OperationOutcome"
    (issue,) = reply.json["issue"]
    assert reply.headers["x-request-id"] in issue["diagnostics"] if "x-request-id" in reply.headers else True
    return reply.status, issue["code"], issue["details"]["text"]


# $lookup


def test_a_code_has_names_and_properties(service: RunningService) -> None:
    reply = asked(service, get(LOOKUP, system=SNOMED, code="300"))
    assert reply.headers["content-type"] == FHIR_JSON
    assert values(reply) == {
        "name": "SNOMEDCT_US",
        "display": "Myocardial infarction",
        "designation": ["Heart attack", "Infarct of heart", "MI", "Acute MI", "Acute MI, unspecified"],
        "inactive": [False],
        "concept": [{"system": UMLS, "code": "C0000003", "display": "Myocardial infarction"}],
        "semanticType": ["T047"],
        "definition": ["Death of heart muscle."],
    }


def test_a_concept_of_the_umls_has_the_version_of_the_release(service: RunningService) -> None:
    found = values(asked(service, get(LOOKUP, system=UMLS, code="C0000003", version="2026AA", property="parent")))
    assert found == {
        "name": "UMLS", "version": "2026AA", "display": "Myocardial infarction", "parent": ["C0000002"]
    }  # fmt: skip


def test_a_code_of_several_concepts_shows_all(service: RunningService) -> None:
    found = values(asked(service, get(LOOKUP, system=MESH, code="D1")))
    assert [each["code"] for each in found["concept"]] == ["C0000002", "C0000003"]
    assert "Myocardial infarction" in found["designation"]


def test_an_obsolete_code_is_inactive(service: RunningService) -> None:
    assert values(asked(service, get(LOOKUP, system=SNOMED, code="500")))["inactive"] == [True]


def test_parents_and_children_are_those_of_the_vocabulary(service: RunningService) -> None:
    for system, code, parents, children in (
        (SNOMED, "200", ["100"], ["300", "301"]),  # not the one that only NCI asserts
        (NCIT, "C2", [], ["C5"]),
        (UMLS, "C0000002", ["C0000001"], ["C0000003", "C0000005"]),
    ):
        found = values(asked(service, get(LOOKUP, system=system, code=code, property="*")))
        assert (found.get("parent", []), found.get("child", [])) == (parents, children), system


def test_the_case_of_the_implementation_guide(tmp_path: Path) -> None:
    request = {
        "resourceType": "Parameters",
        "parameter": [
            {"name": "system", "valueUri": SNOMED},
            {"name": "code", "valueCode": "code2a"},
            {"name": "property", "valueCode": "*"},
        ],
    }
    with running_service(simple(tmp_path), routes=routes) as running:
        found = values(asked(running, ("POST", LOOKUP, request)))
        unknown = refusal(asked(running, get(LOOKUP, system=SNOMED, code="500000801")))
    assert {name: value for name, value in found.items() if name not in ("name", "concept")} == {
        "display": "Display 2a",
        "designation": ["mine own first code yond's issue of the second code"],
        "definition": ["My first second level code"],
        "inactive": [False],
        "child": ["code2aI", "code2aII"],
        "parent": ["code2"],
    }
    assert unknown[:2] == (404, "not-found")


# $subsumes


WORDS = {(True, True): "equivalent", (True, False): "subsumed-by", (False, True): "subsumes"}


def upwards_of(edges: Iterable[tuple[str, str, str]], sab: str) -> Any:
    """The edges (parent, child, vocabulary) that a vocabulary asserts, as a graph of NetworkX; all for an empty one."""
    return nx.DiGraph((child, parent) for parent, child, own in edges if sab in ("", own))


def relation(upwards: Any, a: Iterable[str], b: Iterable[str]) -> set[str]:
    """The outcomes for the concepts of two codes, by their paths."""
    upwards.add_nodes_from({*a, *b})
    found = ((nx.has_path(upwards, x, y), nx.has_path(upwards, y, x)) for x, y in product(a, b))
    return {WORDS.get(each, "not-subsumed") for each in found}


@pytest.mark.parametrize("system", [UMLS, SNOMED, NCIT, MESH])
def test_every_pair_of_codes_is_related_as_the_closure_has_it(service: RunningService, system: str) -> None:
    vocabulary = by_system(system)
    assert vocabulary is not None
    upwards = upwards_of(EDGES, vocabulary.sab)
    concepts: dict[str, list[str]] = {}
    for cui, sab, code, *_ in CODES:
        if vocabulary.sab in ("", sab):
            concepts.setdefault(code if vocabulary.sab else cui, []).append(cui)
    for a, b in product(concepts, concepts):
        expected = {"equivalent"} if a == b else relation(upwards, concepts[a], concepts[b])
        reply = asked(service, get(SUBSUMES, system=system, codeA=a, codeB=b))
        if len(expected) == 1:
            assert values(reply) == {"outcome": expected.pop()}, (a, b)
        else:
            assert refusal(reply)[:2] == (422, "multiple-matches"), (a, b)
            assert "C0000003" in refusal(reply)[2]


@pytest.mark.slow
def test_codes_of_real_files_are_related_as_their_paths_are() -> None:
    files = [shared("rrf_open/MRREL.RRF.gz"), shared("rrf_open/MRCONSO.RRF.gz")]
    related, named = ([row.split("|") for row in gzip.decompress(f.read_bytes()).decode().splitlines()] for f in files)
    edges = {(row[0], row[4], row[10]) for row in related if row[7] == "isa"}
    edges |= {(row[4], row[0], row[10]) for row in related if row[7] == "inverse_isa"}
    concepts: dict[str, set[str]] = {}
    for row in named:
        if row[11] == "MSH":
            concepts.setdefault(row[13], set()).add(row[0])
    rng = random.Random(7)
    below = [(child, parent) for parent, child, sab in sorted(edges) if sab == "MSH"]
    codes = {cui: code for code, cuis in sorted(concepts.items()) for cui in cuis if len(cuis) == 1}
    near = [(codes[a], codes[b]) for a, b in rng.sample(below, 300) if a in codes and b in codes]
    pairs = near[:60] + [(b, a) for a, b in near[60:120]] + [tuple(rng.sample(sorted(concepts), 2)) for _ in range(60)]
    upwards = upwards_of(edges, "MSH")
    expected = [relation(upwards, concepts[a], concepts[b]) for a, b in pairs]
    assert {*WORDS.values(), "not-subsumed"} - {"equivalent"} <= set().union(*expected)
    with running_service(SnapshotGraph(load(files, LoadOptions(release="open")).sections), routes=routes) as running:
        asked_for = bundle(*(get(SUBSUMES, system=MESH, codeA=a, codeB=b) for a, b in pairs))
        answers = asked(running, asked_for).json["entry"]
    outcomes = [each["resource"]["parameter"][0]["valueCode"] if "resource" in each else None for each in answers]
    assert outcomes == [each.pop() if len(each) == 1 else None for each in expected]


def test_codes_of_two_vocabularies_are_related_in_the_umls(service: RunningService) -> None:
    pair = {"codingA": coding(SNOMED, "200"), "codingB": coding(ICD, "I21")}
    assert values(asked(service, post(SUBSUMES, system=UMLS, **pair))) == {"outcome": "subsumes"}
    status, issue, text = refusal(asked(service, post(SUBSUMES, **pair)))
    assert (status, issue, "codes of two systems" in text) == (400, "required", True)
    status, _, text = refusal(asked(service, post(SUBSUMES, system=SNOMED, **pair)))
    assert (status, "codingB: a code of another system" in text) == (400, True)


def test_a_vocabulary_without_edges_is_no_reason_to_say_no(service: RunningService) -> None:
    status, issue, text = refusal(asked(service, get(SUBSUMES, system=ICD, codeA="I21", codeB="T14")))
    assert (status, issue) == (422, "not-supported")
    assert "2026AA has no is_a edge of ICD10CM" in text
    same = asked(service, get(SUBSUMES, system=ICD, codeA="I21", codeB="I21.9"))  # one concept of the UMLS
    assert values(same) == {"outcome": "equivalent"}


# $validate-code


@pytest.mark.parametrize(
    ("request_", "result", "message"),
    [
        (get(VALIDATE, url=SNOMED, code="300"), True, None),
        (get(VALIDATE, url=SNOMED, code="300", display="heart  ATTACK"), True, None),
        (get(VALIDATE, url=SNOMED, code="300", display="Stroke"), False, "not a name of 300: 'Stroke'; expected 'Myoc"),
        (get(VALIDATE, url=SNOMED, code="500"), True, "every atom of the code is suppressed or obsolete"),
        (get(VALIDATE, url=SNOMED, code="999"), False, "no such code in release 2026AA; found '999'"),
        (get(VALIDATE, url=ICD, code="i219"), False, "Did you mean I21.9?"),
        (get(VALIDATE, url=UMLS, code="C0000009"), False, "It was merged into C0000003"),
        (get(VALIDATE, url=UMLS, code="C0000010"), False, "It is retired; UMLS suggests C0000002"),
        (get(VALIDATE, url=UMLS, code="c0000003"), False, "Did you mean C0000003?"),
        (get(VALIDATE, url=UMLS, code="C0000003", abstract="true"), True, None),
        (post(VALIDATE, coding=coding(SNOMED, "300", display="MI")), True, None),
        (post(VALIDATE, coding=coding(SNOMED, "300"), display="Stroke"), False, "not a name of 300"),
        (post(VALIDATE, url=MESH, coding=coding(SNOMED, "300")), False, f"expected '{MESH}'"),
        (post(VALIDATE, codeableConcept=[coding("urn:x", "1"), coding(MESH, "D3")]), True, None),
        (post(VALIDATE, codeableConcept=[coding("urn:x", "1"), coding(MESH, "D9")]), False, "no such code system"),
    ],
)
def test_a_code_is_valid_or_the_message_says_why_not(
    service: RunningService, request_: Asked, result: bool, message: str | None
) -> None:
    found = values(asked(service, request_))
    assert found["result"] is result
    assert (message is None) == ("message" not in found)
    assert (message or "") in found.get("message", "")
    if result or "not a name" in found["message"]:
        assert found["display"] in ("Myocardial infarction", "Old thing")


# metadata


def test_the_service_says_what_it_does(service: RunningService) -> None:
    statement = asked(service, get("metadata")).json
    assert (statement["resourceType"], statement["fhirVersion"]) == ("CapabilityStatement", "4.0.1")
    ((server),) = statement["rest"]
    assert [each["name"] for each in server["resource"][0]["operation"]] == ["lookup", "subsumes", "validate-code"]
    assert server["interaction"] == [{"code": "batch"}]
    capabilities = asked(service, get("metadata", mode="terminology")).json
    assert {each["uri"]: each["subsumption"] for each in capabilities["codeSystem"]} == {
        UMLS: True, SNOMED: True, ICD: False, MESH: True, NCIT: True,
    }  # fmt: skip
    assert [each["version"][0].get("code") for each in capabilities["codeSystem"]] == ["2026AA", None, None, None, None]


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        (FHIR_JSON, FHIR_JSON), ("application/json", "application/json"), ("*/*", FHIR_JSON), (None, FHIR_JSON),
        ("application/fhir+xml, application/fhir+json;q=0.5", FHIR_JSON),
        ("application/fhir+json; fhirVersion=4.0", FHIR_JSON),
    ],
)  # fmt: skip
def test_the_media_type_is_the_one_that_is_accepted(
    service: RunningService, accept: str | None, media_type: str
) -> None:
    reply = asked(service, get("metadata"), **({} if accept is None else {"Accept": accept}))
    assert (reply.status, reply.headers["content-type"]) == (200, media_type)


def test_format_goes_before_accept_and_pretty_is_indented(service: RunningService) -> None:
    reply = asked(service, get("metadata", _format="application/fhir+json", _pretty="true"), Accept="text/html")
    assert reply.body.startswith(b'{\n  "resourceType"')
    assert asked(service, ("GET", "metadata?_format=application/fhir+json", None), Accept="text/html").status == 200
    assert refusal(asked(service, get("metadata", _format="xml")))[:2] == (406, "not-supported")


# Errors

ERRORS: Sequence[tuple[Asked, Mapping[str, str], int, str, str]] = [
    (get(LOOKUP, system=SNOMED), {}, 400, "required", "code, coding"),
    (get(LOOKUP, code="300"), {}, 400, "required", "parameter system: required, but missing"),
    (get(LOOKUP, system=SNOMED, code=""), {}, 400, "required", "parameter code"),
    (get(LOOKUP, system=SNOMED, code="3", sytem="x"), {}, 400, "not-supported", "Did you mean system?"),
    (("GET", f"{LOOKUP}?code=1&code=2", None), {}, 400, "invalid", "one value is needed"),
    (get(LOOKUP, coding="x"), {}, 400, "invalid", "a Parameters resource, by POST"),
    (get(LOOKUP, system=SNOMED, code="300", date="2026"), {}, 400, "not-supported", "this service does not take it"),
    (get(LOOKUP, system=SNOMED, code="300", property="colour"), {}, 400, "not-supported", "no such property"),
    (get(LOOKUP, system="urn:x", code="300"), {}, 404, "not-found", f"expected {UMLS} or {SNOMED}"),
    (get(LOOKUP, system="http://loinc.org", code="300"), {}, 404, "not-found", "no such code system"),
    (get(LOOKUP, system=SNOMED, code="300", version="2026"), {}, 404, "not-found", "does not record that of a"),
    (get(LOOKUP, system=UMLS, code="C0000003", version="2025AB"), {}, 404, "not-found", "expected 2026AA"),
    (get(LOOKUP, system=SNOMED, code="999"), {}, 404, "not-found", "no such code"),
    (get(LOOKUP, system=MESH, code="d3"), {}, 404, "not-found", "Did you mean D3?"),
    (get(LOOKUP, system=UMLS, code="C0000009"), {}, 404, "not-found", "It was merged into C0000003"),
    (get(LOOKUP, system=UMLS, code="SNOMEDCT_US:300"), {}, 404, "not-found", "Did you mean C0000003?"),
    (get(LOOKUP, system=UMLS, code="MSH:D1"), {}, 404, "not-found", "found 'MSH:D1'"),
    (get(SUBSUMES, system=UMLS, codeA="MSH:D3", codeB="C0000002"), {}, 404, "not-found", "Did you mean C0000003?"),
    (get(LOOKUP, system=ICD, code="I21", property="child"), {}, 422, "not-supported", "no is_a edge of ICD10CM"),
    (post(LOOKUP, system=MESH, coding=coding(SNOMED, "300")), {}, 400, "invalid", "not that of coding"),
    (post(LOOKUP, coding={"code": "300"}), {}, 400, "required", "parameter system"),
    (post(LOOKUP, coding={"system": SNOMED}), {}, 400, "required", "parameter code"),
    (post(LOOKUP, coding={"system": 1}), {}, 400, "invalid", "coding.system: not valid; found 1"),
    (post(LOOKUP, coding={"systm": "x"}), {}, 400, "structure", "Did you mean system?"),
    (post(LOOKUP, code=True, system=SNOMED), {}, 400, "invalid", "expected a value that is a text"),
    (("POST", LOOKUP, {"resourceType": "Bundle"}), {}, 400, "structure", "another resource"),
    (("POST", LOOKUP, {"resourceType": "Parameters", "parameter": {}}), {}, 400, "structure", "expected a list"),
    (("POST", LOOKUP, {"resourceType": "Parameters", "parameter": [1]}), {}, 400, "structure", "name and value"),
    (("POST", LOOKUP, {"resourceType": "Parameters", "parameter": [{"name": "code"}]}), {}, 400, "structure", "[]"),
    (("POST", f"{LOOKUP}?code=1", resource(system=SNOMED)), {}, 400, "not-supported", "no such parameter"),
    (("POST", LOOKUP, b"{"), {"Content_Type": FHIR_JSON}, 400, "structure", "the body is not JSON"),
    (("POST", LOOKUP, b"[" * 100_000), {"Content_Type": FHIR_JSON}, 400, "structure", "the body is not JSON"),
    (("POST", LOOKUP, b"null"), {"Content_Type": FHIR_JSON}, 400, "structure", "another resource"),
    (("POST", LOOKUP, b"<a/>"), {"Content_Type": "application/fhir+xml"}, 415, "not-supported", "application/fhir+xml"),
    (get(SUBSUMES, system=SNOMED, codeA="300"), {}, 400, "required", "codeB, codingB"),
    (get(SUBSUMES, system=SNOMED, codeA="300", codeB="999"), {}, 404, "not-found", "parameter codeB"),
    (get(SUBSUMES, system=SNOMED, version="1", codeA="300", codeB="300"), {}, 404, "not-found", "no such version"),
    (get(VALIDATE, code="300"), {}, 400, "required", "parameter url"),
    (get(VALIDATE, url="urn:x", code="300"), {}, 404, "not-found", "parameter url"),
    (get(VALIDATE, url=UMLS, code="C0000003", abstract="yes"), {}, 400, "invalid", "expected true or false"),
    (post(VALIDATE, code="1", url=SNOMED, codeableConcept=[coding(SNOMED, "1")]), {}, 400, "invalid", "several"),
    (post(VALIDATE, codeableConcept=[]), {}, 400, "required", "codeableConcept"),
    (get("metadata", mode="x"), {}, 400, "invalid", "full, normative or terminology"),
    (get("ValueSet/$expand"), {}, 404, "not-supported", "nothing is at /fhir/ValueSet/$expand"),
    (("DELETE", "metadata", None), {}, 405, "not-supported", "/fhir/metadata takes"),
    (get("metadata"), {"Accept": "application/fhir+xml"}, 406, "not-supported", "application/fhir+json or"),
    (get("metadata"), {"Accept": "application/fhir+json; fhirVersion=5.0"}, 406, "not-supported", "of FHIR 4.0"),
    (get("metadata"), {"X_Timeout_Seconds": "x"}, 400, "invalid", "x-timeout-seconds"),
    (get("metadata"), {"X_Timeout_Seconds": "0.000000001"}, 504, "timeout", "longer than allowed"),
    (get("metadata"), {"Host": "evil.example"}, 400, "invalid", "another name"),
    (("POST", "", {"resourceType": "Bundle", "type": "transaction"}), {}, 400, "not-supported", "expected batch"),
    (("POST", "", {"resourceType": "Bundle", "type": "batch", "entry": 1}), {}, 400, "structure", "expected a list"),
    (("POST", "?x=1", {"resourceType": "Bundle", "type": "batch"}), {}, 400, "not-supported", "no such parameter"),
]  # fmt: skip


HALF = "\ud800"


@pytest.mark.parametrize(
    "request_",
    [
        post(LOOKUP, system=HALF, code="300"), post(LOOKUP, system=SNOMED, code=HALF), post(LOOKUP, **{HALF: "x"}),
        post(VALIDATE, url=HALF, coding=coding(SNOMED, "300", display=HALF)), post(LOOKUP, coding={HALF: HALF}),
        ("POST", LOOKUP, {"resourceType": "Parameters", "parameter": [{"name": "code", HALF: HALF}]}),
        ("POST", LOOKUP, {"resourceType": HALF}),
    ],
)  # fmt: skip
def test_half_of_a_character_is_no_fault(service: RunningService, request_: Asked) -> None:
    assert asked(service, request_).status in (200, 400, 404)
    assert asked(service, bundle(request_)).status == 200


@pytest.mark.parametrize(("request_", "headers", "status", "issue", "says"), ERRORS)
def test_every_error_is_an_outcome(
    service: RunningService, request_: Asked, headers: Mapping[str, str], status: int, issue: str, says: str
) -> None:
    found = refusal(asked(service, request_, **headers))
    assert found[:2] == (status, issue), found
    assert says in found[2]


def test_every_reason_has_a_type_of_issue() -> None:
    def issue(reason: str) -> str:
        found = outcome_of_problem({"reason": reason, "detail": "x", "request_id": "y"})
        return str(found["issue"][0]["code"])

    faults = {status.reason for status in STATUSES if issue(status.reason) == "exception"}
    assert faults == {status.reason for status in STATUSES if status.http == 500}


def test_a_long_error_that_is_packed_is_an_outcome_too(service: RunningService) -> None:
    reply = asked(service, get("x" * 4_000), Accept_Encoding="gzip")
    assert refusal(reply)[:2] == (404, "not-supported")
    assert "content-encoding" not in reply.headers
    body = gzip.compress(json.dumps(resource(system=SNOMED, code="300")).encode())
    assert asked(service, ("POST", LOOKUP, body), Content_Type=FHIR_JSON, Content_Encoding="gzip").status == 200


def test_head_is_get_without_the_body(service: RunningService) -> None:
    for path in ("metadata", "x"):
        head, whole = (asked(service, (method, path, None)) for method in ("HEAD", "GET"))
        assert (head.status, head.body) == (whole.status, b"")
        assert head.headers["content-length"] == str(len(whole.body))


# Batches


def entry(request: Asked) -> dict[str, Any]:
    method, url, body = request
    return {"request": {"method": method, "url": url}, **({} if body is None else {"resource": body})}


def bundle(*requests: Asked) -> Asked:
    return "POST", "", {"resourceType": "Bundle", "type": "batch", "entry": [entry(each) for each in requests]}


ANSWERED: Sequence[Asked] = [
    get("metadata"),
    get("metadata", mode="terminology"),
    get(LOOKUP, system=SNOMED, code="300", property="*"),
    get(LOOKUP, system=UMLS, code="C0000002", property="*"),
    get(LOOKUP, system=MESH, code="D1"),
    post(LOOKUP, coding=coding(SNOMED, "200")),
    get(SUBSUMES, system=SNOMED, codeA="200", codeB="300"),
    post(SUBSUMES, system=UMLS, codingA=coding(SNOMED, "200"), codingB=coding(ICD, "I21")),
    get(VALIDATE, url=SNOMED, code="300"),
    get(VALIDATE, url=SNOMED, code="999"),
    post(VALIDATE, codeableConcept=[coding(MESH, "D3")]),
]


def test_a_batch_answers_as_the_single_requests_do(service: RunningService) -> None:
    refused = [request for request, headers, *_ in ERRORS if not headers and isinstance(request[2], dict | None)]
    refused = [request for request in refused if request[1].startswith("CodeSystem")]
    requests = [*ANSWERED, *refused]
    reply = asked(service, bundle(*requests))
    assert (reply.status, reply.json["type"]) == (200, "batch-response")
    for request, answer in zip(requests, reply.json["entry"], strict=True):
        alone = asked(service, request)
        assert int(answer["response"]["status"][:3]) == alone.status, request
        if alone.status == 200:
            assert answer["resource"] == alone.json
        else:
            (issue,) = answer["response"]["outcome"]["issue"]
            assert (issue["code"], issue["details"]["text"]) == refusal(alone)[1:]


def test_a_batch_looks_up_its_codes_at_once(
    service: RunningService, graph: SnapshotGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And codes one by one if one of them cannot be looked up."""
    requests = ANSWERED
    alone = [asked(service, request).json for request in requests]
    lookups: list[Sequence[str]] = []
    read = SnapshotGraph.codes

    def counted(self: SnapshotGraph, identifiers: Sequence[str], *, sabs: Sequence[str] = ()) -> list[CodeLookup]:
        lookups.extend([identifiers] if identifiers and not sabs else [])
        return read(self, identifiers, sabs=sabs)

    monkeypatch.setattr(SnapshotGraph, "codes", counted)
    for more, most in (([], 1), ([get(VALIDATE, url=MESH, code="x" * 600)], 100)):
        lookups.clear()
        found = asked(service, bundle(*requests, *more)).json["entry"]
        assert [each["resource"] for each in found[: len(requests)]] == alone
        assert 1 <= len(lookups) <= most
        assert most == 1 or len(lookups) > 5


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({}, 400), (1, 400),
        ({"request": {"method": "GET"}}, 404), ({"request": {"method": "PUT", "url": LOOKUP}}, 404),
        ({"request": {"method": "GET", "url": "Patient/1"}}, 404),
        ({"request": {"method": "POST", "url": LOOKUP}}, 400),
        ({"request": {"method": "GET", "url": LOOKUP, "ifMatch": "x"}}, 400),
    ],
)  # fmt: skip
def test_a_wrong_entry_leaves_the_others_answered(service: RunningService, wrong: Any, status: int) -> None:
    _, path, body = bundle(get(LOOKUP, system=SNOMED, code="300"), get(f"/{quote(LOOKUP)}", system=SNOMED, code="200"))
    body["entry"].insert(1, wrong)
    found = asked(service, ("POST", path, body)).json["entry"]
    assert [int(each["response"]["status"][:3]) for each in found] == [200, status, 200]


def test_an_empty_batch_has_an_empty_answer(service: RunningService) -> None:
    assert asked(service, bundle()).json == {"resourceType": "Bundle", "type": "batch-response"}
    slash = http(service, "/fhir/", json.dumps(bundle()[2]).encode(), Content_Type=FHIR_JSON)
    assert slash.json["type"] == "batch-response"


# The published definitions


def test_every_answer_fits_the_published_definitions(service: RunningService, tmp_path: Path) -> None:
    if not (DEFINITIONS / ".ready").exists():
        pytest.skip("fhir.resources not found: make fhir-environment")
    requests: list[tuple[Asked, Mapping[str, str]]] = [(each, {}) for each in (*ANSWERED, bundle(*ANSWERED), bundle())]
    requests += [(request, headers) for request, headers, *_ in ERRORS]
    answers = [asked(service, request, **headers).json for request, headers in requests]
    (tmp_path / "answers.json").write_text(json.dumps(answers))
    script = Path(__file__).with_name("fhir_definitions.py")
    python = DEFINITIONS / "bin" / "python"
    done = subprocess.run([python, script, tmp_path / "answers.json"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"{len(answers)} resources\n"), done.stdout + done.stderr


# Keys, scopes, rates, limits, audit


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    path = tmp_path / "keys.json"
    new_key_in(path, "first")
    return path


def guarded(keys: Path, graph: SnapshotGraph, *, rates: Rates | None = None, observer: Observer | None = None) -> Any:
    guard = ConfiguredGuard(KeyFile(keys), rates=rates)
    return running_service(graph, guard=guard, observer=observer, routes=routes)


def test_without_a_key_nobody_is_answered(keys: Path, graph: SnapshotGraph) -> None:
    with guarded(keys, graph) as running:
        for request in (get("metadata"), get(LOOKUP, system=SNOMED, code="300"), bundle(get("metadata"))):
            reply = asked(running, request)
            assert refusal(reply)[:2] == (401, "login")
            assert reply.headers["WWW-Authenticate"] == "Bearer"


def test_codes_and_names_need_their_scope(keys: Path, graph: SnapshotGraph) -> None:
    reader, namer = new_key_in(keys, "reader", "read"), new_key_in(keys, "namer", "read", "names")
    codes = [
        get(LOOKUP, system=UMLS, code="C0000003"), get(LOOKUP, system=SNOMED, code="300"),
        get(SUBSUMES, system=SNOMED, codeA="200", codeB="300"), get(VALIDATE, url=UMLS, code="C0000003"),
        post(SUBSUMES, system=UMLS, codingA=coding(SNOMED, "200"), codingB=coding(UMLS, "C0000003")),
    ]  # fmt: skip
    concepts = get(SUBSUMES, system=UMLS, codeA="C0000002", codeB="C0000003")
    with guarded(keys, graph) as running:
        for request in codes:
            assert refusal(asked(running, request, key=reader)) == (
                403, "forbidden", "the key of 'reader' lacks the scope 'names'",
            )  # fmt: skip
            assert asked(running, request, key=namer).status == 200
        assert values(asked(running, concepts, key=reader)) == {"outcome": "subsumes"}
        listed = asked(running, get("metadata", mode="terminology"), key=reader).json["codeSystem"]
        assert [each["uri"] for each in listed] == [UMLS]
        batch = asked(running, bundle(codes[0], concepts), key=reader).json["entry"]
        assert [each["response"]["status"][:3] for each in batch] == ["403", "200"]
        unknown = refusal(asked(running, get(LOOKUP, system="urn:x", code="1"), key=reader))
        assert unknown[:2] == (403, "forbidden")


def test_a_service_that_hides_names_hides_them_here_too(graph: SnapshotGraph) -> None:
    with running_service(graph, routes=routes, names=False) as running:
        for request in (get(LOOKUP, system=UMLS, code="C0000003"), get(SUBSUMES, system=SNOMED, codeA="1", codeB="2")):
            assert refusal(asked(running, request)) == (403, "forbidden", "this service shows no names")


def test_rates_count_the_entries_of_a_batch(keys: Path, graph: SnapshotGraph) -> None:
    few = new_key_in(keys, "few", "read", "names", rate=Rate(pairs=10))
    request = get(LOOKUP, system=SNOMED, code="300")
    with guarded(keys, graph, rates=Rates(Rate())) as running:
        assert asked(running, bundle(*[request] * 8), key=few).status == 200
        reply = asked(running, bundle(*[request] * 8), key=few)
        assert refusal(reply)[:2] == (429, "throttled")
        assert int(reply.headers["Retry-After"]) > 0


def test_the_limits_of_the_service_hold(graph: SnapshotGraph) -> None:
    limits = Limits(concepts=2, neighbours=1, text=64, message_bytes=4096)
    request = get(LOOKUP, system=SNOMED, code="300", property="inactive")
    with running_service(graph, routes=routes, limits=limits) as running:
        for refused, status, issue, says in (
            (bundle(*[request] * 3), 413, "too-costly", "too many concepts: found 3"),
            (("POST", LOOKUP, resource(system=SNOMED, code="x" * 5_000)), 413, "too-costly", "body is too large"),
            (get(LOOKUP, system=SNOMED, code="x" * 65), 400, "invalid", "at most 64"),
            (get(LOOKUP, system=UMLS, code="C0000001", property="child"), 413, "too-costly", "too many neighbours"),
        ):
            found = refusal(asked(running, refused))
            assert (found[0], found[1], says in found[2]) == (status, issue, True), found
        assert asked(running, bundle(request, request)).status == 200


def test_the_audit_has_a_line_for_each_request(keys: Path, graph: SnapshotGraph, tmp_path: Path) -> None:
    key = new_key_in(keys, "ward", "read", "names")
    path = tmp_path / "audit.jsonl"
    audit = AuditLog(str(path), concepts=True)
    requests = [
        get(LOOKUP, system=SNOMED, code="300"), get(LOOKUP, system=SNOMED, code="999"),
        bundle(get(LOOKUP, system=SNOMED, code="300"), get("metadata")), ("POST", "", {"resourceType": "Bundle"}),
        get("metadata"), post(SUBSUMES, system=UMLS, codeA="C0000002", codeB="C0000003"),
    ]  # fmt: skip
    with guarded(keys, graph, observer=audit) as running:
        for request in requests:
            asked(running, request, key=key)
    audit.close()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["operation"], line["size"], line["outcome"], line["tier"]) for line in lines] == [
        ("fhir_lookup", 1, "OK", "index"), ("fhir_lookup", 1, "INVALID_INPUT", None), ("fhir_batch", 2, "OK", "index"),
        ("fhir_batch", 1, "INVALID_INPUT", None), ("fhir_metadata", 1, "OK", None), ("fhir_subsumes", 1, "OK", "index"),
    ]  # fmt: skip
    assert lines[0]["request"] == {"system": SNOMED, "code": "300"}
    assert lines[2]["request"] == requests[2][2]


def test_a_release_without_codes_has_the_umls_only() -> None:
    with running_service(example_graph(), routes=routes) as running:
        listed = asked(running, get("metadata", mode="terminology")).json["codeSystem"]
        assert [each["uri"] for each in listed] == [UMLS]
        assert values(asked(running, get(LOOKUP, system=UMLS, code="C0006121", property="parent")))["parent"] == [
            "C0006104"
        ]
        assert refusal(asked(running, get(LOOKUP, system=SNOMED, code="1")))[0] == 404


@pytest.mark.slow
def test_the_program_serves_it_unless_it_is_off(graph: SnapshotGraph, tmp_path: Path) -> None:
    store = tmp_path / "graph.cuihop"
    graph.save(store)
    with program(store, tmp_path, "--index-folder", str(tmp_path)) as running:
        assert running.get("/fhir/metadata")["resourceType"] == "CapabilityStatement"
    with program(store, tmp_path, "--no-fhir", "--index-folder", str(tmp_path)) as running:
        assert running.get("/fhir/metadata")["reason"] == "NO_SUCH_ROUTE"
