"""The servers of the service with nothing behind them: what the libraries allow.

::

    python benchmarks/service_nothing.py HTTP_PORT GRPC_PORT
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

import grpc.aio
import uvicorn
import uvloop

from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_api.v1 import concept_graph_pb2_grpc as pb_grpc

SINGLE = b'{"hops":3}'.ljust(178)
BATCH = b'{"hops":[' + b",".join([b"2"] * 1_000) + b"]}"


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Reads what came, and answers with so many bytes as the service would."""
    if scope["type"] != "http":
        return
    body = SINGLE
    if scope["method"] == "POST":
        body = BATCH
        while (await receive())["more_body"]:
            pass
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Nothing(pb_grpc.ConceptGraphServiceServicer):
    """Answers that were made before."""

    single = pb.DistanceResponse(hops=3, provenance=pb.Provenance(release_digest="0" * 64))
    batch = pb.DistancesResponse(hops=[2] * 1_000, provenance=pb.Provenance(release_digest="0" * 64))

    async def Distance(self, request: pb.DistanceRequest, context: object) -> pb.DistanceResponse:  # noqa: N802
        """One distance."""
        return self.single

    async def Distances(self, request: pb.DistancesRequest, context: object) -> pb.DistancesResponse:  # noqa: N802
        """A thousand of them."""
        return self.batch


class Server(uvicorn.Server):
    """Without signal handlers of its own: the process ends by them."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield


async def main(http_port: int, grpc_port: int) -> None:
    """Answer over both, in one event loop as a worker of the service does."""
    server = grpc.aio.server()
    pb_grpc.add_ConceptGraphServiceServicer_to_server(  # type: ignore[no-untyped-call,unused-ignore]
        Nothing(),  # type: ignore[abstract]
        server,
    )
    server.add_insecure_port(f"127.0.0.1:{grpc_port}")
    await server.start()
    config = uvicorn.Config(
        application, port=http_port, http="httptools", ws="none", lifespan="off", log_config=None, access_log=False,
        server_header=False, proxy_headers=False,
    )  # fmt: skip
    await Server(config).serve()


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]), int(sys.argv[2])))
