"""Positions of two identifiers at once are those of any number."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cuihop.snapshot.string_table import IdentifierTable

TEXTS = st.text("AB:0", min_size=1, max_size=5)


@given(stored=st.sets(TEXTS), one=TEXTS, other=TEXTS, prefix=st.sampled_from(["", "MONDO:000"]))
def test_two_places_are_their_positions(stored: set[str], one: str, other: str, prefix: str) -> None:
    table = IdentifierTable.packed(np.array(sorted(prefix + text for text in stored), dtype=np.bytes_))
    places = table.positions([prefix + one, prefix + other]).tolist()
    assert table.two_positions(prefix + one, prefix + other) == (None if -1 in places else tuple(places))
    assert table.two_positions(prefix + one, "é") is None
    assert table.two_positions(prefix + one, one + "\0") is None
    assert table.two_positions(prefix + one, 7) is None  # type: ignore[arg-type]
    assert table.two_positions(prefix + one, "A" * 200) is None
