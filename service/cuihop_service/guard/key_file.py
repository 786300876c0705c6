"""The file of the API keys: written atomically, and read again whenever it changes."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from cuihop.errors import InputError, NotAuthenticated, OutputError, reason_of
from cuihop.files.written_files import replaced_file
from cuihop_service.callers import Caller
from cuihop_service.guard.api_keys import ApiKey, parts_of

__all__ = ["KeyFile", "changed_keys", "key_file_text", "read_keys"]

_log = logging.getLogger("cuihop.guard")

_LARGEST = 16 << 20
_VERSION = 1
_FORBIDDEN_MODE = stat.S_IRWXO | stat.S_IWGRP  # a group may read: Kubernetes mounts secrets that way


def read_keys(path: Path) -> list[ApiKey]:
    """The keys of a file, also expired and revoked ones.

    Raises:
        InputError: it cannot be read, others can read it, or it is no file of keys.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read(_LARGEST + 1)
    except OSError as error:
        raise InputError(
            "the keys cannot be read", file=path, found=reason_of(error),
            advice=f"Create one with: cuihop service keys create NAME --keys-file {path}",
        ) from None  # fmt: skip
    if mode & _FORBIDDEN_MODE:
        raise InputError(
            "the file of the keys is open to others",
            file=path,
            found=f"mode {stat.S_IMODE(mode):04o}",
            expected="mode 0600",
            advice=f"chmod 600 {path}",
        )
    if len(text) > _LARGEST:
        raise InputError("too large for a file of keys", file=path, expected=f"at most {_LARGEST:,} bytes")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        raise InputError("not JSON", file=path, line=line, found=str(error)) from None
    if not isinstance(content, dict) or not isinstance(content.get("keys"), list):
        raise InputError("not a file of keys", file=path, expected='{"version": 1, "keys": […]}')
    if content.get("version") != _VERSION:
        raise InputError(
            "another version wrote the keys",
            file=path,
            column="version",
            found=repr(content.get("version"))[:40],
            expected=str(_VERSION),
        )
    keys = []
    for number, fields in enumerate(content["keys"], 1):
        try:
            keys.append(ApiKey.of(fields if isinstance(fields, dict) else {}))
        except InputError as error:
            raise InputError(
                f"key {number}: {error.problem}",
                file=path,
                column=f"field {error.column}",
                found=error.found,
                expected=error.expected,
            ) from None
    if len({key.id for key in keys}) < len(keys):
        raise InputError("one key stands there twice", file=path, column="id")
    return keys


def key_file_text(keys: Iterable[ApiKey]) -> bytes:
    """The content of a file of these keys."""
    content = {"version": _VERSION, "keys": [key.fields() for key in keys]}
    return json.dumps(content, indent=1).encode() + b"\n"


@contextmanager
def changed_keys(path: Path) -> Iterator[list[ApiKey]]:
    """The keys, for a change: the list is written at the end of the block, if the block succeeds.

    Only one process changes the file at a time. A file that does not exist yet holds no keys.

    Raises:
        InputError: see `read_keys`.
        OutputError: it cannot be written. It is as before then.
    """
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise OutputError(f"{path.parent}: {reason_of(error)}; the keys cannot be written there") from None
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        keys = read_keys(path) if path.exists() else []
        yield keys
        with replaced_file(path, mode=0o600) as file:
            file.write(key_file_text(keys))
    finally:
        os.close(folder)


class KeyFile:
    """The keys of a running service. A change of the file is seen within a second, without a restart.

    If the file is broken or gone, the keys stay as they were, and the log says so.

    Raises:
        InputError: it cannot be read, or is no file of keys.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.path = path
        self.trouble = ""
        self._clock = clock
        self._seen = self._look()
        self._keys = {key.id: key for key in read_keys(path)}
        self._look_again = clock() + 1.0

    def caller(self, text: str) -> Caller:
        """The owner of a key, or a `NotAuthenticated` for one that is unknown, expired or revoked."""
        public, digest = parts_of(text)
        if self._clock() >= self._look_again:
            self._read_changes()
        key = self._keys.get(public)
        if key is None or not key.matches(digest):
            raise NotAuthenticated("the key is not known here")
        state = key.state(datetime.now(UTC)) if key.expires is not None or key.revoked is not None else "active"
        if state != "active":
            raise NotAuthenticated(f"the key is {state}")
        return key.caller()

    def _read_changes(self) -> None:
        self._look_again = self._clock() + 1.0
        seen = self._look()
        if seen == self._seen:
            return
        try:
            keys = read_keys(self.path)
        except InputError as error:
            if str(error) != self.trouble:
                _log.error("the keys stay as they were: %s", error)
            self.trouble = str(error)
            return  # and look again: a file may be half-way there
        self._keys = {key.id: key for key in keys}
        self._seen, self.trouble = seen, ""
        _log.info("%s: %d keys", self.path, len(keys))

    def _look(self) -> tuple[int, ...] | None:
        """State of the file, to compare with a later one."""
        try:
            state = self.path.stat()
        except OSError:
            return None
        return state.st_mtime_ns, state.st_ino, state.st_size, state.st_mode
