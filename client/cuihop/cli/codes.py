"""``cuihop codes``: codes of source vocabularies for concepts, and the concepts of codes."""

from __future__ import annotations

import io
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import fields
from itertools import islice
from pathlib import Path
from typing import IO

import typer

from cuihop.adapter_rules import replaced
from cuihop.answer_fields import fields_of
from cuihop.cli.command_files import CSV
from cuihop.cli.graph_option import AddressOptions, Header, note_upper_case, printed_as_json, refuse_unknown_vocabulary
from cuihop.cli.option_groups import JsonOptions, argument, file_option, option, option_group
from cuihop.cli.output import note, print_table
from cuihop.errors import InputError, first_few, parameter_named
from cuihop.files.input_file import STANDARD_INPUT, opened_input
from cuihop.files.records import Records
from cuihop.files.text_lines import joined, quoted
from cuihop.files.written_files import replaced_file
from cuihop.graph import CodeLookup, CodeMap, CodeStatus, ConceptGraph, MapLookup, resolved
from cuihop.identifiers import in_upper_case, looks_like_identifier
from cuihop.notebooks.table import Table
from cuihop.operations.answers import CodesAnswer

_USUAL = ("code", "codes", "concept", "cui", "cuis", "identifier", "id")
_COLUMNS = (
    "identifier", "status", "concept", "vocabulary", "code", "source_concept", "mark", "alternatives",
)  # fmt: skip
_BLOCK = 50_000
_NOTED: dict[CodeStatus, str] = {
    "merged": "merged into another concept, which is used",
    "suppressed": "with suppressed or obsolete atoms only",
    "retired": "retired without an exact successor",
    "unknown": "unknown",
    "unknown_vocabulary": "of a vocabulary without codes here",
    "invalid": "neither an identifier nor SAB:CODE",
}


@option_group
class _CodesOptions(JsonOptions, AddressOptions):
    identifiers: list[str] | None = argument("Concepts, or codes as SAB:CODE.", default=None)
    sab: list[str] | None = option(
        "Only codes of this vocabulary; those of the concepts of a code, in place of the code. May be repeated."
    )
    file: Path | None = file_option("Table with concepts or codes: CSV, TSV, JSON Lines or Parquet; - for stdin.")
    column: str | None = file_option("Their column.", shown="the only one; code, concept, cui, identifier or id")
    codes_of: str | None = file_option(
        "Vocabulary of the column, if it has codes without SAB.", "--identifiers", metavar="SAB"
    )  # fmt: skip
    header: Header = file_option("Header in the first line of CSV: detected, present or absent.", default="auto")
    maps: bool = option("Mappings that vocabularies have published from the codes (MRMAP), as they are.", default=False)
    output: Path | None = option("File for the codes of --file, as CSV.", "-o", shown="standard output", mark=CSV)

    def __post_init__(self) -> None:
        if bool(self.identifiers) == (self.file is not None):
            raise typer.BadParameter("give concepts or codes, or --file FILE")
        if self.file is None and (self.output or self.column or self.codes_of):
            raise typer.BadParameter("--column, --identifiers and --output go with --file")
        if self.file is not None and self.json:
            raise typer.BadParameter("--json goes with identifiers; the codes of --file are CSV")
        if self.maps and (self.file is not None or self.sab):
            raise typer.BadParameter("--maps goes with identifiers, without --file and --sab")


def codes(options: _CodesOptions) -> None:
    """List the codes of concepts in source vocabularies, or the concepts of codes.

    Best first: active before suppressed and obsolete codes, preferred atoms before others, then by rank in MRRANK,
    vocabulary and code. The codes of --file have a row for each identifier and code, and one with empty fields for
    an identifier without codes.
    """
    with options.opened() as opened, parameter_named("sabs", "--sab"):
        if options.file is not None:
            _of_file(options, options.file, opened)
            return
        upper = {text: in_upper_case(text) for text in options.identifiers or ()}
        note_upper_case({text: cui for text, cui in upper.items() if cui != text})
        if options.maps:
            _maps(options, opened, opened.code_maps([*upper.values()]))
            return
        lookups = opened.codes([*upper.values()], sabs=options.sab or ())
        _refuse_unusable(lookups, opened)
        if printed_as_json(options, opened, fields_of(CodesAnswer(tuple(lookups))), replaced(lookups)):
            return
        names = opened.names([code.cui for lookup in lookups for code in lookup.codes])
    several = len(lookups) > 1
    rows = [(lookup.requested, *row[2:-1]) for lookup in lookups for row in _rows(lookup) if row[4]]
    columns = ("identifier", *_COLUMNS[2:-1], "name")
    table = [(*row, name or "") for row, name in zip(rows, names, strict=True)]
    print_table(Table(columns[not several :], [row[not several :] for row in table]))
    _note_counts(Counter(lookup.status for lookup in lookups), sum(not lookup.codes for lookup in lookups), options.sab)


def _maps(options: _CodesOptions, graph: ConceptGraph, lookups: Sequence[MapLookup]) -> None:
    """Print published mappings, a table for each map set, without columns that are empty throughout."""
    _refuse_unusable([each for each in lookups if not each.maps], graph)
    successors = {each.requested: each.cui for each in lookups if each.status == "merged" and each.cui}
    if printed_as_json(options, graph, {"lookups": [fields_of(each) for each in lookups]}, successors):
        return
    sets: dict[tuple[str | None, ...], list[CodeMap]] = {}
    for each in (each for lookup in lookups for each in lookup.maps):
        of_set = each.map_set, each.map_set_sab, each.map_set_name, each.from_sab, each.to_sab
        sets.setdefault(of_set, []).append(each)
    for (cui, sab, name, from_sab, to_sab), maps in sets.items():
        columns = [f.name for f in fields(CodeMap)[5:] if any(getattr(each, f.name) for each in maps)]
        title = (
            f"{cui} {name or 'without a name'} (set of {sab}; from {from_sab or 'unknown'} to {to_sab or 'unknown'})"
        )
        titles = [column.replace("_", " ") for column in columns]
        print_table(Table(titles, [[getattr(each, column) for column in columns] for each in maps]), title)
    if without := [each.requested for each in lookups if not each.maps]:
        note(f"without published mappings: {first_few(without)}")


