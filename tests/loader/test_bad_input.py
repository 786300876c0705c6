"""Files that are not as they must be: the error says where, what stood there, and what should have."""

from __future__ import annotations

import gc
import gzip
import shutil
import zipfile
import zlib
from pathlib import Path

import pytest

from cuihop.errors import InputError, OutputError
from cuihop_loader import LoadOptions, load, row_scanner
from loader.rrf_made import edges, isa, name, relation, retired, semantic_type, written

GOOD = [isa("C0000001", "C0000002"), isa("C0000002", "C0000003"), isa("C0000003", "C0000004")]
SKIP = LoadOptions(on_bad_row="skip")


def refused(folder: Path) -> InputError:
    with pytest.raises(InputError) as error:
        load([folder])
    return error.value


def where(error: InputError) -> tuple[str, int | None, str | int | None]:
    return (Path(error.file or "").name, error.line, error.column)


@pytest.mark.parametrize("block", [1, 64, 100, 1 << 20])
@pytest.mark.parametrize(
    ("bad", "column", "problem", "found"),
    [
        (GOOD[1].removesuffix("|"), "CVF", "too few columns", "15 columns and '' "),
        (GOOD[1].replace("|SRC|SRC|", "|SRC|"), "CVF", "too few columns", "15 columns"),
        ("C0000001|A1|AUI|", "REL", "too few columns", "3 columns"),
        ("no bar at all", "CUI1", "too few columns", "0 columns and 'no bar at all' without a '|' after it"),
        ("", "CUI1", "too few columns", "an empty line"),
        (GOOD[1] + "|", 17, "too many columns", "17 columns"),
        (GOOD[1] + "|||||||||", 17, "too many columns", "25 columns"),
        (GOOD[1] + "text", 17, "too many columns", "16 columns and 'text' after the last '|'"),
        (GOOD[1].replace("|SRC|", "|SR|C|", 1), 17, "too many columns", "17 columns"),
    ],
)
def test_a_wrong_number_of_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, bad: str, column: str | int, problem: str, found: str
) -> None:
    monkeypatch.setattr(row_scanner, "BLOCK_BYTES", block)
    error = refused(written(tmp_path, {"MRREL": [*GOOD, bad, *GOOD]}))
    assert where(error) == ("MRREL.RRF", 4, column)
    assert error.problem == problem
    assert str(error.found).startswith(found.strip().removesuffix("and ''").strip())
    assert error.expected == "16 columns, each ended by '|'"


def test_a_long_file_names_the_line_of_its_only_bad_row(tmp_path: Path) -> None:
    rows = [isa(f"C{i:07d}", f"C{i + 1:07d}") for i in range(50_000)]
    rows[43_210] += "|"
    error = refused(written(tmp_path, {"MRREL": rows}))
    assert (error.line, error.column) == (43_211, 17)
    assert "line 43,211" in str(error)


def test_the_first_of_several_bad_rows_is_reported(tmp_path: Path) -> None:
    rows = [*GOOD, isa("C 1", "C0000001"), "too|few|", *GOOD, "\ud800"[:0] + "x"]
    assert where(refused(written(tmp_path, {"MRREL": rows}))) == ("MRREL.RRF", 4, "CUI1")


@pytest.mark.parametrize("block", [1, 90, 1 << 20])
@pytest.mark.parametrize(
    ("role", "place", "column"), [("MRREL", 2, "SAB"), ("MRCONSO", 3, "STR"), ("MRCONSO", 1, "STR")]
)
@pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xe2\x82", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf5\x80\x80\x80"])
def test_text_that_is_not_utf8(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, role: str, place: int, column: str, bad: bytes
) -> None:
    monkeypatch.setattr(row_scanner, "BLOCK_BYTES", block)
    names = [name("C0000001", "Sjögren SRC"), name("C0000002", "β SRC"), name("C0000003", "z SRC")]
    folder = written(tmp_path, {"MRREL": GOOD, "MRCONSO": names})
    file = folder / f"{role}.RRF"
    lines = file.read_bytes().split(b"\n")
    lines[place - 1] = b"S\x00RC".join(lines[place - 1].rsplit(b"SRC", 1)).replace(b"\x00", bad, 1)
    file.write_bytes(b"\n".join(lines))
    error = refused(folder)
    expected_column = "SL" if role == "MRREL" else column
    assert where(error) == (file.name, place, expected_column)
    assert error.problem == "not UTF-8"
    with pytest.raises(UnicodeDecodeError) as decoding:
        lines[place - 1].decode()
    assert str(error.found) == f"byte 0x{bad[0]:02X}, byte {decoding.value.start + 1} of the row"


