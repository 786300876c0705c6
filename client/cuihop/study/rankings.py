"""The rankings that a study compares."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from cuihop.collection.image_concepts import ImageConcepts
from cuihop.files.input_file import Readable
from cuihop.rankings.ranking import Ranking
from cuihop.rankings.reading import read_ranking_in_blocks
from cuihop.relevance.baselines import Relevance, random_ranking, top_k
from cuihop.resources.resources import Resources
from cuihop.study.checkpoint import Unfinished
from cuihop.study.inputs import DEPTH, Setup, Telling

__all__ = ["BASELINES", "OWN", "RANDOM", "SHUFFLED", "names_of", "ranked_by", "rankings"]

SHUFFLED = "nn-IoU, shuffled"
RANDOM = "random"
_BY: dict[str, Relevance] = {"IoU": "iou", "nn-IoU": "nn-iou", "BM": "bm"}
BASELINES = ("TF-IDF", SHUFFLED, RANDOM)
"""What needs neither images nor a model."""


OWN = (*_BY, *BASELINES)
"""The names of rankings that every study has."""


def names_of(setup: Setup) -> tuple[str, ...]:
    """The names of all rankings: relevance measures, embeddings, baselines."""
    return (*_BY, *setup.embeddings, *BASELINES)


def ranked_by(
    by: Relevance, setup: Setup, telling: Telling, images: ImageConcepts | None = None, **work: Any
) -> Ranking:
    """The most relevant images for each query; of the study's images, or of others.

    Args:
        by, setup, telling, images: as elsewhere.
        work: a checkpoint, if there is one.
    """
    options = {"threads": setup.threads, "memory": setup.memory, **work}
    return top_k(
        setup.images if images is None else images, setup.graph, DEPTH, by=by, n=setup.n, lam=setup.lam,
        progress=telling(f"ranked by {by}"), **options, **setup.of_concepts,
    )  # fmt: skip


def rankings(setup: Setup, telling: Telling, unfinished: Unfinished) -> Iterator[tuple[str, Ranking]]:
    """Each ranking with its name. Files come first, so that what is wrong with one is told at once."""

    def by(name: str, relevance: Relevance, images: ImageConcepts | None = None) -> tuple[str, Ranking]:
        work = unfinished.options(f"ranking {name}", keep=False)
        return name, unfinished.ranking(name, lambda: ranked_by(relevance, setup, telling, images, **work))

    for name, file in setup.embeddings.items():
        yield name, unfinished.ranking(name, partial(_read, name, file, setup, telling, unfinished))
    for name, relevance in _BY.items():
        yield by(name, relevance)
    yield by("TF-IDF", "tf-idf")
    yield by(SHUFFLED, "nn-iou", shuffled(setup.images, setup.seed))
    drawn = partial(random_ranking, setup.images, DEPTH, seed=setup.seed, memory=setup.memory)
    yield RANDOM, unfinished.ranking(RANDOM, drawn)


def _read(name: str, file: Readable, setup: Setup, telling: Telling, unfinished: Unfinished) -> Ranking:
    resources = Resources(**unfinished.options(f"ranking {name}", keep=False))
    found = read_ranking_in_blocks(file, tuple(setup.images), depth=DEPTH, resources=resources)
    if isinstance(found, Ranking):
        return found
    return found.whole(dataclasses.replace(resources, progress=telling(f"read {name}")))


def shuffled(images: ImageConcepts, seed: int) -> ImageConcepts:
    """Every concept set with another image, by chance. It depends on the names of the images, not on their order."""
    names = sorted(images)
    order = np.random.default_rng(seed).permutation(len(names)).tolist()
    other = {name: names[place] for name, place in zip(names, order, strict=True)}
    return ImageConcepts(
        {name: images[other[name]] for name in images}, source=f"{images.source}, shuffled", derived=True
    )
