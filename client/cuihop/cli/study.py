"""``cuihop study``: the study of the paper on a collection of images, as tables, figures and numbers in a folder."""

from __future__ import annotations

import dataclasses
import json as json_format
import platform
import shlex
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from cuihop.cli.command_files import FileUse
from cuihop.cli.evaluation_options import (
    ClassDescendantsOption,
    ConceptColumnOption,
    EmptyIdealOption,
    ImageColumnOption,
    LabelAgreementOption,
    LabelClassesOption,
    OrderOption,
    QueryImageOption,
)
from cuihop.cli.graph_option import (
    ContentOption,
    DirectionOption,
    GraphOption,
    GraphSource,
    UnknownOption,
    WeightedLambdaOption,
    WeightOption,
    WithinSabOption,
    advised_on_unknown,
    opened_graph,
)
from cuihop.cli.output import JsonOption, console, note, print_json, print_table, progress
from cuihop.cli.relevance_options import LabelSource
from cuihop.cli.run_options import RESOURCES_PANEL, ClusterFolderOption, ClusterOption, MemoryOption, ShardOption, Work
from cuihop.collection.dataset import Dataset
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.files.array_file import is_array
from cuihop.files.input_file import InputFile
from cuihop.files.text_lines import counted
from cuihop.graph import ConceptGraph
from cuihop.measures.nearness import Nearness
from cuihop.resources.cores import cores
from cuihop.resources.memory_budget import DEFAULT_MEMORY
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

_FILES = "Files"
_MEASURES = "Measures"