@pytest.mark.parametrize(
    ("cut", "column"),
    [(1, "CVF"), (2, "SUPPRESS"), (3, "SUPPRESS"), (4, "DIR"), (30, "CUI2"), (len(GOOD[0]) - 1, "CUI1")],
)
def test_a_last_line_that_is_cut_off(tmp_path: Path, cut: int, column: str) -> None:
    folder = written(tmp_path, {"MRREL": GOOD})
    file = folder / "MRREL.RRF"
    file.write_bytes(file.read_bytes()[: -1 - cut])
    error = refused(folder)
    assert where(error) == ("MRREL.RRF", 3, column)
    assert error.problem == "the last line is cut off"


def test_a_last_line_without_line_feed_is_whole_if_its_columns_are(tmp_path: Path) -> None:
    folder = written(tmp_path, {"MRREL": GOOD})
    file = folder / "MRREL.RRF"
    file.write_bytes(file.read_bytes()[:-1])
    assert load([folder]).report.edges == 3


def test_crlf_line_ends_are_accepted_and_reported(tmp_path: Path) -> None:
    names = [name("C0000001", "One")]
    unix = load([written(tmp_path / "unix", {"MRREL": GOOD, "MRCONSO": names})])
    dos = load([written(tmp_path / "dos", {"MRREL": GOOD, "MRCONSO": names}, line_end="\r\n")])
    assert unix.sections.meta["release"]["digest"] == dos.sections.meta["release"]["digest"]
    assert [file.line_ends for file in unix.report.files] == ["LF", "LF"]
    assert [file.line_ends for file in dos.report.files] == ["CRLF", "CRLF"]


def test_line_ends_of_both_kinds_in_one_file_are_reported(tmp_path: Path) -> None:
    folder = written(tmp_path, {"MRREL": GOOD})
    file = folder / "MRREL.RRF"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n", 1))
    assert [file.line_ends for file in load([folder]).report.files] == ["mixed"]


def test_a_byte_order_mark_is_no_part_of_the_first_identifier(tmp_path: Path) -> None:
    folder = written(tmp_path, {"MRREL": GOOD})
    file = folder / "MRREL.RRF"
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert load([folder]).report.edges == 3


@pytest.mark.parametrize("role", ["MRREL", "MRCONSO", "MRRANK", "MRSTY", "MRSAB"])
def test_an_empty_file(tmp_path: Path, role: str) -> None:
    error = refused(written(tmp_path, {"MRREL": GOOD} | {role: []}))
    assert where(error) == (f"{role}.RRF", None, None)
    assert error.problem == "the file is empty"


def test_empty_change_files_are_fine(tmp_path: Path) -> None:
    folder = written(tmp_path, {"MRREL": GOOD, "MRCUI": [], "MERGEDCUI": [], "DELETEDCUI": []})
    assert load([folder]).report.retired.concepts == 0


@pytest.mark.parametrize(
    ("source", "problem"),
    [("nowhere", "no such file or folder"), ("empty", "no MRREL.RRF"), ("notes.txt", "not a file that can be loaded")],
)
def test_a_missing_file(tmp_path: Path, source: str, problem: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("notes")
    error = refused(tmp_path / source)
    assert error.problem == problem
    assert error.file == str(tmp_path / source)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "MRREL.RRF").symlink_to(tmp_path / "gone")
    assert refused(tmp_path / "MRREL.RRF").problem == "no such file or folder"


def gzipped(folder: Path, rows: list[str]) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "MRREL.RRF.gz"
    path.write_bytes(gzip.compress("".join(row + "\n" for row in rows).encode(), compresslevel=1))
    return path


@pytest.mark.parametrize("block", [64, 1 << 20])
def test_a_truncated_gzip_file_tells_the_line_where_it_breaks_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(row_scanner, "BLOCK_BYTES", block)
    path = gzipped(tmp_path, [isa(f"C{i:07d}", f"C{i * 7919 % 10_000_000:07d}") for i in range(1, 2000)])
    path.write_bytes(path.read_bytes()[:-200])
    whole_lines = zlib.decompressobj(31).decompress(path.read_bytes()).count(b"\n")
    assert 0 < whole_lines < 1999
    error = refused(tmp_path)
    assert where(error) == ("MRREL.RRF.gz", whole_lines + 1, None)
    assert error.problem == "the gzip file breaks off"


def test_a_gzip_file_that_lacks_only_its_checksum_is_refused(tmp_path: Path) -> None:
    path = gzipped(tmp_path, GOOD)
    path.write_bytes(path.read_bytes()[:-8])
    error = refused(tmp_path)
    assert (error.problem, error.line) == ("the gzip file breaks off", 4)


def test_a_damaged_gzip_file(tmp_path: Path) -> None:
    path = gzipped(tmp_path, GOOD)
    raw = bytearray(path.read_bytes())
    raw[-6] ^= 0xFF  # in the checksum
    path.write_bytes(raw)
    assert refused(tmp_path).problem == "the gzip file is damaged"
    path.write_bytes(b"CUI1|this is no gzip")
    assert refused(tmp_path).problem == "not a gzip file"
    path = gzipped(tmp_path, GOOD)
    path.write_bytes(path.read_bytes() + b"CUI1|another file")
    assert (refused(tmp_path).problem, refused(tmp_path).line) == ("the gzip file is damaged", 4)


