"""The port: the operations of every graph of concepts, and the values of their answers.

Its adapters are an embedded snapshot, a Neo4j database and a remote service; a cache wraps any of them. The
measures and the command line take a `ConceptGraph`, whichever it is.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import starmap
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, overload

import numpy as np

from cuihop.annotation.mentions import Annotation, Annotations
from cuihop.annotation.options import AnnotationOptions
from cuihop.errors import AmbiguousCode, ConceptNotFound, ConceptRetired, InputError, InvalidCui
from cuihop.identifiers import EXPECTED, Identifiers, checked_identifiers, ends_of_pairs, written_as_code
from cuihop.resources.arrays import NumbersOrNone
from cuihop.similarity.hierarchy import Hierarchy

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

__all__ = [
    "DIRECTIONS",
    "MATCHES",
    "MOST_PATHS",
    "MOST_SABS",
    "CommonAncestor",
    "Concept",
    "ConceptGraph",
    "Direction",
    "DistancePack",
    "Distances",
    "MatchKind",
    "Neighbour",
    "Neighbourhood",
    "Path",
    "Release",
    "Resolution",
    "SearchHit",
    "Step",
    "checked_direction",
    "checked_hops",
    "checked_pack_bound",
    "checked_pairs",
    "checked_which",
    "resolved",
]

Direction: TypeAlias = Literal["any", "up", "down", "vertical"]
"""Direction of hops. ``up``: from child to parent. ``down``: from parent to child. ``any``: each hop in either
direction. ``vertical``: all hops up or all hops down, the smaller of the two distances."""

_LARGEST_PACK = 255

CODES_NEED = "A snapshot that cuihop load made of a release with MRCONSO, without --no-codes, holds them."

MAPS_NEED = (
    "A snapshot that cuihop load made of a release with MRCONSO and MRMAP, without --no-codes, holds them, as does a "
    "service over it; Neo4j does not."
)

CODES_ARE_HIDDEN = "codes of vocabularies stand for concepts only where names may be read"

DIRECTIONS: tuple[Direction, ...] = ("any", "up", "down", "vertical")

MOST_PATHS = 10**15
"""Bound of the count of shortest paths: where there are more, this is the count."""

MOST_SABS = 16
"""The most vocabularies that a graph is restricted to: see `ConceptGraph.within`."""

MatchKind: TypeAlias = Literal["identifier", "exact", "words", "prefix", "form", "spelling", "part"]
"""Way in which a name matches the text of a search: see `MATCHES`."""

CodeMark: TypeAlias = Literal["active", "suppressed", "obsolete"]
"""SUPPRESS of the best atom with a code: ``N``; ``E``, ``Y`` or another; or ``O``."""

CODE_MARKS: tuple[CodeMark, ...] = ("active", "suppressed", "obsolete")

CodeStatus: TypeAlias = Literal[
    "current", "merged", "suppressed", "retired", "unknown", "unknown_vocabulary", "invalid"
]
"""Status of an identifier whose codes are looked up: see `CodeLookup`."""

Many: TypeAlias = Literal["error", "first", "all"]
"""Treatment of codes of several concepts: refuse them; take the first; or, in sets, take all."""

MATCHES: Mapping[MatchKind, str] = {
    "identifier": "the text is the identifier of the concept, or one that it replaces",
    "exact": "the text is the name",
    "words": "every word of the text is a word of the name",
    "prefix": "every word of the text begins a word of the name",
    "form": "every word, or its beginning, in another form: British or American, singular or plural, together or apart",
    "spelling": "the nearest words: one or two letters differ",
    "part": "only some of the words: no name matches them all",
}
"""Kinds of matches and their meaning. Case, accents, punctuation and the order of words never matter; words as *of* and
*the* need not match."""


@dataclass(frozen=True, slots=True)
class Release:
    """A loaded release. Two graphs with the same digest give the same distances, paths and neighbourhoods.

    Attributes:
        name: the user's name for it, e.g. ``2025AB``.
        digest: SHA-256 over the concepts, the is_a edges and the retired concepts, 64 hexadecimal digits.
        relations: the relation filter, e.g. ``("isa",)``.
        sabs: the source vocabularies (SAB) that assert at least one edge.
        identifiers: the kind of identifiers it holds.
        concepts, edges: counts; an edge is one distinct (child, parent) pair, self-loops left out.
        source: description of the source files, for people.
    """

    name: str
    digest: str
    relations: tuple[str, ...]
    sabs: tuple[str, ...]
    identifiers: Identifiers
    concepts: int
    edges: int
    source: str = ""

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Release:
        """The release from its values in a header or a database, which may hold others too."""
        own = {each.name: values[each.name] for each in fields(cls) if each.name in values}
        return cls(**own | {name: tuple(values.get(name, ())) for name in ("relations", "sabs")})


@dataclass(frozen=True, slots=True)
class Resolution:
    """Resolution of a requested identifier.

    Attributes:
        requested: the identifier as given.
        status: ``current`` (the graph holds it); ``merged`` (retired, and `cui` is its one exact successor in the
            graph); ``code`` (a code of a vocabulary, a CURIE or a URI, of which `cui` is the one concept); ``several``
            (a code of several concepts); ``retired`` (retired without such a successor, or a code without an active
            atom); ``unknown`` (the graph does not hold it); ``invalid`` (the text cannot be an identifier of this
            graph, nor a code of its vocabularies).
        cui: the concept to use: for ``current``, ``merged`` and ``code`` only.
        candidates: for ``retired``, pairs of UMLS relation (``RB``, ``RN``, ``RO``) and concept, the releases'
            own suggestions, or of a mark in `CODE_MARKS` and concept; for ``several``, pairs of ``code`` and concept,
            best first; for ``unknown``, ``("SY", successor)`` where it was merged into a concept that this graph does
            not hold, or ``("alike", code)`` for codes that differ in case or in the point of ICD.
    """

    requested: str
    status: Literal["current", "merged", "code", "several", "retired", "unknown", "invalid"]
    cui: str | None = None
    candidates: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Distances(NumbersOrNone[int]):
    """Distances of a batch of pairs, in the order of the request. A sequence of ``int | None``.

    Attributes:
        hops: int32, shape (pairs,); edges on a shortest path. Meaningless where `reached` is false.
        reached: bool, shape (pairs,); false where no path exists within the bound.
        direction, max_hops: as requested; ``max_hops=None`` is no bound.
        merged: retired identifier → the successor used in its place; code → its concept.
    """

    hops: npt.NDArray[np.int32]
    reached: npt.NDArray[np.bool_]
    direction: Direction
    max_hops: int | None
    merged: Mapping[str, str] = field(default_factory=dict)

    @property
    def _arrays(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
        return self.hops, self.reached

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Distances | list | tuple):
            return self.to_list() == list(other)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def to_pandas(self) -> pd.Series[int]:
        """The distances as a nullable ``Int32`` series; no path is ``<NA>``. Needs the extra ``frames``."""
        from cuihop.resources.optional_packages import installed_by

        with installed_by("cuihop[frames]"):
            import pandas as pd

        return pd.Series(pd.arrays.IntegerArray(self.hops.copy(), ~self.reached), name="hops")

    def _repr_html_(self) -> str:
        from cuihop.notebooks.graph_html import distances_html

        return distances_html(self.hops, self.reached, self.direction, self.max_hops, self.merged)


@dataclass(frozen=True, slots=True)
class Step:
    """One hop of a path: from the concept before to `cui`.

    Attributes:
        cui: the end of the hop.
        relation: ``parent`` if `cui` is a parent of the concept before, ``child`` if it is a child. If both
            hold (a cycle of two) the relation is ``parent``, unless only ``down`` was allowed.
        sabs: the source vocabularies that assert the edge, sorted.
    """

    cui: str
    relation: Literal["parent", "child"]
    sabs: tuple[str, ...] = ()


class _Named:
    """Concepts of an answer, which the graph that gave it can name. A copy by pickle or ``replace`` has no names."""

    __slots__ = ("_graph",)
    _graph: ConceptGraph

    @property
    def cuis(self) -> tuple[str, ...]:
        """The concepts."""
        raise NotImplementedError

    @property
    def names(self) -> tuple[str | None, ...]:
        """The preferred name of each of `cuis`, looked up in the graph; ``None`` without one."""
        graph: ConceptGraph | None = getattr(self, "_graph", None)
        return (None,) * len(self.cuis) if graph is None else tuple(graph.names(self.cuis))

    def named_by(self, graph: ConceptGraph) -> Self:
        """A copy that takes its names from this graph."""
        named = copy.copy(self)
        object.__setattr__(named, "_graph", graph)
        return named


@dataclass(frozen=True, slots=True)
class Path(_Named):
    """One shortest path of all those between two concepts; `names` has the name of each of `cuis`.

    Attributes:
        start: the first concept.
        steps: the hops; empty for the path from a concept to itself.
        direction: permitted direction of the hops.
        merged: retired identifier → the successor used in its place; code → its concept.
        total: number of shortest paths; `MOST_PATHS` where there are that many or more. In direction ``vertical``,
            where a cycle makes the shortest paths up and down equally long, those up.
        which: rank of this one in the order of identifiers, from 1. A path is one sequence of concepts.
    """

    start: str
    steps: tuple[Step, ...]
    direction: Direction
    merged: Mapping[str, str] = field(default_factory=dict)
    total: int = 1
    which: int = 1

    @property
    def hops(self) -> int:
        """Edges on the path: the distance."""
        return len(self.steps)

    @property
    def cuis(self) -> tuple[str, ...]:
        """The concepts on the path, both ends included."""
        return (self.start, *(step.cui for step in self.steps))

    def _repr_html_(self) -> str:
        from cuihop.notebooks.graph_html import path_html

        upwards = [step.relation == "parent" for step in self.steps]
        return path_html(self.cuis, upwards, [step.sabs for step in self.steps], self.direction, self.merged)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A concept of a neighbourhood, and its distance in hops from the centre."""

    cui: str
    hops: int


