"""The text of a curator's query: refused before it is sent if it could do more than read the graph.

Keywords are sought outside strings, quoted names and comments. A text with two readings is refused, whichever of them
a server would choose.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from cuihop.errors import InputError, LimitExceeded

ALLOWED_PROCEDURES = frozenset(
    {
        "db.index.fulltext.queryNodes",
        "db.labels",
        "db.propertyKeys",
        "db.relationshipTypes",
        "db.schema.nodeTypeProperties",
        "db.schema.relTypeProperties",
        "db.schema.visualization",
    }
)
"""Procedures that only read the graph. Others could write, read files, or reach other machines."""

# Planning takes time and stack of the server before any transaction can be ended. Measured with 5.26: 320 nested
# brackets, 250 NOT, 180 properties of properties or 200 sums overflow the stack of the thread, which then never answers
# (on a cold server sooner than on one that has run for a while: the bounds hold with half the stack); XOR doubles the
# work with each one (20 of them fill the heap), and so do subqueries within subqueries (12 of them take 0.4 s, 20 do
# not end). The time for clauses in a row grows with the square of their number: 700 take 10 s and more.

LONGEST = 20_000
"""Characters of a query."""

LARGEST_EXPRESSION = 250
"""Words and signs between two commas or clauses, with those of the brackets around. What nests counts as 5: a bracket,
an arithmetic sign, each further ``NOT``, ``!`` or property in a row."""

MOST_CLAUSES = 100
"""Clauses and curly brackets in one query."""

DEEPEST_SUBQUERY = 8
"""Curly brackets within one another."""

MOST_XOR = 8
"""``XOR`` in one query."""

MOST_REPETITIONS = 4
"""``*``, ``+``, ``?`` and ``{…}`` in one regular expression."""

MOST_OVERLAPPING = 3
"""Repetitions in one regular expression that match a common character: the time to match grows with the length to this
power. Three take a second for 1,000 characters, four take hours."""

LONGEST_MATCHED = 1_000
"""Characters of a string or a parameter in a query with a regular expression of two such repetitions or more."""

LONGEST_RANGE = 5_000_000
"""Elements of one ``range``: a list of them may stand in memory."""

_NAMESPACES = frozenset(
    {"date", "datetime", "duration", "localdatetime", "localtime", "point", "time", "vector.similarity"}
)
"""Namespaces of the server's own functions with a point in their names. Others belong to plugins."""

_BEGINNINGS = ("CALL", "MATCH", "OPTIONAL", "RETURN", "UNWIND", "WITH")
_COUNTED = {"CALL", "MATCH", "RETURN", "UNWIND", "WITH", "{"}
_NO_CLAUSE_AFTER = {"STARTS", "ENDS", ".", ":", "$"}
_CLAUSES = {*_BEGINNINGS, "LIMIT", "ORDER", "SKIP", "UNION", "WHEN", "WHERE", "YIELD"}
_OPERATORS = {"AND", "CONTAINS", "ENDS", "IN", "IS", "NOT", "OR", "STARTS", "XOR"}
_OPENING, _CLOSING = {"(", "[", "{", "CASE"}, {")", "]", "}"}
_READING = "a query that only reads the graph"
_NESTING_WEIGHT = 5
_SIGNS, _NO_SIGN_AFTER = set("+-*/%^|"), set(")]<-|")  # in a pattern, or counted with the bracket
_NEAR = 200

_ESCAPE = re.compile(r"\\u+([0-9A-Fa-f]{4})")
_OPAQUE = re.compile(
    r"""'(?:[^'\\]|\\.)*+(?P<single>')?|"(?:[^"\\]|\\.)*+(?P<double>")?|`(?:[^`]|``)*+(?P<name>`)?"""
    r"""|//[^\n\r]*+|/\*.*?(?:(?P<remark>\*/)|\Z)""",
    re.DOTALL,
)
_ODD_BREAK = re.compile("\r(?!\n)|[\v\f\x1c-\x1e\x85\u2028\u2029]")
_WORD = re.compile(
    r"\b(?:CREATE|MERGE|INSERT|SET|DELETE|DETACH|NODETACH|REMOVE|FOREACH|DROP|USE|CALL|LOAD|SHOW|TERMINATE)\b",
    re.IGNORECASE,
)
_CSV = re.compile(r"[^!-~]*CSV\b", re.IGNORECASE)  # between the two: whatever a server may take for a blank
_CALLED = re.compile(r"\s*(?:[({]|([\w`]+(?:\s*\.\s*[\w`]+)*))")
_FUNCTION = re.compile(r"(?<![\w`])[\w`]++(?:\s*+\.\s*+[\w`]++)*+(?=\s*\()")
_PROPERTY = re.compile(r"(?:\b[^\W\d]\w*|[)\]}`'\"])\s*\.\s*\Z|[$:]\s*\Z")
_TOKEN = re.compile(r"\w+|'+|\"+|`+|[^\w\s]")

