"""Two replicas behind HAProxy and nginx: the same store, the same keys, one Redis for rates."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from guarded_service import new_key_in
from redis_server import new_redis
from replica_callers import Department, Replica, activate, releases, running_cluster


@pytest.fixture(scope="package")
def department(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Department]:
    folder = tmp_path_factory.mktemp("replicas")
    store, keys = folder / "graph.cuihop", folder / "keys.json"
    activate(releases()[0], store)
    key = new_key_in(keys, "evaluation", "read")
    with new_redis(tmp_path_factory) as redis:
        guarded = ("--keys-file", str(keys), "--proxies", "127.0.0.1", "--rate-pairs", "100000000")
        shared = (*guarded, "--drain-delay", "3", "--log-requests")
        environment = {"CUIHOP_REDIS": redis.address}
        replicas = [
            Replica(store, folder / f"replica{number}", (*shared, "--watch-seconds", seconds), environment)
            for number, seconds in ((1, "0.1"), (2, "60"))
        ]
        with running_cluster(replicas, folder) as cluster:
            yield Department(cluster, store, keys, key, redis)
