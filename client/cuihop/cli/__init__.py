"""The command line. `main` is the program; each other module holds commands of one kind, or what several share."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["main"]


def main() -> None:
    """Run the command line, and turn every expected error into one message and a documented exit code."""
    from cuihop.cli.application import application
    from cuihop.cli.exit_codes import INTERRUPTED, MISSING_PACKAGE, exit_code
    from cuihop.cli.output import note, noted_warnings, print_error, print_json
    from cuihop.errors import CuihopError, InputError, OutputError
    from cuihop.remote.statuses import error_fields
    from cuihop.resources.compilation import announce_compilation

    announce_compilation(note if sys.stderr.isatty() else None)
    try:
        with noted_warnings():
            application(only=sys.argv[1] if len(sys.argv) > 1 else None)(prog_name="cuihop")
    except CuihopError as error:
        print_error(f"{error}")
        if "--json" in sys.argv:
            others: dict[str, Any] = {"reason": "NOT_WRITTEN"} if isinstance(error, OutputError) else {}
            if isinstance(error, InputError):
                others = {"file": error.file, "line": error.line}
            print_json({**error_fields(error), **others, "exit_code": exit_code(error)})
        sys.exit(exit_code(error))
    except ModuleNotFoundError as error:
        if (error.name or "cuihop").startswith("cuihop"):
            raise
        missing = f"this needs the package {error.name}, which is not installed: pip install 'cuihop[all]'"
        print_error(error.msg if "pip install" in error.msg else missing)  # some messages name the extra that is enough
        sys.exit(MISSING_PACKAGE)
    except SystemExit as stop:
        if stop.code == INTERRUPTED:
            print_error("interrupted; nothing was half-written")
        raise
