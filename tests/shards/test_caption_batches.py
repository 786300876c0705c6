"""Batches of a model are the same whoever computes them: a fake model here, for torch is not needed to divide work."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuihop.adapters import local_models
from cuihop.adapters.caption_models import MODEL_MEASURES, model_scores
from cuihop.adapters.local_models import ModelRun, ModelValues, batched
from cuihop.captions import Captions
from cuihop.captions.blocks import CaptionBlocks
from cuihop.errors import InputError
from cuihop.resources.resources import Resources
from cuihop.resources.shard import Shard

CAPTIONS = {f"i{place:02}": "word " * (1 + place * 7 % 11) for place in range(50)}
BATCHES: list[list[int]] = []


class Tensor:
    """As much of a tensor as is read of one."""

    def __init__(self, values: list[float]) -> None:
        self._values = values

    def double(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return self

    def tolist(self) -> list[float]:
        return self._values


def fake_model(references: Any, candidates: Any, folder: Path, run: ModelRun) -> ModelValues:
    lengths = [len(text) for text in candidates]

    def values(places: list[int]) -> Tensor:  # rounding that depends on the batch, as that of a model does
        BATCHES.append(places)
        longest = max(lengths[place] for place in places)
        return Tensor([lengths[place] / longest / 7 for place in places])

    return ModelValues({"BLEURT": batched(lengths, run, values)[:, 0]}, "a fake")


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    @contextlib.contextmanager
    def no_torch(run: ModelRun) -> Iterator[None]:
        yield

    monkeypatch.setattr(local_models, "inference", no_torch)
    monkeypatch.setitem(MODEL_MEASURES, "BLEURT", fake_model)
    BATCHES.clear()
    folder = tmp_path / "model"
    folder.mkdir()
    folder.joinpath("config.json").write_text("{}")
    return folder


def values(folder: Path, blocks: CaptionBlocks | None) -> np.ndarray[Any, Any]:
    captions = Captions.of(CAPTIONS)
    run = ModelRun(batch_size=4, blocks=blocks)
    (column,) = model_scores("BLEURT", captions, captions, folder, run=run).columns.values()
    return column


def test_shards_compute_the_batches_of_one_process(model: Path, tmp_path: Path) -> None:
    expected, whole = values(model, None), [tuple(batch) for batch in BATCHES]
    BATCHES.clear()
    for number in (1, 2, 3):
        own = tmp_path / "parts" / Shard(number, 3).name
        own.mkdir(parents=True)
        resources = Resources(checkpoint=own / "captions", keep_checkpoint=True)
        values(model, CaptionBlocks(resources, Shard(number, 3)))
    assert sorted(map(tuple, BATCHES)) == sorted(whole)
    BATCHES.clear()
    merged = values(model, CaptionBlocks(Resources(checkpoint=tmp_path / "parts" / "captions")))
    assert merged.tobytes() == expected.tobytes()
    assert not BATCHES


def test_other_weights_are_refused(model: Path, tmp_path: Path) -> None:
    blocks = CaptionBlocks(Resources(checkpoint=tmp_path / "captions", keep_checkpoint=True))
    values(model, blocks)
    model.joinpath("weights.bin").write_bytes(b"other")
    with pytest.raises(InputError, match="field model"):
        values(model, blocks)
