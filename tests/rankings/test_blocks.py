"""Rankings made in blocks: the same as whole ones, exactly, resumed after any end, within the memory allowed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuihop import SnapshotGraph, evaluate
from cuihop.cli import main
from cuihop.collection.dataset import Dataset
from cuihop.errors import InputError, LimitExceeded
from cuihop.rankings import nearest_vectors
from cuihop.rankings.blocks import RankingInBlocks
from cuihop.rankings.in_memory import embedding_ranking
from cuihop.rankings.ranking import Ranking, Similarity
from cuihop.rankings.reading import read_ranking, read_ranking_in_blocks
from cuihop.resources.checkpoint import Checkpoint
from cuihop.resources.resources import Resources
from examples import examples
from flat_options import evaluate_flat
from vectors_ranked import ranked_blocks, ranked_rows

MEASURES = ["AP(kind)", "Rprec(kind)", "bpref(kind)", "nDCG(kind)", "mAP@7(kind)", "P@5(kind)", "AP(kind, side)"]


def exact_order(table: npt.NDArray[np.float64], names: list[str], query: int, k: int) -> list[int]:
    """By the inner product in whole fractions."""
    rows = [[Fraction(x) for x in row] for row in table.tolist()]
    products = [sum(a * b for a, b in zip(rows[query], row, strict=True)) for row in rows]
    order = sorted((i for i in range(len(rows)) if i != query), key=lambda i: (-products[i], names[i]))
    return order[:k]


@settings(max_examples=examples(60))
@given(
    st.integers(2, 14), st.integers(1, 20), st.integers(1, 15), st.integers(0, 2**32), st.sampled_from([1, 10**6]),
    st.sampled_from([np.float16, np.float32, np.float64]),
)  # fmt: skip
def test_both_ways_order_as_exact_arithmetic(
    images: int, width: int, k: int, seed: int, share: int, dtype: type[np.floating]
) -> None:
    """Small whole numbers: products in double precision are exact, and many are equal."""
    generator = np.random.default_rng(seed)
    table = generator.integers(-3, 4, (images, width)).astype(dtype)
    table[:, 0] += np.abs(table).sum(axis=1) == 0
    names = [f"i{n}" for n in generator.permutation(images)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest_vectors, "_SHARE", share)
        found = ranked_rows(table, names, k, "dot")
    for query in range(images):
        assert found[query] == exact_order(table.astype(np.float64), names, query, k)


@pytest.mark.parametrize("share", [1, 10**6])
def test_twins_beyond_all_room_for_candidates_are_ties_by_name(monkeypatch: pytest.MonkeyPatch, share: int) -> None:
    monkeypatch.setattr(nearest_vectors, "_SHARE", share)
    generator = np.random.default_rng(7)
    table = np.repeat(generator.standard_normal((2, 24)).astype(np.float32), 2_500, axis=0)
    names = [f"i{n:04}" for n in generator.permutation(5_000)]
    queries = [f"q{n}" for n in range(3)]
    found = ranked_rows(table[[0, 4_000, 1]], queries, 5, corpus=(table, names))
    for query, first in zip(found, (0, 2_500, 0), strict=True):
        assert query == sorted(range(first, first + 2_500), key=names.__getitem__)[:5]


def test_the_middle_of_many_directions_is_ordered_by_double_precision() -> None:
    """The corpus differs by less than single precision, and its candidates are more than the first search holds."""
    table = np.zeros((4_000, 8))
    table[:, 0] = 1.0
    table[:, 1] = np.random.default_rng(1).permutation(4_000) * 1e-9 + 1e-6
    names = [f"i{n:04}" for n in range(4_000)]
    query = np.array([[1.0, 0, 0, 0, 0, 0, 0, 0], [0.0, 1.0, 0, 0, 0, 0, 0, 0]])
    nearest, farthest = ranked_rows(query, ["x", "y"], 10, corpus=(table, names))
    cosines = table @ query.T / np.linalg.norm(table, axis=1, keepdims=True)
    assert farthest == np.argsort(-cosines[:, 1], kind="stable")[:10].tolist()
    exact = [1 / (1 + Fraction(row[1]) ** 2) for row in table[nearest].tolist()]
    assert [float(value) for value in exact] == pytest.approx([1.0] * 10, abs=1e-11)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("collection")
    generator = np.random.default_rng(3)
    kinds = generator.integers(0, 6, 900)
    table = generator.standard_normal((6, 40))[kinds] + 1.5 * generator.standard_normal((900, 40))
    np.save(folder / "e.npy", table.astype(np.float32))
    np.save(folder / "codes.npy", np.packbits(table > 0, axis=1))
    lines = [f"i{n:03},{'' if n % 50 == 0 else kind},{n % 3}\n" for n, kind in enumerate(kinds.tolist())]
    (folder / "labels.csv").write_text("image,kind,side\n" + "".join(lines))
    concepts = [f"i{n:03},C{kind:07d};C{n % 9 + 10:07d}\n" for n, kind in enumerate(kinds.tolist())]
    (folder / "concepts.csv").write_text("image,cuis\n" + "".join(concepts))
    return folder


def labels_of(folder: Path) -> dict[str, dict[str, str]]:
    rows = [line.split(",") for line in (folder / "labels.csv").read_text().splitlines()[1:]]
    return {"kind": {row[0]: row[1] for row in rows}, "side": {row[0]: row[2] for row in rows}}


def in_blocks(path: Path, similarity: Similarity, depth: int | None = None) -> RankingInBlocks:
    found = read_ranking_in_blocks(path, [f"i{n:03}" for n in range(900)], depth=depth, similarity=similarity)
    assert isinstance(found, RankingInBlocks)
    return found


@pytest.mark.parametrize(("file", "similarity"), [("e.npy", "cosine"), ("e.npy", "dot"), ("codes.npy", "hamming")])
@pytest.mark.parametrize("empty_ideal", ["zero", "skip"])
def test_a_ranking_judged_in_blocks_has_the_values_of_the_whole(
    collection: Path, file: str, similarity: Similarity, empty_ideal: str
) -> None:
    labels = labels_of(collection)
    whole = read_ranking(collection / file, [f"i{n:03}" for n in range(900)], depth=899, similarity=similarity)
    assert whole.lengths.tolist() == [899] * 900
    options: dict[str, Any] = {"labels": labels, "empty_ideal": empty_ideal, "measures": MEASURES}
    expected = evaluate_flat(None, whole, **options)
    progress: list[tuple[int, int]] = []
    found = evaluate_flat(
        None, in_blocks(collection / file, similarity), **options, progress=lambda *d: progress.append(d)
    )
    assert found.values.tobytes() == expected.values.tobytes()
    assert found.counts == expected.counts
    assert found.retrieved.tolist() == expected.retrieved.tolist()
    assert found.parameters == expected.parameters
    assert progress[-1] == (900, 900)


def test_concepts_and_labels_are_measured_in_blocks_alike(collection: Path) -> None:
    images = {f"i{n:03}": f"C{n % 6:07d};C{n % 9 + 10:07d}" for n in range(900)}
    graph = SnapshotGraph.of([("C0000001", "C0000002"), ("C0000002", "C0000003")], concepts=list(labels_concepts()))
    whole = read_ranking(collection / "codes.npy", list(images), depth=899, similarity="hamming")
    options = {"measures": [*MEASURES, "nn-CUI@5,30", "CUI@10"], "labels": labels_of(collection)}
    expected = evaluate_flat(images, whole, graph, **options)
    found = evaluate_flat(images, in_blocks(collection / "codes.npy", "hamming"), graph, **options)
    assert found.values.tobytes() == expected.values.tobytes()
    assert found.counts == expected.counts
    assert found.retrieved.tolist() == expected.retrieved.tolist()


def labels_concepts() -> set[str]:
    return {f"C{n:07d}" for n in range(20)}


def test_the_command_measures_whole_rankings_of_codes(
    collection: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(collection)
    common = ["codes.npy", "--similarity", "hamming", "-m", "mAP@100(kind)", "-m", "AP(kind)",
              "--labels", "labels.csv", "--checkpoint", "unfinished"]  # fmt: skip
    outputs = []
    for more in ([], ["--concepts", "concepts.csv"]):
        monkeypatch.setattr(sys, "argv", ["cuihop", "evaluate", *common, *more])
        with pytest.raises(SystemExit) as stop:
            main()
        assert stop.value.code in (0, None)
        outputs.append([line.split()[:2] for line in capsys.readouterr().out.splitlines() if "(kind)" in line][:2])
        assert not Path("unfinished").exists()
    assert outputs[0] == outputs[1]
    whole = in_blocks(collection / "codes.npy", "hamming").whole()
    mean = evaluate(Dataset(labels=labels_of(collection)), whole, measures="AP(kind)").means["AP(kind)"]
    assert outputs[0][1] == ["AP(kind)", f"{mean:.4f}"]


# Checkpoints

EMBEDDINGS = textwrap.dedent("""
    import sys
    import numpy as np
    from cuihop.rankings.in_memory import embedding_ranking
    from cuihop.resources.resources import Resources
    from cuihop.rankings import nearest_vectors
    nearest_vectors._OPERATIONS = 40 * 600 * 16
    table = np.random.default_rng(2).standard_normal((600, 16))
    images = {f"i{n}": "" for n in range(600)}
    def make(**options):
        return embedding_ranking(images, table, 9, resources=Resources(**options))
