"""Wrong forms of every kind of input file: the content of each, and the expected result.

A form is an error, given by words of its cause, or the right number, given by words that its account must hold.
"""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet

__all__ = ["CLEAN", "FORMS", "IMAGES", "IN_MEMORY", "SETS", "Form", "IfNamed", "Right"]

IMAGES = {
    "img1": "C0042449;C0018670",
    "img2": "C0005847;C0018670",
    "img3": "C0003842",
    "img4": "C0003483;C0006121",
    "img5": "C0006104;C0006121",
    "img6": "C0042449;C0006104",
}


@dataclass(frozen=True)
class Right:
    """The number of the clean file, with these words in the account."""

    words: str = ""


@dataclass(frozen=True)
class IfNamed:
    """An error with these words where another input names the images; else there is no cell.

    With ``all_of_them``, where another input needs every one of them, as a ranking does.
    """

    words: str
    all_of_them: bool = False


@dataclass(frozen=True)
class Form:
    """The content of a file (``None``: a folder), and the expected result; a regular expression: words of an error."""

    content: bytes | None
    expected: str | Right | IfNamed


def workbook() -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return raw.getvalue()


def table(array: object) -> bytes:
    raw = io.BytesIO()
    np.save(raw, np.asarray(array))
    return raw.getvalue()


def zstd(raw: bytes) -> bytes:
    compressed: bytes = pa.compress(raw, codec="zstd", asbytes=True)
    return compressed


def json_lines(text: str, delimiter: str | None = ",") -> bytes:
    """The rows of CSV as JSON Lines, numbers as numbers."""
    header, *rows = (line.split(delimiter) for line in text.splitlines())
    whole = (
        {name: int(field) if field.lstrip("-").isdecimal() else field for name, field in zip(header, row, strict=True)}
        for row in rows
    )
    return "".join(f"{json.dumps(row)}\n" for row in whole).encode()


def parquet(text: str, delimiter: str = ",") -> bytes:
    """The rows of CSV as a Parquet file of texts."""
    header, *rows = (line.split(delimiter) for line in text.splitlines())
    columns = dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))
    raw = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(columns), raw)
    return raw.getvalue()


def arrow(text: str, delimiter: str = ",") -> bytes:
    """The table as a stream of Arrow."""
    table = pyarrow.parquet.read_table(io.BytesIO(parquet(text, delimiter)))
    raw = io.BytesIO()
    with pa.ipc.new_stream(raw, table.schema) as writer:
        writer.write_table(table)
    return raw.getvalue()


def any_text(clean: str, *, account: bool = True) -> dict[str, Form]:
    """Forms that any text file may have; the account names its compression unless said otherwise."""
    raw = clean.encode()
    first, *rest = clean.splitlines(keepends=True)
    return {
        "BOM": Form(b"\xef\xbb\xbf" + raw, Right()),
        "CRLF": Form(raw.replace(b"\n", b"\r\n"), Right()),
        "BOM and CRLF": Form(b"\xef\xbb\xbf" + raw.replace(b"\n", b"\r\n"), Right()),
        "no line feed at the end": Form(raw.rstrip(b"\n"), Right()),
        "UTF-16": Form(clean.encode("utf-16"), "UTF-16.*Save it as UTF-8"),
        "UTF-16 without mark": Form(clean.encode("utf-16-le"), "UTF-16.*Save it as UTF-8"),
        "UTF-32": Form(clean.encode("utf-32"), "UTF-32.*Save it as UTF-8"),
        "Latin-1": Form((first + "".join(rest[:-1]) + "é" + rest[-1]).encode("latin-1"), "not UTF-8.*0xE9"),
        "Excel": Form(workbook(), "an Excel workbook.*Export it as CSV"),
        "Excel of 1997": Form(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), r"an Excel workbook \(\.xls\)"),
        "bzip2": Form(b"BZh91AY&SY" + bytes(90), "compressed by bzip2"),
        "PDF": Form(b"%PDF-1.7\n%\xe2\xe3", "PDF"),
        "NUL": Form((first + "".join(rest[:-1]) + "\0" + rest[-1]).encode(), "NUL byte"),
        "NUL far behind": Form(raw + b"\n" * 8000 + b"\0\n", "NUL byte|UTF-16|wrong number of columns"),
        "folder": Form(None, "[Dd]irectory"),
        "gzip": Form(gzip.compress(raw), Right("gzip" if account else "")),
        "zstd": Form(zstd(raw), Right("zstd" if account else "")),
        "zstd, two frames": Form(zstd(raw[:9]) + zstd(raw[9:]), Right()),
        "zstd cut": Form(zstd(raw)[:-9], "zstd stream ends early|zstd stream is damaged"),
        "gzip within zstd": Form(zstd(gzip.compress(raw)), "a gzip file within a compressed file"),
        "gzip cut": Form(gzip.compress(raw)[:-9], "gzip stream ends early|gzip stream is damaged"),
        "empty": Form(b"", "empty|holds no"),
        "only line feeds": Form(b"\n\n", "empty|holds no|wrong number of columns"),
    }


