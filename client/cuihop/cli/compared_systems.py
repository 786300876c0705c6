"""Evaluation of systems: score cards, and rankings that are evaluated under the same conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import typer

from cuihop.cli.evaluation_options import EvaluationOptions
from cuihop.cli.graph_option import advised_on_unknown
from cuihop.cli.output import note
from cuihop.cli.run_options import EVALUATION, Job, ThreadsOptions
from cuihop.collection.dataset import Dataset
from cuihop.comparison.comparison import Comparison
from cuihop.comparison.score_card import ScoreCard, is_score_card, system_name
from cuihop.errors import InputError, OutputError, output_errors
from cuihop.evaluation.evaluate import evaluate_each, evaluate_shard
from cuihop.evaluation.judge import depth_of
from cuihop.evaluation.result import Evaluation
from cuihop.files.arrays import is_array
from cuihop.files.input_file import InputFile, path_text
from cuihop.graph import ConceptGraph
from cuihop.measures import Measure
from cuihop.notebooks.table import Table
from cuihop.rankings.blocks import RankingInBlocks
from cuihop.rankings.ranking import Ranking
from cuihop.rankings.reading import read_ranking_in_blocks, read_run
from cuihop.resources.progress import Progress

NamedRankings: TypeAlias = Iterable[tuple[str, Ranking | RankingInBlocks]]
RankingsOf: TypeAlias = Callable[[ConceptGraph | None, Job, Callable[[str], Progress]], NamedRankings]


def named_files(texts: Sequence[str], option: str) -> list[tuple[str | None, Path]]:
    """Names and files, from NAME=FILE, or from FILE alone, which has no name; refuses one that is given twice."""
    named: list[tuple[str | None, Path]] = []
    for text in texts:
        name, equals, file = (part.strip() for part in text.partition("="))
        if not equals or Path(text).exists():  # a file's own name may hold =
            named.append((None, Path(text)))
        elif name and file:
            named.append((path_text(name), Path(file)))
        else:
            raise typer.BadParameter(f"{option}: {text!r} is neither FILE nor NAME=FILE")
        if any(path.resolve() == named[-1][1].resolve() for _, path in named[:-1]):
            raise typer.BadParameter(f"{option}: {str(named[-1][1])!r} is given twice")
    return named


def systems_named(texts: Sequence[str]) -> dict[str, ScoreCard | InputFile]:
    """Name of each system → its card, or the open file of its ranking; refuses fewer than two, and two of one name.

    The name comes from the command line, or else from the card, or else from the file, without folder and suffix.
    """
    systems: dict[str, ScoreCard | InputFile] = {}
    for name, path in named_files(texts, "SYSTEM"):
        file = InputFile(path)
        system = ScoreCard.read(file) if is_score_card(file) else file
        own = system.system if isinstance(system, ScoreCard) else system_name(path.name)
        if (name or own) in systems:
            raise typer.BadParameter(f"two systems are called {name or own!r}; NAME=FILE renames one")
        systems[name or own] = system
    if len(systems) < 2:
        raise typer.BadParameter("two or more systems are needed")
    return systems


def rankings_of_files(
    files: Mapping[str, InputFile], options: EvaluationOptions, measures: Sequence[Measure], data: Dataset, job: Job,
    corpus_embeddings: Mapping[str, Path],
) -> Iterator[tuple[str, Ranking | RankingInBlocks]]:  # fmt: skip
    """Read the rankings of systems one by one: of images with concepts, else of what judgements or labels name."""
    depth, corpus = depth_of(measures), None if data.corpus is None else tuple(data.corpus)
    if data.queries is None and data.qrels is None and data.labels is None:
        raise typer.BadParameter("give --concepts, --qrels or --labels: relevance has to come from one of them")
    for name, file in files.items():
        if data.queries is None and data.qrels is not None:
            yield name, read_run(file, tuple(data.qrels), depth=depth, ties=options.ties, order=options.order)
            continue
        queries = tuple(data.queries or ()) if data.labels is None or data.queries is not None else data.labels.images
        yield name, read_ranking_in_blocks(
            file, queries, corpus, depth=depth, ties=options.ties, order=options.order,
            similarity=options.similarity if len(files) == 1 or is_array(file) else None,
            corpus_embeddings=corpus_embeddings.get(name), query_image=options.query_image, resources=job.limits(),
        )  # fmt: skip


def evaluations_of(
    rankings: RankingsOf, options: EvaluationOptions, measures: Sequence[Measure], data: Dataset, job: Job, *,
    in_blocks: bool, checkpoint: str = EVALUATION,
) -> dict[str, Evaluation]:  # fmt: skip
    """Evaluate every ranking under the same conditions; shared inputs are read once. Of a shard, nothing is returned.

    Args:
        rankings: makes the rankings, from the open graph, the job and its progress bars.
        in_blocks: at least one ranking is made in blocks. checkpoint: name of the file of finished blocks.
    """
    if data.queries is None:
        for measure in measures:
            if measure.kind == "concepts":
                raise InputError(
                    "a concept-based measure without concepts", column="measures", found=str(measure),
                    expected="the concepts of the images: --concepts FILE",
                )  # fmt: skip
        if not in_blocks:
            if job.checkpoint is not None:
                option = "--checkpoint" if job.opened is None else "--shard"
                note(f"rankings read from files are judged at once: {option} has no effect")
            job = replace(job, checkpoint=None)
    elif options.graph is None and any(measure.family == "nn-CUI" for measure in measures):
        raise typer.BadParameter("nn-IoU needs --graph (or CUIHOP_GRAPH)")
    if data.queries is None and not in_blocks and job.opened is not None:
        return {}
    with (
        nullcontext() if data.queries is None else options.opened() as graph,
        advised_on_unknown(),
        job.progress_bars() as bar_of,
    ):
        label = "ranked and judged queries" if data.queries is None else "evaluated queries"
        resources = job.resources(checkpoint, bar_of(label))
        conditions: dict[str, Any] = {"measures": measures, "nearness": options.nearness, **options.of_queries}
        named = rankings(graph, job, bar_of)
        if job.opened is None:
            return evaluate_each(data, named, graph, resources=resources, **conditions)
        evaluate_shard(data, named, graph, resources=resources, **conditions)
        return {}


def recorded_rankings(
    rankings: NamedRankings, into: dict[str, Ranking | RankingInBlocks]
) -> Iterator[tuple[str, Ranking | RankingInBlocks]]:
    """The rankings, which also stay in a dictionary by their names."""
    for name, ranking in rankings:
        into[name] = ranking
        yield name, ranking


def write_page(
    path: Path, result: Evaluation | Comparison, options: EvaluationOptions, data: Dataset,
    ranking: Ranking | RankingInBlocks | Mapping[str, Ranking | RankingInBlocks], tables: Sequence[Table],
    run: ThreadsOptions,
) -> None:  # fmt: skip
    """Write the HTML report; queries are explained if there are concepts and a graph."""
    from cuihop.reports import html_report

    with nullcontext() if data.queries is None else options.opened() as graph:
        html_report(result, path, data=data, ranking=ranking, graph=graph, tables=tables, threads=run.threads)


def embeddings_of_corpus(texts: Sequence[str], files: Mapping[str, InputFile]) -> dict[str, Path]:
    """Name of a system of embeddings → the embeddings of the corpus, from NAME=FILE, once for an array."""
    arrays = {name for name, file in files.items() if is_array(file)}
    embeddings: dict[str, Path] = {}
    for name, path in named_files(texts, "--corpus-embeddings"):
        if name is None and len(arrays) == 1:
            (name,) = arrays
        if name not in arrays or name in embeddings:
            listed = ", ".join(sorted(arrays)) or "none is given"
            raise typer.BadParameter(f"--corpus-embeddings takes NAME=FILE, once for a NumPy array; arrays: {listed}")
        embeddings[name] = path
    return embeddings


def check_card_names(folder: Path | None, systems: Iterable[str]) -> None:
    """Refuse early a name of a system that cannot be that of its card's file; without a folder all are allowed."""
    for name in systems if folder is not None else ():
        if Path(name).name != name or "\0" in name:
            raise OutputError(f"{folder}: no score card can be called {name!r}; NAME=FILE renames the system")


def write_cards(folder: Path, cards: Mapping[str, ScoreCard]) -> None:
    """Write a file for each card, under the name of its system; an `OutputError` says what cannot be written."""
    check_card_names(folder, cards)
    with output_errors(f"{folder}: not a folder for score cards"):
        folder.mkdir(parents=True, exist_ok=True)
    for name, card in cards.items():
        card.write(folder / f"{name}.json")
