"""Discovery of files: folders, archives, parts, files by name."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import pytest
import zstandard

from cuihop.errors import InputError
from cuihop_loader import load, row_scanner
from loader.rrf_made import edges, isa, name, retired, written

GOOD = [isa(f"C{i:07d}", f"C{i + 1:07d}") for i in range(1, 30)]
TEXT = "".join(row + "\n" for row in GOOD).encode()
NAMES = [name("C0000001", "One")]


def roles(source: Path | list[Path]) -> dict[str, str]:
    report = load(source if isinstance(source, list) else [source]).report
    assert report.edges == 29
    return {file.role: file.file for file in report.files}


def test_a_folder_as_metamorphosys_makes_it(tmp_path: Path) -> None:
    meta = written(tmp_path / "META", {"MRREL": GOOD, "MRCONSO": NAMES, "MRCUI": [retired("C9", "DEL")]})
    written(meta / "CHANGE", {"MERGEDCUI": ["C8888888|C0000001|"], "DELETEDCUI": ["C7777777|text|"]})
    for source in (tmp_path, meta):
        assert set(roles(source)) == {"MRREL", "MRCONSO", "MRCUI", "MERGEDCUI", "DELETEDCUI"}


@pytest.mark.parametrize(("suffix", "packed"), [(".gz", gzip.compress(TEXT)), (".zst", zstandard.compress(TEXT))])
def test_compressed_files(tmp_path: Path, suffix: str, packed: bytes) -> None:
    path = tmp_path / f"MRREL.RRF{suffix}"
    path.write_bytes(packed)
    assert roles(tmp_path) == {"MRREL": str(path)}
    assert load([tmp_path]).report.edges > 0


def test_a_gzip_file_of_several_members_and_padding(tmp_path: Path) -> None:
    (tmp_path / "MRREL.RRF.gz").write_bytes(gzip.compress(TEXT[:500]) + gzip.compress(TEXT[500:]) + bytes(512))
    roles(tmp_path)


@pytest.mark.parametrize("block", [1, 64, 1 << 20])
@pytest.mark.parametrize("packed", [False, True])
def test_parts_are_put_together_even_where_a_line_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, packed: bool
) -> None:
    monkeypatch.setattr(row_scanner, "BLOCK_BYTES", block)
    for suffix, part in (("aa", TEXT[:700]), ("ab", TEXT[700:1111]), ("ac", TEXT[1111:])):
        path = tmp_path / f"MRREL.RRF.{suffix}{'.gz' if packed else ''}"
        path.write_bytes(gzip.compress(part) if packed else part)
    assert roles(tmp_path)["MRREL"].endswith("and the 2 parts after it")


def test_parts_may_come_from_several_archives(tmp_path: Path) -> None:
    for number, suffix, part in ((1, "aa", TEXT[:700]), (2, "ab", TEXT[700:])):
        with zipfile.ZipFile(tmp_path / f"2025AB-{number}-meta.nlm", "w") as archive:
            archive.writestr(f"2025AB/META/MRREL.RRF.{suffix}.gz", gzip.compress(part))
    roles(sorted(tmp_path.iterdir()))


def test_a_missing_part_is_an_error(tmp_path: Path) -> None:
    for suffix in ("aa", "ac"):
        (tmp_path / f"MRREL.RRF.{suffix}").write_bytes(TEXT)
    with pytest.raises(InputError, match=r"a part is missing; found part \.ac; expected part \.ab"):
        load([tmp_path])


def test_a_zip_archive(tmp_path: Path) -> None:
    archive = tmp_path / "umls-2025AB.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("2025AB/META/MRREL.RRF", TEXT)
        zipped.writestr("2025AB/META/MRCONSO.RRF.gz", gzip.compress((NAMES[0] + "\n").encode()))
        zipped.writestr("2025AB/META/MRHIER.RRF", "not read")
    assert roles(archive) == {
        "MRREL": f"{archive}:2025AB/META/MRREL.RRF",
        "MRCONSO": f"{archive}:2025AB/META/MRCONSO.RRF.gz",
    }


def test_files_by_name(tmp_path: Path) -> None:
    folder = written(tmp_path, {"MRREL": GOOD, "MRCONSO": NAMES})
    assert set(roles([folder / "MRREL.RRF"])) == {"MRREL"}
    assert set(roles([folder / "MRCONSO.RRF", folder / "MRREL.RRF"])) == {"MRREL", "MRCONSO"}


def test_one_file_named_twice_is_one_file(tmp_path: Path) -> None:
    folder = written(tmp_path, {"MRREL": GOOD})
    assert set(roles([folder, folder / "MRREL.RRF", folder / ".." / folder.name])) == {"MRREL"}


@pytest.mark.parametrize("other", ["META/MRREL.RRF", "MRREL.RRF.gz", "MRREL.RRF.aa", "mrrel.rrf"])
def test_two_candidates_for_one_file_are_both_named(tmp_path: Path, other: str) -> None:
    written(tmp_path, {"MRREL": GOOD})
    (tmp_path / other).parent.mkdir(exist_ok=True)
    if (tmp_path / other).exists():
        pytest.skip("the file system takes both names for one")
    (tmp_path / other).write_bytes(TEXT)
    with pytest.raises(InputError, match=r"two candidates for MRREL\.RRF") as error:
        load([tmp_path])
    assert str(tmp_path / other) in str(error.value.found)
    assert str(tmp_path / "MRREL.RRF") in str(error.value.found)


def test_no_source_at_all() -> None:
    with pytest.raises(InputError, match="nothing to load"):
        load([])


def test_ontologies_and_releases_do_not_mix(tmp_path: Path) -> None:
    folder = written(tmp_path, {"MRREL": GOOD})
    (tmp_path / "a.obo").write_text("format-version: 1.2\n\n[Term]\nid: A:1\n")
    with pytest.raises(InputError, match="OBO and RRF files together"):
        load([folder, tmp_path / "a.obo"])


def test_progress_counts_bytes_up_to_the_total(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_scanner, "BLOCK_BYTES", 256)
    folder = written(tmp_path, {"MRREL": GOOD, "MRCONSO": NAMES})
    (folder / "MRSTY.RRF.gz").write_bytes(gzip.compress(b"C0000001|T047|A|Disease|AT1||\n"))
    calls: list[tuple[str, int, int]] = []
    load([folder], progress=lambda step, done, total: calls.append((step, done, total)))
    total = sum(path.stat().st_size for path in folder.iterdir())
    assert {t for _, _, t in calls} == {total}
    done = [d for _, d, _ in calls]
    assert done == sorted(done)
    assert done[-1] == total
    assert len({step for step, _, _ in calls}) == 6  # three files, and three steps after them


def test_nothing_else_in_the_folder_is_touched(tmp_path: Path) -> None:
    folder = written(tmp_path, {"MRREL": GOOD})
    (folder / "MRHIER.RRF").write_bytes(b"\xff")
    (folder / "MRREL.RRF.bak").write_bytes(b"")
    (folder / "MRCONSO.RRF").mkdir()
    assert edges(load([folder])) == {(f"C{i + 1:07d}", f"C{i:07d}") for i in range(1, 30)}