def csv_of(images: Mapping[str, str], header: str = "ID,CUIs") -> str:
    return f"{header}\n" + "".join(f"{image},{concepts}\n" for image, concepts in images.items())


def rows(images: Mapping[str, str], between: str, *, quote: str = "", column: str = ",") -> bytes:
    listed = ((image, quote + concepts.replace(";", between) + quote) for image, concepts in images.items())
    return ("ID,CUIs\n" + "".join(f"{image}{column}{of}\n" for image, of in listed)).encode()


def python_list(concepts: str) -> str:
    return f'"{concepts.split(";")!r}"'


CONCEPTS = csv_of(IMAGES)
RENAMED = {f"{image}.jpg": concepts for image, concepts in IMAGES.items()}
OTHERS = {f"other{image[3:]}": concepts for image, concepts in IMAGES.items()}
STRANGERS = {image: f"C980000{n};C980001{n}" for n, image in enumerate(IMAGES)}

IDENTIFIERS_IN_CSV = {
    "lower case": Form(CONCEPTS.replace("C0", "c0").encode(), Right("in lower case read in upper case")),
    "comma, quoted": Form(rows(IMAGES, ",", quote='"'), "identifiers separated by a comma"),
    "comma": Form(rows(IMAGES, ","), "identifiers look separated by a comma"),
    "blank": Form(rows(IMAGES, " "), "identifiers separated by a blank"),
    "comma and blank": Form(rows(IMAGES, ", ", quote='"'), "identifiers separated by a comma"),
    "tab": Form(rows(IMAGES, "\t"), "identifiers separated by a tab"),
    "pipe": Form(rows(IMAGES, "|"), r"identifiers separated by '\|'"),
    "slash": Form(rows(IMAGES, "/"), "identifiers separated by '/'"),
    "Python list": Form(csv_of({i: python_list(c) for i, c in IMAGES.items()}).encode(), "a list as Python writes it"),
    "Python set": Form(csv_of(IMAGES | {"img3": "\"{'C0003842'}\""}).encode(), "a list as Python writes it"),
    "nan": Form(csv_of(IMAGES | {"img3": "nan"}).encode(), "a missing value in place of identifiers"),
    "pipe between columns": Form(rows(IMAGES, ";", column="|"), r"columns look separated by '\|'"),
    "semicolon between columns": Form(CONCEPTS.replace(",", ";").encode(), "columns look separated by ';'"),
    "index column": Form(
        (",ID,CUIs\n" + "".join(f"{n},{i},{c}\n" for n, (i, c) in enumerate(IMAGES.items()))).encode(), "is an index"
    ),
    "trailing semicolon": Form(CONCEPTS.replace("C0003842", "C0003842;").encode(), "is missing"),
    "trailing comma": Form(CONCEPTS.replace("\n", ",\n").encode(), "ends with a comma"),
    "foreign header": Form(csv_of(IMAGES, "image,concepts").encode(), Right()),
    "header only": Form(b"ID,CUIs\n", "holds no image"),
    "image twice": Form((CONCEPTS + "img1,C0018670\n").encode(), "an image stands twice.*as in line 2"),
    "image without a name": Form((CONCEPTS + ",C0018670\n").encode(), "the image is missing"),
    "swapped columns": Form(
        ("CUIs,ID\n" + "".join(f"{c},{i}\n" for i, c in IMAGES.items())).encode(), "are the columns swapped"
    ),
    "NumPy array": Form(table([[1, 2]]), "a NumPy array|NumPy"),
}


