"""Snapshot files: whole or not there, checked before they answer, refused with advice."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import struct
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import xxhash
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cuihop import SnapshotGraph
from cuihop.errors import DamageWarning, OutputError, SnapshotError, SnapshotTooNew
from cuihop.snapshot.file import write_sections
from cuihop.snapshot.layout import FORMAT_VERSION, NAME_SOURCES
from cuihop.snapshot.release_difference import release_difference
from example_graph import example_graph, sourced_graph


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    path = tmp_path / "example.cuihop"
    sourced_graph().save(path)
    return path


def everything(graph: SnapshotGraph) -> list[object]:
    """An answer from every section."""
    return [
        graph.release,
        graph.distance("C0006121", "C0018670"),
        graph.path("C0003483", "C0007226"),
        graph.distance("C0003483", "C0007226", direction="up"),
        graph.distance("C0007226", "C0003483", direction="down"),
        graph.concepts(["C0005847"]),
        graph.search("meniere"),
        graph.resolve(["C9000901", "C9000903"]),
        graph.verify(),
    ]


def test_a_saved_graph_answers_as_before(snapshot: Path) -> None:
    assert everything(SnapshotGraph.open(snapshot))[:-1] == everything(example_graph())[:-1]


def test_the_same_graph_gives_the_same_file(snapshot: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.cuihop"
    SnapshotGraph.open(snapshot).save(again)
    assert again.read_bytes() == snapshot.read_bytes()


def test_the_digest_tells_graphs_apart_and_ignores_order_and_names() -> None:
    edges = [("C0000001", "C0000002"), ("C0000002", "C0000003")]
    digest = SnapshotGraph.of(edges).release.digest
    assert SnapshotGraph.of(edges[::-1], names={"C0000001": "one"}).release.digest == digest
    assert SnapshotGraph.of([*edges, edges[0], ("C0000001", "C0000001")]).release.digest == digest
    others = [
        SnapshotGraph.of(edges[:1]),
        SnapshotGraph.of([(b, a) for a, b in edges]),
        SnapshotGraph.of(edges, concepts=["C0000004"]),
        SnapshotGraph.of(edges, retired=[("C0000009", "SY", "C0000001")]),
        SnapshotGraph.of(edges, retired=[("C0000009", "RB", "C0000001")]),
    ]
    assert len({digest, *(other.release.digest for other in others)}) == 6


def test_every_truncation_is_refused(snapshot: Path, tmp_path: Path) -> None:
    whole = snapshot.read_bytes()
    cut = tmp_path / "cut.cuihop"
    for length in [*range(0, 64), *range(64, len(whole), 97), len(whole) - 1]:
        cut.write_bytes(whole[:length])
        with pytest.raises(SnapshotError):
            SnapshotGraph.open(cut)


def test_a_file_that_has_grown_is_refused(snapshot: Path) -> None:
    with snapshot.open("ab") as file:
        file.write(b"\0")
    with pytest.raises(SnapshotError, match="truncated or grown"):
        SnapshotGraph.open(snapshot)


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_flipped_bit_goes_unnoticed(snapshot: Path, data: st.DataObject) -> None:
    whole = bytearray(snapshot.read_bytes())
    used = _used_bytes(snapshot)
    place = data.draw(st.sampled_from(used))
    whole[place] ^= 1 << data.draw(st.integers(0, 7))
    damaged = snapshot.with_name("damaged.cuihop")
    damaged.write_bytes(whole)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamageWarning)  # of the index of names: the last of everything verifies all
        with pytest.raises(SnapshotError):
            everything(SnapshotGraph.open(damaged))


def _used_bytes(snapshot: Path) -> list[int]:
    """The places of all bytes that are not padding between sections."""
    raw = snapshot.read_bytes()
    end = 32 + struct.unpack_from("<I", raw, 12)[0]
    used = set(range(end))
    for section in json.loads(raw[32:end])["sections"]:
        used.update(range(section["offset"], section["offset"] + section["bytes"]))
    return sorted(used)


def test_a_damaged_section_is_named(snapshot: Path) -> None:
    raw = bytearray(snapshot.read_bytes())
    place = raw.index(b"Brain stem")
    raw[place] ^= 1
    snapshot.write_bytes(raw)
    graph = SnapshotGraph.open(snapshot)
    assert graph.distance("C0006121", "C0018670") == 3  # other sections are sound
    with pytest.raises(SnapshotError, match="'name_blob' fails its checksum"):
        graph.names(["C0006121"])
    with pytest.raises(SnapshotError, match="name_blob"):
        graph.verify()


def test_a_later_format_is_refused_with_advice(snapshot: Path) -> None:
    raw = bytearray(snapshot.read_bytes())
    struct.pack_into("<I", raw, 8, FORMAT_VERSION + 1)
    snapshot.write_bytes(raw)
    with pytest.raises(SnapshotTooNew, match="Upgrade cuihop"):
        SnapshotGraph.open(snapshot)


@pytest.mark.parametrize("content", [b"", b"x", b"C0006121|" * 100, b"\x89CUIHOP\n" + bytes(24)])
def test_other_files_are_no_snapshots(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(SnapshotError):
        SnapshotGraph.open(path)


def test_missing_files_and_folders_come_with_the_command_that_makes_a_snapshot(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match="cuihop load"):
        SnapshotGraph.open(tmp_path / "absent.cuihop")
    with pytest.raises(SnapshotError, match=f"cuihop load {tmp_path}"):
        SnapshotGraph.open(tmp_path)


def test_a_missing_section_is_damage(tmp_path: Path) -> None:
    graph = example_graph()
    path = tmp_path / "partial.cuihop"
    sections = graph._sections
    write_sections(path, sections.meta, {name: sections[name] for name in sections if name != "any_indices"})
    with pytest.raises(SnapshotError, match="any_indices"):
        SnapshotGraph.open(path).distance("C0006121", "C0018670")


def test_vocabularies_and_grades_of_names_are_there_together_or_absent(tmp_path: Path) -> None:
    sections, path = sourced_graph().sections, tmp_path / "sourced.cuihop"
    assert SnapshotGraph(sections)._records.name_sabs(1) == ("MSH", "NCI")
    for left_out in (NAME_SOURCES, *((name,) for name in NAME_SOURCES)):
        write_sections(path, sections.meta, {name: sections[name] for name in sections if name not in left_out})
        if left_out == NAME_SOURCES:
            opened = SnapshotGraph.open(path)
            assert (opened._records.name_sabs(1), opened.verify() > 0) == ((), True)
            assert not any(release_difference(opened.sections, sections).counts().values())
            continue
        with pytest.raises(SnapshotError, match=f"'{left_out[0]}' is missing"):
            SnapshotGraph.open(path)


@pytest.mark.parametrize("sabs", [None, ["MSH", 1], "MSH", ["MSH"]])
def test_vocabularies_of_names_in_another_form_are_damage(tmp_path: Path, sabs: object) -> None:
    sections, path = sourced_graph().sections, tmp_path / "sourced.cuihop"
    meta = {**sections.meta, "name_sabs": sabs}
    if sabs is None:
        del meta["name_sabs"]
    write_sections(path, meta, {name: sections[name] for name in sections})
    with pytest.raises(SnapshotError, match=r"vocabularies of the names|'name_sab_set_members' holds values"):
        SnapshotGraph.open(path).verify()


def test_writing_to_a_folder_that_is_not_there_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="absent"):
        example_graph().save(tmp_path / "absent" / "x.cuihop")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file(snapshot: Path) -> None:
    """The kernel refuses to let the file grow: what a full disk does, in a process of its own."""
    before = snapshot.read_bytes()
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "from example_graph import example_graph\n"
        "from cuihop.errors import OutputError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: example_graph().save(sys.argv[1])\n"
        "except OutputError as error: print(error); sys.exit(7)\n"
    )
    tests = Path(__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", code, str(snapshot)],
        env={**os.environ, "PYTHONPATH": str(tests)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (7, "")
    assert "not written" in done.stdout
    assert snapshot.read_bytes() == before
    assert [p.name for p in snapshot.parent.iterdir()] == [snapshot.name]


def test_a_full_disk_says_how_much_is_needed(tmp_path: Path) -> None:
    """A real file system of 64 KiB, where this process may mount one."""
    mount = tmp_path / "small"
    mount.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("mounting a small file system needs root and mount")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(mount)], check=False).returncode:
        pytest.skip("this machine does not let a process mount a tmpfs")
    try:
        edges = [(f"C{i:07d}", f"C{i + 1:07d}") for i in range(20_000)]
        with pytest.raises(OutputError, match=r"No space left on device; [\d,]+ bytes are needed"):
            SnapshotGraph.of(edges).save(mount / "large.cuihop")
        assert list(mount.iterdir()) == []
        example_graph().save(mount / "small.cuihop")
    finally:
        subprocess.run(["umount", str(mount)], check=True)


def test_a_file_is_sent_to_another_process_by_its_name(snapshot: Path) -> None:
    copy = pickle.loads(pickle.dumps(SnapshotGraph.open(snapshot)))  # noqa: S301
    assert copy.distance("C0006121", "C0018670") == 3
    with pytest.raises(TypeError, match="save it"):
        pickle.dumps(example_graph())


def test_an_empty_graph_is_a_graph(tmp_path: Path) -> None:
    path = tmp_path / "empty.cuihop"
    SnapshotGraph.of([]).save(path)
    graph = SnapshotGraph.open(path)
    assert (graph.release.concepts, graph.release.edges) == (0, 0)
    assert graph.search("brain") == []
    assert graph.resolve(["C0006121"])[0].status == "unknown"


def test_sections_are_checked_by_xxh3(snapshot: Path) -> None:
    raw = snapshot.read_bytes()
    length, checksum = struct.unpack_from("<I", raw, 12)[0], struct.unpack_from("<Q", raw, 16)[0]
    assert xxhash.xxh3_64_intdigest(raw[32 : 32 + length]) == checksum
