"""Difference between two releases: concepts and edges added and removed, concepts merged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.files.written_files import replaced_file
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
        edges_added, edges_removed: pairs (child, parent).
        vocabularies: of both releases, by abbreviation.
    """

    old: str
    new: str
    concepts_added: list[str]
    concepts_merged: list[tuple[str, str]]
    concepts_removed: list[str]
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
        yield "edge added", self.edges_added
        yield "edge removed", self.edges_removed


def release_difference(old: Sections, new: Sections) -> ReleaseDifference:
    """Compare two releases by their identifiers."""
    old_cuis, new_cuis = _cuis(old), _cuis(new)
    gone = np.setdiff1d(old_cuis, new_cuis, assume_unique=True).tolist()
    answers = SnapshotGraph(new).resolve(gone)
    everything = np.union1d(old_cuis, new_cuis)
    old_edges, new_edges = _edges(old, old_cuis, everything), _edges(new, new_cuis, everything)
    return ReleaseDifference(
        old=old.meta["release"]["name"],
        new=new.meta["release"]["name"],
        concepts_added=np.setdiff1d(new_cuis, old_cuis, assume_unique=True).tolist(),
        concepts_merged=[(a.requested, a.cui) for a in answers if a.cui is not None],
        concepts_removed=[a.requested for a in answers if a.cui is None],
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


def _edges(sections: Sections, cuis: npt.NDArray[np.str_], everything: npt.NDArray[np.str_]) -> Int64:
    """Each edge as one number: index of the child among all concepts, times their count, plus that of the parent."""
    position = np.searchsorted(everything, cuis)
    children = np.repeat(position, np.diff(sections["up_indptr"]))
    return np.asarray(children * len(everything) + position[sections["up_indices"]], dtype=np.int64)


def _pairs(edges: Int64, everything: npt.NDArray[np.str_]) -> list[tuple[str, str]]:
    if not len(edges):
        return []
    children, parents = np.divmod(edges, len(everything))
    return list(zip(everything[children].tolist(), everything[parents].tolist(), strict=True))
