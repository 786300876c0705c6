"""Identifiers of true and predicted mentions: files that map them to concepts, and the numbers of their concepts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cuihop.annotated_texts.documents import AnnotatedDocument
from cuihop.collection.concept_rows import separated
from cuihop.collection.tables import Schema
from cuihop.files.content_digest import content_digest
from cuihop.files.input_file import InputFile, Readable, opened_input
from cuihop.files.records import Records
from cuihop.files.text_lines import counted, decoded_lines, first_line, joined
from cuihop.graph import ConceptGraph
from cuihop.identifiers import identifier_fault, looks_like_identifier
from cuihop.measures.resolution import ResolvedConcepts, Unknown, check_some_known, resolved_concepts

_SCHEMA = Schema(
    usual=(("identifier", "id", "mesh"), ("cui", "cuis", "concept", "concepts")),
    contents="identifiers and concepts", expected="two columns separated by a comma: identifier and concept",
    hint="Call them identifier and CUI.", row="identifier", headless=("identifier", "CUI"),
    is_data=lambda names: any(map(looks_like_identifier, separated(names[1].strip()))),
)  # fmt: skip
_SSSOM = ("subject_id", "predicate_id", "object_id")
_METADATA = re.compile(r"#\s*\w+:")
_NAMESPACE = re.compile(r".*[:#/]")
_SAME = frozenset({"exactMatch", "closeMatch", "equivalentClass", "sameAs"})
"""Predicates of SSSOM by which a concept stands for an identifier; symmetric ones."""
_UMLS = re.compile(r"UMLS:(?=C[0-9]{7}$)", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class IdentifierMap:
    """Identifier of another vocabulary → its concepts, any of which is right.

    Attributes:
        concepts: identifier → concepts, in the order of the file.
        source: the file. form: how it was read.
    """

    concepts: Mapping[str, tuple[str, ...]]
    source: str = "memory"
    form: str = ""

    @classmethod
    def read(cls, path: Readable) -> IdentifierMap:
        """Read identifiers and concepts: CSV of two columns with or without a header, JSON Lines or Parquet.

        An identifier may have several rows, or several concepts separated by ``;``. A table with the columns
        ``subject_id``, ``predicate_id`` and ``object_id`` is one of SSSOM: its rows count whose predicate is
        exactMatch, closeMatch, equivalentClass or sameAs, of whatever prefix, and not negated; the others are counted.

        Raises:
            InputError: a field is empty, a concept is malformed, or no row counts; names the line.
        """
        mapping: dict[str, dict[str, None]] = {}
        file = opened_input(path)
        text = None if file.form == "table" else first_line(_without_metadata(file))
        records = Records.of(file, _SCHEMA.expected, text)
        if {*_SSSOM} <= {*records.names}:
            return cls._of_sssom(records)
        table = _SCHEMA.table(records)
        for row, (identifier, concepts) in table.texts():
            listed = [concept.strip() for concept in separated(concepts)]
            if not identifier or not listed:
                column = "identifier" if not identifier else "concept"
                raise table.error(f"the {column} is missing", row, int(bool(identifier)), "nothing", f"the {column}")
            for concept in listed:
                mapping.setdefault(identifier, {})[table.error.checked_identifier(concept, row, 1)] = None
        if not mapping:
            raise table.empty()
        entries = {identifier: tuple(concepts) for identifier, concepts in mapping.items()}
        return cls(entries, table.records.source, table.form)

    @classmethod
    def _of_sssom(cls, records: Records) -> IdentifierMap:
        columns = [records.column(name) for name in _SSSOM]
        columns += [index for index, name in enumerate(records.names) if name == "predicate_modifier"]
        error, others = records.row_errors(columns), Counter[str]()
        mapping: dict[str, dict[str, None]] = {}
        for row, (subject, predicate, target, *negated) in records.texts(columns):
            for column, text in enumerate((subject, predicate, target)):
                if not text:
                    raise error("a field is missing", row, column, "nothing", f"the {_SSSOM[column]}")
            if _NAMESPACE.sub("", predicate) not in _SAME or any(negated):
                others[" ".join((*negated, predicate)).strip()] += 1
                continue
            reverse = bool(_UMLS.match(subject)) and not _UMLS.match(target)
            identifier, concept = (target, subject) if reverse else (subject, target)
            concept = error.checked_identifier(_UMLS.sub("", concept), row, 0 if reverse else 2)
            mapping.setdefault(identifier, {})[concept] = None
        left = ", ".join(f"{count:,} {predicate}" for predicate, count in others.most_common())
        if not mapping:
            raise error.empty("mapping of SSSOM", ", ".join(sorted(_SAME)), left or None)
        entries = {identifier: tuple(concepts) for identifier, concepts in mapping.items()}
        return cls(entries, records.source, joined("SSSOM", records.form, f"left out: {left}" if left else ""))

    @property
    def account(self) -> str:
        """Summary of the parsed input, in one line."""
        pairs = sum(map(len, self.concepts.values()))
        facts = joined(counted(len(self.concepts), "identifier"), counted(pairs, "concept"), self.form)
        return f"{self.source}: {facts}"

    @property
    def digest(self) -> str:
        """SHA-256 of the content."""
        return content_digest({identifier: list(concepts) for identifier, concepts in self.concepts.items()})

    def find(self, identifier: str) -> tuple[str, ...]:
        """The concepts of an identifier; with and without a prefix such as ``MESH:`` it is the same. Empty if none."""
        for spelling in (identifier, without_prefix(identifier)):
            if spelling in self.concepts:
                return self.concepts[spelling]
        return self._bare.get(identifier, ())

    @cached_property
    def _bare(self) -> Mapping[str, tuple[str, ...]]:
        """The map by identifiers without prefix; one that two vocabularies have has no entry."""
        times = Counter(map(without_prefix, self.concepts))
        bare = ((without_prefix(identifier), concepts) for identifier, concepts in self.concepts.items())
        return {identifier: concepts for identifier, concepts in bare if times[identifier] == 1}


def _without_metadata(file: InputFile) -> Iterator[str]:
    """The lines, with empty ones in place of the metadata above a table of SSSOM."""
    first, lines = first_line(decoded_lines(file))
    above = _METADATA.match(first) is not None
    for line in lines:
        above = above and (line.startswith("#") or not line.strip())
        yield "\n" if above else line


def without_prefix(identifier: str) -> str:
    """The identifier without the name of its vocabulary.

    >>> without_prefix("MESH:D003110"), without_prefix("D003110")
    ('D003110', 'D003110')
    """
    return identifier.rpartition(":")[2]


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
    gold: Collection[AnnotatedDocument],
    predicted: Collection[AnnotatedDocument],
    graph: ConceptGraph | None,
    identifiers: IdentifierMap | None,
    sources: tuple[str, str],
    unknown: Unknown = "isolated",
) -> ConceptNumbers:
    """Resolve every identifier of both annotations.

    Args:
        gold, predicted: the texts. sources: their files, for messages.
        graph: resolves identifiers. unknown: treatment of those that it does not hold.
        identifiers: translates those of the true mentions.

    Raises:
        InvalidCui: an identifier is malformed, and the map does not have it.
        ConceptNotFound, ConceptRetired: the graph does not hold one, and ``unknown`` is ``error``.
        InputError: the graph holds none of the true identifiers, or none of the predicted ones.
    """
    gold_counts, predicted_counts = occurrences(gold), occurrences(predicted)
    mapped = {identifier: () if identifiers is None else identifiers.find(identifier) for identifier in gold_counts}
    as_written = {identifier: concepts or (identifier,) for identifier, concepts in mapped.items()}
    spelling = _common_spelling({*predicted_counts, *(c for concepts in as_written.values() for c in concepts)}, graph)
    true = _Side(
        gold, gold_counts, {i: [spelling[c] for c in concepts] for i, concepts in as_written.items()}, sources[0]
    )
    guessed = _Side(predicted, predicted_counts, {i: [spelling[i]] for i in predicted_counts}, sources[1])
    unmapped = frozenset[str]()
    if identifiers is not None:
        rest = {identifier: true.concepts[identifier][0] for identifier, concepts in mapped.items() if not concepts}
        usable = _all_held(rest.values(), graph).union(*identifiers.concepts.values())
        unmapped = frozenset(identifier for identifier, concept in rest.items() if concept not in usable)
    sides = (true, guessed)
    looked_up = {c for side in sides for i, concepts in side.concepts.items() for c in concepts if i not in unmapped}
    resolved = resolved_concepts(
        looked_up, graph, unknown, lambda identifier: true.place_of(identifier) or guessed.place_of(identifier)
    )
    if graph is not None:
        for side in sides:
            side.check_some_held(resolved, graph, unmapped)
    concept = {**{true.concepts[i][0]: true.concepts[i][0] for i in unmapped}, **resolved.concept}
    outside = set(concept.values()).difference(resolved.concept.values()) | resolved.isolated
    names = sorted(set(concept.values()), key=lambda name: (name in outside, name))
    numbers = {name: number for number, name in enumerate(names)}
    return ConceptNumbers(
        names=names,
        held=0 if graph is None else len(names) - len(outside),
        true={i: tuple(dict.fromkeys(numbers[concept[c]] for c in concepts)) for i, concepts in true.concepts.items()},
        predicted={i: numbers[concept[c]] for i, (c,) in guessed.concepts.items()},
        resolved=resolved,
        unmapped=unmapped,
        bare=frozenset(identifier for identifier, plain in spelling.items() if identifier != plain),
    )


@dataclass(frozen=True, eq=False)
class _Side:
    """One annotation: its texts, its identifiers with their occurrences and concepts, and its file."""

    texts: Collection[AnnotatedDocument]
    occurrences: Counter[str]
    concepts: Mapping[str, Sequence[str]]
    source: str

    def place_of(self, concept: str) -> str | None:
        """The file and the text that first have a concept."""
        for text in self.texts:
            if any(concept in self.concepts[identifier] for mention in text.mentions for identifier in mention.cuis):
                return f"{self.source}, text {text.identifier}"
        return None

    def check_some_held(self, resolved: ResolvedConcepts, graph: ConceptGraph, left_out: Collection[str]) -> None:
        """See `cuihop.measures.resolution.check_some_known`."""
        times = Counter[str]()
        for identifier, number in self.occurrences.items():
            if identifier not in left_out:
                times.update(dict.fromkeys(self.concepts[identifier], number))
        check_some_known(resolved, times, graph, self.source, "texts")


def occurrences(texts: Iterable[AnnotatedDocument]) -> Counter[str]:
    """The number of mentions of each identifier."""
    return Counter(identifier for text in texts for mention in text.mentions for identifier in mention.cuis)


def _common_spelling(identifiers: Collection[str], graph: ConceptGraph | None) -> dict[str, str]:
    """Identifier → its spelling in the graph or the other texts, which may lack the prefix."""
    plain = {identifier for identifier in identifiers if ":" not in identifier}
    prefixed = [identifier for identifier in identifiers if ":" in identifier]
    held = _all_held([*prefixed, *map(without_prefix, prefixed)], graph, codes=False)
    spelling = {identifier: identifier for identifier in identifiers}
    for identifier in prefixed:
        bare = without_prefix(identifier)
        if identifier not in held and (bare in plain or bare in held):
            spelling[identifier] = bare
    return spelling


def _all_held(identifiers: Iterable[str], graph: ConceptGraph | None, *, codes: bool = True) -> set[str]:
    """Identifiers of concepts that the graph holds, and its codes of these."""
    if graph is None:
        return set()
    kind = graph.release.identifiers
    valid = sorted({i for i in identifiers if identifier_fault(i, kind) is None})
    answers = graph.resolve(valid)
    return {each.requested for each in answers if each.cui is not None and (codes or each.status != "code")}
