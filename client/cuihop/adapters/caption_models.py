"""Measures of captions by models with weights, as values that `cuihop.captions.score_captions` takes.

The models are read from folders, and nothing is fetched. If the organisers' programs of 2025 and 2026 differ from
their paper, `Official` chooses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from cuihop.adapters.image_similarity import embedding_similarity, image_similarity, picture_of, read_embeddings
from cuihop.adapters.local_models import PACKAGES, ModelRun, ModelValues, check_folder
from cuihop.adapters.text_models import BLEURT_PYTORCH, alignscore, bertscore, bleurt
from cuihop.captions.external_scores import ExternalScores
from cuihop.captions.reading import Captions, depends_on_captions
from cuihop.captions.rules import CaptionRules, Official
from cuihop.errors import InputError
from cuihop.files.content_digest import file_digest
from cuihop.files.text_lines import counted
from cuihop.measures.measure import Measure, measures_named
from cuihop.resources.optional_packages import OptionalPackage, versions

__all__ = ["MODEL_MEASURES", "PACKAGES_OF_MODELS", "ModelMeasure", "Pictures", "model_scores", "similarity_scores"]

ModelMeasure: TypeAlias = Callable[[Sequence[str], Sequence[str], Path, ModelRun], ModelValues]

MODEL_MEASURES: Mapping[str, ModelMeasure] = {"BERTScore": bertscore, "BLEURT": bleurt, "AlignScore": alignscore}
"""Family → function of references, candidates, the folder of a model, and its run."""

PACKAGES_OF_MODELS: Mapping[str, Sequence[OptionalPackage]] = {
    "BERTScore": PACKAGES,
    "BLEURT": (*PACKAGES, BLEURT_PYTORCH),
    "AlignScore": (*PACKAGES, OptionalPackage("nltk", "nltk")),
    "similarity": (*PACKAGES, OptionalPackage("PIL", "pillow")),
}
"""Family → packages that its model needs."""

_OF_WORDS = frozenset({"BERTScore", "BLEURT"})  # these compare captions in the form of the rules, AlignScore as written
_ONE_IF_BOTH_EMPTY = frozenset({"BERTScore", "AlignScore"})


@dataclass(frozen=True)
class Pictures:
    """The images of captions.

    Attributes:
        model: folder of a model such as CLIP; ``None`` with embeddings from another program.
        images: folder of the pictures, or a file of their embeddings.
        captions: file of the embeddings of a system's captions, if there is no model.
    """

    model: Path | None
    images: Path
    captions: Path | None = None


def model_scores(
    family: str,
    references: Captions,
    predictions: Captions,
    folder: Path,
    *,
    rules: CaptionRules = CaptionRules(),
    run: ModelRun | None = None,
    measures: Iterable[Measure] = (),
) -> ExternalScores:
    """Values of a system's captions by a model.

    BERTScore and BLEURT compare captions in the form of ``rules.text``, AlignScore as they are written. For two empty
    captions BERTScore and AlignScore are 1, and BLEURT is what the model says.

    Args:
        family: of `MODEL_MEASURES`.
        references, predictions: captions of the same images.
        folder: of the model.
        rules: by an edition of the organisers' program BERTScore is F1; by their paper, recall.
        run: device, batches, threads and progress.
        measures: those requested; the columns of the family among them are computed too.

    Raises:
        InputError: no such family, or the folder holds no such model, or the images differ.
        ModuleNotFoundError: a package is not installed; the message says how to install it.
    """
    if family not in MODEL_MEASURES:
        raise InputError(
            "not a measure by a model", column="field model", found=family, expected=", ".join(MODEL_MEASURES)
        )
    predictions.check_images(references)
    pairs = [list(references.values()), [predictions[image] for image in references]]
    both_empty = np.array([not ours and not theirs for ours, theirs in zip(*pairs, strict=True)], dtype=bool)
    if family in _OF_WORDS:
        pairs = [[rules.compared_text(caption) for caption in side] for side in pairs]
    depends = {"text": rules.text} if family in _OF_WORDS else {}
    run = _run_for(family, run, references, predictions, folder, depends)
    scores = MODEL_MEASURES[family](pairs[0], pairs[1], folder, run)
    if family in _ONE_IF_BOTH_EMPTY and both_empty.any():
        for column in scores.columns.values():
            column[both_empty] = 1.0
        summary = f"{scores.account}, but 1 for {counted(int(both_empty.sum()), 'image')} with two empty captions"
        scores = ModelValues(scores.columns, summary)
    default = "BERTScore(value=F1)" if family == "BERTScore" and rules.official else family
    measures_used = dict.fromkeys([*measures_named(default), *(m for m in measures if m.family == family)])
    return _scores(references, folder, scores, measures_used)


def similarity_scores(
    references: Captions,
    predictions: Captions,
    pictures: Pictures,
    *,
    official: Official | None = None,
    run: ModelRun | None = None,
) -> ExternalScores:
    """Similarity of each image and a system's caption, as it is written.

    An empty caption has 0, as in the organisers' program of 2026. By that of 2025 it has the value of its embedding,
    and 1 where the reference is empty too.

    Args:
        references, predictions: captions of the same images.
        pictures: a model and a folder of pictures, or embeddings of both sides.
        official: edition of the organisers' program.
        run: device, batches, threads and progress.

    Raises:
        InputError: a model, a picture or an embedding is missing, or not of its kind.
        ModuleNotFoundError: a package is not installed.
    """
    predictions.check_images(references)
    captions = {image: predictions[image] for image in references}
    if pictures.model is not None:
        run = _run_for("similarity", run, references, predictions, pictures.model, {
            "pictures": [file_digest(picture_of(image, pictures.images)) for image in captions]
            if run is not None and run.blocks is not None else None,
        })  # fmt: skip
        scores = image_similarity(captions, pictures.model, pictures.images, run)
    elif pictures.captions is not None:
        sides = [read_embeddings(path, list(references)) for path in (pictures.images, pictures.captions)]
        summary = f"embeddings of captions in {pictures.captions}, {sides[0].shape[1]} dimensions"
        scores = ModelValues({"similarity": embedding_similarity(*sides)}, summary)
    else:
        raise InputError(
            "embeddings of images alone", column="field captions", expected="those of the captions too, or a model"
        )
    column = scores.columns["similarity"]
    empty = np.array([not caption for caption in captions.values()], dtype=bool)
    if official == "2025":
        empty &= np.array([not caption for caption in references.values()], dtype=bool)
    column[empty] = 1.0 if official == "2025" else 0.0
    summary = (
        f"{scores.account}, {counted(int(empty.sum()), 'empty caption')} set to {'1' if official == '2025' else '0'}"
    )
    source = pictures.model or pictures.images
    return _scores(references, source, ModelValues(scores.columns, summary), measures_named("similarity"))


def _run_for(
    family: str, run: ModelRun | None, references: Captions, predictions: Captions, folder: Path,
    others: Mapping[str, Any],
) -> ModelRun:  # fmt: skip
    """The run with everything that the values of a system depend on, where there is a checkpoint."""
    run = run or ModelRun()
    check_folder(folder, family)
    if run.blocks is None:
        return run
    packages = ("cuihop", "numpy", "torch", "transformers", "tokenizers", "bleurt-pytorch", "nltk")
    depends = {
        "work": f"{family} of {predictions.source}",
        **{f"version of {name}": version for name, version in versions(*packages).items()},
        **depends_on_captions(references, predictions),
        "model": {path.name: file_digest(path) for path in sorted(folder.iterdir()) if path.is_file()},
        "device": run.device, "queries of a batch": run.batch_size, "layer": run.layer, **others,
    }  # fmt: skip
    return replace(run, depends=depends)


def _scores(
    references: Captions, source: Path, values: ModelValues, measures_used: Iterable[Measure]
) -> ExternalScores:
    columns = {measure: values.columns[str(measure)] for measure in measures_used}
    return ExternalScores(tuple(references), columns, str(source), values.account)
