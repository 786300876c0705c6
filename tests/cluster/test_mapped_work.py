"""A work as a mapped file: the same values by other processes, without copies, and nothing else is unpickled."""

from __future__ import annotations

import gc
import os
import pickle
import re
import socket
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from clustered_jobs import IMAGES, JOBS
from cuihop import Resources
from cuihop.cluster.mapped_work import MappedWork, written_work
from cuihop.errors import ClusterError, InputError, OutputError
from cuihop.files.arrays import ArrayFile
from cuihop.resources.block_work import BlockWork

Values = npt.NDArray[np.float64]


class MappedHere:
    """Computes blocks from their mapped file in this process, each twice; checks that nothing was written into it."""

    threads = 2

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def results(self, work: BlockWork, numbers: Sequence[int]) -> Generator[tuple[int, Values], None, None]:
        with written_work(work, self._folder) as mapped:
            gc.collect()
            found = mapped.open()
            for number in numbers:
                values = found.values(number)
                assert np.array_equal(found.values(number), values, equal_nan=True)
                yield number, values
            assert unwritten(mapped)


def unwritten(mapped: MappedWork) -> bool:
    """True where no page of the mapping was copied for writing, by the kernel's account."""
    lines = Path("/proc/self/smaps").read_text().splitlines()
    places = [n for n, line in enumerate(lines) if line.endswith(mapped.path)]
    assert places
    kept = [next(line for line in lines[n:] if line.startswith("Anonymous:")) for n in places]
    return all(re.search(r"\b0 kB", line) for line in kept)


@pytest.mark.slow
@pytest.mark.parametrize("name", JOBS)
def test_a_mapped_work_has_the_same_bits_in_whatever_order_and_as_often_as_it_is_computed(
    name: str, tmp_path: Path
) -> None:
    found = JOBS[name](Resources(cluster=MappedHere(tmp_path / "shared")), tmp_path)
    assert found == JOBS[name](Resources(), tmp_path)
    assert not list((tmp_path / "shared").iterdir())


class Arrays:
    """A work that holds one array."""

    def __init__(self, array: npt.NDArray[Any]) -> None:
        self.array = array


def written(tmp_path: Path, work: object) -> Any:
    return written_work(work, tmp_path)  # type: ignore[arg-type]


def test_arrays_are_mapped_and_not_copied(tmp_path: Path) -> None:
    array = np.arange(3_000_000, dtype=np.float64)
    with written(tmp_path, Arrays(array)) as mapped:
        found: Any = mapped.open()
        assert np.array_equal(found.array, array)
        assert not found.array.flags.owndata
        assert found.array.ctypes.data % 64 == 0
        assert mapped.open() is found
        assert mapped.size < array.nbytes + 1_000
        assert len(pickle.dumps(mapped)) < 1_000  # what travels with a task


def test_only_the_owner_reads_the_file_and_a_killed_process_leaves_none(tmp_path: Path) -> None:
    with written(tmp_path, Arrays(np.zeros(3))) as mapped:
        path = Path(mapped.path)
        assert path.stat().st_mode & 0o777 == 0o600
        copy = path.with_name(re.sub("[0-9a-f]{16}", "0" * 16, path.name))  # as if its process had been killed
        copy.write_bytes(path.read_bytes())
        with written(tmp_path, Arrays(np.ones(3))):
            assert path.exists()
            assert not copy.exists()
    assert not list(tmp_path.iterdir())


def test_another_file_in_its_place_is_refused_before_anything_is_unpickled(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(tmp_path / "trapped"),)

    with written(tmp_path, Arrays(np.zeros(9))) as mapped, written(tmp_path, Trap()) as trap:
        for wrong in (
            MappedWork(trap.path, trap.size, mapped.digest),
            MappedWork(mapped.path, mapped.size + 1, mapped.digest),
            MappedWork(str(tmp_path / "none"), mapped.size, "0" * 64),
        ):
            with pytest.raises(ClusterError, match=f"not readable on {socket.gethostname()}"):
                wrong.open()
    assert not (tmp_path / "trapped").exists()


def test_a_folder_that_cannot_be_written_in_is_an_error_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="file"), written(tmp_path / "file", Arrays(np.zeros(3))):
        pass


def test_an_array_that_stays_in_its_file_travels_by_path_and_stamp(tmp_path: Path) -> None:
    path = tmp_path / "e.npy"
    np.save(path, np.ones((IMAGES, 4)))
    pickled = pickle.dumps(ArrayFile(path))
    assert len(pickled) < 1_000
    assert pickle.loads(pickled)[0:2].tolist() == [[1.0] * 4] * 2  # noqa: S301 – made above
    np.save(path, np.zeros((IMAGES, 5)))
    with pytest.raises(InputError, match="changed"):
        pickle.loads(pickled)  # noqa: S301 – made above
