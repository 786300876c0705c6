"""Measures of similarity, and their information content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from cuihop.errors import InputError, checked_choice

SimilarityMeasure: TypeAlias = Literal[
    "path", "path-lcs", "Leacock-Chodorow", "Wu-Palmer", "Resnik", "Lin", "Jiang-Conrath", "simUI", "simGIC"
]
"""A measure of the similarity of two concepts: see `SIMILARITY_MEASURES`."""

SIMILARITY_MEASURES: Mapping[SimilarityMeasure, str] = {
    "path": "1 / (1 + d), d hops in both directions; 0 without a path",
    "path-lcs": "1 / (1 + d), d hops up from each to a common ancestor, the fewest",
    "Leacock-Chodorow": "-log((d + 1) / (2 D)), d as in path-lcs, D hops from the deepest concept to the root",
    "Wu-Palmer": "2 depth(lcs) / (d + 2 depth(lcs)), d hops from each to the lcs, the deepest common ancestor",
    "Resnik": "IC(mica), of the most informative common ancestor",
    "Lin": "2 IC(mica) / (IC(a) + IC(b))",
    "Jiang-Conrath": "IC(a) + IC(b) - 2 IC(mica): a distance, 0 for equal concepts",
    "simUI": "common ancestors of all ancestors of the two, each among its own",
    "simGIC": "the same, each ancestor counted by its information content",
}
"""Measures and their formulas: Rada et al. 1989 (path), Leacock and Chodorow 1998, Wu and Palmer 1994, Resnik 1995, Lin
1998, Jiang and Conrath 1997, Gentleman 2005 (simUI), Pesquita et al. 2007 (simGIC)."""

DISTANCES: frozenset[SimilarityMeasure] = frozenset({"Jiang-Conrath"})
"""Measures whose smaller values are the nearer pairs."""

BY_INFORMATION_CONTENT: frozenset[SimilarityMeasure] = frozenset({"Resnik", "Lin", "Jiang-Conrath", "simGIC"})
"""Measures that depend on information content."""

InformationContent: TypeAlias = Literal["Sanchez", "Seco", "corpus"]

INFORMATION_CONTENTS: Mapping[InformationContent, str] = {
    "Sanchez": "-log((leaves(x) / ancestors(x) + 1) / (leaves + 1))",
    "Seco": "1 - log(descendants(x)) / log(N)",
    "corpus": "-log p(x), of the occurrences of x and of all its descendants",
}
"""Information content (IC): Sánchez, Batet and Isern 2011, equation 10; Seco, Veale and Hayes 2004; Resnik 1995."""

_SPELLINGS: Mapping[str, SimilarityMeasure] = {
    "lch": "Leacock-Chodorow", "wup": "Wu-Palmer", "res": "Resnik", "jcn": "Jiang-Conrath", "jc": "Jiang-Conrath",
    "upath": "path",
}  # fmt: skip


def named_measure(text: str) -> SimilarityMeasure:
    """The measure of that name, in any case, with or without its hyphen, or by the short name of other tools.

    >>> named_measure("lin"), named_measure("wup"), named_measure("wupalmer")
    ('Lin', 'Wu-Palmer', 'Wu-Palmer')

    Raises:
        InputError: there is none.
    """
    plain = text.casefold().replace("-", "").replace("_", "")
    for measure in SIMILARITY_MEASURES:
        if plain == measure.casefold().replace("-", ""):
            return measure
    if plain in _SPELLINGS:
        return _SPELLINGS[plain]
    raise InputError(
        "no such measure of similarity", column="measure", found=repr(text), expected=" or ".join(SIMILARITY_MEASURES)
    )


@dataclass(frozen=True)
class SimilarityOptions:
    """A measure of similarity with its information content.

    Attributes:
        measure: see `SIMILARITY_MEASURES`.
        ic: see `INFORMATION_CONTENTS`.
        counts: for the ``ic`` corpus, occurrences of concepts, 0 or more; a concept that is not in it has 0. A service
            has counts of its own, and takes none; every other graph needs them.

    Raises:
        InputError: an unknown measure or information content, or counts without ``corpus``.
    """

    measure: SimilarityMeasure = "Lin"
    ic: InformationContent = "Sanchez"
    counts: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "measure", named_measure(self.measure))
        checked_choice("ic", self.ic, InformationContent, "unknown information content")
        if self.ic != "corpus" and self.counts:
            raise InputError("counts are for the information content of a corpus", column="ic", found=self.ic,
                             expected="corpus")  # fmt: skip
        for concept, count in self.counts.items():
            if not 0 <= count < float("inf"):
                raise InputError("not a number of occurrences", column=f"counts of {concept}", found=repr(count),
                                 expected="a number, 0 or more")  # fmt: skip
