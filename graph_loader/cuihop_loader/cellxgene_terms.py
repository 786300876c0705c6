"""The JSON of the package cellxgene-ontology-guide: each term with its ancestors and their distances.

One object: identifiers of terms, and for each its record. Ancestors at distance 1 are its parents; the other distances
follow from them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cuihop.errors import InputError, first_few
from cuihop.resources.progress import StepProgress
from cuihop_loader.json_stream import JsonStream, JsonTermFile, WrongValueError, flag_of, object_of, text_of, texts_of
from cuihop_loader.rejected_rows import RejectedRows
from cuihop_loader.sources import CELLXGENE, SourceFile
from cuihop_loader.terms import Term

_INTEGERS = {int}
_NAME = re.compile(r"(?P<ontology>.+?)-ontology-(?P<version>.+?)\.json", re.IGNORECASE)


class CellxgeneFile(JsonTermFile):
    """A `cuihop_loader.terms.TermFile` of ``ONTOLOGY-ontology-VERSION.json``; the file's name states both."""

    role = CELLXGENE

    def __init__(self, file: SourceFile, rejected: RejectedRows, progress: StepProgress | None) -> None:
        super().__init__(file, rejected, progress)
        if match := _NAME.match(file.parts[0].path.name):
            self.ontology, self.version = match["ontology"].upper(), match["version"]

    def terms(self) -> Iterator[Term]:
        """See `cuihop_loader.terms.TermFile`."""
        defined: set[str] = set()
        ancestors: set[str] = set()
        with self.opened() as source:
            document = JsonStream(source, str(self.file))
            for identifier in document.members():
                record = document.value()
                try:
                    term = _term(identifier, document.line, record)
                except WrongValueError as wrong:
                    self.reject_value(document, record, wrong)
                    continue
                defined.add(identifier)
                ancestors.update(record.get("ancestors") or ())
                yield term
            document.end()
        if not defined:
            raise InputError("no terms in the file", file=str(self.file), expected="an object of terms")
        if outside := sorted(ancestors - defined):
            self.warnings.append(
                f"{len(outside):,} ancestors are no terms of the file, so the ways beyond the first of them are not in "
                f"the graph: {first_few(outside)}"
            )


def _term(identifier: str, line: int, value: object) -> Term:
    record = object_of(value, identifier)
    ancestors = object_of(record.get("ancestors"), "ancestors")
    if ancestors and (set(map(type, ancestors.values())) != _INTEGERS or min(ancestors.values()) < 1):
        raise WrongValueError("ancestors", ancestors, "identifiers with distances from 1")
    successor = text_of(record, "replaced_by")
    return Term(
        identifier,
        line,
        text_of(record, "label"),
        texts_of(record, "synonyms"),
        [ancestor for ancestor, distance in ancestors.items() if distance == 1],
        replaced_by=[successor] if successor else [],
        consider=texts_of(record, "consider"),
        obsolete=flag_of(record, "deprecated"),
    )