@dataclass(frozen=True, slots=True, order=True)
class IsAEdge:
    """An is_a edge, with the source vocabularies that assert it."""

    child: str
    parent: str
    sabs: tuple[str, ...] = ()

    @classmethod
    def of(cls, before: str, step: Step) -> IsAEdge:
        """The edge of a hop from a concept."""
        return cls(*((before, step.cui) if step.relation == "parent" else (step.cui, before)), step.sabs)


@dataclass(frozen=True, slots=True)
class ShortestPaths:
    """All shortest paths between two concepts as one graph, in layers by their hops from the first.

    Attributes:
        total: number of shortest paths, as in `Path`.
        concepts: those on a shortest path, with their hops from the first concept; by hops, then by identifier.
        edges: is_a edges between concepts of neighbouring layers.
        truncated: true if a limit left concepts out.
        direction: permitted direction of the hops.
        merged: retired identifier → the successor used in its place; code → its concept.
    """

    total: int
    concepts: tuple[Neighbour, ...]
    edges: tuple[IsAEdge, ...]
    truncated: bool
    direction: Direction
    merged: Mapping[str, str] = field(default_factory=dict)

    @property
    def hops(self) -> int:
        """Edges on each path: the distance."""
        return self.concepts[-1].hops


@dataclass(frozen=True, slots=True)
class Neighbourhood(_Named, Sequence[Neighbour]):
    """The concepts within some hops of a centre, the centre itself left out. A sequence of `Neighbour`.

    `names` has the name of each of `cuis`, the neighbours.

    Attributes:
        cui: the centre.
        neighbours: nearest first, then by identifier.
        total: size of the neighbourhood; above ``len(neighbours)`` only where `limit` truncated the list.
        hops: the bound; ``None`` is no bound.
        direction: direction of the hops from the centre.
        merged: retired identifier, or code → the centre used in its place.
    """

    cui: str
    neighbours: tuple[Neighbour, ...]
    total: int
    hops: int | None
    direction: Direction
    merged: Mapping[str, str] = field(default_factory=dict)

    @property
    def cuis(self) -> tuple[str, ...]:
        """The neighbours' identifiers."""
        return tuple(neighbour.cui for neighbour in self.neighbours)

    @property
    def truncated(self) -> bool:
        """True where a limit truncated the list."""
        return self.total > len(self.neighbours)

    def __len__(self) -> int:
        return len(self.neighbours)

    def __repr__(self) -> str:
        within = "" if self.hops is None else f" within {self.hops} hop{'' if self.hops == 1 else 's'}"
        return f"<Neighbourhood of {self.cui}: {self.total:,} concepts{within}>"

    @overload
    def __getitem__(self, index: int) -> Neighbour: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Neighbour, ...]: ...
    def __getitem__(self, index: int | slice) -> Neighbour | tuple[Neighbour, ...]:
        return self.neighbours[index]

    def __iter__(self) -> Iterator[Neighbour]:
        return iter(self.neighbours)

    def _repr_html_(self) -> str:
        from cuihop.notebooks.graph_html import neighbourhood_html

        neighbours = [(neighbour.hops, neighbour.cui) for neighbour in self]
        return neighbourhood_html(self.cui, neighbours, self.total, self.hops, self.direction, self.merged)


