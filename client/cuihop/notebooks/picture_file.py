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
from cuihop.files.written_files import replaced_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FORMATS", "drawing", "notebook_svg", "picture_bytes", "save_picture", "written_if_asked"]

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
    """Matplotlib as pictures need it, until the block ends.

    Raises:
        ModuleNotFoundError: it is not installed; the message says what to install.
    """
    try:
        import matplotlib as mpl
    except ModuleNotFoundError as error:
        missing = "a picture needs matplotlib, which is not installed: pip install 'cuihop[plots]'"
        raise ModuleNotFoundError(missing, name=error.name) from None
    with mpl.rc_context(_SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)  # a name in another script
        yield


def save_picture(figure: Callable[[], Figure], path: str | os.PathLike[str]) -> None:
    """Make a figure and write it, whole or not at all; the suffix of the path says how.

    Raises:
        InputError: the suffix is none of `FORMATS`; nothing has been drawn then.
        OutputError: the file cannot be written.
    """
    path = Path(path)
    form = path.suffix.removeprefix(".").lower()
    if form not in FORMATS:
        raise InputError(
            "no such form of picture", column="path", found=repr(path.name), expected="a name in .svg, .png or .pdf"
        )
    raw = picture_bytes(figure(), form)
    with replaced_file(path, expected_bytes=len(raw)) as file:
        file.write(raw)


def picture_bytes(figure: Figure, form: str) -> bytes:
    """A figure as the content of a file: the same figure gives the same bytes."""
    made = io.BytesIO()
    undated = {"svg": {"Date": None}, "png": {}, "pdf": {"CreationDate": None}}[form]
    with drawing():
        figure.savefig(made, format=form, dpi=200, metadata=undated)
    return made.getvalue()


def written_if_asked(figure: Figure, path: str | os.PathLike[str] | None) -> Figure:
    """The figure, written to the path where there is one: see `save_picture`."""
    if path is not None:
        save_picture(lambda: figure, path)
    return figure


def notebook_svg(figure: Callable[[], Figure]) -> str | None:
    """What a notebook shows of something that has a figure; ``None`` where matplotlib is not installed."""
    try:
        return picture_bytes(figure(), "svg").decode()
    except ModuleNotFoundError:
        return None
