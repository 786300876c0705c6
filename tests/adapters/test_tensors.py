"""Tensors of other libraries go wherever arrays go. PyArrow's speak DLPack; torch's are tested where torch is there.

torch comes for Linux with a gigabyte of CUDA, too much for a dependency of the tests. A stand-in over a tensor of
PyArrow does what torch's documentation says of ``detach``, ``cpu``, ``float``, ``byte`` and ``__dlpack__``. (With
Debian's torch 1.13.0 on the path, these tests passed on 2026-11-21.)
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from cuihop.errors import InputError
from cuihop.files.arrays import numpy_array
from cuihop.rankings.in_memory import embedding_ranking, neighbour_ranking
from cuihop.rankings.reading import read_ranking

VALUES = np.random.default_rng(2).normal(size=(9, 6)).astype(np.float32)
IMAGES = {f"i{place}": "C0000001" for place in range(9)}


class StandIn:
    """A stand-in for torch's tensors where they differ from plain producers of DLPack, without ``__array__``."""

    def __init__(self, values: npt.NDArray[Any], *, dtype: str = "", device: str = "cpu", grad: bool = False) -> None:
        self.values, self.device, self.grad = values, device, grad
        self.dtype = dtype or f"torch.{values.dtype}"

    def detach(self) -> StandIn:
        return StandIn(self.values, dtype=self.dtype, device=self.device)

    def cpu(self) -> StandIn:
        assert not self.grad or self.device == "cpu", "detached before it is copied"
        return StandIn(self.values, dtype=self.dtype, grad=self.grad)

    def float(self) -> StandIn:
        return StandIn(self.values.astype(np.float32))

    def byte(self) -> StandIn:
        return StandIn(self.values.astype(np.uint8))

    def __dlpack__(self, **options: Any) -> Any:
        if self.grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        if self.device != "cpu":
            raise BufferError("unsupported device")
        if self.dtype in {"torch.bfloat16", "torch.bool"}:
            raise BufferError(f"{self.dtype} is not supported by dlpack")
        return pa.Tensor.from_numpy(self.values).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0) if self.device == "cpu" else (2, 0)


def stand_in(values: npt.NDArray[Any], dtype: str = "") -> Any:
    return StandIn(values, dtype=dtype)


