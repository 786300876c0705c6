"""Records of single concepts in a snapshot: names, definitions, semantic types, vocabularies, and successors."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from cuihop.graph import Concept, Definition, Direction, Step
from cuihop.resources.arrays import Bool
from cuihop.snapshot.file import Sections
from cuihop.snapshot.string_table import IdentifierTable, StringTable
from cuihop.snapshot.writer import RETIRED_RELATIONS

_MANY_CHILDREN = 300  # beyond these, one scan of all edges is faster than a look-up of each


class ConceptRecords:
    """The records of a snapshot, by the number of the concept. Tables are opened on first use."""

    def __init__(self, sections: Sections, cuis: IdentifierTable) -> None:
        self._sections = sections
        self._cuis = cuis
        self._sab_sets = tuple(tuple(sabs) for sabs in sections.meta["sab_sets"])
        self._types = tuple((code, name) for code, name in sections.meta["semantic_types"])
        self._retired_cuis: IdentifierTable | None = None
        self._strings: StringTable | None = None

    @property
    def strings(self) -> StringTable:
        """All names, by row."""
        if self._strings is None:
            self._strings = StringTable.stored(self._sections, "name")
        return self._strings

    def name(self, position: int) -> str | None:
        """The preferred name of a concept."""
        indptr = self._sections["name_indptr"]
        row = int(indptr[position])
        return self.strings[row] if row < indptr[position + 1] else None

    def name_sabs(self, row: int) -> tuple[str, ...]:
        """The vocabularies of a name, sorted; empty where the snapshot does not record them."""
        sabs = self.all_name_sabs
        if sabs is None:
            return ()
        of_name, indptr = int(self._sections["name_sab_sets"][row]), self._sections["name_sab_set_indptr"]
        members = self._sections["name_sab_set_members"][int(indptr[of_name]) : int(indptr[of_name + 1])]
        return tuple(sabs[position] for position in members.tolist())

    @property
    def all_name_sabs(self) -> tuple[str, ...] | None:
        """The vocabularies of all names, sorted; ``None`` where the snapshot does not record them."""
        if "name_sab_sets" not in self._sections:
            return None
        return tuple(self._sections.meta["name_sabs"])

    def names_of_sabs(self, sabs: Collection[str]) -> Bool:
        """True for each name of one of these vocabularies; the snapshot must record them."""
        requested = np.array([sab in sabs for sab in self._sections.meta["name_sabs"]], dtype=np.bool_)
        indptr, members = self._sections["name_sab_set_indptr"], self._sections["name_sab_set_members"]
        of_sets = np.zeros(len(indptr) - 1, dtype=np.bool_)
        of_sets[np.repeat(np.arange(len(of_sets)), np.diff(indptr))[requested[members]]] = True
        of_names: Bool = of_sets[self._sections["name_sab_sets"]]
        return of_names

    def concept(self, position: int) -> Concept:
        """The whole record of a concept."""
        name_indptr = self._sections["name_indptr"]
        first, last = int(name_indptr[position]), int(name_indptr[position + 1])
        type_indptr = self._sections["type_indptr"]
        types = self._sections["type_indices"][int(type_indptr[position]) : int(type_indptr[position + 1])]
        up, down = self._sections["up_indptr"], self._sections["down_indptr"]
        return Concept(
            cui=self._cuis[position],
            name=self.name(position),
            synonyms=tuple(self.strings.slice(first + 1, last)),
            semantic_types=tuple(self._types[t] for t in types.tolist()),
            parents=int(up[position + 1] - up[position]),
            children=int(down[position + 1] - down[position]),
            definitions=self._definitions(position),
            sabs=self._sabs(position),
        )

    def step(self, here: int, there: int, direction: Direction) -> Step:
        """The hop of a path from one concept to the next."""
        cui = self._cuis[there]
        if direction != "down" and (edge := self._edge(here, there)) is not None:
            return Step(cui, "parent", self._edge_sabs(edge))
        edge = self._edge(there, here)
        return Step(cui, "child", () if edge is None else self._edge_sabs(edge))

    def _edge(self, child: int, parent: int) -> int | None:
        """The number of the edge from child to parent; ``None`` where there is none."""
        indptr, indices = self._sections["up_indptr"], self._sections["up_indices"]
        low, high = int(indptr[child]), int(indptr[child + 1])
        position = low + int(np.searchsorted(indices[low:high], parent))
        return position if position < high and indices[position] == parent else None

    def _edge_sabs(self, edge: int) -> tuple[str, ...]:
        return self._sab_sets[int(self._sections["up_sab_sets"][edge])]

    def retired_statements(self, cui: str) -> tuple[tuple[str, str], ...]:
        """Pairs of UMLS relation and successor of a retired identifier; empty for any other."""
        if self._retired_cuis is None:
            self._retired_cuis = IdentifierTable(self._sections["retired_cuis"])
        row = int(self._retired_cuis.positions([cui])[0])
        if row < 0:
            return ()
        indptr = self._sections["retired_indptr"]
        rows = slice(int(indptr[row]), int(indptr[row + 1]))
        relations = self._sections["retired_relations"][rows].tolist()
        successors = self._sections["retired_successors"][rows].tolist()
        return tuple((RETIRED_RELATIONS[r], s.decode("ascii")) for r, s in zip(relations, successors, strict=True))

    def _definitions(self, position: int) -> tuple[Definition, ...]:
        section = self._sections
        if "definition_indptr" not in section:  # of a release without definitions, or of an earlier cuihop
            return ()
        texts = StringTable.stored(section, "definition")
        begin, end = section["definition_indptr"][position : position + 2].tolist()
        return tuple(Definition(sab, text) for sab, _, text in (t.partition("|") for t in texts.slice(begin, end)))

    def _sabs(self, position: int) -> tuple[str, ...]:
        """The vocabularies that assert an edge of the concept."""
        up_indptr, parents = self._sections["up_indptr"], self._sections["up_indices"]
        down_indptr, children = self._sections["down_indptr"], self._sections["down_indices"]
        below = children[int(down_indptr[position]) : int(down_indptr[position + 1])]
        if len(below) > _MANY_CHILDREN:
            edges = np.flatnonzero(parents == position)
        else:
            edges = np.array([self._edge(child, position) for child in below.tolist()], dtype=np.int64)
        asserting = self._sections["up_sab_sets"]
        above = asserting[int(up_indptr[position]) : int(up_indptr[position + 1])]
        sets = set(above.tolist()).union(asserting[edges].tolist())
        return tuple(sorted({sab for number in sets for sab in self._sab_sets[number]}))
