"""``cuihop service keys``: create, list and revoke API keys."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cuihop.cli.option_groups import JsonOptions, argument, option, option_group
from cuihop.cli.output import note, print_json, print_table
from cuihop.notebooks.table import Table

if TYPE_CHECKING:
    from cuihop_service.guard.api_keys import ApiKey

keys = typer.Typer(name="keys", help="API keys of the service: create, list, revoke.", no_args_is_help=True)


@option_group
class _FileOptions:
    keys_file: Path = option("The file of the keys.", "-f", required=True, envvar="CUIHOP_KEYS_FILE", dir_okay=False)


@option_group
class CreateOptions(_FileOptions):
    """A key to create."""

    name: str = argument("Owner of the key: a person, a group or a program.")
    scope: list[str] | None = option("Scope: read, the default; names, cypher or metrics. May be repeated.", "-s")
    expires: float | None = option("Days until it expires.", metavar="DAYS")
    requests: float | None = option("Requests per second, instead of the service's own rate.", "--requests-per-second")
    burst: int | None = option("Requests at once after a pause, instead of the service's own bound.")
    pairs: int | None = option("Pairs per minute, instead of the service's own rate.", "--pairs-per-minute")


@option_group
class _ListOptions(JsonOptions, _FileOptions):
    pass


@option_group
class _RevokeOptions(_FileOptions):
    name: str = argument("The key's name, or its id.")


@keys.command()
def create(options: CreateOptions) -> None:
    """Create a key and print it, only this once: the file holds its hash."""
    from cuihop.errors import InputError
    from cuihop_service.callers import Rate
    from cuihop_service.guard.api_keys import new_key
    from cuihop_service.guard.key_file import changed_keys

    now = datetime.now(UTC)
    name, limits = options.name, (options.requests, options.burst, options.pairs)
    rate = None if limits == (None, None, None) else Rate(*limits)
    text, key = new_key(name, options.scope or ["read"], now=now, days=options.expires, rate=rate)
    with changed_keys(options.keys_file) as stored:
        if any(other.name == name and other.state(now) == "active" for other in stored):
            raise InputError(
                "there is a key of this name already", file=options.keys_file, column="name", found=name,
                advice="Revoke it first, or take another name.",
            )  # fmt: skip
        stored.append(key)
    sys.stdout.write(text + "\n")
    end = "never expires" if key.expires is None else f"expires {key.expires:%Y-%m-%d %H:%M} UTC"
    note(f"{name}: {', '.join(sorted(key.scopes))}; {end}. Keep the key now: it is not shown again.")


@keys.command("list")
def list_keys(options: _ListOptions) -> None:
    """List the keys with their scopes and states, never the keys themselves."""
    from cuihop_service.guard.key_file import read_keys

    now = datetime.now(UTC)
    stored = sorted(read_keys(options.keys_file), key=lambda key: (key.created, key.name))
    if options.json:
        records = [
            {k: v for k, v in key.fields().items() if k != "sha256"} | {"state": key.state(now)} for key in stored
        ]
        print_json({"keys": records})
        return
    rows = [(key.name, key.id, ", ".join(sorted(key.scopes)), key.state(now), *_dates(key)) for key in stored]
    print_table(Table(["name", "id", "scopes", "state", "created", "expires"], rows))


@keys.command()
def revoke(options: _RevokeOptions) -> None:
    """Revoke a key. A running service refuses it within seconds."""
    from dataclasses import replace

    from cuihop.errors import InputError
    from cuihop_service.guard.key_file import changed_keys

    now, name, file = datetime.now(UTC), options.name, options.keys_file
    with changed_keys(file) as stored:
        indices = [i for i, key in enumerate(stored) if name in (key.name, key.id) and key.revoked is None]
        if not indices:
            raise InputError("no such key, or it is revoked already", file=file, column="name", found=repr(name))
        for index in indices:
            stored[index] = replace(stored[index], revoked=now)
    note(f"{name}: revoked")


def _dates(key: ApiKey) -> tuple[str, str]:
    return f"{key.created:%Y-%m-%d}", "never" if key.expires is None else f"{key.expires:%Y-%m-%d}"
