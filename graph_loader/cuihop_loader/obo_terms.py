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
from cuihop.resources.progress import StepProgress
from cuihop_loader.rejected_rows import RejectedRows, RowFault, excerpt
from cuihop_loader.sources import SourceFile
from cuihop_loader.streams import BLOCK_BYTES, Block, BlockReader, BrokenStream, byte_stream

__all__ = ["OboFile", "Term"]

_HEADER_TAGS = frozenset({b"data-version", b"date", b"ontology"})
_TERM_TAGS = frozenset(
    {b"id", b"name", b"xref", b"is_a", b"alt_id", b"is_obsolete", b"replaced_by", b"consider", b"synonym"}
)
_UMLS = frozenset({"umls", "umls_cui"})


@dataclass
class Term:
    """One term.

    Attributes:
        id: its identifier.
        line: first line of its stanza.
        name: ``None`` without one.
        synonyms: the exact ones; broad, narrow and related ones name something else.
        parents, alternatives, replaced_by, consider: identifiers.
        umls: CUIs of its UMLS cross-references.
        obsolete: true for a term no longer in use.
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

    def joined(self, earlier: Term | None) -> Term:
        """The union of two stanzas of the term, perhaps of two files, with the name of the earlier one."""
        if earlier is None:
            return self
        return Term(
            self.id,
            earlier.line,
            name=earlier.name or self.name,
            synonyms=[*earlier.synonyms, *([self.name] if earlier.name and self.name else []), *self.synonyms],
            parents=[*earlier.parents, *self.parents],
            alternatives=[*earlier.alternatives, *self.alternatives],
            umls=[*earlier.umls, *self.umls],
        )


@dataclass
class _Stanza:
    """Lines of the file, from one in square brackets (or the file's first) up to the next such."""

    first_line: int
    lines: list[bytes] = field(default_factory=list)


class OboFile:
    """One file, read once.

    Attributes:
        version: its data-version, or else its date; ``None`` without either, or before the header is read.
        ontology: its own name, in capitals, or else the file's name.
        lines: lines read so far.
        bytes: bytes of the file on disk read so far.
        crlf: number of lines so far that end with carriage return and line feed.
        bad: number of lines left out so far because they break the format.
    """

    def __init__(self, file: SourceFile, rejected: RejectedRows, progress: StepProgress | None) -> None:
        self._file = file
        self._rejected = rejected
        self._progress = progress
        self.version: str | None = None
        self.ontology = file.parts[0].path.name.split(".")[0].upper()
        self.lines = 0
        self.bytes = 0
        self.crlf = 0
        self.bad = 0

    def terms(self) -> Iterator[Term]:
        """Terms, obsolete ones included, in the order of the file.

        Raises:
            InputError: the file cannot be read, has no terms, or a line of it breaks the format.
        """
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
                file=str(self._file),
                found=f"{self.lines:,} lines",
                expected="an OBO file with [Term] stanzas",
            )

    def _stanzas(self) -> Iterator[_Stanza]:
        stanza = _Stanza(1)
        for line in self._text_lines():
            if line.startswith(b"[") and stanza.lines:
                yield stanza
                stanza = _Stanza(self.lines)
            stanza.lines.append(line)
        if stanza.lines:
            yield stanza

    def _text_lines(self) -> Iterator[bytes]:
        """Lines without their ends, counted; a line that is not UTF-8 is returned empty."""
        name = str(self._file)
        block = Block(BLOCK_BYTES)
        with byte_stream(self._file.parts) as stream:
            reader = BlockReader(stream, name)
            while True:
                try:
                    if not reader.fill(block):
                        break
                except BrokenStream as broken:
                    raise broken.at_line(self.lines + 1) from None
                lines = block.buffer[: block.size - 1].tobytes().split(b"\n")
                for place, line in enumerate(lines):
                    self.lines += 1
                    if line.endswith(b"\r"):
                        self.crlf += 1
                        line = line[:-1]
                    if block.unterminated and place == len(lines) - 1:
                        self._reject(self.lines, 1, "the last line is cut off", line, "a line end")
                        line = b""
                    try:
                        line.decode()
                    except UnicodeDecodeError as error:
                        found = f"byte 0x{line[error.start]:02X}"
                        self._reject(self.lines, error.start + 1, "not UTF-8", line, "UTF-8 text", found)
                        line = b""
                    yield line
                self.bytes = stream.consumed
                if self._progress is not None:
                    self._progress(name, self.bytes, self._file.size)

    def _reject(
        self, line: int, column: int, problem: str, raw: bytes, expected: str, found: str | None = None
    ) -> None:
        self.bad += 1
        fault = RowFault(0, column, problem, excerpt(raw) if found is None else found, expected, 0, len(raw))
        self._rejected.reject(str(self._file), line, fault, raw)

    def _parsed(self, stanza: _Stanza, tags: frozenset[bytes], fastobo: ModuleType) -> Any:
        """The stanza parsed by fastobo, without lines of other tags; ``None`` if none of it is usable."""
        lines = [
            line if (place == 0 and line.startswith(b"[")) or line.partition(b":")[0].strip() in tags else b""
            for place, line in enumerate(stanza.lines)
        ]
        for place in range(len(lines)):
            if lines[place] == b"" and _is_garbage(stanza.lines[place]):
                self._reject(
                    stanza.first_line + place, 1, "not an OBO line", stanza.lines[place], "a tag, a colon and a value"
                )
        while True:
            try:
                return fastobo.loads(b"\n".join([*lines, b""]).decode())
            except SyntaxError as error:
                place = min((error.lineno or 1), len(lines)) - 1
                self._reject(
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
                    identifier = clause.xref.id
                    if getattr(identifier, "prefix", "").lower() in _UMLS:
                        term.umls.append(identifier.local)
        return term


def _is_garbage(line: bytes) -> bool:
    """Recognise a line, among those not parsed, that is no OBO line at all."""
    text = line.strip()
    return bool(text) and not text.startswith((b"!", b"[")) and b":" not in text
