"""Callers of the replicas of docker-compose.yml, and the releases that they compare answers with.

`replica_load.py write FOLDER` writes the releases as snapshots. `replica_load.py ask KEY NUMBER...` asks again and
again, by HTTP and gRPC, until it gets SIGTERM. The numbers are those of the releases that are active meanwhile, in
their order. Then it prints what was counted, and ends with 1 where a request failed, where an answer was not that of
the release which it names, or where a caller got an older release after a newer one or did not get the last one.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # the helpers of the tests

from replica_callers import GrpcCaller, HttpCaller, LibraryCaller, load_by, release_digests, releases

_HTTP, _GRPC = 8080, 50051
_PAUSE = 0.1  # seconds before each request of a caller, of which there are seven: the tests need the cores meanwhile


def ask(key: str, order: list[str]) -> int:
    makers: dict[str, list[Callable[[], Any]]] = {
        "HTTP": [lambda: HttpCaller(_HTTP, key)] * 3,
        "gRPC": [lambda: GrpcCaller(_GRPC, key)] * 2,
        "library, HTTP": [lambda: LibraryCaller(f"http://127.0.0.1:{_HTTP}", key)],
        "library, gRPC": [lambda: LibraryCaller(f"grpc://127.0.0.1:{_GRPC}", key)],
    }
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # before the threads: it is for sigwait
    with load_by(makers, pause=_PAUSE) as load:
        signal.sigwait({signal.SIGTERM})
    behind = [caller for caller, digests in load.digests.items() if not digests or digests[-1] != order[-1]]
    older = load.out_of_order(order)
    slowest = max((max(seconds, default=0.0) for seconds in load.seconds.values()), default=0.0)
    print(
        f"{load.requests:,} requests, {load.failures.total()} failed, {len(load.wrong)} wrong answers, {len(older)} "
        f"callers with an older release after a newer one; the slowest took {slowest:.1f} s"
    )
    for problem in [*load.failures.items(), *load.wrong[:5], *older, *(f"{caller} is behind" for caller in behind)]:
        print(problem)
    return int(bool(load.failures or load.wrong or older or behind or not load.requests))


if __name__ == "__main__":
    if sys.argv[1] == "write":
        for number, graph in enumerate(releases()):
            graph.save(Path(sys.argv[2]) / f"release{number}.cuihop")
    else:
        sys.exit(ask(sys.argv[2], [release_digests()[int(number)] for number in sys.argv[3:]]))
