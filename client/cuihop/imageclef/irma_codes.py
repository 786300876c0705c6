"""IRMA codes of images in files, and the hierarchical error over all of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuihop.collection.concept_rows import check_image, fault_in_file
from cuihop.errors import InputError
from cuihop.evaluation.result import Details, MeasuredQueries
from cuihop.files.content_digest import content_digest
from cuihop.files.input_file import Readable, opened_input
from cuihop.files.likely_causes import cause_of_columns, cause_of_strange_name
from cuihop.files.text_lines import counted, decoded_lines, quoted
from cuihop.measures.irma_error import WILDCARD, Branching, branching_of, irma_error
from cuihop.measures.measure import Measure
from cuihop.resources.versions import versions

__all__ = ["IrmaCodes", "IrmaCounts", "IrmaEvaluation", "evaluate_irma"]

_EXPECTED = "the image and its code, separated by a comma, a tab or a space"
_SHOWN = 5
_POSITIONS = re.compile(r"[0-9a-z*]+")
_NOT_A_NAME = re.compile(r"[0-9*]")  # in every code, and in no name of a column
_FOUR_AXES = re.compile(r"[0-9a-z*]{4}(-[0-9a-z*]{3}){3}")  # of IRMA: technique, direction, anatomy, system


@dataclass(frozen=True, eq=False)
class IrmaCodes:
    """Image → its code, split into axes: ``1121-120-800-700`` has four.

    Attributes:
        axes: image → the code of each axis. All images have the same axes.
        lines: image → the line it stands in.
        source: the file.
        header: its first line, if that names columns.
        compression: ``gzip`` or ``zstd``; empty without.
    """

    axes: Mapping[str, tuple[str, ...]]
    lines: Mapping[str, int]
    source: str
    header: str | None = None
    compression: str = ""

    @property
    def account(self) -> str:
        """Summary of the parsed input, in one line."""
        shape = ", ".join(str(len(axis)) for axis in next(iter(self.axes.values())))
        images = counted(len(self.axes), "image")
        header = "no header" if self.header is None else f"header {quoted(self.header)}"
        form = f", {self.compression}" if self.compression else ""
        return f"{self.source}: {images}, codes of {shape} positions, {header}, 0 malformed{form}"

    @classmethod
    def read(cls, path: Readable) -> IrmaCodes:
        """Read image and code from each line: separated by a comma, ``;``, a tab or spaces.

        A position of a code is a digit, a lower-case letter or ``*``. A first line whose second column holds neither
        digit nor ``*`` is a header.

        Raises:
            InputError: a line has other than two columns, an image stands twice, a code is malformed, or has other axes
                than the first one.
        """
        file = opened_input(path)
        name = file.name
        axes: dict[str, tuple[str, ...]] = {}
        lines: dict[str, int] = {}
        shape: list[int] = []
        header = None
        for line, fields in _lines(decoded_lines(file)):
            if len(fields) != 2:
                raise InputError(
                    "wrong number of columns", file=name, line=line,
                    found=f"{len(fields)} in {quoted(' '.join(fields))}", expected=_EXPECTED,
                    advice=cause_of_columns(fields, 2, " "),
                )  # fmt: skip
            if line == 1 and _NOT_A_NAME.search(fields[1]) is None:
                header = " ".join(fields)
                continue
            image, code = fields[0], _axes(fields[1], shape, name, line, 2)
            shape = shape or [len(axis) for axis in code]
            if image in axes:
                check_image(image, line, lines[image], fault_in_file(name), "line")
            axes[image], lines[image] = code, line
        if not axes:
            raise InputError("the file holds no image", file=name, expected=_EXPECTED)
        if all(_FOUR_AXES.fullmatch(image) for image in axes) and len(shape) == 1:
            image = next(iter(axes))
            raise InputError(
                "the image looks like a code: are the columns swapped?", file=name, line=lines[image], column=1,
                found=quoted(image), expected=_EXPECTED,
            )  # fmt: skip
        return cls(axes, lines, name, header, file.compression)


def _lines(texts: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """The columns of each line that is not empty, with its number."""
    for line, text in enumerate(texts, start=1):
        fields = text.replace(",", " ").replace(";", " ").split()
        if fields:
            yield line, [*([""] if text[0] in ",;" else []), *fields]  # an index column has no name


def _axes(text: str, shape: Sequence[int], path: str, line: int, column: int | None) -> tuple[str, ...]:
    """The axes of a code, each of the length in ``shape``; of any length if that is empty."""
    code = tuple(text.split("-"))
    if not all(map(_POSITIONS.fullmatch, code)):
        raise InputError(
            "not a code", file=path, line=line, column=column, found=quoted(text),
            expected="digits, lower-case letters and '*', the axes separated by '-'",
        )  # fmt: skip
    if shape and [len(axis) for axis in code] != list(shape):
        raise InputError(
            "not a code of these axes", file=path, line=line, column=column, found=quoted(text),
            expected=f"axes of {', '.join(map(str, shape))} positions, separated by '-'",
        )  # fmt: skip
    if _NOT_A_NAME.search(text) is None:
        raise InputError(
            "not a code", file=path, line=line, column=column, found=quoted(text), expected="at least a digit or a '*'",
            advice="Are the columns swapped?",
        )  # fmt: skip
    return code


def read_code_book(texts: Iterable[str], name: str) -> list[tuple[str, ...]]:
    """For each axis all its codes, from the lines of a file: one code in each.

    Text after a code, such as its meaning, is ignored.

    Raises:
        InputError: the file is empty, or a code is malformed, or has other axes than the first one.
    """
    codes: list[tuple[str, ...]] = []
    for line, fields in _lines(texts):
        if line == 1 and _NOT_A_NAME.search(fields[0]) is None:
            continue
        codes.append(_axes(fields[0], [len(axis) for axis in codes[0]] if codes else (), name, line, None))
    if not codes:
        raise InputError("the file holds no code", file=name, expected="one code in each line")
    return list(zip(*codes, strict=True))


@dataclass(frozen=True, slots=True)
class IrmaCounts:
    """Counts of the inputs of an evaluation of IRMA codes, and the sum of errors.

    Attributes:
        images: of the ground truth. right: with every position right. wildcards: with a ``*`` in the prediction.
        missing: images without a prediction, whose error is 1 for every axis.
        error_sum: the sum of the errors of all images, the "error count" of ImageCLEFmed.
    """

    images: int
    right: int
    wildcards: int
    missing: tuple[str, ...]
    error_sum: float


@dataclass(frozen=True, eq=False, kw_only=True)
class IrmaEvaluation(MeasuredQueries):
    """The result of `evaluate_irma`: the error of each image, from 0 to 1: the mean over its axes.

    Its `counts` are `IrmaCounts`.

    Attributes:
        axis_errors: float64, shape (images, axes).
    """

    axis_errors: npt.NDArray[np.float64]


def evaluate_irma(
    truth: Readable,
    predictions: Readable,
    *,
    codes: Readable | None = None,
    branching: int | None = None,
    missing_wrong: bool = False,
) -> IrmaEvaluation:
    """Score predicted codes: the mean over images of the mean over axes of `cuihop.measures.irma_error`.

    Args:
        truth: image and correct code, every position specified.
        predictions: of the same images and axes; may hold ``*``.
        codes: all codes of the hierarchy, the correct ones among them: b_i is counted in it.
        branching: instead, one b for every position.
        missing_wrong: an image without a prediction is all wrong instead of an error.

    Raises:
        InputError: a file is not as expected; images are unknown or missing; names the line.
    """
    if (codes is None) == (branching is None):
        raise InputError("the number of possible labels is missing", expected="either codes or branching")
    true, predicted = IrmaCodes.read(truth), IrmaCodes.read(predictions)
    _check_images(true, predicted, missing_wrong)
    count = len(next(iter(true.axes.values())))
    labels: Sequence[Branching | int] = [branching or 0] * count
    book, book_lines, book_name = None, list[str](), ""
    if codes is not None:
        book_file = opened_input(codes)
        book_lines, book_name = list(decoded_lines(book_file)), book_file.name
        book = read_code_book(book_lines, book_name)
        if len(book) != count:
            raise InputError(
                "the code book has other axes", file=book_name, found=f"{len(book)}",
                expected=f"{count}, as in {true.source}",
            )  # fmt: skip
        _check_code_book(true, book, book_name)
        labels = [branching_of(axis) for axis in book]
    errors = np.ones((len(true.axes), count), dtype=np.float64)
    for row, (image, correct) in enumerate(true.axes.items()):
        for axis, own in enumerate(correct):
            if image in predicted.axes:
                errors[row, axis] = _error(own, predicted.axes[image][axis], labels[axis], true, image)
    values = errors.mean(axis=1, keepdims=True)
    measure = Measure("IRMA", options=() if branching is None else (("b", branching),))
    counts = IrmaCounts(
        images=len(true.axes),
        right=int((values == 0).sum()),
        wildcards=sum(any(WILDCARD in axis for axis in code) for code in predicted.axes.values()),
        missing=tuple(image for image in true.axes if image not in predicted.axes),
        error_sum=float(values.sum()),
    )
    inputs = {
        "truth": true.account,
        "predictions": predicted.account,
        **({} if book is None else {"codes": f"{book_name}: {counted(len(book[0]), 'code')}"}),
    }
    parameters = {
        "measures": [str(measure)],
        "truth": true.source,
        "predictions": predicted.source,
        "digests": {
            "truth": content_digest({image: list(code) for image, code in true.axes.items()}),
            "codes": None if codes is None else content_digest(book_lines),
        },
        "codes": None if codes is None else book_name,
        "branching": branching,
        "missing": "wrong" if missing_wrong else "error",
    }
    return IrmaEvaluation(
        measures=(measure,),
        queries=tuple(true.axes),
        values=values,
        axis_errors=errors,
        release=None,
        versions=versions("cuihop", "numpy"),
        details=Details(counts, parameters, inputs),
    )


def _error(correct: str, predicted: str, labels: Branching | int, true: IrmaCodes, image: str) -> float:
    try:
        return irma_error(correct, predicted, labels)
    except InputError as error:
        raise InputError(
            error.problem, file=true.source, line=true.lines[image], column=2, found=error.found,
            expected=error.expected,
        ) from None  # fmt: skip


def _check_code_book(true: IrmaCodes, book: Sequence[Sequence[str]], codes: str) -> None:
    """Refuse a code book that lacks a correct code: it would have too few possible labels."""
    labels = [frozenset(axis) for axis in book]
    for image, code in true.axes.items():
        for own, axis in zip(code, labels, strict=True):
            if own not in axis and WILDCARD not in own:
                raise InputError(
                    "not in the code book", file=true.source, line=true.lines[image], column=2, found=quoted(own),
                    expected=f"a code of {codes}",
                )  # fmt: skip


def _other_images(true: IrmaCodes, predicted: IrmaCodes) -> str | None:
    return None if true.axes.keys() & predicted.axes.keys() else "No image is in both: are they of different splits?"


def _check_images(true: IrmaCodes, predicted: IrmaCodes, missing_wrong: bool) -> None:
    shape = [len(axis) for axis in next(iter(true.axes.values()))]
    for image, code in predicted.axes.items():
        if image not in true.axes or [len(axis) for axis in code] != shape:
            present = image in true.axes
            raise InputError(
                "not a code of the axes of the ground truth" if present else "not an image of the ground truth",
                file=predicted.source, line=predicted.lines[image], column=2 if present else 1,
                found=quoted("-".join(code) if present else image),
                expected=f"axes of {', '.join(map(str, shape))} positions" if present else f"an image of {true.source}",
                advice=None if present else cause_of_strange_name(image, true.axes) or _other_images(true, predicted),
            )  # fmt: skip
    absent = [image for image in true.axes if image not in predicted.axes]
    if absent and not missing_wrong:
        more = f" and {len(absent) - _SHOWN:,} more" if len(absent) > _SHOWN else ""
        raise InputError(
            "images of the ground truth are missing", file=predicted.source, line=max(predicted.lines.values()),
            found=f"{len(absent):,} missing when the file ends: {', '.join(absent[:_SHOWN])}{more}",
            expected="every image of the ground truth",
        )  # fmt: skip
