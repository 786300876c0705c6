"""The text of a curator's query, without a server: what takes too long, and clauses that do more than read."""

from __future__ import annotations

from typing import Any

import pytest

from cuihop.errors import InputError, LimitExceeded
from cuihop.neo4j_graph.query_text import LONGEST_MATCHED, LONGEST_RANGE, check_text

LONG = "a" * (LONGEST_MATCHED + 1)


@pytest.mark.parametrize(
    "pattern",
    [
        "a*a*a*a*b",
        "A*a+a*A+b",
        "(?i).*a.*a.*a.*",
        "[ab]*[bc]*[b]*b*",
        r"\w*a*\w+[^b]*c",
        r"\d*\d*\d*\d*a",
        "(a)*(a)*(a)*(a)*b",
        "a{1,}a{2,900}a*a*b",
        r"\x61*a*\x61*a*b",
        r"\0141*a*\0141*a*b",
        "é*ü*é*ü*b",
        r"[a-z&&a]*a*a*a*b",
    ],
)
@pytest.mark.parametrize("named", [False, True])
def test_a_regular_expression_whose_repetitions_overlap_is_refused(pattern: str, named: bool) -> None:
    operand = "$p" if named else "'" + pattern.replace("\\", "\\\\") + "'"
    with pytest.raises(InputError, match="line 2, column 14: a regular expression with repetitions that overlap"):
        check_text(f"MATCH (c:Concept)\nWHERE c.name =~ {operand} RETURN c.cui", {"p": pattern})


@pytest.mark.parametrize("pattern", ["(?i).*brain.*stem.*", r"\d+ \w+", "a*b*c*d*", r"[A-F]\d+\.\d+", r".*\bheart\b.*",
                                     "a{3}b{3}c{3}d{3}", "C(0|1)\\d{6}", "a?a?a?a?b"])  # fmt: skip
def test_a_regular_expression_of_everyday_is_sent(pattern: str) -> None:
    check_text("MATCH (c:Concept) WHERE any(n IN c.synonyms WHERE n =~ $p) RETURN c.cui + ' ' + c.name", {"p": pattern})
    check_text(f"MATCH (c)-[:IS_A]->+(p) WHERE c.name =~ {pattern!r} RETURN p", {})


@pytest.mark.parametrize(
    ("text", "parameters", "problem"),
    [
        ("RETURN $s =~ '.*a.*'", {"s": LONG}, "parameter parameters.s: a text is too long"),
        ("UNWIND $s AS s RETURN s =~ $p", {"s": ["a", {"x": LONG}], "p": ".*a.*"}, "found 1,001 characters"),
        (f"RETURN '{LONG}' =~ '.*a.*'", {}, "parameter query: a text is too long"),
        (
            "WITH reduce(s = 'a', i IN range(1, 20) | s + s) AS s RETURN s =~ 'a*a*b'",
            {},
            "column 6: the query may make",
        ),
        ("WITH replace('aa', 'a', $s) AS s RETURN s =~ 'a*a*b'", {"s": "a"}, "column 6: the query may make"),
        ("WITH $s AS s WITH s+s AS s WITH s || s AS s WITH s + s AS s RETURN s =~ 'a*a*b'", {"s": "a"}, "+ and ||"),
    ],
)
def test_what_an_expensive_regular_expression_is_compared_with_is_bounded(
    text: str, parameters: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InputError) as refused:
        check_text(text, parameters)
    assert problem in str(refused.value)
    cheap = text.replace(".*a.*", "a*").replace("a*a*b", "a*b")
    check_text(cheap, {**parameters, "p": "a*"})


@pytest.mark.parametrize(
    ("arguments", "parameters"),
    [
        (f"1, {LONGEST_RANGE + 1}", {}),
        ("0, 1_000_000_000", {}),
        ("0x0, 0xffffffff", {}),
        ("-10000000, 0", {}),
        ("10000000, 0, -1", {}),
        ("1, $n", {"n": 10**9}),
        ("0, 1000 * 1000 * 1000", {}),
        ("0, size(x) + 100000000", {}),
        ("0, [1, 900000000][1]", {}),
        ("0, 1000 * $n", {"n": 100_000}),
    ],
)
def test_a_range_of_many_millions_is_refused(arguments: str, parameters: dict[str, Any]) -> None:
    for name in ("range", "RANGE ", "range\n"):
        with pytest.raises(LimitExceeded, match=r"line 1: a range of [\d,]+ numbers; at most 5,000,000"):
            check_text(f"WITH [1] AS x RETURN size({name}({arguments})) AS n", parameters)


@pytest.mark.parametrize(
    "arguments",
    [f"1, {LONGEST_RANGE}", "0, size(x) - 1", "0, $n", "0, 1000000000, 1000", "9, 1", "1, 2, 0", "x[0], x[1]", "1", "",
     "0, 0x_", "$a, $b", "999999999, 1000000000"],
)  # fmt: skip
def test_a_range_of_few_numbers_is_sent(arguments: str) -> None:
    check_text(f"WITH [1] AS x RETURN size(range({arguments})) AS n, 'range(1, 99999999999)' AS t", {"n": 10, "a": "x"})


@pytest.mark.parametrize("word", ["SHOW TRANSACTIONS YIELD *", "terminate TRANSACTION 'x'", "Show SETTINGS"])
@pytest.mark.parametrize("form", ["%s", "WITH 1 AS x %s", "CALL () { %s } RETURN 1 AS y", "RETURN COLLECT { %s } AS x",
                                  "RETURN 1 AS x UNION %s", "RETURN /* */ 1 AS x\n%s"])  # fmt: skip
def test_showing_and_ending_work_of_the_server_is_refused_wherever_it_stands(form: str, word: str) -> None:
    with pytest.raises(InputError, match=r"a query that (begins|only reads)"):
        check_text(form % word)


def test_a_variable_named_like_such_a_clause_stands_in_backticks() -> None:
    with pytest.raises(InputError, match=r"shows or ends work of the server; found show.*in backticks: `show`"):
        check_text("MATCH (show) RETURN 1 AS x")
    check_text("MATCH (c:Show {terminate: 1}) RETURN c.show AS `show`, 'SHOW USERS' AS text")
