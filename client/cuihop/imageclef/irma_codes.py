"""IRMA codes of images in files, and the hierarchical error over all of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuihop.collection.columns import IMAGE_NAMES, Columns, place_of_column
from cuihop.collection.concept_rows import check_image
from cuihop.collection.same_images import check_every_image, check_image_of_truth
from cuihop.errors import InputError
from cuihop.evaluation.result import Details, MeasuredQueries
from cuihop.files.content_digest import content_digest
from cuihop.files.input_file import InputFile, Readable, opened_input
from cuihop.files.likely_causes import cause_of_columns
from cuihop.files.records import Records, RowFault
from cuihop.files.text_lines import counted, decoded_lines, delimiter_of, first_line, quoted
from cuihop.measures.code_error_rate import code_error
from cuihop.measures.irma_error import WILDCARD, Branching, branching_of, irma_error
from cuihop.measures.measure import Measure
from cuihop.resources.versions import versions

__all__ = ["IrmaCodes", "IrmaCounts", "IrmaEvaluation", "evaluate_irma", "evaluate_irma_each"]

_EXPECTED = "the image and its code, separated by a comma, a tab or a space"
_EXPECTED_IN_BOOK = "one code in each line"
_COLUMNS = Columns(
    usual=(IMAGE_NAMES, ("code", "irma_code")), contents="images and codes", expected=_EXPECTED,
    advice="Call them image and code.",
)  # fmt: skip
_BETWEEN = re.compile(r'[,;"]')
_POSITIONS = re.compile(r"[0-9a-z*]+")
_NOT_A_NAME = re.compile(r"[0-9*]")  # in every code, and in no name of a column
_FOUR_AXES = re.compile(r"[0-9a-z*]{4}(-[0-9a-z*]{3}){3}")  # of IRMA: technique, direction, anatomy, system


@dataclass(frozen=True, eq=False)
class IrmaCodes:
    """Image → its code, split into axes: ``1121-120-800-700`` has four.

    Attributes:
        axes: image → the code of each axis. All images have the same axes.
        rows: image → the line or row it stands in. fault: makes the error about one.
        source: the file.
        form: how it was read, for the account.
    """

    axes: Mapping[str, tuple[str, ...]]
    rows: Mapping[str, int]
    fault: RowFault
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
        found = _fields(opened_input(path), _COLUMNS)
        fault, header = found.fault, None
        axes: dict[str, tuple[str, ...]] = {}
        rows: dict[str, int] = {}
        shape: list[int] = []
        for row, fields in found.rows:
            if len(fields) != 2:
                raise InputError(
                    "wrong number of columns", file=found.source, line=row,
                    found=f"{len(fields)} in {quoted(' '.join(fields))}", expected=_EXPECTED,
                    advice=cause_of_columns(fields, 2, " "),
                )  # fmt: skip
            if row == 1 and not found.named and _NOT_A_NAME.search(fields[1]) is None:
                header = " ".join(fields)
                continue
            image, code = fields[0], _axes(fields[1], shape, row, fault)
            shape = shape or [len(axis) for axis in code]
            if not image or image in axes:
                check_image(image, row, rows.get(image), fault)
            axes[image], rows[image] = code, row
        if not axes:
            raise fault.empty("image", _EXPECTED)
        if all(_FOUR_AXES.fullmatch(image) for image in axes) and len(shape) == 1:
            image = next(iter(axes))
            problem = "the image looks like a code: are the columns swapped?"
            raise fault(problem, rows[image], 0, quoted(image), _EXPECTED)
        first = "no header" if header is None else f"header {quoted(header)}"
        form = ", ".join(filter(None, ("" if found.named else first, "0 malformed", found.form)))
        return cls(axes, rows, fault, found.source, form)


@dataclass(frozen=True, eq=False)
class _Fields:
    """The fields of each row, with its number.

    Attributes:
        rows: the fields. fault: makes the error about a row. source: the file.
        form: compression, form and columns. named: the columns were chosen by their names.
    """

    rows: Iterator[tuple[int, list[str]]]
    fault: RowFault
    source: str
    form: str
    named: bool


def _fields(file: InputFile, columns: Columns) -> _Fields:
    """Two columns of a table, or the words of each line of a text."""
    text = None if file.form == "table" else first_line(decoded_lines(file))
    in_lines = text is not None and not text[0].lstrip().startswith("{")
    if text is not None and in_lines and not columns.in_header(text[0].split(delimiter_of(text[0]))):
        return _Fields(_words(text[1]), RowFault(file.name), file.name, file.compression, named=False)
    records = Records.of(file, _EXPECTED, text)
    chosen = columns.choose(records)
    places = chosen.first, chosen.second
    form = ", ".join(filter(None, (records.form, chosen.account)))
    rows = records.texts(places, "not a text", needed=places)
    return _Fields(rows, records.row_fault(places), records.source, form, named=True)


def _words(texts: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """The words of each line that is not empty, with its number."""
    for line, text in enumerate(texts, start=1):
        fields = _BETWEEN.sub(" ", text).split()
        if fields:
            yield line, [*([""] if text[0] in ",;" else []), *fields]  # an index column has no name


def _axes(text: str, shape: Sequence[int], row: int, fault: RowFault) -> tuple[str, ...]:
    """The axes of a code, each of the length in ``shape``; of any length if that is empty."""
    code, column = tuple(text.split("-")), len(fault.columns) - 1
    if not all(map(_POSITIONS.fullmatch, code)):
        expected = "digits, lower-case letters and '*', the axes separated by '-'"
        raise fault("not a code", row, column, quoted(text), expected)
    if shape and [len(axis) for axis in code] != list(shape):
        expected = f"axes of {', '.join(map(str, shape))} positions, separated by '-'"
        raise fault("not a code of these axes", row, column, quoted(text), expected)
    if _NOT_A_NAME.search(text) is None:
        raise fault("not a code", row, column, quoted(text), "at least a digit or a '*'", "Are the columns swapped?")
    return code


def read_code_book(file: InputFile) -> tuple[list[tuple[str, ...]], str]:
    """For each axis all its codes, one in each line of a text or in the column ``code``; and the digest of the content.

    Text after a code, such as its meaning, is ignored.

    Raises:
        InputError: the file is empty, or a code is malformed, or has other axes than the first one.
    """
    text = None if file.form == "table" else first_line(decoded_lines(file))
    fault, content = RowFault(file.name, [1]), list[str]()
    if text is None or text[0].lstrip().startswith("{"):
        records = Records.of(file, _EXPECTED_IN_BOOK, text)
        place = 0 if len(records.names) == 1 else place_of_column(records, "code")
        rows, fault = list(records.texts([place], needed=[place])), records.row_fault([place])
        content = [code for _, (code,) in rows]
    else:
        content = list(text[1])
        rows = [(line, words) for line, words in _words(content) if line > 1 or _NOT_A_NAME.search(words[0])]
    codes: list[tuple[str, ...]] = []
    for row, words in rows:
        codes.append(_axes(words[0], [len(axis) for axis in codes[0]] if codes else (), row, fault))
    if not codes:
        raise fault.empty("code", _EXPECTED_IN_BOOK)
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
    """The result of `evaluate_irma`: for each image its error, the mean over its axes, and 1 unless it is wholly right.

    Its `counts` are `IrmaCounts`.

    Attributes:
        axis_errors: float64, shape (images, axes).
        codes: the correct code of each image.
    """

    axis_errors: npt.NDArray[np.float64]
    codes: tuple[str, ...]


def evaluate_irma(
    truth: Readable,
    predictions: Readable,
    *,
    codes: Readable | None = None,
    branching: int | None = None,
    missing_wrong: bool = False,
) -> IrmaEvaluation:
    """Score predicted codes: the mean over images of the mean over axes of `cuihop.measures.irma_error`.

    Beside it the error rate, ER: the share of images whose code is not wholly right; one with a ``*`` is not.

    Args:
        truth: image and correct code, every position specified.
        predictions: of the same images and axes; may hold ``*``.
        codes: all codes of the hierarchy, the correct ones among them: b_i is counted in it.
        branching: instead, one b for every position.
        missing_wrong: an image without a prediction is all wrong instead of an error.

    Raises:
        InputError: a file is not as expected; images are unknown or missing; names the line.
    """
    several = {"": predictions}
    found = evaluate_irma_each(truth, several, codes=codes, branching=branching, missing_wrong=missing_wrong)
    return found[""]


def evaluate_irma_each(
    truth: Readable,
    predictions: Mapping[str, Readable],
    *,
    codes: Readable | None = None,
    branching: int | None = None,
    missing_wrong: bool = False,
) -> dict[str, IrmaEvaluation]:
    """Score the codes of several systems: `evaluate_irma` of each, with the ground truth read once.

    Args:
        predictions: name of a system → its codes.
        truth, codes, branching, missing_wrong: as in `evaluate_irma`.

    Raises:
        InputError: as `evaluate_irma`.
    """
    if (codes is None) == (branching is None):
        raise InputError("the number of possible labels is missing", expected="either codes or branching")
    true = IrmaCodes.read(truth)
    hierarchy = _hierarchy(true, codes, branching)
    found = {}
    for name, given in predictions.items():
        predicted = IrmaCodes.read(given)
        _check_images(true, predicted, missing_wrong)
        found[name] = _scored(true, predicted, hierarchy, missing_wrong=missing_wrong)
    return found


@dataclass(frozen=True)
class _Hierarchy:
    """Possible labels: of each axis, and the code book that they were counted in, or one number of all.

    Attributes:
        labels: b of each axis. branching: the one number. book, digest: name and content of the code book.
        account: how it was read.
    """

    labels: Sequence[Branching | int]
    branching: int | None = None
    book: str | None = None
    digest: str | None = None
    account: str | None = None


def _hierarchy(true: IrmaCodes, codes: Readable | None, branching: int | None) -> _Hierarchy:
    count = len(next(iter(true.axes.values())))
    if codes is None:
        return _Hierarchy([branching or 0] * count, branching)
    file = opened_input(codes)
    book, digest = read_code_book(file)
    if len(book) != count:
        raise InputError(
            "the code book has other axes", file=file.name, found=f"{len(book)}",
            expected=f"{count}, as in {true.source}",
        )  # fmt: skip
    _check_code_book(true, book, file.name)
    account = f"{file.name}: {counted(len(book[0]), 'code')}"
    return _Hierarchy([branching_of(axis) for axis in book], None, file.name, digest, account)


def _scored(true: IrmaCodes, predicted: IrmaCodes, hierarchy: _Hierarchy, *, missing_wrong: bool) -> IrmaEvaluation:
    errors = np.ones((len(true.axes), len(hierarchy.labels)), dtype=np.float64)
    rates = np.ones(len(true.axes), dtype=np.float64)
    for row, (image, correct) in enumerate(true.axes.items()):
        if image in predicted.axes:
            rates[row] = code_error("-".join(correct), "-".join(predicted.axes[image]))
            for axis, own in enumerate(correct):
                errors[row, axis] = _error(own, predicted.axes[image][axis], hierarchy.labels[axis], true, image)
    means = errors.mean(axis=1)
    branching = hierarchy.branching
    measures = (Measure("IRMA", options=() if branching is None else (("b", branching),)), Measure("ER"))
    counts = IrmaCounts(
        images=len(true.axes),
        right=int((rates == 0).sum()),
        wildcards=sum(any(WILDCARD in axis for axis in code) for code in predicted.axes.values()),
        missing=tuple(image for image in true.axes if image not in predicted.axes),
        error_sum=float(means.sum()),
    )
    inputs = {"truth": true.account, "predictions": predicted.account}
    inputs |= {} if hierarchy.account is None else {"codes": hierarchy.account}
    parameters = {
        "measures": list(map(str, measures)),
        "truth": true.source,
        "predictions": predicted.source,
        "digests": {
            "truth": content_digest({image: list(code) for image, code in true.axes.items()}),
            "codes": hierarchy.digest,
        },
        "codes": hierarchy.book,
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
        raise true.fault(error.problem, true.rows[image], 1, error.found or "", error.expected or "") from None


def _check_code_book(true: IrmaCodes, book: Sequence[Sequence[str]], codes: str) -> None:
    """Refuse a code book that lacks a correct code: it would have too few possible labels."""
    labels = [frozenset(axis) for axis in book]
    for image, code in true.axes.items():
        for own, axis in zip(code, labels, strict=True):
            if own not in axis and WILDCARD not in own:
                raise true.fault("not in the code book", true.rows[image], 1, quoted(own), f"a code of {codes}")


def _check_images(true: IrmaCodes, predicted: IrmaCodes, missing_wrong: bool) -> None:
    shape = [len(axis) for axis in next(iter(true.axes.values()))]
    for image, code in predicted.axes.items():
        check_image_of_truth(image, true.axes, true.source, predicted.rows, predicted.fault)
        if [len(axis) for axis in code] != shape:
            raise predicted.fault(
                "not a code of the axes of the ground truth", predicted.rows[image], 1, quoted("-".join(code)),
                f"axes of {', '.join(map(str, shape))} positions",
            )  # fmt: skip
    if not missing_wrong:
        check_every_image(true.axes, predicted.rows, predicted.fault)
