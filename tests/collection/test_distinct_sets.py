"""Concept sets of which each different one is stored once."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cuihop.collection.distinct_sets import DistinctSets
from cuihop.collection.image_concepts import ImageConcepts

_IMAGES = st.lists(st.frozensets(st.sampled_from(["C0000001", "C0000002", "C0000003", "x"])), min_size=1, max_size=30)


@given(_IMAGES)
def test_the_sequence_is_that_of_the_images_and_each_set_is_there_once(images: list[frozenset[str]]) -> None:
    sets = DistinctSets.of_images(images)
    assert list(sets) == images == [sets[place] for place in range(len(sets))]
    assert list(sets.distinct) == list(dict.fromkeys(images))
    assert sets.occurrences == Counter(chain.from_iterable(images))
    assert sets.numbers(len).tolist() == list(map(len, images))


@given(_IMAGES, st.data())
def test_some_images_are_numbered_as_if_there_were_no_others(images: list[frozenset[str]], data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(images) - 1)))
    some = DistinctSets.of_images(images).at(np.array(places, dtype=np.int64))
    alone = DistinctSets.of_images([images[place] for place in places])
    assert some.distinct == alone.distinct
    assert some.of.tolist() == alone.of.tolist()


@given(_IMAGES)
def test_sets_that_become_equal_become_one(images: list[frozenset[str]]) -> None:
    mapped = DistinctSets.of_images(images).mapped(lambda concepts: concepts - {"x"})
    alone = DistinctSets.of_images([concepts - {"x"} for concepts in images])
    assert (mapped.distinct, mapped.of.tolist()) == (alone.distinct, alone.of.tolist())


def test_images_of_a_file_share_equal_sets(tmp_path: Path) -> None:
    file = tmp_path / "images.csv"
    file.write_text("ID,CUIs\na,C0000001;C0000002\nb,C0000002;c0000001\nc,\nd,\n")
    images = ImageConcepts.read(file)
    assert images["a"] is images["b"]
    assert images["c"] is images["d"]
    assert len(images.distinct.distinct) == 2
    assert images.digest == ImageConcepts.of({name: set(images[name]) for name in "dbca"}).digest
