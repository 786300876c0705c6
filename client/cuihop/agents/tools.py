"""The tools: functions from a graph and arguments to an answer, with the fields of `cuihop.answer_fields`.

Every answer has a ``status``: ``answered``; ``no_path`` (no path within the bound); ``unknown`` (the release does not
hold an identifier); ``retired`` (UMLS retired it without one exact successor); ``invalid`` (the text cannot be an
identifier). None of them is an error. ``resolutions`` then has the identifiers at fault.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from cuihop.adapter_rules import concepts_named, of_code, replaced
from cuihop.agents.arguments import (
    MOST_ROWS,
    AnnotateArguments,
    Arguments,
    CodesArguments,
    CommonAncestorsArguments,
    CompareArguments,
    ConceptArguments,
    DistancesArguments,
    NeighbourhoodArguments,
    PathArguments,
    SearchArguments,
    SimilarityArguments,
)
from cuihop.agents.bounded_answers import bounded
from cuihop.annotation.options import AnnotationOptions
from cuihop.answer_fields import (
    common_ancestors_fields,
    fields_of,
    similarity_fields,
    with_release,
)
from cuihop.errors import NotAllowed, parameter_named
from cuihop.graph import CODES_ARE_HIDDEN, ConceptGraph, Resolution
from cuihop.identifiers import EXPECTED
from cuihop.measures.nn_iou import concept_overlap
from cuihop.operations.answers import (
    AnnotationRow,
    CodesAnswer,
    DistanceAnswer,
    NeighbourhoodAnswer,
    PathAnswer,
    RelevanceAnswer,
    SearchAnswer,
)
from cuihop.operations.requests import DistanceRequest
from cuihop.remote.statuses import candidate_fields

Status: TypeAlias = Literal["answered", "no_path", "unknown", "retired", "several", "invalid"]
"""Kind of an answer, and of a row of ``distances``."""

_FAULTS: tuple[Status, ...] = ("invalid", "retired", "several", "unknown")
"""The status of an answer about several identifiers is the first of these that occurs."""


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A tool for agents: what they read of it, its arguments, and the function of its answer.

    Attributes:
        compute: the answer to arguments from a graph, its fields not yet bounded; the last parameter is true where
            names may be read.
        names_only: true where the answer is nothing but names.
    """

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    compute: Callable[[ConceptGraph, Any, bool], _Answer]
    names_only: bool = False

    def answer(self, graph: ConceptGraph, arguments: Arguments, *, names: bool) -> dict[str, Any]:
        """The answer, within the bounds of `cuihop.agents.bounded_answers`.

        Args:
            names: False leaves out names, synonyms and definitions.

        Raises:
            NotAllowed: the tool is about names, and there are none.
            CuihopError: as the graph does, unless the answer has a status for it.
        """
        if self.names_only and not names:
            raise NotAllowed(f"{self.name}: names are hidden here; give identifiers of concepts to the other tools")
        if sabs := getattr(arguments, "within_sabs", ()):  # of tools that count hops
            graph = graph.within(sabs)
        answer = self.compute(graph, arguments, names)
        fields = {"status": answer.status, **answer.fields, **_codes_of(graph, arguments, answer, names)}
        fields["names_hidden"] = not names
        return bounded(with_release(graph.release, fields, answer.merged), answer.totals)


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer before it is bounded; ``totals`` are sizes of lists that the graph has cut."""

    status: Status
    fields: Mapping[str, Any]
    merged: Mapping[str, str]
    totals: Mapping[str, int] | None = None


class _Identifiers:
    """Resolution of the identifiers of a request."""

    def __init__(self, graph: ConceptGraph, cuis: Sequence[str], names: bool) -> None:
        self._expected = EXPECTED[graph.release.identifiers]
        self._search = (lambda text, most: graph.search(text, limit=most)) if names else None
        self._resolutions = {r.requested: r for r in graph.resolve(list(dict.fromkeys(cuis)))}
        self.merged = replaced(self._resolutions.values())
        if not names and any(r.status == "code" or of_code(r.candidates) for r in self._resolutions.values()):
            raise NotAllowed(CODES_ARE_HIDDEN)

    def status(self, *cuis: str) -> Status:
        """``answered`` where all of these can be used, else the status of those that cannot."""
        statuses = {self._resolutions[cui].status for cui in cuis if self._resolutions[cui].cui is None}
        return next((status for status in _FAULTS if status in statuses), "answered")

    def faults(self, statuses: Sequence[str] = _FAULTS) -> _Answer | None:
        """The answer where some identifiers have one of these statuses; None where none has."""
        faulty = [r for r in self._resolutions.values() if r.status in statuses]
        return self._answer(faulty) if faulty else None

    def fields(self) -> dict[str, Any]:
        """The fields about the identifiers that cannot be used; none where all can."""
        faulty = [r for r in self._resolutions.values() if r.cui is None]
        return dict(self._answer(faulty).fields) if faulty else {}

    def _answer(self, faulty: Sequence[Resolution]) -> _Answer:
        status = self.status(*(r.requested for r in faulty))
        search = self._search
        named = {} if search is None else concepts_named([r.requested for r in faulty if not r.candidates], search)
        rows = [fields_of(r) for r in faulty]
        for row in rows:
            row["candidates"] = row["candidates"] or candidate_fields(named.get(row["requested"], ()))
        fields: dict[str, Any] = {"resolutions": rows}
        if status == "invalid":
            fields["expected"] = self._expected
        return _Answer(status, fields, self.merged)


def _codes_of(graph: ConceptGraph, arguments: Arguments, answer: _Answer, names: bool) -> Mapping[str, Any]:
    """The codes of the concepts that an answer shows, if they are requested."""
    if not (sabs := getattr(arguments, "code_sabs", ())):
        return {}
    if not names:
        raise NotAllowed(CODES_ARE_HIDDEN)
    lists = [value[:MOST_ROWS] for value in answer.fields.values() if isinstance(value, list)]
    cuis = dict.fromkeys(row["cui"] for rows in lists for row in rows if row.get("cui"))
    with parameter_named("sabs", "code_sabs"):
        lookups = graph.codes([*cuis], sabs=sabs)
    return {"codes": [fields_of(code) for lookup in lookups for code in lookup.codes]}


def _search(graph: ConceptGraph, arguments: SearchArguments, names: bool) -> _Answer:
    hits = graph.search(arguments.text, limit=arguments.limit)
    return _Answer("answered", fields_of(SearchAnswer(tuple(hits))), {})


def _annotate(graph: ConceptGraph, arguments: AnnotateArguments, names: bool) -> _Answer:
    options = AnnotationOptions(semantic_types=arguments.semantic_types, leave_out=arguments.leave_out)
    return _Answer("answered", fields_of(AnnotationRow(graph.annotate(arguments.text, options).mentions)), {})


def _concept(graph: ConceptGraph, arguments: ConceptArguments, names: bool) -> _Answer:
    identifiers = _Identifiers(graph, [arguments.cui], names)
    if faults := identifiers.faults():
        return faults
    (record,) = graph.concepts([arguments.cui], codes=names)
    if not names:
        record = replace(record, name=None, synonyms=(), definitions=())
    return _Answer("answered", fields_of(record), identifiers.merged)


def _codes(graph: ConceptGraph, arguments: CodesArguments, names: bool) -> _Answer:
    lookups = graph.codes(arguments.identifiers, sabs=arguments.sabs)
    return _Answer("answered", fields_of(CodesAnswer(tuple(lookups))), replaced(lookups))


def _distances(graph: ConceptGraph, arguments: DistancesArguments, names: bool) -> _Answer:
    direction, bound = arguments.direction, arguments.max_hops
    identifiers = _Identifiers(graph, [cui for pair in arguments.pairs for cui in (pair.a, pair.b)], names)
    statuses = [identifiers.status(pair.a, pair.b) for pair in arguments.pairs]
    usable = [(p.a, p.b) for p, status in zip(arguments.pairs, statuses, strict=True) if status == "answered"]
    hops = iter(graph.distances(usable, direction=direction, max_hops=bound))
    rows = []
    for pair, status in zip(arguments.pairs, statuses, strict=True):
        distance = next(hops) if status == "answered" else None
        no_path = status == "answered" and distance is None
        row = fields_of(DistanceAnswer.of_hops(distance, DistanceRequest(pair.a, pair.b, direction, bound)))
        del row["direction"], row["max_hops"]  # once for all
        ends = {"a": row.pop("a"), "b": row.pop("b")}
        rows.append({**ends, "status": "no_path" if no_path else status, **row})
    fields = {"distances": rows, "direction": direction, "max_hops": bound, **identifiers.fields()}
    return _Answer("answered", fields, identifiers.merged)


def _path(graph: ConceptGraph, arguments: PathArguments, names: bool) -> _Answer:
    a, b, direction, bound = arguments.a, arguments.b, arguments.direction, arguments.max_hops
    identifiers = _Identifiers(graph, [a, b], names)
    if faults := identifiers.faults():
        return faults
    path = graph.path(a, b, direction=direction, max_hops=bound, which=arguments.which)
    fields = fields_of(PathAnswer.of((path, _names(graph, () if path is None else path.cuis, names)), arguments))
    return _Answer("no_path" if path is None else "answered", fields, identifiers.merged)


def _neighbourhood(graph: ConceptGraph, arguments: NeighbourhoodArguments, names: bool) -> _Answer:
    hops, direction = arguments.hops, arguments.direction
    identifiers = _Identifiers(graph, [arguments.cui], names)
    if faults := identifiers.faults():
        return faults
    (hood,) = graph.neighbours([arguments.cui], hops=hops, direction=direction, limit=MOST_ROWS)
    fields = fields_of(NeighbourhoodAnswer.of_first([hood]))
    for row, name in zip(fields["neighbours"], _names(graph, [n.cui for n in hood], names), strict=True):
        row["name"] = name
    return _Answer("answered", fields, identifiers.merged, {"neighbours": hood.total})


def _common_ancestors(graph: ConceptGraph, arguments: CommonAncestorsArguments, names: bool) -> _Answer:
    a, b = arguments.a, arguments.b
    identifiers = _Identifiers(graph, [a, b], names)
    if faults := identifiers.faults():
        return faults
    shared = graph.common_ancestors(a, b)
    named = _names(graph, [ancestor.cui for ancestor in shared[:MOST_ROWS]], names)
    fields = common_ancestors_fields(shared, named, a, b, MOST_ROWS)
    return _Answer("answered", fields, identifiers.merged, {"common_ancestors": len(shared)})


def _similarity(graph: ConceptGraph, arguments: SimilarityArguments, names: bool) -> _Answer:
    a, b = arguments.a, arguments.b
    identifiers = _Identifiers(graph, [a, b], names)
    if faults := identifiers.faults():
        return faults
    hierarchy = graph.hierarchy
    pair = hierarchy.pair(a, b, ic=arguments.ic)
    subsumers = (*pair.lowest[:MOST_ROWS], pair.deepest, pair.nearest, pair.most_informative)
    cuis = list(dict.fromkeys(cui for cui in (pair.a.cui, pair.b.cui, *(each.cui for each in subsumers)) if cui))
    fields = similarity_fields(pair, hierarchy.facts())
    fields["names"] = dict(zip(cuis, _names(graph, cuis, names), strict=True)) if names else {}
    return _Answer("answered", fields, identifiers.merged)


def _compare(graph: ConceptGraph, arguments: CompareArguments, names: bool) -> _Answer:
    identifiers = _Identifiers(graph, [*arguments.a, *arguments.b], names)
    if faults := identifiers.faults(_FAULTS if arguments.unknown == "error" else ("invalid", "several")):
        return faults
    overlap = concept_overlap(
        arguments.a, arguments.b, graph, arguments.n, arguments.lam, arguments.direction, unknown=arguments.unknown,
        weight=arguments.weight, ic=arguments.ic,
    )  # fmt: skip
    fields = fields_of(RelevanceAnswer.of(overlap))
    listed = [*fields["shared"][:MOST_ROWS], *(row["cui"] for row in fields["related"][:MOST_ROWS])]
    held = [cui for cui in listed if cui not in overlap.resolved.isolated]
    fields["names"] = dict(zip(held, _names(graph, held, names), strict=True)) if names else {}
    return _Answer("answered", fields, identifiers.merged)


def _names(graph: ConceptGraph, cuis: Sequence[str], names: bool) -> Sequence[str | None]:
    return graph.names(cuis) if names else [None] * len(cuis)


_ON_STATUS = (
    " status is answered, or unknown, retired or invalid where an identifier cannot be used: see resolutions, which"
    " has the candidates that UMLS suggests for a retired one, and concepts of that name for a name."
)

TOOLS: Mapping[str, AgentTool] = {
    tool.name: tool
    for tool in (
        AgentTool(
            "search", "Find concepts by name",
            "Find concepts by name or synonym, best first; other spellings and forms of words are found, too, and each "
            "hit says how its name matches. Gives the identifiers, such as CUIs, that the other tools need.",
            SearchArguments, _search, names_only=True,
        ),
        AgentTool(
            "annotate", "Find concepts in a text",
            "Find the concepts that a text mentions, by their names in the release: each mention with its place, the "
            "name that matched, the rule by which it did, and its context (negated, uncertain, family). The text is "
            "not logged.",
            AnnotateArguments, _annotate, names_only=True,
        ),
        AgentTool(
            "concept", "Describe a concept",
            "Describe one concept: preferred name, synonyms, semantic types, source vocabularies, definitions, and the "
            "numbers of its parents and children." + _ON_STATUS,
            ConceptArguments, _concept,
        ),
        AgentTool(
            "codes", "Translate codes of vocabularies",
            "The codes of source vocabularies (SNOMED CT, ICD-10-CM, MeSH and others) for concepts, and the concepts "
            "of codes written as SAB:CODE, best first. Each row has a status of its own: current, merged, suppressed "
            "(only suppressed or obsolete atoms), retired, unknown, unknown_vocabulary or invalid.",
            CodesArguments, _codes, names_only=True,
        ),
        AgentTool(
            "distances", "Count hops between concepts",
            "Exact number of is_a hops on a shortest path, for up to 20 pairs. Each row has a status of its own: "
            "answered, no_path (hops is null), unknown, retired or invalid.",
            DistancesArguments, _distances,
        ),
        AgentTool(
            "path", "Show a shortest path",
            "One shortest is_a path between two concepts, hop by hop, with the vocabularies that assert each hop. "
            "status is no_path where there is none within max_hops." + _ON_STATUS,
            PathArguments, _path,
        ),
        AgentTool(
            "neighbourhood", "List concepts around a concept",
            "The concepts within some hops of one, nearest first. direction up with hops 1 gives the parents, down the "
            "children. total is the size of the whole neighbourhood." + _ON_STATUS,
            NeighbourhoodArguments, _neighbourhood,
        ),
        AgentTool(
            "common_ancestors", "List common ancestors",
            "The concepts above both of two concepts, nearest first, with the hops up from each." + _ON_STATUS,
            CommonAncestorsArguments, _common_ancestors,
        ),
        AgentTool(
            "similarity", "Compare two concepts by their hierarchy",
            "The similarity of two concepts by every measure (path, Wu-Palmer, Resnik, Lin, simUI and "
            "others; Jiang-Conrath is a distance), with their depth and information content (ic), and their lowest "
            "common ancestors: cui null is a virtual root above all, so nothing in common." + _ON_STATUS,
            SimilarityArguments, _similarity,
        ),
        AgentTool(
            "compare", "Compare two concept sets",
            "IoU and nn-IoU of two concept sets, between 0 and 1: nn-IoU counts concepts that only one set has with "
            "weight lambda where the other set has one within n hops (witnesses)." + _ON_STATUS,
            CompareArguments, _compare,
        ),
    )
}  # fmt: skip
"""The tools by name."""
