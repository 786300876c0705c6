"""Fusion by ranx against its formulas, written out."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from cuihop.adapters.ranx import fused
from cuihop.errors import InputError
from cuihop.rankings.reading import read_run

pytestmark = pytest.mark.usefixtures("ranx")

Lists = dict[str, dict[str, float]]


@pytest.fixture
def runs(tmp_path: Path) -> list[Lists]:
    """Three runs of two queries, with ties within and between them, written into the folder."""
    draw = random.Random(11)
    found: list[Lists] = []
    for number in range(3):
        found.append({q: {f"d{n}": draw.randint(0, 6) / 2 for n in draw.sample(range(12), 8)} for q in ("q", "r")})
        lines = [f"{q} Q0 {d} 0 {score} x\n" for q, scores in found[-1].items() for d, score in scores.items()]
        (tmp_path / f"{number}.run").write_text("".join(lines))
    return found


def test_reciprocal_rank_fusion(runs: list[Lists], tmp_path: Path) -> None:
    result = fused([read_run(tmp_path / f"{n}.run", None) for n in range(3)], "rrf", k=10)
    for query, scores in result.scores.items():
        expected: dict[str, float] = {}
        for run in runs:
            best_first = sorted(run[query], key=lambda d: (-run[query][d], d))
            for rank, document in enumerate(best_first, start=1):
                expected[document] = expected.get(document, 0.0) + 1 / (10 + rank)
        assert scores == pytest.approx(expected, abs=1e-15)
        assert list(scores) == sorted(scores, key=lambda d: (-scores[d], d))
    assert result.account.startswith("rrf of 3 runs, k = 10, by ranx ")


def test_sums_of_normalised_scores(runs: list[Lists], tmp_path: Path) -> None:
    read = [read_run(tmp_path / f"{n}.run", None) for n in range(3)]
    result = fused(read, "combsum", depth=5)
    for query, scores in result.scores.items():
        expected: dict[str, float] = {}
        for run in runs:
            least, most = min(run[query].values()), max(run[query].values())
            for document, score in run[query].items():
                expected[document] = expected.get(document, 0.0) + (score - least) / (most - least)
        assert len(scores) == 5
        assert scores == pytest.approx({document: expected[document] for document in scores}, abs=1e-12)
        assert min(scores.values()) >= sorted(expected.values())[-5] - 1e-12
    result.to_run(tmp_path / "fused.run")
    again = read_run(tmp_path / "fused.run", None)
    assert {query: list(again[query]) for query in again} == {query: list(of) for query, of in result.scores.items()}
    assert again.account.endswith("TREC run by score, 2 queries, 5 retrieved each")  # and by rank the same


def test_runs_that_cannot_be_fused(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("q Q0 a 1 1 x\n")
    (tmp_path / "y").write_text("r Q0 a 1 1 x\n")
    (tmp_path / "z").write_text("query,document,rank\nq,a,1\n")
    x, y, z = (read_run(tmp_path / name, None) for name in "xyz")
    with pytest.raises(InputError, match="not runs to fuse; found 1"):
        fused([x])
    with pytest.raises(InputError, match=r"runs of different queries.*expected the queries of"):
        fused([x, y])
    with pytest.raises(InputError, match="a run without scores"):
        fused([x, z], "combsum")
    with pytest.raises(InputError, match="no such method"):
        fused([x, z], "borda")  # type: ignore[arg-type]
