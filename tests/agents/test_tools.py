"""The tools: their answers, statuses, bounds, and errors."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop import ConceptGraph, SnapshotGraph, connect
from cuihop.agents.arguments import MOST_ROWS, checked_arguments
from cuihop.agents.bounded_answers import MOST_BYTES, bounded, json_text
from cuihop.agents.tools import TOOLS
from cuihop.errors import InputError, NotAllowed
from cuihop_server import RunningService, running_service
from cuihop_tools.neo4j_server import LocalServer
from example_graph import NAMES, UNKNOWN, asserted_graph, example_graph
from guarded_service import http
from neo4j_server import stored_graph

BRAIN_STEM, BRAIN, HEAD, VEINS = "C0006121", "C0006104", "C0018670", "C0042449"
MERGED, DELETED, BROADER = "C9000901", "C9000902", "C9000903"

ADDED = {"status", "left_out", "names_hidden", "release_name", "tier"}
"""Fields that only one of the two doors has."""

EXAMPLES: list[tuple[str, dict[str, Any], str, set[str]]] = [
    ("search", {"text": "brain"}, "search", set()),
    ("concept", {"cui": MERGED}, "concept", set()),
    ("path", {"a": BRAIN_STEM, "b": HEAD}, "path", set()),
    ("path", {"a": BRAIN_STEM, "b": HEAD, "max_hops": 2, "direction": "up"}, "path", set()),
    ("neighbourhood", {"cui": BRAIN, "hops": 2, "direction": "any"}, "neighbourhood", {"name"}),
    ("similarity", {"a": MERGED, "b": "C0003483"}, "similarity", {"names"}),
    ("similarity", {"a": BRAIN_STEM, "b": "C9000001", "ic": "Seco"}, "similarity", {"names"}),
    ("compare", {"a": [BRAIN_STEM, UNKNOWN], "b": [BRAIN, MERGED], "unknown": "isolated"}, "relevance", {"names"}),
    (
        "compare",
        {"a": [BRAIN_STEM, UNKNOWN], "b": [HEAD], "n": 3, "weight": "hops", "unknown": "drop"},
        "relevance",
        {"names"},
    ),
]
"""Tool, arguments, the operation over HTTP, and the fields that only the tool has."""


def called(graph: ConceptGraph, tool: str, *, names: bool = True, **arguments: Any) -> dict[str, Any]:
    """The answer of a tool to arguments as they come from JSON."""
    return TOOLS[tool].answer(graph, checked_arguments(TOOLS[tool].arguments, tool, arguments), names=names)


@pytest.fixture(scope="module")
def graph() -> SnapshotGraph:
    return example_graph()


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    with running_service(example_graph()) as running:
        yield running


def without(answer: Any, left_out: set[str]) -> Any:
    if isinstance(answer, list):
        return [without(item, left_out) for item in answer]
    if isinstance(answer, dict):
        return {name: without(value, left_out) for name, value in answer.items() if name not in left_out}
    return answer


@pytest.mark.parametrize(("tool", "arguments", "operation", "added"), EXAMPLES)
def test_an_answer_has_the_fields_of_http(
    tool: str, arguments: dict[str, Any], operation: str, added: set[str], graph: SnapshotGraph, service: RunningService
) -> None:
    body = arguments if operation == "relevance" else None
    query = "" if body else "?" + "&".join(f"{name}={value}" for name, value in arguments.items())
    over_http = http(service, f"/v1/{operation}{query}", body).json
    answer = json.loads(json_text(called(graph, tool, **arguments)))
    assert without(answer, ADDED | added) == without(over_http, ADDED | added)
    assert answer["release_name"] == "example"
    assert answer["left_out"] == {}


def test_mentions_of_a_text_have_the_fields_of_http(graph: SnapshotGraph, service: RunningService) -> None:
    text = "No lesion of the brain stem, nor of the veins."
    over_http = http(service, "/v1/annotate", {"texts": [text], "options": {"leave_out": ["family"]}}).json
    answer = json.loads(json_text(called(graph, "annotate", text=text, leave_out=["family"])))
    assert [mention["cui"] for mention in answer["mentions"]] == [BRAIN_STEM, VEINS]
    assert {"mentions": answer["mentions"]} == over_http["annotations"][0]
    assert (answer["status"], answer["release"], answer["left_out"]) == ("answered", over_http["release"], {})
    assert called(graph, "annotate", text="")["mentions"] == []
    with pytest.raises(NotAllowed, match="names are hidden here"):
        called(graph, "annotate", names=False, text=text)


def test_mentions_are_bounded(graph: SnapshotGraph) -> None:
    answer = called(graph, "annotate", text="brain " * 800)
    assert 0 < len(answer["mentions"]) <= MOST_ROWS
    assert answer["left_out"]["mentions"] == {"total": 800, "shown": len(answer["mentions"])}


def test_hops_within_vocabularies() -> None:
    graph = asserted_graph()
    one, two, three = "C0000001", "C0000002", "C0000003"
    within: dict[str, Any] = {"within_sabs": ["NCI"]}
    pairs = [{"a": one, "b": two}, {"a": two, "b": three}]
    answer = called(graph, "distances", pairs=pairs, **within)
    assert [row["hops"] for row in answer["distances"]] == [None, 1]
    assert (answer["release_name"], answer["release"]) == (
        "asserted within NCI", graph.within(["NCI"]).release.digest,
    )  # fmt: skip
    assert called(graph, "path", a=one, b=two, **within)["status"] == "no_path"
    assert called(graph, "neighbourhood", cui=two, **within)["total"] == 1
    assert called(graph, "common_ancestors", a=one, b=three, **within)["total"] == 0
    assert called(graph, "compare", a=[one], b=[two], **within)["nn_iou"] == 0
    with pytest.raises(InputError, match=r"Did you mean NCI\?"):
        called(graph, "path", a=one, b=two, within_sabs=["NCIt"])
    with pytest.raises(InputError, match="17 items; expected at most 16"):
        called(graph, "path", a=one, b=two, within_sabs=["NCI"] * 17)


def test_a_batch_has_a_status_for_each_pair(graph: SnapshotGraph) -> None:
    pairs = [
        (BRAIN_STEM, HEAD),
        (BRAIN_STEM, VEINS),
        (UNKNOWN, HEAD),
        (HEAD, BROADER),
        ("x", BROADER),
        (MERGED, MERGED),
    ]
    answer = called(graph, "distances", pairs=[{"a": a, "b": b} for a, b in pairs])
    assert [(row["a"], row["b"]) for row in answer["distances"]] == pairs
    assert [(row["status"], row["hops"]) for row in answer["distances"]] == [
        ("answered", 3), ("no_path", None), ("unknown", None), ("retired", None), ("invalid", None), ("answered", 0),
    ]  # fmt: skip
    assert answer["status"] == "answered"
    assert answer["merged"] == {MERGED: VEINS}
    assert {r["requested"]: r["status"] for r in answer["resolutions"]} == {
        UNKNOWN: "unknown", BROADER: "retired", "x": "invalid",
    }  # fmt: skip
    assert answer["resolutions"][1]["candidates"] == [{"relation": "RB", "cui": "C0005847"}]
    assert "C0006121" in answer["expected"]


@pytest.mark.parametrize(
    ("cui", "status"), [(UNKNOWN, "unknown"), (BROADER, "retired"), (DELETED, "retired"), ("c0006121", "invalid")]
)
@pytest.mark.parametrize("tool", ["concept", "path", "neighbourhood", "common_ancestors", "compare"])
def test_an_identifier_that_cannot_be_used_is_an_answer(tool: str, cui: str, status: str, graph: SnapshotGraph) -> None:
    of_pairs: dict[str, Any] = {"compare": {"a": [cui], "b": [HEAD]}}
    arguments = of_pairs.get(tool, {"cui": cui} if tool in ("concept", "neighbourhood") else {"a": HEAD, "b": cui})
    answer = called(graph, tool, **arguments)
    assert answer["status"] == status
    assert [(r["requested"], r["status"]) for r in answer["resolutions"]] == [(cui, status)]
    assert ("expected" in answer) == (status == "invalid")


def test_no_path_is_an_answer(graph: SnapshotGraph) -> None:
    assert called(graph, "path", a=BRAIN_STEM, b=VEINS)["status"] == "no_path"
    within = called(graph, "path", a=BRAIN_STEM, b=HEAD, max_hops=2)
    assert (within["status"], within["hops"], within["path"]) == ("no_path", None, None)


def test_common_ancestors_are_those_of_the_graph(graph: SnapshotGraph) -> None:
    answer = called(graph, "common_ancestors", a="C9000011", b="C9000013")
    expected = [(each.cui, each.hops_a, each.hops_b) for each in graph.common_ancestors("C9000011", "C9000013")]
    assert [(row["cui"], row["hops_a"], row["hops_b"]) for row in answer["common_ancestors"]] == expected
    assert answer["total"] == len(expected) == 2


def test_isolated_keeps_unknown_concepts_and_refuses_malformed_ones(graph: SnapshotGraph) -> None:
    sets: dict[str, Any] = {"b": [BRAIN], "unknown": "isolated"}
    assert called(graph, "compare", a=[BRAIN_STEM, UNKNOWN], **sets)["nn_iou"] == pytest.approx(1 / 3)
    assert called(graph, "compare", a=[BRAIN_STEM, "c0006104"], **sets)["status"] == "invalid"


@pytest.mark.parametrize(("tool", "arguments", "operation", "added"), EXAMPLES)
def test_without_names_an_answer_holds_none(
    tool: str, arguments: dict[str, Any], operation: str, added: set[str], graph: SnapshotGraph
) -> None:
    if tool == "search":
        with pytest.raises(NotAllowed, match="names are hidden here; give identifiers"):
            called(graph, tool, names=False, **arguments)
        return
    answer = called(graph, tool, names=False, **arguments)
    assert answer["names_hidden"]
    text = json_text(answer)
    assert not [name for names in NAMES.values() for name in names if f'"{name}"' in text]
    assert without(answer, {"name", "names", "names_hidden", "synonyms", "definitions"}) == without(
        called(graph, tool, **arguments), {"name", "names", "names_hidden", "synonyms", "definitions"}
    )


# Bounds


@pytest.fixture(scope="module")
def wide() -> SnapshotGraph:
    """C0000000 with 3,000 children; its own name, synonyms and those of its children are long."""
    children = [f"C{place:07d}" for place in range(1, 3_001)]
    names = {cui: [f"child {cui} {'å' * 250}"] for cui in children}
    names["C0000000"] = [f"{word} {'x' * 200}" for word in range(40)]
    return SnapshotGraph.of([(cui, "C0000000") for cui in children], names=names, name="wide", identifiers="cui")


def test_what_is_left_out_of_a_large_answer_is_counted(wide: SnapshotGraph) -> None:
    answer = called(wide, "neighbourhood", cui="C0000000")
    rows = answer["neighbours"]
    assert 0 < len(rows) < MOST_ROWS
    assert (answer["total"], answer["truncated"]) == (3_000, True)
    assert answer["left_out"]["neighbours"] == {"total": 3_000, "shown": len(rows)}
    assert [row["cui"] for row in rows] == [f"C{place:07d}" for place in range(1, len(rows) + 1)]
    short = called(wide, "neighbourhood", cui="C0000000", names=False)
    assert short["left_out"] == {"neighbours": {"total": 3_000, "shown": MOST_ROWS}}
    described = called(wide, "concept", cui="C0000000")
    assert described["left_out"]["synonyms"] == {"total": 39, "shown": len(described["synonyms"])}
    for each in (answer, short, described):
        assert len(json_text(each).encode()) <= MOST_BYTES


def test_two_large_sets_are_compared_within_the_bounds(wide: SnapshotGraph) -> None:
    a, b = ([f"C{place:07d}" for place in range(first, first + 100)] for first in (1, 51))
    arguments: dict[str, Any] = {"a": a, "b": b, "n": 2, "lambda": 0.5}
    answer = called(wide, "compare", **arguments)
    assert answer["nn_iou"] == pytest.approx((50 + 0.5 * 100) / 150)
    assert answer["left_out"]["shared"]["total"] == 50
    assert answer["left_out"]["related"]["total"] == 100
    assert answer["left_out"]["related.witnesses"]["shown"] <= 3 * MOST_ROWS
    assert len(json_text(answer).encode()) <= MOST_BYTES


TEXTS = st.builds(lambda letter, length: letter * length, st.sampled_from("aå中😀\x01"), st.integers(0, 700))
SHORT_TEXTS = st.text(max_size=8)
ROWS = st.builds(
    lambda row, count: [row] * count,
    st.one_of(TEXTS, st.fixed_dictionaries({"cui": SHORT_TEXTS, "text": TEXTS, "inner": st.lists(TEXTS, max_size=5)})),
    st.integers(0, 40),
)


@given(
    fields=st.dictionaries(
        st.sampled_from(["a", "b", "c", "d"]),
        st.one_of(ROWS, st.integers(), SHORT_TEXTS, st.dictionaries(SHORT_TEXTS, TEXTS)),
        max_size=4,
    ),
    more=st.integers(0, 10_000),
)
def test_every_answer_is_within_the_bounds_and_counts_what_it_leaves_out(fields: dict[str, Any], more: int) -> None:
    totals = {name: len(value) + more for name, value in fields.items() if isinstance(value, list)}
    answer = bounded(fields, totals)
    assert len(json_text(answer).encode()) <= MOST_BYTES
    for name, value in fields.items():
        if not isinstance(value, list | dict):
            assert answer[name] == value
            continue
        assert len(answer[name]) <= MOST_ROWS
        expected = {"total": totals.get(name, len(value)), "shown": len(answer[name])}
        assert answer["left_out"].get(name, expected) == expected
        assert (name in answer["left_out"]) == (expected["shown"] < expected["total"])
        inner = [row["inner"] for row in answer[name] if isinstance(row, dict)] if isinstance(value, list) else []
        if f"{name}.inner" in answer["left_out"]:
            assert answer["left_out"][f"{name}.inner"]["shown"] == sum(map(len, inner))
        assert all(len(each) <= 3 for each in inner)
    cut = [text for text in _texts(answer) if len(text) == 301]
    assert ("characters" in answer["left_out"]) == bool(cut)
    assert not cut or answer["left_out"]["characters"]["shown"] == 300 * len(cut)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        yield from _texts(list(value.values()))


# Errors


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("path", {"a": 5, "b": HEAD}, "parameter a: not as expected; found 5; expected a text"),
        ("path", {"a": [HEAD], "b": HEAD}, 'parameter a: not as expected; found ["C0018670"]; expected a text'),
        ("path", {"a": HEAD}, "parameter b: missing; found nothing; expected identifier of a concept"),
        ("path", {"a": HEAD, "b": HEAD, "hops": 3}, 'path: no such parameter; found "hops"; expected a or b'),
        ("path", {"a": HEAD, "b": HEAD, "max_hops": "3"}, 'parameter max_hops: not as expected; found "3"'),
        ("path", {"a": HEAD, "b": HEAD, "direction": "left"}, "expected any, up, down or vertical"),
        ("path", {"a": HEAD, "b": "C" * 129}, "expected at most 128 characters"),
        ("path", {"a": HEAD, "b": "\ud800C"}, "parameter b: not as expected"),
        ("path", {"a": HEAD, "b": HEAD, "max_hops": -1}, "found -1; expected at least 0"),
        ("path", {str(place): 1 for place in range(60)}, "path: too many parameters; found 60"),
        ("distances", {"pairs": []}, "parameter pairs: not as expected; found 0 items; expected at least 1"),
        ("distances", {"pairs": [{"a": HEAD, "b": HEAD}] * 21}, "found 21 items; expected at most 20"),
        ("distances", {"pairs": [{"a": HEAD}]}, "parameter pairs.0.b: missing"),
        ("distances", {"pairs": [HEAD]}, 'found "C0018670"; expected an object with a and b'),
        (
            "distances", {"pairs": [["heart", "lung"]]},
            'parameter pairs.0: not as expected; found ["heart", "lung"]; expected an object with a and b, as in '
            '{"a": "C0006121", "b": "C0018670"}. The tool search gives the identifiers of names.',
        ),
        ("compare", {"a": [HEAD] * 101, "b": []}, "found 101 items; expected at most 100"),
        ("compare", {"a": [[]], "b": []}, "parameter a.0: not as expected; found []; expected a text"),
        ("compare", {"a": [HEAD], "b": [], "lambda": 2}, "parameter lambda: not as expected; found 2;"),
        ("compare", {"a": [HEAD], "b": [], "lam": 0.5}, 'found "lam"; expected a or b or n or lambda'),
        ("search", {"text": "brain", "limit": 21}, "parameter limit: not as expected; found 21;"),
        ("search", {"text": ""}, 'parameter text: not as expected; found ""; expected at least 1 character'),
        ("search", {"q": "x"}, "expected text or limit or code_sabs. Did you mean text?"),
        ("search", {"text": "x" * 513}, "expected at most 512 characters"),
        ("annotate", {"text": "x" * 5_001}, "parameter text: not as expected; found 5,001 characters; expected"),
        ("annotate", {"text": ["x"]}, "parameter text: not as expected; found a value of the type list; expected"),
        ("annotate", {"text": "x", "leave_out": ["no"]}, 'found "no"; expected negated, uncertain or family'),
    ],
)  # fmt: skip
def test_arguments_that_are_not_as_expected_are_named(tool: str, arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError) as raised:
        checked_arguments(TOOLS[tool].arguments, tool, arguments)
    assert text in str(raised.value)
    assert len(str(raised.value)) < 400


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    max_leaves=5,
)


@pytest.mark.slow
@given(tool=st.sampled_from(sorted(TOOLS)), data=st.data())
def test_arguments_of_any_form_are_accepted_or_named(tool: str, data: st.DataObject) -> None:
    names = [field.alias or name for name, field in TOOLS[tool].arguments.model_fields.items()]
    given_arguments = data.draw(st.dictionaries(st.sampled_from([*names, "other"]), JSON))
    with contextlib.suppress(InputError):  # and no other error
        assert checked_arguments(TOOLS[tool].arguments, tool, given_arguments).size >= 0


def test_limits_in_answers_are_those_in_descriptions() -> None:
    for tool in TOOLS.values():
        schema = tool.arguments.model_json_schema()
        assert schema["additionalProperties"] is False
        assert all("description" in field for field in schema["properties"].values()), tool.name
    assert f"up to {MOST_ROWS} pairs" in TOOLS["distances"].description


@pytest.mark.xdist_group("neo4j")
def test_every_graph_gives_the_same_answers(neo4j_server: LocalServer, service: RunningService) -> None:
    requested = [(tool, arguments) for tool, arguments, _, _ in EXAMPLES]
    requested += [("annotate", {"text": "The brain stem, no veins."})]
    requested += [("common_ancestors", {"a": BRAIN_STEM, "b": HEAD}), ("concept", {"cui": BROADER})]
    requested += [("distances", {"pairs": [{"a": BRAIN_STEM, "b": HEAD}, {"a": MERGED, "b": UNKNOWN}]})]
    expected = [called(example_graph(), tool, **arguments) for tool, arguments in requested]
    with ExitStack() as stack:
        for graph in (connect(service.grpc), connect(service.http), stored_graph(neo4j_server, example_graph())):
            stack.enter_context(graph)
            assert [called(graph, tool, **arguments) for tool, arguments in requested] == expected
