"""All measurements, one after the other: what they print into ``RESULTS.md``, their figures into ``results/``.

::

    python -m benchmarks                       about an hour; wants a machine with nothing else to do
    python -m benchmarks --only evaluation     one module; the other sections of RESULTS.md stay as they are
    python -m benchmarks --smoke               small sizes, to see that everything runs, and that cuihop is as fast as
                                               recorded, compared with its peers; writes no file
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
RESULTS = FOLDER / "RESULTS.md"
_HEAD = """# Results

Made by `make bench`, which each user can repeat. Times vary by a third on a shared machine; ratios within one run say
more. The figures are in `benchmarks/results` too, as JSON: question, subject, value, unit, and how many times the best
of ours it is.
"""


@dataclass(frozen=True)
class Module:
    """A question, the module that answers it, and its arguments: for small sizes, and for the whole."""

    question: str
    name: str
    small: tuple[str, ...] = ()
    full: tuple[str, ...] = ()
    plot: str | None = None
    """What the picture NAME.svg shows that the module draws when it is told where."""

    def command(self, figures: Path, *, smoke: bool) -> list[str]:
        """What is run, after ``python``."""
        chosen = list(self.small if smoke else self.full)
        if self.plot and not smoke:
            chosen += ["--plot", f"benchmarks/{self.name}.svg"]
        return [f"benchmarks/{self.name}.py", *chosen, "--json", str(figures)]


MODULES = (
    Module("How many times as long as cuihop do the usual tools take, at small sizes?", "peers",
           ("--against", "benchmarks/results/peers.json", "benchmarks/results/peers_of_another_machine.json")),
    Module("How long does it take to read is_a rows?", "load", ("--rows", "50000", "--release"), ("--release",)),
    Module("How do the time and memory of a load grow with the release?", "growth_release",
           ("--sizes", "2000", "--index-up-to", "2000"),
           ("--sizes", "1000000", "3000000", "--index-up-to", "0")),
    Module("How long does it take to load a million real terms?", "ontologies", ("--ontology", "PATO")),
    Module("How long does a new process take?", "start", ("--concepts", "2000", "--repeats", "1", "--warm")),
    Module("How long does one exact distance take?", "distances",
           ("--concepts", "2000", "--pairs", "200", "--peers",
            "NetworkX", "igraph", "rustworkx", "SciPy")),
    Module(
        "How does the time of a distance grow with the graph?", "growth", ("--sizes", "1000"),
        plot="Microseconds for one distance over the concepts of the graph, both axes logarithmic",
    ),
    Module("What does the cache cost, and save?", "cache",
           ("--concepts", "2000", "--rows", "20000", "--entries", "2000")),
    Module(
        "How many requests a second does the service answer?", "service",
        ("--concepts", "2000", "--rows", "20000", "--seconds", "1", "--rounds", "1", "--only", "4 c", "--workers"),
    ),
    Module("What does authentication cost?", "guard", ("--calls", "500")),
    Module("How long does a whole evaluation take?", "rocov2"),
    Module(
        "How far does an evaluation scale?", "evaluation", ("--images", "400", "--scales", "train", "--hops", "1"),
    ),
    Module("How well do drawn images fit ROCOv2?", "drawn_images", ("--images", "400")),
    Module("How far does the command scale: a million images?", "million", ("--sizes", "300", "--hops", "1")),
    Module(
        "How long does it take to rank by vectors, codes, BM and TF-IDF?", "vector_rankings",
        ("--images", "400", "--scales", "test", "--depths", "30", "--kinds", "codes64", "bm"),
        ("--scales", "test", "train"),
    ),
    Module(
        "How does the time of an evaluation grow with the images?", "growth_images", ("--sizes", "300"),
        ("--sizes", "1000", "3000", "10000", "30000"),
        plot="Seconds and megabytes of a whole evaluation over the images; images and seconds logarithmic",
    ),
    Module(
        "How much faster are two processes, and are their bits the same?", "scale_out",
        ("--images", "1000", "--kills", "0"), ("--images", "200000", "--kills", "10"),
    ),
    Module("What does a measure take, beside plain Python and the usual tools?", "measures",
        ("--most", "100", "--queries", "100", "--tools", "cuihop", "pytrec_eval")),
    Module(
        "How long does similarity take?", "similarity",
        ("--terms", "300", "--subset", "30", "--pairs", "100", "--peers", "nxontology", "NetworkX", "semsimian", "wn"),
        ("--million",),
    ),
    Module("How long does one more letter take?", "search", ("--concepts", "5000", "--typed", "20")),
    Module(
        "How right and how fast is annotation?", "annotation", ("--names", "5000", "--texts", "200", "--only", "speed"),
    ),
    Module(
        "How long does a Neo4j server take?", "neo4j_store",
        ("--concepts", "500", "--rows", "5000", "--heap", "1g", "--short-lived", "--only", "online"),
        ("--concepts", "300000", "--rows", "6000000", "--heap", "2g"),
    ),
)  # fmt: skip


def main() -> None:
    """Run them, show what they print, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--only", action="append", choices=[module.name for module in MODULES])
    options = parser.parse_args()
    chosen = [module for module in MODULES if options.only is None or module.name in options.only]
    if options.smoke:
        smoke(chosen)
        return
    failures = []
    for module in chosen:
        kept = FOLDER / "results" / f"{module.name}.json"
        command = module.command(kept.relative_to(FOLDER.parent), smoke=False)
        print(f"\n== {module.question}\n$ python {' '.join(command)}", flush=True)
        process = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True, cwd=FOLDER.parent)
        lines, begun = [], time.monotonic()
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line.rstrip())
        ended = process.wait()
        print(f"({(time.monotonic() - begun) / 60:.1f} minutes)", flush=True)
        if ended:
            failures.append(f"{module.name} ended with {ended}")
        else:
            write(module, section(module, command, lines, json.loads(kept.read_text(encoding="utf-8"))))
    if failures:
        sys.exit("\n".join(failures))


