"""Names of concepts from a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cuihop.collection.columns import ChosenColumns, Columns
from cuihop.files.input_file import Readable, opened_input
from cuihop.files.records import Records, RowFault
from cuihop.files.text_lines import counted, quoted
from cuihop.identifiers import identifier_fault, in_upper_case, looks_like_identifier

__all__ = ["ConceptNames", "ConceptSynonyms"]

_COLUMNS = Columns(
    usual=(("cui", "concept", "id", "identifier"), ("name", "names", "preferred_name", "canonical name", "str")),
    contents="concepts and names", expected="two columns separated by a comma or a tab: concept and name",
    advice="Call them CUI and name.",
)  # fmt: skip


@dataclass(frozen=True)
class ConceptNames(Mapping[str, str]):
    """Concept → its name.

    Attributes:
        names: the mapping behind it. source: the file. form: how it was read.
    """

    names: Mapping[str, str]
    source: str = "memory"
    form: str = ""

    def __getitem__(self, cui: str) -> str:
        return self.names[cui]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def account(self) -> str:
        """Summary of the parsed input, in one line."""
        return f"{self.source}: " + ", ".join(filter(None, (counted(len(self), "name"), self.form)))

    @classmethod
    def read(cls, path: Readable) -> ConceptNames:
        """Read concepts and names: two columns of CSV or TSV with or without a header, JSON Lines or Parquet.

        A CUI in lower case is read in upper case. A concept may stand again with the same name.

        Raises:
            InputError: a concept is malformed, has two names or an empty one; the columns are swapped; the file holds
                none. Names the line.
        """
        rows = _NameRows.of(path)
        names: dict[str, str] = {}
        lines: dict[str, int] = {}
        for row, cui, name in rows:
            if names.setdefault(cui, name) != name:
                before = f"{quoted(names[cui])} in {rows.fault.unit} {lines[cui]:,}"
                expected = f"one name for each concept, as {before}"
                raise rows.fault(f"a second name of {cui}", row, 1, quoted(name), expected)
            lines.setdefault(cui, row)
        return cls(names, rows.records.source, rows.form)


@dataclass(frozen=True)
class ConceptSynonyms:
    """Names of concepts, of which a concept may have several.

    Attributes:
        names: pairs of concept and name, each once, in their order. source: the file. form: how it was read.
    """

    names: tuple[tuple[str, str], ...]
    source: str = "memory"
    form: str = ""

    @property
    def account(self) -> str:
        """Summary of the parsed input, in one line."""
        concepts = counted(len({cui for cui, _ in self.names}), "concept")
        return f"{self.source}: " + ", ".join(
            filter(None, (f"{counted(len(self.names), 'name')} of {concepts}", self.form))
        )

    @classmethod
    def read(cls, path: Readable) -> ConceptSynonyms:
        """Read concepts and names as `ConceptNames.read` does, but with several names of a concept.

        Raises:
            InputError: as `ConceptNames.read`.
        """
        rows = _NameRows.of(path)
        names = dict.fromkeys((cui, name) for _, cui, name in rows)
        return cls(tuple(names), rows.records.source, rows.form)


@dataclass(frozen=True)
class _NameRows:
    """The rows of a file of concepts and names.

    Attributes:
        records: the file. chosen: its columns. fault: makes the error about a row.
    """

    records: Records
    chosen: ChosenColumns
    fault: RowFault

    @classmethod
    def of(cls, path: Readable) -> _NameRows:
        records = Records.of(opened_input(path), _COLUMNS.expected)
        in_csv = records.table is None and not records.in_json and len(records.names) == 2
        if in_csv and looks_like_identifier(records.names[0].strip()):
            records = records.without_header(("CUI", "name"))
        chosen = _COLUMNS.choose(records)
        return cls(records, chosen, records.row_fault((chosen.first, chosen.second)))

    @property
    def form(self) -> str:
        """Form of the file, for its account."""
        return ", ".join(filter(None, (self.records.form, self.chosen.account)))

    def __iter__(self) -> Iterator[tuple[int, str, str]]:
        """Number, concept and name of each row."""
        row = 0
        for row, (written, name) in self.records.texts((self.chosen.first, self.chosen.second)):
            if (problem := identifier_fault(written)) is not None:
                raise self.fault(problem.problem, row, 0, quoted(written), problem.expected)
            if looks_like_identifier(name) and not looks_like_identifier(written):
                expected = "the concept, and behind it its name"
                raise self.fault("the columns are swapped", row, 0, quoted(written), expected)
            if not name:
                raise self.fault("the name is missing", row, 1, "nothing", "a name")
            yield row, in_upper_case(written), name
        if not row:
            raise self.fault.empty("concept", _COLUMNS.expected)
