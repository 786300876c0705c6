"""Options of ``cuihop score captions`` for models and embeddings; `adapters/test_caption_models.py` runs real ones."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from program_run import Run

NAMES = ("a", "b", "c", "d")
REFERENCES = "ID,Caption\na,CT\nb,MRI\nc,\nd,Heart\n"
PREDICTIONS = "ID,Caption\nd,Heart\na,CT\nb,\nc,\n"  # in another order, b and c empty
EMBEDDINGS = ("--images", "images.npz", "--caption-embeddings")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Run) -> Run:
    monkeypatch.delenv("CUIHOP_GRAPH", raising=False)
    monkeypatch.chdir(tmp_path)
    Path("ref.csv").write_text(REFERENCES)
    Path("s.csv").write_text(PREDICTIONS)
    Path("t.csv").write_text(REFERENCES)
    made = np.random.default_rng(18)
    images, captions = made.uniform(0.1, 1, (2, len(NAMES), 3))
    np.savez("images.npz", **dict(zip(NAMES, images, strict=True)))
    np.save("captions.npy", captions)
    return program


@pytest.mark.parametrize(("official", "empty"), [((), (0, 0)), (("--official", "2026"), (0, 0)),
                                                 (("--official", "2025"), (None, 1))])  # fmt: skip
def test_similarity_of_embeddings_by_the_rules_of_each_year(
    run: Run, official: tuple[str, ...], empty: tuple[float | None, float]
) -> None:
    done = run("score", "captions", "ref.csv", "s.csv", *EMBEDDINGS, "captions.npy", "--measure", "similarity",
               "--output", "values.csv", "--resamples", "100", *official)  # fmt: skip
    assert (done.code, done.err) == (0, "")
    with np.load("images.npz") as archive:
        images = np.array([archive[name] for name in NAMES])
    captions = np.load("captions.npy")
    expected = 2.5 * (images * captions).sum(1) / np.linalg.norm(images, axis=1) / np.linalg.norm(captions, axis=1)
    for place, value in zip((1, 2), empty, strict=True):
        expected[place] = expected[place] if value is None else value
    with Path("values.csv").open(newline="") as file:
        rows = {row["query"]: float(row["similarity"]) for row in csv.DictReader(file)}
    assert [rows[name] for name in NAMES] == pytest.approx(expected.tolist(), abs=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", "BLEU=."], "each of BERTScore, BLEURT, AlignScore, similarity once"),
        (["--model", "BLEURT=.", "--model", "BLEURT=.."], "each of BERTScore, BLEURT, AlignScore, similarity once"),
        (["--model", "similarity=."], "similarity needs --images"),
        (["--images", "images.npz"], "--images goes with either --model similarity=FOLDER or --caption-embeddings"),
        (["--caption-embeddings", "captions.npy"], "similarity needs --images"),
        ([*EMBEDDINGS, "u=captions.npy"], "--caption-embeddings takes SYSTEM=FILE; systems: s"),
        (["--bertscore-layer", "3"], "--bertscore-layer goes with --model BERTScore=FOLDER"),
        (["--model", "BERTScore=hub/name"], "not a folder of this machine; found hub/name"),
        (["--model", "BERTScore=."], "the folder of BERTScore lacks a file"),
        (["--measure", "BLEURT"], "or a model of BLEURT by --model"),
        ([*EMBEDDINGS, "images.npz", "--scores", "scores.csv"], "a measure stands in two inputs"),
    ],
)
def test_options_that_do_not_go_together_are_refused(run: Run, options: list[str], message: str) -> None:
    Path("scores.csv").write_text("ID,similarity\n" + "".join(f"{name},1\n" for name in NAMES))
    done = run("score", "captions", "ref.csv", "s.csv", *options)
    assert done.code != 0
    assert message in " ".join(done.err.replace("│", " ").split())


def test_embeddings_of_every_system_are_needed(run: Run) -> None:
    done = run("score", "captions", "ref.csv", "s.csv", "t.csv", *EMBEDDINGS, "s=captions.npy")
    assert done.code != 0
    assert "--caption-embeddings SYSTEM=FILE is needed once for each system" in " ".join(
        done.err.replace("│", " ").split()
    )
