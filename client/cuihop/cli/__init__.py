"""The command line: `main` is the program. Exit codes are stable, so scripts may rely on them.

Each other module holds commands of one kind, or what several share.
"""

from __future__ import annotations

import errno
import io
import os
import shlex
import sys
from contextlib import suppress
from typing import Any
from warnings import catch_warnings

from cuihop.errors import (
    AccessError,
    ClusterError,
    ConceptError,
    CuihopError,
    GraphError,
    InputError,
    LimitExceeded,
    OutputError,
    installation,
)

__all__ = ["main"]

INTERRUPTED = 130
_NOT_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)
MISSING_PACKAGE = 8

EXIT_CODES: tuple[tuple[int, type[CuihopError] | None, str], ...] = (
    (0, None, "answered; “no path” is an answer"),
    (1, None, "an error in cuihop: please report it"),
    (2, None, "the command line is wrong"),
    (3, InputError, "a file or a value is not as expected"),
    (4, ConceptError, "a concept is invalid, unknown or retired"),
    (5, GraphError, "the graph cannot be used: missing, damaged, too new, out of reach, timed out"),
    (6, OutputError, "a result could not be written"),
    (7, LimitExceeded, "the request is larger than allowed"),
    (MISSING_PACKAGE, None, "an optional package is not installed, or a package cannot be loaded"),
    (9, AccessError, "the service refuses access: no valid key, or a key without the scope"),
    (10, ClusterError, "the cluster of --cluster cannot be reached, or ended before the computation"),
    (INTERRUPTED, None, "interrupted"),
)


def exit_code(error: CuihopError) -> int:
    """Exit code of the program after an error."""
    return next((code for code, kind, _ in EXIT_CODES if kind is not None and isinstance(error, kind)), 1)


def _search_hint(error: CuihopError) -> str:
    """The search for a name that was typed in place of an identifier, whose concepts are added to the error."""
    from cuihop.cli.graph_option import last_address
    from cuihop.identifiers import may_be_name

    if not isinstance(error, ConceptError):
        return ""
    typed = {text.strip() for argument in sys.argv[1:] for text in argument.split(";")}
    names = [text for text in error.cuis if text in typed and may_be_name(text)]
    if names and not error.named and last_address:
        from cuihop.adapter_rules import name_concepts
        from cuihop.connection import connect

        with suppress(CuihopError), catch_warnings(action="ignore"), connect(last_address[0]) as graph:
            name_concepts(error, lambda text, most: graph.search(text, limit=most) if text in names else [])
    return f". Identifiers are found by names: cuihop search {shlex.quote(names[0])}" if names else ""


def _first_reason(error: BaseException) -> BaseException:
    """The error of the system, where a package raises another one about it."""
    while isinstance(reason := error.__cause__ or error.__context__, (ImportError, OSError)):
        error = reason
    return error


def main() -> None:
    """Run the command line, and turn every expected error into one message and a documented exit code."""
    from cuihop.cli.output import note, noted_warnings, print_error, print_json

    if isinstance(sys.stdout, io.TextIOWrapper):
        with suppress(OSError):  # its file may have become a pipe
            sys.stdout.reconfigure(errors="backslashreplace")  # for names of files that are not UTF-8
    try:
        from cuihop.cli.application import application
        from cuihop.resources.compilation import announce_compilation

        announce_compilation(note if sys.stderr.isatty() else None)
        with noted_warnings():
            try:
                application(tuple(sys.argv[1:]))(prog_name="cuihop")
            finally:
                sys.stdout.flush()
    except CuihopError as error:
        hint = _search_hint(error)
        print_error(f"{error}{hint}")
        if "--json" in sys.argv:
            from cuihop.remote.statuses import error_fields

            others: dict[str, Any] = {"reason": "NOT_WRITTEN"} if isinstance(error, OutputError) else {}
            if isinstance(error, InputError):
                others = {"file": error.file, "line": error.line}
            print_json({**error_fields(error), **others, "exit_code": exit_code(error)})
        sys.exit(exit_code(error))
    except ModuleNotFoundError as error:
        if (error.name or "cuihop").startswith("cuihop"):
            raise
        missing = f"this needs the package {error.name}, which is not installed: {installation('cuihop[all]')}"
        print_error(error.msg if "pip install" in error.msg else missing)  # some messages name the extra that is enough
        sys.exit(MISSING_PACKAGE)
    except ImportError as error:
        if (error.name or "").startswith("cuihop"):
            raise
        print_error(f"a package cannot be loaded: {_first_reason(error)}")
        sys.exit(MISSING_PACKAGE)
    except OSError as error:
        if error.errno is None and "shared object" in str(error):  # a library that is loaded without an import
            print_error(f"a package cannot be loaded: {_first_reason(error)}")
            sys.exit(MISSING_PACKAGE)
        of_output = error.filename is None
        if of_output and error.errno not in _NOT_WRITTEN:
            raise
        what = "standard output or standard error cannot be written"
        if not of_output:  # where no command expects it
            what = f"{error.filename}: the system refuses it"
        failure = (OutputError if error.errno in _NOT_WRITTEN else InputError)(f"{what}: {error.strerror}")
        print_error(str(failure))
        for stream in (sys.stdout, sys.stderr) if of_output else ():  # what is left in their buffers
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        sys.exit(exit_code(failure))
    except SystemExit as stop:
        if stop.code == INTERRUPTED:
            print_error("interrupted; nothing was half-written")
        raise
