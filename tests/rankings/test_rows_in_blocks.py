"""Rankings are ordered, checked and cut a block of queries at a time: the blocks change nothing."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from cuihop.errors import InputError
from cuihop.rankings import ranking as ranking_module
from cuihop.rankings import rows as rows_module
from cuihop.rankings.ranking import Ranking
from cuihop.rankings.reading import read_ranking, read_run

_NAMES = tuple(f"i{number:02}" for number in range(40))


def _lines(shuffled: bool) -> list[str]:
    """Lists of 0 to 12 images; scores in half steps, so that many are equal; ranks that often disagree."""
    rng = random.Random(7)
    lines = []
    for query in _NAMES[:-3]:
        for document in rng.sample(_NAMES, rng.randrange(13)):
            lines.append(f"{query} Q0 {document} {rng.randrange(100)} {rng.randrange(8) / 2} run")
    if shuffled:
        rng.shuffle(lines)
    return lines


def _equal(one: Ranking, other: Ranking) -> None:
    assert one.account == other.account
    for name in ("indptr", "rows", "listed", "lengths"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist(), name
    assert one.digest == other.digest


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("ties", ["name", "trec"])
@pytest.mark.parametrize("depth", [None, 4])
def test_a_ranking_is_the_same_in_blocks_of_any_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shuffled: bool, ties: str, depth: int | None
) -> None:
    file = tmp_path / "a.run"
    file.write_text("\n".join(_lines(shuffled)) + "\n")
    whole = read_ranking(file, _NAMES, depth=depth, ties=ties)  # type: ignore[arg-type]
    judged = read_run(file, _NAMES[:20], depth=depth, ties=ties)  # type: ignore[arg-type]
    by_hand: dict[str, list[tuple[float, str]]] = {}
    for line in _lines(shuffled):
        query, _, document, _, score, _ = line.split()
        if query != document:
            by_hand.setdefault(query, []).append((float(score), document))
    for query, scored in by_hand.items():
        scored.sort(key=lambda pair: pair[1], reverse=ties == "trec")
        scored.sort(key=lambda pair: -pair[0])
        assert whole[query] == tuple(document for _, document in scored[:depth])
    monkeypatch.setattr(rows_module, "_ROWS_AT_ONCE", 3)
    _equal(read_ranking(file, _NAMES, depth=depth, ties=ties), whole)  # type: ignore[arg-type]
    again = read_run(file, _NAMES[:20], depth=depth, ties=ties)  # type: ignore[arg-type]
    _equal(again, judged)
    assert dict(again) == dict(judged)


@pytest.mark.parametrize("size", [1, 3, 1 << 18])
def test_the_first_repeated_document_of_the_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(rows_module, "_ROWS_AT_ONCE", size)
    file = tmp_path / "a.run"
    lines = ["i05 Q0 i06 1 2 r", "i01 Q0 i02 1 2 r", "i05 Q0 i07 1 2 r", "i05 Q0 i06 2 1 r", "i01 Q0 i02 2 1 r"]
    file.write_text("\n".join(lines) + "\n")
    for read in (read_ranking, read_run):
        with pytest.raises(
            InputError, match=r"line 4.* stands twice for a query; found 'i06' for query 'i05', as in line 1"
        ):
            read(file, _NAMES)


@pytest.mark.parametrize("query_image", ["exclude", "include"])
@pytest.mark.parametrize("depth", [None, 3])
def test_row_numbers_are_the_same_in_blocks_of_any_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query_image: str, depth: int | None
) -> None:
    rng = np.random.default_rng(3)
    table = np.stack([rng.permutation(len(_NAMES))[:6] for _ in _NAMES]).astype(np.int32)
    table[rng.random(table.shape[0]) < 0.3, 3:] = -1
    table[5] = -1
    np.save(tmp_path / "a.npy", table)

    def read() -> Ranking:
        return read_ranking(tmp_path / "a.npy", _NAMES, depth=depth, query_image=query_image)  # type: ignore[arg-type]

    whole = read()
    monkeypatch.setattr(ranking_module, "_LISTS_AT_ONCE", 7)
    _equal(read(), whole)
    assert whole.missing == ("i05",)
    for place, name in enumerate(_NAMES):
        listed = [row for row in table[place].tolist() if row >= 0 and (query_image == "include" or row != place)]
        assert whole[name] == tuple(_NAMES[row] for row in listed[:depth])
        looked_at = table[place] if depth is None else table[place, : depth + 1]
        assert whole.self_retrieved[place] == (place in looked_at)
