"""The hierarchy of a graph: the port of similarity, and the values of its answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from cuihop.errors import InputError
from cuihop.files.text_lines import counted
from cuihop.identifiers import checked_identifiers, ends_of_pairs
from cuihop.resources.arrays import Bool, Float64, NumbersOrNone
from cuihop.similarity.options import InformationContent, SimilarityMeasure, SimilarityOptions


@dataclass(frozen=True, slots=True)
class HierarchyFacts:
    """The hierarchy as a whole.

    Attributes:
        nodes: concepts, with each cycle as one.
        cycles: cycles that were made one node.
        concepts_in_cycles: their concepts.
        roots: nodes without a parent; above more than one stands the virtual root.
        leaves: nodes without a child.
        depth: hops from the deepest node to the root, on its longest chain; D of Leacock and Chodorow.
    """

    nodes: int
    cycles: int
    concepts_in_cycles: int
    roots: int
    leaves: int
    depth: int

    @property
    def virtual_root(self) -> bool:
        """True where a virtual root stands above several roots."""
        return self.roots > 1

    @property
    def account(self) -> str:
        """The hierarchy in one line."""
        cycles = counted(self.cycles, "cycle")
        condensed = f"{cycles} with {self.concepts_in_cycles:,} concepts made one node each" if self.cycles else cycles
        root = f"a virtual root above {self.roots:,} roots" if self.virtual_root else "one root"
        return f"{counted(self.nodes, 'node')}, {condensed}; {root}; depth {self.depth:,}"


@dataclass(frozen=True, slots=True)
class Placement:
    """Place of a concept in the hierarchy. A cycle counts as one concept.

    Attributes:
        cui: the concept.
        depth: nodes on the longest chain from the root, both included.
        shortest_depth: nodes on the shortest chain.
        height: hops to the farthest leaf below, on the longest chain.
        ancestors: number of ancestors, the concept itself left out.
        descendants: number of descendants, likewise.
        leaves: number of descendants without a child, the concept itself included if it has none.
        ic: information content; ``None`` for a concept that, with all its descendants, does not occur in the corpus.
        cycle: the concepts of its cycle, itself included; empty where it is in none.
    """

    cui: str
    depth: int
    shortest_depth: int
    height: int
    ancestors: int
    descendants: int
    leaves: int
    ic: float | None
    cycle: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CommonSubsumer:
    """A common ancestor of two concepts.

    Attributes:
        cui: ``None`` for the virtual root. Of a cycle, its first concept in the order of identifiers.
        depth, ic: as in `Placement`.
        hops_a, hops_b: upward hops to it, a cycle being one node.
    """

    cui: str | None
    depth: int
    ic: float | None
    hops_a: int
    hops_b: int


@dataclass(frozen=True, slots=True)
class PairSimilarity:
    """Two concepts by every measure.

    Attributes:
        a, b: the concepts in the hierarchy.
        hops: edges on a shortest path in either direction; ``None`` without a path.
        lowest: the common ancestors that have no common ancestor below them, deepest first, then nearest, then by
            identifier; only the virtual root where there is no other.
        deepest: the common ancestor of Wu and Palmer, their ``lcs``.
        nearest: the common ancestor of path-lcs.
        most_informative: the common ancestor of Resnik, Lin, and Jiang and Conrath, their ``mica``.
        values: value of each measure; ``None`` if it has no value.
        ic: the information content used.
        merged: retired identifier → the successor used in its place.
    """

    a: Placement
    b: Placement
    hops: int | None
    lowest: tuple[CommonSubsumer, ...]
    deepest: CommonSubsumer
    nearest: CommonSubsumer
    most_informative: CommonSubsumer
    values: Mapping[SimilarityMeasure, float | None]
    ic: InformationContent
    merged: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class Similarities(NumbersOrNone[float]):
    """Similarities of a batch of pairs, in the order of the request. A sequence of ``float | None``.

    Attributes:
        values: float64, shape (pairs,). Meaningless where `defined` is false.
        defined: bool, shape (pairs,): false where a concept needs an information content and has none, or where the
            measure has no value.
        options: as requested.
        merged: retired identifier → the successor used in its place.
    """

    values: Float64
    defined: Bool
    options: SimilarityOptions
    merged: Mapping[str, str] = field(default_factory=dict)

    @property
    def _arrays(self) -> tuple[Float64, Bool]:
        return self.values, self.defined


@dataclass(frozen=True, slots=True)
class SimilarityScale:
    """The distribution of each measure over a fixed sample of random pairs of concepts that have an is_a edge.

    Attributes:
        pairs: number of random pairs.
        ic: the information content used.
        percentiles: for each measure its values at 0 %, 1 %, …, 100 % of the pairs, in ascending order; empty if it has
            no value for any pair.
    """

    pairs: int
    ic: InformationContent
    percentiles: Mapping[SimilarityMeasure, tuple[float, ...]]


class Hierarchy(ABC):
    """Similarity over the hierarchy of a graph: see `cuihop.similarity` for its conventions.

    Identifiers are treated as by `cuihop.graph.ConceptGraph`, with the same errors. Answers are exact and
    deterministic, and every method may be called from several threads at once.

    A public method checks its arguments; the method of the same name with an underscore, which an adapter implements,
    gets them checked.
    """

    @abstractmethod
    def facts(self) -> HierarchyFacts:
        """The hierarchy as a whole."""

    def placements(
        self, cuis: Sequence[str], *, ic: InformationContent = "Sanchez", counts: Mapping[str, float] | None = None
    ) -> list[Placement]:
        """The place of each concept.

        Args:
            cuis: identifiers.
            ic, counts: as in `SimilarityOptions`.

        Raises:
            InvalidCui, ConceptNotFound, ConceptRetired: names every identifier at fault.
        """
        return self._placements(checked_identifiers(cuis), SimilarityOptions(ic=ic, counts=counts or {}))

    @abstractmethod
    def _placements(self, cuis: Sequence[str], options: SimilarityOptions) -> list[Placement]: ...

    def pairs(
        self,
        pairs: Iterable[tuple[str, str]],
        *,
        ic: InformationContent = "Sanchez",
        counts: Mapping[str, float] | None = None,
    ) -> list[PairSimilarity]:
        """Each pair by every measure, with its common ancestors. Other arguments and errors as `placements`."""
        return self._pairs(ends_of_pairs(pairs), SimilarityOptions(ic=ic, counts=counts or {}))

    @abstractmethod
    def _pairs(self, ends: Sequence[str], options: SimilarityOptions) -> list[PairSimilarity]: ...

    def similarities(self, pairs: Iterable[tuple[str, str]], options: SimilarityOptions | None = None) -> Similarities:
        """The similarity of each pair.

        Raises:
            InvalidCui, ConceptNotFound, ConceptRetired: as `placements`; no similarity is returned.
        """
        return self._similarities(ends_of_pairs(pairs), options or SimilarityOptions())

    @abstractmethod
    def _similarities(self, ends: Sequence[str], options: SimilarityOptions) -> Similarities: ...

    def set_similarities(
        self, pairs: Iterable[tuple[Collection[str], Collection[str]]], options: SimilarityOptions | None = None
    ) -> Similarities:
        """The similarity of each pair of sets of concepts.

        simUI and simGIC compare the united ancestors of each set. Any other measure is a best-match average (BMA): the
        mean of two means, of the best value of each concept of A among those of B, and the other way round (Couto and
        Silva 2011). If one set is empty the value is 0, and a distance has none; where both are, there is none; nor
        is there one where a concept has no value.

        Args:
            pairs: sets, or other collections: a concept that is given twice counts once.
            options: the measure.

        Raises:
            InvalidCui, ConceptNotFound, ConceptRetired: as `placements`.
            InputError: an item is no pair of collections.
        """
        return self._set_similarities(_checked_sets(pairs), options or SimilarityOptions())

    @abstractmethod
    def _set_similarities(self, sets: Sequence[Collection[str]], options: SimilarityOptions) -> Similarities:
        """The similarity of the sets 2i and 2i + 1, for each i."""

    def similarity(self, a: str, b: str, options: SimilarityOptions | None = None) -> float | None:
        """The similarity of one pair: see `similarities`."""
        return self.similarities([(a, b)], options)[0]

    def pair(
        self, a: str, b: str, *, ic: InformationContent = "Sanchez", counts: Mapping[str, float] | None = None
    ) -> PairSimilarity:
        """One pair by every measure: see `pairs`."""
        return self.pairs([(a, b)], ic=ic, counts=counts)[0]


def _checked_sets(pairs: Iterable[tuple[Collection[str], Collection[str]]]) -> list[Collection[str]]:
    """Both sets of each pair, one after the other, or an `InputError` where an item is no pair of collections."""
    sets: list[Collection[str]] = []
    for item in pairs:
        if not (isinstance(item, Sequence) and len(item) == 2 and all(map(_is_set, item))):
            raise InputError(
                "not a pair of sets of identifiers", column="pairs", found=repr(item)[:80],
                expected="[({a, b}, {c}), …]",
            )  # fmt: skip
        sets.extend(item)
    return sets


def _is_set(item: object) -> bool:
    return isinstance(item, Collection) and not isinstance(item, str | bytes)
