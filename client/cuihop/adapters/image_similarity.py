"""Similarity of images and captions, from embeddings of another program or by a model such as CLIP from a folder.

Hessel et al. CLIPScore: A Reference-free Evaluation Metric for Image Captioning. EMNLP 2021, section 3.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cuihop.adapters.local_models import LOCAL, ModelRun, ModelValues, batched, check_folder, loaded, loading, packages
from cuihop.errors import InputError, first_few
from cuihop.files.arrays import Rows, array_in
from cuihop.files.input_file import opened_input
from cuihop.files.text_lines import counted
from cuihop.rankings.nearest_vectors import Embeddings
from cuihop.resources.arrays import Float64
from cuihop.resources.optional_packages import installed_by

__all__ = ["embedding_similarity", "image_similarity", "picture_of", "read_embeddings"]

_NAME = "similarity"
_WEIGHT = 2.5  # w of CLIPScore
_SUFFIXES = (".jpg", ".jpeg", ".png")
_LARGEST_VECTOR = 1 << 20  # bytes of one member of an archive
_ROWS_AT_ONCE = 1024


def embedding_similarity(images: Rows, captions: Rows) -> Float64:
    """2.5·max(cos, 0) of each image and its caption, in double precision.

    Args:
        images, captions: embeddings by one model, floating point, shape (pairs, dimensions).

    Returns:
        Shape (pairs,), from 0 to 2.5.

    Raises:
        InputError: the shapes differ, or an embedding holds no direction.
    """
    if images.shape != captions.shape or len(images.shape) != 2:
        raise InputError(
            "embeddings of different shapes", column="captions", found=str(captions.shape),
            expected=f"{images.shape}, those of the images", advice="Make both by one model, for the same images.",
        )  # fmt: skip
    sides = Embeddings(images, "embeddings of images"), Embeddings(captions, "embeddings of captions")
    similarities = np.empty(len(images), dtype=np.float64)
    for first in range(0, len(images), _ROWS_AT_ONCE):
        rows = slice(first, first + _ROWS_AT_ONCE)
        ours, theirs = (side.directions(rows, "cosine", np.float64) for side in sides)
        similarities[rows] = _WEIGHT * np.clip(np.einsum("ij,ij->i", ours, theirs), 0.0, 1.0)
    return similarities


def read_embeddings(path: Path, images: Sequence[str]) -> Rows:
    """Embeddings of images or of captions from a file.

    Args:
        path: a ``.npz`` with one vector under the name of each image, as ImageCLEF's program of 2026 stores those of
            the images; or a ``.npy`` of a table with a row for each image, in the order of ``images``.
        images: names, in the order of the rows returned.

    Returns:
        Floating point, shape (images, dimensions). A table stays in its file.

    Raises:
        InputError: the file is neither, or lacks an image, or its vectors are of different lengths.
    """
    if path.suffix == ".npz":
        return _archived(path, images)
    table = array_in(opened_input(path))
    if len(table.shape) != 2 or len(table) != len(images) or table.dtype.kind != "f":
        raise InputError(
            "not an embedding for each image", file=path, found=f"shape {table.shape} of {table.dtype}",
            expected=f"shape ({len(images)}, dimensions) of floating point, rows in the order of the references",
            advice="A .npz with a vector under the name of each image has no order.",
        )  # fmt: skip
    return table


def _archived(path: Path, images: Sequence[str]) -> Rows:
    """The vectors of a ``.npz``, those of other images left out."""
    try:
        with zipfile.ZipFile(path) as archive:
            sizes = {info.filename.removesuffix(".npy"): info.file_size for info in archive.infolist()}
        if missing := [image for image in images if image not in sizes]:
            raise InputError(
                "images without an embedding", file=path, found=f"no {first_few(missing)}",
                expected="a vector under the name of each image",
            )  # fmt: skip
        if long := [image for image in images if sizes[image] > _LARGEST_VECTOR]:
            raise InputError(
                "an embedding that is too large", file=path, column=f"field {long[0]}",
                found=f"{sizes[long[0]]:,} bytes", expected=f"{_LARGEST_VECTOR:,} bytes at most",
            )  # fmt: skip
        with np.load(path, allow_pickle=False) as arrays:
            vectors = {image: arrays[image] for image in images}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(
            f"not an archive of NumPy arrays: {error}", file=path, expected="a file written by numpy.savez"
        ) from error
    shape = vectors[images[0]].shape if images else (0,)
    for image, vector in vectors.items():
        if vector.ndim != 1 or vector.shape != shape or vector.dtype.kind != "f":
            raise InputError(
                "not an embedding", file=path, column=f"field {image}", found=f"shape {vector.shape} of {vector.dtype}",
                expected=f"floating point of shape ({shape[0] if len(shape) == 1 else 'dimensions'},)",
            )  # fmt: skip
    return np.stack([vectors[image] for image in images]) if images else np.empty((0, 0))


def image_similarity(
    captions: Mapping[str, str], folder: Path, images: Path, run: ModelRun | None = None
) -> ModelValues:
    """2.5·max(cos, 0) of each image and its caption by a model such as CLIP, loaded by transformers.

    MedImageInsight, the model of the campaign, is loaded by its own program only: store its embeddings, and use
    `embedding_similarity`.

    Args:
        captions: image → caption as it was written.
        folder: of the model, with the files of its tokenizer and image processor.
        images: folder with a picture ``NAME.jpg``, ``.jpeg`` or ``.png`` of each image.

    Returns:
        The column ``similarity``.

    Raises:
        InputError: the folder holds no such model, or a picture is missing or cannot be read.
        ModuleNotFoundError: torch, transformers or Pillow is not installed.
    """
    run = run or ModelRun()
    check_folder(folder, _NAME)
    pictures = {image: picture_of(image, images) for image in captions}
    torch, transformers = packages()
    with loading(folder):
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder), **LOCAL)
        processor = transformers.AutoImageProcessor.from_pretrained(str(folder), **LOCAL)
    model = loaded(transformers.AutoModel, folder, run)
    if not hasattr(model, "get_image_features"):
        raise InputError(
            "not a model of images and texts", file=folder, column="field model_type of config.json",
            found=str(model.config.model_type), expected="a model such as CLIP",
        )  # fmt: skip
    names = list(captions)
    limit = min(int(tokenizer.model_max_length), int(model.config.text_config.max_position_embeddings))
    lengths = [len(tokenizer(captions[name], verbose=False)["input_ids"]) for name in names]

    def values(indices: list[int]) -> Any:
        batch = [names[index] for index in indices]
        texts = tokenizer([captions[name] for name in batch], padding=True, truncation=True, max_length=limit,
                          return_tensors="pt")  # fmt: skip
        pixels = processor([_pixels(pictures[name]) for name in batch], return_tensors="pt")
        sides = model.get_text_features(**texts.to(run.device)), model.get_image_features(**pixels.to(run.device))
        ours, theirs = (getattr(side, "pooler_output", side).double() for side in sides)
        return _WEIGHT * torch.cosine_similarity(ours, theirs).clamp(0.0, 1.0)

    similarities = batched(lengths, run, values)[:, 0]
    cut = counted(sum(length > limit for length in lengths), "caption")
    summary = f"{model.config.model_type}, {counted(len(names), 'picture')} of {images}, {cut} cut at {limit} tokens"
    return ModelValues({_NAME: similarities}, summary)


def picture_of(image: str, images: Path) -> Path:
    """The file of a picture, which lies in the folder itself."""
    for suffix in _SUFFIXES:
        path = images / f"{image}{suffix}"
        if path.parent == images and path.is_file():
            return path
    raise InputError(
        "no picture of an image", file=images, found=f"no {image}.jpg",
        expected=f"a file of its name with {', '.join(_SUFFIXES)}",
    )  # fmt: skip


def _pixels(path: Path) -> Any:
    with installed_by("pillow"):
        from PIL import Image
    try:
        with Image.open(path) as picture:
            return picture.convert("RGB")
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise InputError(
            f"not a picture that can be read: {error}", file=path, expected="a picture in JPEG or PNG"
        ) from error
