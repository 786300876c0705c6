"""Files that map the identifiers of one vocabulary to concepts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from cuihop.collection.columns import Columns
from cuihop.collection.concept_rows import separated
from cuihop.files.content_digest import content_digest
from cuihop.files.input_file import Readable, opened_input
from cuihop.files.records import Records
from cuihop.files.text_lines import counted, quoted
from cuihop.identifiers import identifier_fault, in_upper_case, looks_like_identifier

_COLUMNS = Columns(
    usual=(("identifier", "id", "mesh"), ("cui", "cuis", "concept", "concepts")),
    contents="identifiers and concepts", expected="two columns separated by a comma: identifier and concept",
    advice="Call them identifier and CUI.",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class IdentifierMap:
    """Identifier of another vocabulary → its concepts, any of which is right.

    Attributes:
        concepts: identifier → concepts, in the order of the file.
        source: the file. form: how it was read.
    """

    concepts: Mapping[str, tuple[str, ...]]
    source: str = "memory"
    form: str = ""

    @classmethod
    def read(cls, path: Readable) -> IdentifierMap:
        """Read identifiers and concepts: CSV of two columns with or without a header, JSON Lines or Parquet.

        An identifier may have several rows, or several concepts separated by ``;``.

        Raises:
            InputError: a field is empty, a concept is malformed, or the file is empty; names the line.
        """
        found: dict[str, dict[str, None]] = {}
        records = Records.of(opened_input(path), _COLUMNS.expected)
        in_csv = records.table is None and not records.in_json and len(records.names) == 2
        if in_csv and any(map(looks_like_identifier, separated(records.names[1].strip()))):
            records = records.without_header(("identifier", "CUI"))
        chosen = _COLUMNS.choose(records)
        places = (chosen.first, chosen.second)
        fault = records.row_fault(places)
        for row, (identifier, concepts) in records.texts(places):
            listed = [concept.strip() for concept in separated(concepts)]
            if not identifier or not listed:
                column = "identifier" if not identifier else "concept"
                raise fault(f"the {column} is missing", row, int(bool(identifier)), "nothing", f"the {column}")
            for concept in listed:
                if (problem := identifier_fault(concept)) is not None:
                    raise fault(problem.problem, row, 1, quoted(concept), problem.expected)
                found.setdefault(identifier, {})[in_upper_case(concept)] = None
        if not found:
            raise fault.empty("identifier", _COLUMNS.expected)
        form = ", ".join(filter(None, (records.form, chosen.account)))
        return cls({identifier: tuple(concepts) for identifier, concepts in found.items()}, records.source, form)

    @property
    def account(self) -> str:
        """Summary of the parsed input, in one line."""
        pairs = sum(map(len, self.concepts.values()))
        parts = (counted(len(self.concepts), "identifier"), counted(pairs, "concept"), self.form)
        return f"{self.source}: {', '.join(filter(None, parts))}"

    @property
    def digest(self) -> str:
        """SHA-256 of the content."""
        return content_digest({identifier: list(concepts) for identifier, concepts in self.concepts.items()})

    def find(self, identifier: str) -> tuple[str, ...]:
        """The concepts of an identifier; with and without a prefix such as ``MESH:`` it is the same. Empty if none."""
        for spelling in (identifier, without_prefix(identifier)):
            if spelling in self.concepts:
                return self.concepts[spelling]
        return self._bare.get(identifier, ())

    @cached_property
    def _bare(self) -> Mapping[str, tuple[str, ...]]:
        """The same by identifiers without prefix; one that two vocabularies have has no entry."""
        times = Counter(map(without_prefix, self.concepts))
        bare = ((without_prefix(identifier), concepts) for identifier, concepts in self.concepts.items())
        return {identifier: concepts for identifier, concepts in bare if times[identifier] == 1}


def without_prefix(identifier: str) -> str:
    """The identifier without the name of its vocabulary.

    >>> without_prefix("MESH:D003110"), without_prefix("D003110")
    ('D003110', 'D003110')
    """
    return identifier.rpartition(":")[2]