@dataclass(frozen=True, slots=True)
class CommonAncestor:
    """A concept above both (or equal to one of them), and the upward distance from each."""

    cui: str
    hops_a: int
    hops_b: int


@dataclass(frozen=True, slots=True)
class Definition:
    """Definition of a concept by a source vocabulary (SAB)."""

    sab: str
    text: str


@dataclass(frozen=True, slots=True)
class Concept:
    """Record of one concept.

    Attributes:
        cui: the identifier.
        name: the preferred name; ``None`` if the release gives none.
        synonyms: other names, in the order of the release's ranking.
        semantic_types: identifier and name of each type, e.g. T023 and Body Part, Organ, or Organ Component.
        parents: number of parents.
        children: number of children.
        definitions: by vocabulary; empty if the release gives none.
        sabs: the source vocabularies that assert an is_a edge of it, to a parent or from a child, sorted.
        codes: its codes, in the order of `ConceptGraph.codes`; empty if the graph holds none.
    """

    cui: str
    name: str | None
    synonyms: tuple[str, ...]
    semantic_types: tuple[tuple[str, str], ...]
    parents: int
    children: int
    definitions: tuple[Definition, ...] = ()
    sabs: tuple[str, ...] = ()
    codes: tuple[SourceCode, ...] = ()

    def _repr_html_(self) -> str:
        from cuihop.notebooks.graph_html import concept_html

        counts = self.parents, self.children
        return concept_html(self.cui, self.name, self.semantic_types, self.synonyms, *counts)


