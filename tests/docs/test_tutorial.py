"""The tutorial notebook runs from nothing to its end, and prints what its readers see."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tutorial_notebook import NOTEBOOK, cleaned, executed, run, texts, written

if TYPE_CHECKING:
    import nbformat


@pytest.fixture(scope="module")
def committed() -> nbformat.NotebookNode:
    import nbformat

    notebook: nbformat.NotebookNode = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    return notebook


@pytest.mark.slow
def test_every_cell_runs_and_gives_what_is_shown(committed: nbformat.NotebookNode) -> None:
    found = executed()
    assert [cell.source for cell in found.cells] == [cell.source for cell in committed.cells]
    assert texts(found) == texts(committed), "make tutorial writes the outputs again; look at what changed"
    assert any("image/png" in output for outputs in texts(found) for output in outputs)


@pytest.mark.slow
def test_what_a_cell_prints_is_one_output_however_it_comes() -> None:
    import nbformat

    cell = nbformat.v4.new_code_cell("print(1, end='', flush=True)\nprint(' hop')")
    assert texts(run(nbformat.v4.new_notebook(cells=[cell]))) == [[{"stdout": "1 hop\n"}]]


def test_it_holds_nothing_of_the_run_that_made_it(committed: nbformat.NotebookNode) -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert text == written(cleaned(committed))
    assert not re.search(r"/(home|root|work|tmp|usr)/|\d+(\.\d+)? ?(ms|seconds)\b", text)
    assert all(output.get("name") != "stderr" for cell in committed.cells for output in cell.get("outputs", []))


def test_another_output_would_be_noticed(committed: nbformat.NotebookNode) -> None:
    import nbformat

    changed = nbformat.from_dict(json.loads(json.dumps(committed)))
    cell = next(c for c in changed.cells if c.get("outputs") and c.outputs[0].output_type == "stream")
    cell.outputs[0].text = cell.outputs[0].text.replace("2", "3", 1)
    assert texts(changed) != texts(committed)
