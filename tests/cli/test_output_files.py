"""Every file that a command writes, and everything that it must not do to what is there: refused before the work."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer

from cuihop.cli.application import application
from cuihop.cli.command_files import CSV, PICTURE, FileUse, file_uses, written_forms
from cuihop.errors import InputError
from program_run import Run, program  # noqa: F401

# For each command the arguments without the file to write. No file needs the right content: nothing is read before
# the refusal, and that is what is tested.
COMMANDS: dict[str, Sequence[str]] = {
    "annotate": ("input", "--graph", "g.cuihop"),
    "distance": ("--pairs", "input", "--graph", "g.cuihop"),
    "similarity": ("--pairs", "input", "--graph", "g.cuihop"),
    "concept": ("--file", "input", "--names", "other", "--graph", "g.cuihop"),
    "codes": ("--file", "input", "--column", "image", "--graph", "g.cuihop"),
    "neighbours": ("--concepts", "input", "--graph", "g.cuihop"),
    "neighbors": ("--concepts", "other", "--graph", "g.cuihop"),
    "evaluate": ("--concepts", "other", "input", "--graph", "snapshot:g.cuihop"),
    "compare": ("A=input", "other", "--concepts", "other", "--graph", "g.cuihop"),
    "study": ("input", "--graph", "g.cuihop", "--labels", "other"),
    "score concepts": ("input", "other"),
    "score irma": ("input", "other", "--branching", "2"),
    "score annotations": ("input", "A=other", "--graph", "g.cuihop"),
    "score captions": ("input", "A=other", "--graph", "g.cuihop"),
    "measures agreement": ("input", "--names", "other", "--graph", "g.cuihop"),
    "runs pool": ("input", "other"),
    "runs fuse": ("input", "other"),
    "explain pair": ("input", "a", "b", "--graph", "g.cuihop"),
    "explain concepts": ("C1", "C2", "--graph", "input"),
    "explain query": ("input", "a", "--ranking", "other", "--above", "b", "--below", "c", "--graph", "g.cuihop"),
    "export": ("--graph", "g.cuihop"),
    "load": ("input",),
    "neo4j push": ("input", "--graph", "bolt://127.0.0.1:1"),
    "neo4j pull": ("--graph", "bolt://127.0.0.1:1"),
    "releases compare": ("g.cuihop", "input", "--concepts", "other", "--pairs", "other"),
    "neo4j releases compare": ("1", "2", "--graph", "bolt://127.0.0.1:1"),
    "demo": (),
}
WITH = {  # what an option needs beside it
    ("annotate", "spans"): ("--output", "new.csv"),
    ("load", "rejects"): ("--output", "new.cuihop", "--on-bad-row", "skip"),
    ("load", "report_json"): ("--output", "new.cuihop"),
    ("load", "changes"): ("--graph", "bolt://127.0.0.1:1"),
    ("distance", "rejects"): ("--output", "new.tsv", "--on-bad-row", "skip"),
    ("similarity", "rejects"): ("--output", "new.tsv", "--on-bad-row", "skip"),
    ("study", "checkpoint"): ("--output", "new"),
    ("study", "cluster_folder"): ("--output", "new"),
    ("score irma", "plot"): ("--training", "other"),
}
FILE = {("evaluate", "gains"): ".jsonl",
        ("compare", "report"): ".md", ("score annotations", "report"): ".tex", ("score concepts", "report"): ".md",
        ("score concepts", "plot"): ".svg",
        ("score captions", "report"): ".md", ("score captions", "plot"): ".svg",
        ("explain pair", "plot"): ".svg", ("explain concepts", "plot"): ".svg",
        ("explain query", "plot"): ".svg", ("evaluate", "plot"): ".svg", ("compare", "plot"): ".svg",
        ("score irma", "plot"): ".svg"}  # fmt: skip


def commands() -> Iterator[tuple[str, Callable[..., Any]]]:
    def below(app: typer.Typer, name: str) -> Iterator[tuple[str, Callable[..., Any]]]:
        for command in app.registered_commands:
            assert command.callback is not None
            yield f"{name}{command.name or command.callback.__name__}", command.callback
        for group in app.registered_groups:
            assert isinstance(group.typer_instance, typer.Typer)
            yield from below(group.typer_instance, f"{name}{group.name or group.typer_instance.info.name} ")

    return below(application(), "")


def written() -> Iterator[tuple[str, str, FileUse]]:
    for name, callback in commands():
        for parameter, use in file_uses(callback).items():
            if use is not FileUse.READS:
                yield name, parameter, use


FILES = [(name, parameter) for name, parameter, use in written() if use is FileUse.WRITES]
FORMS = {(name, parameter): form for name, command in commands() for parameter, form in written_forms(command).items()}
FOLDERS = [(name, parameter) for name, parameter, use in written() if use is FileUse.WRITES_FOLDER]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CUIHOP_GRAPH", raising=False)
    monkeypatch.setenv("NEO4J_PASSWORD", "unused-here")
    for name in ("input", "other", "g.cuihop", "g.cuihop.index"):
        (tmp_path / name).write_text(f"the content of {name}")
    return tmp_path


def state(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_command_that_writes_is_in_the_table() -> None:
    assert {name for name, _, _ in written()} == set(COMMANDS)
    assert len(FILES) + len(FOLDERS) >= 22


def refused(run: Run, command: str, parameter: str, target: str) -> Any:
    extra = WITH.get((command, parameter), ())
    return run(*command.split(), *COMMANDS[command], *extra, f"--{parameter.replace('_', '-')}", target)


@pytest.mark.parametrize(("command", "parameter"), FILES)
def test_a_file_that_must_not_be_written_is_refused_before_the_work(
    command: str, parameter: str, here: Path, program: Run  # noqa: F811
) -> None:  # fmt: skip
    end = FILE.get((command, parameter), "")
    targets = {"nowhere/x": "no such folder", "input/x": "not a folder", "folder": "there is a folder of that name",
               "pipe": "a device or a pipe", "null": "a device or a pipe"}  # fmt: skip
    (here / f"folder{end}").mkdir()
    os.mkfifo(here / f"pipe{end}")
    (here / f"null{end}").symlink_to("/dev/null")
    named = {argument.rpartition("=")[2].rpartition(":")[2] for argument in COMMANDS[command]}
    for name in named & {"input", "other", "g.cuihop"}:
        (here / f"link-{name}{end}").symlink_to(name)
        (here / f"hard-{name}{end}").hardlink_to(name)
        targets |= {f"link-{name}": "is one to read", f"hard-{name}": "is one to read"}
        if not end:
            targets[name] = "is one to read"
        if name == "g.cuihop":
            (here / f"link-index{end}").symlink_to("g.cuihop.index")
            targets["link-index"] = "is one to read"
    before = state(here)
    for target, message in targets.items():
        done = refused(program, command, parameter, f"{target}{end}")
        assert done.code == (3 if "to read" in message else 6), (target, done.err)
        assert message in done.err, target
        assert f"{target}{end}" in done.err
        assert "Traceback" not in done.err
    assert state(here) == before


@pytest.mark.parametrize(("command", "parameter"), FOLDERS)
def test_a_folder_that_cannot_be_made_is_refused_before_the_work(
    command: str, parameter: str, here: Path, program: Run  # noqa: F811
) -> None:  # fmt: skip
    before = state(here)
    for target in ("other", "other/deep"):
        done = refused(program, command, parameter, target)
        assert (done.code, "not a folder" in done.err) == (6, True), done.err
    assert state(here) == before


def test_two_options_that_name_one_file_are_refused(here: Path, program: Run) -> None:  # noqa: F811
    (here / "same.csv").symlink_to("results.csv")
    done = program("evaluate", *COMMANDS["evaluate"], "--output", "results.csv", "--card", "same.csv")
    assert (done.code, "--output and --card name one file" in done.err) == (3, True)


def test_an_input_without_a_name_of_its_own_is_none(here: Path, program: Run) -> None:  # noqa: F811
    for odd in (".", "..", "/", "x="):
        done = program("compare", odd, "other", "--concepts", "other", "--output", "new.csv")
        assert done.code in (2, 3)
        assert "Traceback" not in done.err


def test_an_input_that_is_standard_input_is_not_written_over(here: Path) -> None:
    """The program itself, as the shell would run it."""
    import sys

    with (here / "input").open() as given:
        done = subprocess.run(
            [sys.executable, "-m", "cuihop", "distance", "--pairs", "/dev/stdin", "--graph", "g.cuihop",
             "--output", "input"],
            stdin=given, capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, "the file to write is one to read" in done.stderr) == (3, True)
    assert (here / "input").read_text() == "the content of input"


def test_files_that_a_command_names_itself_are_no_inputs_either(here: Path, program: Run) -> None:  # noqa: F811
    """OUTPUT.rejects, a card in a folder of cards, a study that would replace the folder of its own images."""
    from cuihop import SnapshotGraph

    SnapshotGraph.of([("C0000001", "C0000002")]).save(here / "g.cuihop")
    (here / "g.cuihop.index").unlink()
    (here / "out.rejects").write_text("C0000001\tC0000002\n")
    done = program("distance", "--pairs", "out.rejects", "--graph", "g.cuihop", "--output", "out",
                   "--on-bad-row", "skip")  # fmt: skip
    assert (done.code, "is one to read" in done.err) == (3, True)
    images = here / "study" / "images.csv"
    images.parent.mkdir()
    images.write_text("ID,Concepts\na,C0000001\n")
    (here / "study" / "cuihop-study.json").write_text('{"files": ["images.csv"]}')
    done = program("study", "study/images.csv", "--graph", "g.cuihop", "--output", "study", "--overwrite", "--no-plots")
    assert (done.code, "holds a file to read" in done.err) == (3, True)
    assert images.exists()


def test_what_is_written_goes_through_a_link(here: Path, program: Run) -> None:  # noqa: F811
    from cuihop import SnapshotGraph

    SnapshotGraph.of([("C0000001", "C0000002")]).save(here / "g.cuihop")
    (here / "g.cuihop.index").unlink()
    (here / "images.csv").write_text("ID,Concepts\na,C0000001\nb,C0000002\n")
    (here / "pairs.tsv").write_text("C0000001\tC0000002\n")
    (here / "toy.obo").write_text("[Term]\nid: T:1\nname: organ\n\n[Term]\nid: T:2\nname: heart\nis_a: T:1\n")
    (here / "elsewhere").mkdir()
    runs = {
        "hops.tsv": ("distance", "--pairs", "pairs.tsv", "--graph", "g.cuihop", "--output"),
        "values.csv": ("evaluate", "--concepts", "images.csv", "--baseline", "iou", "--graph", "g.cuihop", "--output"),
        "card.json": ("evaluate", "--concepts", "images.csv", "--baseline", "iou", "--graph", "g.cuihop", "--card"),
        "toy.cuihop": ("load", "toy.obo", "--output"),
        "p.svg": ("explain", "pair", "images.csv", "a", "b", "--graph", "g.cuihop", "--plot"),
    }
    for name, arguments in runs.items():
        (here / name).symlink_to(f"elsewhere/{name}")
        done = program(*arguments, name)
        assert done.code == 0, done.err
        assert (here / name).is_symlink()
        assert (here / "elsewhere" / name).stat().st_size > 0


@pytest.mark.parametrize(("command", "parameter"), FILES)
def test_an_ending_that_says_another_form_is_refused_before_the_work(
    command: str, parameter: str, here: Path, program: Run  # noqa: F811
) -> None:  # fmt: skip
    before = state(here)
    form = FORMS[command, parameter]
    for ending in {".parquet", ".csv.gz", ".xlsx", ".JSON"} - {*form.endings, *map(str.upper, form.endings)}:
        done = refused(program, command, parameter, f"new{ending}")
        *others, last = form.endings
        expected = f"expected a name that ends in {', '.join(others)}{' or ' if others else ''}{last}"
        assert (done.code, expected in done.err) == (3, True), (ending, done.err)
        assert f"--{parameter.replace('_', '-')} writes {form.name}" in done.err
    assert state(here) == before


def test_a_number_is_no_ending_and_no_ending_says_nothing() -> None:
    for name in ("new", "release.2026", "of.CSV"):
        CSV.check(Path(name), "--output")
    with pytest.raises(InputError, match="found no ending"):
        PICTURE.check(Path("new"), "--plot")
