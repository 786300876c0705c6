"""Output files that grow block by block, and take their places at the end; an interrupted run is continued."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import xxhash

from cuihop.errors import InputError, output_errors
from cuihop.files.written_files import check_output
from cuihop.resources.arrays import Float64
from cuihop.resources.checkpoint import Checkpoint, FinishedBlock, remove_finished

_ADVICE = "Delete {}, and the same command starts again."
_CHUNK = 1 << 20
_HALF = 1 << 32  # a float64 holds half of a 64-bit hash exactly


@dataclass(frozen=True, eq=False)
class FinishedPart:
    """The state after a block.

    Attributes:
        digest: 64 bits: of the inputs up to there.
        counts: float64: sums that the next blocks add to.
    """

    blocks: int
    digest: int
    counts: Float64


class UnfinishedFiles:
    """Files that are written as ``NAME.unfinished-part``; the finished blocks are in ``FIRST.unfinished``.

    A context manager. An error or an interrupt leaves both, unless no block was finished. A job that depends on the
    same values may continue them: `finished` is the state that it begins from.

    Args:
        paths: names of the finished files. depends: everything that their content depends on, but for the inputs.
        counts: how many sums are stored with each block.

    Raises:
        InputError: the unfinished files are of another job, damaged, or another process works on them.
        OutputError: they cannot be written.
    """

    def __init__(self, paths: Sequence[Path], depends: Mapping[str, Any], counts: int) -> None:
        targets = [check_output(path) for path in paths]
        self.parts = [target.with_name(f"{target.name}.unfinished-part") for target in targets]
        self.path = targets[0].with_name(f"{targets[0].name}.unfinished")
        for written in (self.path, *self.parts):
            check_output(written)
        self._writing = partial(output_errors, f"{self.parts[0]}: not written")
        self._checkpoint = Checkpoint(self.path, depends)
        self._hashes = [xxhash.xxh3_64() for _ in targets]
        self._sizes = [0] * len(targets)
        try:
            self.finished = self._last(counts)
            with self._writing():
                self._files = [part.open("r+b" if self.finished.blocks else "wb", 0) for part in self.parts]
                for file, size in zip(self._files, self._sizes, strict=True):
                    file.truncate(size)
                    file.seek(size)
        except BaseException:
            self._checkpoint.__exit__()
            raise

    def __enter__(self) -> UnfinishedFiles:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for file in self._files:
            file.close()
        if not self.finished.blocks:
            self.remove()
        self._checkpoint.__exit__()

    def add(self, contents: Sequence[bytes], finished: FinishedPart) -> None:
        """Append the contents of a block to each file.

        Raises:
            OutputError: the disk is full. What was finished before remains.
        """
        with self._writing():
            for file, content in zip(self._files, contents, strict=True):
                rest = memoryview(content)
                while rest:
                    rest = rest[file.write(rest) :]
        for index, content in enumerate(contents):
            self._hashes[index].update(content)
            self._sizes[index] += len(content)
        hashes = [half for content_hash in self._hashes for half in divmod(content_hash.intdigest(), _HALF)]
        values = [*divmod(finished.digest, _HALF), *finished.counts, *self._sizes, *hashes]
        block = FinishedBlock(0, finished.blocks, np.zeros(1, dtype=np.int64), np.array([values], dtype=np.float64))
        self._checkpoint.add(block)
        self.finished = finished

    def remove(self) -> None:
        """Remove the unfinished files."""
        for part in self.parts:
            remove_finished(part)
        self._checkpoint.remove()

    def _last(self, counts: int) -> FinishedPart:
        """The last state, whose files are checked."""
        nothing = FinishedPart(0, 0, np.zeros(counts))
        if not self._checkpoint.finished:
            return nothing
        block = self._checkpoint.finished[-1]
        values, files = block.values.ravel(), len(self.parts)
        if len(values) != 2 + counts + 3 * files:
            raise self._damaged(self.path)
        sums, rest = values[2 : 2 + counts], values[2 + counts :]
        self._sizes = [int(size) for size in rest[:files]]
        for index, part in enumerate(self.parts):
            stated = _joined(rest[files + 2 * index :])
            if not _hash_of(part, self._sizes[index], self._hashes[index]) or self._hashes[index].intdigest() != stated:
                raise self._damaged(part)
        return FinishedPart(block.number, _joined(values), sums.copy())

    def _damaged(self, path: Path) -> InputError:
        return InputError(
            "not what the unfinished run wrote", file=path, expected="the file as it was left",
            advice=_ADVICE.format(self.path),
        )  # fmt: skip


def _joined(halves: Float64) -> int:
    return int(halves[0]) * _HALF + int(halves[1])


def _hash_of(path: Path, size: int, into: xxhash.xxh3_64) -> bool:
    """Hash the first bytes of a file; false if there are fewer."""
    try:
        with path.open("rb") as file:
            while size and (content := file.read(min(size, _CHUNK))):
                into.update(content)
                size -= len(content)
    except OSError:
        return False
    return not size