def chosen_columns(images: Mapping[str, str]) -> dict[str, Form]:
    """Forms of concept files beside plain CSV of two columns."""
    hub = "image_id,caption,cui\n" + "".join(f'{i},"seen, text",{c}\n' for i, c in images.items())
    excel = "ID;CUIs\r\n" + "".join(f'{image};"{concepts}"\r\n' for image, concepts in images.items())
    lists = [{"image_id": image, "caption": "text", "cui": c.split(";")} for image, c in images.items()]
    listed = "".join(f"{json.dumps(row)}\n" for row in lists)
    return {
        "Excel's CSV": Form(b"\xef\xbb\xbf" + excel.encode(), Right("semicolons")),
        "columns of a hub": Form(hub.encode(), Right("columns image_id and cui, without caption")),
        "columns of a hub, tabs": Form(
            hub.replace('"seen, text"', "text").replace(",", "\t").encode(), Right("tabs, columns image_id and cui")
        ),
        "columns of a hub, an index before them": Form(
            ("," + "".join(f"{n or ''}{',' if n else ''}{line}\n" for n, line in enumerate(hub.splitlines()))).encode(),
            "is an index",
        ),
        "a concept column twice": Form(
            hub.replace("image_id,caption", "image_id,cui").encode(), "a column stands twice"
        ),
        "three columns of other names": Form(
            hub.replace("image_id,caption,cui", "a,b,c").encode(), "wrong number of columns.*--concept-column"
        ),
        "a field missing": Form(hub.replace('"seen, text",', "", 1).encode(), "found 2 in .*expected 3"),
        "JSON Lines": Form(json_lines(csv_of(images)), Right("JSON Lines")),
        "JSON Lines, BOM": Form(b"\xef\xbb\xbf" + json_lines(csv_of(images)), Right("JSON Lines")),
        "JSON Lines, lists": Form(listed.encode(), Right("JSON Lines, columns image_id and cui, without caption")),
        "JSON Lines, keys in another order": Form(
            "".join(f'{{"cui": "{c}", "ID": "{i}"}}\n' for i, c in images.items()).encode(), Right("columns ID and cui")
        ),
        "JSON Lines, cut": Form(listed.encode()[:-9], "not JSON.*an object of JSON in each line"),
        "JSON Lines, a list": Form(listed.encode() + b"[1]\n", "not an object"),
        "JSON Lines, a key missing": Form(listed.encode() + b'{"image_id": "x"}\n', "not the concepts.*no such key"),
        "JSON Lines, image twice": Form((listed + listed.splitlines()[0]).encode(), "stands twice.*as in line 1"),
        "JSON Lines, image a number": Form(listed.replace('"img6"', "6").encode(), "not the name of an image"),
        "JSON Lines, concepts a number": Form(listed.encode() + b'{"image_id": "x", "cui": 4}\n', "not the concepts"),
        "JSON Lines, comma": Form(
            json_lines(csv_of({i: c.replace(";", "/") for i, c in images.items()})), "identifiers separated by '/'"
        ),
    }


ORGANS = {"0018670": "0037303", "0003842": "0817096", "0006121": "0006141"}  # of all images but the last


def with_organs(text: str) -> str:
    """The text with concepts of organs in place of others: those that labels are read from."""
    for plain, organ in ORGANS.items():
        text = text.replace(plain, organ)
    return text


LABELLING = with_organs(CONCEPTS)
LABELLED = {image: with_organs(concepts) for image, concepts in IMAGES.items()}
LABELLING_IN_CSV = {
    name: Form(form.content and with_organs(form.content.decode("latin-1")).encode("latin-1"), form.expected)
    for name, form in IDENTIFIERS_IN_CSV.items()
}

RUN = "".join(
    f"{query} Q0 {image} {rank} {-rank} x\n"
    for query in IMAGES
    for rank, image in enumerate([image for image in IMAGES if image != query][:4], start=1)
)
RANKED = [[row for row in range(5, -1, -1) if row != query][:4] for query in range(6)]
CSV_RUN = "query,document,score\n" + "".join(
    f"{line.split()[0]},{line.split()[2]},{line.split()[4]}\n" for line in RUN.splitlines()
)
QRELS = "".join(f"{q} 0 {d} {(n + m) % 3}\n" for n, q in enumerate(IMAGES) for m, d in enumerate(IMAGES) if q != d)
QRELS_IN_JSON = json_lines("query x document grade\n" + QRELS, " ")
LABELS = "image,modality\n" + "".join(f"{image},{'CT' if n % 2 else 'MR'}\n" for n, image in enumerate(IMAGES))
CODES = "".join(f"{image} 1121-120-{n}00-700\n" for n, image in enumerate(IMAGES, start=1))
CODES_BY_NAME = "view,image_id,code\n" + "".join(f"axial,{line}\n" for line in CODES.replace(" ", ",").splitlines())
BOOK = "".join(f"1121-120-{n}00-700\n" for n in range(1, 8))
PAIRS = "C0042449\tC0005847\nC0006121\tC0018670\nC0003842\tC0005847\n"
PAIRS_BY_NAME = "cui1,rel,cui2\n" + PAIRS.replace("\t", ",x,")


def renamed(clean: str, new: str) -> bytes:
    """The images under other names: in a ranking, of the documents."""
    return clean.replace("img", new).encode()


