"""The neighbour dictionary: which of some concepts lie within N hops of one another, in a file of its own.

It stands in for the graph in measures of the concept sets that it was made for, and gives the same values (Wei et al.
2025, section 3.2, propose such a dictionary). It holds neither names nor paths, and no concept but those requested.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from cuihop.adapter_rules import checked_pack
from cuihop.errors import InputError, InvalidCui, ReleaseMismatch, SnapshotError, SnapshotTooNew, first_few
from cuihop.files.text_lines import counted, direction_text
from cuihop.graph import (
    ConceptGraph,
    Direction,
    DistancePack,
    Distances,
    Release,
    Resolution,
    checked_direction,
    checked_pack_bound,
    expected_identifiers,
    resolved,
)
from cuihop.identifiers import is_identifier, written_as_code
from cuihop.resources.arrays import Int32, bounds_of
from cuihop.snapshot.file import Sections
from cuihop.snapshot.layout import NEIGHBOUR_DICTIONARY
from cuihop.snapshot.string_table import IdentifierTable, identifier_array

__all__ = ["DICTIONARY_VERSION", "NeighbourDictionary", "is_neighbour_dictionary"]

DICTIONARY_VERSION = 1
_STATUSES = ("merged", "code", "several", "retired", "unknown")


class NeighbourDictionary(ConceptGraph):
    """A `ConceptGraph` on the distances of up to N hops among some concepts.

    It answers `resolve`, `distances` and `pack` for the identifiers that it was made for, in its direction, within its
    hops; these answers are those of the graph it was made from, whose release it names. Names are ``None``. Anything
    else is an `InputError` that says what the file holds and how to make a larger one.

    >>> from cuihop import SnapshotGraph
    >>> graph = SnapshotGraph.of([("C0042449", "C0005847"), ("C0003842", "C0005847")])
    >>> near = NeighbourDictionary.of(graph, ["C0042449", "C0005847", "C9999999"], hops=1)
    >>> near.distance("C0042449", "C0005847", max_hops=1), near.resolve(["C9999999"])[0].status
    (1, 'unknown')
    """

    def __init__(self, sections: Sections) -> None:
        meta = sections.meta
        self._release = Release.of(meta["release"])
        self._sections = sections
        self._cuis = IdentifierTable(sections["cuis"])
        self._hops: int = meta["hops"]
        self._direction: Direction = meta["direction"]
        self._others = {
            requested: Resolution(
                requested, status, cui or None, tuple((relation, new) for relation, new in candidates)
            )
            for requested, status, cui, candidates in meta["others"]
        }
        indptr, self._indices, self._levels = (sections[name] for name in ("indptr", "indices", "hops"))
        self._indptr = indptr
        rows = np.repeat(np.arange(len(self._cuis), dtype=np.int64), np.diff(indptr))
        self._keys = rows * len(self._cuis) + self._indices

    @classmethod
    def of(
        cls, graph: ConceptGraph, identifiers: Iterable[str], *, hops: int, direction: Direction = "any",
        files: Sequence[str] = (),
    ) -> NeighbourDictionary:  # fmt: skip
        """The dictionary of some identifiers.

        Args:
            graph: its source.
            identifiers: those of all images or texts to be compared. The retired and the unknown ones are stored as
                such.
            hops: N, 0 to 255.
            direction: of the hops.
            files: names of the files of the identifiers, for messages.

        Raises:
            InvalidCui: an identifier is malformed.
            InputError: the graph holds none of the identifiers; a parameter is out of its range.
            ReleaseMismatch: the graph changed its release meanwhile.
        """
        release, bound = graph.release, checked_pack_bound(hops)
        answers = graph.resolve(sorted(set(identifiers)))
        if invalid := [answer.requested for answer in answers if answer.status == "invalid"]:
            raise InvalidCui(invalid, expected=expected_identifiers(release, invalid))
        several = [answer for answer in answers if answer.status == "several"]
        if graph.many != "all":
            resolved(several, release)
        concepts = sorted(
            {answer.cui for answer in answers if answer.cui is not None}.union(
                cui for answer in several for _, cui in answer.candidates
            )
        )
        if not concepts:
            raise InputError(
                "no concept is in the graph", found=counted(len(answers), "identifier"),
                expected=f"concepts of release {release.name}",
            )  # fmt: skip
        pack = graph.pack(concepts, hops=bound, direction=checked_direction(direction))
        if pack.digest != release.digest:
            raise ReleaseMismatch("the graph changed its release while the dictionary was made; make it again")
        others = [
            [answer.requested, answer.status, answer.cui or "", [list(candidate) for candidate in answer.candidates]]
            for answer in answers
            if answer.status != "current"
        ]
        meta = {
            "holds": NEIGHBOUR_DICTIONARY.kind, "version": DICTIONARY_VERSION, "release": dataclasses.asdict(release),
            "concepts": len(concepts), "entries": len(pack.indices), "hops": bound, "direction": direction,
            "others": others, "files": list(files),
        }  # fmt: skip
        cuis = IdentifierTable.packed(identifier_array(concepts)).stored
        return cls(Sections(meta, {"cuis": cuis, "indptr": pack.indptr, "indices": pack.indices, "hops": pack.hops}))

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> NeighbourDictionary:
        """Read a file, and check all of it.

        Raises:
            SnapshotError: missing, of another kind, truncated or damaged.
            SnapshotTooNew: written in a later format.
        """
        sections = Sections.open(FilePath(path), NEIGHBOUR_DICTIONARY)
        version = sections.meta["version"]
        if version > DICTIONARY_VERSION:
            raise SnapshotTooNew(
                f"{path}: made by a newer cuihop: version {version} of the neighbour dictionary, and this one reads "
                f"{DICTIONARY_VERSION}. Upgrade cuihop, or make it again with: cuihop neighbours --concepts FILE"
            )
        sections.verify()
        dictionary = cls(sections)
        try:
            checked_pack(dictionary._content(), len(dictionary._cuis))
        except ValueError as error:
            raise SnapshotError(f"{path}: {error}; the file is damaged") from None
        themselves = np.arange(len(dictionary._cuis), dtype=np.int64) * (len(dictionary._cuis) + 1)
        if not np.array_equal(dictionary._keys[dictionary._levels == 0], themselves):
            raise SnapshotError(f"{path}: other concepts at 0 hops than each from itself; the file is damaged")
        return dictionary

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file atomically.

        Raises:
            OutputError: the disk is full, or the folder cannot be written.
        """
        self._sections.save(FilePath(path))

    def __repr__(self) -> str:
        return f"<NeighbourDictionary of {self.account}, digest {self._release.digest[:12]}>"

    def __reduce__(self) -> tuple[Any, ...]:
        arrays = {name: np.array(self._sections[name]) for name in self._sections}
        return (_restored, (self._sections.meta, arrays, self._sections.origin))

    # Content

    @property
    def release(self) -> Release:
        """The release of the graph it was made from."""
        return self._release

    @property
    def hops(self) -> int:
        """N: the largest distance that it holds."""
        return self._hops

    @property
    def direction(self) -> Direction:
        """Direction of the hops."""
        return self._direction

    @property
    def pairs(self) -> int:
        """Number of ordered pairs of two concepts within N hops."""
        return len(self._indices) - len(self._cuis)

    @property
    def others(self) -> Mapping[str, Resolution]:
        """Identifiers among those requested that are not current in the release, and their resolutions."""
        return self._others

    @property
    def facts(self) -> dict[str, Any]:
        """Number of concepts, pairs and other identifiers, hops, direction and files, as in JSON."""
        statuses: list[str] = [answer.status for answer in self._others.values()]
        return {
            "neighbour_dictionary": {
                "concepts": len(self._cuis), **{status: statuses.count(status) for status in _STATUSES},
                "pairs": self.pairs, "hops": self._hops, "direction": self._direction,
                "files": list(self._sections.meta["files"]),
            }
        }  # fmt: skip

    @property
    def account(self) -> str:
        """Summary of its content, in one line."""
        files = self._sections.meta["files"]
        of = f" of {first_few(files)}" if files else ""
        return (
            f"{counted(len(self._cuis), 'concept')}{of} within {counted(self._hops, 'hop')} "
            f"({direction_text(self._direction)}) in release {self._release.name}"
        )

    # Answers

    def _resolve(self, cuis: Sequence[str]) -> list[Resolution]:
        """The resolutions.

        Raises:
            InputError: the dictionary was not made for some well-formed identifier: whether the graph holds it is not
                known.
        """
        positions = self._cuis.positions(cuis).tolist()
        answers = []
        outside = []
        for cui, position in zip(cuis, positions, strict=True):
            if position >= 0:
                answers.append(Resolution(cui, "current", cui))
            elif cui in self._others:
                answers.append(self._others[cui])
            elif not (is_identifier(cui, self._release.identifiers) or written_as_code(cui)):
                answers.append(Resolution(cui, "invalid"))
            else:
                outside.append(cui)
        if outside:
            raise self._lacks("not in the neighbour dictionary", first_few(list(dict.fromkeys(outside))))
        return answers

    def _distances(self, ends: Sequence[str], direction: Direction, bound: int | None) -> Distances:
        bound = self._checked(direction, bound, "max_hops")
        positions, merged = self._positions(ends)
        keys = positions[::2].astype(np.int64) * len(self._cuis) + positions[1::2]
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        levels = self._levels[at].astype(np.int32)
        reached = (self._keys[at] == keys) & (levels <= bound)
        return Distances(np.where(reached, levels, np.int32(-1)), reached, self._direction, bound, merged)

    def _pack(self, cuis: Sequence[str], direction: Direction, bound: int) -> DistancePack:
        bound = self._checked(direction, bound, "hops")
        positions, merged = self._positions(cuis)
        column = np.full(len(self._cuis), -1, dtype=np.int32)
        for position, cui in zip(positions.tolist(), cuis, strict=True):
            if column[position] >= 0:
                raise InputError("a concept is given twice", found=cui, expected="distinct concepts")
            column[position] = 0
        column[positions] = np.arange(len(positions), dtype=np.int32)
        rows = column[np.repeat(np.arange(len(self._cuis)), np.diff(self._indptr))]
        columns = column[self._indices]
        selected = (rows >= 0) & (columns >= 0) & (self._levels <= bound)
        rows, columns, levels = rows[selected], columns[selected], self._levels[selected]
        order = np.lexsort((columns, rows))
        return DistancePack(
            cuis=tuple(merged.get(cui, cui) for cui in cuis),
            indptr=bounds_of(np.bincount(rows, minlength=len(positions))),
            indices=columns[order],
            hops=levels[order],
            bound=bound,
            direction=self._direction,
            digest=self._release.digest,
        )

    def _names(self, cuis: Sequence[str]) -> list[str | None]:
        resolved(self.resolve(cuis), self._release)
        return [None] * len(cuis)

    # Content of graphs that the file does not hold

    def within(self, sabs: Sequence[str]) -> NoReturn:
        """Refuse: a neighbour dictionary holds distances without their edges."""
        self.refuse("vocabularies of edges")

    def _path(self, *_: object) -> NoReturn:
        self.refuse("paths")

    def _neighbours(self, *_: object) -> NoReturn:
        self.refuse("whole neighbourhoods")

    def _concepts(self, *_: object) -> NoReturn:
        self.refuse("records of concepts")

    def _codes(self, *_: object) -> NoReturn:
        self.refuse("codes of vocabularies")

    def _search(self, *_: object) -> NoReturn:
        self.refuse("names")

    def _annotate_many(self, *_: object) -> NoReturn:
        self.refuse("names")

    @property
    def hierarchy(self) -> NoReturn:
        """Refused: the dictionary holds no is_a edges."""
        self.refuse("hierarchy")

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    # Parts

    def _content(self) -> DistancePack:
        """Everything it holds, as a pack."""
        cuis = tuple(self._cuis.at(np.arange(len(self._cuis))))
        rows = self._indptr, self._indices, self._levels
        return DistancePack(cuis, *rows, self._hops, self._direction, self._release.digest)

    def _positions(self, cuis: Sequence[str]) -> tuple[Int32, dict[str, str]]:
        """The number of each concept, and the successors that were taken for retired identifiers."""
        return self._cuis.resolved_positions(cuis, self.resolve, self._release)

    def _checked(self, direction: Direction, bound: int | None, parameter: str) -> int:
        """The bound, where the dictionary has the distances up to it in this direction.

        Raises:
            InputError: it has not.
        """
        if direction != self._direction:
            raise self._lacks(
                "a direction that the neighbour dictionary lacks", direction, self._direction, "direction"
            )
        if bound is None or bound > self._hops:
            value = "no bound" if bound is None else counted(bound, "hop")
            expected = f"a bound of at most {counted(self._hops, 'hop')}"
            raise self._lacks("farther than the neighbour dictionary reaches", value, expected, parameter)
        return bound

    def _lacks(self, problem: str, value: str, expected: str | None = None, parameter: str | None = None) -> InputError:
        return InputError(
            problem if parameter is None else f"{self._sections.origin}: {problem}",
            file=self._sections.origin if parameter is None else None, column=parameter, found=value, expected=expected,
            advice=f"It holds {self.account}. Make a larger one from the graph: cuihop neighbours --concepts FILE "
            "--hops N --direction DIRECTION --output FILE",
        )  # fmt: skip

    def refuse(self, content: str) -> NoReturn:
        """Raise the error about content that no neighbour dictionary holds, such as paths."""
        raise InputError(
            f"a neighbour dictionary holds no {content}", file=self._sections.origin, found=self.account,
            expected="a snapshot, a service or a database",
        )  # fmt: skip


def _restored(meta: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], origin: str) -> NeighbourDictionary:
    """The dictionary of a pickle."""
    return NeighbourDictionary(Sections(meta, arrays, origin=origin))


def is_neighbour_dictionary(path: str | os.PathLike[str]) -> bool:
    """Recognise a neighbour dictionary by the header of the file; false where there is no such file."""
    return Sections.kind_of(FilePath(path)) == NEIGHBOUR_DICTIONARY.kind