@dataclass(frozen=True, slots=True)
class SourceCode:
    """Code of a source vocabulary (SAB) for a concept.

    Attributes:
        cui: the concept.
        sab: the source vocabulary.
        code: the code (CODE).
        source_concept: the concept of the vocabulary (SCUI); ``None`` for none, and where it is the code.
        mark: ``active``, or ``suppressed`` or ``obsolete`` where every atom of the concept with this code is.
    """

    cui: str
    sab: str
    code: str
    source_concept: str | None
    mark: CodeMark


@dataclass(frozen=True, slots=True)
class CodeLookup:
    """The codes of one identifier: of a concept, or of the concepts that have a code.

    Attributes:
        requested: the identifier as given.
        status: ``current``; ``merged`` (a retired concept, taken for its successor); ``suppressed`` (a code whose atoms
            are all suppressed or obsolete); ``retired`` (a concept without an exact successor); ``unknown``;
            ``unknown_vocabulary`` (no code of the release is from such a vocabulary); ``invalid`` (neither an
            identifier of the graph nor ``SAB:CODE``).
        cui: the concept that is used; ``None`` for a code, and for an identifier without one.
        codes: best first.
        alternatives: what may be meant by an identifier without codes: codes in another case, vocabularies spelt
            alike, or the concepts that the release suggests for a retired one.
    """

    requested: str
    status: CodeStatus
    cui: str | None
    codes: tuple[SourceCode, ...]
    alternatives: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CodeMap:
    """A mapping that a vocabulary has published (MRMAP). Texts are as published, and empty for an empty field.

    Attributes:
        map_set, map_set_sab: the concept of its set (MAPSETCUI), and the vocabulary that gives the set (MAPSETSAB).
        map_set_name: the preferred name of that concept; ``None`` without one.
        subset: its group within the set (MAPSUBSETID).
        rank: its place within the group (MAPRANK).
        from_sab, to_sab: vocabularies that the set maps from and to (MRSAT); ``None`` where the release names none.
        from_text, from_type: the code or concept mapped from, and its kind: CODE, SCUI, SDUI or CUI.
        from_rule, from_restriction: FROMRULE and FROMRES.
        rel, rela: relation of what is mapped from to what is mapped to.
        to_text, to_type: the target (TOEXPR), a code, an expression or a mark such as ``100051``, and its kind.
        to_rule, to_restriction, rule, restriction: TORULE, TORES, MAPRULE and MAPRES. Advice is in the last one.
        kind, attribute, value: MAPTYPE, MAPATN and MAPATV.
    """

    map_set: str
    map_set_sab: str
    map_set_name: str | None
    from_sab: str | None
    to_sab: str | None
    subset: str
    rank: str
    from_text: str
    from_type: str
    from_rule: str
    from_restriction: str
    rel: str
    rela: str
    to_text: str
    to_type: str
    to_rule: str
    to_restriction: str
    rule: str
    restriction: str
    kind: str
    attribute: str
    value: str


