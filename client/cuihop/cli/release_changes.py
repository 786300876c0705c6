"""Changes of a user's concepts and pairs from one release to another, for ``cuihop releases compare``."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from cuihop.adapter_rules import replaced
from cuihop.answer_fields import fields_of
from cuihop.cli.concepts import distinct_concepts
from cuihop.cli.graph_option import PairsOptions
from cuihop.cli.output import note, print_table
from cuihop.cli.pairs import PairAnswers, PairColumns, PairsDone, answers_of_file, note_rows, rejected_rows
from cuihop.collection.concept_tables import read_concept_file
from cuihop.errors import InvalidCui
from cuihop.files.written_files import replaced_file
from cuihop.graph import Resolution, expected_identifiers
from cuihop.identifiers import in_upper_case
from cuihop.notebooks.table import Table
from cuihop.snapshot.graph import SnapshotGraph
from cuihop.snapshot.release_difference import CHANGES, ConceptChange, concept_changes

_SHOWN = 20  # rows on the screen; files have all
_COLUMNS = ("concept", "change", "old", "new", "candidates", "parents gained", "parents lost", "name")
_PAIR_COLUMNS = ("change", "old hops", "new hops")
_PAIR_CHANGES = (
    "same", "nearer", "farther", "path gained", "path lost", "concept gained", "concept lost", "in neither release",
)  # fmt: skip
_ABSENT = -1  # hops of a pair with a concept that the release does not hold


def _counts(counts: Counter[Any], kinds: Sequence[str]) -> dict[str, int]:
    """Count of each kind that occurs."""
    return {kind: counts[kind] for kind in kinds if counts[kind]}


def _show(title: str, counts: dict[str, int], table: Table) -> None:
    """Print counts by kind, then the first rows of what changed."""
    print_table(Table(("change", "count"), [(kind, f"{n:,}") for kind, n in counts.items()]), title=title)
    if table.rows:
        print_table(replace(table, rows=table.rows[:_SHOWN]))
        if len(table.rows) > _SHOWN:
            note(f"only the first {_SHOWN} of {len(table.rows):,} that changed")


@dataclass(frozen=True, eq=False)
class ConceptChanges:
    """Changes of the concepts of a file. ``names``: of each, or nothing."""

    account: str
    changes: Sequence[ConceptChange]
    names: Sequence[str]

    @property
    def counts(self) -> dict[str, int]:
        """Number of concepts by change."""
        return _counts(Counter(each.change for each in self.changes), CHANGES)

    def rows(self, *, changed: bool) -> Iterator[tuple[str, ...]]:
        """A row of `_COLUMNS` for each concept, or for each that changed."""
        for each, name in zip(self.changes, self.names, strict=True):
            if not changed or each.change != "unchanged":
                candidates = ";".join(" ".join(pair) for pair in each.candidates)
                parents = ";".join(each.parents_gained), ";".join(each.parents_lost)
                yield each.requested, each.change, each.old or "", each.new or "", candidates, *parents, name

    def fields(self) -> dict[str, Any]:
        """Counts, and the concepts that changed."""
        changed = [
            {**fields_of(each), "name": name or None}
            for each, name in zip(self.changes, self.names, strict=True)
            if each.change != "unchanged"
        ]
        return {"distinct": len(self.changes), "counts": self.counts, "changed": changed}

    def write(self, path: Path | None) -> None:
        """Write a row for each concept, if a file is requested."""
        if path is not None:
            with replaced_file(path) as out:
                for row in (_COLUMNS, *self.rows(changed=False)):
                    out.write(("\t".join(row) + "\n").encode())

    def show(self) -> None:
        """Print the counts, and the first concepts that changed."""
        note(self.account)
        _show("Your concepts", self.counts, Table(_COLUMNS, list(self.rows(changed=True))))


def changed_concepts(
    file: Path, columns: Mapping[str, str | None], old: SnapshotGraph, new: SnapshotGraph
) -> ConceptChanges:  # fmt: skip
    """Changes of the concepts of a file, whose columns have these names."""
    read = read_concept_file(file, **columns)
    identifiers = sorted({*map(in_upper_case, distinct_concepts(read))})
    sides = zip(old.resolve(identifiers), new.resolve(identifiers), strict=True)
    if faulty := [before.requested for before, after in sides if before.status == after.status == "invalid"]:
        expected = expected_identifiers(new.release, faulty)
        raise InvalidCui(faulty, expected=expected, where=read.place_of(faulty[0]))
    changes = concept_changes(old, new, identifiers)
    names = dict[str, str | None]()
    for graph, held in ((old, [each.old for each in changes]), (new, [each.new for each in changes])):
        current = sorted({cui for cui in held if cui is not None} - names.keys())
        names |= zip(current, graph.names(current), strict=True)
    texts = [" ".join((names.get(each.old or each.new or "") or "").split()) for each in changes]
    return ConceptChanges(read.account, changes, texts)


class _EitherRelease(SnapshotGraph):
    """The new release, which also resolves the concepts that the old one alone holds."""

    def __init__(self, old: SnapshotGraph, new: SnapshotGraph) -> None:
        super().__init__(new.sections)
        self._old = old
        self._release = replace(new.release, name=f"{old.release.name} or {new.release.name}")

    def _resolve(self, cuis: Sequence[str]) -> list[Resolution]:
        answers = []
        for before, after in zip(self._old.resolve(cuis), super()._resolve(cuis), strict=True):
            several = next((each for each in (before, after) if each.status == "several"), None)
            answer = several or (after if before.cui is None else before)
            # a code stays one: each release has its own concept of it
            answers.append(Resolution(answer.requested, "current", answer.requested) if answer.cui else answer)
        return answers


class _Nowhere(io.BytesIO):
    """A file for rows that nobody has requested."""

    def write(self, _: Any) -> int:
        return 0


@dataclass(eq=False)
class PairChanges:
    """The hops of the pairs of a file in two releases. ``changed``: rows of those that are not the same."""

    old: SnapshotGraph
    new: SnapshotGraph
    counts: Counter[str] = field(default_factory=Counter)
    changed: list[tuple[str, ...]] = field(default_factory=list)

    def write(self, options: PairsOptions, path: Path | None) -> PairsDone:
        """Read the pairs, and write a row for each if a file is requested."""
        rejects = rejected_rows(options, path, "--pair-changes")
        with ExitStack() as stack:
            out: BinaryIO = stack.enter_context(_Nowhere() if path is None else replaced_file(path))
            aside = None if rejects is None else stack.enter_context(replaced_file(rejects))
            done = answers_of_file(
                str(options.pairs), _EitherRelease(self.old, self.new), out, PairColumns(_PAIR_COLUMNS, self._answers),
                rejects=aside, header=options.header,
            )  # fmt: skip
        note_rows(done, options, rejects)
        return done

    def _answers(self, pairs: Sequence[tuple[str, str]]) -> PairAnswers:
        (before, _), (after, merged) = (_hops(graph, pairs) for graph in (self.old, self.new))
        rows = [
            (_pair_change(*hops), *("" if each in (None, _ABSENT) else str(each) for each in hops))
            for hops in zip(before, after, strict=True)
        ]
        self.counts.update(row[0] for row in rows)
        self.changed += [(*pair, *row) for pair, row in zip(pairs, rows, strict=True) if row[0] != "same"]
        return PairAnswers(["\t".join(row) for row in rows], len(rows), merged)

    def fields(self, done: PairsDone) -> dict[str, Any]:
        """Counts, and the pairs that changed; hops are ``None`` without a path, or without a concept."""
        names = ("a", "b", "change", "old_hops", "new_hops")
        changed = [
            dict(zip(names, (*row[:3], *(int(hops) if hops else None for hops in row[3:])), strict=True))
            for row in self.changed
        ]
        counts = _counts(self.counts, _PAIR_CHANGES)
        return {"pairs": done.pairs, "rejected": done.rejected, "counts": counts, "changed": changed}

    def show(self) -> None:
        """Print the counts, and the first pairs that changed."""
        _show("Your pairs", _counts(self.counts, _PAIR_CHANGES), Table(("a", "b", *_PAIR_COLUMNS), self.changed))


def _hops(graph: SnapshotGraph, pairs: Sequence[tuple[str, str]]) -> tuple[list[int | None], dict[str, str]]:
    """The hops of each pair, and the concepts that other identifiers stand for."""
    resolutions = graph.resolve(list({cui for pair in pairs for cui in pair}))
    concept = {each.requested: each.cui for each in resolutions if each.cui is not None}
    held = [(concept[a], concept[b]) for a, b in pairs if a in concept and b in concept]
    hops = iter(graph.distances(held))
    return [next(hops) if a in concept and b in concept else _ABSENT for a, b in pairs], replaced(resolutions)


def _pair_change(old: int | None, new: int | None) -> str:
    if _ABSENT in (old, new):
        return "in neither release" if old == new else "concept gained" if old == _ABSENT else "concept lost"
    if old == new:
        return "same"
    if old is None or new is None:
        return "path gained" if old is None else "path lost"
    return "nearer" if new < old else "farther"
