"""The tutorial notebook: executes it with this Python, and keeps what a reader needs.

``python tests/tutorial_notebook.py`` (``make tutorial``) writes docs/tutorial.ipynb again with the outputs found.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from ipykernel.kernelspec import write_kernel_spec
from nbclient import NotebookClient

if TYPE_CHECKING:
    import nbformat

NOTEBOOK = Path(__file__).resolve().parents[1] / "docs" / "tutorial.ipynb"
_KERNEL = "cuihop-tutorial"


def executed() -> nbformat.NotebookNode:
    """The tutorial as it is after a run, without what differs from run to run."""
    import nbformat

    return cleaned(run(nbformat.read(NOTEBOOK, as_version=4)))


def run(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A notebook, executed in place in an empty folder, in order, on a kernel of this very Python."""
    with tempfile.TemporaryDirectory() as folder:
        specs = Path(folder) / "jupyter"
        write_kernel_spec(str(specs / "kernels" / _KERNEL))
        work = Path(folder) / "work"
        work.mkdir()
        plain = {key: value for key, value in os.environ.items() if not key.startswith("CUIHOP")}
        surroundings = plain | {
            "JUPYTER_PATH": str(specs),
            "JUPYTER_RUNTIME_DIR": str(Path(folder) / "run"),
            "IPYTHONDIR": str(specs),
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        }
        with mock.patch.dict(os.environ, surroundings, clear=True):
            client = NotebookClient(
                notebook,
                timeout=120,
                coalesce_streams=True,  # what a cell prints comes in one message or several, as time will have it
                kernel_name=_KERNEL,
                resources={"metadata": {"path": str(work)}},
            )
            client.execute()
    return notebook


def cleaned(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Without what differs from run to run: times, identifiers, versions, counts of executions."""
    import nbformat

    notebook.metadata = nbformat.from_dict(
        {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
         "language_info": {"name": "python"}}
    )  # fmt: skip
    for number, cell in enumerate(notebook.cells, start=1):
        cell.id = f"cell-{number:02}"
        cell.metadata = nbformat.from_dict({})
        if cell.cell_type == "code":
            cell.execution_count = None
            for output in cell.outputs:
                if "execution_count" in output:
                    output.execution_count = None
                if "metadata" in output:
                    output.metadata = nbformat.from_dict({})
    return notebook


def written(notebook: nbformat.NotebookNode) -> str:
    """The text of the notebook's file."""
    import nbformat

    return str(nbformat.writes(notebook)) + "\n"


def texts(notebook: nbformat.NotebookNode) -> list[list[dict[str, Any]]]:
    """The outputs of each cell but for pictures, of which only that they are there."""
    return [[_text(output) for output in cell.outputs] for cell in notebook.cells if cell.cell_type == "code"]


def _text(output: Any) -> dict[str, Any]:
    if output.output_type == "stream":
        return {output.name: output.text}
    data = {kind: "a picture" if kind == "image/png" else text for kind, text in output.data.items()}
    # The styles of a DataFrame's table belong to pandas.
    return {kind: re.sub(r"<style.*?</style>\n?", "", text, flags=re.DOTALL) for kind, text in data.items()}


def main() -> None:
    """Write the notebook again."""
    NOTEBOOK.write_text(written(executed()), encoding="utf-8")


if __name__ == "__main__":
    main()
