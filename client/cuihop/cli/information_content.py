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


@dataclass(frozen=True, kw_only=True)
class ContentOptions:
    """Information content, and counts of concepts in a corpus."""

    ic: Annotated[
        InformationContent | None,
        typer.Option(
            "--ic", show_default=False,
            help="Information content: Sanchez (the default) or Seco, of the graph; corpus, of --counts or of the "
            "service.",
        ),
    ] = None  # fmt: skip
    counts: Annotated[
        Path | None,
        typer.Option(
            "--counts", show_default=False,
            help="Occurrences of concepts, for --ic corpus: two columns, concept and count; or images and their "
            "concepts.",
        ),
    ] = None  # fmt: skip

    def content(self, graph: ConceptGraph) -> Content:
        """The information content; counts without ``--ic`` are for ``corpus``."""
        if self.counts is None:
            return Content(self.ic or "Sanchez", {})
        if self.ic not in (None, "corpus"):
            raise typer.BadParameter(f"--counts goes with --ic corpus, not with {self.ic}")
        used, account = ConceptCounts.read(self.counts).used_in(graph)
        return Content("corpus", used, account)


@dataclass(frozen=True)
class Content:
    """Information content, with counts of concepts that the graph holds, and their account."""

    ic: InformationContent
    counts: Mapping[str, float]
    counts_account: str = ""

    @property
    def account(self) -> str:
        """The information content in one line."""
        of_counts = f"; {self.counts_account}" if self.counts_account else ""
        return f"information content {self.ic}: {INFORMATION_CONTENTS[self.ic]}{of_counts}"
