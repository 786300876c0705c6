"""Rankings by Hamming distance and inner product against every pair computed literally; ROCO's files with tabs."""

from __future__ import annotations

import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop import ImageConcepts
from cuihop.cli import main
from cuihop.errors import InputError, LimitExceeded
from cuihop.rankings import nearest_vectors
from cuihop.rankings.nearest_vectors import packed_codes
from cuihop.rankings.ranking import Ranking, Similarity
from cuihop.rankings.reading import read_ranking
from vectors_ranked import ranked_rows


def literal_order(distances: npt.NDArray[np.float64], names: list[str], own: int, k: int) -> list[int]:
    """Distance ascending, then name; without the query itself."""
    order = sorted((i for i in range(len(names)) if i != own), key=lambda i: (distances[i], names[i]))
    return order[:k]


@given(st.integers(1, 12), st.integers(1, 150), st.integers(1, 14), st.integers(0, 2**32), st.booleans())
def test_codes_are_ordered_by_scikit_learns_hamming_distance(
    images: int, bits: int, k: int, seed: int, signed: bool
) -> None:
    from sklearn.metrics import pairwise_distances

    generator = np.random.default_rng(seed)
    codes = generator.integers(0, 2, (images, bits))
    names = [f"i{n}" for n in generator.permutation(images)]
    given_codes = (2.0 * codes - 1.0) if signed else codes.astype(np.bool_)
    found = ranked_rows(given_codes, names, k, "hamming")
    distances = pairwise_distances(codes, metric="hamming") * bits
    for query in range(images):
        assert found[query] == literal_order(distances[query].round(), names, query, k)


def test_packed_and_unpacked_codes_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(1)
    codes = generator.integers(0, 2, (40, 72)).astype(np.uint8)
    packed = np.packbits(codes, axis=1)
    words = packed_codes(packed, "codes")
    assert np.array_equal(words, packed_codes(codes, "codes"))
    names = [f"i{n:02}" for n in range(40)]
    others = [f"q{n:02}" for n in range(40)]
    whole = ranked_rows(packed, others, 7, "hamming", corpus=(packed, names))
    monkeypatch.setattr(nearest_vectors, "_PAIRS_A_BLOCK", 100)  # blocks of two queries
    assert whole == ranked_rows(packed, others, 7, "hamming", corpus=(packed, names))
    assert whole[0][0] == 0  # nothing is nearer to an image than itself


@given(st.integers(1, 10), st.integers(1, 6), st.integers(1, 12), st.integers(0, 2**32))
def test_products_are_ordered_as_by_exact_arithmetic(images: int, width: int, k: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    table = generator.choice([-2.0, -0.5, 0.25, 1.0, 3.0], (images, width)) * generator.choice([1e-3, 1.0, 1e6])
    table[:, 0] += 0.125
    names = [f"i{n}" for n in generator.permutation(images)]
    exact = [[sum(Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True)) for b in table] for a in table]
    found = ranked_rows(table, names, k, "dot")
    for query in range(images):
        values = [exact[query][other] for other in found[query]]
        best = sorted((exact[query][other] for other in range(images) if other != query), reverse=True)[:k]
        assert [float(value) for value in values] == pytest.approx([float(value) for value in best], rel=1e-12)


@pytest.mark.parametrize(("by", "spread"), [("cosine", 3e-4), ("dot", 1e-8)])
def test_what_single_precision_cannot_tell_apart_is_told_apart(by: Similarity, spread: float) -> None:
    # All but one vector, so that the first look, which is in single precision, often puts another image first.
    draw = np.random.default_rng(9)
    table = draw.normal(size=64) + spread * draw.normal(size=(300, 64))
    names = [f"i{place:03}" for place in range(300)]
    rows = [found[0] for found in ranked_rows(table, names, 1, by)]
    wide = table.astype(np.longdouble)
    lengths = np.sqrt((wide**2).sum(axis=1)) if by == "cosine" else np.ones(300, dtype=np.longdouble)
    exact = (wide @ wide.T) / lengths / lengths[:, np.newaxis]
    np.fill_diagonal(exact, -np.inf)
    assert (exact.max(axis=1) - exact[np.arange(300), rows] < 1e-14 * np.abs(exact.max(axis=1))).all()


