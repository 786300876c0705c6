"""Matchers of names in texts, each measured in a process of its own: time and memory to make it, texts a second.

cuihop is measured whole: names in every form, abbreviations, contexts, and the choice among concepts. Its table of
names is built from a snapshot in memory, which is not counted. The others match the names as they are written, in small
letters; flashtext2 and the plain dictionary only whole words, the automata anywhere, so that their matches within words
are to be filtered yet.

::

    python benchmarks/annotation_matchers.py SUBJECT NAMES TEXTS     both files of one item a line; prints JSON
"""

from __future__ import annotations

import gc
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from measurement import resident_megabytes

__all__ = ["MATCHERS", "Measured", "measured_alone"]

Match = Callable[[Sequence[str]], int]
"""Texts → number of matches."""
Make = Callable[[], Match]
"""Make a matcher; this is measured."""
Measured = dict[str, float]

_LONGEST = 40  # words of a name in the plain dictionary
_ROUNDS = 3


def _cuihop(names: Sequence[str]) -> Make:
    import numpy as np

    from cuihop import SnapshotGraph
    from cuihop.snapshot.string_table import StringTable, identifier_array
    from cuihop.snapshot.term_table import with_term_table
    from cuihop.snapshot.writer import GraphTables, sections_of

    nothing = np.empty(0, dtype=np.int32)
    tables = GraphTables(
        cuis=identifier_array([f"C{i:07d}" for i in range(len(names))]),
        children=nothing,
        parents=nothing,
        names=StringTable.of(names),
        name_indptr=np.arange(len(names) + 1, dtype=np.int32),
    )
    sections = sections_of(tables, name="made", relations=["isa"], identifiers="cui")

    def make() -> Match:
        graph = SnapshotGraph(with_term_table(sections))
        graph.annotate("")
        return lambda texts: len(graph.annotate_many(texts).terms)

    return make


def _flashtext2(names: Sequence[str]) -> Match:
    from flashtext2 import KeywordProcessor

    processor = KeywordProcessor(case_sensitive=True)
    processor.add_keywords_from_iter(names)
    return lambda texts: sum(len(processor.extract_keywords(text.lower())) for text in texts)


def _ahocorasick_rs(names: Sequence[str]) -> Match:
    from ahocorasick_rs import AhoCorasick, MatchKind

    automaton = AhoCorasick(names, matchkind=MatchKind.LeftmostLongest, store_patterns=False)
    return lambda texts: sum(len(automaton.find_matches_as_indexes(text.lower())) for text in texts)


def _daachorse(names: Sequence[str]) -> Match:
    import daachorse

    automaton = daachorse.CharwiseDoubleArrayAhoCorasick(list(names), match_kind=daachorse.MATCH_KIND_LEFTMOST_LONGEST)
    return lambda texts: sum(len(automaton.find(text.lower())) for text in texts)


def _pyahocorasick(names: Sequence[str]) -> Match:
    import ahocorasick

    automaton = ahocorasick.Automaton()
    for number, name in enumerate(names):
        automaton.add_word(name, number)
    automaton.make_automaton()
    return lambda texts: sum(sum(1 for _ in automaton.iter_long(text.lower())) for text in texts)


def _plain_dictionary(names: Sequence[str]) -> Match:
    word = re.compile(r"\w+")
    table = {tuple(word.findall(name)): number for number, name in enumerate(names)}
    begins: dict[str, int] = {}
    for words in table:
        if words:
            begins[words[0]] = max(begins.get(words[0], 0), min(len(words), _LONGEST))

    def matches(text: str) -> int:
        words = word.findall(text.lower())
        at, count = 0, 0
        while at < len(words):
            for length in range(min(begins.get(words[at], 0), len(words) - at), 0, -1):
                if tuple(words[at : at + length]) in table:
                    count += 1
                    at += length
                    break
            else:
                at += 1
        return count

    return lambda texts: sum(map(matches, texts))


MATCHERS: dict[str, Callable[[Sequence[str]], Make]] = {
    "cuihop: annotation": _cuihop,
    "flashtext2": lambda names: lambda: _flashtext2(names),
    "ahocorasick_rs": lambda names: lambda: _ahocorasick_rs(names),
    "daachorse": lambda names: lambda: _daachorse(names),
    "pyahocorasick": lambda names: lambda: _pyahocorasick(names),
    "Python dictionary": lambda names: lambda: _plain_dictionary(names),
}


def measured_alone(subject: str, names: Path, texts: Path) -> Measured:
    """Measure a matcher in a process of its own.

    Returns:
        Seconds and megabytes (10⁶ bytes) to make it, texts a second, and matches in all texts.
    """
    command = [sys.executable, __file__, subject, str(names), str(texts)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{subject} ended with {done.returncode}\n{done.stderr}")
    measured: Measured = json.loads(done.stdout.splitlines()[-1])
    return measured


def _measured(subject: str, names: Sequence[str], texts: Sequence[str]) -> Measured:
    MATCHERS[subject](names[:100])()(texts[:2])  # imports and compiles
    make = MATCHERS[subject](names)
    gc.collect()
    held = resident_megabytes()
    begun = time.perf_counter()
    match = make()
    building = time.perf_counter() - begun
    match(texts[:10])
    gc.collect()
    megabytes = resident_megabytes() - held
    spent, count = [], 0
    for _ in range(_ROUNDS):
        begun = time.perf_counter()
        count = match(texts)
        spent.append(time.perf_counter() - begun)
    return {"s": building, "MB": megabytes, "texts/s": len(texts) / min(spent), "matches": count}


if __name__ == "__main__":
    given = [Path(name).read_text(encoding="utf-8").split("\n") for name in sys.argv[2:]]
    print(json.dumps(_measured(sys.argv[1], *given)))
