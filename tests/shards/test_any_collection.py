"""Shards of any collection, of any number, give the numbers of one process to the last bit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collections_made import Case, cases
from cuihop import Dataset, Nearness, Ranking, Resources, evaluate, evaluate_each
from cuihop.errors import InputError
from cuihop.evaluation import evaluate_shard, open_shard
from cuihop.relevance import top_k
from cuihop.relevance.baselines import Relevance
from cuihop.resources.shard import Shard
from examples import examples

K = 4


@pytest.mark.slow
@settings(max_examples=examples(40))
@given(cases(), st.integers(1, 5), st.booleans(), st.data())
def test_shards_of_any_collection(case: Case, count: int, by_position: bool, data: st.DataObject) -> None:
    images, graph = Dataset(case.queries, case.corpus), case.graph
    nearness = Nearness(case.n, case.lam, case.direction, "isolated")
    by: Relevance = data.draw(st.sampled_from(("nn-iou", "iou", "bm", "tf-idf")))
    options: dict[str, Any] = {"measures": [f"nn-CUI@{K},1", f"CUI@{K}"], "nearness": nearness, "missing": "skip"}

    def rankings(resources: Resources) -> dict[str, Ranking]:
        ranked = top_k(images, graph, K, by=by, nearness=nearness, resources=resources)
        held = tuple(case.held)
        return {"ranked": ranked, "given": Ranking.of(case.ranking, tuple(case.queries), held)}

    expected = evaluate_each(images, rankings(Resources()), graph, **options)
    computed = set(data.draw(st.lists(st.integers(1, count))))  # the merge computes what the others did not
    with TemporaryDirectory() as folder:
        for number in computed:
            with open_shard(Shard(number, count), folder, images, by_position=by_position) as shard:
                of_shard = rankings(shard.resources("ranking.blocks"))
                evaluate_shard(images, of_shard, graph, resources=shard.resources("evaluation.blocks"), **options)
        whole = rankings(Resources(checkpoint=Path(folder) / "ranking.blocks"))
        merged = evaluate_each(
            images, whole, graph, resources=Resources(checkpoint=Path(folder) / "evaluation.blocks"), **options
        )
    for name, evaluation in merged.items():
        assert evaluation.values.tobytes() == expected[name].values.tobytes()
        assert evaluation.counts == expected[name].counts
        for gain, best in evaluation.best_gains.items():
            assert best.tobytes() == expected[name].best_gains[gain].tobytes()
    assert (whole["ranked"].rows == rankings(Resources())["ranked"].rows).all()


@given(st.lists(st.integers(0, 20), max_size=60), st.integers(1, 70))
def test_every_query_is_in_one_shard_and_groups_are_not_divided(groups: list[int], count: int) -> None:
    group = np.array(groups, dtype=np.int64)
    parts = [Shard(number, count) for number in range(1, count + 1)]
    of_groups = [part.of_groups(group) for part in parts]
    of_positions = [part.of_positions(len(groups)) for part in parts]
    for places in (of_groups, of_positions):
        assert sorted(np.concatenate(places).tolist()) == list(range(len(groups)))
        assert all((np.diff(part) > 0).all() for part in places)
    assert sum(len(set(group[part].tolist())) for part in of_groups) == len(set(groups))
    assert max(map(len, of_positions)) <= len(groups) / count + max(1, len(groups) / count / 8) + 1


def test_nothing_is_assembled_from_a_shard(tmp_path: Path) -> None:
    images = {"x": "C0042449", "y": "C0042449", "z": "C0018670"}
    with open_shard("1/2", tmp_path, images) as shard:
        resources = shard.resources("evaluation.blocks")
        with pytest.raises(InputError, match="evaluate_shard"):
            evaluate(images, {"x": ["y"]}, measures="CUI@1", resources=resources)
        partial = top_k(images, None, 1, by="iou", resources=shard.resources("ranking.blocks"))
        with pytest.raises(InputError, match="ranking"):
            evaluate(images, partial, measures="CUI@1")
        with pytest.raises(InputError, match="no shard"):
            evaluate_shard(images, {"a": partial}, measures="CUI@1", resources=replace(resources, places=None))
