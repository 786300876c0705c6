"""BRAT's standoff format: a text file and, next to it, a file of mentions of the same name ending in ``.ann``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from cuihop.annotated_texts.documents import LONGEST_TEXT, AnnotatedDocument, DocumentRows, GoldMention, same_text
from cuihop.errors import InputError
from cuihop.files.input_file import InputFile, path_text
from cuihop.files.text_lines import counted, decoded_lines, quoted, whole_text

_TEXT, _MENTIONS = ".txt", ".ann"
_BYTES_A_CHARACTER = 4
_MENTION = "T1, a tab, TYPE START END, a tab, the text"
_NORMALISATION = "N1, a tab, Reference T1 DATABASE:CONCEPT, a tab, the name"


def is_brat(path: Path) -> bool:
    """Recognise a folder, a file of mentions, or a text that has one next to it."""
    if path.is_dir() or path.suffix == _MENTIONS:
        return True
    return path.suffix == _TEXT and path.with_suffix(_MENTIONS).is_file()


def brat_rows(path: Path) -> DocumentRows:
    """The documents of a folder by name, or the one of a file. The identifier is the name without its ending.

    Raises:
        InputError: the folder holds no text.
    """
    texts = [path.with_suffix(_TEXT)]
    if path.is_dir():
        texts = sorted(path.glob(f"*{_TEXT}"))
        if not texts:
            raise InputError(
                "the folder holds no text", file=path, expected=f"files *{_TEXT}, and *{_MENTIONS} beside them"
            )
    form = f"BRAT, {counted(len(texts), 'text')}"

    def row_error(
        problem: str, row: int, column: int, content: str, expected: str, hint: str | None = None
    ) -> InputError:
        return InputError(problem, file=texts[row - 1], found=content, expected=expected, advice=hint)

    return DocumentRows(str(path), form, _documents(texts), row_error, "file")


def _documents(texts: Sequence[Path]) -> Iterator[tuple[int, AnnotatedDocument]]:
    for number, path in enumerate(texts, start=1):
        text = whole_text(path, _BYTES_A_CHARACTER * LONGEST_TEXT)
        mentions_path = path.with_suffix(_MENTIONS)
        mentions = _mentions(mentions_path, text) if mentions_path.exists() else ()
        yield number, AnnotatedDocument(path_text(path.stem), text, mentions)


def _mentions(path: Path, text: str) -> tuple[GoldMention, ...]:
    file = InputFile(path)
    spans: dict[str, tuple[int, int, str]] = {}
    concepts: dict[str, list[str]] = {}
    for line, raw in enumerate(decoded_lines(file), start=1):
        kind, fields = raw[:1], raw.rstrip("\r\n").split("\t")
        if kind == "T":
            if fields[0] in spans:
                raise InputError(
                    "a mention stands twice", file=file.name, line=line, column=1, found=quoted(fields[0]),
                    expected="each number once",
                )  # fmt: skip
            spans[fields[0]] = _span(fields, text, file.name, line)
        elif kind == "N":
            mention, concept = _concept(fields, file.name, line)
            concepts.setdefault(mention, []).append(concept)
    for mention in concepts:
        if mention not in spans:
            raise InputError(
                "a concept without its mention", file=file.name, found=quoted(mention), expected=f"a line {mention}"
            )
    return tuple(
        GoldMention(start, end, text[start:end], tuple(dict.fromkeys(concepts.get(name, ()))), kind)
        for name, (start, end, kind) in spans.items()
    )


def _span(fields: Sequence[str], text: str, file: str, line: int) -> tuple[int, int, str]:
    """Start, end and type of a mention; of one in several parts, from the first to the last."""
    kind, _, offsets = (fields[1] if len(fields) > 1 else "").partition(" ")
    bounds = [part.split(" ") for part in offsets.split(";")]
    if len(fields) < 3 or not kind or not all(len(pair) == 2 and all(map(_is_number, pair)) for pair in bounds):
        raise InputError("not a mention", file=file, line=line, found=quoted("\t".join(fields)), expected=_MENTION)
    spans = [(int(start), int(end)) for start, end in bounds]
    characters = " ".join(text[start:end] for start, end in spans)
    if not (all(start < end <= len(text) for start, end in spans) and same_text(fields[2], characters)):
        raise InputError(
            "the text of a mention is not at its place", file=file, line=line, column=3,
            found=f"{quoted(fields[2])}, and in the text {quoted(characters)}", expected=f"the characters {offsets}",
            advice="Offsets count characters (code points) from 0.",
        )  # fmt: skip
    return min(start for start, _ in spans), max(end for _, end in spans), kind


def _concept(fields: Sequence[str], file: str, line: int) -> tuple[str, str]:
    """The mention and the concept of a normalisation."""
    words = (fields[1] if len(fields) > 1 else "").split(" ")
    concept = words[2].partition(":")[2] if len(words) == 3 else ""
    if not concept:
        raise InputError(
            "not a concept of a mention", file=file, line=line, found=quoted("\t".join(fields)),
            expected=_NORMALISATION,
        )  # fmt: skip
    return words[1], concept


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10
