"""Exit codes and their meanings. Stable: scripts may rely on them."""

from __future__ import annotations

from cuihop.errors import (
    AccessError,
    ClusterError,
    ConceptError,
    CuihopError,
    GraphError,
    InputError,
    LimitExceeded,
    OutputError,
)

INTERRUPTED = 130
MISSING_PACKAGE = 8

EXIT_CODES: tuple[tuple[int, type[CuihopError] | None, str], ...] = (
    (0, None, "answered; “no path” is an answer"),
    (1, None, "a fault in cuihop: please report it"),
    (2, None, "the command line is wrong"),
    (3, InputError, "a file or a value is not as expected"),
    (4, ConceptError, "a concept is invalid, unknown or retired"),
    (5, GraphError, "the graph cannot be used: missing, damaged, too new, out of reach, timed out"),
    (6, OutputError, "a result could not be written"),
    (7, LimitExceeded, "the request is larger than allowed"),
    (MISSING_PACKAGE, None, "an optional package is not installed"),
    (9, AccessError, "the service does not allow it: no valid key, or one without the scope"),
    (10, ClusterError, "the cluster of --cluster cannot be reached, or ended before the work did"),
    (INTERRUPTED, None, "interrupted"),
)


def exit_code(error: CuihopError) -> int:
    """Exit code of the program after an error."""
    return next((code for code, kind, _ in EXIT_CODES if kind is not None and isinstance(error, kind)), 1)
