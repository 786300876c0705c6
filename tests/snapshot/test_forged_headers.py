"""Headers that are wrong and bear the right checksum: an error in words, or the right answers; never anything else."""

from __future__ import annotations

import contextlib
import json
import struct
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xxhash
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cuihop import SnapshotGraph
from cuihop.errors import CuihopError, DamageWarning, SnapshotError, SnapshotTooNew
from cuihop.snapshot.distance_index import DistanceIndex, index_path
from cuihop.snapshot.index_builder import build_index
from cuihop.snapshot.layout import FORMAT_VERSION
from example_graph import example_graph, sourced_graph
from examples import is_nightly

HEAD = struct.Struct("<8sIIQQ")
PAIRS = [("C0006121", "C0018670"), ("C0003483", "C0007226"), ("C0005847", "C0006121")]


def parts(raw: bytes) -> tuple[dict[str, Any], bytes]:
    """The header of a file, and what follows it."""
    end = 32 + struct.unpack_from("<I", raw, 12)[0]
    header: dict[str, Any] = json.loads(raw[32:end])
    return header, raw[end:]


def forged(raw: bytes, header: Any, *, version: int = FORMAT_VERSION) -> bytes:
    """The file with another header and its checksum; the sections stay in place where there is room before them."""
    old = 32 + struct.unpack_from("<I", raw, 12)[0]
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    room = min(section["offset"] for section in parts(raw)[0]["sections"]) - 32
    text = text.ljust(old - 32) if len(text) <= room else text
    body = raw[32 + len(text) :] if len(text) <= room else raw[old:]
    length = 32 + len(text) + len(body)
    return HEAD.pack(raw[:8], version, len(text), xxhash.xxh3_64_intdigest(text), length) + text + body


def answers(graph: SnapshotGraph) -> list[object]:
    """Answers of every kind. The name of the release is none: it may be forged and nobody knows."""
    return [
        graph.distances(PAIRS * 30).to_list(),
        graph.distance(*PAIRS[0]),
        graph.path(*PAIRS[1]),
        graph.distances(PAIRS, direction="up").to_list(),
        graph.neighbours(["C0006121"], hops=3, direction="down"),
        graph.concepts(["C0005847", "C0006121"]),
        graph.search("brain"),
        graph.resolve(["C9000901", "C9000903", "C0006121"]),
        graph.pack(["C0006121", "C0018670"], hops=5).hops.tolist(),
        [graph._records.name_sabs(row) for row in range(15)],
    ]


