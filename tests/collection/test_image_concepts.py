"""Concept files: forms that are read, and faults with their line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from cuihop.collection.image_concepts import ImageConcepts
from cuihop.errors import InputError
from shared_data import shared


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "concepts.csv"


def read(file: Path, content: str | bytes) -> ImageConcepts:
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return ImageConcepts.read(file)


def refusal(file: Path, content: str | bytes) -> InputError:
    with pytest.raises(InputError) as caught:
        read(file, content)
    assert caught.value.file == str(file)
    return caught.value


TWO = {"a": frozenset({"C0000001", "C0000002"}), "b": frozenset[str]()}


@pytest.mark.parametrize(
    "content",
    [
        "ID,CUIs\na,C0000001;C0000002\nb,\n",
        "ID,CUIs\r\na,C0000001;C0000002\r\nb,\r\n",
        "ID,CUIs\na,C0000001;C0000002\nb,",
        "\ufeffID,CUIs\na,C0000001;C0000002\nb,\n",
        '"image id","concepts, all"\n"a","C0000001;C0000002"\n"b",""\n',
        "x,y\n a , C0000001 ; C0000002 \nb,  \n\n",
        "ID,CUIs\n\na,C0000001;C0000002\n\nb,\n",
        gzip.compress(b"ID,CUIs\na,C0000001;C0000002\nb,\n", mtime=0),
        gzip.compress(b"ID,CUIs\na,C0000001;", mtime=0) + gzip.compress(b"C0000002\nb,\n", mtime=0),
    ],
    ids=["LF", "CRLF", "no last line feed", "BOM", "quoted", "blanks", "empty lines", "gzip", "two gzip members"],
)
def test_forms_of_the_file(file: Path, content: str | bytes) -> None:
    found = read(file, content)
    assert dict(found) == TWO
    assert (list(found), found.repeated, found.source) == (["a", "b"], 0, str(file))


def test_identifiers_of_other_vocabularies_are_kept(file: Path) -> None:
    assert read(file, "ID,terms\na,HP:0000001;CL123\n")["a"] == {"HP:0000001", "CL123"}


def test_a_concept_twice_in_an_image_counts_once_and_is_counted(file: Path) -> None:
    found = read(file, "ID,CUIs\na,C0000001;C0000002;C0000001;C0000001\nb,C0000001\n")
    assert (found["a"], found.repeated, found.occurrences) == (frozenset({"C0000001", "C0000002"}), 2, 3)


def test_rocov2_is_read_whole() -> None:
    images = ImageConcepts.read(shared("rocov2/test_concepts.csv.gz"))
    assert (len(images), images.occurrences, images.repeated) == (9927, 33_874, 0)
    assert len({concept for concepts in images.values() for concept in concepts}) == 1750
    train = ImageConcepts.read(shared("rocov2/train_concepts.csv.gz"))
    assert (len(train), train.occurrences) == (59_962, 200_738)
    manual = ImageConcepts.read(shared("rocov2/test_concepts_manual.csv.gz"))
    assert sum(not concepts for concepts in manual.values()) == 105


@pytest.mark.parametrize(
    ("content", "line", "column", "parts"),
    [
        ("", None, None, ["the file is empty"]),
        ("\n\n", None, None, ["the file is empty"]),
        ("ID,CUIs\n", None, None, ["holds no image", "a header only"]),
        ("a,C0000001\nb,C0000002\n", 1, None, ["the header is missing", "'a,C0000001'", "ID,CUIs"]),
        ("a,C0000001;C0000002\n", 1, None, ["the header is missing"]),
        ("\na,\nb,C0000002\n", 2, None, ["the header is missing"]),
        ("a,HP:1;HP:2\nb,HP:1\n", 1, None, ["the header is missing"]),
        ("a,HP:1\nb,HP:1\n", 1, None, ["the header is missing"]),
        ("ID\na\n", 1, None, ["wrong number of columns", "found 1 in 'ID'", "two columns separated by a comma"]),
        ("ID;CUIs\na;C0000001;C0000002\n", 2, None, ["wrong number of columns", "quote the concepts"]),
        ("ID,CUIs\na,C0000001,C0000002\n", 2, None, ["wrong number of columns", "found 3"]),
        ("ID,CUIs\na,C0000001\nb\n", 3, None, ["wrong number of columns", "found 1 in 'b'"]),
        ("ID,CUIs\na,C0000001\nb,\na,C0000002\n", 4, 1, ["stands twice", "'a', as in line 2"]),
        ("ID,CUIs\n,C0000001\n", 2, 1, ["the image is missing"]),
        ("ID,CUIs\na,C0000001;;C0000002\n", 2, 2, ["identifier is missing", "identifiers between ';'"]),
        ("ID,CUIs\na,C0000001\nb,C0000001;\n", 3, 2, ["identifier is missing"]),
        ("ID,CUIs\na,;\n", 2, 2, ["identifier is missing"]),
        ("ID,CUIs\na,C0000001 C0000002\n", 2, 2, ["separated by a blank", "'C0000001 C0000002'"]),
        ("ID,CUIs\na,C0000001|C0000002\n", 2, 2, ["separated by '|'"]),
        ("ID,CUIs\na,Ménière\n", 2, 2, ["not an identifier", "printable ASCII"]),
        (b"ID,CUIs\na,C0000001\nb,C00\xff0001\n", 3, "byte 6", ["not UTF-8", "0xFF"]),
        ("ID,CUIs\na,C0000001\n".encode("utf-16"), None, None, ["UTF-16", "Save it as UTF-8"]),
        ('ID,CUIs\na,"C0000001\nb,C0000002\n', 2, None, ["not CSV"]),
        ('ID,CUIs\na,"C0000001"x\n', 2, None, ["not CSV"]),
    ],
)
def test_faults_are_refused_with_their_place(
    file: Path, content: str | bytes, line: int | None, column: int | str | None, parts: list[str]
) -> None:
    error = refusal(file, content)
    assert (error.line, error.column) == (line, column)
    for part in parts:
        assert part in str(error)


def test_damaged_gzip_streams(file: Path) -> None:
    whole = gzip.compress(("ID,CUIs\n" + "".join(f"i{i},C{i * 7919 % 10**7:07d}\n" for i in range(3000))).encode())
    assert len(read(file, whole)) == 3000
    assert "gzip stream ends early" in str(refusal(file, whole[:-10]))
    wrong_checksum = bytearray(whole)
    wrong_checksum[-8] ^= 1
    assert "gzip stream is damaged" in str(refusal(file, bytes(wrong_checksum)))
    assert "gzip stream is damaged" in str(refusal(file, b"\x1f\x8b" + b"\0" * 20))
    for place in range(20, len(whole), 997):
        flipped = bytearray(whole)
        flipped[place] ^= 4
        assert refusal(file, bytes(flipped))


def test_records_over_several_lines_are_placed_by_their_first(file: Path) -> None:
    error = refusal(file, 'ID,CUIs\n"a\nb",C0000001\nc,C0000001;;\n')
    assert error.line == 4
    error = refusal(file, 'ID,CUIs\n"a\nb",;\n')
    assert error.line == 2


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        ImageConcepts.read(tmp_path / "none.csv")
    with pytest.raises(InputError, match="cannot be read"):
        ImageConcepts.read(tmp_path)
