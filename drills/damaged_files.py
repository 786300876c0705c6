"""Drill: damaged files. Each is refused in words, set aside with a warning, or gives the answers of the whole file."""

from __future__ import annotations

import random
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from cuihop import ConceptGraph, NeighbourDictionary, Resources, SnapshotGraph, evaluate
from cuihop.errors import CuihopError
from cuihop.snapshot.distance_index import index_path
from cuihop.snapshot.index_builder import build_index
from drills.drill import Case, Found, Setting
from example_graph import sourced_graph

_CUIS = ["C0006121", "C0018670", "C0005847", "C0042449", "C0003483"]
_PAIRS = [(a, b) for a in _CUIS for b in _CUIS]
_IMAGES = {"a": "C0006121;C0018670", "b": "C0005847", "c": "C0042449;C0003483", "d": "", "e": "C0005847;C0006121"}
_RANKING = {image: sorted(_IMAGES) for image in _IMAGES}
_MOST_SECONDS = 1.0


class _File(NamedTuple):
    """A file that is damaged, its content, and a function that gives all answers from it as text."""

    path: Path
    content: bytes
    answers: Callable[[], str]


@contextmanager
def cases(setting: Setting) -> Iterator[Case]:
    """Whole files of each kind, made once a process."""
    files = list(whole_files(setting.folder))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is set aside
        right = [file.answers() for file in files]

        def case(rng: random.Random) -> Found:
            number = rng.randrange(len(files))
            file = files[number]
            content, how = _damaged(file.content, rng, [other.content for other in files])
            file.path.write_bytes(content)
            begin = time.process_time()
            wrong = []
            try:
                if file.answers() != right[number]:
                    wrong.append(f"{file.path.name}, {how}: another answer")
            except CuihopError as error:
                if file.path.name not in str(error):
                    wrong.append(f"{file.path.name}, {how}: the error does not name the file: {error}")
            taken = time.process_time() - begin
            if taken > _MOST_SECONDS:
                wrong.append(f"{file.path.name}, {how}: {taken:.1f} s of processor time")
            file.path.write_bytes(file.content)
            return Found(1, wrong)

        yield case


def whole_files(folder: Path) -> Iterator[_File]:
    """A snapshot, the index beside one, a dictionary of neighbours, and the checkpoint of an evaluation."""
    graph = sourced_graph()
    plain, indexed = folder / "plain.cuihop", folder / "indexed.cuihop"
    for path in (plain, indexed):
        graph.save(path)
    build_index(graph, roots=1).save(index_path(indexed))
    dictionary = folder / "neighbours.cuihop"
    NeighbourDictionary.of(graph, _CUIS, hops=2).save(dictionary)
    blocks = folder / "evaluation.blocks"

    def evaluated() -> str:
        resources = Resources(checkpoint=blocks, keep_checkpoint=True, threads=1)
        return evaluate(_IMAGES, _RANKING, graph, resources=resources, unknown="isolated").values.tobytes().hex()

    evaluated()
    yield _File(plain, plain.read_bytes(), lambda: _answers(SnapshotGraph.open(plain)))
    index = index_path(indexed)
    yield _File(index, index.read_bytes(), lambda: _answers(SnapshotGraph.open(indexed)))
    yield _File(dictionary, dictionary.read_bytes(), lambda: _of_pairs(NeighbourDictionary.open(dictionary)))
    yield _File(blocks, blocks.read_bytes(), evaluated)


def _of_pairs(graph: ConceptGraph) -> str:
    with graph:
        return repr(graph.distances(_PAIRS, max_hops=2).to_list())


def _answers(graph: SnapshotGraph) -> str:
    with graph:
        return repr([
            [graph.distances(_PAIRS * 5, direction=way).to_list() for way in ("any", "up", "vertical")],
            [graph.distance(*pair) for pair in _PAIRS], graph.path("C0003483", "C0007226"), graph.concepts(_CUIS),
            graph.neighbours(_CUIS, hops=3), graph.search("brain"), graph.search("vesel"), graph.resolve(["C9000901"]),
        ])  # fmt: skip


def _damaged(content: bytes, rng: random.Random, others: list[bytes]) -> tuple[bytes, str]:
    """The file with one or more faults, and what they are."""
    data = bytearray(content)
    done = []
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        at = rng.randrange(max(1, len(data)))
        if rng.random() < 0.4:  # heads are short, and hold most of what is believed
            at = rng.randrange(max(1, min(len(data), 4096)))
        length = rng.choice((1, 4, 8, 64, 4096))
        how = rng.choice(("flip", "cut", "remove", "insert", "zero", "swap", "random", "other"))
        done.append(f"{how} at {at}")
        if how == "flip" and data:
            data[at] ^= 1 << rng.randrange(8)
        elif how == "cut":
            del data[at:]
        elif how == "remove":
            del data[at : at + length]
        elif how == "insert":
            data[at:at] = rng.randbytes(length)
        elif how == "zero":
            data[at : at + length] = bytes(len(data[at : at + length]))
        elif how == "swap":
            other = rng.randrange(max(1, len(data) - length + 1))
            one, two = data[at : at + length], data[other : other + length]
            if abs(at - other) >= length and len(one) == len(two):
                data[at : at + length], data[other : other + length] = two, one
        elif how == "random":
            data[at : at + length] = rng.randbytes(len(data[at : at + length]))
        elif how == "other":
            source = rng.choice(others)
            data[at : at + length] = source[at : at + length]
    return bytes(data), ", ".join(done)