WRONG: list[Any] = [
    None, True, -1, 0, 1, 2, 63, 64, 2**31, 2**63, 10**30, 1.5, float("inf"), "", "x", "<u4", ">i4", "|O", "|V8", "|S0",
    [], [0], [-1], [0, 10**30], ["1"], [1, 2, 3, 4], {"a": 1}, "up_indptr",
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a value of JSON, itself too."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*path, key))


def copied(header: dict[str, Any]) -> dict[str, Any]:
    """A copy, by way of JSON: thousands of times, `copy.deepcopy` takes longer than all that reads the forgeries."""
    copy: dict[str, Any] = json.loads(json.dumps(header))
    return copy


def changed(header: dict[str, Any], path: tuple[Any, ...], change: Callable[[Any, Any], None]) -> Any:
    forgery = copied(header)
    if not path:
        return forgery
    holder = forgery
    for key in path[:-1]:
        holder = holder[key]
    change(holder, path[-1])
    return forgery


def put(value: Any, holder: Any, key: Any) -> None:
    holder[key] = value


def mutations(header: dict[str, Any]) -> Iterator[Any]:
    """Each field another, missing, and in the place of its neighbour.

    If there are many sections, each of them gets a third of the wrong values, so that each value is in a third of the
    sections, and a third of the pairs are exchanged; at night, all.
    """
    core = [path for path in places(header) if path and path[:2] != ("meta", "report") and len(path) < 6]
    sections = header["sections"]
    step = 1 if is_nightly() or len(sections) <= 10 else 3
    for path in core:
        values = WRONG[path[1] % step :: step] if path[0] == "sections" and len(path) > 1 else WRONG
        for wrong in values:
            yield changed(header, path, partial(put, wrong))
        yield changed(header, path, lambda holder, key: holder.__delitem__(key))
        if isinstance(path[-1], int):
            yield changed(header, path, lambda holder, key: holder.append(holder[key]))
    for one in range(len(sections)):
        for shift in (-128, -64, 64, 128):
            forgery = copied(header)
            forgery["sections"][one]["offset"] += shift
            yield forgery
        for other in range(one + 1, len(sections), step):
            for fields in (("name",), ("offset",), ("dtype",), ("shape", "bytes"), ("xxh3",), ("offset", "xxh3")):
                forgery = copied(header)
                for field in fields:
                    forgery["sections"][one][field] = sections[other][field]
                    forgery["sections"][other][field] = sections[one][field]
                yield forgery
            forgery = copied(header)  # all of the other section, under the name of this one
            forgery["sections"][one] = {**sections[other], "name": sections[one]["name"]}
            yield forgery


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forged")
    graph = sourced_graph()
    graph.save(folder / "graph.cuihop")
    build_index(graph).save(index_path(folder / "graph.cuihop"))
    return folder


@pytest.fixture(scope="module")
def expected() -> list[object]:
    return answers(sourced_graph())


@pytest.mark.slow
def test_every_mutation_of_a_snapshots_header_is_refused_or_changes_no_answer(
    files: Path, tmp_path: Path, expected: list[object]
) -> None:
    raw = (files / "graph.cuihop").read_bytes()
    header, _ = parts(raw)
    path = tmp_path / "graph.cuihop"
    taken = refused = 0
    for forgery in dict.fromkeys(json.dumps(forgery) for forgery in mutations(header)):
        path.unlink(missing_ok=True)  # a file that is cut and filled again may be written to the disk at once
        path.write_bytes(forged(raw, forgery.encode()))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # damage, or a part that an earlier version lacks
            try:
                graph = SnapshotGraph.open(path)
                graph.set_aside_damage()
                found = answers(graph)
            except SnapshotError:
                refused += 1
                continue
        taken += 1
        # The words that describe a graph, such as its name or those of its vocabularies, may be others.
        assert found == expected or json.loads(forgery)["meta"] != header["meta"], forgery
    assert refused > 2_000
    assert taken < refused / 10


@pytest.mark.slow
def test_every_mutation_of_an_indexs_header_is_set_aside_or_changes_no_distance(
    files: Path, tmp_path: Path, expected: list[object]
) -> None:
    path = tmp_path / "graph.cuihop"
    path.write_bytes((files / "graph.cuihop").read_bytes())
    raw = index_path(files / "graph.cuihop").read_bytes()
    header, _ = parts(raw)
    used = 0
    distances = [example_graph().distances(PAIRS * 30).to_list()]
    for forgery in dict.fromkeys(json.dumps(forgery) for forgery in mutations(header)):
        index_path(path).unlink(missing_ok=True)
        index_path(path).write_bytes(forged(raw, forgery.encode()))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # damage, or a part that an earlier version lacks
            graph = SnapshotGraph.open(path)
            assert [graph.distances(PAIRS * 30).to_list()] == distances
            used += graph.index is not None
    assert used < 200


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_headers_of_any_json_are_refused_or_harmless(files: Path, data: st.DataObject) -> None:
    raw = (files / "graph.cuihop").read_bytes()
    header, _ = parts(raw)
    json_values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(WRONG),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
        max_leaves=8,
    )
    forgery: Any = header
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(list(places(forgery))))
        value = data.draw(json_values)
        forgery = changed(forgery, path, partial(put, value)) if path else value
        if not isinstance(forgery, dict):
            break
    file = files / "any.cuihop"
    file.write_bytes(forged(raw, forgery))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # damage, or a part that an earlier version lacks
        with contextlib.suppress(CuihopError):
            answers(SnapshotGraph.open(file))


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b"null", b"1", b'{"meta": {}}', b"[" * 100_000, b"\xff" * 40,
             b'{"meta": NaN, "sections": []}', b'{"meta": {}, "sections": [' + b"1" * 6_000 + b"]}"],
)  # fmt: skip
def test_headers_that_are_no_description_are_refused(files: Path, tmp_path: Path, text: bytes) -> None:
    raw = (files / "graph.cuihop").read_bytes()
    path = tmp_path / "x.cuihop"
    path.write_bytes(forged(raw, text))
    with pytest.raises(SnapshotError):
        SnapshotGraph.open(path)


