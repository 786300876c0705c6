"""``cuihop explain``: why two images overlap as they do, why one ranks above another, and how sensitive that is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from cuihop.cli.command_files import FileUse
from cuihop.cli.evaluation_options import ConceptColumnOption, ImageColumnOption
from cuihop.cli.graph_option import DirectionOption, GraphOption, LambdaOption, advised_on_unknown, opened_graph
from cuihop.cli.output import JsonOption, note, print_json
from cuihop.cli.print_explanation import (
    show_inputs,
    show_pair,
    show_pair_sensitivity,
    show_query,
    show_query_sensitivity,
)
from cuihop.collection.dataset import Dataset
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.errors import InputError, LimitExceeded
from cuihop.explanation import explain_pair, explain_query, sensitivity_of_pair, sensitivity_of_query
from cuihop.explanation.sensitivity import HUBS, LAMS, NS, Grid, PairSensitivity, QuerySensitivity
from cuihop.files.likely_causes import cause_of_strange_name
from cuihop.files.text_lines import quoted
from cuihop.graph import ConceptGraph, Direction
from cuihop.measures.nearness import Nearness
from cuihop.measures.resolution import Unknown
from cuihop.rankings.ranking import Similarity, Ties
from cuihop.rankings.reading import read_ranking_in_blocks
from cuihop.relevance.image_collection import ImageCollection

__all__ = ["explain"]

explain = typer.Typer(
    name="explain",
    help="Explain nn-IoU: which concepts match, through whom and by what path, and what depends on n, λ and hubs.",
    no_args_is_help=True,
)

ImagesArgument = Annotated[
    Path, typer.Argument(help="Concepts of the images: CSV, image and C1;C2.", show_default=False)
]
CorpusOption = Annotated[
    Path | None,
    typer.Option("--corpus", help="Concepts of the images that can be retrieved; IMAGES itself if not given."),
]
HopsOption = Annotated[int, typer.Option("--hops", "-n", min=0, help="Concepts so near count.")]
UnknownOption = Annotated[
    Unknown,
    typer.Option(
        "--unknown", help="Identifiers that the graph cannot use: refuse, or keep as near nothing but themselves."
    ),
]
LookOption = Annotated[
    int, typer.Option("--look", min=0, help="So many hops beyond -n to look for the nearest of what earned nothing.")
]
SensitivityOption = Annotated[bool, typer.Option("--sensitivity", help="Also with other n, other λ, and without hubs.")]
HubsOption = Annotated[
    list[int] | None,
    typer.Option(
        "--hubs", min=0, show_default=str(HUBS[0]),
        help="With --sensitivity: a hub is a concept with more children than that; may be repeated.",
    ),
]  # fmt: skip
SaveOption = Annotated[
    Path | None,
    typer.Option("--save", help="Where a picture goes: .svg, .png or .pdf.", show_default=False),
    FileUse.WRITES,
]


@explain.command()
def pair(
    images: ImagesArgument,
    a: Annotated[str, typer.Argument(help="An image.", show_default=False)],
    b: Annotated[str, typer.Argument(help="Another image.", show_default=False)],
    graph: GraphOption,
    corpus: Annotated[
        Path | None, typer.Option("--corpus", help="Where the other image stands; IMAGES itself if not given.")
    ] = None,
    image_column: ImageColumnOption = None,
    concept_column: ConceptColumnOption = None,
    hops: HopsOption = 1,
    lam: LambdaOption = 0.5,
    direction: DirectionOption = "any",
    unknown: UnknownOption = "error",
    look: LookOption = 3,
    sensitivity: SensitivityOption = False,
    hubs: HubsOption = None,
    save: SaveOption = None,
    json: JsonOption = False,
) -> None:
    """Explain the nn-IoU of two images, concept by concept."""
    columns = {"image_column": image_column, "concept_column": concept_column}
    own = ImageConcepts.read(images, **columns)
    other = own if corpus is None else ImageConcepts.read(corpus, **columns)
    sets = (_concepts(own, a, "A"), _concepts(other, b, "B"))
    _explain_sets(
        sets,
        (a, b),
        [own, *([] if other is own else [other])],
        graph,
        hops,
        lam,
        direction,
        unknown,
        look,
        sensitivity,
        hubs,
        save,
        json,
    )


@explain.command()
def concepts(
    a: Annotated[str, typer.Argument(help="Concepts of one image: 'C1;C2'.", show_default=False)],
    b: Annotated[str, typer.Argument(help="Concepts of the other.", show_default=False)],
    graph: GraphOption,
    hops: HopsOption = 1,
    lam: LambdaOption = 0.5,
    direction: DirectionOption = "any",
    unknown: UnknownOption = "error",
    look: LookOption = 3,
    sensitivity: SensitivityOption = False,
    hubs: HubsOption = None,
    save: SaveOption = None,
    json: JsonOption = False,
) -> None:
    """Explain the nn-IoU of two lists of concepts."""
    _explain_sets((a, b), ("A", "B"), [], graph, hops, lam, direction, unknown, look, sensitivity, hubs, save, json)


@explain.command()
def query(
    images: ImagesArgument,
    query: Annotated[str, typer.Argument(help="The query: one of IMAGES.", show_default=False)],
    graph: GraphOption,
    above: Annotated[str, typer.Option("--above", help="An image of the corpus.", show_default=False)],
    below: Annotated[str, typer.Option("--below", help="Another: why not this one?", show_default=False)],
    corpus: CorpusOption = None,
    image_column: ImageColumnOption = None,
    concept_column: ConceptColumnOption = None,
    ranking: Annotated[
        Path | None,
        typer.Option(
            "--ranking",
            help="What did this ranking do with them? TREC run; CSV or Parquet; .npy of row numbers or embeddings.",
        ),
    ] = None,
    corpus_embeddings: Annotated[
        Path | None, typer.Option("--corpus-embeddings", help="With --corpus and embeddings: those of it.")
    ] = None,
    similarity: Annotated[
        Similarity | None,
        typer.Option(
            "--similarity",
            show_default="cosine for floating point",
            help="What orders a .npy file: cosine or product of embeddings, or Hamming distance of binary codes.",
        ),
    ] = None,
    ties: Annotated[
        Ties,
        typer.Option(
            "--ties", help="Equal scores: by name ascending, or as trec_eval (single precision, name descending)."
        ),
    ] = "name",
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="The cut-off K of DCG@K.")] = 10,
    hops: HopsOption = 1,
    lam: LambdaOption = 0.5,
    direction: DirectionOption = "any",
    unknown: UnknownOption = "error",
    look: LookOption = 3,
    sensitivity: SensitivityOption = False,
    hubs: HubsOption = None,
    save: SaveOption = None,
    json: JsonOption = False,
) -> None:
    """Explain why one image ranks above another for a query, and what a ranking made of the two."""
    columns = {"image_column": image_column, "concept_column": concept_column}
    queries = ImageConcepts.read(images, **columns)
    held = None if corpus is None else ImageConcepts.read(corpus, **columns)
    ranked = None
    if ranking is not None:
        ranked = read_ranking_in_blocks(
            ranking, tuple(queries), None if held is None else tuple(held), ties=ties, similarity=similarity,
            corpus_embeddings=corpus_embeddings,
        )  # fmt: skip
    data, nearness = Dataset(queries, held), Nearness(hops, lam, direction, unknown)
    with _opened(graph) as opened:
        told = explain_query(
            data, query, opened, above=above, below=below, ranking=ranked, k=k, nearness=nearness, look=look,
        )  # fmt: skip
        varied = None
        if sensitivity:
            varied = sensitivity_of_query(
                data, query, opened, above=above, below=below, ranking=ranked, k=k,
                grid=Grid([*NS, hops], [*LAMS, lam], hubs or HUBS), nearness=nearness,
            )  # fmt: skip
    if save is not None:
        told.save(save)
    if json:
        print_json({**told.as_dict(), **_added(varied, save)})
        return
    show_query(told)
    show_inputs(told.inputs)
    if varied is not None:
        show_query_sensitivity(varied, told)
    if save is not None:
        note(f"picture: {save}")


def _explain_sets(
    sets: tuple[str | Iterable[str], str | Iterable[str]],
    titles: tuple[str, str],
    files: list[ImageConcepts],
    graph: str,
    hops: int,
    lam: float,
    direction: Direction,
    unknown: Unknown,
    look: int,
    sensitivity: bool,
    hubs: list[int] | None,
    save: Path | None,
    json: bool,
) -> None:
    inputs = {name: images.account for name, images in zip(("concepts", "corpus"), files, strict=False)}
    with _opened(graph) as opened:
        images = Dataset(*files) if files else dict(zip(titles, sets, strict=True))
        ImageCollection.of(images, opened, "isolated")  # some are in the graph
        told = explain_pair(*sets, opened, hops, lam, direction, unknown=unknown, look=look, titles=titles)
        varied = None
        if sensitivity:
            varied = sensitivity_of_pair(
                *sets, opened, Grid([*NS, hops], [*LAMS, lam], hubs or HUBS), direction=direction,
                unknown=unknown,
            )  # fmt: skip
    if save is not None:
        told.save(save)
    if json:
        print_json({**told.as_dict(), **_added(varied, save), "inputs": inputs})
        return
    show_pair(told)
    show_inputs(inputs)
    if varied is not None:
        show_pair_sensitivity(varied, told)
    if save is not None:
        note(f"picture: {save}")


def _added(varied: PairSensitivity | QuerySensitivity | None, save: Path | None) -> dict[str, Any]:
    """What the command adds to the JSON of an explanation."""
    return {
        "sensitivity": None if varied is None else varied.as_dict(),
        "picture": None if save is None else str(save),
    }


@contextmanager
def _opened(address: str) -> Iterator[ConceptGraph]:
    """The graph, and advice where an option would have helped."""
    with opened_graph(address) as opened:
        try:
            with advised_on_unknown():
                yield opened
        except LimitExceeded:
            note("--look 0 looks no farther than -n; without --sensitivity the question is smaller")
            raise


def _concepts(images: ImageConcepts, image: str, column: str) -> frozenset[str]:
    if image not in images:
        raise InputError(
            "no such image", file=images.source, column=column, found=quoted(image),
            expected=f"one of its {len(images):,} images", advice=cause_of_strange_name(image, images),
        )  # fmt: skip
    return images[image]
