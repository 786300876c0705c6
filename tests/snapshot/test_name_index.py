"""The index of names against a plain reading of every name, from files with the index, without, and damaged."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
from itertools import pairwise, product
from math import ceil, log2
from pathlib import Path
from string import ascii_lowercase, digits

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cuihop import SnapshotGraph
from cuihop._kernels import name_index as kernels
from cuihop.adapters.graph_export import to_networkx
from cuihop.errors import DamageWarning, OlderSnapshot, SnapshotError
from cuihop.graph import SearchHit
from cuihop.resources.arrays import read_only
from cuihop.snapshot.file import Sections
from cuihop.snapshot.layout import NAME_INDEX
from cuihop.snapshot.name_index import NameIndex
from cuihop.snapshot.name_index_builder import concept_weights, ordered_texts
from cuihop.snapshot.string_table import StringTable, folded
from cuihop.snapshot.word_forms import STOP_WORDS, form_of, form_prefixes, name_forms, respaced
from example_graph import example_graph
from neo4j_server import open_release

CUIS = [f"C{i:07d}" for i in range(1, 13)]
WORDS = [
    "lung",
    "lungs",
    "lunge",
    "xray",
    "x",
    "ray",
    "tumour",
    "tumor",
    "of",
    "the",
    "s",
    "Ödem",
    "oedema",
    "c3",
    "漢",
]
SOME_NAMES = st.lists(
    st.one_of(
        st.text(st.sampled_from("aabbc d-1ÅßéΩ漢"), min_size=1, max_size=12),
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join),
    ),
    min_size=0,
    max_size=4,
)  # letters that meet often, words that repeat or have several forms, letters of two to four bytes
RELEASES = st.dictionaries(st.sampled_from(CUIS), SOME_NAMES, min_size=1)
EDGES = st.lists(st.tuples(st.sampled_from(CUIS), st.sampled_from(CUIS)), max_size=12)
TEXTS = st.one_of(
    st.text(st.sampled_from("abc d1éω漢"), min_size=1, max_size=6),
    st.lists(st.sampled_from([*WORDS, "lun", "tumou", "ra", "l"]), min_size=1, max_size=3).map(" ".join),
)


def kind_and_rank(name: str, text: str) -> tuple[int, str] | None:
    """Rank and kind of the match of a name with a text, by a plain reading of both; ``None`` where it has none."""
    own, typed = folded(name), folded(text)
    words, forms = own.split(" "), {form_of(word) for word in own.split(" ")}
    wanted = {word for word in typed.split(" ") if word not in STOP_WORDS} or set(typed.split(" "))
    readings = [name_forms(reading) for reading in respaced(typed)]

    def begun_in_form(wanted_word: str) -> bool:
        return any(
            word.startswith((wanted_word, *form_prefixes(wanted_word)))
            or form_of(word) == form_of(wanted_word)
            or form_of(word).startswith(tuple(form_prefixes(wanted_word)))
            for word in words
        )

    if not own:
        return None
    ways = [
        ("exact", own == typed),
        ("form", name_forms(own) == name_forms(typed)),
        *(("form", name_forms(own) == reading) for reading in readings),
        ("words", wanted <= set(words)),
        ("form", forms.issuperset(name_forms(typed))),
        *(("form", forms.issuperset(reading)) for reading in readings),
        ("prefix", all(any(word.startswith(begin) for word in words) for begin in wanted)),
        ("form", all(map(begun_in_form, wanted))),
    ]
    return next(((rank, kind) for rank, (kind, matches) in enumerate(ways) if matches), None)


def read_every_name(graph: SnapshotGraph, names: dict[str, list[str]], text: str) -> list[SearchHit]:
    """Hits of a text as typed, without corrections."""
    upwards = to_networkx(graph)
    found = []
    for cui, texts in names.items():
        for place, name in enumerate(texts):
            if match := kind_and_rank(name, text):
                weight = ceil(log2(len(nx.ancestors(upwards, cui)) + 1))
                order = (match[0], place > 0, -weight, len(name.encode()), cui, place)
                found.append((order, SearchHit(cui, texts[0], name, match[1])))  # type: ignore[arg-type]
    hits: dict[str, SearchHit] = {}
    for _, hit in sorted(found, key=lambda pair: pair[0]):
        hits.setdefault(hit.cui, hit)
    return list(hits.values())


def without_index(graph: SnapshotGraph) -> SnapshotGraph:
    """The graph as versions before there was an index have written it."""
    sections = graph.sections
    return SnapshotGraph(Sections(sections.meta, {name: sections[name] for name in sections if name not in NAME_INDEX}))


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(names=RELEASES, edges=EDGES, text=TEXTS, limit=st.integers(0, 12))
@example(names={"C0000001": ["a b", "a"], "C0000002": ["a"], "C0000003": ["b a"]}, edges=[], text="a b", limit=3)
@example(names={"C0000001": ["x ray"], "C0000002": ["Xray"]}, edges=[], text="xray", limit=3)
@example(names={"C0000001": ["of the"], "C0000002": ["of"]}, edges=[], text="the of", limit=3)
@pytest.mark.parametrize("tiers", [(2, 5), (1 << 16,)])
def test_the_index_gives_what_reading_every_name_gives(
    names: dict[str, list[str]],
    edges: list[tuple[str, str]],
    text: str,
    limit: int,
    tiers: tuple[int, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cuihop.snapshot.name_index_builder._TIERS", tiers)
    graph = SnapshotGraph.of(edges, concepts=CUIS, names=names)
    if not folded(text):
        return
    expected = read_every_name(graph, names, text)[:limit]
    found = graph.search(text, limit=limit)
    if expected or not found:
        assert found == expected
    else:  # nothing matches as typed
        assert {hit.kind for hit in found} <= {"spelling", "part"}


@given(edges=EDGES)
def test_weights_are_the_descendants_in_powers_of_two(edges: list[tuple[str, str]]) -> None:
    graph = SnapshotGraph.of(edges, concepts=CUIS)
    upwards = to_networkx(graph)
    expected = [len(nx.ancestors(upwards, cui)) for cui in CUIS]
    assert concept_weights(graph.sections).tolist() == [ceil(log2(count + 1)) for count in expected]


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
    strings = open_release()._records.strings
    texts = random.Random(3).sample(list(strings.slice(0, len(strings))), 800)
    names = {f"C{i:07d}": texts[2 * i : 2 * i + 2] for i in range(len(texts) // 2)}
    graph = SnapshotGraph.of([], names=names)
    for text in typed(texts, 15):
        assert graph.search(text, limit=50) == read_every_name(graph, names, text)[:50], text


def test_the_concepts_found_are_those_of_sqlite() -> None:
    """FTS5 knows no forms and no order, but it finds by itself what has words that begin so."""
    graph = open_release()
    strings, indptr = graph._records.strings, graph.sections["name_indptr"].tolist()
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE VIRTUAL TABLE names USING fts5(name, tokenize='unicode61 remove_diacritics 0')")
        rows = ((row, folded(name)) for row, name in enumerate(strings.slice(0, len(strings))))
        database.executemany("INSERT INTO names(rowid, name) VALUES (?, ?)", rows)
        owner = {row: c for c in range(len(indptr) - 1) for row in range(indptr[c], indptr[c + 1])}
        for text in typed(list(strings.slice(0, len(strings))), 60):
            words = [word for word in folded(text).split() if word not in STOP_WORDS] or folded(text).split()
            query = " ".join(f'"{word}"*' for word in words)
            matches = database.execute("SELECT rowid FROM names WHERE names MATCH ?", [query]).fetchall()
            expected = {graph._cuis[owner[row]] for (row,) in matches}
            hits = graph.search(text, limit=len(indptr))
            assert expected <= {hit.cui for hit in hits}, text
            assert {hit.cui for hit in hits if hit.kind in {"exact", "words", "prefix"}} <= expected, text


def test_a_file_without_the_index_opens_and_answers_the_same(tmp_path: Path) -> None:
    new, old = tmp_path / "new.cuihop", tmp_path / "old.cuihop"
    example_graph().save(new)
    without_index(example_graph()).save(old)
    opened = SnapshotGraph.open(old)
    assert not set(NAME_INDEX) & set(opened.sections)
    with pytest.warns(
        OlderSnapshot,
        match=r"old\.cuihop: the index of names is missing.*store it with: cuihop index --name-search .*old\.cuihop",
    ):
        opened.search("b")
    for text in ("b", "brain", "BRAIN-STEM", "vessel blood", "meniere", "C9000901", "ve bl", "brian", "q"):
        assert opened.search(text) == SnapshotGraph.open(new).search(text)


def test_the_index_is_no_part_of_the_digest() -> None:
    graph = example_graph()
    assert set(NAME_INDEX) <= set(graph.sections)
    assert without_index(graph).release.digest == graph.release.digest


_LONG = [
    "x" * 40_000,
    " ".join(f"y{n}" for n in range(9000)),
    "",
    "Sjögren word1",
    "ä" * 9000,
    "hippocampal Hippocampal",
]


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param([f"word{n} Common{n % 7}" for n in range(5000)] + _LONG, id="many words, and long ones"),
        pytest.param(
            ["".join(three) for three in product("äöüéî", *[ascii_lowercase + digits] * 2)], id="words beyond ASCII"
        ),
    ],
)
def test_words_are_numbered_as_by_python(texts: list[str]) -> None:
    """More words, letters and words of one name than the tables of words hold at first."""
    names, beyond = StringTable.of(texts), [n for n, text in enumerate(texts) if not text.isascii()]
    in_letters = StringTable.of([folded(texts[n]) for n in beyond])
    begins, numbers, offsets, blob = kernels.words_of(
        read_only(names.offsets), read_only(names.blob), read_only(np.array(beyond, dtype=np.int32)),
        read_only(in_letters.offsets), read_only(in_letters.blob),
    )  # fmt: skip
    words = list(StringTable(offsets, blob).slice(0, len(offsets) - 1))
    split = [folded(text).split() for text in texts]
    assert words == list(dict.fromkeys(word for of_name in split for word in of_name))
    assert [[words[n] for n in numbers[a:b]] for a, b in pairwise(begins.tolist())] == split


@given(
    names=st.lists(st.lists(st.integers(1, 5), max_size=6), min_size=1, max_size=12),
    shuffle=st.randoms(use_true_random=False),
    bounds=st.lists(st.integers(0, 12), max_size=2).map(sorted),
)
def test_postings_are_the_names_of_each_word_by_merit(
    names: list[list[int]], shuffle: random.Random, bounds: list[int]
) -> None:
    rows = list(range(len(names)))
    shuffle.shuffle(rows)
    tiers = [0, *(bound for bound in dict.fromkeys(bounds) if 0 < bound < len(names)), len(names)]
    indptr, found = kernels.postings(
        np.cumsum([0, *map(len, names)]), np.array([word for name in names for word in name], dtype=np.int32),
        np.array(rows, dtype=np.int32), np.argsort(rows).astype(np.int32), 5, np.array(tiers),
    )  # fmt: skip
    lists = [found[begin:end].tolist() for begin, end in pairwise(indptr.tolist())]
    assert lists == [
        [position for position in range(low, high) if word in names[rows[position]]]
        for low, high in pairwise(tiers)
        for word in range(1, 6)
    ]


@given(texts=st.lists(st.one_of(st.text("ab", max_size=20), st.just("a" * 17)), max_size=40))
def test_texts_are_in_the_order_of_a_stable_sort(texts: list[str]) -> None:
    expected = sorted(range(len(texts)), key=lambda i: texts[i])
    assert ordered_texts(StringTable.of(texts)).tolist() == expected


LISTS = st.lists(st.lists(st.integers(0, 300), unique=True, max_size=80).map(sorted), min_size=1, max_size=6)


@given(candidates=st.lists(st.integers(0, 300), unique=True, min_size=1, max_size=9).map(sorted), lists=LISTS)
@example(candidates=[7], lists=[list(range(100)), [7]])
@example(candidates=[7, 99, 299], lists=[list(range(0, 300, 2)), list(range(0, 300, 3)), [299]])
def test_candidates_in_lists_are_those_of_a_set(candidates: list[int], lists: list[list[int]]) -> None:
    """Long lists are searched, short ones read."""
    numbers = np.array([number for numbers in lists for number in numbers], dtype=np.int32)
    bounds = np.cumsum([0, *map(len, lists)])
    seen = kernels.in_lists(np.array(candidates, dtype=np.int32), read_only(numbers), bounds[:-1], bounds[1:])
    assert seen.tolist() == [candidate in set(numbers.tolist()) for candidate in candidates]


def test_names_without_a_letter_or_digit_are_never_found() -> None:
    graph = SnapshotGraph.of([], names={"C0000001": ["---", "***"], "C0000002": ["+ a"]})
    assert [hit.cui for hit in graph.search("a")] == ["C0000002"]
    nowhere = SnapshotGraph.of([], names={"C0000001": "---"})
    assert nowhere.search("a") == []
    assert SnapshotGraph.of([], concepts=["C0000001"]).search("a") == []


def test_a_damaged_index_is_told_and_the_graph_still_answers(tmp_path: Path) -> None:
    path = tmp_path / "graph.cuihop"
    example_graph().save(path)
    raw = bytearray(path.read_bytes())
    end = 32 + int.from_bytes(raw[12:16], "little")
    section = next(s for s in json.loads(raw[32:end])["sections"] if s["name"] == "search_names")
    raw[section["offset"]] ^= 1
    path.write_bytes(raw)
    graph = SnapshotGraph.open(path)
    assert graph.distance("C0006121", "C0018670") == 3
    with pytest.warns(DamageWarning, match="'search_names' fails its checksum.*; .* is built again in memory"):
        assert graph.search("brain") == example_graph().search("brain")
    assert graph.search("brain") == example_graph().search("brain")  # and it is said once
    with pytest.raises(SnapshotError, match="'search_names' fails its checksum"):
        graph.verify()


def test_a_search_from_a_file_loads_no_compiler_and_finds_the_same(tmp_path: Path) -> None:
    """Without numba, NumPy searches: a command with one search does not wait for a compiler."""
    path = tmp_path / "graph.cuihop"
    graph = open_release()
    graph.save(path)
    strings = graph._records.strings
    texts = [*typed(list(strings.slice(0, len(strings))), 40), "a", "s d", "c d o", "pnuemonia", "kidney stones"]
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
