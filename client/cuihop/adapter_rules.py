"""Rules that hold for every adapter of the port."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import islice
from types import MappingProxyType

import numpy as np

from cuihop.errors import ConceptError, InputError, first_few
from cuihop.files.text_lines import quoted
from cuihop.graph import (
    MOST_SABS,
    CodeLookup,
    ConceptGraph,
    Direction,
    DistancePack,
    MapLookup,
    Path,
    Release,
    Resolution,
    SearchHit,
)
from cuihop.identifiers import Identifiers, is_identifier, may_be_name

BACKWARDS: Mapping[Direction, Direction] = {"any": "any", "up": "down", "down": "up", "vertical": "vertical"}
"""Direction of the same hops, seen from their end."""

SEARCHES: Mapping[Direction, tuple[Direction, ...]] = {
    "any": ("any",), "up": ("up",), "down": ("down",), "vertical": ("up", "down"),
}  # fmt: skip
"""Direction → the searches that answer it. The smallest distance of several counts, the first if they are equal."""

_LONGEST_SAB = 64

MOST_TEXTS = 1_000
"""The most texts that are searched as names: see `concepts_named`."""

_MOST_NAMES, _MOST_NAMED, _LONGEST_NAME = 3, 5, 64

LONGEST_CHAIN = 32
"""The most mergers followed; a longer chain is a cycle."""


def other_forms(text: str) -> tuple[str, ...]:
    """The code that a CURIE or a URI stands for, and its possible identifier in the graph; nothing of other texts.

    >>> other_forms("umls:C0006121"), other_forms("http://purl.obolibrary.org/obo/HP_0001250")
    (('C0006121',), ('HPO:HP:0001250', 'HP:0001250'))
    """
    if ":" not in text:
        return ()
    from cuihop.vocabularies import read_code

    if (read := read_code(text)) is None or read == text:
        return ()
    code = read.partition(":")[2]
    return (read, code) if ":" in code else (read,)  # a bare number may be an identifier of another vocabulary


def code_resolutions(
    requested: Iterable[str], resolutions: Callable[[Sequence[str]], dict[str, Resolution]]
) -> dict[str, Resolution]:
    """The resolutions of codes among identifiers, and of the `other_forms` of those that are no codes.

    ``resolutions`` has those of codes whose vocabulary gives codes to the graph.
    """
    written = [text for text in requested if ":" in text]
    of_codes = resolutions(written)
    others = {form for text in written if text not in of_codes for form in other_forms(text) if ":" in form}
    return of_codes | resolutions(sorted(others))


def absent_resolution(
    requested: str,
    identifiers: Identifiers,
    statements_on: Callable[[str], tuple[tuple[str, str], ...]],
    holds: Callable[[str], bool],
    of_codes: Mapping[str, Resolution] = MappingProxyType({}),
) -> Resolution:
    """Resolve an identifier that the graph does not hold.

    Args:
        statements_on: pairs of UMLS relation and successor of a retired identifier in the release.
        holds: whether the graph holds an identifier.
        of_codes: the resolutions of codes of its vocabularies, and of the `other_forms` of the identifier.
    """
    well_formed = is_identifier(requested, identifiers)
    statements = statements_on(requested) if well_formed else ()
    if not statements:
        if requested in of_codes:
            return of_codes[requested]
        forms = other_forms(requested)
        for text in forms:
            if text in of_codes:
                return replace(of_codes[text], requested=requested)
            if holds(text):
                return Resolution(requested, "code", text)
            if is_identifier(text, identifiers) and statements_on(text):
                return replace(absent_resolution(text, identifiers, statements_on, holds), requested=requested)
        possible = well_formed or any(is_identifier(text, identifiers) for text in forms)
        return Resolution(requested, "unknown" if possible else "invalid")
    cui = requested
    for _ in range(LONGEST_CHAIN):
        merged = [successor for relation, successor in statements_on(cui) if relation == "SY"]
        if len(merged) != 1:
            break
        cui = merged[0]
        if holds(cui):
            return Resolution(requested, "merged", cui)
    if [relation for relation, _ in statements] == ["SY"]:
        return Resolution(requested, "unknown", candidates=statements)
    return Resolution(requested, "retired", candidates=tuple(s for s in statements if s[0] != "DEL"))


def replaced(resolutions: Iterable[Resolution | CodeLookup | MapLookup]) -> dict[str, str]:
    """Retired identifier → the successor used in its place; code → its concept."""
    return {r.requested: r.cui for r in resolutions if r.status in ("merged", "code") and r.cui is not None}


def of_code(candidates: Iterable[tuple[str, str]]) -> bool:
    """Recognise the candidates of a code, whose relations are in lower case: see `Resolution`."""
    return any(relation.islower() for relation, _ in candidates)


def checked_pack(pack: DistancePack, concepts: int) -> DistancePack:
    """The pack, or a `ValueError` if it is not valid or of another number of concepts: compiled code relies on it."""
    indptr, indices, hops = pack.indptr, pack.indices, pack.hops
    if len(pack.cuis) != concepts or len(indptr) != concepts + 1:
        raise ValueError(f"a pack of {len(pack.cuis):,} concepts and {len(indptr) - 1:,} rows for {concepts:,}")
    if indptr[0] != 0 or (np.diff(indptr) < 0).any() or not int(indptr[-1]) == len(indices) == len(hops):
        raise ValueError("rows, columns and hops of the pack do not fit together")
    if len(indices) and (indices.min() < 0 or indices.max() >= concepts or hops.max() > pack.bound):
        raise ValueError("a column or a distance of the pack is out of its range")
    rows = np.repeat(np.arange(concepts, dtype=np.int64), np.diff(indptr))
    if (np.diff(rows * concepts + indices) <= 0).any():
        raise ValueError("the columns of a row of the pack do not ascend")
    return pack


def checked_sabs(sabs: Sequence[str], release: Release) -> tuple[str, ...]:
    """The vocabularies that a graph is restricted to, sorted and distinct: see `ConceptGraph.within`.

    Raises:
        InputError: one text in place of a list, none, too many, or one that asserts no edge of the release.
    """
    column = "within_sabs"
    if isinstance(sabs, str):
        raise InputError("one text, not a list of vocabularies", column=column, found=quoted(sabs), expected="[SAB, …]")
    if not release.sabs:
        raise InputError(
            "the vocabularies of the edges are not recorded", column=column, found=f"release {release.name}",
            expected="a release loaded with the vocabulary of each edge",
        )  # fmt: skip
    if not 1 <= len(sabs) <= MOST_SABS:
        value = f"{len(sabs):,} vocabularies"
        raise InputError("not a restriction to vocabularies", column=column, found=value, expected=f"1 to {MOST_SABS}")
    requested = tuple(sorted(set(map(str, sabs))))
    if unknown := [sab for sab in requested if sab not in release.sabs]:
        folded = {sab.casefold(): sab for sab in release.sabs}
        near = get_close_matches(unknown[0][:_LONGEST_SAB].casefold(), folded, n=1)
        raise InputError(
            f"no edge of release {release.name} is asserted by such a vocabulary", column=column,
            found=first_few([quoted(sab) for sab in unknown]), expected=f"some of {', '.join(release.sabs)}",
            advice=f"Did you mean {folded[near[0]]}?" if near else None,
        )  # fmt: skip
    return requested


def name_within(release: Release, sabs: Iterable[str]) -> str:
    """The name of a release restricted to vocabularies, e.g. ``2025AB within MSH, SNOMEDCT_US``."""
    return f"{release.name} within {', '.join(sabs)}"


def release_within(release: Release, sabs: tuple[str, ...], digest: str, edges: int) -> Release:
    """The release of a graph restricted to vocabularies, as `checked_sabs` returns them, with its digest and edges."""
    return replace(release, name=name_within(release, sabs), sabs=sabs, digest=digest, edges=edges)


def fewer_paths(which: int, total: int) -> InputError:
    """The error for the rank of a path beyond the number of shortest paths."""
    return InputError("there are fewer shortest paths", column="which", found=f"{which:,}", expected=f"1 to {total:,}")


def vertical_path(graph: ConceptGraph, a: str, b: str, *, max_hops: int | None, which: int) -> Path | None:
    """`ConceptGraph.path` in direction ``vertical``, from the answers of the graph up and down."""
    distances = [
        (hops, direction)
        for direction in SEARCHES["vertical"]
        if (hops := graph.distance(a, b, direction=direction, max_hops=max_hops)) is not None
    ]
    if not distances:
        return None
    _, direction = min(distances, key=lambda each: each[0])
    path = graph.path(a, b, direction=direction, max_hops=max_hops, which=which)
    return None if path is None else replace(path, direction="vertical")


def concepts_named(
    texts: Iterable[str], search: Callable[[str, int], Iterable[SearchHit]]
) -> dict[str, tuple[tuple[str, str, str], ...]]:
    """Concepts for texts that were sent as identifiers, and may be names: see `ConceptError.named`.

    Only the first few such texts are searched for, with a few hits each: a request with many of them costs no more
    than one with a few.

    Args:
        search: the hits of a search for a text, at most the given number.
    """
    first = islice(texts, MOST_TEXTS)
    names = islice((text for text in first if len(text) <= _LONGEST_NAME and may_be_name(text)), _MOST_NAMES)
    hits = {text: tuple((h.kind, h.cui, h.name or h.matched) for h in search(text, _MOST_NAMED)) for text in names}
    return {text: concepts for text, concepts in hits.items() if concepts}


def name_concepts(error: ConceptError, search: Callable[[str, int], Iterable[SearchHit]]) -> None:
    """Add to an error, and to its message, the concepts that its texts may name: see `concepts_named`."""
    error.named = error.named or concepts_named(error.cuis, search)
    for text, concepts in error.named.items():
        listed = ", ".join(f"{cui} ({name})" for _, cui, name in concepts)
        error.args = (f"{error}. By name, {text} may be {listed}",)


def with_identifier(graph: ConceptGraph, text: str, by_name: Iterable[SearchHit]) -> list[SearchHit]:
    """Hits of a search: the concept whose identifier is the text, as it stands or in upper case; then those by name."""
    forms = dict.fromkeys((text.strip(), text.strip().upper()))
    resolutions = sorted(graph.resolve([*forms]), key=lambda each: each.status == "code")  # identifiers before codes
    cui, matched = next(((each.cui, each.requested) for each in resolutions if each.cui), (None, ""))
    hits = [] if cui is None else [SearchHit(cui, graph.names([cui])[0], matched, "identifier")]
    return hits + [hit for hit in by_name if hit.cui != cui]
