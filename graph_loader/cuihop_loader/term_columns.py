"""Statements about terms in columns, so that ontologies of a million terms fit into little memory."""

from __future__ import annotations

from array import array

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError, LimitExceeded
from cuihop.identifiers import EXPECTED, is_identifier
from cuihop_loader.terms import Term

__all__ = ["MOST_SABS", "TermColumns"]

MOST_SABS = 2048

Int32 = npt.NDArray[np.int32]

_OBSOLETE, _DEFINED = 1, 2
_UNSTATED = -1


class TermColumns:
    """Statements about terms, each added once. Identifiers, texts and vocabularies are numbered as they come.

    Attributes:
        code_of: number of each identifier, of terms and of parents.
        text_of: number of each distinct name.
        sabs: number of each vocabulary.
        others: statements with more than names and parents, each with its number.
    """

    def __init__(self) -> None:
        self.code_of: dict[str, int] = {}
        self.text_of: dict[str, int] = {}
        self.sabs: dict[str, int] = {}
        self.others: list[tuple[int, Term]] = []
        self._terms, self._sabs, self._flags = array("i"), array("i"), array("B")
        self._ended = 0
        self._ends: list[int] = []
        self._children, self._parents = array("i"), array("i")
        self._named, self._texts, self._synonyms = array("i"), array("i"), array("B")

    @property
    def parent_count(self) -> int:
        """Number of statements of a parent so far."""
        return len(self._parents)

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
        """Add a statement.

        Args:
            term: the statement.
            file: for errors.

        Raises:
            InputError: an identifier is malformed.
            LimitExceeded: more than `MOST_SABS` vocabularies.
        """
        statement = len(self._terms)
        self._terms.append(self._code(term.id, "id", term, file))
        self._sabs.append(_UNSTATED if term.sab is None else self._sab(term.sab))
        self._flags.append((_OBSOLETE if term.obsolete else 0) | (_DEFINED if term.defined else 0))
        for parent in term.parents:
            self._children.append(statement)
            self._parents.append(self._code(parent, "parent", term, file))
        if term.name:
            self._add_name(statement, term.name, synonym=False)
        for synonym in term.synonyms:
            if synonym:
                self._add_name(statement, synonym, synonym=True)
        if term.obsolete or term.umls or term.alternatives:
            self.others.append((statement, term))

    def _add_name(self, statement: int, text: str, *, synonym: bool) -> None:
        self._named.append(statement)
        self._texts.append(self.text_of.setdefault(text, len(self.text_of)))
        self._synonyms.append(synonym)

    def _code(self, identifier: str, field: str, term: Term, file: str) -> int:
        code = self.code_of.get(identifier)
        if code is None:
            if not is_identifier(identifier, "any"):
                raise InputError(
                    "not an identifier", file=file, line=term.line or None, column=field, found=repr(identifier),
                    expected=EXPECTED["any"],
                )  # fmt: skip
            code = self.code_of[identifier] = len(self.code_of)
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
    def obsolete(self) -> npt.NDArray[np.bool_]:
        """True where the statement, or another of the same file, calls the term obsolete."""
        obsolete = np.asarray(self._flags) & _OBSOLETE > 0
        if obsolete.any():
            files = np.searchsorted(self._ends, np.arange(len(obsolete)), side="right")
            terms_of_files = files << 32 | self.terms
            obsolete |= np.isin(terms_of_files, terms_of_files[obsolete])
        return obsolete

    @property
    def defined(self) -> npt.NDArray[np.bool_]:
        """True where the statement does more than mention the term."""
        return np.asarray(self._flags) & _DEFINED > 0

    # Columns, one entry for each parent or name

    @property
    def parents(self) -> tuple[Int32, Int32]:
        """The statement, and the number of the parent."""
        return np.asarray(self._children), np.asarray(self._parents)

    @property
    def names(self) -> tuple[Int32, Int32, npt.NDArray[np.uint8]]:
        """The statement, the number of the text, and 1 for a synonym, 0 for the name of the term."""
        return (
            np.asarray(self._named),
            np.asarray(self._texts),
            np.asarray(self._synonyms),
        )

    def extra_code(self, identifier: str) -> int:
        """The number of a well-formed identifier that no statement need have."""
        return self.code_of.setdefault(identifier, len(self.code_of))
