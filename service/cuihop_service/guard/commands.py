"""``cuihop keys``: create, list and revoke API keys."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cuihop.cli.output import JsonOption, note, print_json, print_table
from cuihop.notebooks.table import Table

if TYPE_CHECKING:
    from cuihop_service.guard.api_keys import ApiKey

keys = typer.Typer(name="keys", help="API keys of the service: create, list, revoke.", no_args_is_help=True)

FileOption = Annotated[
    Path,
    typer.Option(
        "--file", "-f", envvar="CUIHOP_KEYS_FILE", help="The file of the keys.", dir_okay=False, show_default=False
    ),
]
NameArgument = Annotated[str, typer.Argument(help="Whose key: a person, a group or a program.", show_default=False)]


@keys.command()
def create(
    name: NameArgument,
    file: FileOption,
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", "-s", help="read, names, cypher or metrics. Repeatable. Without: read."),
    ] = None,
    expires: Annotated[float | None, typer.Option("--expires", metavar="DAYS", help="Days until it expires.")] = None,
    requests: Annotated[
        float | None, typer.Option("--requests", help="Requests a second, instead of the service's own rate.")
    ] = None,
    burst: Annotated[int | None, typer.Option("--burst", help="Requests at once after a pause.")] = None,
    pairs: Annotated[
        int | None, typer.Option("--pairs", help="Pairs a minute, instead of the service's own rate.")
    ] = None,
) -> None:
    """Create a key and print it, this once: only its hash is stored."""
    from cuihop.errors import InputError
    from cuihop_service.callers import Rate
    from cuihop_service.guard.api_keys import new_key
    from cuihop_service.guard.key_file import changed_keys

    now = datetime.now(UTC)
    rate = None if requests is burst is pairs is None else Rate(requests, burst, pairs)
    text, key = new_key(name, scope or ["read"], now=now, days=expires, rate=rate)
    with changed_keys(file) as stored:
        if any(other.name == name and other.state(now) == "active" for other in stored):
            raise InputError(
                "there is a key of this name already",
                file=file,
                column="name",
                found=name,
                advice="Revoke it first, or take another name.",
            )
        stored.append(key)
    sys.stdout.write(text + "\n")
    end = "never expires" if key.expires is None else f"expires {key.expires:%Y-%m-%d %H:%M} UTC"
    note(f"{name}: {', '.join(sorted(key.scopes))}; {end}. Keep the key now: it is not shown again.")


@keys.command("list")
def list_keys(file: FileOption, as_json: JsonOption = False) -> None:
    """List the keys with their scopes and states, never the keys themselves."""
    from cuihop_service.guard.key_file import read_keys

    now = datetime.now(UTC)
    stored = sorted(read_keys(file), key=lambda key: (key.created, key.name))
    if as_json:
        records = [
            {k: v for k, v in key.fields().items() if k != "sha256"} | {"state": key.state(now)} for key in stored
        ]
        print_json({"keys": records})
        return
    rows = [(key.name, key.id, ", ".join(sorted(key.scopes)), key.state(now), *_dates(key)) for key in stored]
    print_table(Table(["name", "id", "scopes", "state", "created", "expires"], rows))


@keys.command()
def revoke(name: Annotated[str, typer.Argument(help="The key's name, or its id.")], file: FileOption) -> None:
    """Close a key. A running service sees it within seconds."""
    from dataclasses import replace

    from cuihop.errors import InputError
    from cuihop_service.guard.key_file import changed_keys

    now = datetime.now(UTC)
    with changed_keys(file) as stored:
        places = [i for i, key in enumerate(stored) if name in (key.name, key.id) and key.revoked is None]
        if not places:
            raise InputError("no such key, or it is revoked already", file=file, column="name", found=repr(name))
        for place in places:
            stored[place] = replace(stored[place], revoked=now)
    note(f"{name}: revoked")


def _dates(key: ApiKey) -> tuple[str, str]:
    return f"{key.created:%Y-%m-%d}", "never" if key.expires is None else f"{key.expires:%Y-%m-%d}"
