"""The systems of ``cuihop compare``: score cards, and rankings that are evaluated alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import typer

from cuihop.cli.graph_option import GraphSource, advised_on_unknown, opened_graph
from cuihop.cli.output import note
from cuihop.cli.relevance_options import LabelSource, check_without_concepts, judged_ranking
from cuihop.cli.run_options import EVALUATION, Work
from cuihop.collection.dataset import Dataset
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.collection.judgements import Judgements
from cuihop.comparison.score_card import ScoreCard, is_score_card, system_name
from cuihop.errors import OutputError
from cuihop.evaluation.evaluate import evaluate_each, evaluate_shard
from cuihop.evaluation.judge import depth_of
from cuihop.evaluation.result import Evaluation
from cuihop.files.array_file import is_array
from cuihop.files.input_file import InputFile
from cuihop.graph import ConceptGraph
from cuihop.measures import Measure
from cuihop.measures.nearness import Nearness
from cuihop.rankings.blocks import RankingInBlocks
from cuihop.rankings.ranking import Order, Ranking, Similarity, Ties
from cuihop.rankings.reading import read_ranking_in_blocks
from cuihop.resources.resources import Resources


@dataclass(frozen=True)
class Conditions:
    """Conditions under which every ranking is evaluated: the options of the command line.

    Attributes:
        measures: the measures.
        concepts, corpus, qrels: files. columns: names of the columns of concept files. labels: their source.
        grades: word → grade, of judgements in words.
        graph: its address and vocabularies.
        corpus_embeddings: the embeddings of the corpus, each FILE or NAME=FILE.
        ties, order, similarity: order of equal scores, of files with scores and ranks, and of arrays.
        nearness: n, λ, direction and unknown. of_queries: missing, empty_ideal and query_image.
    """

    measures: tuple[Measure, ...]
    concepts: Path | None
    graph: GraphSource | None
    corpus: Path | None
    corpus_embeddings: Sequence[str]
    qrels: Path | None
    grades: Mapping[str, int]
    labels: LabelSource
    columns: Mapping[str, str | None]
    ties: Ties
    order: Order
    similarity: Similarity | None
    nearness: Nearness
    of_queries: Mapping[str, Any]

    @cached_property
    def data(self) -> Dataset:
        """The collection; the labels of the images are read with the graph."""
        images = [ImageConcepts.read(path, **self.columns) for path in (self.concepts, self.corpus) if path is not None]
        qrels = None if self.qrels is None else Judgements.read(self.qrels, self.grades)
        return Dataset(*images, qrels=qrels, labels=self.labels.read(images, self.graph, self.nearness.unknown))


def named_files(given: Sequence[str], option: str) -> list[tuple[str | None, Path]]:
    """Names and files, from NAME=FILE, or from FILE alone, which has no name.

    Raises:
        typer.BadParameter: a name or a file is missing, or a file is given twice.
    """
    found: list[tuple[str | None, Path]] = []
    for text in given:
        name, equals, file = (part.strip() for part in text.partition("="))
        if not equals or Path(text).exists():  # a file's own name may hold =
            found.append((None, Path(text)))
        elif name and file:
            found.append((name, Path(file)))
        else:
            raise typer.BadParameter(f"{option}: {text!r} is neither FILE nor NAME=FILE")
        if any(path.resolve() == found[-1][1].resolve() for _, path in found[:-1]):
            raise typer.BadParameter(f"{option}: {str(found[-1][1])!r} is given twice")
    return found


def systems_named(given: Sequence[str]) -> dict[str, ScoreCard | InputFile]:
    """Name of each system → its card, or the open file of its ranking.

    The name comes from the command line, or else from the card, or else from the file, without folder and suffix.

    Raises:
        typer.BadParameter: two systems have one name, or there are fewer than two.
        InputError: a file cannot be read, or is a card with faults.
    """
    found: dict[str, ScoreCard | InputFile] = {}
    for name, path in named_files(given, "SYSTEM"):
        file = InputFile(path)
        system = ScoreCard.read(file) if is_score_card(file) else file
        own = system.system if isinstance(system, ScoreCard) else system_name(path.name)
        if (name or own) in found:
            raise typer.BadParameter(f"two systems are called {name or own!r}: NAME=FILE gives one another name")
        found[name or own] = system
    if len(found) < 2:
        raise typer.BadParameter("two or more systems are needed")
    return found


def arrays_among(files: Mapping[str, InputFile]) -> set[str]:
    """The systems whose ranking is a NumPy array."""
    return {name for name, file in files.items() if is_array(file)}


def evaluations_of(
    files: Mapping[str, InputFile], conditions: Conditions, work: Work, checkpoint: str = EVALUATION
) -> dict[str, Evaluation]:
    """Evaluate every ranking under the same conditions; shared inputs are read once. Of a shard, nothing is returned.

    Args:
        files: of the systems. conditions: of all. work: threads, memory and shard.
        checkpoint: name of the file of finished blocks.

    Raises:
        typer.BadParameter: options do not go together.
        CuihopError: as `cuihop evaluate`.
    """
    arrays = arrays_among(files)
    if conditions.similarity is not None and not arrays:
        raise typer.BadParameter("--similarity goes with a NumPy array, and none is given")
    corpus_embeddings = _corpus_embeddings(conditions.corpus_embeddings, arrays)
    if conditions.concepts is None:
        return _by_judgements(files, arrays, conditions, work, checkpoint)
    return _by_concepts(files, arrays, corpus_embeddings, conditions, work, checkpoint)


def _evaluated(
    data: Dataset, rankings: Iterator[tuple[str, Ranking | RankingInBlocks]], graph: ConceptGraph | None,
    resources: Resources, **options: Any,
) -> dict[str, Evaluation]:  # fmt: skip
    if resources.places is None:
        return evaluate_each(data, rankings, graph, resources=resources, **options)
    evaluate_shard(data, rankings, graph, resources=resources, **options)
    return {}


def _corpus_embeddings(given: Sequence[str], arrays: set[str]) -> dict[str, Path]:
    """Name of a system of embeddings → the embeddings of the corpus."""
    found: dict[str, Path] = {}
    for name, path in named_files(given, "--corpus-embeddings"):
        if name is None and len(arrays) == 1:
            (name,) = arrays
        if name not in arrays or name in found:
            listed = ", ".join(sorted(arrays)) or "none is given"
            raise typer.BadParameter(f"--corpus-embeddings takes NAME=FILE, once for a NumPy array; arrays: {listed}")
        found[name] = path
    return found


def _by_judgements(
    files: Mapping[str, InputFile], arrays: set[str], conditions: Conditions, work: Work, checkpoint: str
) -> dict[str, Evaluation]:
    """Without concepts, and so without a graph."""
    if conditions.corpus is not None or conditions.corpus_embeddings:
        raise typer.BadParameter("--corpus and --corpus-embeddings go with --concepts")
    check_without_concepts(conditions.measures)
    data = conditions.data

    def rankings() -> Iterator[tuple[str, Ranking | RankingInBlocks]]:
        for name, file in files.items():
            similarity = conditions.similarity if name in arrays else None
            yield name, judged_ranking(
                file, data.qrels, data.labels, depth=depth_of(conditions.measures), ties=conditions.ties,
                order=conditions.order, similarity=similarity,
                query_image=conditions.of_queries["query_image"], resources=work.limits(),
            )  # fmt: skip

    if not arrays and work.checkpoint is not None:
        option = "--checkpoint" if work.opened is None else "--shard"
        note(f"rankings read from files are judged at once: {option} has no effect")
    options = {"measures": conditions.measures, **conditions.of_queries}
    if not arrays:
        return {} if work.opened else evaluate_each(data, rankings(), resources=work.limits(), **options)
    with work.progress_bars() as bar_of:
        resources = work.resources(checkpoint, bar_of("ranked and judged queries"))
        return _evaluated(data, rankings(), None, resources, **options)


def _by_concepts(
    files: Mapping[str, InputFile], arrays: set[str], corpus_embeddings: Mapping[str, Path], conditions: Conditions,
    work: Work, checkpoint: str,
) -> dict[str, Evaluation]:  # fmt: skip
    if conditions.graph is None and any(measure.family == "nn-CUI" for measure in conditions.measures):
        raise typer.BadParameter("nn-IoU needs --graph (or CUIHOP_GRAPH)")
    data = conditions.data
    names, held = tuple(data.images[0]), None if data.corpus is None else tuple(data.corpus)
    depth = depth_of(conditions.measures)

    def rankings() -> Iterator[tuple[str, Ranking | RankingInBlocks]]:
        for name, file in files.items():
            yield name, read_ranking_in_blocks(
                file, names, held, depth=depth, corpus_embeddings=corpus_embeddings.get(name), ties=conditions.ties,
                order=conditions.order, similarity=conditions.similarity if name in arrays else None,
                query_image=conditions.of_queries["query_image"], resources=work.limits(),
            )  # fmt: skip

    with (
        nullcontext() if conditions.graph is None else opened_graph(conditions.graph) as opened,
        advised_on_unknown(),
        work.progress_bars() as bar_of,
    ):
        resources = work.resources(checkpoint, bar_of("evaluated queries"))
        return _evaluated(
            data, rankings(), opened, resources, measures=conditions.measures, nearness=conditions.nearness,
            **conditions.of_queries,
        )  # fmt: skip


def check_card_names(folder: Path | None, systems: Iterable[str]) -> None:
    """Refuse before the work a name of a system that cannot be that of its card's file; without a folder any may be.

    Raises:
        OutputError: names the system.
    """
    for name in systems if folder is not None else ():
        if Path(name).name != name or "\0" in name:
            raise OutputError(f"{folder}: no score card can be called {name!r}; NAME=FILE gives another name")


def write_cards(folder: Path, cards: Mapping[str, ScoreCard]) -> None:
    """Write a file for each card, under the name of its system.

    Raises:
        OutputError: the folder cannot be created, a name cannot be that of a file, or a file cannot be written.
    """
    check_card_names(folder, cards)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: not a folder for score cards: {error.strerror or error}") from error
    for name, card in cards.items():
        card.write(folder / f"{name}.json")