@dataclass(frozen=True, slots=True)
class MapLookup:
    """The published mappings of one identifier. All but ``maps`` is as in `CodeLookup`."""

    requested: str
    status: CodeStatus
    cui: str | None
    maps: tuple[CodeMap, ...]
    alternatives: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A search result.

    Attributes:
        cui: the concept.
        name: its preferred name; ``None`` if the release gives none.
        matched: the name, or the identifier, that matched.
        kind: kind of the match, of `MATCHES`. A service of an earlier version does not report it: ``words``.
    """

    cui: str
    name: str | None
    matched: str
    kind: MatchKind = "words"


@dataclass(frozen=True, eq=False)
class DistancePack:
    """All distances up to a bound among a list of concepts: the part of a graph that an evaluation needs.

    It lives in memory and has no file format; a snapshot is the form that works without a service or database.

    A square sparse matrix in compressed rows: row i holds the concepts ``indices[indptr[i]:indptr[i+1]]`` that lie
    within `bound` hops of concept i (itself included, at 0), in ascending order, with their `hops`.

    Attributes:
        cuis: the concepts, all current in the release.
        indptr: int64, shape (concepts + 1,).
        indices: int32, shape (entries,).
        hops: uint8, shape (entries,).
        bound: the largest distance held.
        direction: direction of the hops from the row's concept to the column's.
        digest: the release that the distances belong to.
    """

    cuis: tuple[str, ...]
    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    hops: npt.NDArray[np.uint8]
    bound: int
    direction: Direction
    digest: str

    def __repr__(self) -> str:
        return f"<DistancePack of {len(self.cuis):,} concepts: {len(self.hops):,} distances up to {self.bound}>"


def checked_direction(direction: str) -> Direction:
    """The direction, or an `InputError` that lists them all."""
    if direction not in DIRECTIONS:
        raise InputError(
            "unknown direction", column="direction", found=repr(direction), expected=" or ".join(DIRECTIONS)
        )
    return direction


def checked_hops(hops: int | None, name: str = "max_hops") -> int | None:
    """The bound, or an `InputError` where it is not a whole number of at least 0."""
    if hops is None:
        return None
    if isinstance(hops, bool) or not isinstance(hops, int | np.integer) or hops < 0:
        raise InputError("not a number of hops", column=name, found=repr(hops), expected="a whole number, 0 or more")
    return int(hops)


def checked_pack_bound(hops: int) -> int:
    """The bound of a distance pack, or an `InputError` where it is not from 0 to 255."""
    bound = checked_hops(hops, "hops")
    if bound is None or bound > _LARGEST_PACK:
        raise InputError("too many hops for a pack", column="hops", found=repr(hops), expected="0 to 255")
    return bound


def checked_which(which: int) -> int:
    """The rank of a path, or an `InputError` where it is not a whole number from 1 to `MOST_PATHS`."""
    if isinstance(which, bool) or not isinstance(which, int | np.integer) or not 1 <= which <= MOST_PATHS:
        raise InputError(
            "not the rank of a path", column="which", found=repr(which), expected=f"a whole number, 1 to {MOST_PATHS:,}"
        )
    return int(which)


def checked_pairs(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs as a list, or an `InputError` where an item is no pair."""
    ends = ends_of_pairs(pairs)
    return list(zip(ends[::2], ends[1::2], strict=True))


def resolved(resolutions: Iterable[Resolution], release: Release) -> list[str]:
    """The concepts to use, one for each resolution.

    Raises:
        InvalidCui, ConceptRetired, AmbiguousCode, ConceptNotFound: some cannot be used; in this order where several
            kinds occur.
    """
    usable: list[str] = []
    bad: list[Resolution] = []
    for resolution in resolutions:
        if resolution.cui is None:
            bad.append(resolution)
        else:
            usable.append(resolution.cui)
    if not bad:
        return usable
    if invalid := [r.requested for r in bad if r.status == "invalid"]:
        raise InvalidCui(invalid, expected=expected_identifiers(release, invalid))
    if retired := {r.requested: r.candidates for r in bad if r.status == "retired"}:
        raise ConceptRetired(retired)
    if several := {r.requested: r.candidates for r in bad if r.status == "several"}:
        raise AmbiguousCode(several)
    suggested = [(r.requested, *r.candidates[0]) for r in bad if r.candidates]
    raise ConceptNotFound(
        [r.requested for r in bad],
        release=release.name,
        merged={cui: other for cui, relation, other in suggested if relation == "SY"},
        alike={cui: other for cui, relation, other in suggested if relation == "alike"},
    )


def expected_identifiers(release: Release, texts: Iterable[str] = ()) -> str:
    """The form of the identifiers of a release, and that of codes where one of the texts is none of the release."""
    expected = EXPECTED[release.identifiers]
    return f"{expected}, or SAB:CODE with a vocabulary of the release" if any(map(written_as_code, texts)) else expected


