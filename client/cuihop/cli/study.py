"""``cuihop study``: the study of the paper on a collection of images, as tables, figures and numbers in a folder."""

from __future__ import annotations

import dataclasses
import json
import platform
import re
import shlex
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import typer

from cuihop.cli.command_files import FileUse
from cuihop.cli.evaluation_options import ColumnOrderOptions, LabelOptions, QueryOptions
from cuihop.cli.graph_option import GraphOptions, advised_on_unknown
from cuihop.cli.nearness_options import NearnessOptions
from cuihop.cli.option_groups import VerboseOptions, argument, file_option, measure_option, option, option_group
from cuihop.cli.output import note, print_json, print_lines, print_table, progress_bars
from cuihop.cli.run_options import RESOURCES_PANEL, Job, MemoryRunOptions, resumable
from cuihop.collection.dataset import Dataset
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.files.arrays import is_array
from cuihop.files.input_file import InputFile
from cuihop.files.text_lines import counted
from cuihop.graph import ConceptGraph
from cuihop.resources.cores import cores
from cuihop.resources.optional_packages import versions
from cuihop.study.ablation import ablation, ablation_passes
from cuihop.study.checkpoint import StudyCheckpoint
from cuihop.study.cost import costs
from cuihop.study.cross_evaluation import OWN, cross_evaluation, evaluate_rankings_of_shard
from cuihop.study.difference import differences, near_concepts
from cuihop.study.inputs import Part, ProgressOf, StudyInputs
from cuihop.study.plots import check_plots
from cuihop.study.report import cost_table
from cuihop.study.tables import StudyResults, tables_of
from cuihop.study.writing import MARK, replaced_study, write_study

_SHOWN = ("precision", "gain")
"""Names of the tables that are printed without ``--verbose``."""

_COUNTED_IN_CAPTIONS = re.compile("(image|images|query|queries) without (?!a ranking)")
"""Notes on queries without a label or anything relevant, which the captions of these tables count."""


@option_group
class _ImageOptions(ColumnOrderOptions, LabelOptions, NearnessOptions, QueryOptions, GraphOptions):
    """The images, the graph, the labels, and the parameters of the measures."""

    images: Path = argument("Concepts of the images: CSV, image and C1;C2.")
    labels: Path | None = file_option("Labels of the images: CSV, image and a column for each label.")
    label_concepts: Path | None = file_option("Instead of --labels: ImageCLEF's manual concepts: modality and organ.")
    embeddings: list[str] | None = file_option(
        "Embeddings (.npy, ranked by cosine), or a ranking, as for evaluate. May be repeated.",
        metavar="NAME=FILE", mark=FileUse.READS,
    )  # fmt: skip
    hops: int = measure_option("Hop threshold n: concepts within n hops are near.", "-n", default=1, min=0)
    seed: int = measure_option("Seed of all random numbers.", default=0, min=0)


@option_group
class _OutputOptions(VerboseOptions):
    """Folder of the study, and its parts."""

    output: Path = file_option(
        "New or empty folder for the report, tables, figures and numbers.",
        "-o", required=True, mark=FileUse.WRITES_FOLDER,
    )  # fmt: skip
    overwrite: bool = file_option("Replace an earlier study in that folder.", default=False)
    score_cards: bool = file_option("Write a score card of each ranking.", default=False)
    plots: bool = file_option("Draw figures.", "--plots/--no-plots", default=True)
    only: list[str] | None = measure_option("Only this part: tables, ablation or cost. May be repeated.", shown="all")
    timed_queries: int = measure_option("Number of queries timed in plain Python.", default=5, min=1)

    def parts(self, *, labelled: bool) -> list[Part]:
        """The parts to compute; without labels there is no ablation, and to request one is refused."""
        if not set(self.only or []) <= set(get_args(Part)):
            raise typer.BadParameter(f"--only takes {', '.join(get_args(Part))}")
        if self.only and "ablation" in self.only and not labelled:
            raise typer.BadParameter("--only ablation needs --labels, --label-concepts or --label-classes")
        return [
            part for part in get_args(Part)
            if (not self.only or part in self.only) and (labelled or part != "ablation")
        ]  # fmt: skip


@option_group
class _RunOptions(MemoryRunOptions):
    checkpoint: Path | None = option(
        "Folder for finished blocks: after an interrupt, the same command resumes from there.",
        panel=RESOURCES_PANEL, mark=FileUse.WRITES_FOLDER,
    )  # fmt: skip


