"""Difference between two releases: concepts and edges added and removed, concepts merged and moved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from cuihop.files.written_files import replaced_file
from cuihop.graph import Resolution, resolved
from cuihop.resources.arrays import Int64
from cuihop.snapshot.file import Sections
from cuihop.snapshot.graph import SnapshotGraph
from cuihop.snapshot.string_table import IdentifierTable


@dataclass(frozen=True, slots=True)
class VocabularyDifference:
    """The edges that one source vocabulary asserts, in both releases. An edge of several counts for each."""

    sab: str
    old: int
    new: int
    added: int
    removed: int


@dataclass(frozen=True, eq=False)
class ReleaseDifference:
    """The changes from one release to another; every list ascends.

    Attributes:
        old, new: names of the releases.
        concepts_added: concepts of the new release alone.
        concepts_merged: pairs (concept of the old release, its successor in the new one).
        concepts_removed: the new release neither holds nor merges them.
        concepts_moved: both releases hold them, with other parents.
        edges_added, edges_removed: pairs (child, parent).
        vocabularies: of both releases, by abbreviation.
    """

    old: str
    new: str
    concepts_added: list[str]
    concepts_merged: list[tuple[str, str]]
    concepts_removed: list[str]
    concepts_moved: list[str]
    edges_added: list[tuple[str, str]]
    edges_removed: list[tuple[str, str]]
    vocabularies: list[VocabularyDifference]

    def to_json(self) -> dict[str, Any]:
        """Counts by kind, and the vocabularies."""
        return {**self.counts(), "vocabularies": [asdict(one) for one in self.vocabularies]}

    def counts(self) -> dict[str, int]:
        """Number of changes of each kind."""
        return {kind.replace(" ", "s "): len(changes) for kind, changes in self._kinds()}

    def write(self, path: Path) -> None:
        """Write one change a line, tab-separated: ``change``, ``cui``, ``other``.

        ``other`` is the successor of a merged concept, the parent of an edge, else empty.

        Raises:
            OutputError: the file could not be written; no partial file is left.
        """
        with replaced_file(path) as file:
            file.write(b"change\tcui\tother\n")
            for kind, changes in self._kinds():
                for change in changes:
                    cui, other = (change, "") if isinstance(change, str) else change
                    file.write(f"{kind}\t{cui}\t{other}\n".encode())

    def _kinds(self) -> Iterator[tuple[str, list[str] | list[tuple[str, str]]]]:
        """Each kind of change, in the singular, with its changes."""
        yield "concept added", self.concepts_added
        yield "concept merged", self.concepts_merged
        yield "concept removed", self.concepts_removed
        yield "concept moved", self.concepts_moved
        yield "edge added", self.edges_added
        yield "edge removed", self.edges_removed


def release_difference(old: Sections, new: Sections) -> ReleaseDifference:
    """Compare two releases by their identifiers."""
    old_cuis, new_cuis = _cuis(old), _cuis(new)
    gone = np.setdiff1d(old_cuis, new_cuis, assume_unique=True).tolist()
    answers = SnapshotGraph(new).resolve(gone)
    everything = np.union1d(old_cuis, new_cuis)
    old_rows, new_rows = np.searchsorted(everything, old_cuis), np.searchsorted(everything, new_cuis)
    old_edges, new_edges = _edges(old, old_rows, len(everything)), _edges(new, new_rows, len(everything))
    held = np.intersect1d(old_rows, new_rows, assume_unique=True)
    moved = np.intersect1d(np.setxor1d(old_edges, new_edges, assume_unique=True) // max(len(everything), 1), held)
    return ReleaseDifference(
        old=old.meta["release"]["name"],
        new=new.meta["release"]["name"],
        concepts_added=np.setdiff1d(new_cuis, old_cuis, assume_unique=True).tolist(),
        concepts_merged=[(a.requested, a.cui) for a in answers if a.status == "merged" and a.cui is not None],
        concepts_removed=[a.requested for a in answers if a.status != "merged"],
        concepts_moved=everything[moved].tolist(),
        edges_added=_pairs(np.setdiff1d(new_edges, old_edges, assume_unique=True), everything),
        edges_removed=_pairs(np.setdiff1d(old_edges, new_edges, assume_unique=True), everything),
        vocabularies=_vocabularies((old, old_edges), (new, new_edges)),
    )


def _vocabularies(old: tuple[Sections, Int64], new: tuple[Sections, Int64]) -> list[VocabularyDifference]:
    names = {sab for sections, _ in (old, new) for sabs in sections.meta["sab_sets"] for sab in sabs}
    differences = []
    for sab in sorted(names):
        before, after = _asserted(*old, sab), _asserted(*new, sab)
        both = len(np.intersect1d(before, after, assume_unique=True))
        differences.append(VocabularyDifference(sab, len(before), len(after), len(after) - both, len(before) - both))
    return differences


def _asserted(sections: Sections, edges: Int64, sab: str) -> Int64:
    """The edges that a vocabulary asserts."""
    holds = np.array([sab in sabs for sabs in sections.meta["sab_sets"]])
    return np.asarray(edges[holds[sections["up_sab_sets"]]], dtype=np.int64)


def _cuis(sections: Sections) -> npt.NDArray[np.str_]:
    table = IdentifierTable(sections["cuis"])
    return np.array(table.at(np.arange(len(table))), dtype=np.str_)


def _edges(sections: Sections, rows: Int64, count: int) -> Int64:
    """Each edge as one number: index of the child among all concepts, times their count, plus that of the parent.

    ``rows``: index of each concept of the release among the ``count`` of both.
    """
    children = np.repeat(rows, np.diff(sections["up_indptr"]))
    return np.asarray(children * count + rows[sections["up_indices"]], dtype=np.int64)


def _pairs(edges: Int64, everything: npt.NDArray[np.str_]) -> list[tuple[str, str]]:
    if not len(edges):
        return []
    children, parents = np.divmod(edges, len(everything))
    return list(zip(everything[children].tolist(), everything[parents].tolist(), strict=True))


Change: TypeAlias = Literal[
    "unchanged", "moved", "replaced", "retired", "removed", "added", "retired before", "unknown"
]  # fmt: skip
"""What became of a concept: ``moved`` has other parents; ``replaced`` stands for another concept now; ``retired`` is
stated so by the new release, and ``removed`` is missing there without a word; ``added`` is of the new release alone;
``retired before`` and ``unknown`` are in neither."""
CHANGES: tuple[Change, ...] = Change.__args__  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class ConceptChange:
    """The change of one identifier.

    Attributes:
        requested: the identifier.
        old, new: the concept that it stands for in each release; ``None`` if there is none.
        candidates: the new release's suggestions for one that is not in it: pairs of UMLS relation and concept.
        parents_gained, parents_lost: of a moved concept. A parent that was merged is lost, and its successor gained.
    """

    requested: str
    change: Change
    old: str | None
    new: str | None
    candidates: tuple[tuple[str, str], ...] = ()
    parents_gained: tuple[str, ...] = ()
    parents_lost: tuple[str, ...] = ()


def concept_changes(old: SnapshotGraph, new: SnapshotGraph, identifiers: Sequence[str]) -> list[ConceptChange]:
    """The change of each identifier from one release to the other.

    Raises:
        AmbiguousCode: an identifier is a code of several concepts in one of them.
    """
    sides = [graph.resolve(identifiers) for graph in (old, new)]
    for graph, side in zip((old, new), sides, strict=True):
        resolved([answer for answer in side if answer.status == "several"], graph.release)
    answers = list(zip(*sides, strict=True))
    same = [before.cui for before, after in answers if before.cui is not None and before.cui == after.cui]
    parents = iter(zip(_parents(old.sections, same), _parents(new.sections, same), strict=True))
    changes = []
    for before, after in answers:
        gained, lost = set[str](), set[str]()
        if before.cui is not None and before.cui == after.cui:
            lost, gained = next(parents)
            lost, gained = lost - gained, gained - lost
        change = _change(before, after, moved=bool(gained or lost))
        candidates = after.candidates if after.cui is None else ()
        changes.append(
            ConceptChange(
                before.requested, change, before.cui, after.cui, candidates,
                tuple(sorted(gained)), tuple(sorted(lost)),
            )
        )  # fmt: skip
    return changes


def _change(before: Resolution, after: Resolution, *, moved: bool) -> Change:
    if before.cui is None and after.cui is None:
        return "retired before" if "retired" in (before.status, after.status) else "unknown"
    if before.cui is None:
        return "added"
    if after.cui is None:
        return "retired" if after.status == "retired" else "removed"
    if before.cui != after.cui:
        return "replaced"
    return "moved" if moved else "unchanged"


def _parents(sections: Sections, cuis: Sequence[str]) -> Iterable[set[str]]:
    """The parents of each of these concepts, which the release holds."""
    table, bounds, parents = IdentifierTable(sections["cuis"]), sections["up_indptr"], sections["up_indices"]
    for row in table.positions(cuis).tolist():
        yield set(table.at(parents[bounds[row] : bounds[row + 1]]))
