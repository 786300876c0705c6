"""Concepts of texts by the names of a snapshot."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cuihop.annotation.mentions import Annotation, Annotations, Mention
from cuihop.annotation.options import AnnotationOptions
from cuihop.snapshot.concept_records import ConceptRecords
from cuihop.snapshot.identifier_table import IdentifierTable
from cuihop.snapshot.string_table import folded
from cuihop.snapshot.word_forms import form_of

__all__ = ["Annotator"]


class Annotator:
    """Longest matches of names."""

    def __init__(self, records: ConceptRecords, cuis: IdentifierTable, indptr: npt.NDArray[np.int32]) -> None:
        self._records, self._cuis = records, cuis
        self._rows: dict[tuple[str, ...], tuple[int, int]] = {}
        for place in range(len(cuis)):
            for row in range(indptr[place], indptr[place + 1]):
                words = tuple(map(form_of, folded(records.strings[row]).split()))
                self._rows.setdefault(words, (place, row))
        self._longest = max(map(len, self._rows), default=0)

    def annotate(self, texts: Sequence[str], options: AnnotationOptions) -> Annotations:
        """See `cuihop.graph.ConceptGraph.annotate_many`."""
        return Annotations.of([self._annotation(text) for text in texts])

    def _annotation(self, text: str) -> Annotation:
        spans = [(m.start(), m.end(), folded(m[0])) for m in re.finditer(r"[^\W_]+", text)]
        words = [form_of(unicodedata.normalize("NFC", word)) for _, _, word in spans]
        mentions, i = [], 0
        while i < len(words):
            for end in range(min(len(words), i + self._longest), i, -1):
                if (found := self._rows.get(tuple(words[i:end]))) is not None:
                    place, row = found
                    first, last = spans[i][0], spans[end - 1][1]
                    name, matched = self._records.name(place), self._records.strings[row]
                    mentions.append(
                        Mention(first, last, text[first:last], self._cuis[place], name, matched, (), "form")
                    )
                    i = end
                    break
            else:
                i += 1
        return Annotation(text, tuple(mentions))
