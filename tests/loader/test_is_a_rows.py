"""Rows of MRREL with any bytes in their identifiers, read as plain Python reads them."""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cuihop.identifiers import is_identifier
from cuihop_loader import LoadOptions, row_scanner
from cuihop_loader.identifier_codes import IdentifierCodes, ReleaseReading
from cuihop_loader.is_a_rows import read_is_a_rows
from cuihop_loader.rejected_rows import RejectedRows
from cuihop_loader.sources import SourceFile
from cuihop_loader.streams import Part

ENDS = st.one_of(
    st.sampled_from([b"C0000001", b"C0000002", b"C0000003", b"C9999999", b"CL12345", b"C000000", b"C000000:", b""]),
    st.binary(max_size=10).filter(lambda raw: not {10, 13, 124} & set(raw) and raw[:1] != b"\xef"),
)
ROWS = st.lists(
    st.tuples(
        ENDS,
        ENDS,
        st.sampled_from([b"isa", b"inverse_isa", b"isa_", b"", b"inverse_", b"part_of"]),
        st.sampled_from([b"MSH", b"", b"A_LONG_VOCABULARY", b"A_LONG_VOCABULARY_2", b"X"]),
        st.sampled_from([b"N", b"N", b"O", b"", b"NN"]),
    ),
    max_size=40,
)


class Lines(RejectedRows):
    def __init__(self) -> None:
        super().__init__(skip=True, target=None)
        self.lines: list[int | None] = []

    def reject(self, file: str, line: int | None, bad: object, row: bytes) -> None:
        self.lines.append(line)


@given(rows=ROWS, only_cuis=st.booleans(), sabs=st.sampled_from([(), ("MSH",), ("", "X")]), block=st.integers(1, 900))
@example(
    rows=[(b"C0000001", b"C0000002", b"isa", b"%d" % k, b"N") for k in range(300)], only_cuis=True, sabs=(), block=900
)
def test_any_bytes_are_read_as_plain_python_reads_them(
    rows: list[tuple[bytes, bytes, bytes, bytes, bytes]], only_cuis: bool, sabs: tuple[str, ...], block: int
) -> None:
    edges: dict[tuple[bytes, bytes], set[str]] = defaultdict(set)
    notations: dict[tuple[bytes, bytes], set[bytes]] = defaultdict(set)
    loops, bad, of_sabs = set(), [], Counter[str]()
    rows = [*rows, (b"C0000001", b"C0000002", b"isa", b"X", b"N")]
    for number, (first, second, rela, sab, suppress) in enumerate(rows, start=1):
        texts = [raw.decode(errors="replace") for raw in (first, second)]
        if not all(map(_is_text, (first, second))):
            bad.append(number)
        elif rela not in (b"isa", b"inverse_isa") or suppress != b"N" or (sabs and sab.decode() not in sabs):
            continue
        elif not all(is_identifier(text, "any") for text in texts):
            bad.append(number)
        elif only_cuis and not all(is_identifier(text, "cui") for text in texts):
            continue
        elif first == second:
            loops.add(first)
        else:
            edge = (second, first) if rela == b"isa" else (first, second)
            edges[edge].add(sab.decode())
            notations[edge].add(rela)
            of_sabs[sab.decode()] += 1

    content = b"".join(b"%b|||R|%b|||%b|||%b||||%b||\n" % (a, b, rela, sab, s) for a, b, rela, sab, s in rows)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_scanner, "BLOCK_BYTES", block)
        path = Path(folder) / "MRREL.RRF"
        path.write_bytes(content)
        rejected, codes = Lines(), IdentifierCodes()
        options = LoadOptions(include_sabs=sabs)
        reading = ReleaseReading(options, codes, rejected, lambda *_: None, only_cuis=only_cuis)
        found = read_is_a_rows(SourceFile("MRREL", (Part(path, None, False, len(content)),)), reading)

    assert rejected.lines == bad
    ends = (codes.identifiers(found.edges.children).tolist(), codes.identifiers(found.edges.parents).tolist())
    members = [set(found.edges.members[number]) for number in found.edges.sab_sets.tolist()]
    assert dict(zip(zip(*ends, strict=True), members, strict=True)) == edges
    assert found.edges.mirrored == sum(len(both) == 2 for both in notations.values())
    assert set(codes.identifiers(found.loops).tolist()) == loops
    assert {sab: count for sab, count in found.sab_rows.items() if count} == of_sabs


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True
