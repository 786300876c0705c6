"""One way to ask for each way in: the core itself, gRPC over a socket, HTTP over a socket. All answer alike."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import grpc
import urllib3
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from cuihop.errors import ConceptError, CuihopError, InputError, RateLimited
from cuihop.remote.statuses import status_of
from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_api.v1 import concept_graph_pb2_grpc as pb_grpc
from cuihop_server import RunningService
from cuihop_service.request_context import RequestContext

TIERS = {pb.TIER_CACHE: "cache", pb.TIER_INDEX: "index", pb.TIER_CYPHER: "cypher"}
DIRECTIONS = {
    "any": pb.DIRECTION_ANY,
    "up": pb.DIRECTION_UP,
    "down": pb.DIRECTION_DOWN,
    "vertical": pb.DIRECTION_VERTICAL,
}
UNKNOWN = {
    "error": pb.UNKNOWN_CONCEPTS_ERROR, "isolated": pb.UNKNOWN_CONCEPTS_ISOLATED, "drop": pb.UNKNOWN_CONCEPTS_DROP
}  # fmt: skip
WEIGHTS = {
    "constant": pb.NEAR_WEIGHT_CONSTANT, "hops": pb.NEAR_WEIGHT_HOPS, "Lin": pb.NEAR_WEIGHT_LIN,
    "Wu-Palmer": pb.NEAR_WEIGHT_WU_PALMER,
}  # fmt: skip
CONTENTS = {"Sanchez": pb.INFORMATION_CONTENT_SANCHEZ, "Seco": pb.INFORMATION_CONTENT_SECO}
STATUSES = {
    pb.RESOLUTION_STATUS_CURRENT: "current",
    pb.RESOLUTION_STATUS_MERGED: "merged",
    pb.RESOLUTION_STATUS_RETIRED: "retired",
    pb.RESOLUTION_STATUS_UNKNOWN: "unknown",
    pb.RESOLUTION_STATUS_INVALID: "invalid",
}


class Refused(Exception):
    """The service answered with an error."""

    def __init__(self, reason: str, status: str, message: str, details: Mapping[str, Any]) -> None:
        super().__init__(f"{reason}: {message}")
        self.reason = reason
        self.status = status
        self.message = message
        self.details = dict(details)


class Asker(ABC):
    """Every operation, with answers as dictionaries that do not depend on the way in."""

    @abstractmethod
    def distance(self, a: str, b: str, direction: str = "any", max_hops: int | None = None) -> dict[str, Any]: ...

    @abstractmethod
    def distances(
        self, pairs: Sequence[tuple[str, str]], direction: str = "any", max_hops: int | None = None
    ) -> dict[str, Any]: ...

    @abstractmethod
    def path(
        self, a: str, b: str, direction: str = "any", max_hops: int | None = None, which: int | None = None
    ) -> dict[str, Any]: ...

    @abstractmethod
    def paths(self, a: str, b: str, direction: str = "any", limit: int | None = None) -> dict[str, Any]: ...

    @abstractmethod
    def neighbourhoods(
        self, cuis: Sequence[str], hops: int | None = 1, direction: str = "any", limit: int | None = None
    ) -> dict[str, Any]: ...

    @abstractmethod
    def relevance(self, a: Sequence[str], b: Sequence[str], **rule: Any) -> dict[str, Any]: ...

    @abstractmethod
    def relevances(self, query: Sequence[str], corpus: Sequence[Sequence[str]], **rule: Any) -> dict[str, Any]: ...

    @abstractmethod
    def search(self, text: str, limit: int = 3) -> dict[str, Any]: ...

    @abstractmethod
    def concepts(self, cuis: Sequence[str], names_only: bool = False) -> dict[str, Any]: ...

    @abstractmethod
    def resolve(self, cuis: Sequence[str]) -> dict[str, Any]: ...

    @abstractmethod
    def pack(self, cuis: Sequence[str], hops: int, direction: str = "any") -> dict[str, Any]: ...

    @abstractmethod
    def close(self) -> None:
        """Give connections back."""


class CoreAsker(Asker):
    """No transport at all."""

    def __init__(self, service: RunningService) -> None:
        self._core = service.core

    def close(self) -> None:
        pass

    def _fields(self, make: Any, fields: Any) -> dict[str, Any]:
        try:
            answer = make(RequestContext())
        except CuihopError as error:
            status = status_of(error)
            details: dict[str, Any] = {}
            if isinstance(error, ConceptError):
                details["cuis"] = list(error.cuis)
            if isinstance(error, InputError):
                details["field"] = error.column
            if isinstance(error, RateLimited):
                details["retry_after"] = error.retry_after
            raise Refused(status.reason, status.grpc, str(error), details) from None
        return {**fields(answer.value), "merged": dict(answer.merged), "release": answer.digest, "tier": answer.tier}

    def distance(self, a: str, b: str, direction: str = "any", max_hops: int | None = None) -> dict[str, Any]:
        return self._fields(
            lambda context: self._core.distance(a, b, direction=direction, max_hops=max_hops, context=context),
            lambda hops: {"hops": hops},
        )

    def distances(
        self, pairs: Sequence[tuple[str, str]], direction: str = "any", max_hops: int | None = None
    ) -> dict[str, Any]:
        return self._fields(
            lambda context: self._core.distances(pairs, direction=direction, max_hops=max_hops, context=context),
            lambda found: {"hops": found.to_list()},
        )

    def path(
        self, a: str, b: str, direction: str = "any", max_hops: int | None = None, which: int | None = None
    ) -> dict[str, Any]:
        def fields(found: Any) -> dict[str, Any]:
            path, names = found
            if path is None:
                return {"path": None, "total": 0, "which": None}
            relations = [None, *(step.relation for step in path.steps)]
            concepts = list(zip(path.cuis, names, relations, strict=True))
            return {"path": concepts, "total": path.total, "which": path.which}

        rank = 1 if which is None else which
        return self._fields(
            lambda context: self._core.path(a, b, direction=direction, max_hops=max_hops, which=rank, context=context),
            fields,
        )

    def paths(self, a: str, b: str, direction: str = "any", limit: int | None = None) -> dict[str, Any]:
        def fields(found: Any) -> dict[str, Any]:
            if found is None:
                return {"hops": None, "total": 0, "concepts": [], "edges": [], "truncated": False}
            concepts = [(each.cui, each.hops) for each in found.concepts]
            edges = [(each.child, each.parent, list(each.sabs)) for each in found.edges]
            return {"hops": found.hops, "total": found.total, "concepts": concepts, "edges": edges,
                    "truncated": found.truncated}  # fmt: skip

        return self._fields(
            lambda context: self._core.paths(a, b, direction=direction, limit=limit, context=context), fields
        )

    def neighbourhoods(
        self, cuis: Sequence[str], hops: int | None = 1, direction: str = "any", limit: int | None = None
    ) -> dict[str, Any]:
        return self._fields(
            lambda context: self._core.neighbourhoods(
                cuis, hops=hops, direction=direction, limit=limit, context=context
            ),
            lambda found: {"around": [(f.cui, [(n.cui, n.hops) for n in f], f.total) for f in found]},
        )

    def relevance(self, a: Sequence[str], b: Sequence[str], **rule: Any) -> dict[str, Any]:
        return self._fields(
            lambda context: self._core.relevance(a, b, context=context, **rule),
            lambda o: {
                "iou": o.iou,
                "nn_iou": o.nn_iou,
                "shared": sorted(o.shared),
                "related": [(r.cui, r.side, [(w.cui, w.hops) for w in r.witnesses]) for r in o.related],
                "union": len(o.A | o.B),
                "isolated": sorted(o.resolved.isolated),
                "dropped": sorted(o.resolved.dropped),
            },
        )

    def relevances(self, query: Sequence[str], corpus: Sequence[Sequence[str]], **rule: Any) -> dict[str, Any]:
        return self._fields(
            lambda context: self._core.relevances(query, corpus, context=context, **rule),
            lambda row: {name: list(getattr(row, name)) for name in ("iou", "nn_iou", "isolated", "dropped")},
        )

    def search(self, text: str, limit: int = 3) -> dict[str, Any]:
        return self._fields(
            lambda context: self._core.search(text, limit=limit, context=context),
            lambda hits: {"hits": [(h.cui, h.name, h.matched, h.kind) for h in hits]},
        )

    def concepts(self, cuis: Sequence[str], names_only: bool = False) -> dict[str, Any]:
        return self._fields(
            lambda context: self._core.concepts(cuis, names_only=names_only, context=context),
            lambda records: {
                "concepts": [(c.cui, c.name, list(c.synonyms), c.parents, c.children) for c in records.concepts]
            },
        )

    def resolve(self, cuis: Sequence[str]) -> dict[str, Any]:
        return self._fields(
            lambda context: self._core.resolutions(cuis, context=context),
            lambda found: {"resolutions": [(r.requested, r.status, r.cui, list(r.candidates)) for r in found]},
        )

    def pack(self, cuis: Sequence[str], hops: int, direction: str = "any") -> dict[str, Any]:
        return self._fields(
            lambda context: self._core.pack(cuis, hops=hops, direction=direction, context=context),
            lambda p: {"cuis": list(p.cuis), "lengths": (p.indptr[1:] - p.indptr[:-1]).tolist(),
                       "columns": p.indices.tolist(), "hops": p.hops.tolist()},
        )  # fmt: skip


class GrpcAsker(Asker):
    """Raw stubs over a socket."""

    def __init__(self, service: RunningService) -> None:
        self._channel = grpc.insecure_channel(f"127.0.0.1:{service.grpc_port}")
        self.stub: Any = pb_grpc.ConceptGraphServiceStub(self._channel)

    def close(self) -> None:
        self._channel.close()

    def _call(self, name: str, request: Any) -> Any:
        try:
            answer = getattr(self.stub, name)(request, timeout=300)
            return list(answer) if name == "GetDistancePack" else answer
        except grpc.RpcError as error:
            raise refusal(error) from None

    @staticmethod
    def _fields(answer: Any, fields: dict[str, Any]) -> dict[str, Any]:
        provenance = answer.provenance
        merged = dict(getattr(answer, "merged", {}))
        return {**fields, "merged": merged, "release": provenance.release_digest, "tier": TIERS[provenance.tier]}

    @staticmethod
    def _bounds(direction: str, max_hops: int | None) -> pb.SearchBounds:
        return pb.SearchBounds(direction=DIRECTIONS[direction], max_hops=max_hops)

    @staticmethod
    def _rule(
        n: int | None = None,
        lam: float | None = None,
        direction: str = "any",
        unknown: str = "error",
        weight: str = "constant",
        ic: str = "Sanchez",
    ) -> Any:
        given: dict[str, Any] = {"lambda": lam, "weight": WEIGHTS[weight], "ic": CONTENTS[ic]}
        return pb.RelevanceRule(n=n, direction=DIRECTIONS[direction], unknown=UNKNOWN[unknown], **given)

    def distance(self, a: str, b: str, direction: str = "any", max_hops: int | None = None) -> dict[str, Any]:
        answer = self._call("Distance", pb.DistanceRequest(a=a, b=b, bounds=self._bounds(direction, max_hops)))
        return self._fields(answer, {"hops": answer.hops if answer.HasField("hops") else None})

    def distances(
        self, pairs: Sequence[tuple[str, str]], direction: str = "any", max_hops: int | None = None
    ) -> dict[str, Any]:
        requested = [pb.ConceptPair(a=a, b=b) for a, b in pairs]
        answer = self._call("Distances", pb.DistancesRequest(pairs=requested, bounds=self._bounds(direction, max_hops)))
        hops: list[int | None] = list(answer.hops)
        for place in answer.unreached:
            hops[place] = None
        return self._fields(answer, {"hops": hops})

    def path(
        self, a: str, b: str, direction: str = "any", max_hops: int | None = None, which: int | None = None
    ) -> dict[str, Any]:
        answer = self._call("Path", pb.PathRequest(a=a, b=b, bounds=self._bounds(direction, max_hops), which=which))
        if not answer.HasField("path"):
            return self._fields(answer, {"path": None, "total": 0, "which": None})
        relations = {pb.RELATION_PARENT: "parent", pb.RELATION_CHILD: "child"}
        path = answer.path
        concepts: list[Any] = [(path.start, path.start_name if path.HasField("start_name") else None, None)]
        concepts += [(s.cui, s.name if s.HasField("name") else None, relations[s.relation]) for s in path.steps]
        return self._fields(answer, {"path": concepts, "total": path.total, "which": path.which})

    def paths(self, a: str, b: str, direction: str = "any", limit: int | None = None) -> dict[str, Any]:
        answer = self._call("Paths", pb.PathsRequest(a=a, b=b, bounds=self._bounds(direction, None), limit=limit))
        return self._fields(
            answer,
            {
                "hops": answer.hops if answer.HasField("hops") else None,
                "total": answer.total,
                "concepts": [(each.cui, each.hops) for each in answer.concepts],
                "edges": [(each.child, each.parent, list(each.sabs)) for each in answer.edges],
                "truncated": answer.truncated,
            },
        )

    def neighbourhoods(
        self, cuis: Sequence[str], hops: int | None = 1, direction: str = "any", limit: int | None = None
    ) -> dict[str, Any]:
        request = pb.NeighbourhoodRequest(cuis=cuis, hops=hops, direction=DIRECTIONS[direction], limit=limit)
        answer = self._call("Neighbourhood", request)
        return self._fields(
            answer,
            {"around": [(f.cui, list(zip(f.neighbours, f.hops, strict=True)), f.total) for f in answer.neighbourhoods]},
        )

    def relevance(self, a: Sequence[str], b: Sequence[str], **rule: Any) -> dict[str, Any]:
        request = pb.SetRelevanceRequest(a=pb.ConceptSet(cuis=a), b=pb.ConceptSet(cuis=b), rule=self._rule(**rule))
        answer = self._call("SetRelevance", request)
        sides = {pb.RelatedConcept.SIDE_A: "A", pb.RelatedConcept.SIDE_B: "B"}
        return self._fields(
            answer,
            {
                "iou": answer.iou,
                "nn_iou": answer.nn_iou,
                "shared": list(answer.shared),
                "related": [
                    (r.cui, sides[r.side], list(zip(r.witnesses, r.hops, strict=True))) for r in answer.related
                ],
                "union": answer.union,
                "isolated": list(answer.isolated),
                "dropped": list(answer.dropped),
            },
        )

    def relevances(self, query: Sequence[str], corpus: Sequence[Sequence[str]], **rule: Any) -> dict[str, Any]:
        request = pb.RelevancesRequest(
            query=pb.ConceptSet(cuis=query),
            corpus=[pb.ConceptSet(cuis=concepts) for concepts in corpus],
            rule=self._rule(**rule),
        )
        answer = self._call("Relevances", request)
        return self._fields(
            answer,
            {
                "iou": list(answer.iou),
                "nn_iou": list(answer.nn_iou),
                "isolated": list(answer.isolated),
                "dropped": list(answer.dropped),
            },
        )

    def search(self, text: str, limit: int = 3) -> dict[str, Any]:
        answer = self._call("Search", pb.SearchRequest(text=text, limit=limit))
        return self._fields(
            answer,
            {"hits": [(h.cui, h.name if h.HasField("name") else None, h.matched, _kind(h)) for h in answer.hits]},
        )

    def concepts(self, cuis: Sequence[str], names_only: bool = False) -> dict[str, Any]:
        answer = self._call("GetConcept", pb.GetConceptRequest(cuis=cuis, names_only=names_only))
        return self._fields(
            answer,
            {
                "concepts": [
                    (c.cui, c.name if c.HasField("name") else None, list(c.synonyms), c.parents, c.children)
                    for c in answer.concepts
                ]
            },
        )

    def resolve(self, cuis: Sequence[str]) -> dict[str, Any]:
        answer = self._call("Resolve", pb.ResolveRequest(cuis=cuis))
        found = [
            (
                r.requested,
                STATUSES[r.status],
                r.cui if r.HasField("cui") else None,
                [(c.relation, c.cui) for c in r.candidates],
            )
            for r in answer.resolutions
        ]
        answer = self._fields(answer, {"resolutions": found})
        answer["merged"] = {requested: cui for requested, status, cui, _ in found if status == "merged"}
        return answer

    def pack(self, cuis: Sequence[str], hops: int, direction: str = "any") -> dict[str, Any]:
        request = pb.GetDistancePackRequest(cuis=cuis, hops=hops, direction=DIRECTIONS[direction])
        parts = self._call("GetDistancePack", request)
        first = parts[0]
        answer = self._fields(
            first,
            {
                "cuis": list(first.cuis),
                "lengths": [length for part in parts for length in part.row_lengths],
                "columns": [column for part in parts for column in part.columns],
                "hops": [h for part in parts for h in part.hops],
            },
        )
        answer["merged"] = {a: b for a, b in zip(cuis, first.cuis, strict=True) if a != b}
        return answer


def refusal(error: grpc.RpcError) -> Refused:
    """Content of a status and its details."""
    call: Any = error
    reason, details = "", {}
    status = rpc_status.from_call(call)
    for box in () if status is None else status.details:
        info, fault, retry, field = (
            error_details_pb2.ErrorInfo(),
            pb.ConceptFault(),
            error_details_pb2.RetryInfo(),
            error_details_pb2.BadRequest(),
        )
        if box.Unpack(info):
            reason = info.reason
        elif box.Unpack(fault):
            details["cuis"] = [f.cui for f in fault.faults]
        elif box.Unpack(retry):
            details["retry_after"] = retry.retry_delay.ToNanoseconds() / 1e9
        elif box.Unpack(field):
            details["field"] = field.field_violations[0].field
    return Refused(reason, call.code().name, call.details(), details)


class HttpAsker(Asker):
    """JSON over a socket."""

    def __init__(self, service: RunningService) -> None:
        self._pool = urllib3.PoolManager(retries=False, timeout=300)
        self._base = service.http

    def close(self) -> None:
        self._pool.clear()

    def get(self, path: str, **parameters: Any) -> dict[str, Any]:
        given = {name: value for name, value in parameters.items() if value is not None}
        return self._read(self._pool.request("GET", f"{self._base}{path}?{urlencode(given, doseq=True)}"))

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        headers = {"Content-Type": "application/json"}
        return self._read(
            self._pool.request("POST", self._base + path, body=json.dumps(body).encode(), headers=headers)
        )

    @staticmethod
    def _read(response: urllib3.BaseHTTPResponse) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(response.data)
        if response.status != 200:
            assert response.headers["content-type"] == "application/problem+json"
            assert answer["status"] == response.status
            details: dict[str, Any] = {}
            if "faults" in answer:
                details["cuis"] = [fault["cui"] for fault in answer["faults"]]
            if "field" in answer:
                details["field"] = answer["field"]
            if "retry_after" in answer:
                details["retry_after"] = answer["retry_after"]
            raise Refused(answer["reason"], str(response.status), answer["detail"], details)
        return answer

    @staticmethod
    def _only(answer: dict[str, Any], **fields: Any) -> dict[str, Any]:
        return {**fields, **{name: answer[name] for name in ("merged", "release", "tier")}}

    def distance(self, a: str, b: str, direction: str = "any", max_hops: int | None = None) -> dict[str, Any]:
        answer = self.get("/v1/distance", a=a, b=b, direction=direction, max_hops=max_hops)
        return self._only(answer, hops=answer["hops"])

    def distances(
        self, pairs: Sequence[tuple[str, str]], direction: str = "any", max_hops: int | None = None
    ) -> dict[str, Any]:
        answer = self.post("/v1/distances", {"pairs": list(pairs), "direction": direction, "max_hops": max_hops})
        return self._only(answer, hops=answer["hops"])

    def path(
        self, a: str, b: str, direction: str = "any", max_hops: int | None = None, which: int | None = None
    ) -> dict[str, Any]:
        answer = self.get("/v1/path", a=a, b=b, direction=direction, max_hops=max_hops, which=which)
        path = answer["path"]
        concepts = None if path is None else [(c["cui"], c["name"], c.get("relation")) for c in path]
        return self._only(answer, path=concepts, total=answer["total"], which=answer["which"])

    def paths(self, a: str, b: str, direction: str = "any", limit: int | None = None) -> dict[str, Any]:
        answer = self.get("/v1/paths", a=a, b=b, direction=direction, limit=limit)
        concepts = [(each["cui"], each["hops"]) for each in answer["concepts"]]
        edges = [(each["child"], each["parent"], each["sabs"]) for each in answer["edges"]]
        fields = {name: answer[name] for name in ("hops", "total", "truncated")}
        return self._only(answer, concepts=concepts, edges=edges, **fields)

    def neighbourhoods(
        self, cuis: Sequence[str], hops: int | None = 1, direction: str = "any", limit: int | None = None
    ) -> dict[str, Any]:
        body = {"cuis": list(cuis), "hops": hops, "direction": direction, "limit": limit}
        answer = self.post("/v1/neighbourhoods", body)
        around = [
            (f["cui"], [(n["cui"], n["hops"]) for n in f["neighbours"]], f["total"]) for f in answer["neighbourhoods"]
        ]
        return self._only(answer, around=around)

    @staticmethod
    def _rule(rule: dict[str, Any]) -> dict[str, Any]:
        return {"lambda" if name == "lam" else name: value for name, value in rule.items()}

    def relevance(self, a: Sequence[str], b: Sequence[str], **rule: Any) -> dict[str, Any]:
        answer = self.post("/v1/relevance", {"a": list(a), "b": list(b), **self._rule(rule)})
        related = [(r["cui"], r["side"], [(w["cui"], w["hops"]) for w in r["witnesses"]]) for r in answer["related"]]
        fields = {name: answer[name] for name in ("iou", "nn_iou", "shared", "union", "isolated", "dropped")}
        return self._only(answer, related=related, **fields)

    def relevances(self, query: Sequence[str], corpus: Sequence[Sequence[str]], **rule: Any) -> dict[str, Any]:
        body = {"query": list(query), "corpus": [list(concepts) for concepts in corpus], **self._rule(rule)}
        answer = self.post("/v1/relevances", body)
        return self._only(answer, **{name: answer[name] for name in ("iou", "nn_iou", "isolated", "dropped")})

    def search(self, text: str, limit: int = 3) -> dict[str, Any]:
        answer = self.get("/v1/search", text=text, limit=limit)
        return self._only(answer, hits=[(h["cui"], h["name"], h["matched"], h["kind"]) for h in answer["hits"]])

    def concepts(self, cuis: Sequence[str], names_only: bool = False) -> dict[str, Any]:
        answer = self.post("/v1/concepts", {"cuis": list(cuis), "names_only": names_only})
        rows = [(c["cui"], c["name"], c["synonyms"], c["parents"], c["children"]) for c in answer["concepts"]]
        return self._only(answer, concepts=rows)

    def resolve(self, cuis: Sequence[str]) -> dict[str, Any]:
        answer = self.post("/v1/resolutions", {"cuis": list(cuis)})
        rows = [
            (r["requested"], r["status"], r["cui"], [(c["relation"], c["cui"]) for c in r["candidates"]])
            for r in answer["resolutions"]
        ]
        return self._only(answer, resolutions=rows)

    def pack(self, cuis: Sequence[str], hops: int, direction: str = "any") -> dict[str, Any]:
        answer = self.post("/v1/pack", {"cuis": list(cuis), "hops": hops, "direction": direction})
        lengths = [b - a for a, b in zip(answer["indptr"][:-1], answer["indptr"][1:], strict=True)]
        return self._only(answer, cuis=answer["cuis"], lengths=lengths, columns=answer["indices"], hops=answer["hops"])


ASKERS: dict[str, type[Asker]] = {"core": CoreAsker, "grpc": GrpcAsker, "http": HttpAsker}


def _kind(hit: pb.SearchHit) -> str:
    """The kind of a hit, as over HTTP."""
    return pb.MatchKind.Name(hit.kind).removeprefix("MATCH_KIND_").lower()
