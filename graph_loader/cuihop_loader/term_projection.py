"""Projection of terms on the concepts of a graph.

A term with UMLS cross-references becomes those CUIs; a term without has its own identifier, so that every hop of
the ontology remains a hop. If a term has several CUIs, each is a child of each CUI of its parent.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cuihop.identifiers import Identifiers, is_identifier
from cuihop.resources.arrays import Bool, Int32, ascending
from cuihop_loader.report import TermReport
from cuihop_loader.term_columns import TermColumns
from cuihop_loader.term_files import Term

_NONE = -1
_SAMPLES = 3


@dataclass(frozen=True, eq=False)
class ParentRows:
    """Statements of a parent as pairs of concepts.

    Attributes:
        rows: the statement of each pair, its position among all statements of a parent.
        children, parents: numbers of concepts, of which both may be the same.
    """

    rows: Int32
    children: Int32
    parents: Int32


class TermProjection:
    """Projection of terms on concepts; both are numbered as in ``columns.code_of``.

    Attributes:
        current: true for a term of which a statement is not obsolete.
        gone: true for an obsolete term that no file has as a current one.
        usable: true for a statement about a current term that does not call it obsolete.
    """

    def __init__(self, columns: TermColumns, identifiers: Identifiers) -> None:
        self.keeps_terms = identifiers == "any"
        self._columns = columns
        cuis, alternatives = self._cross_references(columns)
        codes = {identifier: columns.code_of[identifier] for of in cuis.values() for identifier in of}
        code_of = {alternative: columns.code_of[alternative] for alternative in alternatives}
        terms, obsolete, defined = columns.terms, columns.obsolete, columns.defined
        count = len(columns.code_of)
        # A statement that merely mentions a term does not bring an obsolete one back.
        retired = _marked(count, terms[obsolete])
        self.current = _marked(count, terms[~obsolete & (defined | ~retired[terms])])
        self.gone = retired & ~self.current
        self.usable = ~obsolete & self.current[terms]
        self._alternatives = {
            code_of[alternative]: term
            for alternative, term in alternatives.items()
            if not self.current[code_of[alternative]]
        }
        self._defined = _marked(count, terms[self.usable & defined]) | self.gone
        self._defined[list(self._alternatives)] = True
        self._concept = np.arange(count, dtype=np.int32) if self.keeps_terms else np.full(count, _NONE, dtype=np.int32)
        self._concept[self.gone] = _NONE
        self._several: dict[int, tuple[int, ...]] = {}
        self._cuis = {term: of for term, of in cuis.items() if self.current[term] and of}
        for term, of in self._cuis.items():
            self._stand_for(term, tuple(sorted(codes[cui] for cui in of)))
        for alternative, term in self._alternatives.items():
            self._stand_for(alternative, self.of(term))

    @staticmethod
    def _cross_references(columns: TermColumns) -> tuple[dict[int, set[str]], dict[str, int]]:
        """CUIs of each term; and the term of each alternative identifier."""
        terms = columns.terms
        cuis: dict[int, set[str]] = defaultdict(set)
        alternatives: dict[str, int] = {}
        for statement, term in columns.others:
            if not term.obsolete:
                code = int(terms[statement])
                cuis[code].update(cui for cui in term.umls if is_identifier(cui, "cui"))
                alternatives.update(dict.fromkeys((a for a in term.alternatives if is_identifier(a, "any")), code))
        return cuis, alternatives

    def _stand_for(self, code: int, concepts: tuple[int, ...]) -> None:
        self._concept[code] = concepts[0] if concepts else _NONE
        if len(concepts) > 1:
            self._several[code] = concepts

    def of(self, code: int) -> tuple[int, ...]:
        """The concepts of a term, which may be an alternative identifier or undefined; empty for an obsolete one."""
        if (several := self._several.get(code)) is not None:
            return several
        concept = int(self._concept[code])
        return () if concept == _NONE else (concept,)

    def pairs(self, included: Bool) -> ParentRows:
        """Pairs of concepts, of the statements of a parent that are included."""
        statements, parents = self._columns.parents
        rows = np.flatnonzero(included & self.usable[statements]).astype(np.int32)
        at, children = self.expanded(self._columns.terms[statements[rows]])
        rows = rows[at]
        at, ends = self.expanded(parents[rows])
        return ParentRows(rows[at], children[at], ends)

    def expanded(self, terms: Int32) -> tuple[Int32, Int32]:
        """The concepts of each term in turn: the position of the term in the array, and the concept."""
        single = self._concept[terms]
        indices = np.arange(len(terms), dtype=np.int32)
        if self._several:
            several = _marked(len(self._concept), np.fromiter(self._several, dtype=np.int32))[terms]
            more = [(index, c) for index in np.flatnonzero(several).tolist() for c in self._several[int(terms[index])]]
            added = np.array(more, dtype=np.int32).reshape(-1, 2)
            alone = ~several
            indices = np.concatenate([indices[alone], added[:, 0]])
            single = np.concatenate([single[alone], added[:, 1]])
            order = np.argsort(indices, kind="stable")
            indices, single = indices[order], single[order]
        present = single != _NONE
        return indices[present], single[present]

    def retired(self) -> Iterator[tuple[str, str, str]]:
        """Alternative identifiers, and obsolete terms with their successors; empty where only CUIs are used."""
        if not self.keeps_terms:
            return
        identifiers = list(self._columns.code_of)
        terms = self._columns.terms
        for statement, term in self._columns.others:
            code = int(terms[statement])
            others = [a for a in term.alternatives if is_identifier(a, "any") and not self._is_current(a)]
            if not term.obsolete:
                for other in others:
                    yield from ((other, "SY", identifiers[concept]) for concept in self.of(code))
                continue
            yield from ((other, "SY", term.id) for other in others)
            yield from list(self._successors(term, identifiers)) or [(term.id, "DEL", "")]

    def _successors(self, term: Term, identifiers: Sequence[str]) -> Iterator[tuple[str, str, str]]:
        for relation, targets in (("SY", term.replaced_by), ("RO", term.consider)):
            for target in targets:
                code = self._columns.code_of.get(target)
                concepts = () if code is None else self.of(code)
                for concept in [identifiers[c] for c in concepts] or [target]:
                    if concept != term.id:
                        yield term.id, relation, concept

    def _is_current(self, identifier: str) -> bool:
        code = self._columns.code_of.get(identifier)
        return code is not None and bool(self.current[code])

    def report(self, parents: Int32) -> TermReport:
        """The part of the load report that is about terms, of which these are parents."""
        terms = int(np.count_nonzero(self.current))
        terms_of = Counter(cui for of in self._cuis.values() for cui in of)
        return TermReport(
            terms=terms,
            obsolete=int(np.count_nonzero(self.gone)),
            without_cui=terms - len(self._cuis),
            several_cuis=sum(len(of) > 1 for of in self._cuis.values()),
            shared_cuis=sum(count > 1 for count in terms_of.values()),
            undefined_parents=int(np.count_nonzero(~self._defined[ascending(parents)])),
        )

    def warnings(self) -> list[str]:
        """Cross-references that are no CUIs."""
        wrong = sorted(
            {umls for _, term in self._columns.others if not term.obsolete for umls in term.umls}
            - {cui for of in self._cuis.values() for cui in of}
        )
        wrong = [umls for umls in wrong if not is_identifier(umls, "cui")]
        if not wrong:
            return []
        return [
            f"{len(wrong):,} UMLS cross-references are no CUIs and were left out, e.g. {', '.join(wrong[:_SAMPLES])}"
        ]


def _marked(count: int, codes: Int32) -> Bool:
    """Mask that is true at each of the codes."""
    marks = np.zeros(count, dtype=np.bool_)
    marks[codes] = True
    return marks
