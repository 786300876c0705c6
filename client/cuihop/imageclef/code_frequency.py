"""Errors of each code, and by its frequency in training (ImageCLEFmed 2007, Figure 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cuihop.errors import InputError
from cuihop.evaluation.means import number_text
from cuihop.files.input_file import Readable
from cuihop.files.text_lines import quoted
from cuihop.imageclef.frequency_ranges import frequency_range, range_text
from cuihop.imageclef.irma_codes import IrmaCodes, IrmaEvaluation
from cuihop.measures.irma_error import WILDCARD
from cuihop.notebooks.figures import drawing, saved_figure
from cuihop.notebooks.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CodeErrors", "TrainingCodes", "code_errors", "frequency_figure", "frequency_table"]


@dataclass(frozen=True)
class TrainingCodes:
    """Codes of the training images.

    Attributes:
        times: code → number of images that have it. account: how the file was read.
    """

    times: Mapping[str, int]
    account: str

    @classmethod
    def read(cls, path: Readable) -> TrainingCodes:
        """Read images and codes in any form of `IrmaCodes.read`.

        Raises:
            InputError: as `IrmaCodes.read`; or a code is not wholly specified.
        """
        codes = IrmaCodes.read(path)
        for image, code in codes.axes.items():
            if any(WILDCARD in axis for axis in code):
                problem = "a code of training is not wholly specified"
                raise codes.fault(problem, codes.rows[image], 1, quoted("-".join(code)), f"no {WILDCARD!r}")
        return cls(Counter("-".join(code) for code in codes.axes.values()), f"training: {codes.account}")


@dataclass(frozen=True, slots=True)
class CodeErrors:
    """Errors of one correct code, relative to its images.

    Attributes:
        code: the code. training: number of training images that have it. images: number that have it here.
        error: the mean hierarchical error of these images, over all systems. error_rate: of these images.
    """

    code: str
    training: int
    images: int
    error: float
    error_rate: float


def code_errors(found: Sequence[IrmaEvaluation], training: TrainingCodes) -> list[CodeErrors]:
    """Errors of each correct code, the least frequent in training first, equal ones by name.

    Args:
        found: the results of one or more systems on the same images. training: codes of the training images.

    Raises:
        InputError: there is no system, or no code stands in training: other axes, or another collection.
    """
    if not found:
        raise InputError("no system to score", expected="one or more")
    codes = np.array(found[0].codes)
    if not any(code in training.times for code in found[0].codes):
        raise InputError(
            "no correct code is among those of the training images", found=found[0].codes[0],
            expected=f"codes such as {next(iter(training.times))}", advice="Are they of another collection?",
        )  # fmt: skip
    means = np.mean([each.values for each in found], axis=0)
    errors = []
    for code in sorted(set(found[0].codes), key=lambda each: (training.times.get(each, 0), each)):
        error, rate = means[codes == code].mean(axis=0).tolist()
        errors.append(CodeErrors(code, training.times.get(code, 0), int((codes == code).sum()), error, rate))
    return errors


def frequency_table(errors: Sequence[CodeErrors]) -> Table:
    """A row for each range of frequencies: 0, 1 to 9, 10 to 99, and on by powers of ten; means over the codes.

    Args:
        errors: of `code_errors`.
    """
    ranges: dict[tuple[int, int], list[CodeErrors]] = {}
    for each in errors:
        ranges.setdefault(frequency_range(each.training), []).append(each)
    rows = [
        (range_text(low, high), f"{len(of):,}", f"{sum(each.images for each in of):,}",
         number_text(float(np.mean([each.error for each in of]))),
         number_text(float(np.mean([each.error_rate for each in of]))))
        for (low, high), of in sorted(ranges.items())
    ]  # fmt: skip
    titles = ("training images", "codes", "images", "mean error", "mean ER")
    return Table(titles, rows, "frequency", "Errors of the codes by their frequency in training.")


def frequency_figure(errors: Sequence[CodeErrors], path: str | Path | None = None) -> Figure:
    """The error rate of each code against its frequency in training, on a logarithmic axis with 0 at its left.

    Written to ``path`` (.svg, .png, .pdf) if given.

    Raises:
        ModuleNotFoundError: matplotlib is not installed. InputError: another suffix. OutputError: it cannot be written.
    """
    with drawing():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.0, 3.6), layout="constrained")
        axes = figure.add_subplot()
        axes.scatter([each.training for each in errors], [each.error_rate for each in errors], s=14, alpha=0.7)
        axes.set_xscale("symlog", linthresh=1)
        axes.set_xlim(left=0)
        axes.set_ylim(-0.02, 1.02)
        axes.set_xlabel("images of the code in training")
        axes.set_ylabel("error rate of the code")
    return saved_figure(figure, path)
