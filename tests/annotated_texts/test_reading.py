"""Texts and annotated documents in every format: what is read, and which faults are named where."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from cuihop.annotated_texts.documents import LONGEST_TEXT, AnnotatedDocument, GoldMention
from cuihop.annotated_texts.reading import open_texts, read_documents
from cuihop.errors import InputError
from shared_data import shared

TEXTS = {"a": "CT of the head, no bleeding", "b": "", "c": " Café\u0301 \U0001f9e0 “brain”"}
PUBTATOR = (
    "7|t|Brain \U0001f9e0 stem\n7|a|of the head\n7\t0\t5\tBrain\tOrgan\t C0006104\n7\t20\t24\thead\tOrgan\tC1|C2+C3\n"
)


def texts_of(path: Path, **options: Any) -> dict[str, str | None]:
    return {one.identifier: one.text for block in open_texts(path, **options).blocks() for one in block}


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def table(folder: Path, kind: str) -> Path:
    separator = "\t" if "tsv" in kind else ","
    rows = "".join(f"{name}{separator}{quoted(text)}\n" for name, text in TEXTS.items())
    header = f"ID{separator}Caption\n"
    if kind == "parquet":
        path = folder / "texts.parquet"
        pyarrow.parquet.write_table(
            pa.table({"id": list(TEXTS), "text": [text or None for text in TEXTS.values()]}), path
        )
        return path
    if kind == "jsonl":
        return written(
            folder, "texts.jsonl", "".join(json.dumps({"id": k, "text": v}) + "\n" for k, v in TEXTS.items())
        )
    content = {
        "csv": header + rows,
        "tsv": header + rows,
        "plain csv": rows,
        "crlf csv": "\ufeff" + (header + rows).replace("\n", "\r\n"),
    }
    if kind == "gzip csv":
        return written(folder, "texts.csv.gz", gzip.compress((header + rows).encode()))
    return written(folder, "texts.csv", content[kind])


@pytest.mark.parametrize("kind", ["csv", "tsv", "plain csv", "crlf csv", "gzip csv", "jsonl", "parquet"])
def test_the_texts_of_every_table_are_the_same(kind: str, tmp_path: Path) -> None:
    assert texts_of(table(tmp_path, kind)) == TEXTS


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"id_column": "key", "text_column": "title"}, {"x": "Head"}),
        ({"text_column": "note"}, {"1": "Brain"}),
        ({"header": "no", "id_column": "2", "text_column": "3"}, {"key": "title", "x": "Head"}),
    ],
)
def test_columns_are_chosen_by_name_or_number(
    options: dict[str, Any], expected: dict[str, str], tmp_path: Path
) -> None:
    path = written(tmp_path, "texts.csv", "id,key,title,note\n1,x,Head,Brain\n")
    assert texts_of(path, **options) == expected


@pytest.mark.parametrize("header", ["Caption,ID", "text,pmid", "Caption,key"])
def test_two_columns_are_read_by_their_names(header: str, tmp_path: Path) -> None:
    path = written(tmp_path, "texts.csv", f"{header}\nof the head,x\n")
    assert texts_of(path) == {"x": "of the head"}
    assert open_texts(path).text_column == header.partition(",")[0]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "ID,CUIs\nx,C0018670\n"),
        ("a.tsv", "CUIs\tID\nC0018670\tx\n"),
        ("a.jsonl", '{"id": "x", "cuis": "C1"}\n'),
    ],
)
def test_a_header_without_a_column_of_texts_is_refused(name: str, content: str, tmp_path: Path) -> None:
    path = written(tmp_path, name, content)
    with pytest.raises(InputError, match="no column of texts") as error:
        open_texts(path)
    assert "--text-column CUIs reads that column".lower() in str(error.value).lower()
    column = "cuis" if name == "a.jsonl" else "CUIs"
    assert set(texts_of(path, text_column=column)) == {"x"}


def test_lines_have_their_number_as_identifier(tmp_path: Path) -> None:
    path = written(tmp_path, "texts.txt", " one, two\r\n\nthree")
    assert texts_of(path) == {"1": " one, two", "2": "", "3": "three"}
    assert open_texts(path).form == "plain lines"


def test_two_fields_with_a_tab_between_them_are_a_table(tmp_path: Path) -> None:
    assert texts_of(written(tmp_path, "captions.txt", "ROCO_1\tCT, head\nROCO_2\tMRI\n")) == {
        "ROCO_1": "CT, head",
        "ROCO_2": "MRI",
    }


def test_pubtator(tmp_path: Path) -> None:
    path = written(tmp_path, "a.txt", PUBTATOR)
    text = "Brain \U0001f9e0 stem\nof the head"
    assert read_documents(path) == [
        AnnotatedDocument("7", text, (
            GoldMention(0, 5, "Brain", ("C0006104",), "Organ"), GoldMention(20, 24, "head", ("C1", "C2", "C3"), "Organ")
        ))
    ]  # fmt: skip
    assert texts_of(path) == {"7": text}


def test_brat(tmp_path: Path) -> None:
    written(tmp_path, "7.txt", "Brain \U0001f9e0 stem\nof the head")
    path = written(
        tmp_path, "7.ann",
        "T1\tOrgan 0 5;8 12\tBrain stem\nT2\tOrgan 20 24\thead\nN1\tReference T2 UMLS:C0018670\tHead\n#1\tNote T2\tx\n",
    )  # fmt: skip
    expected = [
        AnnotatedDocument("7", "Brain \U0001f9e0 stem\nof the head", (
            GoldMention(0, 12, "Brain \U0001f9e0 stem", (), "Organ"),
            GoldMention(20, 24, "head", ("C0018670",), "Organ"),
        ))
    ]  # fmt: skip
    assert read_documents(path) == read_documents(tmp_path) == read_documents(tmp_path / "7.txt") == expected


def bioc(offset: int = 13, **annotation: Any) -> dict[str, Any]:
    mention = {
        "text": "head",
        "infons": {"type": "Organ", "identifier": "C0018670"},
        "locations": [{"offset": 20, "length": 4}],
    }
    passages = [
        {"offset": 0, "text": "Brain \U0001f9e0 stem", "annotations": []},
        {"offset": offset, "text": "of the head", "annotations": [mention | annotation]},
    ]
    return {
        "source": "",
        "date": "",
        "key": "",
        "infons": {},
        "documents": [{"id": "7", "infons": {}, "passages": passages}],
    }


@pytest.mark.parametrize("indent", [None, 2])
def test_bioc(indent: int | None, tmp_path: Path) -> None:
    path = written(tmp_path, "a.json", json.dumps(bioc(), indent=indent))
    head = GoldMention(20, 24, "head", ("C0018670",), "Organ")
    assert read_documents(path) == [AnnotatedDocument("7", "Brain \U0001f9e0 stem of the head", (head,))]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "ID,start,end,text,cui\na,0,4,Head,C1;C2\nb,3,5,,C3\n"),
        ("a.tsv", "id\tstart\tend\ttext\tcuis\nb\t3\t5\t\tC3\na\t0\t4\tHead\tC1|C2\n"),
        (
            "a.jsonl",
            '{"id":"a","start":0,"end":4,"text":"Head","cui":"C1;C2"}\n{"id":"b","start":3,"end":5,"text":"","cui":"C3"}\n',
        ),
    ],
)
def test_mentions_in_tables(name: str, content: str, tmp_path: Path) -> None:
    found = {one.identifier: one for one in read_documents(written(tmp_path, name, content))}
    assert found["a"] == AnnotatedDocument("a", None, (GoldMention(0, 4, "Head", ("C1", "C2")),))
    assert found["b"].mentions[0].cuis == ("C3",)


def test_documents_in_json_lines(tmp_path: Path) -> None:
    line = {
        "id": "a",
        "text": "Head CT",
        "mentions": [{"start": 0, "end": 4, "text": "Head", "cui": "C1", "type": "T"}],
    }
    path = written(tmp_path, "a.jsonl", json.dumps(line) + "\n" + '{"id":"b","text":"","mentions":[]}')
    assert read_documents(path) == [
        AnnotatedDocument("a", "Head CT", (GoldMention(0, 4, "Head", ("C1",), "T"),)), AnnotatedDocument("b", "")
    ]  # fmt: skip


def test_concepts_without_places(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "ID,CUIs\na,C0000002;C0000001\nb,\n")
    assert read_documents(path) == [
        AnnotatedDocument("a", None, tuple(GoldMention(-1, -1, None, (cui,)) for cui in ("C0000001", "C0000002"))),
        AnnotatedDocument("b", None),
    ]  # fmt: skip


@pytest.mark.parametrize(("part", "documents", "mentions"), [("train", 592, 5134), ("devel", 100, 787)])
def test_the_ncbi_disease_corpus(part: str, documents: int, mentions: int) -> None:
    rows = open_texts(shared(f"ncbi_disease/{part}.pubtator.txt.gz"))
    read = [one for block in rows.blocks() for one in block]
    assert (len(read), sum(len(one.mentions) for one in read)) == (documents, mentions)
    assert rows.repeated == (part == "train")  # 8528200 stands twice in it


WRONG: list[tuple[str, str | bytes, str]] = [
    ("a.csv", "ID,Caption\n1,x\n,y\n", "line 3, column 1: the identifier is missing; found nothing"),
    ("a.csv", "ID,Caption\n1,x\n2,y\n1,z\n", "line 4, column 1: an identifier stands twice.*'1', as in line 2"),
    ("a.csv", "ID,Caption\n1,x\n2\n", "line 3: wrong number of columns; found 1 in '2'; expected 2"),
    ("a.csv", b"ID,Caption\n1,x\n2,caf\xe9\n", "line 3, byte 6: not UTF-8; found 0xE9"),
    ("a.csv", b"ID,Caption\n1,x\0y\n", "line 2, byte 4: not text: a NUL byte"),
    ("a.csv", "ID,Caption\n1,\"open\n2,x\n", "line 2: not CSV"),
    ("a.csv", "", "the file is empty"),
    ("a.csv", "id,a,b\n1,x,y\n", "wrong number of columns; found 3.*--text-column"),
    ("a.csv", f"ID,Caption\n1,{'x' * (LONGEST_TEXT + 1)}\n", "line 2.*(field larger than field limit|too long)"),
    ("a.txt", "x\n" + "y" * (LONGEST_TEXT + 1), "line 2, column text: the text is too long; found 1,048,577"),
    ("a.jsonl", '{"id":"1","text":"\\ud800"}\n', "line 1, column text: not text: half of a surrogate pair"),
    ("a.jsonl", '{"id":"1","text":"a\\u0000"}\n', "line 1, column text: not text: a NUL character"),
    ("a.jsonl", '{"id":"1","text":"a"}\n{"id":"2","text":5}\n', "line 2, column text: not a text; found '5'"),
    ("a.jsonl", '{"id":"1","text":"a"}\n{"id":"2"}\n', "line 2, column text: not a text; found 'no such key'"),
    ("a.txt", "7|t|Head\n7\t0\t3\tHead\tOrgan\tC1\n", "line 2, column 4: the text of a mention is not at its place"),
    ("a.txt", "7|t|Head\n7\t4\t4\t\tOrgan\tC1\n", "line 2, column 4: the text of a mention is not at its place"),
    ("a.txt", "7|t|Head\n7\t-1\t3\tHea\tOrgan\tC1\n", "line 2, column 2: not a place in the text; found '-1'"),
    ("a.txt", "7|t|Head\n8\t0\t4\tHead\tOrgan\tC1\n", "line 2, column 1: a line of another document; found '8'"),
    ("a.txt", "7|t|Head\n7\tx\n", "line 2: wrong number of columns; found 2"),
    ("a.json", json.dumps(bioc(offset=3)), r"field documents\[0\].passages\[1\].offset: a passage begins within"),
    ("a.json", json.dumps(bioc(text="hand")), r"passages\[1\].annotations\[0\].text: the text of a mention is not"),
    ("a.json", json.dumps(bioc(locations=[])), r"annotations\[0\].text: the text of a mention is not at its place"),
    ("a.json", json.dumps(bioc(locations=5)), r"annotations\[0\].locations: not a list; found '5'"),
    ("a.json", json.dumps(bioc())[:-3], "not JSON"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "words"), WRONG)
def test_faults_of_texts_name_their_place(name: str, content: str | bytes, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words):
        texts_of(written(tmp_path, name, content))


WRONG_MENTIONS = [
    ("a.csv", "ID,start,end,cui\na,4,4,C1\n", "line 2, column 3: a mention without characters"),
    ("a.csv", "ID,start,end,cui\na,x,4,C1\n", "line 2, column 2: not a place in the text; found 'x'"),
    ("a.csv", "ID,start,end\na,1,4\n", "line 1: no such column; found 'ID, start, end'; expected one column named cui"),
    ("a.jsonl", '{"id":"a","text":"Head","mentions":[{"start":0,"end":4,"text":"Hand"}]}', r"field mentions\[0\].text"),
    ("a.jsonl", '{"id":"a","text":"Head","mentions":[{"start":0,"end":true}]}', r"field mentions\[0\].end: not a"),
    ("a.jsonl", '{"id":"a","text":"Head","mentions":5}', "line 1, field mentions: not as expected; found '5'"),
    ("a.txt", "just a line\n", "columns"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "words"), WRONG_MENTIONS)
def test_faults_of_mentions_name_their_place(name: str, content: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words):
        read_documents(written(tmp_path, name, content))


def test_faults_of_brat_name_the_file(tmp_path: Path) -> None:
    written(tmp_path, "7.txt", "Brain stem")
    for content, words in [
        ("T1\tOrgan 0 4\tBrain\n", "7.ann, line 1, column 3: the text of a mention is not at its place"),
        ("T1\tOrgan 0\tBrain\n", "7.ann, line 1: not a mention"),
        ("T1\tOrgan 0 5\tBrain\nT1\tOrgan 0 5\tBrain\n", "7.ann, line 2, column 1: a mention stands twice"),
        ("N1\tReference T1 UMLS:C1\tx\n", "7.ann: a concept without its mention; found 'T1'"),
        ("T1\tOrgan 0 5\tBrain\nN1\tReference T1 C1\tx\n", "7.ann, line 2: not a concept of a mention"),
    ]:
        written(tmp_path, "7.ann", content)
        with pytest.raises(InputError, match=words):
            read_documents(tmp_path)


def test_columns_of_a_format_without_columns_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a format without columns; found plain lines"):
        open_texts(written(tmp_path, "a.txt", "Head\n"), text_column="text")


@pytest.mark.slow
def test_many_identifiers_are_compared_across_blocks(tmp_path: Path) -> None:
    lines = [f"{n},x\n" for n in range(20_000)]
    path = written(tmp_path, "a.csv", "ID,Caption\n" + "".join(lines) + "77,x\n13,y\n")
    with pytest.raises(InputError, match=r"line 20,003, column 1: an identifier stands twice.*'13', as in line 15"):
        texts_of(path)
    path = written(tmp_path, "a.csv", "ID,Caption\n" + "".join(lines) + "77,x\n")
    rows = open_texts(path)
    assert (sum(map(len, rows.blocks())), rows.repeated) == (20_000, 1)
