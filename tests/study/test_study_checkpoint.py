"""A study that was interrupted goes on from what was finished, to the same last bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuihop.collection.image_concepts import ImageConcepts
from cuihop.collection.labels import Labels
from cuihop.errors import InputError, LimitExceeded, OutputError
from cuihop.files.input_file import InputFile
from cuihop.measures.nearness import Nearness
from cuihop.resources.progress import Progress
from cuihop.resources.resources import Resources
from cuihop.study.ablation import ablation
from cuihop.study.checkpoint import StudyCheckpoint
from cuihop.study.cross_evaluation import cross_evaluation
from cuihop.study.inputs import LongRow, StudyInputs
from cuihop.study.report import report
from example_graph import EDGES, UNKNOWN, example_graph

CONCEPTS = sorted({concept for edge in EDGES for concept in edge} | {UNKNOWN})
IMAGES = 400


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> StudyInputs:
    """Several blocks of queries: more distinct sets than one block holds."""
    draw = np.random.default_rng(5)
    names = [f"i{place:03}" for place in range(IMAGES)]
    sets = {name: frozenset(draw.choice(CONCEPTS, draw.integers(0, 6), replace=False).tolist()) for name in names}
    modality = {name: str(draw.choice(["CT", "MRI"])) for name in names}
    vectors = tmp_path_factory.mktemp("vectors") / "vectors.npy"
    np.save(vectors, draw.normal(size=(IMAGES, 4)))
    run = tmp_path_factory.mktemp("run") / "system.run"
    lines = [f"{name} Q0 {names[(i + j) % IMAGES]} 1 {9 - j} mine\n" for i, name in enumerate(names) for j in range(3)]
    run.write_text("".join(lines))
    return StudyInputs(
        ImageConcepts(sets),
        example_graph(),
        Labels({"modality": modality}),
        {"model": vectors, "system": run},
        nearness=Nearness(unknown="isolated"),
        resources=Resources(threads=1),
    )


class Progresses:
    """Notes the names of the work, and interrupts at a given place."""

    def __init__(self, stop_at: Callable[[str, int, int], bool] = lambda what, done, total: False) -> None:
        self.names: list[str] = []
        self._stop_at = stop_at

    def __call__(self, what: str) -> Progress:
        self.names.append(what)

        def progress(done: int, total: int) -> None:
            if self._stop_at(what, done, total):
                raise KeyboardInterrupt

        return progress


def numbers_of(inputs: StudyInputs, folder: Path | None, progress_of: Progresses) -> list[LongRow]:
    with StudyCheckpoint(folder, inputs) as checkpoint:
        tables = cross_evaluation(inputs, progress_of, checkpoint)
        return [*tables.long_rows(inputs), *ablation(inputs, progress_of, checkpoint)]


@pytest.fixture(scope="module")
def uninterrupted(inputs: StudyInputs) -> list[LongRow]:
    return numbers_of(inputs, None, Progresses())


INTERRUPTED_AT = [
    "ranked by iou", "ranked by bm", "evaluated queries", "resampled", "ablation, n = 1", "ablation, n = 2",
]  # fmt: skip


@pytest.mark.parametrize("part", INTERRUPTED_AT)
def test_an_interrupted_study_goes_on_to_the_same_numbers(
    part: str, inputs: StudyInputs, uninterrupted: list[LongRow], tmp_path: Path
) -> None:
    folder = tmp_path / "deep" / "checkpoint"
    with pytest.raises(KeyboardInterrupt):
        numbers_of(inputs, folder, Progresses(lambda what, done, total: what == part))
    assert numbers_of(inputs, folder, Progresses()) == uninterrupted


def test_what_is_finished_is_not_computed_again(
    inputs: StudyInputs, uninterrupted: list[LongRow], tmp_path: Path
) -> None:
    done: dict[str, list[int]] = {}

    def counted(what: str, queries: int, total: int) -> bool:
        done.setdefault(what, []).append(queries)
        return what == "ablation, n = 2" and queries < total

    with pytest.raises(KeyboardInterrupt):
        numbers_of(inputs, tmp_path, Progresses(counted))
    assert 0 < done["ablation, n = 2"][0] < IMAGES
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    again = Progresses()
    assert numbers_of(inputs, tmp_path, again) == uninterrupted
    assert not [what for what in again.names if what.startswith(("ranked by", "read"))]
    changed = {path.name for path, content in before.items() if path.read_bytes() != content}
    assert len(changed) == 1
    assert changed.pop().startswith("work-ablation-2")  # what was finished was only read


def test_a_finished_study_clears_its_folder_but_for_the_files_of_others(inputs: StudyInputs, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    with StudyCheckpoint(folder, inputs) as checkpoint:
        list(ablation(inputs, Progresses(), checkpoint))
    (folder / ".work-BM-0.npz.0123456789abcdef.partial").write_text("what a crash left")
    other = folder / "mine.blocks"
    other.write_text("mine")
    checkpoint.finish()
    assert list(folder.iterdir()) == [other]
    other.unlink()
    checkpoint.finish()
    assert not folder.exists()


@pytest.mark.parametrize(
    ("changed", "column"),
    [
        ({"nearness": Nearness(lam=0.4, unknown="isolated")}, "lambda"),
        ({"nearness": Nearness(2, unknown="isolated")}, "n"),
        ({"seed": 1}, "seed"),
        ({"nearness": Nearness(direction="up", unknown="isolated")}, "direction"),
        ({"empty_ideal": "skip"}, "empty_ideal"),
        ({"labels": None}, "content of labels"),
        ({"embeddings": {}}, "embeddings model"),
    ],
)
def test_the_folder_of_another_study_is_refused(
    changed: dict[str, Any], column: str, inputs: StudyInputs, tmp_path: Path
) -> None:
    with StudyCheckpoint(tmp_path, inputs):
        pass
    with pytest.raises(InputError, match="other inputs") as caught:
        StudyCheckpoint(tmp_path, replace(inputs, **changed))
    assert caught.value.column == column
    with StudyCheckpoint(tmp_path, replace(inputs, resources=Resources(2, "3GB"))):
        pass  # on these, no number depends


def test_one_folder_is_one_process(inputs: StudyInputs, tmp_path: Path) -> None:
    with StudyCheckpoint(tmp_path, inputs), pytest.raises(InputError, match="another process"):
        StudyCheckpoint(tmp_path, inputs)


def test_a_damaged_file_is_made_anew(inputs: StudyInputs, uninterrupted: list[LongRow], tmp_path: Path) -> None:
    assert numbers_of(inputs, tmp_path, Progresses()) == uninterrupted
    for number, path in enumerate(sorted(tmp_path.glob("work-*"))):
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // (1 + number % 3)])  # some whole, some cut off
    assert numbers_of(inputs, tmp_path, Progresses()) == uninterrupted


def test_a_folder_that_cannot_be_created_is_reported(inputs: StudyInputs, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="not a folder for checkpoints"):
        StudyCheckpoint(tmp_path / "file", inputs)


def test_memory_that_is_not_enough_is_reported(inputs: StudyInputs) -> None:
    with pytest.raises(LimitExceeded, match="--memory"):
        numbers_of(replace(inputs, resources=Resources(1, "2kB")), None, Progresses())
    with pytest.raises(InputError, match="not an amount of memory"):
        replace(inputs, resources=Resources(memory="much"))


def test_files_of_embeddings_are_hashed_once(
    inputs: StudyInputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed, digest = [], InputFile.digest

    def counted(file: InputFile) -> str:
        hashed.append(file.name)
        return digest(file)

    monkeypatch.setattr(InputFile, "digest", counted)
    fresh = replace(inputs)
    with StudyCheckpoint(tmp_path, fresh):
        lines = "\n".join(report(fresh, None, None, [], [], [], comparable=False))
    assert sorted(hashed) == sorted(map(str, inputs.embeddings.values()))
    assert all(f"{name}, file SHA-256 " in lines for name in hashed)
