"""Measured figures on the pages are those of ``benchmarks/results``."""

from __future__ import annotations

from pathlib import Path

import pytest

from page_figures import checked, main, pages
from shared_data import ROOT

TIME = "evaluation | time, test, n = 1"
MEASURED = {
    "evaluation": [("time, test, n = 1", by, (seconds, "s")) for by, seconds in
                   {"cuihop, 2 threads": 0.206, "Python sets": 64.0}.items()],
    "annotation": [("F1 of documents, devel", "cuihop: all rules", (0.688, ""))],
}  # fmt: skip
ONE = f"<!-- figures\n{TIME} | cuihop, 2 threads\n-->\n\n"


def reasons(text: str) -> list[str]:
    return [reason for _, reason in checked(text)[1]]


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_figures_of_a_page_are_those_of_their_sources(page: Path) -> None:
    assert checked(page.read_text(encoding="utf-8"))[1] == []


def test_the_first_page_has_figures_with_sources() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(reasons(text.replace("<!-- figures", "<!-- "))) > 5


@pytest.mark.parametrize("page", ["README.md", "docs/operations.md", "docs/explanation/scale.md"])
@pytest.mark.parametrize(
    "planted",
    ["A distance took 9.5 µs.", "It needs 3 GB.", "It is 40 times as fast.", "- 1,300 pairs a second", "| a | 7 s |"],
)
def test_a_figure_without_a_source_is_found_on_a_page(
    page: str, planted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy.md"
    copy.write_text(f"{(ROOT / page).read_text(encoding='utf-8')}\n{planted}\n", encoding="utf-8")
    monkeypatch.setattr("page_figures.ROOT", tmp_path)
    monkeypatch.setattr("page_figures.pages", lambda: [copy])
    assert main(["--check"]) == 1
    [line] = capsys.readouterr().out.splitlines()
    last = len(copy.read_text(encoding="utf-8").splitlines())
    assert line.startswith(f"copy.md:{last}: ")
    assert "Name it in a comment" in line


def test_figures_of_a_page_are_written_unless_they_are_only_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = (ROOT / "README.md").read_text(encoding="utf-8")
    figure = right.partition(" all pairs | ")[2].partition(" s;")[0]
    wrong = f"{figure[:-1]}{(int(figure[-1]) + 5) % 10} s"
    copy = tmp_path / "copy.md"
    copy.write_text(right.replace(f"{figure} s", wrong), encoding="utf-8")
    monkeypatch.setattr("page_figures.ROOT", tmp_path)
    monkeypatch.setattr("page_figures.pages", lambda: [copy])
    assert main(["--check"]) == 1
    assert wrong in copy.read_text(encoding="utf-8")
    assert main([]) == 0
    assert copy.read_text(encoding="utf-8") == right


@pytest.mark.parametrize(
    "text",
    [
        "```console\n$ sleep 1 s\n```\n", "Give it `2 GB`.", "It ends after `drain_seconds`, 20 s.", "64 MiB a line.",
        "The limit is 5 s.", "| what | limit |\n|---|---|\n| a request | 10 s |", "Three million: 3 GB, estimated.",
    ],
)  # fmt: skip
def test_a_limit_and_code_need_no_source(text: str) -> None:
    assert reasons(text) == []


def test_a_limit_excuses_its_own_sentence_only() -> None:
    assert len(reasons("The limit is 5 s. A request took 2 s.\n\n| limit | |\n|---|---|\n\n| a |\n|---|\n| 3 s |")) == 2


def test_a_figure_that_differs_is_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("page_figures.measured", MEASURED.__getitem__)
    for shown, right in {
        "0.31 s": "0.21 s", "310 ms": "210 ms", "0.250 s": "0.206 s", "0.21 s": "0.21 s", "9 s": "0.2 s",
    }.items():  # fmt: skip
        text, problems = checked(f"{ONE}It takes {shown}.")
        assert text == f"{ONE}It takes {right}."
        assert bool(problems) == (shown != right)
        assert checked(text)[1] == []
    assert checked(f"<!-- figures\n{TIME} | Python sets / cuihop, 2 threads\n-->\n300 times")[0].endswith("\n310 times")
    f1 = "<!-- figures\nannotation | F1 of documents, devel | cuihop: all rules\n-->\n"
    assert checked(f"{f1}F1 is 0.600")[0] == f"{f1}F1 is 0.688"


@pytest.mark.parametrize(
    "text",
    [
        f"{ONE}It takes 0.21 MB.", f"{ONE}It takes 0.21 s or 0.21 s.", f"{ONE}It takes long.", f"{ONE}Long.\n\n0.21 s",
        ONE.replace("n = 1", "n = 9") + "0.21 s", ONE.replace("evaluation", "none") + "0.21 s",
        "| by | seconds |\n|---|---|\n| cuihop | 3 |",
    ],
)  # fmt: skip
def test_a_wrong_source_is_found(text: str) -> None:
    assert len(checked(text)[1]) >= 1
    assert checked(text)[0] == text