# Regular expressions
_MATCHES = re.compile(r"=~\s*")
_OPERAND = re.compile(r"(?P<string>'+|\"+)|\$\s*(?P<parameter>\w+)")
_GOES_ON = re.compile(r"\s*(?:[-+*/%^.\[:]|\|\|)")
_ESCAPED_SIGN = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_PATTERN_PART = re.compile(
    r"\\(?P<escape>.)|(?P<set>\[\^?(?:\\.|[^\]\\\[])+\])|(?P<open>\((?:\?[a-zA-Z-]*[:)]?)?)|(?P<rest>.)", re.DOTALL
)
_REPEATED = re.compile(
    r"(?P<atom>\\.|\[\^?(?:\\.|[^\]\\\[])+\]|.)(?P<sign>[*+]|\{\d+,\d*\})?(?:\?|\{\d+\})?[?+]?", re.DOTALL
)
_OTHER_ESCAPE = re.compile(
    r"\\(?![dDwWsS])[0-9A-Za-z]|&&|--|~~|\|\||[^\0-\x7f]"
)  # matches a character that is not seen here
_ASCII = frozenset(map(chr, range(128)))
_STRING = re.compile(r"'{2,}|\"{2,}")
_GROWING = re.compile(r"\b(?:reduce|replace|normalize)\s*\(", re.IGNORECASE)
_JOIN = re.compile(r"\+|\|\|")
_MOST_JOINS = 2

# Ranges
_RANGE = re.compile(r"\brange\s*\(", re.IGNORECASE)
_INTEGER = re.compile(r"\$\s*(?P<parameter>\w+)|\b(?P<number>0[xXoO][\da-fA-F_]+|\d[\d_]*)")
_SIGNED = re.compile(rf"\s*(?P<sign>-?)\s*(?:{_INTEGER.pattern})\s*")


def check_text(text: str, parameters: Mapping[str, Any] | None = None) -> None:
    """Refuse a query that could do more than read the graph, or that a server could not plan in time.

    Args:
        text: Cypher, one statement.
        parameters: values for its ``$names``.

    Raises:
        InputError: it would write, load a file, leave the database, inspect the server, call a procedure or function
            that is not allowed, or match a regular expression that may never end; with line and column.
        LimitExceeded: it is beyond `LONGEST`, `LARGEST_EXPRESSION`, `MOST_CLAUSES`, `DEEPEST_SUBQUERY`, `MOST_XOR` or
            `LONGEST_RANGE`.
    """
    if len(text) > LONGEST:
        raise LimitExceeded(f"the query has {len(text):,} characters; at most {LONGEST:,} are allowed")
    code = _code(text)
    first = next(_TOKEN.finditer(code), None)
    if first is None or first[0].upper() not in _BEGINNINGS:
        raise _refused(
            code,
            0 if first is None else first.start(),
            "not a query that reads",
            value="no query" if first is None else first[0][:40],
            expected=f"a query that begins with {', '.join(_BEGINNINGS[:-1])} or {_BEGINNINGS[-1]}",
        )
    end = code.find(";")
    if end >= 0 and code[end + 1 :].strip():
        raise _refused(code, end, "more than one statement", value=";", expected="one statement")
    _check_size(code)
    called = _check_words(code)
    for match in _FUNCTION.finditer(code):
        namespace = re.sub(r"\s", "", match[0]).rpartition(".")[0].lower()
        if match.start() not in called and (("`" in match[0]) or (namespace and namespace not in _NAMESPACES)):
            raise _refused(
                code,
                match.start(),
                "the query calls a function that is not allowed here",
                value=text[match.start() : match.end()],
                expected="functions that are part of Cypher",
            )
    _check_ranges(code, parameters or {})
    _check_patterns(text, code, parameters or {})


