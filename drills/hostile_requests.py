"""Drill: hostile requests over HTTP, gRPC, FHIR and the tools for agents, of callers with each scope and of strangers.

No answer is a fault of the service or a status that its documents do not list, and none holds a name of a concept
unless the caller may see names. Every name of the served graph has a word in it that no request has.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import grpc
import urllib3

from cuihop import SnapshotGraph
from cuihop.remote.statuses import STATUSES
from cuihop.remote.wire import message_class
from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_loader import load
from drills.drawn_messages import damaged, drawn_json, drawn_message, drawn_text
from drills.drill import Case, Found, Setting
from example_graph import EDGES, NAMES, RETIRED
from guarded_service import new_key_in
from loader import rrf_made as rrf
from served_program import program

ROOT = Path(__file__).resolve().parents[1]
SCHEMATHESIS = ROOT / ".cache" / "schemathesis"
MARK = "qzxjv"
"""A word of every name, synonym and definition."""

SCOPES: Mapping[str, Sequence[str]] = {
    "stranger": (),
    "reader": ("read",),
    "namer": ("read", "names"),
    "meter": ("metrics",),
    "everybody": ("read", "names", "cypher", "metrics"),
}
"""Callers, and the scopes of their keys. A stranger has none."""

_CONTRACT = ROOT / "proto" / "cuihop_api" / "v1" / "concept_graph.proto"
_SABS = ("SNOMEDCT_US", "MSH", "NCI")
_OVERLOAD = {status.reason for status in STATUSES if status.http in (503, 504)}
_AGENTS = "/mcp"
_OF_AGENTS = {200, 202, 400, 401, 403, 405, 406, 413, 415, 429, 503, 504}
_INTERNAL_ERROR = -32603
_FHIR = "/fhir"
_FHIR_JSON = "application/fhir+json"
_OF_FHIR = {200, 400, 401, 403, 404, 405, 406, 413, 415, 422, 429, 431, 503, 504}
_FHIR_PARAMETERS: Mapping[str, Sequence[str]] = {
    "$lookup": ("code", "system", "version", "coding", "property", "date"),
    "$subsumes": ("codeA", "codeB", "system", "version", "codingA", "codingB"),
    "$validate-code": ("url", "code", "version", "display", "coding", "codeableConcept", "abstract", "codeSystem"),
}
_FHIR_SYSTEMS = ("http://terminology.hl7.org/CodeSystem/umls", "http://snomed.info/sct", "https://www.nlm.nih.gov/mesh")
_PROBLEM = "application/problem+json"
_HEAD_BYTES = 60_000
_RETRIES = urllib3.Retry(1, redirect=False, allowed_methods=None, respect_retry_after_header=False)
"""An ended connection is opened once more; any answer is taken as it is."""
_OWN_REQUESTS = 1_000
_HEADERS: Mapping[str, Sequence[str]] = {
    "X-Request-Id": ("a", "", "x" * 300, "\t", "\xe9", "caf\xc3\xa9", "<script>"),
    "X-Timeout-Seconds": ("5", "30", "0", "-1", "nan", "1e9", "0.000001", "9" * 40, "1_0", ""),
    "X-Release-Activation": ("0-" + "0" * 16, "1-zzzz", "-1-0", "9" * 30, "", "1795412345678901234-9d9b3233636c4a1f"),
    "Traceparent": ("00-" + "1" * 32 + "-" + "2" * 16 + "-01", "00--", "\x80"),
    "Accept-Encoding": ("gzip", "identity;q=0", "br", "*"),
    "If-None-Match": ("*", '"x"', 'W/"0", "', ""),
    "Content-Encoding": ("gzip", "identity", "br"),
    "Content-Type": ("application/json", "text/plain", "application/json; charset=utf-16", "multipart/form-data", ""),
    "Accept": ("application/json, text/event-stream", "text/html", "*/*;q=0", ""),
    "Mcp-Protocol-Version": ("2025-11-25", "2026-07-28", "1999-01-01", ""),
    "Origin": ("http://elsewhere.example", "null"),
}
"""Headers that mean something to the service, and what they might hold."""


@dataclass
class Served:
    """A running service, and what it says of itself."""

    http: str
    grpc: str
    keys: Mapping[str, str]

    def sent(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, str, str]:
        """Status, media type and body of an answer over HTTP."""
        try:
            answer = self._pool.request(method, path, body=body, headers=headers)
        except (
            urllib3.exceptions.HTTPError
        ) as error:  # twice; a refusal of a large head may be lost, for it is not read
            return 431 if len(path) > _HEAD_BYTES else 0, _PROBLEM, str(error)
        return answer.status, answer.headers.get("content-type", ""), answer.data.decode("utf-8", "replace")

    def headers(self, caller: str, rng: random.Random, *names: str) -> dict[str, str]:
        """The credentials of a caller, now and then spoilt, and some of the headers with these names."""
        headers = {name: rng.choice(_HEADERS[name]) for name in names if rng.random() < 0.02}
        if caller in self.keys:
            headers["Authorization"] = f"Bearer {self.keys[caller]}"
        if rng.random() < 0.02:
            headers["Authorization"] = rng.choice(("Bearer", "Basic eDp5", "Bearer cuihop_x_y", "Bearer a.b.c", "\xe9"))
        return headers

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """The OpenAPI document."""
        document: dict[str, Any] = json.loads(self.sent("GET", "/openapi.json")[2])
        return document

    @cached_property
    def tools(self) -> Sequence[Mapping[str, Any]]:
        """The tools for agents, as they are listed."""
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        headers = {
            "Authorization": f"Bearer {self.keys['reader']}",
            "Accept": _HEADERS["Accept"][0],
            "Content-Type": "application/json",
        }
        answer = json.loads(self.sent("POST", _AGENTS, json.dumps(message).encode(), headers)[2])
        tools: list[dict[str, Any]] = answer["result"]["tools"]
        return tools

    @cached_property
    def _pool(self) -> urllib3.HTTPConnectionPool:
        return urllib3.connection_from_url(f"http://{self.http}", retries=_RETRIES, timeout=120, maxsize=1)

    @cached_property
    def channel(self) -> Any:
        """A connection for gRPC."""
        return grpc.insecure_channel(self.grpc)


@contextmanager
def cases(setting: Setting) -> Iterator[Case]:
    """One service a process, which runs as a program."""
    setup = subprocess.run(["make", "--quiet", "request-environment"], cwd=ROOT, check=False)
    if setup.returncode:
        raise SystemExit("schemathesis is not set up: make request-environment does it, with a package registry")
    store, keys_file = setting.folder / "graph.cuihop", setting.folder / "keys.json"
    marked_graph(setting.folder / "release").save(store)
    keys = {caller: new_key_in(keys_file, caller, *scopes) for caller, scopes in SCOPES.items() if scopes}
    unlimited = ["--failures", "1000000000", "--address-failures", "1000000000"]  # of strangers
    arguments = ["--keys-file", str(keys_file), "--index-folder", str(setting.folder), *unlimited]
    with program(store, setting.folder, *arguments, CUIHOP_MCP="true") as running:
        served, log = Served(running.http, running.grpc, keys), _Log(running.log)

        def case(rng: random.Random) -> Found:
            requests = _OWN_REQUESTS // 10 if setting.small else _OWN_REQUESTS
            found = [
                over_http(served, rng, requests),
                over_grpc(served, rng, 2 * requests),
                by_agents(served, rng, requests // 4),
                over_fhir(served, rng, requests // 4),
                by_schemathesis(served, rng, setting.folder, examples=2 if setting.small else 25),
            ]
            wrong = [sentence for part in found for sentence in part.wrong] + log.faults()
            return Found(sum(part.tried for part in found), wrong)

        yield case


def marked_graph(folder: Path) -> SnapshotGraph:
    """The graph of the examples, with the vocabularies of its edges, semantic types, definitions, and the word."""
    names = [
        rrf.name(cui, f"{name} {MARK}", tty="SY" if at else "PT", ispref="N" if at else "Y", sab=_SABS[at % 3])
        for cui, of_cui in NAMES.items()
        for at, name in enumerate(of_cui)
    ]
    rows = {
        "MRREL": [rrf.isa(parent, child, sab=_SABS[at % 3]) for at, (child, parent) in enumerate(EDGES)],
        "MRCONSO": names,
        "MRSTY": [rrf.semantic_type(cui, "T023", "Body Part, Organ, or Organ Component") for cui in NAMES],
        "MRDEF": [rrf.definition(cui, f"A definition, {MARK}.", sab="MSH") for cui in NAMES],
        "MRCUI": [rrf.retired(*row) for row in RETIRED],
    }
    return SnapshotGraph(load([rrf.written(folder, rows)]).sections)


class _Log:
    """The log of the program."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = path.stat().st_size

    def faults(self) -> list[str]:
        """New lines that tell of a fault."""
        with self._path.open("rb") as file:
            file.seek(self._read)
            content = file.read()
        self._read += len(content)
        lines = [line for line in content.decode("utf-8", "replace").splitlines() if "error" in line or "Trace" in line]
        return [f"the log: {line[:3000]}" for line in lines if not any(f'"{reason}"' in line for reason in _OVERLOAD)]