def smoke(modules: list[Module]) -> None:
    """Each with little to do, as many at once as there are cores; the run ends badly if one fails or finds nothing."""

    def run(module: Module) -> str | None:
        with tempfile.TemporaryDirectory() as made:
            kept = Path(made) / "figures.json"
            done = subprocess.run(
                [sys.executable, *module.command(kept, smoke=True)],
                capture_output=True, text=True, cwd=FOLDER.parent, check=False,
            )  # fmt: skip
            if done.returncode:
                return f"ended with {done.returncode}\n{done.stdout}{done.stderr}"
            figures = json.loads(kept.read_text(encoding="utf-8"))["figures"] if kept.exists() else ()
            print(f"{module.name:16}{len(figures):5} figures", flush=True)
            return None if figures else f"measured nothing\n{done.stdout}{done.stderr}"

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = [
            f"{module.name}: {told}" for module, told in zip(modules, pool.map(run, modules), strict=True) if told
        ]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{used.ru_utime + used.ru_stime:.0f} seconds of the processor")
    if failures:
        sys.exit("\n\n".join(failures))


def section(module: Module, command: list[str], lines: list[str], kept: dict[str, Any]) -> str:
    """What RESULTS.md says about a module."""
    on = kept["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in kept["versions"].items())
    where = f"{on['cores']} cores ({on['processor']}), {on['memory GB']} GB, {on['system']}"
    told = [f"## {module.question}", "", f"{kept['date'][:10]}; {where}; {versions}.", ""]
    told += ["```", f"$ python {' '.join(command)}", *lines, "```", ""]
    if module.plot:
        told += [f"![{module.plot}]({module.name}.svg)", ""]
    return "\n".join(told)


def write(module: Module, text: str) -> None:
    """RESULTS.md with this section in place of the old one, and the sections in the order of the modules."""
    old = RESULTS.read_text(encoding="utf-8").split("\n## ")[1:] if RESULTS.exists() else []
    sections = {part.partition("\n")[0]: f"## {part.rstrip()}\n" for part in old}
    sections[module.question] = text
    ordered = [sections[other.question] for other in MODULES if other.question in sections]
    RESULTS.write_text("\n".join([_HEAD, *ordered]), encoding="utf-8")


if __name__ == "__main__":
    main()
