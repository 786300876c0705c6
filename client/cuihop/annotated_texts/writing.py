"""Concepts and mentions of texts: the CSV that ``cuihop evaluate`` reads, spans in four formats, and tables."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from cuihop.annotated_texts.documents import AnnotatedDocument
from cuihop.annotation.mentions import RULES, Annotations, Mention, Term
from cuihop.annotation.options import CONTEXTS, Context
from cuihop.errors import InputError
from cuihop.files.text_lines import quoted
from cuihop.identifiers import looks_like_identifier
from cuihop.notebooks.table import Table

SpansFormat: TypeAlias = Literal["csv", "jsonl", "pubtator", "brat"]

SPANS_FORMATS: Mapping[SpansFormat, str] = {
    "csv": "a mention in each row",
    "jsonl": "a text with its mentions in each line",
    "pubtator": "PubTator: place, text and concept of each mention",
    "brat": "BRAT: a folder with the text and its mentions in two files",
}
"""Formats of mentions and their meaning."""

_MENTION_FIELDS = tuple(field.name for field in fields(Mention))

CONCEPTS_HEADER = b"ID,CUIs\n"
SPANS_HEADERS: Mapping[SpansFormat, bytes] = {
    "csv": f"{','.join(('ID', *_MENTION_FIELDS))}\n".encode(), "jsonl": b"", "pubtator": b"", "brat": b"",
}  # fmt: skip
"""First line of each file."""

_CONCEPT = "Concept"  # the type of each mention in PubTator and BRAT, which need one
_LONGEST_NAME = 200  # bytes of a file's name without its ending
_LINE_BREAKS = re.compile(r"[\r\n]")
_BETWEEN_BREAKS = re.compile(r"[^\r\n]+")
_BREAKS = re.compile(r"[\t\r\n]")

SPANS_ENDINGS: Mapping[str, SpansFormat] = {
    ".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".pubtator": "pubtator",
}  # fmt: skip


def spans_form_of(path: Path, form: SpansFormat | None) -> SpansFormat:
    """The format of a file of mentions: as named, or by its ending.

    Raises:
        InputError: no format has this ending, or another than the one named.
    """
    by_ending = SPANS_ENDINGS.get(path.suffix.lower())
    if form is not None and by_ending not in (None, form):
        raise InputError(
            "the ending says another format than --spans-format", file=path, found=quoted(path.suffix),
            expected=f"{form}: {' or '.join(end for end, of in SPANS_ENDINGS.items() if of == form) or 'no ending'}",
        )  # fmt: skip
    selected = form or by_ending
    if selected is None:
        raise InputError(
            "no format has this ending", file=path, found=quoted(path.suffix), expected=", ".join(SPANS_ENDINGS),
            advice=f"--spans-format names one: {', '.join(SPANS_FORMATS)}.",
        )  # fmt: skip
    return selected


def concept_rows(identifiers: Sequence[str], annotations: Annotations) -> bytes:
    """Rows of ``ID,CUIs``: identifiers of texts and their concepts, ascending, with ``;`` between them."""
    return _csv(zip(identifiers, map(";".join, annotations.concept_lists()), strict=True))


def span_rows(form: SpansFormat, identifiers: Sequence[str], annotations: Annotations) -> bytes:
    """Mentions of texts in a format. Of BRAT, lines that `unfold_brat` turns into files.

    Raises:
        InputError: the format cannot hold an identifier.
    """
    return _WRITERS[form](identifiers, annotations)


class _Span(NamedTuple):
    """A mention with the index of its term: the fields of a term are made once."""

    start: int
    end: int
    text: str
    term: int
    rule: str
    context: tuple[Context, ...]
    candidates: Sequence[int]


def _spans(annotations: Annotations) -> Iterator[list[_Span]]:
    """The mentions of each text."""
    rules = tuple(RULES)
    contexts = [
        tuple(context for bit, context in enumerate(CONTEXTS) if bits >> bit & 1) for bits in range(1 << len(CONTEXTS))
    ]
    starts, ends, terms, rule_places, bits = (
        column.tolist()
        for column in (annotations.starts, annotations.ends, annotations.terms, annotations.rules, annotations.contexts)
    )
    bounds, candidates = [0] * (len(starts) + 1), list[int]()
    if annotations.candidates is not None:
        bounds, candidates = (column.tolist() for column in annotations.candidates)
    for text, (first, last) in zip(annotations.texts, pairwise(annotations.indptr.tolist()), strict=True):
        yield [
            _Span(
                starts[m], ends[m], text[starts[m] : ends[m]], terms[m], rules[rule_places[m]], contexts[bits[m]],
                candidates[bounds[m] : bounds[m + 1]],
            )
            for m in range(first, last)
        ]  # fmt: skip


def _csv(rows: Iterable[Sequence[Any]]) -> bytes:
    listed = list(rows)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(listed)
    if "\r" in text.getvalue():  # which Python quotes only if it is part of the line's end
        text = io.StringIO()
        plain = csv.writer(text, lineterminator="\n")
        quoting = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
        for row in listed:
            (quoting if any("\r" in str(cell) for cell in row) else plain).writerow(row)
    return text.getvalue().encode()


def _csv_spans(identifiers: Sequence[str], annotations: Annotations) -> bytes:
    terms = [(term.cui, term.name or "", term.matched, ";".join(term.sabs)) for term in annotations.vocabulary]
    return _csv(
        (
            identifier, span.start, span.end, span.text, *terms[span.term], span.rule, ";".join(span.context),
            ";".join(terms[number][0] for number in span.candidates),
        )
        for identifier, spans in zip(identifiers, _spans(annotations), strict=True)
        for span in spans
    )  # fmt: skip


def _json_spans(identifiers: Sequence[str], annotations: Annotations) -> bytes:
    terms = [asdict(term) for term in annotations.vocabulary]

    def fields_of_span(span: _Span) -> dict[str, Any]:
        candidates = [terms[term] for term in span.candidates]
        values = (
            span.start, span.end, span.text, *terms[span.term].values(), span.rule, span.context, candidates
        )  # fmt: skip
        return dict(zip(_MENTION_FIELDS, values, strict=True))

    lines = (
        {"id": identifier, "text": text, "mentions": list(map(fields_of_span, spans))}
        for identifier, text, spans in zip(identifiers, annotations.texts, _spans(annotations), strict=True)
    )
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines).encode()


def _pubtator_spans(identifiers: Sequence[str], annotations: Annotations) -> bytes:
    cuis = annotations.vocabulary.cuis
    lines = list[str]()
    for identifier, text, spans in zip(identifiers, annotations.texts, _spans(annotations), strict=True):
        if "|" in identifier or _BREAKS.search(identifier):
            raise InputError(
                "an identifier that PubTator cannot hold", found=quoted(identifier),
                expected="neither '|' nor tabs nor line breaks in it", advice="--spans-format csv holds any.",
            )  # fmt: skip
        title, _, abstract = text.partition("\n")
        lines += (
            f"{identifier}|{kind}|{_LINE_BREAKS.sub(' ', text_line)}"
            for kind, text_line in (("t", title), ("a", abstract))
        )
        lines += (
            f"{identifier}\t{span.start}\t{span.end}\t{_BREAKS.sub(' ', span.text)}\t{_CONCEPT}\t{cuis[span.term]}"
            for span in spans
        )
        lines.append("")
    return "".join(f"{line}\n" for line in lines).encode()


def _brat_spans(identifiers: Sequence[str], annotations: Annotations) -> bytes:
    terms = list(annotations.vocabulary)
    lines = list[str]()
    for identifier, text, spans in zip(identifiers, annotations.texts, _spans(annotations), strict=True):
        if identifier.startswith(".") or set(identifier) & set("/\\\r\n\t") or len(identifier.encode()) > _LONGEST_NAME:
            raise InputError(
                "an identifier that cannot be the name of a file", found=quoted(identifier),
                expected=f"no '/', tab or line break, no '.' at its beginning, {_LONGEST_NAME} bytes at most",
                advice="--spans-format csv holds any.",
            )  # fmt: skip
        mentions = "".join(_brat_mention(number, span, terms) for number, span in enumerate(spans, start=1))
        lines.append(json.dumps([identifier, text, mentions]))
    return "".join(f"{line}\n" for line in lines).encode()


def _brat_mention(number: int, span: _Span, terms: Sequence[Term]) -> str:
    """Lines of a mention: span, concept, contexts, and a note of the rest."""
    term = terms[span.term]
    lines = list(_BETWEEN_BREAKS.finditer(span.text))
    offsets = ";".join(f"{span.start + line.start()} {span.start + line.end()}" for line in lines)
    text = _BREAKS.sub(" ", " ".join(line[0] for line in lines))
    database = "UMLS" if looks_like_identifier(term.cui) else "ontology"
    facts = {
        "matched": term.matched, "sabs": ";".join(term.sabs), "rule": span.rule,
        "candidates": ";".join(terms[index].cui for index in span.candidates),
    }  # fmt: skip
    notes = ", ".join(f"{name} {_BREAKS.sub(' ', value)}" for name, value in facts.items() if value)
    contexts = "".join(f"A{number}{index}\t{name.capitalize()} T{number}\n" for index, name in enumerate(span.context))
    return (
        f"T{number}\t{_CONCEPT} {offsets}\t{text}\n"
        f"N{number}\tReference T{number} {database}:{term.cui}\t{_BREAKS.sub(' ', term.name or term.matched)}\n"
        f"{contexts}#{number}\tAnnotatorNotes T{number}\t{notes}\n"
    )


def unfold_brat(lines: Iterable[bytes], folder: Path) -> None:
    """Write two files for each text of `span_rows` into an empty folder: its text, and its mentions.

    Raises:
        OSError: the operating system refused; two texts have one name where upper and lower case are alike.
    """
    for line in lines:
        identifier, text, mentions = json.loads(line)
        mark = "\ufeff" if text.startswith("\ufeff") else ""  # a reader takes one byte order mark away
        for ending, content in ((".txt", mark + text), (".ann", mentions)):
            with (folder / f"{identifier}{ending}").open("xb") as file:
                file.write(content.encode())


_WRITERS: Mapping[SpansFormat, Callable[[Sequence[str], Annotations], bytes]] = {
    "csv": _csv_spans, "jsonl": _json_spans, "pubtator": _pubtator_spans, "brat": _brat_spans,
}  # fmt: skip


def mention_table(documents: Iterable[AnnotatedDocument]) -> Table:
    """A row for each concept of each mention that has its position: identifier, start, end, concept, text and type.

    >>> from cuihop.annotated_texts import GoldMention
    >>> veins = GoldMention(0, 5, "Veins", ("C0042449",))
    >>> print(mention_table([AnnotatedDocument("1", None, (veins,))]).csv(), end="")
    ID,start,end,cui,text,type
    1,0,5,C0042449,Veins,
    """
    rows = [
        (document.identifier, mention.start, mention.end, cui, mention.text, mention.type)
        for document in documents
        for mention in document.mentions
        if mention.start >= 0
        for cui in mention.cuis
    ]
    return Table(("ID", "start", "end", "cui", "text", "type"), rows, "mentions", "Mentions of concepts.")


def concept_table(documents: Iterable[AnnotatedDocument]) -> Table:
    """A row for each document: identifier and concepts, each once, ascending, with ``;`` between them.

    >>> print(concept_table([AnnotatedDocument("1", None)]).csv(), end="")
    ID,CUIs
    1,
    """
    rows = [
        (document.identifier, ";".join(sorted({cui for mention in document.mentions for cui in mention.cuis})))
        for document in documents
    ]
    return Table(("ID", "CUIs"), rows, "concepts", "Concepts of documents.")
