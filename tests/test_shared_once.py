from __future__ import annotations

from pathlib import Path

import pytest

from shared_once import made_once


def test_a_folder_of_the_run_is_filled_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    filled: list[Path] = []

    def fill(folder: Path) -> None:
        folder.joinpath("file").write_text("text")
        filled.append(folder)

    first, second = (made_once(tmp_path_factory, "filled once", fill) for _ in range(2))
    assert first == second
    assert first.joinpath("file").read_text() == "text"
    assert filled == [first]


def test_a_folder_that_could_not_be_filled_is_not_taken_for_complete(tmp_path_factory: pytest.TempPathFactory) -> None:
    def fill(folder: Path) -> None:
        folder.joinpath("half").touch()
        raise ValueError("half")

    with pytest.raises(ValueError, match="half"):
        made_once(tmp_path_factory, "half filled", fill)
    with pytest.raises(FileExistsError):
        made_once(tmp_path_factory, "half filled", fill)
