"""Fields of answers in JSON: one table for the command line (``--json``) and for HTTP, read by the remote client.

Each function gives the plain dictionary of one value. Release, retired identifiers and names that only one of the two
adds stand beside these fields, never instead of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cuihop.graph import (
    CommonAncestor,
    Concept,
    Direction,
    Distances,
    Neighbourhood,
    Path,
    Release,
    Resolution,
    SearchHit,
)

if TYPE_CHECKING:
    from cuihop.measures.nn_iou import ConceptOverlap

__all__ = [
    "common_ancestors_fields",
    "concept_fields",
    "distance_fields",
    "distances_fields",
    "neighbourhood_fields",
    "path_fields",
    "release_fields",
    "relevance_fields",
    "resolution_fields",
    "search_fields",
    "with_release",
]


def with_release(
    release: Release, fields: Mapping[str, Any], merged: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """An answer of the command line: its fields, retired identifiers with their successors, and the release.

    ``release`` is the digest, as over HTTP.
    """
    return {**fields, "merged": dict(merged or {}), "release": release.digest, "release_name": release.name}


def release_fields(release: Release) -> dict[str, Any]:
    """A release."""
    return {
        "name": release.name,
        "digest": release.digest,
        "relations": release.relations,
        "sabs": release.sabs,
        "identifiers": release.identifiers,
        "concepts": release.concepts,
        "edges": release.edges,
        "source": release.source,
    }


def distance_fields(hops: int | None, a: str, b: str, direction: Direction, max_hops: int | None) -> dict[str, Any]:
    """The distance of one pair; ``hops`` is null where no path lies within the bound."""
    return {"a": a, "b": b, "hops": hops, "direction": direction, "max_hops": max_hops}


def distances_fields(distances: Distances) -> dict[str, Any]:
    """The distances of a batch; an array where every pair has a path."""
    return {
        "hops": distances.hops if distances.reached.all() else distances.to_list(),
        "direction": distances.direction,
        "max_hops": distances.max_hops,
    }


def path_fields(
    path: Path | None, names: Sequence[str | None], a: str, b: str, direction: Direction, max_hops: int | None
) -> dict[str, Any]:
    """A path with the names of its concepts; ``path`` is null where there is none within the bound."""
    concepts: list[dict[str, Any]] | None = None
    if path is not None:
        concepts = [{"cui": path.start, "name": names[0]}]
        concepts += [
            {"cui": step.cui, "name": name, "relation": step.relation, "sabs": step.sabs}
            for step, name in zip(path.steps, names[1:], strict=True)
        ]
    return {**distance_fields(None if path is None else path.hops, a, b, direction, max_hops), "path": concepts}


def neighbourhood_fields(hood: Neighbourhood) -> dict[str, Any]:
    """The concepts around one centre, nearest first."""
    return {
        "cui": hood.cui,
        "neighbours": [{"cui": neighbour.cui, "hops": neighbour.hops} for neighbour in hood],
        "total": hood.total,
        "truncated": hood.truncated,
    }


def common_ancestors_fields(
    ancestors: Sequence[CommonAncestor], names: Sequence[str | None], a: str, b: str, limit: int
) -> dict[str, Any]:
    """The concepts above two concepts, nearest first, with the names of those within the limit."""
    return {
        "a": a,
        "b": b,
        "total": len(ancestors),
        "truncated": len(ancestors) > limit,
        "common_ancestors": [
            {"cui": ancestor.cui, "name": name, "hops_a": ancestor.hops_a, "hops_b": ancestor.hops_b}
            for ancestor, name in zip(ancestors[:limit], names, strict=True)
        ],
    }


def search_fields(hits: Sequence[SearchHit]) -> dict[str, Any]:
    """Concepts found by name, best first."""
    return {"hits": [{"cui": hit.cui, "name": hit.name, "matched": hit.matched} for hit in hits]}


def concept_fields(concept: Concept) -> dict[str, Any]:
    """One concept; ``parents`` and ``children`` are counts."""
    return {
        "cui": concept.cui,
        "name": concept.name,
        "synonyms": concept.synonyms,
        "semantic_types": [{"tui": tui, "name": name} for tui, name in concept.semantic_types],
        "parents": concept.parents,
        "children": concept.children,
        "definitions": [{"sab": definition.sab, "text": definition.text} for definition in concept.definitions],
        "sabs": concept.sabs,
    }


def resolution_fields(resolution: Resolution) -> dict[str, Any]:
    """The resolution of one identifier."""
    return {
        "requested": resolution.requested,
        "status": resolution.status,
        "cui": resolution.cui,
        "candidates": [{"relation": relation, "cui": cui} for relation, cui in resolution.candidates],
    }


def relevance_fields(overlap: ConceptOverlap) -> dict[str, Any]:
    """IoU and nn-IoU of two concept sets A and B, with the near concepts of each side and their witnesses."""
    return {
        "iou": overlap.iou,
        "nn_iou": overlap.nn_iou,
        "shared": sorted(overlap.shared),
        "related": [
            {
                "cui": concept.cui,
                "side": concept.side,
                "witnesses": [{"cui": witness.cui, "hops": witness.hops} for witness in concept.witnesses],
            }
            for concept in overlap.related
        ],
        "union": len(overlap.A | overlap.B),
        "isolated": sorted(overlap.resolved.isolated),
        "n": overlap.n,
        "lambda": overlap.lam,
        "direction": overlap.direction,
    }