def _refuse_unusable(lookups: Sequence[CodeLookup | MapLookup], graph: ConceptGraph) -> None:
    """Refuse identifiers that give no codes because they are unknown or retired."""
    problems: dict[CodeStatus, str] = {
        "invalid": "neither an identifier nor a code",
        "unknown_vocabulary": "no such vocabulary gives codes",
        "unknown": "unknown code",
    }
    for status, problem in problems.items():
        faulty = [each for each in lookups if each.status == status and (status == "invalid" or ":" in each.requested)]
        if faulty:
            meant = list(dict.fromkeys(text for each in faulty for text in each.alternatives))
            raise InputError(
                problem, found=first_few([quoted(each.requested) for each in faulty]),
                expected=f"identifiers of release {graph.release.name}, or its codes as SAB:CODE",
                advice=f"Did you mean {first_few(meant)}?" if meant else None,
            )  # fmt: skip
    faulty = [each for each in lookups if each.cui is None and each.status in ("retired", "unknown")]
    resolved(graph.resolve([each.requested for each in faulty]), graph.release)


def _rows(lookup: CodeLookup) -> Iterator[tuple[str, ...]]:
    head, alternatives = (lookup.requested, lookup.status), ";".join(lookup.alternatives)
    for code in lookup.codes:
        yield *head, code.cui, code.sab, code.code, code.source_concept or "", code.mark, alternatives
    if not lookup.codes:
        yield *head, lookup.cui or "", "", "", "", "", alternatives


def _of_file(options: _CodesOptions, file: Path, graph: ConceptGraph) -> None:
    """Write the codes of the identifiers of a file, and note how many have none and why."""
    records, column = _table(options, file)
    prefix = f"{options.codes_of}:" if options.codes_of else ""
    if prefix:
        refuse_unknown_vocabulary(graph, options.codes_of or "")
    counts: Counter[CodeStatus] = Counter()
    unanswered: list[str] = []
    total = without = lower = cuis = 0

    def write(out: IO[str]) -> None:
        nonlocal total, without, lower, cuis
        texts = (text for _, (text,) in records.texts([column]) if text)
        out.write(Table(_COLUMNS, []).csv())
        while block := list(islice(texts, _BLOCK)):
            upper = [in_upper_case(text) for text in block]
            lower += 0 if prefix else sum(map(str.__ne__, upper, block))
            lookups = graph.codes([prefix + text for text in block] if prefix else upper, sabs=options.sab or ())
            rows = [row for lookup in lookups for row in _rows(lookup)]
            out.write(Table(_COLUMNS, rows).csv().partition("\n")[2])
            total += len(block)
            without += sum(not lookup.codes for lookup in lookups)
            counts.update(lookup.status for lookup in lookups)
            faulty = [lookup.requested for lookup in lookups if not lookup.codes]
            unanswered.extend(faulty[: max(0, 20 - len(unanswered))])
            cuis += sum(looks_like_identifier(text) and ":" not in text for text in block) if prefix else 0

    if options.output is None or str(options.output) == STANDARD_INPUT:  # standard output
        write(sys.stdout)
    else:
        with replaced_file(options.output) as raw:
            text = io.TextIOWrapper(raw, encoding="utf-8", newline="")
            write(text)
            text.detach()
    note(f"{records.source}: {joined(f'{total:,} identifiers', records.form)}")
    if lower:
        note(f"lower case read as upper case: {lower:,}")
    if cuis:
        note(f"{cuis:,} look like concepts, and were read as codes of {options.codes_of}, as --identifiers says")
    _note_counts(counts, without, options.sab)
    if unanswered:
        note(f"without codes: {first_few(unanswered)}")


def _note_counts(counts: Counter[CodeStatus], without: int, sabs: Sequence[str] | None) -> None:
    """Note the number of identifiers that are not current, by reason, and of all that have no codes."""
    parts = [f"{counts[status]:,} {reason}" for status, reason in _NOTED.items() if counts[status]]
    if without:
        of_sabs = f" of {' or '.join(sabs)}" if sabs else ""
        parts.append(f"{without:,} without codes{of_sabs}")
    if parts:
        note("; ".join(parts))


def _table(options: _CodesOptions, file: Path) -> tuple[Records, int]:
    """The table of a file, and its column of identifiers."""
    expected = "a column of concepts or codes"
    records = Records.of(opened_input(file), expected)
    plain = [name.strip().lower() for name in records.names]
    if options.column is not None:
        return records, records.column(options.column)
    usual = [name for name in _USUAL if name in plain]
    if records.in_csv and len(plain) == 1 and (options.header == "no" or (options.header == "auto" and not usual)):
        return records.without_header(("1",)), 0
    if len(plain) == 1:
        return records, 0
    if len(usual) != 1:
        raise records.error(
            "which column holds concepts or codes?", quoted(records.header), f"one of {', '.join(_USUAL)}, or --column"
        )
    return records, records.column(usual[0])
