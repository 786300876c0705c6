"""Captions and values of captions from every form of input, and the place of every fault."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from cuihop.captions import Captions, ExternalScores, score_captions
from cuihop.errors import InputError
from cuihop.measures import Measure

TEXTS = {"img1": 'CT, "3.5" cm', "img2": "", "img3": " two\nlines; \t", "img4": "β"}
CSV = 'ID,Caption\nimg1,"CT, ""3.5"" cm"\nimg2,\nimg3," two\nlines; \t"\nimg4,β\n'


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_one_content_in_every_form(tmp_path: Path) -> None:
    lines = "".join(json.dumps({"caption": text or None, "id": image}) + "\n" for image, text in TEXTS.items())
    table = tmp_path / "c.parquet"
    columns = {"image": [0] * 4, "image_id": list(TEXTS), "caption": [text or None for text in TEXTS.values()]}
    pa.parquet.write_table(pa.table(columns), table)
    tabs = 'image\tcaption\nimg1\t"CT, ""3.5"" cm"\nimg2\t\nimg3\t" two\nlines; \t"\nimg4\tβ\n'
    read = [
        Captions.read(written(tmp_path, "c.csv", CSV)),
        Captions.read(written(tmp_path, "c2.csv", "\ufeff" + CSV), official=True),
        Captions.read(written(tmp_path, "c3.csv", CSV.removeprefix("ID,Caption\n"))),
        Captions.read(written(tmp_path, "c.csv.gz", gzip.compress(CSV.encode()))),
        Captions.read(written(tmp_path, "c.tsv", tabs)),
        Captions.read(written(tmp_path, "c.jsonl", lines)),
        Captions.read(table),
        Captions.of(TEXTS),
    ]
    for captions in read:
        assert dict(captions) == TEXTS
        assert captions.digest == read[0].digest
        assert captions.empty == 1
    assert "no header" in read[2].account
    assert "gzip" in read[3].account
    assert "without image" in read[6].account


FAULTS = {
    "an image twice": (CSV + "img1,again\n", "line 7, column 1: an image stands twice; found 'img1', as in line 2"),
    "an unknown image": (CSV + "img9,x\n", "line 7, column 1: not an image of the ground truth; found 'img9'"),
    "a missing image": (CSV.replace("img4,β\n", ""), "images of the ground truth are missing; found 1 missing"),
    "no caption": (CSV.replace("img2,\n", "img2\n"), "line 3: wrong number of columns; found 1"),
    "three fields": (CSV + "img9,x,y\n", "line 7: wrong number of columns; found 3"),
    "no image": (CSV + ",x\n", "line 7, column 1: the identifier is missing"),
    "an open quote": (CSV + 'img9,"x\n', "not CSV"),
    "nothing": ("", "the file is empty"),
    "a header only": ("ID,Caption\n", "holds no caption"),
    "another encoding": (CSV.encode("utf-16"), "not UTF-8"),
    "a NUL character": (CSV.replace("β", "\0"), "NUL"),
    "a number": ('{"id": "img1", "caption": 3}\n', "line 1"),
    "a long caption": (CSV.replace("β", "β" * (1 << 20) + "x"), "line 6, column 2: the text is too long"),
}


@pytest.mark.parametrize(("content", "words"), FAULTS.values(), ids=FAULTS)
def test_every_fault_names_its_place(content: str | bytes, words: str, tmp_path: Path) -> None:
    path = written(tmp_path, "predictions.csv", content)
    with pytest.raises(InputError) as raised:
        score_captions(TEXTS, Captions.read(path))
    assert words in str(raised.value)
    assert "predictions.csv" in str(raised.value)


def test_the_programs_header_is_id_in_either_case_and_nothing_else(tmp_path: Path) -> None:
    for header, images in (("id,text", ["a"]), ("ID,x", ["a"]), ("image,caption", ["image", "a"])):
        path = written(tmp_path, "c.csv", f"{header}\na,b\n")
        assert list(Captions.read(path, official=True)) == images
    assert list(Captions.read(path)) == ["a"]


SCORES = "ID,BERTScore,BLEURT,external(name=CIDEr)\na,0.5,-0.25,3\nb,1,1.5,0\n"


def test_values_computed_elsewhere(tmp_path: Path) -> None:
    columns = {"ID": ["a", "b"], "BERTScore": [0.5, 1], "BLEURT": [-0.25, 1.5], "external(name=CIDEr)": [3, 0]}
    table = tmp_path / "s.parquet"
    pa.parquet.write_table(pa.table(columns), table)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    for path in (written(tmp_path, "s.csv", SCORES), written(tmp_path, "s.jsonl", lines), table):
        found = score_captions({"b": "x", "a": "y"}, {"a": "x", "b": "y"}, scores=[ExternalScores.read(path)])
        assert found.queries == ("b", "a")
        means = {name: mean for name, mean in found.means.items() if name != "ROUGE-1"}
        assert means == {"BERTScore": 0.75, "BLEURT": 0.625, "external(name=CIDEr)": 1.5}
        assert found.values[:, found.measures.index(Measure("BLEURT"))].tolist() == [1.5, -0.25]


WRONG_SCORES = {
    "beyond the limits": (SCORES.replace("0.5", "1.5"), "line 2, column 2: not a value of the measure; found '1.5'"),
    "no number": (SCORES.replace("-0.25", "low"), "line 2, column 3: not a value of the measure; found 'low'"),
    "nothing": (SCORES.replace("-0.25", ""), "line 2, column 3"),
    "infinite": (SCORES.replace("-0.25", "inf"), "line 2, column 3"),
    "no measure": (SCORES.replace("BLEURT", "CIDEr"), "line 1: a column that is no measure of captions; found 'CIDEr'"),
    "a measure of rankings": (SCORES.replace("BLEURT", "P@5"), "a column that is no measure of captions"),
    "a measure twice": (SCORES.replace("BLEURT", "BERTScore"), "a measure stands twice"),
    "images alone": ("ID\na\n", "no measure"),
    "an image twice": (SCORES + "a,1,1,1\n", "line 4, column 1: an image stands twice"),
    "an unknown image": (SCORES + "c,1,1,1\n", "line 4, column 1: not an image of the ground truth"),
    "a missing image": (SCORES.replace("b,1,1.5,0\n", ""), "images of the ground truth are missing"),
    "a header only": (SCORES.partition("\n")[0], "holds no value"),
    "an empty file": ("", "the file is empty"),
}


@pytest.mark.parametrize(("content", "words"), WRONG_SCORES.values(), ids=WRONG_SCORES)
def test_every_fault_of_values_names_its_place(content: str, words: str, tmp_path: Path) -> None:
    path = written(tmp_path, "scores.csv", content)
    with pytest.raises(InputError) as raised:
        score_captions({"a": "x", "b": "y"}, {"a": "x", "b": "y"}, scores=[ExternalScores.read(path)])
    assert words in str(raised.value)
    assert "scores.csv" in str(raised.value)
