"""Small compressed files of one enormous line, or record: every reader refuses them at the limit of a line."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from itertools import chain, repeat
from pathlib import Path

import pytest

from cuihop.annotated_texts.bioc import LARGEST_COLLECTION
from cuihop.annotated_texts.reading import open_texts, read_documents
from cuihop.errors import InputError
from cuihop.files.text_lines import LONGEST_LINE, csv_records, first_line, line_blocks, raw_lines
from cuihop.rankings.reading import read_run
from text_readers import TEXT_READERS

NEVER_ENDS = "has no end"


def bomb(path: Path, size: int, begin: bytes = b"") -> Path:
    """A gzip file of a line of this size, which is written in a moment."""
    part = b"a" * (1 << 20)
    packer = zlib.compressobj(1, wbits=31)
    with path.open("wb") as file:
        file.write(packer.compress(begin))
        for _ in range(size >> 20):
            file.write(packer.compress(part))
        file.write(packer.flush())
    return path


@pytest.fixture(scope="module")
def one_line(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 400 kB that holds one line of 65 MiB."""
    return bomb(tmp_path_factory.mktemp("bomb") / "line.gz", LONGEST_LINE + (1 << 20))


@pytest.mark.parametrize("reader", TEXT_READERS)
def test_every_reader_refuses_an_endless_line(one_line: Path, reader: str) -> None:
    with pytest.raises(InputError, match=NEVER_ENDS) as caught:
        TEXT_READERS[reader](one_line)
    assert (caught.value.file, caught.value.line) == (str(one_line), 1)
    assert caught.value.expected == "67,108,864 at most"


@pytest.mark.parametrize("reader", [open_texts, read_documents])
def test_texts_may_be_one_line_of_a_collection(tmp_path: Path, reader: Callable[[Path], object]) -> None:
    path = bomb(tmp_path / "texts.gz", LARGEST_COLLECTION + (1 << 20))
    with pytest.raises(InputError, match=NEVER_ENDS) as caught:
        reader(path)
    assert caught.value.expected == "268,435,456 at most"


def test_the_lines_before_an_endless_line_come_first(tmp_path: Path) -> None:
    path = bomb(tmp_path / "run.gz", LONGEST_LINE + (1 << 20), b"1 Q0 a 1 2 r\n1 Q0 b 2 1 r\n")
    lines = list[bytes]()
    with pytest.raises(InputError, match=NEVER_ENDS) as caught:
        lines.extend(raw_lines(path))
    assert lines == [b"1 Q0 a 1 2 r\n", b"1 Q0 b 2 1 r\n"]
    assert caught.value.line == 3


def test_a_line_of_the_limit_is_read(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"".join([b"b\n", b"a" * 5000, b"\nc"]))
    assert [line for _, block in line_blocks(path, 5000) for line in block] == [b"b\n", b"a" * 5000 + b"\n", b"c"]


def test_a_quoted_record_of_lines_without_end_is_refused() -> None:
    lines = chain(["ID,CUIs\n", '"a\n'], repeat('","' + "a" * 100_000 + "\n", 1000))
    with pytest.raises(InputError, match="the record has no end") as caught:
        list(csv_records(lines, "concepts.csv", "an image and its concepts"))
    assert caught.value.line == 2


def test_empty_lines_at_the_beginning_are_counted_and_not_kept(tmp_path: Path) -> None:
    text, rest = first_line(chain(repeat("\n", 3), [" \n", "a\n", "b\n"]))
    assert (text, list(rest)) == ("a\n", ["\n"] * 4 + ["a\n", "b\n"])
    path = tmp_path / "run.csv"
    path.write_bytes(b"\n" * (1 << 18) + b"query,document,score\nq,d,one\n")
    with pytest.raises(InputError, match="not a score") as caught:
        read_run(path, None)
    assert caught.value.line == (1 << 18) + 2
