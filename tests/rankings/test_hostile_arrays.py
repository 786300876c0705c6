"""Malformed arrays: errors with file and row, and no crash of the interpreter."""

from __future__ import annotations

import io
import pickle
import struct
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop.errors import CuihopError, InputError
from cuihop.files.arrays import ArrayFile, content_of_rows
from cuihop.rankings.ranking import Ranking
from cuihop.rankings.reading import read_ranking

NAMES = tuple(f"i{n}" for n in range(40))
TABLE = np.random.default_rng(5).standard_normal((40, 6))


def saved(path: Path, table: npt.ArrayLike, **options: Any) -> Path:
    with path.open("wb") as file:
        np.lib.format.write_array(file, np.asanyarray(table), **options)
    return path


def ranked(path: Path, depth: int = 7) -> Ranking:
    return read_ranking(path, NAMES, depth=depth)


@pytest.mark.parametrize(
    "form",
    [
        np.asfortranarray,
        lambda table: table.astype(">f8"),
        lambda table: np.asfortranarray(table.astype(">f8")),
        lambda table: table * 2.0**-1000,
        lambda table: table * 2.0**900,
        lambda table: table.astype(np.longdouble),
    ],
    ids=["by columns", "big-endian", "both", "tiny", "huge", "long double"],
)
@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_every_form_of_the_same_numbers_is_ranked_alike(
    tmp_path: Path, form: Callable[[npt.NDArray[Any]], npt.NDArray[Any]], version: tuple[int, int]
) -> None:
    expected = ranked(saved(tmp_path / "plain.npy", TABLE))
    assert dict(ranked(saved(tmp_path / "form.npy", form(TABLE), version=version))) == dict(expected)


def test_denormal_numbers_are_ranked_alike_in_both_precisions(tmp_path: Path) -> None:
    table = np.random.default_rng(5).integers(1, 2**20, (40, 6)).astype(np.float32) * np.float32(2.0**-149)
    assert (np.abs(table) < np.finfo(np.float32).tiny).all()
    single = ranked(saved(tmp_path / "single.npy", table))
    assert dict(single) == dict(ranked(saved(tmp_path / "double.npy", table.astype(np.float64))))


def test_the_content_of_rows_is_that_of_the_numbers(tmp_path: Path) -> None:
    contents = {
        content_of_rows(ArrayFile(saved(tmp_path / f"{n}.npy", table)))
        for n, table in enumerate([TABLE, np.asfortranarray(TABLE), TABLE.astype(">f8")])
    }
    assert contents == {content_of_rows(TABLE)}
    assert content_of_rows(TABLE.astype(np.float32)) not in contents
    assert content_of_rows(TABLE.reshape(20, 12)) not in contents


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.ones((40, 2, 3)), r"not a table of numbers; found shape \(40, 2, 3\)"),
        (np.ones(40), r"not a table of numbers; found shape \(40,\)"),
        (np.float64(1.0), r"not a table of numbers; found shape \(\)"),
        (np.ones((0, 4)), "wrong number of rows; found 0; expected 40"),
        (np.ones((40, 0)), r"row 0 \(from 0\): an embedding without a direction"),
        (np.zeros((40, 3), dtype=[("a", "f4")]), "not a table of numbers"),
        (np.full((40, 3), "1.0"), "not a table of numbers"),
        (np.ones((40, 3), dtype=complex), "not a table of numbers"),
        (np.ones((40, 3)).astype("M8[s]"), "not a table of numbers"),
        (np.full((40, 3), np.float16(np.inf)), r"row 0 \(from 0\).*found NaN or infinity"),
    ],
)
def test_tables_of_another_kind_are_refused(tmp_path: Path, table: npt.ArrayLike, message: str) -> None:
    path = saved(tmp_path / "table.npy", table)
    with pytest.raises(InputError, match=message) as refused:
        ranked(path)
    assert refused.value.file == str(path)


