"""A JSON document read piece by piece, in little memory, with the line and column of a fault."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from cuihop.errors import InputError
from cuihop.resources.optional_packages import installed_by
from cuihop_loader.term_lines import TextTermFile

LARGEST_VALUE = 64 << 20
"""Characters of one value that is read whole: a term, an edge, a header."""

_WINDOW = 1 << 20
_SPACE = re.compile(r"[ \t\r\n]*")
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")
_SHOWN = 40
_DOWNLOAD = "Download it again"
_NO_BYTES = np.empty(0, dtype=np.uint8)


class JsonStream:
    """A cursor over one JSON document, which moves from its beginning to its end.

    Args:
        source: the bytes, UTF-8.
        name: of the file, for errors.

    Attributes:
        line, column: of the value that `value` returned last, or of the cursor before the first; from 1.
    """

    def __init__(self, source: BinaryIO, name: str) -> None:
        with installed_by("cuihop[loader]"):
            import orjson

        from cuihop_loader._kernels.json_values import end_of_object

        self._source = source
        self._name = name
        self._decode_bytes = codecs.getincrementaldecoder("utf-8")().decode
        self._decode_value = json.JSONDecoder().raw_decode
        self._decode_object, self._end_of_object = orjson.loads, end_of_object
        self._bytes = _NO_BYTES  # the text, where it is ASCII
        self._text = ""
        self._at = 0
        self._ended = False
        self._counted = 0  # characters of the text whose line ends are counted
        self._begin = 0  # of the line of that character; negative where it is before the text
        self._lines = 1
        self.line = self.column = 1

    def members(self) -> Iterator[str]:
        """Names of an object's members; the caller reads the value of each before the next.

        Raises:
            InputError: the document breaks the syntax of JSON, or ends here.
        """
        self._take("{", "an object")
        if self._next() == "}":
            self._at += 1
            return
        while True:
            if self._next() != '"':
                raise self._fault("not JSON", self._at, "the name of a member in quotation marks")
            end = self._text.find('"', self._at + 1)
            name = self._text[self._at + 1 : end]
            if end > 0 and name.isprintable() and "\\" not in name:
                self._at = end + 1
            else:
                name = self.value()
            self._take(":", "a colon")
            yield name
            if self._comma_or("}"):
                return

    def items(self) -> Iterator[None]:
        """Once for each item of an array; the caller reads each before the next.

        Raises:
            InputError: the document breaks the syntax of JSON, or ends here.
        """
        self._take("[", "an array")
        if self._next() == "]":
            self._at += 1
            return
        while True:
            yield
            if self._comma_or("]"):
                return

    def value(self) -> Any:
        """The next value, whole.

        Raises:
            InputError: it breaks the syntax of JSON, is larger than `LARGEST_VALUE` or nested too deeply.
        """
        sign = self._next()
        self.line, self.column = self._position(self._at)
        if sign == "{" and (found := self._object()) is not None:
            return found
        while True:
            try:
                value, end = self._decode_value(self._text, self._at)
            except json.JSONDecodeError as error:
                beyond = error.pos - self._at
                if self._more():
                    continue
                _, _, expected = error.msg.partition("Expecting ")
                raise self._fault("not JSON", self._at + beyond, expected or "a whole value") from None
            except RecursionError:
                raise self._fault("values within values", self._at, "some hundred levels at most") from None
            except ValueError as error:  # a number of thousands of digits
                raise self._fault("not a number", self._at, str(error)) from None
            if end == len(self._text) and self._more():
                continue  # a number may go on
            if self._text.find("\\u", self._at, end) >= 0 and _LONE_SURROGATE.search(
                json.dumps(value, ensure_ascii=False)
            ):
                raise self._fault("half of a surrogate pair", self._at, "Unicode text")
            self._at = end
            return value

    def _object(self) -> dict[str, Any] | None:
        """The object at the cursor, decoded by orjson in a third of the time; ``None`` where `value` has to look.

        What orjson refuses is decoded again, for the place of the fault. It accepts no more than JSON.
        """
        end = self._end_of_object(self._bytes, self._at) if len(self._bytes) else 0
        if not end:
            return None
        try:
            found: dict[str, Any] = self._decode_object(self._text[self._at : end])
        except ValueError:
            return None
        self._at = end
        return found

    def end(self) -> None:
        """Check that nothing follows the document.

        Raises:
            InputError: something does.
        """
        if self._next():
            raise self._fault("text after the JSON document", self._at, "the end of the file")

    def _take(self, sign: str, expected: str) -> None:
        if self._next() != sign:
            raise self._fault("not JSON" if self._text else "an empty file", self._at, expected)
        self._at += 1

    def _comma_or(self, closing: str) -> bool:
        """Pass a comma, or the closing bracket, and then return true."""
        sign = self._next()
        if sign not in (",", closing) or not sign:
            raise self._fault("not JSON", self._at, f"a comma or '{closing}'")
        self._at += 1
        return sign == closing

    def _next(self) -> str:
        """The next character that is no white space; empty at the end."""
        if self._at < len(self._text) and (sign := self._text[self._at]) > " ":
            return sign
        while True:
            match = _SPACE.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _more(self) -> bool:
        """Read on, at least as much as is waiting; false at the end of the file."""
        if self._ended:
            return False
        waiting = len(self._text) - self._at
        if waiting > LARGEST_VALUE:
            raise self._fault("a value that is too large", self._at, f"{LARGEST_VALUE:,} characters at most")
        self._position(self._at)
        data = self._source.read(max(_WINDOW, waiting))
        self._ended = not data
        try:
            text = self._decode_bytes(data, self._ended)
        except UnicodeDecodeError as error:
            self._text = self._text[self._at :] + error.object[: error.start].decode()
            self._moved()
            found = f"byte 0x{error.object[error.start]:02X}"
            raise self._fault("not UTF-8", len(self._text), "UTF-8 text", found) from None
        self._text = self._text[self._at :] + text
        self._moved()
        self._bytes = np.frombuffer(self._text.encode(), dtype=np.uint8) if self._text.isascii() else _NO_BYTES
        return bool(text) or self._more()

    def _moved(self) -> None:
        """Count places from the cursor, where the text now begins."""
        self._begin -= self._at
        self._at = self._counted = 0

    def _position(self, place: int) -> tuple[int, int]:
        """Line and column of a place at or after the last one that was counted."""
        ends = self._text.count("\n", self._counted, place)
        if ends:
            self._lines += ends
            self._begin = self._text.rfind("\n", self._counted, place) + 1
        self._counted = place
        return self._lines, place - self._begin + 1

    def _fault(self, problem: str, place: int, expected: str, found: str | None = None) -> InputError:
        line, column = self._position(place)
        rest = _beginning(self._text[place : place + _SHOWN + 1])
        return InputError(
            problem, file=self._name, line=line, column=column, found=found or (repr(rest) if rest else "its end"),
            expected=expected, advice=None if rest else _DOWNLOAD,
        )  # fmt: skip


def _beginning(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


class JsonTermFile(TextTermFile):
    """The part that JSON formats share of a `cuihop_loader.terms.TermFile`."""

    def reject_value(self, document: JsonStream, value: object, wrong: WrongValueError) -> None:
        """Count a value of a wrong type, the last that was read, and end the load or go on."""
        raw = json.dumps(value).encode()
        self.reject(document.line, document.column, f"wrong value of {wrong.field}", raw, wrong.expected, wrong.found)


class WrongValueError(Exception):
    """A member of an object is not of its type.

    Attributes:
        field: its name.
        found, expected: as in `cuihop.errors.InputError`.
    """

    def __init__(self, field: str, found: object, expected: str) -> None:
        super().__init__(field)
        self.field = field
        self.found = _beginning(json.dumps(found, ensure_ascii=False))
        self.expected = expected


def object_of(value: object, field: str) -> dict[str, Any]:
    """The value, which must be an object; an empty one for ``null``.

    Raises:
        WrongValueError: it is something else.
    """
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise WrongValueError(field, value, "an object")
    return value


def objects_of(record: dict[str, Any], field: str) -> list[dict[str, Any]]:
    """An optional member that is a list of objects.

    Raises:
        WrongValueError: it is something else.
    """
    value = record.get(field)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise WrongValueError(field, value, "a list of objects")
    return value


def text_of(record: dict[str, Any], field: str) -> str | None:
    """An optional member that is text; ``None`` where it is empty.

    Raises:
        WrongValueError: it is something else.
    """
    value = record.get(field)
    if value is not None and not isinstance(value, str):
        raise WrongValueError(field, value, "text")
    return value or None


def texts_of(record: dict[str, Any], field: str) -> list[str]:
    """An optional member that is a list of texts.

    Raises:
        WrongValueError: it is something else.
    """
    value = record.get(field)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise WrongValueError(field, value, "a list of texts")
    return value


def flag_of(record: dict[str, Any], field: str) -> bool:
    """An optional member that is true or false.

    Raises:
        WrongValueError: it is something else.
    """
    value = record.get(field)
    if value is not None and not isinstance(value, bool):
        raise WrongValueError(field, value, "true or false")
    return bool(value)