def _refused(
    code: str, at: int, problem: str, *, value: str | None = None, expected: str, advice: str | None = None
) -> InputError:
    line = code.count("\n", 0, at) + 1
    column = at - code.rfind("\n", 0, at)
    return InputError(problem, line=line, column=column, found=value, expected=expected, advice=advice)


def _code(text: str) -> str:
    r"""The text with strings, quoted names and comments overwritten; every position stays the same.

    Cypher replaces ``\uXXXX`` before anything else, so that an escape can end a string or be part of a keyword.
    """

    def character(match: re.Match[str]) -> str:
        number = int(match[1], 16)
        if number < 128:
            raise _refused(
                text,
                match.start(),
                "an escape for a character that every keyboard has",
                value=match[0],
                expected=f"the character itself, {chr(number)!r}",
            )
        return chr(number).ljust(len(match[0]))

    def covered(match: re.Match[str]) -> str:
        text_of_match = match[0]
        kind = text_of_match[0]
        if kind != "/":
            if match.lastgroup is None:
                raise _refused(text, match.start(), "a string or quoted name does not end", value=kind, expected=kind)
            return kind * len(text_of_match)
        if text_of_match.startswith("/*"):
            if match["remark"] is None:
                raise _refused(text, match.start(), "a comment does not end", value="/*", expected="*/")
            return "".join("\n" if c == "\n" else " " for c in text_of_match)
        if _ODD_BREAK.search(text_of_match):
            raise _refused(
                text, match.start(), "a comment with an unusual line break", value="//", expected="line feeds"
            )
        return " " * len(text_of_match)

    return _OPAQUE.sub(covered, _ESCAPE.sub(character, text))


def _check_words(code: str) -> set[int]:
    """Refuse clauses that do not read, and procedures that are not allowed. Returns where the allowed ones stand."""
    called = set()
    for match in _WORD.finditer(code):
        start, end = match.span()
        word = match[0].upper()
        if _PROPERTY.search(code, max(0, start - _NEAR), start) or code[end : end + _NEAR].lstrip().startswith(":"):
            continue  # a property, a label, a parameter, a key
        if word == "LOAD":
            if _CSV.match(code, end):
                raise _refused(code, start, "the query loads a file", value="LOAD CSV", expected=_READING)
        elif word == "CALL":
            procedure = _CALLED.match(code, end)
            if procedure is None or (
                procedure[1] is not None and re.sub(r"\s", "", procedure[1]) not in ALLOWED_PROCEDURES
            ):
                raise _refused(
                    code,
                    start,
                    "the query calls a procedure that is not allowed here",
                    value=code[start:end] if procedure is None else procedure[1],
                    expected=" or ".join(sorted(ALLOWED_PROCEDURES)),
                )
            called.add(procedure.start(1))
        else:
            of_the_server = word in ("SHOW", "TERMINATE")
            raise _refused(
                code,
                start,
                "the query shows or ends work of the server"
                if of_the_server
                else "the query would write, or leave the database",
                value=match[0],
                expected=_READING,
                advice=f"A variable of this name stands in backticks: `{match[0]}`.",
            )
    return called


