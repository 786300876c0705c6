"""Login to a server, and the pauses after a refused password.

A server locks a user for all clients after a few wrong passwords. So a password that was not accepted before is tried
by one connection at a time, and after a refusal it pauses: a minute at first, twice as long after each further one, and
a quarter of an hour at most. During the pause every request fails with the same refusal, without an attempt. The rule
holds for all connections of a process to one server and user, and for all processes that share a folder:
`share_refusals`.

A password from a file is read again when the file changes. A new one is tried at once.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from neo4j import exceptions
from neo4j.auth_management import AuthManager

from cuihop.errors import GraphUnavailable, InputError

FIRST_PAUSE = 60.0
"""Seconds of pause after the first refusal of a password."""

_LONGEST_PAUSE = 900.0
_PAUSE_WHILE_LOCKED = 10.0  # a little longer than the server's own lock; not a refusal of this password
_POLL_SECONDS = 0.05
_REFUSED = "Neo.ClientError.Security.Unauthorized"
_LOCKED = "Neo.ClientError.Security.AuthenticationRateLimit"


def password_of_file(file: Path) -> str:
    """The password from a file that holds nothing else, or an `InputError` where it cannot be read."""
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("the password cannot be read", file=file, found=str(error)) from None


def share_refusals(folder: Path) -> None:
    """Share refusals with other processes through a folder that only their user can enter."""
    _Account.folder = folder


@dataclass(frozen=True, slots=True)
class Refusal:
    """The last refusal of a password.

    Attributes:
        count: refusals in a row.
        until: on the machine's monotonic clock, which its processes share; no attempt before.
        again: the same as wall-clock time.
        locked: true if the server had locked the user.
    """

    count: int
    until: float
    again: str
    locked: bool

    @classmethod
    def after(cls, before: Refusal | None, *, locked: bool) -> Refusal:
        """A refusal at this moment; ``before`` is the one before it in a row."""
        count = (0 if before is None else before.count) + (not locked)
        pause = _PAUSE_WHILE_LOCKED if locked else min(_LONGEST_PAUSE, FIRST_PAUSE * 2 ** (count - 1))
        again = datetime.now().astimezone() + timedelta(seconds=pause)
        return cls(count, time.monotonic() + pause, again.strftime("%H:%M:%S %Z").strip(), locked)


class _Busy(Exception):
    """Another attempt is still under way."""


class _Account:
    """One password of one user of one server, in this process."""

    folder: Path | None = None

    def __init__(self, address: str, user: str, password: str) -> None:
        self._secret = password.encode(), f"{address} {user}".encode()
        self._lock = threading.Lock()
        self._refusal: Refusal | None = None
        self._accepted = False
        self._record: Path | None = None
        self._recorded = True  # False where the record could not be written: then this process has its own

    def accepted(self) -> bool:
        """True if the server accepted the password and has refused no process since."""
        return self._accepted and (self._record is None or not self._record.exists())

    def doubt(self) -> None:
        """Discard the acceptance: a server that was away may return with another password."""
        self._accepted = False

    def refused(self, *, locked: bool = False) -> None:
        """Begin or prolong the pause; once for all attempts that were under way together."""
        self._accepted = False
        before = self.last()
        if before is None or before.until <= time.monotonic():
            self._refusal = Refusal.after(before, locked=locked)
            if self._record is not None:
                self._recorded = False
                with suppress(OSError):
                    partial = self._record.with_suffix(f".{os.getpid()}")
                    partial.write_text(json.dumps(asdict(self._refusal)), encoding="utf-8")
                    partial.replace(self._record)
                    self._recorded = True

    def try_once(self, attempt: Callable[[], None], patience: float) -> Refusal | None:
        """The refusal still in its pause, or the outcome of one attempt without others at the same time.

        Raises:
            _Busy: another attempt took longer than the patience, in seconds.
        """
        deadline = time.monotonic() + patience
        if not self._lock.acquire(timeout=patience):
            raise _Busy
        try:
            with self._alone(deadline):
                if self.accepted():
                    return None
                before = self.last()
                if before is not None and before.until > time.monotonic():
                    return before
                try:
                    attempt()
                except exceptions.ClientError as error:
                    if error.code not in (_REFUSED, _LOCKED):
                        raise
                    self.refused(locked=error.code == _LOCKED)
                    return self._refusal
                self._accepted, self._refusal = True, None
                if self._record is not None:
                    with suppress(OSError):
                        self._record.unlink(missing_ok=True)
                return None
        finally:
            self._lock.release()

    @contextmanager
    def _alone(self, deadline: float) -> Iterator[None]:
        """Exclude the other processes of the folder."""
        if self.folder is None:
            yield
            return
        import fcntl  # not on every system; services run where it is

        if self._record is None:
            password, salt = self._secret
            name = hashlib.scrypt(password, salt=salt, n=2**14, r=8, p=1, dklen=16).hex()
            self._record = self.folder / f"refused-{name}"
        try:
            file = self._record.with_suffix(".lock").open("a")
        except OSError:  # the folder is gone or full
            self._recorded = False
            yield
            return
        with file:
            while True:
                with suppress(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                if time.monotonic() >= deadline:
                    raise _Busy
                time.sleep(_POLL_SECONDS)
            yield

    def last(self) -> Refusal | None:
        """The last refusal, of any process."""
        if self._record is not None and self._recorded:
            try:
                return Refusal(**json.loads(self._record.read_text(encoding="utf-8")))
            except (OSError, ValueError, TypeError):
                return None
        return self._refusal


_accounts: dict[tuple[str, str, str], _Account] = {}


class Login(AuthManager):
    """Credentials for the driver, with at most one attempt at a time."""

    def __init__(self, address: str, user: str, password: str, file: Path | None = None) -> None:
        self._address = address
        self._user = user
        self._password = password
        self._file = file
        self._seen: tuple[int, ...] | None = None

    def get_auth(self) -> tuple[str, str]:
        """User and password; see `AuthManager`."""
        self._read_again()
        return self._user, self._password

    def handle_security_exception(self, auth: Any, error: exceptions.Neo4jError) -> bool:
        """See `AuthManager`. A password that was accepted once can be refused later."""
        if error.code == _REFUSED:
            self._account().refused()
        return False

    def check(self, attempt: Callable[[], None], patience: float) -> None:
        """Make sure, before a transaction, that the server accepts the password; wait some seconds for another attempt.

        Raises:
            GraphUnavailable: the password was refused, now or within the pause.
            DriverError, Neo4jError: of the attempt.
        """
        self._read_again()
        account = self._account()
        if account.accepted():
            return
        try:
            refusal = account.try_once(attempt, patience)
        except _Busy:
            raise GraphUnavailable(f"{self._address}: the server does not answer") from None
        if refusal is not None:
            raise GraphUnavailable(self.refusal_text(refusal))

    def doubt(self) -> None:
        """Discard the acceptance, because the server cannot be reached."""
        self._account().doubt()

    def refusal_text(self, refusal: Refusal | None = None) -> str:
        """Text of a refusal: the user, and the time of the next attempt; by default the last refusal."""
        refusal = refusal or self._account().last()
        if refusal is None or refusal.count:
            reason = (
                f"refuses user {self._user!r} with this password. "
                "Set NEO4J_USER, and NEO4J_PASSWORD or NEO4J_PASSWORD_FILE"
            )
        else:
            reason = f"has locked user {self._user!r} after wrong passwords"
        if refusal is None:
            return f"{self._address}: {reason}."
        sooner = "" if self._file is None else ", or when the file of NEO4J_PASSWORD_FILE changes"
        return f"{self._address}: {reason}. It is tried again at {refusal.again}{sooner}."

    def _account(self) -> _Account:
        key = self._address, self._user, self._password
        return _accounts.get(key) or _accounts.setdefault(key, _Account(*key))

    def _read_again(self) -> None:
        """Read a changed password file; a missing or empty one leaves the password as it is."""
        if self._file is None:
            return
        try:
            status = self._file.stat()
        except OSError:
            return
        seen = status.st_mtime_ns, status.st_ino, status.st_size
        if seen != self._seen:
            with suppress(InputError):
                self._password = password_of_file(self._file) or self._password
                self._seen = seen
