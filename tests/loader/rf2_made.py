"""Small files of SNOMED CT in Release Format 2, in the published layout. Identifiers and names are made up."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

IS_A = "116680003"
FINDING_SITE = "363698007"
FULLY_SPECIFIED, SYNONYM, DEFINITION = "900000000000003001", "900000000000013009", "900000000000550004"
SAME_AS, REPLACED_BY, POSSIBLY = "900000000000527005", "900000000000526001", "900000000000523009"
PREFERRED, ACCEPTABLE = "900000000000548007", "900000000000549004"
MODULE = "900000000000207008"

HEADERS = {
    "Relationship": "sourceId destinationId relationshipGroup typeId characteristicTypeId modifierId",
    "Concept": "definitionStatusId",
    "Description": "conceptId languageCode typeId term caseSignificanceId",
    "Language": "refsetId referencedComponentId acceptabilityId",
    "Association": "refsetId referencedComponentId targetComponentId",
}
PLACES = {
    "Relationship": "Snapshot/Terminology/sct2_Relationship_Snapshot_INT_20250101.txt",
    "Concept": "Snapshot/Terminology/sct2_Concept_Snapshot_INT_20250101.txt",
    "Description": "Snapshot/Terminology/sct2_Description_Snapshot-en_INT_20250101.txt",
    "Language": "Snapshot/Refset/Language/der2_cRefset_LanguageSnapshot-en_INT_20250101.txt",
    "Association": "Snapshot/Refset/Content/der2_cRefset_AssociationSnapshot_INT_20250101.txt",
}


def relationship(child: int, parent: int, kind: str = IS_A, active: int = 1) -> str:
    """A row of the relationships: child and parent are numbers of concepts."""
    row = f"{child}{parent:05d}025\t20250101\t{active}\t{MODULE}\t{sctid(child)}\t{sctid(parent)}\t0\t{kind}\t"
    return row + "900000000000011006\t900000000000451002"


def concept(number: int, active: int = 1) -> str:
    """A row of the concepts."""
    return f"{sctid(number)}\t20250101\t{active}\t{MODULE}\t900000000000074008"


def description(identifier: int, number: int, text: str, kind: str = SYNONYM, active: int = 1) -> str:
    """A row of the descriptions."""
    return f"{identifier}\t20250101\t{active}\t{MODULE}\t{sctid(number)}\ten\t{kind}\t{text}\t900000000000448009"


def acceptability(identifier: int, value: str = PREFERRED, active: int = 1) -> str:
    """A row of the language reference set."""
    return f"{_uuid(identifier)}\t20250101\t{active}\t{MODULE}\t900000000000509007\t{identifier}\t{value}"


def association(kind: str, number: int, target: int, active: int = 1) -> str:
    """A row of the historical associations."""
    return f"{_uuid(number)}\t20250101\t{active}\t{MODULE}\t{kind}\t{sctid(number)}\t{sctid(target)}"


def sctid(number: int) -> str:
    """The identifier of a concept."""
    return f"{number}00000{number % 10}004"


def _uuid(number: int) -> str:
    return f"80000000-0000-4000-8000-{number:012d}"


def released(folder: Path, line_end: str = "\n", **rows: Sequence[str]) -> Path:
    """Write the files of a release; the rows of each by the names of `PLACES`."""
    for role, of_role in rows.items():
        path = folder / PLACES[role]
        path.parent.mkdir(parents=True, exist_ok=True)
        header = "\t".join(["id", "effectiveTime", "active", "moduleId", *HEADERS[role].split()])
        path.write_bytes("".join(row + line_end for row in (header, *of_role)).encode())
    return folder
