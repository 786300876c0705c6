"""Data of the measurements of annotation: an open dictionary as a release, abstracts with their diseases, many names.

The dictionary is made of openly licensed parts: ``rrf_open`` (DOID, MONDO, MeSH and UBERON on UMLS concepts, with their
hierarchy), the exact synonyms of DOID, and those of MONDO as the package cellxgene-ontology-guide carries them. A
synonym of a term is a name of the concept that ``rrf_open`` gives for this term.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from cuihop.files.input_file import opened_input

__all__ = ["CORPUS", "DISEASES", "Abstract", "OpenDictionary", "abstracts", "names_at_scale", "write_release"]

CORPUS = "ncbi_disease"
DISEASES = ("DOID", "MONDO")
"""Vocabularies of diseases."""
_CONSO = "rrf_open/MRCONSO.RRF.gz"
_DOID = "hierarchies/doid_2016-09-01.obo.gz"
_AT_SCALE = ("CL", "EFO", "UBERON", "MONDO", "CHEBI", "NCBITaxon")
_UMLS = re.compile(r"UMLS_CUI:(C\d{7})")
_SYNONYM = re.compile(r'synonym: "(.*)" EXACT ')


@dataclass(frozen=True)
class Abstract:
    """A text and its true identifiers.

    Attributes:
        identifier: the number in PubMed.
        text: title and abstract, joined by a blank: offsets count from its beginning.
        diseases: identifiers in MeSH (``MESH:D005955``) and OMIM (``OMIM:254600``), each once.
    """

    identifier: str
    text: str
    diseases: frozenset[str]


def abstracts(file: Path) -> list[Abstract]:
    """Abstracts of a PubTator file. Joined identifiers (``+``, ``|``) count as several."""
    with gzip.open(file, "rt", encoding="utf-8") as opened:
        blocks = opened.read().split("\n\n")
    return [_abstract(block.strip("\n").split("\n")) for block in blocks if block.strip()]


def _abstract(lines: Sequence[str]) -> Abstract:
    (identifier, _, title), (_, _, body) = (line.split("|", 2) for line in lines[:2])
    marked = [part.strip() for line in lines[2:] for part in re.split(r"[+|]", line.split("\t")[5])]
    return Abstract(
        identifier, f"{title} {body}", frozenset(part if ":" in part else f"MESH:{part}" for part in marked)
    )


@dataclass
class OpenDictionary:
    """Names and identifiers of diseases on UMLS concepts.

    Attributes:
        synonyms: rows of names beyond those of ``rrf_open``: concept, vocabulary, code, name.
        identifiers: concepts of an identifier in MeSH or OMIM.
    """

    synonyms: list[tuple[str, str, str, str]] = field(default_factory=list)
    identifiers: Mapping[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    @classmethod
    def of(cls, data: Path) -> OpenDictionary:
        """The dictionary of a folder of shared data."""
        dictionary, concepts = cls(), defaultdict(set)
        with gzip.open(data / _CONSO, "rt", encoding="utf-8") as rows:
            for row in rows:
                columns = row.split("|")
                cui, sab, code = columns[0], columns[11], columns[13]
                if sab == "MSH":
                    dictionary.identifiers[f"MESH:{code}"].add(cui)
                else:
                    concepts[code].add(cui)
        for term, names, others in _doid_terms(data / _DOID):
            own = {found[1] for other in others if (found := _UMLS.match(other))} | concepts[term]
            dictionary._add("DOID", term, names, own)
            for other in others:
                if other.startswith(("MESH:", "OMIM:")):
                    dictionary.identifiers[other] |= own
        for term, record in ontology_terms("MONDO").items():
            if not record.get("deprecated"):
                dictionary._add("MONDO", term, [record["label"], *record.get("synonyms", ())], concepts[term])
        return dictionary

    def _add(self, sab: str, term: str, names: Sequence[str], concepts: set[str]) -> None:
        self.synonyms += [(cui, sab, term, name) for cui in sorted(concepts) for name in dict.fromkeys(names) if name]


def _doid_terms(file: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    with gzip.open(file, "rt", encoding="utf-8") as opened:
        for stanza in opened.read().split("\n\n"):
            lines = stanza.strip().split("\n")
            if lines[0] == "[Term]" and "is_obsolete: true" not in lines:
                names = [line[6:] for line in lines if line.startswith("name: ")]
                names += [found[1].strip() for line in lines if (found := _SYNONYM.match(line))]
                yield lines[1][4:], names, [line[6:].strip() for line in lines if line.startswith("xref: ")]


@lru_cache(maxsize=1)
def _ontology_folder() -> Path:
    return Path(str(files("cellxgene_ontology_guide"))) / "data"


def ontology_file(ontology: str) -> Path:
    """The newest file of an ontology of cellxgene-ontology-guide."""
    return max(_ontology_folder().glob(f"{ontology}-ontology-*.json.zst"))


def ontology_terms(ontology: str) -> dict[str, dict[str, Any]]:
    """Terms of an ontology of cellxgene-ontology-guide: label, synonyms, ancestors with their distance."""
    with opened_input(ontology_file(ontology)).text() as opened:
        terms: dict[str, dict[str, Any]] = json.load(opened)
    return terms


def write_release(data: Path, dictionary: OpenDictionary, folder: Path, *, capitals: bool = True) -> Path:
    """Write MRREL and MRCONSO of the dictionary, as `cuihop load` reads them; the folder is returned.

    Args:
        data: the folder of shared data.
        dictionary: its dictionary.
        folder: to write to.
        capitals: otherwise all names in small letters, so that none is an acronym.
    """
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(data / "rrf_open" / "MRREL.RRF.gz", folder / "MRREL.RRF.gz")
    with (
        gzip.open(data / _CONSO, "rt", encoding="utf-8") as given,
        (folder / "MRCONSO.RRF").open("w", encoding="utf-8") as file,
    ):
        for line in given:
            columns = line.split("|")
            columns[14] = columns[14] if capitals else columns[14].lower()
            file.write("|".join(columns))
        for row, (cui, sab, code, name) in enumerate(dictionary.synonyms, start=1):
            numbers = f"L{8_000_000 + row}|PF|S{8_000_000 + row}|N|A{8_000_000 + row}"
            file.write(f"{cui}|ENG|S|{numbers}||{code}||{sab}|SY|{code}|{name if capitals else name.lower()}|0|N||\n")
    return folder


def names_at_scale(most: int | None = None) -> list[str]:
    """Distinct names and synonyms of six ontologies, lower case: 1.7 million, or the first ``most`` of them."""
    names: dict[str, None] = {}
    for ontology in _AT_SCALE:
        for record in ontology_terms(ontology).values():
            for name in (record["label"], *record.get("synonyms", ())):
                names[" ".join(name.lower().split())] = None
        if most is not None and len(names) >= most:
            break
    names.pop("", None)
    return list(names)[:most]
