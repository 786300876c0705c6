"""``--within-sab`` on the command line: the values, the accounts, and the refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from example_graph import asserted_graph
from program_run import Run, program  # noqa: F401

ONE, TWO, THREE = "C0000001", "C0000002", "C0000003"
NOTE = "only edges that NCI asserts count"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Run) -> Run:  # noqa: F811
    """Run the program on the graph of asserted edges, with images of their concepts beside it."""
    monkeypatch.chdir(tmp_path)
    asserted_graph().save("g.cuihop")
    monkeypatch.setenv("CUIHOP_GRAPH", "g.cuihop")
    Path("images.csv").write_text(f"image,concepts\na,{ONE}\nb,{TWO}\nc,{THREE}\n")
    Path("run.trec").write_text("a Q0 b 1 2 r\na Q0 c 2 1 r\nb Q0 c 1 2 r\nb Q0 a 2 1 r\nc Q0 b 1 2 r\n")
    return program


def test_distances_and_paths_and_their_releases(run: Run) -> None:
    whole, within = asserted_graph().release, asserted_graph().within(["NCI"]).release
    assert run("distance", ONE, TWO).out.startswith("1 hop between")
    done = run("distance", ONE, TWO, "--within-sab", "NCI")
    assert done.out.startswith("no path between")
    assert done.err.strip() == NOTE
    for sabs, release in ((["NCI"], within), (["MSH", "NCI"], asserted_graph().within(["MSH", "NCI"]).release)):
        options = [text for sab in sabs for text in ("--within-sab", sab)]
        answer = json.loads(run("distance", THREE, TWO, *options, "--json").out)
        assert (answer["hops"], answer["release"], answer["release_name"]) == (1, release.digest, release.name)
    assert within.digest != whole.digest
    path = json.loads(run("path", THREE, TWO, "--within-sab", "NCI", "--json").out)
    assert path["path"][1]["sabs"] == ["NCI"]


def test_every_command_around_a_concept(run: Run) -> None:
    for command, expected in (("neighbours", 1), ("descendants", 1), ("ancestors", 0)):
        assert json.loads(run(command, TWO, "--within-sab", "NCI", "--json").out)["total"] == expected
    assert json.loads(run("ancestors", ONE, THREE, "--within-sab", "NCI", "--json").out)["total"] == 0
    assert json.loads(run("concept", TWO, "--within-sab", "NCI", "--json").out)["sabs"] == ["NCI"]
    assert json.loads(run("explain", "concepts", ONE, TWO, "--within-sab", "NCI", "--json").out)["nn_iou"] == 0
    assert json.loads(run("explain", "concepts", THREE, TWO, "--within-sab", "NCI", "--json").out)["nn_iou"] == 0.5


def test_a_neighbour_dictionary_holds_the_restricted_distances(run: Run) -> None:
    made = ("neighbours", "--concepts", "images.csv", "--output", "nb.cuihop", "--within-sab", "NCI")
    assert run(*made).code == 0
    answer = json.loads(run("distance", ONE, TWO, "--max-hops", "1", "--graph", "nb.cuihop", "--json").out)
    assert (answer["hops"], answer["release_name"]) == (None, "asserted within NCI")
    refused = run("distance", ONE, TWO, "--max-hops", "1", "--graph", "nb.cuihop", "--within-sab", "NCI")
    assert (refused.code, "holds no vocabularies of edges" in refused.err) == (3, True)


def test_evaluations_state_the_restriction_and_do_not_mix(run: Run) -> None:
    evaluation = ("evaluate", "--concepts", "images.csv", "run.trec", "--measure", "nn-CUI@2")
    whole = json.loads(run(*evaluation, "--card", "whole.json", "--json").out)
    within = json.loads(run(*evaluation, "--card", "within.json", "--within-sab", "NCI", "--json").out)
    assert whole["release"]["name"] == "asserted"
    assert within["release"]["name"] == "asserted within NCI"
    assert whole["means"] != within["means"]
    assert "asserted within NCI" in run(*evaluation, "--within-sab", "NCI").out
    refused = run("compare", "whole=whole.json", "within=within.json")
    assert refused.code == 3
    assert "release" in refused.err


@pytest.mark.parametrize(("arguments", "code", "said"), [
    (("distance", ONE, TWO, "--within-sab", "snomedct"), 3, "Did you mean SNOMEDCT_US?"),
    (("explain", "concepts", ONE, TWO, "--within-sab", "ICD10"), 3, "expected some of MSH, NCI, SNOMEDCT_US"),
])  # fmt: skip
def test_a_vocabulary_that_the_release_lacks(run: Run, arguments: tuple[str, ...], code: int, said: str) -> None:
    done = run(*arguments)
    assert (done.code, done.out) == (code, "")
    assert said in done.err


def test_vocabularies_go_with_a_graph(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUIHOP_GRAPH")
    done = run("evaluate", "--concepts", "images.csv", "run.trec", "--within-sab", "NCI",
               "--measure", "CUI@2")  # fmt: skip
    assert (done.code, "--within-sab goes with --graph" in done.err) == (2, True)