@pytest.mark.parametrize("escaped", [True, False])
def test_half_of_a_character_in_a_header_is_damage(files: Path, tmp_path: Path, escaped: bool) -> None:
    raw = (files / "graph.cuihop").read_bytes()
    header, _ = parts(raw)
    header["meta"]["release"]["source"] = "\ud800"
    path = tmp_path / "x.cuihop"
    path.write_bytes(forged(raw, json.dumps(header, ensure_ascii=escaped).encode("utf-8", "surrogatepass")))
    with pytest.raises(SnapshotError, match="half of a surrogate pair; the file is damaged"):
        SnapshotGraph.open(path)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (0, "damaged"),
        (FORMAT_VERSION - 1, "made by an older cuihop: .* Build it again"),
        (FORMAT_VERSION + 1, "made by a newer cuihop"),
        (2**32 - 1, "made by a newer cuihop"),
    ],
)
def test_another_format_is_told_from_a_newer_one(files: Path, tmp_path: Path, version: int, expected: str) -> None:
    raw = (files / "graph.cuihop").read_bytes()
    path = tmp_path / "x.cuihop"
    path.write_bytes(forged(raw, parts(raw)[0], version=version))
    with pytest.raises(SnapshotError, match=expected) as error:
        SnapshotGraph.open(path)
    assert isinstance(error.value, SnapshotTooNew) == (version > FORMAT_VERSION)


@pytest.mark.parametrize("version", [0, 1, 3])
def test_an_index_of_another_version_is_an_error(files: Path, tmp_path: Path, version: int) -> None:
    raw = index_path(files / "graph.cuihop").read_bytes()
    header, _ = parts(raw)
    header["meta"]["version"] = version
    header["sections"] = header["sections"][:1]  # its sections are others
    path = tmp_path / "x.index"
    path.write_bytes(forged(raw, header))
    with pytest.raises(
        SnapshotError, match="made by a newer cuihop" if version == 3 else f"x.index: version {version} of"
    ):
        DistanceIndex.open(path, digest=header["meta"]["digest"])


@pytest.mark.parametrize("length", [0, 1, 31, 32, 33])
def test_a_file_of_nothing_but_its_beginning_is_refused(files: Path, tmp_path: Path, length: int) -> None:
    """The bound itself: a head of 32 bytes and a header of none, with its checksum."""
    path = tmp_path / "x.cuihop"
    empty = HEAD.pack(b"\x89CUIHOP\n", FORMAT_VERSION, 0, xxhash.xxh3_64_intdigest(b""), length)
    path.write_bytes((empty + b" ")[:length])
    with pytest.raises(SnapshotError, match="expected a header" if length < 32 else "the header is not that"):
        SnapshotGraph.open(path)


