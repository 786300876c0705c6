"""Files of pairs: two tab-separated columns in, three out; the third is the distance in hops, empty for no path."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal

from cuihop.errors import InputError
from cuihop.files.likely_causes import cause_of_columns
from cuihop.files.text_lines import counted, decoded, quoted, raw_lines
from cuihop.graph import ConceptGraph, Direction
from cuihop.identifiers import identifier_fault, in_upper_case, looks_like_identifier

__all__ = ["PairsDone", "distances_of_file"]

Header = Literal["auto", "yes", "no"]
OnBadRow = Literal["error", "skip"]

_BLOCK = 50_000


@dataclass
class PairsDone:
    """What became of the rows.

    Attributes:
        pairs: rows answered; reached: those with a path.
        rejected: rows skipped because of a fault.
        header: the header, if the file has one.
        merged: retired identifiers, and the successors they were taken for.
        lower: identifiers in lower case, each time that one stood there; they are read in upper case.
        source: the file.
    """

    pairs: int = 0
    reached: int = 0
    rejected: int = 0
    header: str | None = None
    merged: dict[str, str] = field(default_factory=dict)
    lower: int = 0
    source: str = ""

    @property
    def account(self) -> str:
        """Summary of the parsed file, in one line."""
        header = "no header" if self.header is None else f"header {quoted(self.header)}"
        lower = f", {self.lower:,} in lower case read in upper case" if self.lower else ""
        return f"{self.source}: {counted(self.pairs, 'pair')}, {header}{lower}"


def distances_of_file(
    source: Path,
    graph: ConceptGraph,
    output: BinaryIO,
    *,
    rejects: BinaryIO | None = None,
    header: Header = "auto",
    direction: Direction = "any",
    max_hops: int | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> PairsDone:
    """Answer every pair of a file, in its order.

    Args:
        source: plain or gzipped, UTF-8, two tab-separated columns; LF or CRLF.
        graph: who answers.
        output: receives the rows with their third column; a header is kept, with ``hops`` added.
        rejects: receives faulty rows (line number, reason, row); without it the first fault is an error.
        header: ``auto`` takes the first line for a header if neither field is an identifier that the graph knows of
            or a CUI by its form.
        direction, max_hops: as in `ConceptGraph.distances`.
        progress: called with the bytes of each finished block.

    Raises:
        InputError: the file cannot be read, or a row is faulty and ``rejects`` is not given.
    """
    done = PairsDone(source=str(source))
    numbered: Iterator[tuple[int, bytes]] = enumerate((line.rstrip(b"\r\n") for line in raw_lines(source)), start=1)
    first = next(numbered, None)
    if first is None:
        raise InputError("the file is empty", file=source, expected="two tab-separated columns of identifiers")
    if header == "yes" or (header == "auto" and _is_header(first[1], graph)):
        done.header = decoded(first[1], source, 1)
        output.write(f"{done.header}\thops\n".encode())
    else:
        numbered = itertools.chain([first], numbered)
    while block := list(itertools.islice(numbered, _BLOCK)):
        pairs: list[tuple[str, str]] = []
        faults: list[tuple[int, bytes, InputError]] = []
        for line, raw in block:
            try:
                pair = _pair(raw, source, line)
                upper = in_upper_case(pair[0]), in_upper_case(pair[1])
                if upper != pair:
                    done.lower += (upper[0] != pair[0]) + (upper[1] != pair[1])
                pairs.append(upper)
            except InputError as error:
                faults.append((line, raw, error))
        faulty = {line for line, _, _ in faults}
        read = [(line, raw) for line, raw in block if line not in faulty]
        unusable = {
            r.requested: r.status for r in graph.resolve(list({cui for pair in pairs for cui in pair})) if r.cui is None
        }
        usable = []
        for (line, raw), pair in zip(read, pairs, strict=True):
            wrong = [(column, cui) for column, cui in enumerate(pair, start=1) if cui in unusable]
            if not wrong:
                usable.append(pair)
                continue
            column, cui = wrong[0]
            form = identifier_fault(cui, graph.release.identifiers)
            fault = InputError(
                _STATUS[unusable[cui]] if form is None else form.problem,
                file=source,
                line=line,
                column=column,
                found=quoted(cui),
                expected=f"a concept of release {graph.release.name}",
                advice="--on-bad-row skip answers the others",
            )
            faults.append((line, raw, fault))
        for line, raw, fault in sorted(faults, key=lambda fault: fault[0]):
            if rejects is None:
                raise fault
            rejects.write(f"{line}\t{fault.problem}: {fault.found}\t".encode() + raw + b"\n")
        answers = graph.distances(usable, direction=direction, max_hops=max_hops)
        output.write(
            "".join(
                f"{a}\t{b}\t{'' if hops is None else hops}\n" for (a, b), hops in zip(usable, answers, strict=True)
            ).encode()
        )
        done.pairs += len(usable)
        done.reached += int(answers.reached.sum())
        done.rejected += len(faults)
        done.merged.update(answers.merged)
        progress(sum(len(raw) + 1 for _, raw in block))
    return done


_STATUS = {
    "unknown": "unknown concept",
    "retired": "retired concept without an exact successor",
    "invalid": "not an identifier",
}


def _pair(raw: bytes, source: Path, line: int) -> tuple[str, str]:
    fields = decoded(raw, source, line).split("\t")
    if len(fields) != 2:
        raise InputError(
            "wrong number of columns",
            file=source,
            line=line,
            found=f"{len(fields)} in {quoted(raw.decode())}",
            expected="2, separated by one tab",
            advice=cause_of_columns(fields, 2, "\t"),
        )
    return fields[0].strip(), fields[1].strip()


def _is_header(raw: bytes, graph: ConceptGraph) -> bool:
    try:
        fields = raw.decode().split("\t")
    except UnicodeDecodeError:
        return False
    if len(fields) != 2 or any(looks_like_identifier(field.strip()) for field in fields):
        return False
    if any(fault is not None and fault.problem != "not an identifier" for fault in map(identifier_fault, fields)):
        return False  # a list, or identifiers with another separator
    return all(r.status in {"unknown", "invalid"} for r in graph.resolve(fields))
