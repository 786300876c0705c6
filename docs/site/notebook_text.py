"""A notebook as Markdown, with the outputs that are committed in it. Nothing is executed: a test does that."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["notebook_text"]


def notebook_text(notebook: str) -> str:
    """The cells of a notebook (JSON, format 4), one after the other."""
    parts: list[str] = []
    for cell in json.loads(notebook)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif cell["cell_type"] == "code":
            parts.append(_fenced("python", source))
            parts += [_output(output) for output in cell["outputs"]]
    return "\n\n".join(part for part in parts if part)


def _output(output: dict[str, Any]) -> str:
    """The richest form that a page can show: picture, table, text."""
    if output["output_type"] == "stream":
        return _fenced("text", "".join(output["text"]))
    data = {kind: "".join(value) for kind, value in output.get("data", {}).items()}
    if "image/png" in data:
        picture = data["image/png"].replace("\n", "")
        words = " ".join(data.get("text/plain", "picture").split()).strip("<>")
        return f'<img class="output" alt="{words}" src="data:image/png;base64,{picture}">'
    if "text/html" in data:
        lines = [line.strip() for line in data["text/html"].splitlines()]  # indented HTML would be read as code
        return '<div class="output">\n' + "\n".join(line for line in lines if line) + "\n</div>"
    return _fenced("text", data.get("text/plain", ""))


def _fenced(language: str, text: str) -> str:
    return f"````{language}\n{text.rstrip()}\n````"
