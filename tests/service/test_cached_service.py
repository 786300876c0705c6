"""The service without an index: Cypher behind both caches, with a real Neo4j and a real Redis."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cuihop import SnapshotGraph
from cuihop.cli.application import application
from cuihop.errors import InputError
from cuihop_server import RunningService, running_service
from cuihop_service.cache import CachedGraph
from cuihop_service.graph_holder import ServedGraph
from cuihop_service.warm_command import concepts_of_file
from cuihop_tools.neo4j_server import LocalServer
from example_graph import ISOLATED, asserted_graph, example_graph
from neo4j_server import stored_graph
from redis_server import PATIENT, RedisServer
from service_askers import GrpcAsker, HttpAsker

PAIR = ("C0006121", "C0018670")


def cached_service(server: LocalServer, graph: SnapshotGraph, redis: RedisServer | None) -> ServedGraph:
    from cuihop_service.cache.redis_cache import RedisCache

    stored = stored_graph(server, graph, switch=True)
    shared = None if redis is None else RedisCache(redis.address, timeout=PATIENT)
    return ServedGraph(stored.release, database=stored, cached=CachedGraph(stored, shared=shared))


@pytest.fixture
def service(neo4j_server: LocalServer, redis_server: RedisServer) -> Iterator[RunningService]:
    with redis_server.client() as client:
        client.flushall()
    with running_service(cached_service(neo4j_server, example_graph(), redis_server)) as running:
        yield running


def test_each_answer_names_its_tier(service: RunningService) -> None:
    for asker in (HttpAsker(service), GrpcAsker(service)):
        pair = ("C0042449", "C0005847") if isinstance(asker, GrpcAsker) else PAIR
        assert [asker.distance(*pair)["tier"] for _ in range(2)] == ["cypher", "cache"]
        assert asker.distance(pair[1], pair[0])["tier"] == "cache"  # the other way round is the same entry
        assert asker.path(*pair)["tier"] == "cypher"
        asker.close()


def test_a_restriction_to_vocabularies_is_cached_apart(neo4j_server: LocalServer, redis_server: RedisServer) -> None:
    with running_service(cached_service(neo4j_server, asserted_graph(), redis_server)) as running:
        asker = HttpAsker(running)
        for tier in ("cypher", "cache"):
            whole = asker.get("/v1/distance", a="C0000001", b="C0000003")
            within = asker.get("/v1/distance", a="C0000001", b="C0000003", within_sabs="NCI")
            assert (whole["hops"], whole["tier"], within["hops"], within["tier"]) == (2, tier, None, tier)
            assert within["release"] == asserted_graph().within(["NCI"]).release.digest != whole["release"]
        asker.close()


def test_a_batch_says_how_much_of_it_was_known(service: RunningService) -> None:
    asker = HttpAsker(service)
    asker.distance(*PAIR)
    answer = asker.post("/v1/distances", {"pairs": [PAIR, ("C0042449", "C0005847")]})
    assert (answer["hops"], answer["tier"], answer["from_cache"]) == ([3, 1], "cypher", 1)
    answer = asker.post("/v1/distances", {"pairs": [PAIR, ("C0042449", "C0005847")]})
    assert (answer["tier"], answer["from_cache"]) == ("cache", 2)
    asker.close()


def test_beyond_the_bound_is_an_answer_that_is_kept(service: RunningService) -> None:
    asker = GrpcAsker(service)
    assert asker.distance(*PAIR, max_hops=2)["tier"] == "cypher"
    answer = asker.distance(*PAIR, max_hops=1)
    assert (answer["hops"], answer["tier"]) == (None, "cache")
    assert asker.distance(*PAIR)["hops"] == 3
    assert asker.distance(*PAIR, max_hops=3) == {**asker.distance(*PAIR), "tier": "cache", "hops": 3}
    asker.close()


def test_replicas_share_what_one_of_them_has_computed(
    service: RunningService, neo4j_server: LocalServer, redis_server: RedisServer
) -> None:
    asker = HttpAsker(service)
    assert asker.distance(*PAIR)["tier"] == "cypher"
    with running_service(cached_service(neo4j_server, example_graph(), redis_server)) as replica:
        other = HttpAsker(replica)
        assert other.distance(*PAIR)["tier"] == "cache"
        other.close()
    asker.close()


def test_another_release_never_gets_old_answers(
    service: RunningService, neo4j_server: LocalServer, redis_server: RedisServer
) -> None:
    asker = HttpAsker(service)
    assert asker.distance(*PAIR)["hops"] == 3
    shorter = SnapshotGraph.of([PAIR], name="shorter", identifiers="cui")
    service.holder.serve(cached_service(neo4j_server, shorter, redis_server))
    answer = asker.distance(*PAIR)
    assert (answer["hops"], answer["tier"], answer["release"]) == (1, "cypher", shorter.release.digest)
    asker.close()


def test_warm_fills_what_replicas_share(
    service: RunningService, redis_server: RedisServer, neo4j_server: LocalServer, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("NEO4J_PASSWORD_FILE", str(neo4j_server.home / "password"))
    monkeypatch.setenv("CUIHOP_REDIS", redis_server.address)
    concepts = tmp_path / "concepts.txt"
    concepts.write_text(f"C0006121\nC0018670\n\n{ISOLATED}\nC0006121\n")
    done = CliRunner().invoke(application(), ["service", "warm", str(concepts), "--graph", neo4j_server.address])
    assert done.exit_code == 0, done.output
    assert "3 concepts, 3 pairs, 0 of them known before" in done.output
    asker = GrpcAsker(service)
    assert asker.distance(*PAIR)["tier"] == "cache"
    assert asker.distance("C0018670", ISOLATED) == {**asker.distance("C0018670", ISOLATED), "hops": None}
    asker.close()


def test_files_of_concepts(tmp_path: Path) -> None:
    images = tmp_path / "images.csv"
    images.write_text("ID,CUIs\na,C2;C1\nb,C1\n".replace("C1", "C0000001").replace("C2", "C0000002"))
    assert concepts_of_file(images) == ["C0000001", "C0000002"]
    empty = tmp_path / "empty.txt"
    empty.write_text("\n \n")
    with pytest.raises(InputError, match="the file is empty"):
        concepts_of_file(empty)


def test_a_graph_that_cannot_be_warmed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUIHOP_REDIS", raising=False)
    concepts = tmp_path / "concepts.txt"
    concepts.write_text("C0006121\n")
    for graph, complaint in (("g.cuihop", "a snapshot needs no cache"), ("bolt://localhost", "no cache to fill")):
        done = CliRunner().invoke(application(), ["service", "warm", str(concepts), "--graph", graph])
        assert isinstance(done.exception, InputError)
        assert complaint in str(done.exception)