def study(context: typer.Context, options: _ImageOptions, outputs: _OutputOptions, run: _RunOptions) -> None:
    """Compare IoU, nn-IoU, BM, embeddings and baselines as the paper does: tables, ablation of n and λ, cost."""
    parts, out = outputs.parts(labelled=options.labelled), outputs.output
    if outputs.plots:
        check_plots()
    files = _embeddings(options.embeddings or [])
    if run.checkpoint is not None and run.checkpoint.absolute().is_relative_to(out.absolute()):
        raise typer.BadParameter("--checkpoint must lie outside --output, which is written atomically")
    job = run.job(context)
    read = ImageConcepts.read(options.images, **options.columns)

    def inputs_with(job: Job, opened: ConceptGraph) -> StudyInputs:
        return StudyInputs(
            read, opened, options.read_labels([read], opened, options.unknown), files, order=options.order,
            nearness=options.nearness, empty_ideal=options.empty_ideal, query_image=options.query_image,
            seed=options.seed, resources=job.limits(),
        )  # fmt: skip

    if job.shard is not None:
        vectors = any(is_array(file) for file in files.values())
        with (
            job.open_shard(Dataset(read), by_position=vectors) as of_shard,
            options.opened() as opened,
            of_shard.progress_bars() as bar_of,
            advised_on_unknown(),
        ):
            _compute_shard(inputs_with(of_shard, opened), parts, bar_of, of_shard)
        return
    with replaced_study(out, overwrite=outputs.overwrite) as folder, options.opened() as opened:
        study_inputs = inputs_with(job, opened)
        label_table = study_inputs.labels
        started = datetime.now(UTC)
        results, seconds, study_checkpoint = _results(study_inputs, parts, outputs.timed_queries, run.checkpoint)
        machine = _machine(run.threads)
        before = time.perf_counter()
        first = None if results.tables is None else next(iter(results.tables.evaluations.values()))
        inputs = {"concepts": read.account, **({} if label_table is None else {"labels": label_table.account})}
        if results.tables is not None:
            inputs |= {name: results.tables.evaluations[name].inputs["ranking"] for name in files}
        own = [] if first is None else first.account()[len(first.inputs) :]
        notes = [*inputs.values(), *own]
        write_study(
            folder, results, study_inputs, notes, _machine_text(machine), plots=outputs.plots, cards=outputs.score_cards
        )
        record = {
            "command": shlex.join(["cuihop", *sys.argv[1:]]),
            "started": started.isoformat(timespec="seconds"),
            "seconds": {**seconds, "writing": time.perf_counter() - before},
            **machine,
            "inputs": inputs,
            "files": sorted(path.name for path in folder.iterdir()),
        }
        (folder / MARK).write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        numbers = [number.plain() for number in results.long_rows(study_inputs)]
        tables = tables_of(results, study_inputs)
    study_checkpoint.finish()
    if outputs.json:
        tested = [dataclasses.asdict(each) for each in results.differences]
        print_json({**record, "out": str(out), "numbers": numbers, "differences": tested})
        return
    if label_table is None:
        note("without labels there is no precision, and no ablation")
    if results.costs:
        tables.append(cost_table(results.costs))
    printed = tables if outputs.verbose else [each for each in tables if each.name in _SHOWN] or tables[:1]
    for each in printed:
        print_table(each, each.caption)
    brief = (
        [] if first is None else [each for each in first.account(brief=True) if not _COUNTED_IN_CAPTIONS.search(each)]
    )
    print_lines(notes if outputs.verbose else brief, {"Report, tables, figures and numbers": str(out)})


def _compute_shard(study_inputs: StudyInputs, parts: Sequence[Part], bar_of: ProgressOf, job: Job) -> None:
    """Compute the queries of a shard: everything in blocks. The rest, and times, are of the merged study."""
    with StudyCheckpoint(job.folder, study_inputs) as checkpoint:
        if "tables" in parts:
            evaluate_rankings_of_shard(study_inputs, bar_of, checkpoint)
        if "ablation" in parts:
            ablation_passes(study_inputs, bar_of, checkpoint)


def _embeddings(texts: Sequence[str]) -> Mapping[str, InputFile]:
    """Name → open file, from NAME=FILE."""
    files: dict[str, InputFile] = {}
    for text in texts:
        name, equals, path = (part.strip() for part in text.partition("="))
        if not (name and equals and path) or not name.isprintable():
            raise typer.BadParameter(f"--embeddings takes NAME=FILE, not {text!r}")
        if name.lower() in map(str.lower, OWN):
            raise typer.BadParameter(f"--embeddings: {name} is a ranking of the study itself; give it another name")
        if name in files:
            raise typer.BadParameter(f"--embeddings names {name!r} twice")
        files[name] = InputFile(path)
    return files


def _results(
    study_inputs: StudyInputs, parts: Sequence[Part], timed: int, checkpoint: Path | None
) -> tuple[StudyResults, dict[str, float], StudyCheckpoint]:
    """Results of the parts, the seconds of each, and the checkpoint to clear when they are written."""
    seconds: dict[str, float] = {}

    @contextmanager
    def clocked(part: Part) -> Iterator[None]:
        before = time.perf_counter()
        yield
        seconds[part] = time.perf_counter() - before

    results = StudyResults()
    with (
        resumable(checkpoint, "parts"),
        advised_on_unknown(),
        progress_bars() as bar_of,
        StudyCheckpoint(checkpoint, study_inputs) as study_checkpoint,
    ):
        if "tables" in parts:
            with clocked("tables"):
                tables = cross_evaluation(study_inputs, bar_of, study_checkpoint)
                tested = differences(tables, study_inputs, bar_of)
                results = StudyResults(tables, tested, near_concepts(tables, study_inputs, bar_of))
        if "ablation" in parts:
            with clocked("ablation"):
                rows = list(ablation(study_inputs, bar_of, study_checkpoint))
                results = dataclasses.replace(results, ablation=rows)
        if "cost" in parts:
            with clocked("cost"):
                results = dataclasses.replace(results, costs=costs(study_inputs, timed, bar_of))
    return results, seconds, study_checkpoint


def _machine(threads: int | None) -> dict[str, Any]:
    """The machine of the measured times."""
    return {
        "machine": platform.machine(),
        "system": platform.system(),
        "processor": _processor(),
        "cores": cores(),
        "threads": threads or cores(),
        "versions": versions("cuihop", "numpy", "numba", "matplotlib"),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def _machine_text(machine: Mapping[str, Any]) -> str:
    software = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return (
        f"Measured on {machine['processor'] or machine['machine']}, {counted(machine['cores'], 'core')}, "
        f"{counted(machine['threads'], 'thread')}, {machine['system']}; {software}."
    )
