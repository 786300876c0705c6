"""Search while typing: how long one more letter takes, with the index of names, and in SQLite's FTS5.

::

    python benchmarks/search.py [--data ../shared/data] [--concepts 1000000] [--names 3] [--typed 300] [--server]

The names are made of the words of real ones, each word after one that it follows in a real name; one in ten also has a
word that hardly any other has. Each concept is a child of an earlier one. Some names are typed, letter by letter, and
so are the beginnings of their words (``brain st``, ``st br``), and texts with two letters swapped. FTS5 knows neither
the order nor other spellings, so it is asked twice: for any ten names, and for its ten best by BM25. ``--server`` loads
the concepts into a Neo4j server as well, and compares its answers.
"""

from __future__ import annotations

import gzip
import os
import platform
import random
import resource
import sqlite3
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmark_data import add_data_option
from cuihop import ConceptGraph, SnapshotGraph
from cuihop.snapshot.name_index import NameIndex
from cuihop.snapshot.name_index_builder import name_index_sections
from cuihop.snapshot.string_table import StringTable, folded, identifier_array
from cuihop.snapshot.writer import GraphTables, sections_of
from measurement import Measurement, arguments_of

HITS = 10
LONGEST = 12  # letters typed of a name
TEXT = 14  # the column of MRCONSO
RESULTS = Measurement()


def real_names(data: Path) -> list[str]:
    """The names of an open release."""
    file = data / "rrf_open" / "MRCONSO.RRF.gz"
    with gzip.open(file, "rt", encoding="utf-8") as rows:
        return [row.split("|")[TEXT] for row in rows]


def made_names(real: Sequence[str], count: int, seed: int = 1) -> Iterator[str]:
    """Names that never were, of words that follow one another in real ones."""
    rng = random.Random(seed)
    after: dict[str, list[str]] = defaultdict(list)
    for name in real:
        for word, following in pairwise(["", *name.split(), ""]):
            after[word].append(following)
    for _ in range(count):
        words: list[str] = []
        word = rng.choice(after[""])
        while word and len(words) < 15:
            words.append(word)
            word = rng.choice(after[word])
        if rng.random() < 0.1:
            words.append(f"{chr(97 + rng.randrange(26))}{rng.randrange(10_000_000)}")
        yield " ".join(words)


def made(real: Sequence[str], concepts: int, each: int) -> GraphTables:
    """Concepts with so many names each; the parent of each is one of those before it, the first ones more often."""
    children = np.arange(1, concepts, dtype=np.int32)
    return GraphTables(
        cuis=identifier_array([f"C{i:07d}" for i in range(concepts)]),
        children=children,
        parents=(np.random.default_rng(1).random(concepts - 1) ** 2 * children).astype(np.int32),
        names=StringTable.of(list(made_names(real, concepts * each))),
        name_indptr=np.arange(0, concepts * each + 1, each, dtype=np.int32),
    )


def keystrokes(real: Sequence[str], typed: int) -> list[str]:
    """What stands in the field after each letter."""
    rng = random.Random(2)
    texts: list[str] = []
    for name in rng.sample(real, typed):
        words = folded(name).split()
        shuffled = rng.sample(words, len(words))
        begun = " ".join(word[: rng.randint(1, 4)] for word in shuffled[:3])
        for text in (" ".join(words), begun):
            texts += [text[:letters] for letters in range(1, min(len(text), LONGEST) + 1)]
    return [text for text in dict.fromkeys(texts) if text.strip()]


def misspelt(texts: Sequence[str], count: int) -> list[str]:
    """Some of the longer texts with two neighbouring letters swapped."""
    rng = random.Random(4)
    found = []
    for text in rng.sample([text for text in texts if len(text) > 6], count):
        at = rng.randrange(len(text) - 1)
        found.append(text[:at] + text[at + 1] + text[at] + text[at + 2 :])
    return [text for text in found if folded(text)]


def told(what: str, ask: Callable[[str], object], texts: Sequence[str], kind: str = "a keystroke") -> None:
    """One line of the result: milliseconds of one question."""
    ask(texts[0])
    spent = []
    for text in texts:
        start = time.perf_counter()
        ask(text)
        spent.append((time.perf_counter() - start) * 1000)
    worst = texts[int(np.argmax(spent))]
    subject = what if what[0].isupper() else f"cuihop: {what}"
    RESULTS.add(f"{kind}, median", subject, statistics.median(spent), "ms")
    RESULTS.add(f"{kind}, worst", subject, max(spent), "ms")
    percentile = float(np.percentile(spent, 99))
    print(f"{what:34}{len(texts):8,}{statistics.median(spent):10.2f}{percentile:10.2f}{max(spent):10.2f}  {worst!r}",
          flush=True)  # fmt: skip


def fts5(database: sqlite3.Connection, query: str) -> Callable[[str], object]:
    """The same question to FTS5: words that begin so, in any order."""
    return lambda text: database.execute(query, [" ".join(f'"{word}"*' for word in text.split())]).fetchall()


