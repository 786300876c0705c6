"""A shard: one of N parts of the queries of a job, computed by a process of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError

_FORM = re.compile(r"([0-9]{1,7})/([0-9]{1,7})")
_LONGEST_RUN = 512  # queries of one block of vectors
_RUNS = 8  # of each shard at least, so that shards take equally long


@dataclass(frozen=True, slots=True)
class Shard:
    """One of N parts.

    Attributes:
        number: from 1 to `count`. count: N.

    Raises:
        InputError: not such numbers.

    >>> Shard.parse("3/8")
    Shard(number=3, count=8)
    """

    number: int
    count: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.count:
            raise InputError("not a shard", column="shard", found=str(self), expected="I/N with I from 1 to N")

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    @property
    def name(self) -> str:
        """The name of its folder, such as ``3-of-8``."""
        return f"{self.number}-of-{self.count}"

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Parse I/N, such as ``3/8``.

        Raises:
            InputError: another form, or I is not from 1 to N.
        """
        found = _FORM.fullmatch(text.strip())
        if found is None:
            raise InputError("not a shard", column="shard", found=repr(text), expected="I/N, such as 3/8")
        return cls(int(found[1]), int(found[2]))

    def of_groups(self, group: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
        """The queries of this shard. Those of one group are in one shard; groups are dealt out one by one.

        Args:
            group: shape (queries,): the group of each, such as its concept set, from 0.

        Returns:
            int64: ascending places.
        """
        return np.flatnonzero(group % self.count == self.number - 1)

    def of_positions(self, queries: int) -> npt.NDArray[np.int64]:
        """The queries of this shard in runs of neighbours, as searches for vectors need them: int64, ascending.

        >>> Shard(2, 2).of_positions(5).tolist()
        [1, 3]
        """
        run = min(_LONGEST_RUN, max(1, queries // (_RUNS * self.count)))
        return self.of_groups(np.arange(queries) // run)
