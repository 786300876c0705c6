"""The drills: each runs, each notices what is wrong, and the page and the track record are theirs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import drills.__main__
import pytest
from drills import damaged_files, faults_of_files, one_evaluation, relations
from drills.__main__ import ResultFile, Run, run
from drills.drill import DRILLS, Drill, Found, Setting
from drills.page import defects
from drills.processes import Chosen, results

import cuihop
from cuihop import Evaluation, SnapshotGraph
from defined_tests import defined_in
from shared_data import ROOT
from wrong_answers import add_a_hop

pytestmark = pytest.mark.slow
IN_PROCESS = [drill for drill in DRILLS if drill.name in ("one_answer", "one_evaluation", "relations", "damaged_files")]


def found_by(name: str, cases: int, folder: Path) -> list[str]:
    drill = next(drill for drill in DRILLS if drill.name == name)
    with drill.cases(Setting(folder, small=True)) as case:
        return [text for number in range(cases) for text in case(drill.random(1, number)).wrong]


@pytest.mark.parametrize("drill", IN_PROCESS, ids=lambda drill: drill.name)
def test_a_case_is_the_same_whenever_it_runs_and_finds_nothing(drill: Drill) -> None:
    alone = dict(results(Chosen(drill, 7, range(1, 2), True), 1))
    several = dict(results(Chosen(drill, 7, range(2), True), 1))
    assert several[1] == alone[1]
    assert [found.wrong for found in several.values()] == [[], []]
    assert all(found.tried for found in several.values())


def test_a_wrong_distance_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_a_hop(SnapshotGraph, monkeypatch)
    assert any("in place of" in text for text in found_by("one_answer", 3, tmp_path))
    assert found_by("relations", 3, tmp_path)


def test_a_wrong_value_of_an_evaluation_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = cuihop.evaluate

    def wrong(*args: object, **options: object) -> Evaluation:
        found = right(*args, **options)  # type: ignore[arg-type]
        found.values[:1] += 1e-9
        return found

    monkeypatch.setattr(one_evaluation, "evaluate", wrong)
    assert any("in place of" in text for text in found_by("one_evaluation", 2, tmp_path))


def test_a_damaged_file_that_is_believed_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(damaged_files, "_answers", lambda graph: repr(graph.sections.origin) + str(id(graph)))
    assert any("another answer" in text for text in found_by("damaged_files", 40, tmp_path))


def test_a_file_that_is_half_written_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writes = "import sys; open('graph.cuihop', 'wb').write(b'half'); sys.exit(6)"
    monkeypatch.setattr(faults_of_files, "_PROGRAM", [sys.executable, "-c", writes])
    before = tmp_path / "before"
    before.mkdir()
    (before / "graph.cuihop").write_bytes(b"old")
    load = next(command for command in faults_of_files.COMMANDS if command.name == "load")
    wrong = list(faults_of_files.faulty(load, before, {"graph.cuihop": b"new"}, tmp_path, "fsync:error=EIO:when=1"))
    assert any("neither the old file nor the new one" in text for text in wrong)
    assert any("without a word" in text for text in wrong)


def test_a_command_that_writes_no_file_ends_the_drill_of_faults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = next(command for command in faults_of_files.COMMANDS if command.name == "names")
    nothing_to_do = names._replace(arguments=("index", "graph.cuihop", "--name-search"))
    monkeypatch.setattr(faults_of_files, "COMMANDS", (nothing_to_do,))
    with pytest.raises(SystemExit, match="names writes no file"):
        found_by("faults_of_files", 1, tmp_path)


def test_what_python_says_before_cuihop_begins_is_no_crash() -> None:
    site = 'Fatal Python error: init_import_site\nTraceback\n  File "<frozen site>", line 599, in main\nOSError\n'
    command = (
        'Traceback\n  File "<frozen runpy>"\n  File "/x/cuihop/cli/__init__.py", line 81, in main\n    application()\n'
    )
    assert not faults_of_files.has_crashed(site)
    assert faults_of_files.has_crashed(command)


def test_calls_are_counted_by_thread(tmp_path: Path) -> None:
    log = tmp_path / "calls"
    log.write_text(
        '7 write(1, "a", 1) = 1\n8 write(1, "b", 1) = 1\n7 fsync(3) = 0\n7 write(1, "c", 1 <unfinished ...>\n'
    )
    assert faults_of_files.noted(log) == [
        ("write", 1, '1, "a", 1) = 1'),
        ("fsync", 1, "3) = 0"),
        ("write", 2, '1, "c", 1 <unfinished ...>'),
    ]
    assert not faults_of_files.has_failed(log)


def test_a_case_that_raises_is_a_fault_and_no_end() -> None:
    @contextmanager
    def cases(setting: Setting) -> Iterator[object]:
        def case(rng: object) -> Found:
            raise ZeroDivisionError

        yield case

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relations, "cases", cases)
        drill = next(drill for drill in DRILLS if drill.name == "relations")
        [(_, first), (_, second)] = results(Chosen(drill, 1, range(2), True), 1)
    assert "ZeroDivisionError" in first.wrong[0]
    assert first == second


def test_servers_of_a_drill_end_with_each_process_that_runs_its_cases(tmp_path: Path) -> None:
    script = tmp_path / "ends.py"
    script.write_text(
        "from contextlib import contextmanager\n"
        "from drills import processes, relations\n"
        "from drills.drill import DRILLS\n"
        "@contextmanager\n"
        "def cases(setting):\n"
        "    yield None\n"
        "    print('the server has ended')\n"
        "relations.cases = cases\n"
        "processes._begin(next(drill for drill in DRILLS if drill.name == 'relations'), True)\n"
    )
    done = subprocess.run(
        [sys.executable, script], env=os.environ | {"PYTHONPATH": f"{ROOT / 'tests'}{os.pathsep}{ROOT}"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "the server has ended\n"


def test_a_process_hands_over_long_cases_one_by_one_and_all_are_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drills.processes, "_SECONDS_AT_ONCE", 0.0)
    drill = next(drill for drill in DRILLS if drill.name == "damaged_files")
    monkeypatch.setattr(drills.processes._Process, "case", lambda rng: Found(1, []), raising=False)
    assert [number for number, _ in drills.processes._try(drill, 1, range(4, 9), 0.0)] == [4]
    assert [number for number, _ in drills.processes._try(drill, 1, range(4, 9), 60.0)] == [4, 5, 6, 7, 8]
    found = dict(results(Chosen(drill, 1, range(20), True), 2))
    assert sorted(found) == list(range(20))
    assert all(each.tried and not each.wrong for each in found.values())


@pytest.mark.parametrize("processes", [1, 2])
def test_a_drill_that_had_its_minutes_goes_on_where_it_ended(
    processes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drills.__main__, "RESULTS", tmp_path)
    monkeypatch.setattr(drills.__main__, "write_page", lambda: None)
    drill = replace(next(drill for drill in DRILLS if drill.name == "damaged_files"), full=3)

    def runs_kept(minutes: float, *, from_start: bool = False) -> list[int]:
        file = ResultFile(drill, 7, from_start=from_start)
        run(Chosen(drill, 7, range(file.cases, drill.full), True), processes, minutes, file)
        return [run["cases"] for run in json.loads((tmp_path / "damaged_files.json").read_text())["runs"]]

    first, *others = runs_kept(0.0)  # those that have been begun end
    assert (0 < first <= processes, others) == (True, [])
    assert runs_kept(9) == [first, 3 - first]
    assert runs_kept(9) == [3]  # all were tried: from the first on
    assert len(runs_kept(0.0, from_start=True)) == 1


def test_findings_are_kept_without_folders_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drills.__main__, "RESULTS", tmp_path)
    this = Run()
    this.add(3, Found(1, [f"in {ROOT}/client and {sys.base_prefix}/lib"]))
    ResultFile(DRILLS[0], 1, from_start=True).write(this, 0.0)
    [kept] = json.loads((tmp_path / f"{DRILLS[0].name}.json").read_text("utf-8"))["runs"]
    assert kept["found"] == {"3": ["in …/client and …/lib"]}


def test_the_tests_of_the_track_record_exist() -> None:
    entries = defects()
    assert len({entry["id"] for entry in entries}) == len(entries)
    for entry in entries:
        assert entry.get("open") is True or entry.get("unreplayed") or entry["replay"], entry["id"]
        for test in entry.get("replay", []):
            file, _, name = test.partition("::")
            assert name in {"", *defined_in(file)} or file.startswith("tests/contract/"), (entry["id"], test)


def test_an_entry_is_replayed_and_an_unknown_one_is_refused() -> None:
    command = [sys.executable, "-m", "drills", "--replay"]
    done = subprocess.run([*command, "1-A5"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, " passed" in done.stdout) == (0, True)
    unknown = subprocess.run([*command, "9-X"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (unknown.returncode, unknown.stderr.startswith("no entry 9-X")) == (2, True)


def test_one_case_runs_from_the_command_line_and_writes_no_file() -> None:
    command = [sys.executable, "-m", "drills", "--only", "relations", "--case", "5"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("relations: ")
    assert done.stdout.endswith("; 0 cases failed\n")
