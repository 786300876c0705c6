"""A shard: one of N parts of the queries of a job, computed by a process of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError

__all__ = ["Shard"]

_FORM = re.compile(r"([0-9]{1,7})/([0-9]{1,7})")
_GROUPS_AT_ONCE = 128


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

    def places(self, group: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
        """The queries of this shard. Those of one group are in one shard.

        Groups are dealt out by 128 in turn, so that shards of an ordered file take equally long.

        Args:
            group: shape (queries,): the group of each, such as its concept set, from 0.

        Returns:
            int64: ascending places.
        """
        return np.flatnonzero(group // _GROUPS_AT_ONCE % self.count == self.number - 1)
