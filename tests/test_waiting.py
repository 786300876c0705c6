"""No test sleeps for a time and hopes that something has happened by then."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from waiting import wait_for, wait_until_still

_SLEEPING = {"sleep", "wait_for_timeout", "Timer"}
_ALLOWED = {
    "cuihop_server.py": "no event says that asyncio has closed the sockets of failed TLS handshakes",
    "remote/test_remote_faults.py": "a server that answers slowly",
    "service/guard/test_hostile_input.py": "a caller who pauses",
    "service/test_abandoned_work.py": "a limit for a test that hangs",
    "waiting.py": "the waiting itself",
}
_TESTS = Path(__file__).parent


def sleeps(file: Path) -> list[int]:
    """Lines that sleep for a time that stands there; ``sleep(0)``, a turn of the loop, is none."""
    lines = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in _SLEEPING and node.args[0].value:
                lines.append(node.lineno)
    return lines


@pytest.mark.slow
def test_no_test_sleeps_for_a_time() -> None:
    found = {file.relative_to(_TESTS).as_posix(): lines for file in _TESTS.rglob("*.py") if (lines := sleeps(file))}
    assert {name: lines for name, lines in found.items() if name not in _ALLOWED} == {}, "see waiting.py"
    assert found.keys() == _ALLOWED.keys()


def test_waiting_in_vain_names_the_condition() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"not within 0.05 s: .*name.*== .never."):
        wait_for(lambda: sleeps.__name__ == "never", 0.05)


def test_a_number_is_still_once_it_grows_no_more() -> None:
    numbers = iter([1, 2, 3])
    assert wait_until_still(lambda: next(numbers, 4)) == 4
