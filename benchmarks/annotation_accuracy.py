"""Accuracy of annotation on the NCBI disease corpus, and the part of each rule in it: an open dictionary, no training.

Gold identifiers are those of MeSH and OMIM; the dictionary gives the UMLS concepts of each. A concept of a text is
right if it is among those of one of the text's identifiers; an identifier is found if one of its concepts is.
Identifiers without any concept in the dictionary are left out, or count as missed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from annotation_data import CORPUS, DISEASES, Abstract, OpenDictionary, abstracts, write_release
from cuihop import SnapshotGraph
from cuihop._kernels import terms
from cuihop.annotation.options import AnnotationOptions
from cuihop.snapshot import annotator, term_table
from cuihop.snapshot.file import Sections
from cuihop_loader import load
from measurement import Measurement, require

__all__ = ["measure_accuracy"]

PARTS = ("devel", "train")
_ALL = "all rules"


class Score(NamedTuple):
    """Document level, micro: concepts predicted and right, identifiers in the gold and found."""

    predicted: int
    right: int
    gold: int
    found: int

    @property
    def precision(self) -> float:
        """Share of the predicted concepts that are right."""
        return self.right / max(self.predicted, 1)

    @property
    def recall(self) -> float:
        """Share of the gold identifiers that are found."""
        return self.found / max(self.gold, 1)

    @property
    def f1(self) -> float:
        """Harmonic mean of both."""
        return 2 * self.precision * self.recall / max(self.precision + self.recall, 1e-9)


def score(
    predicted: Sequence[Sequence[str]],
    corpus: Sequence[Abstract],
    dictionary: OpenDictionary,
    *,
    unmapped: bool = False,
) -> Score:
    """Score the concepts of each text.

    Args:
        predicted: concepts of each text.
        corpus: the texts.
        dictionary: concepts of the gold identifiers.
        unmapped: count identifiers without a concept, as missed.
    """
    total = np.zeros(4, dtype=np.int64)
    for cuis, abstract in zip(predicted, corpus, strict=True):
        gold = [dictionary.identifiers.get(identifier, set()) for identifier in abstract.diseases]
        gold = [concepts for concepts in gold if concepts or unmapped]
        right = set().union(*gold)
        found = sum(not concepts.isdisjoint(cuis) for concepts in gold)
        total += (len(cuis), sum(cui in right for cui in cuis), len(gold), found)
    return Score(*total.tolist())


def _without_sequences(graph: SnapshotGraph, rule: int) -> SnapshotGraph:
    """The graph with the names of this rule among the too general ones."""
    sections = graph.sections
    arrays: dict[str, Any] = {name: sections[name] for name in sections}
    rules = arrays["term_rules"]
    arrays["term_rules"] = rules | np.where(rules & terms.RULE == rule, terms.GENERAL, 0).astype(np.uint8)
    return SnapshotGraph(Sections(sections.meta, arrays))


@contextmanager
def _without_forms(graph: SnapshotGraph) -> Iterator[SnapshotGraph]:
    """The graph with words matched as they are written, but for case and accents."""
    with patch.object(term_table, "form_of", str), patch.object(annotator, "form_of", str):
        yield SnapshotGraph(term_table.with_term_table(graph.sections))


def _no_definitions(*_: object) -> object:
    return np.empty((0, 5), dtype=np.int64)


def measure_accuracy(data: Path, results: Measurement, *, texts: int | None = None) -> None:
    """Print the scores, and what each rule adds to them.

    Args:
        data: the folder of shared data.
        results: takes the figures.
        texts: number of texts of each part; all without.
    """
    corpora = {part: abstracts(data / CORPUS / f"{part}.pubtator.txt.gz")[:texts] for part in PARTS}
    dictionary = OpenDictionary.of(data)
    with tempfile.TemporaryDirectory() as folder:
        graph = SnapshotGraph(load([write_release(data, dictionary, Path(folder) / "release")]).sections)
        small = load([write_release(data, dictionary, Path(folder) / "small", capitals=False)]).sections
    names = len(graph.sections["name_offsets"]) - 1
    print(f"NCBI disease corpus, documents; {names:,} names of {graph.release.concepts:,} concepts")
    for part, corpus in corpora.items():
        identifiers = [identifier for abstract in corpus for identifier in abstract.diseases]
        without = sum(not dictionary.identifiers.get(identifier) for identifier in identifiers)
        print(f"{part}: {len(corpus)} texts, {len(identifiers):,} identifiers, {without} without a concept")
        results.add(f"identifiers without a concept, {part}", "dictionary", without / len(identifiers), "share")
    print(f"{'precision, recall and F1 on':45}{''.join(f'{part:23}' for part in corpora)}")

    def row(label: str, of: SnapshotGraph, *, unmapped: bool = False, **options: Any) -> None:
        chosen = AnnotationOptions(**({"sabs": DISEASES} | options))
        columns = []
        for part, corpus in corpora.items():
            annotations = of.annotate_many([abstract.text for abstract in corpus], chosen)
            scored = score(annotations.concept_lists(), corpus, dictionary, unmapped=unmapped)
            columns.append(f"{scored.precision:8.3f}{scored.recall:7.3f}{scored.f1:7.3f}")
            results.add(f"F1 of documents, {part}", f"cuihop: {label}", scored.f1, "F1")
            if label == _ALL and texts is None:
                require(scored.f1 >= 0.6, f"F1 on {part} is 0.6 at least, found {scored.f1:.3f}")
        print(f"{label:44}{''.join(columns)}", flush=True)

    row(_ALL, graph)
    row("  identifiers without a concept as missed", graph, unmapped=True)
    row("without: acronyms in their own capitals", SnapshotGraph(small))
    row("without: too general names left out", graph, general=True)
    with patch.object(annotator, "_abbreviations", _no_definitions):
        row("without: abbreviations of the text", graph)
    with _without_forms(graph) as other:
        row("without: other forms of words", other)
    row("without: names in natural order", _without_sequences(graph, terms.INVERTED))
    row("without: names without their tail", _without_sequences(graph, terms.TAIL))
    row("without: hyphens of names left out", _without_sequences(graph, terms.SPACING))
    row("without: vocabularies of diseases only", graph, sabs=())
    row("with: disambiguation by context", graph, disambiguate="context")
    row("with: correction of spelling", graph, correct_spelling=True)
    row("with: negated mentions left out", graph, leave_out=("negated",))
    row("with: every match, not the longest", graph, longest=False)
