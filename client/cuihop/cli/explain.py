"""``cuihop explain``: the overlap of two images, the order of two images for a query, and the sensitivity of both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from cuihop.added_names import without_added_names
from cuihop.cli.command_files import PICTURE
from cuihop.cli.evaluation_options import ColumnOptions, CorpusEmbeddingsOption, SimilarityOption, TiesOption
from cuihop.cli.graph_option import GraphOptions, NamesOption, NearnessOptions, advised_on_unknown
from cuihop.cli.output import JsonOption, note, path_text, print_json, write_and_show
from cuihop.cli.print_explanation import (
    print_inputs,
    print_pair,
    print_pair_sensitivity,
    print_query,
    print_query_sensitivity,
)
from cuihop.collection.dataset import Dataset
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.errors import InputError, LimitExceeded
from cuihop.evaluation.evaluate import evaluate
from cuihop.explanation import explain_pair, explain_query, sensitivity_of_pair, sensitivity_of_query
from cuihop.explanation.sensitivity import HUBS, LAMS, NS, Grid, PairSensitivity, QuerySensitivity
from cuihop.files.likely_causes import cause_of_strange_name
from cuihop.files.text_lines import quoted
from cuihop.graph import ConceptGraph
from cuihop.measures.nearness import Nearness
from cuihop.rankings.blocks import RankingInBlocks
from cuihop.rankings.ranking import Ranking
from cuihop.rankings.reading import read_ranking_in_blocks
from cuihop.relevance.image_collection import ImageCollection
from cuihop.snapshot.neighbour_dictionary import NeighbourDictionary

_PICTURE = "Picture"

explain = typer.Typer(
    name="explain",
    help="Explain nn-IoU: the matching concepts and their paths, and the influence of n, λ and hubs.",
    no_args_is_help=True,
)

ImagesArgument = Annotated[
    Path, typer.Argument(help="Concepts of the images: CSV, image and C1;C2.", show_default=False)
]


@dataclass(frozen=True, kw_only=True)
class _ExplainOptions(NearnessOptions):
    """Parameters of an explanation, and its picture."""

    look: Annotated[
        int,
        typer.Option("--look", min=0, help="Hops beyond -n in which to show the nearest concept where none is near."),
    ] = 3
    sensitivity: Annotated[
        bool, typer.Option("--sensitivity", help="Add results for other n and λ, and without hubs.")
    ] = False
    hubs: Annotated[
        list[int] | None,
        typer.Option(
            "--hubs", min=0, show_default=str(HUBS[0]),
            help="With --sensitivity: a hub has more children than this. May be repeated.",
        ),
    ] = None  # fmt: skip
    names: NamesOption = None
    save: Annotated[
        Path | None,
        typer.Option("--save", help="File for a picture: .svg, .png or .pdf.", show_default=False),
        PICTURE,
    ] = None
    json: JsonOption = False

    @property
    def grid(self) -> Grid | None:
        """The values of ``--sensitivity``; ``None`` without it."""
        nearness = self.nearness
        return Grid([*NS, nearness.n], [*LAMS, nearness.lam], self.hubs or HUBS) if self.sensitivity else None


@dataclass(frozen=True, kw_only=True)
class _QueryOptions:
    """The images to compare, and the ranking in which they are compared."""

    query: Annotated[
        str | None,
        typer.Argument(
            help="The query: one of IMAGES.", show_default="with --ranking: the one with the smallest nn-CUI@K"
        ),
    ] = None
    above: Annotated[
        str | None,
        typer.Option(
            "--above", help="The image expected above the other.", show_default="the best image of the ideal ranking"
        ),
    ] = None
    below: Annotated[
        str | None,
        typer.Option(
            "--below", help="The image expected below it.", show_default="the first of the ranking, or the next best"
        ),
    ] = None
    corpus: Annotated[
        Path | None, typer.Option("--corpus", help="Concepts of the images of the corpus; IMAGES itself by default.")
    ] = None
    ranking: Annotated[
        Path | None,
        typer.Option(
            "--ranking",
            help="Ranking in which the two are compared: TREC run; CSV or Parquet; .npy of row numbers or embeddings.",
        ),
    ] = None
    corpus_embeddings: CorpusEmbeddingsOption = None
    similarity: SimilarityOption = None
    ties: TiesOption = "name"
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="The cut-off K of DCG@K.")] = 10


@explain.command()
def pair(
    images: ImagesArgument,
    a: Annotated[str, typer.Argument(help="Name of an image.", show_default=False)],
    b: Annotated[str, typer.Argument(help="Name of the other image.", show_default=False)],
    graph: GraphOptions,
    columns: ColumnOptions,
    options: _ExplainOptions,
    corpus: Annotated[
        Path | None, typer.Option("--corpus", help="File with the other image; IMAGES itself by default.")
    ] = None,
) -> None:
    """Explain the nn-IoU of two images, concept by concept."""
    own = ImageConcepts.read(images, **columns.columns)
    other = own if corpus is None else ImageConcepts.read(corpus, **columns.columns)
    sets = (_concepts(own, a), _concepts(other, b))
    files = [own] if other is own else [own, other]
    _explain_sets(sets, (a, b), files, graph, options)


@explain.command()
def concepts(
    a: Annotated[str, typer.Argument(help="Concepts of one image: 'C1;C2'.", show_default=False)],
    b: Annotated[str, typer.Argument(help="Concepts of the other image.", show_default=False)],
    graph: GraphOptions,
    options: _ExplainOptions,
) -> None:
    """Explain the nn-IoU of two lists of concepts."""
    _explain_sets((a, b), ("A", "B"), [], graph, options)


@explain.command()
def query(
    images: ImagesArgument,
    graph: GraphOptions,
    columns: ColumnOptions,
    comparison: _QueryOptions,
    options: _ExplainOptions,
) -> None:
    """Explain why one image ranks above another for a query, ideally and in a ranking."""
    queries = ImageConcepts.read(images, **columns.columns)
    corpus = None if comparison.corpus is None else ImageConcepts.read(comparison.corpus, **columns.columns)
    ranked = None
    if comparison.ranking is not None:
        ranked = read_ranking_in_blocks(
            comparison.ranking, tuple(queries), None if corpus is None else tuple(corpus), ties=comparison.ties,
            similarity=comparison.similarity, corpus_embeddings=comparison.corpus_embeddings,
        )  # fmt: skip
    data, nearness, grid = Dataset(queries, corpus), options.nearness, options.grid
    with _opened(graph, options.names) as opened:
        query = comparison.query or _worst_query(data, ranked, opened, comparison.k, nearness)
        result = explain_query(
            data, query, opened, above=comparison.above, below=comparison.below, ranking=ranked, k=comparison.k,
            nearness=nearness, look=options.look,
        )  # fmt: skip
        varied = None
        if grid is not None:
            varied = sensitivity_of_query(
                data, query, opened, above=result.above, below=result.below, ranking=ranked, k=comparison.k, grid=grid,
                nearness=nearness,
            )  # fmt: skip

    def show(written: Mapping[str, Path]) -> None:
        if options.json:
            print_json({**result.as_dict(), **_added(varied, written)})
            return
        print_query(result)
        print_inputs(result.inputs)
        if varied is not None:
            print_query_sensitivity(varied, result)
        for path in written.values():
            note(f"picture: {path}")

    write_and_show([(_PICTURE, options.save, result.save)], show)


def _worst_query(
    data: Dataset, ranking: Ranking | RankingInBlocks | None, graph: ConceptGraph, k: int, nearness: Nearness
) -> str:
    """The query with the smallest nn-CUI@K."""
    if ranking is None:
        raise typer.BadParameter("without --ranking, name a QUERY")
    measure = f"nn-CUI@{k}"
    worst = evaluate(data, ranking, graph, measures=measure, nearness=nearness, missing="skip").worst(1)
    if not worst.rows:
        raise InputError("no query has a value", file=ranking.source, found=measure, expected="a ranking of a query")
    query, value = worst.rows[0]
    note(f"query {query}: the smallest {measure}, {value}")
    return str(query)


def _explain_sets(
    sets: tuple[str | Iterable[str], str | Iterable[str]],
    titles: tuple[str, str],
    files: list[ImageConcepts],
    graph: GraphOptions,
    options: _ExplainOptions,
) -> None:
    nearness, grid = options.nearness, options.grid
    inputs = {name: images.account for name, images in zip(("concepts", "corpus"), files, strict=False)}
    with _opened(graph, options.names) as opened:
        images = Dataset(*files) if files else dict(zip(titles, sets, strict=True))
        ImageCollection.of(images, opened, "drop" if nearness.unknown == "drop" else "isolated")  # some are in it
        result = explain_pair(*sets, opened, nearness, look=options.look, titles=titles)
        varied = None
        if grid is not None:
            varied = sensitivity_of_pair(*sets, opened, grid, nearness=nearness)

    def show(written: Mapping[str, Path]) -> None:
        if options.json:
            print_json({**result.as_dict(), **_added(varied, written), "inputs": inputs})
            return
        print_pair(result)
        print_inputs(inputs)
        if varied is not None:
            print_pair_sensitivity(varied, result)
        for path in written.values():
            note(f"picture: {path}")

    write_and_show([(_PICTURE, options.save, result.save)], show)


def _added(varied: PairSensitivity | QuerySensitivity | None, written: Mapping[str, Path]) -> dict[str, Any]:
    """Fields that the command adds to the JSON of an explanation."""
    return {
        "sensitivity": None if varied is None else varied.as_dict(), "picture": path_text(written.get(_PICTURE)),
    }  # fmt: skip


@contextmanager
def _opened(options: GraphOptions, names: Path | None) -> Iterator[ConceptGraph]:
    """Open the graph; where an option would have helped, advise it."""
    with options.opened(names) as opened:
        if isinstance(graph := without_added_names(opened), NeighbourDictionary):
            graph.refuse("paths")
        try:
            with advised_on_unknown():
                yield opened
        except LimitExceeded:
            note("--look 0 searches no farther than -n; without --sensitivity the request is smaller")
            raise


def _concepts(images: ImageConcepts, image: str) -> frozenset[str]:
    if image not in images:
        raise InputError(
            "no such image", file=images.source, found=quoted(image),
            expected=f"one of its {len(images):,} images", advice=cause_of_strange_name(image, images),
        )  # fmt: skip
    return images[image]
