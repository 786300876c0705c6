"""``cuihop score captions``: predicted captions of images against the reference captions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

import typer

from cuihop.captions.blocks import CaptionBlocks
from cuihop.captions.concepts import CaptionConcepts, caption_concepts
from cuihop.captions.external_scores import ExternalScores
from cuihop.captions.reading import Captions
from cuihop.captions.rules import CaptionRules, CaptionText, Official
from cuihop.captions.score_tables import mean_scores, mean_table
from cuihop.captions.scoring import CaptionScores, score_captions, score_words_of_shard
from cuihop.cli.command_files import CSV, FileUse
from cuihop.cli.compared_systems import named_files
from cuihop.cli.evaluation_options import MEASURE_HELP, GroupOptions, IntervalOptions, ReportOptions
from cuihop.cli.graph_option import NamesOptions, OptionalEdgeOptions
from cuihop.cli.nearness_options import ConstantNearnessOptions
from cuihop.cli.option_groups import VerboseOptions, argument, file_option, measure_option, option, option_group
from cuihop.cli.run_options import CAPTIONS, RunOptions
from cuihop.cli.system_report import SystemReport, predictions_named
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.graph import ConceptGraph
from cuihop.measures.measure import Measure, measures_named
from cuihop.resources.optional_packages import SACREBLEU
from cuihop.resources.resources import Resources

_SIMILARITY = "similarity"

_model_option = partial(option, panel="Models")


@option_group
class ModelOptions:
    """Models, and embeddings of images and captions."""

    model: list[str] | None = _model_option(
        "Folder of the model for BERTScore, BLEURT, AlignScore or similarity. Nothing is downloaded.",
        metavar="MEASURE=FOLDER",
        mark=FileUse.READS,
    )
    images: Path | None = _model_option(
        "For similarity: folder of pictures named after the images; or their embeddings, .npz or .npy."
    )
    caption_embeddings: list[str] | None = _model_option(
        "For similarity without a model: embeddings of a system's captions, .npz or .npy.",
        metavar="SYSTEM=FILE",
        mark=FileUse.READS,
    )
    bertscore_layer: int | None = _model_option(
        "Layer of the model that BERTScore compares.", min=1, shown="40 of DeBERTa-xlarge, else the last"
    )
    device: str = _model_option("Device of torch, such as cuda.", default="cpu")


class Models:
    """Folder of each family of measures, and embeddings of the captions of systems of these names.

    Options that do not go together are refused, as is a model whose package is missing.
    """

    def __init__(
        self, systems: Iterable[str], options: ModelOptions, captions: Mapping[str, Sequence[Path]], threads: int | None
    ) -> None:
        self._options, self._threads = options, threads
        folders: dict[str, Path] = {}
        if options.model:
            from cuihop.adapters.caption_models import MODEL_MEASURES

            families = [*MODEL_MEASURES, _SIMILARITY]
            for family, path in named_files(options.model, "--model"):
                if family not in families or family in folders:
                    raise typer.BadParameter(f"--model takes MEASURE=FOLDER, each of {', '.join(families)} once")
                folders[family] = path
        if options.images is None and (captions or _SIMILARITY in folders):
            raise typer.BadParameter("similarity needs --images")
        if options.images is not None and bool(captions) == (_SIMILARITY in folders):
            raise typer.BadParameter("--images goes with either --model similarity=FOLDER or --caption-embeddings")
        if captions and any(len(captions.get(system, ())) != 1 for system in systems):
            raise typer.BadParameter("--caption-embeddings SYSTEM=FILE is needed once for each system")
        if options.bertscore_layer is not None and "BERTScore" not in folders:
            raise typer.BadParameter("--bertscore-layer goes with --model BERTScore=FOLDER")
        if folders:
            from cuihop.adapters.caption_models import PACKAGES_OF_MODELS
            from cuihop.adapters.local_models import check_folder

            for family, folder in folders.items():
                check_folder(folder, family)
                for package in PACKAGES_OF_MODELS[family]:
                    package.check()
        self._folders, self._captions = folders, {name: paths[0] for name, paths in captions.items()}

    def scores(
        self, system: str, references: Captions, predictions: Captions, rules: CaptionRules,
        measures: Sequence[Measure], blocks: CaptionBlocks,
    ) -> list[ExternalScores]:  # fmt: skip
        """Values of a system's captions by each model."""
        options, images = self._options, self._options.images
        if not self._folders and images is None:
            return []
        from cuihop.adapters.caption_models import Pictures, model_scores, similarity_scores
        from cuihop.adapters.local_models import ModelRun

        run = ModelRun(options.device, threads=self._threads, layer=options.bertscore_layer, blocks=blocks)
        scores = [
            model_scores(family, references, predictions, folder, rules=rules, run=run, measures=measures)
            for family, folder in self._folders.items()
            if family != _SIMILARITY
        ]
        if images is not None:
            pictures = Pictures(self._folders.get(_SIMILARITY), images, self._captions.get(system))
            scores.append(similarity_scores(references, predictions, pictures, official=rules.official, run=run))
        return scores