def compare(graph: ConceptGraph, other: ConceptGraph, texts: Sequence[str], what: str) -> None:
    """End the run where two give different answers."""
    for text in texts:
        if graph.search(text, limit=HITS) != other.search(text, limit=HITS):
            raise SystemExit(f"search: {what} differ for {text!r}")
    print(f"{what} agree on {len(texts):,} texts", flush=True)


def main() -> None:
    """Measure, and print."""
    parser = arguments_of(__doc__)
    add_data_option(parser)
    parser.add_argument("--concepts", type=int, default=1_000_000)
    parser.add_argument("--names", type=int, default=3)
    parser.add_argument("--typed", type=int, default=300)
    parser.add_argument("--server", action="store_true")
    options = parser.parse_args()
    real = real_names(options.data)
    texts = keystrokes(real, options.typed)
    tables = made(real, options.concepts, options.names)
    arrays = sections_of(tables, name="made", relations=["isa"], identifiers="cui")
    start = time.perf_counter()
    index = name_index_sections({name: arrays[name] for name in arrays})
    built = time.perf_counter() - start
    print(f"{options.concepts:,} concepts, {len(tables.names):,} names, {len(index['search_forms']):,} words, "
          f"{len(index['search_names']):,} words in names; {os.cpu_count()} cores, Python {platform.python_version()}, "
          f"SQLite {sqlite3.sqlite_version}")  # fmt: skip
    size = sum(array.nbytes for array in index.values()) / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"index made in {built:.1f} s, {size:.0f} MB beside {tables.names.blob.nbytes / 1e6:.0f} MB of names; the "
          f"process has had {peak:.1f} GB at most")  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "made.cuihop"
        SnapshotGraph(arrays).save(file)
        graph = SnapshotGraph.open(file)
        start = time.perf_counter()
        graph.search("a", limit=HITS)
        print(f"first search of an opened file: {(time.perf_counter() - start) * 1000:.0f} ms")
        rng = random.Random(3)
        sample = rng.sample(texts, min(len(texts), 60))
        print(f"{'milliseconds a keystroke':34}{'asked':>8}{'median':>10}{'p99':>10}{'worst':>10}")
        found = NameIndex(graph.sections)
        found.warm_up()
        letters = [chr(97 + i) for i in range(26)]
        told("index of names", lambda text: found.best(folded(text), HITS), texts)
        told("index of names, one letter", lambda text: found.best(text, HITS), letters, "one letter")
        swapped = misspelt(texts, min(len(texts) // 10, 300))
        told("index of names, letters swapped", lambda text: found.best(folded(text), HITS), swapped, "misspelt")
        with sqlite3.connect(Path(folder) / "names.db") as database:
            start = time.perf_counter()
            database.execute("CREATE VIRTUAL TABLE names USING fts5(name, content='', prefix='1 2 3')")
            rows = ((row, folded(name)) for row, name in enumerate(tables.names.slice(0, len(tables.names))))
            database.executemany("INSERT INTO names(rowid, name) VALUES (?, ?)", rows)
            database.commit()
            seconds, megabytes = time.perf_counter() - start, (Path(folder) / "names.db").stat().st_size / 1e6
            print(f"FTS5 made in {seconds:.1f} s, {megabytes:.0f} MB")
            told("FTS5, any ten", fts5(database, "SELECT rowid FROM names WHERE names MATCH ? LIMIT 10"), texts)
            ranked = "SELECT rowid FROM names WHERE names MATCH ? ORDER BY rank LIMIT 10"
            told("FTS5, best ten by BM25", fts5(database, ranked), sample)
        if options.server:
            stored(graph, texts[:100] + letters, Path(folder))
    RESULTS.save(options.json)


def stored(snapshot: SnapshotGraph, texts: Sequence[str], folder: Path) -> None:
    """The same questions to a Neo4j server."""
    from cuihop.neo4j_graph.connection import Neo4jConnection, Neo4jSettings
    from cuihop.neo4j_graph.graph import Neo4jGraph
    from cuihop_loader.neo4j_online import load_online
    from cuihop_tools.neo4j_server import LocalServer

    with (
        LocalServer(folder / "server", heap="4g", page_cache="1g") as server,
        Neo4jConnection(Neo4jSettings(server.address, server.user, server.password)) as connection,
    ):
        start = time.perf_counter()
        load_online(snapshot.sections, connection)
        print(f"Neo4j: loaded in {time.perf_counter() - start:.1f} s")
        graph = Neo4jGraph(connection)
        compare(graph, snapshot, texts[-60:], "Neo4j and the snapshot")
        told("Neo4j", lambda text: graph.search(text, limit=HITS), texts)
        told("Neo4j, one letter", lambda text: graph.search(text, limit=HITS), texts[-26:], "one letter")


if __name__ == "__main__":
    main()