FORMS: dict[str, dict[str, Form]] = {
    "concepts": {
        **any_text(CONCEPTS),
        **IDENTIFIERS_IN_CSV,
        "no header": Form(CONCEPTS.partition("\n")[2].encode(), "the header is missing"),
        "no header, lower case": Form(CONCEPTS.lower().partition("\n")[2].encode(), "the header is missing"),
        "tab between columns": Form(CONCEPTS.replace(",", "\t").encode(), Right("tabs")),
        **chosen_columns(IMAGES),
        ".jpg on one side": Form(csv_of(RENAMED).encode(), IfNamed("differ by an ending: 'img")),
        "folder on one side": Form(
            csv_of({f"test/{i}": c for i, c in IMAGES.items()}).encode(), IfNamed("differ by a folder")
        ),
        "another split": Form(
            csv_of(OTHERS).encode(), IfNamed("not an image|no such image|without a row|of other images|for no query")
        ),
        "some images missing": Form(
            csv_of(dict(list(IMAGES.items())[:3])).encode(),
            IfNamed("not an image of|wrong number of rows|for no query", all_of_them=True),
        ),
        "all unknown": Form(csv_of(STRANGERS).encode(), "no concept of the images is in the graph"),
    },
    "labelling concepts": {**any_text(LABELLING), **LABELLING_IN_CSV, **chosen_columns(LABELLED)},
    "run": {
        **any_text(RUN),
        "tab": Form(RUN.replace(" ", "\t").encode(), Right("TREC run")),
        "comma": Form(RUN.replace(" ", ",").encode(), "look separated by a comma"),
        "comma and blank": Form(RUN.replace(" ", ", ").encode(), "not an image of the queries|not a score"),
        "pipe": Form(RUN.replace(" ", "|").encode(), r"columns look separated by '\|'"),
        "semicolon": Form(RUN.replace(" ", ";").encode(), "columns look separated by ';'"),
        "trailing blank": Form(RUN.replace("\n", " \n").encode(), Right()),
        "header": Form(b"query Q0 document rank score run\n" + RUN.encode(), "not an image of|not a score"),
        ".jpg on one side": Form(
            "".join(
                f"{a} Q0 {b}.jpg {c}\n" for a, _, b, c in (line.split(" ", 3) for line in RUN.splitlines())
            ).encode(),
            IfNamed("differ by an ending: 'img2.jpg' here, 'img2' there"),
        ),
        "another split": Form(
            renamed(RUN, "other"), IfNamed("not an image of the queries.*another collection or split")
        ),
        "swapped columns": Form(
            "".join(" ".join([f[4], *f[1:4], f[0], f[5]]) + "\n" for f in map(str.split, RUN.splitlines())).encode(),
            IfNamed("not an image of the queries"),
        ),
        "document twice": Form((RUN + RUN.splitlines()[0] + "\n").encode(), "stands twice for a query"),
        "no finite score": Form(RUN.replace("-4 x", "nan x").encode(), "not a score"),
        "some queries missing": Form("".join(RUN.splitlines(keepends=True)[:12]).encode(), "without a ranking"),
        "index column": Form(
            "".join(f"{n} {line}\n" for n, line in enumerate(RUN.splitlines())).encode(), "wrong number of columns"
        ),
    },
    "CSV run": {
        **any_text(CSV_RUN),
        "foreign header": Form(
            CSV_RUN.replace("query,document", "suchthema,fund").encode(), "not the header of a ranking"
        ),
        "upper-case header": Form(CSV_RUN.replace("query,document", "Query,Document").encode(), Right("CSV by score")),
        "no header": Form(CSV_RUN.partition("\n")[2].encode(), "not the header.*The header is missing"),
        "semicolon": Form(CSV_RUN.replace(",", ";").encode(), Right("CSV with semicolons by score")),
        "tab": Form(CSV_RUN.replace(",", "\t").encode(), Right("CSV with tabs by score")),
        "tab, no header": Form(CSV_RUN.partition("\n")[2].replace(",", "\t").encode(), "wrong number of columns"),
        "semicolon, no header": Form(CSV_RUN.partition("\n")[2].replace(",", ";").encode(), "wrong number of columns"),
        "semicolon, decimal comma": Form(CSV_RUN.replace(",", ";").replace(";-1", ";-1,5").encode(), "not a score"),
        "JSON Lines": Form(json_lines(CSV_RUN), Right("JSON Lines by score")),
        "JSON Lines, score a text": Form(json_lines(CSV_RUN).replace(b": -1}", b': "-1"}'), Right()),
        "JSON Lines, true": Form(json_lines(CSV_RUN).replace(b": -1}", b": true}"), "not a score"),
        "JSON Lines, NaN": Form(json_lines(CSV_RUN).replace(b": -1}", b": NaN}"), "not a score"),
        "JSON Lines, document twice": Form(
            json_lines(CSV_RUN) + json_lines(CSV_RUN).splitlines(keepends=True)[0], "stands twice.*as in line 1"
        ),
        "JSON Lines, no score": Form(json_lines(CSV_RUN.replace("score", "value")), "not the header of a ranking"),
        "JSON Lines, an image of no name": Form(json_lines(CSV_RUN).replace(b'"img2"', b"null"), "not a name"),
        "pipe": Form(CSV_RUN.replace(",", "|").encode(), r"columns look separated by '\|'"),
        "index column": Form(
            "".join(f"{n or ''},{line}\n" for n, line in enumerate(CSV_RUN.splitlines())).encode(), "is an index"
        ),
        "trailing comma": Form(CSV_RUN.replace("\n", ",\n").encode(), "ends with a comma"),
        "header only": Form(b"query,document,score\n", "without a ranking"),
        ".jpg on one side": Form(CSV_RUN.replace(",img2", ",img2.jpg").encode(), IfNamed("differ by an ending")),
        "another split": Form(renamed(CSV_RUN, "other"), IfNamed("another collection or split")),
        "document twice": Form((CSV_RUN + CSV_RUN.splitlines()[1] + "\n").encode(), "stands twice for a query"),
        "decimal comma": Form(CSV_RUN.replace(",-1", ",-1,5").encode(), "wrong number of columns"),
    },
    "array": {
        "big-endian": Form(table(np.array(RANKED, dtype=">i8")), Right("6 rows of 4 row numbers")),
        "distances": Form(table(np.sort(np.random.default_rng(0).random((6, 4)), axis=1)), "the distances of a search"),
        "similarities": Form(
            table(-np.sort(-np.random.default_rng(0).random((6, 4)), axis=1)), "the distances of a search"
        ),
        "distances, float32, some missing": Form(
            table(np.array([[0.1, 0.2, 3.4e38, 3.4e38]] * 6, dtype=np.float32)), "the distances of a search"
        ),
        "row numbers as floating point": Form(table(np.array(RANKED, dtype=float)), "row numbers as floating point"),
        "counted from 1": Form(table(np.array(RANKED) + 1), "look counted from 1"),
        "counted from 1, the query first": Form(
            table([[n + 1, (n + 1) % 6 + 1, (n + 2) % 6 + 1] for n in range(6)]), "look counted from 1"
        ),
        "Hamming distances": Form(table([[0, 1, 1, 2]] * 6), "stands twice.*need --similarity"),
        "codes": Form(table([[200, 7, 9, 255]] * 6), "not a row of the corpus.*need --similarity"),
        "-1 within": Form(table([[row[0], -1, *row[2:]] for row in RANKED]), "after the end of the list"),
        "-2": Form(table([[*row[:3], -2] for row in RANKED]), "not a row of the corpus"),
        "rows missing": Form(table(RANKED[:4]), "wrong number of rows.*another collection or split"),
        "one dimension": Form(table(RANKED[0]), "not a table of numbers"),
        "Excel": Form(workbook(), "not a NumPy array"),
        "empty": Form(b"", "not a NumPy array"),
        "cut": Form(table(RANKED)[:-8], "not a whole NumPy array"),
        "folder": Form(None, "[Dd]irectory"),
        "NaN": Form(table(np.full((6, 4), np.nan)), "NaN"),
    },
    "qrels": {
        **any_text(QRELS),
        "tab": Form(QRELS.replace(" ", "\t").encode(), Right("30 judgements for 6 queries")),
        "JSON Lines": Form(QRELS_IN_JSON, Right("30 judgements for 6 queries, JSON Lines")),
        "JSON Lines, grade a text": Form(QRELS_IN_JSON.replace(b": 2}", b': "2"}'), "not a grade"),
        "JSON Lines, judged twice": Form(
            QRELS_IN_JSON + QRELS_IN_JSON.splitlines(keepends=True)[0], "judged twice.*as in line 1"
        ),
        "JSON Lines, no grade": Form(QRELS_IN_JSON.replace(b"grade", b"value"), "no such column"),
        "comma": Form(QRELS.replace(" ", ",").encode(), "columns look separated by a comma"),
        "pipe": Form(QRELS.replace(" ", "|").encode(), r"columns look separated by '\|'"),
        "semicolon": Form(QRELS.replace(" ", ";").encode(), "columns look separated by ';'"),
        "trailing blank": Form(QRELS.replace("\n", " \n").encode(), Right()),
        "header": Form(b"query iteration document grade\n" + QRELS.encode(), "not a grade; found 'grade'"),
        "swapped columns": Form(
            "".join(" ".join([f[0], f[1], f[3], f[2]]) + "\n" for f in map(str.split, QRELS.splitlines())).encode(),
            "not a grade; found 'img",
        ),
        "document twice": Form((QRELS + QRELS.splitlines()[0] + "\n").encode(), "judged twice.*as in line 1"),
        "real-valued grade": Form(QRELS.replace(" 2\n", " 0.5\n").encode(), "not a grade"),
        "another split": Form(renamed(QRELS, "other"), "judgements of other images|without a ranking"),
        ".jpg on one side": Form(
            "".join(f"{a}.jpg {b} {c}.jpg {d}\n" for a, b, c, d in map(str.split, QRELS.splitlines())).encode(),
            "differ by an ending|without a ranking",
        ),
    },
    "labels": {
        **any_text(LABELS),
        "tab": Form(LABELS.replace(",", "\t").encode(), Right("1 label: modality; tabs")),
        "JSON Lines": Form(json_lines(LABELS), Right("1 label: modality; JSON Lines")),
        "JSON Lines, a number": Form(json_lines(LABELS).replace(b'"CT"', b"4"), "not a label"),
        "JSON Lines, image twice": Form(json_lines(LABELS + "img1,CT\n"), "an image stands twice.*as in line 1"),
        "pipe": Form(LABELS.replace(",", "|").encode(), r"columns look separated by '\|'"),
        "semicolon": Form(LABELS.replace(",", ";").encode(), Right("1 label: modality; semicolons")),
        "blank": Form(LABELS.replace(",", " ").encode(), "not a header of labels"),
        "no header": Form(LABELS.partition("\n")[2].encode(), "without a row|no such label|not an image|for no query"),
        "foreign header": Form(LABELS.replace("image", "ID").encode(), Right()),
        "header only": Form(b"image,modality\n", "holds no image"),
        "index column": Form(
            "".join(f"{n or ''},{line}\n" for n, line in enumerate(LABELS.splitlines())).encode(), "is an index"
        ),
        "trailing comma": Form(LABELS.replace("\n", ",\n").encode(), "ends with a comma"),
        "image twice": Form((LABELS + "img1,CT\n").encode(), "an image stands twice.*as in line 2"),
        "image without a name": Form((LABELS + ",CT\n").encode(), "the image is missing"),
        ".jpg on one side": Form(LABELS.replace(",", ".jpg,").replace("image.jpg", "image").encode(), "by an ending"),
        "another split": Form(renamed(LABELS, "other"), "without a row of labels|not an image of|for no query"),
        "some images missing": Form(
            "".join(LABELS.splitlines(keepends=True)[:4]).encode(), "without a row of labels|not an image of"
        ),
    },
    "detected": {
        **any_text(CONCEPTS),
        **IDENTIFIERS_IN_CSV,
        "no header": Form(CONCEPTS.partition("\n")[2].encode(), Right("no header")),
        "header with a digit": Form(csv_of(IMAGES, "ID,CUIs_2025").encode(), "neither a header nor concepts"),
        "tab between columns": Form(CONCEPTS.replace(",", "\t").encode(), Right("tabs")),
        **chosen_columns(IMAGES),
        "Parquet": Form(parquet(CONCEPTS), Right("0 malformed, Parquet")),
        "Parquet, image twice": Form(
            parquet(CONCEPTS + "img1,C0018670\n"), "ID, row 7: an image stands twice.*in row 1"
        ),
        "Parquet, some images missing": Form(
            parquet(csv_of(dict(list(IMAGES.items())[:3]))),
            IfNamed("missing when the file ends|not an image of the ground truth"),
        ),
        "Arrow": Form(arrow(CONCEPTS), Right("0 malformed, Arrow")),
        "JSON Lines, a concept twice": Form(
            json_lines(CONCEPTS.replace("C0003842", "C0003842;c0003842")), "line 3, column CUIs: a concept stands twice"
        ),
        "a concept twice": Form(CONCEPTS.replace("C0003842", "C0003842;c0003842").encode(), "line 4.*stands twice for"),
        "blank between columns": Form(CONCEPTS.replace(",", " ").encode(), "wrong number of columns"),
        "a line without a comma": Form((CONCEPTS + "img7\n").encode(), "wrong number of columns"),
        ".jpg on one side": Form(csv_of(RENAMED).encode(), IfNamed("differ by an ending")),
        "another split": Form(csv_of(OTHERS).encode(), IfNamed("No image is in both")),
        "some images missing": Form(
            csv_of(dict(list(IMAGES.items())[:3])).encode(),
            IfNamed("missing when the file ends|not an image of the ground truth"),
        ),
    },
    "codes": {
        **any_text(CODES),
        "comma": Form(CODES.replace(" ", ",").encode(), Right("no header")),
        "quoted": Form(CODES.replace("\n", '"\n').replace(" ", '","').replace("img", '"img').encode(), Right()),
        "columns by name": Form(CODES_BY_NAME.encode(), Right("columns image_id and code, without view")),
        "columns by name, Excel's CSV": Form(
            b"\xef\xbb\xbf" + CODES_BY_NAME.replace(",", ";").replace("\n", "\r\n").encode(),
            Right("semicolons, columns"),
        ),
        "columns by name, a field missing": Form(CODES_BY_NAME.replace("1121", ",1121", 1).encode(), "expected 3"),
        "columns by name, image twice": Form(
            (CODES_BY_NAME + CODES_BY_NAME.splitlines()[1]).encode(), "column 2: an image stands twice.*as in line 2"
        ),
        "JSON Lines": Form(json_lines(CODES_BY_NAME), Right("JSON Lines, columns image_id and code, without view")),
        "JSON Lines, a code missing": Form(json_lines(CODES_BY_NAME) + b'{"image_id": "x"}\n', "not a text"),
        "JSON Lines, upper case": Form(json_lines(CODES_BY_NAME.replace("1121", "112A")), "column code: not a code"),
        "Parquet": Form(parquet(CODES_BY_NAME), Right("Parquet, columns image_id and code")),
        "Parquet, upper case": Form(parquet(CODES_BY_NAME.replace("1121", "112A")), "code, row 1: not a code"),
        "Parquet, other names": Form(
            parquet(CODES_BY_NAME.replace("code", "value")), "wrong number of columns.*Call them image and code"
        ),
        "tab": Form(CODES.replace(" ", "\t").encode(), Right()),
        "semicolon": Form(CODES.replace(" ", ";").encode(), Right()),
        "pipe": Form(CODES.replace(" ", "|").encode(), r"columns look separated by '\|'"),
        "header": Form(b"image,code\n" + CODES.encode(), Right("header 'image code'")),
        "header only": Form(b"image,code\n", "holds no image"),
        "index column": Form(
            "".join(f",{n},{line}\n" for n, line in enumerate(CODES.splitlines())).encode(), "is an index"
        ),
        "upper case": Form(CODES.replace("1121", "112A").encode(), "not a code.*lower-case letters"),
        "Python list": Form(CODES.replace(" 1121", " ['1121").replace("700\n", "700']\n").encode(), "not a code"),
        "trailing comma": Form(CODES.replace("\n", ",\n").encode(), Right()),
        "swapped columns": Form(
            "".join(f"{b} {a}\n" for a, b in map(str.split, CODES.splitlines())).encode(), "are the columns swapped"
        ),
        "image twice": Form((CODES + CODES.splitlines()[0] + "\n").encode(), "an image stands twice.*as in line 1"),
        "other axes": Form(CODES.replace("-700\n", "-70\n", 1).encode(), "not a code of th"),
        ".jpg on one side": Form(CODES.replace(" ", ".jpg ").encode(), "differ by an ending"),
        "another split": Form(renamed(CODES, "other"), "No image is in both"),
        "some images missing": Form(
            "".join(CODES.splitlines(keepends=True)[:3]).encode(), "missing when the file ends|not an image of"
        ),
    },
    "code book": {
        **any_text(BOOK, account=False),
        "meanings": Form(BOOK.replace("\n", " meaning\n").encode(), Right("7 codes")),
        "comma": Form(BOOK.replace("\n", ",meaning\n").encode(), Right()),
        "header": Form(b"code\n" + BOOK.encode(), Right("7 codes")),
        "upper case": Form(BOOK.replace("1121", "112A").encode(), "not a code"),
        "JSON Lines": Form(json_lines("code\n" + BOOK), Right("7 codes")),
        "Parquet": Form(
            parquet("meaning,code\n" + "".join(f"x,{line}\n" for line in BOOK.splitlines())), Right("7 codes")
        ),
        "Parquet, no codes": Form(parquet("a,b\n1,2\n"), "no such column.*one column named code"),
        "swapped columns": Form(
            "".join(f"x{line}\n" for line in ["meaning 1121-120-100-700"] * 2).encode(), "not a code|holds no code"
        ),
        "another hierarchy": Form(BOOK.replace("1121", "2121").encode(), "not in the code book"),
    },
    "pairs": {
        **any_text(PAIRS),
        "header": Form(b"a\tb\n" + PAIRS.encode(), Right("header")),
        "lower case": Form(PAIRS.replace("C", "c").encode(), Right("6 in lower case read in upper case")),
        "comma": Form(PAIRS.replace("\t", ",").encode(), Right("commas")),
        "Excel's CSV": Form(
            b"\xef\xbb\xbf" + ("from;to\n" + PAIRS.replace("\t", ";")).replace("\n", "\r\n").encode(),
            Right("semicolons"),
        ),
        "quoted": Form(
            "".join(f'"{line}"\n' for line in PAIRS.replace("\t", '","').splitlines()).encode(), Right("commas")
        ),
        "columns by name": Form(PAIRS_BY_NAME.encode(), Right("commas, columns cui1 and cui2, without rel")),
        "columns by name, a field missing": Form(PAIRS_BY_NAME.replace("x,", "", 1).encode(), "found 2.*expected 3"),
        "columns by name, a column twice": Form(PAIRS_BY_NAME.replace("rel", "cui1").encode(), "a column stands twice"),
        "columns of other names": Form(
            PAIRS_BY_NAME.replace("cui", "c").encode(), "wrong number of columns.*call them a and b"
        ),
        "JSON Lines": Form(json_lines(PAIRS_BY_NAME), Right("JSON Lines, columns cui1 and cui2")),
        "JSON Lines, two keys": Form(json_lines("from,to\n" + PAIRS.replace("\t", ",")), Right("JSON Lines")),
        "JSON Lines, a number": Form(
            json_lines(PAIRS_BY_NAME).replace(b'"C0006121"', b"6121"), "column cui1: not a text"
        ),
        "JSON Lines, cut": Form(json_lines(PAIRS_BY_NAME)[:-9], "line 3: not JSON.*an object of JSON in each line"),
        "JSON Lines, a key missing": Form(json_lines(PAIRS_BY_NAME) + b'{"cui1": "C0006121"}\n', "cui2: not a text"),
        "Parquet": Form(parquet(PAIRS_BY_NAME), Right("Parquet, columns cui1 and cui2, without rel")),
        "Parquet, unknown": Form(
            parquet(PAIRS_BY_NAME.replace("C0006121", "C9900001")), "cui1, row 2: unknown concept"
        ),
        "Parquet, columns of other names": Form(parquet(PAIRS_BY_NAME.replace("cui", "c")), "call them a and b"),
        "Arrow": Form(arrow(PAIRS_BY_NAME), Right("Arrow, columns cui1 and cui2")),
        "pipe": Form(PAIRS.replace("\t", "|").encode(), r"columns look separated by '\|'"),
        "blank": Form(PAIRS.replace("\t", " ").encode(), "wrong number of columns"),
        "two tabs": Form(PAIRS.replace("\t", "\t\t").encode(), "wrong number of columns"),
        "trailing tab": Form(PAIRS.replace("\n", "\t\n").encode(), "ends with a tab"),
        "index column": Form(
            ("\ta\tb\n" + "".join(f"{n}\t{line}\n" for n, line in enumerate(PAIRS.splitlines()))).encode(),
            "is an index",
        ),
        "Python list": Form(PAIRS.replace("C0006121", "['C0006121']").encode(), "a list as Python writes it"),
        "several in a column": Form(PAIRS.replace("C0006121", "C0006121,C0018670").encode(), "separated by a comma"),
        "unknown": Form(PAIRS.replace("C0006121", "C9900001").encode(), "unknown concept"),
    },
}