def _check_size(code: str) -> None:
    """Refuse a query that a server may not plan in time."""
    sizes, kinds = [0], [""]  # of the expressions that are open, the innermost last
    clauses = curly = xor = 0
    earlier = before = ""
    for match in _TOKEN.finditer(code):
        token = match[0].upper()
        xor += token == "XOR"  # noqa: S105 - a word of Cypher
        clauses += token in _COUNTED and before not in _NO_CLAUSE_AFTER
        in_a_row = before if token in ("NOT", "!") else earlier if token == "." else None  # noqa: S105
        nests = token == in_a_row or (token in _SIGNS and before not in _NO_SIGN_AFTER)
        if token in _OPENING:
            sizes[-1] += _NESTING_WEIGHT
            sizes.append(0)
            kinds.append(token)
            curly += token == "{"  # noqa: S105
        elif token in _CLOSING or (token == "END" and kinds[-1] == "CASE"):  # noqa: S105
            while token in _CLOSING and kinds[-1] == "CASE":  # a property of this name
                del sizes[-1], kinds[-1]
            if len(kinds) > 1:
                curly -= kinds[-1] == "{"
                del sizes[-1], kinds[-1]
        elif token == "," or (token in _CLAUSES and not _joins(before)):  # noqa: S105
            sizes[-1] = 0
        else:
            sizes[-1] += _NESTING_WEIGHT if nests else 1
        earlier, before = before, token
        if sum(sizes) > LARGEST_EXPRESSION:
            raise LimitExceeded(
                f"line {code.count(chr(10), 0, match.start()) + 1:,}: an expression is too long, or its brackets are "
                f"too deep; at most {LARGEST_EXPRESSION} words and signs, {LARGEST_EXPRESSION // _NESTING_WEIGHT} "
                "brackets within one another. A long list of values belongs in a parameter: c.cui IN $cuis"
            )
        if clauses > MOST_CLAUSES:
            raise LimitExceeded(f"the query has more than {MOST_CLAUSES} clauses and curly brackets")
        if curly > DEEPEST_SUBQUERY:
            raise LimitExceeded(f"the query has more than {DEEPEST_SUBQUERY} curly brackets within one another")
        if xor > MOST_XOR:
            raise LimitExceeded(f"the query has more than {MOST_XOR} XOR")


def _joins(token: str) -> bool:
    """True where the next token continues the expression, and so begins no clause."""
    return token in _OPERATORS or not (token[-1:].isalnum() or token[-1:] in "_)]}'\"`")


def _check_patterns(text: str, code: str, parameters: Mapping[str, Any]) -> None:
    """Refuse a regular expression that is computed, or that may keep a thread of the server busy for ever.

    The server matches by backtracking, and does not notice meanwhile that the query was ended. ``code`` is the text
    with strings, quoted names and comments overwritten.
    """
    overlapping = 0
    for match in _MATCHES.finditer(code):
        operand = _OPERAND.match(code, match.end())
        value: Any = None
        if operand is not None and not _GOES_ON.match(code, operand.end()):
            if operand["parameter"] is None:
                literal = text[operand.start() + 1 : operand.end() - 1]
                value = _ESCAPED_SIGN.sub(lambda escape: _ESCAPES.get(escape[1], escape[1]), literal)
            else:
                value = parameters.get(operand["parameter"], "")
        problem = "a regular expression that is computed" if not isinstance(value, str) else _pattern_problem(value)
        if problem is not None:
            raise _refused(
                code,
                match.start(),
                problem,
                expected=f"a string or a parameter with at most {MOST_REPETITIONS} of * + ? {{}}, none of them around "
                f"another or around |, at most {MOST_OVERLAPPING} that match a common character, and without "
                "references back; CONTAINS and STARTS WITH need none",
            )
        overlapping = max(overlapping, _overlapping(value))
    if overlapping > 1:
        _check_matched(code, parameters)


def _check_matched(code: str, parameters: Mapping[str, Any]) -> None:
    """Refuse long texts, and what makes them, in a query whose regular expression takes long for them."""
    hint = "The repetitions of the regular expression overlap: it takes long for long texts. CONTAINS does not."
    lengths = {f"parameters.{name}": _longest_text(value) for name, value in parameters.items()}
    lengths |= {"query": max((len(match[0]) - 2 for match in _STRING.finditer(code)), default=0)}
    for name, length in lengths.items():
        if length > LONGEST_MATCHED:
            raise InputError(
                "a text is too long for the regular expression", column=name, found=f"{length:,} characters",
                expected=f"at most {LONGEST_MATCHED:,}", advice=hint,
            )  # fmt: skip
    joins = [at for match in _JOIN.finditer(code) if code[: (at := match.start())].rstrip()[-1:] not in "->"]
    if growing := [match.start() for match in _GROWING.finditer(code)] or joins[_MOST_JOINS:]:
        raise _refused(
            code,
            growing[0],
            "the query may make a text that is too long for its regular expression",
            expected=f"no reduce, replace or normalize, and at most {_MOST_JOINS} of + and ||",
            advice=hint,
        )


def _longest_text(value: Any) -> int:
    """The length of the longest text in a value."""
    if isinstance(value, Mapping | list | tuple):
        return max(map(_longest_text, value.values() if isinstance(value, Mapping) else value), default=0)
    return len(value) if isinstance(value, str) else 0


