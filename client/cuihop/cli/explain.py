"""``cuihop explain``: the overlap of two images, the order of two images for a query, and the sensitivity of both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from cuihop.answer_fields import fields_of, with_release
from cuihop.cli.command_files import PICTURE, FileUse
from cuihop.cli.evaluation_options import ArrayOptions, TiesOptions
from cuihop.cli.graph_option import NamedGraphOptions, advised_on_unknown
from cuihop.cli.nearness_options import NearnessOptions
from cuihop.cli.option_groups import ColumnOptions, VerboseOptions, argument, file_option, option, option_group
from cuihop.cli.output import note, print_json, print_lines, write_and_show
from cuihop.cli.print_explanation import print_pair, print_pair_sensitivity, print_query, print_query_sensitivity
from cuihop.collection.dataset import Dataset
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.collection.image_rows import cause_of_strange_name
from cuihop.errors import InputError, LimitExceeded
from cuihop.evaluation.evaluate import evaluate
from cuihop.explanation import (
    Explanation,
    QueryExplanation,
    explain_pair,
    explain_query,
    sensitivity_of_pair,
    sensitivity_of_query,
)
from cuihop.explanation.sensitivity import HUBS, LAMS, NS, Grid, PairSensitivity, QuerySensitivity
from cuihop.files.text_lines import quoted
from cuihop.graph import ConceptGraph, Neighbour
from cuihop.graph_wrapper import without_added_names
from cuihop.measures.nearness import Nearness
from cuihop.measures.nn_iou import RelatedConcept
from cuihop.operations.answers import RelevanceAnswer
from cuihop.rankings.blocks import RankingInBlocks
from cuihop.rankings.ranking import Ranking
from cuihop.rankings.reading import read_ranking_in_blocks
from cuihop.relevance.image_collection import ImageCollection
from cuihop.snapshot.neighbour_dictionary import NeighbourDictionary

_PICTURE = "Picture"
_IMAGES = "Concepts of the images: CSV, image and C1;C2."

explain = typer.Typer(
    name="explain",
    help="Explain nn-IoU: the matching concepts and their paths, and the influence of n, λ and hubs.",
    no_args_is_help=True,
)


@option_group
class _ExplainOptions(VerboseOptions, NearnessOptions, NamedGraphOptions):
    look: int = option("If no concept is near, show the nearest within this many hops beyond -n.", default=3, min=0)
    sensitivity: bool = option("Add results for other n and λ, and without hubs.", default=False)
    hubs: list[int] | None = option(
        "With --sensitivity: a hub has more children than this. May be repeated.", min=0, shown=str(HUBS[0])
    )
    plot: Path | None = file_option("File for a figure: .svg, .png or .pdf.", mark=PICTURE)

    @property
    def grid(self) -> Grid | None:
        """The values of ``--sensitivity``; ``None`` without it."""
        nearness = self.nearness
        return Grid([*NS, nearness.n], [*LAMS, nearness.lam], self.hubs or HUBS) if self.sensitivity else None

    @contextmanager
    def opened_with_advice(self) -> Iterator[ConceptGraph]:
        """Open the graph; note the options that help after an error."""
        with self.opened() as opened:
            try:
                with advised_on_unknown():
                    yield opened
            except LimitExceeded:
                note("--look 0 searches no farther than -n; without --sensitivity the request is smaller")
                raise

    def write_and_print(
        self, result: Explanation | QueryExplanation, varied: PairSensitivity | QuerySensitivity | None,
        inputs: Mapping[str, str], show: Callable[[Any, bool], None], show_varied: Callable[[Any, Any], None],
        more: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """Write the picture, and print the result and the inputs: as JSON, or by the functions for people."""

        def show_all(written: Mapping[str, str]) -> None:
            if self.json:
                print_json({
                    **result.as_dict(), **(more or {}), "sensitivity": None if varied is None else varied.as_dict(),
                    "picture": written.get(_PICTURE), "inputs": dict(inputs),
                })  # fmt: skip
                return
            show(result, self.verbose)
            print_lines(inputs.values() if self.verbose else ())
            if varied is not None:
                show_varied(varied, result)
            for path in written.values():
                note(f"picture: {path}")

        write_and_show([(_PICTURE, self.plot, result.save)], show_all)


@option_group
class _PairOptions(_ExplainOptions, ColumnOptions):
    images: Path = argument(_IMAGES)
    a: str = argument("Name of an image.")
    b: str = argument("Name of the other image.")
    corpus: Path | None = option("File with the other image; IMAGES itself by default.")


@option_group
class _SetOptions(_ExplainOptions):
    a: str = argument("Concepts of one image: 'C1;C2'.")
    b: str = argument("Concepts of the other image.")


@option_group
class _QueryOptions(_ExplainOptions, TiesOptions, ArrayOptions, ColumnOptions):
    images: str | None = argument(f"{_IMAGES} With --concepts, the query.", default=None, mark=FileUse.READS)
    query: str | None = argument(
        "The query: one of IMAGES.", default=None, shown="with --ranking: the one with the smallest nn-CUI@K"
    )
    concepts: Path | None = file_option("Instead of IMAGES, as in cuihop evaluate: concepts of the images.")
    above: str | None = option("The image expected above the other.", shown="the best image of the ideal ranking")
    below: str | None = option("The image expected below it.", shown="the first of the ranking, or the next best")
    corpus: Path | None = option("Concepts of the images of the corpus; IMAGES itself by default.")
    ranking: Path | None = option(
        "Ranking in which the two are compared: TREC run; CSV or Parquet; .npy of row numbers or embeddings."
    )
    corpus_embeddings: Path | None = file_option("With --corpus: embeddings of the corpus.")
    k: int = option("The cut-off K of DCG@K.", "-k", default=10, min=1)

    @property
    def file_and_query(self) -> tuple[Path, str | None]:
        """The file of images, and the query; refuses two files, or none."""
        if self.concepts is not None and self.query is None:
            return self.concepts, self.images
        if self.concepts is not None or self.images is None:
            raise typer.BadParameter("give the concepts of the images as IMAGES or with --concepts, and one QUERY")
        return Path(self.images), self.query


@explain.command()
def pair(options: _PairOptions) -> None:
    """Explain the nn-IoU of two images, concept by concept."""
    own = ImageConcepts.read(options.images, **options.columns)
    other = own if options.corpus is None else ImageConcepts.read(options.corpus, **options.columns)
    sets = (_concepts(own, options.a), _concepts(other, options.b))
    _explain_sets(sets, (options.a, options.b), [own] if other is own else [own, other], options)


@explain.command()
def concepts(options: _SetOptions) -> None:
    """Compute IoU and nn-IoU of two sets of concepts, and explain them concept by concept."""
    _explain_sets((options.a, options.b), ("A", "B"), [], options, as_a_service=True)


@explain.command()
def query(options: _QueryOptions) -> None:
    """Explain why one image ranks above another for a query, ideally and in a ranking."""
    k, nearness, grid = options.k, options.nearness, options.grid
    file, named = options.file_and_query
    queries = ImageConcepts.read(file, **options.columns)
    corpus = None if options.corpus is None else ImageConcepts.read(options.corpus, **options.columns)
    ranking = None
    if options.ranking is not None:
        ranking = read_ranking_in_blocks(
            options.ranking, tuple(queries), None if corpus is None else tuple(corpus), ties=options.ties,
            similarity=options.similarity, corpus_embeddings=options.corpus_embeddings,
        )  # fmt: skip
    data = Dataset(queries, corpus)
    with options.opened_with_advice() as opened:
        if isinstance(graph := without_added_names(opened), NeighbourDictionary):
            graph.refuse("paths")
        query = named or _worst_query(data, ranking, opened, k, nearness)
        result = explain_query(
            data, query, opened, above=options.above, below=options.below, ranking=ranking, k=k, nearness=nearness,
            look=options.look,
        )  # fmt: skip
        varied = None if grid is None else sensitivity_of_query(
            data, query, opened, above=result.above, below=result.below, ranking=ranking, k=k, grid=grid,
            nearness=nearness,
        )  # fmt: skip

    options.write_and_print(result, varied, result.inputs, print_query, print_query_sensitivity)


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
    sets: tuple[str | Iterable[str], str | Iterable[str]], titles: tuple[str, str], files: list[ImageConcepts],
    options: _ExplainOptions, *, as_a_service: bool = False,
) -> None:  # fmt: skip
    """Explain two sets; ``as_a_service`` adds the fields of a service to the JSON."""
    nearness, grid = options.nearness, options.grid
    inputs = {name: images.account for name, images in zip(("concepts", "corpus"), files, strict=False)}
    with options.opened_with_advice() as opened:
        images = Dataset(*files) if files else dict(zip(titles, sets, strict=True))
        # at least one concept is known
        ImageCollection.of(images, opened, "drop" if nearness.unknown == "drop" else "isolated")
        paths = not isinstance(without_added_names(opened), NeighbourDictionary)
        look = options.look if paths else 0
        result = explain_pair(*sets, opened, nearness, look=look, paths=paths, titles=titles)
        varied = None if grid is None else sensitivity_of_pair(*sets, opened, grid, nearness=nearness)

    more = None
    if as_a_service and options.json:
        more = {"relevance": with_release(result.release, fields_of(_relevance(result)), result.resolved.replaced)}
    options.write_and_print(result, varied, inputs, print_pair, print_pair_sensitivity, more)


def _relevance(result: Explanation) -> RelevanceAnswer:
    """The explanation as a service answers it."""
    shared = tuple(sorted(each.cui for each in result.concepts if each.match == "exact"))
    related = tuple(
        RelatedConcept(each.cui, each.side, tuple(Neighbour(p.cui, p.hops) for p in each.partners), each.similarity)
        for each in sorted(result.concepts, key=lambda each: (each.side, each.cui))
        if each.match == "near" and each.side != "both"
    )
    outside = (tuple(sorted(result.resolved.isolated)), tuple(sorted(result.resolved.dropped)))
    return RelevanceAnswer(
        result.iou, result.nn_iou, shared, related, result.union, *outside, result.n, result.lam, result.weight,
        result.ic, result.direction,
    )  # fmt: skip


def _concepts(images: ImageConcepts, image: str) -> frozenset[str]:
    if image not in images:
        raise InputError(
            "no such image", file=images.source, found=quoted(image),
            expected=f"one of its {len(images):,} images", advice=cause_of_strange_name(image, images),
        )  # fmt: skip
    return images[image]
