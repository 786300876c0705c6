"""Every row of the table of errors, sent by the real service over real sockets and read by the client."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cuihop import connect, errors
from cuihop.remote.failures import FaultyIdentifier, Problem, failure_of, refusal
from cuihop.remote.graph import RemoteGraph
from cuihop.remote.settings import RemoteSettings
from cuihop.remote.statuses import STATUSES, Status, status_of
from cuihop_server import RunningService, running_service
from cuihop_service.admission import RequestInfo
from example_graph import example_graph
from remote.recording_guard import RecordingGuard

EXAMPLES: dict[str, errors.CuihopError] = {
    "INVALID_CUI": errors.InvalidCui(["x", "brain stem", "x"], expected="the letter C and seven digits"),
    "CONCEPT_NOT_FOUND": errors.ConceptNotFound(
        [f"C900{i:04d}" for i in range(9)], release="2025AB", merged={"C9000001": "C9000002"}
    ),
    "CONCEPT_RETIRED": errors.ConceptRetired(
        {"C9000902": (), "C9000903": (("RB", "C0005847"), ("RO", "C0042449")), "C9000909": (("RN", "C0000001"),)}
    ),
    "AMBIGUOUS_CODE": errors.AmbiguousCode({"LOCAL:x": (("code", "C0005847"), ("code", "C0042449"))}),
    "INVALID_INPUT": errors.InputError(
        "λ is out of its range", column="lam", found="'7'", expected="a number from 0 to 1", advice="Try 0.5."
    ),
    "RATE_LIMITED": errors.RateLimited("100 questions a minute", retry_after=12.5),
    "LIMIT_EXCEEDED": errors.LimitExceeded("too many pairs: found 9; this service allows 7"),
    "NOT_AUTHENTICATED": errors.NotAuthenticated("the key has expired"),
    "NOT_ALLOWED": errors.NotAllowed("the key lacks the scope names"),
    "RELEASE_BEHIND": errors.ReleaseBehind("this replica serves an older release", retry_after=2.0),
    "GRAPH_UNAVAILABLE": errors.GraphUnavailable("no release is loaded yet; ask again in a moment"),
    "TIMED_OUT": errors.QueryTimedOut("the answer took longer than allowed"),
    "RELEASE_MISMATCH": errors.ReleaseMismatch("release 2025AB is no longer in the database"),
    "GRAPH_UNUSABLE": errors.SnapshotError("checksum of names is wrong"),
    "INTERNAL": errors.CuihopError("“quoted” – and not ASCII: ü"),
}


GUARD = RecordingGuard()


@pytest.fixture(scope="module")
def refusing() -> Iterator[RunningService]:
    with running_service(example_graph(), guard=GUARD) as running:
        yield running


@pytest.fixture(params=["grpc", "http"])
def graph(request: pytest.FixtureRequest, refusing: RunningService) -> Iterator[RemoteGraph]:
    GUARD.error = None
    address = refusing.grpc if request.param == "grpc" else refusing.http
    with RemoteGraph(RemoteSettings(address, retry_time=0)) as graph:
        yield graph


def test_every_row_has_an_example() -> None:
    assert list(EXAMPLES) == [row.reason for row in STATUSES]
    for reason, error in EXAMPLES.items():
        assert status_of(error).reason == reason


@pytest.mark.parametrize("row", STATUSES, ids=lambda row: row.reason)
def test_an_error_arrives_as_it_was_raised(graph: RemoteGraph, row: Status) -> None:
    raised = GUARD.error = EXAMPLES[row.reason]
    for ask in (
        lambda: graph.distance("C0006121", "C0018670"),
        lambda: graph.pack(["C0006121"], hops=1),
        lambda: graph.search("brain"),
    ):
        with pytest.raises(errors.CuihopError) as caught:
            ask()
        found = caught.value
        assert type(found) is row.error
        if isinstance(raised, errors.GraphError) or type(raised) is errors.CuihopError:
            assert str(found).startswith(f"{raised} (request ")
        else:
            assert str(found) == str(raised)
            assert {k: v for k, v in vars(found).items() if k != "__notes__"} == vars(raised)
        assert [note for note in found.__notes__ if note.startswith("request ")]


def test_a_request_has_the_same_identifier_on_both_sides() -> None:
    def refuse(request: RequestInfo) -> None:
        if request.operation == "path":
            raise errors.GraphUnavailable("not now")

    guard = RecordingGuard(refuse)
    with running_service(example_graph(), guard=guard) as running:
        for address in (running.grpc, running.http):
            with RemoteGraph(RemoteSettings(address, retry_time=1)) as graph:
                del guard.requests[:]
                with pytest.raises(errors.GraphUnavailable, match=r"not now \(request ") as caught:
                    graph.path("C0006121", "C0018670")
                assert len(guard.requests) > 1
                assert {f"not now (request {request.request_id})" for request in guard.requests} == {str(caught.value)}


@pytest.mark.parametrize(
    ("code", "kind", "retry"),
    [
        (503, errors.GraphError, True),
        ("UNAVAILABLE", errors.GraphError, True),
        (500, errors.GraphError, False),
        (429, errors.CuihopError, True),
        (418, errors.CuihopError, False),
        ("NOT_FOUND", errors.CuihopError, False),
    ],
)
def test_a_reason_of_a_newer_service_stands_in_the_message(
    code: int | str, kind: type[errors.CuihopError], retry: bool
) -> None:
    failed = failure_of(Problem("OUT_OF_COFFEE", "there is no coffee"), code, "42")
    assert type(failed.error) is kind
    assert str(failed.error) == "OUT_OF_COFFEE: there is no coffee (request 42)"
    assert failed.retry is retry


def test_a_problem_of_a_newer_service_is_repeated_after_its_retry_after() -> None:
    failed = failure_of(Problem("OUT_OF_COFFEE", "brewing", retry_after=3.0), 418, "42")
    assert (failed.retry, failed.retry_after) == (True, 3.0)


@pytest.mark.parametrize("row", STATUSES, ids=lambda row: row.reason)
def test_the_table_decides_which_errors_are_repeated(row: Status) -> None:
    faults = [FaultyIdentifier("C9000901")] if issubclass(row.error, errors.ConceptError) else []
    for code in (row.http, row.grpc):
        failed = failure_of(Problem(row.reason, "message", faults), code, "42")
        assert (type(failed.error), failed.retry) == (row.error, row.retry)


@pytest.mark.parametrize(
    ("code", "kind", "retry"),
    [
        (401, errors.NotAuthenticated, False),
        ("UNAUTHENTICATED", errors.NotAuthenticated, False),
        (403, errors.NotAllowed, False),
        ("PERMISSION_DENIED", errors.NotAllowed, False),
        (413, errors.LimitExceeded, False),
        ("RESOURCE_EXHAUSTED", errors.LimitExceeded, False),
        (429, errors.RateLimited, True),
        ("DEADLINE_EXCEEDED", errors.QueryTimedOut, False),
        (502, errors.GraphUnavailable, True),
        (503, errors.GraphUnavailable, True),
        (504, errors.GraphUnavailable, True),
        ("UNAVAILABLE", errors.GraphUnavailable, True),
        (404, errors.GraphUnavailable, False),
        (500, errors.GraphUnavailable, False),
        (302, errors.GraphUnavailable, False),
        ("INTERNAL", errors.GraphUnavailable, False),
    ],
)
def test_a_status_without_a_cuihop_problem_names_the_address(
    code: int | str, kind: type[errors.CuihopError], retry: bool
) -> None:
    failed = refusal("https://h", code, "what was found")
    assert (type(failed.error), failed.retry) == (kind, retry)
    assert str(failed.error) == "https://h: what was found"


@pytest.mark.slow
def test_the_error_of_a_batch_names_the_identifiers_at_fault_of_all_blocks(refusing: RunningService) -> None:
    GUARD.error = None
    offline = example_graph()
    unknown = [f"C98{i:05d}" for i in range(3000)]
    batches = [
        [("C0006121", cui) for cui in unknown] * 4,  # several blocks
        [("C0006121", "C9000902"), *[("C0006121", cui) for cui in unknown], ("C9000903", "C9000901")],
        [("C0006121", "C9000906"), ("C9000907", "C9000906")],
        [("C0006121", "x"), ("C9000902", "y"), (unknown[0], "C0006121")],
        [("C0006121", "C9000902"), (unknown[0], "C0006121")],
    ]
    for address in (refusing.grpc, refusing.http):
        with connect(address) as graph:
            for pairs in batches:
                with pytest.raises(errors.ConceptError) as here:
                    offline.distances(pairs)
                with pytest.raises(errors.ConceptError) as there:
                    graph.distances(pairs)
                assert type(there.value) is type(here.value)
                assert str(there.value) == str(here.value)
                assert there.value.cuis == here.value.cuis
                assert getattr(there.value, "candidates", None) == getattr(here.value, "candidates", None)
            with pytest.raises(errors.ConceptNotFound) as caught:
                graph.pack(unknown[:1500], hops=1)
            assert caught.value.cuis == tuple(unknown[:1500])
            with pytest.raises(errors.ConceptNotFound) as caught:
                graph.names(unknown)
            assert caught.value.cuis == tuple(unknown)
            with pytest.raises(errors.ConceptNotFound) as caught:
                graph.neighbours(unknown[:300])
            assert caught.value.cuis == tuple(unknown[:300])
