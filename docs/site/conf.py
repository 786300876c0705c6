"""Settings of Sphinx, which builds the web pages of the documentation: ``make docs``.

The source folder is the project's root, so that links between pages, results and files are those of the repository.
Nothing is fetched and nothing is written but the output.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util.tags import Tags

HERE = Path(__file__).parent
sys.path.insert(0, os.fspath(HERE))

import cuihop  # noqa: E402
from notebook_text import notebook_text  # noqa: E402

project = "cuihop"
author = "the cuihop developers"
version = release = cuihop.__version__

extensions = ["myst_parser"]
root_doc = "docs/index"
source_suffix = {".md": "markdown", ".ipynb": "markdown"}
include_patterns = ["docs/**", "benchmarks/RESULTS.md", "CHANGELOG.md", "CONTRIBUTING.md"]
exclude_patterns = ["docs/site/**", "build", ".*", "**/.*", "client", "graph_loader", "proto", "service", "tests"]
suppress_warnings = [
    "misc.highlighting_failure",  # the lexer of Cypher does not know all of Cypher
]

tags: Tags
if "with-readme" in tags:  # noqa: F821 - Sphinx puts it here; make links
    include_patterns.append("README.md")
    suppress_warnings.append("toc.not_included")
linkcheck_ignore = [r"http://127\.0\.0\.1"]  # a service that the reader has started
linkcheck_timeout = 20
linkcheck_retries = 2
linkcheck_allow_unauthorized = False

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

html_theme = "furo"
html_title = f"cuihop {version}"
html_static_path = ["static"]
html_css_files = ["pictures.css"]
html_copy_source = False
html_show_copyright = False
html_additional_pages = {"index": "to_the_first_page.html"}
templates_path = ["templates"]


def with_every_page(index: str) -> str:
    """The index, with what it only expects taken out, and what it does not name added: no page is ever out of reach.

    Args:
        index: its Markdown. A line such as ``study*`` in a table of contents is a page that there may be.
    """
    there = {page.stem for page in HERE.parent.glob("*.md")} - {"index"}
    named = set(re.findall(r"^([\w-]+)\*?$", index, re.MULTILINE))
    others = sorted(there - named)
    index = re.sub(r"^([\w-]+)\*\n", lambda one: f"{one[1]}\n" if one[1] in there else "", index, flags=re.MULTILINE)
    return index + "\n".join(["", "```{toctree}", ":hidden:", ":caption: More", "", *others, "```"]) * bool(others)


def _complete(app: Sphinx, docname: str, source: list[str]) -> None:
    if app.env.doc2path(docname).suffix == ".ipynb":
        source[0] = notebook_text(source[0])
    if docname == root_doc:
        source[0] = with_every_page(source[0])


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _complete)
