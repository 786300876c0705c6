"""The text of a curator's query, without a server: what takes too long, and clauses that do more than read."""

from __future__ import annotations

from typing import Any

import pytest

from cuihop.errors import InputError, LimitExceeded
from cuihop.neo4j_graph.query_text import LARGEST_EXPRESSION, LONGEST, LONGEST_MATCHED, LONGEST_RANGE, check_text

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
    check_text(f"MATCH (c)-[:IS_A]->+(p) -->+(q) ->+(r)->+(s) WHERE c.name =~ {pattern!r} RETURN p", {})
    check_text(f"RETURN '{LONG[1:]}' =~ {pattern!r}", {"s": LONG[1:]})


def test_a_property_may_be_named_end() -> None:
    check_text("MATCH (c:Concept) RETURN c.end", {})


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
        ("0, 1__000__000__000", {}),
    ],
)
def test_a_range_of_many_millions_is_refused(arguments: str, parameters: dict[str, Any]) -> None:
    for name in ("range", "RANGE ", "range\n"):
        with pytest.raises(LimitExceeded, match=r"line 1: a range of [\d,]+ numbers; at most 5,000,000"):
            check_text(f"WITH [1] AS x RETURN size({name}({arguments})) AS n", parameters)


@pytest.mark.parametrize(
    "arguments",
    [f"1, {LONGEST_RANGE}", "0, size(x) - 1", "0, $n", "0, 1000000000, 1000", "9, 1", "1, 2, 0", "x[0], x[1]", "1", "",
     "0, 0x_", "$a, $b", "999999999, 1000000000", "0, [9000, 1000][1]"],
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


WORDS, MANY = "a " * LARGEST_EXPRESSION, "a " * (LARGEST_EXPRESSION - 10)


@pytest.mark.parametrize(
    ("largest", "more"),
    [
        (f"RETURN {WORDS}", "a"),
        (f"RETURN {'(' * 50}", "a"),
        (f"RETURN {'[' * 50}", "a"),
        (f"RETURN {'NOT ' * 50}a a a a", " a"),
        (f"RETURN {'!' * 50}a a a a", " a"),
        (f"RETURN a{'.b' * 42} a", " a"),
        *((f"RETURN 1{f' {sign} 1' * 41} a a a", " a") for sign in "+-*/%^|"),
        (f"MATCH {'(a)-->' * 31}a a", " a"),
        (f"MATCH {'(a)<-[b]-' * 19}a a a", " a"),
        (f"MATCH {'(a)-[b|-c]-' * 20}{'a ' * 10}", "a"),
        (f"RETURN {'CASE ' * 50}", "a"),
    ],
)
def test_an_expression_has_a_largest_size(largest: str, more: str) -> None:
    check_text(largest)
    with pytest.raises(LimitExceeded, match=r"line 1: an expression is too long.* at most 250 words and signs, 50 bra"):
        check_text(largest + more)


@pytest.mark.parametrize("clause", ["LIMIT", "MATCH", "OPTIONAL", "ORDER", "RETURN", "SKIP", "UNION", "UNWIND", "WHEN",
                                    "WHERE", "WITH", "YIELD", ","])  # fmt: skip
@pytest.mark.parametrize("end", ["", "_", ")", "]", "}", "'b'", '"b"', "`b`"])
def test_a_clause_and_a_comma_begin_an_expression(clause: str, end: str) -> None:
    check_text(f"WITH {MANY}{end} {clause} {MANY}")


@pytest.mark.parametrize("operator", ["AND", "CONTAINS", "ENDS", "IN", "IS", "NOT", "OR", "STARTS", "XOR", "=", "+"])
def test_what_follows_an_operator_is_no_clause(operator: str) -> None:
    with pytest.raises(LimitExceeded, match="an expression is too long"):
        check_text(f"WITH {MANY}{operator} WHERE {MANY}")


@pytest.mark.parametrize("part", ["(%s)", "[%s]", "{%s}", "CASE %s END", "(CASE %s)"])
def test_what_a_bracket_holds_counts_until_it_ends(part: str) -> None:
    held = part % ("a " * 200)
    check_text(f"RETURN {held}, {MANY}")
    check_text(f"RETURN {held} {'a ' * 200}")
    with pytest.raises(LimitExceeded, match="an expression is too long"):
        check_text(f"RETURN {'a ' * 60}{held}")


@pytest.mark.parametrize(
    ("most", "more", "problem"),
    [
        ("RETURN 1" + " UNWIND 1 AS a" * 99, " MATCH (a)", "100 clauses"),
        ("RETURN 1" + " WITH 1" * 99, " CALL (a) {", "100 clauses"),
        ("RETURN [" + "{}," * 99 + "1", ",{", "100 clauses"),
        ("RETURN 1" + ", a STARTS WITH b, c ENDS WITH d, e.match, (f:Match), $match" * 50 + " MATCH (a)" * 99,
         " RETURN 1", "100 clauses"),
        ("RETURN " + "{a: " * 8 + "1" + "}" * 8 + ", " + "{a: " * 8, "{", "8 curly brackets within one another"),
        ("RETURN a" + " XOR b" * 8, " XOR b", "8 XOR"),
    ],
)  # fmt: skip
def test_clauses_subqueries_and_xor_have_a_largest_number(most: str, more: str, problem: str) -> None:
    check_text(most)
    with pytest.raises(LimitExceeded, match=f"the query has more than {problem}"):
        check_text(most + more)
    check_text("RETURN " + "a" * (LONGEST - 7))
    with pytest.raises(LimitExceeded, match="the query has 20,001 characters; at most 20,000"):
        check_text("RETURN " + "a" * (LONGEST - 6))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "line 1, column 1: not a query that reads; found no query"),
        ("// a\n/*\n*/ 'a'", "line 3, column 4: not a query that reads"),
        ("\nCREATE (a)", "line 2, column 1: not a query that reads; found CREATE"),
        ("RETURN 1; RETURN 2", "line 1, column 9: more than one statement"),
        ("MATCH (a)\n\nDETACH DELETE a", "line 3, column 1: the query would write"),
        (f"RETURN 1{' ' * 300}SET a", "column 309: the query would write"),
        ("MATCH (a) MERGE (b)", "the query would write, or leave the database; found MERGE"),
        ("LOAD CSV FROM 'a' AS b RETURN b", "not a query that reads"),
        ("WITH 1 AS a LOAD\u00a0CSV FROM 'b' AS c RETURN c", "column 13: the query loads a file"),
        ("CALL dbms.listConfig()", "column 1: the query calls a procedure that is not allowed here; found dbms.list"),
        ("CALL", "a procedure that is not allowed here; found CALL"),
        (
            "RETURN apoc.text.join([], '')",
            "column 8: the query calls a function that is not allowed here; found apoc.t",
        ),
        ("RETURN `size`([])", "a function that is not allowed here; found `size`"),
        ("RETURN `date`.`truncate`('day')", "a function that is not allowed here"),
        (r"RETURN '\u0041'", r"column 9: an escape for a character that every keyboard has; found \u0041"),
        (r"RETURN '\uu007f'", "an escape for a character"),
        ("RETURN 'a", "column 8: a string or quoted name does not end; found '"),
        ("RETURN `a", "a string or quoted name does not end; found `"),
        ("RETURN 1 /* a", "column 10: a comment does not end"),
        ("RETURN 1 // a\u2028SET", "column 10: a comment with an unusual line break"),
    ],
)
def test_what_does_more_than_read_or_has_two_readings_is_refused_where_it_stands(text: str, problem: str) -> None:
    with pytest.raises(InputError) as refused:
        check_text(text)
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "RETURN 1; ",
        r"RETURN '\u0080\'', "
        r'"\"", `a``b`',
        "CALL db . labels() YIELD label RETURN label",
        "CALL (a) { RETURN 1 AS b } RETURN b",
        "RETURN date.truncate('day'), Vector . Similarity.cosine([1], [1]), datetime()",
        "MATCH (c:Create {set: 1, `delete`: 2}) WHERE c.merge = $remove AND c . drop = 1 RETURN c.load, 'SET'",
        "RETURN 1 // SET\r\n",
        "WITH 1 AS load RETURN load",
    ],
)
def test_words_that_read_or_are_names_are_sent(text: str) -> None:
    check_text(text, {"remove": 1})


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("a*b*c*d*e*", "too many repetitions"),
        ("(a*)*", "around another"),
        ("(a|b)*", "around another, or around a choice"),
        ("((a|b))+", "around another, or around a choice"),
        ("((a)*b){2}", "around another"),
        (r"(a)\1", "refers back"),
        (r"(?<n>a)\k<n>", "brackets do not match|refers back"),
        ("(a", "brackets do not match"),
        ("a)", "brackets do not match"),
        ("[a[b]]", "brackets do not match"),
        (r"\Qa", "quoted text or remarks"),
        ("(?ix)a", "quoted text or remarks"),
        ("a" * (LONGEST + 1), "too long"),
    ],
)
def test_a_regular_expression_that_may_never_end_is_refused(pattern: str, problem: str) -> None:
    with pytest.raises(InputError, match=f"a regular expression .*({problem})"):
        check_text("RETURN 'a' =~ $p", {"p": pattern})


@pytest.mark.parametrize("operand", ["a", "$p + 'a'", "'a' || $p", "$p[0]", "$p.a", "('a')", "$q"])
def test_a_regular_expression_that_is_computed_is_refused(operand: str) -> None:
    with pytest.raises(InputError, match="column 12: a regular expression that is computed"):
        check_text(f"RETURN 'a' =~ {operand}", {"p": "a", "q": 1})


@pytest.mark.parametrize(("sign", "read"), [*zip("bfnrt", "\b\f\n\r\t", strict=True)])
def test_a_string_is_checked_as_the_server_reads_it(sign: str, read: str) -> None:
    repeated = rf"\{sign}*" * 3
    with pytest.raises(InputError, match="repetitions that overlap"):
        check_text(f"RETURN 'a' =~ '{repeated}[{read}]*'")
