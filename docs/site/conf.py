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
from command_reference import command_reference  # noqa: E402
from grpc_reference import grpc_reference  # noqa: E402
from http_reference import http_reference  # noqa: E402
from notebook_text import notebook_text  # noqa: E402
from python_reference import python_reference  # noqa: E402
from settings_reference import settings_reference  # noqa: E402

project = "cuihop"
author = "the cuihop developers"
version = release = cuihop.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "docs/index"
source_suffix = {".md": "markdown", ".ipynb": "markdown"}
include_patterns = ["docs/**", "benchmarks/RESULTS.md", "CHANGELOG.md", "CONTRIBUTING.md"]
exclude_patterns = ["docs/site/**", "build", "dist", "**/.*", "client", "graph_loader", "proto", "service", "tests"]
suppress_warnings = [
    "misc.highlighting_failure",  # the lexer of Cypher does not know all of Cypher
    "ref.python",  # `release` in a docstring means the one at hand; a bare name may have several meanings
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

default_role = "py:obj"  # what docstrings put between single backquotes
add_module_names = False
autodoc_member_order = "groupwise"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_attr_annotations = False  # the signature of a class has the types
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"cuihop {version}"
html_static_path = ["static"]
html_css_files = ["pictures.css"]
html_copy_source = False
html_show_copyright = False
html_additional_pages = {"index": "to_the_first_page.html"}
templates_path = ["templates"]

GENERATED = {
    "commands": command_reference,
    "grpc": grpc_reference,
    "http": http_reference,
    "python": python_reference,
    "settings": settings_reference,
}
"""What stands in place of ``<!-- generated: NAME -->``: made from the code, so that it cannot differ from it."""

_MARK = re.compile(r"^<!-- generated: (.+) -->\n\*.*\*$", re.MULTILINE)  # with the line for readers of the file itself


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


def _as_text(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Docstrings are read as plain text by most: |A ∩ B| is a size in them, never a substitution."""
    parts = (re.split(r"(``.*?``)", line) for line in lines)
    lines[:] = ["".join(p if p.startswith("``") else p.replace("|", "\\|") for p in line) for line in parts]


def _complete(app: Sphinx, docname: str, source: list[str]) -> None:
    if app.env.doc2path(docname).suffix == ".ipynb":
        source[0] = notebook_text(source[0])
    if docname == root_doc:
        source[0] = with_every_page(source[0])
    source[0] = _MARK.sub(lambda mark: GENERATED[mark[1]](), source[0])


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _complete)
    app.connect("autodoc-process-docstring", _as_text)
