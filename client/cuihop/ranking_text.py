"""Rankings in text files: TREC runs, and CSV with a header."""

from __future__ import annotations

import csv
import itertools
import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from cuihop.errors import InputError
from cuihop.rankings import Ranking, places_by_name
from cuihop.text_lines import decoded, raw_lines, shown

__all__ = ["ranking_of_text"]

_TREC_EXPECTED = "6 separated by white space: query Q0 document rank score run"
_CSV_EXPECTED = "the columns query, document and either score or rank"


@dataclass
class _Entries:
    """One entry for each row of the file: places of query and document, key to sort by (ascending), line."""

    owners: array[int] = field(default_factory=lambda: array("i"))
    rows: array[int] = field(default_factory=lambda: array("i"))
    keys: array[float] = field(default_factory=lambda: array("d"))
    lines: array[int] = field(default_factory=lambda: array("q"))


def ranking_of_text(path: Path, queries: Sequence[str], corpus: Sequence[str], depth: int | None) -> Ranking:
    """The ranking in the file. Best first is: score descending (or rank ascending), then document ascending."""
    lines = raw_lines(path)
    first = next((raw for raw in lines if raw.strip()), None)
    if first is None:
        raise InputError("the file is empty", file=path, expected="a TREC run, or CSV with a header")
    lines.close() if hasattr(lines, "close") else None
    query_places, corpus_places = places_by_name(queries), places_by_name(corpus)
    read = _csv_entries if b"," in first and len(first.split()) != 6 else _trec_entries
    entries = read(path, query_places, corpus_places)
    owners = np.frombuffer(entries.owners, dtype=np.int32).astype(np.int64)
    rows = np.frombuffer(entries.rows, dtype=np.int32)
    _check_repeats(owners, rows, entries.lines, path, queries, corpus)
    by_name = np.empty(len(corpus), dtype=np.int32)
    by_name[sorted(range(len(corpus)), key=corpus.__getitem__)] = np.arange(len(corpus), dtype=np.int32)
    order = np.lexsort((by_name[rows], np.frombuffer(entries.keys, dtype=np.float64), owners))
    return Ranking.from_flat(owners[order], rows[order], queries, corpus, depth=depth, source=str(path))
