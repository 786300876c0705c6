"""Results of MedCAT, QuickUMLS and scispaCy as annotated documents. None of these tools is imported.

`cuihop.annotated_texts.writing` writes the documents as files of mentions and of concepts;
`cuihop.annotated_texts.scoring` scores them. Offsets of all three tools count characters of Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from cuihop.annotated_texts.documents import AnnotatedDocument, GoldMention
from cuihop.errors import InputError
from cuihop.files.text_lines import quoted

__all__ = ["from_medcat", "from_quickumls", "from_scispacy"]


def from_medcat(results: Mapping[str, Mapping[str, Any]]) -> list[AnnotatedDocument]:
    """Entities of MedCAT 2 (and 1).

    Args:
        results: identifier of each text → the value of ``cat.get_entities(text)``. With ``only_cui=True`` the entities
            have no offsets: start and end are -1.

    Raises:
        InputError: an entity is not as MedCAT gives it.

    >>> entity = {"cui": "C0006121", "start": 0, "end": 10, "source_value": "Brain stem", "type_ids": ["T023"]}
    >>> from_medcat({"1": {"entities": {0: entity}, "tokens": []}})[0].mentions[0].cuis
    ('C0006121',)
    """

    def mention(where: str, entity: Any) -> GoldMention:
        if isinstance(entity, str):
            return GoldMention(-1, -1, None, (entity,))
        types = _field(entity, "type_ids", where, list, needed=False) or []
        return _mention(entity, where, "source_value", ";".join(map(str, types)) or None)

    return _documents(results, lambda name, result: [
        mention(f"text {name}, entity {number}", entity)
        for number, entity in (_field(result, "entities", f"text {name}", Mapping, needed=bool(result)) or {}).items()
    ])  # fmt: skip


def from_quickumls(
    results: Mapping[str, Sequence[Sequence[Mapping[str, Any]]]], *, every: bool = False
) -> list[AnnotatedDocument]:
    """Matches of QuickUMLS and of medspaCy's edition of it.

    Args:
        results: identifier of each text → the value of ``matcher.match(text)``: a list of candidates for each match,
            best first.
        every: every candidate as a mention of its own, in place of the best.

    Raises:
        InputError: a match is not as QuickUMLS gives it.

    >>> match = [{"start": 0, "end": 5, "ngram": "Veins", "term": "veins", "cui": "C0042449", "similarity": 1.0}]
    >>> from_quickumls({"1": [match]})[0].mentions[0].text
    'Veins'
    """
    return _documents(results, lambda name, matches: [
        _mention(candidate, f"text {name}, match {number}", "ngram", None)
        for number, candidates in enumerate(matches)
        for candidate in _distinct(candidates if every else candidates[:1])
    ])  # fmt: skip


def from_scispacy(docs: Mapping[str, Any], *, every: bool = False) -> list[AnnotatedDocument]:
    """Entities of spaCy with the concepts of scispaCy's linker.

    Args:
        docs: identifier of each text → the ``Doc`` of a pipeline with ``scispacy_linker``. An entity that it links to
            no concept is left out.
        every: every candidate as a mention of its own, in place of the best.

    Raises:
        InputError: the entities have no ``kb_ents``: the pipeline has no linker.
    """
    documents = []
    for name, doc in docs.items():
        mentions = []
        for entity in doc.ents:
            if not entity.has_extension("kb_ents"):
                raise InputError(
                    "entities without the concepts of a linker", column=f"text {name}", found=quoted(entity.text),
                    expected="._.kb_ents of each entity", advice="nlp.add_pipe('scispacy_linker') gives them.",
                )  # fmt: skip
            for cui, _ in entity._.kb_ents if every else entity._.kb_ents[:1]:
                mentions.append(
                    GoldMention(entity.start_char, entity.end_char, entity.text, (cui,), entity.label_ or None)
                )
        documents.append(AnnotatedDocument(name, doc.text, tuple(mentions)))
    return documents


def _documents(
    results: Mapping[str, Any], mentions: Callable[[str, Any], Iterable[GoldMention]]
) -> list[AnnotatedDocument]:
    return [AnnotatedDocument(str(name), None, tuple(mentions(str(name), result))) for name, result in results.items()]


def _distinct(candidates: Sequence[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    """The first candidate of each concept."""
    return {candidate.get("cui"): candidate for candidate in reversed(candidates)}.values()


def _mention(entity: Any, where: str, text: str, kind: str | None) -> GoldMention:
    start, end = (_field(entity, name, where, int) for name in ("start", "end"))
    if not 0 <= start < end:
        raise InputError(
            "a mention without characters", column=f"{where}, field end", found=f"{start} to {end}",
            expected="a start from 0, and a larger end",
        )  # fmt: skip
    return GoldMention(start, end, _field(entity, text, where, str, needed=False), (_field(entity, "cui", where, str),),
                       kind)  # fmt: skip


def _field(entity: Any, name: str, where: str, kind: type, *, needed: bool = True) -> Any:
    """A field of a result, of its type."""
    value = entity.get(name) if isinstance(entity, Mapping) else None
    if value is None and not needed:
        return None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise InputError(
            "not a result of this tool", column=f"{where}, field {name}",
            found=quoted(repr(value if isinstance(entity, Mapping) else entity)), expected=kind.__name__,
        )  # fmt: skip
    return value
