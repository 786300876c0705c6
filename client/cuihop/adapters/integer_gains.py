"""nn-IoU as gains for MTEB; and as whole grades, for tools without real-valued ones, with the error of rounding."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path

import numpy as np

from cuihop.collection.dataset import DataLike
from cuihop.collection.judgements import LARGEST_GRADE, Judgements
from cuihop.errors import InputError
from cuihop.files.written_files import replaced_file
from cuihop.graph import ConceptGraph
from cuihop.measures.nearness import Nearness
from cuihop.rankings.ranking import QueryImage
from cuihop.relevance.image_collection import ImageCollection
from cuihop.resources.optional_packages import installed_by

__all__ = ["IntegerGains", "to_integer_gains", "write_gains"]

_COLUMNS = ("query-id", "corpus-id", "gain")
_ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True, eq=False, slots=True)
class IntegerGains:
    """Judgements made from nn-IoU, with the error of rounding.

    Attributes:
        qrels: grade = nn-IoU · scale, rounded to the nearest whole number, halves to the even one. Grades of 0 are left
            out. Of use for nDCG with linear gain alone: for measures of relevance such as AP every grade of 1 or more
            is relevant.
        scale: the grade of two equal sets.
        pairs: number of pairs of images with an nn-IoU above 0.
        rounded: number of pairs whose grade is not nn-IoU · scale to 12 digits; 0 means that nDCG@K, where
            the tool defines it equally, is nn-CUI@K up to the rounding of sums.
        lost: number of pairs with the grade 0.
        largest_error: the largest |grade / scale − nn-IoU|; at most 1 / (2 · scale).
    """

    qrels: Judgements
    scale: int
    pairs: int
    rounded: int
    lost: int
    largest_error: float


def to_integer_gains(
    images: DataLike, graph: ConceptGraph | None, scale: int, nearness: Nearness = Nearness()
) -> IntegerGains:
    """Judgements of every pair of images: their nn-IoU times ``scale``, as whole numbers. IoU with n = 0.

    They take memory for every pair with an overlap, so they suit small collections.

    Args:
        images: a `Dataset`, or image → its concepts, where the queries are the corpus.
        graph: the source of distances; ``None`` will do for n = 0.
        nearness: as in `cuihop.evaluate`.
        scale: the grade of two equal sets, 1 to 1,000.

    Raises:
        InputError, ConceptError: as `cuihop.evaluate`, or the scale is out of its range.

    >>> from cuihop import SnapshotGraph
    >>> graph = SnapshotGraph.of([("C0042449", "C0005847")])
    >>> images = {"vein": "C0042449", "vessel": "C0005847", "both": "C0042449;C0005847"}
    >>> gains = to_integer_gains(images, graph, 100)
    >>> gains.qrels["vein"], gains.rounded
    ({'both': 75, 'vessel': 50}, 0)
    """
    if isinstance(scale, bool) or not isinstance(scale, int) or not 1 <= scale <= LARGEST_GRADE:
        raise InputError(
            "not a scale", column="scale", found=repr(scale), expected=f"a whole number from 1 to {LARGEST_GRADE:,}"
        )
    collection = _collection(images, graph, nearness)
    grades: dict[str, dict[str, int]] = {query: {} for query in collection.query_names}
    rounding = _Rounding()
    for query, gains in _gains(collection, graph, nearness):
        grades[query] = {image: grade for image, gain in gains if (grade := rounding.grade(gain, scale))}
    return IntegerGains(
        Judgements.of(grades), scale, rounding.pairs, rounding.rounded, rounding.lost, rounding.largest_error
    )


def write_gains(
    path: Path,
    images: DataLike,
    graph: ConceptGraph | None,
    nearness: Nearness = Nearness(),
    query_image: QueryImage = "exclude",
) -> None:
    """Write nn-IoU of every pair of images above 0, as MTEB's retrieval tasks have gains.

    Columns ``query-id``, ``corpus-id``, ``gain``, a query's best image first, as Parquet (``.parquet``) or JSON Lines.
    nDCG@K over them is nn-CUI@K, but for the rounding of sums.

    Args:
        path: the file. images, graph, nearness, query_image: as in `cuihop.evaluate`.

    Raises:
        InputError, ConceptError: as `to_integer_gains`. OutputError: the file could not be written.
        ModuleNotFoundError: pyarrow is needed, and not installed.
    """
    collection = _collection(images, graph, nearness, query_image)
    gains = ((query, image, gain) for query, of in _gains(collection, graph, nearness) for image, gain in of)
    with replaced_file(path) as file:
        if path.suffix.lower() != ".parquet":
            for row in gains:
                file.write((json.dumps(dict(zip(_COLUMNS, row, strict=True)), ensure_ascii=False) + "\n").encode())
            return
        with installed_by("cuihop[parquet]"):
            import pyarrow as pa
            import pyarrow.parquet as pq
        schema = pa.schema(zip(_COLUMNS, (pa.string(), pa.string(), pa.float64()), strict=True))
        with pq.ParquetWriter(file, schema) as writer:
            while rows := list(islice(gains, _ROWS_AT_ONCE)):
                writer.write_table(pa.table([pa.array(column) for column in zip(*rows, strict=True)], schema=schema))


def _collection(
    images: DataLike, graph: ConceptGraph | None, nearness: Nearness, query_image: QueryImage = "exclude"
) -> ImageCollection:
    if nearness.n > 0 and graph is None:
        raise InputError("nn-IoU needs a graph", column="graph", found="None", expected="a ConceptGraph, or n=0")
    return ImageCollection.of(images, graph, nearness.unknown, query_image)


def _gains(
    collection: ImageCollection, graph: ConceptGraph | None, nearness: Nearness
) -> Iterator[tuple[str, list[tuple[str, float]]]]:
    """Each query, and the images with a gain above 0, best first."""
    names = collection.corpus_names
    nothing = np.empty((len(collection.queries), 0), dtype=np.int32)
    for scores in collection.index(graph, nearness).scores([nearness.lam], len(names) + 1, nothing):
        gains, rows = scores.best_others(0, collection.own_rows[scores.queries])
        for query, of_query, of_images in zip(scores.queries.tolist(), gains.tolist(), rows.tolist(), strict=True):
            above_0 = [(names[row], gain) for row, gain in zip(of_images, of_query, strict=True) if gain > 0.0]
            yield collection.query_names[query], above_0


class _Rounding:
    """Grades of gains, with an account of their rounding."""

    def __init__(self) -> None:
        self.pairs = self.rounded = self.lost = 0
        self.largest_error = 0.0

    def grade(self, gain: float, scale: int) -> int:
        """The gain times the scale, to the nearest whole number."""
        exact = Fraction(gain) * scale
        grade = round(exact)
        self.pairs += 1
        self.lost += grade == 0
        # 1/3 · 3 is 1, though no double is 1/3, and (1 + 0.2) / 3 is 0.4, though its doubles give the one below.
        if not math.isclose(grade / scale, gain, rel_tol=1e-12):
            self.rounded += 1
            self.largest_error = max(self.largest_error, float(abs(exact - grade) / scale))
        return grade
