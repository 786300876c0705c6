"""Terms: the common form in which every format of an ontology or taxonomy is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from cuihop_loader.report import FileReport


@dataclass(slots=True)
class Term:
    """One statement of a file about a term: all of it, or one row. Statements about one term are joined.

    Attributes:
        id: its identifier.
        line: first line of the statement; 0 where the parser of the format does not say it.
        name: ``None`` without one.
        synonyms: the exact ones; broad, narrow and related ones name something else.
        parents, alternatives, replaced_by, consider: identifiers.
        umls: CUIs of its UMLS cross-references.
        obsolete: true for a term no longer in use.
        sab: the vocabulary that makes the statement; ``None`` for that of the file.
        defined: false where the statement only mentions the term, so that another must define it.
        classes: identifiers of the classes that an instance belongs to, as Berlin to city; parents too.
    """

    id: str
    line: int
    name: str | None = None
    synonyms: list[str] = field(default_factory=list)
    parents: list[str] = field(default_factory=list)
    alternatives: list[str] = field(default_factory=list)
    replaced_by: list[str] = field(default_factory=list)
    consider: list[str] = field(default_factory=list)
    umls: list[str] = field(default_factory=list)
    obsolete: bool = False
    sab: str | None = None
    defined: bool = True
    classes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class TermRows:
    """Rows of a table, each a statement about a term: its parent, its name and its source, all of one length.

    Attributes:
        terms: well-formed identifiers.
        parents: likewise, empty where a row states none.
        names: empty where a row gives none.
        sabs: the vocabularies that make the statements, empty for that of the file.
    """

    terms: Sequence[str]
    parents: Sequence[str]
    names: Sequence[str]
    sabs: Sequence[str]


class TermFile(Protocol):
    """One file of terms, read once.

    Attributes:
        role: its format, as in the load report.
        version: of its vocabulary, for the name of the release; ``None`` without one, or before the file is read.
        ontology: its vocabulary (SAB).
        bytes: bytes of the file on disk read so far.
        line_ends: ``LF``, ``CRLF`` or ``mixed``.
        bad: number of rows, lines or elements left out so far because they break the format.
        skipped: rows left out so far for other reasons, before they became terms, by reason.
        parentless: rows so far that count although they state no parent.
        warnings: reservations about the file, for the user.
        imports: addresses of the ontologies that the file imports.
    """

    role: str
    version: str | None
    ontology: str
    bytes: int
    bad: int
    skipped: Counter[str]
    parentless: int
    warnings: list[str]
    imports: list[str]

    @property
    def companions(self) -> Sequence[FileReport]:
        """Reports of the files read with it, after its terms."""

    @property
    def versions(self) -> Mapping[str, str]:
        """Versions of its vocabularies, by SAB, as far as they are stated before the end of the file."""

    @property
    def line_ends(self) -> str:
        """See `cuihop_loader.report.FileReport`."""

    def terms(self) -> Iterator[Term | TermRows]:
        """Terms, obsolete ones included, in the order of the file.

        Raises:
            InputError: the file cannot be read, has no terms, or a line of it breaks the format.
        """
