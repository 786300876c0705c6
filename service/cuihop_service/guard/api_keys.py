"""API keys: their form, their stored record, and the comparison of a presented key with it."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from cuihop.errors import InputError, NotAuthenticated
from cuihop_service.callers import SCOPES, Caller, Rate

PREFIX = "cuihop_"
"""Beginning of every key, by which scanners for leaked secrets recognise one."""

_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ID, _SECRET, _CHECK = 10, 43, 6  # 62**43 is above 2**256; 62**6 is above 2**32
_FORM = re.compile(rf"cuihop_([0-9a-z]{{{_ID}}})_([0-9A-Za-z]{{{_SECRET}}})([0-9A-Za-z]{{{_CHECK}}})", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}", re.ASCII)
_HASH = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """Stored record of a key, without the key itself.

    Attributes:
        digest: SHA-256 of the whole key.
        created, expires, revoked: dates; None for never.
        rate: of its owner; None for the service's own rate.
    """

    id: str
    name: str
    digest: bytes
    scopes: frozenset[str]
    created: datetime
    expires: datetime | None = None
    revoked: datetime | None = None
    rate: Rate | None = None

    def state(self, now: datetime) -> str:
        """``active``, ``expired`` or ``revoked``."""
        if self.revoked is not None:
            return "revoked"
        return "expired" if self.expires is not None and now >= self.expires else "active"

    def caller(self) -> Caller:
        """The caller who presents this key."""
        return Caller(self.name, self.scopes, self.rate)

    def matches(self, digest: bytes) -> bool:
        """True for the SHA-256 of this key. The comparison takes constant time."""
        return hmac.compare_digest(self.digest, digest)

    def fields(self) -> dict[str, Any]:
        """The record as written to the file."""
        fields: dict[str, Any] = {
            "id": self.id,
            "name": self.name,
            "sha256": self.digest.hex(),
            "scopes": sorted(self.scopes),
            "created": self.created.isoformat(timespec="seconds"),
        }
        for field in ("expires", "revoked"):
            when: datetime | None = getattr(self, field)
            if when is not None:
                fields[field] = when.isoformat(timespec="seconds")
        if self.rate is not None:
            fields["rate"] = {name: value for name, value in asdict(self.rate).items() if value is not None}
        return fields

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> ApiKey:
        """The record with these fields of the file, or an `InputError`, to which the reader adds the file."""
        unknown = set(fields) - {"id", "name", "sha256", "scopes", "created", "expires", "revoked", "rate"}
        if unknown:
            raise InputError("unknown field", column=min(unknown))
        text = {name: fields.get(name) for name in ("id", "sha256")}
        if not isinstance(text["id"], str) or not re.fullmatch(rf"[0-9a-z]{{{_ID}}}", text["id"]):
            raise InputError("not the identifier of a key", column="id", expected=f"{_ID} digits and small letters")
        if not isinstance(text["sha256"], str) or not _HASH.fullmatch(text["sha256"]):
            raise InputError("not a SHA-256", column="sha256", expected="64 hexadecimal digits")
        rate = fields.get("rate")
        if rate is not None:
            if not isinstance(rate, dict) or not set(rate) <= {"requests", "burst", "pairs"}:
                raise InputError("not a rate", column="rate", expected="requests, burst, pairs")
            for name, value in rate.items():
                if isinstance(value, bool) or not isinstance(value, int | (float if name == "requests" else int)):
                    raise InputError("not a rate", column=name, found=repr(value)[:40], expected="a number above 0")
        created = _moment(fields, "created")
        if created is None:
            raise InputError("missing", column="created", expected="a date and time")
        return cls(
            text["id"],
            checked_name(fields.get("name")),
            bytes.fromhex(text["sha256"]),
            checked_scopes(fields.get("scopes")),
            created,
            _moment(fields, "expires"),
            _moment(fields, "revoked"),
            None if rate is None else Rate(**rate),
        )


def new_key(
    name: str, scopes: object, *, now: datetime, days: float | None = None, rate: Rate | None = None
) -> tuple[str, ApiKey]:
    """A new key, which expires after some days or never, and its stored record.

    Raises:
        InputError: not a name, not a scope, no days.
    """
    if days is not None and not 0 < days <= 36_500:
        raise InputError("not a time to expire", column="expires", found=f"{days:g}", expected="days, above 0")
    public = "".join(secrets.choice(_LETTERS[:10] + _LETTERS[36:]) for _ in range(_ID))
    secret = _in_letters(int.from_bytes(secrets.token_bytes(32)), _SECRET)
    body = f"{PREFIX}{public}_{secret}"
    text = body + _check(body)
    now = now.replace(microsecond=0)
    expires = None if days is None else now + timedelta(days=days)
    record = ApiKey(public, checked_name(name), _digest(text), checked_scopes(scopes), now, expires, None, rate)
    return text, record


def parts_of(text: str) -> tuple[str, bytes]:
    """The public identifier of a presented key, and the SHA-256 of all of it; `NotAuthenticated` for a mistyped one."""
    match = _FORM.fullmatch(text)
    if match is None or not hmac.compare_digest(_check(text[:-_CHECK]), match[3]):
        raise NotAuthenticated("not a key: it is mistyped or incomplete")
    return match[1], _digest(text)


def checked_name(name: object) -> str:
    """The name of a key, or an `InputError` for no name."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(
            "not the name of a key",
            column="name",
            found=repr(name)[:80],
            expected="1 to 64 letters, digits or any of ._@-, a letter or digit first",
        )
    return name


def checked_scopes(scopes: object) -> frozenset[str]:
    """The scopes of a key, or an `InputError` without any, or for one that does not exist."""
    listed = list(scopes) if isinstance(scopes, list | tuple | set | frozenset) else []
    if not listed or not all(isinstance(scope, str) and scope in SCOPES for scope in listed):
        raise InputError(
            "not the scopes of a key", column="scope", found=repr(scopes)[:80], expected="some of " + ", ".join(SCOPES)
        )
    return frozenset(listed)


def _moment(fields: Mapping[str, Any], name: str) -> datetime | None:
    value = fields.get(name)
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        moment = None
    if moment is None or moment.tzinfo is None:
        raise InputError(
            "not a date and time", column=name, found=repr(value)[:40], expected="as in 2027-01-31T12:00:00+00:00"
        )
    return moment.astimezone(UTC)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _check(body: str) -> str:
    """The checksum at a key's end: finds typing errors and cut keys, and proves nothing."""
    return _in_letters(zlib.crc32(body.encode()), _CHECK)


def _in_letters(number: int, length: int) -> str:
    letters = []
    for _ in range(length):
        number, digit = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[digit])
    return "".join(reversed(letters))
