"""``cuihop demo``: the example files, and a tour with them: load, query, evaluate, compare, serve, draw."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from cuihop import SnapshotGraph, draw
from cuihop.cli.command_files import FileUse
from cuihop.cli.output import console, note, print_table
from cuihop.files.written_files import write_whole
from cuihop.notebooks.table import Table
from cuihop_loader.demo_files import EXAMPLE_FILES, ontology, write_examples, write_sources

__all__ = ["demo", "ontology", "write_examples"]

_CREDIT = "Human Phenotype Ontology: https://hpo.jax.org, used under its licence; cuihop info names its release."
_OF_THE_REPORT = "Graph of|^ (concepts|is_a edges|longest|names)"


def demo(
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FOLDER", help="Folder of the example files."),
        FileUse.WRITES_FOLDER,
    ] = Path("examples"),
    tour: Annotated[bool, typer.Option("--tour", help="Also run the main commands on them, step by step.")] = False,
) -> None:
    """Write example files to try every command with: a graph, images, captions, rankings and judgements.

    The graph is the Human Phenotype Ontology, mapped to UMLS concepts. Images, captions and systems are invented. Other
    files in the folder are kept.
    """
    note("writing the example files; the first time this takes half a minute, to compile")
    (write_sources if tour else write_examples)(output)
    if tour:
        _tour(output)
        return
    print_table(Table(["file", "content", "try"], [list(row) for row in EXAMPLE_FILES]), f"Example files in {output}")
    screen = console()
    screen.print(f"Before the commands: cd {output} && export CUIHOP_GRAPH=graph.cuihop", highlight=False)
    screen.print("The main job with these files, step by step: cuihop demo --tour", highlight=False)
    screen.print(_CREDIT, highlight=False)


def _tour(folder: Path) -> None:
    graph = folder / "graph.cuihop"
    ask = ("--graph", str(graph))

    _say("1. Load is_a data. The Human Phenotype Ontology names the UMLS concepts (CUIs) of its terms.")
    _run("load", str(folder / "hpo.obo"), "--output", str(graph), lines=_OF_THE_REPORT)
    _say("2. Find concepts by name.")
    _run("search", "pleural effusion", "--limit", "4", *ask)
    _say("3. How far is a pleural effusion from a pneumothorax, and through what?")
    _run("path", "C0032227", "C0032326", *ask)
    _say("4. What lies within one hop of a pleural effusion?")
    _run("neighbours", "C0032227", *ask)
    _say(
        "5. Two images, both with an enlarged heart. One shows a pleural effusion, the other an exudative one.\n"
        "   Plain overlap (IoU) finds one concept of three in common. nn-IoU also sees that the others are near."
    )
    _run("explain", "concepts", "C0032227;C0018800", "C3887491;C0018800", *ask)
    _say(
        "6. Evaluate a search engine on 120 images: nn-CUI@K asks whether it ranks near images first,\n"
        "   CUI@K does the same with plain overlap. 1 is the best ranking there is."
    )
    concepts, run_a, run_b = (str(folder / name) for name in ("concepts.csv", "run-a.csv", "run-b.csv"))
    evaluation = ("--concepts", concepts, "--measure", "nn-CUI@10,CUI@10")
    _run("evaluate", run_a, *evaluation, *ask, "--output", str(folder / "per-query.csv"))
    _say("7. Compare it with a second one. By plain overlap the two differ by chance; by nn-CUI@10 system b is better.")
    _run("compare", run_a, run_b, *evaluation, *ask)
    _say("8. The same for a department: one service over gRPC and HTTP. The figures are those of step 6.")
    with _serving(graph) as (http, grpc):
        _run("distance", "C0032227", "C0032326", "--graph", http)
        _run("evaluate", run_a, *evaluation, "--graph", grpc, "--output", str(folder / "served.csv"))
    picture = folder / "pleural-effusion.svg"
    opened = SnapshotGraph.open(graph)
    (near,) = opened.neighbours(["C0032227"], hops=1)
    write_whole(picture, draw(opened, near)._repr_svg_())  # as in a notebook: it needs no further package
    programs = Path(sys.executable).parent
    at_hand = "" if shutil.which("cuihop") else f"First, in this shell: export PATH={programs}:$PATH\n"
    _say(
        f"That was the main job. Its files are in {folder}; cuihop demo lists them. Every line behind $ is a command\n"
        "to try with your own data: docs/loading.md is about your release, docs/measures/index.md about the figures.\n"
        f"{_CREDIT}\n\n"
        f"A picture of step 4: {picture}\n"
        f"{at_hand}To explore the graph in a browser: cuihop serve --graph {graph}, then open http://127.0.0.1:8080/"
    )


def _say(text: str) -> None:
    console().print(f"\n{text}", style="bold")


@contextmanager
def _serving(graph: Path) -> Iterator[tuple[str, str]]:
    """Run a service on free ports of this machine until the block ends; yields its addresses."""
    arguments = ("serve", "--graph", str(graph), "--http-port", "0", "--grpc-port", "0")
    console().print(f"$ cuihop {' '.join(arguments)} &", style="cyan")
    sys.stdout.flush()
    service = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "cuihop", *arguments], stderr=subprocess.PIPE, text=True
    )
    try:
        lines = []
        for line in service.stderr or ():
            lines.append(line)
            if announced := re.match(r"serving (http://\S+) and (grpc://\S+)", line):
                break
        else:
            sys.stderr.writelines(lines)
            raise typer.Exit(service.wait() or 1)
        console().print(announced[0])
        threading.Thread(target=(service.stderr or io.StringIO()).read, daemon=True).start()
        yield announced[1], announced[2]
    finally:
        service.terminate()
        service.wait()


def _run(*arguments: str, lines: str | None = None) -> None:
    """Print a command and run it in a process of its own, as a user does; print its output, or lines of a pattern."""
    command = " ".join(f'"{argument}"' if " " in argument or ";" in argument else argument for argument in arguments)
    console().print(f"$ cuihop {command}" + (f" 2>&1 | grep -E '{lines}'" if lines else ""), style="cyan")
    sys.stdout.flush()
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "cuihop", *arguments],
        check=False, text=True, stdout=subprocess.PIPE if lines else None, stderr=subprocess.STDOUT if lines else None,
    )  # fmt: skip
    if done.returncode:
        sys.stderr.write(done.stdout or "")
        raise typer.Exit(done.returncode)
    if lines:
        print(*(line for line in done.stdout.splitlines() if re.search(lines, line)), sep="\n")
