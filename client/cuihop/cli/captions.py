"""``cuihop captions``: predicted captions of images against the reference captions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from cuihop.annotated_texts.score_tables import (
    NearMiss,
    false_positives_by_hops,
    hops_table,
    miss_table,
    near_misses,
)
from cuihop.captions.blocks import CaptionBlocks
from cuihop.captions.composites import Official
from cuihop.captions.concepts import CaptionConcepts, caption_concepts
from cuihop.captions.external_scores import ExternalScores
from cuihop.captions.normalisation import CaptionText
from cuihop.captions.reading import Captions
from cuihop.captions.score_tables import MeanScore, mean_scores, mean_table
from cuihop.captions.scoring import CaptionRules, CaptionScores, score_captions, score_words_of_shard
from cuihop.cli.caption_models import ModelOptions, Models
from cuihop.cli.command_files import CSV, FileUse
from cuihop.cli.compared_systems import named_files
from cuihop.cli.evaluation_options import (
    GroupOptions,
    IntervalOptions,
    ReportOptions,
    file_option,
    measure_option,
    measures_option,
)
from cuihop.cli.graph_option import ConstantNearnessOptions, NamesOption, OptionalGraphOptions
from cuihop.cli.output import JsonOption, path_text, print_json, print_table, write_and_show
from cuihop.cli.run_options import CAPTIONS, RunOptions
from cuihop.cli.scored_systems import ScoredSystems, first_rows, predictions_named
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.comparison.comparison import Comparison
from cuihop.evaluation.groups import GroupMean, group_means, group_table
from cuihop.graph import ConceptGraph
from cuihop.measures.measure import Measure, measures_named
from cuihop.notebooks.table import Table
from cuihop.resources.optional_packages import SACREBLEU
from cuihop.resources.resources import Resources

_VALUES = "Values of each caption"


@dataclass(frozen=True, kw_only=True)
class _InputOptions:
    """Captions, files of concepts and values, columns, and rules."""

    references: Annotated[Path, typer.Argument(help="Reference captions: image and caption.", show_default=False)]
    predictions: Annotated[
        list[str],
        typer.Argument(
            metavar="PREDICTIONS", show_default=False,
            help="Predicted captions of the same images, each FILE or NAME=FILE.",
        ),
        FileUse.READS,
    ]  # fmt: skip
    reference_concepts: Annotated[
        Path | None,
        file_option(
            "--reference-concepts", show_default="found by the names of the graph",
            help="Concepts of the reference captions: images and C1;C2.",
        ),
    ] = None  # fmt: skip
    concepts: Annotated[
        list[str] | None,
        file_option(
            "--concepts", metavar="SYSTEM=FILE",
            help="Concepts of a system's captions, by the same extractor as those of the references.",
        ),
        FileUse.READS,
    ] = None  # fmt: skip
    scores: Annotated[
        list[str] | None,
        file_option(
            "--scores", metavar="SYSTEM=FILE",
            help="Values of a system that another program computed: image, and a column for each measure.",
        ),
        FileUse.READS,
    ] = None  # fmt: skip
    image_column: Annotated[
        str | None, file_option("--image-column", help="Column of the images in files of captions.")
    ] = None
    caption_column: Annotated[str | None, file_option("--caption-column", help="Column of the captions.")] = None
    measure: Annotated[
        list[str] | None,
        measures_option("ROUGE-1; with concepts concept-F1, with a graph nn-concept-F1; and all of --scores"),
    ] = None
    text: Annotated[
        CaptionText,
        measure_option(
            "--text",
            help="Words in lower case, with “number” for digits and without punctuation; or as they are given.",
        ),
    ] = "imageclef"
    official: Annotated[
        Official | None,
        measure_option(
            "--official",
            help="Rules of ImageCLEFmedical's program of this year, where they differ from those of its paper.",
        ),
    ] = None
    names: NamesOption = None


@dataclass(frozen=True, kw_only=True)
class _OutputOptions(ReportOptions):
    output: Annotated[
        Path | None, file_option("--output", "-o", help="File for the values of captions, as CSV."), CSV
    ] = None
    rows: Annotated[int, typer.Option("--rows", min=0, help="Rows of near misses.")] = 10
    json: JsonOption = False


def caption_scores(
    context: typer.Context,
    inputs_of: _InputOptions,
    graph: OptionalGraphOptions,
    near: ConstantNearnessOptions,
    models_of: ModelOptions,
    groups: GroupOptions,
    intervals: IntervalOptions,
    outputs: _OutputOptions,
    run: RunOptions,
) -> None:  # fmt: skip
    """Score predicted captions: ROUGE, BLEU, F1 of concepts with near misses, and values computed elsewhere.

    Several systems are ranked, and compared as by cuihop compare.
    """
    job = run.job(context)
    files = predictions_named(inputs_of.predictions, "PREDICTIONS")
    tests = intervals.of_tests(run.threads)
    measures = measures_named(inputs_of.measure) if inputs_of.measure else None
    if any(each.family == "BLEU" for each in measures or ()):
        SACREBLEU.check()
    embeddings = _by_system(models_of.caption_embeddings, "--caption-embeddings", files)
    models = Models.of(files, models_of, embeddings, run.threads)
    inputs = _Inputs.read(files, inputs_of)
    labels = groups.read_groups()
    rules = CaptionRules(inputs_of.text, inputs_of.official)
    results: dict[str, _Result] = {}
    if job.shard is not None:
        total = len(inputs.references)
        with job.open_shard(job.shard.of_positions(total), total) as part, part.progress_bars() as bar_of:
            for name, captions in inputs.predictions.items():
                blocks = CaptionBlocks(part.resources(CAPTIONS, bar_of(name)), job.shard)
                models.scores(name, inputs.references, captions, rules, measures or (), blocks)
                score_words_of_shard(inputs.references, captions, measures=measures, rules=rules, blocks=blocks)
        return
    with graph.opened(inputs_of.names) as opened, job.progress_bars() as bar_of:

        def resources(label: str) -> Resources:
            return job.resources(CAPTIONS, bar_of(label))

        found_in = inputs.concepts_of(measures, opened, resources)
        for name, captions in inputs.predictions.items():
            blocks = CaptionBlocks(resources(f"models read {name}"))
            by_models = models.scores(name, inputs.references, captions, rules, measures or (), blocks)
            found = score_captions(
                inputs.references, captions, opened, measures=measures, rules=rules, concepts=found_in.get(name),
                scores=(*inputs.scores.get(name, ()), *by_models),
                nearness=near.nearness, resources=resources(f"{name} scored"),
            )  # fmt: skip
            means = [group_means(found, labels, label, **tests) for label in groups.by or ()]
            results[name] = _Result.of(found, mean_scores(found, **tests), means, opened)
    systems = ScoredSystems.of({name: result.found for name, result in results.items()}, **tests)
    tables = _tables(results, systems.comparison, intervals.confidence, outputs.rows)

    def show(written: Mapping[str, Path]) -> None:
        if outputs.json:
            print_json({
                "systems": [{"system": name, **result.fields(outputs.rows)} for name, result in results.items()],
                **systems.fields(),
                "per_query": path_text(written.get(_VALUES)),
            })  # fmt: skip
            return
        for place, table in enumerate(tables):
            print_table(table, table.caption if place and table.name != "differences" else None)
        systems.print_account(written)

    files_to_write = systems.outputs(
        (_VALUES, outputs.output), tables, report=outputs.report, cards=outputs.cards, plot=outputs.plot
    )
    write_and_show(files_to_write, show)
    job.finish()


@dataclass(frozen=True)
class _Inputs:
    """Everything that is read.

    Attributes:
        references: the captions. predictions: name of a system → its captions.
        concepts: name of a system → concepts from files. scores: name of a system → values computed elsewhere.
    """

    references: Captions
    predictions: Mapping[str, Captions]
    concepts: Mapping[str, CaptionConcepts]
    scores: Mapping[str, Sequence[ExternalScores]]

    @classmethod
    def read(cls, files: Mapping[str, Path], options: _InputOptions) -> _Inputs:
        """Read the files.

        Raises:
            typer.BadParameter: an option names no system, or concepts of one side are missing.
            InputError: names the file and its line or row.
        """

        def captions(path: Path) -> Captions:
            return Captions.read(
                path, image_column=options.image_column, caption_column=options.caption_column,
                official=options.official is not None,
            )  # fmt: skip

        true = captions(options.references)
        columns_of = {name: [ExternalScores.read(path) for path in paths]
                      for name, paths in _by_system(options.scores, "--scores", files).items()}  # fmt: skip
        concepts = _concepts_of_files(options, files)
        return cls(true, {name: captions(path) for name, path in files.items()}, concepts, columns_of)

    def concepts_of(
        self, measures: Sequence[Measure] | None, graph: ConceptGraph | None, resources: Callable[[str], Resources]
    ) -> Mapping[str, CaptionConcepts]:
        """Name of a system → concepts of both sides: from files, or by the names of the graph if a measure needs them.

        Args:
            measures: those requested. graph: the graph. resources: of a piece of work, by its label.
        """
        needed = measures is None or any(m.family in _WITH_CONCEPTS for m in measures)
        if self.concepts or graph is None or not needed:
            return self.concepts
        true = caption_concepts(self.references, graph, resources("references searched for concepts"))
        return {
            name: CaptionConcepts(true, caption_concepts(captions, graph, resources(f"{name} searched for concepts")))
            for name, captions in self.predictions.items()
        }


def _concepts_of_files(options: _InputOptions, files: Mapping[str, Path]) -> dict[str, CaptionConcepts]:
    """Name of a system → concepts of the references and of its captions; without files there are none."""
    concepts = _by_system(options.concepts, "--concepts", files)
    if options.reference_concepts is None and not concepts:
        return {}
    if options.reference_concepts is None or any(len(concepts.get(name, ())) != 1 for name in files):
        raise typer.BadParameter("--reference-concepts FILE and --concepts SYSTEM=FILE for each system go together")
    true = ImageConcepts.read(options.reference_concepts)
    return {name: CaptionConcepts(true, ImageConcepts.read(concepts[name][0])) for name in files}


_WITH_CONCEPTS = frozenset({"concept-F1", "MEDCON", "nn-concept-F1", "factuality", "overall"})


def _by_system(given: Sequence[str] | None, option: str, systems: Mapping[str, Path]) -> dict[str, list[Path]]:
    """Name of each system → its files; a single system needs no name."""
    found: dict[str, list[Path]] = {}
    for name, path in named_files(given or (), option):
        system = next(iter(systems)) if name is None and len(systems) == 1 else name
        if system is None or system not in systems:
            raise typer.BadParameter(f"{option} takes SYSTEM=FILE; systems: {', '.join(systems)}")
        found.setdefault(system, []).append(path)
    return found


@dataclass(frozen=True)
class _Result:
    """The scores of one system; without a graph there are no near misses."""

    found: CaptionScores
    means: Sequence[MeanScore]
    groups: Sequence[Sequence[GroupMean]]
    misses: Sequence[NearMiss] = ()
    by_hops: Mapping[str, int] | None = None

    @classmethod
    def of(
        cls, found: CaptionScores, means: Sequence[MeanScore], groups: Sequence[Sequence[GroupMean]],
        graph: ConceptGraph | None,
    ) -> _Result:  # fmt: skip
        if found.concepts is None or graph is None:
            return cls(found, means, groups)
        misses = near_misses(found.concepts, graph)
        return cls(found, means, groups, misses, false_positives_by_hops(found.concepts))

    def fields(self, rows: int) -> dict[str, Any]:
        """Everything but the values of each caption, ready for JSON."""
        return {
            "scores": [asdict(each) for each in self.means],
            "by": [asdict(each) for some in self.groups for each in some],
            "near_misses": [asdict(miss) for miss in self.misses[:rows]],
            "false_positives_by_hops": None if self.by_hops is None else dict(self.by_hops),
            **self.found.summary(),
        }


def _tables(results: Mapping[str, _Result], comparison: Comparison | None, confidence: float, rows: int) -> list[Table]:
    """The means; those by label; then the differences of several systems, or the near misses of one."""
    tables = [mean_table({name: result.means for name, result in results.items()}, confidence)]
    for name, result in results.items():
        for some in result.groups:
            table = group_table(some, confidence)
            tables.append(table if comparison is None else replace(table, caption=f"{name}: {table.caption}"))
    if comparison is not None:
        return [*tables, comparison.table()]
    (result,) = results.values()
    if result.by_hops is not None:
        tables.append(hops_table(result.by_hops))
    return [*tables, *first_rows(miss_table(result.misses, "captions"), rows)]