@pytest.mark.parametrize("enabled", [True, False])
def test_the_garbage_collector_is_as_before_after_a_load_that_failed(tmp_path: Path, enabled: bool) -> None:
    (gc.enable if enabled else gc.disable)()
    try:
        refused(written(tmp_path, {"MRREL": [GOOD[0], "no row"]}))
        assert gc.isenabled() is enabled
    finally:
        gc.enable()


def test_an_empty_gzip_file(tmp_path: Path) -> None:
    (tmp_path / "MRREL.RRF.gz").write_bytes(b"")
    assert refused(tmp_path).problem == "the gzip file breaks off"
    (tmp_path / "MRREL.RRF.gz").write_bytes(gzip.compress(b""))
    assert refused(tmp_path).problem == "the file is empty"


def test_a_truncated_zip_archive(tmp_path: Path) -> None:
    archive = tmp_path / "umls.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("2025AB/META/MRREL.RRF", "\n".join(GOOD) + "\n")
    archive.write_bytes(archive.read_bytes()[:-10])
    error = refused(archive)
    assert error.problem == "not a zip archive, or one that breaks off"


def test_a_damaged_member_of_a_zip_archive(tmp_path: Path) -> None:
    archive = tmp_path / "umls.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as zipped:
        zipped.writestr("META/MRREL.RRF", "\n".join(GOOD) + "\n")
    archive.write_bytes(archive.read_bytes().replace(b"C0000003", b"C0000009", 1))
    error = refused(archive)
    assert error.problem == "the zip archive is damaged"
    assert error.file == f"{archive}:META/MRREL.RRF"


@pytest.mark.parametrize(
    ("role", "row", "column", "problem"),
    [
        ("MRREL", isa("", "C0000002"), "CUI1", "not an identifier"),
        ("MRREL", isa("C0000001", "C000 002"), "CUI2", "not an identifier"),
        ("MRREL", isa("C0000001", "C1;C2"), "CUI2", "not an identifier"),
        ("MRREL", isa("X" * 129, "C0000001"), "CUI1", "not an identifier"),
        ("MRREL", isa("C0000001", "Ö1"), "CUI2", "not an identifier"),
        ("MRCONSO", name("", "Nobody"), "CUI", "not an identifier"),
        ("MRSTY", semantic_type("C 1", "T047", "Disease"), "CUI", "not an identifier"),
        ("MRCUI", retired("", "SY", "C0000001"), "CUI1", "not an identifier"),
        ("MRCUI", retired("C0000009", "SY"), "CUI2", "no successor for SY"),
        ("MRCUI", retired("C0000009", "SY", "C 1"), "CUI2", "not an identifier"),
        ("MERGEDCUI", "C0000009||", "CUI", "no successor for SY"),
        ("DELETEDCUI", "|gone|", "PCUI", "not an identifier"),
        ("MRRANK", "high|SRC|PT|N|", "RANK", "not a rank"),
    ],
)
@pytest.mark.parametrize("identifiers", ["cui", "any"])
def test_a_field_that_cannot_be(
    tmp_path: Path, role: str, row: str, column: str, problem: str, identifiers: str
) -> None:
    good = {
        "MRREL": GOOD,
        "MRCONSO": [name("C0000001", "One")] * 2,
        "MRSTY": [semantic_type("C0000001", "T047", "Disease")] * 2,
        "MRCUI": [retired("C0000008", "DEL")] * 2,
        "MERGEDCUI": ["C0000007|C0000001|"] * 2,
        "DELETEDCUI": ["C0000006|text|"] * 2,
        "MRRANK": ["0001|SRC|PT|N|"] * 2,
    }
    files = good | {role: [*good[role][:2], row, *good[role][2:]]}
    folder = written(tmp_path, files)
    with pytest.raises(InputError) as error:
        load([folder], LoadOptions(identifiers=identifiers))  # type: ignore[arg-type]
    assert where(error.value) == (f"{role}.RRF", 3, column)
    assert error.value.problem == problem

    skipped = load([folder], LoadOptions(identifiers=identifiers, on_bad_row="skip"))  # type: ignore[arg-type]
    without = load([written(tmp_path / "good", good)], LoadOptions(identifiers=identifiers))  # type: ignore[arg-type]
    assert skipped.sections.meta["release"]["digest"] == without.sections.meta["release"]["digest"]
    assert {f.role: f.bad for f in skipped.report.files if f.bad} == {role: 1}


