"""OBO files: their terms, one stanza at a time.

Only the clauses that concern the graph are parsed (by fastobo, strictly by OBO 1.4). Published files have faults in
definitions and comments, which are no reason to refuse a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import fastobo

from cuihop_loader.annotated_terms import cui_of
from cuihop_loader.term_files import Term, TermFile

_HEADER_TAGS = frozenset({b"data-version", b"date", b"ontology"})
_TERM_TAGS = frozenset(
    {b"id", b"name", b"xref", b"is_a", b"alt_id", b"is_obsolete", b"replaced_by", b"consider", b"synonym"}
)


_Stanza: TypeAlias = tuple[int, list[bytes]]
"""Lines from one in square brackets, or the file's first, up to the next such; and the number of the first."""


class OboFile(TermFile):
    """A file of OBO.

    Attributes:
        version: its data-version, or else its date.
        ontology: its own name, in capitals, or else the file's name.
    """

    def terms(self) -> Iterator[Term]:
        """See `cuihop_loader.term_files.TermFile`."""
        count = 0
        for first_line, lines in self._stanzas():
            if first_line == 1 and not lines[0].startswith(b"["):
                self._read_header(lines)
            elif lines[0].startswith(b"[Term]") and (term := self._term(first_line, lines)) is not None:
                count += 1
                yield term
        if not count:
            raise self.lacks("terms", "an OBO file with [Term] stanzas", f"{self.lines:,} lines")

    def _stanzas(self) -> Iterator[_Stanza]:
        first_line, lines = 1, list[bytes]()
        for line in self.text_lines():
            if line.startswith(b"[") and lines:
                yield first_line, lines
                first_line, lines = self.lines, []
            lines.append(line)
        if lines:
            yield first_line, lines

    def _parsed(self, first_line: int, stanza: Sequence[bytes], tags: frozenset[bytes]) -> Any:
        """The stanza parsed by fastobo, without lines of other tags; ``None`` if none of it is usable."""
        lines = []
        for row, line in enumerate(stanza):
            used = (row == 0 and line.startswith(b"[")) or _concerns(line, tags)
            if not used and _is_garbage(line):
                self.reject(first_line + row, 1, "not an OBO line", line, "a tag, a colon and a value")
            lines.append(line if used else b"")
        while True:
            try:
                return fastobo.loads(b"\n".join([*lines, b""]).decode(), threads=1)  # more only cost, for one stanza
            except SyntaxError as error:
                row = min((error.lineno or 1), len(lines)) - 1
                expected = error.msg.removeprefix("expected ")
                self.reject(first_line + row, error.offset or 1, "not OBO", stanza[row], expected)
                if not lines[row] or lines[row].startswith((b"[", b"id")):
                    return None  # unusable without an identifier
                lines[row] = b""

    def _read_header(self, lines: Sequence[bytes]) -> None:
        clauses = (line.decode().partition(":") for line in lines)
        self.imports += [value.split()[0] for tag, _, value in clauses if tag.strip() == "import" and value.strip()]
        document = self._parsed(1, lines, _HEADER_TAGS)
        if document is None:
            return
        values = {clause.raw_tag(): clause.raw_value() for clause in document.header}
        self.version = values.get("data-version") or values.get("date")
        self.ontology = values.get("ontology", self.ontology).upper()

    def _term(self, first_line: int, lines: Sequence[bytes]) -> Term | None:
        document = self._parsed(first_line, lines, _TERM_TAGS)
        if document is None or not len(document):
            return None
        frame = document[0]
        term = Term(str(frame.id), first_line)
        for clause in frame:
            match clause.raw_tag():
                case "name":
                    term.name = term.name or clause.name
                case "synonym":
                    if clause.synonym.scope == "EXACT":
                        term.synonyms.append(clause.synonym.desc)
                case "is_a":
                    term.parents.append(str(clause.term))
                case "alt_id":
                    term.alternatives.append(str(clause.alt_id))
                case "replaced_by":
                    term.replaced_by.append(str(clause.term))
                case "consider":
                    term.consider.append(str(clause.term))
                case "is_obsolete":
                    term.obsolete = clause.obsolete
                case "xref":
                    if cui := cui_of(str(clause.xref.id)):
                        term.umls.append(cui)
        return term


def _concerns(line: bytes, tags: frozenset[bytes]) -> bool:
    """True for a line of one of the tags; of cross-references, only those to UMLS."""
    tag, _, value = line.partition(b":")
    return tag.strip() in tags and (tag.strip() != b"xref" or value.lstrip()[:4].lower() == b"umls")


def _is_garbage(line: bytes) -> bool:
    """Recognise a line, among those not parsed, that is no OBO line at all."""
    text = line.strip()
    return bool(text) and not text.startswith((b"!", b"[")) and b":" not in text