def test_a_product_prefers_long_vectors_and_a_cosine_does_not(tmp_path: Path) -> None:
    np.save(tmp_path / "e.npy", np.array([[1.0, 0.0], [1.0, 0.1], [9.0, 9.0]]))
    images = ("a", "b", "c")
    assert read_ranking(tmp_path / "e.npy", images, depth=2)["a"] == ("b", "c")
    assert read_ranking(tmp_path / "e.npy", images, depth=2, similarity="cosine")["a"] == ("b", "c")
    ranking = read_ranking(tmp_path / "e.npy", images, depth=2, similarity="dot")
    assert (ranking["a"], ranking.source) == (("c", "b"), f"dot of {tmp_path / 'e.npy'}")


def test_codes_of_another_corpus(tmp_path: Path) -> None:
    np.save(tmp_path / "q.npy", np.array([[0, 0, 1, 1]], dtype=np.int8))
    np.save(tmp_path / "c.npy", np.array([[1, 1, 0, 0], [0, 1, 1, 1], [0, 0, 1, 0]], dtype=np.int8))
    ranking = read_ranking(
        tmp_path / "q.npy", ("q",), ("x", "z", "y"), depth=3, corpus_embeddings=tmp_path / "c.npy", similarity="hamming"
    )
    assert ranking["q"] == ("y", "z", "x")


def refusal(path: Path, table: npt.ArrayLike, similarity: str | None) -> InputError:
    np.save(path, np.asarray(table))
    with pytest.raises(InputError) as caught:
        read_ranking(path, ("a", "b"), depth=1, similarity=similarity)  # type: ignore[arg-type]
    return caught.value


@pytest.mark.parametrize(
    ("table", "similarity", "problem", "place"),
    [
        ([[0, 1], [2, 1]], "hamming", "not a bit", "0, row 1 (both from 0)"),
        ([[-1.0, 1.0], [0.0, 1.0]], "hamming", "not a bit", "0, row 1 (both from 0)"),
        ([[0.5, 1.0], [0.0, np.nan]], "hamming", "not a bit", "0, row 0 (both from 0)"),
        ([[0, 1], [1, 1]], "cosine", "not embeddings", None),
        ([[0.0, 1.0], [1.0, 1.0]], "euclid", "no such similarity", "similarity"),
        ([[0.0, np.inf], [1.0, 1.0]], "dot", "an embedding without a direction", "row 0 (from 0)"),
    ],
)
def test_arrays_that_are_refused(
    tmp_path: Path, table: npt.ArrayLike, similarity: str, problem: str, place: str | None
) -> None:
    error = refusal(tmp_path / "table.npy", table, similarity)
    assert (error.problem, error.column) == (problem, place)


@pytest.mark.parametrize("similarity", ["cosine", "hamming"])
def test_text_has_no_similarity(tmp_path: Path, similarity: Similarity) -> None:
    (tmp_path / "run").write_text("a Q0 b 1 1 r\n")
    with pytest.raises(InputError, match="goes with an array"):
        read_ranking(tmp_path / "run", ("a", "b"), similarity=similarity)


def test_hashing_measures_by_hamming_distance_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("labels.csv").write_text("image,kind\na,x\nb,x\nc,y\nd,x\n")
    np.save("codes.npy", np.array([[0, 0, 0], [0, 1, 1], [0, 0, 1], [1, 1, 1]], dtype=np.uint8))
    monkeypatch.setattr(
        sys, "argv",
        ["cuihop", "evaluate", "--labels", "labels.csv", "codes.npy", "--similarity", "hamming",
         "-m", "mAP@3(kind)", "-m", "nDCG@3(kind, gain=exp)", "--empty-ideal", "skip"],
    )  # fmt: skip
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code in (0, None)
    # a: c b d; b: c d a; d: b c a. mAP@3: (1/2 + 2/3)/2, (1/2 + 2/3)/2, (1 + 2/3)/2.
    assert f"mAP@3(kind) {(7 / 12 + 7 / 12 + 5 / 6) / 3:.4f} 3" in " ".join(capsys.readouterr().out.split())


# ROCO's first form


