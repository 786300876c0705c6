"""Systems by their labels: ranks, best and worst of each group, and the spread of the means."""

from __future__ import annotations

import random
import statistics
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuihop.collection.labels import Labels
from cuihop.comparison.system_groups import best_and_worst, system_groups, system_ranks, values_of_systems
from cuihop.errors import InputError
from examples import examples

# Table 7 of the overview of ImageCLEFmed 2007 has, of three submissions, 375.72 391.02 385.68 390.29: the third is
# 3 · 385.68 − 375.72 − 391.02 = 390.30, the median but for its rounding.
GENEVA = {"g1": 375.72, "g2": 391.02, "g3": 390.30}


def test_a_row_of_table_7() -> None:
    means = {**{name: {"score": score} for name, score in GENEVA.items()}, "CYU": {"score": 79.30}}
    values = dict.fromkeys(GENEVA, "Geneva") | {"CYU": "CYU"}
    ranks = system_ranks(means, "score", error=True)
    cyu, geneva = system_groups(means, values, ranks, "group")
    assert (geneva.systems, geneva.best_rank, geneva.worst_rank) == (3, 2, 4)
    assert (geneva.minimum, geneva.maximum) == (375.72, 391.02)
    assert geneva.mean == pytest.approx(385.68)
    assert geneva.median == pytest.approx(390.29, abs=0.011)
    assert (cyu.best_rank, cyu.worst_rank, cyu.minimum, cyu.median) == (1, 1, 79.30, 79.30)


@settings(max_examples=examples(60))
@given(st.integers(0, 10**6), st.booleans())
def test_groups_hold_every_system_once(seed: int, error: bool) -> None:
    draw = random.Random(seed)
    means = {f"s{n}": {"AP": draw.choice([None, 0.1, 0.5, 0.7, draw.random()])} for n in range(draw.randint(1, 12))}
    values = {system: draw.choice(["A", "B", ""]) for system in means}
    ranks = system_ranks(means, "AP", error=error)
    for system, rank in ranks.items():
        own = means[system]["AP"]
        others = [m["AP"] for m in means.values() if m["AP"] is not None]
        assert own is not None
        assert rank == 1 + sum(other < own if error else other > own for other in others)
    groups = system_groups(means, values, ranks, "group")
    assert sum(group.systems for group in groups) == len(means)
    for group in groups:
        scored = [m["AP"] for system, m in means.items() if values[system] == group.value and m["AP"] is not None]
        if scored:
            assert group.mean == pytest.approx(statistics.fmean(scored))
            assert group.median == statistics.median(scored)
        else:
            assert (group.minimum, group.best_rank) == (None, None)
    best, worst = draw.randint(0, 3), draw.randint(0, 3)
    listed = best_and_worst(ranks, values, best, worst)
    assert listed == [system for system in ranks if system in listed]
    for value in set(values.values()):
        own_ranks = [system for system in ranks if values[system] == value]
        of_group = [system for system in listed if values[system] == value]
        assert set(of_group) == {*own_ranks[:best], *(own_ranks[-worst:] if worst else ())}


def test_labels_that_do_not_name_every_system(tmp_path: Path) -> None:
    (tmp_path / "systems.csv").write_text("system,group\nx,A\n")
    labels = Labels.read(tmp_path / "systems.csv")
    with pytest.raises(InputError, match="systems without a row of labels; found 1: y"):
        values_of_systems(labels, "group", ["x", "y"])
    with pytest.raises(InputError, match="no such label of systems; found 'media'; expected 'group'"):
        values_of_systems(labels, "media", ["x"])