def test_numbers_beyond_double_precision_are_refused_with_their_row(tmp_path: Path) -> None:
    table = np.ones((40, 3), dtype=np.longdouble)
    table[33, 1] = np.ldexp(np.longdouble(1), 5_000)
    with pytest.raises(InputError, match=r"row 33 \(from 0\).*infinity"):
        ranked(saved(tmp_path / "table.npy", table))


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    marker = tmp_path / "ran"

    class Hostile:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (marker,))

    objects = np.empty((40, 2), dtype=object)
    objects[:] = Hostile()
    with pytest.raises(InputError, match="not a whole NumPy array"):
        ranked(saved(tmp_path / "o.npy", objects, allow_pickle=True))
    (tmp_path / "p.npy").write_bytes(pickle.dumps(Hostile()))
    with pytest.raises(InputError, match="a pickle, which could run any program"):
        ranked(tmp_path / "p.npy")
    assert not marker.exists()


@pytest.mark.parametrize("name", ["v.npz", "v.npy"])
def test_an_archive_given_by_mistake(tmp_path: Path, name: str) -> None:
    with (tmp_path / name).open("wb") as file:
        np.savez(file, vectors=TABLE)
    with pytest.raises(InputError, match=r"found an archive of NumPy arrays.*archive\[NAME\]"):
        ranked(tmp_path / name)


def test_tensors_given_by_mistake(tmp_path: Path) -> None:
    head = b'{"vectors":{"dtype":"F32","shape":[40,6],"data_offsets":[0,960]}}'
    (tmp_path / "v.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + bytes(960))
    with pytest.raises(InputError, match=r"found a file of safetensors.*load_file\(FILE\)\[NAME\]"):
        ranked(tmp_path / "v.safetensors")
    (tmp_path / "v.safetensors").rename(tmp_path / "v.npy")
    with pytest.raises(InputError, match="found a file of safetensors"):
        ranked(tmp_path / "v.npy")
    (tmp_path / "v.pt").write_bytes(b"PK\x03\x04" + bytes(100))
    with pytest.raises(InputError, match=r"found tensors of PyTorch.*tensor\.numpy\(\)"):
        ranked(tmp_path / "v.pt")
    (tmp_path / "old.pth").write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(InputError, match="found a pickle"):
        ranked(tmp_path / "old.pth")


def raw_of(table: npt.NDArray[Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, table)
    return file.getvalue()


@pytest.mark.parametrize("length", [6, 7, 9, 50, 127, 128, 129, 1000])
def test_a_truncated_file_is_refused(tmp_path: Path, length: int) -> None:
    path = tmp_path / "t.npy"
    path.write_bytes(raw_of(TABLE)[:length])
    with pytest.raises(InputError, match=r"t\.npy: not a whole NumPy array"):
        ranked(path)


@given(st.data())
def test_no_damage_to_the_header_ends_in_anything_but_words(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    raw = bytearray(raw_of(TABLE))
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, 127))] = data.draw(st.integers(0, 255) | st.sampled_from(b"0123456789(),'>fFTb-"))
    path = tmp_path_factory.getbasetemp() / "damaged.npy"
    path.write_bytes(raw)
    message = ""
    try:
        ranked(path)
    except CuihopError as error:
        message = str(error)
    assert message == "" or "damaged.npy" in message


@pytest.mark.slow
def test_a_file_that_shrinks_while_it_is_read_is_an_error_and_no_crash(tmp_path: Path) -> None:
    """A mapped file would end the process by SIGBUS."""
    program = textwrap.dedent("""
        import numpy as np, os, sys
        from cuihop.errors import InputError
        from cuihop.rankings.reading import read_ranking_in_blocks
        from cuihop.resources.resources import Resources
        names = [f"i{n:05}" for n in range(20_000)]
        table = np.random.default_rng(1).standard_normal((20_000, 16))
        for change in (lambda: os.truncate("t.npy", 5_000), lambda: np.save("t.npy", table + 1)):
            np.save("t.npy", table)
            ranking = read_ranking_in_blocks("t.npy", names, depth=5, resources=Resources(memory="60MB"))
            ranking.ranking_of(ranking.blocks()[0])
            change()
            try:
                ranking.ranking_of(ranking.blocks()[1])
            except InputError as error:
                print(error)
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("t.npy: the file was changed while it was read") == 2
