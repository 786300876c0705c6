"""Small files of OMOP vocabularies, in the layout in which Athena gives them. Identifiers and names are made up."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

HEADERS = {
    "CONCEPT": "concept_id concept_name domain_id vocabulary_id concept_class_id standard_concept concept_code "
    "valid_start_date valid_end_date invalid_reason",
    "CONCEPT_RELATIONSHIP": "concept_id_1 concept_id_2 relationship_id valid_start_date valid_end_date invalid_reason",
    "CONCEPT_SYNONYM": "concept_id concept_synonym_name language_concept_id",
    "CONCEPT_ANCESTOR": "ancestor_concept_id descendant_concept_id min_levels_of_separation max_levels_of_separation",
    "VOCABULARY": "vocabulary_id vocabulary_name vocabulary_reference vocabulary_version vocabulary_concept_id",
}
DATES = "19700101\t20991231"


def concept(number: int, standard: str = "S", invalid: str = "", **fields: str) -> str:
    """A row of CONCEPT, whose name and code follow from its number."""
    row = {"name": f"Concept {number}", "domain": "Condition", "sab": "SNOMED", "kind": "Disorder"}
    row |= {"code": f"s{number}", **fields}
    return "{}\t{name}\t{domain}\t{sab}\t{kind}\t{}\t{code}\t{}\t{}".format(number, standard, DATES, invalid, **row)


def relationship(first: int, kind: str, second: int, invalid: str = "") -> str:
    """A row of CONCEPT_RELATIONSHIP."""
    return f"{first}\t{second}\t{kind}\t{DATES}\t{invalid}"


def synonym(number: int, text: str, language: int = 4180186) -> str:
    """A row of CONCEPT_SYNONYM."""
    return f"{number}\t{text}\t{language}"


def ancestor(above: int, below: int, levels: int) -> str:
    """A row of CONCEPT_ANCESTOR."""
    return f"{above}\t{below}\t{levels}\t{levels}"


def vocabulary(sab: str, version: str) -> str:
    """A row of VOCABULARY."""
    return f"{sab}\tName of {sab}\tOMOP generated\t{version}\t44819096"


def text(name: str, rows: Sequence[str]) -> str:
    """The content of a file."""
    return "".join(f"{line}\n" for line in ("\t".join(HEADERS[name].split()), *rows))


def released(folder: Path, **rows: Sequence[str]) -> Path:
    """A folder with some of the files."""
    folder.mkdir(exist_ok=True)
    for name, of_file in rows.items():
        (folder / f"{name}.csv").write_text(text(name, of_file), encoding="utf-8")
    return folder