def _named(caller: str, text: str) -> Iterator[str]:
    if "names" not in SCOPES[caller] and MARK in text:
        yield f"a name for a key without the scope: {text[:500]}"


# HTTP


def over_http(served: Served, rng: random.Random, count: int) -> Found:
    """Requests by the OpenAPI document, with headers that it does not have, and damaged bodies."""
    wrong = []
    for _ in range(count):
        path, methods = rng.choice(list(served.document["paths"].items()))
        [(method, operation)] = methods.items()
        caller = rng.choice(list(SCOPES))
        query, headers = [], {}
        for parameter in operation["parameters"]:
            rare = parameter["name"] in ("release", "X-Release-Activation")
            if rng.random() < (0.98 if parameter["required"] else 0.03 if rare else 0.3):
                value = drawn_json(parameter["schema"], served.document, rng, parameter["name"])
                if parameter["in"] == "header":
                    headers[parameter["name"]] = _in_header(value)
                else:
                    query += [(parameter["name"], item) for item in (value if isinstance(value, list) else [value])]
        headers |= served.headers(caller, rng, *_HEADERS)
        body = None
        if "requestBody" in operation:
            [(media, content)] = operation["requestBody"]["content"].items()
            lines = [drawn_json(content["schema"], served.document, rng) for _ in range(1 + 2 * ("ndjson" in media))]
            body = damaged("\n".join(map(json.dumps, lines)).encode(), rng)
            headers.setdefault("Content-Type", media)
        others = ("PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "X")
        sent = rng.choice(others) if rng.random() < 0.03 else method.upper()
        target = path + "?" * bool(query) + "&".join(f"{name}={_in_query(value)}" for name, value in query)
        status, media, text = served.sent(sent, target, body, headers)
        wrong += [
            f"{sent} {target[:500]} {headers} of {caller}, {(body or b'')[:500]!r}: {fault}"
            for fault in (*faults_over_http(status, media, text, operation["responses"]), *_named(caller, text))
        ]
    return Found(count, wrong)


def faults_over_http(status: int, media: str, text: str, listed: Mapping[str, Any]) -> Iterator[str]:
    """Everything wrong with an answer. 405 the document has in words, for a method that a path does not have."""
    if str(status) not in listed and status != 405:
        yield f"{status}, which the document does not list: {text[:500]}"
    elif status >= 500 and not any(f'"{reason}"' in text for reason in _OVERLOAD):
        yield f"{status}: {text[:500]}"
    if status >= 400 and text and media != _PROBLEM:
        yield f"{status} as {media}: {text[:500]}"


def _in_query(value: Any) -> str:
    return quote(value.encode("utf-8", "surrogatepass") if isinstance(value, str) else json.dumps(value))


def _in_header(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return re.sub(r"[\r\n\0]", " ", text[:200].encode("ascii", "replace").decode())


# gRPC


def documented_codes() -> Mapping[str, frozenset[str]]:
    """Codes of each RPC: those of every call, and its own, as the comments of the contract have them."""
    head, *rest = _CONTRACT.read_text("utf-8").partition("service ConceptGraphService")
    of_all = re.findall(r"^//   ([A-Z_]+)  ", head, re.MULTILINE)
    blocks = re.findall(r"((?:^  //.*\n)*)^  rpc (\w+)", "".join(rest), re.MULTILINE)
    codes = {code.name for code in grpc.StatusCode}
    return {
        rpc: frozenset({"OK", *of_all, *(word for word in re.findall("[A-Z_]{4,}", text) if word in codes)})
        for text, rpc in blocks
    }


def over_grpc(served: Served, rng: random.Random, count: int) -> Found:
    """Calls by the descriptor of the service."""
    service, wrong, codes = pb.DESCRIPTOR.services_by_name["ConceptGraphService"], [], documented_codes()
    for _ in range(count):
        method = rng.choice(service.methods)
        caller = rng.choice(list(SCOPES))
        some = rng.choice((0, 1, 2, 3)) if method.client_streaming or rng.random() < 0.02 else 1
        sent = [drawn_message(message_class(method.name), rng) for _ in range(some)]
        headers = served.headers(caller, rng, "X-Request-Id", "X-Release-Activation", "Traceparent")
        metadata = [(name.lower(), value) for name, value in headers.items() if value.isprintable() and value.isascii()]
        alone = len(sent) == 1  # a call without a stream of requests needs no thread
        make = served.channel.unary_stream if alone else served.channel.stream_stream
        call = make(f"/{service.full_name}/{method.name}", request_serializer=bytes, response_deserializer=bytes)
        seconds = 1e-3 if rng.random() < 0.05 else 120
        try:
            answers = call(sent[0] if alone else iter(sent), metadata=metadata, timeout=seconds)
            code, text = "OK", b"".join(answers).decode("utf-8", "replace")
        except grpc.RpcError as error:
            failed: Any = error
            code, text = failed.code().name, f"{failed.details()} {failed.trailing_metadata()}"
        wrong += [
            f"{method.name} of {caller}, {metadata}, {[piece[:500].hex() for piece in sent]}: {fault}"
            for fault in (*faults_over_grpc(code, text, codes[method.name]), *_named(caller, text))
        ]
    return Found(count, wrong)


def faults_over_grpc(code: str, text: str, listed: frozenset[str]) -> Iterator[str]:
    """Everything wrong with the end of a call."""
    if code not in listed:
        yield f"{code}, which the contract does not list: {text[:500]}"


# Agents


def by_agents(served: Served, rng: random.Random, count: int) -> Found:
    """Messages of the Model Context Protocol, most of them calls of tools by their schemas."""
    wrong = []
    for _ in range(count):
        tool, caller = rng.choice(served.tools), rng.choice(list(SCOPES))
        schema = tool["inputSchema"]
        params: Any = {"name": tool["name"], "arguments": drawn_json(schema, schema, rng)}
        message: Any = {"jsonrpc": "2.0", "id": rng.choice((1, "a", 2**40)), "method": "tools/call", "params": params}
        if rng.random() < 0.15:
            message[rng.choice(list(message))] = rng.choice(
                ("tools/list", "ping", "initialize", drawn_text(rng), None, {})
            )
        if rng.random() < 0.03:
            message = rng.choice(([message] * 3, params, None, "x"))
        body = damaged(json.dumps(message).encode(), rng)
        usual = {"Accept": _HEADERS["Accept"][0], "Content-Type": "application/json"}
        headers = usual | served.headers(caller, rng, *_HEADERS)
        status, media, text = served.sent("POST", _AGENTS, body, headers)
        wrong += [
            f"{headers} of {caller}, {body[:800]!r}: {fault}"
            for fault in (*faults_of_agents(status, media, text), *_named(caller, text))
        ]
    return Found(count, wrong)


def faults_of_agents(status: int, media: str, text: str) -> Iterator[str]:
    """Everything wrong with an answer to an agent."""
    if status not in _OF_AGENTS:
        yield f"status {status}: {text[:500]}"
    elif text and "json" not in media:
        yield f"{status} as {media}: {text[:500]}"
    elif f'"code":{_INTERNAL_ERROR}' in text.replace(" ", ""):
        yield f"an internal error: {text[:500]}"


# FHIR


def over_fhir(served: Served, rng: random.Random, count: int) -> Found:
    """Operations of FHIR by their parameters, alone and in batches, with damaged bodies."""
    wrong = []
    for _ in range(count):
        caller = rng.choice(list(SCOPES))
        usual = {"Accept": rng.choice((_FHIR_JSON, "*/*")), "Content-Type": _FHIR_JSON}
        headers = usual | served.headers(caller, rng, *_HEADERS)
        method, url, resource = _fhir_operation(rng)
        if rng.random() < 0.3:
            entries = [_fhir_entry(*_fhir_operation(rng)) for _ in range(rng.choice((0, 1, 5)))]
            method, url, resource = "POST", "", {"resourceType": "Bundle", "type": "batch", "entry": entries}
        sent = rng.choice(("GET", "POST", "PUT", "DELETE", "PATCH")) if rng.random() < 0.03 else method
        body = None if resource is None else damaged(json.dumps(resource).encode(), rng)
        target = f"{_FHIR}/{url}" if url else _FHIR
        status, media, text = served.sent(sent, target, body, headers)
        wrong += [
            f"{sent} {target[:500]} {headers} of {caller}, {(body or b'')[:800]!r}: {fault}"
            for fault in (*faults_of_fhir(status, media, text), *_named(caller, text))
        ]
    return Found(count, wrong)


def _fhir_operation(rng: random.Random) -> tuple[str, str, Any]:
    """Method, URL and resource of an operation, whose values mean something now and then."""
    if rng.random() < 0.1:
        return (
            "GET",
            rng.choice(("metadata", "metadata?mode=terminology", "metadata?_format=xml", "ValueSet/$expand")),
            None,
        )
    operation = rng.choice(list(_FHIR_PARAMETERS))
    names = [name for name in _FHIR_PARAMETERS[operation] if rng.random() < 0.6]
    codes = [*NAMES, "X", "C9000903", "x", drawn_text(rng)]
    texts = [rng.choice(_FHIR_SYSTEMS) if name in ("system", "url") else rng.choice(codes) for name in names]
    if rng.random() < 0.5:
        query = "&".join(f"{name}={_in_query(text)}" for name, text in zip(names, texts, strict=True))
        return "GET", f"CodeSystem/{operation}?{query}", None
    coding = {"system": rng.choice(_FHIR_SYSTEMS), "code": rng.choice(codes)}
    values: Mapping[str, Any] = {
        "coding": coding,
        "codingA": coding,
        "codingB": coding,
        "codeableConcept": {"coding": [coding]},
    }
    parameter = [
        {
            "name": name,
            f"value{name[:1].upper()}{name[1:].rstrip('AB')}" if name in values else "valueString": values.get(
                name, text
            ),
        }
        for name, text in zip(names, texts, strict=True)
    ]
    return "POST", f"CodeSystem/{operation}", {"resourceType": "Parameters", "parameter": parameter}


def _fhir_entry(method: str, url: str, resource: Any) -> Mapping[str, Any]:
    return {"request": {"method": method, "url": url}, "resource": resource or {}}


def faults_of_fhir(status: int, media: str, text: str) -> Iterator[str]:
    """Everything wrong with an answer in FHIR."""
    if status not in _OF_FHIR:
        yield f"status {status}: {text[:500]}"
    elif status >= 400 and status != 431 and text and (media != _FHIR_JSON or '"OperationOutcome"' not in text):
        yield f"{status} as {media}: {text[:500]}"


# schemathesis


def by_schemathesis(served: Served, rng: random.Random, folder: Path, *, examples: int) -> Found:
    """A run of schemathesis with all its checks but one, for one caller. Its requests are looked at once more."""
    caller, report = rng.choice(list(SCOPES)), folder / "schemathesis.har"
    phases = "examples,coverage,fuzzing" if examples > 2 and rng.random() < 0.25 else "examples,fuzzing"
    command = [
        str(SCHEMATHESIS / "bin" / "schemathesis"), "--config-file", str(ROOT / "drills" / "schemathesis.toml"),
        "run", f"http://{served.http}/openapi.json", "--checks", "all", "--phases", phases,
        "--max-examples", str(examples), "--seed", str(rng.randrange(2**31)), "--continue-on-failure",
        "--exclude-checks", "unsupported_method",  # a wrong head gets 400, a stranger 401, before 405
        "--exclude-operation-id", "stream_distances",  # its lines of JSON have no serialiser there
        "--generation-database", "none", "--output-sanitize", "false", "--no-color",
        "--report", "har", "--report-har-path", str(report),
    ]  # fmt: skip
    if caller in served.keys:
        command += ["--header", f"Authorization: Bearer {served.keys[caller]}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    wrong = []
    if done.returncode:
        text = (done.stdout + done.stderr).partition("= FAILURES =")
        wrong.append(f"schemathesis, {caller}: {(text[2] or text[0])[-6000:]}")
    entries = json.loads(report.read_text("utf-8"))["log"]["entries"] if report.exists() else []
    for entry in entries:
        request, answer = entry["request"], entry["response"]
        path = urllib3.util.parse_url(request["url"]).path or ""
        [operation] = served.document["paths"].get(path, {"": {"responses": {}}}).values()
        listed = operation["responses"]
        media = answer["content"].get("mimeType", "").partition(";")[0]
        text = answer["content"].get("text", "")
        wrong += [
            f"{request['method']} {request['url'][:500]} of {caller}, {str(request.get('postData'))[:500]}: {fault}"
            for fault in (*faults_over_http(answer["status"], media, text, listed), *_named(caller, text))
        ]
    return Found(len(entries), wrong)
