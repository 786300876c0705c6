"""The audit: one JSON line for each request, without credentials."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from cuihop.errors import reason_of
from cuihop_service.admission import Observer, RequestOutcome
from cuihop_service.folders import not_written

_log = logging.getLogger("cuihop.guard")

_LONGEST_DETAIL = 500
_CONTENT = "cypher"  # the one operation whose content is always written


class AuditLog(Observer):
    """An `Observer` that writes the caller, the operation and the outcome of each request.

    Each line is one write to a file opened for appending: several workers may share the file, and it may be moved away
    at any time. Lines that cannot be written are counted and reported in the log; requests continue.

    Args:
        target: the file, created with mode 0600; ``-`` for standard output.
        concepts: True writes the content of requests too.

    Raises:
        OutputError: the file cannot be opened.
    """

    def __init__(self, target: str, *, concepts: bool = False) -> None:
        self.lost = 0
        self._path = None if target == "-" else Path(target)
        self._concepts = concepts
        self._number: int | None = None
        self._inode = 0
        self._look_again = 0.0
        self._reported = float("-inf")
        try:
            self._open()
        except OSError as error:
            raise not_written(Path(target), error, "the setting audit") from None

    def finished(self, outcome: RequestOutcome, token: Any) -> None:
        """Write the line."""
        info, caller = outcome.info, outcome.caller
        fields: dict[str, Any] = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "request_id": info.request_id,
            "caller": None if caller is None else caller.name,
            "peer": info.peer,
            "transport": info.transport,
            "operation": info.operation,
            "size": info.size,
            "outcome": outcome.reason,
            "tier": outcome.tier,
            "release": outcome.digest,
            "milliseconds": round(outcome.seconds * 1000, 3),
        }
        if info.content is not None and (self._concepts or info.operation == _CONTENT):
            fields["request"] = info.content()
            if outcome.detail:  # an error's message may name concepts
                fields["detail"] = outcome.detail[:_LONGEST_DETAIL]
        try:
            line = orjson.dumps(fields)
        except TypeError:  # a number of many digits, half of a character, and the like
            line = json.dumps(fields, default=repr).encode()
        self._write(line + b"\n")

    def _write(self, line: bytes) -> None:
        try:
            now = time.monotonic()
            if now >= self._look_again:
                self._look_again = now + 1.0
                self._open()
            if self._number is None or os.write(self._number, line) != len(line):
                raise OSError("written in part")
        except OSError as error:
            self.lost += 1
            if time.monotonic() - self._reported > 60.0:
                self._reported = time.monotonic()
                _log.error("the audit cannot be written: %s; %d lines are lost", reason_of(error), self.lost)

    def _open(self) -> None:
        """Open the file, also where another has taken its place."""
        if self._path is None:
            self._number = sys.stdout.fileno()
            return
        if self._number is not None:
            try:
                if self._path.stat().st_ino == self._inode:
                    return
            except FileNotFoundError:
                pass
            os.close(self._number)
            self._number = None
        self._number = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._inode = os.fstat(self._number).st_ino

    def close(self) -> None:
        """Close the file."""
        if self._path is not None and self._number is not None:
            os.close(self._number)
        self._number = None
