"""The concepts behind the identifiers of true and predicted mentions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from cuihop.annotated_texts.documents import AnnotatedDocument
from cuihop.annotated_texts.identifier_map import IdentifierMap, without_prefix
from cuihop.graph import ConceptGraph
from cuihop.identifiers import identifier_fault
from cuihop.measures.resolution import ResolvedConcepts, check_some_known, resolved_concepts

__all__ = ["ConceptNumbers", "numbered_concepts", "occurrences"]


@dataclass(frozen=True, eq=False)
class ConceptNumbers:
    """Concepts and their numbers, those of the graph first.

    Attributes:
        names: of the concepts. held: the number of those in the graph.
        true: identifier as it is written → numbers of its concepts, any of which is right.
        predicted: identifier as it is written → number of its concept.
        resolved: resolution of the identifiers.
        unmapped: true identifiers that neither the map nor the graph has.
        bare: identifiers compared without their prefix.
    """

    names: Sequence[str]
    held: int
    true: Mapping[str, tuple[int, ...]]
    predicted: Mapping[str, int]
    resolved: ResolvedConcepts
    unmapped: frozenset[str] = frozenset()
    bare: frozenset[str] = frozenset()


def numbered_concepts(
    gold: Iterable[AnnotatedDocument],
    predicted: Iterable[AnnotatedDocument],
    graph: ConceptGraph | None,
    identifiers: IdentifierMap | None,
    sources: tuple[str, str],
) -> ConceptNumbers:
    """Resolve every identifier of both annotations.

    Args:
        gold, predicted: the texts. sources: their files, for messages.
        graph: resolves identifiers; one that it does not hold matches only itself.
        identifiers: translates those of the true mentions.

    Raises:
        InvalidCui: an identifier is malformed, and the map does not have it.
        InputError: the graph holds none of the true identifiers, or none of the predicted ones.
    """
    gold_counts, predicted_counts = occurrences(gold), occurrences(predicted)
    mapped = {identifier: () if identifiers is None else identifiers.find(identifier) for identifier in gold_counts}
    as_written = {identifier: found or (identifier,) for identifier, found in mapped.items()}
    spelling = _common_spelling({*predicted_counts, *(c for found in as_written.values() for c in found)}, graph)
    true = {identifier: [spelling[c] for c in found] for identifier, found in as_written.items()}
    guessed = {identifier: [spelling[identifier]] for identifier in predicted_counts}
    unmapped = frozenset[str]()
    if identifiers is not None:
        usable = {c for found in identifiers.concepts.values() for c in found}
        rest = {true[identifier][0] for identifier, found in mapped.items() if not found}
        usable |= _all_held(rest, graph)
        unmapped = frozenset(i for i, found in mapped.items() if not found and true[i][0] not in usable)
    looked_up = {c for i, found in true.items() if i not in unmapped for c in found}
    resolved = resolved_concepts(looked_up.union(*guessed.values()), graph, "isolated")
    for side, counts, source in ((true, gold_counts, sources[0]), (guessed, predicted_counts, sources[1])):
        if graph is not None:
            times = Counter[str]()
            for identifier, number in counts.items():
                if identifier not in unmapped:
                    times.update(dict.fromkeys(side[identifier], number))
            check_some_known(resolved, times, graph, source, "texts")
    concept = {**{true[i][0]: true[i][0] for i in unmapped}, **resolved.concept}
    outside = set(concept.values()).difference(resolved.concept.values()) | resolved.isolated
    names = sorted(set(concept.values()), key=lambda name: (name in outside, name))
    numbers = {name: number for number, name in enumerate(names)}

    return ConceptNumbers(
        names,
        0 if graph is None else len(names) - len(outside),
        {i: tuple(dict.fromkeys(numbers[concept[c]] for c in found)) for i, found in true.items()},
        {i: numbers[concept[c]] for i, (c,) in guessed.items()},
        resolved,
        unmapped,
        frozenset(i for i, plain in spelling.items() if i != plain),
    )


def occurrences(texts: Iterable[AnnotatedDocument]) -> Counter[str]:
    """The number of mentions of each identifier."""
    return Counter(identifier for text in texts for mention in text.mentions for identifier in mention.cuis)


def _common_spelling(identifiers: Collection[str], graph: ConceptGraph | None) -> dict[str, str]:
    """Identifier → the same without its prefix, where the graph or the other texts have it so."""
    plain = {identifier for identifier in identifiers if ":" not in identifier}
    prefixed = [identifier for identifier in identifiers if ":" in identifier]
    held = _all_held([*prefixed, *map(without_prefix, prefixed)], graph)
    spelling = {identifier: identifier for identifier in identifiers}
    for identifier in prefixed:
        bare = without_prefix(identifier)
        if identifier not in held and (bare in plain or bare in held):
            spelling[identifier] = bare
    return spelling


def _all_held(identifiers: Iterable[str], graph: ConceptGraph | None) -> set[str]:
    if graph is None:
        return set()
    kind = graph.release.identifiers
    wanted = sorted({i for i in identifiers if identifier_fault(i, kind) is None})
    return {answer.requested for answer in graph.resolve(wanted) if answer.cui is not None}