@pytest.mark.parametrize(
    "text",
    [
        "ROCO_1\t\tC0043299\tC1306645\nROCO_2\t\n",
        "ROCO_1\tC0043299;C1306645\r\nROCO_2\r\n",
        "\ufeffimage\tcuis\nROCO_1\tC0043299\tC1306645\tC0043299\n\nROCO_2\t\t\n",
    ],
)
def test_rocos_tabs_are_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "cuis.txt").write_text(text, newline="")
    images = ImageConcepts.read(tmp_path / "cuis.txt")
    assert dict(images) == {"ROCO_1": {"C0043299", "C1306645"}, "ROCO_2": frozenset()}
    assert images.repeated == text.count("C0043299") - 1


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("a\t\tC0043299\n\na\t\tC1306645\n", 3, 1, "an image stands twice; found 'a', as in line 1"),
        ("a\t\tC0043299\nb\t\tC1|2\n", 2, 2, "not an identifier"),
        ("a\t\tC0043299;;C1306645\n", 1, 2, "an identifier is missing"),
        ("a\t\tC0043299\n\t\tC1306645\n", 2, 1, "the image is missing"),
        ("image\tcuis\n", None, None, "holds no image"),
    ],
)
def test_rocos_tabs_that_are_refused(
    tmp_path: Path, text: str, line: int | None, column: int | None, message: str
) -> None:
    (tmp_path / "cuis.txt").write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        ImageConcepts.read(tmp_path / "cuis.txt")
    assert (caught.value.line, caught.value.column) == (line, column)


def test_rankings_made_here_keep_queries_out_of_their_own_list(tmp_path: Path) -> None:
    np.save(tmp_path / "c.npy", np.zeros((3, 4), dtype=np.bool_))
    ranking: Ranking = read_ranking(tmp_path / "c.npy", ("b", "a", "c"), depth=5, similarity="hamming")
    assert dict(ranking) == {"b": ("a", "c"), "a": ("b", "c"), "c": ("a", "b")}


@pytest.mark.parametrize("bits", [1, 64, 65, 250, 300])
def test_codes_are_ranked_alike_by_any_number_of_threads(monkeypatch: pytest.MonkeyPatch, bits: int) -> None:
    generator = np.random.default_rng(bits)
    codes = generator.integers(0, 2, (300, bits)).astype(np.bool_)
    names = [f"i{n:03}" for n in generator.permutation(300).tolist()]
    distances = (codes[:, np.newaxis] != codes[np.newaxis]).sum(axis=2)
    monkeypatch.setattr(nearest_vectors, "_PAIRS_A_BLOCK", 2000)
    for threads in (1, 2, 5):
        for query, found in enumerate(ranked_rows(codes, names, 20, "hamming", threads=threads)):
            assert found == literal_order(distances[query], names, query, 20)


def test_codes_that_do_not_fit_the_memory_are_refused() -> None:
    codes = np.eye(2000, dtype=np.bool_)
    names = [f"i{n:04}" for n in range(2000)]
    with pytest.raises(LimitExceeded, match="--memory"):
        ranked_rows(codes, names, 5, "hamming", memory="1MB")
    assert ranked_rows(codes, names, 5, "hamming", memory="12MB") == ranked_rows(codes, names, 5, "hamming")


@pytest.mark.parametrize("k", [30, 500])
def test_embeddings_are_ranked_alike_with_little_memory(k: int) -> None:
    table = np.random.default_rng(4).standard_normal((700, 8)).astype(np.float32)
    names = [f"i{n:04}" for n in range(700)]
    assert ranked_rows(table, names, k, memory="20MB") == ranked_rows(table, names, k)
    with pytest.raises(LimitExceeded, match="--memory"):
        ranked_rows(table, names, k, memory="20kB")


@pytest.mark.slow
def test_ctrl_c_stops_the_ranking_of_codes() -> None:
    program = (
        "import numpy as np\nfrom cuihop import Resources\nfrom cuihop.rankings import embedding_ranking\n"
        "codes = np.random.default_rng(1).integers(0, 256, (120_000, 128)).astype(np.uint8)\n"
        "images = {f'i{n}': '' for n in range(120_000)}\n"
        "tell = lambda done, total: print('ready', flush=True)\n"
        "embedding_ranking(images, codes, 10, similarity='hamming', resources=Resources(progress=tell))\n"
        "print('done', flush=True)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)  # all of it takes longer
    assert (process.returncode != 0, "KeyboardInterrupt" in err, "done" in out) == (True, True, False)