CLEAN: dict[str, bytes] = {
    "concepts": CONCEPTS.encode(),
    "labelling concepts": LABELLING.encode(),
    "run": RUN.encode(),
    "CSV run": CSV_RUN.encode(),
    "array": table(RANKED),
    "qrels": QRELS.encode(),
    "labels": LABELS.encode(),
    "detected": CONCEPTS.encode(),
    "codes": CODES.encode(),
    "code book": BOOK.encode(),
    "pairs": PAIRS.encode(),
}

Rows = list[tuple[str, str]]
ROWS: Rows = list(IMAGES.items())

IN_MEMORY: dict[str, tuple[Rows, str | Right | IfNamed]] = {
    "lower case": ([(i, c.lower()) for i, c in ROWS], Right("in lower case read in upper case")),
    "blanks around": ([(i, f" {c.replace(';', ' ; ')} ") for i, c in ROWS], Right()),
    "a concept twice": ([(i, f"{c};{c}") for i, c in ROWS], Right()),
    "comma": ([(i, c.replace(";", ",")) for i, c in ROWS], "identifiers separated by a comma"),
    "blank": ([(i, c.replace(";", " ")) for i, c in ROWS], "identifiers separated by a blank"),
    "tab": ([(i, c.replace(";", "\t")) for i, c in ROWS], "identifiers separated by a tab"),
    "pipe": ([(i, c.replace(";", "|")) for i, c in ROWS], r"identifiers separated by '\|'"),
    "line feed": ([(i, c.replace(";", "\n")) for i, c in ROWS], "identifiers separated by a blank"),
    "Python list": ([(i, repr(c.split(";"))) for i, c in ROWS], "a list as Python writes it"),
    "JSON list": ([(i, repr(c.split(";")).replace("'", '"')) for i, c in ROWS], "a list as Python writes it"),
    "trailing semicolon": ([(i, f"{c};") for i, c in ROWS], "an identifier is missing"),
    "nan": ([*ROWS[:5], ("img6", "nan")], "a missing value in place of identifiers"),
    "NUL": ([*ROWS[:5], ("img6", "C004\0")], "not an identifier"),
    "not ASCII": ([*ROWS[:5], ("img6", "Ménière")], "not an identifier"),
    "swapped columns": ([(c, i) for i, c in ROWS], "are the columns swapped"),
    "image without a name": ([*ROWS, ("", "C0042449")], "the image is missing|not the name of an image"),
    "image twice": ([*ROWS, ("img1", "C0042449")], IfNamed("an image stands twice")),  # a mapping cannot
    "empty": ([], "no image|wrong number of columns"),
    "all unknown": (list(STRANGERS.items()), "no concept of the images is in the graph"),
}
"""Images and concepts that a program holds; `IfNamed` here is for forms that can hold an image twice."""

SETS: dict[str, tuple[str, str | Right]] = {
    "lower case": ("c0042449;c0018670", Right()),
    "blanks around": (" C0042449 ; C0018670 ", Right()),
    "comma": ("C0042449,C0018670", "identifiers separated by a comma"),
    "blank": ("C0042449 C0018670", "identifiers separated by a blank"),
    "tab": ("C0042449\tC0018670", "identifiers separated by a tab"),
    "pipe": ("C0042449|C0018670", r"identifiers separated by '\|'"),
    "Python list": ("['C0042449', 'C0018670']", "a list as Python writes it"),
    "trailing semicolon": ("C0042449;C0018670;", "an identifier is missing|not an identifier: ''"),
    "nan": ("nan", "a missing value in place of identifiers"),
    "not ASCII": ("Ménière", "not an identifier"),
}
"""Two concepts, as an argument or in Python."""
