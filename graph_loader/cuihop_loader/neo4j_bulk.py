"""Bulk import into an empty Neo4j database at the speed of the disk: files for ``neo4j-admin database import full``.

The import creates the store while no server serves it. Then the server is started, `finish_bulk` creates the
schema, reads the release back, and then marks it complete; before that a `Neo4jGraph` refuses it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from cuihop.errors import InputError, OutputError, ReleaseMismatch
from cuihop.files.written_files import replaced_file
from cuihop.neo4j_graph.connection import Neo4jConnection
from cuihop.neo4j_graph.releases import SCHEMA_VERSION, StoredRelease, install_schema, stored_release, stored_releases
from cuihop.resources.arrays import Int32, UInt8
from cuihop.snapshot.file import Sections
from cuihop_loader.neo4j_online import FINISH_RELEASE, SAME_CONTENT, verify_stored
from cuihop_loader.neo4j_rows import ReleaseRows, blocks

_NUMBER = 1  # the first release of a new database
_CONCEPTS_A_BLOCK = 50_000
_ARRAY_DELIMITER = "\x1f"
_CODE_BLOBS = ("code_blob", "code_concept_blob")
_TABLES = {
    "store": ("CuihopStore", "id:long,schema:long,active:long,labelled:long,last_number:long,activated:long"),
    "release": (
        "Release",
        "number:long,name,digest,relations:string[],sabs:string[],identifiers,concepts:long,edges:long,"
        "retired:long,codes:long,code_sabs:string[],source,content,report,state,concepts_loaded:long,"
        "edges_loaded:long,retired_loaded:long,codes_loaded:long",
    ),
    "concepts": (
        "Concept:StoredConcept",
        ":ID(Concept),cui,release:long,number:long,component:long,name,synonyms:string[],folded:string[],"
        "semantic_types:string[],definition_sabs:string[],definitions:string[],weight:long,codes:string[]",
    ),
    "retired": ("RetiredConcept", "release:long,cui,relation,successor"),
    "types": ("SemanticType", "release:long,number:long,code,name"),
    "vocabularies": ("SourceVocabulary", "release:long,sab,edges:long"),
    "codes": (
        "SourceCode",
        "release:long,code,sab,cuis:string[],marks:string[],source_concepts:string[],positions:long[]",
    ),
    "pages": ("SearchPage", "release:long,prefix,cuis:string[],places:long[],kinds:string[]"),
    "forms": ("SearchForm", "release:long,form,words:string[]"),
    "spellings": ("SearchWords", "release:long,number:long,words:string[]"),
    "edges": ("IS_A", ":START_ID(Concept),:END_ID(Concept),sabs:string[]"),
}
"""Label, and header, of each file; that of edges has a type of relationship instead of a label."""


def write_bulk_files(sections: Sections, folder: Path) -> list[str]:
    """Write the release as CSV files, into a folder that is created where it is missing.

    Returns:
        The arguments of ``neo4j-admin`` that import the files, in place of a database with every release in it.

    Raises:
        OutputError: the disk is full, or the folder cannot be written.
        InputError: a name or definition is empty, or one or a code has the control character that separates elements
            of lists.
    """
    rows = ReleaseRows(sections)
    texts = [sections[name] for name in ("name_blob", "definition_blob", *_CODE_BLOBS) if name in sections]
    if any((blob == ord(_ARRAY_DELIMITER)).any() for blob in texts):
        raise InputError(
            "a name, definition or code holds the control character U+001F, which separates them in the files of the "
            "import"
        )
    properties = rows.properties()
    loaded = {f"{kind}_loaded": properties[kind] or 0 for kind in ("concepts", "edges", "retired", "codes")}
    release = {"number": _NUMBER, **properties, "state": "loading", **loaded}
    columns = [column.partition(":")[0] for column in _TABLES["release"][1].split(",")]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, (_, header) in _TABLES.items():
            with _written(folder / f"{name}-header.csv") as file:
                file.write(header + "\n")
        _write(folder / "store.csv", [(0, SCHEMA_VERSION, _NUMBER, _NUMBER, _NUMBER, time.time_ns())])
        _write(folder / "release.csv", [tuple(release[column] for column in columns)])
        _write(folder / "retired.csv", ((_NUMBER, *row) for row in rows.retired_rows(0, len(rows.retired_cuis))))
        _write(folder / "types.csv", ((_NUMBER, *row) for row in rows.type_rows()))
        _write(folder / "vocabularies.csv", ((_NUMBER, *row) for row in rows.vocabulary_rows()))
        codes = chain.from_iterable(
            rows.code_rows(*block) for block in blocks(0, len(rows.codes or ()), _CONCEPTS_A_BLOCK)
        )
        _write(folder / "codes.csv", ((_NUMBER, *row, [*map(str, at)]) for *row, at in codes))
        pages = ((_NUMBER, word, cuis, [*map(str, at)], kinds) for word, cuis, at, kinds in rows.page_rows())
        _write(folder / "pages.csv", pages)
        _write(folder / "forms.csv", ((_NUMBER, *row) for row in rows.form_rows()))
        _write(folder / "spellings.csv", ((_NUMBER, *row) for row in rows.spelling_rows()))
        _write_concepts(folder / "concepts.csv", rows)
        _write_edges(folder / "edges.csv", rows)
    except OSError as error:
        raise OutputError(f"{folder}: not written: {error.strerror}") from error
    tables = [
        f"--{'relationships' if name == 'edges' else 'nodes'}={label}={folder / name}-header.csv,{folder / name}.csv"
        for name, (label, _) in _TABLES.items()
    ]
    multiline = any((blob == ord("\n")).any() for blob in texts)
    return [
        *("database", "import", "full", "neo4j", "--overwrite-destination"),
        *tables,
        "--array-delimiter=U+001F",
        f"--multiline-fields={str(multiline).lower()}",
        "--id-type=integer",
    ]


def finish_bulk(sections: Sections, connection: Neo4jConnection) -> StoredRelease:
    """Create the schema of an imported database, read the release back, and switch readers to it.

    Raises:
        ReleaseMismatch: the imported release is not the expected one.
        GraphUnavailable: the server cannot be reached.
    """
    rows = ReleaseRows(sections)
    install_schema(connection)
    if [stored.number for stored in stored_releases(connection)] != [_NUMBER]:
        raise ReleaseMismatch("the database was not made by this import")
    row = connection.read(lambda tx: tx.run(SAME_CONTENT, content=rows.content).single())
    if row is None:
        raise ReleaseMismatch("the database was imported from other files")
    verify_stored(connection, _NUMBER, rows.properties())
    connection.write(lambda tx: tx.run(FINISH_RELEASE, release=_NUMBER).consume())
    return stored_release(connection, _NUMBER)


def _field(value: Any) -> str:
    """A value in the import format: empty where absent, text always quoted."""
    if value is None or value == []:
        return ""
    if isinstance(value, int):
        return str(value)
    if value == [""]:  # the import would read a list without elements
        raise InputError("a concept's only synonym is empty, which the files of the import cannot say")
    text: str = _ARRAY_DELIMITER.join(value) if isinstance(value, list) else value
    return '"' + text.replace('"', '""') + '"'


@contextmanager
def _written(path: Path) -> Iterator[TextIO]:
    with replaced_file(path) as raw:
        file = TextIOWrapper(raw, encoding="utf-8", newline="")
        yield file
        file.detach()  # flushed, and still open


def _write(path: Path, rows: Iterable[Sequence[Any]]) -> None:
    with _written(path) as file:
        file.writelines(",".join(map(_field, row)) + "\n" for row in rows)


def _write_concepts(path: Path, rows: ReleaseRows) -> None:
    with _written(path) as file:
        for first, last in blocks(0, len(rows.cuis), _CONCEPTS_A_BLOCK):
            file.writelines(
                f"{number},{cui},{_NUMBER},{number},{component},{_field(name)},{_field(synonyms)},{_field(folded)},"
                f"{_field(types)},{_field(sabs)},{_field(definitions)},{weight},{_field(codes)}\n"
                for number, cui, component, name, synonyms, folded, types, sabs, definitions, weight, codes in (
                    rows.concept_rows(first, last)
                )
            )


def _write_edges(path: Path, rows: ReleaseRows) -> None:
    """Lines of all edges with the same vocabularies: numbers as digits of one width, formatted by numpy."""
    width = len(str(max(len(rows.cuis) - 1, 0)))
    order = np.argsort(rows.sab_sets, kind="stable")
    used, starts = np.unique(rows.sab_sets[order], return_index=True)
    with replaced_file(path) as file:
        for sabs, edges in zip(used.tolist(), np.split(order, starts[1:]), strict=True):
            suffix = f",{_field(rows.sab_set_members[sabs])}\n".encode()
            lines = np.empty((len(edges), 2 * width + 1 + len(suffix)), dtype=np.uint8)
            _digits(rows.children[edges], lines[:, :width])
            lines[:, width] = ord(",")
            _digits(rows.parents[edges], lines[:, width + 1 : 2 * width + 1])
            lines[:, 2 * width + 1 :] = np.frombuffer(suffix, dtype=np.uint8)
            file.write(lines.data)


def _digits(numbers: Int32, out: UInt8) -> None:
    """Each number in decimal digits, padded with leading zeros."""
    left = numbers.copy()
    for column in range(out.shape[1] - 1, -1, -1):
        left, digit = np.divmod(left, 10)
        out[:, column] = digit + ord("0")
