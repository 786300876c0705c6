"""Rows that a Neo4j database stores, from a snapshot's sections, block by block; for either kind of load."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import xxhash

from cuihop.graph import Release
from cuihop.neo4j_graph.name_search import HITS_A_PAGE
from cuihop.resources.arrays import Int32, Int64
from cuihop.snapshot.file import Sections
from cuihop.snapshot.layout import CODE_MAPS, NAME_INDEX, NAME_SOURCES, SOURCE_CODES, TERM_TABLE
from cuihop.snapshot.name_index import NameIndex, with_name_index
from cuihop.snapshot.name_index_builder import concept_weights
from cuihop.snapshot.source_codes import SourceCodes
from cuihop.snapshot.string_table import IdentifierTable, StringTable, folded
from cuihop.snapshot.writer import RETIRED_RELATIONS

NAMES_FOR_A_PAGE = 2000
"""Least number of names for which the full-text index is too slow."""

_WORDS_A_BLOCK = 4096
_FOLDED = ("folded_rows", "folded_offsets", "folded_blob")
_NOT_STORED = {*_FOLDED, *NAME_INDEX, *TERM_TABLE, *NAME_SOURCES, *CODE_MAPS}  # the first follow from names


class ReleaseRows:
    """Rows of the release of a snapshot.

    Attributes:
        names: all names; concept i has those at ``name_indptr[i]`` up to ``name_indptr[i + 1]``.
        definitions: of all concepts, each with its vocabulary before it; ``None`` where there are none.
        codes: of vocabularies; ``None`` where the snapshot has none.
        children, parents: int32, shape (edges,); ascending by (child, parent).
        sab_sets: for each edge its position in `sab_set_members`.
        types: pairs of type identifier and name.
    """

    def __init__(self, sections: Sections) -> None:
        self._sections = sections
        self.meta = sections.meta
        self.release = Release.of(self.meta["release"])
        concepts = IdentifierTable(sections["cuis"])
        self.cuis = concepts.at(np.arange(len(concepts)))
        self.parents: Int32 = sections["up_indices"]
        counts = np.diff(sections["up_indptr"])
        self.children = np.repeat(np.arange(len(self.cuis), dtype=np.int32), counts)
        self.sab_sets = sections["up_sab_sets"]
        self.sab_set_members = [list(sabs) for sabs in self.meta["sab_sets"]]
        self.types = [(code, name) for code, name in self.meta["semantic_types"]]
        self.name_indptr: Int32 = sections["name_indptr"]
        self.names = StringTable.stored(sections, "name")
        self.definitions = StringTable.stored(sections, "definition") if "definition_indptr" in sections else None
        self.codes = SourceCodes(sections, concepts) if SOURCE_CODES[0] in sections else None
        retired = IdentifierTable(sections["retired_cuis"])
        self.retired_cuis = np.repeat(
            np.array(retired.at(np.arange(len(retired))), dtype=object), np.diff(sections["retired_indptr"])
        ).tolist()

    @cached_property
    def content(self) -> str:
        """Checksum of everything stored, names and types included; 32 hexadecimal digits."""
        digest = xxhash.xxh3_128()
        described = ("release", "sab_sets", "semantic_types", "code_sabs")
        facts = {key: self.meta[key] for key in described if key in self.meta}
        digest.update(json.dumps(facts, sort_keys=True).encode())
        for name in sorted(set(self._sections) - _NOT_STORED - {*SOURCE_CODES}):
            array = np.ascontiguousarray(self._sections[name])
            digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
            digest.update(array.tobytes())
        for array in () if self.codes is None else self.codes.content():
            digest.update(array.tobytes())
        return digest.hexdigest()

    @cached_property
    def components(self) -> Int32:
        """For each concept the smallest number in its weakly connected component."""
        from cuihop._kernels.csr import weak_components

        return weak_components(self._sections["up_indptr"], self.parents)

    @cached_property
    def weights(self) -> Int64:
        """The weight of each concept among names that match a text equally well."""
        return concept_weights(self._sections)

    @cached_property
    def _name_index(self) -> NameIndex | None:
        """The index of names; built here for a snapshot of an earlier version, ``None`` without names."""
        if not len(self.names):
            return None
        return NameIndex(self._sections if NAME_INDEX[0] in self._sections else with_name_index(self._sections))

    def properties(self) -> dict[str, Any]:
        """Properties of the release's node, after either load."""
        release = self.release
        return {
            "name": release.name,
            "digest": release.digest,
            "relations": list(release.relations) or None,
            "sabs": list(release.sabs) or None,  # an import from files has no empty lists
            "identifiers": release.identifiers,
            "concepts": release.concepts,
            "edges": release.edges,
            "retired": len(self.retired_cuis),
            "codes": None if self.codes is None else len(self.codes),
            "code_sabs": list(self.codes.sabs) or None if self.codes else None,
            "source": release.source,
            "content": self.content,
            "report": json.dumps(self.meta["report"]),
        }

    def concept_rows(self, first: int, last: int) -> list[list[Any]]:
        """Rows of some concepts, a list for each.

        Number, identifier, component, name, synonyms, folded names, type codes, vocabularies and texts of definitions,
        weight in searches, and codes of vocabularies.
        """
        indptr = self.name_indptr[first : last + 1].tolist()
        components = self.components[first:last].tolist()
        weights = self.weights[first:last].tolist()
        type_indptr = self._sections["type_indptr"][first : last + 1].tolist()
        type_indices = self._sections["type_indices"]
        codes = [code for code, _ in self.types]
        definitions: list[list[tuple[str, str, str]]] = [[]] * (last - first)  # vocabulary, a bar, and text
        if self.definitions is not None:
            bounds = pairwise(self._sections["definition_indptr"][first : last + 1].tolist())
            definitions = [[text.partition("|") for text in self.definitions.slice(*extent)] for extent in bounds]
        of_vocabularies = [] if self.codes is None else self.codes.of_concepts(first, last)
        rows = []
        texts = list(self.names.slice(indptr[0], indptr[-1]))
        for i in range(last - first):
            names = texts[indptr[i] - indptr[0] : indptr[i + 1] - indptr[0]]
            types = [codes[t] for t in type_indices[type_indptr[i] : type_indptr[i + 1]].tolist()] if codes else []
            searched = [folded(name) for name in names]
            rows.append(
                [
                    first + i,
                    self.cuis[first + i],
                    components[i],
                    names[0] if names else None,
                    names[1:] or None,  # absent values are left out, as after an import from files
                    searched if any(searched) else None,
                    types or None,
                    [sab for sab, _, _ in definitions[i]] or None,
                    [text for _, _, text in definitions[i]] or None,
                    weights[i],
                    (of_vocabularies[i] or None) if of_vocabularies else None,
                ]
            )
        return rows

    def retired_rows(self, first: int, last: int) -> list[list[str]]:
        """Retired identifier, relation and successor of some statements."""
        relations = self._sections["retired_relations"][first:last].tolist()
        successors = self._sections["retired_successors"][first:last].tolist()
        return [
            [cui, RETIRED_RELATIONS[relation], successor.decode("ascii")]
            for cui, relation, successor in zip(self.retired_cuis[first:last], relations, successors, strict=True)
        ]

    def code_rows(self, first: int, last: int) -> list[list[Any]]:
        """Rows of some codes of vocabularies.

        Code, vocabulary, concepts, marks and source concepts of these, and the positions among the codes of each.
        """
        rows = []
        for holders, positions in self.codes.holders(first, last) if self.codes else ():
            marks, others = [each.mark for each in holders], [each.source_concept or "" for each in holders]
            rows.append(
                [
                    f"{holders[0].sab}:{holders[0].code}",
                    holders[0].sab,
                    [each.cui for each in holders],
                    marks if set(marks) != {"active"} else None,
                    others if any(others) else None,
                    positions,
                ]
            )
        return rows

    def page_rows(self, at_least: int = NAMES_FOR_A_PAGE) -> Iterator[list[Any]]:
        """Search pages: each frequent prefix of a word, its concepts, positions of their names, kinds of matches.

        These searches would take the database longest, because it has no order of names to look them up in.
        """
        index = self._name_index
        for prefix in index.prefixes(at_least) if index else ():
            hits = index.best(prefix, HITS_A_PAGE) if index else []
            rows = [row - int(self.name_indptr[concept]) for concept, row, _ in hits]
            yield [prefix, [self.cuis[concept] for concept, _, _ in hits], rows, [kind for _, _, kind in hits]]

    def form_rows(self) -> Iterator[list[Any]]:
        """Each form and its words, where they are not the form itself."""
        for form, words in self._name_index.forms() if self._name_index else ():
            yield [form, words]

    def spelling_rows(self) -> Iterator[list[Any]]:
        """Candidates of corrections in blocks, numbered, those of most names first."""
        words = self._name_index.spelling.candidates() if self._name_index else []
        for first, last in blocks(0, len(words), _WORDS_A_BLOCK):
            yield [first, words[first:last]]

    def type_rows(self) -> list[list[Any]]:
        """Number, code and name of each semantic type."""
        return [[number, code, name] for number, (code, name) in enumerate(self.types)]

    def vocabulary_rows(self) -> list[list[Any]]:
        """Each source vocabulary, and its number of edges."""
        counts = np.bincount(self.sab_sets, minlength=len(self.sab_set_members))
        edges: dict[str, int] = dict.fromkeys(self.meta["release"]["sabs"], 0)
        for sabs, count in zip(self.sab_set_members, counts.tolist(), strict=True):
            for sab in sabs:
                edges[sab] += count
        return [[sab, count] for sab, count in edges.items()]


def blocks(first: int, last: int, size: int) -> Iterator[tuple[int, int]]:
    """Parts of ``first`` up to ``last``, each of ``size`` at most."""
    return ((begin, min(begin + size, last)) for begin in range(first, last, size))
