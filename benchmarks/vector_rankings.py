"""How long rankings of whole collections take that are made from embeddings, binary codes, BM and TF-IDF.

Embeddings: 512 numbers in single precision, 2,000 clusters drawn at random. Codes: the signs of the first 64 and 128 of
them. As many as ROCOv2 has in test and training, and as ImageCLEF 2025 has. BM and TF-IDF: the concepts of
`benchmarks/evaluation.py`. Each in a process of its own; its peak of memory is that of the whole process with
interpreter, names and vectors.

Beside cuihop, on vectors and codes: NumPy, blocks of products or of counted bits and `argpartition`, in the precision
of the file; scikit-learn's `NearestNeighbors` by brute force; and faiss's flat indexes where they are installed. These
answer in the precision of the file, break ties as they fall, and are asked for one image more, for the query
itself. NumPy and scikit-learn rank some of the queries, and what they took is extrapolated ("≈"). The share of places
in which an answer is cuihop's is told. They are asked at the smallest size only, and what takes cuihop many minutes at
the larger ones is left out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark_data import add_data_option
from cuihop import SnapshotGraph
from cuihop.collection.dataset import Dataset
from cuihop.evaluation.evaluate import evaluate
from cuihop.measures.nearness import Nearness
from cuihop.rankings.ranking import Similarity
from cuihop.rankings.reading import read_ranking, read_ranking_in_blocks
from cuihop.relevance.baselines import Relevance, top_k
from cuihop.resources.cores import cores
from evaluation import images_of, open_graph
from measurement import Measurement, arguments_of, peak_megabytes, require

SIZES = {"test": 9_927, "train": 59_962, "drawn": 116_635}
DEPTHS = (30, 1000, 0)
WHOLE = 0  # as a depth: whole rankings, judged by AP
LEFT_OUT = {"train": {("embeddings", WHOLE)}, "drawn": {("bm", 30)}}  # minutes each
DEEPEST = {"drawn": 30}
PEERS_AT = "test"  # one of them takes half an hour at the size of the training images
DIMENSIONS = 512
CLUSTERS = 2_000
BITS = (64, 128)
PART = 4096  # queries of those who are extrapolated
BLOCK = 256

Rows = npt.NDArray[np.int64]


def make_vectors(folder: Path, images: int) -> None:
    """The files of one scale."""
    generator = np.random.default_rng(images)
    centres = generator.standard_normal((CLUSTERS, DIMENSIONS), dtype=np.float32)
    table = centres[generator.integers(0, CLUSTERS, images)]
    for first in range(0, images, PART):
        block = table[first : first + PART]
        block += 1.5 * generator.standard_normal(block.shape, dtype=np.float32)
    np.save(folder / "embeddings.npy", table)
    for bits in BITS:
        np.save(folder / f"codes{bits}.npy", np.packbits(table[:, :bits] > 0, axis=1))


def by_numpy(table: npt.NDArray[Any], queries: int, k: int, *, codes: bool) -> Rows:
    """Products of blocks, or bits that differ, partitioned and put in order."""
    if codes:
        words = table.view(np.uint64)
    else:
        table = table / np.linalg.norm(table, axis=1, keepdims=True)
    parts = []
    for first in range(0, queries, BLOCK):
        block = slice(first, min(first + BLOCK, queries))
        if codes:
            far = np.bitwise_count(words[block, np.newaxis] ^ words).sum(axis=2, dtype=np.int16)
        else:
            far = -(table[block] @ table.T)
        near = np.argpartition(far, k, axis=1)[:, : k + 1]
        order = np.argsort(np.take_along_axis(far, near, axis=1), axis=1, kind="stable")
        parts.append(np.take_along_axis(near, order, axis=1))
    return np.concatenate(parts)


def by_sklearn(table: npt.NDArray[Any], queries: int, k: int, *, codes: bool) -> Rows:
    """Brute force on all cores."""
    from sklearn.neighbors import NearestNeighbors

    if codes:
        table = np.unpackbits(table, axis=1).astype(np.bool_)
    else:
        table = table / np.linalg.norm(table, axis=1, keepdims=True)  # of length 1, as by cosine
    index = NearestNeighbors(
        n_neighbors=k + 1, algorithm="brute", metric="hamming" if codes else "euclidean", n_jobs=-1
    ).fit(table)
    found: Rows = index.kneighbors(table[:queries], return_distance=False)
    return found


def by_faiss(table: npt.NDArray[Any], queries: int, k: int, *, codes: bool) -> Rows:
    """Flat indexes: exhaustive, in single precision."""
    import faiss

    index: Any

    if codes:
        index = faiss.IndexBinaryFlat(8 * table.shape[1])
    else:
        table = table / np.linalg.norm(table, axis=1, keepdims=True)
        index = faiss.IndexFlatIP(table.shape[1])
    index.add(table)
    found: Rows = index.search(table[:queries], k + 1)[1]
    return found


def by_products(table: npt.NDArray[Any], queries: int) -> None:
    """The matrix product alone, of which nothing is kept: what no exact way in single precision can do without."""
    for first in range(0, queries, 1024):
        for other in range(0, len(table), 4096):
            table[first : min(first + 1024, queries)] @ table[other : other + 4096].T


PEERS = {"NumPy, in blocks": by_numpy, "scikit-learn, brute force": by_sklearn, "faiss, flat": by_faiss}
PACKAGES = {"scikit-learn, brute force": "scikit-learn", "faiss, flat": "faiss-cpu"}


def installed(subject: str) -> bool:
    """Whether the peer can be asked."""
    try:
        version(PACKAGES.get(subject, "numpy"))
    except PackageNotFoundError:
        return False
    return True


def job(arguments: argparse.Namespace) -> None:
    """One measurement: figures as JSON, and the rows of some queries into a file."""
    folder, subject, kind, images = arguments.folder, arguments.job, arguments.kind, arguments.images
    k = min(arguments.depths[0], images - 1)
    queries = images
    rows = np.empty((0, 0), dtype=np.int64)
    names = tuple(f"i{number:06}" for number in range(images))
    similarity: Similarity = "hamming" if kind.startswith("codes") else "cosine"
    path = folder / f"{kind}.npy"
    if kind in ("bm", "tf-idf"):
        by: Relevance = "bm" if kind == "bm" else "tf-idf"
        graph = SnapshotGraph.open(folder / "graph.cuihop")
        collection = images_of(arguments.scales[0], arguments.data, images)
        few = dict(list(collection.items())[:200])
        top_k(few, graph, 5, by=by, nearness=Nearness(unknown="isolated"))
        before = time.perf_counter()
        top_k(collection, graph, k, by=by, nearness=Nearness(unknown="isolated"))
    elif subject == "cuihop":
        np.save(folder / "few.npy", np.load(path, mmap_mode="r")[:300])
        read_ranking(folder / "few.npy", names[:300], depth=5, similarity=similarity)
        labels = {"cluster": {name: str(number % 100) for number, name in enumerate(names)}}
        made = read_ranking_in_blocks(folder / "few.npy", names[:300], similarity=similarity)
        some = {"cluster": dict(list(labels["cluster"].items())[:300])}
        evaluate(Dataset(labels=some), made, measures="AP(cluster)")
        before = time.perf_counter()
        if k == WHOLE:
            made = read_ranking_in_blocks(path, names, similarity=similarity)
            evaluate(Dataset(labels=labels), made, measures="AP(cluster)")
        else:
            ranking = read_ranking(path, names, depth=k, similarity=similarity)
            rows = ranking.top(k, np.arange(min(PART, images))).astype(np.int64)
    else:
        table = np.load(path)
        queries = images if subject == "faiss, flat" else min(PART, images)
        before = time.perf_counter()
        if subject == "product":
            by_products(table, queries)
        else:
            found = PEERS[subject](table, queries, k, codes=similarity == "hamming")[:PART]
            own = np.arange(len(found))[:, np.newaxis]
            found[~(found == own).any(axis=1), -1] = -1  # a twin came before the query itself, which fell off the end
            kept = (found != own) & (found >= 0)
            rows = np.where(kept, found, -1)
            rows = np.take_along_axis(rows, np.argsort(~kept, axis=1, kind="stable"), axis=1)[:, :k]
    seconds = (time.perf_counter() - before) * images / queries
    np.save(folder / "rows.npy", rows)
    print(json.dumps({"seconds": seconds, "peak": peak_megabytes(), "part": queries < images}))


def main() -> None:
    """Measure, compare, and print."""
    parser = arguments_of(__doc__)
    add_data_option(parser)
    parser.add_argument("--images", type=int, help="so many of each collection, for a quick look")
    parser.add_argument("--scales", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--depths", nargs="+", type=int, default=list(DEPTHS))
    kinds = ("embeddings", *(f"codes{bits}" for bits in BITS), "bm", "tf-idf")
    parser.add_argument("--kinds", nargs="+", choices=kinds, default=list(kinds))
    parser.add_argument("--no-peers", action="store_true", help="cuihop alone")
    for name, of in (("job", str), ("kind", str), ("folder", Path)):
        parser.add_argument(f"--{name}", type=of, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.job:
        job(arguments)
        return
    peers = [name for name in PEERS if installed(name) and not arguments.no_peers]
    told = [f"{PACKAGES[name]} {version(PACKAGES[name])}" for name in peers if name in PACKAGES]
    print(", ".join([f"Python {sys.version.split()[0]}", f"numpy {version('numpy')}", *told, f"{cores()} cores"]))
    print(f"{'images':>8}  {'by':11}{'K':>6}  {'who':28}{'seconds':>10}{'peak MB':>9}  places as cuihop's")
    results = Measurement(("threadpoolctl", *(PACKAGES[name] for name in peers if name in PACKAGES)))
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        if {"bm", "tf-idf"} & set(arguments.kinds):
            open_graph(arguments.data).save(folder / "graph.cuihop")
        for scale in arguments.scales:
            images = arguments.images or SIZES[scale]
            make_vectors(folder, images)
            for kind in arguments.kinds:
                compare(folder, arguments, results, scale, images, kind, peers)
    results.save(arguments.json)


def compare(
    folder: Path, arguments: argparse.Namespace, results: Measurement, scale: str, images: int, kind: str,
    peers: list[str],
) -> None:  # fmt: skip
    """Everybody on one kind of ranking of one collection."""
    by_concepts = kind in ("bm", "tf-idf")
    for k in arguments.depths[:1] if by_concepts else arguments.depths:
        if (kind, k) in LEFT_OUT.get(scale, ()) or not 0 < (k or images) <= DEEPEST.get(scale, images):
            continue
        subjects = ["cuihop"] if by_concepts or k == WHOLE else ["cuihop", *(peers if scale == PEERS_AT else ())]
        subjects += ["product"] if kind == "embeddings" and k != WHOLE and not arguments.no_peers else []
        expected: Rows = np.empty((0, 0), dtype=np.int64)
        for subject in subjects:
            command = [
                sys.executable, __file__, "--data", str(arguments.data), "--job", subject, "--kind", kind,
                "--depths", str(k), "--folder", str(folder), "--images", str(images), "--scales", scale,
            ]  # fmt: skip
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            figures = json.loads(done.stdout)
            rows = np.load(folder / "rows.npy")
            expected = rows if subject == "cuihop" else expected
            alike = ""
            if subject in PEERS:
                same = float((rows == expected).mean())
                require(same > (0.01 if kind.startswith("codes") else 0.99), f"{subject} answers as cuihop does")
                alike = f"{same:.4%}"
            who = "the product alone" if subject == "product" else subject
            asked = f"{scale}, {kind}, {f'K = {k}' if k else 'AP of whole rankings'}"
            results.add(f"time, {asked}", who, figures["seconds"], "s")
            results.add(f"peak memory, {asked}", who, figures["peak"], "MB")
            seconds = f"{'≈ ' if figures['part'] else ''}{figures['seconds']:.2f}"
            line = f"{images:8,}  {kind:11}{k or 'all':>6}  {who:28}{seconds:>10}{figures['peak']:9,.0f}  {alike}"
            print(line.rstrip(), flush=True)


if __name__ == "__main__":
    main()
