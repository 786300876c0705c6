"""Concept detection: scikit-learn's F1 as the oracle, the organisers' rules, and every error with its line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuihop.cli import main
from cuihop.errors import InputError
from cuihop.imageclef.concept_detection import evaluate_detection
from cuihop.measures import concept_f1
from cuihop.measures.f1 import MANUAL_CONCEPTS
from examples import examples
from shared_data import shared

concepts = st.frozensets(st.sampled_from(["C0040405", "C0024485", "C0000726", "C1111111", "C2222222"]))


@given(concepts.filter(bool), concepts)
def test_f1_is_that_of_scikit_learn_over_the_union_of_labels(true: frozenset[str], predicted: frozenset[str]) -> None:
    from sklearn.metrics import f1_score

    labels = sorted(true | predicted)
    expected = f1_score([c in true for c in labels], [c in predicted for c in labels], average="binary")
    assert concept_f1(true, predicted) == pytest.approx(expected, abs=1e-15)


def files(folder: Path, truth: str, predictions: str, manual: str = "") -> tuple[Path, Path, Path]:
    paths = folder / "truth.csv", folder / "predictions.csv", folder / "manual.csv"
    for path, text in zip(paths, (truth, predictions, manual), strict=True):
        path.write_text(text)
    return paths


def literal(rows: dict[str, list[str]], predicted: dict[str, list[str]], allowed: frozenset[str] | None) -> float:
    """The evaluator of 2025 as its task describes it: an empty field is one concept without a name."""
    from sklearn.metrics import f1_score

    total, images = 0.0, 0
    for image, listed in rows.items():
        true, found = (
            {c.upper() for c in side if allowed is None or c.upper() in allowed} for side in (listed, predicted[image])
        )
        if true:
            labels = sorted(true | found)
            total += f1_score([c in true for c in labels], [c in found for c in labels], average="binary")
            images += 1
    return total / images


fields = st.lists(st.sampled_from(["C0040405", "c0024485", "C0000726", "C1111111"]), unique=True, max_size=4)


@settings(max_examples=examples(50))
@given(st.lists(st.tuples(fields, fields, fields), min_size=1, max_size=5))
def test_the_official_reading_follows_the_organisers(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[list[str], list[str], list[str]]]
) -> None:
    names = [f"image{i}" for i in range(len(rows))]
    columns = [dict(zip(names, column, strict=True)) for column in zip(*rows, strict=True)]
    texts = ["ID,CUIs\n" + "".join(f"{image},{';'.join(c)}\n" for image, c in column.items()) for column in columns]
    paths = files(tmp_path_factory.mktemp("official"), *texts)
    result = evaluate_detection(*paths, official=True)
    true, predicted, manual = ({image: c or [""] for image, c in column.items()} for column in columns)
    assert result.means["F1"] == pytest.approx(literal(true, predicted, None))
    if any(c.upper() in MANUAL_CONCEPTS for listed in manual.values() for c in listed):
        assert result.means["F1(of=manual)"] == pytest.approx(literal(manual, predicted, MANUAL_CONCEPTS))
    else:
        assert result.means["F1(of=manual)"] is None


def test_an_empty_field_is_empty_unless_the_official_reading_is_asked_for(tmp_path: Path) -> None:
    truth, predictions, _ = files(tmp_path, "a,\nb,C1\n", "b,C1\na,\n")
    assert evaluate_detection(truth, predictions).values.tolist()[1] == [1.0, 1.0, 1.0]
    assert evaluate_detection(truth, predictions).counts.empty_primary == 1
    official = evaluate_detection(truth, predictions, official=True)
    assert (official.means["F1"], official.counts.empty_primary) == (1.0, 0)
    # A prediction without even a comma is no concept, not one without a name.
    predictions.write_text("b,C1\na\n")
    assert evaluate_detection(truth, predictions, official=True).means["F1"] == 0.5


def test_order_case_header_and_carriage_returns_do_not_matter(tmp_path: Path) -> None:
    truth, predictions, _ = files(tmp_path, "ID,CUIs\r\na,C1;C2\r\nb,C3\r\n", "b,c3\na, C2 ;c1\n")
    assert evaluate_detection(truth, predictions).means == {"F1": 1.0, "precision": 1.0, "recall": 1.0}


def test_an_image_whose_name_holds_id_is_no_header(tmp_path: Path) -> None:
    truth, predictions, manual = files(tmp_path, "COVID_1,C1\nb,C2\n", "COVID_1,C9\nb,C2\n", "ID,CUIs\nCOVID_1,\nb,\n")
    found = evaluate_detection(truth, predictions, manual)
    assert found.queries == ("COVID_1", "b")
    assert found.values[:, 0].tolist() == [0.0, 1.0]
    for header in ("ID,CUIs", "ImageID,concepts", "ID"):
        truth.write_text(f"{header}\nb,C2\n")
        predictions.write_text(f"{header}\nb,C2\n")
        assert evaluate_detection(truth, predictions).queries == ("b",)


@pytest.mark.parametrize(
    ("first", "strict", "official"),
    [
        ("ID,CUIs", True, True),
        ("image,concepts", True, False),  # the organisers' evaluator looks for ID
        ("filename,cui", True, False),
        ("ID", True, True),
        ("ID,", True, True),
        ("x,", False, False),  # an image without concepts
        ("x,C1", False, False),
        ("COVID_1,C1", False, False),
        ("x,HP:0001250", False, False),
    ],
)
def test_a_header_is_a_first_line_whose_second_column_holds_no_digit(
    tmp_path: Path, first: str, strict: bool, official: bool
) -> None:
    truth, predictions, _ = files(tmp_path, f"{first}\nb,C2\n", f"{first}\nb,C2\n")
    for way, header in ((False, strict), (True, official)):
        found = evaluate_detection(truth, predictions, official=way)
        assert (found.queries == ("b",)) == header
        assert ("no header" in found.inputs["truth"]) == (not header)


def test_columns_are_chosen_by_name(tmp_path: Path) -> None:
    truth, predictions, _ = files(tmp_path, "terms,file\nC1;C2,a\nC3,b\n", '{"file": "a", "terms": ["C1"], "n": 1}\n'
                                  '{"file": "b", "terms": "C3", "n": 2}\n')  # fmt: skip
    found = evaluate_detection(truth, predictions, image_column="file", concept_column="terms")
    assert found.values[:, 0].tolist() == [pytest.approx(2 / 3), 1.0]
    assert "header 'terms,file', 0 malformed, columns file and terms" in found.inputs["truth"]
    with pytest.raises(InputError, match=r"predictions\.csv, line 1: wrong number of columns.*--concept-column"):
        evaluate_detection(truth, predictions)


@pytest.mark.parametrize("official", [False, True])
def test_an_empty_list_of_json_lines_is_no_concept(tmp_path: Path, official: bool) -> None:
    rows = '{"ID": "a", "CUIs": ["C1"]}\n{"ID": "b", "CUIs": []}\n{"ID": "c", "CUIs": null}\n'
    truth, predictions, _ = files(tmp_path, rows, rows)
    found = evaluate_detection(truth, predictions, official=official)
    assert (found.means["F1"], found.counts.empty_primary) == (1.0, 2)


def test_the_manual_ground_truth_holds_no_other_image(tmp_path: Path) -> None:
    truth, predictions, manual = files(tmp_path, "a,C1\n", "a,C1\n", "a,C1\nb,C2\n")
    with pytest.raises(InputError, match=r"manual\.csv, line 2, column 1: not an image of the ground truth; found 'b'"):
        evaluate_detection(truth, predictions, manual)


@pytest.mark.slow
def test_rocov2_against_its_own_manual_subset() -> None:
    truth, manual = shared("rocov2/test_concepts.csv.gz"), shared("rocov2/test_concepts_manual.csv.gz")
    perfect = evaluate_detection(truth, truth, truth)
    assert set(perfect.means.values()) == {1.0}
    assert perfect.counts.images == 9927
    result = evaluate_detection(manual, truth, manual)
    assert result.counts.empty_primary == result.counts.unfilled == 105  # the count of empty fields in the file


@pytest.mark.parametrize(
    ("predictions", "line", "message"),
    [
        ("a,C1\nb,C2;C3,C4\nc,\n", 2, "wrong number of columns"),
        ("a,C1\nb,C2\nx,C3\n", 3, "not an image of the ground truth"),
        ("a,C1\nb,C2\na,C3\n", 3, "an image stands twice; found 'a', as in line 1"),
        (f"a,C1\nb,{';'.join(f'C{i}' for i in range(101))}\nc,\n", 2, "too many concepts.*101.*at most 100"),
        ("ID,CUIs\na,C1\nb,C2;C5;c2\nc,\n", 3, "a concept stands twice.*'C2'"),
        ("a,C1\nb,C2;\nc,\n", 2, "a concept is missing"),
        ("a,C1\nb,C2\n", 2, "missing when the file ends: c"),
        ("a,C1\n,C2\nc,\n", 2, "the image is missing"),
        ('a,"C1\nb,C2\n', 1, "not CSV"),
    ],
)
def test_every_error_of_the_organisers_has_its_line(tmp_path: Path, predictions: str, line: int, message: str) -> None:
    truth, path, _ = files(tmp_path, "a,C1\nb,C2\nc,\n", predictions)
    with pytest.raises(InputError, match=message) as caught:
        evaluate_detection(truth, path)
    assert (caught.value.file, caught.value.line) == (str(path), line)


def test_a_hundred_concepts_are_allowed_and_the_truth_may_have_more(tmp_path: Path) -> None:
    many = ";".join(f"C{i}" for i in range(150))
    truth, predictions, _ = files(tmp_path, f"a,{many}\n", f"a,{';'.join(many.split(';')[:100])}\n")
    assert evaluate_detection(truth, predictions).means["F1"] == pytest.approx(200 / 250)


def test_the_manual_truth_holds_every_image(tmp_path: Path) -> None:
    truth, predictions, manual = files(tmp_path, "a,C1\nb,C2\n", "a,C1\nb,C2\n", "a,C0040405\n")
    with pytest.raises(InputError, match="1 missing when the file ends: b") as caught:
        evaluate_detection(truth, predictions, manual)
    assert caught.value.file == str(manual)


def test_files_without_images(tmp_path: Path) -> None:
    truth, predictions, _ = files(tmp_path, "ID,CUIs\n", "a,C1\n")
    with pytest.raises(InputError, match="holds no image"):
        evaluate_detection(truth, predictions)
    with pytest.raises(InputError, match="no such file"):
        evaluate_detection(tmp_path / "none.csv", predictions)


# The commands


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> int:
    monkeypatch.setattr(sys, "argv", ["cuihop", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        main()
    return stop.value.code if isinstance(stop.value.code, int) else 0


def test_the_command_prints_both_scores_and_an_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    truth, predictions, manual = files(tmp_path, "a,C1;C0040405\nb,\n", "a,C0040405\nb,C1\n", "a,C0040405\nb,\n")
    output = tmp_path / "out.csv"
    assert run(monkeypatch, "score", "concepts", truth, predictions, "--manual-truth", manual, "-o", output) == 0
    words = " ".join(capsys.readouterr().out.split())
    for part in (
        "F1 images 1.0000 0.5000 0.6667 0.6667 to 0.6667 1 image", "F1 micro 0.5000 0.5000 0.5000",
        "F1(of=manual) images 1.0000 1.0000 1.0000 1.0000 to 1.0000 1 image",
        "2 images, 2 true and 2 predicted concepts",
        "primary: 1 image without a true concept, left out of the mean",
        "secondary: 1 image without a true concept", "1 empty field in the ground truth: read as no concept",
    ):  # fmt: skip
        assert part in words
    assert output.read_text() == (
        "query,true,predicted,right,F1,precision,recall,F1(of=manual)\n"
        "a,2,1,1,0.6666666666666666,1.0,0.5,1.0\nb,0,1,0,,,,\n"
    )
    assert run(monkeypatch, "score", "concepts", truth, predictions, "--official", "2025", "--json") == 0
    (answer,) = json.loads(capsys.readouterr().out)["systems"]
    assert answer["means"] == {"F1": pytest.approx(1 / 3), "precision": 0.5, "recall": 0.25}
    assert answer["parameters"]["official"] is True


def test_the_irma_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    truth, predictions = tmp_path / "truth.txt", tmp_path / "predictions.txt"
    truth.write_text("1 318a-12\n2,318a-12\n")
    predictions.write_text("2 318*-12\n1 318a-12\n")
    assert run(monkeypatch, "score", "irma", truth, predictions, "--branching", "2", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["means"] == {"IRMA(b=2)": pytest.approx(0.06 / 2 / 2), "ER": 0.5}
    assert (answer["counts"]["right"], answer["counts"]["wildcards"]) == (1, 1)
    codes = tmp_path / "codes.txt"
    codes.write_text("318a-12 meaning of it\n3181-13\n200b-22\n")
    assert run(monkeypatch, "score", "irma", truth, predictions, "--codes", codes) == 0
    words = " ".join(capsys.readouterr().out.split())
    # b along 318a: 2, 1, 1, 2; the last position weighs 1/8 of 1/2 + 1/2 + 1/3 + 1/8.
    assert f"IRMA {0.5 * (1 / 8) / (1 / 2 + 1 / 2 + 1 / 3 + 1 / 8) / 2 / 2:.4f} 2" in words
    assert "2 images, 1 wholly right" in words
    predictions.write_text("1 318a-12\n")
    assert run(monkeypatch, "score", "irma", truth, predictions, "--branching", "2") == 3
    assert "line 1: images of the ground truth are missing" in " ".join(capsys.readouterr().err.split())
    assert run(monkeypatch, "score", "irma", truth, predictions, "--branching", "2", "--missing-wrong") == 0
    assert "IRMA(b=2) 0.5000 2" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("truth", "predictions", "arguments", "code", "message"),
    [
        ("1 31", "1 31", (), 2, "either --codes FILE or --branching"),
        ("1 31\n1 31", "1 31", ("--branching", "2"), 3, "truth, line 2, column 1: an image stands twice"),
        ("1 31\n2 3", "1 31", ("--branching", "2"), 3, "truth, line 2, column 2: not a code of these axes"),
        ("1 3*", "1 31", ("--branching", "2"), 3, "truth, line 1, column 2: the correct code is not wholly specified"),
        ("1 31", "1 31\n2 31", ("--branching", "2"), 3, "predictions, line 2, column 1: not an image of the ground"),
        ("1 31", "1 3", ("--branching", "2"), 3, "predictions, line 1, column 2: not a code of the axes"),
        ("1 31", "1", ("--branching", "2"), 3, "predictions, line 1: wrong number of columns"),
        ("1 31", "", ("--branching", "2"), 3, "predictions: the file holds no image"),
        ("1 41", "1 31", ("--codes", "truth"), 0, ""),
        ("1 41", "1 31", ("--codes", "predictions-codes"), 3, "line 1, column 2: not in the code book"),
        ("1 41", "1 31", ("--codes", "empty"), 3, "the file holds no code"),
    ],
)
def test_codes_that_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    truth: str, predictions: str, arguments: tuple[str, ...], code: int, message: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("truth").write_text(truth)
    Path("predictions").write_text(predictions)
    Path("predictions-codes").write_text("31\n")
    Path("empty").write_text("")
    if arguments == ("--codes", "truth"):
        Path("codes").write_text("41\n31\n")
        arguments = ("--codes", "codes")
    assert run(monkeypatch, "score", "irma", "truth", "predictions", *arguments) == code
    assert message in " ".join(capsys.readouterr().err.split())