""")
BM = textwrap.dedent("""
    import random, sys
    from cuihop import SnapshotGraph
    from cuihop.relevance.baselines import top_k
    from cuihop.resources.resources import Resources
    rng = random.Random(4)
    cuis = [f"C{i:07d}" for i in range(200)]
    graph = SnapshotGraph.of([(rng.choice(cuis), rng.choice(cuis)) for _ in range(300)], concepts=cuis)
    images = {f"i{i}": frozenset(rng.sample(cuis, 4)) for i in range(500)}
    def make(**options):
        return top_k(images, graph, 9, by="bm", resources=Resources(**options))
""")
TFIDF = BM.replace('"bm"', '"tf-idf"')
GO = textwrap.dedent("""
    def tell(done, total):
        print(done, flush=True)
        if len(sys.argv) > 2:
            sys.stdin.readline()  # the other process decides when to go on
    print("finished", make(checkpoint=sys.argv[1], progress=tell, threads=2).digest)
""")


@pytest.mark.slow
@pytest.mark.parametrize("program", [EMBEDDINGS, BM, TFIDF], ids=["embeddings", "bm", "tf-idf"])
def test_a_killed_ranking_goes_on_where_it_was(program: str, tmp_path: Path) -> None:
    path = tmp_path / "blocks"
    command = [sys.executable, "-c", program + GO, str(path)]
    process = subprocess.Popen(
        [*command, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdin is not None
    for _ in range(3):
        assert process.stdout.readline().strip().isdecimal()
        process.stdin.write("\n")
        process.stdin.flush()
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=300)
    raw = path.read_bytes()
    path.write_bytes(raw[:-3])  # as a crash of the machine may leave it
    with Checkpoint(path, json.loads(raw[32 : 32 + int.from_bytes(raw[16:24], "little")])) as left:
        assert len(left.finished) >= 2
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    whole = subprocess.run(
        [sys.executable, "-c", program + "print('finished', make().digest)"], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == whole.stdout.strip()
    assert len(done.stdout.splitlines()) < 600
    assert not path.exists()


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("content of vectors", {"table": 1.0}),
        ("k", {"k": 4}),
        ("similarity", {"similarity": "dot"}),
        ("order of images", {"names": "x"}),
    ],
)
def test_a_checkpoint_of_other_vectors_is_refused(tmp_path: Path, field: str, change: dict[str, object]) -> None:
    table = np.random.default_rng(2).standard_normal((50, 5))
    resources = Resources(checkpoint=tmp_path / "blocks", keep_checkpoint=True)

    def ranked(table: npt.NDArray[np.float64] = table, k: int = 3, names: str = "i", **options: str) -> Ranking:
        images = {f"{names}{n}": "" for n in range(50)}
        return embedding_ranking(images, table, k, resources=resources, **options)  # type: ignore[arg-type]

    ranked()
    given = {**change, "table": table + 1.0} if "table" in change else change
    with pytest.raises(InputError, match="other inputs") as refused:
        ranked(**given)  # type: ignore[arg-type]
    assert refused.value.column == field
    assert ranked().digest == embedding_ranking({f"i{n}": "" for n in range(50)}, table, 3).digest


def test_a_checkpoint_of_judged_blocks_depends_on_the_labels(collection: Path, tmp_path: Path) -> None:
    path, labels = tmp_path / "blocks", labels_of(collection)
    first = evaluate(
        Dataset(labels=labels),
        in_blocks(collection / "e.npy", "cosine"),
        measures="AP(kind)",
        resources=Resources(checkpoint=path, keep_checkpoint=True),
    )
    again = evaluate(
        Dataset(labels=labels),
        in_blocks(collection / "e.npy", "cosine"),
        measures="AP(kind)",
        resources=Resources(checkpoint=path, keep_checkpoint=True),
    )
    assert first.values.tobytes() == again.values.tobytes()
    labels["kind"]["i001"] = "9"
    with pytest.raises(InputError, match="content of labels"):
        evaluate(
            Dataset(labels=labels),
            in_blocks(collection / "e.npy", "cosine"),
            measures="AP(kind)",
            resources=Resources(checkpoint=path),
        )


def test_a_ranking_that_was_read_has_no_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a Q0 b 1 1 r\n")
    with pytest.raises(InputError, match="a checkpoint goes with vectors"):
        read_ranking(tmp_path / "run", ("a", "b"), resources=Resources(checkpoint=tmp_path / "blocks"))
    with pytest.raises(InputError, match="made in blocks"):
        evaluate(
            Dataset(qrels={"a": {"b": 1}}),
            {"a": ["b"]},
            measures="AP",
            resources=Resources(checkpoint=tmp_path / "blocks"),
        )


# Memory


def test_a_whole_ranking_that_does_not_fit_is_refused_and_judged_in_blocks_it_does() -> None:
    generator = np.random.default_rng(1)
    names = [f"i{n:04}" for n in range(3_000)]
    codes = generator.integers(0, 256, (3_000, 8)).astype(np.uint8)
    ranking = ranked_blocks(codes, names, None, "hamming", memory="160MB")
    labels = {"kind": {name: str(n % 7) for n, name in enumerate(names)}}
    assert evaluate(Dataset(labels=labels), ranking, measures="AP(kind)").values.shape == (3_000, 1)
    with pytest.raises(LimitExceeded, match="for rankings"):
        ranked_blocks(
            np.tile(codes, (4, 1)), [f"i{n:05}" for n in range(12_000)], None, "hamming", memory="300MB"
        ).whole()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux reports the peak of a process")
@pytest.mark.parametrize(("similarity", "k", "images", "allowed"), [
    ("cosine", 10, 12_000, "40MB"), ("cosine", None, 4_000, "80MB"), ("hamming", None, 12_000, "180MB"),
])  # fmt: skip
def test_blocks_stay_within_the_memory_allowed(
    similarity: str, k: int | None, images: int, allowed: str, tmp_path: Path
) -> None:
    generator = np.random.default_rng(1)
    np.save(tmp_path / "few.npy", np.abs(generator.standard_normal((300, 64))) > 1)
    np.save(tmp_path / "codes.npy", generator.standard_normal((images, 64)) > 0)
    for name in ("few", "codes"):
        np.save(tmp_path / f"{name}_cosine.npy", np.load(tmp_path / f"{name}.npy") + np.float32(0.1))
        np.save(tmp_path / f"{name}_hamming.npy", np.load(tmp_path / f"{name}.npy"))
    program = textwrap.dedent("""
        import sys
        from concurrent.futures import ThreadPoolExecutor
        from pathlib import Path
        from threading import Barrier
        import numpy as np
        from cuihop.rankings.blocks import VectorBlocks
        from cuihop.rankings.reading import read_ranking_in_blocks
        from cuihop.resources.block_work import BlockStore
        from cuihop.resources.resources import Resources
        similarity, k, allowed = sys.argv[1], None if sys.argv[2] == "None" else int(sys.argv[2]), sys.argv[3]
        images = int(sys.argv[4])
        def work(file, images):
            names = [f"i{n:05}" for n in range(images)]
            resources = Resources(memory=allowed)
            made = read_ranking_in_blocks(f"{file}_{similarity}.npy", names, depth=k, similarity=similarity,
                                          resources=resources)
            blocks = BlockStore(lambda places, values: None, images)
            made.fill(blocks, VectorBlocks.of(made, resources), resources)
        def peak():
            lines = Path("/proc/self/status").read_text().splitlines()
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
        def multiply(_):
            both.wait()
            np.ones((512, 64), np.float32) @ np.ones((64, 2048), np.float32)
        both = Barrier(2)
        with ThreadPoolExecutor(2) as pool:  # BLAS keeps some megabytes for each thread from its first product on
            list(pool.map(multiply, range(2)))
        work("few", 300)
        names = [f"i{n:05}" for n in range(images)]
        before = peak()
        work("codes", images)
        print(peak() - before)
    """)
    done = subprocess.run(
        [sys.executable, "-c", program, similarity, str(k), allowed, str(images)],
        capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    assert int(done.stdout) <= int(allowed[:-2]) * 10**6