def test_a_header_longer_than_the_file_is_refused_and_takes_no_memory(files: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.cuihop"
    for claimed in (9, 2**31, 2**32 - 1):
        path.write_bytes(
            HEAD.pack(b"\x89CUIHOP\n", FORMAT_VERSION, claimed, xxhash.xxh3_64_intdigest(b"12345678"), 40) + b"12345678"
        )
        with pytest.raises(SnapshotError, match=f"a header of {claimed:,} bytes in a file of 40"):
            SnapshotGraph.open(path)


def rewritten(raw: bytes, name: str, values: Callable[[np.ndarray[Any, Any]], None]) -> bytes:
    """The file with other values in a section, and all checksums right."""
    header, _ = parts(raw)
    section = next(section for section in header["sections"] if section["name"] == name)
    content = bytearray(raw)
    array = np.frombuffer(content, section["dtype"], int(np.prod(section["shape"])), section["offset"])
    values(array)
    section["xxh3"] = xxhash.xxh3_64_intdigest(array.tobytes(), xxhash.xxh3_64_intdigest(name.encode()))
    return forged(bytes(content), header)


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("up_indptr", 0, 1), ("up_indptr", 3, -5), ("up_indptr", -1, 2**31 - 1), ("up_indices", 0, 2**31 - 1),
        ("up_indices", 0, -1), ("down_indices", 0, 10**6), ("any_indices", 0, 10**6), ("any_indptr", 2, 10**6),
        ("name_indptr", -1, 10**6), ("name_offsets", -1, 2**62), ("up_sab_sets", 0, 60_000),
        ("name_sab_sets", 0, 60_000), ("name_sab_set_indptr", 1, 9), ("name_sab_set_members", 0, 60_000),
        ("retired_relations", 0, 200), ("retired_indptr", 1, 10**6), ("cuis", 0, 2**64 - 1), ("folded_rows", 0, 10**6),
        ("cuis", -1, 0x4339393939393980), ("retired_cuis", -1, 0x43393939393939F9),
        ("retired_successors", -1, b"C\xf9"),
    ],
)  # fmt: skip
def test_values_that_compiled_code_would_follow_out_of_bounds_or_no_text_can_hold_are_refused(
    files: Path, tmp_path: Path, name: str, place: int, value: object
) -> None:
    path = tmp_path / "x.cuihop"

    def set_value(array: np.ndarray[Any, Any]) -> None:
        array[place] = value

    path.write_bytes(rewritten((files / "graph.cuihop").read_bytes(), name, set_value))
    with pytest.raises(SnapshotError, match=f"'{name}' holds values that it must not"):
        SnapshotGraph.open(path).verify()


@pytest.mark.parametrize(
    ("name", "ask"),
    [
        ("name_blob", lambda graph: graph.concepts(["C0006121"])), ("name_blob", lambda graph: graph.search("brain")),
        ("search_word_blob", lambda graph: graph.search("vesel")),
    ],
)  # fmt: skip
def test_texts_that_are_not_utf_8_are_damage(
    files: Path, tmp_path: Path, name: str, ask: Callable[[SnapshotGraph], object]
) -> None:
    path = tmp_path / "x.cuihop"
    path.write_bytes(rewritten((files / "graph.cuihop").read_bytes(), name, lambda letters: letters.fill(0xF9)))
    with pytest.raises(SnapshotError, match=r"x\.cuihop: a text is not UTF-8; the file is damaged"):
        ask(SnapshotGraph.open(path))


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("place", 0, 10**6), ("place", 0, -1), ("records", 19, 60_000), ("records", 21, 1), ("records", 22, 1),
        ("records", -1, 1), ("records", -1, 2),
    ],
)  # fmt: skip
def test_labels_that_compiled_code_would_follow_out_of_bounds_are_set_aside(
    files: Path, tmp_path: Path, name: str, place: int, value: int
) -> None:
    path = tmp_path / "x.cuihop"
    path.write_bytes((files / "graph.cuihop").read_bytes())

    def set_value(array: np.ndarray[Any, Any]) -> None:
        array[place] = value

    index_path(path).write_bytes(rewritten(index_path(files / "graph.cuihop").read_bytes(), name, set_value))
    graph = SnapshotGraph.open(path)
    with pytest.warns(DamageWarning, match=f"'{name}' holds values"):
        assert graph.distances(PAIRS * 30) == example_graph().distances(PAIRS * 30)


