"""Every error that cuihop raises on purpose.

::

    CuihopError
    ├── ConceptError              an answer is impossible because of a concept
    │   ├── InvalidCui            the text cannot be an identifier
    │   ├── ConceptNotFound       a well-formed identifier that the graph does not hold
    │   ├── ConceptRetired        retired by UMLS without one exact successor in the graph
    │   └── AmbiguousCode         a code of a vocabulary that stands for several concepts
    ├── InputError                a file or value from the user is not as expected
    ├── OutputError               a result could not be written; no partial file is left
    ├── GraphError                the graph itself is at fault
    │   ├── SnapshotError         the file is not a snapshot, is truncated, or fails a checksum
    │   │   └── SnapshotTooNew    written by a later format than this version reads
    │   ├── GraphUnavailable      a server cannot be reached
    │   ├── QueryTimedOut         the answer took longer than allowed
    │   ├── SchemaMismatch        a database that another schema wrote, or that lacks a part of it
    │   └── ReleaseMismatch       two things that must come from one release do not
    ├── LimitExceeded             the request is larger than the graph's owner allows
    │   └── RateLimited           too many requests in too short a time: retry later
    └── AccessError               the graph's owner does not allow it
        ├── NotAuthenticated      no key or token, or one that is not valid
        └── NotAllowed            the key lacks a scope

"No path" is an answer (``None``), not an error. Warnings: `ManyUnknownConcepts`, `DamageWarning`,
`OlderSnapshot`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, get_args

__all__ = [
    "AccessError",
    "AmbiguousCode",
    "ConceptError",
    "ConceptNotFound",
    "ConceptRetired",
    "CuihopError",
    "DamageWarning",
    "FileNotRemoved",
    "GraphError",
    "GraphUnavailable",
    "InputError",
    "InvalidCui",
    "LimitExceeded",
    "ManyUnknownConcepts",
    "NotAllowed",
    "NotAuthenticated",
    "OlderSnapshot",
    "OutputError",
    "QueryTimedOut",
    "RateLimited",
    "ReleaseMismatch",
    "SchemaMismatch",
    "SnapshotError",
    "SnapshotTooNew",
    "checked_choice",
    "first_few",
]

_SHOWN = 5
_PLACES = ("byte ", "document ", "field ", "query ", "rank ", "row ", "setting ", "variable ")


def first_few(items: Sequence[str], most: int = _SHOWN) -> str:
    """The first few items, ``most`` of them, and the number of the others.

    >>> first_few(list("abcdefg"))
    'a, b, c, d, e and 2 more'
    """
    first = ", ".join(items[:most])
    return first if len(items) <= most else f"{first} and {len(items) - most:,} more"


def installation(requirement: str) -> str:
    """The command that installs a package or an extra; of an extra of cuihop, also that of a checkout.

    >>> installation("cuihop[plots]")
    "pip install 'cuihop[plots]', or in a checkout pip install '.[plots]'"
    """
    command = f"pip install '{requirement}'" if "[" in requirement else f"pip install {requirement}"
    own = requirement.removeprefix("cuihop")
    return f"{command}, or in a checkout pip install '.{own}'" if own.startswith("[") else command


def reason_of(error: BaseException) -> str:
    """The reason of a failure that another library or the system reports; an error without text is named by its kind.

    >>> reason_of(TimeoutError()), reason_of(FileNotFoundError(2, "No such file or directory", "x"))
    ('no answer in time', 'No such file or directory')
    """
    text = getattr(error, "strerror", None) or str(error).strip()
    return text or ("no answer in time" if isinstance(error, TimeoutError) else type(error).__name__)


class CuihopError(Exception):
    """The root: catch it to catch everything that cuihop raises on purpose."""


class ManyUnknownConcepts(UserWarning):
    """More than a fifth of the concepts of a collection are unknown to the graph."""


class ConceptError(CuihopError):
    """One or more concepts make an answer impossible.

    Attributes:
        cuis: the identifiers at fault, in the order of the request, without repeats.
        named: for texts that may be names, concepts of such names: triples of kind of match, concept and its name.
    """

    named: Mapping[str, Sequence[tuple[str, str, str]]] = MappingProxyType({})

    def __init__(self, message: str, cuis: Iterable[str]) -> None:
        super().__init__(message)
        self.cuis: tuple[str, ...] = tuple(dict.fromkeys(cuis))


class InvalidCui(ConceptError):
    """The text cannot be an identifier of this graph, whatever the release."""

    def __init__(
        self, cuis: Iterable[str], *, expected: str, problem: str = "not an identifier", where: str | None = None
    ) -> None:
        distinct = list(dict.fromkeys(cuis))
        prefix = "" if where is None else f"{where}: "
        super().__init__(f"{prefix}{problem}: {first_few([repr(c) for c in distinct])}; expected {expected}", distinct)


class ConceptNotFound(ConceptError):
    """The identifier is well formed, but the graph does not hold it."""

    def __init__(
        self,
        cuis: Iterable[str],
        *,
        release: str,
        merged: Mapping[str, str] | None = None,
        alike: Mapping[str, str] | None = None,
    ) -> None:
        distinct = list(dict.fromkeys(cuis))
        hints = {c: f" (merged into {other})" for c, other in (merged or {}).items()}
        hints |= {c: f" (did you mean {other}?)" for c, other in (alike or {}).items()}
        labels = [c + hints.get(c, "") for c in distinct]
        super().__init__(f"unknown in release {release}: {first_few(labels)}", distinct)


class ConceptRetired(ConceptError):
    """The concept is retired, and UMLS names no one exact successor that the graph holds; or a code is.

    Attributes:
        candidates: for each identifier, the broader, narrower or related concepts that UMLS suggests; for a code
            without an active atom, its concepts with its mark, ``suppressed`` or ``obsolete``.
    """

    def __init__(self, candidates: Mapping[str, Sequence[tuple[str, str]]]) -> None:
        labels = []
        for cui, options in candidates.items():
            hint = ", ".join(f"{relation} {successor}" for relation, successor in options)
            suggests = "" if options and options[0][0].islower() else "UMLS suggests "
            labels.append(f"{cui} ({suggests}{hint})" if hint else f"{cui} (deleted, no successor)")
        super().__init__(f"retired concept: {first_few(labels)}", candidates)
        self.candidates = {cui: tuple(options) for cui, options in candidates.items()}


class AmbiguousCode(ConceptError):
    """A code of a vocabulary stands for several concepts of the graph.

    Attributes:
        candidates: for each code, pairs of ``code`` and a concept, in the order of `cuihop.graph.ConceptGraph.codes`.
    """

    def __init__(self, candidates: Mapping[str, Sequence[tuple[str, str]]]) -> None:
        labels = [f"{code} ({', '.join(cui for _, cui in concepts)})" for code, concepts in candidates.items()]
        super().__init__(f"code of several concepts: {first_few(labels)}", candidates)
        self.candidates = {code: tuple(concepts) for code, concepts in candidates.items()}


class InputError(CuihopError):
    """Input is not as expected.

    Attributes:
        file, line, column: position; lines count from 1. A column is a name or a number from 1; without a file, the
            name of a parameter; or a place in words that begins with byte, document, field, query, rank, row, setting
            or variable.
        found, expected: the faulty content, and the expected content.
    """

    def __init__(
        self,
        problem: str,
        *,
        file: str | Path | None = None,
        line: int | None = None,
        column: str | int | None = None,
        found: str | None = None,
        expected: str | None = None,
        advice: str | None = None,
    ) -> None:
        where = ", ".join(
            piece
            for piece in (
                str(file) if file is not None else "",
                f"line {line:,}" if line is not None else "",
                _place(column, in_file=file is not None or line is not None),
            )
            if piece
        )
        text = f"{where}: {problem}" if where else problem
        if found is not None:
            text += f"; found {found}"
        if expected is not None:
            text += f"; expected {expected}"
        if advice is not None:
            text += f". {advice}"
        super().__init__(text)
        self.problem = problem
        self.file = None if file is None else str(file)
        self.line = line
        self.column = column.removeprefix("field ").removeprefix("setting ") if isinstance(column, str) else column
        self.found = found
        self.expected = expected
        self.advice = advice


@contextmanager
def parameter_named(inner: str, name: str) -> Iterator[None]:
    """Name the parameter of an `InputError` as the caller of an operation knows it, in place of an inner name."""
    try:
        yield
    except InputError as error:
        if error.column != inner:
            raise
        fields = {each: getattr(error, each) for each in ("found", "expected", "advice")}
        raise InputError(error.problem, column=name, **fields) from None


def _place(column: str | int | None, *, in_file: bool) -> str:
    """A position in words: a name is a column in a file, and a parameter anywhere else."""
    text = "" if column is None else str(column)
    if not text or text.startswith(_PLACES):
        return text
    return f"{'column' if in_file else 'parameter'} {text}"


class OutputError(CuihopError):
    """A result could not be written. The target is as it was before."""


@contextmanager
def output_errors(problem: str) -> Iterator[None]:
    """Raise an `OutputError` with this text, and the reason, for an error of the operating system in this block."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{problem}: {reason_of(error)}") from error