@option_group
class _InputOptions(NamesOptions):
    """Captions, files of concepts and values, columns, and rules."""

    references: Path = argument("Reference captions: image and caption.")
    predictions: list[str] = argument(
        "Predicted captions of the same images, each FILE or NAME=FILE.", metavar="PREDICTIONS", mark=FileUse.READS
    )
    reference_concepts: Path | None = file_option(
        "Concepts of the reference captions: images and C1;C2.", shown="found by the names of the graph"
    )
    predicted_concepts: list[str] | None = file_option(
        "Concepts of a system's captions, from the same extractor as those of the references.",
        metavar="SYSTEM=FILE", mark=FileUse.READS,
    )  # fmt: skip
    scores: list[str] | None = file_option(
        "Values of a system that another program computed: image, and a column for each measure.",
        metavar="SYSTEM=FILE", mark=FileUse.READS,
    )  # fmt: skip
    image_column: str | None = file_option("Column of the images in files of captions.")
    caption_column: str | None = file_option("Column of the captions.")
    measure: list[str] | None = measure_option(
        MEASURE_HELP, "-m", shown="ROUGE-1; with concepts concept-F1, with a graph nn-concept-F1; and all of --scores"
    )
    words: CaptionText = measure_option(
        "Words in lower case, with “number” for digits and without punctuation; or as they are given.",
        default="imageclef",
    )
    official: Official | None = measure_option("Follow ImageCLEFmedical's evaluator of this year, not the paper.")


@option_group
class _OutputOptions(VerboseOptions, ReportOptions):
    output: Path | None = file_option("File for the values of captions, as CSV.", "-o", mark=CSV)
    rows: int = option("Rows of each table of details, such as near misses.", default=10, min=0)


