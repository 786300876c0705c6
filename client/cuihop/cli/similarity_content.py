"""Information content of the commands that compute similarities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import typer

from cuihop.cli.option_groups import option, option_group
from cuihop.collection.concept_tables import ConceptCounts
from cuihop.graph import ConceptGraph
from cuihop.similarity.options import INFORMATION_CONTENTS, InformationContent


@option_group
class ContentOptions:
    """Information content, and counts of concepts in a corpus."""

    ic: InformationContent | None = option(
        "Information content: Sanchez (the default) or Seco, of the graph; corpus, of --counts or of the service."
    )
    counts: Path | None = option(
        "Occurrences of concepts, for --ic corpus: two columns, concept and count; or images and their concepts."
    )

    def content(self, graph: ConceptGraph) -> Content:
        """The information content; counts without ``--ic`` are for ``corpus``."""
        if self.counts is None:
            return Content(self.ic or "Sanchez", {})
        if self.ic not in (None, "corpus"):
            raise typer.BadParameter(f"--counts goes with --ic corpus, not with {self.ic}")
        used, summary = ConceptCounts.read(self.counts).used_in(graph)
        return Content("corpus", used, summary)


@dataclass(frozen=True)
class Content:
    """Information content, with counts of concepts that the graph holds, and their summary."""

    ic: InformationContent
    counts: Mapping[str, float]
    counts_summary: str = ""

    @property
    def summary(self) -> str:
        """The information content in one line."""
        of_counts = f"; {self.counts_summary}" if self.counts_summary else ""
        return f"information content {self.ic}: {INFORMATION_CONTENTS[self.ic]}{of_counts}"
