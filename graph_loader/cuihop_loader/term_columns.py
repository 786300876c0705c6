"""Statements about terms in columns, so that ontologies of a million terms fit into little memory."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np

from cuihop.errors import InputError, LimitExceeded
from cuihop.identifiers import EXPECTED, in_upper_case, is_identifier
from cuihop.resources.arrays import Bool, Int32, UInt8
from cuihop_loader.term_files import Term, TermRows

MOST_SABS = 2048


_OBSOLETE, _DEFINED = 1, 2
_UNSTATED = -1


class TermColumns:
    """Statements about terms, each added once. Identifiers, texts and vocabularies are numbered as they come.

    Attributes:
        code_of: number of each identifier, of terms and of parents. CUIs in lower case are read in upper case.
        lower: those.
        text_of: number of each distinct name.
        others: statements with more than names and parents, each with its number.
    """

    def __init__(self) -> None:
        self.lower: dict[str, int] = {}
        self.code_of: dict[str, int] = _Identifiers(self.lower)
        self.text_of: dict[str, int] = _Numbers()
        self.sabs: dict[str, int] = {}
        self.others: list[tuple[int, Term]] = []
        self._terms, self._sabs, self._flags = array("i"), array("i"), array("B")
        self._ended = 0
        self._ends: list[int] = []
        self._children, self._parents, self._instances = array("i"), array("i"), array("B")
        self._named, self._texts, self._synonyms = array("i"), array("i"), array("B")

    def end_file(self, sab: str) -> None:
        """State the vocabulary of the statements since the last call that state none.

        Raises:
            LimitExceeded: more than `MOST_SABS` vocabularies.
        """
        of_file = np.asarray(self._sabs)[self._ended :]
        of_file[of_file == _UNSTATED] = self._sab(sab)
        self._ended = len(self._sabs)
        self._ends.append(self._ended)

    def add(self, term: Term, file: str) -> None:
        """Add a statement of a file.

        Raises:
            InputError: an identifier is malformed.
            LimitExceeded: more than `MOST_SABS` vocabularies.
        """
        statement = len(self._terms)
        self._terms.append(self._code(term.id, "id", term, file))
        self._sabs.append(_UNSTATED if term.sab is None else self._sab(term.sab))
        self._flags.append((_OBSOLETE if term.obsolete else 0) | (_DEFINED if term.defined else 0))
        for is_instance, parents in enumerate((term.parents, term.classes)):
            for parent in parents:
                self._children.append(statement)
                self._parents.append(self._code(parent, "parent", term, file))
                self._instances.append(is_instance)
        for text, is_synonym in [(term.name, False), *((synonym, True) for synonym in term.synonyms)]:
            if text:
                self._named.append(statement)
                self._texts.append(self.text_of[text])
                self._synonyms.append(is_synonym)
        if term.obsolete or term.umls or term.alternatives:
            self.others.append((statement, term))

    def add_rows(self, rows: TermRows) -> None:
        """Add rows of a table.

        Raises:
            LimitExceeded: more than `MOST_SABS` vocabularies.
        """
        first = len(self._terms)
        self._terms.frombytes(_numbers(rows.terms, self.code_of).tobytes())
        number_of = {stated: self._sab(stated) if stated else _UNSTATED for stated in dict.fromkeys(rows.sabs)}
        self._sabs.frombytes(_numbers(rows.sabs, number_of).tobytes())
        self._flags.frombytes(bytes([_DEFINED]) * len(rows.terms))
        for strings, code_of, statements, codes, zeros in (
            (rows.parents, self.code_of, self._children, self._parents, self._instances),
            (rows.names, self.text_of, self._named, self._texts, self._synonyms),
        ):
            stated = strings if all(strings) else [string for string in strings if string]
            at = range(len(strings)) if stated is strings else [n for n, string in enumerate(strings) if string]
            statements.frombytes((np.asarray(at, dtype=np.int32) + np.int32(first)).tobytes())
            codes.frombytes(_numbers(stated, code_of).tobytes())
            zeros.frombytes(bytes(len(stated)))

    def _code(self, identifier: str, field: str, term: Term, file: str) -> int:
        code = self.code_of.get(identifier)
        if code is None:
            if not is_identifier(identifier, "any"):
                raise InputError(
                    "not an identifier", file=file, line=term.line or None, column=field, found=repr(identifier),
                    expected=EXPECTED["any"],
                )  # fmt: skip
            code = self.code_of[identifier]
        return code

    def _sab(self, sab: str) -> int:
        number = self.sabs.setdefault(sab, len(self.sabs))
        if number >= MOST_SABS:
            raise LimitExceeded(f"more than {MOST_SABS:,} vocabularies in files of terms")
        return number

    # Columns, one entry for each statement

    @property
    def terms(self) -> Int32:
        """Number of the term that a statement is about."""
        return np.asarray(self._terms)

    @property
    def sab_numbers(self) -> Int32:
        """Number of the vocabulary that makes the statement."""
        return np.asarray(self._sabs)

    @property
    def obsolete(self) -> Bool:
        """True where the statement, or another of the same file, calls the term obsolete."""
        obsolete = np.asarray(self._flags) & _OBSOLETE > 0
        if obsolete.any():
            files = np.searchsorted(self._ends, np.arange(len(obsolete)), side="right")
            terms_of_files = files << 32 | self.terms
            obsolete |= np.isin(terms_of_files, terms_of_files[obsolete])
        return obsolete

    @property
    def defined(self) -> Bool:
        """True where the statement does more than mention the term."""
        return np.asarray(self._flags) & _DEFINED > 0

    # Columns, one entry for each parent or name

    @property
    def parents(self) -> tuple[Int32, Int32]:
        """The statement, and the number of the parent."""
        return np.asarray(self._children), np.asarray(self._parents)

    @property
    def instances(self) -> Bool:
        """True where the parent is the class of an instance."""
        return np.asarray(self._instances) > 0

    @property
    def names(self) -> tuple[Int32, Int32, UInt8]:
        """The statement, the number of the text, and 1 for a synonym, 0 for the name of the term."""
        return np.asarray(self._named), np.asarray(self._texts), np.asarray(self._synonyms)


class _Numbers(dict[str, int]):
    """Strings numbered as they come: asking for one that is new adds it."""

    def __missing__(self, string: str) -> int:
        number = self[string] = len(self)
        return number


class _Identifiers(_Numbers):
    """Identifiers numbered as they come, a CUI in lower case as the one in upper case, and also in ``lower``."""

    def __init__(self, lower: dict[str, int]) -> None:
        super().__init__()
        self._lower = lower

    def __missing__(self, string: str) -> int:
        number = self._lower.get(string)
        if number is not None:
            return number
        if (upper := in_upper_case(string)) == string:
            return super().__missing__(string)
        number = self._lower[string] = self[upper]
        return number


def _numbers(strings: Sequence[str], number_of: dict[str, int]) -> Int32:
    """The number of each string."""
    return np.fromiter(map(number_of.__getitem__, strings), dtype=np.int32, count=len(strings))
