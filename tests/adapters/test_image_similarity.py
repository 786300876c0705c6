"""Similarity of images and captions from embeddings made elsewhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cuihop.adapters.image_similarity import embedding_similarity, read_embeddings
from cuihop.errors import InputError

NAMES = ["b", "a", "c"]
NUMBERS = st.floats(-1e3, 1e3, width=32).filter(lambda value: abs(value) > 1e-3)


@given(arrays(np.float32, (2, 5, 4), elements=NUMBERS))
def test_it_is_two_and_a_half_times_the_positive_cosine(pairs: np.ndarray) -> None:
    images, captions = pairs
    ours, theirs = images.astype(float), captions.astype(float)
    cosines = (ours * theirs).sum(1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(theirs, axis=1)
    expected = 2.5 * np.maximum(cosines, 0)
    np.testing.assert_allclose(embedding_similarity(images, captions), expected, rtol=0, atol=1e-12)


def test_the_formula_by_hand() -> None:
    images = np.array([[3.0, 4.0], [1.0, 0.0], [2.0, 0.0]])
    captions = np.array([[4.0, 3.0], [-1.0, 0.0], [5.0, 0.0]])
    assert embedding_similarity(images, captions).tolist() == pytest.approx([2.5 * 24 / 25, 0.0, 2.5])


def test_embeddings_are_found_by_name_or_by_row(tmp_path: Path) -> None:
    table = np.arange(1, 10, dtype=np.float32).reshape(3, 3)
    np.save(tmp_path / "rows.npy", table)
    np.savez(tmp_path / "named.npz", a=table[1], c=table[2], b=table[0], other=table[0])
    for name in ("rows.npy", "named.npz"):
        assert np.array_equal(read_embeddings(tmp_path / name, NAMES)[0:3], table)


@pytest.mark.parametrize(
    ("arrays_of", "message"),
    [
        ({"a": [1.0], "b": [1.0]}, "images without an embedding; found no c"),
        ({"a": [1.0], "b": [1.0, 2.0], "c": [1.0]}, "field a: not an embedding; found shape"),
        ({"a": [1], "b": [1], "c": [1]}, "floating point of shape"),
        ({name: np.zeros(1 << 18) + 1 for name in NAMES}, "an embedding that is too large"),
    ],
)
def test_a_wrong_archive_is_refused(tmp_path: Path, arrays_of: dict[str, list[float]], message: str) -> None:
    np.savez(tmp_path / "named.npz", **{name: np.array(values) for name, values in arrays_of.items()})  # type: ignore[arg-type]
    with pytest.raises(InputError, match=message):
        read_embeddings(tmp_path / "named.npz", NAMES)


def test_wrong_tables_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", np.ones((2, 3)))
    with pytest.raises(InputError, match=r"not an embedding for each image; found shape \(2, 3\)"):
        read_embeddings(tmp_path / "rows.npy", NAMES)
    (tmp_path / "text.npz").write_text("ID,1,2")
    with pytest.raises(InputError, match=r"expected a file written by numpy\.savez"):
        read_embeddings(tmp_path / "text.npz", NAMES)
    np.savez(tmp_path / "objects.npz", a=np.array([{}], dtype=object), b=np.ones(1), c=np.ones(1))
    with pytest.raises(InputError, match="not an archive of NumPy arrays"):
        read_embeddings(tmp_path / "objects.npz", NAMES)
    with pytest.raises(InputError, match="embeddings of different shapes"):
        embedding_similarity(np.ones((2, 3)), np.ones((2, 4)))
    with pytest.raises(InputError, match=r"embeddings of captions, row 1 \(from 0\): an embedding without a direction"):
        embedding_similarity(np.ones((2, 2)), np.array([[1.0, 0], [0, 0]]))
