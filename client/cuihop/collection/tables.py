"""Concepts, judgements and labels from the rows of tables, with the checks of their text forms."""

from __future__ import annotations

import numpy as np

from cuihop.collection.concept_rows import ConceptRows, RowFault, check_image
from cuihop.errors import InputError
from cuihop.files.arrow_tables import ArrowTable
from cuihop.files.likely_causes import cause_of_columns
from cuihop.files.text_lines import shown

__all__ = ["LARGEST_GRADE", "concepts_of_table", "grades_of_table", "labels_of_table"]

LARGEST_GRADE = 1000  # 2^grade, the exponential gain, is still a number


def concepts_of_table(table: ArrowTable) -> ConceptRows:
    """Images and their concepts from a table of two columns.

    Raises:
        InputError: names the row and the column.
    """
    if len(table.names) != 2:
        raise InputError(
            "wrong number of columns", file=table.source, found=f"{len(table.names)}: {', '.join(table.names)}",
            expected="two: image and concepts", advice=cause_of_columns(table.names, 2, ","),
        )  # fmt: skip
    rows = ConceptRows(_fault(table), "row")
    for first, batch in table.batches():
        names, codes = table.texts(first, batch, 0)
        lists = table.lists(first, batch, 1)
        for row, (code, listed) in enumerate(zip(codes.tolist(), lists, strict=True), start=first):
            concepts = () if listed is None else [concept or "" for concept in listed]
            rows.add(row, names[code].strip(), concepts)
    if not rows.sets:
        raise InputError("the table holds no image", file=table.source, expected="two columns: image and concepts")
    return rows


def _fault(table: ArrowTable) -> RowFault:
    """The error about a row of the table."""

    def fault(problem: str, row: int, column: int, found: str, expected: str, advice: str | None = None) -> InputError:
        return table.problem(problem, row, column, found, expected, advice)

    return fault


def grades_of_table(table: ArrowTable) -> dict[str, dict[str, int]]:
    """Query → document → grade from the columns query, document and grade.

    Raises:
        InputError: names the row and the column.
    """
    by_query, by_document, by_grade = (table.column(name) for name in ("query", "document", "grade"))
    grades: dict[str, dict[str, int]] = {}
    rows: dict[tuple[str, str], int] = {}
    for first, batch in table.batches():
        (queries, query_codes), (documents, document_codes) = (
            table.texts(first, batch, place) for place in (by_query, by_document)
        )
        values = table.numbers(first, batch, by_grade)
        wrong = np.flatnonzero((values != np.floor(values)) | (np.abs(values) > 1e9) | (values > LARGEST_GRADE))
        if len(wrong):
            told, expected = f"{values[wrong[0]]:g}", f"a whole number up to {LARGEST_GRADE:,}"
            raise table.problem("not a grade", first + int(wrong[0]), by_grade, told, expected)
        columns = zip(query_codes.tolist(), document_codes.tolist(), values.astype(np.int64).tolist(), strict=True)
        for row, (query_code, document_code, grade) in enumerate(columns, start=first):
            query, document = queries[query_code].strip(), documents[document_code].strip()
            if not query or not document:
                raise table.problem("a name is missing", row, by_document if query else by_query, "''", "a name")
            if (query, document) in rows:
                told = f"{shown(document)} for query {shown(query)}, as in row {rows[query, document]:,}"
                raise table.problem("a document is judged twice for a query", row, by_document, told, "each once")
            rows[query, document] = row
            grades.setdefault(query, {})[document] = grade
    if not grades:
        raise InputError("the table holds no judgement", file=table.source, expected="query, document, grade")
    return grades


def labels_of_table(table: ArrowTable) -> dict[str, dict[str, str]]:
    """Label → image → value: the image in the first column, a label in each other; a missing value is no label.

    Raises:
        InputError: names the row and the column.
    """
    if len(table.names) < 2 or not all(table.names) or len(set(table.names)) < len(table.names):
        raise InputError(
            "not columns of labels", file=table.source, found=shown(", ".join(table.names)),
            expected="the image column and one for each label, each name once",
            advice=cause_of_columns(table.names, 2, ","),
        )  # fmt: skip
    columns: dict[str, dict[str, str]] = {name: {} for name in table.names[1:]}
    rows: dict[str, int] = {}
    for first, batch in table.batches():
        names, codes = table.texts(first, batch, 0)
        labels = [table.texts(first, batch, place, null="") for place in range(1, len(table.names))]
        for row, code in enumerate(codes.tolist(), start=first):
            image = names[code].strip()
            if not image or image in rows:
                check_image(image, row, rows.get(image), _fault(table), "row")
            rows[image] = row
            for column, (texts, of_row) in zip(columns.values(), labels, strict=True):
                column[image] = texts[of_row[row - first]].strip()
    if not rows:
        raise InputError("the table holds no image", file=table.source, expected="an image in each row")
    return columns
