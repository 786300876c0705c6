"""OBO files: their terms, one stanza at a time.

Only the clauses that concern the graph are parsed (by fastobo, strictly by OBO 1.4). Published files have faults in
definitions and comments, which are no reason to refuse a file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from cuihop.errors import InputError
from cuihop.resources.optional_packages import installed_by
from cuihop_loader.obo_identifiers import cui_of
from cuihop_loader.sources import OBO
from cuihop_loader.term_lines import TextTermFile
from cuihop_loader.terms import Term

_HEADER_TAGS = frozenset({b"data-version", b"date", b"ontology"})
_TERM_TAGS = frozenset(
    {b"id", b"name", b"xref", b"is_a", b"alt_id", b"is_obsolete", b"replaced_by", b"consider", b"synonym"}
)


@dataclass
class _Stanza:
    """Lines of the file, from one in square brackets (or the file's first) up to the next such."""

    first_line: int
    lines: list[bytes] = field(default_factory=list)


class OboFile(TextTermFile):
    """A `cuihop_loader.terms.TermFile` of OBO.

    Attributes:
        version: its data-version, or else its date.
        ontology: its own name, in capitals, or else the file's name.
    """

    role = OBO

    def terms(self) -> Iterator[Term]:
        """See `cuihop_loader.terms.TermFile`."""
        with installed_by("cuihop[loader]"):
            import fastobo

        found = False
        for stanza in self._stanzas():
            if stanza.first_line == 1 and not stanza.lines[0].startswith(b"["):
                self._read_header(stanza, fastobo)
            elif stanza.lines[0].startswith(b"[Term]"):
                term = self._term(stanza, fastobo)
                if term is not None:
                    found = True
                    yield term
        if not found:
            raise InputError(
                "no terms in the file",
                file=str(self.file),
                found=f"{self.lines:,} lines",
                expected="an OBO file with [Term] stanzas",
            )

    def _stanzas(self) -> Iterator[_Stanza]:
        stanza = _Stanza(1)
        for line in self.text_lines():
            if line.startswith(b"[") and stanza.lines:
                yield stanza
                stanza = _Stanza(self.lines)
            stanza.lines.append(line)
        if stanza.lines:
            yield stanza

    def _parsed(self, stanza: _Stanza, tags: frozenset[bytes], fastobo: ModuleType) -> Any:
        """The stanza parsed by fastobo, without lines of other tags; ``None`` if none of it is usable."""
        lines = [
            line if (place == 0 and line.startswith(b"[")) or _concerns(line, tags) else b""
            for place, line in enumerate(stanza.lines)
        ]
        for place in range(len(lines)):
            if lines[place] == b"" and _is_garbage(stanza.lines[place]):
                self.reject(
                    stanza.first_line + place, 1, "not an OBO line", stanza.lines[place], "a tag, a colon and a value"
                )
        while True:
            try:
                return fastobo.loads(b"\n".join([*lines, b""]).decode())
            except SyntaxError as error:
                place = min((error.lineno or 1), len(lines)) - 1
                self.reject(
                    stanza.first_line + place,
                    error.offset or 1,
                    "not OBO",
                    stanza.lines[place],
                    error.msg.removeprefix("expected "),
                )
                if not lines[place] or lines[place].startswith((b"[", b"id")):
                    return None  # unusable without an identifier
                lines[place] = b""

    def _read_header(self, stanza: _Stanza, fastobo: ModuleType) -> None:
        clauses = (line.decode().partition(":") for line in stanza.lines)
        self.imports += [value.split()[0] for tag, _, value in clauses if tag.strip() == "import" and value.strip()]
        document = self._parsed(stanza, _HEADER_TAGS, fastobo)
        if document is None:
            return
        values = {clause.raw_tag(): clause.raw_value() for clause in document.header}
        self.version = values.get("data-version") or values.get("date")
        self.ontology = values.get("ontology", self.ontology).upper()

    def _term(self, stanza: _Stanza, fastobo: ModuleType) -> Term | None:
        document = self._parsed(stanza, _TERM_TAGS, fastobo)
        if document is None or not len(document):
            return None
        frame = document[0]
        term = Term(str(frame.id), stanza.first_line)
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
