"""``neo4j://``: a real server with routing on, and relays in front of it as the members of a cluster."""

from __future__ import annotations

import base64
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bolt_cluster import BoltCluster, Member, bolt_cluster
from cuihop import SnapshotGraph
from cuihop.cli.application import application
from cuihop.errors import GraphUnavailable, InputError, QueryTimedOut, ReleaseMismatch
from cuihop.neo4j_graph import routing
from cuihop.neo4j_graph.connection import Neo4jConnection
from cuihop.neo4j_graph.curator_query import curator_query
from cuihop.neo4j_graph.graph import Neo4jGraph
from cuihop.neo4j_graph.projection import snapshot_sections
from cuihop.neo4j_graph.releases import remove, stored_releases, switch_to
from cuihop.snapshot.file import Sections
from cuihop_loader.neo4j_online import load_online
from cuihop_service.graph_holder import GraphHolder
from cuihop_service.release_watch import ReleaseWatch
from cuihop_service.stores import Neo4jStore
from cuihop_tools.neo4j_server import LocalServer
from example_graph import example_graph
from neo4j_server import connected
from waiting import wait_for

ONE = "RETURN 1 AS one"
SLOW = "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b RETURN max(a * b) AS s"


@pytest.fixture
def cluster(neo4j_server: LocalServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[BoltCluster]:
    monkeypatch.setattr(routing, "_bookmarks", {})
    monkeypatch.setenv("NEO4J_PASSWORD", neo4j_server.password)
    with bolt_cluster(neo4j_server.address) as members:
        yield members


Connect = Callable[..., Neo4jConnection]


@pytest.fixture
def connect_to(neo4j_server: LocalServer, cluster: BoltCluster) -> Iterator[Connect]:
    opened = []

    def connect_to(**settings: object) -> Neo4jConnection:
        opened.append(connected(neo4j_server, **{"address": cluster.address, **settings}))
        return opened[-1]

    yield connect_to
    for connection in opened:
        connection.close()


def one(connection: Neo4jConnection) -> int:
    found: int = connection.read(lambda tx: tx.run(ONE).single(strict=True))["one"]
    return found


def write_one(connection: Neo4jConnection) -> None:
    connection.write(lambda tx: tx.run("MERGE (n:Written)").consume())


def leader_of(cluster: BoltCluster) -> Member:
    assert cluster.leader is not None
    return cluster.leader


def digest_of(sections: Sections) -> str:
    return str(sections.meta["release"]["digest"])


def small_graph(name: str, leaves: int = 60) -> SnapshotGraph:
    return SnapshotGraph.of([("C0000001", f"C{i:07d}") for i in range(2, leaves + 2)], name=name)


def test_the_server_itself_routes_and_refuses_to_write_where_a_transaction_reads(neo4j_server: LocalServer) -> None:
    with connected(neo4j_server, address=neo4j_server.address.replace("bolt", "neo4j")) as connection:
        assert connection.read(connection.member) == neo4j_server.address
        with pytest.raises(InputError, match="Writing in read access mode not allowed"):
            connection.read(lambda tx: tx.run("CREATE (n:Written)").consume())
        write_one(connection)
        assert connection.read(lambda tx: tx.run("MATCH (n:Written) RETURN count(n)").value()) == [1]
        connection.run_alone("MATCH (n:Written) DELETE n")


def test_reads_are_for_followers_and_writes_for_the_leader(cluster: BoltCluster, connect_to: Connect) -> None:
    connection = connect_to()
    old = load_online(example_graph().sections, connection)
    load_online(small_graph("other").sections, connection)
    graph = Neo4jGraph(connection, release=old.number)
    assert graph.distance("C0006121", "C0018670") == 3
    assert digest_of(snapshot_sections(connection, old.number)) == graph.release.digest
    assert curator_query(connection, "MATCH (c:Concept) RETURN count(c) AS n").rows == ((61,),)
    remove(connection, old.number)
    assert old.number not in [release.number for release in stored_releases(connection)]
    leader = leader_of(cluster)
    assert leader.reads == 0 < leader.writes
    assert all(follower.reads and not follower.writes for follower in cluster.followers)


def test_after_a_switch_every_read_waits_for_it(cluster: BoltCluster, connect_to: Connect) -> None:
    switching, reading = connect_to(), connect_to()
    old = load_online(example_graph().sections, switching)
    new = load_online(small_graph("next").sections, switching, switch=False)
    assert Neo4jGraph(reading).number == old.number
    switch_to(switching, new.number)
    assert Neo4jGraph(reading).number == new.number
    assert {leader_of(cluster).given} in [follower.bookmarks for follower in cluster.followers]


def test_a_switch_by_another_program_is_waited_for_by_one_that_begins_later(
    cluster: BoltCluster, connect_to: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = connect_to()
    load_online(example_graph().sections, connection)
    new = load_online(small_graph("next").sections, connection, switch=False)
    application()(["neo4j", "releases", "switch", str(new.number), "--graph", cluster.address], standalone_mode=False)
    switched = leader_of(cluster).given
    monkeypatch.setattr(routing, "_bookmarks", {})  # as in another process
    for follower in cluster.followers:
        follower.bookmarks = set()
    assert Neo4jGraph(connect_to()).number == new.number
    assert {switched} in [follower.bookmarks for follower in cluster.followers]


# Members that fail


def test_reads_go_on_while_members_die(cluster: BoltCluster, connect_to: Connect) -> None:
    cluster.strangers = ["127.0.0.1:1", "127.0.0.1:2"]
    assert all(one(connect_to()) == 1 for _ in range(5))
    connection = connect_to()
    assert one(connection) == 1
    cluster.followers[0].stop()
    assert all(one(connection) == 1 for _ in range(20))
    assert all(one(connect_to()) == 1 for _ in range(5))


def test_a_frozen_member_takes_part_of_the_time_for_a_connection(cluster: BoltCluster, connect_to: Connect) -> None:
    with socket.create_server(("127.0.0.1", 0)) as frozen:  # connections are never accepted
        cluster.followers[0].stop()
        cluster.strangers = [f"127.0.0.1:{frozen.getsockname()[1]}"]
        for _ in range(5):
            assert one(connect_to(acquisition_timeout=6.0, retry_time=0.0)) == 1


def test_a_load_survives_a_change_of_the_leader(cluster: BoltCluster, connect_to: Connect) -> None:
    first, second = leader_of(cluster), cluster.followers[0]

    def elect(what: str, done: int, total: int) -> None:
        if leader_of(cluster) is first and what == "edges":
            cluster.elect(second)

    sections = small_graph("moved").sections
    stored = load_online(sections, connect_to(), progress=elect, concepts_a_batch=20, edges_a_batch=20)
    assert (stored.active, stored.release.digest) == (True, digest_of(sections))
    assert first.writes
    assert second.writes


@pytest.mark.parametrize(
    "code",
    [
        "Neo.ClientError.Cluster.NotALeader",
        "Neo.TransientError.Transaction.DeadlockDetected",
        "Neo.TransientError.General.DatabaseUnavailable",
    ],
)
def test_what_passes_is_waited_for(cluster: BoltCluster, connect_to: Connect, code: str) -> None:
    leader = leader_of(cluster)
    connection = connect_to()
    for work in (write_one, lambda opened: opened.run_alone("MATCH (n:Written) DELETE n")):
        leader.refusal, leader.refusals_left = code, 2
        work(connection)
        assert leader.refusal is None


def test_without_a_leader_reads_go_on_and_writes_end_with_the_reason(
    cluster: BoltCluster, connect_to: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.elect(None)
    connection = connect_to(retry_time=1.0)
    assert one(connection) == 1
    assert "reads may miss the latest writes of other programs" in caplog.text
    for work in (write_one, lambda opened: opened.run_alone("CREATE (n:Written)")):
        with pytest.raises(GraphUnavailable, match="no leader of the cluster took the request within 1 s"):
            work(connection)


# Addresses that do not fit


def test_an_address_that_does_not_fit_is_explained(cluster: BoltCluster, connect_to: Connect) -> None:
    follower = cluster.followers[0]
    with pytest.raises(GraphUnavailable, match=r"accepts no writes\. Use neo4j:// instead"):
        write_one(connect_to(address=follower.address, retry_time=0.0))
    for member in cluster.members:
        member.tables = False
    with pytest.raises(GraphUnavailable, match=r"no routing: no routing table here\. For a single server, use bolt://"):
        one(connect_to(retry_time=0.0))
    with pytest.raises(GraphUnavailable, match=r"Couldn't connect to .* Is the server running there\?"):
        one(connect_to(address="neo4j://127.0.0.1:1", retry_time=0.0))
    for member in cluster.members:
        member.tables = True
    for member in cluster.followers:
        member.stop()
    leader = leader_of(cluster)
    with pytest.raises(GraphUnavailable, match=r"server\.bolt.advertised_address"):
        one(connect_to(address=leader.address.replace("bolt", "neo4j"), retry_time=0.0))


# Positions that the server never reaches, as after the import of another database


def later(bookmark: str) -> str:
    """The bookmark of a transaction that is far from being committed."""
    raw = base64.b64decode(bookmark.removeprefix("FB:") + "==")
    return "FB:" + base64.b64encode(raw[:19] + b"\xca\x7f\x00\x00\x00\x90").decode().rstrip("=")


@pytest.mark.parametrize("seconds", [60.0, 0.5])  # more and less than the server waits
def test_a_position_that_the_database_never_reaches_is_dropped(
    cluster: BoltCluster, connect_to: Connect, seconds: float
) -> None:
    connection = connect_to(retry_time=0.0)
    write_one(connection)
    bookmarks = routing.bookmarks_of(cluster.address, None)
    bookmarks.update_bookmarks(bookmarks.get_bookmarks(), [later(next(iter(bookmarks.get_bookmarks())))])
    with pytest.raises((GraphUnavailable, QueryTimedOut), match=r"no member reached|longer than allowed"):
        connection.read(lambda tx: tx.run(ONE).consume(), timeout=seconds)
    assert one(connection) == 1


# Curators and the service


def test_a_query_is_ended_on_the_member_that_runs_it(cluster: BoltCluster, connect_to: Connect) -> None:
    def runs(member: Member) -> int:
        return sum(SLOW.encode()[:40] in text and b"EXPLAIN" not in text for text in member.texts)

    for number in range(3):
        released = threading.Event()
        with pytest.raises(QueryTimedOut):
            curator_query(
                connect_to(),
                SLOW,
                timeout=300.0,
                abandoned=lambda number=number: sum(map(runs, cluster.members)) > number,  # type: ignore[misc]
                released=released.set,
            )
        assert released.wait(60)
    for member in cluster.members:
        assert (runs(member) > 0) is any(b"TERMINATE" in text for text in member.texts)


def test_a_running_service_follows_a_switch_by_another_program(
    cluster: BoltCluster, connect_to: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = connect_to()
    load_online(example_graph().sections, connection)
    store = Neo4jStore(cluster.address, index=True, folder=tmp_path, caching=lambda graph: None, timeout=30)
    holder = GraphHolder()
    watch = ReleaseWatch(holder, store, 0.1)
    watch.open_first()
    watch.start()
    monkeypatch.setattr(routing, "_bookmarks", {})  # the loader is another process
    sections = small_graph("followed").sections
    load_online(sections, connect_to())

    def served() -> bool:
        current = holder.current
        return current is not None and current.index is not None and current.digest == digest_of(sections)

    wait_for(served)
    watch.stop()
    holder.close()
    assert leader_of(cluster).reads == 0


def test_the_service_serves_a_release_only_where_it_is_whole(
    cluster: BoltCluster, connect_to: Connect, tmp_path: Path
) -> None:
    connection = connect_to()
    load_online(example_graph().sections, connection)
    store = Neo4jStore(cluster.address, index=False, folder=tmp_path, caching=lambda graph: None, timeout=30)
    served = store.open()
    assert store.changed(served) is False
    new = load_online(small_graph("partly there").sections, connection)
    assert store.changed(served) is True
    text = "MATCH (c:StoredConcept {release: $release, cui: 'C0000002'}) DETACH DELETE c"
    connection.run_alone(text, release=new.number)
    with pytest.raises(ReleaseMismatch, match="has 60 concepts and 59 edges where it was read"):
        store.open()
    switch_to(connection, next(r.number for r in stored_releases(connection) if r.release.name == "example"))
    remove(connection, new.number)
    assert store.changed(served) is False
    served.close()
    store.close()
    assert leader_of(cluster).reads == 0
