"""Files of pairs in blocks of plain rows: every output, every summary and every error as row by row."""

from __future__ import annotations

from dataclasses import astuple
from functools import cache
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop import SnapshotGraph
from cuihop.cli.pairs import PairAnswers, PairColumns, answers_of_file
from cuihop.errors import CuihopError
from cuihop.graph import Distances
from cuihop.resources.arrays import UInt64

IDENTIFIERS = st.sampled_from([f"C{i:07d}" for i in range(16)] * 3 + ["C0000099", "X-000001"])
STRANGE = st.sampled_from([
    "c0000001", "C0000077", "C0000088", " C0000001", "C0000001 ", '"C0000001"', "C000\t001", "C000,001", "C000;001",
    "C000\0001", "", "C1", "Ä000001", "C000000\n", "C000000\r", "C0000001\tC0000002", "C00000011",
])  # fmt: skip


@cache
def graph() -> SnapshotGraph:
    return SnapshotGraph.of(
        [(f"C{i:07d}", f"C{i + 1:07d}") for i in range(15)],
        concepts=["C0000099", "X-000001"],
        retired=[("C0000077", "SY", "C0000003")],
    )


DELIMITERS = st.sampled_from(["\t", ",", ";"])
ENDS = st.sampled_from(["\n", "\r\n"])


def outcome(path: Path, block: int, *, quick: bool, skips: bool) -> tuple[object, ...]:
    def answers(pairs: object) -> PairAnswers:
        distances = graph().distances(pairs)  # type: ignore[arg-type]
        texts = ["" if hops is None else str(hops) for hops in distances]
        return PairAnswers(texts, int(distances.reached.sum()), distances.merged)

    output, rejects, blocks = BytesIO(), BytesIO(), list[int]()
    columns = PairColumns(["hops"], answers, graph().distances_of_keys if quick else None)
    try:
        done: object = astuple(
            answers_of_file(
                path, graph(), output, columns, rejects=rejects if skips else None, block=block, progress=blocks.append
            )
        )  # fmt: skip
    except CuihopError as error:
        done = str(error)
    return done, output.getvalue(), rejects.getvalue(), blocks


@given(
    rows=st.lists(st.tuples(IDENTIFIERS, IDENTIFIERS), max_size=30),
    strange=st.lists(st.tuples(st.integers(0, 30), STRANGE, IDENTIFIERS | STRANGE), max_size=2),
    delimiter=DELIMITERS, end=ENDS, header=st.booleans(), skips=st.booleans(), block=st.integers(1, 12),
)  # fmt: skip
def test_plain_rows_in_blocks_are_answered_as_row_by_row(
    rows: list[tuple[str, str]], strange: list[tuple[int, str, str]], delimiter: str, end: str, *, header: bool,
    skips: bool, block: int,
) -> None:  # fmt: skip
    for index, a, b in strange:
        rows.insert(index, (a, b))
    text = "".join(f"{a}{delimiter}{b}{end}" for a, b in [("a", "b")] * header + rows)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.tsv"
        path.write_text(text, encoding="utf-8", newline="")
        quick, careful = (outcome(path, block, quick=each, skips=skips) for each in (True, False))
    assert quick == careful


def test_plain_rows_are_answered_by_their_numbers(tmp_path: Path) -> None:
    path, output, asked = tmp_path / "pairs.csv", BytesIO(), list[int]()
    path.write_text("C0000001,C0000004\nC0000002,C0000099\nC0000000,C0000012\n", encoding="utf-8")

    def by_keys(keys: UInt64) -> Distances | None:
        asked.append(len(keys))
        return graph().distances_of_keys(keys)

    def refused(_: object) -> PairAnswers:
        pytest.fail("row by row")

    done = answers_of_file(path, graph(), output, PairColumns(["hops"], refused, by_keys), block=2)
    assert (asked, done.pairs, done.answered) == ([4, 2], 3, 2)
    assert output.getvalue() == b"C0000001\tC0000004\t3\nC0000002\tC0000099\t\nC0000000\tC0000012\t12\n"
