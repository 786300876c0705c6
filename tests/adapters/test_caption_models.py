"""Measures of captions by models: tiny models from disk, against the packages of the measures' authors."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adapters.model_environment import cuihop_with_models, program_result

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("caption models")]

COLUMNS = ("BERTScore(value=precision)", "BERTScore", "BERTScore(value=F1)")
EMPTY = (5, 6, 7, 8, 9)
Results = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of tiny models, written by transformers 4."""
    folder = tmp_path_factory.mktemp("models")
    program_result("make", folder, 4)
    return folder


@pytest.fixture(scope="module")
def oracle(models: Path) -> dict[str, Any]:
    """The values of the authors' packages, each pair alone."""
    found: dict[str, Any] = program_result("oracle", models, 4)
    return found


@pytest.fixture(scope="module", params=[4, 5])
def version(request: pytest.FixtureRequest) -> int:
    """Major version of transformers."""
    return int(request.param)


@pytest.fixture(scope="module")
def ours(models: Path, version: int) -> Results:
    """The values of cuihop, in batches."""
    found: Results = program_result("values", models, version)
    return found


@pytest.mark.parametrize("model", ["bert", "roberta", "deberta", "alone"])
def test_bertscore_is_that_of_bert_score(ours: Results, oracle: dict[str, Any], model: str) -> None:
    expected = np.array(oracle[model]).T
    found = np.array([ours[model][name] for name in COLUMNS])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    assert found.std(axis=1).min() > 0.1
    assert np.abs(found[1] - found[2]).max() > 0.01  # recall is not F1
    assert not found[:, EMPTY[:3]].any()


def test_bertscore_does_not_depend_on_the_batches(ours: Results) -> None:
    for name in COLUMNS:
        np.testing.assert_allclose(ours["alone"][name], ours["bert"][name], rtol=0, atol=1e-6)


def test_the_layer_matters_and_is_stated(ours: Results) -> None:
    assert np.abs(np.array(ours["last"]["BERTScore"]) - ours["bert"]["BERTScore"]).max() > 0.001
    assert (
        "layer 2 of 3, idf over 40 references, 1 caption cut at 512 tokens, 5 pairs without a token of weight, scored 0"
        in ours["bert"]["account"]
    )
    assert "layer 3 of 3" in ours["last"]["account"]


def test_bleurt_is_that_of_its_package(ours: Results, oracle: dict[str, Any], version: int) -> None:
    if version == 5:
        assert "found transformers 5" in ours["bleurt"]["error"]
        assert "expected transformers 4" in ours["bleurt"]["error"]
        return
    np.testing.assert_allclose(ours["bleurt"]["BLEURT"], oracle["bleurt"], rtol=0, atol=1e-6)
    assert np.std(oracle["bleurt"]) > 0.01
    assert "1 pair cut at 512 tokens" in ours["bleurt"]["account"]


def test_alignscore_is_that_of_its_package(ours: Results, oracle: dict[str, Any]) -> None:
    found = ours["align"]["AlignScore"]
    for place, expected in enumerate(oracle["align"]):
        assert found[place] == pytest.approx(0.0 if expected is None else expected, abs=1e-6)  # the package fails there
    assert np.std(found) > 0.1
    assert "3 candidates without a sentence, scored 0" in ours["align"]["account"]


def test_similarity_is_that_of_the_model(ours: Results, oracle: dict[str, Any], version: int) -> None:
    expected = 2.5 * np.clip(oracle["clip"], 0, 1)
    # transformers 5 resizes pictures by torch, version 4 by Pillow
    np.testing.assert_allclose(ours["clip"]["similarity"], expected, rtol=0, atol=1e-6 if version == 4 else 0.02)
    assert np.mean(expected > 0) > 0.5
    assert "40 pictures" in ours["clip"]["account"]


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("none", "not a folder of this machine"),
        ("hub", "found microsoft/deberta-xlarge-mnli; expected a folder with config.json"),
        ("bare", "found none; expected config.json"),
        ("layer", "no such layer; found 4; expected 1 to 3"),
        ("no encoder", "not an encoder; found clip"),
        ("device", "no such device"),
        ("no checkpoint", "expected one file .ckpt of AlignScore"),
        ("picture", "found no x.jpg"),
        ("texts only", "the model cannot be loaded"),
        ("cut", "the model cannot be loaded"),
        ("missing", "weights of the model are missing; found no encoder.layer.1.attention"),
    ],
)
def test_what_is_no_model_is_refused(ours: Results, case: str, message: str) -> None:
    assert message in ours[case]["error"]


def test_a_program_in_a_checkpoint_is_not_run(ours: Results) -> None:
    assert "expected tensors under state_dict, and no objects of Python" in ours["program"]["error"]
    assert ours["program"]["run"] is False


def test_progress_counts_every_pair(ours: Results) -> None:
    assert ours["steps"]["steps"] == [[done, 40] for done in range(1, 41)]


def test_the_command_takes_models_from_folders(models: Path, tmp_path: Path) -> None:
    captions = {"references": ["CT, 3 mm.", "A heart.", "", "The lesion"], "system": ["CT 4 mm", "", "", "The lesion"]}
    for name, texts in captions.items():
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([("ID", "Caption"), *((f"image{n}", text) for n, text in enumerate(texts))])
    named = {"BERTScore": "bert", "BLEURT": "bleurt", "AlignScore": "align-roberta", "similarity": "clip"}
    arguments = [
        "score", "captions", str(tmp_path / "references.csv"), f"s={tmp_path / 'system.csv'}", "--json", "--output",
        str(tmp_path / "values.csv"), "--images", str(models / "pictures"), "--resamples", "100", "--threads", "1",
        *(part for measure, folder in named.items() for part in ("--model", f"{measure}={models / folder}")),
    ]  # fmt: skip

    def columns(*more: str) -> dict[str, list[float]]:
        done = cuihop_with_models(models, *arguments, *more)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
        account = json.loads(done.stdout)["systems"][0]["inputs"]["scores 1"]
        assert account.startswith(str(models / "bert"))
        assert account.endswith(
            "2 pairs without a token of weight, scored 0, but 1 for 1 image with two empty captions"
        )
        with (tmp_path / "values.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        return {name: [float(row[name]) for row in rows] for name in rows[0] if name in {*named, *COLUMNS, "relevance"}}

    paper, year_2025 = columns(), columns("--official", "2025")
    assert set(paper) == {*named, "relevance"}
    assert set(year_2025) == {*named, "relevance", "BERTScore(value=F1)"} - {"BERTScore"}
    assert paper["BERTScore"][2] == paper["AlignScore"][2] == 1.0  # both captions are empty
    assert paper["similarity"][1:3] == [0.0, 0.0]
    assert year_2025["similarity"][2] == 1.0
    assert paper["BERTScore"][0] == pytest.approx(1.0, abs=1e-6)  # equal after normalisation
