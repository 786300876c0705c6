"""A figure as a file: SVG, PNG or PDF."""

from __future__ import annotations

import contextlib
import io
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuihop.errors import InputError
from cuihop.files.written_files import write_whole
from cuihop.resources.optional_packages import installed_by

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FORMATS", "drawing", "notebook_svg", "picture_bytes", "save_picture", "saved_figure"]

FORMATS = ("svg", "png", "pdf")
_SETTINGS: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Arial", "Helvetica", "sans-serif"],
    "svg.fonttype": "none",  # text stays text: it can be searched, copied and read aloud
    "svg.hashsalt": "cuihop",  # one explanation, one file
    "pdf.fonttype": 42,
}


@contextlib.contextmanager
def drawing() -> Iterator[None]:
    """Set matplotlib's parameters for pictures until the block ends.

    Raises:
        ModuleNotFoundError: matplotlib is not installed; the message names the extra.
    """
    with installed_by("cuihop[plots]"):
        import matplotlib as mpl
    with mpl.rc_context(_SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)  # a name in another script
        yield


def save_picture(figure: Callable[[], Figure], path: str | os.PathLike[str]) -> None:
    """Draw a figure and write it whole or not at all, in the format of the path's suffix.

    Raises:
        InputError: the suffix is none of `FORMATS`; nothing is drawn then.
        OutputError: the file cannot be written.
    """
    path = Path(path)
    form = path.suffix.removeprefix(".").lower()
    if form not in FORMATS:
        raise InputError(
            "no such form of picture", column="path", found=repr(path.name), expected="a name in .svg, .png or .pdf"
        )
    write_whole(path, picture_bytes(figure(), form))


def picture_bytes(figure: Figure, form: str) -> bytes:
    """Content of a figure's file; the same figure gives the same bytes."""
    file = io.BytesIO()
    undated = {"svg": {"Date": None}, "png": {}, "pdf": {"CreationDate": None}}[form]
    with drawing():
        figure.savefig(file, format=form, dpi=200, metadata=undated)
    return file.getvalue()


def saved_figure(figure: Figure, path: str | os.PathLike[str] | None) -> Figure:
    """The figure, after writing it to ``path`` where that is given: see `save_picture`."""
    if path is not None:
        save_picture(lambda: figure, path)
    return figure


def notebook_svg(figure: Callable[[], Figure]) -> str | None:
    """A figure as SVG for a notebook; ``None`` where matplotlib is not installed."""
    try:
        return picture_bytes(figure(), "svg").decode()
    except ModuleNotFoundError:
        return None
