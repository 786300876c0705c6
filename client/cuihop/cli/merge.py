"""``cuihop shards merge``: the result of the shards of a command."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer

from cuihop.cli.output import note
from cuihop.cli.run_options import OF_A_RUN
from cuihop.errors import InputError
from cuihop.files.text_lines import quoted
from cuihop.resources.shard import ShardRecord, check_one_division, check_same_job, shard_folders

MERGED = ("evaluate", "compare", "study", "score captions")
"""The commands with ``--shard``."""


def merge(
    context: typer.Context, folder: Annotated[Path, typer.Argument(help="The --checkpoint folder of the shards.")]
) -> None:
    """Merge finished shards: the output is that of one process, to the last bit.

    This runs the command that was given with --shard, with its outputs, in the current folder, and prints it first.
    Options after FOLDER are added to it: --output FILE, --json, --threads N. The shards are kept, so a merge can be
    repeated.
    """
    records = finished_shards(folder)
    command = records[0].command
    others = set(context.args) & {"--shard", "--checkpoint"}
    if others:
        raise typer.BadParameter(f"{others.pop()} goes with the command of a shard")
    from cuihop.cli.application import application

    words = command.split()
    app = application(words)
    arguments = [*words, *_arguments(app, command, records[0].arguments), "--checkpoint", str(folder), *context.args]
    note(shlex.join(["cuihop", *arguments]))
    if records[0].folder != str(Path.cwd()):
        note(f"the shards ran in {records[0].folder}; here, relative paths refer to the current folder")
    sys.argv[1:] = arguments
    app(arguments, prog_name="cuihop")


def finished_shards(folder: Path) -> list[ShardRecord]:
    """The records of all shards of a job, by number; refuses a job of which one is missing, unfinished or cut off."""
    folders = [(path, ShardRecord.read(path)) for path in shard_folders(folder)]
    if not folders:
        raise InputError("no shards", file=folder, found="no folder such as 1-of-8",
                         expected="the folder that --checkpoint named, with --shard")  # fmt: skip
    check_one_division(folder, (path for path, _ in folders))
    count = int(folders[0][0].name.rpartition("-")[2])
    first = next((record for _, record in folders if record is not None), None)
    reasons: dict[int, str] = dict.fromkeys(range(1, count + 1), "missing")
    records = []
    for path, record in folders:
        number = int(path.name.partition("-")[0])
        reasons[number] = "not finished"
        if record is None or first is None:
            continue
        check_same_job(path, record, first)
        cut = record.cut_file(path)
        if cut is not None:
            reasons[number] = f"cut off or damaged: {cut}"
        elif record.state == "finished":
            del reasons[number]
            records.append(record)
    if reasons:
        raise InputError(
            f"{len(reasons):,} of {count:,} shards are not finished", file=folder,
            found=", ".join(f"{number} {reason}" for number, reason in reasons.items()),
            expected="all shards finished", advice=f"Run them again: --array={_ranges(sorted(reasons))} for Slurm.",
        )  # fmt: skip
    if records[0].command not in MERGED:
        raise InputError(
            "shards without a command to merge", file=folder, column="field command",
            found=quoted(records[0].command) or "none", expected=", ".join(MERGED),
            advice="Merge these with the program that wrote them: evaluate with this checkpoint.",
        )  # fmt: skip
    return records


def _ranges(numbers: Sequence[int]) -> str:
    """Numbers as Slurm takes them.

    >>> _ranges([3, 5, 6, 7])
    '3,5-7'
    """
    runs = ([number for _, number in run] for _, run in groupby(enumerate(numbers), lambda each: each[1] - each[0]))
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def _arguments(app: typer.Typer, command: str, recorded: Mapping[str, Any]) -> Iterator[str]:
    """The recorded arguments as a command line."""
    definition: Any = typer.main.get_command(app)
    for word in command.split():
        definition = definition.commands[word]
    parameters = {parameter.name: parameter for parameter in definition.params}
    strange = sorted(name for name in recorded if name not in parameters or name in OF_A_RUN)
    if strange:
        raise InputError(f"cuihop {command} has no such argument", column="field arguments", found=quoted(strange[0]))
    for name, value in sorted(recorded.items(), key=lambda each: parameters[each[0]].param_type_name):
        parameter = parameters[name]
        values = [str(each) for each in value] if isinstance(value, list) else [str(value)]
        if parameter.param_type_name == "argument":
            yield from values
        elif isinstance(value, bool):
            yield max(parameter.opts if value else parameter.secondary_opts, key=len)
        else:
            option = max(parameter.opts, key=len)
            for each in values:
                yield from [f"{option}={each}"] if each.startswith("-") else [option, each]
