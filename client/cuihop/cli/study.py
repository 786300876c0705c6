"""``cuihop study``: the study of the paper on a collection of images, as tables, figures and numbers in a folder."""

from __future__ import annotations

import dataclasses
import json
import platform
import shlex
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from cuihop.cli.command_files import FileUse
from cuihop.cli.evaluation_options import LabelOptions, OrderOption, QueryOptions, file_option, measure_option
from cuihop.cli.graph_option import GraphOptions, NearnessOptions, advised_on_unknown
from cuihop.cli.output import JsonOption, console, note, print_json, print_table, progress
from cuihop.cli.run_options import RESOURCES_PANEL, Job, MemoryRunOptions
from cuihop.collection.dataset import Dataset
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.files.array_file import is_array
from cuihop.files.input_file import InputFile
from cuihop.files.text_lines import counted
from cuihop.graph import ConceptGraph
from cuihop.resources.cores import cores
from cuihop.resources.progress import Progress
from cuihop.resources.versions import versions
from cuihop.study.ablation import ablation, ablation_passes
from cuihop.study.checkpoint import StudyCheckpoint
from cuihop.study.cost import costs
from cuihop.study.cross_evaluation import cross_evaluation, evaluate_rankings_of_shard
from cuihop.study.difference import differences, near_concepts
from cuihop.study.inputs import Part, ProgressOf, StudyInputs
from cuihop.study.plots import check_plots
from cuihop.study.rankings import OWN
from cuihop.study.report import cost_table
from cuihop.study.writing import MARK, StudyResults, tables_of, whole_folder, write_study


@dataclass(frozen=True, kw_only=True)
class _ImageOptions(LabelOptions, NearnessOptions, QueryOptions):
    """The labels of the images, and the parameters of the measures."""

    labels: Annotated[
        Path | None, file_option("--labels", help="Labels of the images: CSV, image and a column for each label.")
    ] = None
    label_concepts: Annotated[
        Path | None,
        file_option("--label-concepts", help="Instead of --labels: ImageCLEF's manual concepts of modality and organ."),
    ] = None
    embeddings: Annotated[
        list[str] | None,
        file_option(
            "--embeddings", metavar="NAME=FILE",
            help="Embeddings (.npy, ranked by cosine), or a ranking, as for evaluate. May be repeated.",
        ),
        FileUse.READS,
    ] = None  # fmt: skip
    hops: Annotated[
        int, measure_option("--hops", "--n", "-n", min=0, help="Hop threshold n of near concepts.")
    ] = 1  # fmt: skip
    order: OrderOption = "score"
    seed: Annotated[int, measure_option("--seed", min=0, help="Seed of all random draws.")] = 0


@dataclass(frozen=True, kw_only=True)
class _OutputOptions:
    """Folder of the study, and its parts."""

    out: Annotated[
        Path,
        file_option(
            "--out", "-o", help="Folder for report, tables, figures, numbers: new or empty.", show_default=False
        ),
        FileUse.WRITES_FOLDER,
    ]  # fmt: skip
    overwrite: Annotated[bool, file_option("--overwrite", help="Replace an earlier study in that folder.")] = False
    cards: Annotated[bool, file_option("--cards", help="Write a score card of each ranking.")] = False
    plots: Annotated[bool, file_option("--plots/--no-plots", help="Draw figures.")] = True
    only: Annotated[
        list[str] | None,
        measure_option("--only", help="One of tables, ablation and cost. May be repeated.", show_default="all parts"),
    ] = None
    timed_queries: Annotated[
        int, measure_option("--timed-queries", min=1, help="Number of queries timed in plain Python.")
    ] = 5
    json: JsonOption = False

    def parts(self, *, labelled: bool) -> list[Part]:
        """The parts to compute; without labels there is no ablation.

        Raises:
            typer.BadParameter: no such part, or an ablation without labels.
        """
        if not set(self.only or []) <= set(get_args(Part)):
            raise typer.BadParameter(f"--only takes {', '.join(get_args(Part))}")
        if self.only and "ablation" in self.only and not labelled:
            raise typer.BadParameter("--only ablation needs --labels, --label-concepts or --label-classes")
        return [
            part for part in get_args(Part)
            if (not self.only or part in self.only) and (labelled or part != "ablation")
        ]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class _RunOptions(MemoryRunOptions):
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint", rich_help_panel=RESOURCES_PANEL,
            help="Folder for finished parts: after an interrupt, the same command resumes from there.",
        ),
        FileUse.WRITES_FOLDER,
    ] = None  # fmt: skip