def _overlapping(pattern: str) -> int:
    """The most repetitions in a pattern that match a common character."""
    opaque = _OTHER_ESCAPE.search(pattern) is not None
    repeated = [
        _ASCII if opaque else _characters(match["atom"]) for match in _REPEATED.finditer(pattern) if match["sign"]
    ]
    return max((sum(not one.isdisjoint(other) for other in repeated) for one in repeated), default=0)


def _characters(atom: str) -> frozenset[str]:
    """The characters of ASCII that an atom of a pattern matches; all of them for a group."""
    if atom == ")":
        return _ASCII
    try:
        matcher = re.compile(atom, re.IGNORECASE | re.DOTALL)
    except re.error:
        return _ASCII
    return frozenset(filter(matcher.fullmatch, _ASCII))


def _check_ranges(code: str, parameters: Mapping[str, Any]) -> None:
    """Refuse a list of numbers that a server may not have the memory for."""
    for match in _RANGE.finditer(code):
        elements = _elements(_arguments(code, match.end()), parameters)
        if elements > LONGEST_RANGE:
            raise LimitExceeded(
                f"line {code.count(chr(10), 0, match.start()) + 1:,}: a range of {elements:,} numbers; at most "
                f"{LONGEST_RANGE:,} are allowed"
            )


def _arguments(code: str, start: int) -> list[str]:
    """The arguments of a function, from behind its opening bracket."""
    depth, begin, arguments = 0, start, []
    for position in range(start, len(code)):
        sign = code[position]
        if sign in ")," and not depth:
            arguments.append(code[begin:position])
            begin = position + 1
        depth += (sign in "([{") - (sign in ")]}")
        if depth < 0:
            break
    return arguments


def _elements(arguments: list[str], parameters: Mapping[str, Any]) -> int:
    """The elements of a range: for a computed bound, as many as its numbers make; variables are not known."""

    def number(match: re.Match[str]) -> int:
        if match["parameter"] is not None:
            value = parameters.get(match["parameter"])
            return value if isinstance(value, int) else 0
        text = match["number"].replace("_", "")
        try:
            return int(text, 0 if text[1:2].isalpha() else 10)
        except ValueError:  # no number: the server refuses it
            return 0

    plain = [_SIGNED.fullmatch(argument) for argument in arguments]
    signed = [-number(match) if match["sign"] else number(match) for match in plain if match is not None]
    if len(signed) == len(arguments) and 2 <= len(signed) <= 3:
        first, last, step = (*signed, 1)[:3]
        return 0 if step == 0 else max(0, (last - first) // step + 1)
    sizes = [[abs(number(match)) for match in _INTEGER.finditer(argument)] for argument in arguments[:2]]
    return sum(
        math.prod(max(1, n) for n in numbers) if "*" in argument else sum(numbers)
        for argument, numbers in zip(arguments, sizes, strict=False)
    )


def _pattern_problem(pattern: str) -> str | None:
    if len(pattern) > LONGEST:
        return "a regular expression that is too long"
    if "\\Q" in pattern or re.search(r"\(\?[a-wyzA-Z-]*x", pattern):
        return "a regular expression with quoted text or remarks"
    repetitions = 0
    groups = [False]  # true for an open group with a choice or a repetition
    closed = False  # true after a group that does
    for piece in _PATTERN_PART.finditer(pattern):
        before, closed = closed, False
        sign = piece["rest"]
        if piece["escape"] is not None and piece["escape"] in "123456789k":
            return "a regular expression that refers back"
        if sign == "[" or (sign == ")" and len(groups) == 1):
            return "a regular expression whose brackets do not match, or stand within [ ]"
        if piece["open"] is not None and not piece["open"].endswith(")"):
            groups.append(False)
        elif sign == ")":
            closed = groups.pop()
            groups[-1] = groups[-1] or closed
        elif sign == "|":
            groups[-1] = True
        elif sign is not None and sign in "*+?{":
            repetitions += 1
            groups[-1] = True
            if before:
                return "a regular expression with a repetition around another, or around a choice"
    if len(groups) > 1:
        return "a regular expression whose brackets do not match"
    if repetitions > MOST_REPETITIONS:
        return "a regular expression with too many repetitions"
    return "a regular expression with repetitions that overlap" if _overlapping(pattern) > MOST_OVERLAPPING else None
