"""Groups of options: dataclasses whose fields are parameters of a command."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from cuihop.cli.command_files import CSV, written_forms
from cuihop.cli.option_groups import argument, option, option_group, with_flat_options


@dataclass(frozen=True, kw_only=True)
class Bounds:
    least: Annotated[int, typer.Option("--least", min=0)]
    most: Annotated[int, typer.Option("--most")] = 9

    def __post_init__(self) -> None:
        if self.least > self.most:
            raise typer.BadParameter("--least is above --most")


def called(*arguments: str) -> tuple[int, str]:
    def command(name: Annotated[str, typer.Argument()], bounds: Bounds, times: int = 1) -> None:
        typer.echo(f"{name} {bounds.least} {bounds.most} {times}")

    app = typer.Typer()
    app.command()(with_flat_options(command))
    done = CliRunner().invoke(app, list(arguments))
    return done.exit_code, done.output


def test_the_command_gets_an_instance_of_the_group() -> None:
    assert called("x", "--least", "2", "--times", "3") == (0, "x 2 9 3\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x",), "Missing option '--least'"),
        (("x", "--least", "-1"), "greater than or equal to 0"),
        (("x", "--least", "5", "--most", "4"), "--least is above --most"),
    ],
)
def test_a_field_is_checked_as_any_option_and_the_group_checks_them_together(
    arguments: tuple[str, ...], message: str
) -> None:
    code, text = called(*arguments)
    assert code == 2
    assert message in text


def test_two_groups_with_a_field_of_the_same_name_are_refused() -> None:
    def command(bounds: Bounds, others: Bounds) -> None: ...

    with pytest.raises(ValueError, match="duplicate parameter name: 'least'"):
        with_flat_options(command)


@option_group
class Rows:
    source: str = argument("The source.")
    first_row: int = option("The first row.", "-f", required=True, min=1)
    last: int | None = option("The last row.", "--last-row", shown="the end")
    output: Path | None = option("The file.", mark=CSV)


def test_a_field_of_an_option_has_its_own_name_unless_another_long_one_is_stated() -> None:
    def command(rows: Rows) -> None:
        typer.echo(f"{rows.source} {rows.first_row} {rows.last}")

    app = typer.Typer()
    app.command()(with_flat_options(command))
    for arguments, printed in (
        (["x", "--first-row", "2", "--last-row", "9"], "x 2 9\n"),
        (["x", "-f", "2"], "x 2 None\n"),
        (["x"], "Missing option '--first-row'"),
        (["-f", "2"], "Missing argument"),
        (["x", "-f", "0"], "Invalid value for "),
        (["--help"], "[default: (the end)]"),
    ):
        assert printed in CliRunner().invoke(app, arguments).output


def test_the_mark_of_a_field_is_seen_by_the_check_of_files() -> None:
    def command(rows: Rows) -> None: ...

    assert written_forms(with_flat_options(command)) == {"output": CSV}
