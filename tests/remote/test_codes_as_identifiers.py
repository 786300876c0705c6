"""Codes, CURIEs and URIs in place of identifiers: every operation, on a snapshot and on a service, and refusals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop import ConceptGraph, SnapshotGraph, nn_iou
from cuihop.agents.arguments import CompareArguments, DistancesArguments, PairArguments
from cuihop.agents.tools import TOOLS
from cuihop.errors import AmbiguousCode, ConceptNotFound, ConceptRetired, InvalidCui, NotAllowed
from cuihop.graph import Resolution
from cuihop.graph_wrapper import GraphOfCodes
from cuihop.measures.resolution import resolved_concepts
from cuihop.remote.graph import RemoteGraph
from cuihop.snapshot.layout import MARK_SHIFT
from cuihop.snapshot.neighbour_dictionary import NeighbourDictionary
from cuihop_server import running_service
from example_graph import coded_graph, example_graph

BRAIN, STEM, HEART = "C0006104", "C0006121", "C0018670"
FORMS = {
    "MSH:D001933": STEM, "SNOMEDCT_US:15926001": STEM, "LOCAL:x": STEM, "MSH:D001921": BRAIN,
    "snomedct:15926001": STEM, "mesh:D001921": BRAIN, "umls:C0006121": STEM, "UMLS:C0006121": STEM,
    "http://snomed.info/id/15926001": STEM, "https://uts.nlm.nih.gov/uts/umls/concept/C0006104": BRAIN,
}  # fmt: skip


@pytest.fixture(scope="module")
def snapshot() -> SnapshotGraph:
    return coded_graph((0, 5, "LOCAL", "both", ""), (1, 5, "LOCAL", "both", ""))


@pytest.fixture(scope="module", params=["snapshot", "grpc", "http"])
def graph(request: pytest.FixtureRequest, snapshot: SnapshotGraph) -> Iterator[ConceptGraph]:
    if request.param == "snapshot":
        yield snapshot
        return
    with running_service(snapshot) as running:
        yield RemoteGraph.open(getattr(running, request.param))


@pytest.mark.core
def test_each_form_is_its_concept_in_every_operation(graph: ConceptGraph) -> None:
    for text, cui in FORMS.items():
        assert graph.resolve([text]) == [Resolution(text, "code", cui)]
        assert text in graph
        batch = graph.distances([(text, BRAIN), (BRAIN, text)])
        assert (list(batch), batch.merged) == (list(graph.distances([(cui, BRAIN), (BRAIN, cui)])), {text: cui})
        assert graph.distance(text, BRAIN, direction="up") == graph.distance(cui, BRAIN, direction="up")
        path = graph.path(text, BRAIN)
        assert path is not None
        assert (path.cuis, path.merged) == (graph.path(cui, BRAIN).cuis, {text: cui})  # type: ignore[union-attr]
        (hood,) = graph.neighbours([text])
        assert (hood.cui, hood.merged) == (cui, {text: cui})
        assert graph.concepts([text]) == graph.concepts([cui])
        assert graph.names([text]) == graph.names([cui])
        assert graph.pack([text, HEART], hops=2).cuis == (cui, HEART)
        assert graph.hierarchy.similarity(text, BRAIN) == graph.hierarchy.similarity(cui, BRAIN)
    near = nn_iou(["MSH:D001933", "C0018670"], ["mesh:D001921"], graph, n=1)
    assert near == nn_iou([STEM, HEART], [BRAIN], graph, n=1)


@pytest.mark.core
def test_a_code_that_cannot_be_used_says_why(graph: ConceptGraph) -> None:
    faults = {
        "LOCAL:both": (AmbiguousCode, r"code of several concepts: LOCAL:both \(C0006104, C0006121\)"),
        "LOCAL:old": (ConceptRetired, r"LOCAL:old \(suppressed C0018670\)"),
        "MSH:d001933": (ConceptNotFound, r"MSH:d001933 \(did you mean MSH:D001933\?\)"),
        "MSH:C0006121": (ConceptNotFound, r"MSH:C0006121 \(did you mean C0006121\?\)"),
        "MSH:D999999": (ConceptNotFound, "MSH:D999999"),
        "SNOMED:15926001": (InvalidCui, "or SAB:CODE with a vocabulary of the release"),
        "umls:C9999999": (ConceptNotFound, "umls:C9999999"),
        "http://purl.obolibrary.org/obo/HP_0001250": (InvalidCui, "HP_0001250"),
    }
    for text, (error, message) in faults.items():
        for ask in (
            lambda text=text: graph.distances([(STEM, text)]),
            lambda text=text: graph.distance(text, STEM),
            lambda text=text: graph.path(text, STEM),
            lambda text=text: graph.neighbours([text]),
            lambda text=text: graph.concepts([text]),
            lambda text=text: graph.hierarchy.similarity(text, STEM),
            lambda text=text: nn_iou([text], [STEM], graph),
        ):
            with pytest.raises(error, match=message) as caught:
                ask()
            assert caught.value.cuis == (text,)  # type: ignore[attr-defined]
    with pytest.raises(AmbiguousCode) as several:
        graph.distance("LOCAL:both", STEM)
    assert several.value.candidates == {"LOCAL:both": (("code", BRAIN), ("code", STEM))}


def test_a_retired_concept_in_another_form_is_its_successor(graph: ConceptGraph) -> None:
    assert graph.resolve(["umls:C9000901"]) == [Resolution("umls:C9000901", "merged", STEM)]
    assert graph.resolve(["umls:C9000903"])[0].status == "retired"


def test_codes_of_several_concepts_are_taken_as_asked(graph: ConceptGraph) -> None:
    first, every = GraphOfCodes(graph, "first"), GraphOfCodes(graph, "all")
    assert first.resolve(["LOCAL:both"])[0].cui == BRAIN
    found = resolved_concepts(["LOCAL:both", STEM], every)
    assert found.concepts(["LOCAL:both"]) == {BRAIN, STEM}
    assert (found.codes, found.replaced) == ({"LOCAL:both": (BRAIN, STEM)}, {"LOCAL:both": f"{BRAIN};{STEM}"})
    assert nn_iou(["LOCAL:both"], [BRAIN, STEM], every, n=0) == 1.0
    assert nn_iou(["LOCAL:both"], [BRAIN], first, n=0) == 1.0
    for unknown in ("error", "isolated", "drop"):
        with pytest.raises(AmbiguousCode):
            resolved_concepts(["LOCAL:both"], graph, unknown)


def test_unknown_codes_are_counted_apart_and_invalid_ones_never_match(graph: ConceptGraph) -> None:
    found = resolved_concepts(["MSH:D999999", "C9999999", "MSH:D001933"], graph, "isolated")
    assert (found.unknown, found.unknown_codes) == (("C9999999", "MSH:D999999"), ("MSH:D999999",))
    assert found.codes == {"MSH:D001933": (STEM,)}
    with pytest.raises(InvalidCui, match="file 7"):
        resolved_concepts(["SNOMED:1"], graph, "isolated", lambda _: "file 7")


def test_a_graph_without_codes_refuses_them(tmp_path: Path) -> None:
    with pytest.raises(InvalidCui):
        example_graph().distance("MSH:D001933", STEM)
    assert example_graph().resolve([f"umls:{STEM}"])[0].cui == STEM


def test_a_neighbour_dictionary_keeps_the_codes_that_it_was_made_for(snapshot: SnapshotGraph, tmp_path: Path) -> None:
    made = NeighbourDictionary.of(snapshot, ["MSH:D001933", BRAIN, "MSH:D999999"], hops=1)
    made.save(tmp_path / "near.cuihop")
    opened = NeighbourDictionary.open(tmp_path / "near.cuihop")
    assert opened.distance("MSH:D001933", BRAIN, max_hops=1) == 1
    assert opened.resolve(["MSH:D999999"])[0].status == "unknown"
    with pytest.raises(AmbiguousCode):
        NeighbourDictionary.of(snapshot, ["LOCAL:both"], hops=1)
    every = NeighbourDictionary.of(GraphOfCodes(snapshot, "all"), ["LOCAL:both"], hops=1)
    assert nn_iou(["LOCAL:both"], [BRAIN, STEM], GraphOfCodes(every, "all"), n=0) == 1.0


def test_codes_need_the_scope_for_names(snapshot: SnapshotGraph) -> None:
    with running_service(snapshot, names=False) as running:
        for address in (running.grpc, running.http):
            remote = RemoteGraph.open(address)
            assert remote.distance(STEM, BRAIN) == 1
            for text in ("MSH:D001933", "LOCAL:both", "LOCAL:old", "snomedct:15926001"):
                for ask in (
                    lambda remote=remote, text=text: remote.distance(text, BRAIN),
                    lambda remote=remote, text=text: remote.distances([(STEM, BRAIN), (BRAIN, text)]),
                    lambda remote=remote, text=text: remote.neighbours([text]),
                    lambda remote=remote, text=text: remote.path(text, BRAIN),
                    lambda remote=remote, text=text: nn_iou([text], [BRAIN], remote),
                ):
                    with pytest.raises(NotAllowed) as refused:
                        ask()
                    assert not any(cui in str(refused.value) for cui in (STEM, BRAIN))
            assert [r.cui for r in remote.resolve([STEM])] == [STEM]
            for text in ("MSH:D001933", "LOCAL:both", "LOCAL:old", "MSH:d001933"):
                with pytest.raises(NotAllowed):
                    remote.resolve([text])


def test_curies_and_uris_are_looked_up(snapshot: SnapshotGraph) -> None:
    forms = ("snomedct:15926001", "http://id.nlm.nih.gov/mesh/D001933", "umls:C0006121")
    plain = ("SNOMEDCT_US:15926001", "MSH:D001933", "C0006121")
    for text, found, expected in zip(forms, snapshot.codes(forms), snapshot.codes(plain), strict=True):
        assert found == replace(expected, requested=text)


def test_agents_take_codes(snapshot: SnapshotGraph) -> None:
    pairs = DistancesArguments(pairs=[PairArguments(a=a, b=BRAIN) for a in ("MSH:D001933", "LOCAL:both")])
    answer = TOOLS["distances"].answer(snapshot, pairs, names=True)
    assert [row["status"] for row in answer["distances"]] == ["answered", "several"]
    assert answer["merged"] == {"MSH:D001933": STEM}
    with pytest.raises(NotAllowed):
        TOOLS["distances"].answer(snapshot, pairs, names=False)
    sets = CompareArguments(a=["LOCAL:both"], b=[BRAIN], unknown="isolated")
    assert TOOLS["compare"].answer(snapshot, sets, names=True)["status"] == "several"


SABS = ("MSH", "LOCAL")
ROWS = st.lists(
    st.tuples(
        st.integers(0, 2), st.sampled_from([0, 1, 1 << MARK_SHIFT, 2 << MARK_SHIFT]), st.sampled_from(SABS),
        st.sampled_from("abc"), st.just(""),
    ),
    max_size=12,
)  # fmt: skip


@given(ROWS)
def test_resolutions_are_those_of_the_look_up(rows: list[tuple[int, int, str, str, str]]) -> None:
    """One concept, several, none that is active, or unknown: by the concepts that `ConceptGraph.codes` lists."""
    graph = coded_graph(*rows)
    texts = [f"{sab}:{code}" for sab in SABS for code in "abcd"]
    for text, found, lookup in zip(texts, graph.resolve(texts), graph.codes(texts), strict=True):
        active = list(dict.fromkeys(code.cui for code in lookup.codes if code.mark == "active"))
        if len(active) == 1:
            assert found == Resolution(text, "code", active[0])
        elif active:
            assert found == Resolution(text, "several", candidates=tuple(("code", cui) for cui in active))
        elif lookup.codes:
            assert found.status == "retired"
            assert {cui for _, cui in found.candidates} <= {code.cui for code in lookup.codes}
        else:
            assert (found.status, found.cui) == ("unknown", None)
