"""The index of names: the answers of reading every name, in the same order, from files with the index and without."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cuihop import SnapshotGraph
from cuihop.errors import DamageWarning, SnapshotError
from cuihop.snapshot.file import Sections
from cuihop.snapshot.layout import NAME_INDEX
from cuihop.snapshot.name_index import EveryName, NameIndex
from cuihop.snapshot.string_table import folded
from example_graph import example_graph
from examples import examples
from neo4j_server import open_release

CUIS = [f"C{i:07d}" for i in range(1, 13)]
SOME_NAMES = st.lists(
    st.text(st.sampled_from("aabbc d-1ÅßéΩ漢"), min_size=1, max_size=12), min_size=0, max_size=4
)  # letters that meet often, words that repeat, letters of two to four bytes
RELEASES = st.dictionaries(st.sampled_from(CUIS), SOME_NAMES, min_size=1)
TEXTS = st.text(st.sampled_from("abc d1éω漢"), min_size=1, max_size=6)


def without_index(graph: SnapshotGraph) -> SnapshotGraph:
    """The graph as versions before there was an index have written it."""
    sections = graph.sections
    return SnapshotGraph(Sections(sections.meta, {name: sections[name] for name in sections if name not in NAME_INDEX}))


@settings(
    max_examples=examples(300),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(names=RELEASES, text=TEXTS, limit=st.integers(0, 12))
@example(names={"C0000001": ["a b", "a"], "C0000002": ["a"], "C0000003": ["b a"]}, text="a b", limit=3)
@pytest.mark.parametrize("together", [1, 2048])
def test_the_index_gives_what_reading_every_name_gives(
    names: dict[str, list[str]], text: str, limit: int, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cuihop.snapshot.name_index._AT_LEAST", together)
    graph = SnapshotGraph.of([], concepts=CUIS, names=names)
    wanted = folded(text)
    if wanted:
        assert graph.search(text, limit=limit) == without_index(graph).search(text, limit=limit)


def typed(names: list[str], count: int) -> list[str]:
    """Search texts for these names: their beginnings, and beginnings of their words in any order."""
    rng = random.Random(7)
    texts = []
    for name in rng.sample(names, count):
        words = folded(name).split()
        texts += [name[: rng.randint(1, len(name))], " ".join(words)]
        rng.shuffle(words)
        texts += [" ".join(word[: rng.randint(1, 5)] for word in words[: rng.randint(1, 4)])]
    return [text for text in texts if folded(text)]


@pytest.mark.slow
def test_real_names_are_found_as_by_reading_them_all() -> None:
    graph = open_release()
    sections = graph.sections
    index, every = NameIndex(sections), EveryName(sections)
    strings = graph._records.strings
    for text in typed(list(strings.slice(0, len(strings))), 120):
        for most in (1, 10, 300):
            assert index.best(folded(text), most) == every.best(folded(text), most), text
    assert index.best("a", len(sections["cuis"])) == every.best("a", len(sections["cuis"]))


def test_the_concepts_found_are_those_of_sqlite() -> None:
    """FTS5 knows nothing of our order, but what has words that begin so it finds by itself."""
    graph = open_release()
    strings, indptr = graph._records.strings, graph.sections["name_indptr"].tolist()
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE VIRTUAL TABLE names USING fts5(name, tokenize='unicode61 remove_diacritics 0')")
        rows = ((row, folded(name)) for row, name in enumerate(strings.slice(0, len(strings))))
        database.executemany("INSERT INTO names(rowid, name) VALUES (?, ?)", rows)
        owner = {row: c for c in range(len(indptr) - 1) for row in range(indptr[c], indptr[c + 1])}
        for text in typed(list(strings.slice(0, len(strings))), 60):
            query = " ".join(f'"{word}"*' for word in folded(text).split())
            matches = database.execute("SELECT rowid FROM names WHERE names MATCH ?", [query]).fetchall()
            expected = {graph._cuis[owner[row]] for (row,) in matches}
            assert {hit.cui for hit in graph.search(text, limit=len(indptr))} == expected, text


def test_a_file_without_the_index_opens_and_answers_the_same(tmp_path: Path) -> None:
    new, old = tmp_path / "new.cuihop", tmp_path / "old.cuihop"
    example_graph().save(new)
    without_index(example_graph()).save(old)
    assert not set(NAME_INDEX) & set(SnapshotGraph.open(old).sections)
    for text in ("b", "brain", "BRAIN-STEM", "vessel blood", "meniere", "C9000901", "ve bl", "q"):
        assert SnapshotGraph.open(old).search(text) == SnapshotGraph.open(new).search(text)


def test_the_index_is_no_part_of_the_digest() -> None:
    graph = example_graph()
    assert set(NAME_INDEX) <= set(graph.sections)
    assert without_index(graph).release.digest == graph.release.digest


def test_names_without_a_letter_or_digit_are_never_found() -> None:
    graph = SnapshotGraph.of([], names={"C0000001": ["---", "***"], "C0000002": ["+ a"]})
    assert [hit.cui for hit in graph.search("a")] == ["C0000002"]
    nowhere = SnapshotGraph.of([], names={"C0000001": "---"})
    assert nowhere.search("a") == []


def test_a_damaged_index_is_told_and_the_graph_still_answers(tmp_path: Path) -> None:
    path = tmp_path / "graph.cuihop"
    example_graph().save(path)
    raw = bytearray(path.read_bytes())
    end = 32 + int.from_bytes(raw[12:16], "little")
    section = next(s for s in json.loads(raw[32:end])["sections"] if s["name"] == "word_names")
    raw[section["offset"]] ^= 1
    path.write_bytes(raw)
    graph = SnapshotGraph.open(path)
    assert graph.distance("C0006121", "C0018670") == 3
    with pytest.warns(DamageWarning, match="'word_names' fails its checksum.*; every name is read"):
        assert graph.search("brain") == example_graph().search("brain")
    assert graph.search("brain") == example_graph().search("brain")  # and it is said once
    with pytest.raises(SnapshotError, match="'word_names' fails its checksum"):
        graph.verify()


def test_a_search_from_a_file_loads_no_compiler_and_finds_the_same(tmp_path: Path) -> None:
    """Without numba, NumPy searches: a command with one search does not wait for a compiler."""
    path = tmp_path / "graph.cuihop"
    graph = open_release()
    graph.save(path)
    strings = graph._records.strings
    texts = [*typed(list(strings.slice(0, len(strings))), 40), "a", "s d", "c d o"]
    code = (
        "import json, sys; from cuihop import SnapshotGraph\n"
        "graph = SnapshotGraph.open(sys.argv[1])\n"
        "print(json.dumps([[[h.cui, h.matched] for h in graph.search(t, limit=7)] for t in json.load(sys.stdin)]))\n"
        "sys.exit('numba' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        input=json.dumps(texts),
        env={key: value for key, value in os.environ.items() if not key.startswith("COV")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == [[[h.cui, h.matched] for h in graph.search(text, limit=7)] for text in texts]


def test_frequent_beginnings_are_told_with_all_their_letters() -> None:
    names = {"C0000001": ["brain stem", "brain"], "C0000002": ["breast"], "C0000003": ["Ödem oder öde"]}
    index = NameIndex(SnapshotGraph.of([], names=names).sections)
    assert list(index.prefixes(2)) == ["b", "br", "bra", "brai", "brain", "o", "od", "ode"]
    assert list(index.prefixes(4)) == []
