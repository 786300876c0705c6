"""Jobs of every kind that a cluster computes, over a small collection: the values of each as bytes."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cuihop import Dataset, Labels, Nearness, Resources, SnapshotGraph, evaluate, read_ranking
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.errors import ConceptNotFound, InputError
from cuihop.measures.nearness import Weight
from cuihop.rankings.ranking import Similarity
from cuihop.rankings.reading import read_ranking_in_blocks
from cuihop.relevance import top_k
from cuihop.relevance.baselines import Relevance
from cuihop.study.ablation import ablation
from cuihop.study.checkpoint import StudyCheckpoint
from cuihop.study.inputs import StudyInputs

__all__ = ["IMAGES", "JOBS", "Job", "Troubled", "by_concepts", "graph", "images"]

IMAGES = 700
_CONCEPTS = 120

Job: TypeAlias = Callable[[Resources, Path], bytes]
"""From resources and a folder for inputs to the bytes of all values."""


def graph() -> SnapshotGraph:
    """A tree with a few more edges."""
    generator = np.random.default_rng(1)
    edges = [(child, int(generator.integers(0, child))) for child in range(1, _CONCEPTS)]
    edges += [(int(a), int(b)) for a, b in generator.integers(0, _CONCEPTS, (20, 2)) if a != b]
    return SnapshotGraph.of([(f"C{a:07d}", f"C{b:07d}") for a, b in edges])


@cache
def images(count: int = IMAGES) -> dict[str, frozenset[str]]:
    """Images with one to four concepts; few share their set."""
    generator = np.random.default_rng(2)
    return {
        f"i{number:04}": frozenset(f"C{c:07d}" for c in generator.integers(0, _CONCEPTS, generator.integers(1, 5)))
        for number in range(count)
    }


def labels(count: int = IMAGES) -> dict[str, dict[str, str]]:
    return {
        "kind": {name: str(place % 5) for place, name in enumerate(images(count))},
        "side": {name: str(place % 3) for place, name in enumerate(images(count))},
    }


def by_concepts(resources: Resources, count: int = IMAGES, weight: Weight = "constant") -> bytes:
    """nn-CUI@5,10,30 of the best by IoU."""
    held = images(count)
    ranking = top_k(held, None, 30, by="iou", resources=Resources(resources.threads))
    nearness = Nearness(2, weight=weight)
    return evaluate(held, ranking, graph(), nearness=nearness, resources=resources).values.tobytes()


def _vectors(name: str) -> Job:
    def job(resources: Resources, folder: Path) -> bytes:
        table = np.random.default_rng(3).standard_normal((IMAGES, 24)).astype(np.float32)
        path = folder / f"{name}.npy"
        np.save(path, np.packbits(table > 0, axis=1) if name == "codes" else table)
        similarity: Similarity = "hamming" if name == "codes" else "cosine"
        ranking = read_ranking_in_blocks(path, tuple(images()), similarity=similarity, resources=Resources())
        data = Dataset(images(), labels=Labels(labels()))
        measures = "AP(kind), nDCG@10(kind, side), P@5(kind+side), nn-CUI@10"
        return evaluate(data, ranking, graph(), measures=measures, resources=resources).values.tobytes()

    return job


def _judgements(resources: Resources, folder: Path) -> bytes:
    np.save(folder / "e.npy", np.random.default_rng(4).standard_normal((IMAGES, 8)))
    ranking = read_ranking_in_blocks(folder / "e.npy", tuple(images()), similarity="dot", depth=40)
    qrels = {name: {other: (place * step) % 3 for step, other in enumerate(list(images())[:40])}
             for place, name in enumerate(images())}  # fmt: skip
    return evaluate(Dataset(qrels=qrels), ranking, measures="AP, nDCG@10, bpref", resources=resources).values.tobytes()


def _whole(resources: Resources, folder: Path) -> bytes:
    np.save(folder / "w.npy", np.random.default_rng(5).standard_normal((IMAGES, 8)))
    return read_ranking(folder / "w.npy", tuple(images()), depth=50, resources=resources).rows.tobytes()


def _by(relevance: Relevance) -> Job:
    return lambda resources, _: top_k(images(), graph(), 20, by=relevance, resources=resources).rows.tobytes()


def _ablation(resources: Resources, _: Path) -> bytes:
    inputs = StudyInputs(ImageConcepts(images()), graph(), Labels(labels()), resources=resources)
    with StudyCheckpoint(None, inputs) as checkpoint:
        rows = list(ablation(inputs, lambda what: lambda done, total: None, checkpoint))
    return repr(rows).encode()


class Troubled:
    """A `BlockWork` of one query a block, whose third block fails as it is to."""

    threads = 1

    def __init__(self, trouble: Callable[[], object], blocks: int = 6, ballast: int = 0) -> None:
        self._trouble, self._blocks = trouble, blocks
        self.ballast = np.zeros(ballast, dtype=np.uint8)

    def __len__(self) -> int:
        return self._blocks

    def places(self, number: int) -> npt.NDArray[np.int64]:
        return np.array([number], dtype=np.int64)

    def values(self, number: int) -> npt.NDArray[np.float64]:
        if number == 2:
            self._trouble()
        return np.array([[float(number)]])


def nothing() -> None:
    """No trouble."""


def wrong_input() -> None:
    raise InputError("the third block", found="trouble")


def not_found() -> None:
    raise ConceptNotFound(["C0000001"], release="r")  # its constructor takes other arguments than its text


def defect() -> None:
    raise ZeroDivisionError("a defect")


def end_of_the_worker() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


JOBS: dict[str, Job] = {
    "nn-CUI@K": lambda resources, _: by_concepts(resources),
    "nn-CUI@K by hops": lambda resources, _: by_concepts(resources, weight="hops"),
    "nn-CUI@K by Lin": lambda resources, _: by_concepts(resources, weight="Lin"),
    "embeddings with labels": _vectors("embeddings"),
    "codes with labels": _vectors("codes"),
    "embeddings with judgements": _judgements,
    "embeddings as a ranking": _whole,
    "best by IoU": _by("iou"),
    "best by BM": _by("bm"),
    "best by TF-IDF": _by("tf-idf"),
    "ablation": _ablation,
}
