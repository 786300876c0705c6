"""Names of images and their places."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Int32 = npt.NDArray[np.int32]


def own_rows(queries: Sequence[str], corpus: Sequence[str]) -> Int32:
    """The place of each query in the corpus, int32; -1 for one that is not in it."""
    places = places_by_name(corpus)
    return np.array([places.get(query, -1) for query in queries], dtype=np.int32)


def places_by_name(names: Sequence[str]) -> dict[str, int]:
    """Each name and its place."""
    return {name: place for place, name in enumerate(names)}
