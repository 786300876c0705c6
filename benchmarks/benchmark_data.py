"""The data of the measurements on images: open vocabularies and ROCOv2, or a collection drawn in their place.

``--data`` or the variable ``CUIHOP_SHARED_DATA`` names a folder with ``rrf_open`` (files of a release) and ``rocov2``
(``test_concepts.csv.gz`` and the like); by default it is ``../shared/data``. Where that folder is not there, both are
drawn into ``.cache``, and the output says so: such times are no times of the real collection.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import shutil
import sys
import tempfile
from itertools import accumulate
from pathlib import Path

from cuihop_tools.synthetic_release import SyntheticRelease, write

__all__ = ["add_data_option"]

_ROOT = Path(__file__).resolve().parents[1]
_VARIABLE = "CUIHOP_SHARED_DATA"
_RELEASE = SyntheticRelease(concepts=26_712, rows=375_000, names=36_496)
_IMAGES = {"test": 9_927, "valid": 9_904, "train": 59_962}
_CONCEPTS = 1_948
_MOST, _CHANCE = 12, 0.22  # concepts of an image: 1 and a binomial number, 3.4 on average


def add_data_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--data``: a folder that holds the data, or the drawn one."""
    parser.add_argument("--data", type=_folder, default="", help=f"folder with rrf_open and rocov2; also ${_VARIABLE}")


def _folder(named: str) -> Path:
    named = named or os.environ.get(_VARIABLE, "")
    folder = Path(named) if named else _ROOT.parent / "shared" / "data"
    if all((folder / part).is_dir() for part in ("rrf_open", "rocov2")):
        return folder
    if named:
        raise argparse.ArgumentTypeError(
            f"{folder}: found no folders rrf_open and rocov2 in it; expected both. Without --data and {_VARIABLE} "
            "a collection is drawn"
        )
    drawn = _ROOT / ".cache" / "benchmark-data"
    if not drawn.exists():
        _draw(drawn)
    print(
        f"Drawn data, for {folder} is not there: a synthetic release of {_RELEASE.concepts:,} concepts, and images "
        f"with {_CONCEPTS:,} of them. Times are not those of ROCOv2."
    )
    sys.stdout.flush()
    return drawn


def _draw(folder: Path) -> None:
    """Write the folder, whole or not at all: several measurements may begin at once."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as made:
        whole = Path(made) / "whole"
        release, collection = whole / "rrf_open", whole / "rocov2"
        release.mkdir(parents=True)
        collection.mkdir()
        names = release / "MRCONSO.RRF"
        cuis = write(release, _RELEASE).numbers.tolist()
        with names.open("rb") as plain, gzip.open(f"{names}.gz", "wb", compresslevel=1) as packed:
            shutil.copyfileobj(plain, packed)
        names.unlink()
        rng = random.Random(1)
        concepts = [f"C{number:07d}" for number in rng.sample(cuis, _CONCEPTS)]
        weights = list(accumulate(1 / rank for rank in range(1, _CONCEPTS + 1)))
        for part, count in _IMAGES.items():
            with gzip.open(collection / f"{part}_concepts.csv.gz", "wt", encoding="utf-8") as file:
                file.write("ID,CUIs\n")
                for number in range(1, count + 1):
                    size = 1 + sum(rng.random() < _CHANCE for _ in range(_MOST - 1))
                    held = dict.fromkeys(rng.choices(concepts, cum_weights=weights, k=size))
                    file.write(f"drawn_{part}_{number:06},{';'.join(held)}\n")
        try:
            whole.rename(folder)
        except OSError:
            if not folder.exists():
                raise
