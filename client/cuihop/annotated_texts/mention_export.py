"""Annotated documents as the tables that `cuihop score-annotations` and `cuihop evaluate` read."""

from __future__ import annotations

from collections.abc import Iterable

from cuihop.annotated_texts.documents import AnnotatedDocument
from cuihop.notebooks.table import Table


def mention_table(documents: Iterable[AnnotatedDocument]) -> Table:
    """A row for each concept of each mention that has its place: identifier, start, end, concept, text and type.

    >>> from cuihop.annotated_texts import GoldMention
    >>> veins = GoldMention(0, 5, "Veins", ("C0042449",))
    >>> print(mention_table([AnnotatedDocument("1", None, (veins,))]).csv(), end="")
    ID,start,end,cui,text,type
    1,0,5,C0042449,Veins,
    """
    rows = [
        (document.identifier, mention.start, mention.end, cui, mention.text, mention.type)
        for document in documents
        for mention in document.mentions
        if mention.start >= 0
        for cui in mention.cuis
    ]
    return Table(("ID", "start", "end", "cui", "text", "type"), rows, "mentions", "Mentions of concepts.")


def concept_table(documents: Iterable[AnnotatedDocument]) -> Table:
    """A row for each document: identifier and concepts, each once, ascending, with ``;`` between them.

    >>> print(concept_table([AnnotatedDocument("1", None)]).csv(), end="")
    ID,CUIs
    1,
    """
    rows = [
        (document.identifier, ";".join(sorted({cui for mention in document.mentions for cui in mention.cuis})))
        for document in documents
    ]
    return Table(("ID", "CUIs"), rows, "concepts", "Concepts of documents.")