def rounded_to_bfloat16(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    return (values.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def of_pyarrow(values: npt.NDArray[Any]) -> Any:
    return pa.Tensor.from_numpy(values)


def of_scipy(values: npt.NDArray[Any]) -> Any:
    from scipy.sparse import csr_matrix

    return csr_matrix(values)


PRODUCERS: dict[str, Callable[[npt.NDArray[Any]], Any]] = {
    "numpy": lambda values: values,
    "lists": lambda values: values.tolist(),
    "pyarrow": of_pyarrow,
    "sparse": of_scipy,
    "on a device": lambda values: StandIn(values, device="cuda:0"),
    "with gradients": lambda values: StandIn(values, grad=True),
    "with gradients on a device": lambda values: StandIn(values, grad=True, device="cuda:0"),
}
if importlib.util.find_spec("torch"):

    def of_torch(values: npt.NDArray[Any]) -> Any:
        torch = importlib.import_module("torch")
        return torch.tensor(values.tolist(), dtype=getattr(torch, str(values.dtype)))

    PRODUCERS["torch"] = of_torch
    PRODUCERS["torch, with gradients"] = lambda values: of_torch(values).requires_grad_()
    PRODUCERS["torch, transposed"] = lambda values: of_torch(np.ascontiguousarray(values.T)).t()


@pytest.mark.parametrize("producer", PRODUCERS)
def test_embeddings_come_in_as_any_array(producer: str, tmp_path: Path) -> None:
    np.save(tmp_path / "embeddings.npy", VALUES)
    expected = read_ranking(tmp_path / "embeddings.npy", tuple(IMAGES), depth=4)
    assert dict(embedding_ranking(IMAGES, PRODUCERS[producer](VALUES), 4)) == dict(expected)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_types_are_kept_and_memory_is_shared_where_it_can_be(dtype: str) -> None:
    values = VALUES.astype(dtype)
    tensor = of_pyarrow(values)
    found = numpy_array(tensor, "x")
    assert found.dtype == dtype
    assert np.shares_memory(found, values)
    assert np.shares_memory(numpy_array(values[::2, ::-1], "x"), values)
    assert numpy_array(of_pyarrow(np.asfortranarray(values)), "x").tolist() == values.tolist()


def test_bfloat16_becomes_float32_and_truth_values_bits() -> None:
    values = rounded_to_bfloat16(VALUES)
    found = numpy_array(StandIn(values, dtype="torch.bfloat16", grad=True, device="cuda:0"), "x")
    assert (str(found.dtype), found.tolist()) == ("float32", values.tolist())
    codes = VALUES > 0
    expected = dict(embedding_ranking(IMAGES, codes, 3, similarity="hamming"))
    assert dict(embedding_ranking(IMAGES, stand_in(codes, "torch.bool"), 3, similarity="hamming")) == expected


def test_codes_and_row_numbers_come_in_as_tensors(tmp_path: Path) -> None:
    codes = np.where(VALUES > 0, 1, -1).astype(np.int8)
    np.save(tmp_path / "codes.npy", codes)
    expected = read_ranking(tmp_path / "codes.npy", tuple(IMAGES), depth=4, similarity="hamming")
    assert dict(embedding_ranking(IMAGES, of_pyarrow(codes), 4, similarity="hamming")) == dict(expected)
    rows = np.argsort(-VALUES @ VALUES.T, axis=1, kind="stable")
    np.save(tmp_path / "rows.npy", rows)
    expected = read_ranking(tmp_path / "rows.npy", tuple(IMAGES), depth=4)
    assert dict(neighbour_ranking(IMAGES, of_pyarrow(rows), k=4)) == dict(expected)


def test_another_corpus_has_embeddings_of_its_own() -> None:
    corpus = {"x": "C1", "y": "C2", "i1": "C3"}
    found = embedding_ranking(
        IMAGES, of_pyarrow(VALUES), 3, corpus=corpus, corpus_embeddings=stand_in(VALUES[[0, 5, 1]])
    )
    assert found["i0"][0] == "x"
    assert "i1" not in found["i1"]
    assert found["i5"][0] == "y"


WRONG: list[tuple[Any, str]] = [
    ([["a", "b"]] * 9, "not numbers; found dtype <U1"),
    ([[1.0], [1.0, 2.0]], "not an array that can be read"),
    (np.ones(9), r"not one row for each image; found shape \(9,\)"),
    (np.ones((8, 2)), r"found shape \(8, 2\); expected shape \(9, …\)"),
    (np.ones((9, 2), dtype=complex), "found dtype complex128"),
    (np.ones((9, 2), dtype=int), "not embeddings; found dtype int64"),
    (np.zeros((9, 2)), "row 0.*a zero vector"),
    (None, "not numbers; found dtype object"),
    (np.ma.masked_equal(np.ones((9, 2)), 1.0), "values are masked"),
]


@pytest.mark.parametrize(("values", "message"), WRONG)
def test_what_is_no_table_of_numbers_is_refused(values: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        embedding_ranking(IMAGES, values, 3)


def test_other_arguments_that_do_not_fit() -> None:
    with pytest.raises(InputError, match="one without the other"):
        embedding_ranking(IMAGES, VALUES, 3, corpus={"x": "C1"})
    with pytest.raises(InputError, match=r"found shape \(1, 2\)"):
        embedding_ranking(IMAGES, VALUES, 3, corpus={"x": "C1"}, corpus_embeddings=[[1.0, 2.0]])
    with pytest.raises(InputError, match="cosine or dot or hamming"):
        embedding_ranking(IMAGES, VALUES, 3, similarity="euclid")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="rows: not row numbers; found dtype float32"):
        neighbour_ranking(IMAGES, VALUES)
    with pytest.raises(InputError, match=r"rows, column 0, row 0.*not a row of the corpus; found 9"):
        neighbour_ranking(IMAGES, np.full((9, 1), 9))

    class Elsewhere:
        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("Unsupported device in DLTensor.")

        def __dlpack_device__(self) -> tuple[int, int]:
            return (2, 0)

    with pytest.raises(InputError, match=r"Unsupported device.*copied to the processor's memory"):
        numpy_array(Elsewhere(), "embeddings")

    class OfTorchsMetaDevice(StandIn):
        def detach(self) -> StandIn:
            return self

        def cpu(self) -> StandIn:
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")

    with pytest.raises(InputError, match=r"embeddings.*no data!"):
        numpy_array(OfTorchsMetaDevice(VALUES), "embeddings")


def test_no_library_of_tensors_and_no_peer_is_imported() -> None:
    code = (
        "import sys, cuihop, cuihop.files.arrays, cuihop.adapters.sklearn, cuihop.adapters.pytrec_eval\n"
        "import cuihop.adapters.ranx, cuihop.adapters.pandas, cuihop.adapters.integer_gains\n"
        "cuihop.rankings.embedding_ranking({'a': 'C1', 'b': 'C1'}, [[1.0], [2.0]], 1)\n"
        "print({'torch', 'jax', 'sklearn', 'ranx', 'ir_measures', 'pytrec_eval', 'pandas', 'pyarrow'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.mark.parametrize(
    ("peer", "package", "call"),
    [
        ("ranx", "'cuihop[fusion]'", "import cuihop.adapters.ranx as a; a.to_qrels({'q': {'d': 1}})"),
        ("ir_measures", "ir_measures", "import cuihop.adapters.ir_measures"),
    ],
)
def test_a_peer_that_is_not_installed_is_named(peer: str, package: str, call: str) -> None:
    code = f"import sys; sys.modules[{peer!r}] = None; {call}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"this needs the package {peer}, which is not installed: pip install {package}" in done.stderr
