"""Parameters of a query: the lines of Neo4j Browser, and options."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop.cli.neo4j_commands import parameters_of_options, separated_parameters
from cuihop.errors import InputError

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cc", "Cs"])),
    lambda inner: st.lists(inner, max_size=4),
)


def as_the_explorer_writes(value: Any) -> str:
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_the_explorer_writes, value)) + "]"
    return json.dumps(value)


@given(values)
def test_a_parameter_has_the_value_that_was_written(value: Any) -> None:
    line = f":param a => {as_the_explorer_writes(value)};"
    assert separated_parameters(f"{line}\nRETURN $a") == ({"a": value}, "\nRETURN $a")
    assert separated_parameters(f":PARAM a: {json.dumps(value)}\r\nRETURN $a") == ({"a": value}, "\nRETURN $a")


def test_lines_keep_their_numbers_and_others_their_text() -> None:
    text = "// first\n:param a => 1;\nMATCH (n) WHERE n.x = ':param b => 2;'\nRETURN n"
    assert separated_parameters(text) == ({"a": 1}, text.replace(":param a => 1;", ""))


@pytest.mark.parametrize("line", [":param", ":param a", ":param a => ", ":param a => C0006121", ":param a => {b: 1}"])
def test_a_line_that_is_no_parameter_is_refused_with_its_number(line: str) -> None:
    with pytest.raises(InputError, match=r"line 2: not a parameter.*expected :param NAME => ") as refused:
        separated_parameters(f"// first\n{line}\nRETURN 1")
    assert refused.value.found == repr(line.strip())


def test_options_are_json_or_text() -> None:
    assert parameters_of_options(["a=1", "b=C0006121", 'c=["x"]', "d="]) == {
        "a": 1,
        "b": "C0006121",
        "c": ["x"],
        "d": "",
    }
    with pytest.raises(InputError, match=r"--param.*expected NAME=VALUE"):
        parameters_of_options(["a"])
