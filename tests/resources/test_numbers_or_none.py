"""Sequences of numbers of which some are missing, as `Distances` and `Similarities` are."""

from __future__ import annotations

import numpy as np
import pytest

from cuihop.graph import Distances
from cuihop.similarity import Similarities, SimilarityOptions


def distances(length: int, missing: set[int]) -> Distances:
    reached = np.array([i not in missing for i in range(length)], dtype=np.bool_)
    return Distances(np.arange(length, dtype=np.int32), reached, "any", None)


def test_a_missing_number_is_none_wherever_it_is_read() -> None:
    some = distances(4, {1, 3})
    assert list(some) == some.to_list() == [0, None, 2, None]
    assert (some[0], some[1], some[-2]) == (0, None, 2)
    assert some[1:] == [None, 2, None]
    assert len(some) == 4
    assert None in some
    assert 1 not in some


def test_numbers_are_those_of_python() -> None:
    assert type(distances(2, set())[1]) is int
    values = Similarities(np.array([0.5, np.nan]), np.array([True, False]), SimilarityOptions())
    assert values.to_list() == [0.5, None]
    assert type(values[0]) is float


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (2, "Distances([0, None])"),
        (12, "Distances([0, None, 2, 3, 4, 5, 6, 7, 8, 9, … 2 more])"),
    ],
)
def test_a_long_sequence_is_shown_by_its_beginning(length: int, text: str) -> None:
    assert repr(distances(length, {1})) == text
