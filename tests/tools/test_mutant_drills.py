"""The drills of mutants and of compatibility notice what they are for."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from drills import compatibility, mutants
from drills import mutations as changes
from drills.drill import DRILLS, Setting

from cuihop.errors import SnapshotError
from shared_data import ROOT

SOURCE = '''"""Documentation."""

LIMIT = 3


def counted(numbers, most=LIMIT):
    """The numbers within bounds."""
    total = 0
    for number in numbers:
        if number < 0 or number > most:
            raise ValueError("a number out of bounds")
        total += number
    return min(total, most)
'''


def test_a_mutant_is_one_change_of_what_matters() -> None:
    found = changes.mutants(SOURCE)
    assert [mutant.number for mutant in found] == list(range(len(found)))
    assert {mutant.change for mutant in found} >= {
        "number < 0 → number <= 0", "number < 0 → number > 0", "3 → 4", "3 → 2", "0 → 1", "total += number → pass",
        "total += number → total -= number", "min(total, most) → min(most, total)",
        "number < 0 or number > most → number < 0 and number > most",
        "raise ValueError('a number out of bounds') → pass",
    }  # fmt: skip
    assert not any("Documentation" in mutant.change or "'a number out" in mutant.line for mutant in found)
    assert {mutant.function for mutant in found} == {"", "counted"}
    codes = [changes.mutated(SOURCE, mutant.number, "a.py") for mutant in found]
    assert None not in codes
    assert len({code.co_consts[2:] for code in codes if code is not None}) > len(codes) // 2


def test_a_mutant_without_another_effect_is_none() -> None:
    source = "def f():\n    return 4 // 1\n"
    effects = {mutant.change: changes.mutated(source, mutant.number, "a.py") for mutant in changes.mutants(source)}
    assert effects["4 // 1 → 4 * 1"] is None
    assert effects["4 → 5"] is not None


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[mutants.Server]:
    one = mutants.Server(tmp_path_factory.mktemp("server"))
    yield one
    one.close()


@pytest.mark.slow
def test_tests_that_reach_a_mutant_kill_it_and_no_others_are_run(server: mutants.Server) -> None:
    path = "client/cuihop/measures/f1.py"
    source = (ROOT / path).read_text("utf-8")
    tests, libraries = mutants.recorded(server, {path: source}, ("measures/test_f1.py",))
    assert "numpy" in libraries
    assert not any(name.startswith("cuihop") for name in libraries)

    def tried(change: str, **fewer: list[str]) -> dict[str, object]:
        mutant = next(mutant for mutant in changes.mutants(source) if mutant.change == change)
        reach = fewer or mutants.reaching(tests, path, mutant)
        return server.answer(module=path, number=mutant.number, tests=reach, seconds=100)

    killed = tried("2 * precision → 2 // precision")
    assert killed["outcome"] == "killed"
    assert str(killed["by"]).startswith("tests/measures/test_f1.py::")
    assert tried("2 * precision → 2 // precision", **{"tests/measures/test_f1.py": ["no such"]})["outcome"] == "lived"
    assert (ROOT / path).read_text("utf-8") == source


def test_a_mutant_that_lives_is_found_unless_it_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Lives(mutants.Server):
        def __init__(self, folder: Path) -> None:
            """No process."""

        def answer(self, **request: object) -> dict[str, object]:
            return {"outcome": "lived", "tests": {}}

        def close(self) -> None:
            """End no process."""

    reached = frozenset(f"client/cuihop/measures/f1.py:{name}" for name in mutants._SMALL_FUNCTIONS)
    monkeypatch.setattr(mutants, "Server", Lives)
    monkeypatch.setattr(mutants, "recorded", lambda *args: ({"a": mutants.Test(1.0, reached)}, []))
    drill = next(drill for drill in DRILLS if drill.name == "mutants")
    with drill.cases(Setting(tmp_path, small=True)) as case:
        [wrong] = case(drill.random(1, 0)).wrong
    assert "1 tests pass with " in wrong
    path, function = wrong.partition(":")[0].split(", ")
    every = [mutant for mutant in changes.mutants((ROOT / path).read_text("utf-8")) if mutant.function == function]
    known = {(path, mutant.function, mutant.line, mutant.change) for mutant in every}
    monkeypatch.setattr(mutants, "living", lambda: known)
    with drill.cases(Setting(tmp_path, small=True)) as case:
        assert case(drill.random(1, 0)).wrong == []


def test_living_mutants_exist_and_each_has_a_reason() -> None:
    found = {
        (path, each.function, each.line, each.change)
        for path in {path for path, *_ in mutants.living()}
        for each in changes.mutants((ROOT / path).read_text("utf-8"))
    }
    assert mutants.living() <= found
    for entry in tomllib.loads(mutants.LIVING.read_text("utf-8")).get("mutant", []):
        assert entry.get("same") or entry.get("missing")


def test_files_of_earlier_versions_are_answered_the_same_or_refused(tmp_path: Path) -> None:
    results = list(compatibility.earlier_files(tmp_path))
    assert len(results) == len([path for path in compatibility.GOLDEN.rglob("*") if path.is_file()])
    assert results == [None] * len(results)


@pytest.mark.parametrize("fault", ["another number", "no advice"])
def test_another_answer_and_a_refusal_without_advice_are_noticed(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(where: Path) -> object:
        if fault == "no advice":
            raise SnapshotError(f"{where / 'graph.cuihop'}: broken")
        return [[1], 0]

    monkeypatch.setitem(compatibility._READERS, "graph.cuihop", opened)
    wrong = [result for result in compatibility.earlier_files(tmp_path) if result is not None]
    assert wrong
    assert all(("in place of" if fault == "another number" else "without its name or advice") in each for each in wrong)