def test_fields_of_rows_that_do_not_count_are_not_judged(tmp_path: Path) -> None:
    assert load([written(tmp_path, {"MRREL": [*GOOD, relation("", "SIB", "?? ??")]})]).report.edges == 3


def test_an_identifier_that_is_missing_is_said_to_be_nothing(tmp_path: Path) -> None:
    folder = written(tmp_path, {"MRREL": [*GOOD, isa("", "C0000001")]})
    with pytest.raises(InputError, match="CUI1: not an identifier; found nothing"):
        load([folder], LoadOptions(identifiers="any"))


def test_rows_of_other_relations_are_counted_once_each(tmp_path: Path) -> None:
    others = [relation("C0000001", rel, "C0000002") for rel in ("PAR", "CHD", "RO")]
    (report,) = load([written(tmp_path, {"MRREL": [*GOOD, *others, isa("C1", "C2", suppress="O")]})]).report.files
    assert (report.used, report.skipped) == (len(GOOD), {"other relation": 3, "suppressed": 1})


@pytest.mark.parametrize("block", [1, 120, 1 << 20])
def test_skipped_rows_are_counted_and_written_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(row_scanner, "BLOCK_BYTES", block)
    folder = written(tmp_path / "umls", {"MRREL": [GOOD[0], "a|b|", *GOOD[1:], GOOD[0] + "|", isa("C 1", "C0000001")]})
    file = folder / "MRREL.RRF"
    file.write_bytes(file.read_bytes() + b"\xff\xfe|\n" + b"cut")
    rejects = tmp_path / "rejects.tsv"
    loaded = load([folder], LoadOptions(on_bad_row="skip", rejects=rejects))
    assert edges(loaded) == {(f"C000000{i + 1}", f"C000000{i}") for i in (1, 2, 3)}
    (report,) = loaded.report.files
    assert (report.rows, report.used, report.bad, report.skipped) == (8, 3, 5, {"bad row": 5})
    assert any("bad rows were left out: 5" in warning for warning in loaded.report.warnings)
    lines = rejects.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "file\tline\tcolumn\tproblem\trow"
    fields = [line.split("\t") for line in lines[1:]]
    assert [(row[0], row[1], row[2]) for row in fields] == [
        (str(file), "2", "STYPE1"), (str(file), "5", "17"), (str(file), "6", "CUI1"),
        (str(file), "7", "AUI1"), (str(file), "8", "CUI1"),
    ]  # fmt: skip
    assert [row[4] for row in fields] == ["a|b|", GOOD[0] + "|", isa("C 1", "C0000001"), r"\xff\xfe|", "cut"]


def test_more_bad_rows_than_good_ones(tmp_path: Path) -> None:
    folder = written(tmp_path, {"MRREL": ["bad|"] * 1000 + GOOD + ["\u00f6|" * 20] * 1000})
    assert load([folder], SKIP).report.files[0].bad == 2000
    file = folder / "MRREL.RRF"
    file.write_bytes(
        file.read_bytes()
        + b"\xff\n" * 500
        + (GOOD[0].replace("SRC", "\udcff").encode(errors="surrogateescape") + b"\n") * 500
    )
    assert load([folder], SKIP).report.files[0].bad == 3000


def test_a_failed_load_leaves_no_file_of_rejects(tmp_path: Path) -> None:
    folder = written(tmp_path / "umls", {"MRREL": ["bad|", *GOOD], "MRCONSO": []})
    rejects = tmp_path / "rejects.tsv"
    rejects.write_text("from before")
    with pytest.raises(InputError, match="the file is empty"):
        load([folder], LoadOptions(on_bad_row="skip", rejects=rejects))
    assert rejects.read_text() == "from before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rejects.tsv", "umls"]


def test_a_file_of_rejects_that_cannot_be_written(tmp_path: Path) -> None:
    folder = written(tmp_path / "umls", {"MRREL": GOOD})
    with pytest.raises(OutputError, match="not written"):
        load([folder], LoadOptions(on_bad_row="skip", rejects=tmp_path / "nowhere" / "rejects.tsv"))


def test_bytes_that_are_no_text_at_all(tmp_path: Path) -> None:
    (tmp_path / "MRREL.RRF").write_bytes(bytes(range(256)) * 100)
    assert refused(tmp_path).line == 1


def test_a_line_without_end_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    with (tmp_path / "MRREL.RRF").open("wb") as file:
        file.truncate(200 << 20)  # a hole: zeros that take no room
    error = refused(tmp_path)
    assert (error.line, error.problem) == (1, "the line has no end")


def test_a_long_line_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_scanner, "BLOCK_BYTES", 256)
    long = "long " * 100_000
    loaded = load([written(tmp_path, {"MRREL": GOOD, "MRCONSO": [name("C0000001", long), name("C0000002", "b")]})])
    assert loaded.report.names == 2
    shutil.rmtree(tmp_path)
