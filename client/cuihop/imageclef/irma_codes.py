"""IRMA codes of images in files, and the hierarchical error over all of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuihop.collection.concept_rows import IMAGE_NAMES
from cuihop.collection.image_rows import ImageRows
from cuihop.collection.tables import Schema
from cuihop.errors import InputError
from cuihop.evaluation.result import Details, MeasuredQueries
from cuihop.files.content_digest import content_digest
from cuihop.files.input_file import InputFile, Readable, opened_input
from cuihop.files.records import Records, RowErrors, cause_of_columns
from cuihop.files.text_lines import counted, decoded_lines, delimiter_of, first_line, joined, quoted
from cuihop.measures.irma_error import WILDCARD, Branching, branching_of, code_error, irma_error
from cuihop.measures.measure import Measure
from cuihop.resources.optional_packages import versions

__all__ = ["IrmaCodes", "IrmaCounts", "IrmaEvaluation", "TrueCodes", "evaluate_irma"]

_EXPECTED = "the image and its code, separated by a comma, a tab or a space"
_EXPECTED_IN_BOOK = "one code in each line"
_SCHEMA = Schema(
    (IMAGE_NAMES, ("code", "irma_code")), "images and codes", _EXPECTED, "Call them image and code.", "image"
)
_BETWEEN = re.compile(r'[,;"]')
_POSITIONS = re.compile(r"[0-9a-z*]+")
_NOT_A_NAME = re.compile(r"[0-9*]")  # in every code, and in no name of a column
_FOUR_AXES = re.compile(r"[0-9a-z*]{4}(-[0-9a-z*]{3}){3}")  # of IRMA: technique, direction, anatomy, system


@dataclass(frozen=True, eq=False)
class IrmaCodes:
    """Image → its code, split into axes: ``1121-120-800-700`` has four.

    Attributes:
        axes: image → the code of each axis. All images have the same axes.
        rows: image → its line or row.
        source: the file.
        form: how it was read.
    """

    axes: Mapping[str, tuple[str, ...]]
    rows: ImageRows
    source: str
    form: str

    @property
    def account(self) -> str:
        """Summary of the parsed input, in one line."""
        shape = ", ".join(str(len(axis)) for axis in next(iter(self.axes.values())))
        return f"{self.source}: {counted(len(self.axes), 'image')}, codes of {shape} positions, {self.form}"

    @classmethod
    def read(cls, path: Readable) -> IrmaCodes:
        """Read images and codes from a file, a pipe, or with ``-`` from standard input.

        Lines of text with an image and a code, separated by a comma, ``;``, a tab or spaces; a first line whose second
        column holds neither digit nor ``*`` is a header. Or a table with the columns ``image`` (or ``image_id``,
        ``ID``) and ``code``: CSV, JSON Lines, Parquet, Arrow. A position of a code is a digit, a lower-case letter or
        ``*``.

        Raises:
            InputError: a line has other than two columns, an image stands twice, a code is malformed, or has other axes
                than the first one.
        """
        file = opened_input(path)
        numbered, error, form, named = _fields(file)
        rows, header = ImageRows(error), None
        axes: dict[str, tuple[str, ...]] = {}
        shape: list[int] = []
        for row, fields in numbered:
            if len(fields) != 2:
                raise InputError(
                    "wrong number of columns", file=file.name, line=row,
                    found=f"{len(fields)} in {quoted(' '.join(fields))}", expected=_EXPECTED,
                    advice=cause_of_columns(fields, 2, " "),
                )  # fmt: skip
            if row == 1 and not named and _NOT_A_NAME.search(fields[1]) is None:
                header = " ".join(fields)
                continue
            image, code = fields[0], _axes(fields[1], shape, row, rows.error)
            shape = shape or [len(axis) for axis in code]
            rows.add(image, row)
            axes[image] = code
        if not axes:
            raise rows.error.empty("image", _EXPECTED)
        if all(_FOUR_AXES.fullmatch(image) for image in axes) and len(shape) == 1:
            image = next(iter(axes))
            problem = "the image looks like a code: are the columns swapped?"
            raise rows.error_of(image, problem, 0, quoted(image), _EXPECTED)
        first = "no header" if header is None else f"header {quoted(header)}"
        return cls(axes, rows, file.name, joined("" if named else first, "0 malformed", form))


def _fields(file: InputFile) -> tuple[Iterator[tuple[int, list[str]]], RowErrors, str, bool]:
    """Two columns of a table, or the words of each line of a text.

    Returns:
        Number and fields of each row, their errors, the form, and whether the columns were chosen by their names.
    """
    text = None if file.form == "table" else first_line(decoded_lines(file))
    in_lines = text is not None and not text[0].lstrip().startswith("{")
    if text is not None and in_lines and not _SCHEMA.in_header(text[0].split(delimiter_of(text[0]))):
        return _words(text[1]), RowErrors(file.name), file.compression, False
    table = _SCHEMA.table(Records.of(file, _EXPECTED, text))
    return table.texts(needed=table.columns), table.error, table.form, True


def _words(texts: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """The words of each line that is not empty, with its number."""
    for line, text in enumerate(texts, start=1):
        fields = _BETWEEN.sub(" ", text).split()
        if fields:
            yield line, [*([""] if text[0] in ",;" else []), *fields]  # an index column has no name


def _axes(text: str, shape: Sequence[int], row: int, row_error: RowErrors) -> tuple[str, ...]:
    """The axes of a code, each of the length in ``shape``; of any length if that is empty."""
    code, column = tuple(text.split("-")), len(row_error.columns) - 1
    if not all(map(_POSITIONS.fullmatch, code)):
        expected = "digits, lower-case letters and '*', the axes separated by '-'"
        raise row_error("not a code", row, column, quoted(text), expected)
    if shape and [len(axis) for axis in code] != list(shape):
        expected = f"axes of {', '.join(map(str, shape))} positions, separated by '-'"
        raise row_error("not a code of these axes", row, column, quoted(text), expected)
    if _NOT_A_NAME.search(text) is None:
        raise row_error(
            "not a code", row, column, quoted(text), "at least a digit or a '*'", "Are the columns swapped?"
        )
    return code


def read_code_book(file: InputFile) -> tuple[list[tuple[str, ...]], str]:
    """For each axis all its codes, one in each line of a text or in the column ``code``; and the digest of the content.

    Text after a code, such as its meaning, is ignored.

    Raises:
        InputError: the file is empty, or a code is malformed, or has other axes than the first one.
    """
    text = None if file.form == "table" else first_line(decoded_lines(file))
    row_error, content = RowErrors(file.name, [1]), list[str]()
    if text is None or text[0].lstrip().startswith("{"):
        records = Records.of(file, _EXPECTED_IN_BOOK, text)
        column = 0 if len(records.names) == 1 else records.column("code")
        rows, row_error = list(records.texts([column], needed=[column])), records.row_errors([column])
        content = [code for _, (code,) in rows]
    else:
        content = list(text[1])
        rows = [(line, words) for line, words in _words(content) if line > 1 or _NOT_A_NAME.search(words[0])]
    codes: list[tuple[str, ...]] = []
    for row, words in rows:
        codes.append(_axes(words[0], [len(axis) for axis in codes[0]] if codes else (), row, row_error))
    if not codes:
        raise row_error.empty("code", _EXPECTED_IN_BOOK)
    return list(zip(*codes, strict=True)), content_digest(content)


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
    """The result of `evaluate_irma`: for each image its error, the mean over its axes, and 1 unless it is fully right.

    Its `counts` are `IrmaCounts`.

    Attributes:
        axis_errors: float64, shape (images, axes).
        codes: the correct code of each image.
    """

    axis_errors: npt.NDArray[np.float64]
    codes: tuple[str, ...]

    def _notes(self, *, brief: bool) -> Iterator[str]:
        counts: IrmaCounts = self.counts
        images = f"{counted(counts.images, 'image')}, {counts.right:,} wholly right"
        axes = ", ".join(f"{mean:.4f}" for mean in self.axis_errors.mean(axis=0))
        lines = [f"{images}; errors add up to {counts.error_sum:.2f}", f"mean error of each axis: {axes}"]
        if counts.wildcards:
            lines.append(f"{counted(counts.wildcards, 'prediction')} with a '*'")
        if counts.missing:
            lines.append(f"{counted(len(counts.missing), 'image')} without a prediction: all wrong")
        yield from lines


def evaluate_irma(
    truth: Readable,
    predictions: Readable,
    *,
    codes: Readable | None = None,
    branching: int | None = None,
    missing_wrong: bool = False,
) -> IrmaEvaluation:
    """Score predicted codes: the mean over images of the mean over axes of `cuihop.measures.irma_error`.

    The error rate, ER, is the share of images whose code is not fully right; one with a ``*`` is not.

    Args:
        truth: image and correct code, every position specified.
        predictions: of the same images and axes; may hold ``*``.
        codes: all codes of the hierarchy, the correct ones among them: b_i is counted in it.
        branching: instead, one b for every position.
        missing_wrong: an image without a prediction is all wrong instead of an error.

    Raises:
        InputError: a file is not as expected; images are unknown or missing; names the line.
    """
    return TrueCodes.read(truth, codes, branching).evaluation(predictions, missing_wrong=missing_wrong)


@dataclass(frozen=True, eq=False)
class TrueCodes:
    """Correct codes, which the codes of several systems are scored against, and the possible labels.

    Attributes:
        true: the correct codes. labels: b of each axis. branching: one number of labels at every position.
        book, digest, summary: name, content and reading of the code book that labels are counted in.
    """

    true: IrmaCodes
    labels: Sequence[Branching | int]
    branching: int | None = None
    book: str | None = None
    digest: str | None = None
    summary: str | None = None

    @classmethod
    def read(cls, truth: Readable, codes: Readable | None = None, branching: int | None = None) -> TrueCodes:
        """Read the correct codes, and the code book; arguments and errors as `evaluate_irma`."""
        if (codes is None) == (branching is None):
            raise InputError("the number of possible labels is missing", expected="either codes or branching")
        true = IrmaCodes.read(truth)
        count = len(next(iter(true.axes.values())))
        if codes is None:
            return cls(true, [branching or 0] * count, branching)
        file = opened_input(codes)
        book, digest = read_code_book(file)
        if len(book) != count:
            raise InputError(
                "the code book has other axes", file=file.name, found=f"{len(book)}",
                expected=f"{count}, as in {true.source}",
            )  # fmt: skip
        _check_code_book(true, book, file.name)
        summary = f"{file.name}: {counted(len(book[0]), 'code')}"
        return cls(true, [branching_of(axis) for axis in book], None, file.name, digest, summary)

    def evaluation(self, predictions: Readable, *, missing_wrong: bool = False) -> IrmaEvaluation:
        """Score the codes of a system; arguments and errors as `evaluate_irma`."""
        true, predicted = self.true, IrmaCodes.read(predictions)
        _check_images(true, predicted, missing_wrong)
        errors = np.ones((len(true.axes), len(self.labels)), dtype=np.float64)
        rates = np.ones(len(true.axes), dtype=np.float64)
        for row, (image, correct) in enumerate(true.axes.items()):
            if image in predicted.axes:
                rates[row] = code_error("-".join(correct), "-".join(predicted.axes[image]))
                for axis, own in enumerate(correct):
                    errors[row, axis] = _error(own, predicted.axes[image][axis], self.labels[axis], true, image)
        means = errors.mean(axis=1)
        branching = self.branching
        measures = (Measure("IRMA", options=() if branching is None else (("b", branching),)), Measure("ER"))
        counts = IrmaCounts(
            images=len(true.axes),
            right=int((rates == 0).sum()),
            wildcards=sum(any(WILDCARD in axis for axis in code) for code in predicted.axes.values()),
            missing=tuple(image for image in true.axes if image not in predicted.axes),
            error_sum=float(means.sum()),
        )
        inputs = {"truth": true.account, "predictions": predicted.account}
        inputs |= {} if self.summary is None else {"codes": self.summary}
        parameters = {
            "measures": list(map(str, measures)),
            "truth": true.source,
            "predictions": predicted.source,
            "digests": {
                "truth": content_digest({image: list(code) for image, code in true.axes.items()}),
                "codes": self.digest,
            },
            "codes": self.book,
            "branching": branching,
            "missing": "wrong" if missing_wrong else "error",
        }
        return IrmaEvaluation(
            measures=measures,
            queries=tuple(true.axes),
            values=np.column_stack([means, rates]),
            axis_errors=errors,
            codes=tuple("-".join(code) for code in true.axes.values()),
            release=None,
            versions=versions("cuihop", "numpy"),
            details=Details(counts, parameters, inputs),
        )


def _error(correct: str, predicted: str, labels: Branching | int, true: IrmaCodes, image: str) -> float:
    try:
        return irma_error(correct, predicted, labels)
    except InputError as error:
        raise true.rows.error_of(image, error.problem, 1, error.found or "", error.expected or "") from None


def _check_code_book(true: IrmaCodes, book: Sequence[Sequence[str]], codes: str) -> None:
    """Refuse a code book that lacks a correct code: it would have too few possible labels."""
    labels = [frozenset(axis) for axis in book]
    for image, code in true.axes.items():
        for own, axis in zip(code, labels, strict=True):
            if own not in axis and WILDCARD not in own:
                raise true.rows.error_of(image, "not in the code book", 1, quoted(own), f"a code of {codes}")


def _check_images(true: IrmaCodes, predicted: IrmaCodes, missing_wrong: bool) -> None:
    shape = [len(axis) for axis in next(iter(true.axes.values()))]
    for image, code in predicted.axes.items():
        predicted.rows.check_known(image, true.axes, true.source)
        if [len(axis) for axis in code] != shape:
            raise predicted.rows.error_of(
                image, "not a code of the axes of the ground truth", 1, quoted("-".join(code)),
                f"axes of {', '.join(map(str, shape))} positions",
            )  # fmt: skip
    if not missing_wrong:
        predicted.rows.check_complete(true.axes)
