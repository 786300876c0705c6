"""Names of concepts from a file, for graphs that have none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cuihop.collection.columns import Columns
from cuihop.files.input_file import Readable, opened_input
from cuihop.files.records import Records
from cuihop.files.text_lines import counted, quoted
from cuihop.identifiers import identifier_fault, in_upper_case, looks_like_identifier

__all__ = ["ConceptNames"]

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
        records = Records.of(opened_input(path), _COLUMNS.expected)
        in_csv = records.table is None and not records.in_json and len(records.names) == 2
        if in_csv and looks_like_identifier(records.names[0].strip()):
            records = records.without_header(("CUI", "name"))
        chosen = _COLUMNS.choose(records)
        places = (chosen.first, chosen.second)
        fault = records.row_fault(places)
        names: dict[str, str] = {}
        rows: dict[str, int] = {}
        for row, (written, name) in records.texts(places):
            if (problem := identifier_fault(written)) is not None:
                raise fault(problem.problem, row, 0, quoted(written), problem.expected)
            if looks_like_identifier(name) and not looks_like_identifier(written):
                raise fault("the columns are swapped", row, 0, quoted(written), "the concept, and behind it its name")
            if not name:
                raise fault("the name is missing", row, 1, "nothing", "a name")
            cui = in_upper_case(written)
            if names.setdefault(cui, name) != name:
                before = f"{quoted(names[cui])} in {fault.unit} {rows[cui]:,}"
                raise fault(f"a second name of {cui}", row, 1, quoted(name), f"one name for each concept, as {before}")
            rows.setdefault(cui, row)
        if not names:
            raise fault.empty("concept", _COLUMNS.expected)
        return cls(names, records.source, ", ".join(filter(None, (records.form, chosen.account))))
