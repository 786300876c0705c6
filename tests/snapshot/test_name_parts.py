"""``cuihop index --name-search``: the file of a fresh load, written atomically while others have it open."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path

import pytest

from cuihop import SnapshotGraph
from cuihop.errors import InputError, OutputError, SnapshotError
from cuihop.snapshot.distance_index import index_path
from cuihop.snapshot.file import Sections, write_sections
from cuihop.snapshot.index_builder import build_index
from cuihop.snapshot.layout import NAME_INDEX, SNAPSHOT, TERM_TABLE
from cuihop.snapshot.name_parts import add_name_parts
from cuihop_loader import load
from example_graph import EDGES, NAMES
from loader.rrf_made import isa, name, written
from program_run import Run

BOTH = ["index of names", "table of names"]


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A snapshot as a load writes it."""
    folder = tmp_path_factory.mktemp("fresh")
    names = [name(cui, text, sab=sab) for cui, texts in NAMES.items() for text in texts for sab in ("MSH", "NCI")]
    edges = [isa(parent, child) for child, parent in EDGES if child != parent]
    path: Path = folder / "fresh.cuihop"
    load([written(folder / "rrf", {"MRREL": edges, "MRCONSO": names})]).sections.save(path)
    return path


def without(fresh: Path, path: Path, *left_out: str) -> Path:
    """The snapshot without some sections, as an earlier version wrote it."""
    sections = Sections.open(fresh, SNAPSHOT)
    write_sections(path, sections.meta, {n: sections[n] for n in sections if n not in left_out})
    return path


def added(path: Path, *, force: bool = False) -> list[str]:
    return [part.name for part in add_name_parts(path, force=force, progress=lambda step: None)]


@pytest.mark.parametrize(
    ("left_out", "built"),
    [((*NAME_INDEX, *TERM_TABLE), BOTH), (TERM_TABLE, BOTH[1:]), ((*TERM_TABLE, "spelling_blob"), BOTH)],
)
def test_an_older_snapshot_becomes_that_of_a_fresh_load(
    fresh: Path, tmp_path: Path, left_out: tuple[str, ...], built: list[str]
) -> None:
    path = without(fresh, tmp_path / "old.cuihop", *left_out)
    assert added(path) == built
    assert path.read_bytes() == fresh.read_bytes()
    assert [file.name for file in tmp_path.iterdir()] == ["old.cuihop"]


def test_a_damaged_part_is_built_again(fresh: Path, tmp_path: Path) -> None:
    path = tmp_path / "damaged.cuihop"
    raw = bytearray(fresh.read_bytes())
    header = json.loads(raw[32 : 32 + int.from_bytes(raw[12:16], "little")])
    offset = next(section["offset"] for section in header["sections"] if section["name"] == "term_rows")
    raw[offset] ^= 1
    path.write_bytes(raw)
    assert added(path) == BOTH[1:]
    found = SnapshotGraph.open(path)
    assert found.verify() == SnapshotGraph.open(fresh).verify()


def test_a_snapshot_that_lacks_nothing_is_left_alone(fresh: Path, tmp_path: Path) -> None:
    path = tmp_path / "whole.cuihop"
    shutil.copy(fresh, path)
    before = path.stat()
    assert added(path) == []
    assert path.stat() == before
    assert added(path, force=True) == BOTH
    assert path.stat().st_ino != before.st_ino
    assert path.read_bytes() == fresh.read_bytes()


def test_whoever_has_the_file_open_goes_on_and_the_distance_index_stays_valid(fresh: Path, tmp_path: Path) -> None:
    path = without(fresh, tmp_path / "old.cuihop", *NAME_INDEX, *TERM_TABLE)
    opened = SnapshotGraph.open(path)
    build_index(opened).save(index_path(path))
    assert opened.names(["C0006104"]) == ["Brain"]
    added(path)
    assert opened.distance("C0006121", "C0018670") == 3
    assert opened.verify() < SnapshotGraph.open(fresh).verify()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rebuilt = SnapshotGraph.open(path)
        assert rebuilt.search("brain")[0].cui == "C0006104"
        assert rebuilt.annotate("the brain").cuis == ("C0006104",)
    assert rebuilt.index is not None
    assert rebuilt.release == opened.release


def test_a_newer_file_put_in_its_place_meanwhile_is_kept(fresh: Path, tmp_path: Path) -> None:
    path = without(fresh, tmp_path / "old.cuihop", *NAME_INDEX, *TERM_TABLE)
    newer = SnapshotGraph.of([("C0000001", "C0000002")], names={"C0000001": "one"})

    def replaced(step: str) -> None:
        if step == "writing":
            newer.save(path)

    with pytest.raises(OutputError, match="it was replaced while its names were read"):
        add_name_parts(path, force=False, progress=replaced)
    assert SnapshotGraph.open(path).release == newer.release


def test_other_files_and_damaged_ones_stay_as_they_are(fresh: Path, tmp_path: Path) -> None:
    nameless = tmp_path / "nameless.cuihop"
    SnapshotGraph.of(EDGES).save(nameless)
    damaged = without(fresh, tmp_path / "damaged.cuihop", *NAME_INDEX)
    damaged.write_bytes(damaged.read_bytes().replace(b"Encephalon", b"EncephaloN"))
    before = {path: path.read_bytes() for path in (nameless, damaged)}
    with pytest.raises(InputError, match=r"nameless\.cuihop: the graph has no names"):
        added(nameless)
    with pytest.raises(SnapshotError, match="'name_blob' fails its checksum"):
        added(damaged)
    with pytest.raises(SnapshotError, match="no such snapshot"):
        added(tmp_path / "nothing.cuihop")
    assert {path: path.read_bytes() for path in before} == before


def test_the_command(fresh: Path, tmp_path: Path, program: Run) -> None:
    path = without(fresh, tmp_path / "old.cuihop", *NAME_INDEX, *TERM_TABLE)
    size = fresh.stat().st_size
    done = program("index", "--name-search", path)
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{path}: index of names and table of names built; {size:,} bytes\n"
    again = program("index", path, "--name-search", "--json")
    assert again.err == f"{path} has all of them; --force builds them again\n"
    facts = json.loads(again.out)
    assert facts.pop("seconds") >= 0
    assert facts.pop("release")["digest"] == SnapshotGraph.open(fresh).release.digest
    assert facts == {"snapshot": str(path), "built": [], "bytes": size, "name_sabs": ["MSH", "NCI"]}
    assert json.loads(program("index", path, "--name-search", "--force", "--json").out)["built"] == BOTH


def test_the_command_says_what_only_a_load_can_add(tmp_path: Path, program: Run) -> None:
    path = tmp_path / "made.cuihop"
    SnapshotGraph.of(EDGES, names=NAMES).save(path)
    done = program("index", "--name-search", path)
    assert done.err.startswith("vocabularies and grades of names: not recorded; cuihop load records them in a file\n")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nothing.cuihop"], 5, "no such snapshot"),
        (["--threads", "1", "fresh.cuihop"], 2, "--threads is for the distance index"),
        (["--check", "9", "fresh.cuihop"], 2, "--check is for the distance index"),
    ],
)
def test_wrong_commands(
    arguments: list[str], code: int, message: str, fresh: Path, program: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(fresh.parent)
    done = program("index", "--name-search", *arguments)
    assert (done.code, message in " ".join(done.err.split())) == (code, True), done.err