def test_the_bounds_of_places_themselves(files: Path, tmp_path: Path) -> None:
    """A section in the header, one a whole step within another, and one that ends a byte beyond the file."""
    raw = (files / "graph.cuihop").read_bytes()
    path = tmp_path / "x.cuihop"
    first, second = sorted(
        (section for section in parts(raw)[0]["sections"] if section["bytes"] >= 64), key=lambda s: s["offset"]
    )[:2]
    for name, place, message in (
        (first["name"], 64, "in the header"),
        (second["name"], first["offset"] + (first["bytes"] - 1) // 64 * 64, "in one place"),
    ):
        header, _ = parts(raw)
        section = next(section for section in header["sections"] if section["name"] == name)
        section["offset"] = place
        path.write_bytes(forged(raw, header))
        with pytest.raises(SnapshotError, match=message):
            SnapshotGraph.open(path)


@pytest.mark.parametrize("name", ["up_indices", "retired_relations", "name_sab_sets", "name_sab_set_members"])
def test_the_bounds_of_values_themselves(files: Path, tmp_path: Path, name: str) -> None:
    graph = example_graph()
    bound = {"up_indices": graph.release.concepts, "retired_relations": 5}.get(name, 2)
    path = tmp_path / "x.cuihop"

    def set_value(array: np.ndarray[Any, Any]) -> None:
        array[0] = bound

    path.write_bytes(rewritten((files / "graph.cuihop").read_bytes(), name, set_value))
    with pytest.raises(SnapshotError, match=f"'{name}' holds values"):
        SnapshotGraph.open(path).verify()


def test_the_bounds_of_values_of_labels_themselves(files: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.index"
    build_index(example_graph(), roots=0).save(path)  # else all its concepts are roots, and no label has a hub
    raw = path.read_bytes()
    header, _ = parts(raw)

    def last_label_a_word_later(array: np.ndarray[Any, Any]) -> None:
        array[-13] += 1

    path.write_bytes(rewritten(raw, "records", last_label_a_word_later))
    with pytest.raises(SnapshotError, match="'records' holds values"):
        DistanceIndex.open(path, digest=header["meta"]["digest"]).verify()


@pytest.mark.slow
def test_edges_that_are_not_those_of_the_digest_are_refused_where_all_is_verified(files: Path, tmp_path: Path) -> None:
    raw = (files / "graph.cuihop").read_bytes()
    header, _ = parts(raw)
    sections = {section["name"]: section for section in header["sections"]}
    for part in ("indptr", "indices"):  # the graph upside down
        a, b = sections[f"up_{part}"], sections[f"down_{part}"]
        a["name"], b["name"] = b["name"], a["name"]
    path = tmp_path / "x.cuihop"
    content = forged(raw, header)
    path.write_bytes(content)
    with pytest.raises(SnapshotError, match="fails its checksum"):  # that of a section counts under its name alone
        SnapshotGraph.open(path).verify()
    for name in ("up_indptr", "up_indices", "down_indptr", "down_indices"):
        content = rewritten(content, name, lambda array: None)
    path.write_bytes(content)  # with every checksum right
    with pytest.raises(SnapshotError, match="not those of its digest"):
        SnapshotGraph.open(path).verify()
    info = [sys.executable, "-m", "cuihop", "info", str(path), "--verify"]
    done = subprocess.run(info, capture_output=True, text=True, check=False)
    assert (done.returncode, "not those of its digest" in done.stderr) == (5, True)


@pytest.mark.slow
def test_what_is_no_snapshot_is_not_stored_and_a_pipe_is_not_waited_for(files: Path, tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SnapshotError, match="a device or a pipe"):
        SnapshotGraph.open(tmp_path / "pipe")
    store = [
        sys.executable,
        "-m",
        "cuihop",
        "neo4j",
        "push",
        str(index_path(files / "graph.cuihop")),
        "--import-files",
        str(tmp_path / "x"),
    ]
    done = subprocess.run(store, capture_output=True, text=True, check=False)
    assert (done.returncode, "not a snapshot; found distance index" in done.stderr) == (5, True)
