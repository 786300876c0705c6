"""Files of scored pairs in the forms in which they are published, and refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuihop.agreement.scored_pairs import ScoredPair, ScoredPairs
from cuihop.errors import InputError
from shared_data import shared

FORMS = {
    "no header, tabs": "renal failure\tkidney failure\t4\nabortion\tmiscarriage\t3.15\n",
    "score first": "4,renal failure,kidney failure\n3.15,abortion,miscarriage\n",
    "names unknown": "left;right;people\nrenal failure;kidney failure;4\nabortion;miscarriage;3.15\n",
    "names known": "score\tb\ta\n4\tkidney failure\trenal failure\n3.15\tmiscarriage\tabortion\n",
    "quotes": '"Term 1","Term 2","Mean"\n"renal failure","kidney failure","4"\n"abortion","miscarriage","3.15"\n',
    "Windows": "\ufeffWord1,Word2,Similarity\r\nrenal failure,kidney failure,4\r\nabortion,miscarriage,3.15\r\n\r\n",
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "gold.csv"


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_two_terms_and_a_score(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8", newline="")
    assert list(ScoredPairs.read(file)) == [
        ScoredPair("renal failure", "kidney failure", 4.0),
        ScoredPair("abortion", "miscarriage", 3.15),
    ]


PUBLISHED = [
    "Mean,Stdev,Term1,Term2,CUI1,CUI2\n1600,10.5,Renal failure,Kidney failure,C0035078,c0035078\n",
    "Mean,CUI1,CUI2,TERM1,TERM2\n1600,C0035078,C0035078,Renal failure,Kidney failure\n",
    "Renal failure,Kidney failure,1600,C0035078,C0035078\n",
]


@pytest.mark.parametrize("text", PUBLISHED)
def test_concepts_of_the_file_are_read(file: Path, text: str) -> None:
    file.write_text(text)
    read = ScoredPairs.read(file)
    assert list(read) == [ScoredPair("Renal failure", "Kidney failure", 1600.0, "C0035078", "C0035078")]


def test_identifiers_are_terms_where_there_are_no_others(file: Path) -> None:
    file.write_text("CUI1,CUI2,Mean\nC0035078,C0035079,4\n")
    assert list(ScoredPairs.read(file)) == [ScoredPair("C0035078", "C0035079", 4.0)]


def test_several_scores_need_a_choice(file: Path) -> None:
    file.write_text("Physicians,Coders,TERM1,TERM2\n4,3.5,renal failure,kidney failure\n")
    with pytest.raises(InputError, match=r"several columns of scores.*Physicians,Coders.*--score-column"):
        ScoredPairs.read(file)
    assert [pair.score for pair in ScoredPairs.read(file, score_column="coders")] == [3.5]
    file.write_text("4\t3.5\trenal failure\tkidney failure\n")
    assert [pair.score for pair in ScoredPairs.read(file, score_column="2")] == [3.5]


def test_the_account_names_columns_and_repetitions(file: Path) -> None:
    file.write_text("hip fracture, closed\tbroken hip\t4\nbroken hip\thip fracture, closed\t3\n")
    read = ScoredPairs.read(file)
    assert read.account == f"{file}: 2 pairs, 1 of them a repetition, tabs, no header, columns 1, 2, 3"
    assert read[0].a == "hip fracture, closed"
    assert repr(read) == f"<ScoredPairs of {file}: 2 pairs>"


WRONG = {
    "": "wrong number of columns",
    "term1,term2,score\n": "holds no pair",
    "a,b,score\nx,,3\n": "line 2, column 2.*not a term",
    "a,b,score\nx,y,3\nx,z,high\n": "line 3, column 3.*not a score.*'high'",
    "a,b,score\nx,y,nan\n": "no column of scores|not a score",
    "a,b,score\nx,y\n": "line 2.*wrong number of columns",
    "x y 3\n": "wrong number of columns",
    "one,two,three,4\n": "no two columns of terms.*3 columns",
    '{"a": "x", "b": "y", "score": 3}\n': "not CSV or TSV",
    f"a,b,score\n{'x' * 1001},y,3\n": "not a term",
}


@pytest.mark.parametrize("text", WRONG)
def test_faults_are_refused_with_their_place(file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(InputError, match=f"(?s){WRONG[text]}") as caught:
        ScoredPairs.read(file)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize(("name", "pairs"), [("UMNSRS-sim", 566), ("MiniMayoSRS", 29)])
def test_real_files(name: str, pairs: int) -> None:
    assert len(ScoredPairs.read(shared(f"similarity_gold/{name}.tsv"))) == pairs