class ConceptGraph(ABC):
    """A graph of concepts and is_a edges. Batches first: one pair is a batch of one.

    Rules that hold for every adapter:

    - A distance counts edges on a shortest path. A concept is 0 hops from itself. Self-loops and cycles do not matter.
    - No path, or none within the bound, is ``None``. An identifier that the graph does not hold is `ConceptNotFound`.
    - A retired identifier with one exact successor is replaced by it, and the answer reports that in ``merged``.
      Any other retired identifier is `ConceptRetired`.
    - ``SAB:CODE`` stands for its concept in a graph with codes of vocabularies, as a CURIE and a URI of a known
      vocabulary do, and ``merged`` reports that, too. A code of several concepts is `AmbiguousCode`.
    - Answers are exact and deterministic, and every method may be called from several threads at once.

    A public method checks its arguments; the method of the same name with an underscore, which an adapter implements,
    gets them checked.
    """

    _unrestricted: ConceptGraph | None = None
    """The unrestricted graph of one within vocabularies, which searches and annotates for it."""

    many: Many = "error"
    """Treatment of codes of several concepts: see `cuihop.graph_wrapper.GraphOfCodes`."""

    @property
    @abstractmethod
    def release(self) -> Release:
        """The loaded release."""

    def __len__(self) -> int:
        """Number of concepts."""
        return self.release.concepts

    def __bool__(self) -> bool:
        """True, also without a concept."""
        return True

    def __contains__(self, cui: object) -> bool:
        """True for an identifier that the graph holds, or whose one exact successor it holds."""
        return isinstance(cui, str) and self.resolve([cui])[0].cui is not None

    @abstractmethod
    def within(self, sabs: Sequence[str]) -> ConceptGraph:
        """The graph restricted to the is_a edges that at least one of these source vocabularies asserts.

        Concepts, names and retired identifiers stay; a concept without such an edge has no path to any other. No
        distance is smaller than in the whole graph. Vocabularies of a hop are those given; search and annotation are
        those of the whole graph. The release of the result has a name that lists the vocabularies, and the digest of
        the concepts, the remaining edges and the retired concepts. Files and connections are shared: closing either
        graph closes both.

        Args:
            sabs: at least one vocabulary of ``release.sabs``, and at most `MOST_SABS`.

        Raises:
            InputError: none is given, too many are, or no edge of the release is asserted by one of them.
        """

    def resolve(self, cuis: Sequence[str]) -> list[Resolution]:
        """Resolve each identifier. Never raises for a concept."""
        return self._resolve(checked_identifiers(cuis))

    @abstractmethod
    def _resolve(self, cuis: Sequence[str]) -> list[Resolution]: ...

    def distances(
        self, pairs: Iterable[tuple[str, str]], *, direction: Direction = "any", max_hops: int | None = None
    ) -> Distances:
        """The distance of each pair (a, b), in hops from a to b.

        Args:
            pairs: pairs of identifiers.
            direction: ``any``; ``up`` counts hops from a up to its ancestor b, ``down`` from a down to its
                descendant b; ``vertical`` is the smaller of these two.
            max_hops: bound of the search; a longer distance is ``None``.

        Raises:
            InvalidCui, ConceptNotFound, ConceptRetired, AmbiguousCode: names every identifier at fault; no distance is
                returned.
        """
        direction, bound = checked_direction(direction), checked_hops(max_hops)
        return self._distances(ends_of_pairs(pairs), direction, bound)

    @abstractmethod
    def _distances(self, ends: Sequence[str], direction: Direction, bound: int | None) -> Distances: ...

    def path(
        self, a: str, b: str, *, direction: Direction = "any", max_hops: int | None = None, which: int = 1
    ) -> Path | None:
        """One shortest path from a to b, or ``None`` where there is none within the bound.

        Args:
            a, b: identifiers.
            direction, max_hops: as in `distances`.
            which: rank of the path among all shortest ones in the order of their identifiers, from 1.

        Raises:
            InvalidCui, ConceptNotFound, ConceptRetired: as `distances`.
            InputError: there are fewer shortest paths.
        """
        path = self._path(a, b, checked_direction(direction), checked_hops(max_hops), checked_which(which))
        return None if path is None else path.named_by(self)

    @abstractmethod
    def _path(self, a: str, b: str, direction: Direction, bound: int | None, which: int) -> Path | None: ...

    def paths(
        self, a: str, b: str, *, direction: Direction = "any", max_hops: int | None = None, limit: int | None = None
    ) -> ShortestPaths | None:
        """All shortest paths from a to b as one graph, or ``None`` where there is none within the bound.

        Args:
            a, b, direction, max_hops: as in `path`.
            limit: the most concepts; paths beyond it are left out. The first path is always there.

        Raises:
            InvalidCui, ConceptNotFound, ConceptRetired: as `distances`.
        """
        direction, bound = checked_direction(direction), checked_hops(max_hops)
        return self._paths(a, b, direction, bound, checked_hops(limit, "limit"))

    def _paths(
        self, a: str, b: str, direction: Direction, bound: int | None, limit: int | None
    ) -> ShortestPaths | None:
        first = self._path(a, b, direction, bound, 1)
        if first is None:
            return None
        search = direction
        if direction == "vertical" and first.steps:
            search = "up" if first.steps[0].relation == "parent" else "down"
        hops = {cui: i for i, cui in enumerate(first.cuis)}
        onward = self._onward(first, search)
        truncated = False
        pending = list(first.cuis)
        for cui in pending:  # which grows
            for node in onward(cui, hops[cui]):
                branch = []
                while node not in hops:
                    branch.append(node)
                    node = onward(node, hops[cui] + len(branch))[0]
                if limit is not None and branch and len(hops) + len(branch) > limit:
                    truncated = True
                    continue
                hops |= {new: hops[cui] + i for i, new in enumerate(branch, 1)}
                pending += branch
        pairs = [(cui, node) for cui in hops for node in onward(cui, hops[cui]) if node in hops]
        steps = zip(pairs, self._steps(pairs, search), strict=True)
        concepts = sorted(starmap(Neighbour, hops.items()), key=lambda each: (each.hops, each.cui))
        edges = sorted(IsAEdge.of(cui, step) for (cui, _), step in steps)
        return ShortestPaths(first.total, tuple(concepts), tuple(edges), truncated, direction, first.merged)

    def _onward(self, first: Path, direction: Direction) -> Callable[[str, int], list[str]]:
        """The next concepts on shortest paths: of a concept on one, and its hops from the start, in their order."""
        end = first.cuis[-1]
        following: dict[str, list[str]] = {end: []}

        def onward(cui: str, so_far: int) -> list[str]:
            if cui not in following:
                near = self.neighbours([cui], direction=direction)[0].cuis
                left = self.distances([(n, end) for n in near], direction=direction, max_hops=first.hops - so_far - 1)
                following[cui] = sorted(n for n, distance in zip(near, left, strict=True) if distance is not None)
            return following[cui]

        return onward

    def _steps(self, pairs: Sequence[tuple[str, str]], direction: Direction) -> Sequence[Step]:
        """The hop of each pair of concepts that are one hop apart."""
        paths = [self._path(a, b, direction, 1, 1) for a, b in pairs]
        return [path.steps[0] for path in paths if path is not None]

    def neighbours(
        self,
        cuis: Sequence[str],
        *,
        hops: int | None = 1,
        direction: Direction = "any",
        limit: int | None = None,
    ) -> list[Neighbourhood]:
        """For each concept, the concepts within ``hops`` of it (``None``: however far), at most ``limit`` of them."""
        direction, bound, most = checked_direction(direction), checked_hops(hops, "hops"), checked_hops(limit, "limit")
        return [each.named_by(self) for each in self._neighbours(checked_identifiers(cuis), direction, bound, most)]

    @abstractmethod
    def _neighbours(
        self, cuis: Sequence[str], direction: Direction, bound: int | None, limit: int | None
    ) -> list[Neighbourhood]: ...

    def pack(self, cuis: Sequence[str], *, hops: int, direction: Direction = "any") -> DistancePack:
        """All distances up to ``hops`` (0 to 255) among distinct concepts of the graph.

        Raises:
            InvalidCui, ConceptNotFound, ConceptRetired: as `distances`.
            InputError: an identifier is given twice, or two of them are one concept.
        """
        direction, bound = checked_direction(direction), checked_pack_bound(hops)
        return self._pack(checked_identifiers(cuis), direction, bound)

    @abstractmethod
    def _pack(self, cuis: Sequence[str], direction: Direction, bound: int) -> DistancePack: ...

    def concepts(self, cuis: Sequence[str], *, codes: bool = True) -> list[Concept]:
        """The record of each concept, without names where the key of a service may not see them.

        Args:
            codes: False leaves codes out, which take longer than the rest.
        """
        return self._concepts(checked_identifiers(cuis), codes)

    @abstractmethod
    def _concepts(self, cuis: Sequence[str], codes: bool) -> list[Concept]: ...

    def names(self, cuis: Sequence[str]) -> list[str | None]:
        """The preferred name of each concept; ``None`` without one, or if the key of a service may not see it."""
        return self._names(checked_identifiers(cuis))

    @abstractmethod
    def _names(self, cuis: Sequence[str]) -> list[str | None]: ...

    def codes(self, identifiers: Sequence[str], *, sabs: Sequence[str] = ()) -> list[CodeLookup]:
        """The codes of each concept, and the concepts of each code. Never raises for one of them.

        The codes of a concept are in this order: active before suppressed before obsolete ones; those of preferred
        atoms (TS, STT, ISPREF) before others; the highest rank in MRRANK first; then by vocabulary, by code, and by
        the concept of the vocabulary. The concepts of a code are in the same order, and then by identifier.

        Args:
            identifiers: concepts of the graph, or codes as ``SAB:CODE``; a concept of this name comes first.
            sabs: only codes of these vocabularies; those of the concepts of a code, in place of the code itself.

        Raises:
            InputError: no code is from one of these vocabularies; or the graph holds no codes.
        """
        if self._unrestricted is not None:
            return self._unrestricted.codes(identifiers, sabs=sabs)
        return self._codes(checked_identifiers(identifiers), sabs)

    def _codes(self, identifiers: Sequence[str], sabs: Sequence[str]) -> list[CodeLookup]:
        raise InputError("this graph holds no codes of vocabularies", found=repr(self), advice=CODES_NEED)

    def code_maps(self, identifiers: Sequence[str]) -> list[MapLookup]:
        """The mappings that vocabularies have published (MRMAP) from each code, as they are. Never raises for one.

        Of a concept they are those from it, then those from each of its codes in their order. Mappings of one code
        are by map set, then by subset and rank, as numbers. No target is looked up in the graph.

        Args:
            identifiers: as in `codes`.

        Raises:
            InputError: the graph holds no published mappings.
        """
        if self._unrestricted is not None:
            return self._unrestricted.code_maps(identifiers)
        return self._code_maps(checked_identifiers(identifiers))

    def _code_maps(self, identifiers: Sequence[str]) -> list[MapLookup]:
        raise InputError("this graph holds no published mappings", found=repr(self), advice=MAPS_NEED)

    def search(self, text: str, *, limit: int | None = 10) -> list[SearchHit]:
        """Concepts by name or synonym, best first.

        Best first: the whole name, also with words in another form; all words; all words in another form; beginnings
        of words; and where nothing matches so, names with words spelt alike, and then names with some of the words.
        Within one kind preferred names come before synonyms, names of concepts with many descendants (in powers of
        two) before others, short names before long, then by identifier. See `MATCHES`. An identifier finds its
        concept, also in lower case.
        """
        if self._unrestricted is not None:
            return self._unrestricted.search(text, limit=limit)
        return self._search(text, checked_hops(limit, "limit"))

    @abstractmethod
    def _search(self, text: str, limit: int | None) -> list[SearchHit]: ...

    @property
    @abstractmethod
    def hierarchy(self) -> Hierarchy:
        """Similarity over the hierarchy: see `cuihop.similarity`. Building it takes seconds for a million concepts."""

    def annotate_many(self, texts: Sequence[str], options: AnnotationOptions | None = None) -> Annotations:
        """Concepts of texts, found by their names: see `cuihop.annotation`.

        Args:
            texts: in any language whose names the release holds.
            options: see `AnnotationOptions`.

        Raises:
            InputError: an option names a semantic type or a vocabulary that the release does not hold; the release has
                no names; one text is given in place of a list. No error repeats a text.
        """
        if self._unrestricted is not None:
            return self._unrestricted.annotate_many(texts, options)
        return self._annotate_many(texts, options or AnnotationOptions())

    @abstractmethod
    def _annotate_many(self, texts: Sequence[str], options: AnnotationOptions) -> Annotations: ...

    def annotate(self, text: str, options: AnnotationOptions | None = None) -> Annotation:
        """Concepts of one text: see `annotate_many`."""
        return self.annotate_many([text], options)[0]

    def name(self, cui: str) -> str | None:
        """The preferred name of one concept: see `names`."""
        return self.names([cui])[0]

    def distance(self, a: str, b: str, *, direction: Direction = "any", max_hops: int | None = None) -> int | None:
        """The distance of one pair: see `distances`."""
        return self.distances([(a, b)], direction=direction, max_hops=max_hops)[0]

    def ancestors(self, cui: str, *, hops: int | None = None, limit: int | None = None) -> Neighbourhood:
        """Concepts above, with their upward distance; the concept itself is left out."""
        return self.neighbours([cui], hops=hops, direction="up", limit=limit)[0]

    def descendants(self, cui: str, *, hops: int | None = None, limit: int | None = None) -> Neighbourhood:
        """Concepts below, with their downward distance; the concept itself is left out."""
        return self.neighbours([cui], hops=hops, direction="down", limit=limit)[0]

    def common_ancestors(self, a: str, b: str) -> list[CommonAncestor]:
        """Concepts above both, nearest first: by the sum of the two distances, then by identifier.

        Each concept counts as its own ancestor at 0 hops, so the list for a concept and its parent starts with
        the parent. Empty where they share none.
        """
        above_a, above_b = self.neighbours([a, b], hops=None, direction="up")
        hops_a = {above_a.cui: 0} | {n.cui: n.hops for n in above_a}
        hops_b = {above_b.cui: 0} | {n.cui: n.hops for n in above_b}
        shared = [CommonAncestor(cui, hops, hops_b[cui]) for cui, hops in hops_a.items() if cui in hops_b]
        return sorted(shared, key=lambda c: (c.hops_a + c.hops_b, c.cui))

    @abstractmethod
    def close(self) -> None:
        """Release the resources of the graph. Calling it twice is harmless."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
