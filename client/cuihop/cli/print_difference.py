"""Difference between two releases, printed for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuihop.cli.output import note, print_table
from cuihop.notebooks.table import Table

if TYPE_CHECKING:
    from cuihop.snapshot.release_difference import ReleaseDifference


def print_difference(difference: ReleaseDifference) -> None:
    """Print the changes in all, and those of each source vocabulary that changed."""
    counts = [(change, f"{count:,}") for change, count in difference.counts().items()]
    print_table(Table(("change", "count"), counts), title=f"From {difference.old} to {difference.new}")
    changed = [one for one in difference.vocabularies if one.added or one.removed]
    if changed:
        header = ("vocabulary", "edges before", "edges after", "added", "removed")
        rows = [(one.sab, *(f"{count:,}" for count in (one.old, one.new, one.added, one.removed))) for one in changed]
        print_table(Table(header, rows), title="Source vocabularies that changed", numbers=range(1, 5))
    same = [one.sab for one in difference.vocabularies if one not in changed]
    if same:
        note(f"source vocabularies with the same edges: {', '.join(same)}")