def study(
    context: typer.Context,
    images: Annotated[
        Path, typer.Argument(help="Concepts of the images: CSV, image and C1;C2.", show_default=False)
    ],
    graph: GraphOption,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="Folder for report, tables, figures, numbers: new or empty.",
                     show_default=False, rich_help_panel=_FILES),
        FileUse.WRITES_FOLDER,
    ],
    within_sab: WithinSabOption = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an earlier study in that folder.", rich_help_panel=_FILES)
    ] = False,
    labels: Annotated[
        Path | None,
        typer.Option("--labels", help="Labels of the images: CSV, image and a column for each label.",
                     rich_help_panel=_FILES),
    ] = None,
    label_concepts: Annotated[
        Path | None,
        typer.Option("--label-concepts", rich_help_panel=_FILES,
                     help="Instead of --labels: ImageCLEF's manual concepts of modality and organ."),
    ] = None,
    label_classes: LabelClassesOption = None,
    class_descendants: ClassDescendantsOption = True,
    image_column: ImageColumnOption = None,
    concept_column: ConceptColumnOption = None,
    embeddings: Annotated[
        list[str] | None,
        typer.Option("--embeddings", metavar="NAME=FILE", rich_help_panel=_FILES,
                     help="Embeddings (.npy, ranked by cosine), or a ranking, as for evaluate. May be repeated."),
        FileUse.READS,
    ] = None,
    cards: Annotated[
        bool, typer.Option("--cards", help="Write a score card of each ranking.", rich_help_panel=_FILES)
    ] = False,
    plots: Annotated[bool, typer.Option("--plots/--no-plots", help="Draw figures.", rich_help_panel=_FILES)] = True,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="One of tables, ablation and cost. May be repeated.", show_default="all parts",
                     rich_help_panel=_MEASURES),
    ] = None,
    n: Annotated[
        int,
        typer.Option("--hops", "--n", "-n", min=0, help="Hop threshold n of near concepts.",
                     rich_help_panel=_MEASURES),
    ] = 1,
    lam: WeightedLambdaOption = None,
    weight: WeightOption = "constant",
    ic: ContentOption = "Sanchez",
    direction: DirectionOption = "any",
    unknown: UnknownOption = "error",
    empty_ideal: EmptyIdealOption = "zero",
    query_image: QueryImageOption = "exclude",
    label_agreement: LabelAgreementOption = "equal",
    order: OrderOption = "score",
    timed_queries: Annotated[
        int,
        typer.Option("--timed-queries", min=1, help="Number of queries timed in plain Python.",
                     rich_help_panel=_MEASURES),
    ] = 5,
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="Seed of all random draws.", rich_help_panel=_MEASURES)
    ] = 0,
    threads: Annotated[
        int | None,
        typer.Option("--threads", min=1, help="Threads; all cores by default.", show_default=False,
                     rich_help_panel=RESOURCES_PANEL),
    ] = None,
    memory: MemoryOption = DEFAULT_MEMORY,
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", rich_help_panel=RESOURCES_PANEL,
                     help="Folder for finished parts: after an interrupt, the same command resumes from there."),
        FileUse.WRITES_FOLDER,
    ] = None,
    shard: ShardOption = None,
    cluster: ClusterOption = None,
    cluster_folder: ClusterFolderOption = None,
    json: JsonOption = False,
) -> None:  # fmt: skip
    """Compare IoU, nn-IoU, BM, embeddings and baselines as the paper does: tables, ablation of n and λ, cost."""
    columns = {"image_column": image_column, "concept_column": concept_column}
    label_source = LabelSource(labels, label_concepts, label_classes or (), class_descendants, label_agreement, columns)
    wanted: Sequence[Part] = [part for part in get_args(Part) if not only or part in only]
    if not set(only or []) <= set(wanted):
        raise typer.BadParameter(f"--only takes {', '.join(get_args(Part))}")
    labelled = labels is not None or label_concepts is not None or bool(label_classes)
    if only and "ablation" in only and not labelled:
        raise typer.BadParameter("--only ablation needs --labels, --label-concepts or --label-classes")
    if plots:
        check_plots()
    files = _embeddings(embeddings or [])
    if checkpoint is not None and checkpoint.absolute().is_relative_to(out.absolute()):
        raise typer.BadParameter("--checkpoint must lie outside --out, which is written whole or not at all")
    work = Work.of(context, threads, memory, checkpoint, shard, cluster, cluster_folder)
    read = ImageConcepts.read(images, **columns)
    parts = [part for part in wanted if labelled or part != "ablation"]

    def inputs_with(work: Work, opened: ConceptGraph) -> StudyInputs:
        label_table = label_source.read([read], opened, unknown)
        return StudyInputs(
            read, opened, label_table, files, order=order, nearness=Nearness(n, lam, direction, unknown, weight, ic),
            empty_ideal=empty_ideal, query_image=query_image, seed=seed, resources=work.limits(),
        )  # fmt: skip

    graph_source = GraphSource(graph, within_sab)
    if work.shard is not None:
        vectors = any(is_array(file) for file in files.values())
        with (
            work.open_shard_of(Dataset(read), by_position=vectors) as of_shard,
            opened_graph(graph_source) as opened,
            of_shard.progress_bars() as bar_of,
            advised_on_unknown(),
        ):
            _compute_shard(inputs_with(of_shard, opened), parts, bar_of, of_shard)
        return
    with whole_folder(out, overwrite=overwrite) as folder, opened_graph(graph_source) as opened:
        study_inputs = inputs_with(work, opened)
        label_table = study_inputs.labels
        started = datetime.now(UTC)
        found, seconds, study_checkpoint = _found(study_inputs, parts, timed_queries, checkpoint)
        machine = _machine(threads)
        before = time.perf_counter()
        first = None if found.tables is None else next(iter(found.tables.evaluations.values()))
        inputs = {"concepts": read.account, **({} if label_table is None else {"labels": label_table.account})}
        if found.tables is not None:
            inputs |= {name: found.tables.evaluations[name].inputs["ranking"] for name in files}
        own = [] if first is None else first.account()[len(first.inputs) :]
        account = [*inputs.values(), *own]
        write_study(folder, found, study_inputs, account, _machine_text(machine), plots=plots, cards=cards)
        run = {
            "command": shlex.join(["cuihop", *sys.argv[1:]]),
            "started": started.isoformat(timespec="seconds"),
            "seconds": {**seconds, "writing": time.perf_counter() - before},
            **machine,
            "inputs": inputs,
            "files": sorted(path.name for path in folder.iterdir()),
        }
        (folder / MARK).write_text(json_format.dumps(run, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        numbers = [number.plain() for number in found.long_rows(study_inputs)]
        tables = tables_of(found, study_inputs)
    study_checkpoint.finish()
    if json:
        tested = [dataclasses.asdict(each) for each in found.differences]
        print_json({**run, "out": str(out), "numbers": numbers, "differences": tested})
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


def _compute_shard(study_inputs: StudyInputs, parts: Sequence[Part], bar_of: ProgressOf, work: Work) -> None:
    """Compute the queries of a shard: everything in blocks. The rest, and times, are of the merged study."""
    with StudyCheckpoint(work.folder, study_inputs) as checkpoint:
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