class GraphError(CuihopError):
    """The graph, not the request, is at fault."""


class SnapshotError(GraphError):
    """The file is not a snapshot, is truncated, or fails a checksum."""


class SnapshotTooNew(SnapshotError):
    """The snapshot has a later format than this version of cuihop reads."""


class DamageWarning(UserWarning):
    """A part that no answer needs is damaged, and is not used. Answers are the same, and may take longer."""


class FileNotRemoved(UserWarning):
    """A file of work that is finished could not be removed. Nothing needs it any more."""


class OlderSnapshot(UserWarning):
    """A snapshot of an earlier version lacks a part that is built again in memory. Answers are the same."""


class GraphUnavailable(GraphError):
    """The server that holds the graph cannot be reached, or refuses."""


class ReleaseBehind(GraphUnavailable):
    """A replica of a service still serves an older release than its caller has seen.

    Attributes:
        retry_after: seconds until the request may be repeated.
    """

    def __init__(self, message: str, *, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class QueryTimedOut(GraphError):
    """The answer took longer than allowed."""


class SchemaMismatch(GraphError):
    """The database was written by another schema, or lacks a constraint, an index or a release."""


class ReleaseMismatch(GraphError):
    """Two things that must come from the same release do not."""


class LimitExceeded(CuihopError):
    """The request is larger than allowed; the message names the limit."""


class RateLimited(LimitExceeded):
    """Too many requests in too short a time.

    Attributes:
        retry_after: seconds until the request may be repeated.
    """

    def __init__(self, message: str, *, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ClusterError(CuihopError):
    """A cluster cannot be reached, or its processes ended before the work did."""


class AccessError(CuihopError):
    """The owner of the graph does not allow it."""


class NotAuthenticated(AccessError):
    """The request has no key or token, or one that is not, or no longer, valid."""


class NotAllowed(AccessError):
    """The key or token lacks the scope that the request needs; the message names it."""


Choice = TypeVar("Choice", bound=str)


def checked_choice(name: str, value: Choice, allowed: Any, problem: str = "not one of the choices") -> Choice:
    """A parameter that is one of the words of a ``Literal``.

    Raises:
        InputError: it is not.
    """
    if value not in get_args(allowed):
        raise InputError(problem, column=name, found=repr(value), expected=" or ".join(get_args(allowed)))
    return value
