"""``cuihop explain``: the overlap of two images, the order of two images for a query, and the sensitivity of both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from cuihop.added_names import without_added_names
from cuihop.cli.command_files import PICTURE
from cuihop.cli.evaluation_options import (
    ConceptColumnOption,
    CorpusEmbeddingsOption,
    ImageColumnOption,
    SimilarityOption,
    TiesOption,
)
from cuihop.cli.graph_option import (
    ContentOption,
    DirectionOption,
    GraphOption,
    GraphSource,
    NamesOption,
    UnknownOption,
    WeightedLambdaOption,
    WeightOption,
    WithinSabOption,
    advised_on_unknown,
    opened_graph,
)
from cuihop.cli.nn_iou import ThresholdOption
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
CorpusOption = Annotated[
    Path | None, typer.Option("--corpus", help="Concepts of the images of the corpus; IMAGES itself by default.")
]
LookOption = Annotated[
    int, typer.Option("--look", min=0, help="Hops beyond -n in which to show the nearest concept where none is near.")
]
SensitivityOption = Annotated[
    bool, typer.Option("--sensitivity", help="Add results for other n and λ, and without hubs.")
]
HubsOption = Annotated[
    list[int] | None,
    typer.Option(
        "--hubs", min=0, show_default=str(HUBS[0]),
        help="With --sensitivity: a hub has more children than this. May be repeated.",
    ),
]  # fmt: skip
SaveOption = Annotated[
    Path | None,
    typer.Option("--save", help="File for a picture: .svg, .png or .pdf.", show_default=False),
    PICTURE,
]


@explain.command()
def pair(
    images: ImagesArgument,
    a: Annotated[str, typer.Argument(help="Name of an image.", show_default=False)],
    b: Annotated[str, typer.Argument(help="Name of the other image.", show_default=False)],
    graph: GraphOption,
    within_sab: WithinSabOption = None,
    corpus: Annotated[
        Path | None, typer.Option("--corpus", help="File with the other image; IMAGES itself by default.")
    ] = None,
    image_column: ImageColumnOption = None,
    concept_column: ConceptColumnOption = None,
    hops: ThresholdOption = 1,
    lam: WeightedLambdaOption = None,
    weight: WeightOption = "constant",
    ic: ContentOption = "Sanchez",
    direction: DirectionOption = "any",
    unknown: UnknownOption = "error",
    look: LookOption = 3,
    sensitivity: SensitivityOption = False,
    hubs: HubsOption = None,
    names: NamesOption = None,
    save: SaveOption = None,
    json: JsonOption = False,
) -> None:
    """Explain the nn-IoU of two images, concept by concept."""
    columns = {"image_column": image_column, "concept_column": concept_column}
    own = ImageConcepts.read(images, **columns)
    other = own if corpus is None else ImageConcepts.read(corpus, **columns)
    sets = (_concepts(own, a), _concepts(other, b))
    files = [own] if other is own else [own, other]
    nearness = Nearness(hops, lam, direction, unknown, weight, ic)
    grid = _grid(sensitivity, nearness, hubs)
    _explain_sets(sets, (a, b), files, (GraphSource(graph, within_sab), names), nearness, look, grid, save, json)


@explain.command()
def concepts(
    a: Annotated[str, typer.Argument(help="Concepts of one image: 'C1;C2'.", show_default=False)],
    b: Annotated[str, typer.Argument(help="Concepts of the other image.", show_default=False)],
    graph: GraphOption,
    within_sab: WithinSabOption = None,
    hops: ThresholdOption = 1,
    lam: WeightedLambdaOption = None,
    weight: WeightOption = "constant",
    ic: ContentOption = "Sanchez",
    direction: DirectionOption = "any",
    unknown: UnknownOption = "error",
    look: LookOption = 3,
    sensitivity: SensitivityOption = False,
    hubs: HubsOption = None,
    names: NamesOption = None,
    save: SaveOption = None,
    json: JsonOption = False,
) -> None:
    """Explain the nn-IoU of two lists of concepts."""
    nearness = Nearness(hops, lam, direction, unknown, weight, ic)
    grid = _grid(sensitivity, nearness, hubs)
    _explain_sets((a, b), ("A", "B"), [], (GraphSource(graph, within_sab), names), nearness, look, grid, save, json)


@explain.command()
def query(
    images: ImagesArgument,
    graph: GraphOption,
    within_sab: WithinSabOption = None,
    query: Annotated[
        str | None,
        typer.Argument(
            help="The query: one of IMAGES.", show_default="with --ranking: the one with the smallest nn-CUI@K"
        ),
    ] = None,
    above: Annotated[
        str | None,
        typer.Option(
            "--above", help="The image expected above the other.", show_default="the best image of the ideal ranking"
        ),
    ] = None,
    below: Annotated[
        str | None,
        typer.Option(
            "--below", help="The image expected below it.", show_default="the first of the ranking, or the next best"
        ),
    ] = None,
    corpus: CorpusOption = None,
    image_column: ImageColumnOption = None,
    concept_column: ConceptColumnOption = None,
    ranking: Annotated[
        Path | None,
        typer.Option(
            "--ranking",
            help="Ranking in which the two are compared: TREC run; CSV or Parquet; .npy of row numbers or embeddings.",
        ),
    ] = None,
    corpus_embeddings: CorpusEmbeddingsOption = None,
    similarity: SimilarityOption = None,
    ties: TiesOption = "name",
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="The cut-off K of DCG@K.")] = 10,
    hops: ThresholdOption = 1,
    lam: WeightedLambdaOption = None,
    weight: WeightOption = "constant",
    ic: ContentOption = "Sanchez",
    direction: DirectionOption = "any",
    unknown: UnknownOption = "error",
    look: LookOption = 3,
    sensitivity: SensitivityOption = False,
    hubs: HubsOption = None,
    names: NamesOption = None,
    save: SaveOption = None,
    json: JsonOption = False,
) -> None:
    """Explain why one image ranks above another for a query, ideally and in a ranking."""
    columns = {"image_column": image_column, "concept_column": concept_column}
    queries = ImageConcepts.read(images, **columns)
    held = None if corpus is None else ImageConcepts.read(corpus, **columns)
    ranked = None
    if ranking is not None:
        ranked = read_ranking_in_blocks(
            ranking, tuple(queries), None if held is None else tuple(held), ties=ties, similarity=similarity,
            corpus_embeddings=corpus_embeddings,
        )  # fmt: skip
    data, nearness = Dataset(queries, held), Nearness(hops, lam, direction, unknown, weight, ic)
    grid = _grid(sensitivity, nearness, hubs)
    with _opened(GraphSource(graph, within_sab), names) as opened:
        if query is None:
            query = _worst_query(data, ranked, opened, k, nearness)
        result = explain_query(
            data, query, opened, above=above, below=below, ranking=ranked, k=k, nearness=nearness, look=look,
        )  # fmt: skip
        varied = None
        if grid is not None:
            varied = sensitivity_of_query(
                data,
                query,
                opened,
                above=result.above,
                below=result.below,
                ranking=ranked,
                k=k,
                grid=grid,
                nearness=nearness,
            )

    def show(written: Mapping[str, Path]) -> None:
        if json:
            print_json({**result.as_dict(), **_added(varied, written)})
            return
        print_query(result)
        print_inputs(result.inputs)
        if varied is not None:
            print_query_sensitivity(varied, result)
        for path in written.values():
            note(f"picture: {path}")

    write_and_show([(_PICTURE, save, result.save)], show)


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


def _grid(sensitivity: bool, nearness: Nearness, hubs: list[int] | None) -> Grid | None:
    """The values of ``--sensitivity``; ``None`` without it."""
    return Grid([*NS, nearness.n], [*LAMS, nearness.lam], hubs or HUBS) if sensitivity else None


def _explain_sets(
    sets: tuple[str | Iterable[str], str | Iterable[str]],
    titles: tuple[str, str],
    files: list[ImageConcepts],
    source: tuple[GraphSource, Path | None],
    nearness: Nearness,
    look: int,
    grid: Grid | None,
    save: Path | None,
    json: bool,
) -> None:
    inputs = {name: images.account for name, images in zip(("concepts", "corpus"), files, strict=False)}
    with _opened(*source) as opened:
        images = Dataset(*files) if files else dict(zip(titles, sets, strict=True))
        ImageCollection.of(images, opened, "drop" if nearness.unknown == "drop" else "isolated")  # some are in it
        result = explain_pair(*sets, opened, nearness, look=look, titles=titles)
        varied = None
        if grid is not None:
            varied = sensitivity_of_pair(*sets, opened, grid, nearness=nearness)

    def show(written: Mapping[str, Path]) -> None:
        if json:
            print_json({**result.as_dict(), **_added(varied, written), "inputs": inputs})
            return
        print_pair(result)
        print_inputs(inputs)
        if varied is not None:
            print_pair_sensitivity(varied, result)
        for path in written.values():
            note(f"picture: {path}")

    write_and_show([(_PICTURE, save, result.save)], show)


def _added(varied: PairSensitivity | QuerySensitivity | None, written: Mapping[str, Path]) -> dict[str, Any]:
    """Fields that the command adds to the JSON of an explanation."""
    return {
        "sensitivity": None if varied is None else varied.as_dict(), "picture": path_text(written.get(_PICTURE)),
    }  # fmt: skip


@contextmanager
def _opened(source: GraphSource, names: Path | None) -> Iterator[ConceptGraph]:
    """Open the graph; where an option would have helped, advise it."""
    with opened_graph(source, names) as opened:
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