def study(
    context: typer.Context,
    images: Annotated[
        Path, typer.Argument(help="Concepts of the images: CSV, image and C1;C2.", show_default=False)
    ],
    graph: GraphOptions,
    options: _ImageOptions,
    outputs: _OutputOptions,
    run: _RunOptions,
) -> None:  # fmt: skip
    """Compare IoU, nn-IoU, BM, embeddings and baselines as the paper does: tables, ablation of n and λ, cost."""
    parts, out = outputs.parts(labelled=options.labelled), outputs.out
    if outputs.plots:
        check_plots()
    files = _embeddings(options.embeddings or [])
    if run.checkpoint is not None and run.checkpoint.absolute().is_relative_to(out.absolute()):
        raise typer.BadParameter("--checkpoint must lie outside --out, which is written whole or not at all")
    job = run.job(context)
    read = ImageConcepts.read(images, **options.columns)

    def inputs_with(job: Job, opened: ConceptGraph) -> StudyInputs:
        return StudyInputs(
            read, opened, options.read_labels([read], opened, options.unknown), files, order=options.order,
            nearness=options.nearness, empty_ideal=options.empty_ideal, query_image=options.query_image,
            seed=options.seed, resources=job.limits(),
        )  # fmt: skip

    if job.shard is not None:
        vectors = any(is_array(file) for file in files.values())
        with (
            job.open_shard_of(Dataset(read), by_position=vectors) as of_shard,
            graph.opened() as opened,
            of_shard.progress_bars() as bar_of,
            advised_on_unknown(),
        ):
            _compute_shard(inputs_with(of_shard, opened), parts, bar_of, of_shard)
        return
    with whole_folder(out, overwrite=outputs.overwrite) as folder, graph.opened() as opened:
        study_inputs = inputs_with(job, opened)
        label_table = study_inputs.labels
        started = datetime.now(UTC)
        found, seconds, study_checkpoint = _found(study_inputs, parts, outputs.timed_queries, run.checkpoint)
        machine = _machine(run.threads)
        before = time.perf_counter()
        first = None if found.tables is None else next(iter(found.tables.evaluations.values()))
        inputs = {"concepts": read.account, **({} if label_table is None else {"labels": label_table.account})}
        if found.tables is not None:
            inputs |= {name: found.tables.evaluations[name].inputs["ranking"] for name in files}
        own = [] if first is None else first.account()[len(first.inputs) :]
        account = [*inputs.values(), *own]
        write_study(
            folder, found, study_inputs, account, _machine_text(machine), plots=outputs.plots, cards=outputs.cards
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
        numbers = [number.plain() for number in found.long_rows(study_inputs)]
        tables = tables_of(found, study_inputs)
    study_checkpoint.finish()
    if outputs.json:
        tested = [dataclasses.asdict(each) for each in found.differences]
        print_json({**record, "out": str(out), "numbers": numbers, "differences": tested})
        return
    if label_table is None:
        note("without labels there is no precision, and no ablation")
    if found.costs:
        tables.append(cost_table(found.costs))
    for each in tables:
        print_table(each, each.caption)
    screen = console()
    for line in account:
        screen.print(line)
    screen.print(f"Report, tables, figures and numbers: {out}")


def _compute_shard(study_inputs: StudyInputs, parts: Sequence[Part], bar_of: ProgressOf, job: Job) -> None:
    """Compute the queries of a shard: everything in blocks. The rest, and times, are of the merged study."""
    with StudyCheckpoint(job.folder, study_inputs) as checkpoint:
        if "tables" in parts:
            evaluate_rankings_of_shard(study_inputs, bar_of, checkpoint)
        if "ablation" in parts:
            ablation_passes(study_inputs, bar_of, checkpoint)


def _embeddings(given: Sequence[str]) -> Mapping[str, InputFile]:
    """Name → open file, from NAME=FILE."""
    found: dict[str, InputFile] = {}
    for text in given:
        name, equals, path = (part.strip() for part in text.partition("="))
        if not (name and equals and path) or not name.isprintable():
            raise typer.BadParameter(f"--embeddings takes NAME=FILE, not {text!r}")
        if name.lower() in map(str.lower, OWN):
            raise typer.BadParameter(f"--embeddings: {name} is a ranking of the study itself; give it another name")
        if name in found:
            raise typer.BadParameter(f"--embeddings names {name!r} twice")
        found[name] = InputFile(path)
    return found


def _found(
    study_inputs: StudyInputs, parts: Sequence[Part], timed: int, checkpoint: Path | None
) -> tuple[StudyResults, dict[str, float], StudyCheckpoint]:
    """Results of the parts, the seconds of each, and the checkpoint to clear when they are written."""
    seconds: dict[str, float] = {}

    @contextmanager
    def clocked(part: Part) -> Iterator[None]:
        before = time.perf_counter()
        yield
        seconds[part] = time.perf_counter() - before

    found = StudyResults()
    try:
        with advised_on_unknown(), progress() as bar, StudyCheckpoint(checkpoint, study_inputs) as study_checkpoint:

            def bar_of(label: str) -> Progress:
                task = bar.add_task(label, total=None)
                return lambda done, total: bar.update(task, completed=done, total=total)

            if "tables" in parts:
                with clocked("tables"):
                    tables = cross_evaluation(study_inputs, bar_of, study_checkpoint)
                    tested = differences(tables, study_inputs, bar_of)
                    near = near_concepts(tables, study_inputs, bar_of)
                    found = StudyResults(tables, tested, near)
            if "ablation" in parts:
                with clocked("ablation"):
                    found = dataclasses.replace(found, ablation=list(ablation(study_inputs, bar_of, study_checkpoint)))
            if "cost" in parts:
                with clocked("cost"):
                    found = dataclasses.replace(found, costs=costs(study_inputs, timed, bar_of))
    except KeyboardInterrupt:
        if checkpoint is not None:
            note(f"finished parts are in {checkpoint}; the same command resumes from there")
        raise
    return found, seconds, study_checkpoint


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
