"""The rankings that a study compares."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cuihop.evaluation.baselines import Relevance, random_ranking, top_k
from cuihop.evaluation.image_concepts import ImageConcepts
from cuihop.evaluation.rankings import Ranking, read_ranking
from cuihop.study.setup import DEPTH, Setup, Telling

__all__ = ["RANDOM", "SHUFFLED", "names_of", "ranked_by", "rankings"]

SHUFFLED = "nn-IoU, shuffled"
RANDOM = "random"
_BY: dict[str, Relevance] = {"IoU": "iou", "nn-IoU": "nn-iou", "BM": "bm"}
_BASELINES = ("TF-IDF", SHUFFLED, RANDOM)


def names_of(setup: Setup) -> tuple[str, ...]:
    """The names of all rankings: relevance measures, embeddings, baselines."""
    return (*_BY, *setup.embeddings, *_BASELINES)


def ranked_by(by: Relevance, setup: Setup, telling: Telling, images: ImageConcepts | None = None) -> Ranking:
    """The most relevant images for each query; of the study's images, or of others."""
    return top_k(
        setup.images if images is None else images, setup.graph, DEPTH, by=by, n=setup.n, lam=setup.lam,
        threads=setup.threads, progress=telling(f"ranked by {by}"), **setup.of_concepts,
    )  # fmt: skip


def rankings(setup: Setup, telling: Telling) -> Iterator[tuple[str, Ranking]]:
    """Each ranking with its name. Files come first, so that what is wrong with one is told at once."""
    for name, path in setup.embeddings.items():
        yield name, read_ranking(path, tuple(setup.images), depth=DEPTH)
    for name, by in _BY.items():
        yield name, ranked_by(by, setup, telling)
    yield "TF-IDF", ranked_by("tf-idf", setup, telling)
    yield SHUFFLED, ranked_by("nn-iou", setup, telling, shuffled(setup.images, setup.seed))
    yield RANDOM, random_ranking(setup.images, DEPTH, seed=setup.seed)


def shuffled(images: ImageConcepts, seed: int) -> ImageConcepts:
    """Every concept set with another image, by chance. It depends on the names of the images, not on their order."""
    names = sorted(images)
    order = np.random.default_rng(seed).permutation(len(names)).tolist()
    other = {name: names[place] for name, place in zip(names, order, strict=True)}
    return ImageConcepts({name: images[other[name]] for name in images}, source=f"{images.source}, shuffled")