def caption_scores(
    context: typer.Context,
    inputs: _InputOptions,
    graph: OptionalEdgeOptions,
    near: ConstantNearnessOptions,
    models_of: ModelOptions,
    groups: GroupOptions,
    intervals: IntervalOptions,
    outputs: _OutputOptions,
    run: RunOptions,
) -> None:  # fmt: skip
    """Score predicted captions: ROUGE, BLEU, F1 of concepts with near misses, and values computed elsewhere.

    Several systems are ranked, and compared as in cuihop compare.
    """
    job = run.job(context)
    files = predictions_named(inputs.predictions, "PREDICTIONS")
    tests = intervals.of_tests(run.threads)
    measures = measures_named(inputs.measure) if inputs.measure else None
    if any(each.family == "BLEU" for each in measures or ()):
        SACREBLEU.check()
    embeddings = _by_system(models_of.caption_embeddings, "--caption-embeddings", files)
    models = Models(files, models_of, embeddings, run.threads)
    read = partial(
        Captions.read, image_column=inputs.image_column, caption_column=inputs.caption_column,
        official=inputs.official is not None,
    )  # fmt: skip
    references = read(inputs.references)
    external = {
        name: [ExternalScores.read(path) for path in paths]
        for name, paths in _by_system(inputs.scores, "--scores", files).items()
    }
    concepts = _concepts_of_files(inputs, files)
    predictions = {name: read(path) for name, path in files.items()}
    labels = groups.read_groups()
    rules = CaptionRules(inputs.words, inputs.official)
    if job.shard is not None:
        with job.open_shard(len(references)) as shard_job, shard_job.progress_bars() as bar_of:
            for name, captions in predictions.items():
                blocks = CaptionBlocks(shard_job.resources(CAPTIONS, bar_of(name)), job.shard)
                models.scores(name, references, captions, rules, measures or (), blocks)
                score_words_of_shard(references, captions, measures=measures, rules=rules, blocks=blocks)
        return
    with graph.opened(inputs.names) as opened:
        with job.progress_bars() as bar_of:

            def resources(label: str) -> Resources:
                return job.resources(CAPTIONS, bar_of(label))

            if opened is not None and not concepts:
                concepts = _concepts(references, predictions, measures, opened, resources)
            results: dict[str, CaptionScores] = {}
            for name, captions in predictions.items():
                blocks = CaptionBlocks(resources(f"models read {name}"))
                by_models = models.scores(name, references, captions, rules, measures or (), blocks)
                results[name] = score_captions(
                    references, captions, opened, measures=measures, rules=rules, concepts=concepts.get(name),
                    scores=(*external.get(name, ()), *by_models),
                    nearness=near.nearness, resources=resources(f"{name} scored"),
                )  # fmt: skip
        report = SystemReport(results, outputs.rows, tests)
        means = {name: mean_scores(each, **tests) for name, each in results.items()}
        report.add("scores", means, lambda rows: mean_table(rows, intervals.confidence))
        report.add_groups(labels, groups.by)
        report.add_matches({name: each.concepts for name, each in results.items()}, opened, "captions", types=False)
    values = ("Values of each caption", "per_query", outputs.output)
    report.write(values, outputs, json=outputs.json, verbose=outputs.verbose)
    job.finish()


def _concepts(
    references: Captions, predictions: Mapping[str, Captions], measures: Sequence[Measure] | None,
    graph: ConceptGraph, resources: Callable[[str], Resources],
) -> Mapping[str, CaptionConcepts]:  # fmt: skip
    """Name of a system → concepts of both sides by the names of the graph; empty if no measure needs them."""
    if measures is not None and not any(measure.family in _WITH_CONCEPTS for measure in measures):
        return {}
    true = caption_concepts(references, graph, resources("references searched for concepts"))
    return {
        name: CaptionConcepts(true, caption_concepts(captions, graph, resources(f"{name} searched for concepts")))
        for name, captions in predictions.items()
    }


def _concepts_of_files(options: _InputOptions, files: Mapping[str, Path]) -> Mapping[str, CaptionConcepts]:
    """Name of a system → concepts of the references and of its captions; without files there are none."""
    concepts = _by_system(options.predicted_concepts, "--predicted-concepts", files)
    if options.reference_concepts is None and not concepts:
        return {}
    if options.reference_concepts is None or any(len(concepts.get(name, ())) != 1 for name in files):
        raise typer.BadParameter(
            "--reference-concepts FILE and --predicted-concepts SYSTEM=FILE for each system go together"
        )
    true = ImageConcepts.read(options.reference_concepts)
    return {name: CaptionConcepts(true, ImageConcepts.read(concepts[name][0])) for name in files}


_WITH_CONCEPTS = frozenset({"concept-F1", "MEDCON", "nn-concept-F1", "factuality", "overall"})


def _by_system(texts: Sequence[str] | None, option: str, systems: Mapping[str, Path]) -> dict[str, list[Path]]:
    """Name of each system → its files; a single system needs no name."""
    files: dict[str, list[Path]] = {}
    for name, path in named_files(texts or (), option):
        system = next(iter(systems)) if name is None and len(systems) == 1 else name
        if system is None or system not in systems:
            raise typer.BadParameter(f"{option} takes SYSTEM=FILE; systems: {', '.join(systems)}")
        files.setdefault(system, []).append(path)
    return files
