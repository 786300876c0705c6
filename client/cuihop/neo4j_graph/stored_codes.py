"""Codes of vocabularies in a Neo4j database, as a snapshot has them: all of a release, or as many as answers need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, LiteralString, TypeAlias

import numpy as np
import numpy.typing as npt

from cuihop.errors import ReleaseMismatch
from cuihop.graph import CODE_MARKS
from cuihop.neo4j_graph import cypher
from cuihop.snapshot.file import Sections
from cuihop.snapshot.source_codes import CodeHolders, SourceCodes, alike_forms, held_sections
from cuihop.snapshot.string_table import IdentifierTable, StringTable, identifier_array

_CODES_A_TRANSACTION = 10_000

Node: TypeAlias = Sequence[Any]
"""A code: ``SAB:CODE`` and its vocabulary; then a list for each: its concepts, their marks and source concepts, and its
position among the codes of each. The lists of marks and source concepts are empty where all are active, and none is."""

Nodes: TypeAlias = dict[tuple[str, str], Node]
"""Codes by vocabulary and ``SAB:CODE``."""


def code_sabs(properties: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The vocabularies that give codes to a release with these properties, sorted; ``None`` if it has no codes."""
    return None if properties.get("codes") is None else tuple(properties.get("code_sabs") or ())


class StoredCodes:
    """The codes of a stored release.

    Args:
        sabs: the vocabularies that give codes, sorted.
        rows: the rows of a query on the release, from its text and parameters.
    """

    def __init__(self, sabs: tuple[str, ...], rows: Callable[..., list[list[Any]]]) -> None:
        self.sabs = sabs
        self._rows = rows

    def written(self, codes: Iterable[str], most_alike: int | None = None) -> Nodes:
        """Codes as they are written, and those written like one that the release lacks, of ``most_alike`` of these."""
        encodable = [code for code in codes if code.encode(errors="ignore").decode() == code]  # no lone surrogate
        nodes = self._nodes(cypher.CODES, encodable)
        missing = [code for code in encodable if (code.partition(":")[0], code) not in nodes][:most_alike]
        forms = chain.from_iterable(alike_forms(self.sabs, code) for code in missing)
        return nodes | self._nodes(cypher.CODES, dict.fromkeys(forms))

    def of_concepts(self, cuis: Iterable[str]) -> Nodes:
        """All codes of some concepts."""
        return self._nodes(cypher.CODES_OF_CONCEPTS, cuis)

    def _nodes(self, text: LiteralString, keys: Iterable[str]) -> Nodes:
        keys = list(keys)
        chunks = (keys[first : first + _CODES_A_TRANSACTION] for first in range(0, len(keys), _CODES_A_TRANSACTION))
        return {(node[1], node[0]): node for chunk in chunks for node in self._rows(text, keys=chunk)}

    def table(self, nodes: Nodes, cuis: Iterable[str]) -> SourceCodes:
        """Codes and concepts as a snapshot has them. The concepts have no other codes."""
        concepts = IdentifierTable.packed(identifier_array(sorted({*cuis, *holders_of(nodes)})))
        sections = held_sections(_holders(list(nodes.values()), self.sabs, concepts), len(concepts))
        return SourceCodes(Sections({"code_sabs": self.sabs}, sections), concepts)


def holders_of(nodes: Nodes) -> set[str]:
    """The concepts that have one of these codes."""
    return set(chain.from_iterable(node[2] for node in nodes.values()))


def release_codes(
    properties: Mapping[str, Any], cuis: Sequence[str], blocks: Iterator[Sequence[Node]]
) -> Callable[[], tuple[dict[str, npt.NDArray[Any]], tuple[str, ...]]] | None:
    """Makes the sections of the codes of a release, and lists their vocabularies: see `GraphTables.codes`.

    Args:
        properties: of the release.
        blocks: all its codes.

    Raises:
        ReleaseMismatch: they are not those that were loaded.
    """
    if (sabs := code_sabs(properties)) is None:
        return None
    concepts = IdentifierTable.packed(identifier_array(cuis))
    holders = CodeHolders.joined([_holders([], sabs, concepts), *(_holders(block, sabs, concepts) for block in blocks)])
    if len(holders.codes) != properties["codes"] or (holders.concepts < 0).any():
        raise ReleaseMismatch(
            f"release {properties['number']} has {len(holders.codes):,} codes in the database, and was loaded with "
            f"{properties['codes']:,}: somebody has changed them since. Load it again."
        )
    return lambda: (held_sections(holders, len(concepts)), sabs)


def _holders(nodes: Sequence[Node], sabs: Sequence[str], concepts: IdentifierTable) -> CodeHolders:
    positions = {sab: position for position, sab in enumerate(sabs)}
    counts = [len(node[2]) for node in nodes]
    marks = chain.from_iterable(node[3] or CODE_MARKS[:1] * len(node[2]) for node in nodes)
    return CodeHolders(
        sabs=np.array([positions[node[1]] for node in nodes], dtype=np.uint16),
        codes=StringTable.of([node[0][len(node[1]) + 1 :] for node in nodes]),
        counts=np.array(counts, dtype=np.int64),
        concepts=concepts.positions(list(chain.from_iterable(node[2] for node in nodes))),
        positions=np.array(list(chain.from_iterable(node[5] for node in nodes)), dtype=np.int64),
        marks=np.array(list(map(CODE_MARKS.index, marks)), dtype=np.uint8),
        source_concepts=StringTable.of(list(chain.from_iterable(node[4] or [""] * len(node[2]) for node in nodes))),
    )
