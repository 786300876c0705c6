"""The rankings that a study compares."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import partial

import numpy as np

from cuihop.collection.image_concepts import ImageConcepts
from cuihop.files.array_file import is_array
from cuihop.files.input_file import Readable, opened_input
from cuihop.rankings.ranking import Ranking
from cuihop.rankings.reading import read_ranking_in_blocks
from cuihop.relevance.baselines import Relevance, random_ranking, top_k
from cuihop.resources.resources import Resources
from cuihop.study.checkpoint import StudyCheckpoint
from cuihop.study.inputs import DEPTH, ProgressOf, StudyInputs

SHUFFLED = "nn-IoU, shuffled"
RANDOM = "random"
_BY: dict[str, Relevance] = {"IoU": "iou", "nn-IoU": "nn-iou", "BM": "bm"}
BASELINES = ("TF-IDF", SHUFFLED, RANDOM)
"""Rankings that need neither images nor a model."""


OWN = (*_BY, *BASELINES)
"""The names of rankings that every study has."""


def names_of(inputs: StudyInputs) -> tuple[str, ...]:
    """The names of all rankings: relevance measures, embeddings, baselines."""
    return (*_BY, *inputs.embeddings, *BASELINES)


def ranked_by(
    by: Relevance, inputs: StudyInputs, images: ImageConcepts | None = None, *, resources: Resources
) -> Ranking:
    """The most relevant images for each query; of the study's images, or of others."""
    collection = inputs.images if images is None else images
    return top_k(
        collection,
        inputs.graph,
        DEPTH,
        by=by,
        nearness=inputs.nearness,
        query_image=inputs.query_image,
        resources=resources,
    )


def rankings(
    inputs: StudyInputs, progress_of: ProgressOf, checkpoint: StudyCheckpoint
) -> Iterator[tuple[str, Ranking]]:
    """Each ranking with its name. Files come first, so that an error in one is reported at once."""

    def by(name: str, relevance: Relevance, images: ImageConcepts | None = None) -> tuple[str, Ranking]:
        def make() -> Ranking:
            progress = progress_of(f"ranked by {relevance}")
            resources = checkpoint.resources(f"ranking {name}", progress, keep=False)
            return ranked_by(relevance, inputs, images, resources=resources)

        return name, checkpoint.ranking(name, make)

    for name, file in inputs.embeddings.items():
        yield name, checkpoint.ranking(name, partial(_read, name, file, inputs, progress_of, checkpoint))
    for name, relevance in _BY.items():
        yield by(name, relevance)
    yield by("TF-IDF", "tf-idf")
    yield by(SHUFFLED, "nn-iou", shuffled(inputs.images, inputs.seed))
    drawn = partial(
        random_ranking,
        inputs.images,
        DEPTH,
        seed=inputs.seed,
        query_image=inputs.query_image,
        memory=inputs.resources.memory,
    )
    yield RANDOM, checkpoint.ranking(RANDOM, drawn)


def _read(
    name: str, file: Readable, inputs: StudyInputs, progress_of: ProgressOf, checkpoint: StudyCheckpoint
) -> Ranking:
    resources = checkpoint.resources(f"ranking {name}", keep=False)
    opened = opened_input(file)
    order = "score" if is_array(opened) else inputs.order
    found = read_ranking_in_blocks(
        opened, tuple(inputs.images), depth=DEPTH, order=order, query_image=inputs.query_image, resources=resources
    )
    if isinstance(found, Ranking):
        return found
    return found.whole(dataclasses.replace(resources, progress=progress_of(f"read {name}")))


def shuffled(images: ImageConcepts, seed: int) -> ImageConcepts:
    """Every concept set with another image, by chance. It depends on the names of the images, not on their order."""
    names = sorted(images)
    order = np.random.default_rng(seed).permutation(len(names)).tolist()
    other = {name: names[place] for name, place in zip(names, order, strict=True)}
    return ImageConcepts(
        {name: images[other[name]] for name in images}, source=f"{images.source}, shuffled", derived=True
    )
