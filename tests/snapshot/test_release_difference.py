"""Changes between two releases, against the definitions in sets."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from cuihop import SnapshotGraph
from cuihop.snapshot.release_difference import Change, ConceptChange, concept_changes, release_difference


class Made(NamedTuple):
    """A release; its retired identifiers have a relation and a successor."""

    graph: SnapshotGraph
    concepts: set[str]
    edges: set[tuple[str, str]]
    retired: dict[str, tuple[str, str]]

    def successor(self, cui: str) -> str | None:
        relation, other = self.retired.get(cui, ("", ""))
        return cui if cui in self.concepts else other if relation == "SY" else None

    def parents(self, cui: str) -> set[str]:
        return {parent for child, parent in self.edges if child == cui}


def identifiers(width: int) -> list[str]:
    return [f"C{number:0{width - 1}}" for number in range(31)]


def made(generator: random.Random, width: int) -> Made:
    concepts = sorted(generator.sample(identifiers(width)[:-1], 20))
    edges = {(a, b) for a in concepts for b in concepts if a > b and generator.random() < 0.12}
    gone = sorted(set(identifiers(width)[:-1]) - set(concepts))[:6]
    retired = {cui: (generator.choice(["SY", "RO"]), generator.choice(concepts)) for cui in gone}
    retired[gone[0]] = ("DEL", "")
    rows = [(cui, *statement) for cui, statement in retired.items()]
    return Made(SnapshotGraph.of(sorted(edges), concepts=concepts, retired=rows), set(concepts), edges, retired)


def defined(old: Made, new: Made, cuis: list[str]) -> Iterator[ConceptChange]:
    """The change of each identifier, by definition."""
    for cui in cuis:
        before, after = old.successor(cui), new.successor(cui)
        gained, lost = set[str](), set[str]()
        change: Change
        if before is None and after is None:
            change = "retired before" if cui in old.retired or cui in new.retired else "unknown"
        elif before is None:
            change = "added"
        elif after is None:
            change = "retired" if cui in new.retired else "removed"
        elif before != after:
            change = "replaced"
        else:
            gained, lost = new.parents(after) - old.parents(before), old.parents(before) - new.parents(after)
            change = "moved" if gained or lost else "unchanged"
        statement = new.retired.get(cui, ("", ""))
        candidates = (statement,) if statement[0] == "RO" else ()
        yield ConceptChange(cui, change, before, after, candidates, tuple(sorted(gained)), tuple(sorted(lost)))


@pytest.mark.parametrize("widths", [(8, 8), (8, 12), (12, 8), (12, 12)])
def test_changes_are_those_of_the_definitions(widths: tuple[int, int]) -> None:
    generator = random.Random(35)
    for _ in range(20):
        old, new = (made(generator, width) for width in widths)
        difference = release_difference(old.graph.sections, new.graph.sections)
        gone = old.concepts - new.concepts
        merged = [(cui, new.retired[cui][1]) for cui in sorted(gone) if new.retired.get(cui, ("",))[0] == "SY"]
        assert difference.concepts_added == sorted(new.concepts - old.concepts)
        assert difference.concepts_merged == merged
        assert difference.concepts_removed == sorted(gone - {cui for cui, _ in merged})
        assert difference.edges_added == sorted(new.edges - old.edges)
        assert difference.edges_removed == sorted(old.edges - new.edges)
        changed = {child for child, _ in old.edges ^ new.edges}
        assert difference.concepts_moved == sorted(changed & old.concepts & new.concepts)
        cuis = [*identifiers(widths[0]), *identifiers(widths[1])]
        assert concept_changes(old.graph, new.graph, cuis) == list(defined(old, new, cuis))


def test_a_release_of_nothing_is_compared() -> None:
    nothing, something = SnapshotGraph.of([]), SnapshotGraph.of([("C0000001", "C0000002")])
    assert release_difference(nothing.sections, something.sections).concepts_added == ["C0000001", "C0000002"]
    assert set(release_difference(nothing.sections, nothing.sections).counts().values()) == {0}
    changes = concept_changes(nothing, something, ["C0000001", "C0000009"])
    assert [each.change for each in changes] == ["added", "unknown"]
