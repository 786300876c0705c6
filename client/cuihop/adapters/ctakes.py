"""Results of Apache cTAKES as annotated documents: XMI, and the tables of SemanticTableFileWriter."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, NoReturn
from xml.parsers import expat

from cuihop.annotated_texts.documents import AnnotatedDocument, GoldMention
from cuihop.errors import InputError
from cuihop.files.input_file import Readable, opened_input
from cuihop.files.text_lines import decoded_lines, quoted, whole_text

__all__ = ["from_ctakes_table", "from_ctakes_xmi"]

LARGEST_XMI = 1 << 28
"""Bytes of a file; cTAKES writes some kilobytes for each sentence."""

_ADVICE = "cTAKES writes one with FileTreeXmiWriter."


def from_ctakes_xmi(
    path: Readable, identifier: str | None = None, *, every: bool = False, leave_out_negated: bool = False
) -> AnnotatedDocument:
    """The document of an XMI file: its text, and every annotation with a UMLS concept.

    Positions, which Java counts in units of UTF-16, are counted in characters.

    Args:
        path: a file, a pipe, or ``-`` for standard input; may be compressed by gzip or zstd.
        identifier: of the document; by default the file's ``DocumentID``, or else its name without ending.
        every: all concepts of an annotation, each as a mention; otherwise the disambiguated one, or else the one of the
            highest score, of equal ones the first.
        leave_out_negated: leave out annotations of negative polarity.

    Raises:
        InputError: the file is no XMI of cTAKES, too large, or names a document type.
    """
    file = opened_input(path)
    elements = _Elements(file.name)
    elements.parse(whole_text(file, LARGEST_XMI))
    views = [sofa for sofa in elements.sofas if sofa.get("sofaID") == "_InitialView"] or elements.sofas
    if not views:
        raise InputError(
            "no text in the file", file=file.name, found="no cas:Sofa", expected="XMI of cTAKES", advice=_ADVICE
        )
    view, text = views[0], views[0].get("sofaString", "")
    mentions = []
    for kind, annotation in elements.annotations:
        negated = annotation.get("polarity") == "-1"
        if annotation.get("sofa", view.get("xmi:id")) != view.get("xmi:id") or (negated and leave_out_negated):
            continue
        start, end = character_positions(text, [elements.number(annotation, name) for name in ("begin", "end")])
        for cui in elements.concepts(annotation, every=every):
            mentions.append(GoldMention(start, end, text[start:end], (cui,), kind))
    mentions.sort(key=lambda mention: (mention.start, mention.end))
    name = identifier or elements.document or PurePath(file.name).name.partition(".")[0]
    return AnnotatedDocument(name, text, tuple(dict.fromkeys(mentions)))


class _Elements:
    """The elements of an XMI file that hold text, annotations and concepts."""

    def __init__(self, source: str) -> None:
        self._source = source
        self.sofas: list[Mapping[str, str]] = []
        self.annotations: list[tuple[str, Mapping[str, str]]] = []
        self.document: str | None = None
        self._concepts: dict[str, Mapping[str, str]] = {}
        self._arrays: dict[str, str] = {}

    def parse(self, text: str) -> None:
        parser = expat.ParserCreate()
        parser.StartElementHandler = self._element
        parser.StartDoctypeDeclHandler = self._doctype
        try:
            parser.Parse(text, True)
        except expat.ExpatError as error:
            raise InputError(
                f"not XML: {expat.errors.messages[error.code]}", file=self._source, line=error.lineno,
                expected="XMI of cTAKES", advice=_ADVICE,
            ) from None  # fmt: skip

    def _doctype(self, name: str, *_: Any) -> NoReturn:
        raise InputError(
            "a document type, which could hold entities", file=self._source, found=quoted(name),
            expected="XMI of cTAKES, which has none",
        )  # fmt: skip

    def _element(self, name: str, attributes: dict[str, str]) -> None:
        kind, identifier = name.rpartition(":")[2], attributes.get("xmi:id", "")
        if kind == "Sofa":
            self.sofas.append(attributes)
        elif kind == "UmlsConcept":
            self._concepts[identifier] = attributes
        elif kind == "FSArray":
            self._arrays[identifier] = attributes.get("elements", "")
        elif kind == "DocumentID":
            self.document = attributes.get("documentID") or None
        elif "ontologyConceptArr" in attributes:
            self.annotations.append((kind, attributes))

    def number(self, annotation: Mapping[str, str], name: str) -> int:
        """A position in the text."""
        text = annotation.get(name, "")
        if not (text.isascii() and text.isdecimal() and len(text) < 10):
            raise InputError(
                "not a place in the text", file=self._source,
                column=f"annotation {annotation.get('xmi:id')}, attribute {name}",
                found=quoted(text) if text else "nothing", expected="a number of characters from 0",
            )  # fmt: skip
        return int(text)

    def concepts(self, annotation: Mapping[str, str], *, every: bool) -> list[str]:
        """The distinct CUIs of an annotation, or the best of them."""
        listed = annotation["ontologyConceptArr"].split()
        referred = [one for reference in listed for one in self._arrays.get(reference, reference).split()]
        concepts = [self._concepts[one] for one in referred if self._concepts.get(one, {}).get("cui")]
        if not every:
            concepts = sorted(concepts, key=_rank)[:1]
        return list(dict.fromkeys(concept["cui"] for concept in concepts))


def _rank(concept: Mapping[str, str]) -> tuple[bool, float]:
    try:
        score = float(concept.get("score", "0"))
    except ValueError:
        score = 0.0
    return concept.get("disambiguated") != "true", -score


_ROW = (
    r"[^{s}]*{s}(?P<type>[^{s}]*){s}.*{s}(?P<start>\d+),(?P<end>\d+){s}(?P<negated>true|false){s}(?:true|false){s}"
    r"(?:true|false){s}(?P<cuis>[A-Z0-9;]*){s}(?P<rest>.*)"
)
_SEPARATORS = {"|": "BSV", ",": "CSV", "\t": "TAB"}
_HEADER = ("Semantic Group", "Semantic Type", "Section", "Span")


def from_ctakes_table(
    path: Readable, identifier: str | None = None, *, leave_out_negated: bool = False
) -> AnnotatedDocument:
    """The document of a table that SemanticTableFileWriter wrote: BSV, CSV or TAB.

    A row has all concepts of a mention, ascending; each is a mention here. The table does not hold the text, so its
    positions stay counted in units of UTF-16.

    Args:
        path: a file, a pipe, or ``-`` for standard input; may be compressed by gzip or zstd.
        identifier: of the document; by default the name of the file without ``_table`` and ending.
        leave_out_negated: leave out mentions marked as negated.

    Raises:
        InputError: the header or a row is another; names the line.
    """
    file = opened_input(path)
    lines = enumerate(decoded_lines(file), start=1)
    _, header = next(lines, (1, ""))
    separator = next((s for s in _SEPARATORS if tuple(map(str.strip, header.split(s)))[:4] == _HEADER), None)
    if separator is None:
        raise InputError(
            "not a table of SemanticTableFileWriter", file=file.name, line=1, found=quoted(header.strip()),
            expected=f"a header that begins with {', '.join(_HEADER)}, separated by '|', commas or tabs",
        )  # fmt: skip
    row_form = re.compile(_ROW.replace("{s}", re.escape(separator)), re.DOTALL)
    mentions: dict[GoldMention, None] = {}
    missing = 0  # characters of the mention before, whose text has a line break
    for line, content in lines:
        row = row_form.fullmatch(content.rstrip("\r\n"))
        if row is None:
            missing -= len(content)
            if missing < -1 and content.strip():
                raise InputError(
                    "not a row of SemanticTableFileWriter", file=file.name, line=line, found=quoted(content.rstrip()),
                    expected=f"ten columns, as in the header, in {_SEPARATORS[separator]}",
                )  # fmt: skip
            continue
        start, end = int(row["start"]), int(row["end"])
        text = row["rest"].partition(separator)[2]
        missing = end - start - len(text)
        if not (leave_out_negated and row["negated"] == "true"):
            for cui in filter(None, row["cuis"].split(";")):
                mentions[GoldMention(start, end, None if missing else text, (cui,), row["type"].strip() or None)] = None
    name = identifier or PurePath(file.name).name.partition(".")[0].removesuffix("_table")
    return AnnotatedDocument(name, None, tuple(mentions))


def character_positions(text: str, units: Sequence[int]) -> list[int]:
    """The positions in characters (code points); those beyond the text keep their distance from its end.

    >>> character_positions("𝛃 cell", [0, 2, 3, 7])
    [0, 1, 2, 6]
    """
    wide = [position for position, sign in enumerate(text) if ord(sign) > 0xFFFF]
    begins = [position + number for number, position in enumerate(wide)]  # of each, in units
    return [unit - sum(begin < unit for begin in begins) for unit in units]
