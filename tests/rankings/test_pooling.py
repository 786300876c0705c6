"""Pools: the first documents of every run, against their definition."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuihop.collection.judgements import Judgements
from cuihop.errors import InputError
from cuihop.rankings.pooling import pooled
from cuihop.rankings.reading import read_run
from examples import examples


@settings(max_examples=examples(40))
@given(seed=st.integers(0, 10**6), depth=st.integers(1, 12))
def test_a_pool_is_the_union_of_the_first_documents(
    seed: int, depth: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    draw, folder = random.Random(seed), tmp_path_factory.mktemp("pool")
    documents = [f"d{n}" for n in range(15)]
    lists, files = [], []
    for number in range(draw.randint(1, 4)):
        lists.append({q: draw.sample(documents, draw.randint(1, 15)) for q in draw.sample(["q1", "q2", "q3"], 2)})
        files.append(folder / f"{number}.run")
        files[-1].write_text(
            "".join(f"{q} Q0 {d} 1 {-rank} x\n" for q, found in lists[-1].items() for rank, d in enumerate(found))
        )
    pool = pooled([read_run(file, None, depth=depth) for file in files], depth)
    assert pool.runs == len(files)
    for query in {query for found in lists for query in found}:
        first = [found[query][:depth] for found in lists if query in found]
        union = sorted({document for some in first for document in some})
        assert list(pool.documents[query]) == union
        assert pool.documents[query] == {d: sum(d in some for some in first) for d in union}
        assert pool.queried[query] == len(first)


def test_the_file_for_judges_is_read_back_as_unjudged_and_then_as_judged(tmp_path: Path) -> None:
    for name, text in (("x", "q Q0 b 1 3 x\nq Q0 a 2 2 x\nq Q0 c 3 1 x\n"), ("y", "q Q0 d 1 1 y\n")):
        (tmp_path / name).write_text(text)
    pool = pooled([read_run(tmp_path / name, None) for name in "xy"], 2)
    pool.to_qrels(tmp_path / "judge")
    assert (tmp_path / "judge").read_text() == "q 0 a -1\nq 0 b -1\nq 0 d -1\n"
    assert Judgements.read(tmp_path / "judge")["q"] == {"a": -1, "b": -1, "d": -1}
    (tmp_path / "judge").write_text("q 0 a DR\nq 0 b -1\nq 0 d PR\n")
    assert Judgements.read(tmp_path / "judge")["q"] == {"a": 2, "b": -1, "d": 1}
    pool.to_csv(tmp_path / "pool.csv")
    assert (tmp_path / "pool.csv").read_text() == "query,document,runs\nq,a,1\nq,b,1\nq,d,1\n"


def test_pools_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing to pool"):
        pooled([], 3)
    with pytest.raises(InputError, match="not a cut-off"):
        pooled([], 0)
    (tmp_path / "spaced.csv").write_text("query,document,score\nq,a b,1\n")
    pool = pooled([read_run(tmp_path / "spaced.csv", None)], 3)
    with pytest.raises(InputError, match="not a name in qrels; found 'a b'"):
        pool.to_qrels(tmp_path / "judge")
