"""SNOMED CT in Release Format 2: the files of a snapshot, of which the relationships are required.

Columns and identifiers: SNOMED CT Release File Specification, sections 4.2 (components) and 5.2 (reference sets).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from cuihop.errors import InputError
from cuihop_loader.rejected_rows import excerpt
from cuihop_loader.report import FileReport
from cuihop_loader.sources import SourceFile
from cuihop_loader.term_files import Term, TermFile, TermReading

_COMPONENT = "id effectiveTime active moduleId "
_COLUMNS: Mapping[str, Sequence[str]] = {
    role: (_COMPONENT + columns).split()
    for role, columns in {
        "RF2 Relationship": "sourceId destinationId relationshipGroup typeId characteristicTypeId modifierId",
        "RF2 Concept": "definitionStatusId",
        "RF2 Description": "conceptId languageCode typeId term caseSignificanceId",
        "RF2 Language": "refsetId referencedComponentId acceptabilityId",
        "RF2 Association": "refsetId referencedComponentId targetComponentId",
    }.items()
}

_IS_A = b"116680003"
_FULLY_SPECIFIED, _SYNONYM = b"900000000000003001", b"900000000000013009"
_PREFERRED = b"900000000000548007"
_SUCCESSORS = {b"900000000000527005": "SY", b"900000000000526001": "SY", b"900000000000523009": "RO"}
"""SAME AS, REPLACED BY and POSSIBLY EQUIVALENT TO, as UMLS relations."""

_SCTID = re.compile(rb"[1-9][0-9]{5,17}")
_DATE = re.compile(r"_(\d{8})\.")


class _Rf2Table(TermFile):
    """One file: its active rows, and the count of the others."""

    def __init__(self, file: SourceFile, reading: TermReading) -> None:
        super().__init__(file, reading)
        self.used = 0
        self._columns = _COLUMNS[file.role]

    def rows(self, *wanted: str, identifiers: Sequence[str], inactive: bool = False) -> Iterator[list[bytes]]:
        """The wanted columns of each active row, and of each inactive one where asked for.

        Args:
            identifiers: those of them that hold an SCTID.
            inactive: give all rows.
        """
        lines = self.text_lines()
        header = next(lines, b"").decode().split("\t")
        if header != self._columns:
            raise InputError(
                f"not the columns of {self.role}", file=str(self.file), line=1,
                found=excerpt(", ".join(header).encode()),
                expected="a header with " + ", ".join(self._columns) + ", separated by tabs",
            )  # fmt: skip
        positions = [self._columns.index(name) for name in wanted]
        checked = [self._columns.index(name) for name in identifiers]
        valid: set[bytes] = set()
        for line in lines:
            if not line:
                continue
            fields = line.split(b"\t")
            if (error := self._problem(fields, checked, valid)) is not None:
                position, problem, expected = error
                column = self._columns[position] if position < len(self._columns) else position + 1
                actual = excerpt(fields[position]) if position < len(fields) else f"{len(fields)} columns"
                self.reject(self.lines, column, problem, line, expected, actual)
            elif fields[2] == b"0" and not inactive:
                self.skipped["inactive"] += 1
            else:
                self.used += 1
                yield [fields[position] for position in positions]

    def _problem(
        self, fields: Sequence[bytes], checked: Sequence[int], valid: set[bytes]
    ) -> tuple[int, str, str] | None:
        """The position of a field that breaks the format, the problem, and what was expected."""
        width = len(self._columns)
        if len(fields) != width:
            problem = "too few columns" if len(fields) < width else "too many columns"
            return min(len(fields), width), problem, f"{width} columns, separated by tabs"
        if fields[2] not in (b"0", b"1"):
            return 2, "neither active nor inactive", "1 or 0"
        for position in checked:
            if fields[position] not in valid:
                if not _SCTID.fullmatch(fields[position]):
                    return position, "not an SCTID", "6 to 18 digits"
                valid.add(fields[position])
        return None

    def skip(self, reason: str) -> None:
        """Count a row that `rows` gave among those left out."""
        self.used -= 1
        self.skipped[reason] += 1


class Rf2File(_Rf2Table):
    """A file of the relationships of a snapshot, with the other files of the release; its name has the version."""

    def __init__(self, file: SourceFile, reading: TermReading) -> None:
        super().__init__(file, reading)
        self.ontology = "SNOMEDCT"
        date = _DATE.search(file.parts[0].name)
        self.version = date[1] if date else None
        self._companions: dict[str, list[_Rf2Table]] = defaultdict(list)
        for other in file.companions:
            self._companions[other.role].append(_Rf2Table(other, reading))

    @property
    def companions(self) -> Sequence[FileReport]:
        """See `cuihop_loader.term_files.TermFile`."""
        return [table.report(table.used, table.skipped) for tables in self._companions.values() for table in tables]

    def terms(self) -> Iterator[Term]:
        """See `cuihop_loader.term_files.TermFile`."""
        terms = self._concepts()
        knows_concepts = bool(self._companions["RF2 Concept"])
        self._read_names(terms, self._preferred(), keep_others=not knows_concepts)
        self._read_successors(terms)
        used = ("sourceId", "destinationId", "typeId")
        for child, parent, kind in self.rows(*used, identifiers=used):
            if kind != _IS_A:
                self.skip("other relationship")
                continue
            for end in (child, parent):
                if end not in terms:
                    terms[end] = Term(end.decode(), self.lines, defined=not knows_concepts)
            terms[child].parents.append(parent.decode())
        if not self.used and not self.skipped and not self.bad:
            raise self.lacks("rows", "rows below the header")
        yield from terms.values()

    def _concepts(self) -> dict[bytes, Term]:
        """Terms of the concept file: inactive ones are obsolete."""
        terms: dict[bytes, Term] = {}
        tables = self._companions["RF2 Concept"]
        for table in tables:
            for identifier, active in table.rows("id", "active", identifiers=("id",), inactive=True):
                terms[identifier] = Term(identifier.decode(), table.lines, obsolete=active == b"0")
        if not tables:
            self.warnings.append("no sct2_Concept_Snapshot: retired concepts are unknown")
        return terms

    def _preferred(self) -> set[bytes]:
        """Descriptions that a language reference set prefers."""
        wanted = ("referencedComponentId", "acceptabilityId")
        return {
            description
            for table in self._companions["RF2 Language"]
            for description, acceptability in table.rows(*wanted, identifiers=wanted)
            if acceptability == _PREFERRED
        }

    def _read_names(self, terms: dict[bytes, Term], preferred: set[bytes], *, keep_others: bool) -> None:
        """Give each term its names: a preferred synonym first, then the fully specified name, then other synonyms."""
        tables = self._companions["RF2 Description"]
        ranked: dict[bytes, list[tuple[int, int, str]]] = defaultdict(list)
        for table in tables:
            wanted = ("id", "conceptId", "typeId", "term")
            for description, concept, kind, text in table.rows(*wanted, identifiers=wanted[:3]):
                if kind not in (_FULLY_SPECIFIED, _SYNONYM) or not text.strip():
                    table.skip("other description")
                elif concept in terms and terms[concept].obsolete:
                    table.skip("inactive concept")
                else:
                    rank = 1 if kind == _FULLY_SPECIFIED else 0 if description in preferred else 2
                    ranked[concept].append((rank, len(ranked[concept]), text.decode().strip()))
        for concept, names in ranked.items():
            if concept not in terms:
                if not keep_others:
                    continue
                terms[concept] = Term(concept.decode(), 0)
            term = terms[concept]
            term.name, *term.synonyms = dict.fromkeys(name for _, _, name in sorted(names))
        if not tables:
            self.warnings.append("no sct2_Description_Snapshot: concepts have no names")
        elif not self._companions["RF2 Language"]:
            self.warnings.append(
                "no der2_cRefset_LanguageSnapshot: the fully specified name of a concept is its preferred one"
            )

    def _read_successors(self, terms: Mapping[bytes, Term]) -> None:
        """Give retired concepts their successors."""
        for table in self._companions["RF2 Association"]:
            wanted = ("refsetId", "referencedComponentId", "targetComponentId")
            for refset, concept, target in table.rows(*wanted, identifiers=wanted):
                if refset not in _SUCCESSORS:
                    table.skip("other association")
                elif (term := terms.get(concept)) is None or not term.obsolete:
                    table.skip("not a retired concept")
                elif _SUCCESSORS[refset] == "SY":
                    term.replaced_by.append(target.decode())
                else:
                    term.consider.append(target.decode())
