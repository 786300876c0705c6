"""Options of information content, and counts of concepts in a corpus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from cuihop.collection.concept_counts import ConceptCounts
from cuihop.graph import ConceptGraph
from cuihop.similarity.options import INFORMATION_CONTENTS, InformationContent

ContentOption = Annotated[
    InformationContent | None,
    typer.Option(
        "--ic", show_default=False,
        help="Information content: Sanchez (the default) or Seco, of the graph; corpus, of --counts or of the service.",
    ),
]  # fmt: skip
CountsOption = Annotated[
    Path | None,
    typer.Option(
        "--counts", show_default=False,
        help="Occurrences of concepts, for --ic corpus: two columns, concept and count; or images and their concepts.",
    ),
]  # fmt: skip


@dataclass(frozen=True)
class Content:
    """Information content, with counts of concepts that the graph holds, and their account."""

    ic: InformationContent
    counts: Mapping[str, float]
    counts_account: str = ""

    @classmethod
    def of_options(cls, graph: ConceptGraph, ic: InformationContent | None, counts: Path | None) -> Content:
        """From the options; counts without ``--ic`` are for ``corpus``."""
        if counts is None:
            return cls(ic or "Sanchez", {})
        if ic not in (None, "corpus"):
            raise typer.BadParameter(f"--counts goes with --ic corpus, not with {ic}")
        used, account = ConceptCounts.read(counts).used_in(graph)
        return cls("corpus", used, account)

    @property
    def account(self) -> str:
        """The information content in one line."""
        of_counts = f"; {self.counts_account}" if self.counts_account else ""
        return f"information content {self.ic}: {INFORMATION_CONTENTS[self.ic]}{of_counts}"
